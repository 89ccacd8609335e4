package workspace

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/workspace/textfile"
)

// Named limits of looking around.
const (
	// MaxEntries bounds the folders that are shown of one folder: more are not looked through by eye.
	MaxEntries = 500
	// maxNamed bounds the protected names that are listed.
	maxNamed = 20
)

// A Crumb is a folder by name and path.
type Crumb struct {
	Name string `json:"name"`
	Path string `json:"path"`
}

// A Listing is the folders in a folder, for a person who looks for one.
type Listing struct {
	Path    string  `json:"path"`  // real and absolute
	Above   []Crumb `json:"above"` // the folders above it that can be looked into, the highest first
	Folders []Crumb `json:"folders"`
	More    int     `json:"more"` // folders that are left out because there are too many
}

// Browse lists the folders in dir, a path as [Vet] takes it; "" is the home folder. Folders that are hidden, linked, protected or the
// program's own are left out. The root, the system's folders and those are not looked into at all. It is for whoever administers the server: the
// workspaces of others are not hidden from it.
func Browse(dir string, o Options) (Listing, error) {
	const op = "workspace.Browse"
	home, _ := os.UserHomeDir()
	if dir == "" {
		dir = home
	}
	real, err := realFolder(op, dir)
	if err != nil {
		return Listing{}, err
	}
	home = realHome(home)
	o.State = slices.Clone(o.State)
	for i, s := range o.State {
		if r, err := filepath.EvalSymlinks(s); err == nil {
			o.State[i] = r
		}
	}
	if err := open(dir, real, home, o); err != nil {
		return Listing{}, err
	}
	f, err := os.Open(real)
	if err != nil {
		return Listing{}, jackline.E(op, kindOf(err), err, "%s cannot be looked into: %s.", quote(dir), reason(err))
	}
	entries, err := f.ReadDir(maxFolder)
	if cerr := f.Close(); cerr != nil || err != nil && len(entries) == 0 && !isEOF(err) {
		return Listing{}, jackline.E(op, kindOf(err), err, "%s cannot be looked into: %s.", quote(dir), reason(err))
	}
	l := Listing{Path: real, Above: []Crumb{}, Folders: []Crumb{}}
	for _, e := range entries {
		path := filepath.Join(real, e.Name())
		if e.IsDir() && open(path, path, home, o) == nil { // a link is none
			l.Folders = append(l.Folders, Crumb{e.Name(), path})
		}
	}
	slices.SortFunc(l.Folders, func(a, b Crumb) int {
		if n := strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)); n != 0 {
			return n
		}
		return strings.Compare(a.Name, b.Name)
	})
	if n := len(l.Folders); n > MaxEntries {
		l.Folders, l.More = l.Folders[:MaxEntries], n-MaxEntries
	}
	for up := filepath.Dir(real); up != filepath.Dir(up) && open(up, up, home, o) == nil; up = filepath.Dir(up) {
		l.Above = append(l.Above, Crumb{filepath.Base(up), up})
	}
	slices.Reverse(l.Above)
	return l, nil
}

// open says why a folder may not be looked into, or nil. No path has links in it.
func open(given, real, home string, o Options) error {
	const op = "workspace.Browse"
	names := Names{Target: host(), State: StateNames()}
	path, home := filepath.ToSlash(real), filepath.ToSlash(home)
	switch why := unfit(path, home); why {
	case "", wholeHome, someHome, aboveHomes, shared:
	default:
		return jackline.E(op, jackline.Forbidden, nil, "%s %s, which is not looked into.", quote(given), why)
	}
	below := path
	if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(home, "/")+"/"); ok && home != "" {
		below = rest // whatever home is called
	} else if path == home {
		below = ""
	}
	for _, e := range solid(split(below)) {
		if strings.HasPrefix(e, ".") || names.Protected(e) {
			return jackline.E(op, jackline.Forbidden, nil, "%s is hidden or protected; name another folder.", quote(given))
		}
	}
	for _, s := range o.State {
		if inFolder(s, real) && !inFolder(filepath.Join(s, "workspace"), real) {
			return jackline.E(op, jackline.Forbidden, nil, "%s holds Jackline's own settings and data.", quote(given))
		}
	}
	return nil
}

// Facts are what a person wants to know of a workspace before work begins in it.
type Facts struct {
	Git       bool     `json:"git"`       // it is the top of a git repository
	Guide     int      `json:"guide"`     // size of its AGENTS.md in bytes; 0 where there is none
	Protected []string `json:"protected"` // names right in it that no tool may touch; the first few
	Entries   int      `json:"entries"`   // files and folders right in it
}

// GuideFile is where a folder keeps its instructions for agents.
const GuideFile = "AGENTS.md"

// Facts looks at what is right in the folder, and opens nothing.
func (r *Root) Facts(ctx context.Context) (Facts, error) {
	names, err := r.top.list(maxFolder)
	if err != nil {
		return Facts{}, failure(r.path, err)
	}
	slices.Sort(names)
	f := Facts{Protected: []string{}, Entries: len(names)}
	for _, n := range names {
		if err := ctx.Err(); err != nil {
			return f, err
		}
		switch {
		case n == ".git":
			f.Git = true
		case n == GuideFile:
			if e, err := r.top.lstat(n); err == nil && e.mode.IsRegular() {
				f.Guide = int(min(e.size, 1<<30))
			}
		}
		if r.names.Protected(n) && len(f.Protected) < maxNamed {
			f.Protected = append(f.Protected, textfile.Valid(n))
		}
	}
	return f, nil
}

// Guide reads the folder's instructions, which stand in its AGENTS.md; "" where there are none that can be read.
func (r *Root) Guide(ctx context.Context) (string, error) {
	if e, err := r.top.lstat(GuideFile); err != nil || !e.mode.IsRegular() {
		return "", nil //nolint:nilerr // a folder without it is the usual one; a link would lead to a file that nobody trusted
	}
	f, err := r.Read(ctx, GuideFile)
	if err != nil {
		return "", err
	}
	t, ok := textfile.Decode(f.Data)
	if !ok {
		return "", jackline.E("workspace.Guide", jackline.Unprocessed, nil, "%s is no text.", quote(GuideFile))
	}
	return textfile.Valid(t.Body), nil
}
