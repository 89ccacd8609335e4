package web

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/egress"
	"github.com/jackline-ai/jackline/extract"
	"github.com/jackline-ai/jackline/phrase"
	"github.com/jackline-ai/jackline/tool"
)

func fetch(d Deps) tool.Tool {
	type args struct {
		URL  string `json:"url"`
		From int    `json:"from,omitempty" doc:"first character"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "web_fetch",
		Aliases: []string{
			"fetch", "webfetch", "fetch_url", "fetch_page", "fetch_webpage", "fetch_web", "get_url", "get_page", "get_webpage", "open_url", "open_page", "open_link",
			"open_website", "browse", "browser", "browse_url", "browse_web", "browse_page", "visit", "visit_url", "visit_page", "visit_website", "navigate",
			"read_url", "read_page", "read_webpage", "read_website", "url_fetch", "web_read", "web_browse", "web_get", "http_get", "http_request", "download_page", "scrape",
			"scrape_url", "web_scrape", "view_url", "url_context",
		},
		Group:   "web",
		Summary: "Read a web page or PDF as text.",
		Use:     "When you have an address.",
		Find:    "url link address website site page article document http https open browse download pdf",
		Effect:  jackline.Network,
		Source:  jackline.Outside,
		Pin:     tool.PinLarge,
		Icon:    "fetch",
		Title: func(a args) string {
			return "Read " + short(address(a.URL), 80)
		},
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) {
			return []jackline.Touch{Touch(d.Guard, address(a.URL))}, nil
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			return d.fetch(ctx, address(a.URL), a.From, in.AtMost())
		},
	})
}

// Reader is the name of the tool that reads pages, for rules about it.
func Reader() string {
	f := fetch(Deps{})
	return f.Facts().Name
}

// Touch is the host that fetching an address would use: canonical, with its port. An address that the guard refuses by its
// form is shown shortened, with the reason. Nothing is looked up.
func Touch(g *egress.Guard, raw string) jackline.Touch {
	t := jackline.Touch{Effect: jackline.Network, Kind: "host", Name: plain(raw, 60), Address: raw}
	if g == nil {
		t.Refused = unguarded
		return t
	}
	u, err := g.Check(raw)
	if err != nil {
		t.Refused = jackline.Say(err)
		return t
	}
	t.Name = hostPort(u)
	return t
}

const unguarded = "Nothing here can tell which addresses are safe, so none is fetched."

// wrapped is an address as models write it into other things: a Markdown link, brackets.
var wrapped = phrase.New(`^(?:\[[^\]]*\]\((\S+)\)|<(\S+)>|["'`+"`"+`](\S+)["'`+"`"+`])$`, "](", "<", "\"", "'", "`")

// address takes off what stands around an address, and puts a scheme in front of one that has none.
func address(raw string) string {
	s := strings.TrimSpace(raw)
	if m := wrapped.FindStringSubmatch(s); m != nil {
		s = m[1] + m[2] + m[3]
	}
	if s != "" && !strings.Contains(s, "://") && !strings.HasPrefix(s, "/") {
		if scheme, _, ok := strings.Cut(s, ":"); !ok || strings.Contains(scheme, ".") || scheme == "localhost" {
			if scheme == "localhost" { // a dev server; they rarely have a certificate
				return "http://" + s
			}
			s = "https://" + s
		}
	}
	return s
}

// sameSite reports whether a redirect stays where the call was allowed to go: at the host, with or without www, at the same
// port or from http's to https's. A redirect to elsewhere is told to the model instead: its next call is judged like any other.
func sameSite(from, to *url.URL) bool {
	name := func(u *url.URL) string { return strings.TrimPrefix(u.Hostname(), "www.") }
	return name(from) == name(to) && (from.Port() == to.Port() || from.Scheme == "http" && from.Port() == "" && to.Scheme == "https" && to.Port() == "")
}

// fetch reads one page, from a character on.
func (d Deps) fetch(ctx context.Context, raw string, from, limit int) (tool.Out, error) {
	const op = "web.fetch"
	if d.Guard == nil {
		return tool.Out{}, jackline.E(op, jackline.Forbidden, nil, unguarded)
	}
	resp, err := d.Guard.Client(d.agent()).Get(ctx, egress.Request{URL: raw, Accept: accepted, Follow: sameSite})
	if err != nil {
		return tool.Out{}, err
	}
	origin := "web page " + short(resp.URL.String(), 120)
	if resp.Moved != nil {
		return tool.Out{
			Text: fmt.Sprintf("FAILED: %s redirects to another site: %s\nCall again with that address if it is the right one.",
				resp.URL.Hostname(), short(resp.Moved.String(), 1000)),
			Failed: true, Origin: origin,
		}, nil
	}
	if err := status(resp.Status, resp.URL.Hostname()); err != nil {
		return tool.Out{}, err
	}
	doc, err := extract.Read(ctx, resp.Body, extract.Options{Declared: resp.Header.Get("Content-Type"), Base: resp.URL, Cut: resp.Cut})
	if err != nil {
		return tool.Out{}, err
	}
	var head strings.Builder
	if doc.Title != "" {
		fmt.Fprintf(&head, "Title: %s\n", doc.Title)
	}
	if resp.URL.String() != raw {
		fmt.Fprintf(&head, "Address: %s\n", short(resp.URL.String(), 300))
	}
	fmt.Fprintf(&head, "Fetched: %s", time.Now().UTC().Format("2 January 2006, 15:04 UTC"))
	if doc.Date != "" {
		fmt.Fprintf(&head, "; the page says it is of %s", doc.Date)
	}
	head.WriteByte('\n')
	if doc.Notice != "" {
		fmt.Fprintf(&head, "[Partial: %s]\n", doc.Notice)
	}
	text, err := window(doc.Text, from, limit-len([]rune(head.String())))
	return tool.Out{Text: head.String() + "\n" + text, Origin: origin}, err
}

// status is what an answer other than a page means.
func status(code int, host string) error {
	const op = "web.status"
	switch {
	case code >= 200 && code < 300:
		return nil
	case code == http.StatusNotFound, code == http.StatusGone:
		return jackline.E(op, jackline.NotFound, nil, "%s has no page at this address (status %d). Search for it, or try its front page.", host, code)
	case code == http.StatusUnauthorized, code == http.StatusForbidden, code == http.StatusTooManyRequests, code == http.StatusProxyAuthRequired:
		return jackline.E(op, jackline.Forbidden, nil, "%s does not show this page to programs (status %d). Try another source.", host, code)
	}
	return jackline.E(op, jackline.Unavailable, nil, "%s answered with status %d instead of a page.", host, code)
}

// window is the part of a text from a character on that fits, cut at a line's end where one is near, with where to read on.
func window(text string, from, limit int) (string, error) {
	const room, least = 90, 200 // characters, for the last line; and what is given at any rate
	limit = max(limit-room, least)
	r := []rune(text)
	from = max(from, 1)
	if from > len(r) {
		return "", jackline.E("web.window", jackline.Unprocessed, nil, "The text of the page has only %d characters.", len(r))
	}
	rest := r[from-1:]
	limit = contract.Letters(string(rest[:min(len(rest), limit)]), limit)
	if len(rest) <= limit {
		if from > 1 {
			return fmt.Sprintf("%s\n[characters %d-%d of %d: the end]", string(rest), from, len(r), len(r)), nil
		}
		return string(rest), nil
	}
	n := limit
	for k := limit; k > limit*3/4; k-- {
		if rest[k-1] == '\n' {
			n = k
			break
		}
	}
	return fmt.Sprintf("%s\n[characters %d-%d of %d: read on with from=%d]", strings.TrimRight(string(rest[:n]), "\n"), from, from+n-1, len(r), from+n), nil
}

// accepted are the types that can be read, best first.
const accepted = "text/html,application/xhtml+xml,text/markdown,text/plain,application/json,application/pdf;q=0.9,*/*;q=0.5"
