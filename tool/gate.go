package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
)

// A Judge says what may be done unasked. It is pure: the same intent gets the same decision until the settings
// change. Package policy has one.
type Judge interface {
	Judge(jackline.Intent) jackline.Decision
}

// A Desk keeps the questions to people. Package approval has one.
type Desk interface {
	// Row is the row about a call; ok is false where there is none.
	Row(ctx context.Context, o jackline.Owner, c jackline.CallID) (a jackline.Approval, ok bool, err error)

	// Granted reports whether a standing grant covers the whole intent.
	Granted(context.Context, jackline.Intent) (bool, error)

	// New makes a sealed, pending row. It stores nothing: the gate writes it together with the call that waits.
	// Too many open rows are a Conflict.
	New(context.Context, jackline.Intent, jackline.Decision, Card) (jackline.Approval, error)

	// Holds reports whether a's answer is a yes to exactly i, still in time, as the seal proves.
	Holds(a jackline.Approval, i jackline.Intent) bool
}

// A Card is what a row shows besides the intent.
type Card = jackline.Card

// A Log is where the gate writes what it does, before and after.
type Log interface {
	Append(context.Context, jackline.Owner, jackline.Record) ([]jackline.Event, error)
	Live(jackline.Owner, jackline.Event)
	State(ctx context.Context, o jackline.Owner, s jackline.SessionID, key string) (json.RawMessage, error)
	WriteSpill(ctx context.Context, o jackline.Owner, s jackline.SessionID, c jackline.CallID, text string) error
}

// A Gate is the one way to run a tool. Its stages, none of which can be skipped:
//
//	look-up → cut-off calls → schema → touches → judge (hard refusals, toggles, modes, rules) → grants →
//	approval (seal) → intent on disk → run → cap, label → outcome
//
// The places of the stages that are still to come: the taint gate stands between grants and approval, the recheck of
// sealed facts and the audit line between approval and intent, the sandbox around run, redaction beside cap.
type Gate struct {
	Tools *Set
	Judge Judge
	Desk  Desk
	Log   Log

	// Halted reports whether the kill switch is on: then nothing runs that could act.
	Halted func() bool
	Errors *slog.Logger // gets the causes that nobody else may see
}

// Request is one call with what the gate must know of its turn.
type Request struct {
	Who  jackline.Actor
	Call jackline.Call

	// Prior are the earlier calls of the turn, in order. Equal pure reads are answered from them, and a call that a
	// person denied is not asked about again.
	Prior []jackline.Call

	// Hold lets the call come as far as its question, and no further: an earlier call of the same step still waits.
	Hold bool

	Limit int            // characters of the result that the model will read
	Zone  *time.Location // the client's; nil is UTC
}

// Done is how far a call came.
type Done struct {
	Call   jackline.Call       // as it stands now; State says whether it ended
	Wait   jackline.ApprovalID // the row on which it waits
	Held   bool                // it would run, and was held
	Asked  bool                // it needed a person, and there was nobody to ask
	Hard   bool                // it was refused for good
	Found  []string            // tools that the model is to be told about from now on
	Labels jackline.Labels     // what its result adds to the session
}

// Named limits.
const (
	// maxArgs bounds the arguments of one call: a file of a size that a small model can write, with room.
	maxArgs = 1 << 20
	// maxOutput bounds what is kept of one result, spilled part included. Tools cap what they produce long before.
	maxOutput = 8 << 20
)

// Describe tells what a call is before it is judged: the tool's own name, a title, its icon, and whether it could act. A
// call to nothing that exists is described by its own words.
func (g *Gate) Describe(name string, raw json.RawMessage) (canonical, title, icon string, acts bool) {
	t, ok := g.Tools.Lookup(name)
	if !ok {
		return name, name, "other", false
	}
	title = t.facts.Name
	if _, b, err := t.decode(raw); err == nil {
		title = b.title
	}
	return t.facts.Name, title, t.facts.Icon, t.facts.Effect.Acts()
}

// Intent is what a judge would be given for a call, without running, opening, storing or asking anything.
func (g *Gate) Intent(who jackline.Actor, c jackline.Call) (jackline.Intent, error) {
	i, _, _, err := g.resolve(who, c)
	return i, err
}

// Preview is the intent of a call with what its card would show, for which files may be opened. What is refused for good
// shows nothing.
func (g *Gate) Preview(ctx context.Context, who jackline.Actor, c jackline.Call) (jackline.Intent, jackline.View, error) {
	i, b, in, err := g.resolve(who, c)
	if err != nil || b.preview == nil || refused(i.Touches) != "" {
		return i, jackline.View{}, err
	}
	v, err := b.preview(ctx, in)
	return i, v, err
}

func (g *Gate) resolve(who jackline.Actor, c jackline.Call) (jackline.Intent, bound, In, error) {
	t, ok := g.Tools.Lookup(c.Name)
	if !ok {
		return jackline.Intent{}, bound{}, In{}, jackline.E("tool.Intent", jackline.NotFound, nil, "There is no tool called %q.", c.Name)
	}
	canonical, b, err := t.decode(c.Args)
	if err != nil {
		return jackline.Intent{}, bound{}, In{}, err
	}
	c.Args = canonical
	in := In{Actor: who, Call: c.ID, Tools: g.Tools}
	i, err := intent(t, b, in, c)
	return i, b, in, err
}

// Judged is the decision about an intent, standing grants aside.
func (g *Gate) Judged(i jackline.Intent) jackline.Decision { return g.Judge.Judge(i) }

// decode checks raw against the tool's schema, after shaping and coercing it, and binds it.
func (t Tool) decode(raw json.RawMessage) (json.RawMessage, bound, error) {
	const op = "tool.decode"
	if len(raw) > maxArgs {
		return nil, bound{}, jackline.E(op, jackline.Unprocessed, nil, "The arguments are larger than %d bytes.", maxArgs)
	}
	written, err := args.Strict(raw)
	if err != nil {
		return nil, bound{}, jackline.E(op, jackline.Unprocessed, err, "The arguments are not a JSON object.")
	}
	shaped := t.schema.Shape(written)
	if err := t.schema.Validate(shaped); err != nil {
		return nil, bound{}, jackline.E(op, jackline.Unprocessed, nil, "%s", err.Error())
	}
	canonical, err := args.Canonical(shaped)
	if err != nil {
		return nil, bound{}, jackline.E(op, jackline.Unprocessed, err, "The arguments are not a JSON object.")
	}
	b, err := t.bind(canonical)
	return canonical, b, err
}

// intent resolves the touches of a bound call. The effect is what the touches say, which must lie within what the
// spec declares.
func intent(t Tool, b bound, in In, c jackline.Call) (jackline.Intent, error) {
	i := jackline.Intent{
		Actor: in.Actor, Call: c.ID, Tool: t.facts.Name, Digest: t.facts.Digest, Title: b.title, Args: c.Args,
		Effect: t.facts.Effect, Labels: in.Actor.Session.Labels,
	}
	if b.touches == nil {
		return i, nil
	}
	touches, err := b.touches(in)
	if err != nil {
		return i, err
	}
	i.Touches = touches
	var e jackline.Effect
	for _, touch := range touches {
		if touch.Effect == 0 || !t.facts.Effect.Has(touch.Effect) {
			return i, jackline.E("tool.intent", jackline.Internal,
				fmt.Errorf("%s declares %v and touches %v", t.facts.Name, t.facts.Effect, touch.Effect), "The tool is broken.")
		}
		e |= touch.Effect
	}
	if e != 0 {
		i.Effect = e
	}
	return i, nil
}

func refused(touches []jackline.Touch) string {
	for _, t := range touches {
		if t.Refused != "" {
			return t.Refused
		}
	}
	return ""
}

// Do takes one call as far as it can go: to its one outcome, or to a question that waits for a person. What happened is in
// the log before Do returns. Do never blocks on a person. An error means that the log could not be written, or
// that ctx ended before the call began; then nothing ran.
//
// A call that a crash interrupted comes here again as it was stored: if it may have acted, its outcome
// is unknown and it is not run again.
func (g *Gate) Do(ctx context.Context, r Request) (Done, error) {
	c := r.Call
	d := Done{Call: c}
	if c.State == jackline.CallEnded {
		return d, nil
	}
	if err := ctx.Err(); err != nil {
		return d, err
	}
	t, known := g.Tools.Lookup(c.Name)
	if c.State == jackline.CallStarted && (!known || c.Acts) {
		return g.end(ctx, r, c, ending{outcome: jackline.Unknown, text: UnknownText})
	}
	if !known {
		return g.end(ctx, r, c, ending{outcome: jackline.Errored, text: noSuchTool(c.Name, g.Tools.Names())})
	}
	c.Name = t.facts.Name
	if c.Cut && t.facts.Effect.Acts() {
		return g.end(ctx, r, c, ending{outcome: jackline.Errored, text: cutText})
	}
	if why := t.Facts().WhyNot; why != "" {
		return g.end(ctx, r, c, ending{outcome: jackline.Errored, text: "FAILED: " + t.facts.Name + " cannot be used now: " + why})
	}

	// A person may have answered already, and may have changed the arguments with the answer.
	row, asked, err := g.Desk.Row(ctx, r.Who.Owner, c.ID)
	if err != nil {
		return d, err
	}
	edited := false
	if asked && row.State == jackline.Approved && row.Kind == jackline.KindCall && string(row.Args) != string(c.Args) {
		edited, c.Args = row.Answer.Args != nil, row.Args
	}
	canonical, b, err := t.decode(c.Args)
	if err != nil {
		return g.end(ctx, r, c, ending{outcome: jackline.Errored, text: failed(err)})
	}
	c.Args, c.Title = canonical, b.title
	in := In{
		Actor: r.Who, Call: c.ID, Tools: g.Tools, Limit: r.Limit, Zone: r.Zone,
		State: func(key string) json.RawMessage {
			v, _ := g.Log.State(ctx, r.Who.Owner, c.Session, key)
			return v
		},
		Progress: func(text string) {
			g.Log.Live(r.Who.Owner, jackline.NewEvent(c.Session, c.Turn, jackline.ToolProgress{Call: c.ID, Text: text}))
		},
	}
	i, err := intent(t, b, in, c)
	if err != nil {
		return g.end(ctx, r, c, ending{outcome: jackline.Errored, text: failed(err)})
	}
	c.Acts = i.Effect.Acts()

	decision := g.Judge.Judge(i)
	if decision.Verdict == jackline.Deny {
		d, err := g.end(ctx, r, c, ending{outcome: jackline.Denied, by: decision.Rule, reason: decision.Reason, text: deniedByRule(decision)})
		d.Hard = decision.Hard
		return d, err
	}
	if c.Acts && g.Halted != nil && g.Halted() {
		return g.end(ctx, r, c, ending{outcome: jackline.Denied, by: "kill-switch", reason: haltedText, text: "DENIED: " + haltedText})
	}
	if c.Acts || decision.Verdict == jackline.Ask || t.facts.Asks {
		for _, p := range r.Prior {
			if p.Name == c.Name && p.Outcome == jackline.Denied && p.State == jackline.CallEnded && p.By == jackline.ByPerson && string(p.Args) == string(c.Args) {
				return g.end(ctx, r, c, ending{outcome: jackline.Denied, by: jackline.ByPerson, reason: p.Reason, text: deniedBefore(t.facts.Asks, p.Reason)})
			}
		}
	}
	if t.cache {
		if p, ok := t.cached(ctx, in, b, c, r.Prior); ok {
			c.Cached = p.ID
			return g.end(ctx, r, c, ending{outcome: jackline.OK, text: p.Text, origin: p.Origin, source: p.Source, dropped: p.Dropped, stamp: p.Stamp})
		}
	}

	used, waitFor, over, err := g.permit(ctx, r, &c, t, b, in, i, decision, row, asked)
	if err != nil {
		return d, err
	}
	if over != nil {
		d, err := g.end(ctx, r, c, *over)
		d.Asked = over.by == jackline.ByNobody
		return d, err
	}
	if waitFor != "" {
		return Done{Call: c, Wait: waitFor}, nil
	}
	if r.Hold {
		return Done{Call: c, Held: true}, nil
	}
	return g.run(ctx, r, c, t, b, in, used, edited)
}

// permit settles whether the call may run now. One of the results is set: an outcome that ends it, a row to wait for, or neither: it may
// run, and used is the approval that this uses up, if it took one.
func (g *Gate) permit(ctx context.Context, r Request, c *jackline.Call, t Tool, b bound, in In, i jackline.Intent, decision jackline.Decision,
	row jackline.Approval, asked bool) (used *jackline.Approval, wait jackline.ApprovalID, over *ending, err error) {
	if asked {
		switch row.State {
		case jackline.Pending:
			return nil, row.ID, nil, nil
		case jackline.Refused:
			return nil, "", &ending{outcome: jackline.Denied, by: jackline.ByPerson, reason: row.Answer.Reason, text: deniedByPerson(row)}, nil
		case jackline.Lapsed:
			return nil, "", &ending{outcome: jackline.Expired, text: expiredText}, nil
		case jackline.Withdrawn:
			return nil, "", &ending{outcome: jackline.Cancelled, text: withdrawnText}, nil
		case jackline.Approved:
			if row.Kind == jackline.KindQuestion {
				return nil, "", &ending{outcome: jackline.OK, source: jackline.Ours, text: answers(row), used: &row}, nil
			}
			if g.Desk.Holds(row, i) {
				return &row, "", nil, nil
			}
			// What was approved is not what would run now: it is a new question.
		case jackline.Used:
			// The approval is spent, and the call has no outcome: it was interrupted before it began.
			return nil, "", &ending{outcome: jackline.Unknown, text: UnknownText}, nil
		}
	}
	if t.facts.Asks {
		decision.Verdict = jackline.Ask
	}
	if decision.Verdict == jackline.Ask && !t.facts.Asks {
		granted, err := g.Desk.Granted(ctx, i)
		if err != nil {
			return nil, "", nil, err
		}
		if granted {
			decision.Verdict = jackline.Allow
		}
	}
	if decision.Verdict == jackline.Allow {
		return nil, "", nil, nil
	}
	if r.Who.Turn.ID != "" && r.Who.Turn.Options.OnAsk != jackline.AskWait {
		if t.facts.Asks {
			decision.Reason = "Nobody was there to answer."
		}
		return nil, "", &ending{outcome: jackline.Denied, by: jackline.ByNobody, reason: decision.Reason, text: nobodyText(t.facts.Asks)}, nil
	}
	card := Card{}
	if t.facts.Asks {
		if card.Questions, err = b.ask(); err != nil {
			return nil, "", &ending{outcome: jackline.Errored, text: failed(err)}, nil
		}
	} else if b.preview != nil {
		if card.View, err = b.preview(ctx, in); err != nil {
			// It cannot work, so nobody is asked about it.
			return nil, "", &ending{outcome: jackline.Errored, text: failed(err)}, nil
		}
	}
	a, err := g.Desk.New(ctx, i, decision, card)
	if err != nil {
		return nil, "", nil, err
	}
	a.Step = c.Step
	c.State = jackline.CallWaiting
	_, err = g.Log.Append(ctx, r.Who.Owner, jackline.Record{
		Session: c.Session, Calls: []jackline.Call{*c}, Approvals: []jackline.Approval{a}, Sync: true,
		Events: []jackline.Event{jackline.NewEvent(c.Session, c.Turn, jackline.ApprovalNeeded{
			Approval: a.ID, Kind: a.Kind, Call: c.ID, Title: a.Title, Risk: a.Risk, Why: a.Why, Touches: a.Touches, Scopes: a.Scopes, Expires: a.Expires,
		})},
	})
	return nil, a.ID, nil, err
}

// run writes the intent, does the work and writes the outcome.
func (g *Gate) run(ctx context.Context, r Request, c jackline.Call, t Tool, b bound, in In, used *jackline.Approval, edited bool) (Done, error) {
	c.State, c.Started = jackline.CallStarted, time.Now().UTC()
	if c.Acts {
		// From here on the call may have acted: this is on disk before anything happens.
		rec := jackline.Record{Session: c.Session, Calls: []jackline.Call{c}, Sync: true}
		if used != nil {
			spent := *used
			spent.State = jackline.Used
			rec.Approvals, rec.From = []jackline.Approval{spent}, jackline.Approved
		}
		if _, err := g.Log.Append(ctx, r.Who.Owner, rec); err != nil {
			return Done{Call: r.Call}, err
		}
	}
	out, err := g.call(ctx, t, b, in)
	c.MS = time.Since(c.Started).Milliseconds()

	e := ending{outcome: jackline.OK, text: out.Text, origin: out.Origin, source: t.facts.Source, stamp: out.Stamp, out: out, secret: t.secret}
	if out.Label != nil {
		e.source, e.secret = out.Label.Source, out.Label.Secret
	}
	switch {
	case err != nil && ctx.Err() != nil:
		e.outcome = jackline.Cancelled
		if e.text = stoppedText; out.Text != "" {
			e.text += "\nUntil then:\n" + out.Text
		}
	case err != nil:
		e.outcome, e.text, e.source, e.secret = jackline.Errored, failed(err), jackline.Ours, false
	case out.Failed:
		e.outcome = jackline.Errored
	}
	if used != nil && !c.Acts {
		e.used = used
	}
	if edited {
		e.text = "[The owner changed the arguments before allowing this call; it ran as " + string(c.Args) + "]\n" + e.text
	}
	return g.end(ctx, r, c, e)
}

// call runs the tool's function. A panic in it is that call's error, not the end of the program.
func (g *Gate) call(ctx context.Context, t Tool, b bound, in In) (out Out, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = jackline.E("tool.run", jackline.Internal, fmt.Errorf("panic: %v\n%s", p, debug.Stack()), "The tool broke down.")
		}
		if err != nil && g.Errors != nil && jackline.KindOf(err) == jackline.Internal && ctx.Err() == nil {
			g.Errors.Error("tool failed", "tool", t.facts.Name, "call", in.Call, "err", err)
		}
	}()
	return b.run(ctx, in)
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
	dropped int
	stamp   string
	used    *jackline.Approval // to be marked used together with the outcome
	out     Out
}

// end writes the one outcome of a call. It is written even when ctx has ended.
func (g *Gate) end(ctx context.Context, r Request, c jackline.Call, e ending) (Done, error) {
	ctx = context.WithoutCancel(ctx)
	o := r.Who.Owner
	if c.Title == "" {
		_, c.Title, _, _ = g.Describe(c.Name, c.Args)
	}
	if len(e.out.Text) == 0 && e.outcome != jackline.OK {
		e.source = max(e.source, jackline.Ours) // our own words about what went wrong
	}
	full := e.text
	if !utf8.ValidString(full) {
		full = string([]rune(full))
	}
	if len(full) > maxOutput {
		full = full[:maxOutput]
	}
	text, dropped := Cap(full, r.Limit)
	if dropped > 0 {
		if err := g.Log.WriteSpill(ctx, o, c.Session, c.ID, full); err != nil {
			return Done{Call: r.Call}, err
		}
		text += fmt.Sprintf("\n[%d characters left out in the middle", dropped)
		if pager := g.Tools.pager(); pager != "" {
			text += fmt.Sprintf("; %s with call %q reads on", pager, c.ID)
		}
		text += "]"
	}
	c.State, c.Outcome, c.Text, c.Source, c.Origin = jackline.CallEnded, e.outcome, text, e.source, e.origin
	c.Dropped, c.Stamp, c.By, c.Reason, c.Changes = dropped+e.dropped, e.stamp, e.by, e.reason, e.out.Changes

	view := e.out.View
	if view.Shape == "" {
		view = jackline.View{Shape: jackline.ViewText, Text: text}
	}
	view.Text = jackline.Brief(view.Text)
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
	if grown := (jackline.Labels{Tainted: had.Tainted || d.Labels.Tainted, Private: had.Private || d.Labels.Private}); grown != had {
		events = append(events, jackline.NewEvent(c.Session, c.Turn, jackline.LabelChanged{Labels: grown, Why: c.Title}))
	}
	rec := jackline.Record{
		Session: c.Session, Calls: []jackline.Call{c}, Events: events, Labels: d.Labels, State: e.out.State, Sync: c.Acts && e.outcome == jackline.OK,
	}
	if e.used != nil {
		spent := *e.used
		spent.State = jackline.Used
		rec.Approvals, rec.From = []jackline.Approval{spent}, jackline.Approved
	}
	if _, err := g.Log.Append(ctx, o, rec); err != nil {
		return Done{Call: r.Call}, err
	}
	return d, nil
}

// cached finds an earlier equal call of the turn whose result still holds: nothing has acted since, and its stamp, if it has one, is
// still true.
func (t Tool) cached(ctx context.Context, in In, b bound, c jackline.Call, prior []jackline.Call) (jackline.Call, bool) {
	for k := len(prior) - 1; k >= 0; k-- {
		p := prior[k]
		if p.Acts && p.Outcome != jackline.Denied {
			return jackline.Call{}, false
		}
		if p.Name != c.Name || p.Outcome != jackline.OK || p.State != jackline.CallEnded || string(p.Args) != string(c.Args) {
			continue
		}
		if b.changed != nil && b.changed(ctx, in, p.Stamp) {
			return jackline.Call{}, false
		}
		return p, true
	}
	return jackline.Call{}, false
}

// Cap cuts text to limit characters by leaving out its middle, at line ends where they are near. It returns how many
// characters are gone; 0 or less as the limit cuts nothing.
func Cap(text string, limit int) (string, int) {
	n := utf8.RuneCountInString(text)
	if limit <= 0 || n <= limit {
		return text, 0
	}
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

func failed(err error) string {
	var e *jackline.Error
	say := "Something went wrong inside the tool."
	if errors.As(err, &e) && e.Say != "" {
		say = e.Say
	}
	return "FAILED: " + say
}
