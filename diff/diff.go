// Package diff says how two texts differ: how many lines came and went, and a unified patch to show.
package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
)

// Limits of a diff: beyond them it is coarser or cut, never slow.
const (
	maxEdits  = 1000 // lines that differ, before everything between the first and last difference counts as replaced
	hunkLines = 3    // unchanged lines around a change

	// MaxPatch bounds the bytes of a patch, but for its last hunk: more than a call can write anew.
	MaxPatch = 2 << 20
)

// Of is what a change of a file comes to, with a patch to show.
func Of(path, change, before, after string) jackline.Diff {
	d := jackline.Diff{Path: path, Change: change}
	a, b := Lines(before), Lines(after)
	edits := diffLines(a, b)
	for _, e := range edits {
		switch e.op {
		case '+':
			d.Added++
		case '-':
			d.Gone++
		}
	}
	d.Patch = unified(edits)
	return d
}

// Lines splits s into lines that keep their ends, so that a missing last one is a difference.
func Lines(s string) []string {
	return slices.Collect(strings.Lines(s))
}

// An edit is one line of a diff: ' ' for a line that stays, '-' and '+' for one that goes and comes. a and b are the
// line's places before and after.
type edit struct {
	op   byte
	a, b int
	text string
}

// diffLines finds a shortest way from a to b.
func diffLines(a, b []string) []edit {
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	endA, endB := len(a), len(b)
	for endA > start && endB > start && a[endA-1] == b[endB-1] {
		endA--
		endB--
	}
	var edits []edit
	for i := range start {
		edits = append(edits, edit{' ', i, i, a[i]})
	}
	edits = append(edits, middle(a[start:endA], b[start:endB], start)...)
	for i := endA; i < len(a); i++ {
		edits = append(edits, edit{' ', i, endB + i - endA, a[i]})
	}
	return edits
}

// middle is Myers' greedy algorithm. trace keeps the furthest points of every round, to walk back along.
func middle(a, b []string, offset int) []edit {
	n, m := len(a), len(b)
	most := min(n+m, maxEdits)
	v := make([]int32, 2*most+3)
	at := func(k int) int { return k + most + 1 }
	var trace [][]int32
	for d := 0; d <= most; d++ {
		trace = append(trace, slices.Clone(v[at(-d-1):at(d+1)+1]))
		for k := -d; k <= d; k += 2 {
			x := int(v[at(k-1)]) + 1
			if k == -d || k != d && v[at(k-1)] < v[at(k+1)] {
				x = int(v[at(k+1)])
			}
			for x < n && x-k < m && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			v[at(k)] = int32(x)
			if x >= n && x-k >= m {
				return back(a, b, offset, trace)
			}
		}
	}
	var edits []edit
	for i, l := range a {
		edits = append(edits, edit{'-', offset + i, offset, l})
	}
	for i, l := range b {
		edits = append(edits, edit{'+', offset + n, offset + i, l})
	}
	return edits
}

func back(a, b []string, offset int, trace [][]int32) []edit {
	var edits []edit
	x, y := len(a), len(b)
	for d := len(trace) - 1; d >= 0; d-- {
		v := trace[d] // of the points k = -d-1 … d+1 before round d
		get := func(k int) int { return int(v[k+d+1]) }
		k := x - y
		prev := k - 1
		if k == -d || k != d && get(k-1) < get(k+1) {
			prev = k + 1
		}
		px := get(prev)
		py := px - prev
		if d == 0 {
			px, py = 0, 0
		}
		for x > px && y > py {
			x--
			y--
			edits = append(edits, edit{' ', offset + x, offset + y, a[x]})
		}
		if d == 0 {
			break
		}
		if x == px {
			y--
			edits = append(edits, edit{'+', offset + x, offset + y, b[y]})
		} else {
			x--
			edits = append(edits, edit{'-', offset + x, offset + y, a[x]})
		}
	}
	slices.Reverse(edits)
	return edits
}

// unified writes the changed places with lines around them.
func unified(edits []edit) string {
	var b strings.Builder
	for i := 0; i < len(edits); {
		if edits[i].op == ' ' {
			i++
			continue
		}
		from := max(0, i-hunkLines)
		last := i
		for k := i; k < len(edits) && k <= last+2*hunkLines; k++ {
			if edits[k].op != ' ' {
				last = k
			}
		}
		to := min(len(edits), last+hunkLines+1)
		hunk(&b, edits[from:to])
		if b.Len() > MaxPatch {
			return strings.ToValidUTF8(b.String()[:MaxPatch], "") + "\n[the rest is not shown]\n"
		}
		i = to
	}
	return b.String()
}

func hunk(b *strings.Builder, edits []edit) {
	var olds, news int
	for _, e := range edits {
		if e.op != '+' {
			olds++
		}
		if e.op != '-' {
			news++
		}
	}
	first := edits[0]
	fmt.Fprintf(b, "@@ -%s +%s @@\n", span(first.a, olds), span(first.b, news))
	for _, e := range edits {
		text, whole := strings.CutSuffix(e.text, "\n")
		b.WriteByte(e.op)
		b.WriteString(strings.ToValidUTF8(text, "\ufffd"))
		b.WriteByte('\n')
		if !whole {
			b.WriteString("\\ No newline at end of file\n")
		}
	}
}

// span writes where a hunk is: an empty one stands after the line before it.
func span(start, lines int) string {
	switch lines {
	case 0:
		return fmt.Sprintf("%d,0", start)
	case 1:
		return fmt.Sprintf("%d", start+1)
	}
	return fmt.Sprintf("%d,%d", start+1, lines)
}
