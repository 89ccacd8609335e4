// Package constrainttest stands in for engines that hold a model to a form, in tests: it reads grammars as llama.cpp does
// and schemas as engines that take them, makes up answers that fit, and says whether one fits. It knows nothing of the
// package that it tests.
package constrainttest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Grammar is one in GBNF, by llama.cpp's grammars/README.md: literals, classes, groups, alternatives, repetitions,
// comments. Like there, a rule must not lead to itself before a character is read, and no element may be repeated more
// than 2000 times.
type Grammar struct {
	rules map[string]*expr
}

const mostRepeats = 2000

// expr is an expression: exactly one of its parts is set.
type expr struct {
	text  string   // a literal
	class *class   // one character
	rule  string   // a reference
	seq   []*expr  // one after the other
	alt   []*expr  // one of them
	rep   *expr    // repeated
	low   int      // how often
	high  int      // less than 0 is no bound
	kind  exprKind // which it is
}

type exprKind int

const (
	literal exprKind = iota
	charClass
	reference
	sequence
	alternatives
	repetition
)

type class struct {
	not    bool
	ranges [][2]rune
}

func (c *class) has(r rune) bool {
	for _, g := range c.ranges {
		if g[0] <= r && r <= g[1] {
			return !c.not
		}
	}
	return c.not
}

// ParseGrammar reads a grammar. It refuses what llama.cpp would.
func ParseGrammar(text string) (*Grammar, error) {
	p := &grammarParser{s: text, g: &Grammar{rules: map[string]*expr{}}}
	p.space(true)
	for p.i < len(p.s) {
		if err := p.rule(); err != nil {
			return nil, fmt.Errorf("at byte %d: %w", p.i, err)
		}
	}
	if p.g.rules["root"] == nil {
		return nil, errors.New("no rule root")
	}
	for name, e := range p.g.rules {
		if err := p.g.defined(e); err != nil {
			return nil, fmt.Errorf("rule %s: %w", name, err)
		}
	}
	for name := range p.g.rules {
		if p.g.leads(p.g.rules[name], name, map[string]bool{}) {
			return nil, fmt.Errorf("rule %s leads to itself", name)
		}
	}
	return p.g, nil
}

type grammarParser struct {
	s string
	i int
	g *Grammar
}

func (p *grammarParser) at() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

// space skips blanks and comments, and line ends where they may stand.
func (p *grammarParser) space(lines bool) {
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case c == ' ' || c == '\t':
			p.i++
		case c == '#':
			for p.i < len(p.s) && p.s[p.i] != '\n' {
				p.i++
			}
		case lines && (c == '\n' || c == '\r'):
			p.i++
		default:
			return
		}
	}
}

func (p *grammarParser) name() string {
	start := p.i
	for p.i < len(p.s) && (p.s[p.i] == '-' || p.s[p.i] >= '0' && p.s[p.i] <= '9' || p.s[p.i]|32 >= 'a' && p.s[p.i]|32 <= 'z') {
		p.i++
	}
	return p.s[start:p.i]
}

func (p *grammarParser) rule() error {
	name := p.name()
	if name == "" {
		return errors.New("a rule has no name")
	}
	p.space(false)
	if !strings.HasPrefix(p.s[p.i:], "::=") {
		return errors.New("::= is missing")
	}
	p.i += 3
	p.space(true)
	e, err := p.either(false)
	if err != nil {
		return err
	}
	if p.g.rules[name] != nil {
		return fmt.Errorf("rule %s is there twice", name)
	}
	p.g.rules[name] = e
	if p.i < len(p.s) && p.at() != '\n' && p.at() != '\r' {
		return errors.New("the line does not end behind the rule")
	}
	p.space(true)
	return nil
}

func (p *grammarParser) either(nested bool) (*expr, error) {
	first, err := p.sequence(nested)
	if err != nil {
		return nil, err
	}
	all := []*expr{first}
	for p.at() == '|' {
		p.i++
		p.space(true)
		next, err := p.sequence(nested)
		if err != nil {
			return nil, err
		}
		all = append(all, next)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return &expr{kind: alternatives, alt: all}, nil
}

func (p *grammarParser) sequence(nested bool) (*expr, error) {
	out := &expr{kind: sequence}
	for p.i < len(p.s) {
		c := p.at()
		var e *expr
		var err error
		switch {
		case c == '"':
			e, err = p.literal()
		case c == '[':
			e, err = p.class()
		case c == '(':
			p.i++
			p.space(true)
			if e, err = p.either(true); err == nil && p.at() != ')' {
				err = errors.New("a bracket is not closed")
			}
			p.i++
		case c == '*' || c == '+' || c == '?' || c == '{':
			if len(out.seq) == 0 {
				return nil, errors.New("nothing to repeat")
			}
			last := out.seq[len(out.seq)-1]
			low, high, rerr := p.times()
			if rerr != nil {
				return nil, rerr
			}
			out.seq[len(out.seq)-1] = &expr{kind: repetition, rep: last, low: low, high: high}
			p.space(nested)
			continue
		default:
			name := p.name()
			if name == "" {
				return out, nil
			}
			e = &expr{kind: reference, rule: name}
		}
		if err != nil {
			return nil, err
		}
		p.space(nested)
		out.seq = append(out.seq, e)
	}
	return out, nil
}

func (p *grammarParser) times() (low, high int, err error) {
	c := p.at()
	p.i++
	switch c {
	case '*':
		return 0, -1, nil
	case '+':
		return 1, -1, nil
	case '?':
		return 0, 1, nil
	}
	end := strings.IndexByte(p.s[p.i:], '}')
	if end < 0 {
		return 0, 0, errors.New("a brace is not closed")
	}
	inner := p.s[p.i : p.i+end]
	p.i += end + 1
	least, most, two := strings.Cut(inner, ",")
	if low, err = strconv.Atoi(least); err != nil {
		return 0, 0, err
	}
	high = low
	switch {
	case two && most == "":
		high = -1
	case two:
		if high, err = strconv.Atoi(most); err != nil {
			return 0, 0, err
		}
	}
	if low > mostRepeats || high > mostRepeats || high >= 0 && low > high || high == 0 {
		return 0, 0, fmt.Errorf("{%s} is no sane repetition", inner)
	}
	return low, high, nil
}

func (p *grammarParser) char() (rune, error) {
	if p.at() != '\\' {
		r, n := utf8.DecodeRuneInString(p.s[p.i:])
		if r == utf8.RuneError {
			return 0, errors.New("not UTF-8, or the end")
		}
		p.i += n
		return r, nil
	}
	p.i++
	c := p.at()
	p.i++
	hex := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if hex > 0 {
		if p.i+hex > len(p.s) {
			return 0, errors.New("an escape is cut off")
		}
		n, err := strconv.ParseUint(p.s[p.i:p.i+hex], 16, 32)
		p.i += hex
		return rune(n), err
	}
	switch c {
	case 't':
		return '\t', nil
	case 'r':
		return '\r', nil
	case 'n':
		return '\n', nil
	case '\\', '"', '[', ']':
		return rune(c), nil
	}
	return 0, fmt.Errorf("unknown escape %q", c)
}

func (p *grammarParser) literal() (*expr, error) {
	p.i++
	var b strings.Builder
	for p.at() != '"' {
		r, err := p.char()
		if err != nil {
			return nil, err
		}
		b.WriteRune(r)
	}
	p.i++
	return &expr{kind: literal, text: b.String()}, nil
}

func (p *grammarParser) class() (*expr, error) {
	p.i++
	c := &class{}
	if p.at() == '^' {
		c.not = true
		p.i++
	}
	for p.at() != ']' {
		from, err := p.char()
		if err != nil {
			return nil, err
		}
		to := from
		if p.at() == '-' && p.i+1 < len(p.s) && p.s[p.i+1] != ']' {
			p.i++
			if to, err = p.char(); err != nil {
				return nil, err
			}
		}
		c.ranges = append(c.ranges, [2]rune{from, to})
	}
	p.i++
	return &expr{kind: charClass, class: c}, nil
}

// defined finds references that lead nowhere.
func (g *Grammar) defined(e *expr) error {
	switch e.kind {
	case reference:
		if g.rules[e.rule] == nil {
			return fmt.Errorf("there is no rule %s", e.rule)
		}
	case repetition:
		return g.defined(e.rep)
	case sequence, alternatives:
		for _, each := range append(e.seq, e.alt...) {
			if err := g.defined(each); err != nil {
				return err
			}
		}
	case literal, charClass:
	}
	return nil
}

// leads reports whether e can come to rule name before it reads a character.
func (g *Grammar) leads(e *expr, name string, seen map[string]bool) bool {
	switch e.kind {
	case reference:
		if e.rule == name {
			return true
		}
		if seen[e.rule] {
			return false
		}
		seen[e.rule] = true
		return g.leads(g.rules[e.rule], name, seen)
	case repetition:
		return g.leads(e.rep, name, seen)
	case alternatives:
		for _, each := range e.alt {
			if g.leads(each, name, seen) {
				return true
			}
		}
	case sequence:
		for _, each := range e.seq {
			if g.leads(each, name, seen) {
				return true
			}
			if !g.empty(each, 0) {
				return false
			}
		}
	case literal, charClass:
	}
	return false
}

// empty reports whether e can be nothing.
func (g *Grammar) empty(e *expr, depth int) bool {
	if depth > 64 {
		return false
	}
	switch e.kind {
	case literal:
		return e.text == ""
	case reference:
		return g.empty(g.rules[e.rule], depth+1)
	case repetition:
		return e.low == 0 || g.empty(e.rep, depth+1)
	case alternatives:
		for _, each := range e.alt {
			if g.empty(each, depth+1) {
				return true
			}
		}
		return false
	case sequence:
		for _, each := range e.seq {
			if !g.empty(each, depth+1) {
				return false
			}
		}
		return true
	case charClass:
	}
	return false
}

// Accepts reports whether text is an answer that the grammar allows.
func (g *Grammar) Accepts(text string) bool {
	return g.match(g.rules["root"], text, 0, func(i int) bool { return i == len(text) })
}

// match tries every way in which e fits at i, and reports whether next takes one.
func (g *Grammar) match(e *expr, s string, i int, next func(int) bool) bool {
	switch e.kind {
	case literal:
		return strings.HasPrefix(s[i:], e.text) && next(i+len(e.text))
	case charClass:
		r, n := utf8.DecodeRuneInString(s[i:])
		return n > 0 && (r != utf8.RuneError || n > 1) && e.class.has(r) && next(i+n)
	case reference:
		return g.match(g.rules[e.rule], s, i, next)
	case alternatives:
		for _, each := range e.alt {
			if g.match(each, s, i, next) {
				return true
			}
		}
		return false
	case sequence:
		return g.all(e.seq, s, i, next)
	case repetition:
		return g.times(e, s, i, 0, next)
	}
	return false
}

func (g *Grammar) all(seq []*expr, s string, i int, next func(int) bool) bool {
	if len(seq) == 0 {
		return next(i)
	}
	return g.match(seq[0], s, i, func(j int) bool { return g.all(seq[1:], s, j, next) })
}

func (g *Grammar) times(e *expr, s string, i, had int, next func(int) bool) bool {
	if (e.high < 0 || had < e.high) && g.match(e.rep, s, i, func(j int) bool { return j > i && g.times(e, s, j, had+1, next) }) {
		return true
	}
	return had >= e.low && next(i)
}

// Sample makes up an answer that the grammar allows.
func (g *Grammar) Sample(rnd *rand.Rand) string {
	var b strings.Builder
	g.sample(g.rules["root"], rnd, &b)
	return b.String()
}

// fewMore is how many more than the least a repetition has in a sample.
const fewMore = 4

func (g *Grammar) sample(e *expr, rnd *rand.Rand, b *strings.Builder) {
	switch e.kind {
	case literal:
		b.WriteString(e.text)
	case charClass:
		b.WriteRune(e.class.sample(rnd))
	case reference:
		g.sample(g.rules[e.rule], rnd, b)
	case alternatives:
		g.sample(e.alt[rnd.IntN(len(e.alt))], rnd, b)
	case sequence:
		for _, each := range e.seq {
			g.sample(each, rnd, b)
		}
	case repetition:
		high := e.low + fewMore
		if e.high >= 0 {
			high = min(high, e.high)
			if rnd.IntN(16) == 0 && e.high < 50 { // to the brim
				high = e.high
			}
		}
		for range e.low + rnd.IntN(high-e.low+1) {
			g.sample(e.rep, rnd, b)
		}
	}
}

// letters are characters that strings are made up of: plain ones, and those that are easily got wrong.
func letters() []rune { return []rune("abc xyz_/.-{}[]:,äß→船🚲\u2028'`$\u00a0ABC012\"\\\n") }

func oneOf[T any](rnd *rand.Rand, all []T) T { return all[rnd.IntN(len(all))] }

func (c *class) sample(rnd *rand.Rand) rune {
	if !c.not {
		g := c.ranges[rnd.IntN(len(c.ranges))]
		return g[0] + rune(rnd.IntN(int(g[1]-g[0])+1))
	}
	for {
		if r := oneOf(rnd, letters()); c.has(r) {
			return r
		}
	}
}
