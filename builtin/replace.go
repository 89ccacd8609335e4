package builtin

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline/workspace/textfile"
)

// A miss says why a piece of text could not be replaced.
type miss struct {
	plain string // holds nothing of the file but line numbers
	shown string // the lines of the file that help
}

// Limits of looking for the place that was meant.
const (
	maxShown   = 12      // lines that are shown
	maxPlaces  = 10      // line numbers that are listed
	maxCompare = 4 << 20 // pairs of lines compared, so that a long text in a long file ends
)

// replace puts with in the place of old in body, once or everywhere. It looks for old as it is written first, then for
// the same lines without regard to blanks at their ends, and then without the line numbers that a listing shows and a
// model copies. how tells the model of anything but the first.
func replace(body, old, with string, all, crlf bool) (after string, n int, how string, m *miss) {
	if crlf {
		body, old, with = unixEnds(body), unixEnds(old), unixEnds(with)
		defer func() { after = strings.ReplaceAll(after, "\n", "\r\n") }()
	}
	switch {
	case old == "" && body == "":
		return with, 1, "", nil
	case old == "":
		return "", 0, "", &miss{plain: "old is empty; copy the text that is to be replaced from the file."}
	case old == with:
		return "", 0, "", &miss{plain: "old and new are the same, so nothing would change."}
	}
	if n = strings.Count(body, old); n == 1 || n > 1 && all {
		return strings.ReplaceAll(body, old, with), n, "", nil
	} else if n > 1 {
		return "", 0, "", several(exactLines(body, old))
	}
	lines := strings.SplitAfter(body, "\n")
	for _, try := range []struct{ old, with, how string }{
		{old, with, " Blanks at line ends were not compared."},
		{unnumbered(old), unnumbered(with), " Line numbers in old were left out."},
	} {
		if try.old == "" {
			continue
		}
		places := looseLines(lines, wanted(try.old))
		switch {
		case len(places) == 0:
			continue
		case len(places) > 1 && !all:
			return "", 0, "", several(places)
		}
		return putLines(lines, places, len(wanted(try.old)), try.with), len(places), try.how, nil
	}
	return "", 0, "", nearest(lines, wanted(old))
}

func unixEnds(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// wanted are the lines of a text, for comparing.
func wanted(s string) []string {
	lines := textfile.Lines(s)
	for i, l := range lines {
		lines[i] = trimEnd(l)
	}
	return lines
}

func trimEnd(l string) string { return strings.TrimRight(l, " \t\r\n") }

// exactLines are the numbers of the lines in which old begins.
func exactLines(body, old string) (numbers []int) {
	line, from := 1, 0
	for len(numbers) <= maxPlaces {
		i := strings.Index(body[from:], old)
		if i < 0 {
			break
		}
		line += strings.Count(body[from:from+i], "\n")
		numbers = append(numbers, line)
		line += strings.Count(old, "\n")
		from += i + len(old)
	}
	return numbers
}

// looseLines are the numbers of the lines at which the wanted lines stand, blanks at line ends aside.
func looseLines(lines, want []string) (numbers []int) {
	if len(want) == 0 || strings.Join(want, "") == "" {
		return nil
	}
	budget := maxCompare
	for i := 0; i+len(want) <= len(lines) && budget > 0; i++ {
		k := 0
		for k < len(want) && trimEnd(lines[i+k]) == want[k] {
			k++
		}
		budget -= k + 1
		if k == len(want) {
			numbers = append(numbers, i+1)
			i += k - 1
		}
	}
	return numbers
}

// putLines replaces size lines at each of the places by a text. The last line's end stays as it is.
func putLines(lines []string, places []int, size int, with string) string {
	var b strings.Builder
	next := 0
	for _, p := range places {
		for ; next < p-1; next++ {
			b.WriteString(lines[next])
		}
		next += size
		text := strings.TrimSuffix(with, "\n")
		b.WriteString(text)
		if end := lines[next-1]; strings.HasSuffix(end, "\n") && text != "" {
			b.WriteByte('\n')
		}
	}
	for ; next < len(lines); next++ {
		b.WriteString(lines[next])
	}
	return b.String()
}

// unnumbered takes line numbers off the lines of a text, or gives "" if any line has none.
func unnumbered(s string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, l := range lines {
		rest := strings.TrimLeft(l, " ")
		digits := strings.TrimLeft(rest, "0123456789")
		if len(digits) == len(rest) {
			return ""
		}
		switch {
		case digits == "":
			lines[i] = ""
		case strings.HasPrefix(digits, "\t"), strings.HasPrefix(digits, "|"):
			lines[i] = digits[1:]
		case strings.HasPrefix(digits, ": "):
			lines[i] = digits[2:]
		default:
			return ""
		}
	}
	return strings.Join(lines, "\n")
}

func several(numbers []int) *miss {
	list := make([]string, 0, len(numbers))
	for _, n := range numbers[:min(len(numbers), maxPlaces)] {
		list = append(list, strconv.Itoa(n))
	}
	more := ""
	if len(numbers) > maxPlaces {
		more = " and further ones"
	}
	return &miss{plain: fmt.Sprintf(
		"old is found in more than one place: lines %s%s. Give more of the text around it, or set all to replace every one.",
		strings.Join(list, ", "), more)}
}

// nearest finds the lines that are most like the wanted ones.
func nearest(lines, want []string) *miss {
	m := &miss{plain: "old was not found in the file. Read the file and copy the text exactly as it stands there."}
	if len(want) == 0 || len(lines) == 0 {
		return m
	}
	best, at := 0.0, -1
	budget := maxCompare
	for i := range lines {
		if budget -= len(want); budget < 0 {
			break
		}
		score := 0.0
		for k := 0; k < len(want) && i+k < len(lines); k++ {
			score += likeness(strings.TrimSpace(lines[i+k]), strings.TrimSpace(want[k]))
		}
		if score > best {
			best, at = score, i
		}
	}
	const enough = 0.4 // of a full match; less is chance
	if at < 0 || best < enough*float64(len(want)) {
		return m
	}
	from, to := max(0, at-1), min(len(lines), at+min(len(want), maxShown-2)+1)
	m.plain = fmt.Sprintf("old was not found in the file. The nearest text is at lines %d-%d; copy it exactly as it stands there.", from+1, to)
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "%d\t%s\n", i+1, cutLine(textfile.Valid(trimEnd(lines[i]))))
	}
	m.shown = strings.TrimSuffix(b.String(), "\n")
	return m
}

// likeness is how much of two lines' words is the same, from 0 to 1.
func likeness(a, b string) float64 {
	if a == b {
		if a == "" {
			return 0.1 // blank lines are everywhere
		}
		return 1
	}
	const most = 400 // bytes of a line that are compared
	a, b = a[:min(len(a), most)], b[:min(len(b), most)]
	wa, wb := strings.FieldsFunc(a, notWord), strings.FieldsFunc(b, notWord)
	if len(wa) == 0 || len(wb) == 0 {
		return 0
	}
	have := make(map[string]int, len(wa))
	for _, w := range wa {
		have[w]++
	}
	same := 0
	for _, w := range wb {
		if have[w] > 0 {
			have[w]--
			same++
		}
	}
	return 0.9 * 2 * float64(same) / float64(len(wa)+len(wb))
}

func notWord(r rune) bool {
	return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r < 0x80
}
