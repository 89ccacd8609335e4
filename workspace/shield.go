package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/jackline-ai/jackline"
)

// Limits of what commands are kept from.
const (
	// maxShields bounds the protected names of one workspace: each of them is kept from a command one by one.
	maxShields = 500
	// maxKept and maxKeptBytes bound what is compared before and after a command: keys, settings and hooks are small and few.
	maxKept      = 2000
	maxKeptBytes = 32 << 20
	// settled is how old a folder's last change must be before its names are taken from memory: clocks of file systems tick
	// slowly.
	settled = 2 * time.Second
)

// A Shield is a protected name that a command could reach, as whatever holds commands has to know it.
type Shield struct {
	Path    string // from the root, with slashes
	Folder  bool
	Link    bool // it cannot be covered: it leads elsewhere
	Git     bool // it is a git store
	Missing bool // it is not there, and must not be made
}

// Shields are the protected names of a workspace.
type Shields struct {
	List  []Shield
	Whole bool // nothing was left out because there is too much
}

// Any reports whether something protected is there.
func (s Shields) Any() bool {
	return slices.ContainsFunc(s.List, func(s Shield) bool { return !s.Missing })
}

// shieldNames are the protected names that must not be made at the top of a workspace either: programs look for them there.
func shieldNames() []string {
	return append([]string{
		".git", ".env", ".env.local", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".ssh", ".gnupg", ".aws", ".kube",
	}, StateNames()...)
}

// A folderSeen is what a folder was seen to hold: it holds for as long as the folder is unchanged.
type folderSeen struct {
	ino       uint64
	dev       uint64
	mtime     time.Time
	entries   int
	protected []Shield // with their names only
	folders   []string
}

// Shields finds what is protected, everywhere below the root, and the names at the top that must not be made. Nothing is opened but
// folders. Folders that have not changed since the last time are not read again.
func (r *Root) Shields() (Shields, error) {
	r.shieldMu.Lock()
	defer r.shieldMu.Unlock()
	l := look{root: r, seen: map[string]folderSeen{}, found: Shields{Whole: true}}
	top, err := r.top.self()
	if err == nil {
		err = l.folder(func() (*dir, error) { return r.top.again() }, top, "", 0)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return Shields{}, failure(r.path, err)
	}
	r.shieldSeen = l.seen
	for _, name := range shieldNames() {
		if !slices.ContainsFunc(l.found.List, func(s Shield) bool { return s.Path == name }) {
			l.found.List = append(l.found.List, Shield{Path: name, Git: name == ".git", Missing: true})
		}
	}
	return l.found, nil
}

// Protects reports whether a path from the root names something protected, or lies in it. It looks at the names alone.
func (r *Root) Protects(rel string) bool { return slices.ContainsFunc(split(rel), r.names.Protected) }

// A look is one search for shields.
type look struct {
	root  *Root
	seen  map[string]folderSeen
	found Shields
	count int
}

// folder looks at the folder that was seen as self. open opens it, which one that is known and has no folders needs not.
func (l *look) folder(open func() (*dir, error), self entry, rel string, depth int) (err error) {
	var d *dir
	s, known := l.root.shieldSeen[rel]
	known = known && s.ino == self.ino && s.dev == self.dev && s.mtime.Equal(self.mtime)
	if !known || len(s.folders) > 0 {
		if d, err = open(); err == nil {
			defer func() { err = errors.Join(err, d.close()) }()
		}
		if err == nil && !known {
			s, err = l.read(d, self)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
			return nil // gone since; or what we cannot read, a command of ours cannot either
		case err != nil: // another file system, or swapped just now
			l.found.Whole = false
			return nil
		}
	}
	if time.Since(self.mtime) > settled {
		l.seen[rel] = s
	}
	if l.count += s.entries; l.count > maxSeen || s.entries > maxFolder {
		l.found.Whole = false
		return errEnough
	}
	for _, p := range s.protected {
		p.Path = path.Join(rel, p.Path)
		if l.found.List = append(l.found.List, p); len(l.found.List) >= maxShields {
			l.found.Whole = false
			return errEnough
		}
	}
	for _, name := range s.folders {
		if depth >= maxDepth {
			l.found.Whole = false
			continue
		}
		want, err := d.lstat(name)
		if err != nil || !want.mode.IsDir() {
			continue // gone since
		}
		into := func() (*dir, error) { return d.folder(name, want) }
		if err := l.folder(into, want, path.Join(rel, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// read sorts what is in a folder.
func (l *look) read(d *dir, self entry) (folderSeen, error) {
	s := folderSeen{ino: self.ino, dev: self.dev, mtime: self.mtime}
	entries, err := d.entries(maxFolder + 1)
	if err != nil {
		return s, err
	}
	s.entries = len(entries)
	for _, e := range entries {
		name := e.Name()
		switch {
		case l.root.names.Protected(name):
			n := normal(name)
			s.protected = append(s.protected, Shield{
				Path: name, Folder: e.IsDir(), Link: e.Type()&fs.ModeSymlink != 0, Git: n == ".git" || n == "git~1",
			})
		case e.IsDir():
			s.folders = append(s.folders, name)
		}
	}
	return s, nil
}

// StoreFixed are the parts of a git store that no command changes unless it was allowed to by name: they say what programs git
// starts. The paths are below the store.
func StoreFixed() []string {
	return []string{"config", "config.worktree", "hooks", "info/attributes", "modules", "worktrees", "commondir", "gitdir"}
}

// A Keepsake is what protected files held before a command ran that could not be kept from them.
type Keepsake struct {
	root  *Root
	files map[string]kept
	roots []string // what was looked at
	whole bool
}

type kept struct {
	mode fs.FileMode
	data []byte
	link string
}

// A Changed is a protected file that a command changed and that was put back.
type Changed struct {
	Path string // from the root
	Now  []byte // what it had become; nil where it was removed
	Err  error  // why it could not be put back
}

// Keep remembers the protected files of list, but for those that may is true of. Of a git store it remembers what says which
// programs git starts.
func (r *Root) Keep(ctx context.Context, list []Shield, may func(path string) bool) (*Keepsake, error) {
	k := &Keepsake{root: r}
	for _, s := range list {
		switch {
		case s.Git && s.Folder, s.Git && s.Missing:
			for _, part := range StoreFixed() {
				k.roots = append(k.roots, s.Path+"/"+part)
			}
		default:
			k.roots = append(k.roots, s.Path)
		}
	}
	k.roots = slices.DeleteFunc(k.roots, may)
	var err error
	k.files, k.whole, err = k.read(ctx)
	return k, err
}

// read takes in all that is kept, as it is now.
func (k *Keepsake) read(ctx context.Context) (map[string]kept, bool, error) {
	files, whole, total := map[string]kept{}, true, int64(0)
	tree := k.root.root.FS()
	for _, top := range k.roots {
		err := fs.WalkDir(tree, top, func(p string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil || d.IsDir():
				return nil //nolint:nilerr // what is not there, or not for us to read, cannot be kept
			case len(files) >= maxKept:
				whole = false
				return fs.SkipAll
			}
			f := kept{mode: d.Type()}
			if f.mode&fs.ModeSymlink != 0 {
				f.link, err = k.root.root.Readlink(p)
			} else if f.mode.IsRegular() {
				f.data, f.mode, err = k.file(p, maxKeptBytes-total)
			}
			if err != nil {
				whole = false
				return nil //nolint:nilerr // it is said that not everything could be compared
			}
			total += int64(len(f.data))
			files[p] = f
			return nil
		})
		if err != nil {
			return nil, false, err
		}
	}
	return files, whole, nil
}

func (k *Keepsake) file(p string, most int64) ([]byte, fs.FileMode, error) {
	before, err := k.root.root.Lstat(p)
	if err != nil || !before.Mode().IsRegular() || before.Size() > most {
		return nil, 0, errors.Join(err, errEnough)
	}
	f, err := k.root.root.Open(p)
	if err != nil {
		return nil, 0, err
	}
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	if err = errors.Join(err, f.Close()); err == nil && int64(len(data)) > most {
		err = errEnough
	}
	return data, before.Mode(), err
}

// Restore compares what is there now with what was kept, puts back what differs, and says what that was. whole is false where
// not everything could be compared.
func (k *Keepsake) Restore(ctx context.Context) (changed []Changed, whole bool, err error) {
	now, whole, err := k.read(ctx)
	if err != nil {
		return nil, false, err
	}
	for p, was := range k.files {
		is, there := now[p]
		if there && is.link == was.link && is.mode == was.mode && bytes.Equal(is.data, was.data) {
			continue
		}
		if !there {
			is.data = nil
		}
		changed = append(changed, Changed{Path: p, Now: is.data, Err: k.put(p, was)})
	}
	for p, is := range now {
		if _, was := k.files[p]; !was && k.whole {
			changed = append(changed, Changed{Path: p, Now: is.data, Err: k.root.root.Remove(p)})
		}
	}
	slices.SortFunc(changed, func(a, b Changed) int { return bytes.Compare([]byte(a.Path), []byte(b.Path)) })
	return changed, whole && k.whole, nil
}

// put makes a file what it was. What stands there now, whatever it is, is put aside first.
func (k *Keepsake) put(p string, was kept) error {
	root := k.root.root
	if err := root.MkdirAll(path.Dir(p), 0o755); err != nil {
		return err
	}
	if st, err := root.Lstat(p); err == nil {
		if st.IsDir() {
			err = root.Rename(p, fmt.Sprintf("%s.changed-%d", p, time.Now().UnixNano()))
		} else {
			err = root.Remove(p)
		}
		if err != nil {
			return err
		}
	}
	switch {
	case was.mode&fs.ModeSymlink != 0:
		return root.Symlink(was.link, p)
	case !was.mode.IsRegular():
		return jackline.E("workspace.Restore", jackline.Unprocessed, nil, "%s was no file and cannot be made again.", quote(p))
	}
	f, err := root.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, was.mode.Perm())
	if err != nil {
		return err
	}
	_, err = f.Write(was.data)
	return errors.Join(err, f.Chmod(was.mode.Perm()), f.Close())
}
