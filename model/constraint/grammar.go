package constraint

import (
	"fmt"
	"strings"

	"github.com/jackline-ai/jackline/args"
)

// grammar writes the whole constraint in GBNF, as llama.cpp's grammars/README.md describes it. It has no rule that leads to
// itself, so that every answer ends. Between members there may be one blank: a model that may write blanks at will
// sometimes writes nothing else.
func (f Form) grammar(branches []branch) string {
	g := &grammarWriter{shared: map[string]bool{}}
	var root []string
	for i, b := range branches {
		rule := fmt.Sprintf("call-%d", i+1)
		root = append(root, rule)
		g.rule(rule, quoted(`{`+args.Compact(f.Tool)+`:`)+" sp "+quoted(args.Compact(b.name)+`,`)+" sp "+
			quoted(args.Compact(f.Args)+`:`)+" sp "+g.node(b.args)+` "}"`)
	}
	root = append(root, "final")
	g.rule("final", quoted(`{"`+finalKey+`":`)+` sp "true}"`)
	var out strings.Builder
	out.WriteString("root ::= " + strings.Join(root, " | ") + "\nsp ::= \" \"?\n")
	for _, name := range []string{"any-2", "any-1", "any-0", "string", "char", "number", "integer"} {
		if !g.shared[name] {
			continue
		}
		switch name {
		case "any-2", "any-1":
			inner := g.use(fmt.Sprintf("any-%d", name[len(name)-1]-'0'-1))
			g.use("string")
			g.rule(name, fmt.Sprintf(`any-0 | "[" (%s ("," sp %s)*)? "]" | "{" (string ":" sp %s ("," sp string ":" sp %s)*)? "}"`, inner, inner, inner, inner))
			g.use("any-0")
		case "any-0":
			g.use("string")
			g.use("number")
			g.rule(name, `string | number | "true" | "false" | "null"`)
		case "string":
			g.use("char")
			g.rule(name, `"\"" char* "\""`)
		case "char": // an escape of half a character would be none
			g.rule(name, `[^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" ([0-9a-cA-CefEF] [0-9a-fA-F] | [dD] [0-7]) [0-9a-fA-F]{2})`)
		case "number":
			g.use("integer")
			g.rule(name, `integer ("." [0-9]{1,16})? ([eE] [-+]? [0-9]{1,2})?`)
		case "integer":
			g.rule(name, `"-"? ("0" | [1-9] [0-9]{0,15})`)
		}
	}
	out.WriteString(g.out.String())
	return out.String()
}

type grammarWriter struct {
	out    strings.Builder
	shared map[string]bool // rules that were used
	n      int             // rules of objects so far
}

func (g *grammarWriter) rule(name, is string) { g.out.WriteString(name + " ::= " + is + "\n") }

func (g *grammarWriter) use(name string) string {
	g.shared[name] = true
	return name
}

// quoted writes a text as a literal of the grammar.
func quoted(s string) string {
	b := append(make([]byte, 0, len(s)+8), '"')
	for i := range len(s) { // what is quoted is JSON, which has no line ends
		if s[i] == '"' || s[i] == '\\' {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return string(append(b, '"'))
}

// node writes what a node allows, so that it can stand between other elements.
func (g *grammarWriter) node(n *node) string {
	switch n.kind {
	case anyValue:
		return g.use(fmt.Sprintf("any-%d", min(n.level, anyDepth)))
	case object:
		return g.object(n)
	case list:
		return g.list(n)
	case text:
		if n.min == 0 && n.max < 0 {
			return g.use("string")
		}
		if n.max == 0 {
			return `"\"\""`
		}
		return `"\"" ` + g.use("char") + repeat(n.min, n.max) + ` "\""`
	case integer:
		return g.integer(n)
	case number:
		return g.number(n)
	case boolean:
		return `("true" | "false")`
	case null:
		return `"null"`
	case literals:
		each := make([]string, len(n.values))
		for i, v := range n.values {
			each[i] = quoted(v)
		}
		return either(each)
	case union:
		each := make([]string, len(n.of))
		for i, o := range n.of {
			each[i] = g.node(o)
		}
		return either(each)
	}
	return `"null"`
}

func either(each []string) string {
	if len(each) == 1 {
		return each[0]
	}
	return "(" + strings.Join(each, " | ") + ")"
}

// repeat is how often the element before it may stand.
func repeat(low, high int) string {
	switch {
	case low == 0 && high < 0:
		return "*"
	case high < 0:
		return fmt.Sprintf("{%d,}", low)
	case low == 0 && high == 1:
		return "?"
	case low == high:
		return fmt.Sprintf("{%d}", low)
	}
	return fmt.Sprintf("{%d,%d}", low, high)
}

func (g *grammarWriter) list(n *node) string {
	if n.max == 0 {
		return `"[]"`
	}
	item := g.node(n.items)
	if len(item) > longInline { // it stands twice
		item = g.named(item)
	}
	more := ""
	if n.max != 1 {
		more = ` ("," sp ` + item + `)` + repeat(max(n.min-1, 0), n.max-1)
	}
	if n.max < 0 {
		more = ` ("," sp ` + item + `)` + repeat(max(n.min-1, 0), -1)
	}
	if n.min == 0 {
		return `"[" (` + item + more + `)? "]"`
	}
	return `"[" ` + item + more + ` "]"`
}

// longInline is how long an expression may be that is written more than once.
const longInline = 24

// named gives an expression a rule of its own.
func (g *grammarWriter) named(is string) string {
	g.n++
	name := fmt.Sprintf("r%d", g.n)
	g.rule(name, is)
	return name
}

// object writes an object: the required members one after the other, then the optional ones, each of which may be missing.
func (g *grammarWriter) object(n *node) string {
	if n.extra != nil {
		member := g.use("string") + ` ":" sp ` + g.node(n.extra)
		if len(member) > longInline {
			member = g.named(member)
		}
		return `"{" (` + member + ` ("," sp ` + member + `)*)? "}"`
	}
	member := func(f field) string { return quoted(args.Compact(f.name)+`:`) + " sp " + g.node(f.value) }
	var required, optional []string
	for _, f := range n.fields {
		if f.required {
			required = append(required, member(f))
		} else {
			optional = append(optional, member(f))
		}
	}
	var b strings.Builder
	b.WriteString(`"{"`)
	if len(required) > 0 {
		b.WriteString(" " + strings.Join(required, ` "," sp `))
		for _, o := range optional {
			b.WriteString(` ("," sp ` + o + `)?`)
		}
		b.WriteString(` "}"`)
		return b.String()
	}
	switch len(optional) {
	case 0:
		return `"{}"`
	case 1:
		return `"{" (` + optional[0] + `)? "}"`
	}
	// Whichever member comes first has no comma before it, and those behind it have one.
	names := make([]string, len(optional))
	for i, o := range optional {
		names[i] = g.named(o)
	}
	first := make([]string, len(names))
	rest := ""
	for i := len(names) - 1; i >= 0; i-- {
		first[i] = strings.TrimSuffix(names[i]+" "+rest, " ")
		rest = g.named(strings.TrimSuffix(`("," sp `+names[i]+`)? `+rest, " "))
	}
	return `"{" ` + either(first) + `? "}"`
}
