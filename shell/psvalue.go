package shell

import (
	"regexp"
	"strconv"
	"strings"
)

// expression reads a value with operators, up to the end of the statement or a pipe.
func (p *psReader) expression() set { return p.expressionUntil(false) }

var psOperator = regexp.MustCompile(`(?i)^(?:-(?:f|join|split|replace|creplace|ireplace|as|is|isnot|eq|ne|gt|lt|ge|le|like|notlike|match|notmatch|contains|in|notin|and|or|xor|band|bor|ceq|ieq|csplit)\b|\+|\*|/|%|\.\.|\?\?)`)

// expressionUntil reads a value with operators. As an argument of a call it ends at a comma, else commas make a list.
func (p *psReader) expressionUntil(comma bool) set {
	p.deep++
	defer func() { p.deep-- }()
	if p.deep > 200 || !p.j.spend(8) {
		p.j.deny("S3", "The command nests too many brackets to be read safely. Write it flat.")
		return unknown
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
			v = p.j.join(mapped(v, func(s string) string { return s + string(gap) }), p.unary())
			continue
		}
		op := strings.ToLower(psOperator.FindString(p.s[p.k:]))
		if op == "" {
			break
		}
		p.k += len(op)
		p.blanks(true)
		var right set
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
func (p *psReader) operand() set {
	v := p.unary()
	for p.more() {
		p.blanks(false)
		if p.peek(0) != ',' {
			break
		}
		p.k++
		p.blanks(true)
		v = p.j.join(mapped(v, func(s string) string { return s + string(gap) }), p.unary())
	}
	return v
}

// operate is the value of an operator, as far as texts determine it.
func (p *psReader) operate(op string, a, b set) set {
	both := func(f func(x, y string) string) set {
		var out set
		for _, x := range a {
			for _, y := range b {
				x, y := strings.ReplaceAll(x, string(quoted), ""), strings.ReplaceAll(y, string(quoted), "")
				out = p.j.add(out, set{f(x, y)})
			}
		}
		return out
	}
	switch op {
	case "+":
		return p.j.join(a, b)
	case "-f":
		return both(func(x, y string) string {
			parts := strings.Split(y, string(gap))
			return regexp.MustCompile(`\{(\d+)[^}]*\}`).ReplaceAllStringFunc(x, func(m string) string {
				n, _ := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(m))
				if n < len(parts) {
					return parts[n]
				}
				return ""
			})
		})
	case "-join":
		return both(func(x, y string) string { return strings.ReplaceAll(x, string(gap), y) })
	case "-replace", "-creplace", "-ireplace":
		return both(func(x, y string) string {
			old, with, _ := strings.Cut(y, string(gap))
			re, err := regexp.Compile("(?i)" + old)
			if err != nil || !literal(strings.ReplaceAll(x, string(gap), "")) {
				return string(hole) + taint(x)
			}
			return re.ReplaceAllString(x, with)
		})
	case "-split", "-csplit":
		return both(func(x, y string) string { return strings.ReplaceAll(x, y, string(gap)) })
	case "*":
		return both(func(x, y string) string {
			n, err := strconv.Atoi(y)
			if err != nil || n < 0 || n*len(x) > 4096 {
				return string(hole)
			}
			return strings.Repeat(x, n)
		})
	case "-as":
		return a
	case "??":
		return p.j.add(a, b)
	case "..":
		return both(func(x, y string) string { return psRange(x, y) })
	}
	return set{string(hole) + a.taint() + b.taint()}
}

// psRange is the numbers from x to y.
func psRange(x, y string) string {
	const most = 64
	from, err1 := strconv.Atoi(x)
	to, err2 := strconv.Atoi(y)
	if err1 != nil || err2 != nil || to-from > most || from-to > most {
		return string(some)
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
	return strings.Join(parts, string(gap))
}

var (
	psType   = regexp.MustCompile(`^\[[\w.,\[\]\s]+\]`)
	psUnary  = regexp.MustCompile(`(?i)^(?:-not\b|!|-join\b|-split\b|-bnot\b|-|\+|,)`)
	psNumber = regexp.MustCompile(`(?i)^(?:0x[0-9a-f]+|\d+(?:\.\d+)?)(?:kb|mb|gb|tb)?`)
)

// unary reads one value with what stands before and behind it.
func (p *psReader) unary() set {
	p.blanks(false)
	if !p.more() {
		return set{""}
	}
	rest := p.s[p.k:]
	if m := strings.ToLower(psUnary.FindString(rest)); m != "" && (len(rest) == len(m) || !word(rest[len(m)]) || len(m) == 1) {
		p.k += len(m)
		v := p.unary()
		switch m {
		case "-join":
			return mapped(v, func(s string) string {
				return strings.NewReplacer(string(gap), "", string(quoted), "").Replace(s)
			})
		case "-":
			return mapped(v, func(s string) string { return "-" + s })
		case ",", "+":
			return v
		}
		return set{string(hole) + v.taint()}
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
			v = set{""}
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
		return p.members(set{m})
	}
	return p.word()
}

// block reads a script block: what is in it is judged where it stands, and its text is its value.
func (p *psReader) block() set {
	p.k++
	start := p.k
	p.statements('}', p.item)
	return p.members(set{block + strings.TrimSuffix(p.s[start:min(p.k, len(p.s))], "}")})
}

// table reads a hash table, as the words that a command would be given with it.
func (p *psReader) table() set {
	out := set{""}
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
		m := regexp.MustCompile(`^['"]?([\w.]+)['"]?\s*=\s*`).FindStringSubmatch(p.s[p.k:])
		if m == nil {
			p.k++
			continue
		}
		p.k += len(m[0])
		out = p.j.join(p.j.join(out, set{string(gap) + "-" + m[1] + string(gap)}), p.pipeline(nil))
	}
	p.broken()
	return out
}

// typed reads what follows a type: a static member, or a value that is cast to it.
func (p *psReader) typed(name string) set {
	name = strings.TrimPrefix(name, "system.")
	m := regexp.MustCompile(`^::(\w+)`).FindStringSubmatch(p.s[p.k:])
	if m == nil {
		v := p.unary()
		switch name {
		case "char":
			return mapped(v, func(s string) string {
				if n, err := strconv.Atoi(strings.ReplaceAll(s, string(quoted), "")); err == nil && n >= ' ' && n < 0x10000 {
					return string(rune(n))
				}
				return s
			})
		case "char[]":
			return mapped(v, func(s string) string {
				parts := strings.Split(strings.ReplaceAll(s, string(quoted), ""), string(gap))
				for k, one := range parts {
					if n, err := strconv.Atoi(one); err == nil && n >= ' ' && n < 0x10000 {
						parts[k] = string(rune(n))
					}
				}
				if len(parts) == 1 {
					parts = strings.Split(parts[0], "")
				}
				return strings.Join(parts, string(gap))
			})
		case "scriptblock":
			p.run([]set{v})
		}
		return v
	}
	p.k += len(m[0])
	method := strings.ToLower(m[1])
	if p.peek(0) != '(' {
		return p.members(set{string(some)})
	}
	p.k++
	return p.members(p.static(name, method, p.list(')')))
}

// static is what a static method does and gives.
func (p *psReader) static(typ, method string, args []set) set {
	arg := func(n int) string {
		if n < len(args) && len(args[n]) > 0 {
			return unquote(args[n][0])
		}
		return ""
	}
	dir := p.e.cwd[0]
	typ = strings.TrimPrefix(strings.TrimPrefix(typ, "system."), "microsoft.visualbasic.")
	from := ""
	for _, a := range args {
		from += a.taint()
	}
	each := func(n int, f func(path string)) {
		if n < len(args) {
			for _, a := range p.j.argvs([]set{mapped(args[n], unquote)}) {
				f(strings.Join(a, " "))
			}
		}
	}
	switch typ + "." + method {
	case "io.directory.delete", "fileio.filesystem.deletedirectory":
		tree := len(args) > 1
		each(0, func(path string) { p.j.winEffect(Deletes, dir, path, tree) })
	case "io.file.delete", "io.directory.move", "io.file.move":
		each(0, func(path string) { p.j.winEffect(Deletes, dir, path, false) })
	case "io.file.writealltext", "io.file.writeallbytes", "io.file.writealllines", "io.file.appendalltext", "io.file.create", "io.file.openwrite":
		each(0, func(path string) { p.j.winEffect(Writes, dir, path, false) })
		if len(args) > 1 {
			p.j.save(p.e, p.j.world.winPath(dir, arg(0)), args[1])
		}
	case "io.file.readalltext", "io.file.readallbytes", "io.file.readalllines", "io.file.openread":
		each(0, func(path string) { p.j.winEffect(Reads, dir, path, false) })
		if content, ok := p.e.saved[p.j.world.winPath(dir, arg(0))]; ok {
			return content
		}
	case "io.file.copy":
		each(0, func(path string) { p.j.winEffect(Reads, dir, path, false) })
		each(1, func(path string) { p.j.winEffect(Writes, dir, path, false) })
	case "io.path.combine":
		v := set{""}
		for k, a := range args {
			if k > 0 {
				v = p.j.join(v, set{"/"})
			}
			v = p.j.join(v, a)
		}
		return v
	case "convert.frombase64string":
		return set{string(decoded) + from}
	case "scriptblock.create":
		p.run(args)
		if len(args) > 0 {
			return mapped(args[0], func(s string) string { return block + unquote(s) })
		}
	case "string.join":
		if len(args) == 2 {
			return p.operate("-join", args[1], args[0])
		}
		v := set{""}
		for k := 1; k < len(args); k++ {
			v = p.j.join(v, args[k])
		}
		return v
	case "string.concat":
		v := set{""}
		for _, a := range args {
			v = p.j.join(v, a)
		}
		return v
	case "string.format":
		if len(args) > 1 {
			v := args[1]
			for _, a := range args[2:] {
				v = p.j.join(mapped(v, func(s string) string { return s + string(gap) }), a)
			}
			return p.operate("-f", args[0], v)
		}
	case "environment.getfolderpath":
		if low := strings.ToLower(arg(0)); strings.Contains(low, "userprofile") {
			return set{p.j.world.Home}
		} else if strings.Contains(low, "windows") || strings.Contains(low, "system") {
			return set{"C:/Windows"}
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
		return nonzero
	}
	if len(args) > 0 && from != "" {
		return set{string(hole) + from}
	}
	return unknown
}
