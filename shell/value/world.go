// Package value holds what is known about the words of a command: which texts each may be, and which paths and places
// those name. It opens nothing.
package value

import (
	"path"
	"slices"
	"strings"
)

// A Dialect is the grammar that a text is written in. The zero Dialect is Bash.
type Dialect uint8

// The grammars that are read.
const (
	Bash Dialect = iota
	PowerShell
	Cmd
)

// World is what a command stands in, as far as its text can mean it. All paths are absolute, of either kind of system.
// What is left out is assumed to lie somewhere in a home folder.
type World struct {
	Home      string
	Workspace string
	Dir       string   // the working folder; the workspace where it is ""
	State     []string // the product's own folders
	User      string
}

// Filled is the world with a place for everything. The user's name is the home's.
func (w World) Filled() World {
	if w.Home == "" {
		w.Home = "/home/user"
	}
	w.Home = tidy(w.Home)
	if w.Workspace == "" {
		w.Workspace = w.Home + "/projects/workspace"
	}
	w.Workspace = tidy(w.Workspace)
	if w.Dir == "" {
		w.Dir = w.Workspace
	}
	w.Dir = tidy(w.Dir)
	if w.User == "" {
		w.User = w.Home[strings.LastIndexByte(w.Home, '/')+1:]
	}
	state := make([]string, 0, len(w.State))
	for _, s := range w.State {
		if s = strings.TrimSuffix(tidy(s), "/"); s != "" {
			state = append(state, s)
		}
	}
	w.State = state
	return w
}

// tidy is a path of either system with slashes only, doubled ones and dots removed. A drive keeps its slash.
func tidy(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if p == "" {
		return ""
	}
	rooted := strings.HasPrefix(p, "//")
	p = path.Clean(p)
	if len(p) == 2 && Drive(p) {
		p += "/"
	}
	if rooted && strings.Count(p, "/") == 1 && p != "/" {
		return p
	}
	return p
}

// Drive reports whether a path starts with the name of a drive.
func Drive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && (p[0]|0x20 >= 'a' && p[0]|0x20 <= 'z')
}

// At is the absolute, clean form of p seen from dir. On Windows paths backslashes have become slashes before.
func At(dir, p string) string {
	switch {
	case strings.HasPrefix(p, "/"):
		return path.Clean(p)
	case Drive(p):
		if len(p) == 2 || p[2] != '/' {
			p = p[:2] + "/" + p[2:]
		}
		root := p[:2]
		return root + path.Clean(p[2:])
	case Drive(dir):
		return dir[:2] + path.Join("/", dir[2:], p)
	}
	return path.Join("/", dir, p)
}

// Elements are the parts of an absolute path.
func Elements(p string) []string {
	if p = strings.Trim(p, "/"); p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

// Everything reports whether the last element of a path means all that its folder holds.
func Everything(elem string) bool {
	return elem != "" && strings.ContainsRune(elem, Star) && strings.Trim(elem, string([]rune{Star, Mark, '.'})) == ""
}

// folder is p without a last element that means everything in it.
func folder(p string) string {
	if k := strings.LastIndexByte(p, '/'); k >= 0 && Everything(p[k+1:]) {
		if k == 0 || k == 2 && Drive(p) {
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

// Whole reports whether a path is one of those that must not go as a whole (T1), or everything in one.
func (w World) Whole(p string) bool {
	p = folder(p)
	if Drive(p) {
		return w.windows(p)
	}
	e := Elements(p)
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
	if len(e) >= 2 && match(e[0], "mnt") && len(e[1]) == 1 { // a drive of Windows, from the other side
		return w.windows(At("/", e[1]+":/"+strings.Join(e[2:], "/")))
	}
	for _, dir := range []string{w.Home, path.Dir(w.Workspace)} {
		for d := Elements(dir); len(d) > 0; d = d[:len(d)-1] {
			if !Drive(dir) && like(e, d...) {
				return true
			}
			if dir == w.Home {
				break
			}
		}
	}
	return false
}

// System reports whether a path lies in a tree of the system (T2).
func (w World) System(p string) bool {
	if Drive(p) {
		return w.WindowsTree(p)
	}
	p = folder(p)
	e := Elements(p)
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
		if slices.Contains([]string{"null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty"}, e[1]) {
			return false
		}
		return e[1] != "fd"
	}
	return true
}

// windows reports whether a path is a drive's root, a home or their folder on Windows, or lies in a tree of the system (TW).
func (w World) windows(p string) bool {
	p = folder(p)
	e := Elements(strings.ToLower(p[2:]))
	if len(e) == 0 || like(e, "users") || like(e, "users", "*") {
		return true
	}
	dir := strings.ToLower(path.Dir(w.Workspace))
	low := strings.ToLower(p)
	if Drive(dir) && (dir == low || strings.HasPrefix(dir, low+"/")) {
		return true
	}
	return low == strings.ToLower(w.Home) || w.WindowsTree(p)
}

// WindowsTree reports whether a path lies in a tree of the Windows system.
func (w World) WindowsTree(p string) bool {
	if !Drive(p) {
		return false
	}
	e := Elements(strings.ToLower(p[2:]))
	return len(e) > 0 && (match(e[0], "windows") || match(e[0], "programdata") || match(e[0], "program files") ||
		strings.HasPrefix(e[0], "program files") || strings.HasPrefix(e[0], "progra~"))
}

// Ours reports whether a path lies in one of the product's own folders: one of the state folders or any folder with such
// a name. The workspace's own path does not count, nor does the folder of workspaces in the state.
func (w World) Ours(p string) bool {
	low := strings.ToLower(p)
	if ws := strings.ToLower(w.Workspace); low == ws {
		return false
	} else if rest, ok := strings.CutPrefix(low, ws+"/"); ok {
		return named(w, Elements(rest))
	}
	for _, s := range w.State {
		s = strings.ToLower(s)
		if low == s {
			return true
		}
		want, have := Elements(s), Elements(low)
		if len(have) >= len(want) && like(have[:len(want)], want...) {
			return len(have) == len(want) || have[len(want)] != "workspace"
		}
	}
	return named(w, Elements(low))
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

// Startup reports whether a path is a file that shells, git or the desktop start with, or that says who the user is.
func (w World) Startup(p string) bool {
	e := Elements(p)
	home := 0
	switch {
	case strings.HasPrefix(p, w.Home+"/"):
		home = len(Elements(w.Home))
	case len(e) > 2 && (e[0] == "home" || e[0] == "Users"):
		home = 2
	case Drive(p) && len(e) > 3 && strings.EqualFold(e[1], "users"):
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

// Inside reports whether a path lies in the workspace, or is it.
func (w World) Inside(p string) bool {
	return p == w.Workspace || strings.HasPrefix(p, w.Workspace+"/")
}

// Protected reports whether a path element is the name of something secret or of the program's own, or a pattern that
// can be.
func (w World) Protected(elem string) bool {
	low := strings.ToLower(strings.TrimRight(elem, ". "))
	low, _, _ = strings.Cut(low, ":")
	if strings.HasPrefix(low, ".env") && !slices.Contains([]string{".env.example", ".env.sample", ".env.template"}, low) {
		return true
	}
	for _, name := range []string{"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"} {
		if strings.HasPrefix(low, name) || match(low, name) || Wild(low) && match(low, name+".pub") && !Everything(low) {
			return true
		}
	}
	names := []string{
		".git", "git~1", ".netrc", ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", ".ssh", ".gnupg", ".aws", ".kube", ".jackline",
	}
	if Wild(low) {
		names = append(names, ".env", ".env.local", ".env.production")
	}
	for _, s := range w.State {
		if base := strings.ToLower(s[strings.LastIndexByte(s, '/')+1:]); strings.HasPrefix(base, ".") {
			names = append(names, base)
		}
	}
	return slices.ContainsFunc(names, func(name string) bool { return match(low, name) })
}

// path is the absolute form of a word that names a file.
func PathOf(dir, p string) string {
	if Drive(p) || strings.HasPrefix(p, `\\`) {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	return At(dir, p)
}

// Called is the name of a program: its last path element, without the extensions of Windows.
func Called(word string) string {
	if Drive(word) || strings.HasPrefix(word, `\\`) || strings.HasPrefix(word, `.\`) {
		word = strings.ReplaceAll(word, `\`, "/")
	}
	if strings.Contains(word, "/") {
		word = path.Base(word)
	}
	low := strings.ToLower(word)
	for _, ext := range []string{".exe", ".com", ".cmd", ".bat"} {
		if name, ok := strings.CutSuffix(low, ext); ok {
			return name
		}
	}
	return word
}

// WinPath is the path that a word of a Windows shell names. A path without a drive lies on the working folder's.
func (w World) WinPath(dir, p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if k := strings.Index(p, "::"); k >= 0 && !strings.Contains(p[:k], "/../") { // a provider's prefix
		p = p[k+2:]
	}
	for _, prefix := range []string{"//?/", "//./"} {
		if rest, ok := strings.CutPrefix(p, prefix); ok && len(rest) > 2 && Drive(rest) {
			p = rest
		}
	}
	if p == "~" || strings.HasPrefix(p, "~/") {
		p = w.Home + p[1:]
	}
	if strings.HasPrefix(p, "//") {
		return p
	}
	if strings.HasPrefix(p, "/") && Drive(dir) {
		return At(dir, dir[:2]+p)
	}
	return At(dir, p)
}
