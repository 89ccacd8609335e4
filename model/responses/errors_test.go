package responses_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
	"github.com/jackline-ai/jackline/model/responses"
)

// fail gives the error of one request, with the client's address as URL.
func fail(t *testing.T, m *responses.Model, r model.Request) (kind jackline.Kind, say string, err error) {
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

func problem(code, message string) string {
	return fmt.Sprintf(`{"error":{"message":%q,"type":"invalid_request_error","param":null,"code":%q}}`, message, code)
}

func TestRefusals(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		kind   jackline.Kind
		say    string
	}{
		{"no key", 401, problem("invalid_api_key", "Missing bearer"), jackline.Forbidden,
			"The engine at URL wants a key: name the environment variable that holds it with --api-key-env, or add the engine with its key."},
		{"no such model", 404, problem("model_not_found", "The model `m` does not exist or you do not have access to it."), jackline.NoModel,
			`The engine at URL has no model "m". It offers gpt-a, gpt-b: choose one with --model, or fetch this one (with Ollama: "ollama pull m").`},
		{"no page", 404, "404 page not found", jackline.Unavailable, "There is no Responses API at URL. Check --base-url."},
		{"window", 400, problem("context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again."), jackline.Invalid,
			"The request is too long for the window that m is loaded with. Load it with a larger context, or start a new session."},
		{"quota", 429, problem("insufficient_quota", "You exceeded your current quota"), jackline.Forbidden,
			"The account that this key belongs to at URL has no credit left."},
		{"rate", 429, problem("rate_limit_exceeded", "Slow down"), jackline.Unavailable,
			"The engine at URL limits how often it may be asked: try again in 7 seconds."},
		{"failing", 500, problem("server_error", "oops"), jackline.Unavailable, "The engine at URL failed (status 500). Its own log says why."},
		{"effort", 400, problem("unsupported_value", "Unsupported value: 'reasoning.effort' does not support 'huge' with this model."), jackline.Invalid,
			`m does not know the effort "huge".`},
		{"something else", 400, problem("invalid_value", "temperature must be nice"), jackline.Invalid,
			"The engine at URL refuses the request (status 400). Jackline's log says what it answered."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := client(t, responses.Options{Native: true, Effort: "huge", Retry: once}, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/models") {
					_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"gpt-a"},{"id":"gpt-b"}]}`)
					return
				}
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			})
			kind, say, err := fail(t, m, request())
			if kind != tt.kind || say != tt.say {
				t.Errorf("%v\n got %s: %s\nwant %s: %s", err, kind, say, tt.kind, tt.say)
			}
			if _, _, tooLong := engine.TooLong(err); tooLong != (tt.name == "window") {
				t.Errorf("TooLong is %v", tooLong)
			}
		})
	}
}

const hi = `{"object":"response","status":"completed","output":[{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"hi"}]}]}`

// A server that is too busy is asked again, also when it says so within the stream, as long as nothing was said.
func TestBusyIsAskedAgain(t *testing.T) {
	for _, status := range []int{200, 429, 500, 503} {
		var asked atomic.Int32
		m := client(t, responses.Options{Retry: engine.Retry{Tries: 3, First: time.Millisecond}}, func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) < 3 {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"}}}`)
				return
			}
			_, _ = io.WriteString(w, hi)
		})
		if got := play(t, m, request()); got != "text \"hi\"\nfinish stop\n" || asked.Load() != 3 {
			t.Errorf("%d: %s after %d requests", status, got, asked.Load())
		}
	}
}

// What a server does not know is left out from then on.
func TestLookAlikes(t *testing.T) {
	for field, rules := range map[string]hosted.ResponsesRules{
		"include": {Refuses: []string{"include"}}, "reasoning": {Refuses: []string{"reasoning"}}, "store": {Refuses: []string{"store"}},
		"max_output_tokens": {Refuses: []string{"max_output_tokens"}}, "tool_choice": {Refuses: []string{"tool_choice"}},
		"all": {Refuses: []string{"include", "reasoning", "store", "max_output_tokens", "tool_choice"}},
	} {
		m := connect(t, parse(t, anything), rules, responses.Options{Native: true, Effort: "low", Summaries: true})
		r := request()
		r.NoCalls, r.MaxTokens = true, 5
		for range 2 {
			if got := play(t, m, r); !strings.HasPrefix(got, "text") {
				t.Fatal(field, got, m.srv.Errs())
			}
		}
		if n := len(m.srv.Errs()); n != len(rules.Refuses) {
			t.Errorf("%s: %v", field, m.srv.Errs())
		}
	}
}

// An account that may not see summaries gets its answers without.
func TestNoSummaries(t *testing.T) {
	var bodies []string
	m := client(t, responses.Options{Summaries: true, Effort: "low", Retry: once}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if len(bodies) == 1 {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, problem("unsupported_value", "Your organization must be verified to generate reasoning summaries."))
			return
		}
		_, _ = io.WriteString(w, hi)
	})
	if got := play(t, m, request()); len(bodies) != 2 || !strings.Contains(bodies[1], `"reasoning":{"effort":"low"}`) {
		t.Error(got, bodies)
	}
}

// huge is a body without an end.
type huge struct {
	begin, piece string
	at           int // in piece
}

func (h *huge) Read(p []byte) (int, error) {
	n := copy(p, h.begin)
	h.begin = h.begin[n:]
	for n < len(p) {
		k := copy(p[n:], h.piece[h.at:])
		n, h.at = n+k, (h.at+k)%len(h.piece)
	}
	return n, nil
}

func (*huge) Close() error { return nil }

type fixed struct{ body io.ReadCloser }

func (f fixed) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: f.body, Request: r}, nil
}

func carried(t testing.TB, body io.ReadCloser, o responses.Options) *responses.Model {
	t.Helper()
	o.Model, o.BaseURL, o.Native, o.Retry, o.Transport = "m", "http://engine.test/v1", true, once, fixed{body}
	m, err := responses.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEndless(t *testing.T) {
	const item = `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"message","id":"msg_1"}}` + "\n\n"
	word := `data: {"type":"response.output_text.delta","output_index":0,"delta":"` + strings.Repeat("a", 10_000) + `"}` + "\n\n"
	args := `data: {"type":"response.function_call_arguments.delta","output_index":0,"delta":"` + strings.Repeat("a", 10_000) + `"}` + "\n\n"
	call := strings.Replace(item, `"message"`, `"function_call"`, 1)
	for name, body := range map[string][2]string{
		"a line": {"data: ", strings.Repeat("x", 1000)}, "lines": {"", "data: " + strings.Repeat("x", 1000) + "\n"}, "items": {"", item}, "text": {item, word},
		"arguments": {call, args}, "comments": {"", ": " + strings.Repeat("x", 10_000) + "\n"},
	} {
		m := carried(t, &huge{begin: body[0], piece: body[1]}, responses.Options{})
		got := play(t, m, request())
		if i := strings.Index(got, "error"); i < 0 || !strings.HasPrefix(got[i:], "error unavailable: The engine at http://engine.test/v1 does not stop") {
			t.Errorf("%s: %.300s", name, got)
		}
	}
}

// silent is a body that says something and then nothing until its request ends.
type silent struct {
	io.Reader
	done <-chan struct{}
}

func (s silent) Read(p []byte) (int, error) {
	if n, err := s.Reader.Read(p); err == nil {
		return n, nil
	}
	<-s.done
	return 0, io.ErrClosedPipe
}

func (silent) Close() error { return nil }

type pausing struct{ begin string }

func (f pausing) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: silent{strings.NewReader(f.begin), r.Context().Done()}}, nil
}

func TestSilence(t *testing.T) {
	const begun = `data: {"type":"response.output_item.added","item":{"type":"message"}}` + "\n\n" + `data: {"type":"response.output_text.delta","delta":"a"}` + "\n\n"
	for name, tt := range map[string]struct {
		begin, want string
		took        time.Duration
	}{
		"nothing":       {"", "error timeout: The engine at http://engine.test/v1 has said nothing for 60 seconds. Its own log may say why.\n", time.Minute},
		"in the middle": {begun, "text \"a\"\nerror timeout: The engine at http://engine.test/v1 stopped in the middle of its answer and has said nothing for 5 seconds.\n", 5 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, err := responses.New(responses.Options{Model: "m", BaseURL: "http://engine.test/v1", Retry: once, Transport: pausing{tt.begin},
				FirstByte: time.Minute, Idle: 5 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if got := play(t, m, request()); got != tt.want || time.Since(began) != tt.took {
				t.Errorf("%s: after %s\n%s", name, time.Since(began), got)
			}
		})
	}
}

func TestInvalidUTF8(t *testing.T) {
	m := carried(t, io.NopCloser(strings.NewReader(strings.Replace(hi, `"hi"`, "\"a\xff\\ud800b\"", 1))), responses.Options{})
	if got := play(t, m, request()); got != "text \"a\ufffd\ufffdb\"\nfinish stop\n" {
		t.Error(got)
	}
}

func TestTooManyCalls(t *testing.T) {
	var output []string
	for i := range 70 {
		output = append(output, fmt.Sprintf(`{"type":"function_call","id":"f%d","call_id":"t%d","name":"grep","arguments":"{}"}`, i, i))
	}
	m := carried(t, io.NopCloser(strings.NewReader(`{"object":"response","status":"completed","output":[`+strings.Join(output, ",")+`]}`)), responses.Options{})
	got := play(t, m, request())
	if n := strings.Count(got, "call t"); n != engine.MaxCalls || !strings.HasSuffix(got, "finish length\n") {
		t.Errorf("%d calls, %s", n, got)
	}
}

// Keys show nowhere, whatever the server says.
func TestTheKeyDoesNotShow(t *testing.T) {
	const key = "sk-proj-secret"
	m := client(t, responses.Options{Key: key, Retry: once}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(401)
		_, _ = io.WriteString(w, problem("invalid_api_key", "no such key: "+r.Header.Get("Authorization")))
	})
	_, say, err := fail(t, m, request())
	if say != "The engine at URL does not accept the key it was given: check the variable that --api-key-env names, or the key that the engine was added with." {
		t.Error(say)
	}
	if text := fmt.Sprintf("%v %+v %#v %s", err, err, m, m); strings.Contains(text, key) || !strings.Contains(text, "[key]") {
		t.Error(text)
	}
}

func TestList(t *testing.T) {
	srv := hosted.NewResponses(t, parse(t, anything), hosted.ResponsesRules{Models: []string{"a", "b"}})
	m, err := responses.New(responses.Options{BaseURL: srv.URL, Retry: once})
	if err != nil {
		t.Fatal(err)
	}
	if names, err := m.List(t.Context()); err != nil || strings.Join(names, " ") != "a b" {
		t.Error(names, err)
	}
	kind, say, _ := fail(t, m, request())
	if kind != jackline.NoModel || say != "No model is named: choose one with --model. The engine at URL offers a, b." {
		t.Error(kind, say)
	}
	for _, body := range []string{"<html>", "[]", "{}", `{"data":7}`, ""} {
		m := client(t, responses.Options{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		if _, err := m.List(t.Context()); jackline.KindOf(err) != jackline.Unavailable {
			t.Errorf("%q: %v", body, err)
		}
	}
	if _, err := responses.New(responses.Options{}); jackline.KindOf(err) != jackline.Invalid {
		t.Error(err)
	}
}
