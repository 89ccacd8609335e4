package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/openai"
)

// A stub answers requests in turn, without a network: synctest's clock can run.
type stub struct {
	turns []func(*http.Request) (*http.Response, error)
	at    []time.Time
	sent  []string
}

func (s *stub) RoundTrip(r *http.Request) (*http.Response, error) {
	s.at = append(s.at, time.Now())
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.sent = append(s.sent, string(body))
	i := len(s.at) - 1
	if i >= len(s.turns) {
		return nil, errors.New("asked too often")
	}
	return s.turns[i](r)
}

// pauses are the times between the requests.
func (s *stub) pauses() []time.Duration {
	var d []time.Duration
	for i := 1; i < len(s.at); i++ {
		d = append(d, s.at[i].Sub(s.at[i-1]))
	}
	return d
}

type turn = func(*http.Request) (*http.Response, error)

func says(status int, body string, header ...string) turn {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func breaks(err error) turn {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// silent answers with a head and what is given, and then with nothing until the request ends.
func silent(body string) turn {
	return func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &hanging{strings.NewReader(body), r.Context().Done()}}, nil
	}
}

type hanging struct {
	r    io.Reader
	done <-chan struct{}
}

func (h *hanging) Read(p []byte) (int, error) {
	if n, err := h.r.Read(p); err == nil {
		return n, nil
	}
	<-h.done
	return 0, context.Canceled
}

func (h *hanging) Close() error { return nil }

var (
	errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: fmt.Errorf("connect: %w", syscall.ECONNREFUSED)}
	errReset   = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
)

func stubbed(t *testing.T, o openai.Options, turns ...turn) (*openai.Model, *stub) {
	t.Helper()
	s := &stub{turns: turns}
	o.BaseURL, o.Transport, o.Native = "http://engine.test/v1", s, true
	if o.Model == "" {
		o.Model = "m"
	}
	m, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m, s
}

func TestRetry(t *testing.T) {
	fine := says(200, text("a")+finish("stop"))
	const ok = "text a\nfinish stop\n"
	const s = time.Second
	type span struct{ least, most time.Duration }
	grows := []span{{s / 4, s / 2}, {s / 2, s}, {s, 2 * s}}
	tests := []struct {
		name   string
		turns  []turn
		want   string
		pauses []span
	}{
		{"busy", []turn{says(503, ""), says(429, ""), says(500, ""), fine}, ok, grows},
		{"busy for too long", []turn{says(503, ""), says(503, ""), says(503, ""), says(502, "")},
			"error unavailable: The engine at http://engine.test/v1 failed (status 502). Its own log says why.\n", grows},
		{"reset", []turn{breaks(errReset), breaks(io.EOF), breaks(io.ErrUnexpectedEOF), fine}, ok, grows},
		{"nobody", []turn{breaks(errRefused), breaks(errRefused)},
			"error unavailable: No engine answers at http://engine.test/v1. Start one (\"ollama serve\", or \"llama-server -m MODEL.gguf --port 8080\"), or name another address with --base-url.\n", grows[:1]},
		{"somebody at last", []turn{breaks(errRefused), fine}, ok, grows[:1]},
		{"as the server wishes", []turn{says(429, "", "Retry-After", "7"), says(503, "", "retry-after", "1.5"), fine}, ok, []span{{7 * s, 7 * s}, {1500 * time.Millisecond, 1500 * time.Millisecond}}},
		{"a date", []turn{says(429, "", "Retry-After", "Sat, 01 Jan 2000 00:00:20 GMT"), fine}, ok, []span{{20 * s, 20 * s}}},
		{"a date gone by", []turn{says(429, "", "Retry-After", "Fri, 31 Dec 1999 00:00:20 GMT"), fine}, ok, grows[:1]},
		{"nonsense", []turn{says(429, "", "Retry-After", "soon"), says(429, "", "Retry-After", "-5"), says(429, "", "Retry-After", "NaN"), fine}, ok, grows},
		{"longer than we wait", []turn{says(429, "", "Retry-After", "3600")},
			"error unavailable: The engine at http://engine.test/v1 limits how often it may be asked: try again in 60 minutes.\n", nil},
		{"lost before a word", []turn{says(200, ": hello\n\n"), fine},
			"error unavailable: The engine at http://engine.test/v1 gave an empty answer. Its own log may say why.\n", nil},
		{"lost before a word, after an event", []turn{says(200, delta(`"role":"assistant"`)), fine}, ok, grows[:1]},
		{"an error before a word", []turn{says(200, `data: {"error":{"message":"overloaded","code":503}}`+"\n\n"), fine}, ok, grows[:1]},
		{"an error after a word", []turn{says(200, text("a")+`data: {"error":{"message":"overloaded","code":503}}`+"\n\n")},
			"text a\nerror unavailable: The engine at http://engine.test/v1 failed (status 503). Its own log says why.\n", nil},
		{"lost after a word", []turn{says(200, text("a"))},
			"text a\nerror unavailable: The connection to http://engine.test/v1 broke off in the middle of the answer. What came so far is kept.\n", nil},
		{"loading", []turn{says(503, `{"error":{"message":"Loading model"}}`), says(503, `{"error":{"message":"Loading model"}}`), fine}, ok, []span{{2 * s, 2 * s}, {2 * s, 2 * s}}},
		{"our fault", []turn{says(400, "")}, "error invalid: The engine at http://engine.test/v1 refuses the request (status 400). Jackline's log says what it answered.\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, st := stubbed(t, openai.Options{}, tt.turns...)
				if got := play(t, m, request()); got != tt.want {
					t.Errorf("\n got %s\nwant %s", got, tt.want)
				}
				got := st.pauses()
				if len(got) != len(tt.pauses) {
					t.Fatalf("%d pauses, want %d", len(got), len(tt.pauses))
				}
				for i, p := range tt.pauses {
					if got[i] < p.least || got[i] > p.most {
						t.Errorf("pause %d is %s, want %s to %s", i, got[i], p.least, p.most)
					}
				}
			})
		})
	}
}

// A model that loads for ever is given up.
func TestLoadingForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var turns []turn
		for range 1000 {
			turns = append(turns, says(503, `{"error":{"message":"Loading model"}}`))
		}
		m, st := stubbed(t, openai.Options{}, turns...)
		began := time.Now()
		if got := play(t, m, request()); !strings.Contains(got, "still loading its model") {
			t.Error(got)
		}
		if took := time.Since(began); took != 5*time.Minute || len(st.at) != 151 {
			t.Error(took, len(st.at))
		}
	})
}

func TestCancelPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := stubbed(t, openai.Options{}, says(429, "", "Retry-After", "20"))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		began := time.Now()
		for _, err := range m.Stream(ctx, request()) {
			if !modeltest.AsItIs(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Error(took)
		}
	})
}

func TestSilence(t *testing.T) {
	o := openai.Options{FirstByte: 20 * time.Minute, Idle: 45 * time.Second, Retry: once}
	never := func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() }
	half := text("a") + text("b")
	lied := `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n"
	tests := []struct {
		name string
		turn turn
		want string
		took time.Duration
	}{
		{"not even a head", never, "error timeout: The engine at http://engine.test/v1 has said nothing for 20 minutes. Its own log may say why.\n", 20 * time.Minute},
		{"only a head", silent(""), "error timeout: The engine at http://engine.test/v1 has said nothing for 20 minutes. Its own log may say why.\n", 20 * time.Minute},
		{"only comments", silent(": processing\n\n" + delta(`"role":"assistant","content":""`)), "error timeout: The engine at http://engine.test/v1 has said nothing for 20 minutes. Its own log may say why.\n", 20 * time.Minute},
		{"in the middle", silent(half), "text a\ntext b\nerror timeout: The engine at http://engine.test/v1 stopped in the middle of its answer and has said nothing for 45 seconds.\n", 45 * time.Second},
		{"after the end", silent(half + finish("stop")), "text a\ntext b\nfinish stop\n", 10 * time.Second},
		{"after a reason that each piece has", silent(lied + lied), "text a\ntext a\nfinish stop\n", 45 * time.Second},
		{"after the marker", silent(half + finish("stop") + done), "text a\ntext b\nfinish stop\n", 5 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, _ := stubbed(t, o, tt.turn)
				began := time.Now()
				if got := play(t, m, request()); got != tt.want {
					t.Errorf("\n got %s\nwant %s", got, tt.want)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("took %s, want %s", took, tt.took)
				}
			})
		})
	}
}

// Whoever reads slowly is not taken for a silent engine.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, _ := stubbed(t, openai.Options{Idle: time.Second, Retry: once}, says(200, text("a")+text("b")+finish("stop")))
		for _, err := range m.Stream(t.Context(), request()) {
			if err != nil {
				t.Error(err)
			}
			<-time.After(time.Hour)
		}
	})
}

// What an engine does not take is left out the next time, and from then on.
func TestLearn(t *testing.T) {
	fine := says(200, text("a")+finish("stop"))
	tests := []struct {
		name, refusal, before, after string
		status                       int
	}{
		{"stream_options", `{"detail":[{"loc":["body","stream_options"],"msg":"extra fields not permitted"}]}`, `"stream_options":{"include_usage":true}`, `"stream":true`, 422},
		{"tool_choice", `{"error":{"message":"Unsupported parameter: 'tool_choice'"}}`, `"tool_choice":"none"`, `"tools":[`, 400},
		{"max_tokens", `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}`, `"max_tokens":5`, `"max_completion_tokens":5`, 400},
		{"system", `{"message":"System role not supported"}`, `{"role":"system",`, `[{"role":"user","content":"You are a sailor.\n\nFacts.\n\nhello"},`, 500},
		{"alternate", `{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/..."}}`, `{"role":"user","content":"hello"},{"role":"user","content":"[note]"}`, `{"role":"user","content":"hello\n\n[note]"}`, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, st := stubbed(t, openai.Options{Retry: once}, says(tt.status, tt.refusal), fine, fine)
			r := request()
			r.Messages = append(r.Messages, userNote)
			r.NoCalls, r.MaxTokens = true, 5
			for range 2 {
				if got := play(t, m, r); got != "text a\nfinish stop\n" {
					t.Fatal(got)
				}
			}
			if !strings.Contains(st.sent[0], tt.before) || !strings.Contains(st.sent[1], tt.after) || strings.Contains(st.sent[1], tt.before) {
				t.Errorf("%s\n%s", st.sent[0], st.sent[1])
			}
			if st.sent[2] != st.sent[1] {
				t.Errorf("not kept: %s", st.sent[2])
			}
		})
	}
	t.Run("only once", func(t *testing.T) {
		m, _ := stubbed(t, openai.Options{Retry: once}, says(400, "stream_options?"), says(400, "stream_options?"))
		if kind, say, _ := fail(t, m, request()); kind != jackline.Invalid || !strings.Contains(say, "status 400") {
			t.Error(kind, say)
		}
	})
}
