package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/egress"
	"github.com/jackline-ai/jackline/tool/tooltest"
)

// serve answers every request with f, on loopback.
func serve(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	return s.URL
}

// says answers with a text.
func says(status int, kind, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}
}

func env(pairs ...string) func(string) string {
	return func(name string) string {
		for k := 0; k+1 < len(pairs); k += 2 {
			if pairs[k] == name {
				return pairs[k+1]
			}
		}
		return ""
	}
}

// guard lets the servers of a test be reached, as an owner would.
func guard(t *testing.T, urls ...string) *egress.Guard {
	t.Helper()
	var open []string
	for _, u := range urls {
		open = append(open, strings.TrimPrefix(u, "http://"))
	}
	g, err := egress.New(egress.Options{Allow: open})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// The tools that are always offered must leave room in small windows.
func TestCost(t *testing.T) {
	b := tooltest.New(t, All(Deps{})...)
	for _, name := range b.Tools.Names() {
		tl, _ := b.Tools.Lookup(name)
		f := tl.Facts()
		t.Log(f.Name, len(f.Schema), len(f.Summary)+len(f.Use))
		if len(f.Summary) > 60 || len(f.Use) > 70 || len(f.Schema) > 260 || f.Effect != jackline.Network || f.Source != jackline.Outside {
			t.Errorf("%+v", f)
		}
	}
}

// The words that models invent for these tools reach them.
func TestAliases(t *testing.T) {
	b := tooltest.New(t, All(Deps{})...)
	for said, want := range map[string]string{
		"search": "web_search", "google_search": "web_search", "WebSearch": "web_search", "browse": "web_fetch", "fetch_url": "web_fetch", "open_url": "web_fetch",
		"get_weather": "weather", "getCurrentWeather": "weather",
	} {
		if tl, ok := b.Tools.Lookup(said); !ok || tl.Facts().Name != want {
			t.Errorf("%s leads to %q", said, tl.Facts().Name)
		}
	}
}

// Whatever a model sends, a call ends in a result that it can read, and nothing of its own is reached.
func TestHostileArguments(t *testing.T) {
	dead := "http://127.0.0.1:1"
	b := tooltest.New(t, All(Deps{Guard: guard(t), Services: map[string]string{atDuck: dead, atGeocoding: dead, atForecast: dead}})...)
	b.Limit = 2000
	for _, name := range b.Tools.Names() {
		for _, raw := range []string{
			`{}`, `[]`, `"x"`, `null`, `{"query":7,"url":7,"place":7}`, `{"query":"","url":"","place":""}`, `{"query":" \n","url":" \t","place":"\u0000"}`,
			`{"query":"a","since":"yesterday","url":"http://127.0.0.1:7717/api","place":"91,0","days":-5}`,
			`{"query":"` + strings.Repeat("x", 100_000) + `","url":"http://` + strings.Repeat("a.", 50_000) + `","place":"` + strings.Repeat("x", 9000) + `"}`,
			`{"query":"\u202ea\u0007","url":"javascript:alert(1)","place":"\u202e,,,,"}`, `{"url":"file:///etc/passwd","query":"a","place":"a,b","from":-9}`,
			`{"url":"http://[::1]:1/","query":"a","place":"1e309,0"}`, `{"url":"http://169.254.169.254/latest","query":"a","place":"NaN,NaN"}`,
		} {
			r := b.Run(t, name, raw)
			if r.Outcome == jackline.OK || r.Text == "" || len(r.Text) > 4*b.Limit || strings.Contains(r.Text, "broke") || strings.ContainsAny(r.Text, "\u202e\x00\x07") {
				t.Errorf("%s %.80s: %s %s", name, raw, r.Outcome, r.Text)
			}
		}
	}
}
