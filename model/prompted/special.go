package prompted

import (
	"strings"

	"github.com/jackline-ai/jackline/args"
)

// token returns the end of a call token at i, or 0. The bars may be narrow or wide and the
// separators, which word has as low lines, those of either vocabulary.
func (s *scanner) token(i int, word string) int {
	if s.in.At(i) != '<' {
		return 0
	}
	if i = s.bar(i + 1); i == 0 {
		return 0
	}
	for k := 0; k < len(word); k++ {
		switch {
		case s.in.At(i) == int(word[k]):
			i++
		case word[k] == '_' && s.in.Has(i, "▁"):
			i += len("▁")
		default:
			return 0
		}
	}
	if i = s.bar(i); i == 0 || s.in.At(i) != '>' {
		return 0
	}
	return i + 1
}

func (s *scanner) bar(i int) int {
	switch {
	case s.in.At(i) == '|':
		return i + 1
	case s.in.Has(i, "｜"):
		return i + len("｜")
	}
	return 0
}

// tokenAny returns the end of the first of the tokens that stands at i, or 0.
func (s *scanner) tokenAny(i int, words ...string) int {
	for _, word := range words {
		if end := s.token(i, word); end > 0 {
			return end
		}
	}
	return 0
}

// tokens reads one call of DeepSeek V3 and V3.1, Kimi K2 or Step 3. The token of the section
// that calls stand in may be missing.
func tokens(s *scanner, i int) (result, bool) {
	start := i
	for {
		end := s.tokenAny(start, "tool_calls_begin", "tool_calls_section_begin", "tool_call_begin")
		if end == 0 {
			break
		}
		start = s.gap(end)
	}
	if start == i {
		return result{}, false
	}
	if w, end, ok := s.tokenCall(start); ok {
		return result{calls: []written{w}, end: s.afterTokens(end)}, true
	}
	b := s.body(start, tokenEnds, fence{})
	if len(b.calls) > 0 {
		return result{calls: b.calls, end: s.afterTokens(b.end)}, true
	}
	return s.unusable(start, b, tokenEnds)
}

// tokenEnds are the tokens that close calls, in the spellings that models use.
var tokenEnds = []string{
	"<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>", "<|tool_call_end|>", "<|tool_calls_section_end|>",
	"<｜tool_call_end｜>", "<｜tool_calls_end｜>", "<|tool▁call▁end|>", "<|tool▁calls▁end|>", "<|tool_calls_end|>",
}

func (s *scanner) afterTokens(i int) int {
	i = s.between(i)
	for n := s.any(i, tokenEnds); n > 0; n = s.any(i, tokenEnds) {
		i = s.gap(n)
	}
	return i
}

// tokenCall reads name and arguments between call tokens.
func (s *scanner) tokenCall(i int) (w written, end int, ok bool) {
	if s.in.Has(i, "function") {
		if sep := s.token(s.gap(i+len("function")), "tool_sep"); sep > 0 {
			i = s.gap(sep)
		}
	}
	end = s.name(i)
	if end == i {
		return w, 0, false
	}
	w = written{name: s.in.Slice(i, end), given: true}
	next := s.gap(end)
	sep := s.tokenAny(next, "tool_sep", "tool_call_argument_begin")
	if sep > 0 {
		next = s.gap(sep)
	}
	s.announce(w.name)
	var f fence
	if c := s.in.At(next); c == '`' || c == '~' {
		if opened, ok := s.opens(next); ok {
			f = opened
			next = s.gap(f.body)
			sep = next
		}
	}
	if c := s.in.At(next); c == '{' || c == '[' || c == '"' && sep > 0 {
		found, ok := s.value(next, s.region(tokenEnds, f))
		if !ok {
			return w, 0, false
		}
		w.args, w.cut = found.Value, cut(found, found.Value)
		return w, s.afterFence(s.between(found.End), f), true
	}
	if sep > 0 && s.catalog.known(w.name) && (s.in.At(next) == args.End || s.any(next, tokenEnds) > 0) {
		w.cut = s.in.At(next) == args.End
		return w, next, true
	}
	return w, 0, false
}

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
		if start == i && !s.catalog.known(w.name) {
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
	s.announce(w.name)
	schema := s.catalog.Schema(w.name)
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
	at, end, ok := s.find(closer, '<', i, func(i int) int { return s.any(i, []string{closer}) })
	stop, _, stopped := s.find("<|open|>argument", '<', i, func(i int) int {
		return s.any(i, []string{"<|open|>argument ", "<|open|>call ", "<|close|>call<|sep|>", "<|close|>tools<|sep|>"})
	})
	switch {
	case ok && (!stopped || at < stop):
		return rawValue{text: s.in.Slice(i, at), closed: true, end: end}
	case stopped:
		return rawValue{text: s.in.Slice(i, stop), end: stop}
	}
	return rawValue{text: s.in.Slice(i, s.in.Known()), cut: true, end: s.in.Known()}
}

// gemma reads the calls of FunctionGemma and Gemma 4, whose quotation marks are tokens.
func gemma(s *scanner, i int) (result, bool) {
	start := s.any(i, []string{"<start_function_call>", "<|tool_call>"})
	if start == 0 {
		return result{}, false
	}
	closers := []string{"<end_function_call>", "<tool_call|>"}
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
	if last := strings.LastIndexByte(name, ':'); last >= 0 && !s.catalog.known(name) {
		name = name[last+1:]
	}
	next := s.gap(end)
	region := s.region(closers, fence{})
	region.Quotes = []string{`<|"|>`, "<escape>"}
	s.announce(name)
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
	if s.catalog.known(name) && s.any(next, closers) > 0 {
		return written{name: name}, next, true
	}
	return w, 0, false
}

const toolCalls = "[TOOL_CALLS]"

// mistral reads Mistral's calls: a list or an object, or since v11 a name and its arguments.
func mistral(s *scanner, i int) (result, bool) {
	if !s.in.Has(i, toolCalls) {
		return result{}, false
	}
	start := s.gap(i + len(toolCalls))
	for s.in.Has(start, toolCalls) {
		start = s.gap(start + len(toolCalls))
	}
	closers := []string{"[/TOOL_CALLS]", toolCalls}
	var calls []written
	end := start
	for { // several calls may share a marker
		next := s.between(end)
		w, after, ok := s.mistralCall(next, closers)
		if !ok || len(calls) > 0 && !s.catalog.known(w.name) {
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
	s.announce(w.name)
	found, ok := s.value(next, s.region(closers, fence{}))
	if !ok {
		return w, 0, false
	}
	w.args, w.cut = found.Value, cut(found, found.Value)
	return w, s.between(found.End), true
}

const functools = "functools["

// phi reads the list of Phi-4-mini.
func phi(s *scanner, i int) (result, bool) {
	if i > 0 && letter(s.in.At(i-1)) || !s.in.Has(i, functools) {
		return result{}, false
	}
	b := s.body(i+len(functools)-1, nil, fence{})
	if len(b.calls) == 0 {
		return s.unusable(i+len(functools), b, nil)
	}
	return result{calls: b.calls, end: b.end}, true
}

// functionary reads >>>NAME and a value on the next line.
func functionary(s *scanner, i int) (result, bool) {
	if !s.fresh || s.indent > 0 || !s.in.Has(i, ">>>") {
		return result{}, false
	}
	start := i + len(">>>")
	end := s.name(start)
	if end == start || !s.in.Has(end, "\n") && !s.in.Has(end, "\r\n") {
		return result{}, false
	}
	name := s.in.Slice(start, end)
	if !s.catalog.known(name) {
		return result{}, false
	}
	s.announce(name)
	next := s.gap(end)
	if c := s.in.At(next); c == '{' || c == '[' {
		if found, ok := s.value(next, s.bareRegion()); ok {
			w := written{name: name, args: found.Value, given: true, cut: cut(found, found.Value)}
			return result{calls: []written{w}, end: s.between(found.End)}, true
		}
	}
	if s.in.At(next) == args.End {
		return result{bad: true, end: next}, true
	}
	return result{}, false
}
