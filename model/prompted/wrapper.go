package prompted

import (
	"strings"

	"github.com/jackline-ai/jackline/args"
)

// wrapper is a pair of markers around calls.
type wrapper struct {
	open   string
	close  []string
	skip   []string // what may come between the opening one and the calls
	single bool     // an object with one key is a call: the key is the name
	tags   bool     // the opening one is a tag that may have a namespace
}

// wrapped are the pairs that differ in nothing but their words.
var wrapped = []wrapper{
	{open: "<tool_call>", close: []string{"</tool_call>"}, tags: true},
	{open: "<seed:tool_call>", close: []string{"</seed:tool_call>"}},
	{open: "<minimax:tool_call>", close: []string{"</minimax:tool_call>"}},
	{open: "<longcat_tool_call>", close: []string{"</longcat_tool_call>"}},
	{open: "<function_calls>", close: []string{"</function_calls>"}, tags: true},
	{open: "<tool_calls>", close: []string{"</tool_calls>"}, tags: true},
	{open: "<TOOLCALL>", close: []string{"</TOOLCALL>"}},
	{open: "<function_call>", close: []string{"</function_call>"}},
	{open: "<|python_tag|>", close: []string{"<|eom_id|>", "<|eot_id|>"}},
	{open: "<|python_start|>", close: []string{"<|python_end|>"}},
	{open: "<|tool_call|>", close: []string{"<|/tool_call|>"}},
	{open: "<|tool_calls|>", close: []string{"<|/tool_calls|>"}},
	{open: "<|function_call|>", close: []string{"<|/function_call|>"}},
	{open: "<|START_ACTION|>", close: []string{"<|END_ACTION|>"}},
	{open: "<|tool_call_start|>", close: []string{"<|tool_call_end|>"}},
	{open: "<|tools_prefix|>", close: []string{"<|tools_suffix|>"}, single: true},
	{open: "<|action_start|>", close: []string{"<|action_end|>"}, skip: []string{"<|plugin|>"}},
}

// openers are the markers that begin calls, for where one of them ends something else.
var openers = func() []string {
	words := []string{"<start_function_call>", "<|tool_call>", "<function=", "<invoke ", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<|im_start|>", "<|channel|>", "<|start|>"}
	for _, w := range wrapped {
		words = append(words, w.open)
	}
	return words
}()

// wrappers reads what stands between a pair of markers.
func wrappers(s *scanner, i int) (result, bool) {
	for _, w := range wrapped {
		if end := s.opensWith(i, w); end > 0 {
			return s.wrapped(end, w)
		}
	}
	return result{}, false
}

// opensWith returns the end of the opening marker of w at i, or 0.
func (s *scanner) opensWith(i int, w wrapper) int {
	if !w.tags {
		return s.any(i, []string{w.open})
	}
	k := s.namespace(i + 1)
	if s.in.Has(k, w.open[1:]) {
		return k + len(w.open) - 1
	}
	return 0
}

// wrapped reads what follows the opening marker that ends at i.
func (s *scanner) wrapped(i int, w wrapper) (result, bool) {
	start := s.gap(i)
	for { // the opening marker, or another one, over again
		end := max(s.any(start, w.skip), s.opensWith(start, w))
		if end == 0 {
			break
		}
		start = s.gap(end)
	}
	b := s.wrappedBody(start, w)
	if len(b.calls) == 0 {
		if r, ok := s.quoted(start, w); ok {
			return r, true
		}
		return s.unusable(start, b, w.close)
	}
	return result{calls: b.calls, end: s.swallow(b.end, w.close)}, true
}

func (s *scanner) wrappedBody(i int, w wrapper) body {
	if w.single {
		f, ok := s.value(i, s.region(w.close, fence{}))
		if !ok {
			return body{end: i}
		}
		return body{calls: callsOf(f, true), end: f.End, value: true, cut: f.AtEnd}
	}
	b := s.body(i, w.close, fence{})
	if len(b.calls) == 0 && !b.value {
		if start := s.words(i); start > i {
			return s.body(start, w.close, fence{})
		}
	}
	return b
}

// fewWords is how much text may stand between a wrapper and the function in it.
const fewWords = 200

// words skips a few words in front of the tag of a function.
func (s *scanner) words(i int) int {
	for k := i; k-i <= fewWords; k++ {
		switch s.in.At(k) {
		case '<':
			if _, ok := s.openTag(k, "function", "invoke"); ok {
				return k
			}
			return i
		case '{', '[', '`', args.End:
			return i
		}
	}
	return i
}

// quoted reads a body whose quotation marks came through HTML escaped.
func (s *scanner) quoted(i int, w wrapper) (result, bool) {
	if c := s.in.At(i); c != '{' && c != '[' || !s.affordable(i) {
		return result{}, false
	}
	if !s.in.Has(s.in.Skip(i+1), "&quot;") && !s.in.Has(s.in.Skip(i+1), "{&quot;") {
		return result{}, false
	}
	at, end, ok := s.find(w.close[0], '<', i, func(i int) int { return s.any(i, w.close) })
	if !ok {
		at = s.in.Known()
		end = at
	}
	text := unescape(s.in.Slice(i, at))
	s.spent += len(text)
	inner := &scanner{in: args.Whole(text), catalog: s.catalog, limit: s.limit, finders: make(map[string]*finder)}
	b := inner.body(0, nil, fence{})
	if len(b.calls) == 0 {
		return result{}, false
	}
	return result{calls: b.calls, end: end}, true
}

// functions reads a function that lost its wrapper. It counts only if the tool is known.
func functions(s *scanner, i int) (result, bool) {
	t, ok := s.openTag(i, "function", "invoke")
	if !ok || !s.catalog.known(t.value) {
		return result{}, false
	}
	w, end, ok := s.function(i)
	if !ok {
		if next := s.gap(t.end); s.in.At(next) == args.End {
			return result{bad: true, end: next}, true
		}
		return result{}, false
	}
	return result{calls: []written{w}, end: s.swallow(end, closers)}, true
}

// sentinels reads a call of MiniMax M3, which puts a sentinel in front of each tag.
func sentinels(s *scanner, i int) (result, bool) {
	if !s.in.Has(i, sentinel) {
		return result{}, false
	}
	next := s.gap(i)
	if s.in.At(next) == args.End {
		return result{bad: true, end: next}, true
	}
	return s.marked(next)
}

// functionModel reads the wrapper of local MLX servers.
func functionModel(s *scanner, i int) (result, bool) {
	const open, name, values = "<function_model>", "<function_call>", "<parameters>"
	if !s.in.Has(i, open) {
		return result{}, false
	}
	closers := []string{"</function_model>", "</parameters>", "</function_call>"}
	start := s.gap(i + len(open))
	if !s.in.Has(start, name) {
		return s.unusable(start, body{end: start}, closers)
	}
	next := s.gap(start + len(name))
	end := s.name(next)
	if end == next {
		return s.wrapped(start+len(name), wrapper{open: name, close: closers})
	}
	w := written{name: s.in.Slice(next, end)}
	bare := end
	end = s.swallow(end, closers)
	if next = s.gap(end); s.in.Has(next, values) {
		f, ok := s.value(next+len(values), s.region(closers, fence{}))
		if ok {
			w.args, w.given, w.cut = f.Value, true, cut(f, f.Value)
			end = f.End
		}
	} else {
		w.cut = end == bare
	}
	return result{calls: []written{w}, end: s.swallow(end, closers)}, true
}

// glm reads GLM's keys and values behind a tool's name; the first key stands at i.
func (s *scanner) glm(name string, i int) (written, int, bool) {
	s.announce(name)
	schema := s.catalog.Schema(name)
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
	at, end, ok := s.find(closer, '<', start, func(i int) int { return s.any(i, []string{closer}) })
	stop, _, stopped := s.find("<arg_key>", '<', start, func(i int) int { return s.any(i, glmEnds) })
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

// glmEnds end a value that was not closed.
var glmEnds = append([]string{"<arg_key>", "</tool_call>"}, ends...)

// splitName takes apart a tool's name and the key that ran into it.
func (s *scanner) splitName(text string) (tool, key string, ok bool) {
	for n := len(text) - 1; n > 0; n-- {
		if schema := s.catalog.Schema(text[:n]); schema != nil && schema.Field(text[n:]) != nil {
			return text[:n], strings.Clone(text[n:]), true
		}
	}
	return "", "", false
}
