package dialect

import (
	"github.com/jackline-ai/jackline/args"
)

const action = "Action:"

// commandR reads a fence behind the word Action.
func commandR(s *scanner, i int) (result, bool) {
	if !s.first || !s.in.Has(i, action) {
		return result{}, false
	}
	start := s.in.SkipLine(i + len(action))
	if c := s.in.At(start); c != '`' && c != '~' {
		return result{}, false
	}
	f, ok := s.opens(start)
	if !ok || !f.json() {
		return result{}, false
	}
	b := s.body(f.body, nil, f)
	if len(b.calls) == 0 {
		return s.unusable(f.body, b, nil)
	}
	return result{calls: b.calls, end: s.afterFence(s.between(b.end), f)}, true
}

// react reads an action and its input, each on a line of its own.
func react(s *scanner, i int) (result, bool) {
	if !s.first || !s.in.Has(i, action) {
		return result{}, false
	}
	start := s.in.SkipLine(i + len(action))
	end := s.name(start)
	if end == start {
		return result{}, false
	}
	name := s.in.Slice(start, end)
	next := s.in.SkipLine(end)
	if s.in.At(next) != '\n' || !s.known(name) {
		return result{}, false
	}
	next = s.in.Skip(next)
	const input = "Action Input:"
	if !s.in.Has(next, input) {
		return result{}, false
	}
	s.announce(name, next+len(input))
	w := written{name: name, given: true}
	end = s.actionInput(&w, next+len(input))
	return result{calls: []written{w}, end: end}, true
}

// actionInput reads the arguments behind i: a value, fenced or not, or a line of text.
func (s *scanner) actionInput(w *written, i int) int {
	start := s.in.SkipLine(i)
	next := s.in.Skip(i)
	var f fence
	if c := s.in.At(next); c == '`' || c == '~' {
		if opened, ok := s.opens(next); ok {
			f = opened
			next = s.in.Skip(f.body)
		}
	}
	if c := s.in.At(next); c == '{' || c == '[' {
		region := s.bareRegion()
		if f.n > 0 {
			region = s.region(nil, f)
		}
		if found, ok := s.value(next, region); ok {
			w.args, w.cut = found.Value, cut(found, found.Value)
			return s.afterFence(s.between(found.End), f)
		}
	}
	if f.n > 0 {
		start = next
	}
	end := start
	for c := s.in.At(end); c != '\n' && c != args.End; c = s.in.At(end) {
		end++
	}
	line := args.Trim(s.in.Slice(start, end))
	if line == "" {
		w.cut = s.in.At(end) == args.End
		return end
	}
	w.args = args.Word(line)
	return end
}
