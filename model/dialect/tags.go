package dialect

import (
	"strings"

	"github.com/jackline-ai/jackline/args"
)

// openTag is an opening tag of a call or a parameter.
type openTag struct {
	name  string // as in tagNames
	value string // the name that it gives: of the tool or the parameter
	text  bool   // string="true"
	empty bool   // it closes itself
	end   int
}

// namespace returns the end of what may stand in front of a tag's name at i: a word and a
// colon, or DeepSeek's word between bars.
func (s *scanner) namespace(i int) int {
	switch c := s.in.At(i); c {
	case 'a', 'm', 's':
		for _, word := range namespaces {
			if s.in.Has(i, word) {
				return i + len(word)
			}
		}
		return i
	case '|', 0xEF, 0xE2: // the first bytes of the bars
	default:
		return i
	}
	k := s.bars(i)
	if k == i || !s.in.Has(k, "DSML") {
		return i
	}
	k += len("DSML")
	if end := s.bars(k); end > k {
		return end
	}
	return i
}

var namespaces = []string{"antml:", "atem:", "minimax:", "steptml:"}

// bars skips up to two of the bars that DeepSeek's tags have.
func (s *scanner) bars(i int) int {
	for range 2 {
		for _, bar := range []string{"|", "｜", "‖"} {
			if s.in.Has(i, bar) {
				i += len(bar)
				break
			}
		}
	}
	return i
}

// openTag reads the opening tag at i if its name is one of names.
func (s *scanner) openTag(i int, names ...string) (openTag, bool) {
	if s.in.At(i) != '<' {
		return openTag{}, false
	}
	i = s.namespace(i + 1)
	for _, name := range names {
		if !s.in.Has(i, name) {
			continue
		}
		if t, ok := s.attributes(i + len(name)); ok {
			t.name = name
			return t, true
		}
	}
	return openTag{}, false
}

// attributes reads the rest of an opening tag: =NAME>, name="NAME" …>, or a blank and NAME>.
func (s *scanner) attributes(i int) (openTag, bool) {
	var t openTag
	if s.in.At(i) == '=' {
		end := i + 1
		for c := s.in.At(end); c != '>'; c = s.in.At(end) {
			if c == args.End || c == '<' || c == '\n' || end-i > longestName {
				return t, false
			}
			end++
		}
		t.value, t.end = unquote(s.in.Slice(i+1, end)), end+1
		return t, t.value != ""
	}
	if c := s.in.At(i); c != ' ' && c != '\t' && c != '\n' {
		return t, false
	}
	for {
		i = s.in.Skip(i)
		switch s.in.At(i) {
		case '>':
			t.end = i + 1
			return t, t.value != ""
		case '/':
			t.empty = true
			i++
			continue
		}
		end := s.name(i)
		if end == i {
			return t, false
		}
		key := s.in.Slice(i, end)
		if s.in.At(end) != '=' {
			if t.value == "" {
				t.value = key
			}
			i = end
			continue
		}
		value, next, ok := s.attribute(end + 1)
		if !ok {
			return t, false
		}
		switch key {
		case "name", "key", "tool":
			t.value = value
		case "string":
			t.text = value == "true"
		case "type":
			t.text = value == "string"
		}
		i = next
	}
}

// attribute reads the value of an attribute at i.
func (s *scanner) attribute(i int) (value string, end int, ok bool) {
	mark := s.in.At(i)
	if mark != '"' && mark != '\'' {
		end = s.name(i)
		return s.in.Slice(i, end), end, end > i
	}
	for end = i + 1; end-i <= longestName; end++ {
		switch s.in.At(end) {
		case mark:
			return s.in.Slice(i+1, end), end + 1, true
		case args.End, '\n', '<':
			return "", 0, false
		}
	}
	return "", 0, false
}

func unquote(text string) string { return strings.Trim(args.Trim(text), `"'`) }

// closing returns the end of the first of the closing markers that stands at i, or 0. Tags
// among them may have a namespace.
func (s *scanner) closing(i int, words []string) int {
	if end := s.oneOf(i, words); end > 0 || s.in.At(i) != '<' {
		return end
	}
	k := s.slash(i)
	if k == 0 {
		return 0
	}
	for _, word := range words {
		if name, ok := strings.CutPrefix(word, "</"); ok && s.in.Has(k, name) {
			return k + len(name)
		}
	}
	return 0
}

// slash returns where the name of the closing tag at i begins, or 0.
func (s *scanner) slash(i int) int {
	if s.in.At(i) != '<' {
		return 0
	}
	k := s.namespace(i + 1) // DeepSeek's bars sometimes come before the slash
	if s.in.At(k) != '/' {
		return 0
	}
	return s.namespace(k + 1)
}

// closeTag returns the end of the closing tag at i if its name is one of names, or 0.
func (s *scanner) closeTag(i int, names ...string) int {
	k := s.slash(i)
	if k == 0 {
		return 0
	}
	for _, name := range names {
		if s.in.Has(k, name) && s.in.At(k+len(name)) == '>' {
			return k + len(name) + 1
		}
	}
	return 0
}

// function reads a call whose tag names the tool: <function=NAME>, <function name="NAME">,
// <invoke name="NAME">, with parameters in tags or JSON inside.
func (s *scanner) function(i int) (w written, end int, ok bool) {
	t, ok := s.openTag(i, "function", "invoke")
	if !ok {
		return w, 0, false
	}
	s.announce(t.value, t.end)
	w = written{name: t.value, given: true}
	if t.empty {
		return w, t.end, true
	}
	p := s.parameters(t)
	if !p.any {
		next := s.gap(t.end)
		if s.in.At(next) == '{' {
			region := s.region([]string{"</function>", "</invoke>", "</tool_call>"}, fence{})
			if found, ok := s.value(next, region); ok {
				w.args, w.cut = found.Value, cut(found, found.Value)
				return w, s.afterFunction(s.between(found.End)), true
			}
			return w, 0, false
		}
		if !s.endsBody(next) { // the output ends, or it goes on in words
			return w, 0, false
		}
	}
	w.args, w.cut = p.object, p.cut
	return w, p.end, true
}

// endsBody reports whether a tag at i shows that the function before it had no parameters.
func (s *scanner) endsBody(i int) bool {
	if _, ok := s.openTag(i, "function", "invoke"); ok {
		return true
	}
	return s.in.Word(i, closers) > 0 || s.in.Word(i, ends) > 0 ||
		s.closeTag(i, "tool_call", "tool_calls", "function_calls") > 0
}

// afterFunction skips the closing tag of a function.
func (s *scanner) afterFunction(i int) int {
	next := s.gap(i)
	if end := s.closeTag(next, "function", "invoke"); end > 0 {
		return end
	}
	return i
}
