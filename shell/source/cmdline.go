package source

import (
	"strings"

	"github.com/jackline-ai/jackline/shell/value"
)

// SplitCmd takes a line apart at &, && and ||, and each of these at |. Brackets of groups are dropped: what is in them
// is judged as if it stood alone.
func SplitCmd(line string) [][]string {
	var all [][]string
	var pipe []string
	var b strings.Builder
	quote := false
	depth := 0
	part := func() {
		if s := strings.TrimSpace(b.String()); s != "" {
			pipe = append(pipe, s)
		}
		b.Reset()
	}
	for k := 0; k < len(line); k++ {
		switch c := line[k]; {
		case c == '"':
			quote = !quote
			b.WriteByte(c)
		case quote:
			b.WriteByte(c)
		case c == '^' && k+1 < len(line):
			b.WriteByte(c)
			k++
			b.WriteByte(line[k])
		case c == '(' && opensGroup(b.String()):
			depth++
		case c == ')' && depth > 0:
			depth--
			part()
			all, pipe = append(all, pipe), nil
		case c == '&' && k > 0 && line[k-1] == '>':
			b.WriteByte(c)
		case c == '&', c == '|' && k+1 < len(line) && line[k+1] == '|':
			part()
			all, pipe = append(all, pipe), nil
			if k+1 < len(line) && line[k+1] == c {
				k++
			}
		case c == '|':
			part()
		default:
			b.WriteByte(c)
		}
	}
	part()
	return append(all, pipe)
}

// opensGroup reports whether a bracket behind s opens a group of commands: where a command may start, behind do and else,
// and behind a condition.
func opensGroup(s string) bool {
	const near = 16
	tail := strings.ToLower(strings.TrimRight(s[max(0, len(s)-near):], " \t"))
	head := strings.ToLower(strings.TrimLeft(s[:min(len(s), near)], " \t@"))
	return tail == "" || strings.HasSuffix(tail, " do") || strings.HasSuffix(tail, "else") || strings.HasPrefix(head, "if ")
}

// CmdWords takes one command apart: words without quotes and carets, redirections as their sign and their target.
func CmdWords(s string) (words []string, redirects [][2]string) {
	var b strings.Builder
	open, quote := false, false
	sign := ""
	end := func() {
		if !open {
			return
		}
		if sign != "" {
			redirects = append(redirects, [2]string{sign, b.String()})
			sign = ""
		} else {
			words = append(words, b.String())
		}
		b.Reset()
		open = false
	}
	for k := 0; k < len(s); k++ {
		switch c := s[k]; {
		case c == '"':
			quote = !quote
			open = true
		case quote:
			b.WriteByte(c)
		case c == '^' && k+1 < len(s):
			k++
			b.WriteByte(s[k])
			open = true
		case c == ' ' || c == '\t' || c == ',' && len(words) == 0 || c == ';' || c == rune2byte(value.Gap):
			end()
		case c == '>' || c == '<':
			if b.Len() == 1 && b.String()[0] >= '0' && b.String()[0] <= '9' {
				sign = b.String()
				b.Reset()
				open = false
			} else {
				end()
			}
			sign += string(c)
			if k+1 < len(s) && s[k+1] == '>' {
				k++
			}
			open = false
		default:
			b.WriteByte(c)
			open = true
		}
	}
	end()
	return words, redirects
}

func rune2byte(r rune) byte { return byte(r) }
