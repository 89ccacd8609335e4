package windows

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline/phrase"
	"github.com/jackline-ai/jackline/shell/posix"
	"github.com/jackline-ai/jackline/shell/source"
	"github.com/jackline-ai/jackline/shell/value"
)

// A psReader reads a text in the grammar of PowerShell, and judges it while it reads. It knows the part of the grammar
// that decides what runs; what it does not understand it takes for a command with these words.
type psReader struct {
	j    *Shells
	e    *posix.Env
	s    string
	k    int
	item value.Set // what $_ stands for
	deep int       // brackets that are open
	ran  bool      // something was read
}

// maxDeep is how many brackets may be open: the reader calls itself for each.
const maxDeep = 200

// block marks a value that is a script block; its text follows.
const block = "\x13"

// Powershell judges a text.
func (j *Shells) PowerShell(e *posix.Env, text string, in value.Set) {
	if value.Taint(text) != "" {
		j.denyFedWindows()
		return
	}
	if !j.Spend(2 * len(text)) {
		return
	}
	p := &psReader{j: j, e: e, s: text, item: in}
	p.statements(0, in)
	if !p.ran && j.Depth == 0 {
		j.Deny("S1", "There is no command in it.")
	}
	if p.k < len(p.s) && j.Depth == 0 {
		j.Deny("S1", "The command cannot be read as PowerShell: a bracket or block is closed that was not opened.")
	}
}

// more reports whether there is text left to read, and work to do.
func (p *psReader) more() bool { return p.k < len(p.s) && !p.j.Denied() }

func (p *psReader) peek(n int) byte {
	if p.k+n < len(p.s) {
		return p.s[p.k+n]
	}
	return 0
}

// blanks skips blanks, continued lines and comments; with lines also line ends.
func (p *psReader) blanks(lines bool) {
	for p.k < len(p.s) {
		switch c := p.s[p.k]; {
		case c == ' ' || c == '\t' || c == '\n' && lines:
			p.k++
		case c == '`' && p.peek(1) == '\n':
			p.k += 2
		case c == '#' && (p.k == 0 || strings.IndexByte(" \t\n;({|&", p.s[p.k-1]) >= 0):
			for p.k < len(p.s) && p.s[p.k] != '\n' {
				p.k++
			}
		case c == '<' && p.peek(1) == '#':
			end := strings.Index(p.s[p.k:], "#>")
			if end < 0 {
				p.broken()
				return
			}
			p.k += end + 2
		default:
			return
		}
	}
}

// broken refuses text that does not end what it began.
func (p *psReader) broken() {
	p.k = len(p.s)
	if p.j.Depth == 0 {
		p.j.Deny("S1", "The command cannot be read as PowerShell: a quote, bracket or block is not closed.")
	}
}

// statements reads up to the bracket that closes them, and is what they put out.
func (p *psReader) statements(closing byte, in value.Set) value.Set {
	p.deep++
	defer func() { p.deep-- }()
	if p.deep > maxDeep {
		p.j.Deny("S3", "The command nests too many brackets to be read safely. Write it flat.")
	}
	var out value.Set
	for p.more() {
		p.blanks(true)
		if !p.more() {
			break
		}
		switch c := p.s[p.k]; {
		case c == closing && closing != 0:
			p.k++
			return out
		case c == ';' || c == ',' || c == '|' && p.peek(1) == '|':
			p.k++
		case c == '&' && p.peek(1) == '&':
			p.k += 2
		case c == '|':
			p.k++
		case c == ')' || c == '}' || c == ']':
			if closing == 0 {
				return out
			}
			p.k++
		default:
			before := p.k
			out = p.j.concatGap(out, p.pipeline(in))
			if p.k == before {
				p.k++
			}
		}
	}
	if closing != 0 && !p.j.Denied() {
		p.broken()
	}
	return out
}

// concatGap is the values of two statements after each other, as a list.
func (j *Shells) concatGap(a, b value.Set) value.Set {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	return j.Concat(value.Mapped(a, func(s string) string { return s + string(value.Gap) }), b)
}

var (
	psKeyword = phrase.New(`(?i)^(if|elseif|else|while|for|foreach|do|until|switch|try|catch|finally|function|filter|param|begin|process|end|trap|return|throw|workflow|class|in|break|continue|exit|data|dynamicparam)\b`)
	psAssign  = phrase.New(`^(?:\[[\w.\[\]]+\]\s*)*(\$(?:\{[^}]*\}|[\w:]+))((?:\.\w+|\[[^\]]*\])*)\s*(\+|-|\*|/|\?\?)?=(?:[^=]|$)`)
)

// pipeline reads elements with | between them.
func (p *psReader) pipeline(in value.Set) value.Set {
	out := in
	p.ran = true
	for first := true; p.more(); first = false {
		p.blanks(!first)
		out = value.Mapped(p.element(out, first), func(s string) string { return strings.ReplaceAll(s, string(value.Quoted), "") })
		p.blanks(false)
		if p.k < len(p.s) && p.s[p.k] == '|' && p.peek(1) != '|' {
			p.k++
			continue
		}
		if p.k < len(p.s) && p.s[p.k] == '&' && p.peek(1) != '&' {
			p.k++
		}
		break
	}
	return out
}

// element reads a keyword, an assignment, an expression or a command.
func (p *psReader) element(in value.Set, first bool) value.Set {
	if !p.more() {
		return in
	}
	rest := p.s[p.k:]
	if m := psKeyword.FindString(rest); m != "" && first {
		return p.keyword(strings.ToLower(m), in)
	}
	if m := psAssign.FindStringSubmatch(rest); m != nil && first {
		p.k += strings.Index(rest, m[1]) + len(m[1]) + len(m[2])
		p.k += strings.IndexByte(p.s[p.k:], '=') + 1
		p.blanks(true)
		v := p.pipeline(nil)
		if m[2] == "" {
			name := psName(m[1])
			if m[3] == "+" {
				v = p.j.Join(p.variable(name), v)
			} else if m[3] != "" {
				v = value.Anything()
			}
			if len(v) == 0 {
				v = value.Set{""}
			}
			p.e.Set("%"+name, v)
		}
		return nil
	}
	switch c := rest[0]; {
	case c == '&' || c == '.' && (len(rest) > 1 && strings.IndexByte(" \t$({'\"", rest[1]) >= 0):
		p.k++
		p.blanks(false)
		return p.command(in, true)
	case strings.IndexByte("$([{'\"@!", c) >= 0, c >= '0' && c <= '9' && !source.Word(rest[min(1, len(rest)-1)]), c == '-' && len(rest) > 1 && !source.Word(rest[1]):
		v := p.expression()
		if first {
			return v
		}
		return p.j.Add(v, in)
	}
	return p.command(in, false)
}

// keyword reads what belongs to a keyword: brackets with conditions, blocks with statements.
func (p *psReader) keyword(name string, in value.Set) value.Set {
	p.k += len(name)
	var out value.Set
	loops := name == "while" || name == "for" || name == "do"
	start := p.k
	for p.more() {
		p.blanks(name != "return" && name != "throw")
		switch c := p.peek(0); {
		case c == '(' && name == "foreach":
			p.k++
			p.each()
		case c == '(':
			p.k++
			p.statements(')', nil)
		case c == '{':
			p.k++
			out = p.j.concatGap(out, p.statements('}', in))
			if name != "if" && name != "elseif" && name != "try" || !psKeyword.MatchString(strings.TrimLeft(p.s[p.k:], " \t\n")) {
				if low := strings.ToLower(p.s[start:p.k]); loops && psForever.MatchString(low) && psStarts.MatchString(low) {
					p.j.Deny("W10", "It would start programs over and over until the machine stands still. Give it an end.")
				}
				return out
			}
			return out
		case name == "function" || name == "filter" || name == "class" || name == "workflow" || name == "catch" || name == "trap" || name == "switch":
			from := p.k
			for p.more() && p.s[p.k] != '{' && p.s[p.k] != '(' && p.s[p.k] != '\n' {
				p.k++
			}
			if name == "function" || name == "filter" {
				p.function(strings.ToLower(strings.TrimSpace(p.s[from:p.k])))
			}
			if p.k == from {
				return out
			}
		default:
			if name == "return" || name == "throw" || name == "exit" {
				return p.pipeline(in)
			}
			return out
		}
	}
	return out
}

var (
	psForever = phrase.New(`^\s*\(\s*(\$true|1|;\s*;|;\s*\$true\s*;|!\s*\$false|-not\s+\$false|1\s*-eq\s*1)\s*\)|\}\s*while\s*\(\s*(\$true|1)\s*\)`)
	psStarts  = phrase.New(`start-process|\bsaps\b|start-job|\bstart\s+[\w"'&.]|invoke-item|&\s*\$|\bcmd(\.exe)?\b|powershell|pwsh|\[diagnostics\.process\]`)
)

// function notes that a name means a body, and whether that starts itself.
func (p *psReader) function(name string) {
	name, _, _ = strings.Cut(name, "(")
	rest := p.s[p.k:]
	open := strings.IndexByte(rest, '{')
	if name == "" || open < 0 {
		return
	}
	body := rest[open:]
	if end := psClose(body); end > 0 {
		body = body[:end]
	}
	starts := slices.DeleteFunc(strings.FieldsFunc(strings.ToLower(body), func(r rune) bool { return strings.ContainsRune(" \t\n;{}|&()", r) }), func(w string) bool { return w != name })
	if len(starts) > 1 || len(starts) == 1 && psCopies.MatchString(body) {
		p.j.Deny("W10", "The function %.40q would start itself over and over until the machine stands still. Give it an end.", value.Shown(name))
	}
	p.e.Set("%func "+name, value.Set{block + strings.Trim(body, "{}")})
}

// psClose is where the bracket that s begins with is closed; 0 where it is not.
func psClose(s string) int {
	depth := 0
	for k := 0; k < len(s); k++ {
		switch s[k] {
		case '{', '(':
			depth++
		case '}', ')':
			if depth--; depth == 0 {
				return k + 1
			}
		case '\'', '"':
			end := strings.IndexByte(s[k+1:], s[k])
			if end < 0 {
				return 0
			}
			k += end + 1
		case '`':
			k++
		}
	}
	return 0
}

// each reads "($x in values)" behind its bracket, and the block, once for each value.
func (p *psReader) each() {
	p.blanks(true)
	m := psIn.FindStringSubmatch(p.s[p.k:])
	if m == nil {
		p.statements(')', nil)
		return
	}
	p.k += len(m[0])
	values := p.statements(')', nil)
	var all []string
	for _, v := range values {
		all = append(all, strings.Split(v, string(value.Gap))...)
	}
	p.blanks(true)
	if p.peek(0) != '{' || len(all) == 0 {
		return
	}
	body := p.k
	for _, v := range all {
		p.k = body + 1
		p.e.Set("%"+psName(m[1]), value.Set{v})
		p.statements('}', nil)
		if p.j.Denied() {
			return
		}
	}
	p.k = min(p.k, len(p.s))
}

// psName is a variable's name in lower case, without its scope.
func psName(s string) string {
	s = strings.ToLower(strings.Trim(strings.TrimLeft(s, "$@"), "{}"))
	for _, scope := range []string{"global:", "script:", "local:", "private:", "using:", "variable:"} {
		s = strings.TrimPrefix(s, scope)
	}
	return strings.TrimPrefix(s, "env:")
}

// variable is what a variable may hold.
func (p *psReader) variable(name string) value.Set {
	switch name {
	case "_", "psitem", "input":
		if len(p.item) == 0 {
			return value.Anything()
		}
		return p.item
	case "null", "false":
		return value.Set{""}
	case "true":
		return value.Set{"True"}
	case "pwd":
		return p.e.Cwd
	case "pshome":
		return value.Set{"C:/Windows/System32/WindowsPowerShell/v1.0"}
	case "shellid", "pid", "host", "error", "lastexitcode", "?", "matches", "psversiontable":
		return value.Something()
	}
	if v, ok := p.e.Vars["%"+name]; ok {
		return v
	}
	if v, ok := p.j.windowsVariable(p.e, name); ok {
		return v
	}
	return value.Anything()
}

// quoted reads a string at its opening quote.
func (p *psReader) quoted() value.Set {
	q := p.s[p.k]
	p.k++
	out := value.Set{string(value.Quoted)}
	var b strings.Builder
	flush := func() {
		out = p.j.Join(out, value.Set{b.String()})
		b.Reset()
	}
	for p.k < len(p.s) {
		switch c := p.s[p.k]; {
		case c == q && p.peek(1) == q:
			b.WriteByte(q)
			p.k += 2
		case c == q:
			p.k++
			flush()
			return out
		case q == '"' && c == '`' && p.k+1 < len(p.s):
			b.WriteString(psEscape(p.s[p.k+1]))
			p.k += 2
		case q == '"' && c == '$' && (source.Word(p.peek(1)) || p.peek(1) == '{' || p.peek(1) == '(' || p.peek(1) == '_'):
			flush()
			out = p.j.Join(out, value.Mapped(p.dollar(false), value.Unquote))
		default:
			b.WriteByte(c)
			p.k++
		}
	}
	p.broken()
	return out
}

func psEscape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'r', '0', 'a', 'b', 'f', 'v', 'e', '\n':
		return ""
	}
	return string(c)
}

// here reads a here-string at its @.
func (p *psReader) here() value.Set {
	q := p.s[p.k+1]
	rest := p.s[p.k+2:]
	end := strings.Index(rest, "\n"+string(q)+"@")
	if end < 0 {
		p.broken()
		return nil
	}
	text := strings.TrimPrefix(rest[:end], "\n")
	p.k += 2 + end + 3
	if q == '\'' || !strings.ContainsAny(text, "$`") {
		return value.Set{text}
	}
	inner := &psReader{j: p.j, e: p.e, s: `"` + strings.ReplaceAll(text, `"`, `""`) + `"`, item: p.item, deep: p.deep + 1}
	return inner.quoted()
}

// dollar reads a variable or a $(…).
func (p *psReader) dollar(members bool) value.Set {
	rest := p.s[p.k:]
	var v value.Set
	switch {
	case strings.HasPrefix(rest, "$("):
		p.k += 2
		v = p.statements(')', nil)
	case strings.HasPrefix(rest, "${"):
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			p.broken()
			return nil
		}
		p.k += end + 1
		v = p.variable(psName(rest[:end+1]))
	default:
		m := psVariable.FindString(rest)
		p.k += max(1, len(m))
		v = p.variable(psName(m))
	}
	if len(v) == 0 {
		v = value.Set{""}
	}
	if members {
		v = p.members(v)
	}
	return v
}

// members reads .name, .name(…), ::name(…) and […] behind a value.
func (p *psReader) members(v value.Set) value.Set {
	for p.more() {
		rest := p.s[p.k:]
		m := psMember.FindStringSubmatch(rest)
		switch {
		case m != nil && m[1] == "(":
			p.k += strings.IndexByte(rest, '(') + 1
			p.statements(')', nil)
			v = value.Mapped(v, func(s string) string { return string(value.Hole) + value.Taint(s) })
		case m != nil:
			p.k += len(m[0])
			name := strings.ToLower(strings.Trim(m[1], `'"`))
			if p.peek(0) == '(' {
				p.k++
				args := p.list(')')
				v = p.method(v, name, args)
			} else {
				v = property(v, name)
			}
		case rest[0] == '[':
			p.k++
			index := p.statements(']', nil)
			v = value.Mapped(v, func(s string) string { return psIndex(s, index) })
		default:
			return v
		}
	}
	return v
}

// psIndex is a letter or an element of a value.
func psIndex(s string, index value.Set) string {
	if len(index) != 1 || !value.Literal(strings.ReplaceAll(s, string(value.Gap), "")) {
		return string(value.Hole) + value.Taint(s)
	}
	parts := strings.Split(s, string(value.Gap))
	if len(parts) == 1 {
		parts = strings.Split(s, "")
	}
	var out []string
	for _, i := range strings.FieldsFunc(index[0], func(r rune) bool { return r == value.Gap || r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(i)
		if n < 0 {
			n += len(parts)
		}
		if err != nil || n < 0 || n >= len(parts) {
			return string(value.Hole) + value.Taint(s)
		}
		out = append(out, parts[n])
	}
	return strings.Join(out, string(value.Gap))
}

// property is a member of a value that is not called. What names or holds the same thing stays as it is.
func property(v value.Set, name string) value.Set {
	switch name {
	case "fullname", "path", "pspath", "name", "content", "value", "rawcontent", "directory", "providerpath", "location", "source", "definition", "psparentpath", "directoryname":
		return v
	}
	return value.Mapped(v, func(s string) string { return string(value.Hole) + value.Taint(s) })
}

// list reads the arguments of a call, up to the closing bracket.
func (p *psReader) list(closing byte) []value.Set {
	var all []value.Set
	for p.more() {
		p.blanks(true)
		switch c := p.peek(0); {
		case c == closing:
			p.k++
			return all
		case c == ',':
			p.k++
		default:
			before := p.k
			all = append(all, p.expressionUntil(true))
			if p.k == before {
				p.k++
			}
		}
	}
	if !p.j.Denied() {
		p.broken()
	}
	return all
}

// method is what calling a member of a value gives.
func (p *psReader) method(v value.Set, name string, args []value.Set) value.Set {
	arg := func(n int) string {
		if n < len(args) && len(args[n]) == 1 {
			return value.Unquote(args[n][0])
		}
		return string(value.Hole)
	}
	var from string
	for _, a := range append(args, v) {
		from += a.Taint()
	}
	text := func(f func(string) string) value.Set {
		return value.Mapped(v, func(s string) string {
			if s = value.Unquote(s); !value.Literal(s) || !value.Literal(arg(0)) && len(args) > 0 {
				return string(value.Hole) + value.Taint(s)
			}
			return f(s)
		})
	}
	switch name {
	case "replace":
		return text(func(s string) string { return strings.ReplaceAll(s, arg(0), arg(1)) })
	case "tolower", "tolowerinvariant":
		return text(strings.ToLower)
	case "toupper", "toupperinvariant":
		return text(strings.ToUpper)
	case "trim", "tostring", "normalize":
		return v
	case "substring":
		return text(func(s string) string {
			from, err := strconv.Atoi(arg(0))
			if err != nil || from < 0 || from > len(s) {
				return string(value.Hole)
			}
			if n, err := strconv.Atoi(arg(1)); err == nil && n >= 0 && from+n <= len(s) {
				return s[from : from+n]
			}
			return s[from:]
		})
	case "downloadstring", "downloaddata", "getstringasync", "openread", "getasync", "getstreamasync", "getresponse", "getbytearrayasync":
		return value.Set{string(value.FromNet)}
	case "downloadfile", "downloadfileasync":
		p.j.winEffect(value.Writes, p.e.Cwd[0], arg(1), false)
		p.j.Save(p.e, p.j.World.WinPath(p.e.Cwd[0], arg(1)), value.Set{string(value.FromNet)})
		return nil
	case "invoke", "invokereturnasis", "begininvoke":
		p.invokeBlock(v)
		return value.Anything()
	case "invokescript", "addscript", "newscriptblock", "expandstring":
		p.run(args)
		return value.Anything()
	case "win32shutdown", "win32shutdowntracker", "reboot", "shutdown":
		p.j.Deny("W6", "It would stop or restart the machine. Do that by hand.")
	case "deletefolder", "deletefile":
		p.j.winEffect(value.Deletes, p.e.Cwd[0], arg(0), name == "deletefolder")
	case "delete", "deletetree":
		for _, s := range v {
			if strings.Contains(strings.ToLower(s), "shadowcopy") {
				p.j.shadow()
			}
			if value.Literal(s) && (strings.Contains(s, "/") || strings.Contains(s, `\`)) {
				p.j.winEffect(value.Deletes, p.e.Cwd[0], s, len(args) > 0 || name == "deletetree")
			}
		}
	case "split":
		return text(func(s string) string { return strings.ReplaceAll(s, arg(0), string(value.Gap)) })
	}
	return value.Set{string(value.Hole) + from}
}

// run judges values that become a program.
func (p *psReader) run(values []value.Set) {
	for _, v := range values {
		for _, s := range v {
			s = strings.TrimPrefix(value.Unquote(s), block)
			s = strings.ReplaceAll(s, string(value.Gap), "\n")
			switch {
			case value.Taint(s) != "":
				p.j.denyFedWindows()
			case strings.Trim(s, string([]rune{value.Hole, value.Some})) == "":
			case value.Maybe(s):
				p.j.inner(p.e, value.PowerShell, value.Read(s, true), nil)
				p.j.inner(p.e, value.PowerShell, value.Read(s, false), nil)
			default:
				p.j.Deeper(func() { p.j.PowerShell(p.e, s, nil) })
			}
		}
	}
}

// invokeBlock runs a value that is a script block, or the name of a program.
func (p *psReader) invokeBlock(v value.Set) {
	for _, s := range v {
		if strings.Contains(s, block) || value.Taint(s) != "" {
			p.run([]value.Set{{s}})
		}
	}
}

var psCopies = phrase.New(`(?i)start-job|start-process`)

var psIn = phrase.New(`(?i)^(\$\w+)\s+in\s+`)

var psVariable = phrase.New(`^\$(?:(?i:env|global|script|local|private|using|variable):)?[\w?$^]*`)

var psMember = phrase.New(`^(?:\.|::|\?\.)(\w+|\(|'[^']*'|"[^"]*"|\$\w+)`)
