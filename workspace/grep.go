package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/workspace/textfile"
)

// A Search says what to look for.
type Search struct {
	Pattern string // RE2; taken as plain text where it does not compile
	Fold    bool   // letters of either case are equal
	Files   string // a glob on the files' paths or names; "" is all
	Max     int    // hits at most; 0 is none
	Around  int    // lines shown before and after a hit
}

// A Hit is one line that matches, or one that stands around it.
type Hit struct {
	Path    string
	Line    int
	Text    string
	Context bool // it only stands around a hit
}

// Found is what a search came to.
type Found struct {
	Hits    []Hit
	Files   int    // searched
	Skipped int    // files not searched, being too large
	More    bool   // there are more hits
	Literal string // why the pattern was taken as plain text; "" if it was not
}

// Limits of a search.
const (
	maxLine        = 400       // characters of a line that are shown: generated files have lines without end
	maxSearchBytes = 256 << 20 // read in all, so that a search of a huge tree ends
	maxSearchFiles = 20_000
	maxPattern     = 1000 // bytes
)

// Grep searches the text files below path, or the one file at path.
func (r *Root) Grep(ctx context.Context, at string, s Search) (Found, error) {
	const op = "workspace.Grep"
	if s.Pattern == "" || len(s.Pattern) > maxPattern {
		return Found{}, jackline.E(op, jackline.Invalid, nil, "Give a pattern of 1 to %d characters.", maxPattern)
	}
	g := grep{root: r, search: s}
	if err := g.compile(); err != nil {
		return Found{}, err
	}
	if s.Files != "" {
		pattern, err := r.pattern(s.Files)
		if err != nil {
			return Found{}, err
		}
		g.files = pattern
	}
	p, err := r.resolve(at, true)
	if err != nil {
		return Found{}, err
	}
	defer p.close()
	if p.found && !p.entry.mode.IsDir() {
		f, err := p.read(ctx)
		if err != nil {
			return Found{}, err
		}
		g.found.Files++
		g.lines(p.rel, f.Data)
		return g.found, nil
	}
	d, done, err := p.folder()
	if err != nil {
		return Found{}, err
	}
	defer done()
	base := p.rel
	v := visit{root: r, given: at, over: ctx.Err, fn: func(i Item, in *dir) error { return g.file(ctx, base, i, in) }}
	err = v.folder(d, "", 0)
	if err != nil && !errors.Is(err, errEnough) {
		return Found{}, err
	}
	return g.found, nil
}

type grep struct {
	root   *Root
	search Search
	files  string
	re     *regexp.Regexp

	// anywhere says that what matches a line matches the whole text too: the pattern asks for no beginning or end.
	anywhere bool

	found Found
	hits  int
	read  int64
}

func (g *grep) compile() error {
	prefix := ""
	if g.search.Fold {
		prefix = "(?i)"
	}
	re, err := regexp.Compile(prefix + g.search.Pattern)
	if err != nil {
		g.found.Literal = "it is no regular expression (RE2)"
		if re, err = regexp.Compile(prefix + regexp.QuoteMeta(g.search.Pattern)); err != nil {
			return jackline.E("workspace.Grep", jackline.Invalid, err, "The pattern cannot be read.")
		}
	}
	g.re = re
	g.anywhere = g.found.Literal != "" || !strings.ContainsAny(g.search.Pattern, "^$\\")
	return nil
}

// file searches one file that a walk came by. in is the folder that holds it.
func (g *grep) file(ctx context.Context, base string, i Item, in *dir) error {
	if i.Kind != KindFile {
		return nil
	}
	if g.files != "" {
		if ok, err := doublestar.Match(g.files, i.Path); err != nil || !ok {
			return err
		}
	}
	if i.Size > MaxRead {
		g.found.Skipped++
		return nil
	}
	if g.found.Files++; g.found.Files > maxSearchFiles || g.read > maxSearchBytes {
		g.found.More = true
		return errEnough
	}
	data, err := peek(ctx, in, path.Base(i.Path))
	if err != nil {
		return ctx.Err() // one that cannot be read is passed over
	}
	g.read += int64(len(data))
	if g.lines(path.Join(base, i.Path), data) {
		return errEnough
	}
	return nil
}

// peek reads the file called name in a folder.
func peek(ctx context.Context, in *dir, name string) ([]byte, error) {
	e, err := in.lstat(name)
	if err != nil {
		return nil, err
	}
	if !e.mode.IsRegular() {
		return nil, fs.ErrInvalid
	}
	f, _, err := in.file(name, e)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(reader{ctx.Err, f}, MaxRead))
	return data, errors.Join(err, f.Close())
}

// lines searches one file and reports whether that is enough. A file that is no text is counted as one hit at most.
func (g *grep) lines(rel string, data []byte) (enough bool) {
	t, ok := textfile.Decode(data)
	if !ok {
		if g.re.Match(data) {
			return g.add(rel, 0, fmt.Sprintf("(binary file of %d bytes matches)", len(data)))
		}
		return false
	}
	// Most files hold nothing that is looked for; they are not taken apart.
	if g.anywhere && !g.re.MatchString(t.Body) {
		return false
	}
	lines := t.Lines()
	shown := -1
	for n, line := range lines {
		if !g.re.MatchString(line) {
			continue
		}
		for k := max(shown+1, n-g.search.Around); k < n; k++ {
			g.found.Hits = append(g.found.Hits, Hit{Path: rel, Line: k + 1, Text: brief(lines[k], nil), Context: true})
		}
		if g.add(rel, n+1, brief(line, g.re)) {
			return true
		}
		shown = n
		for k := n + 1; k <= min(n+g.search.Around, len(lines)-1) && !g.re.MatchString(lines[k]); k++ {
			g.found.Hits = append(g.found.Hits, Hit{Path: rel, Line: k + 1, Text: brief(lines[k], nil), Context: true})
			shown = k
		}
	}
	return false
}

func (g *grep) add(rel string, line int, text string) (enough bool) {
	if g.hits == g.search.Max {
		g.found.More = true
		return true
	}
	g.hits++
	g.found.Hits = append(g.found.Hits, Hit{Path: rel, Line: line, Text: text})
	return false
}

// brief is a line of bearable length, around the place that matches.
func brief(line string, re *regexp.Regexp) string {
	line = textfile.Valid(line)
	if utf8.RuneCountInString(line) <= maxLine {
		return line
	}
	from := 0
	if re != nil {
		if at := re.FindStringIndex(line); at != nil {
			from = max(0, utf8.RuneCountInString(line[:at[0]])-maxLine/4)
		}
	}
	r := []rune(line)
	to := min(len(r), from+maxLine)
	cut := string(r[from:to])
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(r) {
		cut += "…"
	}
	return cut
}
