package workspace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/jackline-ai/jackline"
)

// Target is where a move or copy of from to to will land: in to, if that is a folder, under from's own name.
func (r *Root) Target(from, to string) string {
	if r.Check(from) != nil || r.Check(to) != nil {
		return to
	}
	name := path.Base(path.Clean(from))
	if name == "." || name == ".." || name == "/" {
		return to
	}
	p, err := r.resolve(to, true)
	if err != nil {
		return to
	}
	defer p.close()
	if p.found && p.entry.mode.IsDir() || !p.found && endsInSlash(to) {
		return path.Join(to, name)
	}
	return to
}

// Move renames the entry at from. A link is moved, not what it leads to. A file at to is replaced only with replace;
// a folder never is. Missing folders above to are made.
func (r *Root) Move(ctx context.Context, from, to string, replace bool) (string, error) {
	const op = "workspace.Move"
	src, err := r.resolve(from, false)
	if err != nil {
		return "", err
	}
	defer src.close()
	dst, err := r.resolve(to, false)
	if err != nil {
		return "", err
	}
	defer func() { dst.close() }()
	switch {
	case !src.found:
		return "", failure(from, fs.ErrNotExist)
	case src.isRoot() || dst.isRoot():
		return "", jackline.E(op, jackline.Forbidden, nil, "The workspace itself cannot be moved or replaced.")
	case dst.found && src.entry.same(dst.entry) && src.rel == dst.rel:
		return "", jackline.E(op, jackline.Invalid, nil, "Both paths are the same file.")
	case within(src.full(), dst.full()):
		return "", jackline.E(op, jackline.Invalid, nil, "A folder cannot be moved into itself.")
	case !src.entry.mode.IsDir() && endsInSlash(to):
		return "", jackline.E(op, jackline.Unprocessed, nil, "%s is not a folder.", quote(to))
	}
	if err := dst.replaceable(replace); err != nil {
		return "", err
	}
	if src.entry.mode.IsDir() {
		if err := r.nothingProtected(ctx, src); err != nil {
			return "", err
		}
	}
	if err := r.asAllowed(ctx, src, dst); err != nil {
		return "", err
	}
	if len(dst.missing) > 0 {
		if dst, err = r.parents(dst, true); err != nil {
			return "", err
		}
	}
	if now, err := src.dir.lstat(src.name); err != nil || !now.same(src.entry) {
		return "", failure(from, errors.Join(errRaced, err))
	}
	if err := src.dir.rename(src.name, dst.dir, dst.name, dst.found); err != nil {
		return "", failure(to, err)
	}
	// Where both names were one file already, the system leaves both.
	if left, err := src.dir.lstat(src.name); err == nil && left.links > 1 && left.same(src.entry) {
		if err := src.dir.unlink(src.name); err != nil {
			return "", failure(from, err)
		}
	}
	return dst.rel, nil
}

// replaceable says why what is at a target may not be replaced.
func (p *place) replaceable(allowed bool) error {
	const op = "workspace.Move"
	switch {
	case !p.found:
		return nil
	case p.entry.mode.IsDir():
		return jackline.E(op, jackline.Conflict, nil, "%s is a folder and is not replaced.", quote(p.given))
	case !allowed:
		return jackline.E(op, jackline.Conflict, nil, "%s exists already.", quote(p.given))
	}
	return nil
}

// within reports whether b is a or lies in it.
func within(a, b string) bool { return a == b || strings.HasPrefix(b, a+"/") }

// Copy copies the file or folder at from. A link at the end of from is followed; in a folder, links and whatever is
// protected or no regular file are left out. It returns the target and the number of files.
func (r *Root) Copy(ctx context.Context, from, to string, replace bool) (rel string, files int, err error) {
	const op = "workspace.Copy"
	src, err := r.resolve(from, true)
	if err != nil {
		return "", 0, err
	}
	defer src.close()
	dst, err := r.resolve(to, true)
	if err != nil {
		return "", 0, err
	}
	defer func() { dst.close() }()
	switch {
	case !src.found:
		return "", 0, failure(from, fs.ErrNotExist)
	case dst.isRoot():
		return "", 0, jackline.E(op, jackline.Forbidden, nil, "The workspace itself cannot be replaced.")
	case within(src.rel, dst.full()):
		return "", 0, jackline.E(op, jackline.Invalid, nil, "Something cannot be copied onto or into itself.")
	}
	if err := dst.replaceable(replace); err != nil {
		return "", 0, err
	}
	if err := r.asAllowed(ctx, src, dst); err != nil {
		return "", 0, err
	}
	if len(dst.missing) > 0 {
		if dst, err = r.parents(dst, true); err != nil {
			return "", 0, err
		}
	}
	if !src.entry.mode.IsDir() {
		return dst.rel, 1, r.copyFile(ctx, src, dst)
	}
	files, err = r.copyTree(ctx, src, dst)
	return dst.rel, files, err
}

func (r *Root) copyFile(ctx context.Context, src, dst *place) error {
	if err := dst.writable(WriteOptions{}); err != nil {
		return err
	}
	f, err := src.read(ctx)
	if err != nil {
		return err
	}
	_, err = dst.put(ctx, f.Data, false)
	return err
}

func (r *Root) copyTree(ctx context.Context, src, dst *place) (files int, err error) {
	if dst.found {
		return 0, jackline.E("workspace.Copy", jackline.Conflict, nil, "%s exists already.", quote(dst.given))
	}
	d, done, err := src.folder()
	if err != nil {
		return 0, err
	}
	defer done()
	var all []Item
	var size int64
	seen, err := r.tree(ctx, src.given, d, func(i Item) error {
		all = append(all, i)
		size += i.Size
		return small("copied", len(all), size)
	})
	if err != nil {
		return 0, err
	}
	if !seen {
		return 0, tooDeep(src.given)
	}
	if err := dst.dir.mkdir(dst.name); err != nil {
		return 0, failure(dst.given, err)
	}
	for _, i := range all {
		from, to := path.Join(src.rel, i.Path), path.Join(dst.rel, i.Path)
		switch i.Kind {
		case KindFolder:
			_, _, err = r.Mkdir(to)
		case KindFile:
			var f File
			if f, err = r.Read(ctx, from); err == nil {
				_, err = r.Write(ctx, to, f.Data, WriteOptions{Parents: true, New: true})
			}
			files++
		case KindLink, KindOther:
		}
		if err != nil {
			return files, err
		}
	}
	return files, nil
}

// small keeps one call from doing much at once.
func small(done string, entries int, size int64) error {
	if entries > maxTree || size > maxTreeBytes {
		return jackline.E("workspace", jackline.Unprocessed, nil,
			"More than %d entries or %d MiB are not %s at once; take the folders in it one by one.", maxTree, maxTreeBytes>>20, done)
	}
	return nil
}

// nothingProtected refuses a folder in which something protected lies.
func (r *Root) nothingProtected(ctx context.Context, p *place) error {
	d, done, err := p.folder()
	if err != nil {
		return err
	}
	defer done()
	v := visit{root: r, given: p.given, over: ctx.Err, strict: true, fn: func(Item, *dir) error { return nil }}
	return v.folder(d, p.rel, 0)
}

// Delete removes the entry at path: a link itself, not what it leads to. A folder must be empty, unless all in it is to go
// with it; then nothing in it may be protected. It returns how many entries are gone.
func (r *Root) Delete(ctx context.Context, path string, all bool) (gone int, err error) {
	const op = "workspace.Delete"
	p, err := r.resolve(path, false)
	if err != nil {
		return 0, err
	}
	defer p.close()
	switch {
	case !p.found:
		return 0, failure(path, fs.ErrNotExist)
	case p.isRoot():
		return 0, jackline.E(op, jackline.Forbidden, nil, "The workspace itself cannot be deleted.")
	case !p.entry.mode.IsDir() && endsInSlash(path):
		return 0, jackline.E(op, jackline.Unprocessed, nil, "%s is not a folder.", quote(path))
	}
	if err := r.asAllowed(ctx, p); err != nil {
		return 0, err
	}
	if !p.entry.mode.IsDir() {
		if err := p.dir.unlink(p.name); err != nil {
			return 0, failure(path, err)
		}
		return 1, nil
	}
	if all {
		if gone, err = r.empty(ctx, p); err != nil {
			return gone, err
		}
	}
	if err := p.dir.rmdir(p.name); err != nil {
		if notEmpty(err) {
			return gone, jackline.E(op, jackline.Conflict, err, "The folder %s is not empty; say that all in it may go, or delete what is in it first.", quote(path))
		}
		return gone, failure(path, err)
	}
	return gone + 1, nil
}

// empty removes all that is in a folder, after a look at all of it.
func (r *Root) empty(ctx context.Context, p *place) (gone int, err error) {
	d, done, err := p.folder()
	if err != nil {
		return 0, err
	}
	defer done()
	entries := 0
	look := visit{root: r, given: p.given, over: ctx.Err, strict: true, fn: func(Item, *dir) error { entries++; return small("deleted", entries, 0) }}
	if err := look.folder(d, p.rel, 0); err != nil {
		return 0, err
	}
	remove := visit{root: r, given: p.given, over: ctx.Err, strict: true, after: true, fn: func(i Item, in *dir) error {
		name := path.Base(i.Path)
		var err error
		if i.Kind == KindFolder {
			err = in.rmdir(name)
		} else {
			err = in.unlink(name)
		}
		if err != nil {
			return failure(p.given, err)
		}
		gone++
		return nil
	}}
	err = remove.folder(d, p.rel, 0)
	return gone, err
}
