package dialect

import (
	"strings"

	"github.com/jackline-ai/jackline/args"
)

// parameters are those of one call.
type parameters struct {
	object *args.Object
	schema *args.Schema // nil when the tool is not known
	any    bool
	cut    bool
	end    int
}

// parameters reads the parameters behind the tag of a function.
func (s *scanner) parameters(function openTag) parameters {
	p := parameters{object: &args.Object{}, schema: s.schemaOf(function.value), end: function.end}
	for {
		i := s.gap(p.end)
		if end := s.closeTag(i, "function", "invoke"); end > 0 {
			p.any, p.end = true, end
			return p
		}
		if end := s.closeTag(i, "parameter", "param"); end > 0 { // one too many
			p.end = end
			continue
		}
		t, child, ok := s.parameter(i, p.schema)
		if !ok {
			if p.any && s.in.At(i) != '<' && s.in.At(i) != args.End {
				if next, _, ok := s.find("<", '<', i, func(i int) int { return i + 1 }); ok { // a few words between
					p.end = next
					continue
				}
			}
			return p
		}
		v := s.parameterValue(t, child, p)
		p.object.Set(t.value, v.read(p.schema.Field(t.value), t.text))
		p.any, p.cut, p.end = true, p.cut || v.cut, v.end
	}
}

// parameter recognises the tag of a parameter at i. Child says that the parameter's own name is
// the tag's.
func (s *scanner) parameter(i int, schema *args.Schema) (t openTag, child, ok bool) {
	if t, ok := s.openTag(i, "parameter", "param"); ok {
		return t, false, true
	}
	if s.in.At(i) != '<' || schema == nil {
		return t, false, false
	}
	end := s.name(i + 1)
	if s.in.At(end) != '>' {
		return t, false, false
	}
	name := s.in.Slice(i+1, end)
	if schema.Field(name) == nil && (name != "arguments" && name != "parameters") {
		return t, false, false
	}
	return openTag{name: name, value: name, end: end + 1}, true, true
}

// rawValue is the text of a parameter.
type rawValue struct {
	text   string
	closed bool
	cut    bool // it ran into the end of the output
	end    int
}

// parameterValue reads the value behind the tag of a parameter. Its own closer ends it, whatever
// stands in between, unless what stands there shows that the closer belongs to another one.
func (s *scanner) parameterValue(t openTag, child bool, p parameters) rawValue {
	i := t.end
	if s.in.Has(i, "<![CDATA[") {
		if at, end, ok := s.find("]]>", ']', i, func(i int) int { return s.oneOf(i, []string{"]]>"}) }); ok {
			next := s.in.Skip(end)
			if after := s.closeTag(next, "parameter", "param", t.name); after > 0 {
				end = after
			}
			return rawValue{text: s.in.Slice(i+len("<![CDATA["), at), closed: true, end: end}
		}
	}
	names := []string{"parameter", "param"}
	if child {
		names = []string{t.name}
	}
	at, end, ok := s.find("</"+names[0], '<', i, func(i int) int { return s.closeTag(i, names...) })
	limit := args.End
	if ok {
		limit = at
	}
	stop, stopped := s.parameterEnd(i, limit, t.value, p, ok)
	switch {
	case stopped:
		return rawValue{text: s.in.Slice(i, stop), end: stop}
	case ok:
		return rawValue{text: s.in.Slice(i, at), closed: true, end: end}
	}
	return rawValue{text: s.in.Slice(i, s.in.Known()), cut: true, end: s.in.Known()}
}

// parameterEnd looks for what ends the value at i without closing it, up to limit: the next
// parameter, or the end of the function. With a closer to come both may as well be data, and
// must look like the real thing.
func (s *scanner) parameterEnd(i, limit int, key string, p parameters, closer bool) (int, bool) {
	for from := i; ; {
		at, end, ok := s.find("parameter or function", '<', from, func(i int) int { return s.boundary(i, p.schema) })
		if !ok || limit != args.End && at >= limit {
			return 0, false
		}
		if !closer {
			return at, true
		}
		if next, _, ok := s.parameter(at, p.schema); ok {
			_, given := p.object.Get(next.value)
			if !given && next.value != key && p.schema != nil && p.schema.Field(next.value) != nil && s.lineStart(at) {
				return at, true
			}
		} else if s.endsFunction(at, end) {
			return at, true
		}
		from = end
	}
}

// boundary returns the end of a tag at i that may end a value, or 0.
func (s *scanner) boundary(i int, schema *args.Schema) int {
	if t, ok := s.openTag(i, "parameter", "param"); ok {
		return t.end
	}
	if end := s.closeTag(i, "function", "invoke", "tool_call", "function_calls", "tool_calls"); end > 0 {
		return end
	}
	if end := s.in.Word(i, ends); end > 0 {
		return end
	}
	if t, ok := s.openTag(i, "function", "invoke"); ok && s.known(t.value) && s.lineStart(i) {
		return t.end
	}
	return 0
}

// endsFunction reports whether the tag from i to end closes a function for good: nothing but
// other calls or the end comes after it.
func (s *scanner) endsFunction(i, end int) bool {
	if s.closeTag(i, "function", "invoke") == 0 {
		return false
	}
	next := s.gap(end)
	if s.in.At(next) == args.End || s.closeTag(next, "tool_call", "function_calls", "tool_calls") > 0 || s.in.Word(next, ends) > 0 {
		return true
	}
	t, ok := s.openTag(next, "function", "invoke")
	return ok && s.known(t.value)
}

// lineStart reports whether nothing but blanks stands before i on its line.
func (s *scanner) lineStart(i int) bool {
	for i--; i >= 0; i-- {
		switch s.in.At(i) {
		case '\n':
			return true
		case ' ', '\t', '\r':
		default:
			return false
		}
	}
	return true
}

// read gives the text of a parameter its meaning. Text says that it is meant literally.
func (v rawValue) read(schema *args.Schema, text bool) any {
	raw := strings.ReplaceAll(v.text, sentinel, "")
	if v.closed {
		raw = chop(raw)
	} else {
		raw = args.Trim(raw)
	}
	if (strings.Contains(raw, "&lt;") || strings.Contains(raw, "&gt;")) && !strings.ContainsAny(raw, "<>") {
		raw = args.Unescape(raw)
	}
	if text || schema != nil && schema.Type() == "string" {
		return raw
	}
	trimmed := args.Trim(raw)
	if trimmed == "" {
		return raw
	}
	switch trimmed[0] {
	case '{', '[', '"':
		if f, ok := args.ReadText(trimmed); ok && (f.Whole() || trimmed[0] == '{') {
			return f.Value
		}
		return raw
	}
	if w := args.Word(trimmed); w != trimmed {
		return w
	}
	return raw
}

// chop takes one line end off each end of a value, and nothing else.
func chop(text string) string {
	if rest, ok := strings.CutPrefix(text, "\r\n"); ok {
		text = rest
	} else {
		text = strings.TrimPrefix(text, "\n")
	}
	if rest, ok := strings.CutSuffix(text, "\r\n"); ok {
		return rest
	}
	return strings.TrimSuffix(text, "\n")
}
