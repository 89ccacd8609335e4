package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/jackline-ai/jackline"
)

// WriteOptions say how a file is written.
type WriteOptions struct {
	Parents bool // make folders that are missing
	New     bool // there must be nothing yet

	// Expect is the file as it was read: if it is another by now, or holds something else, nothing is written.
	Expect *Stamp
}

// Written is what a write came to.
type Written struct {
	Path    string // from the root, links resolved
	Created bool
	Stamp   Stamp
}

// newFile is the mode of new files, less the mask.
const newFile = 0o644

// Write puts data into the file at path: into a temporary file beside it first, which then takes its place, so that
// nobody ever sees half of it. A link to a file is followed, and the file that it leads to is replaced. A file that has
// more than one name is not written, since the other may be outside.
func (r *Root) Write(ctx context.Context, path string, data []byte, o WriteOptions) (Written, error) {
	const op = "workspace.Write"
	if len(data) > MaxWrite {
		return Written{}, jackline.E(op, jackline.Unprocessed, nil, "That is more than %d bytes; write it in parts.", MaxWrite)
	}
	p, err := r.resolve(path, true)
	if err != nil {
		return Written{}, err
	}
	defer func() { p.close() }()
	if err := p.writable(o); err != nil {
		return Written{}, err
	}
	if o.Expect != nil {
		if err := p.unchanged(ctx, *o.Expect); err != nil {
			return Written{}, err
		}
	}
	if err := r.asAllowed(ctx, p); err != nil {
		return Written{}, err
	}
	if len(p.missing) > 0 {
		if p, err = r.parents(p, o.Parents); err != nil {
			return Written{}, err
		}
	}
	return p.put(ctx, data, o.New)
}

// writable says why the place cannot be written as wanted.
func (p *place) writable(o WriteOptions) error {
	const op = "workspace.Write"
	switch {
	case endsInSlash(p.given):
		return jackline.E(op, jackline.Unprocessed, nil, "%s names a folder; give the name of a file.", quote(p.given))
	case !p.found && o.Expect != nil:
		return jackline.E(op, jackline.Conflict, nil, "%s is gone since it was looked at; look again.", quote(p.given))
	case !p.found:
		return nil
	case o.New:
		return jackline.E(op, jackline.Conflict, nil, "%s exists already.", quote(p.given))
	}
	if err := p.regular(); err != nil {
		return err
	}
	switch {
	case p.entry.links > 1:
		return jackline.E(op, jackline.Forbidden, nil,
			"%s has a second name somewhere (a hard link), so it is not changed. Write a new file and delete this one.", quote(p.given))
	case p.entry.mode.Perm()&0o222 == 0:
		return jackline.E(op, jackline.Forbidden, nil, "%s is marked read-only, so it is not changed.", quote(p.given))
	}
	return nil
}

// unchanged compares what is at the place with what was seen.
func (p *place) unchanged(ctx context.Context, want Stamp) error {
	f, err := p.read(ctx)
	if err != nil {
		return err
	}
	if f.Stamp.Dev != want.Dev || f.Stamp.Ino != want.Ino || want.Sum != "" && f.Stamp.Sum != want.Sum {
		return jackline.E("workspace.Write", jackline.Conflict, nil,
			"%s has changed since it was looked at; read it again.", quote(p.given))
	}
	return nil
}

// put writes data at the place, whose folder exists.
func (p *place) put(ctx context.Context, data []byte, isNew bool) (Written, error) {
	if err := ctx.Err(); err != nil {
		return Written{}, err
	}
	var s Stamp
	err := p.swap(!isNew && p.found, func(temp string) error {
		f, err := p.dir.create(temp, newFile)
		if err != nil {
			return err
		}
		e, err := p.fill(f, data)
		s = stampOf(e)
		return err
	})
	s.Sum = sum(data)
	return Written{Path: p.rel, Created: !p.found, Stamp: s}, err
}

// The name of what is made beside a place before it takes it.
const tempPrefix, tempSuffix = ".jackline-", ".tmp"

// swap has something made under another name in the folder, which then takes the place, so that nobody ever sees half of it.
func (p *place) swap(replace bool, make func(temp string) error) error {
	temp := tempPrefix + rand.Text() + tempSuffix
	err := make(temp)
	if err == nil {
		err = p.dir.rename(temp, p.dir, p.name, replace)
	}
	if err != nil {
		_ = p.dir.unlink(temp) // it may not even be there
		return failure(p.given, err)
	}
	return nil
}

// maxSwept bounds the names that are looked at: a folder that a program died in is one that people work in.
const maxSwept = 10_000

// Sweep removes from the folder at path what programs had begun to write there that were killed before it took its place.
func (r *Root) Sweep(path string) error {
	p, err := r.resolve(path, false)
	if err != nil {
		return err
	}
	defer p.close()
	d, done, err := p.folder()
	if err != nil {
		return err
	}
	defer done()
	names, err := d.list(maxSwept)
	for _, n := range names {
		if strings.HasPrefix(n, tempPrefix) && strings.HasSuffix(n, tempSuffix) && d.abandoned(n) {
			err = errors.Join(err, d.unlink(n))
		}
	}
	return failed(path, err)
}

// fill writes a new file, which gets owner and mode of the one at the place, and closes it.
func (p *place) fill(f *os.File, data []byte) (entry, error) {
	_, err := f.Write(data)
	if err == nil && p.found {
		err = keep(f, p.entry)
	}
	if err == nil {
		err = f.Sync()
	}
	e, statErr := statFile(f)
	return e, errors.Join(err, statErr, f.Close())
}

// parents makes the folders that are missing above the end of the path, and gives the place in the last of them. It
// takes p over.
func (r *Root) parents(p *place, allowed bool) (*place, error) {
	if !allowed {
		p.close()
		return nil, jackline.E("workspace.Write", jackline.NotFound, fs.ErrNotExist,
			"The folder of %s does not exist; make it first.", quote(p.given))
	}
	for len(p.missing) > 0 {
		if err := p.dir.mkdir(p.name); err != nil && !errors.Is(err, fs.ErrExist) {
			p.close()
			return nil, failure(p.given, err)
		}
		e, err := p.dir.lstat(p.name)
		if err == nil && !e.mode.IsDir() {
			err = errRaced
		}
		var sub *dir
		if err == nil {
			sub, err = p.dir.folder(p.name, e)
		}
		p.close()
		if err != nil {
			return nil, failure(p.given, err)
		}
		next := *p
		next.dir, next.owned = sub, true
		next.name, next.missing = p.missing[0], p.missing[1:]
		next.rel = p.rel + "/" + next.name
		p = &next
	}
	return p, nil
}

func endsInSlash(path string) bool { return path[len(path)-1] == '/' }

// Mkdir makes the folder at path with all that are missing above it. made is false if it was there already.
func (r *Root) Mkdir(path string) (rel string, made bool, err error) {
	p, err := r.resolve(path, true)
	if err != nil {
		return "", false, err
	}
	if p.found {
		defer p.close()
		if !p.entry.mode.IsDir() {
			return p.rel, false, jackline.E("workspace.Mkdir", jackline.Conflict, nil,
				"%s exists and is not a folder.", quote(path))
		}
		return p.rel, false, nil
	}
	if p, err = r.parents(p, true); err != nil {
		return "", false, err
	}
	defer p.close()
	if err := p.dir.mkdir(p.name); err != nil {
		return "", false, failure(path, err)
	}
	return p.rel, true, nil
}

// Writable says why the file at path could not be written, or nil. It changes nothing.
func (r *Root) Writable(path string) error {
	p, err := r.resolve(path, true)
	if err != nil {
		return err
	}
	defer p.close()
	return p.writable(WriteOptions{})
}
