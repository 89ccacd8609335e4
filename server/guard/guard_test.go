package guard_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackline-ai/jackline/server/guard"
)

// The combinations of what a request can carry are tried against every route in package server. Here are the parts.

func TestCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := guard.NewCodes()
		first := c.New()
		if len(first) < 32 || !c.Use(first) || c.Use(first) || c.Use("") {
			t.Error("a code works once")
		}
		late := c.New()
		pass(10*time.Minute - time.Second)
		good := c.New()
		pass(2 * time.Second)
		if c.Use(late) || !c.Use(good) {
			t.Error("a code works for ten minutes")
		}
		var all []string
		for range 20 {
			all = append(all, c.New())
			pass(time.Millisecond)
		}
		if c.Use(all[0]) || c.Use(all[3]) || !c.Use(all[4]) || !c.Use(all[19]) {
			t.Error("the oldest give way")
		}
	})
}

func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := guard.NewLimiter(2)
		for n := range 3 {
			if l.Allow() != (n < 2) {
				t.Error("two a minute")
			}
		}
		pass(time.Minute)
		if !l.Allow() {
			t.Error("the next minute is a new one")
		}
	})
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("gone") }

func TestBody(t *testing.T) {
	for _, c := range []struct {
		name   string
		body   io.Reader
		header []string
		status int
	}{
		{"none", nil, nil, 200},
		{"good", strings.NewReader("{}"), []string{"Content-Type", "application/json"}, 200},
		{"unknown length", io.MultiReader(strings.NewReader("{}")), []string{"Content-Type", "application/json"}, 200},
		{"too large", strings.NewReader(strings.Repeat("x", guard.MaxBody+1)), []string{"Content-Type", "application/json"}, 413},
		{"too large, unknown length", io.MultiReader(strings.NewReader(strings.Repeat("x", guard.MaxBody+1))), []string{"Content-Type", "application/json"}, 413},
		{"as large as may be", strings.NewReader(strings.Repeat("x", guard.MaxBody)), []string{"Content-Type", "application/json"}, 200},
		{"no type", strings.NewReader("{}"), nil, 415},
		{"packed", strings.NewReader("{}"), []string{"Content-Type", "application/json", "Content-Encoding", "gzip"}, 415},
		{"broken", broken{}, []string{"Content-Type", "application/json"}, 400},
	} {
		got := ""
		h := guard.New(guard.Config{
			Token: "t", Hosts: []string{"h"},
			Page:   func(*http.Request) bool { return false },
			Public: func(*http.Request) bool { return true },
			Refuse: func(w http.ResponseWriter, why guard.Refusal) { w.WriteHeader(why.Status) },
			Next: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				got = string(b)
			}),
		})
		req := httptest.NewRequestWithContext(t.Context(), "POST", "/", c.body)
		req.Host = "h"
		for i := 0; i < len(c.header); i += 2 {
			req.Header.Set(c.header[i], c.header[i+1])
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != c.status || c.name == "good" && got != "{}" {
			t.Errorf("%s: %d, %q", c.name, rec.Code, got)
		}
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"127.0.0.1:1": true, "127.9.9.9": true, "localhost:1": true, "[::1]:1": true, "[::1]": true, "::1": true,
		"": false, ":1": false, "0.0.0.0:1": false, "example.org:1": false, "localhost.example.org": false, "192.168.0.1": false,
	} {
		if guard.Loopback(host) != want {
			t.Errorf("%q is judged wrongly", host)
		}
	}
}

// pass lets time pass, in a bubble.
func pass(d time.Duration) { <-time.After(d) }
