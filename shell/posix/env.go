package posix

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/jackline-ai/jackline/shell/value"
)

// An env is what commands leave for those that follow.
type Env struct {
	Vars    map[string]value.Set
	args    value.Set                 // the positional parameters, a gap between each two; nil where they are not known
	Cwd     value.Set                 // where it may be
	funcs   map[string][]*syntax.Stmt // the bodies that a name may have
	aliases map[string]string
	Saved   map[string]value.Set      // what a file holds that this command wrote, by its path
	sinks   map[string][]*syntax.Stmt // what reads from a made-up file
	calls   []*frame                  // functions that are running, outermost first
	behind  bool                      // in the background
	In      value.Set                 // what is on the standard input
	version int                       // which changes made it: two with the same one are the same
	clock   *int                      // the latest version there is
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
		args: value.Set{""}, clock: new(int), Cwd: value.Set{w.Dir}, funcs: map[string][]*syntax.Stmt{}, aliases: map[string]string{},
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
	if e.version == other.version {
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
	for name, bodies := range other.funcs {
		for _, b := range bodies {
			if have := e.funcs[name]; !slices.Contains(have, b) {
				e.funcs[name] = append(have[:len(have):len(have)], b)
			}
		}
	}
	maps.Copy(e.aliases, other.aliases)
	if e.args == nil || other.args == nil {
		e.args = nil
	} else {
		e.args = j.Add(e.args, other.args)
	}
	e.Cwd = j.Add(e.Cwd, other.Cwd)
	e.Changed()
}

// Changed notes that variables, parameters or the folder are others now.
func (e *Env) Changed() {
	*e.clock++
	e.version = *e.clock
}

// Set gives a variable a value.
func (e *Env) Set(name string, v value.Set) {
	e.Vars[name] = v
	e.Changed()
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
		if e.args == nil || len(e.calls) == 0 && slices.Equal(e.args, value.Set{""}) {
			return value.Anything()
		}
		n := int(name[0] - '1')
		return value.Mapped(e.args, func(all string) string {
			if list := strings.Split(all, string(value.Gap)); n < len(list) {
				return strings.ReplaceAll(list[n], string(value.Quoted), "")
			}
			return ""
		})
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
	return e.args
}

// positional is a list of parameters as it is kept: each exists, even if it is empty.
func positional(args []string) value.Set {
	list := make([]string, len(args))
	for k, a := range args {
		list[k] = string(value.Quoted) + a
	}
	return value.Set{strings.Join(list, string(value.Gap))}
}
