//go:build linux && (amd64 || arm64)

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/jackline-ai/jackline/sandbox/stage"
)

// systemFolders are what programs need to read besides their own files: programs, libraries, and what systems that keep
// them elsewhere have instead. /etc is looked at more closely.
var systemFolders = [...]string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/run/current-system",
	"/var/cache/fontconfig", "/var/lib/texmf", "/sys/devices/system/cpu",
}

// devices are what programs cannot do without. None of them holds anything of anybody.
var devices = [...]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}

// kernelFacts are the files of /proc that say something about the machine and nothing about a process. They are opened
// where /proc shows all processes.
var kernelFacts = [...]string{
	"/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/uptime", "/proc/version", "/proc/filesystems",
	"/proc/sys/kernel/osrelease", "/proc/sys/kernel/ostype", "/proc/sys/kernel/version", "/proc/sys/kernel/hostname",
	"/proc/sys/kernel/pid_max", "/proc/sys/kernel/threads-max", "/proc/sys/kernel/random", "/proc/sys/kernel/cap_last_cap",
	"/proc/sys/vm/overcommit_memory", "/proc/sys/vm/max_map_count", "/proc/sys/fs/nr_open", "/proc/sys/fs/file-max", "/proc/sys/fs/pipe-max-size",
	"/proc/sys/net/core/somaxconn",
}

// maxWalk bounds the look at /etc. What lies beyond is not opened.
const maxWalk = 20_000

// hidden lists what lies below dir, topmost only, that this user may read and not everybody may: keys, password hashes and
// the settings of services. A command is not given more of /etc than everybody on the machine has. It also returns which
// folders have such things below them. What could not be looked at counts as hidden.
func hidden(dir string) (list []string, above map[string]bool) {
	above = map[string]bool{}
	left := maxWalk
	hide := func(p string) {
		list = append(list, p)
		for d := filepath.Dir(p); len(d) >= len(dir) && !above[d]; d = filepath.Dir(d) {
			above[d] = true
		}
	}
	_ = filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if left--; left < 0 {
			hide(p)
			return skip(d)
		}
		if err != nil {
			return skip(d) // nobody can read it, the command included
		}
		if d.Type()&fs.ModeSymlink != 0 {
			return nil // it shows a name; what it leads to is looked at where it lies
		}
		info, err := d.Info()
		if err != nil {
			return skip(d)
		}
		const everybody, everybodyEnters = 0o004, 0o001
		open := info.Mode().Perm()&everybody != 0
		if d.IsDir() {
			open = open && info.Mode().Perm()&everybodyEnters != 0
		}
		if !open && unix.Access(p, unix.R_OK) == nil {
			hide(p)
			return skip(d)
		}
		return nil
	})
	return list, above
}

func skip(d fs.DirEntry) error {
	if d != nil && d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// openParts are the rules that open a folder without what is hidden in it.
func openParts(dir string, secrets []string, above map[string]bool) []stage.Rule {
	if !above[dir] {
		return []stage.Rule{{Path: dir, Access: stage.Reads}}
	}
	secret := map[string]bool{}
	for _, p := range secrets {
		secret[p] = true
	}
	var rules []stage.Rule
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		p := filepath.Join(dir, e.Name())
		switch {
		case secret[p]:
		case above[p]:
			rules = append(rules, openParts(p, secrets, above)...)
		case e.Type()&fs.ModeSymlink == 0: // what a link leads to has a rule of its own, or none
			rules = append(rules, stage.Rule{Path: p, Access: stage.Reads})
		}
	}
	return rules
}

// systemRules are the rules that every command gets, and what of /etc they leave out.
func systemRules() (rules []stage.Rule, secrets []string) {
	for _, p := range systemFolders {
		if _, err := os.Stat(p); err == nil {
			rules = append(rules, stage.Rule{Path: p, Access: stage.Reads})
		}
	}
	var above map[string]bool
	secrets, above = hidden("/etc")
	rules = append(rules, openParts("/etc", secrets, above)...)
	for _, p := range devices {
		rules = append(rules, stage.Rule{Path: p, Access: stage.Device})
	}
	return rules, secrets
}

// given are the rules for what a Spec opens.
func (s *Spec) given() []stage.Rule {
	var rules []stage.Rule
	if s.Dir == nil {
		rules = append(rules, stage.Rule{Path: s.Workspace, Access: stage.Writes})
	}
	for _, p := range [...]string{s.Home, s.Temp} {
		if p != "" {
			rules = append(rules, stage.Rule{Path: p, Access: stage.Writes})
		}
	}
	for _, p := range s.Read {
		rules = append(rules, stage.Rule{Path: p, Access: stage.Reads})
	}
	for _, p := range s.Write {
		rules = append(rules, stage.Rule{Path: p, Access: stage.Writes})
	}
	return rules
}
