package posix

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/jackline-ai/jackline/shell/value"
)

// List judges statements in order, with in on their input, and is what they print.
func (j *Judge) List(e *Env, list []*syntax.Stmt, in value.Set) value.Set {
	defer func(in value.Set) { e.In = in }(e.In)
	e.In = in
	var out value.Set
	for _, st := range list {
		if j.Denied() {
			break
		}
		var fails []*Env
		o := j.chain(e, st, &fails)
		for _, f := range fails {
			j.merge(e, f)
		}
		out = j.Concat(out, o)
	}
	return out
}

// chain judges a statement that may be a chain of && and ||. Commands within a chain see what those before them did;
// fails collects what else may be the case for what follows the chain.
func (j *Judge) chain(e *Env, st *syntax.Stmt, fails *[]*Env) value.Set {
	b, ok := st.Cmd.(*syntax.BinaryCmd)
	if !ok || b.Op != syntax.AndStmt && b.Op != syntax.OrStmt || st.Negated || st.Background || len(st.Redirs) > 0 {
		return j.stmt(e, st)
	}
	if !j.Spend(8) {
		return nil
	}
	note := func() {
		if n := len(*fails); n == 0 || (*fails)[n-1].version != e.version {
			*fails = append(*fails, j.Clone(e))
		}
	}
	if b.Op == syntax.AndStmt {
		note()
		out := j.chain(e, b.X, fails)
		note()
		return j.Concat(out, j.stmt(e, b.Y))
	}
	other := j.Clone(e)
	var failed []*Env
	out := j.chain(e, b.X, &failed)
	for _, f := range append(failed, e) {
		j.merge(other, f)
	}
	out = j.Concat(out, j.stmt(other, b.Y))
	j.merge(e, other)
	return out
}

// stmt judges one statement and is what it prints.
func (j *Judge) stmt(e *Env, st *syntax.Stmt) value.Set {
	if !j.Spend(16) {
		return nil
	}
	if st.Background || st.Coprocess {
		e = j.Clone(e)
		e.behind = true
	}
	defer func(in value.Set) { e.In = in }(e.In)
	var to []target
	lost := false
	for _, r := range st.Redirs {
		paths, away := j.redirect(e, r)
		to = append(to, paths...)
		lost = lost || away
	}
	if st.Cmd == nil {
		return nil
	}
	out := j.command(e, st.Cmd)
	for _, t := range to {
		if old, ok := e.Saved[t.path]; ok && t.more {
			j.Save(e, t.path, j.Concat(old, out))
		} else {
			j.Save(e, t.path, out)
		}
	}
	if lost {
		return nil
	}
	return out
}

// A target is a file that output goes to, behind what it holds or instead of it.
type target struct {
	path string
	more bool
}

// redirect judges a redirection. It returns the files that the standard output goes to, and whether it goes elsewhere
// than to where it went.
func (j *Judge) redirect(e *Env, r *syntax.Redirect) (to []target, away bool) {
	fd := ""
	if r.N != nil {
		fd = r.N.Value
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc == nil {
			return nil, false
		}
		literal := false
		for _, p := range r.Word.Parts {
			lit, ok := p.(*syntax.Lit)
			literal = literal || !ok || strings.ContainsRune(lit.Value, '\\')
		}
		e.In = value.Set{r.Hdoc.Lit()}
		if !literal || r.Hdoc.Lit() == "" {
			e.In = j.word(e, r.Hdoc, true)
		}
		if r.Op == syntax.DashHdoc {
			e.In = value.Mapped(e.In, func(s string) string { return strings.ReplaceAll("\n"+s, "\n\t", "\n")[1:] })
		}
		return nil, false
	case syntax.WordHdoc:
		e.In = value.Mapped(j.word(e, r.Word, false), func(s string) string { return value.Protect(s) + "\n" })
		return nil, false
	default:
	}
	for _, argv := range j.Argvs([]value.Set{j.word(e, r.Word, false)}) {
		if len(argv) == 0 {
			continue
		}
		name := strings.Join(argv, " ")
		if r.Op == syntax.DplIn || r.Op == syntax.DplOut {
			if strings.Trim(name, "0123456789-") == "" {
				away = away || r.Op == syntax.DplOut && (fd == "" || fd == "1") && name != "1"
				continue
			}
		}
		for _, dir := range e.Cwd {
			p := value.PathOf(dir, name)
			if socket(p) {
				j.Deny("D7", "The command talks to the network through a file name of the shell. Use a program for that, such as curl.")
			}
			switch r.Op {
			case syntax.RdrIn, syntax.DplIn:
				j.Effect(value.Reads, p, false)
				if content, ok := e.Saved[p]; ok {
					e.In = content
				} else if p != "/dev/stdin" {
					e.In = value.Anything()
				}
			case syntax.RdrInOut:
				j.Effect(value.Writes, p, false)
			default:
				j.Effect(value.Writes, p, false)
				if fd == "" || fd == "1" || r.Op == syntax.RdrAll || r.Op == syntax.AppAll {
					to = append(to, target{p, r.Op == syntax.AppOut || r.Op == syntax.AppAll})
					away = away || p != "/dev/stdout" && p != "/dev/fd/1"
				}
			}
		}
	}
	return to, away
}

// socket reports whether the shell would open a connection instead of a file.
func socket(p string) bool {
	return strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/")
}

// Save notes what a file holds from now on. A made-up file may be the input of other commands.
func (j *Judge) Save(e *Env, p string, content value.Set) {
	if reader, ok := e.sinks[p]; ok {
		j.List(j.Clone(e), reader, content)
		return
	}
	if len(content) == 0 {
		content = value.Set{""}
	}
	const most = 8 // contents that are told apart
	old := e.Saved[p]
	switch all := j.Add(old, content); {
	case len(all) <= most: // what it held may be there still: the command that wrote need not have run
		e.Saved[p] = all
	case len(e.Saved) < maxFields:
		e.Saved[p] = append(value.Set{string(value.Hole) + all.Taint()}, content...)
	}
}

// Command judges what a statement holds.
func (j *Judge) command(e *Env, c syntax.Command) value.Set {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return j.call(e, c)
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			var fails []*Env
			out := j.chain(e, &syntax.Stmt{Cmd: c}, &fails)
			for _, f := range fails {
				j.merge(e, f)
			}
			return out
		}
		left := j.Clone(e)
		out := j.stmt(left, c.X)
		right := j.Clone(e)
		right.In = out
		if len(out) == 0 {
			right.In = value.Set{""}
		}
		return j.stmt(right, c.Y)
	case *syntax.Subshell:
		return j.List(j.Clone(e), c.Stmts, e.In)
	case *syntax.Block:
		return j.List(e, c.Stmts, e.In)
	case *syntax.IfClause:
		return j.branch(e, c)
	case *syntax.WhileClause:
		return j.loop(e, func() value.Set {
			out := j.List(e, c.Cond, e.In)
			return j.Concat(out, j.List(e, c.Do, e.In))
		})
	case *syntax.ForClause:
		return j.each(e, c)
	case *syntax.CaseClause:
		return j.cases(e, c)
	case *syntax.FuncDecl:
		j.function(e, c)
	case *syntax.DeclClause:
		j.assign(e, c.Args)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return j.stmt(e, c.Stmt)
		}
	case *syntax.CoprocClause:
		sub := j.Clone(e)
		sub.behind = true
		j.stmt(sub, c.Stmt)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		j.nested(e, c)
	case *syntax.TestDecl:
		j.stmt(e, c.Body)
	}
	return nil
}

func (j *Judge) branch(e *Env, c *syntax.IfClause) value.Set {
	out := j.List(e, c.Cond, e.In)
	other := j.Clone(e)
	before, most := starts(e), []int(nil)
	yes := j.List(e, c.Then, e.In)
	most = starts(e)
	restart(e, before)
	var no value.Set
	if c.Else != nil {
		if len(c.Else.Cond) > 0 {
			no = j.branch(other, c.Else)
		} else {
			no = j.List(other, c.Else.Then, other.In)
		}
	}
	for k, n := range starts(e) {
		most[k] = max(most[k], n)
	}
	restart(e, most)
	j.merge(e, other)
	if len(yes)+len(no) == 0 {
		return out
	}
	return j.Concat(out, j.Add(yes, no))
}

// starts is how often each running function has started itself so far.
func starts(e *Env) []int {
	var n []int
	for _, f := range e.calls {
		n = append(n, f.starts)
	}
	return n
}

func restart(e *Env, n []int) {
	for k, f := range e.calls {
		f.starts = n[k]
	}
}

// loop judges a body as often as it takes until nothing new comes of it. What goes on changing is not known.
func (j *Judge) loop(e *Env, body func() value.Set) value.Set {
	var out value.Set
	for round := range 3 {
		before := j.Clone(e)
		counted := starts(e)
		o := body()
		if round > 0 {
			restart(e, counted)
		}
		out = j.Add(out, o)
		j.merge(e, before)
		same := slices.Equal(e.Cwd, before.Cwd)
		for name, v := range e.Vars {
			if slices.Equal(v, before.Vars[name]) {
				continue
			}
			same = false
			if round == 1 {
				e.Set(name, value.Anything())
			}
		}
		if same || j.Denied() {
			break
		}
	}
	if len(out) > 0 {
		return append(out, string(value.Hole)+out.Taint())
	}
	return out
}

// each judges the body of a for loop with each of the values.
func (j *Judge) each(e *Env, c *syntax.ForClause) value.Set {
	it, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		j.nested(e, c.Loop)
		syntax.Walk(c.Loop, func(n syntax.Node) bool {
			if w, ok := n.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
				e.Set(w.Lit(), value.Something())
			}
			return true
		})
		return j.loop(e, func() value.Set { return j.List(e, c.Do, e.In) })
	}
	var values []string
	if it.InPos.IsValid() {
		for _, argv := range j.Argvs(j.words(e, it.Items)) {
			for _, v := range argv {
				if !slices.Contains(values, v) {
					values = append(values, v)
				}
			}
		}
	} else if e.args == nil {
		values = []string{string(value.Some)}
	} else {
		for _, all := range e.args {
			values = append(values, strings.Split(strings.ReplaceAll(all, string(value.Quoted), ""), string(value.Gap))...)
		}
	}
	if len(values) == 0 {
		values = []string{string(value.Hole)}
	}
	counted := starts(e)
	var out value.Set
	for _, v := range values {
		if j.Denied() {
			break
		}
		restart(e, counted)
		e.Set(it.Name.Value, value.Set{v})
		o := j.List(e, c.Do, e.In)
		if len(out) < 16 {
			out = j.Concat(out, o)
		}
	}
	return out
}

func (j *Judge) cases(e *Env, c *syntax.CaseClause) value.Set {
	j.word(e, c.Word, true)
	before := j.Clone(e)
	counted, most := starts(e), starts(e)
	var out value.Set
	for _, item := range c.Items {
		one := j.Clone(before)
		for _, p := range item.Patterns {
			j.word(one, p, true)
		}
		restart(e, counted)
		out = j.Add(out, j.List(one, item.Stmts, e.In))
		for k, n := range starts(e) {
			most[k] = max(most[k], n)
		}
		j.merge(e, one)
	}
	restart(e, most)
	return out
}

// function notes a function, and judges its body as if it were called with anything.
func (j *Judge) function(e *Env, c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = append(names, c.Name)
	}
	for _, n := range names {
		e.funcs[n.Value] = []*syntax.Stmt{c.Body}
		e.Changed()
		inside := j.Clone(e)
		inside.args = nil
		inside.behind = false
		inside.calls = append(inside.calls, &frame{name: n.Value})
		j.Deeper(func() { j.stmt(inside, c.Body) })
	}
}

// invoke runs a function that the text has defined.
func (j *Judge) invoke(e *Env, name string, args []string) value.Set {
	for _, f := range e.calls {
		if f.name != name {
			continue
		}
		if f.starts++; f.starts > 1 || e.behind {
			j.Deny("D6", "The function %.40q would start itself over and over until the machine stands still. Give it an end.", value.Shown(name))
		}
		return value.Anything() // what it does has been looked at
	}
	var out value.Set
	j.Deeper(func() {
		old, ended, behind := e.args, e.ended, e.behind
		e.args, e.behind = positional(args), false
		e.calls = append(e.calls, &frame{name: name})
		for _, body := range e.funcs[name] {
			out = j.Add(out, j.stmt(e, body))
		}
		e.calls = e.calls[:max(0, len(e.calls)-1)]
		e.args, e.ended, e.behind = old, ended, behind
	})
	return out
}

// assign sets variables.
func (j *Judge) assign(e *Env, list []*syntax.Assign) {
	for _, a := range list {
		if a.Index != nil {
			j.nested(e, a.Index)
		}
		if a.Name == nil { // an option of declare, or a word that makes a name
			j.word(e, a.Value, false)
			continue
		}
		name := a.Name.Value
		var v value.Set
		switch {
		case a.Array != nil:
			var items []value.Set
			for _, el := range a.Array.Elems {
				if el.Index != nil {
					j.nested(e, el.Index)
				}
				if el.Value == nil {
					continue
				}
				items = append(items, j.words(e, []*syntax.Word{el.Value})...)
			}
			v = value.Set{""}
			if all := j.Argvs(items); len(all) > 0 {
				v = nil
				for _, argv := range all {
					v = j.Add(v, value.Set{strings.Join(argv, string(value.Gap))})
				}
			}
			if a.Append {
				v = j.Join(e.value(name), value.Mapped(v, func(s string) string { return string(value.Gap) + s }))
			}
		case a.Naked:
			continue
		default:
			v = value.Mapped(j.word(e, a.Value, false), func(s string) string { return value.Unquote(s) })
			if a.Append || a.Index != nil {
				sep := ""
				if a.Index != nil && !a.Append {
					sep = string(value.Gap)
				}
				old := e.value(name)
				if slices.Equal(old, value.Anything()) {
					old = value.Set{""}
				}
				if old[0] != "" {
					v = value.Mapped(v, func(s string) string { return sep + s })
				}
				v = j.Join(old, v)
			}
		}
		j.program(e, name, v)
		e.Set(name, v)
	}
}

// program judges the value of a variable that is a command, or a file of commands.
func (j *Judge) program(e *Env, name string, v value.Set) {
	switch name {
	case "BASH_ENV", "ENV":
		for _, p := range v {
			for _, dir := range e.Cwd {
				j.File(value.PathOf(dir, p))
				if content, ok := e.Saved[value.PathOf(dir, p)]; ok {
					for _, text := range content {
						j.text(j.Clone(e), text, nil)
					}
				}
			}
		}
	case "PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "FCEDIT",
		"SUDO_EDITOR", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "PROMPT_COMMAND",
		"BROWSER", "LESSOPEN", "LESSCLOSE", "RSYNC_RSH", "CVS_RSH", "GIT_PROXY_COMMAND", "PS0", "PS1", "PS4":
		for _, text := range v {
			if !strings.HasPrefix(name, "PS") || strings.Contains(text, "$(") || strings.Contains(text, "`") {
				j.text(j.Clone(e), strings.TrimPrefix(text, "|"), nil)
			}
		}
	}
}

// call judges a simple command in all the ways in which it can be read, and is what it prints.
func (j *Judge) call(e *Env, c *syntax.CallExpr) value.Set {
	words := j.words(e, c.Args)
	if len(c.Args) == 0 {
		j.assign(e, c.Assigns)
		return nil
	}
	if len(c.Assigns) > 0 { // they hold for this command; what follows may see them, or not
		after := e
		e = j.Clone(e)
		j.assign(e, c.Assigns)
		defer func() { j.merge(after, e) }()
	}
	argvs := j.Argvs(words)
	if len(argvs) == 1 && len(e.Cwd) == 1 {
		return j.Simple(e, argvs[0], false)
	}
	var out value.Set
	var after *Env
	for _, argv := range argvs {
		for _, dir := range e.Cwd {
			one := j.Clone(e)
			one.Cwd = value.Set{dir}
			out = j.Add(out, j.Simple(one, argv, false))
			if after == nil {
				after = one
			} else {
				j.merge(after, one)
			}
			if j.Denied() {
				return out
			}
		}
	}
	if after != nil {
		in, calls := e.In, e.calls
		*e = *after
		e.In, e.calls = in, calls
	}
	return out
}
