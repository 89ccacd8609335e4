// Package pdf reads the text of a PDF file: ISO 32000 as far as text goes.
//
// It is made for files that may be hostile. The libraries that were tried recurse without end on an object stream that is
// inside itself, or loop as often as a number in the file says; neither can be caught in Go. Here everything costs: each
// byte read, each object, each operator is paid from one purse, and an empty purse ends the reading with an error. Nesting is
// bounded, what is decoded is counted, and no loop runs by a number of the file alone.
//
// The cross-reference table is not used: objects are found by looking for them, so that damaged files can be read too. The
// text comes in the order of the page's own program, which is the reading order in nearly all files.
package pdf

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// What can be wrong with a file as a whole.
var (
	ErrEncrypted = errors.New("pdf: the file is encrypted")
	ErrBroken    = errors.New("pdf: the file is damaged")
	ErrCostly    = errors.New("pdf: the file takes too much work to read")
)

// Named limits.
const (
	// maxWork is the purse of one file: about a second. A file of 20 MB needs a third of it.
	maxWork = 200_000_000
	// maxDecoded bounds all that is unpacked of one file. Text of a thousand pages unpacks to a few megabytes.
	maxDecoded = 64 << 20
	// maxDepth bounds nesting: of objects, of references that lead to references, of the tree of pages.
	maxDepth = 48
	// maxForms bounds how deep a page's program may call others.
	maxForms = 6
	// maxPages bounds how many pages are counted.
	maxPages = 20_000
	// checkEvery is how much is spent between two looks at the context.
	checkEvery = 1 << 16
)

// Options say how much is wanted. Zeros are no limit but the package's own.
type Options struct {
	First int // the first page to read, from 1; 0 is 1
	Pages int // pages to read
	Chars int // characters of text, after which reading ends with the page
}

// A Document is what was read.
type Document struct {
	Title string
	Count int      // pages that the file has
	First int      // number of the first page in Pages
	Pages []string // the text of each page read, without outer blanks
}

// Text reads a file. The error is one of this package's, or ctx's.
func Text(ctx context.Context, data []byte, o Options) (Document, error) {
	return read(ctx, data, o, maxWork)
}

// read is Text with a purse.
func read(ctx context.Context, data []byte, o Options, purse int) (doc Document, err error) {
	f := &file{ctx: ctx, data: data, purse: purse, room: maxDecoded, known: map[int]place{}, cache: map[int]any{}, unpacked: map[int][]byte{}}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case stop:
			err = p.error
			if len(doc.Pages) > 0 && errors.Is(err, ErrCostly) {
				err = nil // what was read is worth having; the count says that it is not all
			}
		default:
			doc, err = Document{}, fmt.Errorf("%w: %v", ErrBroken, p)
		}
	}()
	f.scan()
	if f.encrypted {
		return Document{}, ErrEncrypted
	}
	pages := f.pages()
	if len(pages) == 0 {
		return Document{}, fmt.Errorf("%w: no pages", ErrBroken)
	}
	info, _ := f.get(f.trailer["Info"]).(dict)
	title, _ := f.get(info["Title"]).(text)
	doc.Title, doc.Count, doc.First = strings.TrimSpace(title.unicode()), len(pages), max(o.First, 1)
	chars := 0
	fonts := map[any]*font{}
	for _, p := range pages[min(doc.First-1, len(pages)):] {
		if o.Pages > 0 && len(doc.Pages) >= o.Pages || o.Chars > 0 && chars >= o.Chars {
			break
		}
		t := f.page(p, fonts)
		chars += len(t)
		doc.Pages = append(doc.Pages, t)
	}
	return doc, nil
}

// A stop ends the reading from however deep.
type stop struct{ error }

// spend pays for n steps.
func (f *file) spend(n int) {
	f.purse -= n
	if f.purse < 0 {
		panic(stop{ErrCostly})
	}
	if f.since += n; f.since >= checkEvery {
		f.since = 0
		if err := f.ctx.Err(); err != nil {
			panic(stop{err})
		}
	}
}
