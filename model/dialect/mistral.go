package dialect

const toolCalls = "[TOOL_CALLS]"

var mistralEnds = []string{"[/TOOL_CALLS]", toolCalls}

// mistral reads Mistral's calls: a list or an object, or since v11 a name and its arguments.
func mistral(s *scanner, i int) (result, bool) {
	if !s.in.Has(i, toolCalls) {
		return result{}, false
	}
	start := s.gap(i + len(toolCalls))
	for s.in.Has(start, toolCalls) {
		start = s.gap(start + len(toolCalls))
	}
	closers := mistralEnds
	var calls []written
	end := start
	for { // several calls may share a marker
		next := s.between(end)
		w, after, ok := s.mistralCall(next, closers)
		if !ok || len(calls) > 0 && !s.known(w.name) {
			break
		}
		calls = append(calls, w)
		end = after
	}
	if len(calls) > 0 {
		return result{calls: calls, end: s.swallow(end, closers[:1])}, true
	}
	b := s.body(start, closers, fence{})
	if len(b.calls) > 0 {
		return result{calls: b.calls, end: s.swallow(b.end, closers[:1])}, true
	}
	return s.unusable(start, b, closers[:1])
}

// mistralCall reads NAME[CALL_ID]…[ARGS]{…}.
func (s *scanner) mistralCall(i int, closers []string) (w written, end int, ok bool) {
	end = s.name(i)
	if end == i {
		return w, 0, false
	}
	w = written{name: s.in.Slice(i, end), given: true}
	marked := false
	next := s.gap(end)
	if s.in.Has(next, "[CALL_ID]") {
		marked = true
		next = s.gap(s.name(s.gap(next + len("[CALL_ID]"))))
	}
	if s.in.Has(next, "[ARGS]") {
		marked = true
		next = s.gap(next + len("[ARGS]"))
	}
	if c := s.in.At(next); c != '{' && !(marked && (c == '[' || c == '"')) {
		return w, 0, false
	}
	s.announce(w.name, next)
	found, ok := s.value(next, s.region(closers, fence{}))
	if !ok {
		return w, 0, false
	}
	w.args, w.cut = found.Value, cut(found, found.Value)
	return w, s.between(found.End), true
}
