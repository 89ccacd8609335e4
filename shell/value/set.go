package value

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A value is the text of a word as far as it is known. Runes that no command may hold stand for what is not text.
const (
	Hole    = '\x01' // text that is not known, and may be empty
	Gap     = '\x02' // where the shell takes the value apart into words
	Star    = '\x03' // an unquoted *
	Mark    = '\x04' // an unquoted ? or [...]
	Quoted  = '\x05' // nothing, but quoted: the word exists even if it is empty
	Some    = '\x06' // text that is not known, and not empty
	FromNet = '\x0e' // text that came from the network
	Decoded = '\x0f' // text that a decoder made
	Driven  = '\x10' // what an interpreter says that takes its program from its input
)

// A set is what a value may be, over all that could have happened before. An empty set is no text at all.
type Set []string

// Anything is the set of one value that is not known, and may be empty.
func Anything() Set { return Set{string(Hole)} }

// Something is the set of one value that is not known, and not empty.
func Something() Set { return Set{string(Some)} }

// Taint is the marks of text in s that came from elsewhere.
func Taint(s string) string {
	var t string
	if strings.ContainsRune(s, FromNet) {
		t += string(FromNet)
	}
	if strings.ContainsRune(s, Decoded) {
		t += string(Decoded)
	}
	return t
}

// Taint is the marks of text in any of the values that came from elsewhere.
func (s Set) Taint() string { return Taint(strings.Join(s, "")) }

// Literal reports whether all of a value is known text.
func Literal(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' })
}

// Protect is a value as it is within quotes: nothing in it expands or separates.
func Protect(s string) string { return strings.Map(unpattern, s) }

// keep is a value as it is within quotes, where patterns in it are names that have been found.
func keep(r rune) rune {
	if r == Star || r == Mark {
		return r
	}
	return unpattern(r)
}

// Found is the value of a variable within quotes. A pattern in it stands for the names that a loop went through.
func Found(s string) string { return strings.Map(keep, s) }

func unpattern(r rune) rune {
	switch r {
	case Star:
		return '*'
	case Mark:
		return '?'
	case Gap:
		return ' '
	case Quoted:
		return -1
	}
	return r
}

// Expandable is the value of a variable as it is outside quotes: blanks separate, and patterns are patterns.
func Expandable(s, separators string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(separators, r):
			return Gap
		case r == '*':
			return Star
		case r == '?', r == '[':
			return Mark
		}
		return r
	}, s)
}

// Shown is a value as a person may see it: short, and without marks.
func Shown(s string) string {
	s = strings.Map(func(r rune) rune {
		switch r {
		case Hole, Some, FromNet, Decoded, Driven, Mark:
			return '?'
		case Star:
			return '*'
		case Quoted:
			return -1
		}
		return r
	}, s)
	const most = 200
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// Readings replaces what may be empty, both ways: all combinations of a few, and of many each alone against the rest.
func Readings(words []string) [][]string {
	const each = 4 // so many pieces are combined in every way
	var at []int   // the words that hold one
	for k, w := range words {
		if Maybe(w) {
			at = append(at, k)
		}
	}
	if len(at) == 0 {
		return [][]string{words}
	}
	pick := func(empty func(k int) bool) []string {
		line := slices.Clone(words)
		for k, w := range at {
			line[w] = Read(line[w], empty(k))
		}
		return line
	}
	var all [][]string
	if len(at) <= each {
		for bits := range 1 << len(at) {
			all = append(all, pick(func(k int) bool { return bits>>k&1 == 1 }))
		}
		return all
	}
	all = append(all, pick(func(int) bool { return false }), pick(func(int) bool { return true }))
	for one := range at {
		all = append(all, pick(func(k int) bool { return k == one }), pick(func(k int) bool { return k != one }))
	}
	return all
}

// Maybe reports whether some of a value is not known, and may be nothing.
func Maybe(s string) bool {
	return strings.ContainsAny(s, string([]rune{Hole, FromNet, Decoded, Driven}))
}

// Read replaces the holes of a value. Text from elsewhere keeps its mark where it is not empty.
func Read(s string, empty bool) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == Hole && !empty:
			return Some
		case empty && (r == Hole || r == FromNet || r == Decoded || r == Driven):
			return -1
		}
		return r
	}, s)
}

// Fields takes words apart where they separate, and drops those that are nothing.
func Fields(words []string) []string {
	var all []string
	for _, w := range words {
		for f := range strings.SplitSeq(w, string(Gap)) {
			if f == "" {
				continue
			}
			all = append(all, strings.ReplaceAll(f, string(Quoted), ""))
		}
	}
	return all
}

// match reports whether a path element that may hold patterns or unknown text can be name. Both are one element.
func match(pattern, name string) bool {
	// The places in name that the part of the pattern read so far can have come to.
	at := make([]bool, len(name)+1)
	at[0] = true
	first := true
	for _, r := range pattern {
		next := make([]bool, len(name)+1)
		for k, ok := range at {
			if !ok {
				continue
			}
			switch r {
			case Star:
				if first && strings.HasPrefix(name, ".") {
					continue // a pattern does not start hidden names
				}
				for ; k <= len(name); k++ {
					next[k] = true
				}
			case Mark:
				if k < len(name) && (!first || name[0] != '.') {
					_, n := utf8.DecodeRuneInString(name[k:])
					next[k+n] = true
				}
			default:
				if c, n := utf8.DecodeRuneInString(name[k:]); n > 0 && c == r {
					next[k+n] = true
				}
			}
		}
		at, first = next, false
	}
	return at[len(name)]
}

// Wild reports whether a value holds an unquoted pattern.
func Wild(s string) bool { return strings.ContainsAny(s, string([]rune{Star, Mark})) }

// Mapped is the set of what f makes of each value.
func Mapped(v Set, f func(string) string) Set {
	out := make(Set, len(v))
	for k, s := range v {
		out[k] = f(s)
	}
	return out
}
