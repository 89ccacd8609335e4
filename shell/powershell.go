package shell

import (
	"regexp"
	"strconv"
	"strings"
)

// A psReader reads a text in the grammar of PowerShell, and judges it while it reads. It knows the part of the grammar
// that decides what runs; what it does not understand it takes for a command with these words.
type psReader struct {
	j    *windows
	e    *env
	s    string
	k    int
	item set // what $_ stands for
	deep int // brackets that are open
}

// block marks a value that is a script block; its text follows.
const block = "\x13"

// powershell judges a text.
func (j *windows) powershell(e *env, text string, in set) {
	if taint(text) != "" {
		j.denyFedWindows()
		return
	}
	if !j.spend(2 * len(text)) {
		return
	}
	p := &psReader{j: j, e: e, s: text, item: in}
	p.statements(0, in)
	if p.k < len(p.s) && j.depth == 0 {
		j.deny("S1", "The command cannot be read as PowerShell: a bracket or block is closed that was not opened.")
	}
}

// more reports whether there is text left to read, and work to do.
func (p *psReader) more() bool { return p.k < len(p.s) && !p.j.denied() }

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
	if p.j.depth == 0 {
		p.j.deny("S1", "The command cannot be read as PowerShell: a quote, bracket or block is not closed.")
	}
}

// statements reads up to the bracket that closes them, and is what they put out.
func (p *psReader) statements(closing byte, in set) set {
	p.deep++
	defer func() { p.deep-- }()
	if p.deep > 200 {
		p.j.deny("S3", "The command nests too many brackets to be read safely. Write it flat.")
	}
	var out set
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
	if closing != 0 && !p.j.denied() {
		p.broken()
	}
	return out
}

// concatGap is the values of two statements after each other, as a list.
func (j *windows) concatGap(a, b set) set {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	return j.concat(mapped(a, func(s string) string { return s + string(gap) }), b)
}

var (
	psKeyword = regexp.MustCompile(`(?i)^(if|elseif|else|while|for|foreach|do|until|switch|try|catch|finally|function|filter|param|begin|process|end|trap|return|throw|workflow|class|in|break|continue|exit|data|dynamicparam)\b`)
	psAssign  = regexp.MustCompile(`^(?:\[[\w.\[\]]+\]\s*)*(\$(?:\{[^}]*\}|[\w:]+))((?:\.\w+|\[[^\]]*\])*)\s*(\+|-|\*|/|\?\?)?=(?:[^=]|$)`)
)

// pipeline reads elements with | between them.
func (p *psReader) pipeline(in set) set {
	out := in
	for first := true; p.more(); first = false {
		p.blanks(!first)
		out = p.element(out, first)
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
func (p *psReader) element(in set, first bool) set {
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
				v = p.j.join(p.variable(name), v)
			} else if m[3] != "" {
				v = unknown
			}
			if len(v) == 0 {
				v = set{""}
			}
			p.e.set("%"+name, v)
		}
		return nil
	}
	switch c := rest[0]; {
	case c == '&' || c == '.' && (len(rest) > 1 && strings.IndexByte(" \t$({'\"", rest[1]) >= 0):
		p.k++
		p.blanks(false)
		return p.command(in, true)
	case strings.IndexByte("$([{'\"@!", c) >= 0, c >= '0' && c <= '9' && !word(rest[min(1, len(rest)-1)]), c == '-' && len(rest) > 1 && !word(rest[1]):
		v := p.expression()
		if first {
			return v
		}
		return p.j.add(v, in)
	}
	return p.command(in, false)
}

// keyword reads what belongs to a keyword: brackets with conditions, blocks with statements.
func (p *psReader) keyword(name string, in set) set {
	p.k += len(name)
	var out set
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
					p.j.deny("W10", "It would start programs over and over until the machine stands still. Give it an end.")
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
	psForever = regexp.MustCompile(`^\s*\(\s*(\$true|1|;\s*;|;\s*\$true\s*;|!\s*\$false|-not\s+\$false|1\s*-eq\s*1)\s*\)|\}\s*while\s*\(\s*(\$true|1)\s*\)`)
	psStarts  = regexp.MustCompile(`start-process|\bsaps\b|start-job|\bstart\b|invoke-item|&\s*\$|\bcmd(\.exe)?\b|powershell|pwsh|\[diagnostics\.process\]`)
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
	starts := regexp.MustCompile(`(?i)(^|[\s;{|&(])`+regexp.QuoteMeta(name)+`($|[\s;}|&)])`).FindAllString(body, -1)
	if len(starts) > 1 || len(starts) == 1 && regexp.MustCompile(`(?i)start-job|start-process`).MatchString(body) {
		p.j.deny("W10", "The function %.40q would start itself over and over until the machine stands still. Give it an end.", shown(name))
	}
	p.e.set("%func "+name, set{block + strings.Trim(body, "{}")})
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
	m := regexp.MustCompile(`(?i)^(\$\w+)\s+in\s+`).FindStringSubmatch(p.s[p.k:])
	if m == nil {
		p.statements(')', nil)
		return
	}
	p.k += len(m[0])
	values := p.statements(')', nil)
	var all []string
	for _, v := range values {
		all = append(all, strings.Split(v, string(gap))...)
	}
	p.blanks(true)
	if p.peek(0) != '{' || len(all) == 0 {
		return
	}
	body := p.k
	for _, v := range all {
		p.k = body + 1
		p.e.set("%"+psName(m[1]), set{v})
		p.statements('}', nil)
		if p.j.denied() {
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
func (p *psReader) variable(name string) set {
	switch name {
	case "_", "psitem", "input":
		if len(p.item) == 0 {
			return unknown
		}
		return p.item
	case "null", "false":
		return set{""}
	case "true":
		return set{"True"}
	case "pwd":
		return p.e.cwd
	case "pshome":
		return set{"C:/Windows/System32/WindowsPowerShell/v1.0"}
	case "shellid", "pid", "host", "error", "lastexitcode", "?", "matches", "psversiontable":
		return nonzero
	}
	if v, ok := p.e.vars["%"+name]; ok {
		return v
	}
	if v, ok := p.j.windowsVariable(p.e, name); ok {
		return v
	}
	return unknown
}

// quoted reads a string at its opening quote.
func (p *psReader) quoted() set {
	q := p.s[p.k]
	p.k++
	out := set{string(quoted)}
	var b strings.Builder
	flush := func() {
		out = p.j.join(out, set{b.String()})
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
		case q == '"' && c == '$' && (word(p.peek(1)) || p.peek(1) == '{' || p.peek(1) == '(' || p.peek(1) == '_'):
			flush()
			out = p.j.join(out, mapped(p.dollar(false), unquote))
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
func (p *psReader) here() set {
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
		return set{text}
	}
	inner := &psReader{j: p.j, e: p.e, s: `"` + strings.ReplaceAll(text, `"`, `""`) + `"`, item: p.item, deep: p.deep + 1}
	return inner.quoted()
}

// dollar reads a variable or a $(…).
func (p *psReader) dollar(members bool) set {
	rest := p.s[p.k:]
	var v set
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
		m := regexp.MustCompile(`^\$(?:(?i:env|global|script|local|private|using|variable):)?[\w?$^]*`).FindString(rest)
		p.k += max(1, len(m))
		v = p.variable(psName(m))
	}
	if len(v) == 0 {
		v = set{""}
	}
	if members {
		v = p.members(v)
	}
	return v
}

// members reads .name, .name(…), ::name(…) and […] behind a value.
func (p *psReader) members(v set) set {
	for p.more() {
		rest := p.s[p.k:]
		m := regexp.MustCompile(`^(?:\.|::|\?\.)(\w+|\(|'[^']*'|"[^"]*"|\$\w+)`).FindStringSubmatch(rest)
		switch {
		case m != nil && m[1] == "(":
			p.k += strings.IndexByte(rest, '(') + 1
			p.statements(')', nil)
			v = mapped(v, func(s string) string { return string(hole) + taint(s) })
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
			v = mapped(v, func(s string) string { return psIndex(s, index) })
		default:
			return v
		}
	}
	return v
}

// psIndex is a letter or an element of a value.
func psIndex(s string, index set) string {
	if len(index) != 1 || !literal(strings.ReplaceAll(s, string(gap), "")) {
		return string(hole) + taint(s)
	}
	parts := strings.Split(s, string(gap))
	if len(parts) == 1 {
		parts = strings.Split(s, "")
	}
	var out []string
	for _, i := range strings.FieldsFunc(index[0], func(r rune) bool { return r == gap || r == ',' || r == ' ' }) {
		n, err := strconv.Atoi(i)
		if n < 0 {
			n += len(parts)
		}
		if err != nil || n < 0 || n >= len(parts) {
			return string(hole) + taint(s)
		}
		out = append(out, parts[n])
	}
	return strings.Join(out, string(gap))
}

// property is a member of a value that is not called. What names or holds the same thing stays as it is.
func property(v set, name string) set {
	switch name {
	case "fullname", "path", "pspath", "name", "content", "value", "rawcontent", "directory", "providerpath", "location", "source", "definition", "psparentpath", "directoryname":
		return v
	}
	return mapped(v, func(s string) string { return string(hole) + taint(s) })
}

// list reads the arguments of a call, up to the closing bracket.
func (p *psReader) list(closing byte) []set {
	var all []set
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
	if !p.j.denied() {
		p.broken()
	}
	return all
}

// method is what calling a member of a value gives.
func (p *psReader) method(v set, name string, args []set) set {
	arg := func(n int) string {
		if n < len(args) && len(args[n]) == 1 {
			return unquote(args[n][0])
		}
		return string(hole)
	}
	var from string
	for _, a := range append(args, v) {
		from += a.taint()
	}
	text := func(f func(string) string) set {
		return mapped(v, func(s string) string {
			if s = unquote(s); !literal(s) || !literal(arg(0)) && len(args) > 0 {
				return string(hole) + taint(s)
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
				return string(hole)
			}
			if n, err := strconv.Atoi(arg(1)); err == nil && n >= 0 && from+n <= len(s) {
				return s[from : from+n]
			}
			return s[from:]
		})
	case "downloadstring", "downloaddata", "getstringasync", "openread", "getasync", "getstreamasync", "getresponse", "getbytearrayasync":
		return set{string(fromNet)}
	case "downloadfile", "downloadfileasync":
		p.j.winEffect(Writes, p.e.cwd[0], arg(1), false)
		p.j.save(p.e, p.j.world.winPath(p.e.cwd[0], arg(1)), set{string(fromNet)})
		return nil
	case "invoke", "invokereturnasis", "begininvoke":
		p.invokeBlock(v)
		return unknown
	case "invokescript", "addscript", "newscriptblock", "expandstring":
		p.run(args)
		return unknown
	case "win32shutdown", "win32shutdowntracker", "reboot", "shutdown":
		p.j.deny("W6", "It would stop or restart the machine. Do that by hand.")
	case "delete", "deletetree":
		for _, s := range v {
			if literal(s) && (strings.Contains(s, "/") || strings.Contains(s, `\`)) {
				p.j.winEffect(Deletes, p.e.cwd[0], s, len(args) > 0 || name == "deletetree")
			}
		}
	case "split":
		return text(func(s string) string { return strings.ReplaceAll(s, arg(0), string(gap)) })
	}
	return set{string(hole) + from}
}

// run judges values that become a program.
func (p *psReader) run(values []set) {
	for _, v := range values {
		for _, s := range v {
			s = strings.TrimPrefix(unquote(s), block)
			s = strings.ReplaceAll(s, string(gap), "\n")
			switch {
			case taint(s) != "":
				p.j.denyFedWindows()
			case strings.Trim(s, string([]rune{hole, some})) == "":
			case maybe(s):
				p.j.inner(p.e, PowerShell, read(s, true), nil)
				p.j.inner(p.e, PowerShell, read(s, false), nil)
			default:
				p.j.deeper(func() { p.j.powershell(p.e, s, nil) })
			}
		}
	}
}

// invokeBlock runs a value that is a script block, or the name of a program.
func (p *psReader) invokeBlock(v set) {
	for _, s := range v {
		if strings.Contains(s, block) || taint(s) != "" {
			p.run([]set{{s}})
		}
	}
}
