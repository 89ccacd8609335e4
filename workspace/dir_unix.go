//go:build unix

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

var (
	errNoSpace   error = unix.ENOSPC
	errNotFolder error = unix.ENOTDIR
	errMount     error = unix.EXDEV
	errLink      error = unix.ELOOP
)

// A dir is a folder held open. Everything it is asked about is a single name in it: it follows no link and knows no
// path, so it can be led nowhere.
type dir struct{ f *os.File }

// An entry is what is known of a name without opening it.
type entry struct {
	mode  fs.FileMode
	size  int64
	mtime time.Time
	ctime int64 // nanoseconds; nobody can set it back
	dev   uint64
	ino   uint64
	links uint64
	uid   int
	gid   int
}

// same reports whether both are one file.
func (e entry) same(o entry) bool { return e.dev == o.dev && e.ino == o.ino }

func openTop(r *os.Root) (*dir, error) {
	f, err := r.Open(".")
	if err != nil {
		return nil, err
	}
	return &dir{f}, nil
}

func (d *dir) close() error { return d.f.Close() }

func (d *dir) fd() int { return int(d.f.Fd()) }

func (d *dir) self() (entry, error) { return statFile(d.f) }

func (d *dir) lstat(name string) (entry, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstatat(d.fd(), name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	return entryOf(&st), err
}

func (d *dir) readlink(name string) (string, error) {
	b := make([]byte, maxPath)
	var n int
	err := retry(func() (err error) { n, err = unix.Readlinkat(d.fd(), name, b); return err })
	if err != nil {
		return "", err
	}
	return string(b[:n]), nil
}

// folder opens a folder that was seen as want.
func (d *dir) folder(name string, want entry) (*dir, error) {
	f, e, err := d.open(name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	if !e.same(want) {
		return nil, errors.Join(errRaced, f.Close())
	}
	return &dir{f}, nil
}

// file opens a regular file that was seen as want. It never waits for whoever is at the other end of a pipe.
func (d *dir) file(name string, want entry) (*os.File, entry, error) {
	f, e, err := d.open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return nil, e, err
	}
	if !e.same(want) || !e.mode.IsRegular() {
		return nil, e, errors.Join(errRaced, f.Close())
	}
	return f, e, nil
}

func (d *dir) open(name string, flags int) (*os.File, entry, error) {
	var fd int
	err := retry(func() (err error) { fd, err = openat(d.fd(), name, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC); return err })
	if err != nil {
		return nil, entry{}, err
	}
	f := os.NewFile(uintptr(fd), name)
	e, err := statFile(f)
	if err != nil {
		return nil, e, errors.Join(err, f.Close())
	}
	return f, e, nil
}

// create makes a new file for writing; whatever has the name already is an error. It is locked as long as it is open, which tells
// whoever comes by that somebody lives who writes it, where the file system knows locks.
func (d *dir) create(name string, perm fs.FileMode) (*os.File, error) {
	var fd int
	err := retry(func() (err error) {
		fd, err = unix.Openat(d.fd(), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, uint32(perm.Perm()))
		return err
	})
	if err != nil {
		return nil, err
	}
	_ = unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB)
	return os.NewFile(uintptr(fd), name), nil
}

// abandoned reports whether nobody writes a file of [dir.create] any more. A link takes no time to be renamed.
func (d *dir) abandoned(name string) bool {
	f, e, err := d.open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return errors.Is(err, unix.ELOOP)
	}
	defer func() { _ = f.Close() }()
	return e.mode.IsRegular() && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

func (d *dir) mkdir(name string) error {
	const perm = 0o777 // less the mask, as every program makes folders
	return retry(func() error { return unix.Mkdirat(d.fd(), name, perm) })
}

// link makes a link that leads to target; whatever has the name already is an error.
func (d *dir) link(name, target string) error {
	return retry(func() error { return unix.Symlinkat(target, d.fd(), name) })
}

// chmod sets the permission bits of the folder itself.
func (d *dir) chmod(perm fs.FileMode) error { return d.f.Chmod(perm) }

func (d *dir) unlink(name string) error {
	return retry(func() error { return unix.Unlinkat(d.fd(), name, 0) })
}

func (d *dir) rmdir(name string) error {
	return retry(func() error { return unix.Unlinkat(d.fd(), name, unix.AT_REMOVEDIR) })
}

// rename moves an entry. Without replace it is an error if the new name is taken.
func (d *dir) rename(name string, to *dir, toName string, replace bool) error {
	return retry(func() error {
		if replace {
			return unix.Renameat(d.fd(), name, to.fd(), toName)
		}
		return renameNew(d.fd(), name, to.fd(), toName)
	})
}

// list gives the names in the folder, at most max of them, in no order.
func (d *dir) list(max int) ([]string, error) {
	// A second description of the same folder, since reading moves the position.
	f, _, err := d.open(".", unix.O_RDONLY|unix.O_DIRECTORY)
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
	f, _, err := d.open(".", unix.O_RDONLY|unix.O_DIRECTORY)
	return &dir{f}, err
}

// entries gives what is in the folder with its kind, at most max of it, in no order.
func (d *dir) entries(max int) ([]fs.DirEntry, error) {
	f, _, err := d.open(".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	list, err := f.ReadDir(max)
	if err != nil && len(list) == 0 && !isEOF(err) {
		return nil, errors.Join(err, f.Close())
	}
	return list, f.Close()
}

// keep gives a new file the mode and, where that is allowed, the owner of the one that it replaces.
func keep(f *os.File, old entry) error {
	_ = f.Chown(old.uid, old.gid) // only root may give files away; a file of our own is right as it is
	return f.Chmod(old.mode.Perm())
}

func statFile(f *os.File) (entry, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Fstat(int(f.Fd()), &st) })
	return entryOf(&st), err
}

func statPath(path string) (entry, error) {
	var st unix.Stat_t
	err := retry(func() error { return unix.Stat(path, &st) })
	return entryOf(&st), err
}

// usable reports whether this program, as the user that it runs for, may read and write a folder.
func usable(path string) error { return unix.Access(path, unix.R_OK|unix.W_OK|unix.X_OK) }

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func entryOf(st *unix.Stat_t) entry {
	e := entry{
		mode: fs.FileMode(st.Mode & 0o777), size: st.Size, mtime: time.Unix(st.Mtim.Unix()), ctime: st.Ctim.Nano(),
		dev: uint64(st.Dev), ino: st.Ino, links: uint64(st.Nlink), //nolint:unconvert // other widths on other systems
		uid: int(st.Uid), gid: int(st.Gid),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		e.mode |= fs.ModeDir
	case unix.S_IFLNK:
		e.mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		e.mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		e.mode |= fs.ModeSocket
	case unix.S_IFCHR:
		e.mode |= fs.ModeDevice | fs.ModeCharDevice
	default:
		e.mode |= fs.ModeDevice
	}
	return e
}

// renameChecked is for file systems that cannot do both in one step: between the look and the move another program may
// take the name, and would lose what it wrote there.
func renameChecked(from int, name string, to int, toName string) error {
	var st unix.Stat_t
	if err := unix.Fstatat(to, toName, &st, unix.AT_SYMLINK_NOFOLLOW); err == nil {
		return unix.EEXIST
	}
	return unix.Renameat(from, name, to, toName)
}

// handle is the open folder, for a command to start in.
func (d *dir) handle() *os.File { return d.f }

func notEmpty(err error) bool { return errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) }
