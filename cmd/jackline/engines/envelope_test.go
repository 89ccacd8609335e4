package engines

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/modeltest"
)

// Which field holds an engine to a form is known of each; where nobody knows the engine, none is taken unless its owner says so.
func TestKnobs(t *testing.T) {
	t.Parallel()
	at := func(family, base string, api detect.API, version string) pick {
		return pick{source: source{id: "x", origin: added, base: base, api: api, family: family, version: version}, card: model.Card{ID: "m"}}
	}
	thinks := func(p pick) pick {
		p.card.Thinking = model.Yes
		return p
	}
	const here = "http://127.0.0.1:1/v1"
	for _, c := range []struct {
		p    pick
		want model.Knob
		mode string // where the owner asks for envelope
	}{
		{at(detect.Ollama, here, detect.APIOllama, ""), model.KnobFormat, envelopes},
		{at(detect.Ollama, here, detect.APIOpenAI, ""), model.KnobResponse, envelopes},
		{at(detect.LlamaCpp, here, detect.APIOpenAI, "b7000"), model.KnobGrammar, envelopes},
		{thinks(at(detect.LlamaCpp, here, detect.APIOpenAI, "b7000")), model.KnobSchema, envelopes},
		{at(detect.LMStudio, here, detect.APIOpenAI, ""), model.KnobResponse, envelopes},
		{at(detect.VLLM, here, detect.APIOpenAI, ""), model.KnobStructured, envelopes},
		{at(detect.VLLM, here, detect.APIOpenAI, "0.12.0"), model.KnobStructured, envelopes},
		{at(detect.VLLM, here, detect.APIOpenAI, "0.11.2"), model.KnobGuided, envelopes},
		{at(detect.VLLM, here, detect.APIOpenAI, "1.0"), model.KnobStructured, envelopes},
		{at(detect.LocalAI, here, detect.APIOpenAI, ""), model.KnobGrammar, envelopes},
		{at(detect.OpenAI, "https://api.openai.com/v1", detect.APIOpenAI, ""), model.KnobStrict, envelopes},
		{at("", here, detect.APIResponses, ""), model.KnobStrict, envelopes},
		{at("", here, detect.APIOpenAI, ""), model.NoKnob, envelopes},
		{at("", here, detect.APIAnthropic, ""), model.NoKnob, text},
	} {
		if got := knobFor(c.p); got != c.want {
			t.Errorf("%s %s at %s: %q, want %q", c.p.family, c.p.version, c.p.base, got, c.want)
		}
		pl := New(Options{ToolMode: envelopes}).plan(c.p)
		if pl.mode != c.mode || !pl.sure || pl.mode == envelopes && pl.knob == model.NoKnob {
			t.Errorf("%s at %s, asked for: %+v", c.p.family, c.p.base, pl)
		}
		if pl := New(Options{}).plan(c.p); pl.mode == envelopes {
			t.Errorf("%s at %s, nobody asked: %+v", c.p.family, c.p.base, pl)
		}
		c.p.card.Mode = envelopes
		if pl := New(Options{}).plan(c.p); pl.mode != c.mode || pl.sure {
			t.Errorf("%s at %s, a probe found it: %+v", c.p.family, c.p.base, pl)
		}
	}
}

func step() model.Request {
	return model.Request{
		Messages: []model.Message{{Role: model.User, Text: "go"}}, MaxTokens: 100,
		Tools: []model.Tool{{Name: "look", Schema: json.RawMessage(`{"type":"object","properties":{"at":{"type":"string"}},"required":["at"]}`)}},
	}
}

// A model in envelope mode is one through and through: what is sent, what comes back, and what is said of it.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	srv := modeltest.NewOllama(t, plays(t, "===\n--- call look {\"at\": \"x\"}\n===\n{\"final\": true}\n===\nDone.\n"), modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Gemma()}})
	e := at(t, Options{ToolMode: envelopes, BaseURL: srv.URL, API: "ollama", Name: "gemma3:4b"}, nil)
	m, err := e.Model(t.Context(), jackline.Session{})
	if err != nil {
		t.Fatal(err)
	}
	if i := m.Main.Info(); i.Mode() != envelopes || m.Raw.Info().Mode() != text {
		t.Errorf("%+v", i)
	}
	if st := e.Status(t.Context()); st.Mode != envelopes {
		t.Errorf("%+v", st)
	}
	for _, want := range []string{`look{"at":"x"}`, "Done."} {
		got := ""
		for c, err := range m.Main.Stream(t.Context(), step()) {
			if err != nil {
				t.Fatal(err)
			}
			got += c.Text
			if c.Call != nil {
				got += c.Call.Name + string(c.Call.Args)
			}
		}
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	for i, body := range srv.Sent() {
		if held := strings.Contains(string(body), `"format":{`); held != (i < 2) {
			t.Errorf("request %d is held: %v", i, held)
		}
	}
	if errs := srv.Errs(); len(errs) > 0 {
		t.Error(errs)
	}
}

// An engine that refuses the form is asked in text from then on. The turn is told once, and the page and doctor see it.
func TestFormRefused(t *testing.T) {
	t.Parallel()
	d := modeltest.LlamaCpp()
	d.Refuses = []string{"json_schema", "grammar", "response_format"}
	srv := modeltest.NewServer(t, plays(t, "=== *\n--- call look {\"at\": \"x\"}\n"), d)
	e := at(t, Options{ToolMode: envelopes, BaseURL: srv.URL, API: "openai", Name: "script"}, nil)
	m, err := e.Model(t.Context(), jackline.Session{})
	if err != nil {
		t.Fatal(err)
	}
	told, calls := 0, 0
	for range 3 {
		for c, err := range m.Main.Stream(t.Context(), step()) {
			var other *model.Instead
			switch {
			case errors.As(err, &other):
				told++
				if !strings.Contains(other.Say, "read from text") || m.Main.Info().Mode() != text {
					t.Errorf("%s, mode %s", other.Say, m.Main.Info().Mode())
				}
			case err != nil:
				t.Fatal(err)
			case c.Call != nil:
				calls++
			}
		}
	}
	if told != 1 || calls != 2 {
		t.Errorf("told %d times, %d calls", told, calls)
	}
	if st := e.Status(t.Context()); st.Mode != text {
		t.Errorf("%+v", st)
	}
	if a, err := e.Account(t.Context()); err != nil || !strings.Contains(a.Mode, "refused to hold") {
		t.Errorf("%+v %v", a, err)
	}
}
