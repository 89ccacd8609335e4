package shell

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// An env is what commands leave for those that follow.
type env struct {
	vars    map[string]set
	args    []set // the positional parameters; nil where they are not known
	cwd     set   // where it may be
	funcs   map[string]*syntax.Stmt
	aliases map[string]string
	saved   map[string]set            // what a file holds that this command wrote, by its path
	sinks   map[string][]*syntax.Stmt // what reads from a made-up file
	calls   []*frame                  // functions that are running, outermost first
	behind  bool                      // in the background
	in      set                       // what is on the standard input
	changes int                       // how often variables and folder changed
	ended   bool                      // by exit or return
}

// A frame is a function that runs, or is looked at.
type frame struct {
	name   string
	starts int // how often it started itself, on one way through it
}

func newEnv(w World) *env {
	return &env{
		vars: map[string]set{
			"HOME": {w.Home}, "USER": {w.User}, "LOGNAME": {w.User}, "USERNAME": {w.User}, "SHELL": {"/bin/bash"}, "BASH": {"/bin/bash"},
		},
		args: []set{}, cwd: set{w.Dir}, funcs: map[string]*syntax.Stmt{}, aliases: map[string]string{},
		saved: map[string]set{}, sinks: map[string][]*syntax.Stmt{},
	}
}

// clone is a surroundings of its own; files stay common.
func (j *judge) clone(e *env) *env {
	c := *e
	j.steps += (len(e.vars) + len(e.funcs)) / 8
	c.vars, c.funcs, c.aliases = maps.Clone(e.vars), maps.Clone(e.funcs), maps.Clone(e.aliases)
	c.calls = slices.Clone(e.calls)
	return &c
}

// merge lets e be what it is, or what other is.
func (j *judge) merge(e, other *env) {
	if other.ended {
		return
	}
	if e.ended {
		behind, calls := e.behind, e.calls
		*e = *other
		e.behind, e.calls = behind, calls
		return
	}
	if e.changes == other.changes {
		return
	}
	for name, v := range other.vars {
		have, ok := e.vars[name]
		if !ok {
			have = unknown
		}
		e.vars[name] = j.add(have, v)
	}
	for name, v := range e.vars {
		if _, ok := other.vars[name]; !ok {
			e.vars[name] = j.add(v, unknown)
		}
	}
	for name, f := range other.funcs {
		if _, ok := e.funcs[name]; !ok {
			e.funcs[name] = f
		}
	}
	maps.Copy(e.aliases, other.aliases)
	if !slices.EqualFunc(e.args, other.args, func(a, b set) bool { return slices.Equal(a, b) }) {
		e.args = nil
	}
	e.cwd = j.add(e.cwd, other.cwd)
	e.changes = max(e.changes, other.changes) + 1
}

func (e *env) set(name string, v set) {
	e.vars[name] = v
	e.changes++
}

// value is what a variable may hold.
func (e *env) value(name string) set {
	switch name {
	case "PWD":
		return e.cwd
	case "IFS":
		if v, ok := e.vars[name]; ok {
			return v
		}
		return set{" \t\n"}
	case "?", "#", "$", "!", "-", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID", "HOSTNAME", "PATH":
		return nonzero
	case "0":
		return set{"bash"}
	case "@", "*":
		return e.every()
	}
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		switch n := int(name[0] - '1'); {
		case e.args == nil:
			return unknown
		case n < len(e.args):
			return e.args[n]
		case len(e.calls) == 0:
			return unknown
		}
		return set{""}
	}
	if v, ok := e.vars[name]; ok {
		return v
	}
	return unknown
}

// every is all positional parameters, a gap between each two.
func (e *env) every() set {
	if e.args == nil {
		return unknown
	}
	all := ""
	for k, a := range e.args {
		if k > 0 {
			all += string(gap)
		}
		if len(a) != 1 {
			return unknown
		}
		all += a[0]
	}
	return set{all}
}
