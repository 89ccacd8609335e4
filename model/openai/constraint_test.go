package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/script"
)

func formed() model.Request {
	r := modeltest.Ask("hello")
	r.Constraint = &model.Constraint{Name: "step", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"const":1}},"required":["a"],"additionalProperties":false}`), Grammar: "root ::= \"{\\\"a\\\":1}\"\n"}
	return r
}

func knobbed(t *testing.T, url string, knob model.Knob) *openai.Model {
	t.Helper()
	m, err := openai.New(openai.Options{BaseURL: url, Model: "m", Knob: knob, Retry: engine.Retry{Tries: 1}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func spoken(t *testing.T, m model.Model, r model.Request) (string, error) {
	t.Helper()
	text := ""
	for c, err := range m.Stream(t.Context(), r) {
		if err != nil {
			return text, err
		}
		text += c.Text
	}
	return text, nil
}

// TestKnobs holds what each engine is sent, behind the messages, and that the engine keeps the answer to it.
func TestKnobs(t *testing.T) {
	schema := string(formed().Constraint.Schema)
	for knob, want := range map[model.Knob]string{
		model.KnobGrammar:    `"grammar":"root ::= \"{\\\"a\\\":1}\"\n"`,
		model.KnobSchema:     `"json_schema":` + schema,
		model.KnobStructured: `"structured_outputs":{"json":` + schema + `}`,
		model.KnobGuided:     `"guided_json":` + schema,
		model.KnobResponse:   `"response_format":{"type":"json_schema","json_schema":{"name":"step","strict":true,"schema":` + schema + `}}`,
		model.KnobStrict:     `"response_format":{"type":"json_schema","json_schema":{"name":"step","strict":true,"schema":` + schema + `}}`,
	} {
		s, err := script.Parse("t", []byte("===\n{\"a\":1}\n===\nfree\n===\nwrong\n"))
		if err != nil {
			t.Fatal(err)
		}
		srv := modeltest.NewServer(t, s, modeltest.Dialect{Takes: []model.Knob{knob}})
		m := knobbed(t, srv.URL, knob)
		if m.Info().Knob != knob {
			t.Errorf("%s: %+v", knob, m.Info())
		}
		if text, err := spoken(t, m, formed()); err != nil || text != `{"a":1}` {
			t.Errorf("%s: %q %v", knob, text, err)
		}
		if body := string(srv.Sent()[0]); !strings.HasSuffix(body, ","+want+"}") {
			t.Errorf("%s: sent %s", knob, body)
		}
		if text, err := spoken(t, m, modeltest.Ask("hello")); err != nil || text != "free" || strings.Contains(string(srv.Sent()[1]), string(knob)+`"`) {
			t.Errorf("%s, free: %q %v %s", knob, text, err, srv.Sent()[1])
		}
		modeltest.Grows(t, srv.Sent())
		if _, err := spoken(t, m, formed()); err == nil {
			t.Errorf("%s: the engine let a wrong answer through", knob)
		}
	}
	// Without a knob nothing of it is sent.
	s, err := script.Parse("t", []byte("===\nfree\n"))
	if err != nil {
		t.Fatal(err)
	}
	srv := modeltest.NewServer(t, s, modeltest.OpenAI())
	m, err := openai.New(openai.Options{BaseURL: srv.URL, Model: "gpt-x", Key: "sk-test"})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := spoken(t, m, formed()); err != nil || text != "free" || strings.Contains(string(srv.Sent()[0]), "schema") {
		t.Errorf("%q %v", text, err)
	}
}

// TestFormRefused tells an engine that does not take the form apart from others, and tries a grammar where a schema is refused.
func TestFormRefused(t *testing.T) {
	s, err := script.Parse("t", []byte("=== *\n{\"a\":1}\n"))
	if err != nil {
		t.Fatal(err)
	}
	srv := modeltest.NewServer(t, s, modeltest.Dialect{Refuses: []string{"structured_outputs"}})
	_, err = spoken(t, knobbed(t, srv.URL, model.KnobStructured), formed())
	if !engine.NoForm(err) || jackline.KindOf(err) != jackline.Invalid {
		t.Errorf("refused: %v", err)
	}
	srv = modeltest.NewServer(t, s, modeltest.Dialect{Refuses: []string{"json_schema"}, Takes: []model.Knob{model.KnobGrammar}})
	m := knobbed(t, srv.URL, model.KnobSchema)
	for range 2 {
		if text, err := spoken(t, m, formed()); err != nil || text != `{"a":1}` {
			t.Errorf("%q %v", text, err)
		}
	}
	if n := len(srv.Sent()); n != 3 {
		t.Errorf("%d requests, want 3: what is refused once is not sent again", n)
	}
	srv = modeltest.NewServer(t, s, modeltest.Dialect{Refuses: []string{"json_schema", "grammar"}})
	if _, err = spoken(t, knobbed(t, srv.URL, model.KnobSchema), formed()); !engine.NoForm(err) {
		t.Errorf("both refused: %v", err)
	}
	for text, noForm := range map[string]bool{
		"===\n--- error 400 what?\n": true, "===\n--- error 401 who?\n": false, "===\n--- error 503 busy\n": false,
		"===\n--- error 400 This model's maximum context length is 4096 tokens\n": false, "===\n--- error 404 model 'm' not found\n": false,
	} {
		s, err := script.Parse("t", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		srv := modeltest.NewServer(t, s, modeltest.Dialect{})
		if _, err := spoken(t, knobbed(t, srv.URL, model.KnobResponse), formed()); err == nil || engine.NoForm(err) != noForm {
			t.Errorf("%q: %v, is about the form: %v", text, err, engine.NoForm(err))
		}
	}
}
