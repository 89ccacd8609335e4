package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// system judges the programs that change disks and stop the machine.
func (j *judge) system(c command) {
	const disk = "It would change or wipe a whole disk or volume, which nothing brings back. Do that by hand."
	const power = "It would stop or restart the machine. Do that by hand."
	words := strings.Join(c.args, " ")
	low := strings.ToLower(words)
	first := ""
	if o := getopt(c.args, ""); len(o.rest) > 0 {
		first = o.rest[0]
	}
	asks := len(c.args) == 1 && slices.Contains([]string{"--help", "--version", "-V", "-h"}, c.args[0])
	device := slices.ContainsFunc(c.args, func(a string) bool {
		p := pathOf(c.dir, a)
		return strings.HasPrefix(p, "/dev/") && j.world.system(p)
	})
	switch name := c.name; name {
	case "wipefs":
		if o := getopt(c.args, "ot", "offset", "types", "backup"); !asks && !o.has("n", "no-act") {
			j.deny("D3", disk)
		}
	case "fdisk", "sfdisk", "cfdisk", "gdisk", "sgdisk", "cgdisk", "parted", "gparted":
		if o := getopt(c.args, ""); device && !o.has("l", "list") {
			j.deny("D3", disk)
		}
	case "cryptsetup":
		if slices.ContainsFunc(c.args, func(a string) bool { return a == "luksFormat" || a == "erase" || a == "luksErase" }) {
			j.deny("D3", disk)
		}
	case "hdparm":
		if strings.Contains(words, "--security-erase") {
			j.deny("D3", disk)
		}
	case "nvme":
		if first == "format" || first == "sanitize" {
			j.deny("D3", disk)
		}
	case "diskutil":
		if v := strings.ToLower(first); strings.HasPrefix(v, "erase") || v == "secureerase" || v == "zerodisk" || v == "partitiondisk" ||
			v == "apfs" && strings.Contains(low, "delete") {
			j.deny("D3", disk)
		}
	case "zpool":
		if first == "destroy" {
			j.deny("D3", disk)
		}
	case "lvm":
		if first == "lvremove" || first == "vgremove" || first == "pvremove" {
			j.deny("D3", disk)
		}
	case "mke2fs", "mkswap", "blkdiscard", "lvremove", "vgremove", "pvremove":
		if !asks {
			j.deny("D3", disk)
		}
	case "shutdown":
		if !strings.EqualFold(first, "/a") && !slices.Contains(c.args, "-a") && !asks {
			j.deny("D5", power)
		}
	case "reboot", "halt", "poweroff":
		if !asks {
			j.deny("D5", power)
		}
	case "init", "telinit":
		if first == "0" || first == "6" {
			j.deny("D5", power)
		}
	case "systemctl", "loginctl":
		for _, a := range c.args {
			a = strings.TrimSuffix(a, ".target")
			if slices.Contains([]string{"poweroff", "reboot", "halt", "kexec", "soft-reboot"}, a) {
				j.deny("D5", power)
			}
		}
	case "kexec":
		if getopt(c.args, "lt").has("e", "exec") {
			j.deny("D5", power)
		}
	default:
		if (strings.HasPrefix(name, "mkfs") || strings.HasPrefix(name, "newfs")) && !asks {
			j.deny("D3", disk)
		}
	}
}

// printed is what a program prints, as far as it can be known, and anything with the marks of what it read otherwise.
func (j *judge) printed(c command) set {
	o := getopt(c.args, "")
	operand := func(f func(string) string) set {
		if len(o.rest) == 0 {
			return unknown
		}
		return set{f(o.rest[0]) + "\n"}
	}
	switch c.name {
	case "pwd":
		return set{c.dir + "\n"}
	case "cat", "head", "tail", "sort", "uniq", "grep", "egrep", "fgrep", "pv", "less", "more", "nl", "tac", "stdbuf", "column", "fold", "shuf":
		return j.contents(c)
	case "dirname":
		return operand(func(p string) string { return path.Dir(p) })
	case "basename":
		return operand(func(p string) string {
			p = path.Base(p)
			if len(o.rest) > 1 {
				p = strings.TrimSuffix(p, o.rest[1])
			}
			return p
		})
	case "realpath", "readlink", "greadlink":
		return operand(func(p string) string { return pathOf(c.dir, p) })
	case "which", "command", "type":
		return operand(func(p string) string { return "/usr/bin/" + path.Base(p) })
	case "whoami":
		return set{j.world.User + "\n"}
	case "mktemp":
		return set{"/tmp/" + string(some) + "\n"}
	case "printenv":
		if len(o.rest) == 1 {
			return c.value(o.rest[0])
		}
	case "id":
		if o.has("n") && o.has("u") {
			return set{j.world.User + "\n"}
		}
		return nonzero
	case "date", "uname", "hostname", "nproc", "seq", "wc", "md5sum", "sha256sum", "arch", "uuidgen":
		if c.in.taint() == "" {
			return nonzero
		}
	case "yes":
		if len(c.args) > 0 {
			return set{protect(strings.Join(c.args, " ")) + "\n"}
		}
	case "ls":
		if o.has("d") {
			return set{strings.Join(o.rest, "\n") + "\n"}
		}
	case "git":
		if slices.Contains(c.args, "--show-toplevel") {
			return set{j.world.Workspace + "\n"}
		}
		if slices.Contains(c.args, "rev-parse") {
			return nonzero
		}
	case "go", "npm", "brew", "python3-config", "llvm-config", "pkg-config", "ssh-agent":
		for _, p := range []string{"env GOPATH", "env GOROOT", "env GOMODCACHE", "env GOCACHE", "root", "prefix", "--prefix", "--repository", "--cache"} {
			if strings.HasPrefix(strings.Join(c.args, " "), p) {
				return nonzero
			}
		}
	}
	return j.passed(c, nil)
}

// contents is what a filter prints that leaves lines as they are.
func (j *judge) contents(c command) set {
	o := getopt(c.args, "ncepmABCdtkSosf", "lines", "bytes", "regexp", "max-count", "key", "file")
	files := o.rest
	if strings.HasSuffix(c.name, "grep") && len(o.value("ef", "regexp", "file")) == 0 && len(files) > 0 {
		files = files[1:]
	}
	if c.name == "cat" || c.name == "tac" {
		files = getopt(c.args, "").rest
	}
	if len(files) == 0 {
		if len(c.in) == 0 {
			return unknown
		}
		return c.in
	}
	var out set
	for _, f := range files {
		content, ok := c.saved[pathOf(c.dir, f)]
		switch {
		case f == "-" || f == "/dev/stdin":
			content = c.in
		case !ok:
			content = unknown
		}
		out = j.concat(out, content)
	}
	return out
}

var powerEvents = regexp.MustCompile(`(?i)system events|loginwindow`)

var powerWords = regexp.MustCompile(`(?i)\b(shut ?down|restart|aevtrsdn|aevtrrst)\b`)
