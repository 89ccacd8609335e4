package args

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Number reads text as a number. It knows a sign in front and a point at either end, which
// JSON does not, and no zeros in front: those are codes, not numbers.
func Number(text string) (json.Number, bool) {
	sign, rest := "", text
	switch {
	case strings.HasPrefix(rest, "-"):
		sign, rest = "-", rest[1:]
	case strings.HasPrefix(rest, "+"):
		rest = rest[1:]
	}
	whole, rest := digits(rest)
	var part, exp string
	if strings.HasPrefix(rest, ".") {
		part, rest = digits(rest[1:])
	}
	if whole == "" && part == "" || len(whole) > 1 && whole[0] == '0' {
		return "", false
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		mark := rest[1:]
		if strings.HasPrefix(mark, "-") || strings.HasPrefix(mark, "+") {
			mark = mark[1:]
		}
		var after string
		exp, after = digits(mark)
		if exp == "" {
			return "", false
		}
		exp, rest = rest[:len(rest)-len(after)], after
	}
	if rest != "" {
		return "", false
	}
	if whole == "" {
		whole = "0"
	}
	if part != "" {
		part = "." + part
	}
	return json.Number(sign + whole + part + exp), true
}

func digits(text string) (run, rest string) {
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return text[:n], text[n:]
}

// decimal is a number without rounding: digits times ten to the power of exp. Zero has no
// digits, and the last digit is not 0.
type decimal struct {
	negative bool
	digits   string
	exp      int
}

// large bounds exponents, so that none of them can make us write a long number.
const large = 1 << 20

func parseDecimal(n json.Number) (decimal, bool) {
	n, ok := Number(string(n))
	if !ok {
		return decimal{}, false
	}
	var d decimal
	text := string(n)
	if text[0] == '-' {
		d.negative, text = true, text[1:]
	}
	if e := strings.IndexAny(text, "eE"); e >= 0 {
		exp, err := strconv.Atoi(text[e+1:])
		if err != nil || exp > large || exp < -large {
			return decimal{}, false
		}
		d.exp, text = exp, text[:e]
	}
	whole, part, _ := strings.Cut(text, ".")
	d.exp -= len(part)
	d.digits = strings.TrimLeft(whole+part, "0")
	trimmed := strings.TrimRight(d.digits, "0")
	d.exp += len(d.digits) - len(trimmed)
	d.digits = trimmed
	if d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

// integer reports whether the number is whole.
func (d decimal) integer() bool { return d.exp >= 0 }

// String writes the number in the one form that all its spellings share: plain up to 21
// places, with an exponent beyond.
func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	point := len(d.digits) + d.exp // digits in front of the point
	switch {
	case d.exp >= 0 && point <= 21:
		return sign + d.digits + strings.Repeat("0", d.exp)
	case d.exp < 0 && point > 0:
		return sign + d.digits[:point] + "." + d.digits[point:]
	case d.exp < 0 && point > -7:
		return sign + "0." + strings.Repeat("0", -point) + d.digits
	}
	text := d.digits[:1]
	if len(d.digits) > 1 {
		text += "." + d.digits[1:]
	}
	return sign + text + "e" + strconv.Itoa(point-1)
}

// compare orders numbers as json.Number values; ok is false when one is none.
func compare(a, b json.Number) (order int, ok bool) {
	x, okX := parseDecimal(a)
	y, okY := parseDecimal(b)
	if !okX || !okY {
		return 0, false
	}
	return x.compare(y), true
}

func (d decimal) compare(e decimal) int {
	if d.sign() != e.sign() {
		return d.sign() - e.sign()
	}
	order := (len(d.digits) + d.exp) - (len(e.digits) + e.exp)
	if order == 0 {
		order = strings.Compare(d.digits, e.digits)
	}
	return order * d.sign()
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}
