package source

import (
	"strings"

	"github.com/jackline-ai/jackline/phrase"
	"github.com/jackline-ai/jackline/shell/value"
)

// What stands for a text literal in code that has been taken apart, followed by its number.
const (
	TextMark = "\x11"
	ExecMark = "\x12" // of a literal that is run where it stands
)

// TakeApart replaces each literal of the code by a mark with its number, and drops comments.
func TakeApart(s, lang string) (string, []string) {
	var b strings.Builder
	var texts []string
	put := func(mark, text string) {
		b.WriteString(mark)
		b.WriteString(itoa(len(texts)))
		b.WriteString(mark)
		texts = append(texts, text)
	}
	pairs := map[byte]byte{'(': ')', '{': '}', '[': ']', '<': '>'}
	for k := 0; k < len(s); {
		rest := s[k:]
		switch ch := s[k]; {
		case (lang == "python" || lang == "other") && (strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, "'''")):
			end := strings.Index(rest[3:], rest[:3])
			if end < 0 {
				end = len(rest) - 3
			}
			put(TextMark, unescape(rest[3:3+end]))
			k = min(len(s), k+end+6)
		case ch == '"' || ch == '\'' && lang != "vim" && lang != "awk" || ch == '`':
			end := k + 1
			for end < len(s) && s[end] != ch {
				if s[end] == '\\' {
					end++
				}
				end++
			}
			text := unescape(s[k+1 : min(end, len(s))])
			if ch == '`' && (lang == "perl" || lang == "ruby" || lang == "php" || lang == "other") {
				put(ExecMark, text)
			} else {
				put(TextMark, text)
			}
			k = min(len(s), end+1)
		case (lang == "perl" || lang == "ruby") && (strings.HasPrefix(rest, "qx") || strings.HasPrefix(rest, "%x")) && len(rest) > 3 && !Word(rest[2]) && (k == 0 || !Word(s[k-1])),
			lang == "perl" && (strings.HasPrefix(rest, "q") && len(rest) > 2 && !Word(rest[1]) && rest[1] != ' ' && rest[1] != '=' && rest[1] != ',' && rest[1] != ')' && rest[1] != ';' || strings.HasPrefix(rest, "qq") && len(rest) > 3 && !Word(rest[2]) && rest[2] != ' ') && (k == 0 || !Word(s[k-1]) && s[k-1] != '$'):
			from := 2
			if rest[0] == 'q' && !Word(rest[1]) {
				from = 1
			}
			closing := rest[from]
			if p, ok := pairs[closing]; ok {
				closing = p
			}
			end := strings.IndexByte(rest[from+1:], closing)
			if end < 0 {
				end = len(rest) - from - 1
			}
			mark := TextMark
			if rest[0] == '%' || rest[1] == 'x' {
				mark = ExecMark
			}
			put(mark, rest[from+1:from+1+end])
			k = min(len(s), k+from+end+2)
		case ch == '#' && lang != "node" && lang != "vim" && (k == 0 || strings.IndexByte(" \t\n;", s[k-1]) >= 0),
			strings.HasPrefix(rest, "//") && (lang == "node" || lang == "php") && (k == 0 || s[k-1] != ':'):
			end := strings.IndexByte(rest, '\n')
			if end < 0 {
				end = len(rest)
			}
			k += end
		default:
			b.WriteByte(ch)
			k++
		}
	}
	return b.String(), texts
}

// Word reports whether c can stand in a name.
func Word(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// unescape decodes what backslashes mean in most languages.
func unescape(s string) string {
	if !strings.ContainsRune(s, '\\') {
		return s
	}
	return value.Ansi(s)
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}

// Atoi is the number that digits write.
func Atoi(s string) (n int) {
	for _, r := range s {
		n = n*10 + int(r-'0')
	}
	return n
}

// Joined makes one literal of literals that the code joins.
func Joined(bare string, texts []string) (string, []string) {
	for range len(texts) {
		loc := glue.FindStringSubmatchIndex(bare)
		if loc == nil {
			break
		}
		a, b := Atoi(bare[loc[2]:loc[3]]), Atoi(bare[loc[4]:loc[5]])
		texts = append(texts, texts[a]+texts[b])
		bare = bare[:loc[0]] + TextMark + itoa(len(texts)-1) + TextMark + bare[loc[1]:]
	}
	return bare, texts
}

// glue is what joins two literals to one text.
var glue = phrase.New(`\x11(\d+)\x11\s*(?:[+.]|\.\.|)\s*\x11(\d+)\x11`)
