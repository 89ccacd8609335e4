package server_test

import (
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestMap holds the map for programs to the routes that there are, and to be the same for everyone.
func TestMap(t *testing.T) {
	w := newWorld(t)
	ask := func(method string, change func(*http.Request)) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, w.http.URL+"/llms.txt", nil)
		if err != nil {
			t.Fatal(err)
		}
		change(req)
		res, err := w.http.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode == 200 && res.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%s: %s", method, res.Header.Get("Content-Type"))
		}
		return res.StatusCode, string(b)
	}
	code, text := ask("GET", func(*http.Request) {})
	if code != 200 || !strings.HasPrefix(text, "# Jackline\n\n> ") {
		t.Fatalf("%d %q", code, text)
	}
	routes := slices.DeleteFunc(allRoutes(w), func(r routeOf) bool { return r.path == "/llms.txt" }) // it does not list itself
	for _, r := range routes {
		line := "\n- [" + r.method + " " + r.path + "](" + r.path + "): "
		if r.path == "/openapi.json" {
			line = "\n- [OpenAPI 3.1](/openapi.json): "
		}
		_, rest, ok := strings.Cut(text, line)
		says, _, _ := strings.Cut(rest, "\n")
		if !ok || strings.HasSuffix(says, "(no token)") != r.public || strings.TrimSuffix(says, "(no token)") == "" {
			t.Errorf("%s %s: %v %q", r.method, r.path, ok, says)
		}
	}
	if have := strings.Count(text, "\n- "); have != len(routes) {
		t.Errorf("%d lines for %d routes", have, len(routes))
	}
	for _, not := range []string{token, w.Folder, "session="} {
		if strings.Contains(text, not) {
			t.Errorf("the map holds %q", not)
		}
	}
	if code, again := ask("GET", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }); code != 200 || again != text {
		t.Errorf("with the token: %d, and another text", code)
	}
	if code, text := ask("HEAD", func(*http.Request) {}); code != 200 || text != "" {
		t.Errorf("HEAD: %d %q", code, text)
	}
	if code, _ := ask("POST", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }); code != 405 {
		t.Errorf("POST: %d", code)
	}
	if code, _ := ask("GET", func(r *http.Request) { r.Host = "evil.example" }); code != 403 {
		t.Errorf("another host: %d", code)
	}
	if code, _ := ask("GET", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }); code != 403 {
		t.Errorf("another site's script: %d", code)
	}
}
