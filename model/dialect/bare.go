package dialect

import "github.com/jackline-ai/jackline/args"

// What follows is weak: nothing marks it as a call, so that every name must be known and every call
// must have a place for arguments. Whatever falls short is an ordinary answer.

// sure reports whether all calls are beyond doubt.
func (s *scanner) sure(calls []written) bool {
	for _, w := range calls {
		if !w.given || !s.known(w.name) || w.schema() {
			return false
		}
	}
	return len(calls) > 0
}

// closers are the closing markers of all families. Models that lost the opening one leave them.
var closers = args.NewLexicon([]string{
	"</tool_call>", "</seed:tool_call>", "</minimax:tool_call>", "</longcat_tool_call>", "</tool_calls>",
	"</function_calls>", "</TOOLCALL>", "</function_call>", "</function>", "</invoke>", "[/TOOL_CALLS]",
	"<|tool_call_end|>", "<｜tool▁call▁end｜>", "<|END_ACTION|>", "<|tools_suffix|>", "<|action_end|>",
	"<|/tool_call|>", "<|/tool_calls|>", "<|/function_call|>", "<tool_call|>", "<end_function_call>",
})

// boundaries are the words that end what no bracket closed.
var boundaries = args.NewLexicon(closers.Words, ends.Words, openers.Words)

// anything reports whether a marker of any kind stands at i: it ends what no bracket closed.
func (s *scanner) anything(i int) bool {
	switch s.in.At(i) {
	case '<':
		if s.in.Word(i, boundaries) > 0 {
			return true
		}
	case '[':
		if s.in.Has(i, toolCalls) {
			return true
		}
	}
	if _, ok := s.closer(i); ok {
		return true
	}
	_, _, ok := s.opener(i)
	return ok
}

// bareRegion is where a value without a marker ends.
func (s *scanner) bareRegion() args.Region {
	return args.Region{
		First: "<[",
		Stop:  func(_ *args.Input, i int) bool { return s.anything(i) },
		Known: s.tellName, Member: s.tellArgs,
		Items: args.Quoted,
	}
}

// bareValue reads a call object, or a list of them, that stands for itself.
func bareValue(s *scanner, i int) (result, bool) {
	if !s.fresh || !s.affordable(i) {
		return result{}, false
	}
	switch end, what := args.Skim(s.in, i, args.Quoted, callKey); what {
	case args.Answer:
		return result{plain: true, end: end}, true
	case args.NoValue:
		s.spent += end - i
		return result{}, false
	case args.Unsure:
	}
	f, ok := s.value(i, s.bareRegion())
	if !ok {
		return result{}, false
	}
	r := objects{found: f}
	r.value(f.Value, 0)
	if r.other || !s.sure(r.calls) {
		if f.Whole() { // an answer in JSON: what is in its strings is no marker
			return result{plain: true, end: f.End}, true
		}
		s.spent += f.Seen - i
		return result{}, false
	}
	return result{calls: r.calls, end: s.swallow(s.between(f.End), closers.Words)}, true
}

// bareList reads a list of calls in Python's syntax.
func bareList(s *scanner, i int) (result, bool) {
	if !s.fresh || !s.pythonAhead(i) || !s.affordable(i) {
		return result{}, false
	}
	calls, end, closed := s.pythonList(i, s.bareRegion(), true)
	if !closed || !s.sure(calls) {
		s.spent += end - i
		return result{}, false
	}
	return result{calls: calls, end: end}, true
}
