package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model/openai"
)

func TestList(t *testing.T) {
	tests := []struct {
		name, body string
		status     int
		want       string
	}{
		{"OpenAI", `{"object":"list","data":[{"id":"a","object":"model"},{"id":"b"}]}`, 200, "a b"},
		{"llama.cpp", `{"models":[{"name":"x.gguf","model":"x.gguf"}],"object":"list","data":[{"id":"x.gguf","meta":{"n_ctx_train":4096}}]}`, 200, "x.gguf"},
		{"names only", `{"models":[{"name":"x"}]}`, 200, "x"},
		{"a bare list", `[{"id":"x"}]`, 200, "x"},
		{"none", `{"object":"list","data":null}`, 200, ""},
		{"a page", `<html>`, 200, "error unavailable: URL answers with a web page: a sign-in page or a proxy stands there, or the address is not that of an API. Check --base-url."},
		{"something else", `{"a":1}`, 200, "error unavailable: What URL answers is not what a Chat Completions server says. Check --base-url."},
		{"not JSON", `models: x`, 200, "error unavailable: What URL answers is not what a Chat Completions server says. Check --base-url."},
		{"nothing", ``, 200, "error unavailable: The engine at URL gave an empty answer. Its own log may say why."},
		{"key", ``, 401, "error forbidden: The engine at URL wants a key: name the environment variable that holds it with --api-key-env, or add the engine with its key."},
		{"no page", ``, 404, "error unavailable: There is no Chat Completions API at URL. Check --base-url."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := client(t, openai.Options{}, func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.URL.Path != "/v1/models" {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			names, err := m.List(t.Context())
			got := strings.Join(names, " ")
			if err != nil {
				_, base, _ := strings.Cut(m.String(), " at ")
				got = "error " + jackline.KindOf(err).String() + ": " + strings.ReplaceAll(jackline.Say(err), base, "URL")
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
