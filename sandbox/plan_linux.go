//go:build linux && (amd64 || arm64)

package sandbox

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/jackline-ai/jackline/sandbox/stage"
)

// A planner writes down the machine that a command sees: an empty root, into which only what is given is shown, where it
// lies outside.
type planner struct {
	steps []stage.Step
	made  map[string]bool // folders and links of the root
	shown []shown         // in the order of paths
	named [][2]string     // what a Spec calls them, and what they are without links
}

// shown is a file or folder that is to be seen in the machine.
type shown struct {
	path   string // without links
	write  bool
	folder bool
}

const maxLinks = 40 // as many as the kernel follows

// find follows a path through all links, and makes the folders and links on the way in the root, so that the path can be
// followed there too. It returns "" where nothing is.
func (p *planner) find(path string) string {
	rest := strings.Split(strings.TrimPrefix(path, "/"), "/")
	at := "/"
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if err != nil {
			return ""
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if len(rest) > 0 {
				p.folder(next)
			}
			at = next
			continue
		}
		to, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return ""
		}
		if !p.made[next] {
			p.made[next] = true
			p.steps = append(p.steps, stage.Step{Kind: stage.MakeLink, From: to, Path: next})
		}
		rest = append(strings.Split(to, "/"), rest...)
		if strings.HasPrefix(to, "/") {
			at = "/"
		}
	}
	return at
}

func (p *planner) folder(path string) {
	if !p.made[path] {
		p.made[path] = true
		p.steps = append(p.steps, stage.Step{Kind: stage.MakeDir, Path: path})
	}
}

// show adds a path to what is seen, and returns it without links, or "" where nothing is.
func (p *planner) show(path string, write bool) string {
	real := p.find(path)
	if real == "" || real == "/" {
		return ""
	}
	info, err := os.Lstat(real)
	if err != nil {
		return ""
	}
	p.shown = append(p.shown, shown{real, write, info.IsDir()})
	p.named = append(p.named, [2]string{path, real})
	return real
}

func below(path, folder string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, folder+"/")
}

// over is the innermost of what is shown so far that a path lies in.
func over(list []shown, path string) (shown, bool) {
	for i := len(list) - 1; i >= 0; i-- {
		if below(path, list[i].path) {
			return list[i], true
		}
	}
	return shown{}, false
}

// bind makes steps of what is to be shown: what lies in something else that opens as much needs none of its own.
func (p *planner) bind() {
	slices.SortStableFunc(p.shown, func(a, b shown) int {
		if c := strings.Compare(a.path+"/", b.path+"/"); c != 0 {
			return c
		}
		return boolInt(b.write) - boolInt(a.write)
	})
	var list []shown
	for _, s := range p.shown {
		in, covered := over(list, s.path)
		if covered && (in.write || !s.write) {
			continue
		}
		if !covered {
			if s.folder {
				p.folder(s.path)
			} else {
				p.steps = append(p.steps, stage.Step{Kind: stage.MakeFile, Path: s.path})
			}
		}
		p.steps = append(p.steps, stage.Step{Kind: stage.BindFrom, From: s.path, Path: s.path, ReadOnly: !s.write})
		list = append(list, s)
	}
	p.shown = list
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// emptyFolder is shown in the place of folders that are masked.
const emptyFolder = "/.empty"

// basis plans what every machine has.
func (m *machine) basis() *planner {
	p := &planner{made: map[string]bool{"/proc": true}}
	p.folder(emptyFolder)
	for _, d := range [...]string{"/tmp", "/dev", "/dev/pts", "/dev/shm", "/run", "/var"} {
		p.folder(d)
	}
	for _, d := range devices {
		p.steps = append(p.steps, stage.Step{Kind: stage.MakeFile, Path: d}, stage.Step{Kind: stage.BindFrom, From: d, Path: d, Devices: true})
	}
	p.steps = append(p.steps, stage.Step{Kind: stage.Terminals, Path: "/dev/pts"})
	for _, l := range [...][2]string{
		{"/dev/ptmx", "pts/ptmx"}, {"/dev/fd", "/proc/self/fd"}, {"/dev/stdin", "/proc/self/fd/0"}, {"/dev/stdout", "/proc/self/fd/1"},
		{"/dev/stderr", "/proc/self/fd/2"},
	} {
		p.steps = append(p.steps, stage.Step{Kind: stage.MakeLink, From: l[1], Path: l[0]})
		p.made[l[0]] = true
	}
	for _, f := range systemFolders {
		p.show(f, false)
	}
	p.show("/etc", false)
	return p
}

// A plan is a machine for one command, and what has to be taken away after it.
type plan struct {
	stage.Plan
	unmasked []string
	masks    *placeholders
}

// plan writes down the machine for a Spec. In the machine, everything that is seen can be read; Landlock repeats what can
// be written.
func (m *machine) plan(s *Spec) (*plan, error) {
	base := m.base
	p := &planner{steps: slices.Clone(base.steps), made: maps.Clone(base.made), shown: slices.Clone(base.shown), named: slices.Clone(base.named)}
	out := &plan{}
	from := len(p.shown)
	workspace := p.show(s.Workspace, true)
	if workspace == "" {
		return nil, fmt.Errorf("no workspace at %s", s.Workspace)
	}
	temp := ""
	for _, path := range [...]string{s.Home, s.Temp} {
		if path == "" {
			continue
		}
		real := p.show(path, true)
		if real == "" {
			return nil, fmt.Errorf("no folder at %s", path)
		}
		if path == s.Temp {
			temp = real
		}
	}
	for _, path := range s.Read {
		p.show(path, false)
	}
	for _, path := range s.Write {
		p.show(path, true)
	}
	given := p.shown[from:]
	if kept := "/var/tmp"; !p.made[kept] { // nothing that is given lies there
		p.steps = append(p.steps, stage.Step{Kind: stage.MakeLink, From: "/tmp", Path: kept})
	}

	// /tmp is the private folder, unless something that is given lies in it: then places for that have to be made there,
	// which is nothing for a folder that somebody looks at afterwards.
	size := s.Limits.Shared
	if size == 0 {
		size = DefaultShared
	}
	memory := fmt.Sprintf("mode=1777,size=%d", size)
	if size < 0 {
		memory = "mode=1777"
	}
	tmp := stage.Step{Kind: stage.Memory, Path: "/tmp", From: memory}
	if temp != "" && !slices.ContainsFunc(given, func(g shown) bool { return below(g.path, "/tmp") }) {
		tmp = stage.Step{Kind: stage.BindFrom, Path: "/tmp", From: temp}
	}
	// Both come before what is made in them.
	at := slices.IndexFunc(p.steps, func(st stage.Step) bool { return st.Path == "/dev/shm" }) + 1
	p.steps = slices.Insert(p.steps, at, tmp, stage.Step{Kind: stage.Memory, Path: "/dev/shm", From: memory})

	out.Rules = append(out.Rules, stage.Rule{Path: "/", Access: stage.Reads}, stage.Rule{Path: "/tmp", Access: stage.Writes},
		stage.Rule{Path: "/dev/shm", Access: stage.Writes}, stage.Rule{Path: "/dev/pts", Access: stage.Reads | stage.Device})
	for _, d := range devices {
		out.Rules = append(out.Rules, stage.Rule{Path: d, Access: stage.Device})
	}
	for _, g := range given {
		if g.write {
			r := stage.Rule{Path: g.path, Access: stage.Writes}
			if !g.folder {
				r.Access &= stage.FileRights
			}
			out.Rules = append(out.Rules, r)
		}
	}
	p.bind()
	if s.Dir != nil {
		var st syscall.Stat_t
		if err := syscall.Fstat(int(s.Dir.Fd()), &st); err != nil { //nolint:gosec // a descriptor
			return nil, err
		}
		p.recognize(workspace, uint64(st.Dev), st.Ino) //nolint:unconvert // of another size elsewhere
	}
	secrets := m.secrets
	if m.abi < abiLocalSockets {
		secrets = append(slices.Clone(secrets), p.sockets()...)
	}
	p.protect(s, secrets, out)
	out.Steps = p.steps
	return out, nil
}

// recognize has the stage see to it that what is shown at a path is a certain file. If it lies in something that is shown,
// it is shown once more for that.
func (p *planner) recognize(path string, dev, ino uint64) {
	i := slices.IndexFunc(p.steps, func(s stage.Step) bool { return s.Kind == stage.BindFrom && s.Path == path })
	if i < 0 {
		p.steps = append(p.steps, stage.Step{Kind: stage.BindHere, From: path, Path: path})
		i = len(p.steps) - 1
	}
	p.steps[i].Dev, p.steps[i].Ino = dev, ino
}

// sockets lists the sockets of other programs that lie in what is shown. Whoever sees one can connect to it, and rules of
// Landlock keep nobody from that before its ninth version, so they are masked. A socket that was bound by a relative name,
// or after this, is missed.
func (p *planner) sockets() (list []string) {
	b, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil
	}
	const fields = 8 // the last is the path, which may hold anything
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", fields)
		if len(f) < fields {
			continue
		}
		at := strings.IndexByte(f[fields-1], '/')
		if at < 0 {
			continue
		}
		path := f[fields-1][at:]
		for _, n := range p.named {
			if !below(path, n[0]) {
				continue
			}
			real := filepath.Join(n[1], strings.TrimPrefix(path, n[0]))
			if info, err := os.Lstat(real); err == nil && info.Mode()&fs.ModeSocket != 0 {
				list = append(list, real)
			}
			break
		}
	}
	return list
}
