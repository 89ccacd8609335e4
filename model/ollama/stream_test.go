package ollama_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/ollama"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write what the streams in testdata give")

var once = engine.Retry{Tries: 1}

// client is a model whose Ollama is handle.
func client(t *testing.T, o ollama.Options, handle http.HandlerFunc) *ollama.Model {
	t.Helper()
	srv := httptest.NewServer(handle)
	t.Cleanup(srv.Close)
	o.BaseURL = srv.URL
	return open(t, o)
}

func open(t testing.TB, o ollama.Options) *ollama.Model {
	t.Helper()
	if o.Model == "" {
		o.Model = "qwen3:4b"
	}
	m, err := ollama.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func request() model.Request {
	read := model.Tool{Name: "file_read", Summary: "Read a file.", Use: "Before you change it.", Aliases: []string{"cat"},
		Schema: json.RawMessage(`{ "type": "object" }`)}
	return model.Request{
		System:   []string{"You are a sailor.", "", "Facts."},
		Messages: []model.Message{{Role: model.User, Text: "hello"}},
		Tools:    []model.Tool{read}, Known: []model.Tool{read, {Name: "grep"}},
	}
}

// play writes down what m answers to r, one line a chunk, with m's address as URL.
func play(t testing.TB, m *ollama.Model, r model.Request) string {
	t.Helper()
	var b strings.Builder
	for c, err := range m.Stream(t.Context(), r) {
		b.WriteString(line(c, err) + "\n")
	}
	_, base, _ := strings.Cut(m.String(), " at ")
	return strings.ReplaceAll(b.String(), base, "URL")
}

func line(c model.Chunk, err error) string {
	switch {
	case err != nil:
		return "error " + jackline.KindOf(err).String() + ": " + jackline.Say(err)
	case c.Text != "":
		return "text " + c.Text
	case c.Thought != "":
		return "thought " + c.Thought
	case c.Preview != model.Preview{}:
		return "preview " + c.Preview.Name
	case c.Call != nil:
		marks := ""
		if c.Call.Cut {
			marks = " cut"
		}
		if c.Call.Mended {
			marks += " mended"
		}
		return "call " + c.Call.ID + " " + c.Call.Name + " " + string(c.Call.Args) + marks
	case c.Garbled != "":
		return "garbled " + string(c.Garbled)
	}
	s := "finish " + string(c.Finish)
	if c.Usage != nil {
		u, err := json.Marshal(c.Usage)
		if err != nil {
			return err.Error()
		}
		s += " " + string(u)
	}
	return s
}

// pieces is a transport that answers with a body that comes n bytes at a time.
type pieces struct {
	status int
	body   string
	n      int
}

func (p pieces) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: p.status, Header: http.Header{}, Body: &shredded{p.body, p.n}}, nil
}

type shredded struct {
	text string
	n    int
}

func (s *shredded) Read(p []byte) (int, error) {
	if s.text == "" {
		return 0, io.EOF
	}
	n := copy(p, s.text[:min(s.n, len(s.text))])
	s.text = s.text[n:]
	return n, nil
}

func (*shredded) Close() error { return nil }

func shred(t testing.TB, body string, n int) *ollama.Model {
	t.Helper()
	return open(t, ollama.Options{BaseURL: "http://engine.test", Native: true, Retry: once, Transport: pieces{200, body, n}})
}

// Each file holds an answer as some version gives it; what it becomes stands beside it, with what is odd about it.
func TestStreams(t *testing.T) {
	files, err := filepath.Glob("testdata/*/*.ndjson")
	if err != nil || len(files) < 30 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			beside := strings.TrimSuffix(file, ".ndjson") + ".want"
			text, err := os.ReadFile(beside)
			if err != nil {
				t.Fatal(err)
			}
			var about, want strings.Builder
			for l := range strings.Lines(string(text)) {
				if strings.HasPrefix(l, "# ") {
					about.WriteString(l)
				} else {
					want.WriteString(l)
				}
			}
			for _, n := range []int{1, 7, len(body)} {
				got := play(t, shred(t, string(body), n), request())
				if *update {
					if err := os.WriteFile(beside, []byte(about.String()+got), 0o644); err != nil {
						t.Fatal(err)
					}
				} else if got != want.String() {
					t.Errorf("in pieces of %d:\n got %s\nwant %s", n, got, want.String())
				}
			}
		})
	}
}

func FuzzStream(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.ndjson")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	f.Add("<html>")
	f.Add(`{"error":{"message":"x"}}`)
	f.Add(`[{"done":true}]`)
	f.Fuzz(func(t *testing.T, body string) {
		whole := contract(t, shred(t, body, len(body)+1))
		for _, n := range []int{1, 7} {
			if got := contract(t, shred(t, body, n)); got != whole {
				t.Fatalf("in pieces of %d:\n%s\nat once:\n%s", n, got, whole)
			}
		}
	})
}

// contract plays an answer and checks what holds for every one.
func contract(t *testing.T, m *ollama.Model) string {
	t.Helper()
	var b strings.Builder
	ended, calls, garbled := false, 0, 0
	for c, err := range m.Stream(t.Context(), request()) {
		if ended {
			t.Fatalf("more after the end: %s", line(c, err))
		}
		ended = err != nil || c.Finish != ""
		if c.Call != nil {
			calls++
			if c.Call.Name == "" || !json.Valid(c.Call.Args) || c.Call.Args[0] != '{' {
				t.Fatalf("%+v", c.Call)
			}
		}
		if c.Garbled != "" {
			garbled++
		}
		if u := c.Usage; u != nil && (u.Prompt < 0 || u.Completion < 0 || u.Cached < 0 || u.Cached > u.Prompt) {
			t.Fatalf("%+v", u)
		}
		var e *jackline.Error
		if err != nil && (!errors.As(err, &e) || e.Say == "") {
			t.Fatal(err)
		}
		b.WriteString(line(c, err) + "\n")
	}
	if !ended || garbled > 1 || garbled > 0 && calls > 0 {
		t.Fatalf("ended %v, %d calls, %d garbled", ended, calls, garbled)
	}
	return b.String()
}

func says(text string) string {
	return `{"message":{"role":"assistant","content":` + fmt.Sprintf("%q", text) + `},"done":false}` + "\n"
}

const done = `{"message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}` + "\n"

func TestBadBytes(t *testing.T) {
	if got := play(t, shred(t, "{\"message\":{\"content\":\"a\xff\xc3b\"}}\n"+done, 3), request()); got != "text a\ufffd\ufffdb\nfinish stop\n" {
		t.Error(got)
	}
}

func TestTooMuch(t *testing.T) {
	const stop = "error unavailable: The engine at URL does not stop: its answer is larger than Jackline reads. What came so far is kept.\n"
	long := says("a") + `{"message":{"content":"` + strings.Repeat("x", 50<<20) + `"}}` + "\n"
	if got := play(t, shred(t, long, 1<<20), request()); got != "text a\n"+stop {
		t.Errorf("%.200s", got)
	}
	many := strings.Repeat(says(strings.Repeat("x", 1<<20)), 5)
	if got := play(t, shred(t, many, 1<<20), request()); !strings.HasSuffix(got, stop) || strings.Count(got, "text") != 4 {
		t.Errorf("%d bytes", len(got))
	}
	call := `{"message":{"tool_calls":[` + strings.Repeat(`{"function":{"name":"time","arguments":{}}},`, 99) + `{}]}}` + "\n"
	if got := play(t, shred(t, call+done, 1<<20), request()); strings.Count(got, "call ") != 64 || !strings.HasSuffix(got, "finish length\n") {
		t.Error(got)
	}
}

// held is an Ollama that says a word and then nothing; gone is told of each request whose client has left.
func held(t *testing.T) (m *ollama.Model, gone chan struct{}) {
	t.Helper()
	gone = make(chan struct{}, 8)
	return client(t, ollama.Options{Retry: once}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then does a server notice that its client leaves
		_, _ = io.WriteString(w, says("a")+says("b"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	}), gone
}

func TestLeaving(t *testing.T) {
	m, gone := held(t)
	before := goleak.IgnoreCurrent()
	for _, err := range m.Stream(t.Context(), request()) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	<-gone
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for c, err := range m.Stream(ctx, request()) {
		if c.Text == "b" {
			cancel()
		}
		if err != nil && !modeltest.AsItIs(err, context.Canceled) {
			t.Error(err)
		}
	}
	<-gone
	goleak.VerifyNone(t, before)
}

// A stub answers requests in turn, without a network: synctest's clock can run.
type stub struct {
	turns []func(*http.Request) (*http.Response, error)
	sent  []string
}

func (s *stub) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.sent = append(s.sent, string(body))
	if len(s.sent) > len(s.turns) {
		return nil, errors.New("asked too often")
	}
	return s.turns[len(s.sent)-1](r)
}

type turn = func(*http.Request) (*http.Response, error)

func answers(status int, body string) turn {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// hangs answers with a head and a body, and then with nothing until the request ends.
func hangs(body string) turn {
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

func stubbed(t *testing.T, o ollama.Options, turns ...turn) (*ollama.Model, *stub) {
	t.Helper()
	s := &stub{turns: turns}
	o.BaseURL, o.Transport = "http://engine.test", s
	return open(t, o), s
}

func TestSilence(t *testing.T) {
	o := ollama.Options{FirstByte: 20 * time.Minute, Idle: 45 * time.Second, Retry: once}
	tests := []struct {
		name string
		turn turn
		want string
		took time.Duration
	}{
		{"nothing", func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
			"error timeout: The engine at URL has said nothing for 20 minutes. Its own log may say why.\n", 20 * time.Minute},
		{"only a head", hangs(""), "error timeout: The engine at URL has said nothing for 20 minutes. Its own log may say why.\n", 20 * time.Minute},
		{"in the middle", hangs(says("a")),
			"text a\nerror timeout: The engine at URL stopped in the middle of its answer and has said nothing for 45 seconds.\n", 45 * time.Second},
		{"behind the end", hangs(says("a") + done), "text a\nfinish stop\n", 5 * time.Millisecond},
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

func TestRetry(t *testing.T) {
	const busy = `{"error":"server busy, please try again.  maximum pending requests exceeded"}`
	const died = `{"error":"llama runner process has terminated: exit status 2"}` + "\n"
	fine := answers(200, says("a")+done)
	for name, turns := range map[string][]turn{
		"busy":                   {answers(503, busy), answers(503, busy), fine},
		"died before a word":     {answers(200, died), fine},
		"unloaded before a word": {answers(200, `{"done":true,"done_reason":"unload"}`), fine},
		"cut before a word":      {answers(200, says("")), fine},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, s := stubbed(t, ollama.Options{}, turns...)
				if got := play(t, m, request()); got != "text a\nfinish stop\n" || len(s.sent) != len(turns) {
					t.Error(got, len(s.sent))
				}
			})
		})
	}
}
