package dialect

import (
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline/args"
)

// unescape decodes the entities of XML once.
func unescape(text string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(text, '&')
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		text = text[i:]
		end := strings.IndexByte(text[:min(len(text), 12)], ';')
		if r, ok := entity(text, end); ok {
			b.WriteString(r)
			text = text[end+1:]
		} else {
			b.WriteByte('&')
			text = text[1:]
		}
	}
}

func entity(text string, end int) (string, bool) {
	if end < 2 {
		return "", false
	}
	switch name := text[1:end]; name {
	case "lt":
		return "<", true
	case "gt":
		return ">", true
	case "amp":
		return "&", true
	case "quot":
		return `"`, true
	case "apos":
		return "'", true
	default:
		base, digits := 10, strings.TrimPrefix(name, "#")
		if digits == name {
			return "", false
		}
		if hex := strings.TrimLeft(digits, "xX"); hex != digits {
			base, digits = 16, hex
		}
		n, err := strconv.ParseUint(digits, base, 21)
		if err != nil || n == 0 {
			return "", false
		}
		return string(rune(n)), true
	}
}

// escaped reads a call whose markup came through HTML escaped: the rest of the output is decoded
// once, and the scan goes on in that.
func escaped(s *scanner, i int) (result, bool) {
	if !s.first || s.decoded || !s.affordable(i) {
		return result{}, false
	}
	next := i
	switch {
	case s.in.Has(i, "&lt;tool_call&gt;"):
		next = s.in.Skip(i + len("&lt;tool_call&gt;"))
		if c := s.in.At(next); c != '{' && c != '[' && c != '&' && c != '`' && !letter(c) {
			return result{}, false
		}
	case s.in.Has(i, "&lt;function="):
	default:
		return result{}, false
	}
	for s.in.At(next) != args.End {
		next = max(next+1, s.in.Known())
	}
	written, finders := s.in, s.finders
	s.in = args.Whole(s.in.Slice(0, i) + unescape(s.in.Slice(i, s.in.Known())))
	s.finders, s.runs = make(map[string]*finder), runs{}
	r, ok := s.marked(i)
	if !ok || r.bad {
		s.spent += s.in.Known()
		s.in, s.finders, s.runs = written, finders, runs{}
		return result{}, false
	}
	s.decoded = true
	return r, true
}
