package server_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

// changing is what no two answers have in common.
var changing = regexp.MustCompile(`\b[rst]_[0-9a-z]+|"seq":\d+|\d{4}-\d\d-\d\dT[0-9:.]+Z`)

// begun finds the turn that was begun.
var begun = regexp.MustCompile(`^202 (?s:.*)"turn":\{"id":"(\w+)"`)

// TestPlain: what is answered in the short way is answered as by its route, byte for byte; and what our own commands send is
// answered so.
func TestPlain(t *testing.T) {
	w := newWorld(t)
	const own, other = true, false // whether a command of ours sends such a request
	type request struct {
		method, path, body string // CHAT is a chat that is there
		own                bool
		header             []string
	}
	const begin, turns, events = "/api/turns", "/api/sessions/CHAT/turns", "/api/sessions/CHAT/events"
	requests := []request{
		{"POST", begin, `{"prompt":"say hello"}`, own, nil},
		{"POST", begin, `{"prompt":"say hello","workspace":"/ws","mode":"ask"}`, own, nil},
		{"POST", begin, `{"prompt":"say hello","workspace":"/bad"}`, own, nil},
		{"POST", begin, `{"prompt":"say hello","workspace":"/bad/<&>"}`, own, nil},
		{"POST", begin, `{"prompt":"say hello","mode":"plan","mode":"ask"}`, own, nil},
		{"POST", begin, `{"prompt":"say <b>&\u2028"}`, own, nil},
		{"POST", begin, `{"prompt":"say hello","plan":false,"guide":false,"offline":true,"tz":"UTC","onAsk":"wait","max_steps":3,"max_tokens":9,"max_time_ms":2592000000}`, own, nil},
		{"POST", begin, `{"prompt":" "}`, own, nil},
		{"POST", begin, `{"prompt":"say token=ghp_` + strings.Repeat("Zk3", 12) + `"}`, own, nil},
		{"POST", begin, `{"prompt":"say hello"}`, own, []string{"Sec-Fetch-Mode", "cors"}},
		{"POST", begin, `{"prompt":"say hello"}`, own, []string{"User-Agent", "jackline/test"}},
		{"POST", begin, `{}`, own, nil},
		{"POST", begin, `{"Prompt":"say hello"}`, other, nil},
		{"POST", begin, `{"prompt":"say hello","title":"x"}`, other, nil},
		{"POST", begin, `{"prompt":"say hello","allow":["shell(ls)"]}`, other, nil},
		{"POST", begin, `{"prompt":"say hello","continue":"t_none"}`, other, nil},
		{"POST", begin + "?", `{"prompt":"say hello"}`, other, nil},
		{"POST", begin + "/", `{"prompt":"say hello"}`, other, nil},
		{"POST", begin + "x", `{"prompt":"say hello"}`, other, nil},
		{"POST", "/api/%74urns", `{"prompt":"say hello"}`, other, nil},
		{"PUT", begin, `{"prompt":"say hello"}`, other, nil},
		{"GET", begin, ``, other, nil},
		{"GET", turns, ``, own, nil},
		{"GET", "/api/sessions/s_none/turns", ``, own, nil},
		{"GET", turns + "?", ``, other, nil},
		{"GET", turns + "?x=1", ``, other, nil},
		{"GET", turns, ``, own, []string{"Accept", "text/html"}},
		{"GET", events, ``, own, nil},
		{"GET", events + "?after=1", ``, own, nil},
		{"GET", events + "?after=99", ``, own, nil},
		{"GET", "/api/sessions/s_none/events", ``, own, nil},
		{"GET", events + "?after=", ``, other, nil},
		{"GET", events + "?after=-1", ``, other, nil},
		{"GET", events + "?after=1&after=2", ``, other, nil},
		{"GET", events + "?after=99999999999999999999", ``, other, nil},
		{"GET", events + "?tail=true", ``, other, nil},
		{"GET", events, ``, other, []string{"Last-Event-ID", "1"}},
		{"POST", turns, `{"prompt":"say hello"}`, other, nil},
		{"GET", turns + "/", ``, other, nil},
		{"GET", "/api/sessions/%43HAT/turns", ``, other, nil},
		{"GET", "/api/sessions//turns", ``, other, nil},
		{"GET", "/api/sessions", ``, other, nil},
		{"DELETE", events, ``, other, nil},
	}
	// Bodies that are not quite right: each field, with values of all kinds.
	values := []string{`null`, `true`, `false`, `0`, `-0`, `1`, `-1`, `2000`, `2001`, `1.0`, `1.5`, `1e1`, `1073741824`, `1073741825`, `2592000000`, `2592000001`,
		`99999999999999999999`, `""`, `"x"`, `"ask"`, `"ASK"`, `"deny"`, `"1"`, `"\ud800"`, "\"\xff\"", `[]`, `["x"]`, `{}`, `"` + strings.Repeat("x", 64) + `"`, `"` + strings.Repeat("x", 65) + `"`,
		`"` + strings.Repeat("é", 64) + `"`, `"` + strings.Repeat("x", 201) + `"`}
	for _, value := range values {
		for _, field := range []string{"workspace", "mode", "model", "title", "prompt", "continue", "when", "plan", "guide", "ask_first", "offline", "onAsk", "tz",
			"max_steps", "max_tokens", "max_time_ms", "attachments", "allow", "PROMPT", "nobody"} {
			requests = append(requests,
				request{"POST", begin, `{"prompt":"say hello","` + field + `":` + value + `}`, other, nil},
				request{"POST", begin, `{"` + field + `":` + value + `,"prompt":"say hello"}`, other, nil})
		}
		requests = append(requests, request{"POST", begin, value, other, nil},
			request{"POST", begin, `{"prompt":"say hello"}` + value, other, nil}, request{"POST", begin, `{"prompt":` + value, other, nil})
	}
	ask := func(r request, answer func(http.ResponseWriter, *http.Request)) string {
		s, err := w.DB.CreateSession(t.Context(), jackline.Local, jackline.Session{Workspace: w.Folder, Mode: jackline.ModeAllowReads})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.DB.Append(t.Context(), jackline.Local, jackline.Record{Session: s.ID, Events: []jackline.Event{jackline.NewEvent(s.ID, "", jackline.ModeChanged{By: "x"})}}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		q := httptest.NewRequestWithContext(ctx, r.method, strings.ReplaceAll(r.path, "CHAT", string(s.ID)), io.NopCloser(strings.NewReader(r.body)))
		q.ContentLength = int64(len(r.body))
		q.Header.Set("Content-Type", "application/json")
		for i := 0; i < len(r.header); i += 2 {
			q.Header.Set(r.header[i], r.header[i+1])
		}
		rec := httptest.NewRecorder()
		var out http.ResponseWriter = rec
		if strings.Contains(r.path, "/events") {
			out = &ending{ResponseRecorder: rec, end: cancel} // a stream goes on until its client is gone
		}
		answer(out, q)
		got := fmt.Sprintf("%d %s %s\n%s", rec.Code, rec.Header().Get("Content-Type"), rec.Header().Get("X-Accel-Buffering"), rec.Body)
		if begun := begun.FindStringSubmatch(got); begun != nil {
			w.Ends(jackline.TurnID(begun[1]), jackline.Done) // so that the next one finds as little under way
		}
		return changing.ReplaceAllString(strings.ReplaceAll(got, string(s.ID), "CHAT"), "X")
	}
	taken := 0
	for _, r := range requests {
		name := fmt.Sprintf("%s %s %s %q", r.method, r.path, r.body, r.header)
		plain := false
		got := ask(r, func(rw http.ResponseWriter, q *http.Request) {
			if plain = w.server.Plain(rw, q); !plain {
				if b, err := io.ReadAll(q.Body); err != nil || string(b) != r.body {
					t.Errorf("%s: its body became %q, %v", name, b, err)
				}
			}
		})
		if r.own && !plain {
			t.Errorf("%s goes by its route", name)
		}
		if !plain {
			continue
		}
		taken++
		if want := ask(r, w.server.Route); got != want {
			t.Errorf("%s is answered\n%s\nand by its route\n%s", name, got, want)
		}
	}
	t.Logf("%d of %d requests in the short way", taken, len(requests))
}

// An ending response ends its request when what is known has been sent.
type ending struct {
	*httptest.ResponseRecorder
	end func()
}

func (e *ending) Write(b []byte) (int, error) {
	n, err := e.ResponseRecorder.Write(b)
	if strings.Contains(e.Body.String(), "event: ready") {
		e.end()
	}
	return n, err
}
