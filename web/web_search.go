package web

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// Limits of a search.
const (
	// maxQuery bounds what is searched for: search services take no more, and no question is longer.
	maxQuery = 400
	// maxHits is how many results are shown, and maxSnippet how much of each, in characters: eight of them fit the results of
	// a window of 8,000 tokens.
	maxHits    = 8
	maxSnippet = 300
	// searchTime bounds a search with all its providers.
	searchTime = 40 * time.Second
)

func search(d Deps) tool.Tool {
	type args struct {
		Query string `json:"query"`
		Since string `json:"since,omitempty" doc:"day, week, month or year"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "web_search",
		Aliases: []string{
			"search", "websearch", "search_web", "google", "google_search", "google_search_retrieval", "google_search_grounding", "bing_search",
			"duckduckgo", "duckduckgo_search", "ddg_search", "brave_search", "brave_web_search", "tavily_search", "internet_search", "search_internet",
			"search_online", "online_search", "search_engine", "news_search", "search_news", "web_query", "lookup", "browser_search",
		},
		Group:   "web",
		Summary: "Search the web.",
		Use:     "For anything current or that you do not know.",
		Find:    "internet online news latest today current price find look up information facts google",
		Effect:  jackline.Network,
		Source:  jackline.Outside,
		Pin:     tool.PinMiddle,
		Cache:   true,
		Icon:    "search",
		Prefetch: func(sentence string) (args, bool) {
			query, ok := searchAsked(sentence)
			return args{Query: query}, ok
		},
		Title: func(a args) string { return "Search the web for " + short(a.Query, 60) },
		Touches: func(tool.In, args) ([]jackline.Touch, error) {
			var all []jackline.Touch
			for _, p := range d.providers() {
				if p.origin != "" {
					all = append(all, touch(p.origin))
				}
			}
			return all, nil
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			w, err := wanted(a.Query, a.Since)
			if err != nil {
				return tool.Out{}, err
			}
			return d.search(ctx, w, in.AtMost())
		},
	})
}

// A want is what is searched for.
type want struct {
	query string
	since string // day, week, month, year, or "" for any time
}

func wanted(query, since string) (want, error) {
	const op = "web.search"
	w := want{query: short(query, maxQuery+1), since: strings.TrimPrefix(strings.ToLower(strings.TrimSpace(since)), "past ")}
	switch w.since {
	case "any", "all", "anytime", "none":
		w.since = ""
	case "today", "d", "24h", "last day":
		w.since = "day"
	case "w", "this week", "last week", "7d":
		w.since = "week"
	case "m", "this month", "last month", "30d":
		w.since = "month"
	case "y", "this year", "last year":
		w.since = "year"
	}
	switch {
	case w.query == "":
		return w, jackline.E(op, jackline.Unprocessed, nil, "There is nothing to search for: give a query.")
	case utf8.RuneCountInString(w.query) > maxQuery:
		return w, jackline.E(op, jackline.Unprocessed, nil, "The query is longer than %d characters: search for fewer words.", maxQuery)
	case !strings.Contains("|day|week|month|year||", "|"+w.since+"|"):
		return w, jackline.E(op, jackline.Unprocessed, nil, "since is one of day, week, month and year.")
	}
	return w, nil
}

// A hit is one result.
type hit struct{ title, url, text, date string }

// A provider is a search service.
type provider struct {
	name   string
	origin string // "" where it has no address that can be used; find says so
	find   func(context.Context, want) ([]hit, error)
}

// keysHelp is what to do where no provider answered.
const keysHelp = "For a reliable search set one of " + SearchKeys + " and start Jackline again."

// search asks one provider after the other until one answers. That there are no results is an answer.
func (d Deps) search(ctx context.Context, w want, limit int) (tool.Out, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	var said []string
	var causes []error
	for _, p := range d.providers() {
		hits, err := p.find(ctx, w)
		if err == nil {
			text, shown := listed(p.name, w, hits, said, limit)
			return tool.Out{Text: text, Origin: "web search by " + p.name, Addresses: shown}, nil
		}
		if errors.Is(context.Cause(ctx), context.Canceled) {
			return tool.Out{}, err
		}
		said, causes = append(said, jackline.Say(err)), append(causes, err)
	}
	return tool.Out{}, jackline.E("web.search", jackline.Unavailable, errors.Join(causes...),
		"The search failed; this does not mean that there are no results. %s %s", strings.Join(said, " "), keysHelp)
}

// listed is what the model reads of results, and the addresses in it.
func listed(name string, w want, hits []hit, said []string, limit int) (text string, shown []string) {
	var b strings.Builder
	for _, s := range said {
		fmt.Fprintf(&b, "[%s]\n", s)
	}
	when := ""
	if w.since != "" {
		when = " of the last " + w.since
	}
	now := time.Now().UTC().Format("2 January 2006, 15:04")
	seen := map[string]bool{}
	n := 0
	for _, h := range hits {
		h.title, h.text, h.date = plain(h.title, 120), plain(h.text, maxSnippet), plain(h.date, 40)
		u, err := url.Parse(strings.TrimSpace(h.url))
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || seen[u.String()] || n == maxHits {
			continue
		}
		seen[u.String()] = true
		if n == 0 {
			fmt.Fprintf(&b, "Results%s from %s, searched %s UTC. Dates are the pages' own; open a page before you state a live value.\n", when, name, now)
		}
		if h.title == "" {
			h.title = u.Host
		}
		entry := fmt.Sprintf("%d. %s\n   %s\n", n+1, h.title, short(u.String(), 300))
		if h.date != "" {
			entry += "   (" + h.date + ")\n"
		}
		if h.text != "" {
			entry += "   " + h.text + "\n"
		}
		if n > 0 && utf8.RuneCountInString(b.String())+utf8.RuneCountInString(entry) > limit {
			break
		}
		n++
		b.WriteString(entry)
		shown = append(shown, u.String())
	}
	if n == 0 {
		fmt.Fprintf(&b, "%s found nothing%s for this query, searched %s UTC. Try other or fewer words.", name, when, now)
	}
	return strings.TrimSuffix(b.String(), "\n"), shown
}
