package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
)

// soFar is what a call that was cut short had to show, to be put behind our own words.
func soFar(text string) string {
	if text == "" {
		return ""
	}
	return "\nUntil then:\n" + text
}

// An ending is all that is known of a call's outcome.
type ending struct {
	outcome jackline.Outcome
	text    string
	origin  string
	source  jackline.Integrity
	secret  bool
	by      string
	reason  string
	hard    bool
	dropped int
	stamp   string
	used    *jackline.Approval // to be marked used together with the outcome
	out     Out
}

// end writes the one outcome of a call. It is written even when ctx has ended.
func (g *Gate) end(ctx context.Context, r Request, c jackline.Call, e ending) (Done, error) {
	ctx = context.WithoutCancel(ctx)
	o := r.Who.Owner
	e = g.hidden(e)
	if c.Title == "" {
		_, c.Title, _, _ = g.Describe(c.Name, c.Args)
	}
	if len(e.out.Text) == 0 && e.outcome != jackline.OK {
		e.source = max(e.source, jackline.Ours) // our own words about what went wrong
	}
	full, gone := most(e.text)
	text, dropped := full, 0
	if c.Cached == "" { // else it was cut and kept when it was new
		text, dropped = Cap(full, r.Limit)
	}
	if dropped > 0 {
		if err := g.Log.WriteSpill(ctx, o, c.Session, c.ID, full); err != nil {
			return Done{Call: r.Call}, err
		}
		text += fmt.Sprintf("\n[%d characters left out in the middle", dropped)
		if pager := g.Tools.Pager(); pager != "" {
			text += fmt.Sprintf("; %s with call %q reads on", pager, c.ID)
		}
		text += "]"
	}
	if gone > 0 {
		dropped += gone
		text += fmt.Sprintf("\n[the result was too large: %d characters of its end were not kept]", gone)
	}
	c.State, c.Outcome, c.Text, c.Source, c.Origin = jackline.CallEnded, e.outcome, text, e.source, e.origin
	c.Dropped, c.Stamp, c.By, c.Reason, c.Changes = dropped+e.dropped, e.stamp, e.by, e.reason, e.out.Changes

	view := e.out.View
	if view.Shape == "" {
		view = jackline.View{Shape: jackline.ViewText, Text: text}
	}
	view = g.briefView(view)
	events := make([]jackline.Event, 0, 2+len(e.out.Events))
	events = append(events, jackline.NewEvent(c.Session, c.Turn, jackline.ToolResult{
		Call: c.ID, Name: c.Name, Outcome: c.Outcome, Text: jackline.Brief(text), View: view, MS: c.MS, Cut: c.Dropped, Label: c.Source,
		Cached: c.Cached, By: c.By,
	}))
	for _, body := range e.out.Events {
		events = append(events, jackline.NewEvent(c.Session, c.Turn, body))
	}
	d := Done{Call: c, Found: e.out.Found}
	if text != "" && c.Source != jackline.Ours {
		d.Labels.Tainted = true
	}
	d.Labels.Private = e.secret && text != ""
	had := r.Who.Session.Labels
	now := grown(had, d.Labels)
	if now != had {
		events = append(events, jackline.NewEvent(c.Session, c.Turn, jackline.LabelChanged{Labels: now, Why: c.Title}))
	}
	rec := jackline.Record{
		Session: c.Session, Calls: []jackline.Call{c}, Events: events, Labels: d.Labels, State: e.out.State, Sync: c.Acts && e.outcome == jackline.OK,
	}
	if e.used != nil {
		spent := *e.used
		spent.State = jackline.Used
		rec.Approvals, rec.From = []jackline.Approval{spent}, jackline.Approved
	}
	// A read that brought nothing but its text may be done again after a crash, so the turn need not wait for the disk. What changes
	// what the session may do is on record before anybody reads the text.
	rec.Soon = !c.Acts && c.Outcome == jackline.OK && e.used == nil && e.out.State == nil && len(e.out.Found) == 0 && now == had
	if _, err := g.Log.Append(ctx, o, rec); err != nil {
		return Done{Call: r.Call}, err
	}
	return d, nil
}

// grown are labels with more added.
func grown(had, more jackline.Labels) jackline.Labels {
	return jackline.Labels{Tainted: had.Tainted || more.Tainted, Private: had.Private || more.Private}
}

// most is what is kept of a text, as valid UTF-8, and how many characters at its end are not.
func most(text string) (kept string, gone int) {
	kept = text
	if len(text) > maxOutput {
		n := maxOutput
		for n > maxOutput-utf8.UTFMax && !utf8.RuneStart(text[n]) {
			n--
		}
		kept, gone = text[:n], utf8.RuneCountInString(text[n:])
	}
	if !utf8.ValidString(kept) {
		kept = string([]rune(kept))
	}
	return kept, gone
}

// The log's copy of a view holds at most so many files and rows, each text of them cut like any other.
const (
	briefFiles = 20
	briefRows  = 50
)

// briefView is a view as the log holds it.
func (g *Gate) briefView(v jackline.View) jackline.View {
	v.Text = g.Brief(v.Text)
	v.Files = slices.Clone(v.Files[:min(len(v.Files), briefFiles)])
	for k := range v.Files {
		v.Files[k].Patch = g.Brief(v.Files[k].Patch)
	}
	v.Rows = slices.Clone(v.Rows[:min(len(v.Rows), briefRows)])
	for k, row := range v.Rows {
		v.Rows[k] = slices.Clone(row)
		for j := range row {
			v.Rows[k][j] = g.Brief(row[j])
		}
	}
	return v
}

// Cap cuts text to limit characters, each by its weight, by leaving out its middle, at line ends where they are near. It returns how
// many characters are gone; 0 or less as the limit cuts nothing.
func Cap(text string, limit int) (string, int) {
	if limit <= 0 || contract.Weight(text) <= limit {
		return text, 0
	}
	n := utf8.RuneCountInString(text)
	limit = contract.Letters(text, limit)
	r := []rune(text)
	head, tail := limit*2/3, limit/3
	for k := head; k > head-head/4; k-- {
		if r[k-1] == '\n' {
			head = k
			break
		}
	}
	start := n - tail
	for k := start; k < start+tail/4; k++ {
		if r[k-1] == '\n' {
			start = k
			break
		}
	}
	return string(r[:head]) + "\n[…]\n" + string(r[start:]), start - head
}

// failed is what the model reads of an error. The cause of one that is our own fault goes to the program's log.
func (g *Gate) failed(ctx context.Context, p *passage, err error) string {
	if g.Errors != nil && jackline.KindOf(err) == jackline.Internal && ctx.Err() == nil {
		g.Errors.Error("tool failed", "tool", p.t.facts.Name, "call", p.c.ID, "err", err)
	}
	var e *jackline.Error
	say := "Something went wrong inside the tool."
	if errors.As(err, &e) && e.Say != "" {
		say = e.Say
	}
	return "FAILED: " + say
}
