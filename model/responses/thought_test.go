package responses_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
	"github.com/jackline-ai/jackline/model/responses"
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

// sail plays a conversation against m, one request a step. Change is done to each answer before it goes back.
func sail(t *testing.T, m sender, steps int, change func(*model.Message)) {
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
}

// Sealed reasoning, and what a message is, come back as they were and where they were.
func TestThoughtsGoBack(t *testing.T) {
	for name, rules := range map[string]hosted.ResponsesRules{"sealed": {}, "open": {Open: true}, "phases": {Phases: true}} {
		t.Run(name, func(t *testing.T) {
			m := connect(t, parse(t, voyage), rules, responses.Options{Native: true})
			sail(t, m, 4, nil)
			if len(m.srv.Errs()) > 0 || len(m.srv.Sent()) != 4 {
				t.Fatalf("%d requests, %v", len(m.srv.Sent()), m.srv.Errs())
			}
			last := m.srv.Sent()[3]
			if n := bytes.Count(last, []byte(`{"type":"reasoning"`)); n != 3 {
				t.Errorf("%d items of reasoning went back: %s", n, last)
			}
			if n := bytes.Count(last, []byte(`"phase":"commentary"`)); (n == 2) != rules.Phases {
				t.Errorf("%d phases went back: %s", n, last)
			}
			modeltest.Grows(t, m.Sent())
		})
	}
}

// Blanks that were taken off the text since are put back: they stood before reasoning.
func TestThoughtsBehindBlanks(t *testing.T) {
	const text = "=== 1\n--- thought\na\n--- raw\n\n First.\n\n\n--- end\n--- thought\nb\n--- call file_read {}\n=== 2\nDone.\n"
	m := connect(t, parse(t, text), hosted.ResponsesRules{}, responses.Options{Native: true})
	sail(t, m, 2, func(a *model.Message) { a.Text = strings.TrimSpace(a.Text) })
	if len(m.srv.Errs()) > 0 || !bytes.Contains(m.srv.Sent()[1], []byte(`"\n First.\n\n"`)) {
		t.Errorf("%v\n%s", m.srv.Errs(), m.srv.Sent()[1])
	}
}

// A server that does not take sealed reasoning back gets the same request without. What was refused once is not tried again.
func TestThoughtsRefused(t *testing.T) {
	m := connect(t, parse(t, voyage), hosted.ResponsesRules{}, responses.Options{Native: true})
	sail(t, m, 4, func(a *model.Message) { a.Opaque = strings.Replace(a.Opaque, "gAAAAAB", "gBBBBBB", 1) })
	if n := len(m.srv.Errs()); n != 2 || len(m.srv.Sent()) != 6 {
		t.Errorf("%d requests, %v", len(m.srv.Sent()), m.srv.Errs())
	}
}

// What another adapter or another model made is left alone, and so is what is no state at all.
func TestForeignState(t *testing.T) {
	for _, state := range []string{
		"x", `{"anthropic":{"model":"script","blocks":[]}}`, `{"responses":`, `{"responses":null}`, `{"responses":{"model":"script","items":[{"thought":"x"}]}}`,
		`{"responses":{"model":"another","items":[{"thought":{"type":"reasoning","id":"a","encrypted_content":"b"}},{"text":2}]}}`,
		`{"responses":{"model":"script","items":[{"text":-1},{"gap":9223372036854775807,"text":9223372036854775807},{"call":true}]}}`,
	} {
		m := connect(t, parse(t, anything), hosted.ResponsesRules{}, responses.Options{Native: true})
		r := request()
		r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: "Hi", Opaque: state}, model.Message{Role: model.User, Text: "And?"})
		play(t, m, r)
		if sent := m.srv.Sent(); len(sent) != 1 || bytes.Contains(sent[0], []byte(`"reasoning","id`)) || len(m.srv.Errs()) > 0 {
			t.Errorf("%s: %v\n%s", state, m.srv.Errs(), sent)
		}
	}
}
