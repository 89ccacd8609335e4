package source

import (
	"strings"
)

// A value is a word on its way to being resolved.
type Literal struct {
	Text  strings.Builder
	Open  bool // something in it is expanded
	Brace bool // an unquoted { was seen,
	List  bool // and what makes it expand
}

// Bare adds unquoted text.
func (v *Literal) Bare(s string) {
	for k := 0; k < len(s); k++ {
		switch c := s[k]; c {
		case '\\':
			if k++; k < len(s) && s[k] != '\n' {
				v.Text.WriteByte(s[k])
			}
			continue
		case '*', '?', '[', '$', '`':
			v.Open = true
		case '~':
			// The shell expands it at the start of a word, and behind = and : in what looks like an assignment.
			sofar := v.Text.String()
			if sofar == "" || strings.HasSuffix(sofar, "=") || strings.HasSuffix(sofar, ":") {
				v.Open = true
			}
		case '{':
			v.Brace = true
		case ',':
			v.List = true
		case '.':
			v.List = v.List || strings.HasPrefix(s[k:], "..")
		}
		v.Text.WriteByte(s[k])
	}
}

// Within adds text from between double quotes, where a backslash keeps its place before most characters.
func (v *Literal) Within(s string) {
	for k := 0; k < len(s); k++ {
		if s[k] == '\\' && k+1 < len(s) && strings.IndexByte("$`\"\\\n", s[k+1]) >= 0 {
			if k++; s[k] == '\n' {
				continue
			}
		} else if s[k] == '$' || s[k] == '`' {
			v.Open = true // the parser took it for a character; better safe
		}
		v.Text.WriteByte(s[k])
	}
}
