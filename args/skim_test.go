package args

import (
	"encoding/json"
	"slices"
	"testing"
)

// FuzzSkim asks that a look at a value and a reading of it never differ: what is an answer at first sight is read as a whole
// value without the keys that were asked for, and ends at the same place; what cannot be a value is read as none.
func FuzzSkim(f *testing.F) {
	for _, text := range []string{
		`{"a": [1, 2.5e3, {"b": null}], "c": "d\n\u00e9"} x`, `[]`, `[[],{}]`, `{"name": "x"}`, `{"a": {"name": 1}}`, `{{`, `{"a"`, `[1, x]`, `[1`,
		`{"a": "</tool_call>"}`, `["a" , "b"]`, `{"k": -0.0, "l": 01}`, "{\"a\": \"x\ny\"}", `{"a":1,}`, `[true,false,null]`, `{"a\u0062": 1}`,
	} {
		f.Add(text)
	}
	asked := func(key []byte) bool { return slices.Contains([]string{"name", "tool"}, string(key)) }
	f.Fuzz(func(t *testing.T, text string) {
		in := Whole(text)
		if c := in.At(0); c != '{' && c != '[' {
			return
		}
		for _, items := range []Items{Quoted, Nested} {
			end, what := Skim(in, 0, items, asked)
			found, ok := Read(in, 0, Region{Items: items})
			switch what {
			case Answer:
				if !ok || !found.Whole() || found.End != end || !json.Valid([]byte(text[:end])) {
					t.Fatalf("%q: an answer up to %d, read %v as %+v", text, end, ok, found)
				}
				if named(found.Value, asked) {
					t.Fatalf("%q: it holds a key that was asked for", text)
				}
			case NoValue:
				if ok {
					t.Fatalf("%q: no value, but read as %+v", text, found)
				}
			case Unsure:
			}
		}
	})
}

// named reports whether an object in v has one of the keys.
func named(v any, asked func([]byte) bool) bool {
	switch v := v.(type) {
	case *Object:
		for key, value := range v.All() {
			if asked([]byte(key)) || named(value, asked) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return named(e, asked) })
	}
	return false
}
