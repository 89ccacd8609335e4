package engine

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// maxDepth is how deep arguments may be nested.
const maxDepth = 32

// StrictArgs reads the arguments of a call as one JSON object and writes it compactly, keys in order, numbers as they were.
// It repairs nothing, so cut is always false. Of a key that comes twice the last counts.
func StrictArgs(text string) (canonical json.RawMessage, cut bool, ok bool) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil || object == nil || depth(object) > maxDepth {
		return nil, false, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false, false
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(object); err != nil {
		return nil, false, false
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), false, true
}

func depth(v any) int {
	deepest := 0
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			deepest = max(deepest, depth(inner))
		}
	case []any:
		for _, inner := range v {
			deepest = max(deepest, depth(inner))
		}
	default:
		return 0
	}
	return deepest + 1
}

// Calls are the calls of one answer, as they are handed out. Read is needed.
type Calls struct {
	// Read reads the arguments of a call as Options.ReadArgs of the adapters does.
	Read func(text string) (canonical json.RawMessage, cut bool, ok bool)

	ids map[string]bool
}

// Take settles what is handed out of a call: its ID, "" if an earlier call had the same, which then names nothing; and its
// arguments as one JSON object, which is empty where there are none. ok is false for a call without a name and for arguments
// that cannot be read.
func (c *Calls) Take(id, name, text string) (given string, args json.RawMessage, cut, ok bool) {
	args = json.RawMessage(`{}`)
	if text = strings.TrimSpace(text); text != "" && text != "null" {
		if args, cut, ok = c.Read(text); !ok {
			return "", nil, false, false
		}
	}
	switch {
	case name == "":
		return "", nil, false, false
	case id == "" || c.ids[id]:
		return "", args, cut, true
	case c.ids == nil:
		c.ids = map[string]bool{}
	}
	c.ids[id] = true
	return id, args, cut, true
}
