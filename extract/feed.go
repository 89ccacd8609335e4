package extract

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode/utf8"
)

// Limits of a feed.
const (
	// maxItems is how many entries are shown: feeds have 10 to 50.
	maxItems = 100
	// maxSummary is how much of each is, in characters; who wants more opens it.
	maxSummary = 400
	// maxField bounds one piece of text of a feed before its tags are taken out, in bytes.
	maxField = 64 << 10
)

// isFeed reports whether a text is RSS (also of the RDF kind) or Atom.
func isFeed(text string) bool {
	d := decoder(text[:min(len(text), 4096)])
	for {
		t, err := d.Token()
		if err != nil {
			return false
		}
		if e, ok := t.(xml.StartElement); ok {
			return e.Name.Local == "rss" || e.Name.Local == "feed" || e.Name.Local == "RDF"
		}
	}
}

func decoder(text string) *xml.Decoder {
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict, d.Entity = false, xml.HTMLEntity
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil } // it was decoded before
	return d
}

// An entry is one item of a feed.
type entry struct{ title, link, date, text string }

// readFeed lists the entries of a feed. Of one that breaks off it lists those before.
func readFeed(doc *Document, text string, from *url.URL) {
	d := decoder(text)
	var all []entry
	var now *entry
	var field *string
	var said []byte // of the field, so far: a text may come in a hundred thousand pieces
	skip := 0       // depth inside an element that is copied as text
	end := func() {
		if field != nil {
			*field, said, field = string(said), said[:0], nil
		}
	}
	for {
		t, err := d.Token()
		if err != nil {
			break
		}
		switch t := t.(type) {
		case xml.StartElement:
			if field != nil {
				skip++
				continue
			}
			switch name := t.Name.Local; {
			case name == "item" || name == "entry":
				all = append(all, entry{})
				now = &all[len(all)-1]
			case now == nil && name == "title" && doc.Title == "":
				field = &doc.Title
			case now == nil && (name == "lastBuildDate" || name == "updated") && doc.Date == "":
				field = &doc.Date
			case now != nil:
				field = now.field(t)
			}
		case xml.EndElement:
			switch {
			case skip > 0:
				skip--
			case field != nil:
				end()
			case t.Name.Local == "item" || t.Name.Local == "entry":
				now = nil
			}
		case xml.CharData:
			if field != nil && len(said) < maxField {
				said = append(said, t...)
			}
		}
		if len(all) > maxItems {
			doc.Notice = strings.TrimSpace(fmt.Sprintf("Only the first %d entries were read. %s", maxItems, doc.Notice))
			break
		}
	}
	end()
	doc.Date = day(strings.TrimSpace(doc.Date))
	var b strings.Builder
	for _, e := range all[:min(len(all), maxItems)] {
		b.WriteString(e.markdown(from))
	}
	doc.Text = strings.TrimSpace(b.String())
}

// field is where the text of an element belongs; an element that says it in an attribute is read at once.
func (e *entry) field(t xml.StartElement) *string {
	var to *string
	switch t.Name.Local {
	case "title":
		to = &e.title
	case "link":
		for _, a := range t.Attr {
			if a.Name.Local == "href" && e.link == "" {
				e.link = a.Value
			}
		}
		to = &e.link
	case "pubDate", "published", "date", "updated":
		to = &e.date
	case "description", "summary", "content", "encoded":
		to = &e.text
	}
	if to == nil || *to != "" {
		return nil
	}
	return to
}

func (e entry) markdown(from *url.URL) string {
	title := line(bare(e.title))
	if title == "" {
		title = "Without a title"
	}
	u, err := url.Parse(strings.TrimSpace(e.link))
	if err == nil && from != nil {
		u = from.ResolveReference(u)
	}
	if err == nil && strings.TrimSpace(e.link) != "" && (u.Scheme == "http" || u.Scheme == "https") && u.User == nil && len(u.String()) <= maxLink {
		title = fmt.Sprintf("[%s](%s)", strings.NewReplacer("[", "(", "]", ")").Replace(title), u)
	}
	s := "- " + title
	if d := line(e.date); d != "" {
		s += " (" + d + ")"
	}
	text := strings.Join(strings.Fields(bare(e.text)), " ")
	if utf8.RuneCountInString(text) > maxSummary {
		text = string([]rune(text)[:maxSummary-1]) + "…"
	}
	if text != "" {
		s += "\n  " + text
	}
	return s + "\n"
}
