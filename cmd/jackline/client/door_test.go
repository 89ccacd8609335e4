package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline/server/guard"
)

// Whoever listens where a server was killed gets no token, whatever it answers.
func TestTokenOnlyForTheServer(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	token, _, err := Token(data, slog.New(slog.DiscardHandler))
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
		if _, err := Announce(data, strings.TrimPrefix(srv.URL, "http://")); err != nil {
			t.Fatal(err)
		}
		c := Running(t.Context(), data, "1")
		srv.Close()
		if asked != 1 || told != "" {
			t.Errorf("%s: asked %d times, and told %q", name, asked, told)
		}
		if (c != nil) != (name == "ours") || c != nil && c.Token != token {
			t.Errorf("%s: the client is %+v", name, c)
		}
	}
}

// A token that others could read becomes its owner's alone, with a word about it.
func TestTokenIsTightened(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("modes say nothing here")
	}
	data := t.TempDir()
	var log bytes.Buffer
	token, _, err := Token(data, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil || log.Len() > 0 {
		t.Fatal(err, log.String())
	}
	file := filepath.Join(data, tokenFile)
	for _, mode := range []os.FileMode{0o644, 0o666, 0o700, 0o400} {
		log.Reset()
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		again, _, err := Token(data, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil || again != token {
			t.Errorf("%v: %q, %v", mode, again, err)
		}
		if st, err := os.Stat(file); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("%v became %v, %v", mode, st.Mode(), err)
		}
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), file) || strings.Contains(log.String(), token) {
			t.Errorf("%v: the log says %s", mode, log.String())
		}
	}
}
