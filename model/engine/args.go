package engine

import (
	"encoding/json"
	"strings"

	"github.com/jackline-ai/jackline/args"
)

// wrapped is the name under which arguments that are no object are handed on. [args.Schema.Shape] takes them out again and gives
// them to the parameter that they must be for.
const wrapped = "args"

// mostTexts is how often arguments may be put into a string.
const mostTexts = 3

// MendArgs reads the arguments of a call as a model wrote them, and mends what can be mended without guessing: what package args
// mends (other quotation marks, Python's words, brackets that are missing), a string that holds the arguments, text behind the
// object, and empty arguments in front of others. Null is no arguments. What is no object in the end becomes one with a name
// from which [args.Schema.Shape] takes it. Two objects are not the arguments of one call, and are beyond mending.
//
// Cut says that a string had to be closed, or that the text ends where a value should go on.
func MendArgs(text string) (canonical json.RawMessage, cut, ok bool) {
	text = unbegun(text)
	var value any
	for range mostTexts + 1 {
		found, ok := mend(text)
		if !ok && value == nil {
			return nil, false, false
		}
		if !ok {
			break // a string that only begins like JSON
		}
		value, cut = found.Value, found.Cut || found.Open > 0 && !strings.ContainsAny(lastOf(text), `"'}]`)
		if text, ok = value.(string); !ok || !strings.ContainsAny(firstOf(text), `{["`) {
			break
		}
	}
	switch v := value.(type) {
	case *args.Object:
	case nil:
		return json.RawMessage(`{}`), false, true
	default:
		if s, is := v.(string); is && args.Trim(s) == "" {
			return json.RawMessage(`{}`), false, true
		}
		o := &args.Object{}
		o.Set(wrapped, v)
		value = o
	}
	canonical, err := args.Canonical(value)
	return canonical, cut, err == nil
}

// unbegun takes off the empty arguments with which some proxies begin a call, before what it really says.
func unbegun(text string) string {
	text = args.Trim(text)
	for _, empty := range []string{"{}", "null"} {
		if rest, ok := strings.CutPrefix(text, empty); ok && strings.HasPrefix(args.TrimLeft(rest), "{") {
			return args.TrimLeft(rest)
		}
	}
	return text
}

// firstOf is the first character of text that is not blank.
func firstOf(text string) string {
	for _, r := range args.TrimLeft(text) {
		return string(r)
	}
	return ""
}

// lastOf is the last byte of text that is not blank.
func lastOf(text string) string {
	text = args.Trim(text)
	return text[max(0, len(text)-1):]
}

// mend reads one value; what is no object must have closed. Text behind an object that closed is left out, but not another value.
func mend(text string) (args.Found, bool) {
	in := args.Whole(text)
	found, ok := args.Read(in, 0, args.Region{})
	if !ok {
		return found, false
	}
	_, object := found.Value.(*args.Object)
	if !object && !found.Whole() {
		return found, false
	}
	if _, words := found.Value.(string); words && !strings.ContainsAny(firstOf(text), "\"'`“‘") {
		return found, false // bare words are no arguments
	}
	for i := found.End; ; i++ {
		i = in.Skip(i)
		switch in.At(i) {
		case args.End:
			return found, true
		case ',', ';', '}', ']':
		default:
			return found, object && found.Whole() && !strings.ContainsAny(text[i:], "{[")
		}
	}
}

// Calls are the calls of one answer, as they are handed out.
type Calls struct {
	ids map[string]bool
}

// Taken is what is handed out of a call.
type Taken struct {
	ID     string          // "" if an earlier call had the same, which then names nothing
	Args   json.RawMessage // one JSON object; empty where there are none
	Cut    bool            // as MendArgs says
	Mended bool            // the arguments were not a JSON object as they came
}

// Take settles what is handed out of a call. It is false for a call without a name and for arguments that cannot be read.
func (c *Calls) Take(id, name, text string) (Taken, bool) {
	t := Taken{Args: json.RawMessage(`{}`)}
	text = args.Trim(text)
	if name == "" {
		return Taken{}, false
	}
	if text != "" && text != "null" {
		var ok bool
		if t.Args, t.Cut, ok = MendArgs(text); !ok {
			return Taken{}, false
		}
		t.Mended = text[0] != '{' || !json.Valid([]byte(text))
	}
	if id != "" && !c.ids[id] {
		if c.ids == nil {
			c.ids = map[string]bool{}
		}
		c.ids[id], t.ID = true, id
	}
	return t, true
}
