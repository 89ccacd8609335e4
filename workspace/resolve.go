package workspace

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/jackline-ai/jackline"
)

// errRaced says that another program exchanged something between the look at it and its opening.
var errRaced = errors.New("the tree changed meanwhile")

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

// A place is where a path leads: a name in a folder that is held open.
type place struct {
	given string // the path as it was asked for
	dir   *dir   // the folder; closed with the place unless it is the root's own
	name  string // the entry in it; "." is the folder itself, which then is the root
	rel   string // clean path from the root, links resolved
	entry entry  // what is there, of the entry itself
	found bool   // whether anything is there

	// missing are the elements below name where several are not there: name is then the first of them.
	missing []string

	owned bool
}

func (p *place) close() {
	if p != nil && p.owned {
		_ = p.dir.close() // a handle that was only read from
	}
}

func (p *place) isRoot() bool { return p.name == "." }

// full is the path from the root with the missing elements.
func (p *place) full() string { return path.Join(append([]string{p.rel}, p.missing...)...) }

// step is a folder on the way.
type step struct {
	dir  *dir
	name string
}

// resolve walks path from the root, one element at a time. With follow a link at the end is followed too; without, the
// place is the link itself. Whoever gets a place closes it.
func (r *Root) resolve(given string, follow bool) (*place, error) {
	pending, err := r.elements(given)
	if err != nil {
		return nil, err
	}
	w := walk{root: r, given: given, steps: []step{{dir: r.top}}}
	p, err := w.run(pending, follow)
	// Of the folders on the way, all but the last are done with.
	for _, s := range w.steps[1:] {
		if err == nil && s.dir == p.dir {
			p.owned = true
			continue
		}
		_ = s.dir.close()
	}
	return p, err
}

type walk struct {
	root  *Root
	given string
	steps []step
	links int
}

func (w *walk) at() *dir { return w.steps[len(w.steps)-1].dir }

// rel is the path of a name in the current folder.
func (w *walk) rel(name string) string {
	parts := make([]string, 0, len(w.steps))
	for _, s := range w.steps[1:] {
		parts = append(parts, s.name)
	}
	return path.Join(append(parts, name)...)
}

func (w *walk) run(pending []string, follow bool) (*place, error) {
	for len(pending) > 0 {
		e := pending[0]
		pending = pending[1:]
		switch {
		case e == "" || e == ".":
			continue
		case e == "..":
			if len(w.steps) == 1 {
				return nil, outside(w.given)
			}
			last := len(w.steps) - 1
			_ = w.steps[last].dir.close()
			w.steps = w.steps[:last]
			continue
		case w.root.names.Protected(e):
			return nil, protected(w.given)
		}
		info, err := w.at().lstat(e)
		if errors.Is(err, fs.ErrNotExist) {
			return w.absent(e, pending)
		}
		if err != nil {
			return nil, w.fail(err)
		}
		for _, s := range w.root.state {
			if info.same(s) {
				return nil, protected(w.given)
			}
		}
		switch {
		case info.mode&fs.ModeSymlink != 0:
			if len(pending) == 0 && !follow {
				return w.end(e, info), nil
			}
			target, err := w.link(e)
			if err != nil {
				return nil, err
			}
			pending = append(target, pending...)
		case !info.mode.IsDir():
			if len(pending) > 0 {
				return nil, w.fail(errNotFolder)
			}
			return w.end(e, info), nil
		case len(w.steps) > maxDepth:
			return nil, tooDeep(w.given)
		default:
			sub, err := w.at().folder(e, info)
			if err != nil {
				return nil, w.fail(err)
			}
			w.steps = append(w.steps, step{sub, e})
		}
	}
	// The path ends in a folder: its place is in the folder above it.
	last := len(w.steps) - 1
	if last == 0 {
		info, err := w.root.top.self()
		if err != nil {
			return nil, w.fail(err)
		}
		return w.end(".", info), nil
	}
	info, err := w.at().self()
	if err != nil {
		return nil, w.fail(err)
	}
	name := w.steps[last].name
	_ = w.steps[last].dir.close()
	w.steps = w.steps[:last]
	return w.end(name, info), nil
}

func (w *walk) end(name string, info entry) *place {
	return &place{given: w.given, dir: w.at(), name: name, rel: w.rel(name), entry: info, found: true}
}

// link reads a link and gives the elements that take its place.
func (w *walk) link(name string) ([]string, error) {
	if w.links++; w.links > maxLinks {
		return nil, jackline.E("workspace.resolve", jackline.Forbidden, nil,
			"%s leads through too many links, or in a circle.", quote(w.given))
	}
	target, err := w.at().readlink(name)
	if err != nil {
		return nil, w.fail(err)
	}
	if w.root.names.Target == Windows {
		target = strings.ReplaceAll(target, `\`, "/")
	}
	switch {
	case target == "":
		return nil, w.fail(fs.ErrNotExist)
	case strings.HasPrefix(target, "/"), w.root.names.Target == Windows && strings.Contains(target, ":"):
		return nil, jackline.E("workspace.resolve", jackline.Forbidden, nil,
			"%s goes through a link with an absolute target, which is not followed; use a path inside the workspace.", quote(w.given))
	}
	return split(target), nil
}

// absent is the place of something that is not there. What stands behind it can only be new names.
func (w *walk) absent(name string, pending []string) (*place, error) {
	p := &place{given: w.given, dir: w.at(), name: name, rel: w.rel(name)}
	for _, e := range pending {
		switch {
		case e == "" || e == ".":
		case e == "..":
			return nil, w.fail(fs.ErrNotExist)
		case w.root.names.Protected(e):
			return nil, protected(w.given)
		default:
			p.missing = append(p.missing, e)
		}
	}
	if len(w.steps)+len(p.missing) > maxDepth+1 {
		return nil, tooDeep(w.given) // nothing could enter it afterwards
	}
	return p, nil
}

func tooDeep(given string) error {
	return jackline.E("workspace.resolve", jackline.Unprocessed, nil,
		"%s lies too deep: folders are entered up to %d levels.", quote(given), maxDepth)
}

// fail is an error of the file system as a person may read it.
func (w *walk) fail(err error) error { return failure(w.given, err) }

func failure(given string, err error) error {
	const op = "workspace"
	var known *jackline.Error
	switch {
	case errors.As(err, &known):
		return err
	case errors.Is(err, errRaced):
		return jackline.E(op, jackline.Conflict, err, "%s was exchanged by another program while it was opened; look again.", quote(given))
	case errors.Is(err, errMount):
		return jackline.E(op, jackline.Forbidden, err, "%s lies on another file system, which is not part of the workspace.", quote(given))
	case errors.Is(err, errLink):
		return jackline.E(op, jackline.Conflict, err, "%s became a link while it was opened; look again.", quote(given))
	case errors.Is(err, fs.ErrNotExist):
		return jackline.E(op, jackline.NotFound, err, "There is nothing at %s.", quote(given))
	}
	return jackline.E(op, kindOf(err), err, "%s cannot be used: %s.", quote(given), reason(err))
}

// folder opens the place itself, which must be a folder. done gives it back.
func (p *place) folder() (d *dir, done func(), err error) {
	switch {
	case !p.found:
		return nil, nil, failure(p.given, fs.ErrNotExist)
	case !p.entry.mode.IsDir():
		return nil, nil, jackline.E("workspace", jackline.Unprocessed, nil, "%s is not a folder.", quote(p.given))
	case p.isRoot():
		return p.dir, func() {}, nil
	}
	d, err = p.dir.folder(p.name, p.entry)
	if err != nil {
		return nil, nil, failure(p.given, err)
	}
	return d, func() { _ = d.close() }, nil
}

// regular says why the place holds no file that may be read or written, or nil.
func (p *place) regular() error {
	const op = "workspace"
	switch m := p.entry.mode; {
	case !p.found:
		return failure(p.given, fs.ErrNotExist)
	case m.IsDir():
		return jackline.E(op, jackline.Unprocessed, nil, "%s is a folder, not a file.", quote(p.given))
	case !m.IsRegular():
		return jackline.E(op, jackline.Forbidden, nil, "%s is not a regular file (a link, pipe, socket or device); it cannot be used.", quote(p.given))
	}
	return nil
}
