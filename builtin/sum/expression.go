// Package sum works out arithmetic that is written as people and models write it. Whatever can be exact is, and no text takes
// long or much.
package sum

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"unicode"

	"github.com/jackline-ai/jackline"
)

// Limits of calculations, so that no text takes long or much.
const (
	maxExpression = 1000    // characters
	maxNesting    = 60      // brackets and signs in one another
	maxBits       = 100_000 // of an exact number: some 30,000 digits
	maxFactorial  = 3000
)

// Evaluate works out an expression: numbers, + - * / % ^, factorials, brackets, functions and constants. Whatever can be
// exact is.
func Evaluate(text string) (Number, error) {
	if len(text) > maxExpression {
		return Number{}, wrongSum("The expression has more than %d characters; work out parts of it.", maxExpression)
	}
	text = strings.NewReplacer("×", "*", "·", "*", "÷", "/", "−", "-", "–", "-", "**", "^", "π", "pi", "√", "sqrt ", "²", "^2", "³", "^3", "$", "", "€", "").
		Replace(text)
	text = strings.TrimSuffix(strings.TrimSpace(text), "=")
	p := reader{text: []rune(text)}
	n, err := p.terms()
	if err != nil {
		return Number{}, err
	}
	if p.blanks(); p.at < len(p.text) {
		return Number{}, wrongSum("The expression is not understood at %q.", p.rest())
	}
	return n.checked()
}

func wrongSum(format string, a ...any) error {
	return jackline.E("sum.Evaluate", jackline.Unprocessed, nil, format, a...)
}

// A reader is an expression that is being read.
type reader struct {
	text  []rune
	at    int
	level int // of nesting
	lists int // of function brackets around: there a comma separates
}

func (p *reader) blanks() {
	for p.at < len(p.text) && unicode.IsSpace(p.text[p.at]) {
		p.at++
	}
}

func (p *reader) rest() string { return clip(string(p.text[min(p.at, len(p.text)):]), 20) }

// peek is the next character that is no blank, or 0.
func (p *reader) peek() rune {
	p.blanks()
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *reader) deeper() error {
	if p.level++; p.level > maxNesting {
		return wrongSum("The expression is nested too deep.")
	}
	return nil
}

// terms reads a + b - c.
func (p *reader) terms() (Number, error) {
	if err := p.deeper(); err != nil {
		return Number{}, err
	}
	defer func() { p.level-- }()
	n, err := p.factors()
	for err == nil {
		op := p.peek()
		if op != '+' && op != '-' {
			return n, nil
		}
		p.at++
		var m Number
		if m, err = p.factors(); err == nil {
			if op == '-' {
				m = m.neg()
			}
			n, err = n.add(m)
		}
	}
	return Number{}, err
}

// factors reads a * b / c, and a b as a * b where b is a bracket or a name.
func (p *reader) factors() (Number, error) {
	n, err := p.signed()
	for err == nil {
		op := p.peek()
		switch {
		case op == '*' || op == '/':
			p.at++
		case op == '%' || p.word("mod"):
			op = '%'
			if p.text[p.at] == '%' {
				p.at++
			} else {
				p.at += len("mod")
			}
		case op == '(' || unicode.IsLetter(op):
			op = '*'
		default:
			return n, nil
		}
		var m Number
		if m, err = p.signed(); err == nil {
			n, err = n.times(op, m)
		}
	}
	return Number{}, err
}

// word reports whether an operator that is a word stands here.
func (p *reader) word(w string) bool {
	end := p.at + len(w)
	return end <= len(p.text) && strings.EqualFold(string(p.text[p.at:end]), w) && (end == len(p.text) || p.text[end] == ' ')
}

// signed reads -a, which binds looser than a power: -2^2 is -4.
func (p *reader) signed() (Number, error) {
	switch p.peek() {
	case '-', '+':
		if err := p.deeper(); err != nil {
			return Number{}, err
		}
		defer func() { p.level-- }()
		minus := p.text[p.at] == '-'
		p.at++
		n, err := p.signed()
		if minus {
			n = n.neg()
		}
		return n, err
	}
	return p.power()
}

// power reads a ^ b, from the right.
func (p *reader) power() (Number, error) {
	n, err := p.suffixed()
	if err != nil || p.peek() != '^' {
		return n, err
	}
	p.at++
	if err := p.deeper(); err != nil {
		return Number{}, err
	}
	defer func() { p.level-- }()
	m, err := p.signed()
	if err != nil {
		return Number{}, err
	}
	return n.pow(m)
}

// suffixed reads a! and a%. A percent sign with a value behind it is the remainder, which factors reads.
func (p *reader) suffixed() (Number, error) {
	n, err := p.value()
	for err == nil {
		switch c := p.peek(); {
		case c == '!':
			p.at++
			n, err = n.factorial()
		case c == '%' && !p.valueAfter(p.at+1):
			p.at++
			n, err = n.times('/', whole(100))
			if p.blanks(); err == nil && p.word("of") {
				p.at += len("of")
				var m Number
				if m, err = p.signed(); err == nil {
					n, err = n.times('*', m)
				}
			}
		default:
			return n, nil
		}
	}
	return Number{}, err
}

// valueAfter reports whether a value begins at i.
func (p *reader) valueAfter(i int) bool {
	for i < len(p.text) && unicode.IsSpace(p.text[i]) {
		i++
	}
	if i == len(p.text) {
		return false
	}
	c := p.text[i]
	if end := i + 3; end <= len(p.text) && strings.EqualFold(string(p.text[i:end]), "of ") {
		return false
	}
	return c == '(' || c == '.' || unicode.IsDigit(c) || unicode.IsLetter(c)
}

// value reads a number, a bracket, a constant or a function.
func (p *reader) value() (Number, error) {
	c := p.peek()
	switch {
	case c == 0:
		return Number{}, wrongSum("The expression ends too early.")
	case c == '(' || c == '[':
		return p.bracket()
	case c == '.' || c >= '0' && c <= '9':
		return p.number()
	case unicode.IsLetter(c):
		return p.name()
	}
	return Number{}, wrongSum("The expression is not understood at %q.", p.rest())
}

func (p *reader) bracket() (Number, error) {
	closing := map[rune]rune{'(': ')', '[': ']'}[p.text[p.at]]
	p.at++
	lists := p.lists
	p.lists = 0
	n, err := p.terms()
	p.lists = lists
	if err != nil {
		return Number{}, err
	}
	if p.peek() != closing {
		return Number{}, wrongSum("A bracket is not closed.")
	}
	p.at++
	return n, nil
}

// number reads 1234.5e6, 0x1f, and 1,234,567 outside the brackets of a function.
func (p *reader) number() (Number, error) {
	start := p.at
	if p.text[p.at] == '0' && p.at+2 < len(p.text) && strings.ContainsRune("xXbBoO", p.text[p.at+1]) && isHex(p.text[p.at+2]) {
		for p.at += 2; p.at < len(p.text) && isHex(p.text[p.at]); p.at++ {
		}
		i, ok := new(big.Int).SetString(string(p.text[start:p.at]), 0)
		if !ok {
			return Number{}, wrongSum("%q is no number.", string(p.text[start:p.at]))
		}
		return Number{r: new(big.Rat).SetInt(i)}, nil
	}
	var b strings.Builder
	for ; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		if c == ',' && p.lists == 0 && p.thousands() || c == '_' && b.Len() > 0 {
			continue
		}
		if c != '.' && (c < '0' || c > '9') {
			break
		}
		b.WriteRune(c)
	}
	exp := 0
	if p.at < len(p.text) && (p.text[p.at] == 'e' || p.text[p.at] == 'E') {
		k, digits := p.at+1, ""
		if k < len(p.text) && (p.text[k] == '-' || p.text[k] == '+') {
			digits = string(p.text[k])
			k++
		}
		for ; k < len(p.text) && p.text[k] >= '0' && p.text[k] <= '9'; k++ {
			digits += string(p.text[k])
		}
		if _, err := fmt.Sscanf(digits, "%d", &exp); err == nil {
			const most = 5000 // digits that a number may be moved by
			if exp > most || exp < -most {
				return Number{}, wrongSum("The number %s is too large or too small.", clip(string(p.text[start:k]), 40))
			}
			p.at = k
		}
	}
	r, ok := new(big.Rat).SetString(b.String())
	if !ok {
		return Number{}, wrongSum("%q is no number.", clip(b.String(), 40))
	}
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(exp, -exp))), nil))
	if exp < 0 {
		scale.Inv(scale)
	}
	return Number{r: r.Mul(r, scale)}, nil
}

// thousands reports whether the comma here separates three digits from the next.
func (p *reader) thousands() bool {
	digit := func(i int) bool { return i >= 0 && i < len(p.text) && p.text[i] >= '0' && p.text[i] <= '9' }
	return digit(p.at-1) && digit(p.at+1) && digit(p.at+2) && digit(p.at+3) && !digit(p.at+4)
}

func isHex(c rune) bool { return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// name reads a constant or a function with its arguments.
func (p *reader) name() (Number, error) {
	start := p.at
	for p.at < len(p.text) && (unicode.IsLetter(p.text[p.at]) || unicode.IsDigit(p.text[p.at]) || p.text[p.at] == '_') {
		p.at++
	}
	name := strings.ToLower(string(p.text[start:p.at]))
	switch name {
	case "pi":
		return inexact(math.Pi), nil
	case "e":
		return inexact(math.E), nil
	case "tau":
		return inexact(2 * math.Pi), nil
	}
	if p.peek() != '(' {
		if name == "sqrt" { // from a root sign
			n, err := p.suffixed()
			if err != nil {
				return Number{}, err
			}
			return call(name, []Number{n})
		}
		return Number{}, wrongSum("%q is not known. There are pi, e, and functions as %s.", clip(name, 20), someFunctions)
	}
	p.at++
	if err := p.deeper(); err != nil {
		return Number{}, err
	}
	defer func() { p.level-- }()
	p.lists++
	defer func() { p.lists-- }()
	var list []Number
	for p.peek() != ')' {
		n, err := p.terms()
		if err != nil {
			return Number{}, err
		}
		list = append(list, n)
		if c := p.peek(); c == ',' || c == ';' {
			p.at++
		} else if c != ')' {
			return Number{}, wrongSum("A bracket is not closed.")
		}
	}
	p.at++
	return call(name, list)
}

// clip is at most n letters of the beginning of a text, on one line, for a message.
func clip(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
