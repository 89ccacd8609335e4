package posix

import (
	"maps"
	"slices"

	"mvdan.cc/sh/v3/syntax"

	"github.com/jackline-ai/jackline/shell/value"
)

// An env is what commands leave for those that follow.
type Env struct {
	Vars    map[string]value.Set
	args    []value.Set // the positional parameters; nil where they are not known
	Cwd     value.Set   // where it may be
	funcs   map[string]*syntax.Stmt
	aliases map[string]string
	Saved   map[string]value.Set      // what a file holds that this command wrote, by its path
	sinks   map[string][]*syntax.Stmt // what reads from a made-up file
	calls   []*frame                  // functions that are running, outermost first
	behind  bool                      // in the background
	In      value.Set                 // what is on the standard input
	Changes int                       // how often variables and folder changed
	ended   bool                      // by exit or return
}

// A frame is a function that runs, or is looked at.
type frame struct {
	name   string
	starts int // how often it started itself, on one way through it
}

// NewEnv is what a command finds when nothing has run yet.
func NewEnv(w value.World) *Env {
	return &Env{
		Vars: map[string]value.Set{
			"HOME": {w.Home}, "USER": {w.User}, "LOGNAME": {w.User}, "USERNAME": {w.User}, "SHELL": {"/bin/bash"}, "BASH": {"/bin/bash"},
		},
		args: []value.Set{}, Cwd: value.Set{w.Dir}, funcs: map[string]*syntax.Stmt{}, aliases: map[string]string{},
		Saved: map[string]value.Set{}, sinks: map[string][]*syntax.Stmt{},
	}
}

// Clone is a surroundings of its own; files stay common.
func (j *Judge) Clone(e *Env) *Env {
	c := *e
	j.steps += (len(e.Vars) + len(e.funcs)) / 8
	c.Vars, c.funcs, c.aliases = maps.Clone(e.Vars), maps.Clone(e.funcs), maps.Clone(e.aliases)
	c.calls = slices.Clone(e.calls)
	return &c
}

// merge lets e be what it is, or what other is.
func (j *Judge) merge(e, other *Env) {
	if other.ended {
		return
	}
	if e.ended {
		behind, calls := e.behind, e.calls
		*e = *other
		e.behind, e.calls = behind, calls
		return
	}
	if e.Changes == other.Changes {
		return
	}
	for name, v := range other.Vars {
		have, ok := e.Vars[name]
		if !ok {
			have = value.Anything()
		}
		e.Vars[name] = j.Add(have, v)
	}
	for name, v := range e.Vars {
		if _, ok := other.Vars[name]; !ok {
			e.Vars[name] = j.Add(v, value.Anything())
		}
	}
	for name, f := range other.funcs {
		if _, ok := e.funcs[name]; !ok {
			e.funcs[name] = f
		}
	}
	maps.Copy(e.aliases, other.aliases)
	if !slices.EqualFunc(e.args, other.args, func(a, b value.Set) bool { return slices.Equal(a, b) }) {
		e.args = nil
	}
	e.Cwd = j.Add(e.Cwd, other.Cwd)
	e.Changes = max(e.Changes, other.Changes) + 1
}

// Set gives a variable a value.
func (e *Env) Set(name string, v value.Set) {
	e.Vars[name] = v
	e.Changes++
}

// value is what a variable may hold.
func (e *Env) value(name string) value.Set {
	switch name {
	case "PWD":
		return e.Cwd
	case "IFS":
		if v, ok := e.Vars[name]; ok {
			return v
		}
		return value.Set{" \t\n"}
	case "?", "#", "$", "!", "-", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID", "HOSTNAME", "PATH":
		return value.Something()
	case "0":
		return value.Set{"bash"}
	case "@", "*":
		return e.every()
	}
	if len(name) == 1 && name[0] >= '1' && name[0] <= '9' {
		switch n := int(name[0] - '1'); {
		case e.args == nil:
			return value.Anything()
		case n < len(e.args):
			return e.args[n]
		case len(e.calls) == 0:
			return value.Anything()
		}
		return value.Set{""}
	}
	if v, ok := e.Vars[name]; ok {
		return v
	}
	return value.Anything()
}

// every is all positional parameters, a gap between each two.
func (e *Env) every() value.Set {
	if e.args == nil {
		return value.Anything()
	}
	all := ""
	for k, a := range e.args {
		if k > 0 {
			all += string(value.Gap)
		}
		if len(a) != 1 {
			return value.Anything()
		}
		all += a[0]
	}
	return value.Set{all}
}
