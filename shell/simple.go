package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// path is the absolute form of a word that names a file.
func pathOf(dir, p string) string {
	if drive(p) || strings.HasPrefix(p, `\\`) {
		p = strings.ReplaceAll(p, `\`, "/")
	}
	return at(dir, p)
}

// called is the name of a program: its last path element, without the extensions of Windows.
func called(word string) string {
	if drive(word) || strings.HasPrefix(word, `\\`) || strings.HasPrefix(word, `.\`) {
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

// A command is one that is about to be started, in one reading.
type command struct {
	*env
	name string
	args []string
	dir  string
	deep bool // with the paths of all that lies below its operands
}

// simple judges one command line without anything left to expand, and is what it prints. It may change e.
func (j *judge) simple(e *env, argv []string, deep bool) set {
	if len(argv) == 0 || !j.spend(8) {
		return nil
	}
	if t := taint(argv[0]); t != "" {
		j.denyFed(t)
		return nil
	}
	c := command{env: e, name: called(argv[0]), args: argv[1:], dir: e.cwd[0], deep: deep}
	if body, ok := e.funcs[argv[0]]; ok && body != nil {
		return j.invoke(e, argv[0], c.args)
	}
	if text, ok := e.aliases[argv[0]]; ok {
		delete(e.aliases, argv[0])
		out := j.text(e, text+" "+quoteAll(c.args), e.in)
		return out
	}
	if !strings.ContainsRune(argv[0], some) && !wild(argv[0]) {
		j.touch(Runs, c.name)
	} else {
		j.touch(Unknown, argv[0])
	}
	if len(j.parts) < maxListed {
		part := make([]string, len(argv))
		for k, w := range argv {
			part[k] = shown(w)
		}
		j.parts = append(j.parts, part)
	}
	if j.started(c, argv[0]) {
		return unknown
	}
	for _, look := range []func(command) (set, bool){j.wrapped, j.fed, j.builtin} {
		if out, ok := look(c); ok {
			return out
		}
		if j.denied() {
			return nil
		}
	}
	c.low() // programs of Windows do not care for case
	if out, ok := j.foreign.Program(c); ok {
		return out
	}
	j.system(c)
	j.effects(c)
	return j.printed(c)
}

// low lowers a name that is no program of Unix in the case it is written in.
func (c *command) low() {
	if strings.ContainsAny(c.name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && drive(c.dir) {
		c.name = strings.ToLower(c.name)
	}
}

// quoteAll writes words so that a shell reads them back as they are.
func quoteAll(words []string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(" '")
		b.WriteString(strings.ReplaceAll(w, "'", `'\''`))
		b.WriteString("'")
	}
	return b.String()
}

// started judges a file that this command line made and now runs by its name. It reports whether there is such a file.
func (j *judge) started(c command, word string) bool {
	var content set
	if strings.Contains(word, "/") || drive(c.dir) {
		content = c.saved[pathOf(c.dir, strings.ReplaceAll(word, `\`, "/"))]
	} else {
		for p, s := range c.saved {
			if path.Base(p) == word && path.Base(path.Dir(p)) == "bin" {
				content = s
			}
		}
	}
	for _, text := range content {
		if t := taint(text); t != "" {
			j.denyFed(t)
			return true
		}
		if drive(c.dir) {
			j.foreign.Script(j.clone(c.env), text, c.in)
			continue
		}
		child := j.clone(c.env)
		child.args = nil
		j.script(child, text, c.in)
	}
	return len(content) > 0
}

// script judges a file of commands by its first line.
func (j *judge) script(e *env, text string, in set) {
	first, _, _ := strings.Cut(text, "\n")
	if bang, ok := strings.CutPrefix(first, "#!"); ok {
		words := strings.Fields(bang)
		if len(words) > 1 && called(words[0]) == "env" {
			words = words[1:]
		}
		if len(words) > 0 && languageOf(called(words[0])) != "" {
			j.code(command{env: e, dir: e.cwd[0]}, languageOf(called(words[0])), text)
			return
		}
	}
	if strings.Trim(text, string([]rune{hole, some})) != "" {
		j.run(e, set{text}, in)
	}
}

// run judges texts that are a shell's program, in every way in which they can be read.
func (j *judge) run(e *env, texts, in set) set {
	var out set
	for _, text := range texts {
		switch {
		case taint(text) != "":
			j.denyFed(text)
		case maybe(text):
			out = j.add(out, j.text(j.clone(e), read(text, true), in))
			out = j.add(out, j.text(j.clone(e), read(text, false), in))
		default:
			out = j.add(out, j.text(e, text, in))
		}
	}
	return out
}

// builtin judges what the shell does itself.
func (j *judge) builtin(c command) (set, bool) {
	e := c.env
	switch c.name {
	case "cd", "pushd", "chdir":
		j.folder(c)
		return nil, true
	case "popd":
		e.cwd = j.add(e.cwd, set{j.world.Dir})
		e.changes++
		return nil, true
	case "exit", "return":
		e.ended = true
		return nil, true
	case "eval":
		return j.run(e, set{strings.Join(c.args, " ")}, e.in), true
	case ".", "source":
		if len(c.args) == 0 {
			return nil, true
		}
		p := pathOf(c.dir, c.args[0])
		j.effect(Reads, p, false)
		content := c.saved[p]
		if p == "/dev/stdin" || p == "/dev/fd/0" {
			content = e.in
		}
		for _, text := range content {
			if text != string(hole) {
				j.run(e, set{text}, e.in)
			}
		}
		return unknown, true
	case "trap":
		args := behind(c.args, "")
		if len(args) > 1 {
			j.run(j.clone(e), set{args[0]}, nil)
		}
		return nil, true
	case "alias":
		for _, a := range c.args {
			if name, text, ok := strings.Cut(a, "="); ok {
				j.run(j.clone(e), set{text}, nil)
				e.aliases[name] = text
			}
		}
		return unknown, true
	case "set":
		j.positional(c)
		return unknown, true
	case "shift":
		if len(e.args) > 0 {
			e.args = e.args[1:]
		}
		return nil, true
	case "read", "mapfile", "readarray":
		j.reads(c)
		return nil, true
	case "export", "declare", "typeset", "local", "readonly": // where a word of the declaration was made by an expansion
		for _, a := range c.args {
			if name, v, ok := strings.Cut(a, "="); ok && syntax.ValidName(name) {
				j.program(e, name, set{v})
				e.set(name, set{v})
			}
		}
		return nil, true
	case "unset":
		for _, a := range c.args {
			delete(e.vars, a)
			e.changes++
		}
		return nil, true
	case "kill":
		j.kill(c)
		return nil, true
	}
	return nil, false
}

// folder moves the working folder.
func (j *judge) folder(c command) {
	args := behind(c.args, "")
	if len(args) == 0 && len(c.args) > 0 && c.args[len(c.args)-1] == "-" {
		args = []string{"-"}
	}
	c.changes++
	switch {
	case len(args) == 0 && c.name == "pushd":
	case len(args) == 0:
		c.cwd = j.add(nil, c.value("HOME"))
		if slices.Equal(c.cwd, unknown) {
			c.cwd = set{j.world.Home}
		}
	case args[0] == "-":
		c.cwd = j.add(set{c.dir}, set{j.world.Dir})
	case args[0] == "":
	default:
		p := pathOf(c.dir, args[0])
		j.effect(Reads, p, false)
		c.cwd = set{p}
	}
}

// positional is set -- a b c.
func (j *judge) positional(c command) {
	args := c.args
	for len(args) > 0 && args[0] != "--" && (strings.HasPrefix(args[0], "-") || strings.HasPrefix(args[0], "+")) {
		if strings.HasSuffix(args[0], "o") && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	if args[0] == "--" {
		args = args[1:]
	}
	c.env.args = []set{}
	for _, a := range args {
		c.env.args = append(c.env.args, set{a})
	}
	c.changes++
}

// reads gives variables what is on the input.
func (j *judge) reads(c command) {
	const most = 32 // lines that are told apart
	o := getopt(c.args, "adnNptuiCcOs")
	names := o.rest
	if c.name == "read" {
		names = append(names, o.values["a"]...)
	}
	for _, text := range o.values["C"] {
		j.run(j.clone(c.env), set{text}, nil)
	}
	if len(names) == 0 {
		names = []string{map[bool]string{true: "REPLY", false: "MAPFILE"}[c.name == "read"]}
	}
	var lines set
	for _, text := range c.in {
		all := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if c.name != "read" {
			lines = append(lines, strings.Join(all, string(gap)))
			continue
		}
		for _, l := range all {
			if len(lines) < most && !slices.Contains(lines, l) {
				lines = append(lines, l)
			}
		}
		if len(all) > most {
			lines = append(lines, string(hole)+taint(text))
		}
	}
	if len(c.in) == 0 {
		lines = unknown
	}
	for k, name := range names {
		v := lines
		if len(names) > 1 {
			v = nil
			for _, l := range lines {
				if f := strings.Fields(l); k < len(f) {
					rest := f[k]
					if k == len(names)-1 {
						rest = strings.Join(f[k:], " ")
					}
					v = j.add(v, set{rest})
				}
			}
			if len(v) == 0 {
				v = set{string(hole) + c.in.taint()}
			}
		}
		c.set(name, v)
	}
}

// kill judges signals to processes. Process -1 is every process of the user.
func (j *judge) kill(c command) {
	args := c.args
	if len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--" {
		if args[0] == "-s" || args[0] == "-n" || args[0] == "--signal" {
			args = args[min(2, len(args)):]
		} else if args[0] == "-l" || args[0] == "-L" {
			return
		} else if len(args) > 1 {
			args = args[1:]
		} else {
			return
		}
	}
	for _, a := range args {
		if a == "-1" {
			j.deny("D12", "The command ends every process of the user, this program with them. Name the process.")
		}
	}
}
