package engine_test

import (
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
