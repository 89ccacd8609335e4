package dialect

import (
	"strings"
	"sync"

	"github.com/jackline-ai/jackline/args"
)

// A family is one way to write calls, or several that are alike.
type family struct {
	name   string
	first  string // the bytes that can begin it
	second string // those that can come behind an angle bracket; "" is any
	read   func(s *scanner, i int) (result, bool)
}

// result is what a family read: calls, or a marker with nothing usable behind it, or
// something that is an ordinary answer as a whole.
type result struct {
	calls []written
	bad   bool
	plain bool
	end   int
}

// spaced are the bytes that begin the namespaces of tags.
const spaced = "ams|\xef\xe2"

// families is the table of all families, in the order in which they are tried.
func families() []family {
	return []family{
		{"harmony", "<", "|", harmony},
		{"harmony without its tokens", "act", "", strippedHarmony},
		{"call tokens of DeepSeek, Kimi and Step", "<", "|\xef", tokens},
		{"Kimi K3", "<", "|", kimi3},
		{"Gemma", "<", "s|", gemma},
		{"function model", "<", "f", functionModel},
		{"wrappers", "<", "tlfT" + spaced, wrappers},
		{"functions without a wrapper", "<", "fi" + spaced, functions},
		{"MiniMax sentinel", "]", "", sentinels},
		{"escaped markers", "&", "", escaped},
		{"Mistral", "[", "", mistral},
		{"functools", "f", "", phi},
		{"Functionary", ">", "", functionary},
		{"Command R", "A", "", commandR},
		{"ReAct", "A", "", react},
		{"Python list", "[", "", bareList},
		{"bare value", "{[", "", bareValue},
	}
}

// table holds the families by the bytes that can begin them.
type table struct {
	first  [256][]family
	second [256][]family // behind an angle bracket
}

func newTable() *table {
	var t table
	for _, f := range families() {
		for k := range len(f.first) {
			t.first[f.first[k]] = append(t.first[f.first[k]], f)
		}
		for c := range 256 {
			if f.first == "<" && (f.second == "" || strings.IndexByte(f.second, byte(c)) >= 0) {
				t.second[c] = append(t.second[c], f)
			}
		}
	}
	return &t
}

// all is the table, which does not change.
var all = sync.OnceValue(newTable) //nolint:gochecknoglobals // it is made once

// at are the families that can begin at i.
func (s *scanner) at(i int) []family {
	c := s.in.At(i)
	if c == '<' {
		if c = s.in.At(i + 1); c < 0 {
			return nil
		}
		return s.table.second[c]
	}
	return s.table.first[c]
}

// unusable decides what a marker is behind which no call could be read: it ends at j, and b is
// what stands there. Mostly it is a word in a text about markers. It is a failed call when
// the output ends there, or when it is first on its line and is closed again, or a value
// follows it.
func (s *scanner) unusable(j int, b body, closers []string) (result, bool) {
	next := s.gap(j)
	switch {
	case s.in.At(next) == args.End:
		return result{bad: true, end: next}, true
	case b.cut:
		return result{bad: true, end: s.in.Known()}, true
	case s.first && b.value:
		return result{bad: true, end: b.end}, true
	case s.first && len(closers) > 0:
		if _, _, ok := s.find(closers[0], closers[0][0], j, func(i int) int { return s.closing(i, closers) }); ok {
			return result{bad: true, end: j}, true
		}
	}
	return result{}, false
}
