package modeltest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/ollama"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestScript(t *testing.T) {
	for name, native := range map[string]bool{"native": true, "text": false} {
		t.Run(name, func(t *testing.T) {
			modeltest.Contract(t, func(_ *testing.T, s *script.Script) model.Model {
				return script.New(s, script.Options{Native: native})
			})
		})
	}
}

// sender is a model that knows what its server was sent.
type sender struct {
	*openai.Model
	srv *modeltest.Server
}

func (s sender) Sent() [][]byte { return s.srv.Sent() }

func connect(t *testing.T, s *script.Script, d modeltest.Dialect, native bool) sender {
	t.Helper()
	srv := modeltest.NewServer(t, s, d)
	name := "script"
	if len(d.Models) > 0 {
		name = d.Models[0]
	}
	m, err := openai.New(openai.Options{BaseURL: srv.URL, Model: name, Key: engine.Key(d.Key), Native: native, Retry: engine.Retry{Tries: 1}})
	if err != nil {
		t.Fatal(err)
	}
	return sender{m, srv}
}

func dialects() map[string]modeltest.Dialect {
	return map[string]modeltest.Dialect{
		"openai": modeltest.OpenAI(), "llamacpp": modeltest.LlamaCpp(), "vllm": modeltest.VLLM(),
		"ollama": modeltest.Ollama(), "lmstudio": modeltest.LMStudio(),
		"thinking":  {Reasoning: "thinking", ObjectArgs: true, NoDone: true, Count: modeltest.WithEach},
		"no index":  {NoIndex: true, StopAlways: true, Comments: true},
		"one index": {OneIndex: true, WholeCalls: true, NoIDs: true},
		"gzip":      {Gzip: true},
	}
}

func TestOpenAI(t *testing.T) {
	for name, d := range dialects() {
		t.Run(name, func(t *testing.T) {
			modeltest.Contract(t, func(t *testing.T, s *script.Script) model.Model { return connect(t, s, d, true) })
		})
	}
	t.Run("text", func(t *testing.T) {
		modeltest.Contract(t, func(t *testing.T, s *script.Script) model.Model { return connect(t, s, modeltest.Dialect{}, false) })
	})
}

// ollamaSender is a model of an Ollama that knows what its server was sent.
type ollamaSender struct {
	*ollama.Model
	srv *modeltest.OllamaServer
}

func (s ollamaSender) Sent() [][]byte { return s.srv.Sent() }

func TestOllama(t *testing.T) {
	for name, native := range map[string]bool{"native": true, "text": false} {
		t.Run(name, func(t *testing.T) {
			modeltest.Contract(t, func(t *testing.T, s *script.Script) model.Model {
				srv := modeltest.NewOllama(t, s, modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen()}})
				m, err := ollama.New(ollama.Options{
					BaseURL: srv.URL, Model: "qwen3:4b", Think: ollama.ThinkOn, Native: native, Retry: engine.Retry{Tries: 1},
				})
				if err != nil {
					t.Fatal(err)
				}
				return ollamaSender{m, srv}
			})
		})
	}
}
