package probe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackline-ai/jackline/model"
)

const (
	// passes is the share of full marks from which a check counts as passed: four of five times.
	passes = 0.8
	// half is the mark for what is right in part, and the least that is worth something.
	half = 0.5
	// full is a score that no other way can beat by much.
	full = 0.999
	// clearly is by how much the score of a later way must be above that of an earlier one to be preferred: less is chance.
	clearly = 0.15
)

// fewTools is the budget of tools of a model that finds its tool among a few, but not among manyTools: those that a turn in the
// smallest window has.
const fewTools = 8

// Budgets of steps, by window: what is done in more steps needs room for their results.
const (
	someSteps, someWindow = 20, 8 << 10
	manySteps, manyWindow = 200, 32 << 10
)

func shareOf(w model.Way, id string) float64 {
	for _, g := range w.Grades {
		if g.Check == id {
			return g.Share
		}
	}
	return 0
}

// fit reports whether a way does what turns need.
func fit(w model.Way) bool {
	return shareOf(w, forced) >= passes && shareOf(w, free) >= half && shareOf(w, types) >= half && shareOf(w, stops) >= half && shareOf(w, invents) >= half
}

// choose takes the best way: the first that is fit, unless a later one is clearly better. Where none is fit, what can do most
// is better than nothing, as long as it can do something.
func (p *prober) choose() *Way {
	best := -1
	better := func(a, b model.Way) bool {
		if a.Fit != b.Fit {
			return a.Fit
		}
		return a.Score > b.Score+clearly
	}
	calls := func(w model.Way) bool { return shareOf(w, forced)+shareOf(w, free) > 0 }
	for i, w := range p.v.Ways {
		if calls(w) && (best < 0 || better(w, p.v.Ways[best])) {
			best = i
		}
	}
	if best < 0 {
		p.v.Why = "The model made no call in any way that was tried. It can be talked to, but tools are of no use to it."
		for i, w := range p.o.Ways {
			if w.Model != nil && p.v.Ways[i].Why == "" {
				return &p.o.Ways[i] // to measure its speed
			}
		}
		return nil
	}
	w := p.v.Ways[best]
	p.v.Mode, p.v.Passed = w.Mode, w.Fit
	percent := fmt.Sprintf("%.0f of 100 points", w.Score*100)
	switch {
	case !w.Fit:
		p.v.Why = "Calls in mode " + w.Mode + " work best, with " + percent + ", but not well: " + flaws(w) + "."
	case w.Score >= full:
		p.v.Why = "Calls in mode " + w.Mode + " have full marks."
	default:
		p.v.Why = "Calls in mode " + w.Mode + " do what turns need, with " + percent + "."
	}
	return &p.o.Ways[best]
}

// flaws names the checks that a way did not pass.
func flaws(w model.Way) string {
	var list []string
	for _, g := range w.Grades {
		if g.Verdict == model.Fail && g.Check != many && g.Check != parallel {
			list = append(list, "“"+g.Title+"”")
		}
	}
	if len(list) == 0 {
		return "much of it only in part"
	}
	return "it fails " + strings.Join(list, ", ")
}

// budgets says how much the model may be trusted with, by what it has shown.
func (p *prober) budgets(best *Way) {
	if !p.v.Passed {
		return
	}
	var w model.Way
	for _, x := range p.v.Ways {
		if x.Mode == p.v.Mode {
			w = x
		}
	}
	p.v.ToolBudget = fewTools
	if shareOf(w, many) >= passes {
		p.v.ToolBudget = manyTools
	}
	if shareOf(w, free) < passes || shareOf(w, stops) < passes || shareOf(w, invents) < passes {
		return // it would go on and on
	}
	p.v.StepBudget = Steps(best.Model.Info().Window)
}

// Steps is how many model requests a turn may take by default with a model that has passed, in a window of so many tokens; 0 is
// as for all models.
func Steps(window int) int {
	switch {
	case window >= manyWindow:
		return manySteps
	case window >= someWindow:
		return someSteps
	}
	return 0
}

const (
	speedTokens = 64  // of the answer by which the speed is measured: some seconds on a small machine
	speedLines  = 60  // of the prompt: about a thousand tokens, as many as a turn begins with
	leastRead   = 100 // tokens without which a speed says nothing
	leastWrote  = 8
)

// speedTime is how long the speed is measured. A machine that is slower than that is slow enough to be known by its other answers.
const speedTime = 2 * time.Minute

// A tally is how many tokens were read and written in which time: by the engine's clock, or else by ours.
type tally struct {
	read, wrote      int
	reading, writing time.Duration
	ours             bool
}

func (t *tally) add(got answer) {
	u := got.usage
	if u == nil {
		return
	}
	read, wrote, reading, writing := u.Prompt-u.Cached, u.Completion, u.Reading, u.Writing
	if writing == 0 {
		t.ours = true
		wrote, reading, writing = u.Completion-1, got.first, got.took-got.first
	}
	t.read, t.wrote, t.reading, t.writing = t.read+read, t.wrote+max(wrote, 0), t.reading+reading, t.writing+writing
}

// speed measures how fast prompts are read and answers written.
func (p *prober) speed(ctx context.Context, w *Way) error {
	p.tell("how fast it is")
	var b strings.Builder
	fmt.Fprintf(&b, "List %d of the store.\n", time.Now().UnixNano()) // no cache has it
	for i := range speedLines {
		fmt.Fprintf(&b, "Shelf %d holds %d boxes of paper.\n", i+1, (i*37)%91)
	}
	b.WriteString("Count from 1 to 50, in digits, separated by commas.")
	r := sends(nil, says(b.String()))
	r.MaxTokens = speedTokens
	limited, cancel := context.WithTimeout(ctx, speedTime)
	defer cancel()
	got, err := (&asker{p: p, way: *w}).ask(limited, r)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t := p.tally // of all answers so far
	if err == nil && got.usage != nil {
		t = tally{}
		t.add(got)
	}
	if t.read >= leastRead && t.reading > 0 {
		p.v.Reads = rate(t.read, t.reading)
	}
	if t.wrote >= leastWrote && t.writing > 0 {
		p.v.Writes = rate(t.wrote, t.writing)
	}
	if p.v.Reads > 0 || p.v.Writes > 0 {
		p.v.Measured = "engine"
		if t.ours {
			p.v.Measured = "clock"
		}
	}
	return nil
}

// rate is tokens a second, to three places.
func rate(tokens int, took time.Duration) float64 {
	const most = 1e6 // more is no measurement
	r := float64(tokens) / took.Seconds()
	switch {
	case r > most:
		return 0
	case r >= 100:
		return float64(int(r + 0.5))
	}
	return float64(int(r*10+0.5)) / 10
}
