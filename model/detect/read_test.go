package detect_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log" //nolint:depguard // net/http wants one to be quiet
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/script"
)

func TestReadFaults(t *testing.T) {
	elsewhere := start(t, library())
	far := func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
	}
	locked := modeltest.Family(detect.VLLM, modeltest.Presence{Models: two[:1], Version: "1", Key: "right"}, nil)
	tests := []struct {
		name string
		h    http.Handler
		path string
		key  string
		want string
	}{
		{"a web page", always(200, "<html>"), "", "",
			"unavailable: At URL there is a web page and no model engine. Check host and port; the address of an API often ends in /v1."},
		{"ourselves", always(200, `{"object":"list","data":[{"id":"m","object":"model","owned_by":"jackline"}]}`), "/v1", "",
			"invalid: At URL/v1 there is Jackline itself, which cannot be its own engine. Give the address of the engine behind it."},
		{"no list", always(404, "not found"), "/v2", "",
			"unavailable: Something answers at URL/v2, but it has no list of models there. Check port and path; most addresses end in /v1."},
		{"something else", always(200, `{"a":1}`), "", "", "unavailable: Something answers at URL, but it is no model engine. Check host and port."},
		{"no key", always(401, "who are you"), "/v1", "", "forbidden: What listens at URL/v1 asks for a key. Enter it."},
		{"another key", always(401, "who are you"), "/v1", "sk-wrong",
			"forbidden: What listens at URL/v1 does not take that key. Check that it is the right one, whole and not withdrawn."},
		{"a known engine, no key", locked, "", "", "forbidden: vLLM asks for a key. Put it into the environment variable VLLM_API_KEY, or enter it."},
		{"a known engine, another key", locked, "/v1", "wrong", "forbidden: vLLM does not take the key that it was given."},
		{"forbidden", always(403, ""), "", "sk", "forbidden: What listens at URL forbids the question for its models. The key may lack the right, " +
			"or the engine takes no requests from this machine or under this name."},
		{"too often", always(429, ""), "", "", "unavailable: What listens at URL says that it was asked too often. Try again in a minute."},
		{"failing", always(502, "bad gateway"), "", "",
			"unavailable: What listens at URL fails with status 502: it may be coming up, or its own log says why."},
		{"a redirect to elsewhere", http.HandlerFunc(far), "", "",
			"unavailable: URL sends its visitors to another address, which was not followed. Enter that address if you trust it."},
		{"too much", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 5<<20)) }), "", "",
			"unavailable: What listens at URL answers with more than 4 MB, which no list of models is. Check the address."},
		{"broken", http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }), "", "",
			"unavailable: What listens at URL broke off without an answer that can be read. It may be no engine, or one that is coming up."},
		{"loading", modeltest.Family(detect.LlamaCpp, modeltest.Presence{Loading: true, Models: two[:1]}, nil), "/v1", "",
			"unavailable: llama.cpp is loading its model, which takes from seconds to minutes."},
		{"no model", &ollama{}, "", "", "no-model: Ollama 0.33.2 has no model yet. Get one, for example: ollama pull qwen3:4b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := start(t, tt.h)
			_, err := detect.Read(t.Context(), url+tt.path, tt.key)
			if got := in(err, url); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// in is an error as kind and sentence, without the address.
func in(err error, url string) string {
	if err == nil {
		return "no error"
	}
	say := jackline.Say(err)
	if url != "" {
		say = strings.ReplaceAll(say, url, "URL")
	}
	return jackline.KindOf(err).String() + ": " + say
}

func TestReadNowhere(t *testing.T) {
	url := closed(t)
	_, err := detect.Read(t.Context(), url, "")
	if got := in(err, url); got != "unavailable: Nothing listens at URL. Start the engine (Ollama with: ollama serve), or check the port." {
		t.Error(got)
	}
	_, err = detect.Read(t.Context(), "http://no-such-host.invalid", "")
	if got := in(err, ""); !strings.Contains(got, "host of http://no-such-host.invalid is not known") && !strings.Contains(got, "Nothing answers") {
		t.Error(got)
	}
	silent := listen(t, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0\r\n") })
	_, err = detect.Read(t.Context(), silent, "")
	if got := in(err, silent); !strings.HasPrefix(got, "unavailable: What listens at URL broke off") {
		t.Error(got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := detect.Read(ctx, url, ""); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestReadTypedWrong(t *testing.T) {
	tests := []struct{ base, key, want string }{
		{"", "", "Give the address of the engine, for example http://127.0.0.1:11434."},
		{"ftp://x", "", "That is no address. It looks like http://127.0.0.1:11434."},
		{"http://", "", "That is no address. It looks like http://127.0.0.1:11434."},
		{"example.org", "", "The address must begin with http:// or https://, for example http://127.0.0.1:11434."},
		{"http://me:secret@127.0.0.1", "", "The address holds a user name or password: enter the key by itself instead."},
		{"http://exämple.org", "", "The host has other than plain letters: write it in its xn-- form."},
		{"http://127.0.0.1/a b", "", "The address holds blanks or characters that do not show: type it anew."},
		{"http://127.0.0.1\u200b", "", "The address holds blanks or characters that do not show: type it anew."},
		{"http://127.0.0.1:1", "a b", "The key holds blanks or other characters that no key has: copy it again."},
		{"http://127.0.0.1:1", "a\r\nX: y", "The key holds blanks or other characters that no key has: copy it again."},
	}
	for _, tt := range tests {
		_, err := detect.Read(t.Context(), tt.base, tt.key)
		if got := in(err, ""); got != "invalid: "+tt.want {
			t.Errorf("%q: %s", tt.base, got)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%v shows a password", err)
		}
	}
}

func TestReadTLS(t *testing.T) {
	s := httptest.NewUnstartedServer(library())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	_, err := detect.Read(t.Context(), s.URL, "")
	if got := in(err, s.URL); got != "unavailable: The certificate of URL is not one that this machine trusts. If it is your own, let the system trust it." {
		t.Error(got)
	}
	plain := strings.Replace(s.URL, "https://", "http://", 1)
	_, err = detect.Read(t.Context(), plain, "")
	if got := in(err, plain); got != "unavailable: What listens at URL wants https: write https:// instead of http://." {
		t.Error(got)
	}
	url := start(t, library())
	secure := strings.Replace(url, "http://", "https://", 1)
	_, err = detect.Read(t.Context(), secure, "")
	if got := in(err, secure); got != "unavailable: What listens at URL does not speak https: write http:// instead of https://." {
		t.Error(got)
	}
}

func TestReadStaysAtItsOrigin(t *testing.T) {
	var visits atomic.Int32
	other := start(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { visits.Add(1) }))
	moved := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other+r.URL.Path, http.StatusFound)
	}))
	if _, err := detect.Read(t.Context(), moved, "sk-key"); err == nil || visits.Load() != 0 {
		t.Errorf("%v; the other was visited %d times", err, visits.Load())
	}
	// A redirect within the origin is followed: some servers want a slash more.
	inside := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			http.Redirect(w, r, "/v1/models/", http.StatusTemporaryRedirect)
		case "/v1/models/":
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m"}]}`)
		default:
			http.NotFound(w, r)
		}
	}))
	if f, err := detect.Read(t.Context(), inside, ""); err != nil || len(f.Cards) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
}

func TestReadPaths(t *testing.T) {
	const list = `{"object":"list","data":[{"id":"m","object":"model"}]}`
	tests := []struct{ serves, typed, base string }{
		{"/v1/models", "", "/v1"},
		{"/v1/models", "/v1/", "/v1"},
		{"/v1/models", "/v1/models", "/v1"},
		{"/v1/models", "/v1/chat/completions", "/v1"},
		{"/models", "", ""},
		{"/api/v1/models", "/api/v1", "/api/v1"},
		{"/v1beta/openai/models", "/v1beta/openai", "/v1beta/openai"},
		{"/llm/v1/models", "/llm", "/llm/v1"},
		{"/v1/models", "/wrong", "/v1"},
		{"/v1/models?api-version=2", "/v1?api-version=2", "/v1?api-version=2"},
	}
	for _, tt := range tests {
		t.Run(tt.serves+" "+tt.typed, func(t *testing.T) {
			url := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.String() == tt.serves {
					_, _ = io.WriteString(w, list)
					return
				}
				http.NotFound(w, r)
			}))
			f, err := detect.Read(t.Context(), url+tt.typed, "")
			if err != nil || f.BaseURL != url+tt.base || f.Engine != detect.OpenAI || len(f.Cards) != 1 {
				t.Errorf("%+v, %v", f, err)
			}
		})
	}
	docker := start(t, modeltest.Family(detect.Docker, modeltest.Presence{Models: two[:1]}, nil))
	for _, typed := range []string{"", "/engines/v1", "/engines/llama.cpp/v1", "/v1"} {
		if f, err := detect.Read(t.Context(), docker+typed, ""); err != nil || f.BaseURL != docker+"/engines/v1" || f.Engine != detect.Docker {
			t.Errorf("%s: %+v, %v", typed, f, err)
		}
	}
	studio := start(t, modeltest.Family(detect.LMStudio, modeltest.Presence{Models: two[:1]}, nil))
	for _, typed := range []string{"", "/v1", "/api/v1", "/api/v0", "/api/v1/models", "/wrong"} {
		if f, err := detect.Read(t.Context(), studio+typed, ""); err != nil || f.BaseURL != studio+"/v1" || f.Engine != detect.LMStudio {
			t.Errorf("%s: %+v, %v", typed, f, err)
		}
	}
	bare := strings.TrimPrefix(studio, "http://")
	if f, err := detect.Read(t.Context(), bare, ""); err != nil || f.Engine != detect.LMStudio {
		t.Errorf("%s: %+v, %v", bare, f, err)
	}
}

// A proxy may pack what nobody asked it to pack. What it packs is read no further than anything else.
func TestReadPacked(t *testing.T) {
	pack := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, text)
			_ = z.Close()
		})
	}
	if f, err := detect.Read(t.Context(), start(t, pack(`{"object":"list","data":[{"id":"m"}]}`)), ""); err != nil || len(f.Cards) != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	bomb := start(t, pack(strings.Repeat(" ", 10<<20)))
	if _, err := detect.Read(t.Context(), bomb, ""); !strings.Contains(in(err, bomb), "answers with more than 4 MB") {
		t.Error(err)
	}
}

func TestReadServices(t *testing.T) {
	tests := []struct{ name, list, want string }{
		{"OpenRouter", `{"data":[{"id":"a/b","context_length":131072,"architecture":{"input_modalities":["text","image"]},"supported_parameters":["tools","reasoning"]},
			{"id":"c","context_length":8192,"architecture":{"input_modalities":["text"]},"supported_parameters":["temperature"]}]}`,
			"a/b trained=131072 usable=0 tools=yes thinking=yes vision=yes loaded=unknown remote=unknown bytes=0 \n" +
				"c trained=8192 usable=0 tools=no thinking=no vision=no loaded=unknown remote=unknown bytes=0 \n"},
		{"Mistral", `{"object":"list","data":[{"id":"m","max_context_length":32768,"capabilities":{"completion_chat":true,"function_calling":true,"vision":false}},
			{"id":"embed","capabilities":{"completion_chat":false}}]}`,
			"m trained=32768 usable=0 tools=yes thinking=unknown vision=no loaded=unknown remote=unknown bytes=0 \n"},
		{"Groq", `{"object":"list","data":[{"id":"g","context_window":131072,"owned_by":"Meta"}]}`,
			"g trained=0 usable=131072 tools=unknown thinking=unknown vision=unknown loaded=unknown remote=unknown bytes=0 \n"},
		{"Together", `[{"id":"t","type":"chat","context_length":4096},{"id":"i","type":"image"}]`,
			"t trained=4096 usable=0 tools=unknown thinking=unknown vision=unknown loaded=unknown remote=unknown bytes=0 \n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/v1/models" || r.Header.Get("Authorization") != "Bearer sk-1" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				_, _ = io.WriteString(w, tt.list)
			}))
			f, err := detect.Read(t.Context(), url+"/v1", "sk-1")
			got := ""
			for _, c := range f.Cards {
				got += told(c) + "\n"
			}
			if err != nil || got != tt.want {
				t.Errorf("%v\n%s", err, got)
			}
		})
	}
}

func TestReadAnthropic(t *testing.T) {
	url := start(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-Api-Key") != "sk-ant":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"authentication_error","message":"x-api-key header is required"}}`)
		case r.URL.Path == "/v1/models" && r.Header.Get("Anthropic-Version") != "":
			_, _ = io.WriteString(w, `{"data":[{"type":"model","id":"claude-x","display_name":"Claude X","max_input_tokens":200000}],"has_more":false}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"not_found_error","message":"Not found"}}`)
		}
	}))
	for _, typed := range []string{"", "/v1", "/v1/messages"} {
		f, err := detect.Read(t.Context(), url+typed, "sk-ant")
		if err != nil || f.Engine != detect.Anthropic || f.API != detect.APIAnthropic || f.BaseURL != url || len(f.Cards) != 1 ||
			f.Cards[0].Usable != 200000 || f.Cards[0].Engine != detect.Anthropic {
			t.Errorf("%s: %+v, %v", typed, f, err)
		}
	}
	f, err := detect.Read(t.Context(), url, "")
	if f.State != detect.NeedsKey || f.API != detect.APIAnthropic || in(err, url) != "forbidden: An Anthropic service asks for a key." {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := detect.Read(t.Context(), url, "wrong"); in(err, url) != "forbidden: An Anthropic service does not take the key that it was given." {
		t.Error(err)
	}
}

// An engine that is found can be talked to at the address that is to be configured.
func TestFamiliesAnswer(t *testing.T) {
	for _, engine := range []string{
		detect.LMStudio, detect.LlamaCpp, detect.VLLM, detect.Jan, detect.LocalAI, detect.MLX, detect.Exo, detect.Docker, detect.LiteRT,
	} {
		t.Run(engine, func(t *testing.T) {
			s, err := script.Parse("greeting", []byte("===\nAhoy!\n"))
			if err != nil {
				t.Fatal(err)
			}
			url := start(t, modeltest.Family(engine, modeltest.Presence{Models: two[:1]}, modeltest.Handler(s, modeltest.Dialect{})))
			f, err := detect.Read(t.Context(), url, "")
			if err != nil {
				t.Fatal(err)
			}
			m, err := openai.New(openai.Options{BaseURL: f.BaseURL, Model: f.Cards[0].ID})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = m.Close() }()
			said := ""
			for chunk, err := range m.Stream(t.Context(), model.Request{Messages: []model.Message{{Role: model.User, Text: "Hello"}}}) {
				if err != nil {
					t.Fatal(err)
				}
				said += chunk.Text
			}
			if said != "Ahoy!" {
				t.Errorf("it said %q", said)
			}
		})
	}
}
