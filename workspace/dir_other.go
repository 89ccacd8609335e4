//go:build !unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

var (
	errNoSpace         = errors.New("no space left")
	errNotFolder error = syscall.ENOTDIR
	errMount           = errors.New("another file system")
	errLink            = errors.New("a link")
)

// A dir is a folder held open, asked only about single names in it. What it opens is compared with what was seen, so a
// link that takes a name's place meanwhile is noticed.
type dir struct {
	root *os.Root
	top  *os.Root // moves between folders go through the workspace's own handle
	rel  string
}

// An entry is what is known of a name without opening it.
type entry struct {
	info  fs.FileInfo
	mode  fs.FileMode
	size  int64
	mtime time.Time
	ctime int64 // not known here
	dev   uint64
	ino   uint64
	links uint64
}

func (e entry) same(o entry) bool {
	return e.info != nil && o.info != nil && os.SameFile(e.info, o.info)
}

func entryFrom(i fs.FileInfo, err error) (entry, error) {
	if err != nil {
		return entry{}, err
	}
	return entry{info: i, mode: i.Mode(), size: i.Size(), mtime: i.ModTime(), links: 1}, nil
}

func openTop(r *os.Root) (*dir, error) {
	own, err := r.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	return &dir{root: own, top: r, rel: "."}, nil
}

func (d *dir) close() error { return d.root.Close() }

func (d *dir) self() (entry, error) { return entryFrom(d.root.Stat(".")) }

func (d *dir) lstat(name string) (entry, error) {
	e, err := entryFrom(d.root.Lstat(name))
	if err != nil || !e.mode.IsRegular() {
		return e, err
	}
	e.links = linkCount(d.root, name)
	return e, nil
}

func (d *dir) readlink(name string) (string, error) { return d.root.Readlink(name) }

func (d *dir) folder(name string, want entry) (*dir, error) {
	sub, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	s := &dir{root: sub, top: d.top, rel: filepath.Join(d.rel, name)}
	if e, err := s.self(); err != nil || !e.same(want) {
		return nil, errors.Join(errRaced, sub.Close())
	}
	return s, nil
}

func (d *dir) file(name string, want entry) (*os.File, entry, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, entry{}, err
	}
	e, err := entryFrom(f.Stat())
	if err != nil || !e.same(want) || !e.mode.IsRegular() {
		return nil, e, errors.Join(errRaced, f.Close())
	}
	e.links = want.links
	return f, e, nil
}

func (d *dir) create(name string, perm fs.FileMode) (*os.File, error) {
	return d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
}

// abandoned reports whether nobody writes a file of [dir.create] any more: what is written takes seconds.
func (d *dir) abandoned(name string) bool {
	e, err := d.lstat(name)
	return err == nil && !e.mode.IsDir() && time.Since(e.mtime) > time.Minute
}

func (d *dir) mkdir(name string) error { return d.root.Mkdir(name, 0o777) }

func (d *dir) link(name, target string) error { return d.root.Symlink(target, name) }

func (d *dir) chmod(perm fs.FileMode) error { return d.root.Chmod(".", perm) }

func (d *dir) unlink(name string) error { return d.root.Remove(name) }

func (d *dir) rmdir(name string) error { return d.root.Remove(name) }

func (d *dir) rename(name string, to *dir, toName string, replace bool) error {
	if !replace {
		if _, err := to.root.Lstat(toName); err == nil {
			return fs.ErrExist
		}
	}
	return d.top.Rename(filepath.Join(d.rel, name), filepath.Join(to.rel, toName))
}

func (d *dir) list(max int) ([]string, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := f.Readdirnames(max)
	if err != nil && len(names) == 0 && !isEOF(err) {
		return nil, errors.Join(err, f.Close())
	}
	return names, f.Close()
}

// again is the same folder, opened once more.
func (d *dir) again() (*dir, error) {
	own, err := d.root.OpenRoot(".")
	return &dir{root: own, top: d.top, rel: d.rel}, err
}

// entries gives what is in the folder with its kind, at most max of it, in no order.
func (d *dir) entries(max int) ([]fs.DirEntry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	list, err := f.ReadDir(max)
	if err != nil && len(list) == 0 && !isEOF(err) {
		return nil, errors.Join(err, f.Close())
	}
	return list, f.Close()
}

func keep(*os.File, entry) error { return nil }

func statPath(path string) (entry, error) { return entryFrom(os.Stat(path)) }

func usable(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

func (d *dir) handle() *os.File { return nil }

func statFile(f *os.File) (entry, error) { return entryFrom(f.Stat()) }

// notEmpty takes any failure to remove a folder that was seen to be one for its being in use.
func notEmpty(err error) bool { return err != nil && !errors.Is(err, fs.ErrPermission) }
