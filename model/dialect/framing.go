package dialect

import "github.com/jackline-ai/jackline/args"

// framing are the tokens between which engines put a model's turns. They say nothing, and are
// taken out of visible text.
var framing = args.NewLexicon([]string{
	"<|im_start|>assistant", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<|end_of_text|>",
	"<|end|>", "<|return|>", "<|call|>", "</s>", "<eos>", "<seed:eos>", "<end_of_turn>", "<|role_end|>",
	"<｜end▁of▁sentence｜>", "<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>",
	"<|open|>response<|sep|>", "<|close|>response<|sep|>", "<|open|>message<|sep|>", "<|close|>message<|sep|>",
	"<|python_end|>",
})

// ends are those of them that end a turn, and with it whatever a model left open.
var ends = args.NewLexicon([]string{
	"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|endoftext|>", "<|end_of_text|>", "<|end|>", "<|return|>",
	"<|call|>", "</s>", "<eos>", "<seed:eos>", "<end_of_turn>", "<|role_end|>", "<｜end▁of▁sentence｜>",
})

// invented begin what only the other side may say. When a model writes them after a call, it has
// made up the result.
var invented = args.NewLexicon([]string{
	"[tool result:", "<tool_response>", "<tool_result>", "<function_results>", "<function_result>",
	"<|tool_response>", "<|tool_response_start|>", "<start_function_response>", "[TOOL_RESULTS]",
	"<|START_TOOL_RESULT|>", "<|im_start|>user", "<|im_start|>tool", "<|im_start|>system",
	"<|start_header_id|>", "<|start|>functions.", "<|start|>user", "<|start|>system", "<start_of_turn>user",
	"<|user|>", "<|system|>", "<|observation|>", "<|tool|>",
})

// oneOf returns the end of the first of the words that stands at i, or 0.
func (s *scanner) oneOf(i int, words []string) int {
	for _, word := range words {
		if s.in.Has(i, word) {
			return i + len(word)
		}
	}
	return 0
}

// framing passes over a framing token at i.
func (s *scanner) framing() bool {
	switch s.in.At(s.i) {
	case '<':
		if end := s.in.Word(s.i, framing); end > 0 {
			s.drop(end)
			return true
		}
		if h, ok := s.header(s.i); ok && h.plain() {
			s.drop(h.end)
			return true
		}
		return s.wrapper()
	case '>': // Functionary's way to say that text follows
		if s.fresh && s.indent == 0 && s.in.Has(s.i, ">>>all\n") {
			s.drop(s.i + len(">>>all\n"))
			s.first = true
			return true
		}
	}
	return false
}

// wrapper passes over the tag that some models put around their answer once they have thought, and
// keeps its closer back until it is known to be the end.
func (s *scanner) wrapper() bool {
	if !s.mind.seen || !s.open() {
		return false
	}
	if s.shown.wrapper != "" {
		closer := "</" + s.shown.wrapper + ">"
		if s.in.Has(s.i, closer) {
			s.mind.draft(s.i, s.i+len(closer))
			s.shown.hold(s.i, s.i+len(closer))
			s.drop(s.i + len(closer))
			return true
		}
		return false
	}
	if s.shown.some {
		return false
	}
	for _, name := range []string{"answer", "response"} {
		if opener := "<" + name + ">"; s.in.Has(s.i, opener) {
			s.mind.draft(s.i, s.i+len(opener))
			s.shown.wrapper = name
			s.drop(s.i + len(opener))
			return true
		}
	}
	return false
}

// result notices an invented result.
func (s *scanner) result() bool {
	if s.ended || len(s.calls) == 0 {
		return false
	}
	switch s.in.At(s.i) {
	case '<', '[':
		s.ended = s.in.Word(s.i, invented) > 0 || s.token(s.i, "tool_outputs_begin") > 0 || s.token(s.i, "tool_output_begin") > 0
	case 'O':
		s.ended = s.first && s.in.Has(s.i, "Observation:") && s.lineStart(s.i)
	}
	return false
}
