package engine_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model/engine"
)

func TestStrictArgs(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 31) + "{}" + strings.Repeat("}", 31)
	good := map[string]string{
		` {"b": 1.50, "a": [1e3, "<&>"], "b": 2 } `: `{"a":[1e3,"<&>"],"b":2}`,
		"{}": "{}", deep: deep,
		`{"n": 12345678901234567890}`: `{"n":12345678901234567890}`,
	}
	for text, want := range good {
		if got, cut, ok := engine.StrictArgs(text); string(got) != want || cut || !ok {
			t.Errorf("%s became %s", text, got)
		}
	}
	for _, text := range []string{"", "null", "[]", "1", `"{}"`, "{", "{}}", "{} {}", "{'a':1}", `{"a":` + deep + "}"} {
		if got, _, ok := engine.StrictArgs(text); ok {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// Calls without a name and arguments that cannot be read are none; an ID names one call.
func TestCalls(t *testing.T) {
	calls := engine.Calls{Read: func(text string) (json.RawMessage, bool, bool) {
		return json.RawMessage(text), text == "cut", text != "bad"
	}}
	for _, c := range []struct{ id, name, text, want string }{
		{"a", "look", `{"x":1}`, `a {"x":1} false`},
		{"a", "look", "", ` {} false`}, // another call had it
		{"b", "look", " null ", `b {} false`},
		{"", "look", "", ` {} false`},
		{"c", "", `{}`, ""},
		{"c", "look", "bad", ""},
		{"c", "look", "cut", "c cut true"}, // what was none has not used its ID
	} {
		id, args, cut, ok := calls.Take(c.id, c.name, c.text)
		got := ""
		if ok {
			got = fmt.Sprintf("%s %s %v", id, args, cut)
		}
		if got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
