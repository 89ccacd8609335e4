package modeltest_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/ollama"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/script"
)

func everything() modeltest.OllamaOptions {
	return modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen(), modeltest.Gemma(), modeltest.Nomic()}}
}

func serve(t *testing.T, text string, o modeltest.OllamaOptions) *modeltest.OllamaServer {
	t.Helper()
	s, err := script.Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return modeltest.NewOllama(t, s, o)
}

// say is what one request gets: its status and body.
func say(t *testing.T, srv *modeltest.OllamaServer, method, path, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	defer http.DefaultClient.CloseIdleConnections()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status[:3] + " " + string(answer)
}

func TestOllamaSays(t *testing.T) {
	srv := serve(t, "=== *\nhi\n", everything())
	const ask = `"messages":[{"role":"user","content":"hi"}]`
	for _, tt := range []struct{ method, path, body, want string }{
		{"GET", "/", "", "200 Ollama is running"},
		{"GET", "/api/version", "", `200 {"version":"0.40.2"}`},
		{"POST", "/api/tags", "", "405 Method Not Allowed\n"},
		{"GET", "/api/nothing", "", "404 404 page not found\n"},
		{"POST", "/api/show", "", `400 {"error":"missing request body"}`},
		{"POST", "/api/show", `{}`, `400 {"error":"model is required"}`},
		{"POST", "/api/show", `{"model":"x"}`, `404 {"error":"model 'x' not found"}`},
		{"POST", "/api/pull", `{"model":"a b"}`, `400 {"error":"invalid model name"}`},
		{"DELETE", "/api/delete", `{"name":"x"}`, `404 {"error":"model 'x' not found"}`},
		{"DELETE", "/api/delete", `{"model":"nomic-embed-text"}`, `200 `},
		{"POST", "/api/chat", `{"model":"qwen3:4b","keep_alive":0,"messages":[]}`, `200 {"created_at":"2026-09-30T10:20:30.123456789Z","done":true,"done_reason":"unload","message":{"content":"","role":"assistant"},"model":"qwen3:4b"}`},
		{"POST", "/api/chat", `{"model":"gemma3:4b","think":true,` + ask + `}`, `400 {"error":"\"gemma3:4b\" does not support thinking"}`},
		{"POST", "/api/chat", `{"model":"qwen3:4b","think":"low",` + ask + `}`, `400 {"error":"think value \"low\" is not supported for this model"}`},
		{"POST", "/api/chat", `{"model":"gemma3:4b","tools":[{}],` + ask + `}`, `400 {"error":"registry.ollama.ai/library/gemma3:4b does not support tools"}`},
		{"POST", "/v1/chat/completions", `{"model":"gemma3:4b","tools":[{}],` + ask + `}`,
			`400 {"error":{"code":null,"message":"registry.ollama.ai/library/gemma3:4b does not support tools","param":null,"type":"invalid_request_error"}}`},
		{"POST", "/v1/chat/completions", `{"model":"x",` + ask + `}`, `404 {"error":{"code":null,"message":"model 'x' not found","param":null,"type":"not_found_error"}}`},
		{"GET", "/api/ps", "", `200 {"models":[]}`},
	} {
		if got := say(t, srv, tt.method, tt.path, tt.body); got != tt.want {
			t.Errorf("%s %s %s\n got %s\nwant %s", tt.method, tt.path, tt.body, got, tt.want)
		}
	}
	for _, body := range []string{`{"model":"qwen3:4b","stream":false,` + ask + `}`, `{"model":"qwen3:4b",` + ask + `}`} {
		lines := strings.Split(strings.TrimSpace(say(t, srv, "POST", "/api/chat", body)[4:]), "\n")
		var last struct {
			Done    bool
			Message struct{ Content string }
			Prompt  int `json:"prompt_eval_count"`
		}
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || !last.Done || last.Prompt == 0 || (last.Message.Content == "hi") != (len(lines) == 1) {
			t.Errorf("%+v %v", lines, err)
		}
	}
}

// The same Ollama passes the contract under /v1.
func TestOllamaV1(t *testing.T) {
	modeltest.Contract(t, func(t *testing.T, s *script.Script) model.Model {
		srv := modeltest.NewOllama(t, s, everything())
		m, err := openai.New(openai.Options{BaseURL: srv.URL + "/v1", Model: "qwen3:4b", Native: true, Retry: engine.Retry{Tries: 1}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
}

func TestOllamaWindow(t *testing.T) {
	long := modeltest.Ask(strings.Repeat("words ", 10_000))
	for _, cuts := range []bool{false, true} {
		o := everything()
		o.Cuts = cuts
		srv := serve(t, "=== *\nhi\n", o)
		m, err := ollama.New(ollama.Options{BaseURL: srv.URL, Model: "qwen3:4b", Native: true, Retry: engine.Retry{Tries: 1}})
		if err != nil {
			t.Fatal(err)
		}
		var usage *model.Usage
		for c, e := range m.Stream(t.Context(), long) {
			usage, err = c.Usage, e
		}
		if cuts && (err != nil || usage == nil || !usage.Cut) {
			t.Errorf("%+v %v", usage, err)
		}
		if prompt, window, ok := engine.TooLong(err); !cuts && (!ok || prompt < 15_000 || window != 8192) {
			t.Error(prompt, window, err)
		}
		_ = m.Close()
	}
}

func TestOllamaCannot(t *testing.T) {
	srv := serve(t, "=== *\nhi\n", everything())
	m, err := ollama.New(ollama.Options{BaseURL: srv.URL, Model: "gemma3:4b", Native: true, Think: ollama.ThinkHigh})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	ask := func(r model.Request) (text string, err error) {
		for c, e := range m.Stream(t.Context(), r) {
			text += c.Text
			err = e
		}
		return text, err
	}
	r := modeltest.Ask("look")
	if _, err := ask(r); !engine.NoTools(err) {
		t.Error(err)
	}
	r.Tools = nil
	r.Messages[0].Images = []model.Image{{Type: "image/png", Data: make([]byte, 1<<20)}}
	if text, err := ask(r); text != "hi" || err != nil {
		t.Error(text, err)
	}
}
