package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/script"
	"github.com/jackline-ai/jackline/server/guard"
)

// Whoever listens where a server was killed gets no token, whatever it answers.
func TestTokenOnlyForTheServer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	token, err := makeToken(data)
	if err != nil {
		t.Fatal(err)
	}
	proof := func(key string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(w).Encode(map[string]string{"proof": guard.Proof(key, r.FormValue("nonce"))})
		}
	}
	seen := map[string]bool{}
	for name, answer := range map[string]func(http.ResponseWriter, *http.Request){
		"ours":     proof(token),
		"another":  proof(strings.Repeat("0", 64)),
		"no key":   proof(""),
		"no proof": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status":"ok","version":"1"}`) },
		"empty":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"proof":""}`) },
		"echo":     func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `{"proof":%q}`, r.FormValue("nonce")) },
		"no JSON":  func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") },
		"an error": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/x"+r.URL.String(), http.StatusFound)
		},
	} {
		var mu sync.Mutex
		asked, told := 0, ""
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			asked++
			told += r.Header.Get("Authorization") + r.Header.Get("Cookie")
			if n := r.FormValue("nonce"); len(n) < 20 || seen[n] || !strings.HasPrefix(r.UserAgent(), "jackline/") {
				t.Errorf("%s: %s, nonce %q", name, r.UserAgent(), n)
			}
			seen[r.FormValue("nonce")] = true
			answer(w, r)
		}))
		if err := writeWhole(filepath.Join(data, addressFile), strings.TrimPrefix(srv.URL, "http://")+"\n"); err != nil {
			t.Fatal(err)
		}
		c := running(t.Context(), data)
		srv.Close()
		if asked != 1 || told != "" {
			t.Errorf("%s: asked %d times, and told %q", name, asked, told)
		}
		if (c != nil) != (name == "ours") || c != nil && c.token != token {
			t.Errorf("%s: the client is %+v", name, c)
		}
	}
}

// What a server says reaches the terminal as text only.
func TestServersWordsArePlain(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/sessions" {
			_ = json.NewEncoder(w).Encode([]sessionRow{{Session: jackline.Session{ID: "s_1"}, Last: "hi"}})
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(problem{Detail: "gone\x1b]0;x\a\u202e\u009b2J"})
	}))
	defer srv.Close()
	var out, errs bytes.Buffer
	m := &Main{
		Args: []string{"attach", srv.URL}, Env: func(k string) string { return map[string]string{"JACKLINE_TOKEN": "x"}[k] },
		In: strings.NewReader(""), Out: &out, Err: &errs,
	}
	if code := m.Run(t.Context()); code != exitFailed || !strings.Contains(errs.String(), "gone") {
		t.Errorf("code %d: %q", code, errs.String())
	}
	said := sayOf(&problem{Detail: "a\x1b[2Jb"}) + sayOf(jackline.E("x", jackline.Invalid, nil, "a\u202eb")) + oneLine("a\nb\tc\x1bd")
	if strings.ContainsAny(said+out.String()+errs.String(), "\x1b\a\u202e\u009b\t") {
		t.Errorf("%q %q", said, errs.String())
	}
}

// Every word is shown, and once.
func TestPieces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ does, want string }{
		// + is live text, = is the log's, ! is a new connection
		"as it comes":         {"+Hel|+lo|=Hello|+ you|= you", "Hello you"},
		"nothing live":        {"=Hello", "Hello"},
		"some is lost":        {"+Hel|=Hello", "Hello"},
		"attached":            {"!|+lo|=Hello|+ you|= you", "Hello you"},
		"broken off":          {"+Hel|!|+o|=Hello", "Hello"},
		"logged meanwhile":    {"+Hel|=Hello|!|+ you|= you", "Hello you"},
		"nothing comes back":  {"+Hel|!", "Hel"},
		"blanks at the end":   {"+Hello|+\n\n|=Hello|+You|=You", "Hello\n\nYou"},
		"only blanks":         {"+\n|+You|=You", "\nYou"},
		"blanks at the front": {"+\n|+\nYou|=\nYou are", "\n\nYou are"},
		"other words":         {"+Hallo|=Hello", "Hallo\nHello"},
	} {
		var p piece
		got := ""
		for _, do := range strings.Split(c.does, "|") {
			switch do[0] {
			case '+':
				got += p.live(do[1:])
			case '=':
				got += p.logged(do[1:])
			case '!':
				p.broke = true
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// held is an engine whose answers come when they are let go.
func held(t *testing.T, text string) (base string, asked <-chan struct{}, let chan<- struct{}) {
	t.Helper()
	s, err := script.Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	e := modeltest.Handler(s, modeltest.LlamaCpp())
	ask, answer := make(chan struct{}, 16), make(chan struct{}, 16)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			ask <- struct{}{}
			select {
			case <-answer:
			case <-r.Context().Done():
			}
		}
		e.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/v1", ask, answer
}

// attached runs attach against a server, and tells when it follows events.
func attached(t *testing.T, a *api, in io.Reader, terminal bool) (ended <-chan int, follows <-chan struct{}, out, errs *printed) {
	t.Helper()
	at, err := url.Parse(a.base)
	if err != nil {
		t.Fatal(err)
	}
	stream := make(chan struct{}, 16)
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(at) },
		ModifyResponse: func(r *http.Response) error {
			if strings.HasSuffix(r.Request.URL.Path, "/events") && r.Request.FormValue("tail") == "" {
				stream <- struct{}{}
			}
			return nil
		},
	}
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	out, errs = newPrinted(), newPrinted()
	m := &Main{
		Args: []string{"attach", srv.URL}, Env: func(k string) string { return map[string]string{"JACKLINE_TOKEN": a.token}[k] },
		In: in, Out: out, Err: errs, Terminal: terminal,
	}
	done := make(chan int, 1)
	go func() { done <- m.Run(context.Background()) }()
	return done, stream, out, errs
}

// Attach begins with what is now: a turn that waited once and runs again is followed to its end; one that waits is left, or its card
// is answered where a person is there.
func TestAttach(t *testing.T) {
	t.Parallel()
	base, asked, let := held(t, "=== 1\n--- call file_write {\"path\": \"a.txt\", \"content\": \"x\"}\n=== 2\nThe first is written.\n"+
		"=== 3\n--- call file_write {\"path\": \"b.txt\", \"content\": \"x\"}\n=== 4\nThe second is written.\n")
	h := newHome(t, base, "native")
	a := h.serve()
	s := a.session(map[string]any{"workspace": h.ws})
	step := func() {
		<-asked
		let <- struct{}{}
	}
	a.prompt(s.ID, "write it", nil)
	step()
	card := a.card(s.ID)
	ended, _, _, errs := attached(t, a, strings.NewReader(""), false)
	if code := <-ended; code != exitWaiting || !strings.Contains(errs.String(), string(card.ID)) {
		t.Errorf("with a card open: code %d: %s", code, errs)
	}
	a.answer(card.ID, map[string]any{"approved": true})
	<-asked
	ended, follows, out, errs := attached(t, a, strings.NewReader(""), false)
	select {
	case code := <-ended:
		t.Fatalf("it leaves a turn that runs: code %d: %s%s", code, out, errs)
	case <-follows:
	}
	let <- struct{}{}
	if code := <-ended; code != exitOK || strings.Count(out.String(), "The first is written.") != 1 {
		t.Errorf("to the end: code %d: %s%s", code, out, errs)
	}

	a.prompt(s.ID, "write another", nil)
	step()
	a.card(s.ID)
	in, person := io.Pipe()
	ended, _, out, errs = attached(t, a, in, true)
	eventually(t, "the card", func() bool { return strings.Contains(errs.String(), "Allow this?") })
	fmt.Fprintln(person, "y")
	step()
	if code := <-ended; code != exitOK || strings.Count(out.String(), "The second is written.") != 1 {
		t.Errorf("with a person: code %d: %s%s", code, out, errs)
	}
	_ = person.Close()
	if h.read("b.txt") != "x" {
		t.Error("it was not written")
	}
}

// A chat is gone on with where something was said in it.
func TestContinueWhereSomethingWasSaid(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	transcript := filepath.Join(home, "says.txt")
	if err := os.WriteFile(transcript, []byte("=== *\nHello.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"JACKLINE_HOME": home, "JACKLINE_MODEL": "script:" + transcript}
	run := func(args ...string) (o outcome) {
		t.Helper()
		var out, errs bytes.Buffer
		m := &Main{Args: args, Env: func(k string) string { return env[k] }, In: strings.NewReader(""), Out: &out, Err: &errs}
		if code := m.Run(t.Context()); code != exitOK {
			t.Fatalf("%q: exit code %d: %s", args, code, errs.String())
		}
		_ = json.Unmarshal(out.Bytes(), &o)
		return o
	}
	said := run("run", "--output", "json", "hello")
	for range 3 {
		run("tools", "call", "list_dir")
	}
	if o := run("run", "--continue", "--output", "json", "hello"); o.Session != said.Session || o.Session == "" {
		t.Errorf("it went on with %q, not with %q", o.Session, said.Session)
	}
}
