package dialect

import "github.com/jackline-ai/jackline/args"

// kimi3 reads the calls of Kimi K3.
func kimi3(s *scanner, i int) (result, bool) {
	const section = "<|open|>tools<|sep|>"
	if !s.in.Has(i, "<|open|>") {
		return result{}, false
	}
	start := i
	if s.in.Has(i, section) {
		start = s.gap(i + len(section))
	}
	var calls []written
	end := start
	for {
		w, next, ok := s.kimi3Call(s.gap(end))
		if !ok {
			break
		}
		if start == i && !s.known(w.name) {
			break
		}
		calls = append(calls, w)
		end = next
	}
	closers := []string{"<|close|>tools<|sep|>", "<|close|>call<|sep|>"}
	if len(calls) > 0 {
		return result{calls: calls, end: s.swallow(end, closers)}, true
	}
	if start == i {
		return result{}, false
	}
	return s.unusable(start, body{end: start}, closers)
}

// openPart reads <|open|>WORD ATTRIBUTES<|sep|> at i.
func (s *scanner) openPart(i int, word string) (map[string]string, int, bool) {
	if !s.in.Has(i, "<|open|>"+word) {
		return nil, 0, false
	}
	i += len("<|open|>") + len(word)
	attributes := make(map[string]string)
	for {
		i = s.in.Skip(i)
		if s.in.Has(i, "<|sep|>") {
			return attributes, i + len("<|sep|>"), true
		}
		end := s.name(i)
		if end == i || s.in.At(end) != '=' {
			return nil, 0, false
		}
		value, next, ok := s.attribute(end + 1)
		if !ok {
			return nil, 0, false
		}
		attributes[s.in.Slice(i, end)] = value
		i = next
	}
}

func (s *scanner) kimi3Call(i int) (w written, end int, ok bool) {
	call, end, ok := s.openPart(i, "call")
	if !ok || call["tool"] == "" {
		return w, 0, false
	}
	w = written{name: call["tool"], given: true}
	s.announce(w.name, end)
	schema := s.schemaOf(w.name)
	o := &args.Object{}
	for {
		argument, start, ok := s.openPart(s.gap(end), "argument")
		if !ok || argument["key"] == "" {
			break
		}
		v := s.kimi3Value(start)
		o.Set(argument["key"], v.read(schema.Field(argument["key"]), argument["type"] == "string"))
		w.cut = w.cut || v.cut
		end = v.end
	}
	w.args = o
	if next := s.gap(end); s.in.Has(next, "<|close|>call<|sep|>") {
		end = next + len("<|close|>call<|sep|>")
	}
	return w, end, true
}

func (s *scanner) kimi3Value(i int) rawValue {
	const closer = "<|close|>argument<|sep|>"
	at, end, ok := s.find(closer, '<', i, func(i int) int { return s.oneOf(i, []string{closer}) })
	stop, _, stopped := s.find("<|open|>argument", '<', i, func(i int) int {
		return s.oneOf(i, []string{"<|open|>argument ", "<|open|>call ", "<|close|>call<|sep|>", "<|close|>tools<|sep|>"})
	})
	switch {
	case ok && (!stopped || at < stop):
		return rawValue{text: s.in.Slice(i, at), closed: true, end: end}
	case stopped:
		return rawValue{text: s.in.Slice(i, stop), end: stop}
	}
	return rawValue{text: s.in.Slice(i, s.in.Known()), cut: true, end: s.in.Known()}
}
