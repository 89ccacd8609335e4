package web

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool/tooltest"
)

const duckPage = `<html><body><div class="result results_links web-result result--ad"><a class="result__a" href="https://duckduckgo.com/y.js?ad=1">Buy</a></div>
<div class="result results_links web-result"><h2><a class="result__a" href="//duckduckgo.com/l/?uddg=https%3A%2F%2Fgo.dev%2Fdl%2F&amp;rut=x">Go <b>downloads</b></a></h2>
<a class="result__snippet" href="x">The newest <b>Go</b> release &amp; more</a></div>
<div class="result web-result"><a class="result__a" href="https://example.org/a">A</a><a class="result__snippet">captcha, explained</a></div></body></html>`

const duckNone = `<html><div class="results"><div class="no-results">No results found for <b>g-recaptcha xyz</b></div></div></html>`

const duckBot = `<html><form id="challenge-form" action="//duckduckgo.com/anomaly.js"><div class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></form></html>`

func TestSearchProviders(t *testing.T) {
	var asked *http.Request
	var body string
	answer := map[string]string{
		"/res/v1/web/search": `{"web":{"results":[{"title":"<b>Brave</b> one","url":"https://a.example/1","description":"It&#x27;s\u202e good","page_age":"2026-11-02T10:00:00"},
			{"title":"js","url":"javascript:alert(1)"},{"title":"again","url":"https://a.example/1"}]}}`,
		"/search":     `{"results":[{"title":"T","url":"https://t.example/","content":"text","published_date":"Mon, 02 Nov 2026 10:00:00 GMT"}],"organic":[{"title":"S","link":"https://s.example/","snippet":"snip","date":"3 days ago"}],"answerBox":{"title":"Box","link":"https://box.example/","answer":"42"}}`,
		"/html/":      duckPage,
		"/pre/search": `{"results":[{"title":"X","url":"https://x.example/","content":"local"}]}`,
	}
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		asked, body = r, string(b)
		fmt.Fprint(w, answer[r.URL.Path])
	})
	services := map[string]string{atBrave: at, atTavily: at, atSerper: at, atDuck: at}
	for _, c := range []struct {
		env   []string
		check func() bool
		want  []string
	}{
		{[]string{"JACKLINE_BRAVE_API_KEY", "b-key"}, func() bool {
			return asked.Header.Get("X-Subscription-Token") == "b-key" && asked.URL.Query().Get("q") == "go release" && asked.URL.Query().Get("freshness") == "pw"
		}, []string{"1. Brave one", "https://a.example/1", "(2026-11-02)", "It's good", "from Brave Search", "of the last week"}},
		{[]string{"JACKLINE_TAVILY_API_KEY", "t-key"}, func() bool {
			return asked.Header.Get("Authorization") == "Bearer t-key" && strings.Contains(body, `"time_range":"week"`)
		}, []string{"1. T", "https://t.example/", "Mon, 02 Nov 2026"}},
		{[]string{"JACKLINE_SERPER_API_KEY", "s-key"}, func() bool {
			return asked.Header.Get("X-Api-Key") == "s-key" && strings.Contains(body, `"tbs":"qdr:w"`)
		}, []string{"1. Box", "42", "2. S", "(3 days ago)"}},
		{[]string{"JACKLINE_SEARXNG_URL", at + "/pre/"}, func() bool {
			return asked.URL.Query().Get("format") == "json" && asked.URL.Query().Get("time_range") == "week"
		},
			[]string{"1. X", "from SearXNG"}},
		{nil, func() bool { v, _ := url.ParseQuery(body); return v.Get("q") == "go release" && v.Get("df") == "w" },
			[]string{"1. Go downloads", "https://go.dev/dl/", "The newest Go release & more", "2. A", "from DuckDuckGo"}},
		{[]string{"JACKLINE_BRAVE_API_KEY", "b", "JACKLINE_TAVILY_API_KEY", "t", "JACKLINE_SEARXNG_URL", at}, func() bool { return true }, []string{"from Brave Search"}},
	} {
		b := tooltest.New(t, All(Deps{Getenv: env(c.env...), Services: services})...)
		r := b.Run(t, "web_search", map[string]any{"query": "go  release\n", "since": "past week"})
		if r.Outcome != jackline.OK || !c.check() || r.Source != jackline.Outside || !r.Labels.Tainted || !strings.HasPrefix(r.Origin, "web search by ") {
			t.Errorf("%v: %s %s %q %s", c.env, r.Outcome, r.Origin, body, r.Text)
		}
		for _, want := range c.want {
			if !strings.Contains(r.Text, want) {
				t.Errorf("%v: %q is missing in\n%s", c.env, want, r.Text)
			}
		}
		for _, no := range []string{"javascript", "y.js", "Buy", "<b>", "\u202e", "again"} {
			if strings.Contains(r.Text, no) {
				t.Errorf("%v: %q is in\n%s", c.env, no, r.Text)
			}
		}
		i := b.Judge.Last()
		if len(i.Touches) == 0 || i.Touches[0].Kind != "host" || i.Touches[0].Name != strings.TrimPrefix(at, "http://") || i.Effect != jackline.Network {
			t.Errorf("%v: touches %v", c.env, i.Touches)
		}
	}
}

// A provider that does not search is a failure that says what to do, and never an empty list.
func TestSearchFailures(t *testing.T) {
	for name, c := range map[string]struct {
		duck  http.HandlerFunc
		brave http.HandlerFunc
		say   []string
		ok    bool
	}{
		"bot check":       {duck: says(202, "text/html", duckBot), say: []string{"captcha", "BRAVE_API_KEY", "TAVILY_API_KEY", "SERPER_API_KEY", "SEARXNG_URL", "does not mean"}},
		"bot check by ok": {duck: says(200, "text/html", duckBot), say: []string{"captcha", "JACKLINE_SEARXNG_URL"}},
		"recaptcha":       {duck: says(200, "text/html", "<html><div class=g-recaptcha></div>"), say: []string{"captcha"}},
		"forbidden":       {duck: says(403, "text/html", duckPage), say: []string{"status 403", "JACKLINE_BRAVE_API_KEY"}},
		"nothing known":   {duck: says(200, "text/html", "<html>Hello"), say: []string{"holds no results and does not say"}},
		"empty":           {duck: says(200, "text/html", ""), say: []string{"holds no results"}},
		"no results":      {duck: says(200, "text/html", duckNone), say: []string{"DuckDuckGo found nothing", "Try other"}, ok: true},
		"endless": {duck: func(w http.ResponseWriter, _ *http.Request) {
			for range 10 {
				fmt.Fprint(w, strings.Repeat("x", 1<<20))
			}
		}, say: []string{"more than 2 MB"}},
		"away": {duck: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.2/", http.StatusFound)
		}, say: []string{"redirects to another place"}},
		"circle": {duck: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/html/", http.StatusTemporaryRedirect)
		}, say: []string{"redirects"}},
		"broken":      {duck: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, say: []string{"cannot be reached"}},
		"html":        {brave: says(200, "text/html", "<html>maintenance"), duck: says(200, "text/html", duckPage), say: []string{"[Brave Search answered with a web page instead of data.]", "1. Go downloads"}, ok: true},
		"key refused": {brave: says(401, "application/json", "{}"), duck: says(202, "text/html", duckBot), say: []string{"refused the key in JACKLINE_BRAVE_API_KEY", "captcha"}},
		"quota":       {brave: says(429, "application/json", "{}"), duck: says(200, "text/html", duckPage), say: []string{"no more requests now", "1. Go"}, ok: true},
		"other form":  {brave: says(200, "application/json", `{"web":{"results":{"x":1}}}`), duck: says(200, "text/html", duckPage), say: []string{"another form", "1. Go"}, ok: true},
		"zero":        {brave: says(200, "application/json", `{"web":{}}`), duck: says(200, "text/html", duckPage), say: []string{"Brave Search found nothing"}, ok: true},
		"cut":         {brave: says(200, "application/json", `{"web":{"results":[`), duck: says(200, "text/html", duckPage), say: []string{"no JSON", "1. Go"}, ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			d := Deps{Services: map[string]string{atDuck: serve(t, c.duck)}}
			if c.brave != nil {
				d.Getenv, d.Services[atBrave] = env("JACKLINE_BRAVE_API_KEY", "secret-key"), serve(t, c.brave)
			}
			r := tooltest.New(t, All(d)...).Run(t, "web_search", `{"query":"g-recaptcha"}`)
			if (r.Outcome == jackline.OK) != c.ok || strings.HasPrefix(r.Text, "FAILED:") == c.ok || strings.Contains(r.Text, "secret-key") {
				t.Errorf("%s: %s", r.Outcome, r.Text)
			}
			for _, say := range c.say {
				if !strings.Contains(r.Text, say) {
					t.Errorf("%q is missing in %s", say, r.Text)
				}
			}
		})
	}
	d := Deps{Getenv: env("JACKLINE_SEARXNG_URL", serve(t, says(200, "application/json", `{"results":[],"unresponsive_engines":[["google","captcha"]]}`))),
		Services: map[string]string{atDuck: serve(t, says(200, "text/html", duckNone))}}
	if r := tooltest.New(t, All(d)...).Run(t, "web_search", `{"query":"x"}`); !strings.Contains(r.Text, "no answer from 1 of its engines") {
		t.Errorf("%s", r.Text)
	}
	bad := Deps{Getenv: env("JACKLINE_SEARXNG_URL", "searx.example"), Services: map[string]string{atDuck: serve(t, says(200, "text/html", duckPage))}}
	if r := tooltest.New(t, All(bad)...).Run(t, "web_search", `{"query":"x"}`); r.Outcome != jackline.OK || !strings.Contains(r.Text, "[JACKLINE_SEARXNG_URL holds no web address") {
		t.Errorf("%s %s", r.Outcome, r.Text)
	}
}

// Results are cut to what fits, and stay whole entries.
func TestSearchFits(t *testing.T) {
	var results []map[string]string
	for k := range 30 {
		results = append(results, map[string]string{"title": strings.Repeat("title ", 50), "url": fmt.Sprintf("https://e.example/%d", k), "description": strings.Repeat("word ", 500)})
	}
	raw, err := json.Marshal(map[string]any{"web": map[string]any{"results": results}})
	if err != nil {
		t.Fatal(err)
	}
	d := Deps{Getenv: env("JACKLINE_BRAVE_API_KEY", "k"), Services: map[string]string{atBrave: serve(t, says(200, "application/json", string(raw)))}}
	b := tooltest.New(t, All(d)...)
	if r := b.Run(t, "web_search", `{"query":"x"}`); strings.Count(r.Text, "https://e.example/") != maxHits {
		t.Errorf("%s", r.Text)
	}
	b.Limit = 1400
	if r := b.Run(t, "web_search", `{"query":"y"}`); len([]rune(r.Text)) > b.Limit || r.Dropped > 0 || strings.Count(r.Text, "https://e.example/") < 2 {
		t.Errorf("%d %s", len(r.Text), r.Text)
	}
}

func FuzzDuck(f *testing.F) {
	f.Add(duckPage)
	f.Add(duckNone)
	f.Add(duckBot)
	f.Fuzz(func(t *testing.T, page string) {
		hits, err := readDuck([]byte(page))
		if err != nil && jackline.Say(err) == "" {
			t.Errorf("%v", err)
		}
		text, _ := listed("DuckDuckGo", want{query: "x"}, hits, nil, 2000)
		if text == "" || strings.ContainsAny(text, "\x00\x1b\u202e") {
			t.Errorf("%q", text)
		}
	})
}
