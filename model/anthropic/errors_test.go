package anthropic_test

import (
	"context"
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
	"github.com/jackline-ai/jackline/model/anthropic"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
)

// fail gives the error of one request, with the client's address as URL.
func fail(t *testing.T, m *anthropic.Model, r model.Request) (kind jackline.Kind, say string, err error) {
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

func problem(kind, message string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, message)
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
		{"no key", 401, problem("authentication_error", "x-api-key header is required"), jackline.Forbidden,
			"The engine at URL wants a key: name the environment variable that holds it with --api-key-env, or add the engine with its key."},
		{"no permission", 403, problem("permission_error", "Your API key does not have permission to use the specified resource."), jackline.Forbidden,
			"The key that was given to URL may not do this. Check what it is allowed, and its workspace."},
		{"a proxy's page", 403, "<html>who are you?</html>", jackline.Unavailable,
			"URL answers with a web page: a sign-in page or a proxy stands there, or the address is not that of an API. Check --base-url."},
		{"no such model", 404, problem("not_found_error", "model: m"), jackline.NoModel,
			`The engine at URL has no model "m". It offers claude-a, claude-b: choose one with --model, or fetch this one (with Ollama: "ollama pull m").`},
		{"no page", 404, "404 page not found", jackline.Unavailable, "There is no Messages API at URL. Check --base-url."},
		{"window", 400, problem("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), jackline.Invalid,
			"The request takes 210000 tokens, but m is loaded with room for 200000." + short},
		{"too large", 413, problem("request_too_large", "Request exceeds the maximum size"), jackline.Invalid,
			"The request is larger than URL takes (32 MB, pictures included). Start a new session."},
		{"no credit", 400, problem("invalid_request_error", "Your credit balance is too low to access the Anthropic API."), jackline.Forbidden,
			"The account that this key belongs to at URL has no credit left."},
		{"billing", 402, problem("billing_error", "pay"), jackline.Forbidden, "The account that this key belongs to at URL has no credit left."},
		{"rate", 429, problem("rate_limit_error", "This request would exceed your organization's rate limit"), jackline.Unavailable,
			"The engine at URL limits how often it may be asked: try again in 7 seconds."},
		{"failing", 500, problem("api_error", "Internal server error"), jackline.Unavailable, "The engine at URL failed (status 500). Its own log says why."},
		{"slow", 504, problem("timeout_error", "Request timed out"), jackline.Timeout, "The engine at URL took too long (status 504). Try again."},
		{"overloaded", 529, problem("overloaded_error", "Overloaded"), jackline.Unavailable,
			"URL has more requests than it can answer just now. Try again in a few minutes."},
		{"effort", 400, problem("invalid_request_error", "output_config.effort: Input should be 'low', 'medium' or 'high'"), jackline.Invalid,
			`m does not know the effort "huge". There are low, medium, high, xhigh and max, but not for every model.`},
		{"something else", 400, problem("invalid_request_error", "temperature must be nice"), jackline.Invalid,
			"The engine at URL refuses the request (status 400). Jackline's log says what it answered."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := client(t, anthropic.Options{Native: true, Effort: "huge", Retry: once}, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/models") {
					_, _ = io.WriteString(w, `{"data":[{"id":"claude-a"},{"id":"claude-b"}],"has_more":false}`)
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
			if _, _, tooLong := engine.TooLong(err); tooLong != (tt.name == "window" || tt.name == "too large") {
				t.Errorf("TooLong is %v", tooLong)
			}
		})
	}
}

// A server that is too busy is asked again, when it says so.
func TestBusyIsAskedAgain(t *testing.T) {
	for _, status := range []int{429, 500, 503, 529} {
		var asked atomic.Int32
		m := client(t, anthropic.Options{Retry: engine.Retry{Tries: 3, First: time.Millisecond}}, func(w http.ResponseWriter, _ *http.Request) {
			if asked.Add(1) < 3 {
				w.Header().Set("Retry-After", "0.01")
				w.WriteHeader(status)
				_, _ = io.WriteString(w, problem("overloaded_error", "Overloaded"))
				return
			}
			_, _ = io.WriteString(w, whole(`[{"type":"text","text":"hi"}]`))
		})
		if got := play(t, m, request()); got != "text \"hi\"\nfinish stop\n" || asked.Load() != 3 {
			t.Errorf("%d: %s after %d requests", status, got, asked.Load())
		}
	}
}

func whole(content string) string {
	return `{"type":"message","role":"assistant","content":` + content + `,"stop_reason":"end_turn"}`
}

// An answer that would not fit behind the prompt is asked for shorter.
func TestRoomBehindThePrompt(t *testing.T) {
	var bodies []string
	m := client(t, anthropic.Options{Retry: once}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		if len(bodies) == 1 {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, problem("invalid_request_error", "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens` and try again"))
			return
		}
		_, _ = io.WriteString(w, whole(`[{"type":"text","text":"hi"}]`))
	})
	got := play(t, m, request())
	if len(bodies) != 2 || !strings.Contains(bodies[1], `"max_tokens":10000,`) {
		t.Error(got, bodies)
	}
}

// Features that a look-alike does not know are left out from then on.
func TestLookAlikes(t *testing.T) {
	known := map[string]string{"cache_control": "tools.0.cache_control: Extra inputs are not permitted", "tool_choice": "tool_choice: none is not known",
		"display": "thinking.adaptive.display: Extra inputs are not permitted", "output_config": "output_config: Extra inputs are not permitted"}
	asked := 0
	m := client(t, anthropic.Options{Native: true, Effort: "low", Think: model.Yes, Retry: once}, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked++
		for field, message := range known {
			if strings.Contains(string(body), field) {
				w.WriteHeader(400)
				_, _ = io.WriteString(w, problem("invalid_request_error", message))
				return
			}
		}
		_, _ = io.WriteString(w, whole(`[{"type":"text","text":"hi"}]`))
	})
	r := request()
	r.NoCalls = true
	for range 2 {
		if got := play(t, m, r); !strings.HasPrefix(got, "text") {
			t.Fatal(got)
		}
	}
	if asked != 6 {
		t.Errorf("%d requests, want five and one", asked)
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

func carried(t testing.TB, body io.ReadCloser, o anthropic.Options) *anthropic.Model {
	t.Helper()
	o.Model, o.BaseURL, o.Native, o.Retry, o.Transport = "m", "http://engine.test", true, once, fixed{body}
	m, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestEndless(t *testing.T) {
	const start = `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n"
	word := `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + strings.Repeat("a", 1000) + `"}}` + "\n\n"
	long := strings.Repeat("x", 10_000)
	for name, body := range map[string][2]string{
		"a line": {"data: ", long}, "lines": {"", "data: " + long + "\n"}, "comments": {"", ": " + long + "\n"},
		"blocks": {"", start}, "text": {start, word},
		"JSON": {`{"a":["`, long},
	} {
		m := carried(t, &huge{begin: body[0], piece: body[1]}, anthropic.Options{})
		got := play(t, m, request())
		if i := strings.Index(got, "error"); i < 0 || !strings.HasPrefix(got[i:], "error unavailable: The engine at http://engine.test does not stop") {
			t.Errorf("%s: %.300s", name, got)
		}
	}
	m := carried(t, &huge{piece: " \n"}, anthropic.Options{})
	if got := play(t, m, request()); !strings.HasPrefix(got, "error unavailable: ") {
		t.Error(got)
	}
}

// silent is a body that says something and then nothing until it is closed, or its request ends.
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
	const begun = `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}` + "\n\n"
	for name, tt := range map[string]struct {
		begin, want string
		took        time.Duration
	}{
		"nothing":       {"", "error timeout: The engine at http://engine.test has said nothing for 60 seconds. Its own log may say why.\n", time.Minute},
		"pings":         {"event: ping\ndata: {\"type\":\"ping\"}\n\n", "error timeout: The engine at http://engine.test has said nothing for 60 seconds. Its own log may say why.\n", time.Minute},
		"in the middle": {begun, "text \"a\"\nerror timeout: The engine at http://engine.test stopped in the middle of its answer and has said nothing for 5 seconds.\n", 5 * time.Second},
		"behind the reason": {begun + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}` + "\n\n",
			"text \"a\"\nfinish stop {\"prompt\":0,\"cached\":0,\"completion\":2}\n", 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			m, err := anthropic.New(anthropic.Options{Model: "m", BaseURL: "http://engine.test", Retry: once, Transport: pausing{tt.begin},
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
	m := carried(t, io.NopCloser(strings.NewReader(
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"a\xff\\ud800b\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n")), anthropic.Options{})
	if got := play(t, m, request()); got != "text \"a\ufffd\ufffdb\"\nfinish stop\n" {
		t.Error(got)
	}
}

func TestTooManyCalls(t *testing.T) {
	var content []string
	for i := range 70 {
		content = append(content, fmt.Sprintf(`{"type":"tool_use","id":"t%d","name":"grep","input":{}}`, i))
	}
	m := carried(t, io.NopCloser(strings.NewReader(whole("["+strings.Join(content, ",")+"]"))), anthropic.Options{})
	got := play(t, m, request())
	if n := strings.Count(got, "call t"); n != engine.MaxCalls || !strings.HasSuffix(got, "finish length\n") {
		t.Errorf("%d calls, %s", n, got)
	}
}

// Keys show nowhere, whatever the server says.
func TestTheKeyDoesNotShow(t *testing.T) {
	const key = "sk-ant-api03-secret"
	m := client(t, anthropic.Options{Key: key, Retry: once}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(401)
		_, _ = io.WriteString(w, problem("authentication_error", "no such key: "+r.Header.Get("X-Api-Key")+r.Header.Get("Authorization")))
	})
	_, say, err := fail(t, m, request())
	if say != "The engine at URL does not accept the key it was given: check the variable that --api-key-env names, or the key that the engine was added with." {
		t.Error(say)
	}
	if text := fmt.Sprintf("%v %+v %#v %s", err, err, m, m); strings.Contains(text, key) || !strings.Contains(text, "[key]") {
		t.Error(text)
	}
}

func TestAddresses(t *testing.T) {
	for base, want := range map[string]string{
		"": "https://api.anthropic.com/v1/messages", "http://a.test/v1/": "http://a.test/v1/messages",
		"http://a.test/anthropic?x=1": "http://a.test/anthropic/v1/messages?x=1",
	} {
		got := ""
		m, err := anthropic.New(anthropic.Options{BaseURL: base, Model: "m", Key: "k", Retry: once, Headers: http.Header{"X-Mine": {"1"}}, Transport: seen(func(r *http.Request) {
			got = r.URL.String()
			if r.Header.Get("X-Api-Key") != "k" || r.Header.Get("Anthropic-Version") != "2023-06-01" || r.Header.Get("X-Mine") != "1" {
				t.Error(r.Header)
			}
		})})
		if err != nil {
			t.Fatal(err)
		}
		play(t, m, request())
		if got != want {
			t.Errorf("%q leads to %s, want %s", base, got, want)
		}
	}
	if _, err := anthropic.New(anthropic.Options{BaseURL: "ftp://a"}); jackline.KindOf(err) != jackline.Invalid {
		t.Error(err)
	}
}

// seen is a transport that shows what it is asked to carry, and carries nothing.
type seen func(*http.Request)

func (f seen) RoundTrip(r *http.Request) (*http.Response, error) {
	f(r)
	return nil, errors.New("nothing is carried")
}

func TestNoModelNamed(t *testing.T) {
	srv := hosted.NewMessages(t, parse(t, anything), hosted.MessagesRules{})
	m, err := anthropic.New(anthropic.Options{BaseURL: srv.URL, Retry: once})
	if err != nil {
		t.Fatal(err)
	}
	kind, say, _ := fail(t, m, request())
	if kind != jackline.NoModel || say != "No model is named: choose one with --model. The engine at URL offers script." {
		t.Error(kind, say)
	}
}

func TestCards(t *testing.T) {
	var models []hosted.ModelInfo
	for i := range 1203 {
		models = append(models, hosted.ModelInfo{"id": fmt.Sprint("old-", i), "type": "model"})
	}
	yes, no := map[string]any{"supported": true}, map[string]any{"supported": false}
	models[1] = hosted.ModelInfo{"id": "claude-new", "type": "model", "max_input_tokens": 1_000_000, "max_tokens": 128_000, "future": []int{1},
		"capabilities": map[string]any{"image_input": yes, "thinking": yes, "structured_outputs": yes, "batch": yes}}
	models[2] = hosted.ModelInfo{"id": "claude-old", "capabilities": map[string]any{"image_input": no, "thinking": no}}
	srv := hosted.NewMessages(t, parse(t, anything), hosted.MessagesRules{Models: models})
	m, err := anthropic.New(anthropic.Options{BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	var _ model.Lister = m
	cards, err := m.Cards(t.Context())
	if err != nil || len(cards) != len(models) {
		t.Fatal(err, len(cards))
	}
	if c := cards[1]; c.Engine != "anthropic" || c.ID != "claude-new" || c.Usable != 1_000_000 || c.Trained != 1_000_000 || c.Vision != model.Yes ||
		c.Thinking != model.Yes || c.Tools != model.Unknown || c.Loaded != model.Unknown || len(c.Constraints) != 1 || c.Source["usable"] != "engine" {
		t.Errorf("%+v", c)
	}
	if c := cards[2]; c.Vision != model.No || c.Thinking != model.No || c.Usable != 0 || len(c.Source) != 2 {
		t.Errorf("%+v", c)
	}
	if c := cards[1202]; c.ID != "old-1202" || len(c.Source) != 0 {
		t.Errorf("%+v", c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Cards(ctx); !modeltest.AsItIs(err, context.Canceled) {
		t.Error(err)
	}
}

// A server that says forever that there is more is not asked forever, and one that says something else is not believed.
func TestCardsOfAStrangeServer(t *testing.T) {
	asked := 0
	m := client(t, anthropic.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = fmt.Fprintf(w, `{"data":[{"id":"a"}],"has_more":true,"last_id":"a%d"}`, asked)
	})
	if cards, err := m.Cards(t.Context()); err != nil || len(cards) != 20 || asked != 20 {
		t.Error(len(cards), asked, err)
	}
	for _, body := range []string{"<html>", "[]", "{}", `{"data":7}`, ""} {
		m := client(t, anthropic.Options{}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
		if _, err := m.Cards(t.Context()); jackline.KindOf(err) != jackline.Unavailable {
			t.Errorf("%q: %v", body, err)
		}
	}
}

// Where calls are not taken without tools, as at Bedrock, they are put into words when there are none, and only then.
func TestCallsWithoutTools(t *testing.T) {
	var sent []string
	m := client(t, anthropic.Options{Native: true, Retry: once}, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if sent = append(sent, string(b)); len(sent) == 1 {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"Requests which include `+"`tool_use` or `tool_result`"+` blocks must define tools."}}`)
			return
		}
		_, _ = io.WriteString(w, `{"type":"message","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`)
	})
	r := request()
	r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: "Look.", Calls: []model.Call{{ID: "c1", Name: "grep"}}}, model.Message{Role: model.Result, CallID: "c1", Name: "grep", Text: "noon"})
	offered := r.Tools
	for _, r.Tools = range [][]model.Tool{nil, offered} {
		if got := play(t, m, r); !strings.HasPrefix(got, "text \"ok\"") {
			t.Fatal(got)
		}
	}
	if len(sent) != 3 || strings.Contains(sent[1], "tool_") || !strings.Contains(sent[1], `"text":"noon"`) || !strings.Contains(sent[2], `"tool_use_id":"c1"`) {
		t.Errorf("sent %s", strings.Join(sent, "\n"))
	}
}
