package anthropic_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/anthropic"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
)

// voyage is a turn of three steps by a model that reasons, between its words too, and one step of a second turn.
const voyage = `
=== 1
--- thought
The notes <will> "say".
--- text
I look into the notes.

--- thought
All of them – 船.
--- call file_read {"path": "notes.txt", "lines": [1, 20]}
--- call file_read {}
=== 2
--- thought
Hm.
--- call file_read {"path": "b"}
=== 3
Buy milk.
=== 4
--- thought
Again?
--- text
You are welcome.
`

// sail plays a conversation against m, one request a step, and gives the last request. Change is done to each answer
// before it goes back.
func sail(t *testing.T, m sender, steps int, change func(*model.Message)) model.Request {
	t.Helper()
	r := request()
	for step := range steps {
		if step == 3 {
			r.Messages = append(r.Messages, model.Message{Role: model.User, Text: "Thanks."})
		}
		a := model.Message{Role: model.Assistant}
		for c, err := range m.Stream(t.Context(), r) {
			if err != nil {
				t.Fatalf("step %d: %v %v", step+1, err, m.srv.Errs())
			}
			a.Text += c.Text
			a.Opaque += c.Opaque
			if c.Call != nil {
				a.Calls = append(a.Calls, *c.Call)
			}
		}
		if change != nil {
			change(&a)
		}
		r.Messages = append(r.Messages, a)
		for i, c := range a.Calls {
			r.Messages = append(r.Messages, model.Message{Role: model.Result, CallID: c.ID, Name: c.Name, Text: strings.Repeat("x", i)})
		}
	}
	return r
}

// Signed reasoning comes back as it was and where it was: the server checks each signature, which is tied to all that
// stands before it.
func TestThoughtsGoBack(t *testing.T) {
	for name, tt := range map[string]struct {
		rules hosted.MessagesRules
		o     anthropic.Options
	}{
		"adaptive": {hosted.MessagesRules{Bound: true}, anthropic.Options{Native: true, Think: model.Yes}},
		"budget":   {hosted.MessagesRules{Bound: true}, anthropic.Options{Native: true, Think: model.Yes, Budget: 1024, MaxTokens: 2000}},
		"redacted": {hosted.MessagesRules{Bound: true, Redacts: true}, anthropic.Options{Native: true, Think: model.Yes, Budget: 4000}},
		"unasked":  {hosted.MessagesRules{Bound: true}, anthropic.Options{Native: true}},
	} {
		t.Run(name, func(t *testing.T) {
			m := connect(t, parse(t, voyage), tt.rules, tt.o)
			sail(t, m, 4, nil)
			if len(m.srv.Errs()) > 0 || len(m.srv.Sent()) != 4 {
				t.Fatalf("%d requests, %v", len(m.srv.Sent()), m.srv.Errs())
			}
			last := m.srv.Sent()[3]
			if n := bytes.Count(last, []byte(`thinking","`)) + bytes.Count(last, []byte(`thinking"}`)); n < 3 {
				t.Errorf("%d blocks of reasoning went back: %s", n, last)
			}
			modeltest.Grows(t, m.Sent())
		})
	}
}

// Blanks that were taken off the text since are put back: they stood before reasoning.
func TestThoughtsBehindBlanks(t *testing.T) {
	const text = "=== 1\n--- thought\na\n--- raw\n\n First.\n\n\n--- end\n--- thought\nb\n--- call file_read {}\n=== 2\nDone.\n"
	m := connect(t, parse(t, text), hosted.MessagesRules{Bound: true}, anthropic.Options{Native: true, Think: model.Yes})
	sail(t, m, 2, func(a *model.Message) { a.Text = strings.TrimSpace(a.Text) })
	if len(m.srv.Errs()) > 0 || !bytes.Contains(m.srv.Sent()[1], []byte(`"\n First.\n\n"`)) {
		t.Errorf("%v\n%s", m.srv.Errs(), m.srv.Sent()[1])
	}
}

// A history that is not what it was when a signature was made is sent again without that reasoning. What was refused once
// is not tried again.
func TestThoughtsRefused(t *testing.T) {
	for name, change := range map[string]func(*model.Message){
		"a changed signature": func(a *model.Message) { a.Opaque = strings.Replace(a.Opaque, `"signature":"Ev`, `"signature":"EX`, 1) },
		"a changed text":      func(a *model.Message) { a.Text = strings.Replace(a.Text, "look", "glance", 1) },
	} {
		for think, o := range map[string]anthropic.Options{
			"budget": {Native: true, Think: model.Yes, Budget: 2000}, "adaptive": {Native: true, Think: model.Yes},
		} {
			t.Run(name+", "+think, func(t *testing.T) {
				m := connect(t, parse(t, voyage), hosted.MessagesRules{Bound: true}, o)
				sail(t, m, 4, change)
				if n := len(m.srv.Errs()); n == 0 || len(m.srv.Sent()) != 4+n {
					t.Errorf("%d requests, %v", len(m.srv.Sent()), m.srv.Errs())
				}
			})
		}
	}
}

// After a compaction the old reasoning is refused once. What the model thinks from then on goes back again.
func TestThoughtsAfterACompaction(t *testing.T) {
	m := connect(t, parse(t, voyage), hosted.MessagesRules{Bound: true}, anthropic.Options{Native: true, Think: model.Yes})
	r := sail(t, m, 2, nil)
	r.System = append(r.System, "Summary: nothing was said.")
	r.Messages = r.Messages[1:]
	if got := play(t, m, r); !strings.HasPrefix(got, "text") || len(m.srv.Errs()) != 1 {
		t.Fatal(got, m.srv.Errs())
	}
	r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: "Buy milk."}, model.Message{Role: model.User, Text: "Thanks."})
	a := model.Message{Role: model.Assistant}
	for c, err := range m.Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err, m.srv.Errs())
		}
		a.Text += c.Text
		a.Opaque += c.Opaque
	}
	r.Messages = append(r.Messages, a, model.Message{Role: model.User, Text: "Bye."})
	play(t, m, r) // the script is over
	sent := m.srv.Sent()
	if last := sent[len(sent)-1]; len(m.srv.Errs()) != 2 || bytes.Count(last, []byte(`"signature":`)) != 1 {
		t.Errorf("%v\n%s", m.srv.Errs(), last)
	}
}

// What another adapter or another model made is left alone, and so is what is no state at all.
func TestForeignState(t *testing.T) {
	for _, state := range []string{
		"x", `{"responses":{"model":"script","items":[]}}`, `{"anthropic":`, `{"anthropic":null}`, `{"anthropic":{"model":"script","blocks":[{"thought":"x"}]}}`,
		`{"anthropic":{"model":"another","blocks":[{"thought":{"type":"thinking","thinking":"a","signature":"b"}},{"text":2}]}}`,
		`{"anthropic":{"model":"script","blocks":[{"text":-1},{"text":9223372036854775807},{"call":true}]}}`,
	} {
		m := connect(t, parse(t, anything), hosted.MessagesRules{}, anthropic.Options{Native: true, Think: model.Yes, Budget: 2000})
		r := request()
		r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: "Hi", Opaque: state}, model.Message{Role: model.User, Text: "And?"})
		play(t, m, r)
		if sent := m.srv.Sent(); len(sent) != 1 || bytes.Contains(sent[0], []byte(`"signature"`)) || len(m.srv.Errs()) > 0 {
			t.Errorf("%s: %v\n%s", state, m.srv.Errs(), sent)
		}
	}
}

// A server that takes only one way of asking for reasoning is asked in that way, from the second request on at once.
func TestWaysOfThinking(t *testing.T) {
	tests := []struct {
		name    string
		refuses []string
		most    int
		o       anthropic.Options
		want    string // in the request that is taken
	}{
		{"no adaptive", []string{"adaptive"}, 20_000, anthropic.Options{Think: model.Yes}, `"max_tokens":20000,"stream":true,"thinking":{"type":"enabled","budget_tokens":8192}`},
		{"no budget", []string{"enabled"}, 20_000, anthropic.Options{Think: model.Yes, Budget: 3000}, `"thinking":{"type":"adaptive"`},
		{"neither", []string{"enabled", "adaptive"}, 20_000, anthropic.Options{Think: model.Yes}, `"stream":true}`},
		{"always", []string{"disabled", "enabled"}, 20_000, anthropic.Options{Think: model.No}, `"stream":true}`},
		{"a small model", nil, 4096, anthropic.Options{Think: model.Yes, Budget: 30_000}, `"max_tokens":4096,"stream":true,"thinking":{"type":"enabled","budget_tokens":3072}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := connect(t, parse(t, anything), hosted.MessagesRules{Refuses: tt.refuses, MaxOut: tt.most}, tt.o)
			for range 2 {
				if got := play(t, m, request()); !strings.HasPrefix(got, "text") {
					t.Fatal(got, m.srv.Errs())
				}
			}
			sent := m.srv.Sent()
			if n := len(sent); n != 2+len(m.srv.Errs()) || !bytes.Contains(sent[n-1], []byte(tt.want)) || !bytes.Equal(sent[n-1], sent[n-2]) {
				t.Errorf("%d requests, %v, the last %s", n, m.srv.Errs(), sent[n-1])
			}
		})
	}
}
