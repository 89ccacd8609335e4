// Package cell is where the commands of a workspace run: held by the system's sandbox to the workspace, a home and a temporary
// folder of their own, with an environment that fits these, and a proxy to the hosts that were granted, if any.
//
// Two steps belong together. [Cell.Plan] says what would hold a command, as far as its text and the machine tell; that is
// judged, and shown to whoever is asked. [Cell.Enter] makes exactly that. What a command needs and the plan does not open,
// it does not get.
package cell

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/egress"
	"github.com/jackline-ai/jackline/job"
	"github.com/jackline-ai/jackline/sandbox"
	"github.com/jackline-ai/jackline/workspace"
)

// Named limits.
const (
	// maxOpen bounds the files and folders outside that one command is given: nobody reads more on a card.
	maxOpen = 32
	// maxPatterns is how many of an owner's paths of one kind there may be.
	maxPatterns = 100
)

// Options are what all cells have in common.
type Options struct {
	Launcher *sandbox.Launcher // nil holds nothing
	Guard    *egress.Guard     // through which commands reach hosts; nil is never

	Data  string   // the folder that homes are kept in
	State []string // the program's own folders: nothing in them is ever opened, but homes
	Home  string   // the person's home folder

	Read, Write []string // the owner's lists of what every command may use, whole paths or from ~ on
	KeepEnv     []string // names of variables that commands inherit whatever they look like
	Environ     []string // the program's own environment
}

// Cells are the cells of all workspaces.
type Cells struct {
	o      Options
	home   string // the person's, without links
	closed []string

	once  sync.Once
	tools toolbox
	tried atomic.Pointer[sandbox.Report] // what was found when it was tried out; nil before
}

// New makes the cells. An owner's list that names what cannot be opened is Invalid.
func New(o Options) (*Cells, error) {
	c := &Cells{o: o, home: real(o.Home)}
	for _, s := range o.State {
		if s = real(s); !slices.Contains(c.closed, s) {
			c.closed = append(c.closed, s)
		}
	}
	var err error
	if c.o.Read, err = c.listed("sandbox.read", o.Read, false); err != nil {
		return nil, err
	}
	if c.o.Write, err = c.listed("sandbox.write", o.Write, true); err != nil {
		return nil, err
	}
	for _, name := range o.KeepEnv {
		if name == "" || strings.ContainsAny(name, "=\x00*") {
			return nil, jackline.E("cell.New", jackline.Invalid, nil, "sandbox.keepEnv: %q is no name of a variable. Name each in full.", name)
		}
	}
	return c, nil
}

// listed checks an owner's list of paths and makes them whole. What is not there is left out when a command starts.
func (c *Cells) listed(key string, paths []string, write bool) ([]string, error) {
	const op = "cell.New"
	if len(paths) > maxPatterns {
		return nil, jackline.E(op, jackline.Invalid, nil, "%s names more than %d paths.", key, maxPatterns)
	}
	var list []string
	for _, p := range paths {
		whole := p
		if rest, ok := strings.CutPrefix(p, "~/"); ok && c.o.Home != "" {
			whole = filepath.Join(c.o.Home, rest)
		}
		if !filepath.IsAbs(whole) || strings.ContainsAny(whole, "\x00\n,") {
			return nil, jackline.E(op, jackline.Invalid, nil, "%s: %q must be a whole path, or begin with ~/.", key, p)
		}
		whole = real(filepath.Clean(whole))
		if why := c.unfit(whole, write); why != "" {
			return nil, jackline.E(op, jackline.Invalid, nil, "%s: %q cannot be opened to commands: it %s. Name a folder in it.", key, p, why)
		}
		list = append(list, whole)
	}
	return list, nil
}

// unfit says why a path can never be opened to a command, or "".
func (c *Cells) unfit(path string, write bool) string {
	if filepath.Dir(path) == path {
		return "is the whole file system"
	}
	if c.home != "" && inside(path, c.home) {
		return "is a whole home folder, or holds it"
	}
	for _, s := range c.closed {
		if inside(path, s) || inside(s, path) {
			return "holds Jackline's own settings or data"
		}
	}
	switch {
	case inside("/proc", path), inside("/sys", path), inside("/dev", path):
		return "is no folder of files"
	case write && (system(path) && !inside("/opt", path) || inside("/boot", path)):
		return "is a folder of the system"
	case write && slices.Contains([]string{"/opt", "/var", "/tmp", "/var/tmp", "/home", "/srv", "/mnt", "/media", "/run", "/root", "/Users"}, path):
		return "is a folder that the whole system shares"
	}
	return ""
}

// real is a path without links, as far as it is there.
func real(path string) string {
	if path == "" {
		return ""
	}
	if p, err := filepath.EvalSymlinks(path); err == nil {
		return p
	}
	if up := filepath.Dir(path); up != path {
		return filepath.Join(real(up), filepath.Base(path))
	}
	return path
}

// Report is what the sandbox of this machine can do; the zero Report where there is none. The first call tries it out, which takes
// some ten milliseconds.
func (c *Cells) Report() sandbox.Report {
	if c.o.Launcher == nil {
		return sandbox.Report{Why: "There is no sandbox here.", Processes: "none"}
	}
	r := c.o.Launcher.Report()
	c.tried.Store(&r)
	return r
}

// In is the cell of a workspace.
func (c *Cells) In(root *workspace.Root) *Cell { return &Cell{c: c, root: root} }

// A Cell is where the commands of one workspace run. Several may run at once.
type Cell struct {
	c    *Cells
	root *workspace.Root
}

// Why says why commands cannot be held here, in a sentence; "" where they can, as far as is known: nothing is tried out for it, since
// every prompt asks.
func (k *Cell) Why() string {
	r := k.c.tried.Load()
	switch {
	case k.c.o.Launcher == nil:
		return "There is no sandbox here."
	case r == nil && runtime.GOOS == "linux", r != nil && r.Level > jackline.SandboxNone:
		return ""
	case r != nil && r.Why != "":
		return r.Why
	}
	return "There is no sandbox on this machine."
}

// Home is the folder that commands of a workspace have for a home. It is there once one has run.
func (c *Cells) Home(workspace string) string {
	sum := sha256.Sum256([]byte(workspace))
	return filepath.Join(c.o.Data, "homes", hex.EncodeToString(sum[:12]))
}

// Plan says what would hold a command that uses what its text names and besides may reach hosts, each as host or host:port. It
// looks at names and links, and opens folders of the workspace where the level asks for it.
func (k *Cell) Plan(u jackline.Uses, hosts []string) (jackline.Sandbox, error) {
	s := jackline.Sandbox{Level: k.c.Report().Level}
	if s.Level == jackline.SandboxNone {
		return s, nil
	}
	if err := k.hosts(&s, u.Hosts, hosts); err != nil {
		return s, err
	}
	for _, name := range u.Reads {
		k.open(&s, name, false, false)
	}
	for _, name := range u.Writes {
		k.open(&s, name, true, false)
	}
	for _, name := range u.Deletes {
		k.open(&s, name, true, true)
	}
	store := filepath.Join(k.root.Path(), ".git")
	if u.Settings {
		k.open(&s, filepath.Join(store, "config"), true, false)
	}
	s.Repository = u.Repository || slices.ContainsFunc(s.Write, func(p string) bool { return inside(store, p) })
	found, err := k.root.Shields()
	if err != nil {
		return s, err
	}
	switch {
	case !found.Whole:
		s.Leaks = "The folder holds more than can be looked through for keys and credentials, so these cannot be kept from commands."
	case s.Level == jackline.SandboxLandlock && found.Any():
		s.Leaks = "The folder holds protected files (keys, credentials or .git), which this machine's sandbox cannot keep from commands."
	case s.Level == jackline.SandboxLandlock && len(s.Hosts) > 0:
		s.Leaks = "Without namespaces the network can be held by its ports alone, so the command could reach other programs that listen at the same one."
	case slices.ContainsFunc(found.List, func(x workspace.Shield) bool { return x.Link }):
		s.Leaks = "The folder holds a link with a protected name, which cannot be kept from commands."
	}
	slices.Sort(s.Read)
	slices.Sort(s.Write)
	return s, nil
}

// hosts opens the hosts that a text names, and those that were asked for. What the guard would refuse anyway is an error where it
// was asked for, and nothing where the text only seems to name it.
func (k *Cell) hosts(s *jackline.Sandbox, named, asked []string) error {
	if k.c.o.Guard == nil {
		return nil
	}
	add := func(origin string) {
		if !slices.Contains(s.Hosts, origin) {
			s.Hosts = append(s.Hosts, origin)
		}
	}
	for n, h := range append(slices.Clone(asked), named...) {
		h = strings.TrimSpace(h)
		ports := []string{h}
		if o, err := k.c.o.Guard.Origin(h + ":443"); err == nil { // it has no port of its own
			add(o)
			ports = []string{h + ":80"}
		}
		for _, p := range ports {
			o, err := k.c.o.Guard.Origin(p)
			switch {
			case err == nil:
				add(o)
			case n < len(asked):
				return jackline.E("cell.Plan", jackline.KindOf(err), err, "A command cannot be given the host %.80q: %s", h, jackline.Say(err))
			}
		}
	}
	if len(s.Hosts) > maxOpen {
		return jackline.E("cell.Plan", jackline.Invalid, nil, "The command names more than %d hosts.", maxOpen)
	}
	slices.Sort(s.Hosts)
	return nil
}

// open adds what a command names to what is open to it, where it is not anyway and may be.
func (k *Cell) open(s *jackline.Sandbox, name string, write, gone bool) {
	if !filepath.IsAbs(name) || strings.Contains(name, "?") {
		return // the text does not tell which it is
	}
	if at := strings.IndexByte(name, '*'); at >= 0 {
		name = name[:strings.LastIndexByte(name[:at], '/')+1]
	}
	name = filepath.Clean(name)
	add := func(path string) {
		list := &s.Read
		if write {
			list = &s.Write
		}
		if !slices.Contains(*list, path) && len(s.Read)+len(s.Write) < maxOpen {
			*list = append(*list, path)
		}
	}
	if rel, err := filepath.Rel(k.root.Path(), name); err == nil && filepath.IsLocal(rel) {
		// Of the workspace only what is protected has to be opened. The git store is readable.
		if k.root.Protects(filepath.ToSlash(rel)) && (write || !inside(filepath.Join(k.root.Path(), ".git"), name)) {
			add(name)
		}
		return
	}
	if name = real(name); k.anyway(name, write) || k.c.unfit(name, false) != "" {
		return
	}
	_, err := os.Lstat(name)
	switch {
	case err == nil && !gone:
		add(name)
	case !write:
	default:
		// To make or remove something takes its folder.
		up := filepath.Dir(name)
		for up != filepath.Dir(up) {
			if _, err := os.Lstat(up); err == nil {
				break
			}
			up = filepath.Dir(up)
		}
		if k.c.unfit(up, true) == "" && !system(up) {
			add(up)
		} else if up == filepath.Dir(name) {
			add(name)
		}
	}
}

// anyway reports whether every command of the cell can use a path.
func (k *Cell) anyway(path string, write bool) bool {
	within := func(list []string) bool {
		return slices.ContainsFunc(list, func(p string) bool { return inside(p, path) })
	}
	switch {
	case within(k.c.o.Write), inside(k.c.Home(k.root.Path()), path), inside("/dev", path):
		return true
	case k.Fleeting(path):
		return true
	case write:
		return false
	}
	k.c.prepare()
	return system(path) || within(k.c.o.Read) || within(k.c.tools.read)
}

// shared is the folder for temporary files that all programs of a machine share. Where there are namespaces, each command has one of
// its own in its place.
const shared = "/tmp"

// Fleeting reports whether what a command puts at a path is gone when the command ends: it lies in the command's own /tmp, on the way
// to nothing that is there outside.
func (k *Cell) Fleeting(path string) bool {
	path = real(filepath.Clean(path))
	if path == shared || !inside(shared, path) || inside(k.root.Path(), path) || k.c.Report().Level < jackline.SandboxNamespaces {
		return false
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, shared+"/"), "/")
	return errors.Is(stat(filepath.Join(shared, first)), fs.ErrNotExist)
}

// prepare looks along the search path, once.
func (c *Cells) prepare() {
	c.once.Do(func() { c.tools = tools(c.o.Environ, c.home, c.closed) })
}

// Enter makes the place that s describes. What s was allowed to hold and the machine cannot hold any more is an error.
func (k *Cell) Enter(ctx context.Context, s jackline.Sandbox) (job.Place, error) {
	if s.Level == jackline.SandboxNone {
		return k.plain()
	}
	return k.held(ctx, s)
}

// plain is a place that holds nothing.
func (k *Cell) plain() (job.Place, error) {
	temp, err := os.MkdirTemp("", "jackline-")
	if err != nil {
		return job.Place{}, jackline.E("cell.Enter", jackline.Unavailable, err, "No temporary folder can be made: is the disk full?")
	}
	env := job.Env(k.c.o.Environ, append(k.c.keep(), "TMPDIR="+temp)...)
	return job.Place{Env: env, Temp: temp, Leave: func(context.Context) []string { return discard(temp) }}, nil
}

// discard removes a folder that belonged to a command, whatever it made of it.
func discard(dir string) []string {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(p, 0o700) //nolint:gosec // a folder without rights cannot be emptied
		}
		return nil
	})
	if os.RemoveAll(dir) != nil {
		return []string{"[the command's temporary folder " + dir + " could not be removed]"}
	}
	return nil
}
