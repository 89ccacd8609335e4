package extract

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// Named limits of pages.
const (
	// maxWeight bounds the search for a page's main part, in elements times their depth: what it costs grows with both. A
	// long article weighs 50,000, a million takes about two seconds. A page above it is taken whole.
	maxWeight = 1_000_000
	// maxElements bounds what is made Markdown of.
	maxElements = 150_000
	// maxLink is the longest address that a link keeps; longer ones are for machines.
	maxLink = 160
	// maxSpan bounds how many columns or rows a cell covers.
	maxSpan = 12
	// fewWords is, in bytes, how short a main part is suspected not to be all.
	fewWords = 600
)

// readHTML reads a page into doc.
func readHTML(ctx context.Context, doc *Document, text string, from *url.URL) error {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil { // nested deeper than pages are
		doc.Text = bare(text)
		return ctx.Err()
	}
	doc.Title, doc.Date = facts(root)
	elements, weight := clean(root, from)
	if err := ctx.Err(); err != nil {
		return err
	}
	body := find(root, atom.Body)
	if body == nil {
		body = root
	}
	if elements > maxElements {
		doc.Text = words(body)
		return ctx.Err()
	}
	part := body
	if weight <= maxWeight {
		part = main(doc, root, body, from)
		strip(part, func(n *html.Node) bool { return n.DataAtom == atom.Img || n.Data == "img" }) // of those that load late
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	md, err := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(commonmark.WithListEndComment(false)),
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorNone), table.WithSkipEmptyRows(true), table.WithHeaderPromotion(true)))).
		ConvertNode(part, converter.WithContext(ctx))
	if err != nil || strings.TrimSpace(string(md)) == "" {
		doc.Text = words(part)
		return ctx.Err()
	}
	doc.Text = tidy(string(md))
	return ctx.Err()
}

// main is the part of a page that it is about. Where there seems to be none, as on a page of links, it is all but what is
// around every page.
func main(doc *Document, root, body *html.Node, from *url.URL) *html.Node {
	p := readability.NewParser()
	article, err := p.ParseDocument(root, from)
	if err == nil && article.Node != nil {
		if t := strings.TrimSpace(article.Title()); t != "" && doc.Title == "" {
			doc.Title = t
		}
		if when, err := article.PublishedTime(); err == nil && doc.Date == "" && !when.IsZero() {
			doc.Date = when.Format(time.DateOnly)
		}
		if n := len(words(article.Node)); n >= fewWords || 2*n > len(words(body)) {
			return article.Node
		}
	}
	strip(body, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Nav, atom.Footer, atom.Aside:
			return true
		default:
		}
		role := attr(n, "role")
		return role == "navigation" || role == "banner" || role == "contentinfo" || role == "search"
	})
	return body
}

// facts are a page's title and date, as it states them itself.
func facts(root *html.Node) (title, date string) {
	var og string
	for n := range root.Descendants() {
		switch n.DataAtom {
		case atom.Title:
			if title == "" && (n.Parent == nil || n.Parent.DataAtom == atom.Head) {
				title = strings.TrimSpace(words(n))
			}
		case atom.Meta:
			key := strings.ToLower(attr(n, "property") + attr(n, "name") + attr(n, "itemprop"))
			value := strings.TrimSpace(attr(n, "content"))
			switch key {
			case "og:title":
				og = value
			case "article:modified_time", "og:updated_time", "datemodified", "last-modified", "dcterms.modified":
				if d := day(value); d != "" {
					date = d // it was changed since
				}
			case "article:published_time", "date", "dc.date", "dcterms.date", "datepublished", "pubdate", "publish-date":
				if d := day(value); d != "" && date == "" {
					date = d
				}
			}
		case atom.Time:
			if d := day(attr(n, "datetime")); d != "" && date == "" && attr(n, "pubdate")+attr(n, "itemprop") != "" {
				date = d
			}
		default:
		}
	}
	if title == "" {
		title = og
	}
	return title, date
}

// day reads the day of a date as machines write it.
func day(s string) string {
	if len(s) < len(time.DateOnly) {
		return ""
	}
	if d, err := time.Parse(time.DateOnly, s[:len(time.DateOnly)]); err == nil {
		return d.Format(time.DateOnly)
	}
	for _, layout := range []string{time.RFC1123, time.RFC1123Z, time.RFC850} {
		if d, err := time.Parse(layout, s); err == nil {
			return d.Format(time.DateOnly)
		}
	}
	return ""
}

// clean takes out of a page what is not read (scripts, controls, what is hidden from people) and what would make its text
// long or its making expensive: pictures, tracking in links, cells that span the world. It returns how many elements are
// left, and their number times their depth.
func clean(root *html.Node, from *url.URL) (elements, weight int) {
	strip(root, func(n *html.Node) bool {
		switch n.DataAtom {
		case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Svg, atom.Iframe, atom.Object, atom.Embed, atom.Canvas, atom.Audio, atom.Video,
			atom.Button, atom.Input, atom.Select, atom.Textarea, atom.Dialog, atom.Math:
			return true
		default:
		}
		return n.Type == html.CommentNode || hidden(n)
	})
	if b := find(root, atom.Base); b != nil && from != nil {
		if u, err := from.Parse(attr(b, "href")); err == nil {
			from = u
		}
	}
	seen := map[string]bool{}
	var walk func(n *html.Node, depth int) // the parser bounds the depth
	walk = func(n *html.Node, depth int) {
		if n.Type == html.ElementNode {
			elements, weight = elements+1, weight+depth
			switch n.DataAtom {
			case atom.A:
				link(n, from, seen)
			case atom.Img:
				alt := strings.TrimSpace(attr(n, "alt"))
				n.Type, n.Data, n.DataAtom, n.Attr = html.TextNode, alt, 0, nil
			case atom.Td, atom.Th:
				n.Attr = spans(n.Attr)
			default:
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c, depth+1)
		}
	}
	walk(root, 0)
	return elements, weight
}

// hidden reports whether an element is not shown to people.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return a.Val != "until-found"
		case "aria-hidden":
			return a.Val == "true"
		case "style":
			s := strings.ReplaceAll(strings.ToLower(a.Val), " ", "")
			return strings.Contains(s, "display:none") || strings.Contains(s, "visibility:hidden") || strings.Contains(s, "font-size:0") || strings.Contains(s, "opacity:0;")
		}
	}
	return false
}

// link shortens an address, or makes plain text of a link that leads nowhere a model could go, or where another one led
// before.
func link(n *html.Node, from *url.URL, seen map[string]bool) {
	href := strings.TrimSpace(attr(n, "href"))
	n.Attr = nil
	if href == "" || strings.HasPrefix(href, "#") {
		n.Data, n.DataAtom = "span", atom.Span
		return
	}
	u, err := url.Parse(href)
	if err == nil && from != nil {
		u = from.ResolveReference(u)
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil {
		n.Data, n.DataAtom = "span", atom.Span
		return
	}
	u.Fragment = ""
	if u.RawQuery != "" {
		var keep []string
		for part := range strings.SplitSeq(u.RawQuery, "&") {
			key := strings.ToLower(part)
			if !strings.HasPrefix(key, "utm_") && !strings.HasPrefix(key, "fbclid=") && !strings.HasPrefix(key, "gclid=") && !strings.HasPrefix(key, "ref=") {
				keep = append(keep, part)
			}
		}
		u.RawQuery = strings.Join(keep, "&")
	}
	if s := u.String(); len(s) <= maxLink && !seen[s] {
		seen[s] = true
		n.Attr = []html.Attribute{{Key: "href", Val: s}}
		return
	}
	n.Data, n.DataAtom = "span", atom.Span
}

// spans keeps what a cell covers within reason: tables are laid out cell by cell.
func spans(attrs []html.Attribute) []html.Attribute {
	var kept []html.Attribute
	for _, a := range attrs {
		if n, err := strconv.Atoi(a.Val); (a.Key == "colspan" || a.Key == "rowspan") && err == nil && n > 0 && n <= maxSpan {
			kept = append(kept, a)
		}
	}
	return kept
}

// strip removes the elements that out names.
func strip(root *html.Node, out func(*html.Node) bool) {
	for n := root.FirstChild; n != nil; {
		next := n.NextSibling
		if n.Type != html.TextNode && out(n) {
			root.RemoveChild(n)
		} else {
			strip(n, out)
		}
		n = next
	}
}

func find(root *html.Node, a atom.Atom) *html.Node {
	for n := range root.Descendants() {
		if n.DataAtom == a {
			return n
		}
	}
	return nil
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// words is the plain text of an element.
func words(root *html.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.DataAtom == atom.P, n.DataAtom == atom.Div, n.DataAtom == atom.Br, n.DataAtom == atom.Li, n.DataAtom == atom.Tr:
			b.WriteByte('\n')
		}
	}
	return tidy(b.String())
}

// bare is the text of a page that is not even taken apart.
func bare(text string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(text))
	skip := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return tidy(b.String())
		case html.TextToken:
			if skip == "" {
				b.Write(z.Text())
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			switch string(name) {
			case "script", "style", "noscript", "title":
				skip = string(name)
			case "p", "div", "br", "li", "tr":
				b.WriteByte('\n')
			}
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == skip {
				skip = ""
			}
		default:
		}
	}
}

// tidy takes blanks off the ends of lines, and empty lines that follow one another.
func tidy(s string) string {
	var b strings.Builder
	empty := 0
	for line := range strings.SplitSeq(strings.ReplaceAll(s, "\u00a0", " "), "\n") {
		line = strings.TrimRight(line, " \t\r")
		if line == "" {
			empty++
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
			if empty > 0 {
				b.WriteByte('\n')
			}
		}
		empty = 0
		b.WriteString(line)
	}
	return b.String()
}
