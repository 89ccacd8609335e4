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
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/script"
)

// What a server says reaches the terminal as text only.
func TestServersWordsArePlain(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/sessions" {
			_ = json.NewEncoder(w).Encode([]client.SessionRow{{Session: jackline.Session{ID: "s_1"}, Last: "hi"}})
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(client.Problem{Detail: "gone\x1b]0;x\a\u202e\u009b2J"})
	}))
	defer srv.Close()
	var out, errs bytes.Buffer
	m := &Main{
		Args: []string{"attach", srv.URL}, Env: func(k string) string { return map[string]string{"JACKLINE_TOKEN": "x"}[k] },
		In: strings.NewReader(""), Out: &out, Err: &errs,
	}
	if code := m.Run(t.Context()); code != terminal.ExitFailed || !strings.Contains(errs.String(), "gone") {
		t.Errorf("code %d: %q", code, errs.String())
	}
	said := terminal.Sentence(&client.Problem{Detail: "a\x1b[2Jb"}) + terminal.Sentence(jackline.E("x", jackline.Invalid, nil, "a\u202eb")) + terminal.OneLine("a\nb\tc\x1bd")
	if strings.ContainsAny(said+out.String()+errs.String(), "\x1b\a\u202e\u009b\t") {
		t.Errorf("%q %q", said, errs.String())
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
	if code := <-ended; code != terminal.ExitWaiting || !strings.Contains(errs.String(), string(card.ID)) {
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
	if code := <-ended; code != terminal.ExitOK || strings.Count(out.String(), "The first is written.") != 1 {
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
	if code := <-ended; code != terminal.ExitOK || strings.Count(out.String(), "The second is written.") != 1 {
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
		if code := m.Run(t.Context()); code != terminal.ExitOK {
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
