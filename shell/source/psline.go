package source

import (
	"strings"

	"github.com/jackline-ai/jackline/shell/value"
)

// PsParts takes a text apart at pipes, semicolons, line ends, && and ||.
func PsParts(s string) []string {
	var all []string
	quote := byte(0)
	start := 0
	for k := 0; k < len(s); k++ {
		switch c := s[k]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '|' || c == ';' || c == '\n' || c == '&' && k+1 < len(s) && s[k+1] == '&' && k > start:
			if strings.TrimSpace(s[start:k]) != "" {
				all = append(all, s[start:k])
			}
			if k+1 < len(s) && s[k+1] == c {
				k++
			}
			start = k + 1
		}
	}
	if strings.TrimSpace(s[start:]) != "" {
		all = append(all, s[start:])
	}
	return all
}

// PsWords takes one command apart, and fails at whatever expands, calls, assigns or redirects to anything but nothing.
func PsWords(s string) (words []string, ok bool) {
	for _, nothing := range []string{"2>$null", "2> $null", ">$null", "> $null", "2>&1"} {
		s = strings.ReplaceAll(s, " "+nothing, " ")
	}
	var b strings.Builder
	open := false
	for k := 0; k < len(s); k++ {
		switch c := s[k]; {
		case c == '\'' || c == '"':
			end := strings.IndexByte(s[k+1:], c)
			if end < 0 || c == '"' && strings.ContainsAny(s[k+1:k+1+end], "$`") {
				return nil, false
			}
			b.WriteString(s[k+1 : k+1+end])
			k += end + 1
			open = true
		case c == ' ' || c == '\t' || c == ',':
			if open {
				words = append(words, b.String())
			}
			b.Reset()
			open = false
		case strings.IndexByte("$`(){}[]&@<>=#%", c) >= 0:
			return nil, false
		case c == '*':
			b.WriteRune(value.Star)
			open = true
		case c == '?':
			b.WriteRune(value.Mark)
			open = true
		default:
			b.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, b.String())
	}
	return words, true
}
