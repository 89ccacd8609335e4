package openai_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/openai"
)

// fail gives the error of one request, with the client's address as URL.
func fail(t *testing.T, m *openai.Model, r model.Request) (kind jackline.Kind, say string, err error) {
	t.Helper()
	for _, e := range m.Stream(t.Context(), r) {
		err = e
	}
	var e *jackline.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is no *jackline.Error", err)
	}
	_, base, _ := strings.Cut(m.String(), " at ")
	return e.Kind, strings.ReplaceAll(e.Say, base, "URL"), err
}

func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"qwen3:8b"},{"id":"gemma3:4b"}]}`)
			return
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func TestRefusals(t *testing.T) {
	const short = " Load it with a larger context, or start a new session."
	tests := []struct {
		name   string
		status int
		body   string
		kind   jackline.Kind
		say    string
	}{
		{"no key", 401, `{"error":{"message":"Missing bearer"}}`, jackline.Forbidden,
			"The engine at URL wants a key: name the environment variable that holds it with --api-key-env, or add the engine with its key."},
		{"forbidden", 403, `{"detail":"Forbidden"}`, jackline.Forbidden,
			"The engine at URL wants a key: name the environment variable that holds it with --api-key-env, or add the engine with its key."},
		{"a proxy's page", 403, "\n<html>who are you?</html>", jackline.Unavailable,
			"URL answers with a web page: a sign-in page or a proxy stands there, or the address is not that of an API. Check --base-url."},

		{"Ollama has no such model", 404, `{"error":{"message":"model \"m\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, jackline.NoModel,
			`The engine at URL has no model "m". It offers qwen3:8b, gemma3:4b: choose one with --model, or fetch this one (with Ollama: "ollama pull m").`},
		{"OpenAI has no such model", 404, "{\"error\":{\"message\":\"The model `m` does not exist or you do not have access to it.\",\"code\":\"model_not_found\"}}", jackline.NoModel,
			`The engine at URL has no model "m". It offers qwen3:8b, gemma3:4b: choose one with --model, or fetch this one (with Ollama: "ollama pull m").`},
		{"vLLM has no such model", 404, "{\"object\":\"error\",\"message\":\"The model `m` does not exist.\",\"type\":\"NotFoundError\",\"param\":null,\"code\":404}", jackline.NoModel,
			`The engine at URL has no model "m". It offers qwen3:8b, gemma3:4b: choose one with --model, or fetch this one (with Ollama: "ollama pull m").`},
		{"a router has no such model", 400, `{"error":{"code":400,"message":"model 'm' not found","type":"invalid_request_error"}}`, jackline.NoModel,
			`The engine at URL has no model "m". It offers qwen3:8b, gemma3:4b: choose one with --model, or fetch this one (with Ollama: "ollama pull m").`},
		{"no page", 404, "404 page not found", jackline.Unavailable, "There is no Chat Completions API at URL. Check --base-url."},
		{"no page, as HTML", 404, "<html>no model here does not exist</html>", jackline.Unavailable, "There is no Chat Completions API at URL. Check --base-url."},
		{"LM Studio has no page", 200, `{"error":"Unexpected endpoint or method. (POST /chat/completions)"}`, jackline.Unavailable, "There is no Chat Completions API at URL. Check --base-url."},

		{"llama.cpp, window", 400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}`,
			jackline.Invalid, "The request takes 14429 tokens, but m is loaded with room for 8192." + short},
		{"llama.cpp in words, window", 400, `{"error":{"message":"request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"}}`,
			jackline.Invalid, "The request takes 5000 tokens, but m is loaded with room for 4096." + short},
		{"OpenAI, window", 400, `{"error":{"message":"This model's maximum context length is 8,192 tokens. However, your messages resulted in 9000 tokens.","code":"context_length_exceeded"}}`,
			jackline.Invalid, "The request takes 9000 tokens, but m is loaded with room for 8192." + short},
		{"vLLM, window", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, 1000 in the completion).","code":400}`,
			jackline.Invalid, "The request takes 5000 tokens, but m is loaded with room for 4096." + short},
		{"newer vLLM, window", 400, `{"error":{"message":"You passed 5001 input tokens and requested 0 output tokens. However, the model's context length is only 4096 tokens, resulting in a maximum input length of 4096 tokens."}}`,
			jackline.Invalid, "The request takes 5001 tokens, but m is loaded with room for 4096." + short},
		{"vLLM, no room for the answer, window", 400, `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 5000. This model's maximum context length is 4096 tokens and your request has 12 input tokens (5000 > 4096 - 12)."}}`,
			jackline.Invalid, "The request takes 12 tokens of the 4096 that m is loaded with: too few are left for the answer." + short},
		{"LM Studio, window", 400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."}`,
			jackline.Invalid, "The request takes 13055 tokens, but m is loaded with room for 4096." + short},
		{"older LM Studio, window", 200, "event: error\ndata: {\"error\":\"Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.\"}\n\n",
			jackline.Invalid, "The request takes 111490 tokens, but m is loaded with room for 32768." + short},
		{"Anthropic's, window", 400, `{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`,
			jackline.Invalid, "The request takes 210000 tokens, but m is loaded with room for 200000." + short},
		{"Gemini's, window", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`,
			jackline.Invalid, "The request takes 1200000 tokens, but m is loaded with room for 1048576." + short},
		{"Ollama, window", 400, `{"error":"the input length exceeds the context length"}`, jackline.Invalid, "The request is too long for the window that m is loaded with." + short},
		{"too large", 413, ``, jackline.Invalid, "The request is too long for the window that m is loaded with." + short},

		{"Ollama, tools", 400, `{"error":{"message":"registry.ollama.ai/library/m:latest does not support tools","type":"api_error"}}`, jackline.Invalid, "m takes no tools at URL. It can still be asked in text mode."},
		{"llama.cpp, tools", 500, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`, jackline.Invalid, "m takes no tools at URL. It can still be asked in text mode."},
		{"vLLM, tools", 400, `{"message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}`, jackline.Invalid, "m takes no tools at URL. It can still be asked in text mode."},

		{"rate", 429, `{"error":{"message":"slow down"}}`, jackline.Unavailable, "The engine at URL limits how often it may be asked: try again later."},
		{"no credit", 429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`, jackline.Forbidden, "The account that this key belongs to at URL has no credit left."},
		{"payment", 402, `{}`, jackline.Forbidden, "The account that this key belongs to at URL has no credit left."},
		{"loading", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, jackline.Unavailable, "The engine at URL is still loading its model: try again in a moment."},
		{"memory", 500, `{"error":{"message":"model requires more system memory (5.6 GiB) than is available (3.2 GiB)"}}`, jackline.Unavailable, "The machine at URL has too little memory for m: take a smaller model or a smaller window."},
		{"a gateway's page", 502, "<html><h1>502 Bad Gateway</h1></html>", jackline.Unavailable, "The engine at URL failed (status 502). Its own log says why."},
		{"a gateway's patience", 504, "", jackline.Timeout, "The engine at URL took too long (status 504). Try again."},
		{"not implemented", 501, "", jackline.Unavailable, "The engine at URL does not know how to do this (status 501)."},
		{"something else", 400, `{"error":{"message":"temperature must be nice"}}`, jackline.Invalid, "The engine at URL refuses the request (status 400). Jackline's log says what it answered."},
		{"wants https", 400, "Client sent an HTTP request to an HTTPS server.\n", jackline.Unavailable, "The engine at URL speaks https: write https:// in --base-url."},
		{"not modified", 304, "", jackline.Unavailable, "What URL answers (status 304) is no answer of a Chat Completions server. Check --base-url."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := client(t, openai.Options{Native: true, Retry: once}, answer(tt.status, tt.body))
			kind, say, err := fail(t, m, request())
			if kind != tt.kind || say != tt.say {
				t.Errorf("%s\n got %s: %s\nwant %s: %s", err, kind, say, tt.kind, tt.say)
			}
			if got, want := engine.NoTools(err), strings.HasSuffix(tt.name, "tools"); got != want {
				t.Errorf("NoTools is %v", got)
			}
			if _, _, got := engine.TooLong(err); got != strings.HasSuffix(tt.name, "window") && tt.status != 413 {
				t.Errorf("TooLong is %v", got)
			}
			if len(err.Error()) > 900 {
				t.Errorf("%d bytes of error", len(err.Error()))
			}
		})
	}
}

func TestTooLong(t *testing.T) {
	m := client(t, openai.Options{Retry: once}, answer(400, `{"error":{"message":"request (5000 tokens) exceeds the available context size (4096 tokens)"}}`))
	_, _, err := fail(t, m, request())
	prompt, window, ok := engine.TooLong(fmt.Errorf("wrapped: %w", err))
	if prompt != 5000 || window != 4096 || !ok {
		t.Error(prompt, window, ok)
	}
	if engine.NoTools(err) {
		t.Error("no tools?")
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	const nobody = `No engine answers at URL. Start one ("ollama serve", or "llama-server -m MODEL.gguf --port 8080"), or name another address with --base-url.`
	tests := []struct{ name, base, say string }{
		{"nobody listens", "http://" + addr + "/v1", nobody},
		{"no such host", "http://nowhere.invalid/v1", "The host of URL is not known. Check the address that --base-url gives."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := openai.New(openai.Options{BaseURL: tt.base, Model: "m", Retry: once})
			if err != nil {
				t.Fatal(err)
			}
			kind, say, err := fail(t, m, request())
			if kind != jackline.Unavailable || say != tt.say {
				t.Errorf("%v\n got %s: %s", err, kind, say)
			}
			if _, err := m.List(t.Context()); jackline.KindOf(err) != jackline.Unavailable {
				t.Error(err)
			}
		})
	}
}

func TestTLS(t *testing.T) {
	secure := httptest.NewUnstartedServer(answer(200, "{}"))
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	secure.StartTLS()
	defer secure.Close()
	plain := httptest.NewServer(answer(200, "{}"))
	defer plain.Close()
	tests := map[string]string{
		secure.URL: "The certificate of URL is not one that this machine trusts.",
		"https" + strings.TrimPrefix(plain.URL, "http"):  "The engine at URL does not speak https: try http:// in --base-url.",
		"http" + strings.TrimPrefix(secure.URL, "https"): "The engine at URL speaks https: write https:// in --base-url.",
	}
	for base, want := range tests {
		m, err := openai.New(openai.Options{BaseURL: base, Model: "m", Retry: once})
		if err != nil {
			t.Fatal(err)
		}
		if kind, say, err := fail(t, m, request()); kind != jackline.Unavailable || say != want {
			t.Errorf("%v\n got %s: %s\nwant %s", err, kind, say, want)
		}
		_ = m.Close()
	}
	m, err := openai.New(openai.Options{BaseURL: secure.URL + "/v1", Model: "m", Retry: once, Transport: secure.Client().Transport})
	if err != nil {
		t.Fatal(err)
	}
	if names, err := m.List(t.Context()); err != nil || len(names) != 2 {
		t.Error(names, err)
	}
}

func TestLimits(t *testing.T) {
	lump := strings.Repeat("x", 1<<20)
	tests := []struct {
		name  string
		event string
		want  string
	}{
		{"endless text", text(lump), "The engine at URL does not stop: its answer is larger than Jackline reads. What came so far is kept."},
		{"endless thought", delta(`"reasoning":"` + lump + `"`), "The engine at URL does not stop: its answer is larger than Jackline reads. What came so far is kept."},
		{"endless arguments", calls(`{"index":0,"function":{"name":"grep","arguments":"` + lump + `"}}`), "The engine at URL does not stop: its answer is larger than Jackline reads. What came so far is kept."},
		{"an endless line", "data: " + lump[:100] + lump, "The engine at URL does not stop: its answer is larger than Jackline reads. What came so far is kept."},
		{"an endless line after the other", "data: {" + lump + "\n", "The engine at URL does not stop: its answer is larger than Jackline reads. What came so far is kept."},
		{"endless comments", ": " + lump + "\n", "The engine at URL does not stop: its answer is larger than Jackline reads. What came so far is kept."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := stubbed(t, openai.Options{Retry: once}, func(*http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &endless{event: tt.event}}, nil
			})
			kind, say, err := fail(t, m, request())
			if kind != jackline.Unavailable || say != tt.want {
				t.Errorf("%v\n got %s: %s", err, kind, say)
			}
		})
	}
}

// endless is a body that says the same for ever.
type endless struct{ event, left string }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == "" {
		e.left = e.event
	}
	n := copy(p, e.left)
	e.left = e.left[n:]
	return n, nil
}

func (*endless) Close() error { return nil }

func TestEndlessCalls(t *testing.T) {
	m := client(t, openai.Options{Native: true, Retry: once}, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 100_000 {
			if _, err := io.WriteString(w, calls(fmt.Sprintf(`{"index":%d,"id":"c%[1]d","function":{"name":"grep","arguments":"{}"}}`, i))); err != nil {
				return
			}
		}
	})
	n := 0
	var last model.Chunk
	for c, err := range m.Stream(t.Context(), request()) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Call != nil {
			n++
		}
		last = c
	}
	if n != 64 || last.Finish != model.Length {
		t.Errorf("%d calls, finish %q", n, last.Finish)
	}
}

func TestSecrets(t *testing.T) {
	const key, pass = "sk-very-secret-key", "hunter2-hunter2"
	o := openai.Options{Key: key, Headers: http.Header{"X-Pass": {pass}}, Retry: once, Native: true}
	var got http.Header
	m := client(t, o, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s (%s)"}}`, r.Header.Get("Authorization"), r.Header.Get("X-Pass"))
	})
	_, _, err := fail(t, m, request())
	if got.Get("Authorization") != "Bearer "+key || got.Get("X-Pass") != pass {
		t.Errorf("sent %v", got)
	}
	if want := "does not accept the key"; !strings.Contains(jackline.Say(err), want) {
		t.Error(err)
	}
	_, listErr := m.List(t.Context())
	for _, s := range []string{
		err.Error(), listErr.Error(), m.String(), fmt.Sprintf("%v %+v %#v %s", m, m, m, m), fmt.Sprintf("%v %+v %#v %s", o, o, o, o),
		fmt.Sprintf("%v %s %q %x %d %#v", o.Key, o.Key, o.Key, o.Key, o.Key, o.Key),
	} {
		if strings.Contains(s, key) || strings.Contains(s, pass) || strings.Contains(s, fmt.Sprintf("%x", key)) {
			t.Errorf("a secret shows: %s", s)
		}
	}
	if b, err := o.Key.MarshalText(); string(b) != "[key]" || err != nil {
		t.Error(string(b), err)
	}
}

func TestNew(t *testing.T) {
	bad := []string{"", " ", "localhost:11434/v1", "127.0.0.1:1", "ftp://x/v1", "http://", "http:///v1", "://", "http://user:secret@host/v1", "http://höst/v1", "http://a b/"}
	for _, base := range bad {
		_, err := openai.New(openai.Options{BaseURL: base})
		if jackline.KindOf(err) != jackline.Invalid || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", base, err)
		}
	}
	m, err := openai.New(openai.Options{BaseURL: " https://Example.com/api/?v=1#x ", Model: "m", Native: true})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.String(); got != "openai: m at https://Example.com/api" {
		t.Error(got)
	}
	if got := m.Info(); got != (model.Info{Name: "m", Window: model.DefaultWindow, Assumed: true, Native: true}) {
		t.Errorf("%+v", got)
	}
	m, err = openai.New(openai.Options{BaseURL: "http://x", Window: 4096})
	if err != nil || m.Info().Window != 4096 || m.Info().Assumed {
		t.Errorf("%+v %v", m.Info(), err)
	}
}

func TestUnnamed(t *testing.T) {
	srv := httptest.NewServer(answer(200, ""))
	defer srv.Close()
	m, err := openai.New(openai.Options{BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	kind, say, _ := fail(t, m, request())
	if want := "No model is named: choose one with --model. The engine at URL offers qwen3:8b, gemma3:4b."; kind != jackline.NoModel || say != want {
		t.Errorf("%s: %s", kind, say)
	}
}

func TestTryV1(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	m, err := openai.New(openai.Options{BaseURL: srv.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, say, _ := fail(t, m, request()); say != "There is no Chat Completions API at URL. Try URL/v1 as --base-url." {
		t.Error(say)
	}
}
