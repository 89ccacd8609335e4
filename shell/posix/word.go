package posix

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"

	"github.com/jackline-ai/jackline/shell/source"
	"github.com/jackline-ai/jackline/shell/value"
)

// words are the values of the words of a command, braces expanded.
func (j *Judge) words(e *Env, list []*syntax.Word) []value.Set {
	var all []value.Set
	for _, w := range list {
		for _, b := range j.braces(w) {
			v := j.word(e, b, false)
			if len(v) == 0 {
				v = value.Set{""}
			}
			all = append(all, v)
		}
		if j.Denied() {
			break
		}
	}
	return all
}

// braces expands the braces of a word, as the shell does before anything else. A long row of numbers is cut down to its
// ends, and to the numbers that mean something to some command.
func (j *Judge) braces(w *syntax.Word) []*syntax.Word {
	if !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		lit, ok := p.(*syntax.Lit)
		return ok && strings.ContainsRune(lit.Value, '{')
	}) {
		return []*syntax.Word{w}
	}
	copied := *w
	copied.Parts = slices.Clone(w.Parts)
	if !syntax.SplitBraces(&copied) {
		return []*syntax.Word{w}
	}
	n := shorten(&copied)
	if n > maxFields {
		j.Deny("S4", "The braces of the command make more words than a command should have. Write a loop instead.")
		return nil
	}
	j.Spend(64 * n)
	var all []*syntax.Word
	for b, err := range expand.BracesSeq(nil, &copied) {
		if err != nil {
			j.Deny("S4", "The braces of the command make more words than a command should have. Write a loop instead.")
			return nil
		}
		all = append(all, b)
	}
	return all
}

// shorten counts the words that braces make, after long sequences in them have been cut.
func shorten(w *syntax.Word) int {
	n := 1
	for _, p := range w.Parts {
		b, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		m := 0
		if b.Sequence {
			if m = length(b); m > 64 {
				lit := func(s string) *syntax.Word { return &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: s}}} }
				first, last := b.Elems[0], b.Elems[1]
				*b = syntax.BraceExp{Elems: []*syntax.Word{first, last, lit("0"), lit("1"), lit("6"), lit("-1"), lit(string(value.Some))}}
				m = len(b.Elems)
			}
		} else {
			for _, el := range b.Elems {
				m += shorten(el)
			}
		}
		if n *= max(1, m); n > maxFields {
			return n
		}
	}
	return n
}

func length(b *syntax.BraceExp) int {
	from, err1 := strconv.Atoi(b.Elems[0].Lit())
	to, err2 := strconv.Atoi(b.Elems[1].Lit())
	if err1 != nil || err2 != nil {
		if len(b.Elems[0].Lit()) == 1 && len(b.Elems[1].Lit()) == 1 {
			return 64 // letters: never more than the alphabet and what lies between its cases
		}
		return 65
	}
	d := to - from
	if d < 0 {
		d = -d
	}
	if d < 0 || d > 1<<20 {
		return 1 << 20
	}
	return d + 1
}

// word is what a word may be. Within quotes nothing of it separates or is a pattern.
func (j *Judge) word(e *Env, w *syntax.Word, quotes bool) value.Set {
	if w == nil {
		return value.Set{""}
	}
	v := value.Set{}
	for k, p := range w.Parts {
		v = j.Join(v, j.part(e, p, quotes, k == 0))
		if j.Denied() {
			break
		}
	}
	return v
}

func (j *Judge) part(e *Env, p syntax.WordPart, quotes, first bool) value.Set {
	switch p := p.(type) {
	case *syntax.Lit:
		if quotes {
			return value.Set{value.InQuotes(p.Value)}
		}
		return value.Set{j.bare(e, p.Value, first)}
	case *syntax.SglQuoted:
		text := p.Value
		if p.Dollar {
			text = value.Ansi(text)
		}
		if !quotes {
			text = string(value.Quoted) + text
		}
		return value.Set{text}
	case *syntax.DblQuoted:
		v := value.Set{}
		if len(p.Parts) != 1 || !manyFields(p.Parts[0]) {
			v = value.Set{string(value.Quoted)}
		}
		for _, q := range p.Parts {
			v = j.Join(v, j.part(e, q, true, false))
		}
		return v
	case *syntax.ParamExp:
		v := j.param(e, p)
		if quotes {
			if manyFields(p) {
				return v
			}
			return value.Mapped(v, value.Found)
		}
		separators := " \t\n"
		if ifs := e.value("IFS"); len(ifs) == 1 {
			separators = ifs[0]
		}
		if p.Param != nil && p.Param.Value == "IFS" && p.Exp == nil && p.Slice == nil {
			return value.Set{string(value.Gap)}
		}
		return value.Mapped(v, func(s string) string { return value.Expandable(s, separators) })
	case *syntax.CmdSubst:
		sub := j.Clone(e)
		v := value.Mapped(j.List(sub, p.Stmts, e.In), func(s string) string { return strings.TrimRight(s, "\n") })
		if len(v) == 0 {
			v = value.Set{""}
		}
		if quotes {
			return value.Mapped(v, value.Protect)
		}
		return value.Mapped(v, func(s string) string { return value.Expandable(s, " \t\n") })
	case *syntax.ProcSubst:
		j.files++
		name := "/dev/fd/p" + strconv.Itoa(j.files)
		if p.Op == syntax.CmdOut {
			e.sinks[name] = p.Stmts
			j.List(j.Clone(e), p.Stmts, value.Anything())
		} else {
			e.Saved[name] = j.List(j.Clone(e), p.Stmts, nil)
		}
		return value.Set{name}
	case *syntax.ArithmExp:
		j.nested(e, p)
		return value.Something()
	case *syntax.ExtGlob:
		return value.Set{string(value.Star)}
	}
	return value.Something()
}

// manyFields reports whether a part is "$@" or "${a[@]}", which stay apart within quotes.
func manyFields(p syntax.WordPart) bool {
	v, ok := p.(*syntax.ParamExp)
	if !ok || v.Param == nil {
		return false
	}
	return v.Param.Value == "@" || subscript(v) == "@"
}

func subscript(p *syntax.ParamExp) string {
	if w, ok := p.Index.(*syntax.Word); ok {
		return w.Lit()
	}
	return ""
}

// bare is unquoted text: backslashes go, patterns and a leading tilde come to mean something.
func (j *Judge) bare(e *Env, s string, first bool) string {
	var b strings.Builder
	if k := strings.Index(s, "=~"); first && k > 0 && syntax.ValidName(s[:k]) { // Bash expands it in arguments too
		b.WriteString(s[:k+1])
		s = s[k+1:]
	}
	if first && strings.HasPrefix(s, "~") {
		name, rest := s[1:], ""
		if k := strings.IndexByte(name, '/'); k >= 0 {
			name, rest = name[:k], name[k:]
		}
		if dir, ok := j.tilde(e, name); ok {
			b.WriteString(dir)
			s = rest
		}
	}
	return b.String() + value.Glob(s)
}

// tilde is the home folder that ~name means.
func (j *Judge) tilde(e *Env, name string) (string, bool) {
	switch {
	case name == "":
		if v := e.value("HOME"); len(v) == 1 {
			return v[0], true
		}
		return j.World.Home, true
	case name == "+":
		if len(e.Cwd) == 1 {
			return e.Cwd[0], true
		}
		return string(value.Some), true
	case name == "-":
		return string(value.Some), true
	case name == "root":
		return "/root", true
	case name == j.World.User:
		return j.World.Home, true
	case strings.ContainsAny(name, "\\*?[") || strings.ContainsFunc(name, func(r rune) bool { return r > 0x7f || r != '.' && r != '-' && !source.Word(byte(r)) }) || !source.Word(name[0]):
		return "", false
	}
	return "/home/" + name, true
}

// param is the value of a variable, and of what is made of it.
func (j *Judge) param(e *Env, p *syntax.ParamExp) value.Set {
	if p.Index != nil {
		j.nested(e, p.Index)
	}
	if p.NestedParam != nil || p.Param == nil || p.Names != 0 || p.Flags != nil || len(p.Modifiers) > 0 {
		j.nested(e, p)
		return value.Anything()
	}
	if p.Length || p.Width {
		return value.Something()
	}
	v := e.value(p.Param.Value)
	switch index := subscript(p); {
	case p.Excl:
		var through value.Set
		for _, name := range v {
			through = j.Add(through, e.value(name))
		}
		v = through
	case p.Param.Value == "@" || p.Param.Value == "*" || index == "@" || index == "*":
	default:
		n := 0
		if p.Index != nil {
			var err error
			if n, err = strconv.Atoi(index); err != nil {
				n = -1
			}
		}
		v = value.Mapped(v, func(s string) string { return value.Element(s, n) })
	}
	switch {
	case p.Exp != nil:
		return j.expansion(e, p, v)
	case p.Slice != nil:
		j.nested(e, p.Slice.Offset)
		j.nested(e, p.Slice.Length)
		return value.Mapped(v, func(s string) string { return value.Slice(s, p.Slice) })
	case p.Repl != nil:
		return j.replaced(e, p.Repl, v)
	}
	return v
}

// expansion is ${v:-x} and its kin.
func (j *Judge) expansion(e *Env, p *syntax.ParamExp, v value.Set) value.Set {
	word := j.word(e, p.Exp.Word, false)
	var out value.Set
	for _, s := range v {
		switch op := p.Exp.Op; op {
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if s == "" || value.Maybe(s) {
				out = j.Add(out, word)
				if op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull {
					e.Set(p.Param.Value, j.Add(v, value.Mapped(word, value.Protect)))
				}
			}
			if s != "" {
				out = j.Add(out, value.Set{strings.ReplaceAll(s, string(value.Hole), string(value.Some))})
			}
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
			if s != "" {
				out = j.Add(out, word)
			}
			if s == "" || value.Maybe(s) {
				out = j.Add(out, value.Set{""})
			}
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
			out = j.Add(out, value.Set{strings.ReplaceAll(s, string(value.Hole), string(value.Some))})
		case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix:
			for _, pattern := range word {
				out = j.Add(out, value.Set{value.Trimmed(s, pattern, op)})
			}
		case syntax.UpperAll:
			out = j.Add(out, value.Set{strings.ToUpper(s)})
		case syntax.LowerAll:
			out = j.Add(out, value.Set{strings.ToLower(s)})
		case syntax.UpperFirst, syntax.LowerFirst:
			if s != "" {
				first := strings.ToUpper(s[:1])
				if op == syntax.LowerFirst {
					first = strings.ToLower(s[:1])
				}
				s = first + s[1:]
			}
			out = j.Add(out, value.Set{s})
		default:
			out = j.Add(out, j.Add(value.Set{s}, value.Anything()))
		}
	}
	return out
}

// replaced is ${v/a/b} of known text.
func (j *Judge) replaced(e *Env, by *syntax.Replace, v value.Set) value.Set {
	var out value.Set
	with := value.Mapped(j.word(e, by.With, false), func(s string) string { return strings.ReplaceAll(s, string(value.Quoted), "") })
	for _, old := range j.word(e, by.Orig, false) {
		old = strings.ReplaceAll(old, string(value.Quoted), "")
		for _, s := range v {
			for _, b := range with {
				switch {
				case !value.Literal(s) || !value.Literal(old) || old == "" || old[0] == '#' || old[0] == '%':
					out = j.Add(out, value.Set{string(value.Hole) + value.Taint(s)})
				case by.All:
					out = j.Add(out, value.Set{strings.ReplaceAll(s, old, b)})
				default:
					out = j.Add(out, value.Set{strings.Replace(s, old, b, 1)})
				}
			}
		}
	}
	for _, s := range out {
		if len(s) > maxValue {
			j.Deny("S4", "The command builds a longer text than a command should. Put it into a script file.")
			return value.Anything()
		}
	}
	return out
}

// nested judges the commands that are substituted anywhere in a node.
func (j *Judge) nested(e *Env, n syntax.Node) {
	if n == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			j.part(e, n.(syntax.WordPart), false, false)
			return false
		}
		return !j.Denied()
	})
}
