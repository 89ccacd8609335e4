package turn_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline/egress"
	"github.com/jackline-ai/jackline/web"
)

// pages are the web of a transcript: HOST or HOST/PATH → what it answers. A first line "# 403 text/html" is status and type;
// NOW is the time, as the weather's service writes it.
type pages map[string]string

// network is the tools' way to a web that is served on loopback. Its address is what SERVER stands for in a transcript.
func network(t testing.TB, p pages, env map[string]string) (d web.Deps, server string) {
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	server = strings.TrimPrefix(s.URL, "http://")
	guard, err := egress.New(egress.Options{Allow: []string{server}})
	if err != nil {
		t.Fatal(err)
	}
	d = web.Deps{Guard: guard, Services: map[string]string{}, Getenv: func(name string) string { return strings.ReplaceAll(env[name], "SERVER", server) }}
	// Services that a transcript does not have cannot be reached.
	for _, host := range []string{
		"api.search.brave.com", "api.tavily.com", "google.serper.dev", "html.duckduckgo.com", "geocoding-api.open-meteo.com", "api.open-meteo.com",
	} {
		d.Services["https://"+host] = s.URL + "/" + host
	}
	return d, server
}

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Trim(r.URL.Path, "/")
	body, found := p[path]
	for at := path; !found && at != ""; {
		at = at[:max(strings.LastIndexByte(at, '/'), 0)]
		body, found = p[at]
	}
	if !found {
		http.NotFound(w, r)
		return
	}
	status, kind := http.StatusOK, "text/plain"
	if head, rest, ok := strings.Cut(body, "\n"); ok && strings.HasPrefix(head, "# ") {
		code, of, _ := strings.Cut(head[2:], " ")
		if n, err := strconv.Atoi(code); err == nil {
			status, kind, body = n, of, rest
		}
	} else if strings.HasPrefix(body, "{") {
		kind = "application/json"
	} else if strings.HasPrefix(body, "<") {
		kind = "text/html"
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	fmt.Fprint(w, strings.ReplaceAll(body, "NOW", time.Now().UTC().Format("2006-01-02T15:04")))
}
