// Package workspace is the folder that a session may touch.
//
// The folder is opened once, as an [os.Root], and from then on everything is done relative to handles: a path is walked
// element by element, each folder on the way is held open, links are read and followed by this package, and what is
// opened at the end is compared with what was looked at. So there is no moment between a check and its use, whatever
// another program does to the tree meanwhile.
//
// Some names are nobody's business: secrets, keys, the git store, the program's own folders. [Names] knows them by
// their text. They are refused as given and as reached through links, and listings and searches leave them out.
package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"

	"github.com/jackline-ai/jackline"
)

// Named limits.
const (
	// MaxRead bounds a file that is read, edited or searched: a text that nobody reads whole.
	MaxRead = 8 << 20
	// MaxWrite bounds what is written at once.
	MaxWrite = 8 << 20
	// maxTree and maxTreeBytes bound what one call copies or deletes, so that a slip stays small.
	maxTree      = 2000
	maxTreeBytes = 256 << 20
	// maxDepth bounds how deep trees are walked: deeper ones are made to hurt.
	maxDepth = 64
	// maxLinks bounds the links followed on one path, as kernels do.
	maxLinks = 40
	// maxFolder bounds the entries of one folder that are looked at.
	maxFolder = 50_000
	// maxSeen bounds the entries that one walk looks at.
	maxSeen = 200_000
)

// StateNames are the names of this program's own folders, which are protected wherever they stand.
func StateNames() []string { return []string{".jackline", ".agentstate"} }

// Options are what differs between workspaces.
type Options struct {
	// State are the folders that hold the program's own settings and data. Nothing in them may be touched.
	State []string
}

// A Root is a workspace, held open. It may be used by several goroutines at once.
type Root struct {
	root  *os.Root
	top   *dir
	path  string     // real absolute path
	bases [][]string // the elements of the absolute paths by which it is known
	names Names
	state []entry // the program's own folders, where they exist

	shieldMu   sync.Mutex
	shieldSeen map[string]folderSeen // by path, for [Root.Shields]
	pinned     *pinned               // of a view for one call: see Bound
}

// Open opens the folder dir, which [Vet] has found fit. A link to it is resolved now and never again.
func Open(dir string, o Options) (*Root, error) {
	const op = "workspace.Open"
	given, err := filepath.Abs(dir)
	if err != nil {
		return nil, jackline.E(op, jackline.Invalid, err, "%s cannot be opened as a workspace.", quote(dir))
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, jackline.E(op, kindOf(err), err, "The workspace %s cannot be opened: %s.", quote(dir), reason(err))
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, jackline.E(op, kindOf(err), err, "The workspace %s cannot be opened: %s.", quote(dir), reason(err))
	}
	top, err := openTop(root)
	if err != nil {
		return nil, errors.Join(jackline.E(op, kindOf(err), err, "The workspace %s cannot be opened: %s.", quote(dir), reason(err)), root.Close())
	}
	r := &Root{root: root, top: top, path: real, names: Names{Target: host(), State: StateNames()}}
	for _, p := range []string{real, given} {
		r.bases = append(r.bases, solid(split(filepath.ToSlash(p))))
	}
	for _, s := range o.State {
		if e, err := statPath(s); err == nil {
			r.state = append(r.state, e)
		}
	}
	return r, nil
}

// Close gives the handle back.
func (r *Root) Close() error { return errors.Join(r.top.close(), r.root.Close()) }

// Stands reports whether the folder's path still leads to it, and not through a link. Where it does not, the folder was
// moved, deleted or replaced.
func (r *Root) Stands() bool {
	real, err := filepath.EvalSymlinks(r.path)
	if err != nil || real != r.path {
		return false
	}
	now, err := statPath(r.path)
	if err != nil {
		return false
	}
	held, err := r.top.self()
	return err == nil && held.same(now)
}

// Path is the real absolute path of the folder.
func (r *Root) Path() string { return r.path }

// host is the target that names are judged for here.
func host() Target {
	switch runtime.GOOS {
	case "windows":
		return Windows
	case "darwin", "ios":
		return Folding
	}
	return Posix
}

// Check is the judgement of a path by its text alone: everything that can be said without asking the file system.
func (r *Root) Check(path string) error {
	_, err := r.elements(path)
	return err
}

// elements are the elements of path below the root. It judges names only.
func (r *Root) elements(path string) ([]string, error) {
	if err := r.names.form(path); err != nil {
		return nil, err
	}
	rest := split(path)
	if strings.HasPrefix(path, "/") {
		var inside bool
		if rest, inside = r.below(rest); !inside {
			return nil, outside(path)
		}
	}
	if err := r.names.elements(path, rest); err != nil {
		return nil, err
	}
	last := rest[max(0, len(rest)-1):]
	rest = solid(rest)
	if len(last) == 1 && (last[0] == "" || last[0] == ".") {
		rest = append(rest, ".") // what stands before must be a folder
	}
	return rest, nil
}

// below takes the root's own elements off an absolute path. They are compared whole, as they are written.
func (r *Root) below(elements []string) ([]string, bool) {
	for _, base := range r.bases {
		rest, k := elements, 0
		for ; k < len(base); k++ {
			for len(rest) > 0 && (rest[0] == "" || rest[0] == ".") {
				rest = rest[1:]
			}
			if len(rest) == 0 || !r.sameName(rest[0], base[k]) {
				break
			}
			rest = rest[1:]
		}
		if k == len(base) {
			return rest, true
		}
	}
	return nil, false
}

func (r *Root) sameName(a, b string) bool {
	if r.names.Target == Posix {
		return a == b
	}
	return normal(a) == normal(b)
}

// solid leaves out the elements that change nothing.
func solid(elements []string) []string {
	var s []string
	for _, e := range elements {
		if e != "" && e != "." {
			s = append(s, e)
		}
	}
	return s
}

// kindOf sorts an error of the file system.
func kindOf(err error) jackline.Kind {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return jackline.NotFound
	case errors.Is(err, fs.ErrPermission):
		return jackline.Forbidden
	case errors.Is(err, fs.ErrExist):
		return jackline.Conflict
	}
	return jackline.Unprocessed
}

// reason says what was wrong in words that hold no path.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file or folder"
	case errors.Is(err, fs.ErrPermission):
		return "the system does not allow it"
	case errors.Is(err, fs.ErrExist):
		return "it exists already"
	case errors.Is(err, errNoSpace):
		return "the disk is full"
	case errors.Is(err, errNotFolder):
		return "a part of the path is not a folder"
	}
	return "the system refused"
}

// joinHost is the absolute path of a path from the root, as this system writes it.
func joinHost(root, rel string) string { return filepath.Join(root, filepath.FromSlash(rel)) }
