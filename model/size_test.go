package model_test

import (
	"encoding/json"
	"testing"

	"github.com/jackline-ai/jackline/model"
)

func TestSmallWords(t *testing.T) {
	for want, tool := range map[string]model.Tool{"a b": {Summary: "a", Use: "b"}, "c": {Use: "c"}, "d": {Summary: "d"}, "": {}} {
		if got := tool.Description(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := string(model.Call{}.Arguments()); got != "{}" {
		t.Error(got)
	}
	if got := string(model.Call{Args: json.RawMessage(`{"a":1}`)}.Arguments()); got != `{"a":1}` {
		t.Error(got)
	}
}

// What goes through the engine's interface counts only where it does; characters count, not bytes.
func TestMeasure(t *testing.T) {
	r := model.Request{
		System: []string{"äb", "c"},
		Tools:  []model.Tool{{Name: "look", Summary: "See.", Schema: json.RawMessage(`{ }`)}},
		Messages: []model.Message{
			{Role: model.User, Text: "hé", Images: []model.Image{{}, {}}},
			{Role: model.Assistant, Text: "x", Calls: []model.Call{{Name: "look"}, {Name: "é", Args: json.RawMessage(`{"a":1}`)}}},
			{Role: model.Result, Name: "look", Text: "ok"},
		},
	}
	m := model.Measure{Call: 10, Tool: 100, Image: 1000, Schema: func(json.RawMessage) []byte { return []byte(`{}`) }}
	if head, rest := m.Head(r), m.Messages(r.Messages...); head != 5 || rest != 2+2000+1+2 {
		t.Errorf("in words: %d and %d", head, rest)
	}
	m.Native = true
	if head, rest := m.Head(r), m.Messages(r.Messages...); head != 5+100+4+4+2 || rest != 2+2000+1+(10+4+2)+(10+1+7)+2+4 {
		t.Errorf("native: %d and %d", head, rest)
	}
}

func TestFarBelow(t *testing.T) {
	for _, tt := range []struct {
		prompt, chars int
		want          bool
	}{
		{0, 1 << 20, false},      // it does not count
		{1, 8<<10 - 1, false},    // fits every window
		{1023, 8 << 10, true},    // eight characters and more to a token
		{1024, 8 << 10, false},   // just possible
		{4000, 16_000, false},    // as usual
		{2048, 100_000, true},    // a window of 2k
		{100_000, 16_000, false}, // it counts something else
	} {
		if got := model.FarBelow(tt.prompt, tt.chars); got != tt.want {
			t.Errorf("%d tokens of %d characters: %t", tt.prompt, tt.chars, got)
		}
	}
}
