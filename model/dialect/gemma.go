package dialect

import "strings"

var (
	gemmaBegins = []string{"<start_function_call>", "<|tool_call>"}
	gemmaEnds   = []string{"<end_function_call>", "<tool_call|>"}
	gemmaQuotes = []string{`<|"|>`, "<escape>"}
)

// gemma reads the calls of FunctionGemma and Gemma 4, whose quotation marks are tokens.
func gemma(s *scanner, i int) (result, bool) {
	start := s.oneOf(i, gemmaBegins)
	if start == 0 {
		return result{}, false
	}
	closers := gemmaEnds
	next := s.gap(start)
	if w, end, ok := s.gemmaCall(next, closers); ok {
		return result{calls: []written{w}, end: s.swallow(end, closers)}, true
	}
	b := s.body(next, closers, fence{})
	if len(b.calls) > 0 {
		return result{calls: b.calls, end: s.swallow(b.end, closers)}, true
	}
	return s.unusable(next, b, closers)
}

func (s *scanner) gemmaCall(i int, closers []string) (w written, end int, ok bool) {
	if s.in.Has(i, "call:") {
		i = s.gap(i + len("call:"))
	}
	end = s.name(i)
	if end == i {
		return w, 0, false
	}
	name := s.in.Slice(i, end)
	if last := strings.LastIndexByte(name, ':'); last >= 0 && !s.known(name) {
		name = name[last+1:]
	}
	next := s.gap(end)
	region := s.region(closers, fence{})
	region.Quotes = gemmaQuotes
	s.announce(name, next)
	switch s.in.At(next) {
	case '{':
		found, ok := s.value(next, region)
		if !ok {
			return w, 0, false
		}
		return written{name: name, args: found.Value, given: true, cut: cut(found, found.Value)}, s.between(found.End), true
	case '(':
		if w, end, ok = s.python(i, region); ok {
			w.name = name
		}
		return w, end, ok
	}
	if s.known(name) && s.oneOf(next, closers) > 0 {
		return written{name: name}, next, true
	}
	return w, 0, false
}
