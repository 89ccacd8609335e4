package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"

	"github.com/jackline-ai/jackline"
)

// The services and where they are.
const (
	atBrave  = "https://api.search.brave.com"
	atTavily = "https://api.tavily.com"
	atSerper = "https://google.serper.dev"
	atDuck   = "https://html.duckduckgo.com"
)

// The variables of the environment that set a service up.
const (
	envBrave   = "JACKLINE_BRAVE_API_KEY"
	envTavily  = "JACKLINE_TAVILY_API_KEY"
	envSerper  = "JACKLINE_SERPER_API_KEY"
	envSearXNG = "JACKLINE_SEARXNG_URL"

	// SearchKeys names them for a sentence: one of them makes the search reliable.
	SearchKeys = envBrave + ", " + envTavily + ", " + envSerper + " or " + envSearXNG
)

// IsSearchKey reports whether a variable of the environment sets a search service up, and may so hold a secret.
func IsSearchKey(name string) bool {
	return slices.Contains([]string{envBrave, envTavily, envSerper, envSearXNG}, strings.ToUpper(name))
}

const duckName = "DuckDuckGo"

// Searches names the search services that can be asked, in the order in which they are: the last needs no key, and is asked where
// no other is set up.
func (d Deps) Searches() []string {
	var names []string
	for _, p := range d.providers() {
		names = append(names, p.name)
	}
	return names
}

// providers are the services that can be asked, in order: those with a key, the owner's own, and the one that needs none.
func (d Deps) providers() []provider {
	var all []provider
	for _, k := range []struct {
		name, env, origin string
		find              func(Deps, context.Context, question, want) ([]hit, error)
	}{
		{"Brave Search", envBrave, atBrave, brave},
		{"Tavily", envTavily, atTavily, tavily},
		{"Serper", envSerper, atSerper, serper},
	} {
		key := strings.TrimSpace(d.env(k.env))
		if key == "" {
			continue
		}
		at := d.origin(k.origin)
		all = append(all, provider{k.name, at, func(ctx context.Context, w want) ([]hit, error) {
			return k.find(d, ctx, question{service: k.name, url: at, header: map[string]string{"": key}, key: k.env}, w)
		}})
	}
	if at := strings.TrimRight(strings.TrimSpace(d.env(envSearXNG)), "/"); at != "" && touch(at).Refused != "" {
		all = append(all, provider{name: "SearXNG", find: func(context.Context, want) ([]hit, error) {
			return nil, jackline.E("web.searxng", jackline.Invalid, nil, envSearXNG+" holds no web address: write it as http://127.0.0.1:8888.")
		}})
	} else if at != "" {
		all = append(all, provider{"SearXNG", at, func(ctx context.Context, w want) ([]hit, error) { return d.searxng(ctx, at, w) }})
	}
	at := d.origin(atDuck)
	return append(all, provider{duckName, at, func(ctx context.Context, w want) ([]hit, error) { return d.duck(ctx, at, w) }})
}

// answered asks q and reads the answer into v.
func (d Deps) answered(ctx context.Context, q question, v any) error {
	b, err := d.ask(ctx, q)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return jackline.E("web.answered", jackline.Unavailable, err, "%s answered with data of another form than it has had.", q.service)
	}
	return nil
}

// brave asks as https://api-dashboard.search.brave.com/app/documentation says.
func brave(d Deps, ctx context.Context, q question, w want) ([]hit, error) {
	v := url.Values{"q": {w.query}, "count": {strconv.Itoa(2 * maxHits)}}
	if w.since != "" {
		v.Set("freshness", "p"+w.since[:1])
	}
	q.url += "/res/v1/web/search?" + v.Encode()
	q.header = map[string]string{"X-Subscription-Token": q.header[""]}
	var r struct {
		Type string
		Web  struct {
			Results []struct {
				Title, URL, Description, Age string
				PageAge                      string `json:"page_age"`
			}
		}
	}
	if err := d.answered(ctx, q, &r); err != nil {
		return nil, err
	}
	var hits []hit
	for _, x := range r.Web.Results {
		hits = append(hits, hit{x.Title, x.URL, x.Description, first(day(x.PageAge), x.Age)})
	}
	return hits, nil
}

// tavily asks as https://docs.tavily.com says.
func tavily(d Deps, ctx context.Context, q question, w want) ([]hit, error) {
	body := map[string]any{"query": w.query, "max_results": maxHits}
	if w.since != "" {
		body["time_range"] = w.since
	}
	q.url, q.body = q.url+"/search", body
	q.header = map[string]string{"Authorization": "Bearer " + q.header[""]}
	var r struct {
		Results []struct {
			Title, URL, Content string
			Date                string `json:"published_date"`
		}
	}
	if err := d.answered(ctx, q, &r); err != nil {
		return nil, err
	}
	var hits []hit
	for _, x := range r.Results {
		hits = append(hits, hit{x.Title, x.URL, x.Content, day(x.Date)})
	}
	return hits, nil
}

// serper asks as https://serper.dev says.
func serper(d Deps, ctx context.Context, q question, w want) ([]hit, error) {
	body := map[string]any{"q": w.query, "num": 2 * maxHits}
	if w.since != "" {
		body["tbs"] = "qdr:" + w.since[:1]
	}
	q.url, q.body = q.url+"/search", body
	q.header = map[string]string{"X-API-KEY": q.header[""]}
	var r struct {
		Answer  struct{ Title, Link, Answer, Snippet string } `json:"answerBox"`
		Organic []struct{ Title, Link, Snippet, Date string }
	}
	if err := d.answered(ctx, q, &r); err != nil {
		return nil, err
	}
	var hits []hit
	if r.Answer.Link != "" {
		hits = append(hits, hit{r.Answer.Title, r.Answer.Link, first(r.Answer.Answer, r.Answer.Snippet), ""})
	}
	for _, x := range r.Organic {
		hits = append(hits, hit{x.Title, x.Link, x.Snippet, x.Date})
	}
	return hits, nil
}

// searxng asks an instance of the owner's, as https://docs.searxng.org/dev/search_api.html says.
func (d Deps) searxng(ctx context.Context, at string, w want) ([]hit, error) {
	v := url.Values{"q": {w.query}, "format": {"json"}}
	if w.since != "" {
		v.Set("time_range", w.since)
	}
	var r struct {
		Results []struct {
			Title, URL, Content string
			Date                string `json:"publishedDate"`
		}
		Unresponsive [][]string `json:"unresponsive_engines"`
	}
	const service = "SearXNG (" + envSearXNG + ")"
	if err := d.answered(ctx, question{service: service, url: at + "/search?" + v.Encode()}, &r); err != nil {
		return nil, jackline.E("web.searxng", jackline.KindOf(err), err, "%s Its settings must allow the format json.", jackline.Say(err))
	}
	if len(r.Results) == 0 && len(r.Unresponsive) > 0 {
		return nil, jackline.E("web.searxng", jackline.Unavailable, nil, "%s got no answer from %d of its engines, and no result from the others.", service, len(r.Unresponsive))
	}
	var hits []hit
	for _, x := range r.Results {
		hits = append(hits, hit{x.Title, x.URL, x.Content, day(x.Date)})
	}
	return hits, nil
}

// duck reads the page for browsers without scripts. It has no key, and asks now and then whether one is a person, which is
// a failure and not an empty list.
func (d Deps) duck(ctx context.Context, at string, w want) ([]hit, error) {
	v := url.Values{"q": {w.query}}
	if w.since != "" {
		v.Set("df", w.since[:1])
	}
	b, err := d.ask(ctx, question{service: duckName, url: at + "/html/", form: v.Encode(), html: true})
	if err != nil {
		return nil, err
	}
	return readDuck(b)
}

// readDuck reads the page of results.
func readDuck(b []byte) ([]hit, error) {
	const op, service = "web.duck", duckName
	root, err := html.Parse(bytes.NewReader(b))
	if err != nil {
		return nil, jackline.E(op, jackline.Unavailable, err, "%s answered with a page that cannot be read.", service)
	}
	var hits []hit
	none := false
	for n := range root.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case class(n, "no-results"):
			none = true
		case class(n, "result") && !class(n, "result--ad") && !class(n, "result--no-result"):
			if h := duckHit(n); h.url != "" {
				hits = append(hits, h)
			}
		case class(n, "result--no-result"):
			none = true
		}
	}
	if len(hits) > 0 || none {
		return hits, nil
	}
	page := bytes.ToLower(b)
	for _, sign := range []string{"anomaly-modal", "anomaly.js", "challenge-form", "captcha", "cf-challenge", "bots use duckduckgo"} {
		if bytes.Contains(page, []byte(sign)) {
			return nil, jackline.E(op, jackline.Unavailable, nil, "%s takes this machine for a bot and asked for a captcha instead of searching.", service)
		}
	}
	return nil, jackline.E(op, jackline.Unavailable, nil, "%s answered with a page that holds no results and does not say that there are none.", service)
}

// duckHit reads one result of the page.
func duckHit(result *html.Node) (h hit) {
	for n := range result.Descendants() {
		switch {
		case n.Type != html.ElementNode:
		case class(n, "result__a"):
			h.title, h.url = words(n), attr(n, "href")
		case class(n, "result__snippet"):
			h.text = words(n)
		}
	}
	u, err := url.Parse(h.url)
	if err != nil {
		return hit{}
	}
	if to := u.Query().Get("uddg"); to != "" { // its own address, through which it counts
		h.url = to
	} else if strings.HasSuffix(u.Path, "/y.js") { // an advertisement
		return hit{}
	}
	return h
}

func class(n *html.Node, name string) bool {
	for c := range strings.FieldsSeq(attr(n, "class")) {
		if c == name {
			return true
		}
	}
	return false
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func words(root *html.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
	}
	return b.String()
}

// day is the day of a time as machines write it; other dates stay as they are.
func day(s string) string {
	if k := strings.IndexByte(s, 'T'); k == len("2006-01-02") {
		return s[:k]
	}
	return s
}

func first(s, otherwise string) string {
	if s != "" {
		return s
	}
	return otherwise
}
