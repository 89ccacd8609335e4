package ollama_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/ollama"
	"github.com/jackline-ai/jackline/model/script"
)

// TestFormat sends a form as it stands, behind the messages; thoughts come before it and are free.
func TestFormat(t *testing.T) {
	s, err := script.Parse("t", []byte("===\n--- thought\nHm.\n--- text\n{\"a\":1}\n===\nwrong\n"))
	if err != nil {
		t.Fatal(err)
	}
	srv := modeltest.NewOllama(t, s, modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen()}})
	m := open(t, ollama.Options{BaseURL: srv.URL, Model: modeltest.Qwen().Name, Think: ollama.ThinkOn, Retry: engine.Retry{Tries: 1}})
	if m.Info().Knob != model.KnobFormat {
		t.Errorf("%+v", m.Info())
	}
	r := modeltest.Ask("hello")
	const schema = `{"type":"object","properties":{"a":{"const":1}},"required":["a"]}`
	r.Constraint = &model.Constraint{Name: "step", Schema: json.RawMessage(schema)}
	ask := func() (text, thought string, err error) {
		for c, err := range m.Stream(t.Context(), r) {
			if err != nil {
				return text, thought, err
			}
			text, thought = text+c.Text, thought+c.Thought
		}
		return text, thought, nil
	}
	if text, thought, err := ask(); err != nil || text != `{"a":1}` || thought != "Hm." {
		t.Errorf("%q %q %v", text, thought, err)
	}
	if body := string(srv.Sent()[0]); !strings.Contains(body, `],"stream":true,"think":true,"format":`+schema+`,`) {
		t.Errorf("sent %s", body)
	}
	if _, _, err := ask(); err == nil {
		t.Error("the engine let a wrong answer through")
	}
	// What is no schema is refused in Ollama's words, and told apart.
	r.Constraint.Schema = json.RawMessage(`"yaml"`)
	if _, _, err := ask(); !engine.NoForm(err) {
		t.Errorf("refused: %v", err)
	}
}
