package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// words are the values of the words of a command, braces expanded.
func (j *judge) words(e *env, list []*syntax.Word) []set {
	var all []set
	for _, w := range list {
		for _, b := range j.braces(w) {
			v := j.word(e, b, false)
			if len(v) == 0 {
				v = set{""}
			}
			all = append(all, v)
		}
		if j.denied() {
			break
		}
	}
	return all
}

// braces expands the braces of a word, as the shell does before anything else. A long row of numbers is cut down to its
// ends, and to the numbers that mean something to some command.
func (j *judge) braces(w *syntax.Word) []*syntax.Word {
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
		j.deny("S4", "The braces of the command make more words than a command should have. Write a loop instead.")
		return nil
	}
	j.spend(64 * n)
	return expand.Braces(&copied)
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
				*b = syntax.BraceExp{Elems: []*syntax.Word{first, last, lit("0"), lit("1"), lit("6"), lit("-1"), lit(string(some))}}
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
func (j *judge) word(e *env, w *syntax.Word, quotes bool) set {
	if w == nil {
		return set{""}
	}
	v := set{}
	for k, p := range w.Parts {
		v = j.join(v, j.part(e, p, quotes, k == 0))
		if j.denied() {
			break
		}
	}
	return v
}

func (j *judge) part(e *env, p syntax.WordPart, quotes, first bool) set {
	switch p := p.(type) {
	case *syntax.Lit:
		if quotes {
			return set{inQuotes(p.Value)}
		}
		return set{j.bare(e, p.Value, first)}
	case *syntax.SglQuoted:
		text := p.Value
		if p.Dollar {
			text = ansi(text)
		}
		if !quotes {
			text = string(quoted) + text
		}
		return set{text}
	case *syntax.DblQuoted:
		v := set{}
		if len(p.Parts) != 1 || !manyFields(p.Parts[0]) {
			v = set{string(quoted)}
		}
		for _, q := range p.Parts {
			v = j.join(v, j.part(e, q, true, false))
		}
		return v
	case *syntax.ParamExp:
		v := j.param(e, p)
		if quotes {
			if manyFields(p) {
				return v
			}
			return mapped(v, protect)
		}
		separators := " \t\n"
		if ifs := e.value("IFS"); len(ifs) == 1 {
			separators = ifs[0]
		}
		if p.Param != nil && p.Param.Value == "IFS" && p.Exp == nil && p.Slice == nil {
			return set{string(gap)}
		}
		return mapped(v, func(s string) string { return expandable(s, separators) })
	case *syntax.CmdSubst:
		sub := j.clone(e)
		v := mapped(j.list(sub, p.Stmts, e.in), func(s string) string { return strings.TrimRight(s, "\n") })
		if len(v) == 0 {
			v = set{""}
		}
		if quotes {
			return mapped(v, protect)
		}
		return mapped(v, func(s string) string { return expandable(s, " \t\n") })
	case *syntax.ProcSubst:
		j.files++
		name := "/dev/fd/p" + strconv.Itoa(j.files)
		if p.Op == syntax.CmdOut {
			e.sinks[name] = p.Stmts
			j.list(j.clone(e), p.Stmts, unknown)
		} else {
			e.saved[name] = j.list(j.clone(e), p.Stmts, nil)
		}
		return set{name}
	case *syntax.ArithmExp:
		j.nested(e, p)
		return nonzero
	case *syntax.ExtGlob:
		return set{string(star)}
	}
	return nonzero
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

func mapped(v set, f func(string) string) set {
	out := make(set, len(v))
	for k, s := range v {
		out[k] = f(s)
	}
	return out
}

// bare is unquoted text: backslashes go, patterns and a leading tilde come to mean something.
func (j *judge) bare(e *env, s string, first bool) string {
	var b strings.Builder
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
	return b.String() + glob(s)
}

// glob is unquoted text without its backslashes, with marks for its patterns.
func glob(s string) string {
	var b strings.Builder
	for k := 0; k < len(s); k++ {
		switch c := s[k]; c {
		case '\\':
			if k++; k < len(s) && s[k] != '\n' {
				b.WriteByte(s[k])
			}
		case '*':
			b.WriteRune(star)
		case '?':
			b.WriteRune(mark)
		case '[':
			end := strings.IndexByte(s[k+1:], ']')
			if end <= 0 {
				b.WriteByte(c)
				continue
			}
			b.WriteRune(mark)
			k += end + 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// tilde is the home folder that ~name means.
func (j *judge) tilde(e *env, name string) (string, bool) {
	switch {
	case name == "":
		if v := e.value("HOME"); len(v) == 1 {
			return v[0], true
		}
		return j.world.Home, true
	case name == "+":
		if len(e.cwd) == 1 {
			return e.cwd[0], true
		}
		return string(some), true
	case name == "-":
		return string(some), true
	case name == "root":
		return "/root", true
	case name == j.world.User:
		return j.world.Home, true
	case strings.ContainsAny(name, "\\*?[") || !regexp.MustCompile(`^[A-Za-z_][\w.-]*$`).MatchString(name):
		return "", false
	}
	return "/home/" + name, true
}

// inQuotes is text between double quotes.
func inQuotes(s string) string {
	if !strings.ContainsRune(s, '\\') {
		return s
	}
	var b strings.Builder
	for k := 0; k < len(s); k++ {
		if s[k] == '\\' && k+1 < len(s) && strings.IndexByte("$`\"\\\n", s[k+1]) >= 0 {
			if k++; s[k] == '\n' {
				continue
			}
		}
		b.WriteByte(s[k])
	}
	return b.String()
}

// ansi decodes the escapes of $'…', and with small differences those of printf and echo -e.
func ansi(s string) string {
	var b strings.Builder
	number := func(k, most, base int) int {
		end := k
		for end < len(s) && end < k+most && digit(s[end]) < base {
			end++
		}
		n, err := strconv.ParseUint(s[k:end], base, 32)
		if err == nil && n > 0 {
			if base == 8 || most == 2 {
				b.WriteByte(byte(n))
			} else {
				b.WriteRune(rune(n))
			}
		}
		return end
	}
	for k := 0; k < len(s); k++ {
		if s[k] != '\\' || k+1 == len(s) {
			b.WriteByte(s[k])
			continue
		}
		k++
		switch c := s[k]; {
		case strings.IndexByte("abefnrtvE", c) >= 0:
			b.WriteByte("\a\b\x1b\f\n\r\t\v\x1b"[strings.IndexByte("abefnrtvE", c)])
		case c >= '0' && c <= '7':
			k = number(k, 3+b2i(c == '0'), 8) - 1
		case c == 'x':
			k = number(k+1, 2, 16) - 1
		case c == 'u':
			k = number(k+1, 4, 16) - 1
		case c == 'U':
			k = number(k+1, 8, 16) - 1
		case c == 'c' && k+1 < len(s):
			k++
		case strings.IndexByte(`\'"?`, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1 // what stands for unknown text must not be written by hand
		}
		return r
	}, b.String())
}

// digit is the value of a digit of any base up to sixteen, and more for what is none.
func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return 99
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// param is the value of a variable, and of what is made of it.
func (j *judge) param(e *env, p *syntax.ParamExp) set {
	if p.Index != nil {
		j.nested(e, p.Index)
	}
	if p.NestedParam != nil || p.Param == nil || p.Names != 0 || p.Flags != nil || len(p.Modifiers) > 0 {
		j.nested(e, p)
		return unknown
	}
	if p.Length || p.Width {
		return nonzero
	}
	v := e.value(p.Param.Value)
	switch index := subscript(p); {
	case p.Excl:
		var through set
		for _, name := range v {
			through = j.add(through, e.value(name))
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
		v = mapped(v, func(s string) string { return element(s, n) })
	}
	switch {
	case p.Exp != nil:
		return j.expansion(e, p, v)
	case p.Slice != nil:
		j.nested(e, p.Slice.Offset)
		j.nested(e, p.Slice.Length)
		return mapped(v, func(s string) string { return slice(s, p.Slice) })
	case p.Repl != nil:
		return j.replaced(e, p.Repl, v)
	}
	return v
}

// element is one word of an array; with -1 it may be any.
func element(s string, n int) string {
	if !strings.ContainsRune(s, gap) {
		return s
	}
	parts := strings.Split(s, string(gap))
	if n < 0 {
		return string(hole)
	}
	if n < len(parts) {
		return parts[n]
	}
	return ""
}

// slice is ${v:from:length} of known text.
func slice(s string, by *syntax.Slice) string {
	number := func(x syntax.ArithmExpr) (int, bool) {
		switch x := x.(type) {
		case *syntax.Word:
			n, err := strconv.Atoi(x.Lit())
			return n, err == nil
		case *syntax.ParenArithm:
			if u, ok := x.X.(*syntax.UnaryArithm); ok && u.Op == syntax.Minus {
				if w, ok := u.X.(*syntax.Word); ok {
					n, err := strconv.Atoi(w.Lit())
					return -n, err == nil
				}
			}
		case *syntax.UnaryArithm:
			if w, ok := x.X.(*syntax.Word); ok && x.Op == syntax.Minus {
				n, err := strconv.Atoi(w.Lit())
				return -n, err == nil
			}
		}
		return 0, false
	}
	from, ok := number(by.Offset)
	if !ok || !literal(s) {
		return string(hole)
	}
	r := []rune(s)
	if from < 0 {
		from = max(0, len(r)+from)
	}
	from = min(from, len(r))
	to := len(r)
	if by.Length != nil {
		n, ok := number(by.Length)
		switch {
		case !ok:
			return string(hole)
		case n < 0:
			to = max(from, len(r)+n)
		default:
			to = min(to, from+n)
		}
	}
	return string(r[from:to])
}

// expansion is ${v:-x} and its kin.
func (j *judge) expansion(e *env, p *syntax.ParamExp, v set) set {
	word := j.word(e, p.Exp.Word, false)
	var out set
	for _, s := range v {
		switch op := p.Exp.Op; op {
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if s == "" || maybe(s) {
				out = j.add(out, word)
				if op == syntax.AssignUnset || op == syntax.AssignUnsetOrNull {
					e.set(p.Param.Value, j.add(v, mapped(word, protect)))
				}
			}
			if s != "" {
				out = j.add(out, set{strings.ReplaceAll(s, string(hole), string(some))})
			}
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull:
			if s != "" {
				out = j.add(out, word)
			}
			if s == "" || maybe(s) {
				out = j.add(out, set{""})
			}
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
			out = j.add(out, set{strings.ReplaceAll(s, string(hole), string(some))})
		case syntax.RemSmallSuffix, syntax.RemLargeSuffix, syntax.RemSmallPrefix, syntax.RemLargePrefix:
			for _, pattern := range word {
				out = j.add(out, set{trimmed(s, pattern, op)})
			}
		case syntax.UpperAll:
			out = j.add(out, set{strings.ToUpper(s)})
		case syntax.LowerAll:
			out = j.add(out, set{strings.ToLower(s)})
		case syntax.UpperFirst, syntax.LowerFirst:
			if s != "" {
				first := strings.ToUpper(s[:1])
				if op == syntax.LowerFirst {
					first = strings.ToLower(s[:1])
				}
				s = first + s[1:]
			}
			out = j.add(out, set{s})
		default:
			out = j.add(out, j.add(set{s}, unknown))
		}
	}
	return out
}

// trimmed removes what matches pattern from one end of s.
func trimmed(s, pattern string, op syntax.ParExpOperator) string {
	if !literal(s) {
		return string(hole) + taint(s)
	}
	pattern = strings.ReplaceAll(pattern, string(quoted), "")
	prefix := op == syntax.RemSmallPrefix || op == syntax.RemLargePrefix
	large := op == syntax.RemLargePrefix || op == syntax.RemLargeSuffix
	best := s
	found := false
	if len(s) > 1024 {
		return string(hole)
	}
	for k := 0; k <= len(s); k++ {
		cut, rest := s[:k], s[k:]
		if !prefix {
			cut, rest = s[len(s)-k:], s[:len(s)-k]
		}
		if match(pattern, cut) && (!found || large) {
			best, found = rest, true
		}
	}
	return best
}

// replaced is ${v/a/b} of known text.
func (j *judge) replaced(e *env, by *syntax.Replace, v set) set {
	var out set
	with := mapped(j.word(e, by.With, false), func(s string) string { return strings.ReplaceAll(s, string(quoted), "") })
	for _, old := range j.word(e, by.Orig, false) {
		old = strings.ReplaceAll(old, string(quoted), "")
		for _, s := range v {
			for _, b := range with {
				switch {
				case !literal(s) || !literal(old) || old == "" || old[0] == '#' || old[0] == '%':
					out = j.add(out, set{string(hole) + taint(s)})
				case by.All:
					out = j.add(out, set{strings.ReplaceAll(s, old, b)})
				default:
					out = j.add(out, set{strings.Replace(s, old, b, 1)})
				}
			}
		}
	}
	for _, s := range out {
		if len(s) > maxValue {
			j.deny("S4", "The command builds a longer text than a command should. Put it into a script file.")
			return unknown
		}
	}
	return out
}

// nested judges the commands that are substituted anywhere in a node.
func (j *judge) nested(e *env, n syntax.Node) {
	if n == nil {
		return
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst:
			j.part(e, n.(syntax.WordPart), false, false)
			return false
		}
		return !j.denied()
	})
}
