package anthropic_test

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/anthropic"
)

// shredded is a body that comes n bytes at a time.
type shredded struct {
	text string
	n    int
}

func (s *shredded) Read(p []byte) (int, error) {
	if s.text == "" {
		return 0, io.EOF
	}
	n := copy(p, s.text[:min(s.n, len(s.text))])
	s.text = s.text[n:]
	return n, nil
}

func (*shredded) Close() error { return nil }

// Whatever comes, the chunks keep the contract, it does not matter in which pieces it comes, and what is to go back
// can be sent back.
func FuzzStream(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	odd, err2 := filepath.Glob("testdata/odd/*.txtar")
	if err != nil || err2 != nil {
		f.Fatal(err, err2)
	}
	for _, name := range append(files, odd...) {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(a.Files[0].Data))
	}
	f.Fuzz(func(t *testing.T, body string) {
		whole := said(t, body, len(body)+1)
		for _, n := range []int{1, 7} {
			if got := said(t, body, n); got != whole {
				t.Fatalf("in pieces of %d:\n%s\nat once:\n%s", n, got, whole)
			}
		}
	})
}

func said(t *testing.T, body string, n int) string {
	t.Helper()
	m := carried(t, &shredded{body, n}, anthropic.Options{Think: model.Yes})
	var b strings.Builder
	answer := model.Message{Role: model.Assistant}
	ended, garbled, opaque := false, false, false
	for c, err := range m.Stream(t.Context(), model.Request{}) {
		if ended || opaque && err == nil && c.Finish == "" {
			t.Fatalf("more after the end: %s", line(c, err))
		}
		ended, opaque = err != nil || c.Finish != "", c.Opaque != ""
		garbled = garbled || c.Garbled != ""
		answer.Text += c.Text
		answer.Opaque += c.Opaque
		if c.Call != nil {
			answer.Calls = append(answer.Calls, *c.Call)
			var object map[string]any
			if json.Unmarshal(c.Call.Args, &object) != nil || object == nil {
				t.Fatalf("arguments that are no object: %s", c.Call.Args)
			}
		}
		b.WriteString(line(c, err) + "\n")
	}
	if !ended || garbled && len(answer.Calls) > 0 {
		t.Fatalf("no end, or garbled beside calls:\n%s", b.String())
	}
	if raw := anthropic.Written(m, model.Request{Messages: []model.Message{answer}}); !json.Valid(raw) {
		t.Fatalf("the next request is no JSON: %s", raw)
	}
	return b.String()
}

// Whatever state comes back from a store, the request is JSON.
func FuzzState(f *testing.F) {
	f.Add(`{"anthropic":{"model":"m","blocks":[{"thought":{"type":"thinking"}},{"text":2},{"call":true}]}}`, "Hi")
	f.Add(`{"anthropic":{"model":"m","blocks":[{"text":9223372036854775807},{"text":1}]}}`, "Hi")
	f.Fuzz(func(t *testing.T, state, text string) {
		m := carried(t, nil, anthropic.Options{})
		raw := anthropic.Written(m, model.Request{System: []string{text}, Messages: []model.Message{
			{Role: model.Assistant, Text: text, Opaque: state, Calls: []model.Call{{ID: text, Name: text}}}, {Role: model.Result, CallID: text, Text: state}}})
		if !json.Valid(raw) {
			t.Fatalf("no JSON: %s", raw)
		}
	})
}
