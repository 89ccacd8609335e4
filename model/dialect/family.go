package dialect

import "github.com/jackline-ai/jackline/args"

// A family is one way to write calls, or several that are alike.
type family struct {
	name  string
	first string // the bytes that can begin it
	read  func(s *scanner, i int) (result, bool)
}

// result is what a family read: calls, or a marker with nothing usable behind it, or
// something that is an ordinary answer as a whole.
type result struct {
	calls []written
	bad   bool
	plain bool
	end   int
}

// families is the table of all families, in the order in which they are tried.
func families() []family {
	return []family{
		{"harmony", "<", harmony},
		{"harmony without its tokens", "act", strippedHarmony},
		{"call tokens of DeepSeek, Kimi and Step", "<", tokens},
		{"Kimi K3", "<", kimi3},
		{"Gemma", "<", gemma},
		{"function model", "<", functionModel},
		{"wrappers", "<", wrappers},
		{"functions without a wrapper", "<", functions},
		{"MiniMax sentinel", "]", sentinels},
		{"escaped markers", "&", escaped},
		{"Mistral", "[", mistral},
		{"functools", "f", phi},
		{"Functionary", ">", functionary},
		{"Command R", "A", commandR},
		{"ReAct", "A", react},
		{"Python list", "[", bareList},
		{"bare value", "{[", bareValue},
	}
}

// byFirst sorts the families by the bytes that can begin them.
func byFirst() *[256][]family {
	var table [256][]family
	for _, f := range families() {
		for k := 0; k < len(f.first); k++ {
			table[f.first[k]] = append(table[f.first[k]], f)
		}
	}
	return &table
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
