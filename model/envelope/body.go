package envelope

import "strings"

// unthought takes off a thought that stands in front of a text and was not told from it by the engine. thinking is that the
// thought has no end, and the text no beginning.
func unthought(text string) (rest string, thinking bool) {
	const opens, closes = "<think>", "</think>"
	if thought, ok := strings.CutPrefix(strings.TrimLeft(text, " \t\r\n"), opens); ok {
		_, behind, ok := strings.Cut(thought, closes)
		return strings.TrimLeft(behind, "\r\n"), !ok
	}
	return text, false
}

// unfenced takes off the one fence around a text. A text that has none is taken as it is.
//
// The fence is the first line that is not blank. It is closed by the last such line, or, where something follows, by the
// only other line that could close it: fences of the text itself stay.
func unfenced(text string) string {
	lines := strings.SplitAfter(text, "\n")
	first := 0
	for first < len(lines) && strings.TrimSpace(lines[first]) == "" {
		first++
	}
	if first == len(lines) {
		return text
	}
	mark := fence(lines[first])
	if mark == "" {
		return strings.TrimLeft(text, "\r\n")
	}
	var closers []int
	last := first
	for i := first + 1; i < len(lines); i++ {
		line := strings.TrimSpace(lines[i])
		if line == "" {
			continue
		}
		last = i
		if strings.HasPrefix(line, mark) && strings.Trim(line, mark[:1]) == "" {
			closers = append(closers, i)
		}
	}
	switch n := len(closers); {
	case n > 0 && closers[n-1] == last:
		return strings.Join(lines[first+1:last], "")
	case n == 1:
		return strings.Join(lines[first+1:closers[0]], "")
	case n == 0: // it was cut off, or the model forgot
		return strings.Join(lines[first+1:], "")
	}
	return text
}

// fence is the mark of a line that opens a fence, or "". Behind it may stand one word, the language.
func fence(line string) string {
	line = strings.TrimSpace(line)
	for _, c := range []string{"`", "~"} {
		n := len(line) - len(strings.TrimLeft(line, c))
		if n >= 3 && !strings.ContainsAny(line[n:], " `~") {
			return line[:n]
		}
	}
	return ""
}
