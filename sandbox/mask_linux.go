//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/jackline-ai/jackline/sandbox/stage"
)

// protect covers what is masked and fastens what is only to be read, parents first. A mount cannot be moved or removed,
// but a folder around it can, so the folders on the way to it are fastened too, by mounting each onto itself.
func (p *planner) protect(s *Spec, secrets []string, out *plan) {
	type cover struct {
		path string
		kind int
	}
	const (
		fasten = iota
		readOnly
		mask
	)
	covers := map[string]int{}
	add := func(path string, kind int) { covers[path] = max(covers[path], kind) }
	for _, path := range secrets {
		add(path, mask)
	}
	out.masks = &placeholders{}
	for _, list := range [...]struct {
		paths []string
		kind  int
	}{{s.Masks, mask}, {s.ReadOnly, readOnly}} {
		for _, path := range list.paths {
			target, linked := out.masks.target(path, p.shown)
			if linked {
				out.unmasked = append(out.unmasked, path)
			}
			in, ok := over(p.shown, target)
			if !ok || !in.write && list.kind == readOnly {
				continue // it is not seen, or cannot be changed anyway
			}
			if out.masks.holds(target) {
				add(target, mask)
			} else {
				add(target, list.kind)
			}
			if !in.write {
				continue
			}
			for d := filepath.Dir(target); len(d) > len(in.path); d = filepath.Dir(d) {
				add(d, fasten)
			}
		}
	}
	sorted := make([]cover, 0, len(covers))
	for path, kind := range covers {
		sorted = append(sorted, cover{path, kind})
	}
	slices.SortFunc(sorted, func(a, b cover) int { return strings.Compare(a.path+"/", b.path+"/") })
	masked := "\x00"
	for _, c := range sorted {
		if strings.HasPrefix(c.path, masked+"/") {
			continue // in something that is masked
		}
		step := stage.Step{Kind: stage.BindHere, From: c.path, Path: c.path, ReadOnly: c.kind == readOnly}
		if c.kind == mask {
			masked = c.path
			step.From, step.Devices = "/dev/null", true
			if info, err := os.Lstat(c.path); err == nil && info.IsDir() {
				step.From, step.Devices, step.ReadOnly = emptyFolder, false, true
			}
		}
		p.steps = append(p.steps, step)
	}
}

// placeholders are files that were made so that something that is missing can be covered: nothing can be mounted where
// nothing is. They are empty, and go when the last command that needs them ends. Each command holds a lock on those that it
// needs, which other programs see too; one that was left over from a crash is known by its mode, and goes as well.
type placeholders struct{ held []placeholder }

type placeholder struct {
	path string
	file *os.File
}

// placeholderMode is that of no file that anybody makes: only its owner may read it, and it has the bit of shared folders.
const placeholderMode = unix.S_ISVTX | 0o400

// target is the path to cover for a path: itself without links on the way, or where it is missing a placeholder for the
// first part of it that is missing. It also says whether there is a link on the way, or at its end, in a folder that can be
// written: whoever does so can put something else in its place, which cannot be kept from him.
func (h *placeholders) target(path string, list []shown) (target string, linked bool) {
	at := "/"
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, name := range parts {
		next := filepath.Join(at, name)
		in, ok := over(list, next)
		writable := ok && in.write && next != in.path
		var st unix.Stat_t
		err := unix.Lstat(next, &st)
		switch kind := st.Mode & unix.S_IFMT; {
		case errors.Is(err, unix.ENOENT):
			if writable {
				h.place(next)
			}
			return next, linked
		case err != nil:
			return next, linked // it cannot be reached, so the command cannot either
		case kind == unix.S_IFLNK:
			linked = linked || writable
			if next, err = filepath.EvalSymlinks(next); err != nil {
				return path, linked
			}
		case kind == unix.S_IFREG && st.Size == 0 && st.Mode&^unix.S_IFMT == placeholderMode && writable:
			h.place(next) // another command's, or left over
			return next, linked
		case kind != unix.S_IFDIR && i < len(parts)-1:
			return next, linked // something else is in the way: nobody can make a folder there while it is covered
		}
		at = next
	}
	return at, linked
}

// place makes a placeholder, or takes part in one. Where it cannot be made the command cannot make anything either: its
// rights are the same, or less.
func (h *placeholders) place(path string) {
	if h.holds(path) {
		return
	}
	const tries = 100 // each time, another command was just taking it away
	for range tries {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) {
			fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, placeholderMode)
			if errors.Is(err, unix.EEXIST) {
				continue
			}
		}
		if err != nil {
			return
		}
		file := os.NewFile(uintptr(fd), path) //nolint:gosec // a descriptor
		if unix.Flock(fd, unix.LOCK_SH|unix.LOCK_NB) == nil && isPlaceholder(file, path) {
			h.held = append(h.held, placeholder{path, file})
			return
		}
		_ = file.Close()
	}
}

// isPlaceholder reports whether an open file is a placeholder, and the one at a path.
func isPlaceholder(file *os.File, path string) bool {
	var here, there unix.Stat_t
	if unix.Fstat(int(file.Fd()), &here) != nil || unix.Lstat(path, &there) != nil { //nolint:gosec // a descriptor
		return false
	}
	return here.Dev == there.Dev && here.Ino == there.Ino && here.Size == 0 && here.Mode == unix.S_IFREG|placeholderMode
}

func (h *placeholders) holds(path string) bool {
	return slices.ContainsFunc(h.held, func(p placeholder) bool { return p.path == path })
}

// remove takes the placeholders away that no other command needs.
func (h *placeholders) remove() {
	for _, p := range h.held {
		if unix.Flock(int(p.file.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && isPlaceholder(p.file, p.path) { //nolint:gosec // a descriptor
			_ = os.Remove(p.path)
		}
		_ = p.file.Close()
	}
	h.held = nil
}
