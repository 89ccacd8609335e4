package turn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// Small models answer from memory what only a look can tell. So what a prompt surely asks for is looked up before the first
// request, and stands as Context in front of the owner's words. Which words ask for which call is said beside each tool.

// Limits of what is looked up ahead.
const (
	// aheadTime is what all look-ups take together at most: somebody waits for the first word.
	aheadTime = 10 * time.Second
	// aheadCalls is how many calls one prompt may set off: a question asks for one or two things.
	aheadCalls = 3
	// longestAsk is how long a prompt may be that asks for something live, in bytes: a longer one is a task, and a word of it
	// proves nothing.
	longestAsk = 400
	// longestWhy is how much of the reason is told why something could not be looked up, in characters.
	longestWhy = 400
)

// sayCannot is what to do about the present where nothing shows it: the same words wherever it comes up.
const sayCannot = "say that it cannot be checked right now and give no values from memory."

// A lookup is one call that the prompt's own words ask for, and why it is not made.
type lookup struct {
	call jackline.Call
	icon string
	skip string // why it is not made; "" if it is
	asks bool   // because a person would have to be asked
}

// asked is what a prompt asks for in its owner's own words, sentence by sentence. A prompt that asks how something works or is
// said, and one that is long, asks for nothing.
func asked(prompt string) []string {
	p := own(prompt)
	if len(prompt) > longestAsk || explains.MatchString(p) {
		return nil
	}
	var all []string
	for _, s := range sentences.FindAllString(p, -1) {
		if s = strings.Trim(s, " \t\r\n.!?…"); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// lookups are the calls that this turn's prompt asks for. Each tool is asked once at most.
func (r *run) lookups(ctx context.Context) ([]lookup, error) {
	o := r.t.Options
	if !r.set.Prefetch || o.Guide || r.t.Depth > 0 || r.gate == nil || r.m.Main == nil {
		return nil, nil
	}
	var all []lookup
	r.ahead = nil
	said := asked(r.t.Prompt)
	for t := range r.gate.Tools.All() {
		for _, s := range said {
			raw, ok := t.Prefetch(s)
			if !ok {
				continue
			}
			c := jackline.Call{
				ID: jackline.NewID[jackline.CallID]("c_"), Session: r.s.ID, Turn: r.t.ID, Index: len(all), Asked: t.Facts().Name, Args: raw, State: jackline.CallNew,
			}
			var l lookup
			c.Name, c.Title, l.icon, c.Acts = r.gate.Describe(c.Asked, raw)
			d, err := r.gate.Foresee(ctx, r.scout(), c)
			if err != nil {
				return nil, err
			}
			l.call, l.asks = c, d.Verdict == jackline.Ask
			if d.Verdict != jackline.Allow {
				l.skip = d.Reason
			}
			if c.Acts { // a look changes nothing, whatever the mode
				l.skip = "It would do more than look."
			}
			all = append(all, l)
			r.ahead = append(r.ahead, c.Name)
			break
		}
		if len(all) == aheadCalls {
			break
		}
	}
	return all, nil
}

// scout is who looks ahead: the turn's own loop.
func (r *run) scout() jackline.Actor {
	a := r.actor()
	a.Source = jackline.FromPrefetch
	return a
}

// scouted puts the calls that look ahead into the record of the turn's beginning, and says so. It reports whether there is one.
func (r *run) scouted(all []lookup, rec *jackline.Record) []jackline.Body {
	if len(all) == 0 {
		return nil
	}
	start := jackline.ToolsStart{Calls: []jackline.CallID{}}
	var bodies []jackline.Body
	for _, l := range all {
		if l.skip != "" {
			continue
		}
		c := l.call
		start.Calls = append(start.Calls, c.ID)
		rec.Calls = append(rec.Calls, c)
		r.rows[c.ID], r.collected[c.ID] = c, true // its result stands in the prompt
		bodies = append(bodies, jackline.ToolCall{Call: c.ID, Name: c.Name, Title: r.gate.Brief(c.Title), Kind: l.icon, Args: r.gate.BriefArgs(c.Args)})
		if l.icon == iconSearch {
			bodies = append(bodies, jackline.SearchStart{Call: c.ID, Title: r.gate.Brief(c.Title)})
		}
	}
	r.prior = append(r.prior, rec.Calls...)
	r.t.Usage.Calls = len(r.prior)
	r.t.Progress.Ahead = len(rec.Calls) > 0
	return append([]jackline.Body{start}, bodies...)
}

// iconSearch is the kind of calls that search the web, as far as they look ahead.
const iconSearch = "search"

// lookAhead makes the calls that look ahead, side by side, and puts the prompt with what they brought into the history. After a
// crash it makes those that have no outcome: none of them acts, and the model has not been asked.
func (r *run) lookAhead(ctx context.Context) error {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, aheadTime)
	defer cancel()
	done, errs := make([]tool.Done, len(r.prior)), make([]error, len(r.prior))
	var calls sync.WaitGroup
	for k, c := range r.prior {
		q := tool.Request{Who: r.scout(), Call: c, Limit: r.contract().Result, Zone: r.zone}
		calls.Go(func() { done[k], errs[k] = r.gate.Do(limited, q) })
	}
	calls.Wait()
	for k, d := range done {
		if errs[k] != nil {
			if limited.Err() == nil {
				return errs[k]
			}
			continue
		}
		r.prior[k], r.rows[d.Call.ID] = d.Call, d.Call
		r.s.Labels.Tainted = r.s.Labels.Tainted || d.Labels.Tainted
		r.s.Labels.Private = r.s.Labels.Private || d.Labels.Private
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	rec, bodies, err := r.cancelOpen(ctx) // what the time did not suffice for
	if err != nil {
		return err
	}
	all, err := r.lookups(ctx)
	if err != nil {
		return err
	}
	at, err := r.attach(ctx)
	if err != nil {
		return err
	}
	item, more := r.opened(at, all, time.Since(began))
	if err := r.see(ctx, []jackline.Item{item}); err != nil {
		return err
	}
	r.t.Progress.Ahead = false
	rec.Turn, rec.Items = &r.t, []jackline.Item{item}
	if err := r.append(ctx, rec, append(bodies, more...)...); err != nil {
		return err
	}
	r.items = append(r.items, item)
	return nil
}

// opened is the prompt with what was looked up for it, and what the log says of that.
func (r *run) opened(at attached, all []lookup, took time.Duration) (jackline.Item, []jackline.Body) {
	if len(all) == 0 && len(r.prior) == 0 {
		return r.prompted(at, ""), nil
	}
	over := jackline.ToolsDone{Calls: []jackline.CallID{}, Skipped: []jackline.Skipped{}, MS: took.Milliseconds()}
	var bodies []jackline.Body
	for _, c := range r.prior {
		over.Calls = append(over.Calls, c.ID)
		if _, _, icon, _ := r.gate.Describe(c.Name, c.Args); icon == iconSearch {
			bodies = append(bodies, jackline.SearchDone{Call: c.ID, Outcome: c.Outcome})
		}
	}
	var skipped []lookup
	for _, l := range all {
		if !slices.ContainsFunc(r.prior, func(c jackline.Call) bool { return c.Name == l.call.Name }) {
			skipped = append(skipped, l)
			over.Skipped = append(over.Skipped, jackline.Skipped{Name: l.call.Name, Title: r.gate.Brief(l.call.Title), Why: l.skip})
		}
	}
	text := r.contextBlock(r.prior, skipped)
	over.Chars = len([]rune(text))
	return r.prompted(at, text), append(bodies, over)
}

// contextBlock is what stands in front of the owner's words: what was looked up, each thing within its share, and what could not be.
func (r *run) contextBlock(calls []jackline.Call, skipped []lookup) string {
	each := r.contract().Context / max(len(calls), 1)
	var b strings.Builder
	b.WriteString("[Context for this question:]\n")
	for _, c := range calls {
		if c.Outcome == jackline.OK {
			c.Text, _ = tool.Cap(c.Text, each)
			fmt.Fprintf(&b, "%s:\n%s\n", oneLine(c.Title), frame(c, 0))
			continue
		}
		why := "It was not found out in time."
		if c.Outcome == jackline.Errored && c.Source == jackline.Ours {
			why = strings.TrimPrefix(c.Text, "FAILED: ")
		}
		b.WriteString(unchecked(c.Title, why, false))
	}
	for _, l := range skipped {
		b.WriteString(unchecked(l.call.Title, l.skip, l.asks))
	}
	b.WriteString("[End of context.]\n")
	return b.String()
}

// unchecked says of one thing that it could not be looked up.
func unchecked(title, why string, asks bool) string {
	if r := []rune(why); len(r) > longestWhy {
		why = string(r[:longestWhy]) + "…"
	}
	why = defuse(strings.Join(strings.Fields(why), " "))
	if asks {
		why += " A call asks the owner for it. Without a result"
	} else {
		why += " So"
	}
	return fmt.Sprintf("%s: this could not be checked now. %s %s\n", oneLine(title), why, sayCannot)
}

// prompted is the turn's prompt as an item of the history, behind its files and what was looked up for it.
func (r *run) prompted(at attached, block string) jackline.Item {
	return jackline.Item{Turn: r.t.ID, Role: jackline.ItemPrompt, Text: r.promptText(at.text + block), Images: at.images}
}
