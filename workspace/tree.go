package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/jackline-ai/jackline"
)

// Kind says what an entry is.
type Kind int

// The kinds of entries.
const (
	KindFile Kind = iota
	KindFolder
	KindLink
	KindOther // pipes, sockets, devices
)

// An Item is an entry in a listing.
type Item struct {
	Path  string // from the folder that was listed
	Kind  Kind
	Size  int64
	MTime time.Time
}

// errEnough ends a walk early.
var errEnough = errors.New("enough")

// List gives the entries of the folder at path, without those that are protected, folders first, then by name. more is the
// number of entries that were left out because there are too many.
func (r *Root) List(ctx context.Context, path string) (items []Item, more int, err error) {
	p, err := r.resolve(path, true)
	if err != nil {
		return nil, 0, err
	}
	defer p.close()
	d, done, err := p.folder()
	if err != nil {
		return nil, 0, err
	}
	defer done()
	v := visit{root: r, given: path, over: ctx.Err, flat: true, fn: func(i Item, _ *dir) error { items = append(items, i); return nil }}
	if err := v.folder(d, "", 0); err != nil {
		return nil, 0, err
	}
	slices.SortStableFunc(items, func(a, b Item) int {
		if fa, fb := a.Kind == KindFolder, b.Kind == KindFolder; fa != fb {
			if fa {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Path, b.Path)
	})
	return items, v.left, nil
}

// Walk calls fn for everything below the folder at path, in order of names, folders before what is in them. What is
// protected is left out, and links are shown but not followed. fn may return [fs.SkipAll] to end it. whole is false if
// there was more than is looked at.
func (r *Root) Walk(ctx context.Context, path string, fn func(Item) error) (whole bool, err error) {
	p, err := r.resolve(path, true)
	if err != nil {
		return false, err
	}
	defer p.close()
	d, done, err := p.folder()
	if err != nil {
		return false, err
	}
	defer done()
	return r.tree(ctx, path, d, fn)
}

func (r *Root) tree(ctx context.Context, given string, d *dir, fn func(Item) error) (whole bool, err error) {
	v := visit{root: r, given: given, over: ctx.Err, fn: func(i Item, _ *dir) error { return fn(i) }}
	err = v.folder(d, "", 0)
	if errors.Is(err, fs.SkipAll) || errors.Is(err, errEnough) {
		err = nil
	}
	return v.left == 0, err
}

// Glob gives the paths below the folder at path that match pattern, in order, at most max of them. ** stands for any
// folders. A pattern without a slash matches names in any folder.
func (r *Root) Glob(ctx context.Context, path, pattern string, max int) (found []Item, more bool, err error) {
	if pattern, err = r.pattern(pattern); err != nil {
		return nil, false, err
	}
	whole, err := r.Walk(ctx, path, func(i Item) error {
		ok, err := doublestar.Match(pattern, i.Path)
		switch {
		case err != nil:
			return err
		case !ok:
		case len(found) == max:
			more = true
			return fs.SkipAll
		default:
			found = append(found, i)
		}
		return nil
	})
	return found, more || !whole, err
}

// pattern checks a pattern as a path is checked, except that it may name what is protected: that is never shown.
func (r *Root) pattern(pattern string) (string, error) {
	const op = "workspace.Glob"
	if err := r.names.form(pattern); err != nil {
		return "", err
	}
	elements := split(pattern)
	if strings.HasPrefix(pattern, "/") {
		var inside bool
		if elements, inside = r.below(elements); !inside {
			return "", outside(pattern)
		}
	}
	if slices.Contains(elements, "..") {
		return "", outside(pattern)
	}
	elements = solid(elements)
	if len(elements) == 1 && elements[0] != "**" {
		elements = append([]string{"**"}, elements...)
	}
	clean := strings.Join(elements, "/")
	if clean == "" {
		clean = "*"
	}
	if !doublestar.ValidatePattern(clean) {
		return "", jackline.E(op, jackline.Invalid, nil, "The pattern %s cannot be read; close every [ and {.", quote(pattern))
	}
	return clean, nil
}

// A visit walks a folder that is held open.
type visit struct {
	root   *Root
	given  string       // the path that was asked for: messages name no other, since names in a tree are somebody else's text
	over   func() error // why to stop, if it is to
	fn     func(Item, *dir) error
	flat   bool // not into folders
	after  bool // folders after what is in them
	strict bool // something protected is an error, not left out
	left   int  // entries that were not looked at
	seen   int
	last   entry // the one that fn is called for
}

// folder calls fn for what is in d, whose path is rel.
func (v *visit) folder(d *dir, rel string, depth int) error {
	names, err := d.list(maxFolder + 1)
	if err != nil {
		return failure(v.given, err)
	}
	slices.Sort(names)
	if len(names) > maxFolder {
		v.left += len(names) - maxFolder
		names = names[:maxFolder]
	}
	for _, name := range names {
		if err := v.over(); err != nil {
			return err
		}
		if v.seen++; v.seen > maxSeen {
			v.left++
			return errEnough
		}
		if err := v.entry(d, path.Join(rel, name), name, depth); err != nil {
			return err
		}
	}
	return nil
}

func (v *visit) entry(d *dir, rel, name string, depth int) error {
	if v.root.names.Protected(name) {
		return v.hidden()
	}
	e, err := d.lstat(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone since the folder was read
		}
		return v.unreadable(err)
	}
	for _, s := range v.root.state {
		if e.same(s) {
			return v.hidden()
		}
	}
	v.last = e
	i := Item{Path: rel, Kind: kindIn(e.mode), Size: e.size, MTime: e.mtime}
	if i.Kind != KindFolder || v.flat {
		return v.fn(i, d)
	}
	i.Size = 0
	if !v.after {
		if err := v.fn(i, d); err != nil {
			if errors.Is(err, fs.SkipDir) {
				return nil
			}
			return err
		}
	}
	switch {
	case depth < maxDepth:
		if err := v.into(d, rel, name, e, depth); err != nil {
			return err
		}
	case v.strict:
		return tooDeep(v.given)
	default:
		v.left++
	}
	if v.after {
		return v.fn(i, d)
	}
	return nil
}

func (v *visit) into(d *dir, rel, name string, e entry, depth int) error {
	sub, err := d.folder(name, e)
	if err != nil {
		return v.unreadable(err)
	}
	return errors.Join(v.folder(sub, rel, depth+1), sub.close())
}

func (v *visit) hidden() error {
	if v.strict {
		return jackline.E("workspace", jackline.Forbidden, nil,
			"%s holds something protected (secrets, keys, the git store), so it stays as it is.", quote(v.given))
	}
	return nil
}

// unreadable passes over what the system does not let us see, unless all of it matters.
func (v *visit) unreadable(err error) error {
	if v.strict {
		return failure(v.given, err)
	}
	return nil
}

func kindIn(m fs.FileMode) Kind {
	switch {
	case m.IsRegular():
		return KindFile
	case m.IsDir():
		return KindFolder
	case m&fs.ModeSymlink != 0:
		return KindLink
	}
	return KindOther
}
