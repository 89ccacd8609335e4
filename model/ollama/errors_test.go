package ollama_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/ollama"
)

func TestRefusals(t *testing.T) {
	const (
		help   = " Load it with a larger context, or start a new session."
		images = "qwen3:4b at URL does not read these images: choose a model with vision, or leave them out."
		tools  = "qwen3:4b takes no tools at URL. It can still be asked in text mode."
		page   = "URL answers with a web page: a sign-in page or a proxy stands there, or the address is not that of an API. Check --base-url."
	)
	tests := []struct {
		name   string
		status int
		body   string
		want   string
	}{
		{"no model", 404, `{"error":"model 'qwen3:4b' not found"}`,
			`no-model: The engine at URL has no model "qwen3:4b". It offers gemma3:4b: choose one with --model, or fetch this one (with Ollama: "ollama pull qwen3:4b").`},
		{"no model, older", 404, `{"error":"model \"qwen3:4b\" not found, try pulling it first"}`,
			`no-model: The engine at URL has no model "qwen3:4b". It offers gemma3:4b: choose one with --model, or fetch this one (with Ollama: "ollama pull qwen3:4b").`},
		{"another server", 404, "404 page not found", "unavailable: There is no Ollama API at URL. Check --base-url."},
		{"a page", 200, "<!doctype html><title>Sign in</title>", "unavailable: " + page},
		{"a page with a status", 403, "<html>", "unavailable: " + page},
		{"nothing", 200, "", "unavailable: The engine at URL gave an empty answer. Its own log may say why."},
		{"something else", 200, `{"choices":[]}`, "unavailable: What URL answers is not what an Ollama server says. Check --base-url."},
		{"no JSON", 200, "Ollama is running", "unavailable: What URL answers is not what an Ollama server says. Check --base-url."},
		{"key", 401, `{"error":"unauthorized"}`, "forbidden: The engine at URL wants a key: name the environment variable that holds it with --api-key-env, or add the engine with its key."},
		{"cloud", 401, `{"error":"unauthorized","signin_url":"https://ollama.com/connect?name=x"}`,
			`forbidden: qwen3:4b runs in Ollama's cloud, and the Ollama at URL is not signed in: run "ollama signin" there, or choose a model that it has itself.`},
		{"host", 403, "", "forbidden: The Ollama at URL does not answer to this host name: give its address in numbers with --base-url, or start it with OLLAMA_HOST=0.0.0.0."},
		{"tools", 400, `{"error":"registry.ollama.ai/library/qwen3:4b does not support tools"}`, "invalid: " + tools},
		{"no chat", 400, `{"error":"\"qwen3:4b\" does not support chat"}`, "invalid: qwen3:4b is no model to talk to: choose another with --model."},
		{"images, 0.34", 400, `{"error":"{\"error\":{\"code\":400,\"message\":\"Multimodal data provided, but model does not support multimodal requests.\",\"type\":\"invalid_request_error\"}}"}`, "invalid: " + images},
		{"images, 0.17", 500, `{"error":"this model is missing data required for image input"}`, "invalid: " + images},
		{"old Ollama", 400, `{"error":"this model requires a newer version of Ollama"}`, "unavailable: qwen3:4b needs a newer Ollama than the one at URL: update it."},
		{"window, 0.34", 400, `{"error":"{\"error\":{\"code\":400,\"message\":\"request (2622 tokens) exceeds the available context size (512 tokens), try increasing it\",\"type\":\"exceed_context_size_error\",\"n_prompt_tokens\":2622,\"n_ctx\":512}}"}`,
			"invalid: The request takes 2622 tokens, but qwen3:4b is loaded with room for 512." + help},
		{"window, 0.12.6", 400, `{"error":"the input length exceeds the context length"}`, "invalid: The request is too long for the window that qwen3:4b is loaded with." + help},
		{"window, within a stream", 200, `{"error":"the input length exceeds the context length"}`, "invalid: The request is too long for the window that qwen3:4b is loaded with." + help},
		{"memory", 500, `{"error":"model requires more system memory (5.6 GiB) than is available (3.2 GiB)"}`,
			"unavailable: The machine at URL has too little memory for qwen3:4b: take a smaller model or a smaller window."},
		{"busy", 503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, "unavailable: The engine at URL failed (status 503). Its own log says why."},
		{"a call that cannot be read", 500, `{"error":"error parsing tool call: raw='{', err=unexpected end of JSON input"}`, "garbled"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := client(t, ollama.Options{Native: true, Retry: once}, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/api/tags" {
					_, _ = io.WriteString(w, `{"models":[{"name":"gemma3:4b","model":"gemma3:4b"}]}`)
					return
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			if tt.want == "garbled" {
				if got := play(t, m, request()); got != "garbled unreadable\nfinish stop\n" {
					t.Error(got)
				}
				return
			}
			if got := play(t, m, request()); got != "error "+tt.want+"\n" {
				t.Errorf("\n got %s\nwant error %s", got, tt.want)
			}
			var err error
			for _, e := range m.Stream(t.Context(), request()) {
				err = e
			}
			if engine.NoTools(err) != (tt.name == "tools") {
				t.Error("NoTools is wrong")
			}
			if _, _, is := engine.TooLong(err); is != strings.HasPrefix(tt.name, "window") {
				t.Error("TooLong is wrong")
			}
			if prompt, window, _ := engine.TooLong(err); tt.name == "window, 0.34" && (prompt != 2622 || window != 512) {
				t.Error(prompt, window)
			}
			if len(err.Error()) > 900 {
				t.Errorf("%d bytes of error", len(err.Error()))
			}
		})
	}
}

func TestKeysDoNotShow(t *testing.T) {
	m := client(t, ollama.Options{Key: "sk-secret-secret", Retry: once}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(400)
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	})
	for _, err := range m.Stream(t.Context(), request()) {
		var e *jackline.Error
		if !errors.As(err, &e) || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "Bearer [key]") {
			t.Error(err)
		}
	}
}

func TestUnnamed(t *testing.T) {
	for list, want := range map[string]string{
		`{"models":[]}`:                    `error no-model: No model is named, and the engine at URL has none: fetch one first (with Ollama: "ollama pull NAME").`,
		`{"models":[{"name":"qwen3:8b"}]}`: "error no-model: No model is named: choose one with --model. The engine at URL offers qwen3:8b.",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, list) }))
		defer srv.Close()
		m, err := ollama.New(ollama.Options{BaseURL: srv.URL})
		if err != nil {
			t.Fatal(err)
		}
		if got := play(t, m, request()); got != want+"\n" {
			t.Error(got)
		}
		_ = m.Close()
	}
}
