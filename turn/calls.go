package turn

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// settle takes the calls of the last step to their outcomes, in order. It waits when one of them waits for a
// person; the calls after it then come as far as their own questions, and no further.
func (r *run) settle(ctx context.Context) (waits bool, end *over, err error) {
	flooded := ""
	for k := range r.prior {
		if r.prior[k].State == jackline.CallEnded {
			continue
		}
		d, err := r.gate.Do(ctx, tool.Request{Who: r.actor(), Call: r.prior[k], Prior: r.prior[:k], Hold: waits, Limit: r.contract().Result, Zone: r.zone})
		if err != nil {
			return false, nil, err
		}
		r.prior[k] = d.Call
		r.rows[d.Call.ID] = d.Call
		if d.Flooded != "" {
			flooded = d.Flooded
			if !waits {
				// No card of this turn is open, so no answer would wake it: a person carries it on.
				return false, &over{status: jackline.StepLimit, reason: flooded}, nil
			}
			continue
		}
		if d.Wait != "" || d.Held {
			waits = true
			continue
		}
		r.s.Labels.Tainted = r.s.Labels.Tainted || d.Labels.Tainted
		r.s.Labels.Private = r.s.Labels.Private || d.Labels.Private
		if r.t.Options.OnAsk == jackline.AskFail && (d.Asked || d.Hard) {
			kind := "ask"
			if d.Hard {
				kind = "refused"
			}
			return false, &over{status: jackline.Failed, reason: d.Call.Title + ": " + d.Call.Reason, err: &jackline.Problem{Kind: kind, Text: d.Call.Reason}}, nil
		}
		r.t.Progress.Found = append(r.t.Progress.Found, d.Found...)
	}
	if waits {
		r.t.Status = jackline.Waiting
		r.t.Progress.SpentMS = r.running()
		r.began = time.Now()
		bodies := []jackline.Body{jackline.TurnStatus{Status: jackline.Waiting}}
		if flooded != "" {
			bodies = append(bodies, jackline.ErrorEvent{Problem: jackline.Problem{Kind: jackline.Conflict.String(), Text: flooded}})
		}
		return true, nil, r.append(ctx, jackline.Record{Turn: &r.t}, bodies...)
	}
	// What ended before a restart is looked at like what ended now.
	if r.collect() {
		r.describeFound(r.t.Progress.Found)
		r.t.Progress.Found = nil
		return false, nil, r.guard(ctx)
	}
	return false, nil, nil
}

// collect puts the outcomes of ended calls that the history does not have yet into the pending history. The history of a turn
// that was interrupted is made whole the same way. It reports whether there were any.
func (r *run) collect() bool {
	var add []jackline.Item
	for _, c := range r.prior {
		if c.State == jackline.CallEnded && !r.collected[c.ID] {
			r.collected[c.ID] = true
			add = append(add, jackline.Item{Turn: r.t.ID, Role: jackline.ItemResult, Call: c.ID})
		}
	}
	// Results come before the notes that speak of them.
	r.pending = append(add, r.pending...)
	return len(add) > 0
}

// cancelOpen gives the calls that have no outcome one, and withdraws the questions about them. What it returns is still to be
// written.
func (r *run) cancelOpen(ctx context.Context) (rec jackline.Record, bodies []jackline.Body, err error) {
	for k, c := range r.prior {
		if c.State == jackline.CallEnded {
			continue
		}
		c.Outcome, c.Text, c.Source = jackline.Cancelled, tool.CancelText, jackline.Ours
		if c.State == jackline.CallStarted && c.Acts {
			c.Outcome = jackline.Unknown
			c.Text = tool.UnknownText
		}
		c.State = jackline.CallEnded
		r.prior[k], r.rows[c.ID] = c, c
		rec.Calls = append(rec.Calls, c)
		rec.Audit = append(rec.Audit, tool.Abandoned(c, r.s, r.actor().Source))
		bodies = append(bodies, jackline.ToolResult{
			Call: c.ID, Name: c.Name, Outcome: c.Outcome, Text: c.Text, Label: c.Source, View: jackline.View{Shape: jackline.ViewText, Text: c.Text},
		})
	}
	if len(rec.Calls) > 0 {
		err = r.e.Desk.Withdraw(ctx, r.o, r.s.ID, r.t.ID)
	}
	return rec, bodies, err
}

// actor is who this turn's calls run for.
func (r *run) actor() jackline.Actor {
	a := jackline.Actor{Owner: r.o, Admin: r.o == jackline.Local, Session: r.s, Turn: r.t, Source: jackline.FromModel}
	if r.t.Depth > 0 {
		a.Source = jackline.FromAgent
	}
	return a
}

// roundTrips is how often a turn may come back to a call with the same result, whatever it did in between: tests are run more
// than once, but not without end.
const roundTrips = 8

// guard looks for a loop in the step that has just been settled: the same call with the same result, and no other
// effect in between. The second is told so, the third ends the turn after one more round without tools.
func (r *run) guard(ctx context.Context) error {
	step := r.t.Progress.Step
	if n := r.t.Progress.Dropped; n > 0 {
		r.t.Progress.Dropped = 0
		r.note(fmt.Sprintf("Only the first %d calls of the last step were taken, %d more were dropped. Make them again if they are still needed.", r.callsPerStep(), n))
	}
	worst := 0
	var what jackline.Call
	for k, c := range r.prior {
		if c.Step != step || r.finalTool(c.Name) {
			continue
		}
		same, ever, since := 0, 0, true
		for j := k - 1; j >= 0; j-- {
			p := r.prior[j]
			equal := p.Name == c.Name && string(p.Args) == string(c.Args)
			switch {
			case p.Step == 0 || p.Step == step && equal:
				// One step is one thought: the model has not seen the first result yet. What was looked up ahead it did not call.
			case equal && p.Outcome == c.Outcome && p.Text == c.Text:
				ever++
				if since {
					same++
				}
			case p.Acts && p.Outcome == jackline.OK:
				since = false // something else has happened in between
			}
		}
		if ever >= roundTrips {
			return r.trip(ctx, "The model goes in circles: it made the same call again and again, with the same result: "+c.Title+".")
		}
		if same > worst {
			worst, what = same, c
		}
		if c.Outcome == jackline.Errored && c.Cut && c.Acts {
			if r.t.Progress.CutRetry {
				return r.trip(ctx, "The model's calls kept being cut off before they were whole.")
			}
			r.t.Progress.CutRetry = true
		}
	}
	switch {
	case worst >= 2:
		return r.trip(ctx, "The model made the same call three times and got the same result: "+what.Title+".")
	case worst == 1:
		r.note("You have made exactly this call before, with the same result: " + what.Title + ". Use what you have, or do something else.")
	}
	return nil
}

// trip ends the turn after one last round without tools. That its record cannot be written ends it at once: the error may tell that
// an earlier one was lost that was not waited for.
func (r *run) trip(ctx context.Context, why string) error {
	if r.t.Progress.Salvage {
		return nil
	}
	r.t.Progress.Salvage, r.t.Progress.Guard = true, why
	return r.append(ctx, jackline.Record{Turn: &r.t}, jackline.LoopGuard{Reason: why})
}

func (r *run) finalTool(name string) bool {
	t, ok := r.gate.Tools.Lookup(name)
	return ok && t.Facts().Final
}

// note tells the model something in the program's own words.
func (r *run) note(text string) {
	r.pending = append(r.pending, jackline.Item{Turn: r.t.ID, Role: jackline.ItemNote, Text: text})
}

// steered takes the words that wait under [SteerKey].
func (r *run) steered(ctx context.Context) ([]string, error) {
	if r.looked && (r.ctl.Steered == nil || !r.ctl.Steered()) {
		return nil, nil
	}
	r.looked = true
	raw, err := r.state(ctx, SteerKey)
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	var words []string
	if err := json.Unmarshal(raw, &words); err != nil {
		r.report(err)
		return nil, nil
	}
	return words, nil
}

// titleOf is a session's name: the first words of its first prompt.
func titleOf(prompt string) string {
	const longest = 60 // characters; a row of the list holds about as many
	title := strings.Join(strings.Fields(prompt), " ")
	if title == "" {
		return "New chat"
	}
	r := []rune(title)
	if len(r) <= longest {
		return title
	}
	if cut := strings.LastIndexByte(string(r[:longest+1]), ' '); cut > 0 {
		return string(r[:longest+1])[:cut] + "…"
	}
	return string(r[:longest]) + "…"
}
