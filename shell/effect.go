package shell

import (
	"path"
	"slices"
	"strings"
)

// effect judges what is done to a path, which is absolute and clean, and notes it. A tree is meant with all that lies
// below.
func (j *judge) effect(kind TouchKind, path string, tree bool) {
	w := j.world
	if path == "" {
		return
	}
	j.touch(kind, path)
	if w.ours(path) {
		j.deny("D13", "%s belongs to this program, and no command reads or changes it. Use its settings instead.", shown(path))
		return
	}
	switch kind {
	case Deletes:
		switch {
		case tree && (w.whole(path) || w.system(path)):
			rule := "D1"
			if drive(path) {
				rule = "W1"
			}
			j.deny(rule, "It would delete %s with all that is in it, which nothing brings back. Name the folder that is meant.", shown(path))
		case !drive(path) && w.system(path):
			j.deny("D2", "It would remove or empty %s, which belongs to the system.", shown(path))
		}
	case Writes:
		if !drive(path) && w.system(path) {
			j.deny("D2", "It would write to %s, which belongs to the system. Write into the workspace instead.", shown(path))
		}
	}
	if kind != Reads && w.startup(path) {
		j.deny("D11", "It would change %s, which decides what runs when somebody logs in, or who that is. Change it by hand.", shown(path))
	}
}

// moved judges a path that is moved away. A folder that must not go as a whole must not be moved either.
func (j *judge) moved(p string) {
	if j.world.whole(p) {
		j.deny("D2", "It would move %s away, or all that is in it. Name the folder that is meant.", shown(p))
	}
	j.effect(Deletes, p, true)
}

// effects judges what a program does to its operands. Of a program that is not known here, it may read them all.
func (j *judge) effects(c command) {
	at := func(p string) string { return pathOf(c.dir, p) }
	all := func(kind TouchKind, tree bool, list []string) {
		for _, p := range list {
			j.effect(kind, at(p), tree)
		}
	}
	// to is a last operand, or the folder of -t: what is in from lands there under its own name.
	to := func(o options) (from []string, targets []string) {
		from = o.rest
		dirs := o.value("t", "target-directory")
		if len(dirs) == 0 && len(from) > 1 {
			dirs, from = from[len(from)-1:], from[:len(from)-1]
		}
		for _, d := range dirs {
			targets = append(targets, at(d))
			for _, f := range from {
				if name := path.Base(at(f)); name != "/" && !everything(name) {
					targets = append(targets, path.Join(at(d), name))
				}
			}
		}
		return from, targets
	}
	write := func(targets []string) {
		for _, p := range targets {
			j.effect(Writes, p, false)
		}
	}
	switch c.name {
	case "rm", "grm", "srm", "rimraf", "trash", "trash-put", "del":
		o := getopt(c.args, "")
		all(Deletes, c.name == "rimraf" || o.has("rR", "recursive"), o.rest)
		if c.deep {
			all(Deletes, true, o.rest)
		}
	case "unlink", "rmdir":
		all(Deletes, false, getopt(c.args, "", "ignore-fail-on-non-empty").rest)
	case "shred", "wipe", "scrub":
		all(Deletes, c.name == "wipe" && strings.Contains(strings.Join(c.args, " "), "-r"), getopt(c.args, "ns", "iterations", "size", "random-source").rest)
	case "truncate":
		all(Deletes, false, getopt(c.args, "sr", "size", "reference").rest)
	case "mv", "gmv", "rename":
		from, targets := to(getopt(c.args, "tS", "target-directory", "suffix"))
		for _, p := range from {
			j.moved(at(p))
			if content, ok := c.saved[at(p)]; ok {
				for _, t := range targets {
					j.save(c.env, t, content)
				}
			}
		}
		write(targets)
	case "cp", "gcp", "install", "ginstall", "ln", "link", "scp", "rcp", "ditto":
		o := getopt(c.args, map[string]string{"scp": "cFiJloPSDX", "install": "gmotS", "ginstall": "gmotS"}[c.name]+"tS", "target-directory", "suffix", "mode", "owner", "group")
		from, targets := to(o)
		if (c.name == "install" || c.name == "ginstall") && o.has("d", "directory") {
			break
		}
		for _, p := range from {
			if c.name == "scp" && strings.Contains(p, ":") {
				continue
			}
			if c.name != "ln" {
				j.effect(Reads, at(p), false)
			} else if j.world.ours(at(p)) {
				j.effect(Reads, at(p), false)
			}
			if content, ok := c.saved[at(p)]; ok {
				for _, t := range targets {
					j.save(c.env, t, content)
				}
			}
		}
		if c.name == "scp" && len(o.rest) > 0 && strings.Contains(o.rest[len(o.rest)-1], ":") {
			return
		}
		write(targets)
	case "dd":
		for _, a := range c.args {
			if f, ok := strings.CutPrefix(a, "of="); ok {
				j.effect(Writes, at(f), false)
				j.save(c.env, at(f), c.in)
			} else if f, ok := strings.CutPrefix(a, "if="); ok {
				j.effect(Reads, at(f), false)
			}
		}
	case "sed", "gsed":
		j.sed(c)
	case "rsync":
		j.mirror(c)
	case "rclone":
		if o := getopt(c.args, ""); len(o.rest) > 2 && (o.rest[0] == "sync" || o.rest[0] == "purge") {
			all(Deletes, true, o.rest[2:])
		}
	case "lftp":
		for _, a := range c.args {
			if strings.Contains(a, "mirror") && strings.Contains(a, "--delete") {
				f := strings.Fields(strings.Trim(a, `"'; `))
				all(Deletes, true, f[len(f)-1:])
			}
		}
	case "tar", "gtar", "bsdtar":
		j.tar(c)
	case "unzip", "7z", "7za", "unrar":
		write(mapped(getopt(c.args, "dxP").values["d"], at))
		for _, a := range c.args {
			if d, ok := strings.CutPrefix(a, "-o"); ok && strings.HasPrefix(c.name, "7") {
				write([]string{at(d)})
			}
		}
	case "touch", "mkfifo", "mknod":
		for _, p := range getopt(c.args, "drtmc", "date", "reference", "time", "mode").rest {
			if j.world.startup(at(p)) || j.world.ours(at(p)) {
				j.effect(Writes, at(p), false)
			}
			j.touch(Writes, at(p))
		}
	case "chmod", "chown", "chgrp", "chattr", "setfacl", "chflags", "chcon":
		j.permissions(c)
	case "sort":
		o := getopt(c.args, "oktST", "output", "key", "field-separator", "buffer-size", "temporary-directory", "compress-program")
		write(mapped(o.value("o", "output"), at))
		for _, p := range o.value("", "compress-program") {
			j.run(j.clone(c.env), set{p}, nil)
		}
		all(Reads, false, o.rest)
	case "patch":
		all(Writes, false, getopt(c.args, "pidoDFBYrVgz", "input", "output", "strip", "directory").rest)
	case "ed", "ex":
		all(Writes, false, getopt(c.args, "psc").rest)
	case "ssh-keygen":
		if o := getopt(c.args, "fbtCNPmIhnOsVzaFRrDEZMSJjGTWKgwy"); !o.has("lyBFHLQv") {
			write(mapped(o.values["f"], at))
		}
	case "rg", "ag", "ack":
		o := getopt(c.args, "egtTAfBCMmjr", "pre", "hostname-bin", "glob", "type")
		for _, p := range o.value("", "pre", "hostname-bin") {
			j.simple(j.clone(c.env), []string{p}, false)
		}
		j.operands(c)
	default:
		j.operands(c)
	}
}

// operands takes all words of a command for paths that may be read, wherever they look like one.
func (j *judge) operands(c command) {
	if slices.Contains([]string{"test", "[", "expr", "basename", "dirname", "seq", "which", "type", "say", "logger", "yes", "true", "false", ":", "write-output", "write-host"}, c.name) {
		return
	}
	words := c.args
	if slices.Contains([]string{"grep", "egrep", "fgrep", "zgrep", "jq", "yq"}, c.name) {
		o := getopt(c.args, "efmABCd", "regexp", "file", "include", "exclude", "exclude-dir", "color")
		words = o.rest
		if len(o.value("ef", "regexp", "file")) == 0 && len(words) > 0 {
			words = words[1:]
		}
		words = append(words, o.values["f"]...)
	}
	for _, a := range words {
		if strings.HasPrefix(a, "-") {
			_, v, ok := strings.Cut(a, "=")
			if !ok {
				if len(a) < 3 || a[1] == '-' {
					continue
				}
				v = a[2:]
			}
			a = v
			if !strings.ContainsAny(a, `/\`) {
				continue
			}
		} else if _, v, ok := strings.Cut(a, "="); ok && strings.Contains(v, "/") {
			a = v
		}
		if strings.Contains(a, "://") || strings.ContainsAny(a, "\n") {
			continue
		}
		if p := pathOf(c.dir, strings.TrimPrefix(a, "@")); j.world.ours(p) || strings.Contains(a, "/") || !strings.ContainsAny(a, " ()$;|") {
			j.effect(Reads, p, false)
		}
	}
}

// sed judges a sed script: in-place edits, and its commands that write a file or start one.
func (j *judge) sed(c command) {
	var scripts []string
	o := getopt(c.args, "efl", "expression", "file", "line-length")
	rest := o.rest
	scripts = append(scripts, o.value("e", "expression")...)
	if len(scripts)+len(o.value("f", "file")) == 0 && len(rest) > 0 {
		scripts, rest = rest[:1], rest[1:]
	}
	for _, a := range c.args {
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "i") {
			if k := strings.IndexAny(a, "ef"); k < 0 || k > strings.Index(a, "i") {
				o.letters += "i"
			}
		}
	}
	kind := Reads
	if o.has("i", "in-place") {
		kind = Writes
	}
	for _, p := range rest {
		if kind == Writes || p != "" {
			j.effect(kind, pathOf(c.dir, p), false)
		}
	}
	for _, s := range scripts {
		if strings.ContainsAny(s, "eEwW") && j.spend(len(s)) {
			j.sedScript(c, s)
		}
	}
}

// sedScript looks at the commands of a sed script one after the other.
func (j *judge) sedScript(c command, s string) {
	next := func(k int, delim byte) int { // behind the next delimiter that is not escaped
		for ; k < len(s); k++ {
			if s[k] == '\\' {
				k++
			} else if s[k] == delim {
				return k + 1
			}
		}
		return len(s)
	}
	line := func(k int) string {
		text, _, _ := strings.Cut(s[min(k, len(s)):], "\n")
		return strings.TrimSpace(text)
	}
	for k := 0; k < len(s); {
		switch ch := s[k]; {
		case ch == '/':
			k = next(k+1, '/')
		case ch == '\\' && k+1 < len(s):
			k = next(k+2, s[k+1])
		case ch == 'e':
			if cmd := line(k + 1); cmd != "" {
				j.run(j.clone(c.env), set{cmd}, nil)
			}
			k = next(k, '\n')
		case ch == 'w' || ch == 'W' || ch == 'r' || ch == 'R':
			if f := line(k + 1); f != "" {
				kind := Writes
				if ch|0x20 == 'r' {
					kind = Reads
				}
				j.effect(kind, pathOf(c.dir, f), false)
			}
			k = next(k, '\n')
		case (ch == 's' || ch == 'y') && k+1 < len(s):
			mid := next(k+2, s[k+1])
			end := next(mid, s[k+1])
			flags := end
			for flags < len(s) && strings.IndexByte("gpiImMe0123456789", s[flags]) >= 0 {
				flags++
			}
			if strings.Contains(s[end:flags], "e") && end > mid {
				j.run(j.clone(c.env), set{s[mid : end-1]}, nil)
			}
			if flags < len(s) && s[flags] == 'w' {
				if f := line(flags + 1); f != "" {
					j.effect(Writes, pathOf(c.dir, f), false)
				}
				flags = next(flags, '\n')
			}
			k = max(flags, k+1)
		case ch == 'a' || ch == 'i' || ch == 'c' || ch == ':' || ch == 'b' || ch == 't' || ch == 'T' || ch == '#':
			k = next(k, '\n')
		default:
			k++
		}
	}
}

// mirror judges rsync: its target, and what it deletes there.
func (j *judge) mirror(c command) {
	o := getopt(c.args, "efBTM", "rsh", "exclude", "include", "filter", "exclude-from", "include-from", "files-from", "password-file", "log-file", "bwlimit", "rsync-path", "partial-dir", "backup-dir", "chmod", "chown", "timeout", "port", "out-format", "suffix", "compare-dest", "link-dest", "temp-dir")
	for _, cmd := range o.value("e", "rsh") {
		j.run(j.clone(c.env), set{cmd}, nil)
	}
	if len(o.rest) < 2 {
		return
	}
	target := o.rest[len(o.rest)-1]
	deletes := slices.ContainsFunc(o.long, func(l string) bool { return strings.HasPrefix(l, "del") })
	for _, p := range o.rest[:len(o.rest)-1] {
		if strings.Contains(p, ":") {
			continue
		}
		if o.has("", "remove-source-files") {
			j.effect(Deletes, pathOf(c.dir, p), false)
		}
		j.effect(Reads, pathOf(c.dir, p), false)
	}
	if k := strings.IndexByte(target, ':'); k > 0 && !strings.Contains(target[:k], "/") && k > 1 {
		return
	}
	p := pathOf(c.dir, target)
	if deletes {
		j.effect(Deletes, p, true)
	}
	j.effect(Writes, p, false)
}

// tar judges the actions that tar starts, and where it unpacks.
func (j *judge) tar(c command) {
	args := c.args
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		args = append([]string{"-" + args[0]}, args[1:]...)
	}
	o := getopt(args, "fCITXgbFHKLNV", "file", "directory", "use-compress-program", "to-command", "checkpoint-action", "info-script", "new-volume-script", "rsh-command", "exclude", "files-from", "exclude-from", "transform", "owner", "group", "mode", "mtime", "strip-components", "checkpoint")
	for _, a := range o.value("", "checkpoint-action") {
		if cmd, ok := strings.CutPrefix(a, "exec="); ok {
			j.run(j.clone(c.env), set{cmd}, nil)
		}
	}
	for _, cmd := range append(o.value("IF", "use-compress-program", "to-command", "info-script", "new-volume-script"), o.value("", "rsh-command")...) {
		j.run(j.clone(c.env), set{cmd}, nil)
	}
	dir := c.dir
	for _, d := range o.value("C", "directory") {
		dir = pathOf(dir, d)
		if o.has("x", "extract", "get") {
			j.effect(Writes, dir, false)
		} else {
			j.effect(Reads, dir, false)
		}
	}
	for _, f := range o.value("f", "file") {
		if f == "-" {
			continue
		}
		kind := Reads
		if o.has("cru", "create", "append", "update") {
			kind = Writes
		}
		j.effect(kind, pathOf(c.dir, f), false)
	}
	if o.has("", "remove-files") {
		for _, p := range o.rest {
			j.effect(Deletes, pathOf(dir, p), true)
		}
	}
	if o.has("c", "create") {
		for _, p := range o.rest {
			j.effect(Reads, pathOf(dir, p), false)
		}
	}
}

// permissions judges changes of owners and rights.
func (j *judge) permissions(c command) {
	o := getopt(c.args, "vpmMxX", "reference", "from", "modify", "remove", "restore", "set", "modify-file", "set-file")
	if c.name == "chmod" || c.name == "chown" || c.name == "chgrp" || c.name == "chattr" || c.name == "chflags" || c.name == "chcon" {
		o = getopt(c.args, "", "reference", "from")
	}
	targets := o.rest
	if c.name != "setfacl" && !o.has("", "reference") && len(targets) > 0 && !(c.name == "chmod" && modeLetters(c.args)) {
		targets = targets[1:]
	}
	tree := o.has("R", "recursive") || c.deep
	for _, t := range targets {
		p := pathOf(c.dir, t)
		j.touch(Writes, p)
		switch {
		case j.world.ours(p):
			j.effect(Writes, p, false)
		case j.world.system(p):
			j.deny("D9", "It would change who may use %s, which belongs to the system.", shown(p))
		case tree && j.world.whole(p):
			j.deny("D9", "It would change who may use %s and all that is in it. Name the folder that is meant.", shown(p))
		}
	}
}

// modeLetters reports whether chmod's mode looks like an option, as in -x.
func modeLetters(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Trim(a[1:], "rwxXst,augo+=-") == ""
	})
}
