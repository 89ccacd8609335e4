package builtin

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline"
)

// A filePatch is what a patch wants of one file.
type filePatch struct {
	op    patchOp
	path  string
	to    string // where it moves; "" where it stays
	hunks []hunkPatch
	body  string // of a file that is added without hunks
}

// patchOp is the kind of a change.
type patchOp int

const (
	patchEdit patchOp = iota
	patchAdd
	patchDelete
)

// A hunkPatch is one place of a file: the lines that are there, and what becomes of them.
type hunkPatch struct {
	at    int    // the line where it is expected, from 1; 0 is unknown
	near  string // a line above it; "" is none
	end   bool   // it stands at the end of the file
	lines []patchLine

	oldUnended, newUnended bool // the last line before, or after, has no line end
}

// A patchLine is ' ', '-' or '+' and a text.
type patchLine struct {
	op   byte
	text string
}

// Limits of a patch.
const (
	maxPatchFiles = 50
	maxPatchLines = 50_000
)

// parsePatch reads a patch in either form: a unified diff, or the one between "*** Begin Patch" and "*** End Patch".
func parsePatch(text string) ([]filePatch, error) {
	p := patchReader{lines: strings.Split(strings.TrimRight(unixEnds(text), "\n"), "\n")}
	p.unfence()
	if len(p.lines) > maxPatchLines {
		return nil, p.wrong("The patch has more than %d lines; send it in parts.", maxPatchLines)
	}
	var err error
	if p.begins("*** Begin Patch", "*** Update File:", "*** Add File:", "*** Delete File:") {
		err = p.marked()
	} else {
		err = p.unified()
	}
	switch {
	case err != nil:
		return nil, err
	case len(p.files) == 0:
		return nil, p.wrong("There is no file in the patch. Begin with *** Begin Patch and *** Update File: PATH, or send a unified diff.")
	case len(p.files) > maxPatchFiles:
		return nil, p.wrong("The patch changes more than %d files; send it in parts.", maxPatchFiles)
	}
	for _, f := range p.files {
		if f.path == "" {
			return nil, p.wrong("A file in the patch has no path.")
		}
		if f.op == patchEdit && f.to == "" && len(f.hunks) == 0 {
			return nil, p.wrong("The patch changes nothing in %s.", f.path)
		}
	}
	return p.files, nil
}

type patchReader struct {
	lines []string
	next  int
	files []filePatch
}

func (p *patchReader) wrong(format string, a ...any) error {
	return jackline.E("builtin.patch", jackline.Unprocessed, nil, format, a...)
}

// unfence takes off the fence that models put around a patch.
func (p *patchReader) unfence() {
	for len(p.lines) > 0 && strings.TrimSpace(p.lines[0]) == "" {
		p.lines = p.lines[1:]
	}
	if n := len(p.lines); n > 1 && strings.HasPrefix(p.lines[0], "```") && strings.TrimSpace(p.lines[n-1]) == "```" {
		p.lines = p.lines[1 : n-1]
	}
}

// begins reports whether one of the first lines starts with one of marks.
func (p *patchReader) begins(marks ...string) bool {
	const looked = 5
	for _, l := range p.lines[:min(len(p.lines), looked)] {
		for _, m := range marks {
			if strings.HasPrefix(l, m) {
				return true
			}
		}
	}
	return false
}

// marked reads the form with *** lines.
func (p *patchReader) marked() error {
	whole := false
	for p.next < len(p.lines) {
		l := p.lines[p.next]
		p.next++
		head, rest, _ := strings.Cut(l, ": ")
		rest = strings.TrimSpace(rest)
		switch {
		case strings.HasPrefix(l, "*** Begin Patch"):
			whole = true
		case strings.HasPrefix(l, "*** End Patch"):
			return nil
		case head == "*** Add File":
			f := filePatch{op: patchAdd, path: rest}
			var b strings.Builder
			for p.next < len(p.lines) && !strings.HasPrefix(p.lines[p.next], "*** ") {
				text, ok := strings.CutPrefix(p.lines[p.next], "+")
				if !ok && strings.TrimSpace(text) != "" {
					return p.wrong("Line %d of the patch: the lines of a new file start with +.", p.next+1)
				}
				b.WriteString(text + "\n")
				p.next++
			}
			f.body = b.String()
			p.files = append(p.files, f)
		case head == "*** Delete File":
			p.files = append(p.files, filePatch{op: patchDelete, path: rest})
		case head == "*** Update File":
			f := filePatch{path: rest}
			if p.next < len(p.lines) {
				if to, ok := strings.CutPrefix(p.lines[p.next], "*** Move to: "); ok {
					f.to = strings.TrimSpace(to)
					p.next++
				}
			}
			if err := p.hunks(&f); err != nil {
				return err
			}
			p.files = append(p.files, f)
		case strings.TrimSpace(l) == "":
		default:
			return p.wrong("Line %d of the patch: expected *** Update File: PATH, *** Add File: PATH, *** Delete File: PATH or *** End Patch.", p.next)
		}
	}
	if whole {
		return p.wrong("The patch does not end with *** End Patch; send it whole.")
	}
	return nil
}

// hunks reads the changes of one file in the marked form.
func (p *patchReader) hunks(f *filePatch) error {
	var h *hunkPatch
	for ; p.next < len(p.lines); p.next++ {
		l := p.lines[p.next]
		switch {
		case strings.HasPrefix(l, "*** End of File"):
			if h != nil {
				h.end = true
			}
			continue
		case strings.HasPrefix(l, "*** "):
			return nil
		case strings.HasPrefix(l, "@@"):
			f.hunks = append(f.hunks, hunkHead(l))
			h = &f.hunks[len(f.hunks)-1]
			continue
		case l == "" && p.breaks(p.next+1):
			continue
		}
		if h == nil {
			f.hunks = append(f.hunks, hunkPatch{})
			h = &f.hunks[0]
		}
		if !h.add(l) {
			return p.wrong("Line %d of the patch: lines start with a blank, - or +.", p.next+1)
		}
	}
	return nil
}

// add takes one line of a hunk. An empty one is an unchanged empty line, whose blank somebody has trimmed.
func (h *hunkPatch) add(l string) bool {
	switch {
	case l == "":
		h.lines = append(h.lines, patchLine{' ', ""})
	case l[0] == ' ', l[0] == '-', l[0] == '+':
		h.lines = append(h.lines, patchLine{l[0], l[1:]})
	case strings.HasPrefix(l, `\ `):
		if n := len(h.lines); n > 0 {
			h.oldUnended = h.oldUnended || h.lines[n-1].op != '+'
			h.newUnended = h.newUnended || h.lines[n-1].op != '-'
		}
	default:
		return false
	}
	return true
}

// hunkHead reads a line that starts with @@: places, or a line that stands above.
func hunkHead(l string) hunkPatch {
	m := regexp.MustCompile(`^@@ -(\d{1,9})(?:,\d+)? \+\d+(?:,\d+)? @@`).FindStringSubmatch(l)
	if m != nil {
		at, err := strconv.Atoi(m[1])
		if err != nil {
			return hunkPatch{}
		}
		return hunkPatch{at: at}
	}
	near := strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(l, "@@"), "@@"))
	if strings.Trim(near, ".-+,0123456789 ") == "" {
		near = ""
	}
	return hunkPatch{near: near}
}

// unified reads a unified diff, as diff and git write it. The counts of lines are not believed: models cannot count.
func (p *patchReader) unified() error {
	var f *filePatch
	open := func() *filePatch {
		p.files = append(p.files, filePatch{})
		return &p.files[len(p.files)-1]
	}
	for p.next < len(p.lines) {
		l := p.lines[p.next]
		p.next++
		switch {
		case strings.HasPrefix(l, "diff --git "):
			f = open()
		case strings.HasPrefix(l, "GIT binary patch"), strings.HasPrefix(l, "Binary files "):
			return p.wrong("Line %d of the patch: binary files cannot be patched.", p.next)
		case strings.HasPrefix(l, "rename from "), strings.HasPrefix(l, "rename to "):
			if f == nil {
				f = open()
			}
			if from, ok := strings.CutPrefix(l, "rename from "); ok {
				f.path = from
			} else {
				f.to = strings.TrimPrefix(l, "rename to ")
			}
		case strings.HasPrefix(l, "copy from "):
			return p.wrong("Line %d of the patch: copies are not understood; add the file whole.", p.next)
		case p.fileHead(p.next - 1):
			if f == nil || f.path != "" && f.to == "" || len(f.hunks) > 0 {
				f = open()
			}
			if err := f.names(l[4:], p.lines[p.next][4:]); err != nil {
				return err
			}
			p.next++
		case strings.HasPrefix(l, "@@"):
			if f == nil || f.path == "" {
				return p.wrong("Line %d of the patch: there is no --- and +++ line with the file's path above.", p.next)
			}
			f.hunks = append(f.hunks, hunkHead(l))
			p.hunk(&f.hunks[len(f.hunks)-1])
		}
	}
	// A section that only changes a mode names no file and changes nothing.
	kept := p.files[:0]
	for _, f := range p.files {
		if f.path != "" {
			kept = append(kept, f)
		}
	}
	p.files = kept
	return nil
}

// fileHead reports whether a file's two lines stand at i.
func (p *patchReader) fileHead(i int) bool {
	return i+1 < len(p.lines) && strings.HasPrefix(p.lines[i], "--- ") && strings.HasPrefix(p.lines[i+1], "+++ ")
}

// hunk reads lines up to the next hunk or file.
func (p *patchReader) hunk(h *hunkPatch) {
	for ; p.next < len(p.lines); p.next++ {
		l := p.lines[p.next]
		if strings.HasPrefix(l, "@@") || strings.HasPrefix(l, "diff --git ") {
			return
		}
		if l == "" && p.breaks(p.next+1) || l == "-- " && p.next+2 >= len(p.lines) { // the end of a mail
			continue
		}
		if p.fileHead(p.next) && p.next+2 < len(p.lines) && strings.HasPrefix(p.lines[p.next+2], "@@") {
			return
		}
		if !h.add(l) {
			return
		}
	}
}

// breaks reports whether something new begins at i: an empty line before it is between things, not part of one.
func (p *patchReader) breaks(i int) bool {
	if i >= len(p.lines) {
		return true
	}
	l := p.lines[i]
	return strings.HasPrefix(l, "@@") || strings.HasPrefix(l, "*** ") || strings.HasPrefix(l, "diff --git ") || p.fileHead(i)
}

// names takes the paths of a file's two lines.
func (f *filePatch) names(old, now string) error {
	old, now = patchPath(old), patchPath(now)
	if strings.HasPrefix(old, `"`) || strings.HasPrefix(now, `"`) {
		return jackline.E("builtin.patch", jackline.Unprocessed, nil,
			"The path %s in the patch is quoted; write it plainly.", old)
	}
	bare := func(p, prefix string) string { return strings.TrimPrefix(p, prefix) }
	switch {
	case old == "/dev/null":
		f.op, f.path = patchAdd, bare(now, "b/")
	case now == "/dev/null":
		f.op, f.path = patchDelete, bare(old, "a/")
	case strings.HasPrefix(old, "a/") && strings.HasPrefix(now, "b/"):
		old, now = old[2:], now[2:]
		fallthrough
	default:
		if f.path = old; old != now {
			f.to = now
		}
	}
	return nil
}

// patchPath is the path without the time that diff writes behind it.
func patchPath(s string) string {
	s, _, _ = strings.Cut(s, "\t")
	return strings.TrimSpace(s)
}
