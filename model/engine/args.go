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
