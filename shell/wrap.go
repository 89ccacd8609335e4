package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
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
func (j *judge) wrapped(c command) (out set, is bool) {
	rest := []string(nil)
	switch c.name {
	case "command":
		if o := getopt(c.args[:min(1, len(c.args))], ""); o.has("vV") {
			return j.printed(c), true
		}
	case "poetry", "pipenv", "uv", "bundle":
		if len(c.args) == 0 || c.args[0] != "run" && c.args[0] != "exec" {
			return nil, false
		}
	case "start", "runas", "bwrap", "perf", "gdb", "dotenv", "firejail":
		if rest = behindFirst(c.args); rest == nil {
			return nil, false
		}
	case "su", "runuser":
		o := getopt(c.args, "cgGswuC", "command", "session-command", "group", "shell", "user")
		for _, text := range o.value("c", "command", "session-command") {
			out = j.add(out, j.run(j.clone(c.env), set{text}, c.in))
		}
		if u := o.value("u", "user"); c.name == "runuser" && len(u) > 0 {
			return j.simple(c.env, behind(c.args, "ugG", "user", "group"), c.deep), true
		}
		if len(out) == 0 {
			out = j.run(j.clone(c.env), known(c.in), nil)
		}
		return out, true
	case "env":
		return j.environment(c), true
	case "flock":
		args := behind(c.args, "wE", "timeout", "wait", "conflict-exit-code")
		if len(args) < 2 {
			return nil, false
		}
		if args = args[1:]; args[0] == "-c" || args[0] == "--command" {
			return j.run(j.clone(c.env), set(args[1:]), c.in), true
		}
		return j.simple(c.env, behind(args, ""), c.deep), true
	case "script":
		o := getopt(c.args, "cEITOBomt", "command")
		for _, text := range o.value("c", "command") {
			out = j.add(out, j.run(j.clone(c.env), set{text}, c.in))
		}
		if len(out) == 0 {
			out = j.run(j.clone(c.env), known(c.in), nil)
		}
		for _, p := range o.rest[:min(1, len(o.rest))] {
			j.effect(Writes, pathOf(c.dir, p), false)
		}
		return out, true
	case "xargs", "parallel":
		return j.xargs(c), true
	case "find", "gfind", "fd", "fdfind":
		return j.find(c), true
	case "ssh", "slogin", "mosh", "dropbear", "dbclient":
		return j.remote(c), true
	case "at", "batch":
		if o := getopt(c.args, "fqt"); !o.has("lcdr") {
			for _, p := range o.values["f"] {
				j.run(j.clone(c.env), known(c.saved[pathOf(c.dir, p)]), nil)
			}
			return j.run(j.clone(c.env), known(c.in), nil), true
		}
		return unknown, true
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
	w, ok := wrappers[c.name]
	if !ok {
		return nil, false
	}
	if rest == nil {
		if w.skip > 0 && len(wrappers[c.name].takes)+len(w.longs) == 0 && w.skip <= len(c.args) {
			rest = behind(c.args[w.skip:], "")
		} else {
			rest = behind(c.args, w.takes, w.longs...)
			rest = rest[min(w.skip, len(rest)):]
		}
	}
	if w.sets {
		rest = j.leading(c.env, rest)
	}
	switch {
	case len(rest) == 0 && (c.name == "sudo" || c.name == "doas") && len(c.args) > 0: // a shell that reads its input
		return j.run(j.clone(c.env), known(c.in), nil), true
	case len(rest) == 0:
		return nil, true
	case w.joins && len(rest) == 1 && strings.ContainsAny(rest[0], " \t\n;|&"):
		return j.run(j.clone(c.env), set{rest[0]}, c.in), true
	case w.joins && c.name != "wsl":
		return j.run(j.clone(c.env), set{strings.Join(rest, " ")}, c.in), true
	}
	if c.name == "wsl" && (rest[0] == "-e" || rest[0] == "--exec" || rest[0] == "--") {
		rest = rest[1:]
	}
	return j.simple(c.env, rest, c.deep), true
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

// known is s without what is not known at all: that is no text to judge.
func known(s set) set {
	var all set
	for _, v := range s {
		if v != string(hole) && v != "" {
			all = append(all, v)
		}
	}
	return all
}

// leading takes assignments from the front of a command.
func (j *judge) leading(e *env, args []string) []string {
	for len(args) > 0 {
		name, v, ok := strings.Cut(args[0], "=")
		if !ok || !syntax.ValidName(name) {
			break
		}
		j.program(e, name, set{v})
		e.set(name, j.add(e.value(name), set{v}))
		args = args[1:]
	}
	return args
}

// environment is env, with its options and assignments.
func (j *judge) environment(c command) set {
	for k, a := range c.args {
		text, ok := strings.CutPrefix(a, "-S")
		if !ok {
			text, ok = strings.CutPrefix(a, "--split-string")
			text = strings.TrimPrefix(text, "=")
		}
		if !ok && strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.HasSuffix(a, "S") {
			ok, text = true, ""
		}
		if ok {
			rest := c.args[k+1:]
			if text == "" && len(rest) > 0 {
				text, rest = rest[0], rest[1:]
			}
			return j.run(j.clone(c.env), set{strings.TrimSpace(text) + quoteAll(rest)}, c.in)
		}
		if !strings.HasPrefix(a, "-") {
			break
		}
	}
	child := j.clone(c.env)
	rest := behind(c.args, "uCP", "unset", "chdir")
	rest = j.leading(child, rest)
	if len(rest) == 0 {
		return unknown
	}
	if dir := getopt(c.args[:len(c.args)-len(rest)], "uC", "chdir").value("C", "chdir"); len(dir) > 0 {
		child.cwd = set{pathOf(c.dir, dir[0])}
	}
	return j.simple(child, rest, c.deep)
}

// xargs puts what is on its input behind or into a command.
func (j *judge) xargs(c command) set {
	const most = 64 // words of the input that are put in
	takes, longs := "IndPLsEa", []string{"replace", "max-args", "delimiter", "max-procs", "max-lines", "max-chars", "arg-file", "process-slot-var", "eof"}
	if c.name == "parallel" {
		takes, longs = "IjnNSaCdPL", []string{"jobs", "max-args", "sshlogin", "colsep", "joblog", "results", "timeout", "delay", "arg-file"}
	}
	rest := behind(c.args, takes, longs...)
	o := getopt(c.args[:len(c.args)-len(rest)], takes, longs...)
	in := c.in
	if files := o.value("a", "arg-file"); len(files) > 0 {
		in = c.saved[pathOf(c.dir, files[0])]
	}
	hold := ""
	if v := o.value("I", "replace"); len(v) > 0 {
		hold = v[0]
	} else if o.has("i", "replace") || c.name == "parallel" {
		hold = "{}"
	}
	if k := slices.IndexFunc(rest, func(s string) bool { return strings.HasPrefix(s, ":::") }); k >= 0 {
		in = set{strings.Join(rest[k+1:], "\n")}
		rest = rest[:k]
	}
	if len(rest) == 0 {
		if c.name == "parallel" {
			return j.run(j.clone(c.env), known(in), nil)
		}
		return in
	}
	if len(in) == 0 {
		in = unknown
	}
	var out set
	for _, text := range in {
		var items []string
		split := strings.Fields
		if hold != "" {
			split = func(s string) []string { return strings.Split(strings.TrimRight(s, "\n"), "\n") }
		}
		for _, w := range split(strings.ReplaceAll(text, "\x00", "\n")) {
			w = read(strings.Trim(w, `"'`), false)
			items = append(items, w)
			if len(items) == most {
				items = append(items, string(some))
				break
			}
		}
		argv := slices.Clone(rest)
		if hold == "" || !strings.Contains(strings.Join(rest, "\x00"), hold) {
			if c.name == "parallel" {
				argv = []string{strings.Join(append(argv, items...), " ")}
			} else {
				argv = append(argv, items...)
			}
			out = j.add(out, j.oneOf(c, argv))
			continue
		}
		for _, item := range items {
			for k := range rest {
				argv[k] = strings.ReplaceAll(rest[k], hold, item)
			}
			out = j.add(out, j.oneOf(c, slices.Clone(argv)))
		}
	}
	return out
}

// oneOf starts one command of xargs or parallel.
func (j *judge) oneOf(c command, argv []string) set {
	child := j.clone(c.env)
	child.in = nil
	if c.name == "parallel" {
		return j.run(child, set{strings.Join(argv, " ")}, nil)
	}
	return j.simple(child, argv, c.deep)
}

// find walks trees, and may remove or run something for all that it finds.
func (j *judge) find(c command) set {
	args := c.args
	for len(args) > 0 && (args[0] == "-H" || args[0] == "-L" || args[0] == "-P" || args[0] == "-E" || args[0] == "-X" || strings.HasPrefix(args[0], "-O") || args[0] == "-D") {
		args = args[min(len(args), 1+b2i(args[0] == "-D")):]
	}
	var roots []string
	if c.name == "fd" || c.name == "fdfind" {
		o := getopt(args, "eEtdSojx", "extension", "exclude", "type", "max-depth", "min-depth", "exec", "exec-batch", "size", "base-directory", "search-path")
		roots = append(roots, o.value("", "base-directory", "search-path")...)
		roots = append(roots, o.rest[min(1, len(o.rest)):]...)
	}
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") && args[0] != "(" && args[0] != "!" && !strings.HasPrefix(c.name, "fd") {
		roots, args = append(roots, args[0]), args[1:]
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	var below []string // each root, and something in it
	for k, r := range roots {
		roots[k] = pathOf(c.dir, r)
		below = append(below, roots[k], at(roots[k], string(some)))
		if roots[k] == "/" {
			below = append(below, "/etc/"+string(some))
		}
		j.effect(Reads, roots[k], false)
	}
	for k := 0; k < len(args); k++ {
		switch a := args[k]; a {
		case "-delete":
			for _, r := range roots {
				j.effect(Deletes, r, true)
			}
		case "-fprint", "-fprint0", "-fls", "-fprintf":
			if k+1 < len(args) {
				j.effect(Writes, pathOf(c.dir, args[k+1]), false)
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
				if len(argv) > 0 && strings.HasPrefix(c.name, "fd") && !strings.Contains(strings.Join(args[k+1:end], " "), "{") {
					argv = append(argv, p)
				}
				j.simple(j.clone(c.env), argv, true)
			}
			k = end
		}
		if j.denied() {
			return nil
		}
	}
	return set{strings.Join(below, "\n") + "\n"}
}

// remote judges what ssh runs elsewhere as if it ran here, and what it runs here to get there.
func (j *judge) remote(c command) set {
	const takes = "bcDEeFIiJLlmOopQRSWwB"
	rest := behind(c.args, takes)
	o := getopt(c.args[:len(c.args)-len(rest)], takes)
	for _, opt := range o.values["o"] {
		name, v, _ := strings.Cut(strings.Replace(opt, " ", "=", 1), "=")
		if n := strings.ToLower(name); n == "proxycommand" || n == "localcommand" || n == "knownhostscommand" {
			j.run(j.clone(c.env), set{strings.TrimSpace(v)}, nil)
		}
	}
	if len(rest) > 0 {
		_, host, ok := strings.Cut(rest[0], "@")
		if !ok {
			host = rest[0]
		}
		j.touch(Calls, host)
	}
	if len(rest) > 1 {
		far := behind(rest[1:], takes)
		if len(far) > 0 {
			return j.add(j.run(j.clone(c.env), set{strings.Join(far, " ")}, c.in), unknown)
		}
	}
	if !o.has("N") {
		j.run(j.clone(c.env), known(c.in), nil)
	}
	return unknown
}

// terminals judges the commands that multiplexers, terminals and a few runners get as text or words.
func (j *judge) terminals(c command) {
	run := func(texts ...string) {
		for _, t := range texts {
			j.run(j.clone(c.env), set{t}, nil)
		}
	}
	switch c.name {
	case "nix-shell":
		run(getopt(c.args, "pIA", "run", "command", "packages").value("", "run", "command")...)
	case "npx":
		run(getopt(c.args, "cp", "call", "package").value("c", "call")...)
	case "expect":
		for _, code := range getopt(c.args, "c").values["c"] {
			if k := strings.Index(code, "spawn "); k >= 0 {
				run(code[k+len("spawn "):])
			}
		}
	case "tmux":
		for k, a := range c.args {
			if strings.Contains(a, " ") || k > 0 && strings.HasPrefix(c.args[k-1], "send") {
				run(a)
			}
		}
	default:
		for k, a := range c.args {
			if a == "-e" || a == "--" || a == "-x" || c.name == "screen" && strings.HasPrefix(a, "-d") {
				if rest := behind(c.args[k+1:], "Sc"); len(rest) == 1 {
					run(rest[0])
				} else if len(rest) > 0 {
					j.simple(j.clone(c.env), rest, c.deep)
				}
				return
			}
		}
	}
}

// editor judges the commands that an editor or a reader of texts is told to run.
func (j *judge) editor(c command) {
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
				j.run(j.clone(c.env), set{strings.TrimSpace(cmd)}, nil)
			} else if strings.Contains(line, "system(") || strings.Contains(line, "shell-command") || strings.Contains(line, "os.execute") {
				j.code(c, "vim", line)
			}
		}
	}
	for k, a := range c.args {
		switch {
		case strings.HasPrefix(a, "+"):
			bang(a[1:])
		case len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.HasSuffix(a, "c") && c.name != "man", a == "--cmd", a == "--eval", a == "-eval":
			if k+1 < len(c.args) {
				bang(c.args[k+1])
			}
		case strings.HasPrefix(a, "-c"), strings.HasPrefix(a, "--eval="):
			bang(strings.TrimPrefix(strings.TrimPrefix(a, "-c"), "--eval="))
		case c.name == "man" && (a == "-P" || a == "--pager") && k+1 < len(c.args):
			j.run(j.clone(c.env), set{c.args[k+1]}, nil)
		case c.name == "man" && (strings.HasPrefix(a, "-P") || strings.HasPrefix(a, "--pager=")):
			j.run(j.clone(c.env), set{strings.TrimPrefix(strings.TrimPrefix(a, "-P"), "--pager=")}, nil)
		}
	}
	for _, text := range known(c.in) {
		if c.name != "less" && c.name != "more" {
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
func (j *judge) git(c command) {
	run := func(texts ...string) {
		for _, t := range texts {
			if strings.TrimSpace(t) != "" {
				j.run(j.clone(c.env), set{t}, nil)
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
	args := c.args
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
	sub, rest := args[0], args[1:]
	switch sub {
	case "config":
		o := getopt(rest, "f", "file", "type", "blob", "default", "comment", "value")
		op := o.rest
		if len(op) > 0 && (op[0] == "set" || op[0] == "add") {
			op = op[1:]
		}
		if len(op) > 1 {
			setting(op[0], op[1])
		}
	case "bisect":
		if len(rest) > 1 && rest[0] == "run" {
			j.simple(j.clone(c.env), rest[1:], c.deep)
		}
	case "submodule":
		if len(rest) > 0 && rest[0] == "foreach" {
			run(strings.Join(behind(rest[1:], ""), " "))
		}
	case "rebase":
		run(getopt(rest, "xs", "exec", "onto").value("x", "exec")...)
	case "difftool", "mergetool":
		run(getopt(rest, "xt", "extcmd", "tool").value("x", "extcmd")...)
	case "filter-branch":
		o := getopt(rest, "d", "setup", "env-filter", "tree-filter", "index-filter", "parent-filter", "msg-filter", "commit-filter", "tag-name-filter")
		run(o.value("", "setup", "env-filter", "tree-filter", "index-filter", "parent-filter", "msg-filter", "commit-filter", "tag-name-filter")...)
	case "clone", "fetch", "pull", "push", "ls-remote", "remote", "archive":
		o := getopt(rest, "cu", "upload-pack", "receive-pack", "exec", "config")
		if sub != "archive" {
			run(o.value("", "upload-pack", "receive-pack", "exec")...)
		}
		if sub == "clone" {
			run(o.values["u"]...)
			for _, kv := range o.value("c", "config") {
				key, v, _ := strings.Cut(kv, "=")
				setting(key, v)
			}
		}
		for _, url := range o.rest {
			if cmd, ok := strings.CutPrefix(url, "ext::"); ok {
				run(cmd)
			} else if h := hostOf(url); h != "" {
				j.touch(Calls, h)
			}
		}
	}
}
