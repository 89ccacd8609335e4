package builtin

import "path/filepath"

// An Analysis is what the text of a command would touch, as far as the text tells it. Paths are absolute and clean; "?" in
// one stands for what the text does not tell, "*" for a pattern. It is an alias, as whoever reads commands does not know this
// package.
type Analysis = struct {
	Reads, Writes, Deletes, Programs, Hosts []string

	Git        bool // it starts git
	Repository bool // a git command in it writes in the workspace's .git, where neither settings nor hooks are
	Settings   bool // a git command in it changes the repository's settings
}

// analyse reads a command that is to start in a folder of the workspace.
func (d Deps) analyse(command, dir string) Analysis {
	if d.Analyse == nil || d.Root == nil {
		return Analysis{}
	}
	at := d.Root.Path()
	if dir != "" {
		at = filepath.Join(at, filepath.FromSlash(dir))
	}
	return d.Analyse(command, at)
}
