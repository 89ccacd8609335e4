package dialect

import (
	"github.com/jackline-ai/jackline/args"
)

// toolFence reads a fence that is there for calls.
func (s *scanner) toolFence(f fence) {
	b := s.body(f.body, nil, f)
	r := result{calls: b.calls, bad: len(b.calls) == 0, end: max(b.end, f.body)}
	s.leaveFence(r, f)
}

// leaveFence takes what a fence held. If its closing line does not come at once, whatever stands
// before it is passed over like any text behind a call.
func (s *scanner) leaveFence(r result, f fence) {
	r.end = s.between(r.end)
	end := s.afterFence(r.end, f)
	if end > r.end {
		f = fence{}
	}
	r.end = end
	s.take(r)
	s.fence = f
}

// toolCode reads Gemma's fence of Python statements.
func (s *scanner) toolCode(f fence) {
	r := result{end: f.body}
	region := s.region(nil, f)
	for {
		i := s.between(r.end)
		w, end, ok := s.statement(i, region)
		if !ok {
			break
		}
		r.calls = append(r.calls, w...)
		r.end = end
	}
	if c := s.in.At(s.gap(f.body)); len(r.calls) == 0 && (c == '{' || c == '[' || c == '<') {
		b := s.body(f.body, nil, f)
		r.calls, r.end = b.calls, max(b.end, r.end)
	}
	r.bad = len(r.calls) == 0
	s.leaveFence(r, f)
}

// weakFence reads a fence that holds one call, or calls, and nothing else.
func (s *scanner) weakFence(f fence) bool {
	var r result
	i := s.gap(f.body)
	if f.word == "xml" {
		if s.in.At(i) != '<' {
			return false
		}
		var ok bool
		if r, ok = s.marked(i); !ok || r.bad {
			return false
		}
		for _, w := range r.calls {
			if !s.known(w.name) {
				return false
			}
		}
	} else {
		var ok bool
		if r, ok = s.weakValues(i, f); !ok {
			return false
		}
	}
	end := s.in.Skip(r.end)
	if s.in.At(end) != args.End {
		if s.in.At(end) != f.mark || s.closes(end, f) == 0 {
			s.spent += end - i
			return false
		}
		end = s.closes(end, f)
	}
	r.end = end
	s.take(r)
	return true
}

// weakValues reads the values in a fence, all of which must be calls.
func (s *scanner) weakValues(i int, f fence) (result, bool) {
	var r result
	start := i
	for c := s.in.At(i); c == '{' || c == '['; c = s.in.At(i) {
		if c == '[' && s.pythonAhead(i) {
			calls, end, closed := s.pythonList(i, s.region(nil, f), true)
			if !closed {
				return r, false
			}
			r.calls = append(r.calls, calls...)
			r.end = end
		} else {
			if end, what := args.Skim(s.in, i, args.Nested, callKey); what != args.Unsure {
				s.spent += end - i
				return r, false
			}
			region := s.region(nil, f)
			region.Items = args.Nested
			found, ok := s.value(i, region)
			if !ok {
				return r, false
			}
			o := objects{found: found}
			o.value(found.Value, 0)
			if o.other {
				s.spent += found.Seen - i
				return r, false
			}
			r.calls = append(r.calls, o.calls...)
			r.end = found.End
		}
		i = s.between(r.end)
		if !s.sure(r.calls) {
			s.spent += r.end - start
			return r, false
		}
		r.end = i
	}
	return r, len(r.calls) > 0
}

// marked tries the families that have markers in angle brackets at i.
func (s *scanner) marked(i int) (result, bool) {
	if s.in.At(i) != '<' {
		return result{}, false
	}
	for _, f := range s.at(i) {
		if r, ok := f.read(s, i); ok {
			return r, true
		}
	}
	return result{}, false
}
