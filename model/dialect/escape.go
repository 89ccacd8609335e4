package dialect

import "github.com/jackline-ai/jackline/args"

// escaped reads a call whose markup came through HTML escaped: the rest of the output is decoded
// once, and the scan goes on in that.
func escaped(s *scanner, i int) (result, bool) {
	if !s.first || s.decoded || !s.affordable(i) {
		return result{}, false
	}
	next := i
	switch {
	case s.in.Has(i, "&lt;tool_call&gt;"):
		next = s.in.Skip(i + len("&lt;tool_call&gt;"))
		if c := s.in.At(next); c != '{' && c != '[' && c != '&' && c != '`' && !letter(c) {
			return result{}, false
		}
	case s.in.Has(i, "&lt;function="):
	default:
		return result{}, false
	}
	for s.in.At(next) != args.End {
		next = max(next+1, s.in.Known())
	}
	written, finders := s.in, s.finders
	s.in = args.Whole(s.in.Slice(0, i) + args.Unescape(s.in.Slice(i, s.in.Known())))
	s.finders, s.runs = make(map[string]*finder), runs{}
	r, ok := s.marked(i)
	if !ok || r.bad {
		s.spent += s.in.Known()
		s.in, s.finders, s.runs = written, finders, runs{}
		return result{}, false
	}
	s.decoded = true
	return r, true
}
