package shell

import (
	"path"
	"slices"
	"strings"
)

// tidy is a path of either system with slashes only, doubled ones and dots removed. A drive keeps its slash.
func tidy(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if p == "" {
		return ""
	}
	rooted := strings.HasPrefix(p, "//")
	p = path.Clean(p)
	if len(p) == 2 && drive(p) {
		p += "/"
	}
	if rooted && strings.Count(p, "/") == 1 && p != "/" {
		return p
	}
	return p
}

// drive reports whether a path starts with the name of a drive.
func drive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// at is the absolute, clean form of p seen from dir. On Windows paths backslashes have become slashes before.
func at(dir, p string) string {
	switch {
	case strings.HasPrefix(p, "/"):
		return path.Clean(p)
	case drive(p):
		if len(p) == 2 || p[2] != '/' {
			p = p[:2] + "/" + p[2:]
		}
		root := p[:2]
		return root + path.Clean(p[2:])
	case drive(dir):
		return dir[:2] + path.Join("/", dir[2:], p)
	}
	return path.Join("/", dir, p)
}

// elements are the parts of an absolute path.
func elements(p string) []string {
	if p = strings.Trim(p, "/"); p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

// everything reports whether the last element of a path means all that its folder holds.
func everything(elem string) bool {
	return elem != "" && strings.ContainsRune(elem, star) && strings.Trim(elem, string([]rune{star, mark, '.'})) == ""
}

// folder is p without a last element that means everything in it.
func folder(p string) string {
	if k := strings.LastIndexByte(p, '/'); k >= 0 && everything(p[k+1:]) {
		if k == 0 || k == 2 && drive(p) {
			return p[:k+1]
		}
		return p[:k]
	}
	return p
}

// like reports whether the elements of p can be those of want, in which "*" stands for any one.
func like(p []string, want ...string) bool {
	if len(p) != len(want) {
		return false
	}
	for k, w := range want {
		if w != "*" && !match(p[k], w) {
			return false
		}
	}
	return true
}

// whole reports whether a path is one of those that must not go as a whole (T1), or everything in one.
func (w World) whole(p string) bool {
	p = folder(p)
	if drive(p) {
		return w.windows(p)
	}
	e := elements(p)
	if len(e) == 0 {
		return true
	}
	for _, one := range []string{"home", "Users", "var", "opt", "srv", "mnt", "media", "run", "Volumes"} {
		if like(e, one) {
			return true
		}
	}
	if like(e, "home", "*") || like(e, "Users", "*") || like(e, "usr", "local") {
		return true
	}
	if len(e) == 2 && match(e[0], "mnt") && (len(e[1]) == 1) {
		return true
	}
	for _, dir := range []string{w.Home, path.Dir(w.Workspace)} {
		for d := elements(dir); len(d) > 0; d = d[:len(d)-1] {
			if !drive(dir) && like(e, d...) {
				return true
			}
			if dir == w.Home {
				break
			}
		}
	}
	return false
}

// system reports whether a path lies in a tree of the system (T2).
func (w World) system(p string) bool {
	if drive(p) {
		return w.windowsTree(p)
	}
	p = folder(p)
	e := elements(p)
	if len(e) == 0 {
		return false
	}
	top := ""
	for _, one := range []string{
		"bin", "boot", "dev", "etc", "proc", "root", "sbin", "sys", "usr", "lib", "lib64", "lib32", "libx32",
		"System", "Library", "Applications",
	} {
		if match(e[0], one) {
			top = one
		}
	}
	if top == "" && strings.HasPrefix(e[0], "lib") {
		top = "lib"
	}
	switch {
	case top == "":
		return false
	case top == "usr" && e[0] == "usr" && len(e) > 1 && e[1] == "local":
		return false
	case top == "dev" && e[0] == "dev" && len(e) > 1:
		if slices.Contains([]string{"null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty"}, e[1]) && len(e) == 2 {
			return false
		}
		return e[1] != "fd"
	}
	return true
}

// windows reports whether a path is a drive's root, a home or their folder on Windows, or lies in a tree of the system (TW).
func (w World) windows(p string) bool {
	p = folder(p)
	e := elements(strings.ToLower(p[2:]))
	if len(e) == 0 || like(e, "users") || like(e, "users", "*") {
		return true
	}
	dir := strings.ToLower(path.Dir(w.Workspace))
	low := strings.ToLower(p)
	if drive(dir) && (dir == low || strings.HasPrefix(dir, low+"/")) {
		return true
	}
	return low == strings.ToLower(w.Home) || w.windowsTree(p)
}

// windowsTree reports whether a path lies in a tree of the Windows system.
func (w World) windowsTree(p string) bool {
	if !drive(p) {
		return false
	}
	e := elements(strings.ToLower(p[2:]))
	return len(e) > 0 && (match(e[0], "windows") || match(e[0], "programdata") || match(e[0], "program files") ||
		strings.HasPrefix(e[0], "program files") || strings.HasPrefix(e[0], "progra~"))
}

// ours reports whether a path lies in one of the product's own folders: one of the state folders or any folder with such
// a name. The workspace's own path does not count, nor does the folder of workspaces in the state.
func (w World) ours(p string) bool {
	low := strings.ToLower(p)
	if ws := strings.ToLower(w.Workspace); low == ws {
		return false
	} else if rest, ok := strings.CutPrefix(low, ws+"/"); ok {
		return named(w, elements(rest))
	}
	for _, s := range w.State {
		s = strings.ToLower(s)
		if low == s {
			return true
		}
		want, have := elements(s), elements(low)
		if len(have) >= len(want) && like(have[:len(want)], want...) {
			return len(have) == len(want) || have[len(want)] != "workspace"
		}
	}
	return named(w, elements(low))
}

// named reports whether one of the elements of a path is called like a folder of the product.
func named(w World, e []string) bool {
	for k, name := range e {
		name, _, _ = strings.Cut(strings.TrimRight(name, ". "), "::$")
		own := name == ".jackline"
		for _, s := range w.State {
			base := strings.ToLower(path.Base(s))
			own = own || strings.HasPrefix(base, ".") && name == base
		}
		if own && (k+1 == len(e) || e[k+1] != "workspace") {
			return true
		}
	}
	return false
}

// startup reports whether a path is a file that shells, git or the desktop start with, or that says who the user is.
func (w World) startup(p string) bool {
	e := elements(p)
	home := 0
	switch {
	case strings.HasPrefix(p, w.Home+"/"):
		home = len(elements(w.Home))
	case len(e) > 2 && (e[0] == "home" || e[0] == "Users"):
		home = 2
	case drive(p) && len(e) > 3 && strings.EqualFold(e[1], "users"):
		home = 3
	default:
		return false
	}
	if e = e[home:]; len(e) == 0 {
		return false
	}
	for _, name := range []string{
		".bashrc", ".bash_profile", ".bash_login", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".gitconfig", ".ssh", ".gnupg",
	} {
		if match(e[0], name) && (len(e) == 1 || name == ".ssh" || name == ".gnupg") {
			return true
		}
	}
	return len(e) > 1 && match(e[0], ".config") && match(e[1], "autostart")
}

// inside reports whether a path lies in the workspace, or is it.
func (w World) inside(p string) bool {
	return p == w.Workspace || strings.HasPrefix(p, w.Workspace+"/")
}
