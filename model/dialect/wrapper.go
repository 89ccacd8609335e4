package dialect

import (
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
var openers = func() *args.Lexicon {
	words := []string{"<start_function_call>", "<|tool_call>", "<function=", "<invoke ", "<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<|im_start|>", "<|channel|>", "<|start|>"}
	for _, w := range wrapped {
		words = append(words, w.open)
	}
	return args.NewLexicon(words)
}()

// turnsAndCalls are the words that end a value behind a marker, beside its own closer.
var turnsAndCalls = args.NewLexicon(ends.Words, openers.Words)

// wrappers reads what stands between a pair of markers.
func wrappers(s *scanner, i int) (result, bool) {
	k := s.namespace(i + 1)
	for n := range wrapped {
		if end := s.opensWith(i, k, &wrapped[n]); end > 0 {
			return s.wrapped(end, &wrapped[n])
		}
	}
	return result{}, false
}

// opensWith returns the end of the opening marker of w at i, or 0. The name of a tag would begin at k.
func (s *scanner) opensWith(i, k int, w *wrapper) int {
	if s.in.Has(i, w.open) {
		return i + len(w.open)
	}
	if w.tags && k > i+1 && s.in.Has(k, w.open[1:]) {
		return k + len(w.open) - 1
	}
	return 0
}

// wrapped reads what follows the opening marker that ends at i.
func (s *scanner) wrapped(i int, w *wrapper) (result, bool) {
	start := s.gap(i)
	for { // the opening marker, or another one, over again
		end := max(s.oneOf(start, w.skip), s.opensWith(start, s.namespace(start+1), w))
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

func (s *scanner) wrappedBody(i int, w *wrapper) body {
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
func (s *scanner) quoted(i int, w *wrapper) (result, bool) {
	if c := s.in.At(i); c != '{' && c != '[' || !s.affordable(i) {
		return result{}, false
	}
	if !s.in.Has(s.in.Skip(i+1), "&quot;") && !s.in.Has(s.in.Skip(i+1), "{&quot;") {
		return result{}, false
	}
	at, end, ok := s.find(w.close[0], w.close[0][0], i, func(i int) int { return s.closing(i, w.close) })
	if !ok {
		at = s.in.Known()
		end = at
	}
	text := args.Unescape(s.in.Slice(i, at))
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
	if !ok || !s.known(t.value) {
		return result{}, false
	}
	w, end, ok := s.function(i)
	if !ok {
		if next := s.gap(t.end); s.in.At(next) == args.End {
			return result{bad: true, end: next}, true
		}
		return result{}, false
	}
	return result{calls: []written{w}, end: s.swallow(end, closers.Words)}, true
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
		return s.wrapped(start+len(name), &wrapper{open: name, close: closers})
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
