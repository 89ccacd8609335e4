package cell

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of looking along the search path.
const (
	// maxPathDirs bounds its folders, and maxPathLinks the entries that are looked at in each: a search path of a person has a dozen.
	maxPathDirs  = 64
	maxPathLinks = 500
)

// A toolbox is what the programs on a search path need besides the system's folders.
type toolbox struct {
	read []string // folders, absolute and real
	env  []string // what tells programs where their parts are, once HOME is another
}

// system reports whether a folder is one that every process may read anyway.
func system(dir string) bool {
	for _, s := range [...]string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/etc"} {
		if inside(s, dir) {
			return true
		}
	}
	return false
}

// inside reports whether path is folder or lies in it. Both are clean and absolute.
func inside(folder, path string) bool {
	return path == folder || folder == "/" || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

// tools follows the search path of environ. Programs that people install for themselves lie in their home folders, often as links,
// and their parts lie beside or above them.
func tools(environ []string, home string, closed []string) toolbox {
	var t toolbox
	add := func(dir string) {
		if real, err := filepath.EvalSymlinks(dir); err == nil && !system(real) && fitToRead(real, home, closed) && !slices.Contains(t.read, real) {
			t.read = append(t.read, real)
		}
	}
	// root adds what a folder of programs belongs to.
	root := func(dir string) {
		add(dir)
		up := filepath.Dir(dir)
		if base := filepath.Base(dir); base != "bin" && base != "sbin" && base != "shims" || up == home {
			return
		}
		switch filepath.Base(up) {
		case ".local": // holds everything that belongs to nobody else
			add(filepath.Join(up, "lib"))
		case ".cargo": // holds a key too
			for _, part := range []string{"registry", "git", "env"} {
				add(filepath.Join(up, part))
			}
			add(filepath.Join(filepath.Dir(up), ".rustup"))
		case ".config", ".cache", "Library":
		default:
			add(up)
		}
	}
	dirs := filepath.SplitList(valueOf(environ, "PATH"))
	for _, dir := range dirs[:min(len(dirs), maxPathDirs)] {
		if !filepath.IsAbs(dir) || system(filepath.Clean(dir)) {
			continue
		}
		root(filepath.Clean(dir))
		f, err := os.Open(dir)
		if err != nil {
			continue
		}
		entries, _ := f.ReadDir(maxPathLinks) // what can be read of it
		_ = f.Close()                         // only read from
		for _, e := range entries {
			if e.Type()&os.ModeSymlink == 0 {
				continue
			}
			if real, err := filepath.EvalSymlinks(filepath.Join(dir, e.Name())); err == nil && !system(real) {
				root(filepath.Dir(real))
			}
		}
	}
	for name, folder := range map[string]string{
		"PYENV_ROOT": ".pyenv", "RBENV_ROOT": ".rbenv", "ASDF_DATA_DIR": ".asdf", "RUSTUP_HOME": ".rustup", "SDKMAN_DIR": ".sdkman", "NVM_DIR": ".nvm",
		"VOLTA_HOME": ".volta",
	} {
		if dir := filepath.Join(home, folder); home != "" && valueOf(environ, name) == "" && slices.Contains(t.read, dir) {
			t.env = append(t.env, name+"="+dir)
		}
	}
	// Modules that were fetched before serve as a source, since fetching needs a network.
	mods := valueOf(environ, "GOMODCACHE")
	if mods == "" {
		first, _, _ := strings.Cut(valueOf(environ, "GOPATH"), string(filepath.ListSeparator))
		if first == "" {
			first = filepath.Join(home, "go")
		}
		mods = filepath.Join(first, "pkg", "mod")
	}
	mods = filepath.Join(mods, "cache", "download")
	if st, err := os.Stat(mods); err == nil && st.IsDir() && filepath.IsAbs(mods) {
		if add(mods); slices.ContainsFunc(t.read, func(r string) bool { return inside(r, mods) }) {
			more := valueOf(environ, "GOPROXY")
			if more == "" {
				more = "direct"
			}
			t.env = append(t.env, "GOPROXY=file://"+filepath.ToSlash(mods)+","+more)
		}
	}
	slices.Sort(t.env)
	return t
}

// fitToRead reports whether a folder may be opened because the search path leads to it: neither a home folder, nor one that many
// share, nor anything of the program's own.
func fitToRead(dir, home string, closed []string) bool {
	if dir == "/" || home != "" && inside(dir, home) {
		return false
	}
	for _, c := range closed {
		if inside(dir, c) || inside(c, dir) {
			return false
		}
	}
	parts := strings.Split(strings.Trim(dir, "/"), "/")
	switch parts[0] {
	case "proc", "sys", "dev", "boot", "run":
		return false
	case "home", "Users":
		return len(parts) > 2
	case "root", "var", "srv", "mnt", "media", "tmp":
		return len(parts) > 1
	}
	return true
}

// valueOf is a variable of an environment; the last one counts, as for programs.
func valueOf(environ []string, name string) string {
	for k := len(environ) - 1; k >= 0; k-- {
		if v, ok := strings.CutPrefix(environ[k], name+"="); ok {
			return v
		}
	}
	return ""
}
