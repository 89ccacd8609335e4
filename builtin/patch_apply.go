package builtin

import (
	"fmt"
	"strings"

	"github.com/jackline-ai/jackline/diff"
	"github.com/jackline-ai/jackline/workspace/textfile"
)

// patchText applies hunks to a text, in order. A hunk that does not fit is a miss, and nothing counts.
func patchText(body string, hunks []hunkPatch) (string, *miss) {
	lines := diff.Lines(body)
	cursor, shift := 0, 0
	for i, h := range hunks {
		at, m := h.find(lines, cursor, shift)
		if m != nil {
			if len(hunks) > 1 {
				m.plain = fmt.Sprintf("Hunk %d: %s", i+1, m.plain)
			}
			return "", m
		}
		var size int
		lines, size = h.put(lines, at)
		olds := len(h.olds())
		cursor = at + size
		shift += size - olds
	}
	return strings.Join(lines, ""), nil
}

// olds are the lines that a hunk expects.
func (h hunkPatch) olds() (lines []string) {
	for _, l := range h.lines {
		if l.op != '+' {
			lines = append(lines, l.text)
		}
	}
	return lines
}

// find gives the place of a hunk: the index of its first line. shift is by how much earlier hunks have moved the lines.
func (h hunkPatch) find(lines []string, cursor, shift int) (int, *miss) {
	olds := h.olds()
	from := cursor
	if h.near != "" {
		if at, ok := lineLike(lines, cursor, h.near); ok {
			from = at + 1
		}
	}
	if len(olds) == 0 {
		switch {
		case h.at > 0 || h.near == "" && h.at == 0 && len(lines) == 0:
			return min(max(h.at+shift, cursor), len(lines)), nil
		case h.near != "":
			return from, nil
		}
		return len(lines), nil
	}
	places := placesOf(lines, olds, from, func(l string) string { return strings.TrimSuffix(l, "\n") })
	if len(places) == 0 {
		places = placesOf(lines, trimAll(olds), from, trimEnd)
	}
	if len(places) == 0 && from > cursor {
		h.near = ""
		return h.find(lines, cursor, shift)
	}
	switch {
	case len(places) == 0:
		m := nearest(lines, trimAll(olds))
		m.plain = strings.NewReplacer("old was not found in the file", "the lines of the patch were not found in the file").Replace(m.plain)
		return 0, m
	case h.end:
		return places[len(places)-1], nil
	case h.at > 0:
		return closest(places, h.at-1+shift), nil
	case len(places) > 1 && h.near == "":
		numbers := make([]int, len(places))
		for i, p := range places {
			numbers[i] = p + 1
		}
		m := several(numbers)
		m.plain = strings.Replace(m.plain, "old is found", "the patch fits", 1)
		m.plain = strings.Replace(m.plain, ", or set all to replace every one", "", 1)
		return 0, m
	}
	return places[0], nil
}

// placesOf are the indexes from which on all of olds stand in lines.
func placesOf(lines, olds []string, from int, look func(string) string) (places []int) {
	budget := maxCompare
	for i := from; i+len(olds) <= len(lines) && budget > 0; i++ {
		k := 0
		for k < len(olds) && look(lines[i+k]) == olds[k] {
			k++
		}
		budget -= k + 1
		if k == len(olds) {
			places = append(places, i)
		}
	}
	return places
}

func trimAll(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = trimEnd(l)
	}
	return out
}

// lineLike finds a line that is, or at least holds, a text.
func lineLike(lines []string, from int, text string) (int, bool) {
	for i := from; i < len(lines); i++ {
		if strings.TrimSpace(lines[i]) == text {
			return i, true
		}
	}
	for i := from; i < len(lines); i++ {
		if strings.Contains(lines[i], text) {
			return i, true
		}
	}
	return 0, false
}

func closest(places []int, want int) int {
	best := places[0]
	for _, p := range places {
		if max(p-want, want-p) < max(best-want, want-best) {
			best = p
		}
	}
	return best
}

// put replaces the lines at a place, and returns all lines and how many stand there now. Unchanged lines stay as the
// file has them.
func (h hunkPatch) put(lines []string, at int) (all []string, size int) {
	next := at
	var now []string
	for _, l := range h.lines {
		switch l.op {
		case ' ':
			now = append(now, lines[next])
			next++
		case '-':
			next++
		case '+':
			now = append(now, l.text+"\n")
		}
	}
	atEnd := next == len(lines)
	ended := len(lines) == 0 || strings.HasSuffix(lines[len(lines)-1], "\n")
	all = make([]string, 0, len(lines)+len(now))
	all = append(append(append(all, lines[:at]...), now...), lines[next:]...)
	// Only the last line may lack its end.
	for i := range all[:max(0, len(all)-1)] {
		if !strings.HasSuffix(all[i], "\n") {
			all[i] += "\n"
		}
	}
	if last := len(all) - 1; atEnd && last >= 0 {
		wanted := ended
		if h.oldUnended || h.newUnended {
			wanted = !h.newUnended
		}
		text := strings.TrimSuffix(all[last], "\n")
		if wanted {
			text += "\n"
		}
		all[last] = text
	}
	return all, len(now)
}

// shownMiss is a miss as the model reads it, with the name of the file.
func shownMiss(path string, m *miss) string {
	s := "FAILED: nothing was changed. " + path + ": " + m.plain
	if m.shown != "" {
		s += "\n" + textfile.Valid(m.shown)
	}
	return s
}
