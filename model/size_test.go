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
	if head, rest := m.Head(r), m.Messages(r.Messages...); head != 6 || rest != 3+2000+1+2 {
		t.Errorf("in words: %d and %d", head, rest)
	}
	m.Native = true
	if head, rest := m.Head(r), m.Messages(r.Messages...); head != 6+100+4+4+2 || rest != 3+2000+1+(10+4+2)+(10+2+7)+2+4 {
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

// Several generations are summed, and the first prompt is kept.
func TestUsagePlus(t *testing.T) {
	var none *model.Usage
	one := &model.Usage{Prompt: 100, Cached: 10, Completion: 5}
	if none.Plus(one) != one || one.Plus(nil) != one || none.Plus(nil) != nil {
		t.Error("one is not itself")
	}
	sum := one.Plus(&model.Usage{Prompt: 120, Cached: 100, Completion: 7, Cut: true}).Plus(&model.Usage{Prompt: 130})
	if *sum != (model.Usage{Prompt: 350, Cached: 110, Completion: 12, First: 100, Cut: true}) {
		t.Errorf("%+v", *sum)
	}
	if one.First != 0 {
		t.Error("what was summed has changed")
	}
	for want, i := range map[string]model.Info{"native": {Native: true}, "envelope": {Envelope: true, Knob: model.KnobFormat}, "text": {Knob: model.KnobFormat}} {
		if i.Mode() != want {
			t.Errorf("%+v: %s", i, i.Mode())
		}
	}
}
