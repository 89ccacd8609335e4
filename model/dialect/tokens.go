package dialect

import "github.com/jackline-ai/jackline/args"

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

// oneToken returns the end of the first of the tokens that stands at i, or 0.
func (s *scanner) oneToken(i int, words ...string) int {
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
		end := s.oneToken(start, "tool_calls_begin", "tool_calls_section_begin", "tool_call_begin")
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
	for n := s.oneOf(i, tokenEnds); n > 0; n = s.oneOf(i, tokenEnds) {
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
	sep := s.oneToken(next, "tool_sep", "tool_call_argument_begin")
	if sep > 0 {
		next = s.gap(sep)
	}
	s.announce(w.name, next)
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
	if sep > 0 && s.known(w.name) && (s.in.At(next) == args.End || s.oneOf(next, tokenEnds) > 0) {
		w.cut = s.in.At(next) == args.End
		return w, next, true
	}
	return w, 0, false
}
