package model_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
)

// Each call has one result, in the order of the calls, whatever stands behind them.
func TestPair(t *testing.T) {
	for _, tt := range []struct {
		calls, results string // "id:name", and "id:name:text"
		texts, rest    string
		whole          bool
	}{
		{"a:x b:y", "a:x:1 b:y:2", "1 2", "", true},
		{"a:x b:y", "b:y:2 a:x:1", "1 2", "", true},
		{"a:x b:y", "b:y:2", "- 2", "", false},
		{"a:x b:y", "", "- -", "", false},
		{"a:x", "a:x:1 a:x:again", "1", "again", true},
		{"a:x b:y", "c:x:stray a:x:1", "1 -", "stray", false},
		{"a:x :x", ":x:2 a:x:1", "1 2", "", true},                 // the one with an ID first
		{":x :y", ":y:2 :x:1", "1 2", "", true},                   // by name
		{":x :y", "::1 ::2", "1 2", "", true},                     // by place
		{"a:x :y", "gone:x:stray gone::2", "- 2", "stray", false}, // an ID that is not there answers at most a call without one
		{"a:x a:x", "a:x:1 a:x:2", "1 2", "", true},
		{"a:x", ":y:stray", "-", "stray", false},
		{"", "a:x:stray", "", "stray", true},
	} {
		var calls []model.Made
		for c := range strings.FieldsSeq(tt.calls) {
			id, name, _ := strings.Cut(c, ":")
			calls = append(calls, model.Made{ID: id, Name: name})
		}
		var results []model.Message
		for r := range strings.FieldsSeq(tt.results) {
			f := strings.SplitN(r, ":", 3)
			results = append(results, model.Message{Role: model.Result, CallID: f[0], Name: f[1], Text: f[2]})
		}
		texts, rest, whole := model.Pair(calls, results)
		var left []string
		for _, msg := range rest {
			left = append(left, msg.Text)
		}
		got := fmt.Sprint(strings.ReplaceAll(strings.Join(texts, " "), model.NoResult, "-"), "|", strings.Join(left, " "), "|", whole)
		if want := fmt.Sprint(tt.texts, "|", tt.rest, "|", tt.whole); got != want {
			t.Errorf("%s, then %s: %s, want %s", tt.calls, tt.results, got, want)
		}
	}
}
