package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// list judges statements in order, with in on their input, and is what they print.
func (j *judge) list(e *env, list []*syntax.Stmt, in set) set {
	defer func(in set) { e.in = in }(e.in)
	e.in = in
	var out set
	for _, st := range list {
		if j.denied() {
			break
		}
		var fails []*env
		o := j.chain(e, st, &fails)
		for _, f := range fails {
			j.merge(e, f)
		}
		out = j.concat(out, o)
	}
	return out
}

// concat is one output after another. Where that could be too many texts, or too long ones, it is only known where it came from.
func (j *judge) concat(a, b set) set {
	if len(a)*len(b) <= 16 && len(a)+len(b) > 0 {
		long := 0
		for _, s := range slices.Concat(a, b) {
			long = max(long, len(s))
		}
		if long < maxValue/2 {
			return j.join(a, b)
		}
	}
	return set{string(hole) + a.taint() + b.taint()}
}

// chain judges a statement that may be a chain of && and ||. Commands within a chain see what those before them did;
// fails collects what else may be the case for what follows the chain.
func (j *judge) chain(e *env, st *syntax.Stmt, fails *[]*env) set {
	b, ok := st.Cmd.(*syntax.BinaryCmd)
	if !ok || b.Op != syntax.AndStmt && b.Op != syntax.OrStmt || st.Negated || st.Background || len(st.Redirs) > 0 {
		return j.stmt(e, st)
	}
	if !j.spend(8) {
		return nil
	}
	note := func() {
		if n := len(*fails); n == 0 || (*fails)[n-1].changes != e.changes {
			*fails = append(*fails, j.clone(e))
		}
	}
	if b.Op == syntax.AndStmt {
		note()
		out := j.chain(e, b.X, fails)
		note()
		return j.concat(out, j.stmt(e, b.Y))
	}
	other := j.clone(e)
	var failed []*env
	out := j.chain(e, b.X, &failed)
	for _, f := range append(failed, e) {
		j.merge(other, f)
	}
	out = j.concat(out, j.stmt(other, b.Y))
	j.merge(e, other)
	return out
}

// stmt judges one statement and is what it prints.
func (j *judge) stmt(e *env, st *syntax.Stmt) set {
	if !j.spend(16) {
		return nil
	}
	if st.Background || st.Coprocess {
		e = j.clone(e)
		e.behind = true
	}
	defer func(in set) { e.in = in }(e.in)
	var to []string
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
	for _, p := range to {
		j.save(e, p, out)
	}
	if lost {
		return nil
	}
	return out
}

// redirect judges a redirection. It returns the files that the standard output goes to, and whether it goes elsewhere
// than to where it went.
func (j *judge) redirect(e *env, r *syntax.Redirect) (paths []string, away bool) {
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
		e.in = set{r.Hdoc.Lit()}
		if !literal || r.Hdoc.Lit() == "" {
			e.in = j.word(e, r.Hdoc, true)
		}
		if r.Op == syntax.DashHdoc {
			e.in = mapped(e.in, func(s string) string { return strings.ReplaceAll("\n"+s, "\n\t", "\n")[1:] })
		}
		return nil, false
	case syntax.WordHdoc:
		e.in = mapped(j.word(e, r.Word, true), func(s string) string { return strings.ReplaceAll(s, string(quoted), "") + "\n" })
		return nil, false
	}
	for _, argv := range j.argvs([]set{j.word(e, r.Word, false)}) {
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
		for _, dir := range e.cwd {
			p := pathOf(dir, name)
			if socket(p) {
				j.deny("D7", "The command talks to the network through a file name of the shell. Use a program for that, such as curl.")
			}
			switch r.Op {
			case syntax.RdrIn, syntax.DplIn:
				j.effect(Reads, p, false)
				if content, ok := e.saved[p]; ok {
					e.in = content
				} else if p != "/dev/stdin" {
					e.in = unknown
				}
			case syntax.RdrInOut:
				j.effect(Writes, p, false)
			default:
				j.effect(Writes, p, false)
				if fd == "" || fd == "1" || r.Op == syntax.RdrAll || r.Op == syntax.AppAll {
					paths = append(paths, p)
					away = away || p != "/dev/stdout" && p != "/dev/fd/1"
				}
			}
		}
	}
	return paths, away
}

// socket reports whether the shell would open a connection instead of a file.
func socket(p string) bool {
	return strings.HasPrefix(p, "/dev/tcp/") || strings.HasPrefix(p, "/dev/udp/")
}

// save notes what a file holds from now on. A made-up file may be the input of other commands.
func (j *judge) save(e *env, p string, content set) {
	if reader, ok := e.sinks[p]; ok {
		j.list(j.clone(e), reader, content)
		return
	}
	if len(content) == 0 {
		content = set{""}
	}
	if len(e.saved) < maxFields {
		if old, ok := e.saved[p]; ok && old.taint() != "" {
			content = append(slices.Clone(content), old.taint())
		}
		e.saved[p] = content
	}
}

// command judges what a statement holds.
func (j *judge) command(e *env, c syntax.Command) set {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return j.call(e, c)
	case *syntax.BinaryCmd:
		if c.Op == syntax.AndStmt || c.Op == syntax.OrStmt {
			var fails []*env
			out := j.chain(e, &syntax.Stmt{Cmd: c}, &fails)
			for _, f := range fails {
				j.merge(e, f)
			}
			return out
		}
		left := j.clone(e)
		out := j.stmt(left, c.X)
		right := j.clone(e)
		right.in = out
		if len(out) == 0 {
			right.in = set{""}
		}
		return j.stmt(right, c.Y)
	case *syntax.Subshell:
		return j.list(j.clone(e), c.Stmts, e.in)
	case *syntax.Block:
		return j.list(e, c.Stmts, e.in)
	case *syntax.IfClause:
		return j.branch(e, c)
	case *syntax.WhileClause:
		return j.loop(e, func() set {
			out := j.list(e, c.Cond, e.in)
			return j.concat(out, j.list(e, c.Do, e.in))
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
		sub := j.clone(e)
		sub.behind = true
		j.stmt(sub, c.Stmt)
	case *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		j.nested(e, c)
	case *syntax.TestDecl:
		j.stmt(e, c.Body)
	}
	return nil
}

func (j *judge) branch(e *env, c *syntax.IfClause) set {
	out := j.list(e, c.Cond, e.in)
	other := j.clone(e)
	before, most := starts(e), []int(nil)
	yes := j.list(e, c.Then, e.in)
	most = starts(e)
	restart(e, before)
	var no set
	if c.Else != nil {
		if len(c.Else.Cond) > 0 {
			no = j.branch(other, c.Else)
		} else {
			no = j.list(other, c.Else.Then, other.in)
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
	return j.concat(out, j.add(yes, no))
}

// starts is how often each running function has started itself so far.
func starts(e *env) []int {
	var n []int
	for _, f := range e.calls {
		n = append(n, f.starts)
	}
	return n
}

func restart(e *env, n []int) {
	for k, f := range e.calls {
		f.starts = n[k]
	}
}

// loop judges a body as often as it takes until nothing new comes of it. What goes on changing is not known.
func (j *judge) loop(e *env, body func() set) set {
	var out set
	for round := range 3 {
		before := j.clone(e)
		counted := starts(e)
		o := body()
		if round > 0 {
			restart(e, counted)
		}
		out = j.add(out, o)
		j.merge(e, before)
		same := slices.Equal(e.cwd, before.cwd)
		for name, v := range e.vars {
			if slices.Equal(v, before.vars[name]) {
				continue
			}
			same = false
			if round == 1 {
				e.set(name, unknown)
			}
		}
		if same || j.denied() {
			break
		}
	}
	if len(out) > 0 {
		return append(out, string(hole)+out.taint())
	}
	return out
}

// each judges the body of a for loop with each of the values.
func (j *judge) each(e *env, c *syntax.ForClause) set {
	it, ok := c.Loop.(*syntax.WordIter)
	if !ok {
		j.nested(e, c.Loop)
		syntax.Walk(c.Loop, func(n syntax.Node) bool {
			if w, ok := n.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
				e.set(w.Lit(), nonzero)
			}
			return true
		})
		return j.loop(e, func() set { return j.list(e, c.Do, e.in) })
	}
	var values []string
	if it.InPos.IsValid() {
		for _, argv := range j.argvs(j.words(e, it.Items)) {
			for _, v := range argv {
				if !slices.Contains(values, v) {
					values = append(values, v)
				}
			}
		}
	} else if e.args == nil {
		values = []string{string(some)}
	} else {
		for _, a := range e.args {
			values = append(values, a...)
		}
	}
	if len(values) == 0 {
		values = []string{string(hole)}
	}
	counted := starts(e)
	var out set
	for _, v := range values {
		if j.denied() {
			break
		}
		restart(e, counted)
		e.set(it.Name.Value, set{v})
		o := j.list(e, c.Do, e.in)
		if len(out) < 16 {
			out = j.concat(out, o)
		}
	}
	return out
}

func (j *judge) cases(e *env, c *syntax.CaseClause) set {
	j.word(e, c.Word, true)
	before := j.clone(e)
	counted, most := starts(e), starts(e)
	var out set
	for _, item := range c.Items {
		one := j.clone(before)
		for _, p := range item.Patterns {
			j.word(one, p, true)
		}
		restart(e, counted)
		out = j.add(out, j.list(one, item.Stmts, e.in))
		for k, n := range starts(e) {
			most[k] = max(most[k], n)
		}
		j.merge(e, one)
	}
	restart(e, most)
	return out
}

// function notes a function, and judges its body as if it were called with anything.
func (j *judge) function(e *env, c *syntax.FuncDecl) {
	names := c.Names
	if c.Name != nil {
		names = append(names, c.Name)
	}
	for _, n := range names {
		e.funcs[n.Value] = c.Body
		e.changes++
		inside := j.clone(e)
		inside.args = nil
		inside.behind = false
		inside.calls = append(inside.calls, &frame{name: n.Value})
		j.deeper(func() { j.stmt(inside, c.Body) })
	}
}

// invoke runs a function that the text has defined.
func (j *judge) invoke(e *env, name string, args []string) set {
	for _, f := range e.calls {
		if f.name != name {
			continue
		}
		if f.starts++; f.starts > 1 || e.behind {
			j.deny("D6", "The function %.40q would start itself over and over until the machine stands still. Give it an end.", shown(name))
		}
		return unknown // what it does has been looked at
	}
	var out set
	j.deeper(func() {
		old, ended, behind := e.args, e.ended, e.behind
		e.args, e.behind = []set{}, false
		for _, a := range args {
			e.args = append(e.args, set{a})
		}
		e.calls = append(e.calls, &frame{name: name})
		out = j.stmt(e, e.funcs[name])
		e.calls = e.calls[:max(0, len(e.calls)-1)]
		e.args, e.ended, e.behind = old, ended, behind
	})
	return out
}

// assign sets variables.
func (j *judge) assign(e *env, list []*syntax.Assign) {
	for _, a := range list {
		if a.Index != nil {
			j.nested(e, a.Index)
		}
		if a.Name == nil { // an option of declare, or a word that makes a name
			j.word(e, a.Value, false)
			continue
		}
		name := a.Name.Value
		v := set{""}
		switch {
		case a.Array != nil:
			var items []set
			for _, el := range a.Array.Elems {
				if el.Index != nil {
					j.nested(e, el.Index)
				}
				if el.Value == nil {
					continue
				}
				items = append(items, j.words(e, []*syntax.Word{el.Value})...)
			}
			v = set{""}
			if all := j.argvs(items); len(all) > 0 {
				v = nil
				for _, argv := range all {
					v = j.add(v, set{strings.Join(argv, string(gap))})
				}
			}
			if a.Append {
				v = j.join(e.value(name), mapped(v, func(s string) string { return string(gap) + s }))
			}
		case a.Naked:
			continue
		default:
			v = mapped(j.word(e, a.Value, false), func(s string) string { return unquote(s) })
			if a.Append || a.Index != nil {
				sep := ""
				if a.Index != nil && !a.Append {
					sep = string(gap)
				}
				old := e.value(name)
				if slices.Equal(old, unknown) {
					old = set{""}
				}
				if old[0] != "" {
					v = mapped(v, func(s string) string { return sep + s })
				}
				v = j.join(old, v)
			}
		}
		j.program(e, name, v)
		e.set(name, v)
	}
}

// unquote is a value as an assignment keeps it: patterns are text.
func unquote(s string) string { return strings.Map(unpattern, s) }

// program judges the value of a variable that is a command, or a file of commands.
func (j *judge) program(e *env, name string, v set) {
	switch name {
	case "BASH_ENV", "ENV":
		for _, p := range v {
			for _, dir := range e.cwd {
				if content, ok := e.saved[pathOf(dir, p)]; ok {
					for _, text := range content {
						j.text(j.clone(e), text, nil)
					}
				}
			}
		}
	case "PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "EDITOR", "VISUAL", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "FCEDIT",
		"SUDO_EDITOR", "GIT_SSH_COMMAND", "GIT_SSH", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "PROMPT_COMMAND",
		"BROWSER", "LESSOPEN", "LESSCLOSE", "RSYNC_RSH", "CVS_RSH", "GIT_PROXY_COMMAND", "PS0", "PS1", "PS4":
		for _, text := range v {
			if !strings.HasPrefix(name, "PS") || strings.Contains(text, "$(") || strings.Contains(text, "`") {
				j.text(j.clone(e), strings.TrimPrefix(text, "|"), nil)
			}
		}
	}
}

// call judges a simple command in all the ways in which it can be read, and is what it prints.
func (j *judge) call(e *env, c *syntax.CallExpr) set {
	words := j.words(e, c.Args)
	if len(c.Args) == 0 {
		j.assign(e, c.Assigns)
		return nil
	}
	if len(c.Assigns) > 0 { // they hold for this command; what follows may see them, or not
		after := e
		e = j.clone(e)
		j.assign(e, c.Assigns)
		defer func() { j.merge(after, e) }()
	}
	argvs := j.argvs(words)
	if len(argvs) == 1 && len(e.cwd) == 1 {
		return j.simple(e, argvs[0], false)
	}
	var out set
	var after *env
	for _, argv := range argvs {
		for _, dir := range e.cwd {
			one := j.clone(e)
			one.cwd = set{dir}
			out = j.add(out, j.simple(one, argv, false))
			if after == nil {
				after = one
			} else {
				j.merge(after, one)
			}
			if j.denied() {
				return out
			}
		}
	}
	if after != nil {
		in, calls := e.in, e.calls
		*e = *after
		e.in, e.calls = in, calls
	}
	return out
}
