package windows

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline/phrase"
	"github.com/jackline-ai/jackline/shell/source"
	"github.com/jackline-ai/jackline/shell/value"
)

// expression reads a value with operators, up to the end of the statement or a pipe.
func (p *psReader) expression() value.Set { return p.expressionUntil(false) }

var psOperator = phrase.New(`(?i)^(?:-(?:f|join|split|replace|creplace|ireplace|as|is|isnot|eq|ne|gt|lt|ge|le|like|notlike|match|notmatch|contains|in|notin|and|or|xor|band|bor|ceq|ieq|csplit)\b|\+|\*|/|%|\.\.|\?\?)`)

// expressionUntil reads a value with operators. As an argument of a call it ends at a comma, else commas make a list.
func (p *psReader) expressionUntil(comma bool) value.Set {
	p.deep++
	defer func() { p.deep-- }()
	if p.deep > maxDeep || !p.j.Spend(8) {
		p.j.Deny("S3", "The command nests too many brackets to be read safely. Write it flat.")
		return value.Anything()
	}
	v := p.unary()
	for p.more() {
		p.blanks(false)
		if !p.more() {
			break
		}
		if p.peek(0) == ',' && !comma {
			p.k++
			p.blanks(true)
			v = p.j.Join(value.Mapped(v, func(s string) string { return s + string(value.Gap) }), p.unary())
			continue
		}
		op := strings.ToLower(psOperator.FindString(p.s[p.k:]))
		if op == "" {
			break
		}
		p.k += len(op)
		p.blanks(true)
		var right value.Set
		if op == "-f" || op == "-join" || op == "-replace" {
			right = p.operand()
		} else {
			right = p.unary()
		}
		v = p.operate(op, v, right)
	}
	return v
}

// operand reads the right side of an operator that takes a list.
func (p *psReader) operand() value.Set {
	v := p.unary()
	for p.more() {
		p.blanks(false)
		if p.peek(0) != ',' {
			break
		}
		p.k++
		p.blanks(true)
		v = p.j.Join(value.Mapped(v, func(s string) string { return s + string(value.Gap) }), p.unary())
	}
	return v
}

// operate is the value of an operator, as far as texts determine it.
func (p *psReader) operate(op string, a, b value.Set) value.Set {
	both := func(f func(x, y string) string) value.Set {
		var out value.Set
		for _, x := range a {
			for _, y := range b {
				x, y := strings.ReplaceAll(x, string(value.Quoted), ""), strings.ReplaceAll(y, string(value.Quoted), "")
				out = p.j.Add(out, value.Set{f(x, y)})
			}
		}
		return out
	}
	switch op {
	case "+":
		return p.j.Join(a, b)
	case "-f":
		return both(func(x, y string) string {
			parts := strings.Split(y, string(value.Gap))
			for k, part := range parts {
				x = strings.ReplaceAll(x, "{"+strconv.Itoa(k)+"}", part)
			}
			return x
		})
	case "-join":
		return both(func(x, y string) string { return strings.ReplaceAll(x, string(value.Gap), y) })
	case "-replace", "-creplace", "-ireplace":
		return both(func(x, y string) string {
			old, with, _ := strings.Cut(y, string(value.Gap))
			re, err := regexp.Compile("(?i)" + old)
			if err != nil || !value.Literal(strings.ReplaceAll(x, string(value.Gap), "")) {
				return string(value.Hole) + value.Taint(x)
			}
			return re.ReplaceAllString(x, with)
		})
	case "-split", "-csplit":
		return both(func(x, y string) string { return strings.ReplaceAll(x, y, string(value.Gap)) })
	case "*":
		return both(func(x, y string) string {
			n, err := strconv.Atoi(y)
			if err != nil || n < 0 || n*len(x) > 4096 {
				return string(value.Hole)
			}
			return strings.Repeat(x, n)
		})
	case "-as":
		return a
	case "??":
		return p.j.Add(a, b)
	case "..":
		return both(func(x, y string) string { return psRange(x, y) })
	}
	return value.Set{string(value.Hole) + a.Taint() + b.Taint()}
}

// psRange is the numbers from x to y.
func psRange(x, y string) string {
	const most = 64
	from, err1 := strconv.Atoi(x)
	to, err2 := strconv.Atoi(y)
	if err1 != nil || err2 != nil || to-from > most || from-to > most {
		return string(value.Some)
	}
	step := 1
	if to < from {
		step = -1
	}
	parts := []string{strconv.Itoa(from)}
	for n := from; n != to; {
		n += step
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, string(value.Gap))
}

var (
	psType   = phrase.New(`^\[[\w.,\[\]\s]+\]`)
	psUnary  = phrase.New(`(?i)^(?:-not\b|!|-join\b|-split\b|-bnot\b|-|\+|,)`)
	psNumber = phrase.New(`(?i)^(?:0x[0-9a-f]+|\d+(?:\.\d+)?)(?:kb|mb|gb|tb)?`)
)

// unary reads one value with what stands before and behind it.
func (p *psReader) unary() value.Set {
	p.deep++
	defer func() { p.deep-- }()
	if p.deep > maxDeep {
		p.j.Deny("S3", "The command nests too many brackets to be read safely. Write it flat.")
	}
	p.blanks(false)
	if !p.more() {
		return value.Set{""}
	}
	rest := p.s[p.k:]
	if m := strings.ToLower(psUnary.FindString(rest)); m != "" && (len(rest) == len(m) || !source.Word(rest[len(m)]) || len(m) == 1) {
		p.k += len(m)
		v := p.unary()
		switch m {
		case "-join":
			return value.Mapped(v, func(s string) string {
				return strings.NewReplacer(string(value.Gap), "", string(value.Quoted), "").Replace(s)
			})
		case "-":
			return value.Mapped(v, func(s string) string { return "-" + s })
		case ",", "+":
			return v
		}
		return value.Set{string(value.Hole) + v.Taint()}
	}
	switch c := rest[0]; {
	case c == '\'' || c == '"':
		return p.members(p.quoted())
	case c == '$':
		return p.dollar(true)
	case c == '(':
		p.k++
		v := p.statements(')', nil)
		if len(v) == 0 {
			v = value.Set{""}
		}
		return p.members(v)
	case strings.HasPrefix(rest, "@'") || strings.HasPrefix(rest, `@"`):
		return p.members(p.here())
	case strings.HasPrefix(rest, "@("):
		p.k += 2
		return p.members(p.statements(')', nil))
	case strings.HasPrefix(rest, "@{"):
		p.k += 2
		return p.table()
	case c == '{':
		return p.block()
	case c == '[':
		if m := psType.FindString(rest); m != "" {
			p.k += len(m)
			return p.typed(strings.ToLower(strings.Trim(m, "[]")))
		}
	}
	if m := psNumber.FindString(rest); m != "" {
		p.k += len(m)
		if n, err := strconv.ParseInt(m, 0, 64); err == nil {
			m = strconv.FormatInt(n, 10)
		}
		return p.members(value.Set{m})
	}
	return p.word()
}

// block reads a script block: what is in it is judged where it stands, and its text is its value.
func (p *psReader) block() value.Set {
	p.k++
	start := p.k
	p.statements('}', p.item)
	return p.members(value.Set{block + strings.TrimSuffix(p.s[start:min(p.k, len(p.s))], "}")})
}

// table reads a hash table, as the words that a command would be given with it.
func (p *psReader) table() value.Set {
	out := value.Set{""}
	for p.more() {
		p.blanks(true)
		c := p.peek(0)
		switch {
		case c == '}':
			p.k++
			return out
		case c == ';' || c == ',':
			p.k++
			continue
		}
		m := psKey.FindStringSubmatch(p.s[p.k:])
		if m == nil {
			p.k++
			continue
		}
		p.k += len(m[0])
		out = p.j.Join(p.j.Join(out, value.Set{string(value.Gap) + "-" + m[1] + string(value.Gap)}), p.pipeline(nil))
	}
	p.broken()
	return out
}

// typed reads what follows a type: a static member, or a value that is cast to it.
func (p *psReader) typed(name string) value.Set {
	name = strings.TrimPrefix(name, "system.")
	m := psStatic.FindStringSubmatch(p.s[p.k:])
	if m == nil {
		v := p.unary()
		switch name {
		case "char":
			return value.Mapped(v, func(s string) string {
				if n, err := strconv.Atoi(strings.ReplaceAll(s, string(value.Quoted), "")); err == nil && n >= ' ' && n < 0x10000 {
					return string(rune(n))
				}
				return s
			})
		case "char[]":
			return value.Mapped(v, func(s string) string {
				parts := strings.Split(strings.ReplaceAll(s, string(value.Quoted), ""), string(value.Gap))
				for k, one := range parts {
					if n, err := strconv.Atoi(one); err == nil && n >= ' ' && n < 0x10000 {
						parts[k] = string(rune(n))
					}
				}
				if len(parts) == 1 {
					parts = strings.Split(parts[0], "")
				}
				return strings.Join(parts, string(value.Gap))
			})
		case "scriptblock":
			p.run([]value.Set{v})
		}
		return v
	}
	p.k += len(m[0])
	method := strings.ToLower(m[1])
	if p.peek(0) != '(' {
		return p.members(value.Set{string(value.Some)})
	}
	p.k++
	return p.members(p.static(name, method, p.list(')')))
}

// static is what a static method does and gives.
func (p *psReader) static(typ, method string, args []value.Set) value.Set {
	arg := func(n int) string {
		if n < len(args) && len(args[n]) > 0 {
			return value.Unquote(args[n][0])
		}
		return ""
	}
	typ = strings.TrimPrefix(strings.TrimPrefix(typ, "system."), "microsoft.visualbasic.")
	from := ""
	for _, a := range args {
		from += a.Taint()
	}
	if out, ok := p.staticFile(typ+"."+method, args); ok {
		return out
	}
	switch typ + "." + method {
	case "io.path.combine":
		v := value.Set{""}
		for k, a := range args {
			if k > 0 {
				v = p.j.Join(v, value.Set{"/"})
			}
			v = p.j.Join(v, a)
		}
		return v
	case "convert.frombase64string":
		return value.Set{string(value.Decoded) + from}
	case "scriptblock.create":
		p.run(args)
		if len(args) > 0 {
			return value.Mapped(args[0], func(s string) string { return block + value.Unquote(s) })
		}
	case "string.join":
		if len(args) == 2 {
			return p.operate("-join", args[1], args[0])
		}
		v := value.Set{""}
		for k := 1; k < len(args); k++ {
			v = p.j.Join(v, args[k])
		}
		return v
	case "string.concat":
		v := value.Set{""}
		for _, a := range args {
			v = p.j.Join(v, a)
		}
		return v
	case "string.format":
		if len(args) > 1 {
			v := args[1]
			for _, a := range args[2:] {
				v = p.j.Join(value.Mapped(v, func(s string) string { return s + string(value.Gap) }), a)
			}
			return p.operate("-f", args[0], v)
		}
	case "environment.getfolderpath":
		if low := strings.ToLower(arg(0)); strings.Contains(low, "userprofile") {
			return value.Set{p.j.World.Home}
		} else if strings.Contains(low, "windows") || strings.Contains(low, "system") {
			return value.Set{"C:/Windows"}
		}
	case "environment.getenvironmentvariable":
		return p.variable(strings.ToLower(arg(0)))
	case "environment.expandenvironmentvariables":
		return p.j.cmdVars(p.e, arg(0))
	case "diagnostics.process.start":
		words := make([]string, 0, len(args))
		for k := range args {
			words = append(words, arg(k))
		}
		p.started(words)
	case "powershell.create":
		return value.Something()
	}
	if len(args) > 0 && from != "" {
		return value.Set{string(value.Hole) + from}
	}
	return value.Anything()
}

var psKey = phrase.New(`^['"]?([\w.]+)['"]?\s*=\s*`)

var psStatic = phrase.New(`^::(\w+)`)

// staticFile is what the static methods about files do and give. It reports whether this is one.
func (p *psReader) staticFile(method string, args []value.Set) (out value.Set, is bool) {
	dir := p.e.Cwd[0]
	first := ""
	if len(args) > 0 && len(args[0]) > 0 {
		first = value.Unquote(args[0][0])
	}
	each := func(n int, f func(path string)) {
		if n < len(args) {
			for _, a := range p.j.Argvs([]value.Set{value.Mapped(args[n], value.Unquote)}) {
				f(strings.Join(a, " "))
			}
		}
	}
	switch method {
	case "io.directory.delete", "fileio.filesystem.deletedirectory":
		tree := len(args) > 1
		each(0, func(path string) { p.j.winEffect(value.Deletes, dir, path, tree) })
	case "io.file.delete", "io.directory.move", "io.file.move":
		each(0, func(path string) { p.j.winEffect(value.Deletes, dir, path, false) })
	case "io.file.writealltext", "io.file.writeallbytes", "io.file.writealllines", "io.file.appendalltext", "io.file.create", "io.file.openwrite":
		each(0, func(path string) { p.j.winEffect(value.Writes, dir, path, false) })
		if len(args) > 1 {
			p.j.Save(p.e, p.j.World.WinPath(dir, first), args[1])
		}
	case "io.file.readalltext", "io.file.readallbytes", "io.file.readalllines", "io.file.openread":
		each(0, func(path string) { p.j.winEffect(value.Reads, dir, path, false) })
		if content, ok := p.e.Saved[p.j.World.WinPath(dir, first)]; ok {
			return content, true
		}
	case "io.file.copy":
		each(0, func(path string) { p.j.winEffect(value.Reads, dir, path, false) })
		each(1, func(path string) { p.j.winEffect(value.Writes, dir, path, false) })
	default:
		return nil, false
	}
	return value.Anything(), true
}
