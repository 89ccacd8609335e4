package posix

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/jackline-ai/jackline/shell/value"
)

// A command is one that is about to be started, in one reading.
type Command struct {
	*Env
	Name string
	Args []string
	Dir  string
	deep bool // with the paths of all that lies below its operands
}

// Simple judges one command line without anything left to expand, and is what it prints. It may change e.
func (j *Judge) Simple(e *Env, argv []string, deep bool) value.Set {
	if len(argv) == 0 || !j.Spend(96) {
		return nil
	}
	if t := value.Taint(argv[0]); t != "" {
		j.denyFed(t)
		return nil
	}
	c := Command{Env: e, Name: value.Called(argv[0]), Args: argv[1:], Dir: e.Cwd[0], deep: deep}
	if len(e.funcs[argv[0]]) > 0 {
		return j.invoke(e, argv[0], c.Args)
	}
	if text, ok := e.aliases[argv[0]]; ok {
		delete(e.aliases, argv[0])
		out := j.text(e, text+" "+value.QuoteAll(c.Args), e.In)
		return out
	}
	if !strings.ContainsRune(argv[0], value.Some) && !value.Wild(argv[0]) {
		j.Touch(value.Runs, c.Name)
	} else {
		j.Touch(value.Unknown, argv[0])
	}
	if len(j.Parts) < MaxListed {
		part := make([]string, len(argv))
		for k, w := range argv {
			part[k] = value.Shown(w)
		}
		j.Parts = append(j.Parts, part)
	}
	if strings.Contains(argv[0], "/") {
		for _, dir := range e.Cwd {
			j.File(value.PathOf(dir, argv[0]))
		}
	}
	if strings.Contains(argv[0], "/") && j.World.Ours(value.PathOf(c.Dir, argv[0])) {
		j.Effect(value.Reads, value.PathOf(c.Dir, argv[0]), false)
	}
	if j.started(c, argv[0]) {
		return value.Anything()
	}
	for _, look := range []func(Command) (value.Set, bool){j.wrapped, j.fed, j.builtin} {
		if out, ok := look(c); ok {
			return out
		}
		if j.Denied() {
			return nil
		}
	}
	c.low() // programs of Windows do not care for case
	if out, ok := j.Foreign.Program(c); ok {
		return out
	}
	j.system(c)
	j.effects(c)
	return j.printed(c)
}

// low lowers a name that is no program of Unix in the case it is written in.
func (c *Command) low() {
	if strings.ContainsAny(c.Name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") && value.Drive(c.Dir) {
		c.Name = strings.ToLower(c.Name)
	}
}

// started judges a file that this command line made and now runs by its name. It reports whether there is such a file.
func (j *Judge) started(c Command, word string) bool {
	var content value.Set
	if strings.Contains(word, "/") || value.Drive(c.Dir) {
		content = c.Saved[value.PathOf(c.Dir, strings.ReplaceAll(word, `\`, "/"))]
	} else {
		for p, s := range c.Saved {
			if path.Base(p) == word && path.Base(path.Dir(p)) == "bin" {
				content = s
			}
		}
	}
	for _, text := range content {
		if t := value.Taint(text); t != "" {
			j.denyFed(t)
			return true
		}
		if value.Drive(c.Dir) {
			j.Foreign.Script(j.Clone(c.Env), text, c.In)
			continue
		}
		child := j.Clone(c.Env)
		child.args = nil
		j.script(child, text, c.In)
	}
	return len(content) > 0
}

// script judges a file of commands by its first line.
func (j *Judge) script(e *Env, text string, in value.Set) {
	first, _, _ := strings.Cut(text, "\n")
	if bang, ok := strings.CutPrefix(first, "#!"); ok {
		words := strings.Fields(bang)
		if len(words) > 1 && value.Called(words[0]) == "env" {
			words = words[1:]
		}
		if len(words) > 0 && languageOf(value.Called(words[0])) != "" {
			j.code(Command{Env: e, Dir: e.Cwd[0]}, languageOf(value.Called(words[0])), text)
			return
		}
	}
	if strings.Trim(text, string([]rune{value.Hole, value.Some})) != "" {
		j.run(e, value.Set{text}, in)
	}
}

// run judges texts that are a shell's program, in every way in which they can be read.
func (j *Judge) run(e *Env, texts, in value.Set) value.Set {
	var out value.Set
	for _, text := range texts {
		switch {
		case value.Taint(text) != "":
			j.denyFed(text)
		case value.Maybe(text):
			out = j.Add(out, j.text(j.Clone(e), value.Read(text, true), in))
			out = j.Add(out, j.text(j.Clone(e), value.Read(text, false), in))
		default:
			out = j.Add(out, j.text(e, text, in))
		}
	}
	return out
}

// builtin judges what the shell does itself.
func (j *Judge) builtin(c Command) (value.Set, bool) {
	e := c.Env
	switch c.Name {
	case "cd", "pushd", "chdir":
		j.folder(c)
		return nil, true
	case "popd":
		e.Cwd = j.Add(e.Cwd, value.Set{j.World.Dir})
		e.Changed()
		return nil, true
	case "exit", "return":
		e.ended = true
		return nil, true
	case "eval":
		return j.run(e, value.Set{strings.Join(c.Args, " ")}, e.In), true
	case ".", "source":
		if len(c.Args) == 0 {
			return nil, true
		}
		p := value.PathOf(c.Dir, c.Args[0])
		j.Effect(value.Reads, p, false)
		content := c.Saved[p]
		if p == "/dev/stdin" || p == "/dev/fd/0" {
			content = e.In
		}
		for _, text := range content {
			if text != string(value.Hole) {
				j.run(e, value.Set{text}, e.In)
			}
		}
		return value.Anything(), true
	case "trap":
		args := value.Behind(c.Args, "")
		if len(args) > 1 {
			j.run(j.Clone(e), value.Set{args[0]}, nil)
		}
		return nil, true
	case "alias":
		for _, a := range c.Args {
			if name, text, ok := strings.Cut(a, "="); ok {
				j.run(j.Clone(e), value.Set{text}, nil)
				e.aliases[name] = text
			}
		}
		return value.Anything(), true
	case "set":
		j.parameters(c)
		return value.Anything(), true
	case "shift":
		e.args = value.Mapped(e.args, func(all string) string {
			_, rest, _ := strings.Cut(all, string(value.Gap))
			return rest
		})
		e.Changed()
		return nil, true
	case "read", "mapfile", "readarray":
		j.reads(c)
		return nil, true
	case "export", "declare", "typeset", "local", "readonly": // where a word of the declaration was made by an expansion
		for _, a := range c.Args {
			if name, v, ok := strings.Cut(a, "="); ok && syntax.ValidName(name) {
				j.program(e, name, value.Set{v})
				e.Set(name, value.Set{v})
			}
		}
		return nil, true
	case "unset":
		for _, a := range c.Args {
			delete(e.Vars, a)
			e.Changed()
		}
		return nil, true
	case "kill":
		j.kill(c)
		return nil, true
	}
	return nil, false
}

// folder moves the working folder.
func (j *Judge) folder(c Command) {
	args := value.Behind(c.Args, "")
	if len(args) == 0 && len(c.Args) > 0 && c.Args[len(c.Args)-1] == "-" {
		args = []string{"-"}
	}
	c.Changed()
	switch {
	case len(args) == 0 && c.Name == "pushd":
	case len(args) == 0:
		c.Cwd = j.Add(nil, c.value("HOME"))
		if slices.Equal(c.Cwd, value.Anything()) {
			c.Cwd = value.Set{j.World.Home}
		}
	case args[0] == "-":
		c.Cwd = j.Add(value.Set{c.Dir}, value.Set{j.World.Dir})
	case args[0] == "":
	default:
		p := value.PathOf(c.Dir, args[0])
		j.Effect(value.Reads, p, false)
		c.Cwd = value.Set{p}
	}
}

// parameters is set -- a b c.
func (j *Judge) parameters(c Command) {
	args := c.Args
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
	c.Env.args = positional(args)
	c.Changed()
}

// reads gives variables what is on the input.
func (j *Judge) reads(c Command) {
	const most = 32 // lines that are told apart
	o := value.Getopt(c.Args, "adnNptuiCcOs")
	names := o.Rest
	if c.Name == "read" {
		names = append(names, o.Values["a"]...)
	}
	for _, text := range o.Values["C"] {
		j.run(j.Clone(c.Env), value.Set{text}, nil)
	}
	if len(names) == 0 {
		names = []string{map[bool]string{true: "REPLY", false: "MAPFILE"}[c.Name == "read"]}
	}
	var lines value.Set
	for _, text := range c.In {
		all := strings.Split(strings.TrimRight(text, "\n"), "\n")
		if c.Name != "read" {
			lines = append(lines, strings.Join(all, string(value.Gap)))
			continue
		}
		for _, l := range all {
			if len(lines) < most && !slices.Contains(lines, l) {
				lines = append(lines, l)
			}
		}
		if len(all) > most {
			lines = append(lines, string(value.Hole)+value.Taint(text))
		}
	}
	if len(c.In) == 0 {
		lines = value.Anything()
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
					v = j.Add(v, value.Set{rest})
				}
			}
			if len(v) == 0 {
				v = value.Set{string(value.Hole) + c.In.Taint()}
			}
		}
		c.Set(name, v)
	}
}

// kill judges signals to processes. Process -1 is every process of the user.
func (j *Judge) kill(c Command) {
	args := c.Args
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
			j.Deny("D12", "The command ends every process of the user, this program with them. Name the process.")
		}
	}
}
