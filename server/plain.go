package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jackline-ai/jackline"
)

// A task takes three requests: a chat is begun with a prompt, its events are followed, and its turns are read. A command that
// runs by itself makes each of them once. To make their routes and to go through huma would take a tenth of the time until
// it asks its model, and two MB. So these are answered here where they are plainly right: with the fields that our own
// commands send, and values that need no second look. Whatever else comes goes to its route, which says what is wrong with it.
// TestPlain compares the two.

// plain answers such a request, or reports that it is none. Then nothing was done, and the request is as it was.
func (s *Server) plain(w http.ResponseWriter, r *http.Request) bool {
	ctx, path := r.Context(), r.URL.EscapedPath()
	id, part, ofChat := plainPath(path)
	switch {
	case r.Method == http.MethodPost && path == "/api/turns":
		in := beginIn{By: caller{callerOf(r.Header.Get("Sec-Fetch-Mode"), r.UserAgent())}}
		if plainBody(r, &in.Body, "workspace", "mode", "prompt", "plan", "guide", "offline", "onAsk", "tz", "max_steps", "max_tokens", "max_time_ms") &&
			in.Body.plain() {
			out, err := s.begin(ctx, &in)
			plainly(s, w, r, http.StatusAccepted, out, err)
			return true
		}
	case !ofChat:
	case r.Method == http.MethodGet && part == "turns":
		if r.ContentLength == 0 && r.URL.RawQuery == "" && !r.URL.ForceQuery {
			out, err := s.listTurns(ctx, &ofSession{ID: id})
			plainly(s, w, r, http.StatusOK, out, err)
			return true
		}
	case r.Method == http.MethodGet && part == "events":
		in := sessionEventsIn{ID: id}
		if r.ContentLength == 0 && in.plain(r) {
			f, at, err := s.sessionFeed(ctx, &in)
			if err != nil {
				plainly[any](s, w, r, 0, nil, err)
				return true
			}
			s.serveFeed(w, r, f, at)
			return true
		}
	}
	return false
}

// plainPath takes the path of a part of a chat apart.
func plainPath(path string) (id jackline.SessionID, part string, ok bool) {
	path, ok = strings.CutPrefix(path, "/api/sessions/")
	name, part, whole := strings.Cut(path, "/")
	for _, c := range []byte(name) {
		whole = whole && (c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z')
	}
	return jackline.SessionID(name), part, ok && whole && name != ""
}

// plainBody decodes a body into v if it is an object with none but these fields, none of which is null, empty, zero, or less.
func plainBody(r *http.Request, v any, fields ...string) bool {
	raw, err := io.ReadAll(r.Body) // the guard has read it, and bounded it
	r.Body = io.NopCloser(bytes.NewReader(raw))
	var given map[string]json.RawMessage
	if err != nil || r.URL.RawQuery != "" || r.URL.ForceQuery || json.Unmarshal(raw, &given) != nil || given == nil {
		return false
	}
	for name, value := range given {
		if !slices.Contains(fields, name) || strings.IndexByte("n0-", value[0]) >= 0 || string(value) == `""` {
			return false
		}
	}
	return json.Unmarshal(raw, v) == nil
}

// plain reports whether the values of a body are within what its schema says of them, or well within.
func (b *PromptBody) plain() bool {
	const mostTZ, mostSteps, mostTokens, mostTime = 64, 2000, 1 << 30, 30 * 24 * time.Hour
	switch b.OnAsk {
	case "", jackline.AskDeny, jackline.AskFail, jackline.AskWait:
		return len(b.TZ) <= mostTZ && b.MaxSteps <= mostSteps && b.MaxTokens <= mostTokens && b.MaxTimeMS <= mostTime.Milliseconds()
	}
	return false
}

// plain reads where a stream is to begin, if it is said in no other way than by after.
func (in *sessionEventsIn) plain(r *http.Request) bool {
	if _, again := r.Header["Last-Event-Id"]; again || r.URL.ForceQuery {
		return false
	}
	if r.URL.RawQuery == "" {
		return true
	}
	const digits = 18 // fit
	number, ok := strings.CutPrefix(r.URL.RawQuery, "after=")
	for _, c := range []byte(number) {
		ok = ok && c >= '0' && c <= '9'
	}
	if !ok || number == "" || len(number) > digits {
		return false
	}
	in.After, _ = strconv.ParseInt(number, 10, 64) // digits
	return true
}

// plainly answers as a route does.
func plainly[T any](s *Server, w http.ResponseWriter, r *http.Request, status int, out *body[T], err error) {
	var answer any
	kind := "application/json"
	if err != nil {
		p := problemOf(r.Context(), s.c.Log, r.Method, r.URL.Path, err)
		answer, status, kind = p, p.Status, problemType
	} else {
		answer = out.Body
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_ = huma.DefaultJSONFormat.Marshal(w, hidden(s.c.Hider, answer)) // a client that is gone needs no answer
}
