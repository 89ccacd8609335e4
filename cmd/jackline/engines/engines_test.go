package engines

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/script"
	"github.com/jackline-ai/jackline/turn"
)

// An engine that turns out to take no tools is asked in text, and that is what is said of it from then on.
func TestStatusAfterFallback(t *testing.T) {
	t.Parallel()
	s, err := script.Parse(t.Name(), []byte("=== *\nHello.\n"))
	if err != nil {
		t.Fatal(err)
	}
	d := modeltest.LlamaCpp()
	d.NoTools = true
	srv := modeltest.NewServer(t, s, d)
	made := func(native bool) model.Model {
		m, err := openai.New(openai.Options{BaseURL: srv.URL, Model: "script", Window: 16384, Native: native, ReadArgs: readArgs})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	main := &either{native: made(true), text: modelsOf(made(false), false).Main}
	e := &Engines{o: Options{Name: "script"}, made: map[string]turn.Models{"script": {Main: main, Raw: made(false)}}}
	if st := e.Status(); st.Mode != "native" || !st.Ready {
		t.Errorf("before: %+v", st)
	}
	req := model.Request{
		Messages: []model.Message{{Role: model.User, Text: "hello"}}, MaxTokens: 100,
		Tools: []model.Tool{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}},
	}
	text := ""
	for c, err := range main.Stream(t.Context(), req) {
		if err != nil {
			t.Fatal(err)
		}
		text += c.Text
	}
	if st := e.Status(); st.Mode != "text" || main.Info().Native || !strings.Contains(text, "Hello.") {
		t.Errorf("after %q: %+v", text, st)
	}
}
