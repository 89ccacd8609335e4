package shell

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A value is the text of a word as far as it is known. Runes that no command may hold stand for what is not text.
const (
	hole    = '\x01' // text that is not known, and may be empty
	gap     = '\x02' // where the shell takes the value apart into words
	star    = '\x03' // an unquoted *
	mark    = '\x04' // an unquoted ? or [...]
	quoted  = '\x05' // nothing, but quoted: the word exists even if it is empty
	some    = '\x06' // text that is not known, and not empty
	fromNet = '\x0e' // text that came from the network
	decoded = '\x0f' // text that a decoder made
	driven  = '\x10' // what an interpreter says that takes its program from its input
)

// A set is what a value may be, over all that could have happened before. An empty set is no text at all.
type set []string

var (
	unknown = set{string(hole)}
	nonzero = set{string(some)}
)

// taint is the marks of text in s that came from elsewhere.
func taint(s string) string {
	var t string
	if strings.ContainsRune(s, fromNet) {
		t += string(fromNet)
	}
	if strings.ContainsRune(s, decoded) {
		t += string(decoded)
	}
	return t
}

func (s set) taint() string { return taint(strings.Join(s, "")) }

// add is the union of two sets.
func (j *judge) add(a, b set) set {
	for _, v := range b {
		if !slices.Contains(a, v) {
			a = append(a[:len(a):len(a)], v)
		}
	}
	if len(a) > maxSet {
		j.deny("S4", "A word of the command could be any of too many values. Write the values out.")
		return a[:maxSet]
	}
	return a
}

// join is every value of a followed by every value of b.
func (j *judge) join(a, b set) set {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	if len(a) == 1 && len(b) == 1 {
		if len(a[0])+len(b[0]) > maxValue {
			j.deny("S4", "The command builds a longer text than a command should. Put it into a script file.")
			return a
		}
		j.spend(len(a[0]) + len(b[0]))
		return set{a[0] + b[0]}
	}
	if len(a)*len(b) > maxSet {
		j.deny("S4", "A word of the command could be any of too many values. Write the values out.")
		return a
	}
	var all set
	for _, x := range a {
		for _, y := range b {
			all = j.add(all, j.join(set{x}, set{y}))
		}
	}
	return all
}

// literal reports whether all of a value is known text.
func literal(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' })
}

// protect is a value as it is within quotes: nothing in it expands or separates.
func protect(s string) string { return strings.Map(unpattern, s) }

func unpattern(r rune) rune {
	switch r {
	case star:
		return '*'
	case mark:
		return '?'
	case gap:
		return ' '
	case quoted:
		return -1
	}
	return r
}

// expandable is the value of a variable as it is outside quotes: blanks separate, and patterns are patterns.
func expandable(s, separators string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(separators, r):
			return gap
		case r == '*':
			return star
		case r == '?', r == '[':
			return mark
		}
		return r
	}, s)
}

// shown is a value as a person may see it: short, and without marks.
func shown(s string) string {
	s = strings.Map(func(r rune) rune {
		switch r {
		case hole, some, fromNet, decoded, driven, mark:
			return '?'
		case star:
			return '*'
		case quoted:
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

// argvs are the ways in which a list of words can be started: words taken apart, unknown text read both as empty and as
// something. Each word is a set.
func (j *judge) argvs(words []set) [][]string {
	lines := [][]string{nil}
	product := 1
	for _, w := range words {
		product *= max(1, len(w))
		if product > maxSet {
			break
		}
	}
	if product <= maxSet {
		for _, w := range words {
			var next [][]string
			for _, l := range lines {
				for _, v := range w {
					next = append(next, append(l[:len(l):len(l)], v))
				}
			}
			if len(w) > 0 {
				lines = next
			}
		}
	} else { // too many: a few words that each could be a few things are told apart; more is not understood
		j.deny("S4", "The words of the command could be combined in too many ways. Write the commands out.")
		return nil
	}
	var all [][]string
	for _, l := range lines {
		for _, r := range readings(l) {
			argv := fields(r)
			if !j.spend(len(strings.Join(argv, " ")) + 8*len(argv)) {
				return nil
			}
			if !slices.ContainsFunc(all, func(have []string) bool { return slices.Equal(have, argv) }) {
				all = append(all, argv)
			}
		}
	}
	return all
}

// readings replaces what may be empty, both ways: all combinations of a few, and of many each alone against the rest.
func readings(words []string) [][]string {
	const each = 4 // so many pieces are combined in every way
	var at []int   // the words that hold one
	for k, w := range words {
		if maybe(w) {
			at = append(at, k)
		}
	}
	if len(at) == 0 {
		return [][]string{words}
	}
	pick := func(empty func(k int) bool) []string {
		line := slices.Clone(words)
		for k, w := range at {
			line[w] = read(line[w], empty(k))
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

func maybe(s string) bool {
	return strings.ContainsAny(s, string([]rune{hole, fromNet, decoded, driven}))
}

// read replaces the holes of a value. Text from elsewhere keeps its mark where it is not empty.
func read(s string, empty bool) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == hole && !empty:
			return some
		case empty && (r == hole || r == fromNet || r == decoded || r == driven):
			return -1
		}
		return r
	}, s)
}

// fields takes words apart where they separate, and drops those that are nothing.
func fields(words []string) []string {
	var all []string
	for _, w := range words {
		for f := range strings.SplitSeq(w, string(gap)) {
			if f == "" {
				continue
			}
			all = append(all, strings.ReplaceAll(f, string(quoted), ""))
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
			case star:
				if first && strings.HasPrefix(name, ".") {
					continue // a pattern does not start hidden names
				}
				for ; k <= len(name); k++ {
					next[k] = true
				}
			case mark:
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

// wild reports whether a value holds an unquoted pattern.
func wild(s string) bool { return strings.ContainsAny(s, string([]rune{star, mark})) }
