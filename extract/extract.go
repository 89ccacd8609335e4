// Package extract makes text for a model out of bytes: of a page that was fetched, or a file that was attached.
//
// What the bytes are is decided by the bytes. A type that somebody declared is a hint for the charset and no more. HTML becomes
// Markdown of its main part, a feed a list of its entries, PDF the text of its pages, and text, Markdown, JSON and source stay as they are. Archives,
// pictures and programs are refused in words.
//
// The bytes may be hostile. Sizes, nesting and work are bounded, what the libraries behind it panic about is caught, and the
// context is looked at between the steps, none of which takes longer than a few seconds.
package extract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/extract/pdf"
)

// Named limits.
const (
	// MaxBytes is how much is looked at: a long book as PDF.
	MaxBytes = 20 << 20
	// MaxChars is how much text is given back; a novel has that much.
	MaxChars = 500_000
	// MaxPages bounds the pages of a PDF that are read at a time.
	MaxPages = 400
	// maxHTML bounds a page: taken apart it is thirty times as large in memory.
	maxHTML = 6 << 20
	// maxTime bounds the work on one document, where the context allows more.
	maxTime = 20 * time.Second
)

// Options are what is known about the bytes.
type Options struct {
	Declared string   // a content type, as "text/html; charset=koi8-r"; may be wrong or empty
	Base     *url.URL // where the bytes are from, for the links in them; may be nil
	Cut      bool     // the bytes end before the document does
	Page     int      // the first page of a PDF to read, from 1; 0 is 1
}

// Kind is what a document turned out to be.
type Kind string

// The kinds of documents.
const (
	HTML Kind = "html"
	PDF  Kind = "pdf"
	Feed Kind = "feed" // RSS or Atom
	JSON Kind = "json"
	Text Kind = "text" // Markdown, source and everything else that is read as it stands
)

// A Document is what there was to read.
type Document struct {
	Kind    Kind
	Charset string // from which the text was decoded, as IANA names it; "" for PDF
	Title   string
	Date    string // when the document says that it was published or changed, as 2006-01-02; "" where it does not
	Text    string // Markdown for HTML and feeds, else plain text; valid UTF-8 without control characters
	Pages   int    // that a PDF has
	Notice  string // what of the document is not in Text, in a sentence; "" where nothing is missing
}

// Read makes a document of data. Errors are Unprocessed where the bytes are no text, or are damaged, encrypted or empty, and
// say so in a sentence; Timeout, and the context's own.
func Read(ctx context.Context, data []byte, o Options) (doc Document, err error) {
	const op = "extract.Read"
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			doc, err = Document{}, jackline.E(op, jackline.Unprocessed, fmt.Errorf("panic: %v\n%s", p, debug.Stack()), "The document cannot be read: it is damaged.")
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = jackline.E(op, jackline.Timeout, err, "The document takes too long to read.")
		}
	}()
	if len(data) > MaxBytes {
		data, o.Cut = data[:MaxBytes], true
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return Document{}, jackline.E(op, jackline.Unprocessed, nil, "The document is empty.")
	}
	what, say := sniff(data)
	switch {
	case say != "":
		return Document{}, jackline.E(op, jackline.Unprocessed, nil, "%s", say)
	case what == PDF:
		doc, err = readPDF(ctx, data, o)
	default:
		doc, err = readText(ctx, data, o)
	}
	if err != nil {
		return Document{}, err
	}
	doc.Title, doc.Text = line(doc.Title), visible(doc.Text)
	if n := utf8.RuneCountInString(doc.Text); n > MaxChars {
		doc.Text = string([]rune(doc.Text)[:MaxChars])
		doc.Notice = strings.TrimSpace(fmt.Sprintf("Only the first %d of %d characters were read. %s", MaxChars, n, doc.Notice))
	}
	return doc, nil
}

// readText reads everything that is text of some charset.
func readText(ctx context.Context, data []byte, o Options) (Document, error) {
	text, charset := decode(data, o.Declared, o.Cut)
	doc := Document{Kind: Text, Charset: charset}
	if binary(text) {
		return doc, jackline.E("extract.Read", jackline.Unprocessed, nil, "This is no text but binary data of a kind that cannot be read here.")
	}
	if o.Cut {
		doc.Notice = fmt.Sprintf("Only the first %s of the document were read.", size(len(data)))
	}
	switch trimmed := strings.TrimSpace(text); {
	case isHTML(trimmed):
		doc.Kind = HTML
		if len(text) > maxHTML {
			text = text[:maxHTML]
			doc.Notice = fmt.Sprintf("Only the first %s of the page were read.", size(maxHTML))
		}
		if err := readHTML(ctx, &doc, text, o.Base); err != nil {
			return doc, err
		}
		if strings.TrimSpace(doc.Text) == "" {
			return doc, jackline.E("extract.Read", jackline.Unprocessed, nil,
				"The page has no text to read. It may be made by scripts, which are not run here.")
		}
	case strings.HasPrefix(trimmed, "<") && isFeed(trimmed):
		doc.Kind = Feed
		readFeed(&doc, trimmed, o.Base)
		if doc.Text == "" {
			return doc, jackline.E("extract.Read", jackline.Unprocessed, nil, "The feed has no entries.")
		}
	case isJSON(trimmed):
		doc.Kind, doc.Text = JSON, text
	default:
		doc.Text = text
	}
	return doc, nil
}

func readPDF(ctx context.Context, data []byte, o Options) (Document, error) {
	const op = "extract.PDF"
	d, err := pdf.Text(ctx, data, pdf.Options{First: o.Page, Pages: MaxPages, Chars: 4 * MaxChars})
	switch {
	case err == nil:
	case errors.Is(err, pdf.ErrEncrypted):
		return Document{}, jackline.E(op, jackline.Unprocessed, err, "The PDF is encrypted, so its text cannot be read. Ask for a copy without a password.")
	case errors.Is(err, pdf.ErrCostly):
		return Document{}, jackline.E(op, jackline.Unprocessed, err, "The PDF takes too much work to read. It may be made so on purpose.")
	case ctx.Err() != nil:
		return Document{}, ctx.Err()
	case o.Cut:
		return Document{}, jackline.E(op, jackline.Unprocessed, err, "The PDF is larger than %s, and its beginning alone cannot be read.", size(len(data)))
	default:
		return Document{}, jackline.E(op, jackline.Unprocessed, err, "The PDF is damaged and cannot be read.")
	}
	doc := Document{Kind: PDF, Title: d.Title, Pages: d.Count}
	if d.First > d.Count {
		return doc, jackline.E(op, jackline.Unprocessed, nil, "The PDF has only %d pages.", d.Count)
	}
	var b strings.Builder
	some := false
	for k, p := range d.Pages {
		if d.Count > 1 {
			fmt.Fprintf(&b, "[page %d]\n", d.First+k)
		}
		b.WriteString(p + "\n\n")
		some = some || p != ""
	}
	last := d.First + len(d.Pages) - 1
	switch {
	case !some:
		return doc, jackline.E(op, jackline.Unprocessed, nil, "The PDF has %d pages without any text: they may be scanned pictures.", d.Count)
	case o.Cut:
		doc.Notice = fmt.Sprintf("The PDF is larger than %s; what was found in its beginning are pages %d to %d.", size(len(data)), d.First, last)
	case last < d.Count || d.First > 1:
		doc.Notice = fmt.Sprintf("Read pages %d to %d of %d.", d.First, last, d.Count)
	}
	doc.Text = strings.TrimSpace(b.String())
	return doc, nil
}

// line makes one line of a title.
func line(s string) string {
	const most = 300
	s = strings.Join(strings.Fields(visible(s)), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// visible takes out what cannot be seen and could hide something: control and direction characters, and joiners of nothing. Line
// ends become those of Unix.
func visible(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(s, "�"))
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r < ' ', r >= 0x7f && r < 0xa0:
			return -1
		case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200b, r == 0x2060, r == 0xfeff, r == 0xad, r >= 0xe0000 && r <= 0xe007f:
			return -1
		}
		return r
	}, s)
}

func size(n int) string {
	if n >= 1<<20 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d KB", max(n>>10, 1))
}
