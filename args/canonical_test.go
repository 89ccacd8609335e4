package args_test

import (
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/args"
)

// What must be right keeps its numbers, takes the last of equal keys, and is nested as deep as it may be.
func TestBounded(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 31) + "[]" + strings.Repeat("}", 31)
	for text, want := range map[string]string{
		` {"b": 1.50, "a": [1e3, "<&>"], "b": 2 } `: `{"a":[1000,"<&>"],"b":2}`,
		"{}": "{}", deep: deep, "null": "null",
		`{"n": 12345678901234567890}`: `{"n":12345678901234567890}`,
	} {
		v, err := args.Bounded([]byte(text), 32)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := args.Canonical(v); string(got) != want || err != nil {
			t.Errorf("%s became %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "{", "{}}", "{} {}", "{'a':1}", `{"a":` + deep + "}", "[" + deep + "]"} {
		if v, err := args.Bounded([]byte(text), 32); err == nil {
			t.Errorf("%s became %v", text, v)
		}
	}
}
