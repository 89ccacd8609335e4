package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model/engine"
)

// Calls without a name and arguments that cannot be read are none; an ID names one call.
func TestCalls(t *testing.T) {
	var calls engine.Calls
	for _, c := range []struct{ id, name, text, want string }{
		{"a", "look", `{"x":1}`, `a {"x":1} false`},
		{"a", "look", "", ` {} false`}, // another call had it
		{"b", "look", " null ", `b {} false`},
		{"", "look", "", ` {} false`},
		{"c", "", `{}`, ""},
		{"c", "look", "bad", ""},
		{"c", "look", `{"x":"cu`, `c {"x":"cu"} true`}, // what was none has not used its ID
	} {
		taken, ok := calls.Take(c.id, c.name, c.text)
		got := ""
		if ok {
			got = fmt.Sprintf("%s %s %v", taken.ID, taken.Args, taken.Cut)
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// What a model wrote as arguments is mended where it is plain what it meant.
func TestMendArgs(t *testing.T) {
	for text, want := range map[string]string{
		`{"b":1.5,"a":"x"}`:               `{"a":"x","b":1.5}`,
		`{'path': 'a', "n": True,}`:       `{"n":true,"path":"a"}`,
		`{path: "a"}`:                     `{"path":"a"}`,
		"{\"text\": \"two\nlines\"}":      `{"text":"two\nlines"}`,
		"\ufeff{}":                        `{}`,
		"null":                            `{}`,
		`"null"`:                          `{"args":"null"}`, // a word like any other, which the schema drops
		"None":                            `{}`,
		`"{\"path\": \"a\"}"`:             `{"path":"a"}`,
		`"\"{\\\"path\\\": \\\"a\\\"}\""`: `{"path":"a"}`,
		`"{'path': 'a'}"`:                 `{"path":"a"}`,
		`"{not really"`:                   `{"args":"{not really"}`,
		`"London"`:                        `{"args":"London"}`,
		`["a", "b"]`:                      `{"args":["a","b"]}`,
		`[{"path": "a"}]`:                 `{"args":[{"path":"a"}]}`,
		`42`:                              `{"args":42}`,
		`{"path":"a"}}`:                   `{"path":"a"}`,
		`{"path":"a"}</tool_call>`:        `{"path":"a"}`,
		"{\"path\":\"a\"}\n```\nThat reads the file.": `{"path":"a"}`,
		`{"path":"a"`:       `{"path":"a"}`,
		`{"path":["a"`:      `{"path":["a"]}`,
		`{"path":"a`:        `{"path":"a"} cut`,
		`{"path":`:          `{"path":null} cut`,
		`{"n":1`:            `{"n":1} cut`,
		`{"a":1,`:           `{"a":1} cut`,
		`{}{"path":"a"}`:    `{"path":"a"}`,
		`null {"path":"a"}`: `{"path":"a"}`,
		`""`:                `{}`,
		`{"a":1}{"b":2}`:    "",
		`{"a":1}, {"b":2}`:  "",
		`{"a":1}<x>{"b":2}`: "",
		`[1`:                "",
		`"{`:                "",
		`}`:                 "",
		`rm -rf /`:          "",
	} {
		got := ""
		if canonical, cut, ok := engine.MendArgs(text); ok {
			if got = string(canonical); cut {
				got += " cut"
			}
		}
		if got != want {
			t.Errorf("%s became %q, want %q", text, got, want)
		}
	}
}

// What is no object goes to the parameter that it must be for, once the tool's schema is known.
func TestMendArgsForASchema(t *testing.T) {
	schema, err := args.Parse(json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"array"}},"required":["path"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{`"notes.txt"`: `{"path":"notes.txt"}`, `[{"path":"a"}]`: `{"path":"a"}`, `42`: `{"path":"42"}`, `["a","b"]`: `{}`} {
		canonical, _, ok := engine.MendArgs(text)
		if !ok {
			t.Fatalf("%s cannot be read", text)
		}
		written, err := args.Strict(canonical)
		if err != nil {
			t.Fatal(err)
		}
		if got := args.Compact(schema.Shape(written)); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
	}
}

// Whatever is mended is an object in canonical form, and mending it again changes nothing.
func FuzzMendArgs(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `"{\"a\":1}"`, `{'a': [1`, "\ufeffnull", `{"a":1}</x>`, `[[[`, `"\ud800"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		canonical, _, ok := engine.MendArgs(text)
		if !ok {
			return
		}
		var object map[string]json.RawMessage
		if json.Unmarshal(canonical, &object) != nil || object == nil {
			t.Fatalf("%q became %q", text, canonical)
		}
		if again, cut, ok := engine.MendArgs(string(canonical)); !ok || cut || string(again) != string(canonical) {
			t.Fatalf("%q became %q, and then %q", text, canonical, again)
		}
	})
}
