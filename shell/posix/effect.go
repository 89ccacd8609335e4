package posix

import (
	"path"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/shell/value"
)

// Effect judges what is done to a path, which is absolute and clean, and notes it. A tree is meant with all that lies
// below.
func (j *Judge) Effect(kind value.TouchKind, path string, tree bool) {
	w := j.World
	if path == "" || !j.Spend(4*len(path)) {
		return
	}
	j.Touch(kind, path)
	if w.Ours(path) {
		j.Deny("D13", "%s belongs to this program, and no command reads or changes it. Use its settings instead.", value.Shown(path))
		return
	}
	switch kind {
	case value.Deletes:
		switch {
		case tree && (w.Whole(path) || w.System(path)):
			rule := "D1"
			if value.Drive(path) {
				rule = "W1"
			}
			j.Deny(rule, "It would delete %s with all that is in it, which nothing brings back. Name the folder that is meant.", value.Shown(path))
		case !value.Drive(path) && w.System(path):
			j.Deny("D2", "It would remove or empty %s, which belongs to the system.", value.Shown(path))
		}
	case value.Writes:
		if !value.Drive(path) && w.System(path) {
			j.Deny("D2", "It would write to %s, which belongs to the system. Write into the workspace instead.", value.Shown(path))
		}
	default:
	}
	if kind != value.Reads && w.Startup(path) {
		j.Deny("D11", "It would change %s, which decides what runs when somebody logs in, or who that is. Change it by hand.", value.Shown(path))
	}
}

// moved judges a path that is moved away. A folder that must not go as a whole must not be moved either.
func (j *Judge) moved(p string) {
	if j.World.Whole(p) {
		j.Deny("D2", "It would move %s away, or all that is in it. Name the folder that is meant.", value.Shown(p))
	}
	j.Effect(value.Deletes, p, true)
}

// effects judges what a program does to its operands. Of a program that is not known here, it may read them all.
func (j *Judge) effects(c Command) {
	if j.moves(c) {
		return
	}
	at := func(p string) string { return value.PathOf(c.Dir, p) }
	switch c.Name {
	case "dd":
		for _, a := range c.Args {
			if f, ok := strings.CutPrefix(a, "of="); ok {
				j.Effect(value.Writes, at(f), false)
				j.Save(c.Env, at(f), c.In)
			} else if f, ok := strings.CutPrefix(a, "if="); ok {
				j.Effect(value.Reads, at(f), false)
			}
		}
	case "sed", "gsed":
		j.sed(c)
	case "rsync":
		j.mirror(c)
	case "tar", "gtar", "bsdtar":
		j.tar(c)
	case "unzip", "7z", "7za", "unrar":
		j.write(value.Mapped(value.Getopt(c.Args, "dxP").Values["d"], at))
		for _, a := range c.Args {
			if d, ok := strings.CutPrefix(a, "-o"); ok && strings.HasPrefix(c.Name, "7") {
				j.write([]string{at(d)})
			}
		}
	case "touch", "mkfifo", "mknod":
		for _, p := range value.Getopt(c.Args, "drtmc", "date", "reference", "time", "mode").Rest {
			if j.World.Startup(at(p)) || j.World.Ours(at(p)) {
				j.Effect(value.Writes, at(p), false)
			}
			j.Touch(value.Writes, at(p))
		}
	case "chmod", "chown", "chgrp", "chattr", "setfacl", "chflags", "chcon":
		j.permissions(c)
	case "sort":
		o := value.Getopt(c.Args, "oktST", "output", "key", "field-separator", "buffer-size", "temporary-directory", "compress-program")
		j.write(value.Mapped(o.Literal("o", "output"), at))
		for _, p := range o.Literal("", "compress-program") {
			j.run(j.Clone(c.Env), value.Set{p}, nil)
		}
		j.affect(c, value.Reads, false, o.Rest)
	case "patch":
		j.affect(c, value.Writes, false, value.Getopt(c.Args, "pidoDFBYrVgz", "input", "output", "strip", "directory").Rest)
	case "ed", "ex":
		j.affect(c, value.Writes, false, value.Getopt(c.Args, "psc").Rest)
	case "ssh-keygen":
		if o := value.Getopt(c.Args, "fbtCNPmIhnOsVzaFRrDEZMSJjGTWKgwy"); !o.Has("lyBFHLQv") {
			j.write(value.Mapped(o.Values["f"], at))
		}
	case "rg", "ag", "ack":
		o := value.Getopt(c.Args, "egtTAfBCMmjr", "pre", "hostname-bin", "glob", "type")
		for _, p := range o.Literal("", "pre", "hostname-bin") {
			j.Simple(j.Clone(c.Env), []string{p}, false)
		}
		j.operands(c)
	default:
		j.operands(c)
	}
}

// moves judges the programs that remove, move and copy files. It reports whether c is one.
func (j *Judge) moves(c Command) bool {
	at := func(p string) string { return value.PathOf(c.Dir, p) }
	switch c.Name {
	case "rm", "grm", "srm", "rimraf", "trash", "trash-put", "del":
		o := value.Getopt(c.Args, "")
		j.affect(c, value.Deletes, c.Name == "rimraf" || o.Has("rR", "recursive"), o.Rest)
		if c.deep {
			j.affect(c, value.Deletes, true, o.Rest)
		}
	case "unlink", "rmdir":
		j.affect(c, value.Deletes, false, value.Getopt(c.Args, "", "ignore-fail-on-non-empty").Rest)
	case "shred", "wipe", "scrub":
		j.affect(c, value.Deletes, c.Name == "wipe" && strings.Contains(strings.Join(c.Args, " "), "-r"), value.Getopt(c.Args, "ns", "iterations", "size", "random-source").Rest)
	case "truncate":
		j.affect(c, value.Deletes, false, value.Getopt(c.Args, "sr", "size", "reference").Rest)
	case "mv", "gmv", "rename":
		from, targets := landing(c, value.Getopt(c.Args, "tS", "target-directory", "suffix"))
		for _, p := range from {
			j.moved(at(p))
			if content, ok := c.Saved[at(p)]; ok {
				for _, t := range targets {
					j.Save(c.Env, t, content)
				}
			}
		}
		j.write(targets)
	case "cp", "gcp", "install", "ginstall", "ln", "link", "scp", "rcp", "ditto":
		o := value.Getopt(c.Args, map[string]string{"scp": "cFiJloPSDX", "install": "gmotS", "ginstall": "gmotS"}[c.Name]+"tS", "target-directory", "suffix", "mode", "owner", "group")
		from, targets := landing(c, o)
		if (c.Name == "install" || c.Name == "ginstall") && o.Has("d", "directory") {
			break
		}
		for _, p := range from {
			if c.Name == "scp" && strings.Contains(p, ":") {
				continue
			}
			if c.Name != "ln" {
				j.Effect(value.Reads, at(p), false)
			} else if j.World.Ours(at(p)) {
				j.Effect(value.Reads, at(p), false)
			}
			if content, ok := c.Saved[at(p)]; ok {
				for _, t := range targets {
					j.Save(c.Env, t, content)
				}
			}
		}
		if c.Name == "scp" && len(o.Rest) > 0 && strings.Contains(o.Rest[len(o.Rest)-1], ":") {
			return true
		}
		j.write(targets)
	case "rclone":
		if o := value.Getopt(c.Args, ""); len(o.Rest) > 2 && (o.Rest[0] == "sync" || o.Rest[0] == "purge") {
			j.affect(c, value.Deletes, true, o.Rest[2:])
		}
	case "lftp":
		for _, a := range c.Args {
			if strings.Contains(a, "mirror") && strings.Contains(a, "--delete") {
				f := strings.Fields(strings.Trim(a, `"'; `))
				j.affect(c, value.Deletes, true, f[len(f)-1:])
			}
		}
	default:
		return false
	}
	return true
}

// affect judges what is done to each of some operands.
func (j *Judge) affect(c Command, kind value.TouchKind, tree bool, list []string) {
	for _, p := range list {
		j.Effect(kind, value.PathOf(c.Dir, p), tree)
	}
}

// write judges that paths are written to.
func (j *Judge) write(targets []string) {
	for _, p := range targets {
		j.Effect(value.Writes, p, false)
	}
}

// landing takes operands apart into what is copied and where it lands: at the last operand, or in the folder of -t under
// its own name.
func landing(c Command, o value.Options) (from, targets []string) {
	at := func(p string) string { return value.PathOf(c.Dir, p) }
	from = o.Rest
	dirs := o.Literal("t", "target-directory")
	if len(dirs) == 0 && len(from) > 1 {
		dirs, from = from[len(from)-1:], from[:len(from)-1]
	}
	for _, d := range dirs {
		targets = append(targets, at(d))
		for _, f := range from {
			if name := path.Base(at(f)); name != "/" && !value.Everything(name) {
				targets = append(targets, path.Join(at(d), name))
			}
		}
	}
	return from, targets
}

// operands takes all words of a command for paths that may be read, wherever they look like one.
func (j *Judge) operands(c Command) {
	if slices.Contains([]string{"test", "[", "expr", "basename", "dirname", "seq", "which", "type", "say", "logger", "yes", "true", "false", ":", "write-output", "write-host"}, c.Name) {
		return
	}
	words := c.Args
	if slices.Contains([]string{"grep", "egrep", "fgrep", "zgrep", "jq", "yq"}, c.Name) {
		o := value.Getopt(c.Args, "efmABCd", "regexp", "file", "include", "exclude", "exclude-dir", "color")
		words = o.Rest
		if len(o.Literal("ef", "regexp", "file")) == 0 && len(words) > 0 {
			words = words[1:]
		}
		words = append(words, o.Values["f"]...)
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
		if p := value.PathOf(c.Dir, strings.TrimPrefix(a, "@")); j.World.Ours(p) || strings.Contains(a, "/") || !strings.ContainsAny(a, " ()$;|") {
			j.Effect(value.Reads, p, false)
		}
	}
}

// sed judges a sed script: in-place edits, and its commands that write a file or start one.
func (j *Judge) sed(c Command) {
	var scripts []string
	o := value.Getopt(c.Args, "efl", "expression", "file", "line-length")
	rest := o.Rest
	scripts = append(scripts, o.Literal("e", "expression")...)
	if len(scripts)+len(o.Literal("f", "file")) == 0 && len(rest) > 0 {
		scripts, rest = rest[:1], rest[1:]
	}
	for _, a := range c.Args {
		if strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "i") {
			if k := strings.IndexAny(a, "ef"); k < 0 || k > strings.Index(a, "i") {
				o.Letters += "i"
			}
		}
	}
	kind := value.Reads
	if o.Has("i", "in-place") {
		kind = value.Writes
	}
	for _, p := range rest {
		if kind == value.Writes || p != "" {
			j.Effect(kind, value.PathOf(c.Dir, p), false)
		}
	}
	for _, s := range scripts {
		if strings.ContainsAny(s, "eEwW") && j.Spend(len(s)) {
			j.sedScript(c, s)
		}
	}
}

// sedScript looks at the commands of a sed script one after the other.
func (j *Judge) sedScript(c Command, s string) {
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
				j.run(j.Clone(c.Env), value.Set{cmd}, nil)
			}
			k = next(k, '\n')
		case ch == 'w' || ch == 'W' || ch == 'r' || ch == 'R':
			if f := line(k + 1); f != "" {
				kind := value.Writes
				if ch|0x20 == 'r' {
					kind = value.Reads
				}
				j.Effect(kind, value.PathOf(c.Dir, f), false)
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
				j.run(j.Clone(c.Env), value.Set{s[mid : end-1]}, nil)
			}
			if flags < len(s) && s[flags] == 'w' {
				if f := line(flags + 1); f != "" {
					j.Effect(value.Writes, value.PathOf(c.Dir, f), false)
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
func (j *Judge) mirror(c Command) {
	o := value.Getopt(c.Args, "efBTM", "rsh", "exclude", "include", "filter", "exclude-from", "include-from", "files-from", "password-file", "log-file", "bwlimit", "rsync-path", "partial-dir", "backup-dir", "chmod", "chown", "timeout", "port", "out-format", "suffix", "compare-dest", "link-dest", "temp-dir")
	for _, cmd := range o.Literal("e", "rsh") {
		j.run(j.Clone(c.Env), value.Set{cmd}, nil)
	}
	if len(o.Rest) < 2 {
		return
	}
	target := o.Rest[len(o.Rest)-1]
	deletes := slices.ContainsFunc(o.Long, func(l string) bool { return strings.HasPrefix(l, "del") })
	for _, p := range o.Rest[:len(o.Rest)-1] {
		if strings.Contains(p, ":") {
			continue
		}
		if o.Has("", "remove-source-files") {
			j.Effect(value.Deletes, value.PathOf(c.Dir, p), false)
		}
		j.Effect(value.Reads, value.PathOf(c.Dir, p), false)
	}
	if k := strings.IndexByte(target, ':'); k > 0 && !strings.Contains(target[:k], "/") && k > 1 {
		return
	}
	p := value.PathOf(c.Dir, target)
	if deletes {
		j.Effect(value.Deletes, p, true)
	}
	j.Effect(value.Writes, p, false)
}

// tar judges the actions that tar starts, and where it unpacks.
func (j *Judge) tar(c Command) {
	args := c.Args
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		args = append([]string{"-" + args[0]}, args[1:]...)
	}
	o := value.Getopt(args, "fCITXgbFHKLNV", "file", "directory", "use-compress-program", "to-command", "checkpoint-action", "info-script", "new-volume-script", "rsh-command", "exclude", "files-from", "exclude-from", "transform", "owner", "group", "mode", "mtime", "strip-components", "checkpoint")
	for _, a := range o.Literal("", "checkpoint-action") {
		if cmd, ok := strings.CutPrefix(a, "exec="); ok {
			j.run(j.Clone(c.Env), value.Set{cmd}, nil)
		}
	}
	for _, cmd := range append(o.Literal("IF", "use-compress-program", "to-command", "info-script", "new-volume-script"), o.Literal("", "rsh-command")...) {
		j.run(j.Clone(c.Env), value.Set{cmd}, nil)
	}
	dir := c.Dir
	for _, d := range o.Literal("C", "directory") {
		dir = value.PathOf(dir, d)
		if o.Has("x", "extract", "get") {
			j.Effect(value.Writes, dir, false)
		} else {
			j.Effect(value.Reads, dir, false)
		}
	}
	for _, f := range o.Literal("f", "file") {
		if f == "-" {
			continue
		}
		kind := value.Reads
		if o.Has("cru", "create", "append", "update") {
			kind = value.Writes
		}
		j.Effect(kind, value.PathOf(c.Dir, f), false)
	}
	if o.Has("", "remove-files") {
		for _, p := range o.Rest {
			j.Effect(value.Deletes, value.PathOf(dir, p), true)
		}
	}
	if o.Has("c", "create") {
		for _, p := range o.Rest {
			j.Effect(value.Reads, value.PathOf(dir, p), false)
		}
	}
}

// permissions judges changes of owners and rights.
func (j *Judge) permissions(c Command) {
	o := value.Getopt(c.Args, "vpmMxX", "reference", "from", "modify", "remove", "restore", "set", "modify-file", "set-file")
	if c.Name == "chmod" || c.Name == "chown" || c.Name == "chgrp" || c.Name == "chattr" || c.Name == "chflags" || c.Name == "chcon" {
		o = value.Getopt(c.Args, "", "reference", "from")
	}
	targets := o.Rest
	if c.Name != "setfacl" && !o.Has("", "reference") && len(targets) > 0 && !(c.Name == "chmod" && modeLetters(c.Args)) {
		targets = targets[1:]
	}
	tree := o.Has("R", "recursive") || c.deep
	for _, t := range targets {
		p := value.PathOf(c.Dir, t)
		j.Touch(value.Writes, p)
		switch {
		case j.World.Ours(p):
			j.Effect(value.Writes, p, false)
		case j.World.System(p):
			j.Deny("D9", "It would change who may use %s, which belongs to the system.", value.Shown(p))
		case tree && j.World.Whole(p):
			j.Deny("D9", "It would change who may use %s and all that is in it. Name the folder that is meant.", value.Shown(p))
		}
	}
}

// modeLetters reports whether chmod's mode looks like an option, as in -x.
func modeLetters(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		return len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Trim(a[1:], "rwxXst,augo+=-") == ""
	})
}
