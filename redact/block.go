package redact

import "strings"

const (
	// longestLabel is how many bytes stand between the dashes that begin a block.
	longestLabel = 64

	// longestLine is how many bytes of a line are looked at to see whether it belongs to a key. A key without line breaks is longer, and
	// belongs.
	longestLine = 256
)

// begin is how long the beginning of a private key block is that text starts with; last is the byte before it.
func begin(text string, last byte, final bool) (n int, more bool) {
	if last == '-' {
		return 0, false
	}
	for _, start := range [...]string{"-----BEGIN ", "---- BEGIN "} {
		if len(text) < len(start) {
			if !final && strings.HasPrefix(start, text) {
				return 0, true
			}
			continue
		}
		if !strings.HasPrefix(text, start) {
			continue
		}
		n = len(start)
		for n < len(text) && n < longestLabel && (kindOf(text[n]) == 'U' || kindOf(text[n]) == 'd' || text[n] == ' ') {
			n++
		}
		if n == len(text) && n < longestLabel && !final {
			return 0, true
		}
		if !strings.Contains(text[:n], "PRIVATE KEY") {
			return 0, false
		}
		for dashes := 0; n < len(text) && dashes < 5 && text[n] == '-'; dashes++ {
			n++
		}
		if n == len(text) && !final && !strings.HasSuffix(text, "-----") {
			return 0, true
		}
		return n, false
	}
	return 0, false
}

// blocked drops the body of a private key: up to its last line, or, where that is missing, as long as lines look like a key's.
func (s *scan) blocked(final bool) (more bool) {
	text := s.buf[s.pos:]
	lead := 0
	if text[0] == '\n' || text[0] == '\r' {
		lead = 1
	}
	line := text[lead:]
	whole := true
	if k := strings.IndexAny(line[:min(len(line), longestLine)], "\r\n"); k >= 0 {
		line = line[:k]
	} else if len(line) < longestLine {
		whole = final
	} else {
		line = line[:longestLine]
	}
	if !whole {
		return true
	}
	if k := strings.Index(line, "-- END "); k >= 0 {
		return s.unblock(lead+k+len("-- END "), text)
	}
	if k := strings.Index(line, "--END "); k >= 0 {
		return s.unblock(lead+k+len("--END "), text)
	}
	if k := strings.IndexAny(line, "\"'`<"); k >= 0 {
		s.skip(lead + k)
		s.mode = reading
		return false
	}
	if s.body > 0 && !keyLine(line) || s.body == 0 && strings.Count(strings.TrimSpace(line), " ") > 1 {
		s.mode = reading
		return false
	}
	if k := strings.LastIndexByte(line, '-'); k > 0 && len(line) == longestLine {
		line = line[:k] // the end may begin here
	}
	s.body++
	s.skip(lead + len(line))
	return false
}

// unblock ends a block behind the label at its end.
func (s *scan) unblock(n int, text string) (more bool) {
	for most := n + longestLabel; n < len(text) && n < most && (kindOf(text[n]) == 'U' || kindOf(text[n]) == 'd' || text[n] == ' '); {
		n++
	}
	for dashes := 0; n < len(text) && dashes < 5 && text[n] == '-'; dashes++ {
		n++
	}
	s.skip(n)
	s.mode = reading
	return false
}

// keyLine reports whether a line may belong to the body of a private key.
func keyLine(line string) bool {
	t := strings.TrimSpace(line)
	if name, _, ok := strings.Cut(t, ": "); ok && !strings.Contains(name, " ") {
		return true // of its head
	}
	t = strings.TrimLeft(t, "0123456789:|>+- \t") // where a line's number stands in front of it, or a sign of a comparison
	for k := 0; k < len(t); k++ {
		if kindOf(t[k]) == 0 && strings.IndexByte("+/=-\\", t[k]) < 0 {
			return false
		}
	}
	return true
}
