package posix

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/jackline-ai/jackline/shell/value"
)

// A wrapper is a program that starts the command in its arguments.
type wrapper struct {
	takes string   // its letters that have a value
	longs []string // and its long options
	skip  int      // operands before the command
	sets  bool     // assignments may stand before the command
	joins bool     // a shell reads the words as one text
}

var wrappers = map[string]wrapper{
	"sudo": {takes: "ughpCrtTUDRa", longs: []string{"user", "group", "host", "prompt", "close-from", "role", "type", "other-user", "chdir", "chroot", "command-timeout"}, sets: true},
	"doas": {takes: "uCa"}, "pkexec": {longs: []string{"user"}}, "command": {}, "builtin": {}, "exec": {takes: "a"}, "nohup": {}, "setsid": {},
	"nice": {takes: "n", longs: []string{"adjustment"}}, "ionice": {takes: "cnpPu", longs: []string{"class", "classdata"}}, "stdbuf": {takes: "ioe", longs: []string{"input", "output", "error"}},
	"time": {takes: "fo", longs: []string{"format", "output"}}, "timeout": {takes: "sk", longs: []string{"signal", "kill-after"}, skip: 1}, "gtimeout": {takes: "sk", skip: 1},
	"watch": {takes: "nq", longs: []string{"interval", "equexit"}, joins: true}, "busybox": {}, "toybox": {}, "chroot": {longs: []string{"userspec", "groups"}, skip: 1},
	"unshare": {takes: "SGRw"}, "nsenter": {takes: "tSGrw", longs: []string{"target"}}, "strace": {takes: "eEopsuaSbIXPO"}, "ltrace": {takes: "eoplsunaAFx"},
	"valgrind": {}, "systemd-run": {takes: "puHME", longs: []string{"unit", "property", "slice", "description", "uid", "gid", "setenv", "host", "machine", "on-active", "on-calendar"}},
	"caffeinate": {takes: "tw"}, "fakeroot": {takes: "lsbi"}, "torsocks": {}, "torify": {}, "proxychains": {takes: "f"}, "proxychains4": {takes: "f"}, "unbuffer": {}, "eatmydata": {},
	"chrt": {takes: "TPD", skip: 1}, "taskset": {skip: 1}, "numactl": {takes: "NmCipP"}, "setarch": {skip: 1}, "linux64": {}, "linux32": {}, "dbus-run-session": {}, "setpriv": {},
	"rlwrap": {takes: "abcCDefFgHilmMnNoOpPqrRsStTuvwWxz"}, "entr": {}, "prlimit": {}, "cpulimit": {takes: "lpe"}, "softlimit": {takes: "acdflmnoprst"}, "xvfb-run": {takes: "enfs"},
	"wsl": {takes: "du", longs: []string{"distribution", "user", "cd", "shell-type"}, joins: true}, "ts": {}, "catchsegv": {}, "sem": {takes: "j", joins: true}, "gdb": {takes: "x"}, "perf": {skip: 1},
	"poetry": {skip: 1}, "pipenv": {skip: 1}, "uv": {skip: 1}, "bundle": {skip: 1}, "firejail": {}, "bwrap": {}, "start": {}, "winpty": {}, "runas": {}, "dotenv": {}, "direnv": {skip: 2},
}

// wrapped judges what wrappers start. It reports whether c is one.
func (j *Judge) wrapped(c Command) (out value.Set, is bool) {
	rest := []string(nil)
	switch c.Name {
	case "command":
		if o := value.Getopt(c.Args[:min(1, len(c.Args))], ""); o.Has("vV") {
			return j.printed(c), true
		}
	case "poetry", "pipenv", "uv", "bundle":
		if len(c.Args) == 0 || c.Args[0] != "run" && c.Args[0] != "exec" {
			return nil, false
		}
	case "start", "runas", "bwrap", "perf", "gdb", "dotenv", "firejail":
		if rest = behindFirst(c.Args); rest == nil {
			return nil, false
		}
	case "su", "runuser":
		o := value.Getopt(c.Args, "cgGswuC", "command", "session-command", "group", "shell", "user")
		for _, text := range o.Literal("c", "command", "session-command") {
			out = j.Add(out, j.run(j.Clone(c.Env), value.Set{text}, c.In))
		}
		if u := o.Literal("u", "user"); c.Name == "runuser" && len(u) > 0 {
			return j.Simple(c.Env, value.Behind(c.Args, "ugG", "user", "group"), c.deep), true
		}
		if len(out) == 0 {
			out = j.run(j.Clone(c.Env), Known(c.In), nil)
		}
		return out, true
	case "env":
		return j.environment(c), true
	case "flock":
		args := value.Behind(c.Args, "wE", "timeout", "wait", "conflict-exit-code")
		if len(args) < 2 {
			return nil, false
		}
		if args = args[1:]; args[0] == "-c" || args[0] == "--command" {
			return j.run(j.Clone(c.Env), value.Set(args[1:]), c.In), true
		}
		return j.Simple(c.Env, value.Behind(args, ""), c.deep), true
	case "script":
		o := value.Getopt(c.Args, "cEITOBomt", "command")
		for _, text := range o.Literal("c", "command") {
			out = j.Add(out, j.run(j.Clone(c.Env), value.Set{text}, c.In))
		}
		if len(out) == 0 {
			out = j.run(j.Clone(c.Env), Known(c.In), nil)
		}
		for _, p := range o.Rest[:min(1, len(o.Rest))] {
			j.Effect(value.Writes, value.PathOf(c.Dir, p), false)
		}
		return out, true
	case "xargs", "parallel":
		return j.xargs(c), true
	case "find", "gfind", "fd", "fdfind":
		return j.find(c), true
	case "ssh", "slogin", "mosh", "dropbear", "dbclient":
		return j.remote(c), true
	case "at", "batch":
		if o := value.Getopt(c.Args, "fqt"); !o.Has("lcdr") {
			for _, p := range o.Values["f"] {
				j.run(j.Clone(c.Env), Known(c.Saved[value.PathOf(c.Dir, p)]), nil)
			}
			return j.run(j.Clone(c.Env), Known(c.In), nil), true
		}
		return value.Anything(), true
	case "git":
		j.git(c)
		return nil, false
	case "nix-shell", "npx", "tmux", "screen", "xterm", "konsole", "gnome-terminal", "alacritty", "kitty", "foot", "expect":
		j.terminals(c)
		return nil, false
	case "ed", "ex", "vi", "vim", "nvim", "view", "vimdiff", "emacs", "less", "more", "man":
		j.editor(c)
		return nil, false
	}
	w, ok := wrappers[c.Name]
	if !ok {
		return nil, false
	}
	return j.unwrapped(c, w, rest), true
}

// unwrapped judges what a wrapper of the table starts. rest is that, where it is known already.
func (j *Judge) unwrapped(c Command, w wrapper, rest []string) value.Set {
	if rest == nil {
		if w.skip > 0 && len(wrappers[c.Name].takes)+len(w.longs) == 0 && w.skip <= len(c.Args) {
			rest = value.Behind(c.Args[w.skip:], "")
		} else {
			rest = value.Behind(c.Args, w.takes, w.longs...)
			rest = rest[min(w.skip, len(rest)):]
		}
	}
	if w.sets {
		rest = j.leading(c.Env, rest)
	}
	switch {
	case len(rest) == 0 && (c.Name == "sudo" || c.Name == "doas") && len(c.Args) > 0: // a shell that reads its input
		return j.run(j.Clone(c.Env), Known(c.In), nil)
	case len(rest) == 0:
		return nil
	case w.joins && len(rest) == 1 && strings.ContainsAny(rest[0], " \t\n;|&"):
		return j.run(j.Clone(c.Env), value.Set{rest[0]}, c.In)
	case w.joins && c.Name != "wsl":
		return j.run(j.Clone(c.Env), value.Set{strings.Join(rest, " ")}, c.In)
	}
	if c.Name == "wsl" && (rest[0] == "-e" || rest[0] == "--exec" || rest[0] == "--") {
		rest = rest[1:]
	}
	return j.Simple(c.Env, rest, c.deep)
}

// behindFirst is what stands behind options and other words that are no program, for wrappers with options of all
// kinds: the first word that is no option.
func behindFirst(args []string) []string {
	for k, a := range args {
		if !strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "/") && !strings.HasPrefix(a, "\"") {
			return args[k:]
		}
	}
	return nil
}

// Known is s without what is not known at all: that is no text to judge.
func Known(s value.Set) value.Set {
	var all value.Set
	for _, v := range s {
		if v != string(value.Hole) && v != "" {
			all = append(all, v)
		}
	}
	return all
}

// leading takes assignments from the front of a command.
func (j *Judge) leading(e *Env, args []string) []string {
	for len(args) > 0 {
		name, v, ok := strings.Cut(args[0], "=")
		if !ok || !syntax.ValidName(name) {
			break
		}
		j.program(e, name, value.Set{v})
		e.Set(name, j.Add(e.value(name), value.Set{v}))
		args = args[1:]
	}
	return args
}

// environment is env, with its options and assignments.
func (j *Judge) environment(c Command) value.Set {
	for k, a := range c.Args {
		text, ok := strings.CutPrefix(a, "-S")
		if !ok {
			text, ok = strings.CutPrefix(a, "--split-string")
			text = strings.TrimPrefix(text, "=")
		}
		if !ok && strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "S") {
			ok, text = true, ""
		}
		if ok {
			rest := c.Args[k+1:]
			if text == "" && len(rest) > 0 {
				text, rest = rest[0], rest[1:]
			}
			return j.run(j.Clone(c.Env), value.Set{strings.TrimSpace(text) + value.QuoteAll(rest)}, c.In)
		}
		if !strings.HasPrefix(a, "-") {
			break
		}
	}
	child := j.Clone(c.Env)
	rest := value.Behind(c.Args, "uCP", "unset", "chdir")
	if len(rest) > 0 && rest[0] == "-" { // an empty environment
		rest = value.Behind(rest[1:], "uCP", "unset", "chdir")
	}
	rest = j.leading(child, rest)
	if len(rest) == 0 {
		return value.Anything()
	}
	if dir := value.Getopt(c.Args[:len(c.Args)-len(rest)], "uC", "chdir").Literal("C", "chdir"); len(dir) > 0 {
		child.Cwd = value.Set{value.PathOf(c.Dir, dir[0])}
	}
	return j.Simple(child, rest, c.deep)
}

// xargs puts what is on its input behind or into a command.
func (j *Judge) xargs(c Command) value.Set {
	const most = 64 // words of the input that are put in
	takes, longs := "IndPLsEa", []string{"replace", "max-args", "delimiter", "max-procs", "max-lines", "max-chars", "arg-file", "process-slot-var", "eof"}
	if c.Name == "parallel" {
		takes, longs = "IjnNSaCdPL", []string{"jobs", "max-args", "sshlogin", "colsep", "joblog", "results", "timeout", "delay", "arg-file"}
	}
	rest := value.Behind(c.Args, takes, longs...)
	o := value.Getopt(c.Args[:len(c.Args)-len(rest)], takes, longs...)
	in := c.In
	if files := o.Literal("a", "arg-file"); len(files) > 0 {
		in = c.Saved[value.PathOf(c.Dir, files[0])]
	}
	hold := ""
	if v := o.Literal("I", "replace"); len(v) > 0 {
		hold = v[0]
	} else if o.Has("i", "replace") || c.Name == "parallel" {
		hold = "{}"
	}
	if k := slices.IndexFunc(rest, func(s string) bool { return strings.HasPrefix(s, ":::") }); k >= 0 {
		in = value.Set{strings.Join(rest[k+1:], "\n")}
		rest = rest[:k]
	}
	if len(rest) == 0 {
		if c.Name == "parallel" {
			return j.run(j.Clone(c.Env), Known(in), nil)
		}
		return in
	}
	if len(in) == 0 {
		in = value.Anything()
	}
	var out value.Set
	for _, text := range in {
		var items []string
		split := strings.Fields
		if hold != "" {
			split = func(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }
		}
		for _, w := range split(strings.ReplaceAll(text, "\x00", "\n")) {
			w = value.Read(strings.Trim(w, `"'`), false)
			items = append(items, w)
			if len(items) == most {
				items = append(items, string(value.Some))
				break
			}
		}
		argv := slices.Clone(rest)
		if hold == "" || !strings.Contains(strings.Join(rest, "\x00"), hold) {
			if c.Name == "parallel" {
				argv = []string{strings.Join(append(argv, items...), " ")}
			} else {
				argv = append(argv, items...)
			}
			out = j.Add(out, j.oneOf(c, argv))
			continue
		}
		for _, item := range items {
			for k := range rest {
				argv[k] = strings.ReplaceAll(rest[k], hold, item)
			}
			out = j.Add(out, j.oneOf(c, slices.Clone(argv)))
		}
	}
	return out
}

// oneOf starts one command of xargs or parallel.
func (j *Judge) oneOf(c Command, argv []string) value.Set {
	child := j.Clone(c.Env)
	child.In = nil
	if c.Name == "parallel" {
		return j.run(child, value.Set{strings.Join(argv, " ")}, nil)
	}
	return j.Simple(child, argv, c.deep)
}

// find walks trees, and may remove or run something for all that it finds.
func (j *Judge) find(c Command) value.Set {
	args := c.Args
	for len(args) > 0 && (args[0] == "-H" || args[0] == "-L" || args[0] == "-P" || args[0] == "-E" || args[0] == "-X" || strings.HasPrefix(args[0], "-O") || args[0] == "-D") {
		args = args[min(len(args), 1+value.B2i(args[0] == "-D")):]
	}
	var roots []string
	if c.Name == "fd" || c.Name == "fdfind" {
		o := value.Getopt(args, "eEtdSojx", "extension", "exclude", "type", "max-depth", "min-depth", "exec", "exec-batch", "size", "base-directory", "search-path")
		roots = append(roots, o.Literal("", "base-directory", "search-path")...)
		roots = append(roots, o.Rest[min(1, len(o.Rest)):]...)
	}
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") && args[0] != "(" && args[0] != "!" && !strings.HasPrefix(c.Name, "fd") {
		roots, args = append(roots, args[0]), args[1:]
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	var below []string // each root, and something in it
	for k, r := range roots {
		roots[k] = value.PathOf(c.Dir, r)
		below = append(below, roots[k], value.At(roots[k], string(value.Some)))
		if roots[k] == "/" {
			below = append(below, "/etc/"+string(value.Some))
		}
		j.Effect(value.Reads, roots[k], false)
	}
	for k := 0; k < len(args); k++ {
		switch a := args[k]; a {
		case "-delete":
			for _, r := range roots {
				j.Effect(value.Deletes, r, true)
			}
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if k+1 < len(args) {
				j.Effect(value.Writes, value.PathOf(c.Dir, args[k+1]), false)
			}
		case "-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch":
			end := k + 1
			for end < len(args) && args[end] != ";" && (args[end] != "+" || args[end-1] != "{}") {
				end++
			}
			for _, p := range below {
				argv := slices.Clone(args[k+1 : end])
				for i := range argv {
					argv[i] = strings.ReplaceAll(argv[i], "{}", p)
				}
				if len(argv) > 0 && strings.HasPrefix(c.Name, "fd") && !strings.Contains(strings.Join(args[k+1:end], " "), "{") {
					argv = append(argv, p)
				}
				j.Simple(j.Clone(c.Env), argv, true)
			}
			k = end
		}
		if j.Denied() {
			return nil
		}
	}
	return value.Set{strings.Join(below, "\n") + "\n"}
}

// remote judges what ssh runs elsewhere as if it ran here, and what it runs here to get there.
func (j *Judge) remote(c Command) value.Set {
	const takes = "bcDEeFIiJLlmOopQRSWwB"
	rest := value.Behind(c.Args, takes)
	o := value.Getopt(c.Args[:len(c.Args)-len(rest)], takes)
	for _, opt := range o.Values["o"] {
		name, v := opt, ""
		if k := strings.IndexAny(opt, " ="); k >= 0 {
			name, v = opt[:k], opt[k+1:]
		}
		if n := strings.ToLower(name); n == "proxycommand" || n == "localcommand" || n == "knownhostscommand" {
			j.run(j.Clone(c.Env), value.Set{strings.TrimSpace(v)}, nil)
		}
	}
	if len(rest) > 0 {
		_, host, ok := strings.Cut(rest[0], "@")
		if !ok {
			host = rest[0]
		}
		j.Touch(value.Calls, host)
	}
	if len(rest) > 1 {
		far := value.Behind(rest[1:], takes)
		if len(far) > 0 {
			return j.Add(j.run(j.Clone(c.Env), value.Set{strings.Join(far, " ")}, c.In), value.Anything())
		}
	}
	if !o.Has("N") {
		j.run(j.Clone(c.Env), Known(c.In), nil)
	}
	return value.Anything()
}

// terminals judges the commands that multiplexers, terminals and a few runners get as text or words.
func (j *Judge) terminals(c Command) {
	run := func(texts ...string) {
		for _, t := range texts {
			j.run(j.Clone(c.Env), value.Set{t}, nil)
		}
	}
	switch c.Name {
	case "nix-shell":
		run(value.Getopt(c.Args, "pIA", "run", "command", "packages").Literal("", "run", "command")...)
	case "npx":
		run(value.Getopt(c.Args, "cp", "call", "package").Literal("c", "call")...)
	case "expect":
		for _, code := range value.Getopt(c.Args, "c").Values["c"] {
			if k := strings.Index(code, "spawn "); k >= 0 {
				run(code[k+len("spawn "):])
			}
		}
	case "tmux":
		for k, a := range c.Args {
			if strings.Contains(a, " ") || k > 0 && strings.HasPrefix(c.Args[k-1], "send") {
				run(a)
			}
		}
	default:
		for k, a := range c.Args {
			if a == "-e" || a == "--" || a == "-x" || c.Name == "screen" && strings.HasPrefix(a, "-d") {
				if rest := value.Behind(c.Args[k+1:], "Sc"); len(rest) == 1 {
					run(rest[0])
				} else if len(rest) > 0 {
					j.Simple(j.Clone(c.Env), rest, c.deep)
				}
				return
			}
		}
	}
}

// editor judges the commands that an editor or a reader of texts is told to run.
func (j *Judge) editor(c Command) {
	bang := func(text string) {
		for line := range strings.SplitSeq(text, "\n") {
			line = strings.TrimLeft(line, ": \t%+0123456789,$")
			for _, p := range []string{"silent! ", "silent ", "sil "} {
				line = strings.TrimPrefix(line, p)
			}
			for _, p := range []string{"execute ", "exe "} {
				line = strings.Trim(strings.TrimPrefix(line, p), `"'`)
			}
			for _, p := range []string{"r!", "r !", "w !", "read !", "write !", "term ", "terminal "} {
				if rest, ok := strings.CutPrefix(line, p); ok {
					line = "!" + rest
				}
			}
			if cmd, ok := strings.CutPrefix(line, "!"); ok && strings.TrimSpace(cmd) != "" {
				j.run(j.Clone(c.Env), value.Set{strings.TrimSpace(cmd)}, nil)
			} else if strings.Contains(line, "system(") || strings.Contains(line, "shell-command") || strings.Contains(line, "os.execute") {
				j.code(c, "vim", line)
			}
		}
	}
	for k, a := range c.Args {
		switch {
		case strings.HasPrefix(a, "+"):
			bang(a[1:])
		case len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.HasSuffix(a, "c") && c.Name != "man", a == "--cmd", a == "--eval", a == "-eval":
			if k+1 < len(c.Args) {
				bang(c.Args[k+1])
			}
		case strings.HasPrefix(a, "-c"), strings.HasPrefix(a, "--eval="):
			bang(strings.TrimPrefix(strings.TrimPrefix(a, "-c"), "--eval="))
		case c.Name == "man" && (a == "-P" || a == "--pager") && k+1 < len(c.Args):
			j.run(j.Clone(c.Env), value.Set{c.Args[k+1]}, nil)
		case c.Name == "man" && (strings.HasPrefix(a, "-P") || strings.HasPrefix(a, "--pager=")):
			j.run(j.Clone(c.Env), value.Set{strings.TrimPrefix(strings.TrimPrefix(a, "-P"), "--pager=")}, nil)
		}
	}
	for _, text := range Known(c.In) {
		if c.Name != "less" && c.Name != "more" {
			bang(text)
		}
	}
}

// gitCommand reports whether a setting of git is a command that it will run.
func gitCommand(key string) bool {
	key = strings.ToLower(key)
	last := key[strings.LastIndexByte(key, '.')+1:]
	switch key {
	case "core.pager", "core.editor", "core.sshcommand", "core.fsmonitor", "core.askpass", "core.gitproxy", "core.hookspath", "diff.external", "sequence.editor",
		"credential.helper", "gpg.program", "interactive.difffilter", "uploadpack.packobjectshook", "core.alternaterefscommand", "gpg.ssh.program", "browser.cmd", "web.browser":
		return true
	}
	for _, p := range []string{"pager.", "alias."} {
		if strings.HasPrefix(key, p) {
			return true
		}
	}
	return slices.Contains([]string{"textconv", "command", "cmd", "clean", "smudge", "process", "driver", "helper", "program", "uploadpack", "receivepack", "sshcommand"}, last)
}

// git judges the commands that git is given as settings and options.
func (j *Judge) git(c Command) {
	run := func(texts ...string) {
		for _, t := range texts {
			if strings.TrimSpace(t) != "" {
				j.run(j.Clone(c.Env), value.Set{t}, nil)
			}
		}
	}
	setting := func(key, v string) {
		if v == "" || !gitCommand(key) {
			return
		}
		cmd, bang := strings.CutPrefix(v, "!")
		switch k := strings.ToLower(key); {
		case strings.HasPrefix(k, "alias.") && !bang, k == "core.fsmonitor" && (v == "true" || v == "false"), strings.HasSuffix(k, "hookspath"):
		case strings.HasPrefix(k, "pager.") && (v == "true" || v == "false"):
		case strings.HasSuffix(k, "helper") && !bang && !strings.ContainsAny(v, "/ "):
		default:
			run(cmd)
		}
	}
	args := c.Args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		a := args[0]
		args = args[1:]
		switch {
		case a == "-c" || a == "--config-env":
			if len(args) > 0 {
				key, v, _ := strings.Cut(args[0], "=")
				setting(key, v)
				args = args[1:]
			}
		case a == "-C" || a == "--git-dir" || a == "--work-tree" || a == "--namespace" || a == "--super-prefix" || a == "--exec-path":
			args = args[min(1, len(args)):]
		}
	}
	if len(args) == 0 {
		return
	}
	j.gitCommand(c, args[0], args[1:], run, setting)
}

// gitCommand judges the commands that git's own commands are given. run judges a text, setting a setting.
func (j *Judge) gitCommand(c Command, sub string, rest []string, run func(...string), setting func(key, v string)) {
	switch sub {
	case "config":
		o := value.Getopt(rest, "f", "file", "type", "blob", "default", "comment", "value")
		op := o.Rest
		if len(op) > 0 && (op[0] == "set" || op[0] == "add") {
			op = op[1:]
		}
		if len(op) > 1 {
			setting(op[0], op[1])
		}
	case "bisect":
		if len(rest) > 1 && rest[0] == "run" {
			j.Simple(j.Clone(c.Env), rest[1:], c.deep)
		}
	case "submodule":
		if len(rest) > 0 && rest[0] == "foreach" {
			run(strings.Join(value.Behind(rest[1:], ""), " "))
		}
	case "rebase":
		run(value.Getopt(rest, "xs", "exec", "onto").Literal("x", "exec")...)
	case "difftool", "mergetool":
		run(value.Getopt(rest, "xt", "extcmd", "tool").Literal("x", "extcmd")...)
	case "filter-branch":
		o := value.Getopt(rest, "d", "setup", "env-filter", "tree-filter", "index-filter", "parent-filter", "msg-filter", "commit-filter", "tag-name-filter")
		run(o.Literal("", "setup", "env-filter", "tree-filter", "index-filter", "parent-filter", "msg-filter", "commit-filter", "tag-name-filter")...)
	case "clone", "fetch", "pull", "push", "ls-remote", "remote", "archive":
		o := value.Getopt(rest, "cu", "upload-pack", "receive-pack", "exec", "config")
		if sub != "archive" {
			run(o.Literal("", "upload-pack", "receive-pack", "exec")...)
		}
		if sub == "clone" {
			run(o.Values["u"]...)
			for _, kv := range o.Literal("c", "config") {
				key, v, _ := strings.Cut(kv, "=")
				setting(key, v)
			}
		}
		for _, url := range o.Rest {
			if cmd, ok := strings.CutPrefix(url, "ext::"); ok {
				run(cmd)
			} else if h := value.HostOf(url); h != "" {
				j.Touch(value.Calls, h)
			}
		}
	}
}
