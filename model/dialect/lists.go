package dialect

import "github.com/jackline-ai/jackline/args"

const functools = "functools["

// phi reads the list of Phi-4-mini.
func phi(s *scanner, i int) (result, bool) {
	if i > 0 && letter(s.in.At(i-1)) || !s.in.Has(i, functools) {
		return result{}, false
	}
	b := s.body(i+len(functools)-1, nil, fence{})
	if len(b.calls) == 0 {
		return s.unusable(i+len(functools), b, nil)
	}
	return result{calls: b.calls, end: b.end}, true
}

// functionary reads >>>NAME and a value on the next line.
func functionary(s *scanner, i int) (result, bool) {
	if !s.fresh || s.indent > 0 || !s.in.Has(i, ">>>") {
		return result{}, false
	}
	start := i + len(">>>")
	end := s.name(start)
	if end == start || !s.in.Has(end, "\n") && !s.in.Has(end, "\r\n") {
		return result{}, false
	}
	name := s.in.Slice(start, end)
	if !s.known(name) {
		return result{}, false
	}
	next := s.gap(end)
	s.announce(name, next)
	if c := s.in.At(next); c == '{' || c == '[' {
		if found, ok := s.value(next, s.bareRegion()); ok {
			w := written{name: name, args: found.Value, given: true, cut: cut(found, found.Value)}
			return result{calls: []written{w}, end: s.between(found.End)}, true
		}
	}
	if s.in.At(next) == args.End {
		return result{bad: true, end: next}, true
	}
	return result{}, false
}
