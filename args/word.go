package args

import "encoding/json"

// longest is how long a bare key, or a quoted one that is looked ahead for, may be.
const longest = 200

// word returns the end of the bare key at i.
func (r *reader) word(i int) int {
	for k := i; k-i <= longest; k++ {
		c := r.in.At(k)
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '_', c == '$', c >= 0x80:
			if c >= 0x80 && (r.in.Blank(k) > 0 || r.smart(k)) {
				return k
			}
		case k > i && (c == '-' || c == '.'), '0' <= c && c <= '9':
		default:
			return k
		}
	}
	return i
}

// bare reads a number or an unquoted word.
func (r *reader) bare() (any, bool) {
	if n, end, ok := r.number(); ok {
		r.i = end
		return n, true
	}
	start := r.i
	for {
		c := r.in.At(r.i)
		if c == End || c == ',' || c == '}' || c == ']' || c == '\n' || c == ')' && r.region.Call {
			break
		}
		if r.marker(c, r.i) || r.comment(r.i) && r.in.Blank(r.i-1) > 0 {
			break
		}
		r.i++
	}
	text := TrimRight(r.in.Slice(start, r.i))
	if text == "" {
		return nil, false
	}
	return Word(text), true
}

func (r *reader) comment(i int) bool {
	switch r.in.At(i) {
	case '#':
		return true
	case '/':
		c := r.in.At(i + 1)
		return c == '/' || c == '*'
	}
	return false
}

// Word gives an unquoted word its meaning: the words of JSON and Python are what they
// mean there, numbers are numbers, all else is text.
func Word(text string) any {
	switch text {
	case "true", "True":
		return true
	case "false", "False":
		return false
	case "null", "None", "undefined", "NaN":
		return nil
	}
	if n, ok := Number(text); ok {
		return n
	}
	return text
}

// number reads a number at r.i if nothing but the end of a value follows it on its line.
func (r *reader) number() (json.Number, int, bool) {
	end := r.i
	for end-r.i <= longest {
		c := r.in.At(end)
		if ('0' > c || c > '9') && c != '+' && c != '-' && c != '.' && c != 'e' && c != 'E' {
			break
		}
		end++
	}
	if end == r.i {
		return "", 0, false
	}
	n, ok := Number(r.in.Slice(r.i, end))
	if !ok {
		return "", 0, false
	}
	next := r.in.SkipLine(end)
	switch c := r.in.At(next); c {
	case ',', '}', ']', ')', '\n', '"', '\'':
		return n, end, true
	default:
		if r.stop(next) || r.comment(next) || r.smart(next) {
			return n, end, true
		}
		digit := '0' <= c && c <= '9' || c == '-'
		return n, end, digit && next > end && !r.inObject() // a comma is missing
	}
}
