package dialect

import (
	"strings"

	"github.com/jackline-ai/jackline/args"
)

// fence is the opening line of a block of code.
type fence struct {
	mark   int // '`' or '~', 0 for none
	n      int // how many
	word   string
	body   int  // where what stands behind the info word begins
	inline bool // something stands behind it on its line
}

// runLength returns the length of the run of mark at i.
func (s *scanner) runLength(i, mark int) int {
	n := 0
	for s.in.At(i+n) == mark {
		n++
	}
	return n
}

// code deals with inline code or a fence that begins at i.
func (s *scanner) code() bool {
	mark := s.in.At(s.i)
	if mark != '`' && mark != '~' {
		return false
	}
	if s.fresh && s.indent <= 3 {
		if s.fence.n > 0 && s.fence.mark == mark {
			if end := s.closes(s.i, s.fence); end > 0 {
				s.mind.draft(s.i, end)
				s.drop(end)
				s.fence = fence{}
				return true
			}
		}
		if f, ok := s.opens(s.i); ok {
			s.fenced(f)
			return true
		}
	}
	if mark == '`' {
		s.inline()
		return true
	}
	return false
}

// opens reads the opening line of a fence at i.
func (s *scanner) opens(i int) (fence, bool) {
	f := fence{mark: s.in.At(i)}
	f.n = s.runLength(i, f.mark)
	if f.n < 3 {
		return f, false
	}
	start := s.in.SkipLine(i + f.n)
	end := start
	for c := s.in.At(end); letter(c) || c == '+' || c == '#' || c == '-' || c == '.'; c = s.in.At(end) {
		end++
	}
	f.word = strings.ToLower(s.in.Slice(start, end))
	f.body = end
	rest := s.in.SkipLine(end)
	c := s.in.At(rest)
	f.inline = c != '\n' && c != args.End
	if f.tool() || f.inline && f.json() && f.word != "" && (c == '{' || c == '[') {
		return f, true
	}
	// In the opening line of a fence of backticks there are no more of them: such a line is
	// inline code.
	for k := rest; f.mark == '`'; k++ {
		switch s.in.At(k) {
		case '`':
			return f, false
		case '\n', args.End:
			return f, true
		}
	}
	return f, true
}

func letter(c int) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_'
}

// tool reports whether the fence is one of those that hold calls and nothing else.
func (f fence) tool() bool {
	switch f.word {
	case "tool", "tools", "tool_call", "tool_calls", "tool_use", "function_call", "tool_code":
		return true
	}
	return false
}

func (f fence) json() bool {
	switch f.word {
	case "json", "jsonc", "json5":
		return true
	}
	return f.word == "" && !f.inline
}

// closes returns the end of the line at i if it closes the fence, or 0.
func (s *scanner) closes(i int, f fence) int {
	for n := 0; n < 3 && s.in.At(i) == ' '; n++ {
		i++
	}
	n := s.runLength(i, f.mark)
	if n < f.n {
		return 0
	}
	i = s.in.SkipLine(i + n)
	if c := s.in.At(i); c != '\n' && c != args.End {
		return 0
	}
	return i
}

// stopsAt reports whether the closing marks of the fence begin at i. In a block that
// began on the line of its opening marks, they may come at the end of a line.
func (s *scanner) stopsAt(i int, f fence) bool {
	if s.in.At(i) != f.mark || s.in.At(i-1) == f.mark {
		return false
	}
	if !f.inline {
		start := i
		for start > 0 && i-start < 3 && s.in.At(start-1) == ' ' {
			start--
		}
		if s.in.At(start-1) != '\n' {
			return false
		}
	}
	if s.closes(i, f) > 0 {
		return true
	}
	next, ok := s.opens(i)
	return ok && next.tool() && !f.inline // the next block begins
}

// fenced deals with a fence.
func (s *scanner) fenced(f fence) {
	switch {
	case s.plain:
		s.text(f.body)
		s.listing(f)
	case f.word == "tool_code":
		s.toolCode(f)
	case f.tool():
		s.toolFence(f)
	case (f.json() || f.word == "xml") && s.weakFence(f):
	default:
		s.text(f.body)
		s.listing(f)
	}
}

// listing lets a block of code stand as text, up to its end. A thought that is closed in it without
// having been opened in it was open before: then the block was never meant to be one.
func (s *scanner) listing(f fence) {
	opened := 0
	line := false // i is at the beginning of a line
	for s.in.At(s.i) != args.End {
		if line {
			line = false
			if end := s.closes(s.i, f); end > 0 {
				s.text(end)
				return
			}
		}
		j, known := s.i, s.in.Bytes()
		for j < len(known) && known[j] != '<' && known[j] != '[' && known[j] != 0xE2 && known[j] != '\n' {
			j++
		}
		if j > s.i {
			s.text(j)
			continue
		}
		if known[j] == '\n' {
			s.text(j + 1)
			line = true
			continue
		}
		if end, ok := s.closer(s.i); ok {
			if opened == 0 {
				s.orphaned(end)
				return
			}
			opened--
			s.text(end)
			continue
		}
		if end, _, ok := s.opener(s.i); ok {
			opened++
			s.text(end)
			continue
		}
		s.text(s.i + 1)
	}
}

// runs remembers, for one line, where the last run of backticks of each length begins.
type runs struct {
	known    bool
	from, to int         // the part of the text that it is about
	last     map[int]int // nil if there are none
}

// inline deals with a run of backticks: up to a run of the same length on its line all is text.
func (s *scanner) inline() {
	n := s.runLength(s.i, '`')
	start := s.i + n
	if s.runs.known && s.runs.from <= start && start <= s.runs.to {
		if last, ok := s.runs.last[n]; !ok || last < start {
			s.text(start)
			return
		}
	}
	var seen map[int]int
	s.text(start)
	held := false // there is something that would be more than text if this were no code
	for k := start; ; {
		if !held && k == s.in.Known() && k > s.i {
			s.text(k)
		}
		c := s.in.At(k)
		if !held && s.matters(k) {
			if k > s.i {
				s.text(k)
			}
			held = true
		}
		switch c {
		case '`':
			m := s.runLength(k, '`')
			if m == n {
				s.text(k + m)
				return
			}
			if seen == nil {
				seen = make(map[int]int)
			}
			seen[m] = k
			k += m
		case '\n', args.End:
			s.runs = runs{true, start, k, seen}
			return
		default:
			k++
		}
	}
}

// matters reports whether something may begin at i, in the middle of a line.
func (s *scanner) matters(i int) bool {
	switch s.in.At(i) {
	case '<', '[', ']', '&', '`', '\n', 0xE2:
		return true
	case 'a':
		return s.in.Has(i, stripped)
	case 'f':
		return s.in.Has(i, functools)
	}
	return false
}
