package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/anthropic"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
	"github.com/jackline-ai/jackline/model/ollama"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/prompted"
	"github.com/jackline-ai/jackline/model/responses"
	"github.com/jackline-ai/jackline/model/script"
)

// A strict transport holds each request to the rules of a provider and keeps the last body that they took.
type strict struct {
	check  func(body []byte) error
	answer string
	taken  []byte
	why    error // of the last refusal
}

func (s *strict) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if s.why = s.check(body); s.why != nil {
		quoted, err := json.Marshal(s.why.Error())
		if err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: 400, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"error":{"message":` + string(quoted) + `}}`))}, nil
	}
	s.taken = body
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(s.answer))}, nil
}

// under holds requests to what a server for tests says to them. It keeps what it was sent, so another takes its place now and then.
func under(path string, open func() http.Handler) func([]byte) error {
	const most = 1000
	h, n := open(), 0
	return func(body []byte) error {
		if n++; n%most == 0 {
			h = open()
		}
		r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
		r.Header.Set("Anthropic-Version", "2023-06-01")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			return errors.New(w.Body.String())
		}
		return nil
	}
}

const (
	chatAnswer  = `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`
	plainAnswer = `{"message":{"content":"ok"},"done":true,"done_reason":"stop"}` + "\n"
	blockAnswer = `{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`
	itemAnswer  = `{"object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}`
)

// A provider is an adapter and the rules that its requests must keep.
type provider struct {
	name   string
	native bool
	joins  bool // messages are joined, so that a request repeats another only up to its last message
	wire   *strict
	model  model.Model
}

func providers(t *testing.T) (all []provider) {
	t.Helper()
	anything := func() *script.Script {
		s, err := script.Parse("any", []byte("=== *\nok\n"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	once := engine.Retry{Tries: 1}
	add := func(p provider, m model.Model, err error) {
		if err != nil {
			t.Fatal(err)
		}
		if p.native, p.model = m.Info().Native, m; !p.native {
			p.model, p.joins = prompted.Wrap(m, prompted.Options{}), true
		}
		all = append(all, p)
	}
	for _, native := range []bool{true, false} {
		for name, rules := range map[string]modeltest.ChatRules{"openai": {}, "mistral": modeltest.Mistral(), "picky": {Words: true, Empty: true, Alone: true}} {
			s := &strict{check: rules.Check, answer: chatAnswer}
			m, err := openai.New(openai.Options{BaseURL: "http://engine.test/v1", Model: "m", Native: native, Transport: s, Retry: once})
			add(provider{name: name, wire: s, joins: rules.Alone}, m, err)
		}
		s := &strict{check: modeltest.CheckOllama, answer: plainAnswer}
		o, err := ollama.New(ollama.Options{BaseURL: "http://engine.test", Model: "m", Native: native, Transport: s, Retry: once})
		add(provider{name: "ollama", wire: s}, o, err)
		s = &strict{check: under("/v1/messages", func() http.Handler { return hosted.MessagesHandler(anything(), hosted.MessagesRules{}) }), answer: blockAnswer}
		a, err := anthropic.New(anthropic.Options{Model: "m", Native: native, Think: model.Yes, Transport: s, Retry: once})
		add(provider{name: "anthropic", wire: s}, a, err)
		s = &strict{check: under("/v1/responses", func() http.Handler { return hosted.ResponsesHandler(anything(), hosted.ResponsesRules{}) }), answer: itemAnswer}
		r, err := responses.New(responses.Options{BaseURL: "http://engine.test/v1", Model: "m", Native: native, Transport: s, Retry: once})
		add(provider{name: "responses", wire: s}, r, err)
	}
	return all
}

// A wreck is a session's log as no honest turn would leave it: cut short by crashes and compactions, steered, and carried from one
// model to another.
type wreck struct {
	rnd   *rand.Rand
	items []jackline.Item
	rows  map[jackline.CallID]jackline.Call
	late  []jackline.Item // results that come when they come
}

func one[T any](rnd *rand.Rand, of ...T) T { return of[rnd.IntN(len(of))] }

// nativeIDs are what engines call their calls by.
func (w *wreck) native() string {
	n := w.rnd.IntN(4)
	return one(w.rnd, "", "", fmt.Sprint("call_", n), fmt.Sprintf("call_%024d", n), fmt.Sprintf("toolu_01%022d", n), fmt.Sprintf("functions.file_read:%d", n),
		fmt.Sprintf("chatcmpl-tool-%032d", n), fmt.Sprintf("a%08d", n), fmt.Sprintf("c%05d%03d", n, n), strings.Repeat("x", 70+n), "ü b\n", fmt.Sprint(n), `"}`)
}

func (w *wreck) text() string {
	return one(w.rnd, "", " \n", "a", "Look at \"it\".\n\n", "üx\x00\xff", "[note] no", strings.Repeat("long ", 30))
}

func (w *wreck) call() jackline.Call {
	return jackline.Call{
		ID: jackline.NewID[jackline.CallID]("c_"), Native: w.native(), Name: one(w.rnd, "file_read", "time", "", "no such tool!", strings.Repeat("n", 80)),
		Args: json.RawMessage(one(w.rnd, `{}`, `{"path":"a"}`, `{"text":"`+strings.Repeat("t", 600)+`"}`, ``)), State: jackline.CallEnded,
		Outcome: one(w.rnd, jackline.OK, jackline.Errored, jackline.Denied, jackline.Expired, jackline.Cancelled, jackline.Unknown),
		Text:    w.text(), Source: one(w.rnd, jackline.Ours, jackline.Outside), Title: "Read [a]",
	}
}

func (w *wreck) opaque() string {
	return one(w.rnd, "", "", "", "?", `{"openai":{"model":"m","extras":[{"google":{"thought_signature":"s"}}]}}`, `{"anthropic":{"model":"other","blocks":[{"thought":{"type":"thinking"}}]}}`,
		`{"openai":{"model":"m","details":[{"type":"reasoning.text","text":"t"}],"thought":"t"}}`, `{"responses":{"model":"m","items":[{"text":1,"phase":"final_answer"}]}}`)
}

// step adds an answer, with calls or without, and most of its results.
func (w *wreck) step() {
	it := jackline.Item{Role: jackline.ItemAssistant, Text: w.text(), Opaque: w.opaque(), Keep: one(w.rnd, 0, 0, 0, 20)}
	var results []jackline.Item
	for range w.rnd.IntN(5) {
		c := w.call()
		it.Calls = append(it.Calls, c.ID)
		if w.rnd.IntN(20) > 0 {
			w.rows[c.ID] = c
		}
		results = append(results, jackline.Item{Role: jackline.ItemResult, Call: c.ID, Keep: one(w.rnd, 0, 0, 30)})
	}
	if w.rnd.IntN(15) > 0 { // or a compaction dropped it
		w.items = append(w.items, it)
	}
	switch w.rnd.IntN(8) {
	case 0: // it crashed
		results = results[:w.rnd.IntN(len(results)+1)]
	case 1:
		w.rnd.Shuffle(len(results), func(i, k int) { results[i], results[k] = results[k], results[i] })
	case 2:
		n := w.rnd.IntN(len(results) + 1)
		w.late, results = append(w.late, results[n:]...), results[:n]
	case 3:
		if len(results) > 0 {
			results = append(results, results[0])
		}
	case 4:
		results = slices.Insert(results, w.rnd.IntN(len(results)+1), jackline.Item{Role: one(w.rnd, jackline.ItemNote, jackline.ItemPrompt), Text: "[note] steered"})
	}
	w.items = append(w.items, results...)
}

func wrecked(rnd *rand.Rand) *wreck {
	w := &wreck{rnd: rnd, rows: map[jackline.CallID]jackline.Call{}}
	for range 1 + rnd.IntN(8) {
		switch rnd.IntN(8) {
		case 0, 1:
			w.items = append(w.items, jackline.Item{Role: jackline.ItemPrompt, Text: w.text()})
		case 2:
			w.items = append(w.items, jackline.Item{Role: jackline.ItemNote, Text: w.text()})
		case 3:
			w.items, w.late = append(w.items, w.late...), nil
		case 4:
			if len(w.items) > 0 {
				w.items = slices.Delete(w.items, 0, w.rnd.IntN(len(w.items))) // compacted
				w.items = slices.Insert(w.items, 0, jackline.Item{Role: jackline.ItemSummary, Text: "Much was done."})
			}
		default:
			w.step()
		}
	}
	return w
}

func dumped(all []model.Message) string {
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "%s %q %q", m.Role, m.CallID, m.Text)
		for _, c := range m.Calls {
			fmt.Fprintf(&b, " call %q %s", c.ID, c.Name)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// Whatever stands in the log, what is sent keeps the rules of the provider: every call has its one result right behind it, nothing
// answers no call, IDs are unique and of the provider's kind, and nothing is empty that may not be.
func TestWhatIsSentIsTaken(t *testing.T) {
	logs := 10_000
	switch {
	case raced:
		logs = 1000
	case testing.Short():
		logs = 500
	}
	for _, p := range providers(t) {
		t.Run(fmt.Sprint(p.name, p.native), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(7, 11))
			for n := range logs {
				w := wrecked(rnd)
				if !p.native && n%10 > 0 {
					continue // without calls there is little to get wrong
				}
				r := model.Request{System: []string{"You are a sailor."}, Tools: modeltest.Offered()}
				r.Messages = (&run{rows: w.rows}).messages(w.items)
				send(t, p, r)
				if n%10 == 0 {
					p.grows(t, r)
				}
				if t.Failed() {
					t.Fatal("sent for\n" + dumped(r.Messages))
				}
			}
		})
	}
}

func send(t *testing.T, p provider, r model.Request) {
	t.Helper()
	said := ""
	for c, err := range p.model.Stream(t.Context(), r) {
		if err != nil {
			t.Errorf("%v: %v", err, p.wire.why)
		}
		said += c.Text
	}
	if said != "ok" {
		t.Errorf("it says %q", said)
	}
}

// grows checks that the request which ended in a user message is repeated by those after it.
func (p provider) grows(t *testing.T, r model.Request) {
	t.Helper()
	if p.joins {
		return
	}
	all := r.Messages
	var bodies [][]byte
	for n := range len(all) {
		if m := all[n]; m.Role != model.User || strings.TrimSpace(m.Text) == "" {
			continue
		}
		r.Messages = all[:n+1]
		send(t, p, r)
		if p.name != "anthropic" {
			bodies = append(bodies, p.wire.taken)
			continue
		}
		// What is said next goes on in the same message.
		body := hosted.Unmarked([][]byte{p.wire.taken})[0]
		bodies = append(bodies, bytes.TrimSuffix(body[:bytes.Index(body, []byte(`,"max_tokens":`))], []byte(`]}]`)))
		if k := len(bodies) - 1; k > 0 && !bytes.HasPrefix(bodies[k], bodies[k-1]) {
			t.Errorf("a longer request does not repeat a shorter one:\n%s\n%s", bodies[k-1], bodies[k])
		}
	}
	if p.name != "anthropic" {
		modeltest.Grows(t, bodies)
	}
}
