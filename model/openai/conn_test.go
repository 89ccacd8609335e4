package openai_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/openai"
)

// patience is how long a connection may take to go away before a test gives up.
const patience = 10 * time.Second

// held is a server that says a word and then nothing; gone is closed for each request whose client has left.
func held(t *testing.T, o openai.Options) (m *openai.Model, gone chan struct{}) {
	t.Helper()
	gone = make(chan struct{}, 8)
	m = client(t, o, func(w http.ResponseWriter, r *http.Request) {
		// Only when the request has been read does a server notice that its client leaves.
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, text("a")+text("b"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		gone <- struct{}{}
	})
	return m, gone
}

func left(t *testing.T, gone chan struct{}) {
	t.Helper()
	select {
	case <-gone:
	case <-time.After(patience):
		t.Error("the connection is still there")
	}
}

func TestBreakClosesTheConnection(t *testing.T) {
	m, gone := held(t, openai.Options{Retry: once})
	before := goleak.IgnoreCurrent()
	for _, err := range m.Stream(t.Context(), request()) {
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	left(t, gone)
	goleak.VerifyNone(t, before)
}

func TestCancelClosesTheConnection(t *testing.T) {
	m, gone := held(t, openai.Options{Retry: once})
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := ""
	for c, err := range m.Stream(ctx, request()) {
		if got += c.Text; got == "ab" {
			cancel()
		}
		if err != nil && !modeltest.AsItIs(err, context.Canceled) {
			t.Error(err)
		}
	}
	left(t, gone)
	goleak.VerifyNone(t, before)
}

// What has arrived already is not handed out after a cancellation.
func TestCancelDropsTheBuffer(t *testing.T) {
	m := client(t, openai.Options{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, text("a")+text("b")+text("c")+finish("stop"))
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []string
	for c, err := range m.Stream(ctx, request()) {
		got = append(got, line(c, err))
		cancel()
	}
	if len(got) != 2 || !strings.HasPrefix(got[1], "error internal") {
		t.Error(got)
	}
}

// While the engine has not answered yet, a cancellation is felt at once too.
func TestCancelBeforeTheAnswer(t *testing.T) {
	arrived := make(chan struct{})
	m := client(t, openai.Options{}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(t.Context())
	stop := context.AfterFunc(ctx, func() {})
	defer stop()
	go func() { <-arrived; cancel() }()
	for _, err := range m.Stream(ctx, request()) {
		if !modeltest.AsItIs(err, context.Canceled) {
			t.Error(err)
		}
	}
}

func TestNoOtherOrigin(t *testing.T) {
	var hits atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		m := client(t, openai.Options{Key: "sk-secret-secret", Retry: once}, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/v1/chat/completions", status)
		})
		kind, say, err := fail(t, m, request())
		if want := "URL sends its visitors to another address. Give that one with --base-url."; kind != jackline.Unavailable || say != want {
			t.Errorf("%d: %v", status, err)
		}
	}
	if hits.Load() > 0 {
		t.Error("the other origin was asked")
	}
}

func TestRedirectWithin(t *testing.T) {
	for status, want := range map[int]string{
		307: "text a\nfinish stop\n", 308: "text a\nfinish stop\n",
		302: "error unavailable: ", // it would become a GET
	} {
		m := client(t, openai.Options{Retry: once}, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/v1/chat/completions" {
				http.Redirect(w, r, "/api/chat", status)
				return
			}
			body, _ := io.ReadAll(r.Body)
			if r.Method != http.MethodPost || len(body) == 0 {
				t.Errorf("%s with %d bytes", r.Method, len(body))
			}
			_, _ = io.WriteString(w, text("a")+finish("stop"))
		})
		if got := play(t, m, request()); !strings.HasPrefix(got, want) {
			t.Errorf("%d: %s", status, got)
		}
	}
}

func TestNoProxy(t *testing.T) {
	var hits atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer proxy.Close()
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, proxy.URL)
	}
	// A host that is not loopback, for which a proxy would be asked.
	m, err := openai.New(openai.Options{BaseURL: "http://engine.invalid/v1", Model: "m", Retry: once})
	if err != nil {
		t.Fatal(err)
	}
	_, _, _ = fail(t, m, request()) // that it failed is enough
	if hits.Load() > 0 {
		t.Error("the proxy was asked")
	}
}

// The path of the base URL is kept, and so is its query.
func TestPath(t *testing.T) {
	var got url.URL
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = *r.URL
		_, _ = io.WriteString(w, text("a")+finish("stop"))
	}))
	defer srv.Close()
	for base, want := range map[string]string{
		"":                          "/chat/completions",
		"/":                         "/chat/completions",
		"/v1/":                      "/v1/chat/completions",
		"/a%2Fb/v1":                 "/a%2Fb/v1/chat/completions",
		"/deploy/x?api-version=2.1": "/deploy/x/chat/completions?api-version=2.1",
	} {
		m, err := openai.New(openai.Options{BaseURL: srv.URL + base, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		play(t, m, request())
		if got.String() != want {
			t.Errorf("%q asks %s, want %s", base, got.String(), want)
		}
	}
}

func TestHeaders(t *testing.T) {
	var got http.Header
	o := openai.Options{Key: "k", Headers: http.Header{"api-key": {"x"}, "User-Agent": {"me"}}}
	m := client(t, o, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		_, _ = io.WriteString(w, text("a")+finish("stop"))
	})
	play(t, m, request())
	for name, want := range map[string]string{
		"Authorization": "Bearer k", "Api-Key": "x", "User-Agent": "me", "Content-Type": "application/json",
		"Accept": "text/event-stream, application/json", "Accept-Encoding": "",
	} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
}

// A connection that drops in the middle of a chunk is told from an answer that ended.
func TestDropped(t *testing.T) {
	m := client(t, openai.Options{Retry: once}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, text("a")+"data: {\"cho")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if got := play(t, m, request()); !strings.HasPrefix(got, "text a\nerror unavailable: The connection to ") {
		t.Error(got)
	}
	// After the reason for the end it does not matter.
	m = client(t, openai.Options{Retry: once}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, text("a")+finish("stop"))
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if got := play(t, m, request()); got != "text a\nfinish stop\n" {
		t.Error(got)
	}
}
