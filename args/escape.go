package args

import (
	"strconv"
	"strings"
)

// Unescape decodes the entities of XML once.
func Unescape(text string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '&')
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i:]
		end := strings.IndexByte(text[:min(len(text), 12)], ';')
		if r, ok := entity(text, end); ok {
			b.WriteString(r)
			text = text[end+1:]
		} else {
			b.WriteByte('&')
			text = text[1:]
		}
	}
}

func entity(text string, end int) (string, bool) {
	if end < 2 {
		return "", false
	}
	switch name := text[1:end]; name {
	case "lt":
		return "<", true
	case "gt":
		return ">", true
	case "amp":
		return "&", true
	case "quot":
		return `"`, true
	case "apos":
		return "'", true
	default:
		base, digits := 10, strings.TrimPrefix(name, "#")
		if digits == name {
			return "", false
		}
		if hex := strings.TrimLeft(digits, "xX"); hex != digits {
			base, digits = 16, hex
		}
		n, err := strconv.ParseUint(digits, base, 21)
		if err != nil || n == 0 {
			return "", false
		}
		return string(rune(n)), true
	}
}
