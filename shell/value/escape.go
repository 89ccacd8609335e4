package value

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Marked decodes the escapes of a text that has marks in it, and leaves those.
func Marked(s string) string {
	var b strings.Builder
	start := 0
	for k, r := range s {
		if r < ' ' && r != '\n' && r != '\t' {
			b.WriteString(Ansi(s[start:k]))
			b.WriteRune(r)
			start = k + 1
		}
	}
	b.WriteString(Ansi(s[start:]))
	return b.String()
}

// HostOf is the host of an address, or "".
func HostOf(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Hostname()
}

// OriginOf is the host of an address, with the port if the address names one, or "".
func OriginOf(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Port() == "" {
		return HostOf(address)
	}
	return net.JoinHostPort(u.Hostname(), u.Port())
}

// QuoteAll writes words so that a shell reads them back as they are.
func QuoteAll(words []string) string {
	var b strings.Builder
	for _, w := range words {
		b.WriteString(" '")
		b.WriteString(strings.ReplaceAll(w, "'", `'\''`))
		b.WriteString("'")
	}
	return b.String()
}

// Unquote is a value as an assignment keeps it: patterns are text.
func Unquote(s string) string { return strings.Map(unpattern, s) }

// Glob is unquoted text without its backslashes, with marks for its patterns.
func Glob(s string) string {
	var b strings.Builder
	for k := 0; k < len(s); k++ {
		switch c := s[k]; c {
		case '\\':
			if k++; k < len(s) && s[k] != '\n' {
				b.WriteByte(s[k])
			}
		case '*':
			b.WriteRune(Star)
		case '?':
			b.WriteRune(Mark)
		case '[':
			end := strings.IndexByte(s[k+1:], ']')
			if end <= 0 {
				b.WriteByte(c)
				continue
			}
			b.WriteRune(Mark)
			k += end + 1
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// InQuotes is text between double quotes.
func InQuotes(s string) string {
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

// Ansi decodes the escapes of $'…', and with small differences those of printf and echo -e.
func Ansi(s string) string {
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
			k = number(k, 3+B2i(c == '0'), 8) - 1
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

// B2i is 1 for true.
func B2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Element is one word of an array; with -1 it may be any.
func Element(s string, n int) string {
	if !strings.ContainsRune(s, Gap) {
		return s
	}
	parts := strings.Split(s, string(Gap))
	if n < 0 {
		return string(Hole)
	}
	if n < len(parts) {
		return parts[n]
	}
	return ""
}

// Slice is ${v:from:length} of known text.
func Slice(s string, by *syntax.Slice) string {
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
	if !ok || !Literal(s) {
		return string(Hole)
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
			return string(Hole)
		case n < 0:
			to = max(from, len(r)+n)
		default:
			to = min(to, from+n)
		}
	}
	return string(r[from:to])
}

// Trimmed removes what matches pattern from one end of s.
func Trimmed(s, pattern string, op syntax.ParExpOperator) string {
	if !Literal(s) {
		return string(Hole) + Taint(s)
	}
	pattern = strings.ReplaceAll(pattern, string(Quoted), "")
	prefix := op == syntax.RemSmallPrefix || op == syntax.RemLargePrefix
	large := op == syntax.RemLargePrefix || op == syntax.RemLargeSuffix
	best := s
	found := false
	if len(s) > 1024 {
		return string(Hole)
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
