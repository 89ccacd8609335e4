package posix

import (
	"path"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/phrase"
	"github.com/jackline-ai/jackline/shell/value"
)

// system judges the programs that change disks and stop the machine.
func (j *Judge) system(c Command) {
	const disk = "It would change or wipe a whole disk or volume, which nothing brings back. Do that by hand."
	words := strings.Join(c.Args, " ")
	low := strings.ToLower(words)
	first := ""
	if o := value.Getopt(c.Args, ""); len(o.Rest) > 0 {
		first = o.Rest[0]
	}
	asks := len(c.Args) == 1 && slices.Contains([]string{"--help", "--version", "-V", "-h"}, c.Args[0])
	device := slices.ContainsFunc(c.Args, func(a string) bool {
		p := value.PathOf(c.Dir, a)
		return strings.HasPrefix(p, "/dev/") && j.World.System(p)
	})
	switch name := c.Name; name {
	case "badblocks":
		if device && value.Getopt(c.Args, "bcdeitop").Has("wn") {
			j.Deny("D4", disk)
		}
	case "wipefs":
		if o := value.Getopt(c.Args, "ot", "offset", "types", "backup"); !asks && !o.Has("n", "no-act") {
			j.Deny("D3", disk)
		}
	case "fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "cgdisk", "parted", "gparted":
		if o := value.Getopt(c.Args, ""); device && !o.Has("l", "list") {
			j.Deny("D3", disk)
		}
	case "cryptsetup":
		if slices.ContainsFunc(c.Args, func(a string) bool { return a == "luksFormat" || a == "erase" || a == "luksErase" }) {
			j.Deny("D3", disk)
		}
	case "hdparm":
		if strings.Contains(words, "--security-erase") {
			j.Deny("D3", disk)
		}
	case "nvme":
		if first == "format" || first == "sanitize" {
			j.Deny("D3", disk)
		}
	case "diskutil":
		if v := strings.ToLower(first); strings.HasPrefix(v, "erase") || v == "secureerase" || v == "zerodisk" || v == "partitiondisk" ||
			v == "apfs" && strings.Contains(low, "delete") {
			j.Deny("D3", disk)
		}
	case "zpool":
		if first == "destroy" {
			j.Deny("D3", disk)
		}
	case "lvm":
		if first == "lvremove" || first == "vgremove" || first == "pvremove" {
			j.Deny("D3", disk)
		}
	case "mke2fs", "mkswap", "blkdiscard", "lvremove", "vgremove", "pvremove":
		if !asks {
			j.Deny("D3", disk)
		}
	default:
		j.power(c, first, asks)
		if (strings.HasPrefix(name, "mkfs") || strings.HasPrefix(name, "newfs")) && !asks {
			j.Deny("D3", disk)
		}
	}
}

// power judges the programs that stop the machine. first is the first operand.
func (j *Judge) power(c Command, first string, asks bool) {
	const power = "It would stop or restart the machine. Do that by hand."
	switch c.Name {
	case "shutdown":
		if !strings.EqualFold(first, "/a") && !slices.Contains(c.Args, "-a") && !asks {
			j.Deny("D5", power)
		}
	case "reboot", "halt", "poweroff":
		if !asks {
			j.Deny("D5", power)
		}
	case "init", "telinit":
		if first == "0" || first == "6" {
			j.Deny("D5", power)
		}
	case "systemctl", "loginctl":
		words := value.Getopt(c.Args, "tpPnosHM", "type", "property", "host", "machine", "lines", "output", "state").Rest
		if len(words) > 1 && (words[0] == "start" || words[0] == "isolate" || words[0] == "restart") {
			words = words[1:]
		}
		if len(words) > 0 && slices.Contains([]string{"poweroff", "reboot", "halt", "kexec", "soft-reboot"}, strings.TrimSuffix(words[0], ".target")) {
			j.Deny("D5", power)
		}
	case "kexec":
		if value.Getopt(c.Args, "lt").Has("e", "exec") {
			j.Deny("D5", power)
		}
	}
}

// printed is what a program prints, as far as it can be known, and anything with the marks of what it read otherwise.
func (j *Judge) printed(c Command) value.Set {
	o := value.Getopt(c.Args, "")
	operand := func(f func(string) string) value.Set {
		if len(o.Rest) == 0 {
			return value.Anything()
		}
		return value.Set{f(o.Rest[0]) + "\n"}
	}
	switch c.Name {
	case "pwd":
		return value.Set{c.Dir + "\n"}
	case "cat", "head", "tail", "sort", "uniq", "grep", "egrep", "fgrep", "pv", "less", "more", "nl", "tac", "stdbuf", "column", "fold", "shuf":
		return j.contents(c)
	case "dirname":
		return operand(func(p string) string { return path.Dir(p) })
	case "basename":
		return operand(func(p string) string {
			p = path.Base(p)
			if len(o.Rest) > 1 {
				p = strings.TrimSuffix(p, o.Rest[1])
			}
			return p
		})
	case "realpath", "readlink", "greadlink":
		return operand(func(p string) string { return value.PathOf(c.Dir, p) })
	case "which", "command", "type":
		return operand(func(p string) string { return "/usr/bin/" + path.Base(p) })
	case "whoami":
		return value.Set{j.World.User + "\n"}
	case "mktemp":
		return value.Set{"/tmp/" + string(value.Some) + "\n"}
	case "printenv":
		if len(o.Rest) == 1 {
			return c.value(o.Rest[0])
		}
	case "id":
		if o.Has("n") && o.Has("u") {
			return value.Set{j.World.User + "\n"}
		}
		return value.Something()
	case "date", "uname", "hostname", "nproc", "seq", "wc", "md5sum", "sha256sum", "arch", "uuidgen":
		if c.In.Taint() == "" {
			return value.Something()
		}
	case "yes":
		if len(c.Args) > 0 {
			return value.Set{value.Protect(strings.Join(c.Args, " ")) + "\n"}
		}
	case "ls":
		if o.Has("d") {
			return value.Set{strings.Join(o.Rest, "\n") + "\n"}
		}
	case "git":
		if slices.Contains(c.Args, "--show-toplevel") {
			return value.Set{j.World.Workspace + "\n"}
		}
		if slices.Contains(c.Args, "rev-parse") {
			return value.Something()
		}
	case "go", "npm", "brew", "python3-config", "llvm-config", "pkg-config", "ssh-agent":
		for _, p := range []string{"env GOPATH", "env GOROOT", "env GOMODCACHE", "env GOCACHE", "root", "prefix", "--prefix", "--repository", "--cache"} {
			if strings.HasPrefix(strings.Join(c.Args, " "), p) {
				return value.Something()
			}
		}
	}
	return j.passed(c, nil)
}

// contents is what a filter prints that leaves lines as they are.
func (j *Judge) contents(c Command) value.Set {
	o := value.Getopt(c.Args, "ncepmABCdtkSosf", "lines", "bytes", "regexp", "max-count", "key", "file")
	files := o.Rest
	if strings.HasSuffix(c.Name, "grep") && len(o.Literal("ef", "regexp", "file")) == 0 && len(files) > 0 {
		files = files[1:]
	}
	if c.Name == "cat" || c.Name == "tac" {
		files = value.Getopt(c.Args, "").Rest
	}
	if len(files) == 0 {
		if len(c.In) == 0 {
			return value.Anything()
		}
		return c.In
	}
	var out value.Set
	for _, f := range files {
		content, ok := c.Saved[value.PathOf(c.Dir, f)]
		switch {
		case f == "-" || f == "/dev/stdin":
			content = c.In
		case !ok:
			content = value.Anything()
		}
		out = j.Concat(out, content)
	}
	return out
}

var powerEvents = phrase.New(`(?i)system events|loginwindow`)

var powerWords = phrase.New(`(?i)\b(shut ?down|restart|aevtrsdn|aevtrrst)\b`)
