package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/jackline-ai/jackline"
)

// A Standing is an entry that a [Root.Scan] came by, while its folder is open.
type Standing struct {
	Path string // from the root
	Kind Kind
	Mode fs.FileMode // permission bits
	Size int64
	Link string // where a link leads, as it is written

	dir   *dir
	name  string
	entry entry
}

// ID names the entry as it stands: which one it is, its size, and when it or what is known of it last changed. A file that was
// written gets another, but for a write within one tick of the file system's clock: see [Standing.Changed].
func (f *Standing) ID() string {
	e := f.entry
	return fmt.Sprintf("%x.%x.%x.%x.%x", e.dev, e.ino, e.size, e.mtime.UnixNano(), e.ctime)
}

// Changed is when the entry last changed, in nanoseconds since 1970, as its file system says.
func (f *Standing) Changed() int64 { return max(f.entry.mtime.UnixNano(), f.entry.ctime) }

// Read reads a file of at most limit bytes. A larger one, and one that is exchanged meanwhile, is an error.
func (f *Standing) Read(ctx context.Context, limit int64) ([]byte, error) {
	if f.Kind != KindFile || f.Size > limit {
		return nil, jackline.E("workspace.Read", jackline.Unprocessed, nil, "%s is no file of at most %d bytes.", quote(f.Path), limit)
	}
	file, _, err := f.dir.file(f.name, f.entry)
	if err != nil {
		return nil, failure(f.Path, err)
	}
	data := make([]byte, 0, f.Size+1) // so that the end is found without growing
	for {
		var n int
		n, err = reader{ctx.Err, file}.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err != nil || int64(len(data)) > limit {
			break
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
	if isEOF(err) {
		err = nil
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, readFailure(ctx, f.Path, err)
	}
	if int64(len(data)) > limit {
		return nil, jackline.E("workspace.Read", jackline.Unprocessed, nil, "%s is no file of at most %d bytes.", quote(f.Path), limit)
	}
	return data, nil
}

// Scan calls fn for the entry at path and for everything below it, folders before what is in them. Nothing is followed: a link is
// shown as what it is. What is protected is left out. Where nothing is at path, nothing is called. fn may return
// [fs.SkipDir] for a folder that is not to be entered. whole is false if there was more than is looked at.
func (r *Root) Scan(ctx context.Context, at string, fn func(*Standing) error) (whole bool, err error) {
	p, err := r.resolve(at, false)
	if err != nil {
		return false, err
	}
	defer p.close()
	if !p.found {
		return true, nil
	}
	v := visit{root: r, given: at, over: ctx.Err}
	v.fn = func(i Item, d *dir) error {
		return fn(standing(d, path.Base(i.Path), path.Join(p.rel, i.Path), v.last))
	}
	if !p.isRoot() {
		v.last = p.entry
		err := fn(standing(p.dir, p.name, p.rel, p.entry))
		if err != nil || !p.entry.mode.IsDir() {
			if errors.Is(err, fs.SkipDir) {
				err = nil
			}
			return true, err
		}
	}
	d, done, err := p.folder()
	if err != nil {
		return false, err
	}
	defer done()
	err = v.folder(d, "", 0)
	if errors.Is(err, errEnough) {
		err = nil
	}
	return v.left == 0, err
}

func standing(d *dir, name, rel string, e entry) *Standing {
	f := &Standing{Path: rel, Kind: kindIn(e.mode), Mode: e.mode.Perm(), dir: d, name: name, entry: e}
	switch f.Kind {
	case KindFile:
		f.Size = e.size
	case KindLink:
		f.Link, _ = d.readlink(name) // gone by now: it leads nowhere
	case KindFolder, KindOther:
	}
	return f
}

// Within says where the entries of a path that are not there begin: the first element of path under which nothing is, or path
// itself where all of it is there.
func (r *Root) Within(at string) (string, error) {
	p, err := r.resolve(at, false)
	if err != nil {
		return "", err
	}
	defer p.close()
	return p.rel, nil
}

// A Put is what is to stand at a path again.
type Put struct {
	Kind Kind // a file, folder or link
	Mode fs.FileMode
	Link string // where a link leads
	Data []byte // what a file holds

	// Now is the [Standing.ID] of what stands there, and "" where nothing does. If it is something else by now, nothing is done.
	Now string
}

// Restore puts something where it stood before, in place of a file or link. The path is that of a [Standing]: if it leads through a
// link by now, nothing is done. Folders above it that are missing are made. A folder that is there gets its mode only.
func (r *Root) Restore(ctx context.Context, at string, w Put) error {
	p, err := r.stood(at, w.Now)
	if err != nil {
		return err
	}
	defer func() { p.close() }()
	if len(p.missing) > 0 {
		if p, err = r.parents(p, true); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.found && p.entry.mode.IsDir() != (w.Kind == KindFolder) {
		return jackline.E("workspace.Restore", jackline.Conflict, nil, "Something of another kind stands at %s.", quote(at))
	}
	if p.found && p.entry.mode.IsRegular() && p.entry.links > 1 {
		return jackline.E("workspace.Restore", jackline.Forbidden, nil, "%s has a second name somewhere (a hard link), so it is not changed.", quote(at))
	}
	switch w.Kind {
	case KindFolder:
		return failed(at, p.putFolder(w.Mode))
	case KindLink:
		return p.swap(p.found, func(temp string) error { return p.dir.link(temp, w.Link) })
	case KindFile:
		return p.swap(p.found, func(temp string) error {
			f, err := p.dir.create(temp, 0o600) // what it may be read by is settled before it has its name
			if err != nil {
				return err
			}
			p.entry.mode = w.Mode // in the place of what stands there
			if err = f.Chmod(w.Mode.Perm()); err != nil {
				return errors.Join(err, f.Close())
			}
			_, err = p.fill(f, w.Data)
			return err
		})
	case KindOther:
	}
	return jackline.E("workspace.Restore", jackline.Unprocessed, nil, "%s was no file, folder or link, so it cannot be made anew.", quote(at))
}

func failed(at string, err error) error {
	if err == nil {
		return nil
	}
	return failure(at, err)
}

func (p *place) putFolder(mode fs.FileMode) error {
	if !p.found {
		if err := p.dir.mkdir(p.name); err != nil {
			return err
		}
		e, err := p.dir.lstat(p.name)
		if err != nil {
			return err
		}
		p.entry = e
	}
	d, err := p.dir.folder(p.name, p.entry)
	if err != nil {
		return err
	}
	return errors.Join(d.chmod(mode.Perm()), d.close())
}

// Remove takes away the file, link or empty folder at the path of a [Standing], if it is still the one with this ID.
func (r *Root) Remove(ctx context.Context, at, now string) error {
	p, err := r.stood(at, now)
	if err != nil {
		return err
	}
	defer p.close()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !p.found || p.isRoot():
		return failure(at, fs.ErrNotExist)
	case p.entry.mode.IsDir():
		if err := p.dir.rmdir(p.name); err != nil {
			if notEmpty(err) {
				return jackline.E("workspace.Remove", jackline.Conflict, err, "The folder %s is not empty.", quote(at))
			}
			return failure(at, err)
		}
		return nil
	}
	return failed(at, p.dir.unlink(p.name))
}

// stood finds the place at the path of a Standing, and makes sure of what is there. A folder is told by which one it is: what is in
// it changes its times.
func (r *Root) stood(at, now string) (*place, error) {
	p, err := r.resolve(at, false)
	if err != nil {
		return nil, err
	}
	say := ""
	switch {
	case p.full() != at:
		say = "%s leads somewhere else by now."
	case !p.found && now != "":
		say = "%s is gone since it was looked at."
	case p.found && now == "":
		say = "%s has come since it was looked at."
	case p.found && !p.entry.mode.IsDir() && standing(p.dir, p.name, p.rel, p.entry).ID() != now:
		say = "%s has changed since it was looked at."
	default:
		return p, nil
	}
	p.close()
	return nil, jackline.E("workspace.Restore", jackline.Conflict, nil, say, quote(at))
}
