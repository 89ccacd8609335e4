package envelope_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint/constrainttest"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/envelope"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
	"github.com/jackline-ai/jackline/model/ollama"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/responses"
	"github.com/jackline-ai/jackline/model/script"
)

const words = "These are words."

// near carries requests to a server without a network in between, which would be most of the time that this takes.
type near struct{ http.Handler }

func (n near) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	n.ServeHTTP(w, r)
	return w.Result(), nil
}

// A maker starts an engine whose model writes anything that the form allows, and makes its adapter.
type maker func(t *testing.T, s *script.Script, seed uint64) model.Model

func completions(knob model.Knob) maker {
	return func(t *testing.T, s *script.Script, seed uint64) model.Model {
		srv := modeltest.NewServer(t, s, modeltest.Dialect{Takes: []model.Knob{knob}, Answers: constrainttest.Samples(seed)})
		m, err := openai.New(openai.Options{BaseURL: srv.URL, Model: "m", Knob: knob, Retry: engine.Retry{Tries: 1}, Transport: near{srv}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = m.Close() })
		return m
	}
}

func responding(t *testing.T, s *script.Script, seed uint64) model.Model {
	srv := hosted.NewResponses(t, s, hosted.ResponsesRules{Answers: constrainttest.Samples(seed)})
	m, err := responses.New(responses.Options{BaseURL: srv.URL, Model: "m", Retry: engine.Retry{Tries: 1}, Transport: near{srv}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func ownAPI(t *testing.T, s *script.Script, seed uint64) model.Model {
	srv := modeltest.NewOllama(t, s, modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen()}, Answers: constrainttest.Samples(seed)})
	m, err := ollama.New(ollama.Options{BaseURL: srv.URL, Model: modeltest.Qwen().Name, Window: 1 << 20, Retry: engine.Retry{Tries: 1}, Transport: near{srv}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// TestEveryCallIsValid sends the forms of 10,000 random tool sets through the adapters to engines that enforce what they are
// given, and whose models write anything that it allows. Every call that comes back is one that its tool's own schema
// allows; where there is none, the model was done and has answered.
func TestEveryCallIsValid(t *testing.T) {
	t.Parallel()
	llama := constrainttest.Kinds{NoHalfOpen: true}
	all := []struct {
		name  string
		make  maker
		kinds constrainttest.Kinds
	}{
		{"llama.cpp grammar", completions(model.KnobGrammar), constrainttest.Kinds{}},
		{"llama.cpp json_schema", completions(model.KnobSchema), llama},
		{"Ollama format", ownAPI, llama},
		{"vLLM structured_outputs", completions(model.KnobStructured), constrainttest.Kinds{}},
		{"LM Studio response_format", completions(model.KnobResponse), llama},
		{"OpenAI response_format", completions(model.KnobStrict), constrainttest.Kinds{NoLengths: true, NoMaps: true}},
		{"OpenAI text.format", responding, constrainttest.Kinds{NoLengths: true, NoMaps: true}},
	}
	sets := 10_000
	if testing.Short() {
		sets = 300
	}
	s, err := script.Parse("words", []byte("=== *\n"+words+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	calls, answers := 0, 0
	t.Run("engines", func(t *testing.T) {
		for i, e := range all {
			t.Run(e.name, func(t *testing.T) {
				t.Parallel()
				m := envelope.Wrap(e.make(t, s, uint64(i)), envelope.Options{})
				for n := i; n < sets && !t.Failed(); n += len(all) {
					called, err := oneSet(t, m, constrainttest.Tools(rand.New(rand.NewPCG(uint64(n), 11)), e.kinds))
					if err != nil {
						t.Errorf("set %d: %v", n, err)
					}
					mu.Lock()
					if called {
						calls++
					} else {
						answers++
					}
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d calls, all valid; %d answers", calls, answers)
	if calls < sets/2 || answers == 0 {
		t.Errorf("%d calls and %d answers are not what was to be tried", calls, answers)
	}
}

// oneSet asks once with a set of tools, and says whether that made a call, and what is wrong with it.
func oneSet(t *testing.T, m model.Model, made []constrainttest.Tool) (called bool, err error) {
	r := model.Request{System: []string{"p"}, Messages: []model.Message{{Role: model.User, Text: "go"}}}
	for _, each := range made {
		r.Tools = append(r.Tools, model.Tool{Name: each.Name, Schema: each.Schema, Body: each.Body})
	}
	text := ""
	var call *model.Call
	for c, err := range m.Stream(t.Context(), r) {
		switch {
		case err != nil:
			return false, err
		case c.Garbled != "":
			return false, fmt.Errorf("garbled: %s", c.Garbled)
		case c.Call != nil && call != nil:
			return false, fmt.Errorf("two calls")
		case c.Call != nil:
			call = c.Call
		}
		text += c.Text
	}
	if call == nil {
		if text != words {
			return false, fmt.Errorf("no call, and the text %q", text)
		}
		return false, nil
	}
	if text != "" || call.Cut {
		return true, fmt.Errorf("a call of %s with text %q, cut: %v", call.Name, text, call.Cut)
	}
	for _, each := range made {
		if each.Name != call.Name {
			continue
		}
		schema, err := args.Parse(each.Schema)
		if err != nil {
			return true, err
		}
		if err := schema.Validate(call.Args); err != nil {
			return true, fmt.Errorf("%s %s: %w\n%s", call.Name, call.Args, err, each.Schema)
		}
		strict, err := constrainttest.ParseSchema(each.Schema)
		if err != nil {
			return true, err
		}
		if err := strict.Check(string(call.Args)); err != nil {
			return true, fmt.Errorf("%s %s: %w\n%s", call.Name, call.Args, err, each.Schema)
		}
		return true, nil
	}
	return true, fmt.Errorf("there is no tool %s", call.Name)
}
