package dialect

import "github.com/jackline-ai/jackline/args"

// tone is the kind of a thought, as far as it matters for where it ends.
type tone int

const (
	plainThought   tone = iota
	harmonyThought      // ends at <|end|> or the next header as well
)

// The tokens that open and close thoughts, beside tags.
var (
	thoughtOpeners = args.NewLexicon([]string{"<|START_THINKING|>", "<|inner_prefix|>", "<|thought_start|>", "<|channel>thought", "<|open|>think<|sep|>"})
	thoughtClosers = args.NewLexicon([]string{"<|END_THINKING|>", "<|inner_suffix|>", "<|thought_end|>", "<channel|>", "<|close|>think<|sep|>"})
)

// opener recognises the tag that opens a thought at i.
func (s *scanner) opener(i int) (end int, t tone, ok bool) {
	switch s.in.At(i) {
	case '<':
		if end := s.tag(i+1, true); end > 0 {
			return end, plainThought, true
		}
		if h, ok := s.header(i); ok && h.channel == "analysis" {
			return h.end, harmonyThought, true
		}
		end := s.in.Word(i, thoughtOpeners)
		return end, plainThought, end > 0
	case '[':
		if s.in.Has(i, "[THINK]") {
			return i + len("[THINK]"), plainThought, true
		}
	case 0xE2:
		if s.in.Has(i, "◁think▷") {
			return i + len("◁think▷"), plainThought, true
		}
	}
	return 0, 0, false
}

// closer recognises the tag that closes a thought at i.
func (s *scanner) closer(i int) (end int, ok bool) {
	switch s.in.At(i) {
	case '<':
		if s.in.At(i+1) == '/' {
			end := s.tag(i+2, false)
			return end, end > 0
		}
		end := s.in.Word(i, thoughtClosers)
		return end, end > 0
	case '[':
		return i + len("[/THINK]"), s.in.Has(i, "[/THINK]")
	case 0xE2:
		return i + len("◁/think▷"), s.in.Has(i, "◁/think▷")
	}
	return 0, false
}

// longestAttributes is how much an opening tag may carry besides its name.
const longestAttributes = 200

// The names of the tags of thoughts, longer ones first.
var (
	tWords = []string{"thinking", "think", "thought"}
	rWords = []string{"reasoning"}
)

// tag returns the end of the tag of a thought whose name begins at i, or 0. Only an opening
// one has attributes.
func (s *scanner) tag(i int, attributes bool) int {
	var prefix string
	switch s.in.At(i) | 0x20 {
	case 's':
		prefix = "seed:"
	case 'm':
		prefix = "mm:"
	}
	if prefix != "" {
		if !s.in.HasFold(i, prefix) {
			return 0
		}
		i += len(prefix)
	}
	var words []string
	switch s.in.At(i) | 0x20 {
	case 't':
		words = tWords
	case 'r':
		words = rWords
	}
	end := 0
	for _, w := range words {
		if s.in.HasFold(i, w) {
			end = i + len(w)
			break
		}
	}
	if end == 0 {
		return 0
	}
	if c := s.in.At(end); c != '>' && c != ' ' && c != '\t' && c != '\n' && c != '\r' {
		return 0
	}
	for k := end; k <= end+longestAttributes; k++ {
		switch c := s.in.At(k); {
		case c == '>':
			return k + 1
		case c == args.End || c == '<':
			return 0
		case !attributes && c != ' ' && c != '\t' && c != '\n' && c != '\r':
			return 0
		}
	}
	return 0
}

// thought deals with a thought, or with the closer of one, that begins at i.
func (s *scanner) thought() bool {
	c := s.in.At(s.i)
	if c != '<' && c != '[' && c != 0xE2 {
		return false
	}
	if end, ok := s.closer(s.i); ok {
		s.orphaned(end)
		return true
	}
	end, t, ok := s.opener(s.i)
	if !ok {
		return false
	}
	s.mind.enter()
	s.drop(end)
	s.ponder(t)
	return true
}

// orphaned deals with a closer, up to end, that has no opener: all before it was thought.
func (s *scanner) orphaned(end int) {
	s.mind.claim(s.in, s.shown.flow.begun)
	s.reset()
	s.drop(end)
	s.first = true
}

// ponder reads a thought up to its closer or the end of the output. Nothing in it is a call, and
// fences mean nothing.
func (s *scanner) ponder(t tone) {
	k := thought
	if s.ended {
		k = idle
	}
	m := musing{k: k, first: true, empty: true}
	pass := func(known []byte) bool {
		for _, c := range known[s.i:] {
			if c == '<' || c == '[' || c == 0xE2 {
				return false
			}
		}
		s.muse(&m, known)
		return true
	}
	depth := 1
	for {
		s.waits = pass
		c := s.in.At(s.i)
		s.waits = nil
		if c == args.End {
			break
		}
		at := s.i
		if s.muse(&m, s.in.Bytes()); s.i > at {
			continue
		}
		if end, ok := s.closer(s.i); ok {
			s.i = end
			if depth--; depth == 0 {
				break
			}
			continue
		}
		if t == harmonyThought {
			if s.in.Has(s.i, "<|end|>") {
				s.i += len("<|end|>")
				break
			}
			if s.in.Has(s.i, "<|start|>") || s.in.Has(s.i, "<|channel|>") {
				break
			}
		}
		if end, _, ok := s.opener(s.i); ok {
			if m.first && !m.empty {
				depth++
			}
			s.i = end
			continue
		}
		m.first, m.empty = false, false
		s.mind.think(s.in, s.i, s.i+1, k)
		s.i++
	}
	s.mind.leave(k)
	s.drop(s.i)
}

// musing is what is known about a thought that is being read.
type musing struct {
	k     kind
	first bool // nothing but blanks stands before i on its line
	empty bool // nor in the whole thought
}

// muse passes over the text of a thought as far as it is known and nothing else can begin in it.
func (s *scanner) muse(m *musing, known []byte) {
	j := s.i
	for j < len(known) && known[j] != '<' && known[j] != '[' && known[j] != 0xE2 {
		j++
	}
	for _, c := range known[s.i:j] {
		switch c {
		case '\n':
			m.first = true
		case ' ', '\t', '\r':
		default:
			m.first, m.empty = false, false
		}
	}
	s.mind.think(s.in, s.i, j, m.k)
	s.i = j
}
