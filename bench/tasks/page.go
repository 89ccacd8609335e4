package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The marks between which the page is written by this program.
const (
	opening = "<!-- written by make test-model -->\n"
	closing = "<!-- /written by make test-model -->\n"
)

// put replaces what stands between the marks of a page.
func put(name, section string) error {
	text, err := os.ReadFile(name) //nolint:gosec // a page of the project
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(text), opening)
	_, after, closed := strings.Cut(rest, closing)
	if !ok || !closed {
		return fmt.Errorf("%s has no place for the table: %q and %q", name, strings.TrimSpace(opening), strings.TrimSpace(closing))
	}
	return os.WriteFile(name, []byte(before+opening+section+closing+after), 0o644) //nolint:gosec // a page of the project
}

// page writes how it was measured, and the tables.
func page(s setup, day time.Time, tasks []task, times int, all []result) string {
	var b strings.Builder
	b.WriteString(wrap(fmt.Sprintf("Measured on %s: %s with %s in %s, through the adapter %q, on %s. Window %d tokens, at most %d steps and %v for a task. "+
		"%d tasks, %s in each way, each in a workspace of its own, in the mode allow-all, with the tools that are there without network, except %s. "+
		"Nothing is looked up ahead, nothing is repeated. %s", day.Format("2 January 2006"), s.Program, s.Weights, s.Engine, s.API, s.Machine, s.Window,
		s.Steps, s.Time, len(tasks), often(times), strings.ReplaceAll(withheld, ",", " and "), before(s.Shown))) + "\n\n")
	modes := ways(all)
	b.WriteString("| way | runs | calls begun | readable | valid | runs with a call that fits | tasks done | broke off | tokens read, written a run | seconds a run, median |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, mode := range modes {
		var sum tally
		runs, fits, done, broke := 0, 0, 0, 0
		var took []int64
		for _, r := range all {
			if r.Mode != mode {
				continue
			}
			runs++
			sum.Tried += r.Tried
			sum.Read += r.Read
			sum.Valid += r.Valid
			sum.In += r.In
			sum.Out += r.Out
			took = append(took, r.MS)
			fits += one(r.Right > 0)
			done += one(r.Done)
			broke += one(r.Failed != "" || !r.Answer)
		}
		slices.Sort(took)
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s | %s | %s | %d | %d, %d | %.1f |\n", mode, runs, sum.Tried, share(sum.Read, sum.Tried), share(sum.Valid, sum.Tried),
			share(fits, runs), share(done, runs), broke, sum.In/runs, sum.Out/runs, float64(took[runs/2])/1000) //nolint:mnd // milliseconds
	}
	fmt.Fprintf(&b, "\nHow often each was done:\n\n| task | %s |\n|---|%s\n", strings.Join(modes, " | "), strings.Repeat("---|", len(modes)))
	for _, t := range tasks {
		fmt.Fprintf(&b, "| %s |", strings.ReplaceAll(t.prompt, "|", `\|`))
		for _, mode := range modes {
			runs, done := 0, 0
			for _, r := range all {
				if r.Mode == mode && r.Task == t.name {
					runs++
					done += one(r.Done)
				}
			}
			fmt.Fprintf(&b, " %d of %d |", done, runs)
		}
		b.WriteString("\n")
	}
	return b.String()
}

// often says how many times.
func often(times int) string {
	if times == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times each", times)
}

// width is that of the lines of the documents.
const width = 118

// wrap breaks text into lines.
func wrap(text string) string {
	var b strings.Builder
	at := 0
	for word := range strings.FieldsSeq(text) {
		switch n := utf8.RuneCountInString(word); {
		case at == 0:
			at = n
		case at+1+n > width:
			b.WriteByte('\n')
			at = n
		default:
			b.WriteByte(' ')
			at += 1 + n
		}
		b.WriteString(word)
	}
	return b.String()
}

// before says what stands in the chat when the task is asked.
func before(shown bool) string {
	if !shown {
		return "The chat is new."
	}
	var all []string
	for _, t := range readShown(shownText).turns {
		all = append(all, strconv.Quote(t.prompt))
	}
	return "In the chat a scripted model has done other things before, with a call each: " + strings.Join(all, ", ") + "."
}

// ways are the ways of calling that were measured, in their order.
func ways(all []result) (modes []string) {
	for _, r := range all {
		if !slices.Contains(modes, r.Mode) {
			modes = append(modes, r.Mode)
		}
	}
	return modes
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// share is a part of a whole, with its percentage.
func share(part, whole int) string {
	if whole == 0 {
		return fmt.Sprint(part)
	}
	return fmt.Sprintf("%d (%d %%)", part, (200*part+whole)/(2*whole)) //nolint:mnd // rounded
}
