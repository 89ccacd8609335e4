package dialect

import (
	"github.com/jackline-ai/jackline/args"
)

// glm reads GLM's keys and values behind a tool's name; the first key stands at i.
func (s *scanner) glm(name string, i int) (written, int, bool) {
	s.announce(name, i)
	schema := s.schemaOf(name)
	w := written{name: name, given: true}
	o := &args.Object{}
	end := i
	for {
		i = s.gap(end)
		key, next, ok := s.glmKey(i, end > i || o.Len() == 0)
		if !ok {
			break
		}
		v := s.glmValue(next)
		o.Set(key, v.read(schema.Field(key), false))
		w.cut = w.cut || v.cut
		end = v.end
	}
	w.args = o
	return w, end, true
}

// glmKey reads a key, however often its tags are repeated. Bare says that the opening one
// may be missing.
func (s *scanner) glmKey(i int, bare bool) (string, int, bool) {
	start := s.skipAll(i, "<arg_key>")
	if start == i && !bare {
		return "", 0, false
	}
	end := start
	for c := s.in.At(end); c != '<' && c != args.End; c = s.in.At(end) {
		if end-start > longestName {
			return "", 0, false
		}
		end++
	}
	key := args.Trim(s.in.Slice(start, end))
	if key == "" || start == i && !s.in.Has(end, "</arg_key>") {
		return "", 0, false
	}
	return key, s.skipAll(end, "</arg_key>"), true
}

// skipAll skips any number of the same tag, with blanks between them.
func (s *scanner) skipAll(i int, tag string) int {
	for {
		next := s.in.Skip(i)
		if !s.in.Has(next, tag) {
			return i
		}
		i = next + len(tag)
	}
}

// glmValue reads the value behind a key.
func (s *scanner) glmValue(i int) rawValue {
	start := i
	if next := s.in.Skip(i); s.in.Has(next, "<arg_value>") {
		start = next + len("<arg_value>")
	}
	const closer = "</arg_value>"
	at, end, ok := s.find(closer, '<', start, func(i int) int { return s.oneOf(i, []string{closer}) })
	stop, _, stopped := s.find("<arg_key>", '<', start, func(i int) int { return max(s.oneOf(i, glmEnds), s.in.Word(i, ends)) })
	switch {
	case ok && (!stopped || at < stop || s.in.Has(stop, "</tool_call>") && !s.lineStart(stop)):
		return rawValue{text: s.in.Slice(start, at), closed: true, end: s.skipAll(end, closer)}
	case stopped:
		return rawValue{text: s.in.Slice(start, stop), end: stop}
	case ok:
		return rawValue{text: s.in.Slice(start, at), closed: true, end: end}
	}
	return rawValue{text: s.in.Slice(start, s.in.Known()), cut: true, end: s.in.Known()}
}

// glmEnds end a value that was not closed, beside the ends of a turn.
var glmEnds = []string{"<arg_key>", "</tool_call>"}
