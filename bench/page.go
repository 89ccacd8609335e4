package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// results are all that was measured, in milliseconds and MB.
type results struct {
	floor, native, text      []spans
	floorStart, start, ready []float64
	oneShot, idle            []float64
}

// median is the middle of some figures: one run that was disturbed does not count.
func median(all []float64) float64 {
	s := slices.Sorted(slices.Values(all))
	if len(s) == 0 {
		return 0
	}
	return s[len(s)/2]
}

// of is the median of one figure of several runs.
func of(all []spans, f func(spans) float64) float64 {
	var figures []float64
	for _, s := range all {
		figures = append(figures, f(s))
	}
	return median(figures)
}

// page writes the figures down beside the budgets that they are held to.
func (r results) page(runs int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Performance

<!-- Written by make performance. -->

What Jackline itself costs, beside a model that answers at once. Everything is measured from outside on the real program, with
its log, its gate and somebody who watches the events; a bare loop that does the same work without any of it is the floor. Both
take turns, so that a busy machine slows both. Medians of %d runs on %s/%s with %d cores, %s.

## A step

Each step of the task reads another file. The figures are means over 20 steps around the one that is named, in milliseconds.

| step | floor | native calls | times the floor | calls in text | times the floor |
|---|---|---|---|---|---|
`, runs, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	at := []struct {
		n int
		f func(spans) float64
	}{
		{20, func(s spans) float64 { return s.at20 }}, {400, func(s spans) float64 { return s.at400 }}, {1000, func(s spans) float64 { return s.at1000 }},
	}
	for _, a := range at {
		floor, native, text := of(r.floor, a.f), of(r.native, a.f), of(r.text, a.f)
		fmt.Fprintf(&b, "| %d | %.3f | %.2f | %.1f | %.2f | %.1f |\n", a.n, floor, native, native/floor, text, text/floor)
	}
	first := at[0].f
	b.WriteString("\n## Budgets\n\n| what | budget | measured | |\n|---|---|---|---|\n")
	row := func(what, unit string, budget, got float64) {
		mark := "kept"
		if got > budget {
			mark = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %g %s | %.2f %s | %s |\n", what, budget, unit, got, unit, mark)
	}
	row("a step, native calls", "ms", 1, of(r.native, first))
	row("a step, calls in text", "ms", 1, of(r.text, first))
	row("the same, native, beside the floor", "times", 6, of(r.native, first)/of(r.floor, first))
	row("the same, in text, beside the floor", "times", 6, of(r.text, first)/of(r.floor, first))
	row("step 400 beside step 20, native", "times", 2, of(r.native, at[1].f)/of(r.native, first))
	row("step 400 beside step 20, in text", "times", 2, of(r.text, at[1].f)/of(r.text, first))
	row("step 1,000 beside step 20, native", "times", 3, of(r.native, at[2].f)/of(r.native, first))
	row("step 1,000 beside step 20, in text", "times", 3, of(r.text, at[2].f)/of(r.text, first))
	row("from the start of a one-shot to its first request", "ms", 15, median(r.start))
	row("the same, beside the floor", "times", 4, median(r.start)/median(r.floorStart))
	row("a server is ready", "ms", 100, median(r.ready))
	row("most memory of a one-shot", "MB", 25, median(r.oneShot))
	row("memory of an idle server", "MB", 30, median(r.idle))
	return b.String()
}
