package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/redact"
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
//	look-up → cut-off calls → schema → touches, sandbox → placeholders → judge (hard refusals, toggles, modes, rules, taint) →
//	grants → approval (seal, facts) → what undo needs → intent and audit on disk → recheck of the facts → run in the sandbox →
//	hide, cap, label → outcome
type Gate struct {
	Tools *Set
	Judge Judge
	Desk  Desk
	Log   Log

	// Observe says what is true now of the things that an intent names: which file stands there and what is in it, which settings are
	// in force. It is asked when a person is, what it says is part of what the person allows, and it is asked again right before the
	// call runs. Nil looks at nothing; a tool may have facts of its own besides.
	Observe func(context.Context, jackline.Intent) ([]jackline.Fact, error)

	// Keeper keeps what calls are about to change. Nil keeps nothing.
	Keeper Keeper

	// Marks knows whose word files are; nil knows of none that it is the owner's.
	Marks Marks

	// Halted reports whether the kill switch is on: then nothing runs that could act or leave the machine.
	Halted func() bool
	Errors *slog.Logger // gets the causes that nobody else may see

	// Hider hides secrets in what models read and in what is shown while a call runs; nil knows no values, and hides what looks like one.
	Hider *redact.Redactor
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
	Call    jackline.Call       // as it stands now; State says whether it ended
	Wait    jackline.ApprovalID // the row on which it waits
	Held    bool                // it would run, and was held
	Asked   bool                // it needed a person, and there was nobody to ask
	Hard    bool                // it was refused for good
	Flooded string              // why no further question may be asked now; the call is held
	Found   []string            // tools that the model is to be told about from now on
	Labels  jackline.Labels     // what its result adds to the session
}

// Named limits.
const (
	// maxArgs bounds the arguments of one call: a file of a size that a small model can write, with room.
	maxArgs = 1 << 20
	// maxLevels is how deep arguments may be nested: deeper than any tool's, and shallow enough for what goes through them by
	// calling itself.
	maxLevels = 32
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
	i, _, _, err := g.outline(who, c)
	return i, err
}

// Preview is the intent of a call, with the facts that a yes to it is bound to, and what its card would show, for which files may be
// opened. What is refused for good
// shows nothing.
func (g *Gate) Preview(ctx context.Context, who jackline.Actor, c jackline.Call) (jackline.Intent, jackline.View, error) {
	i, b, in, err := g.outline(who, c)
	if err != nil || refused(i.Touches) != "" {
		return i, jackline.View{}, err
	}
	if i.Facts, err = g.observe(ctx, i, b, in); err != nil || b.preview == nil {
		return i, jackline.View{}, err
	}
	var v jackline.View
	err = safely(func() (err error) { v, err = b.preview(ctx, in); return err })
	return i, v, err
}

// outline makes of a call what can be known of it without asking or opening anything.
func (g *Gate) outline(who jackline.Actor, c jackline.Call) (jackline.Intent, bound, In, error) {
	t, ok := g.Tools.Lookup(c.Name)
	if !ok {
		return jackline.Intent{}, bound{}, In{}, jackline.E("tool.Intent", jackline.NotFound, nil, "There is no tool called %q.", c.Name)
	}
	canonical, b, err := t.decode(c.Args)
	if err != nil {
		return jackline.Intent{}, bound{}, In{}, err
	}
	c.Args = canonical
	in := In{Actor: who, Call: c.ID, Tools: g.Tools, Off: g.off(who)}
	i, err := intent(t, b, in, c)
	in.Sandbox = i.Sandbox
	return i, b, in, err
}

// Foresee says whether a call would run now by itself (Allow), would be asked about, or would not run and why. It runs, stores and
// asks nothing.
func (g *Gate) Foresee(ctx context.Context, who jackline.Actor, c jackline.Call) (jackline.Decision, error) {
	p := &passage{r: Request{Who: who, Call: c}, c: c}
	for _, stage := range []func(context.Context, *passage) (*ending, error){g.find, g.resolve, g.veiled, g.judge} {
		over, err := stage(ctx, p)
		if err != nil {
			return jackline.Decision{}, err
		}
		if over != nil {
			why := over.reason
			if why == "" {
				why = strings.TrimPrefix(over.text, "FAILED: ")
			}
			return jackline.Decision{Verdict: jackline.Deny, Rule: over.by, Reason: why, Hard: over.hard}, nil
		}
	}
	if p.decision.Verdict == jackline.Ask {
		granted, err := g.Desk.Granted(ctx, p.i)
		if err != nil {
			return jackline.Decision{}, err
		}
		if granted {
			p.decision.Verdict = jackline.Allow
		}
	}
	if p.t.facts.Asks {
		p.decision.Verdict = jackline.Ask
	}
	return p.decision, nil
}

// Judged is the decision about an intent, standing grants aside.
func (g *Gate) Judged(i jackline.Intent) jackline.Decision { return g.Judge.Judge(i) }

// decode checks raw against the tool's schema, after shaping and coercing it, and binds it.
func (t Tool) decode(raw json.RawMessage) (json.RawMessage, bound, error) {
	const op = "tool.decode"
	if len(raw) > maxArgs {
		return nil, bound{}, jackline.E(op, jackline.Unprocessed, nil, "The arguments are larger than %d bytes.", maxArgs)
	}
	written, err := args.Bounded(raw, maxLevels)
	if err != nil {
		return nil, bound{}, jackline.E(op, jackline.Unprocessed, err, "The arguments are not a JSON object, or one that is nested deeper than %d levels.", maxLevels)
	}
	shaped, err := t.schema().Check(written)
	if err != nil {
		return nil, bound{}, jackline.E(op, jackline.Unprocessed, nil, "%s", err.Error())
	}
	canonical, err := args.Canonical(shaped)
	if err != nil {
		return nil, bound{}, jackline.E(op, jackline.Unprocessed, err, "The arguments are not a JSON object.")
	}
	var b bound
	err = safely(func() (err error) { b, err = t.bind(canonical); return err })
	return canonical, b, err
}

// safely calls a function that a tool brought. A panic in it is that call's error, not the end of the program.
func safely(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = jackline.E("tool.safely", jackline.Internal, fmt.Errorf("panic: %v\n%s", p, debug.Stack()), "The tool broke down.")
		}
	}()
	return f()
}

// Off reports whether a tool is not there for somebody: its owner disabled it, or the turn does without it.
func (g *Gate) Off(who jackline.Actor, t Tool) bool {
	rule := g.Judge.Judge(jackline.Intent{Actor: who, Tool: t.facts.Name, Effect: t.facts.Effect}).Rule
	return rule == jackline.RuleDisabled || rule == jackline.RuleOffline
}

func (g *Gate) off(who jackline.Actor) func(Tool) bool {
	return func(t Tool) bool { return g.Off(who, t) }
}

// intent resolves the touches of a bound call. The effect is what the touches say, which must lie within what the
// spec declares.
func intent(t Tool, b bound, in In, c jackline.Call) (jackline.Intent, error) {
	i := jackline.Intent{
		Actor: in.Actor, Call: c.ID, Tool: t.facts.Name, Digest: t.facts.Digest, Title: b.title, Args: c.Args,
		Effect: t.facts.Effect, Labels: in.Actor.Session.Labels, Connected: t.facts.Connected,
	}
	if b.touches == nil {
		return i, nil
	}
	if err := safely(func() (err error) { i.Touches, err = b.touches(in); return err }); err != nil {
		return i, err
	}
	var e jackline.Effect
	for _, touch := range i.Touches {
		if touch.Effect == 0 || !t.facts.reaches().Has(touch.Effect) {
			return i, jackline.E("tool.intent", jackline.Internal,
				fmt.Errorf("%s declares %v and touches %v", t.facts.Name, t.facts.Effect, touch.Effect), "The tool is broken.")
		}
		e |= touch.Effect
	}
	if e != 0 {
		i.Effect = e
	}
	if b.sandbox == nil || refused(i.Touches) != "" {
		return i, nil
	}
	err := safely(func() (err error) { i.Sandbox, err = b.sandbox(in); return err })
	return i, err
}

func refused(touches []jackline.Touch) string {
	for _, t := range touches {
		if t.Refused != "" {
			return t.Refused
		}
	}
	return ""
}

// A passage is one call on its way through the gate: what the stages behind it have found out.
type passage struct {
	r        Request
	c        jackline.Call
	t        Tool
	b        bound
	in       In
	i        jackline.Intent
	decision jackline.Decision
	row      jackline.Approval // the question about this call, if asked
	asked    bool
	kept     []jackline.Snapshot
	edited   bool                // a person changed the arguments with the answer
	used     *jackline.Approval  // the answer that lets it run
	wait     jackline.ApprovalID // the question that it waits for
	flooded  string              // or why it may not be asked now
	stage    string              // that it is at, for the audit
}

// Do takes one call as far as it can go: to its one outcome, or to a question that waits for a person. What happened is in
// the log before Do returns. Do never blocks on a person. An error means that the log could not be written, or
// that ctx ended before the call began; then nothing ran.
//
// A call that a crash interrupted comes here again as it was stored: if it may have acted, its outcome
// is unknown and it is not run again.
func (g *Gate) Do(ctx context.Context, r Request) (Done, error) {
	if r.Call.State == jackline.CallEnded {
		return Done{Call: r.Call}, nil
	}
	if err := ctx.Err(); err != nil {
		return Done{Call: r.Call}, err
	}
	p := &passage{r: r, c: r.Call}
	p.c.Rulings = nil // it is judged anew, by what holds now
	for _, stage := range []func(context.Context, *passage) (*ending, error){g.find, g.resolve, g.veiled, g.judge, g.recall, g.permit} {
		over, err := stage(ctx, p)
		if err != nil {
			return Done{Call: r.Call}, err
		}
		if over != nil && over.outcome == jackline.Errored && ctx.Err() != nil {
			return Done{Call: r.Call}, ctx.Err() // it failed because it was stopped, and did not begin
		}
		if over != nil {
			if over.outcome == jackline.Unknown { // a crash cut it short: it may have changed something
				g.after(ctx, r.Who, p.c, over)
			}
			over.line = p.stopped(*over)
			d, err := g.end(ctx, r, p.c, *over)
			d.Hard, d.Asked = over.hard, over.by == jackline.ByNobody
			return d, err
		}
	}
	switch {
	case p.wait != "":
		return Done{Call: p.c, Wait: p.wait}, nil
	case p.flooded != "":
		return Done{Call: p.c, Held: true, Flooded: p.flooded}, nil
	case r.Hold:
		return Done{Call: p.c, Held: true}, nil
	}
	return g.run(ctx, p)
}

// find is the first stage: there must be such a tool, and the call must have arrived whole and not be in doubt.
func (g *Gate) find(_ context.Context, p *passage) (*ending, error) {
	p.stage = stageFind
	t, known := g.Tools.Lookup(p.c.Name)
	switch {
	case p.c.State == jackline.CallStarted && (!known || p.c.Acts):
		return &ending{outcome: jackline.Unknown, text: UnknownText}, nil
	case !known:
		return &ending{outcome: jackline.Errored, text: noSuchTool(p.c.Name, g.Tools.Names())}, nil
	}
	p.t, p.c.Name = t, t.facts.Name
	if p.c.Cut && t.facts.Effect.Acts() {
		return &ending{outcome: jackline.Errored, text: cutText}, nil
	}
	if why := t.Facts().WhyNot; why != "" {
		return &ending{outcome: jackline.Errored, text: "FAILED: " + t.facts.Name + " cannot be used now: " + why}, nil
	}
	return nil, nil
}

// resolve checks and binds the arguments, which a person may have changed meanwhile, and names what the call would touch.
func (g *Gate) resolve(ctx context.Context, p *passage) (over *ending, err error) {
	p.stage = stageResolve
	o := p.r.Who.Owner
	if p.c.State != jackline.CallNew { // a new call cannot have been asked about
		if p.row, p.asked, err = g.Desk.Row(ctx, o, p.c.ID); err != nil {
			return nil, err
		}
	}
	if p.asked && p.row.State == jackline.Approved && p.row.Kind == jackline.KindCall && p.row.Answer.Args != nil && string(p.row.Args) != string(p.c.Args) {
		p.edited, p.c.Args = true, p.row.Args
	}
	if p.c.Args, p.b, err = p.t.decode(p.c.Args); err != nil {
		p.c.Args = p.r.Call.Args
		return &ending{outcome: jackline.Errored, text: g.failed(ctx, p, err)}, nil
	}
	p.c.Title = p.b.title
	session, id := p.c.Session, p.c.ID
	p.in = In{
		Actor: p.r.Who, Call: id, Tools: g.Tools, Off: g.off(p.r.Who), Limit: p.r.Limit, Zone: p.r.Zone,
		State:    func(key string) (json.RawMessage, error) { return g.Log.State(ctx, o, session, key) },
		Progress: g.progress(o, p.c),
	}
	if p.i, err = intent(p.t, p.b, p.in, p.c); err != nil {
		return &ending{outcome: jackline.Errored, text: g.failed(ctx, p, err)}, nil
	}
	p.in.Sandbox = p.i.Sandbox // what is judged is what runs
	p.c.Acts = p.i.Effect.Acts()
	return nil, nil
}

// judge asks the judge, and the kill switch.
func (g *Gate) judge(ctx context.Context, p *passage) (*ending, error) {
	if err := g.vouch(ctx, p); err != nil {
		return nil, err
	}
	p.decision = g.weigh(p)
	if why := refused(p.i.Touches); why != "" && p.decision.Verdict != jackline.Deny {
		// No judge can allow what nobody may.
		p.decision = jackline.Decision{Verdict: jackline.Deny, Rule: "refused-touch", Reason: why, Hard: true}
		p.rule(stageJudge, p.decision)
	}
	if d := p.decision; d.Verdict == jackline.Deny {
		return &ending{outcome: jackline.Denied, by: d.Rule, reason: d.Reason, hard: d.Hard, text: deniedByRule(d)}, nil
	}
	if p.i.Effect.Leaves() && g.Halted != nil && g.Halted() {
		p.stage = stageHalted
		return &ending{outcome: jackline.Denied, by: jackline.RuleHalted, reason: haltedText, text: "DENIED: " + haltedText}, nil
	}
	return nil, nil
}

// recall looks at the earlier calls of the turn: what a person denied is not asked about again, and an equal pure read
// is answered with what it brought.
func (g *Gate) recall(ctx context.Context, p *passage) (*ending, error) {
	if p.c.Acts || p.decision.Verdict == jackline.Ask || p.t.facts.Asks {
		for _, q := range p.r.Prior {
			if q.Name == p.c.Name && q.Outcome == jackline.Denied && q.State == jackline.CallEnded && q.By == jackline.ByPerson && string(q.Args) == string(p.c.Args) {
				p.stage = stageRecall
				return &ending{outcome: jackline.Denied, by: jackline.ByPerson, reason: q.Reason, text: deniedBefore(p.t.facts.Asks, q.Reason)}, nil
			}
		}
	}
	if q, ok := p.cached(ctx); ok {
		p.c.Cached, p.stage = q.ID, stageRecall
		return &ending{outcome: jackline.OK, text: q.Text, origin: q.Origin, source: q.Source, dropped: q.Dropped, stamp: q.Stamp}, nil
	}
	return nil, nil
}

// cached finds an earlier equal call of the turn whose result still holds: nothing has acted since or is about to, and its stamp, if
// it has one, is still true. What would be asked about is asked about again.
func (p *passage) cached(ctx context.Context) (jackline.Call, bool) {
	if !p.t.cache || p.r.Hold || p.decision.Verdict != jackline.Allow {
		return jackline.Call{}, false
	}
	for k := len(p.r.Prior) - 1; k >= 0; k-- {
		q := p.r.Prior[k]
		if q.State != jackline.CallEnded || q.Acts && q.Outcome != jackline.Denied {
			return jackline.Call{}, false
		}
		if q.Name != p.c.Name || q.Outcome != jackline.OK || string(q.Args) != string(p.c.Args) {
			continue
		}
		return q, p.holds(ctx, q.Stamp)
	}
	return jackline.Call{}, false
}

// holds reports whether a cached result's stamp is still true. What cannot be checked is not.
func (p *passage) holds(ctx context.Context, stamp string) bool {
	if p.b.changed == nil {
		return true
	}
	changed := true
	_ = safely(func() error { changed = p.b.changed(ctx, p.in, stamp); return nil })
	return !changed
}

// permit settles whether the call may run now: it may, or it is over, or it waits for a person.
func (g *Gate) permit(ctx context.Context, p *passage) (*ending, error) {
	if p.asked {
		over, settled, err := g.answered(ctx, p)
		if err != nil {
			return &ending{outcome: jackline.Errored, text: g.failed(ctx, p, err)}, nil
		}
		if settled {
			return over, nil
		}
	}
	if !p.t.facts.Asks {
		if p.decision.Verdict == jackline.Ask {
			granted, err := g.Desk.Granted(ctx, p.i)
			if err != nil {
				return nil, err
			}
			if granted {
				p.say(stageGrant, jackline.Allow, "grant", "Standing grants cover all of it.")
				return nil, nil
			}
		} else {
			return nil, nil
		}
	}
	if t := p.r.Who.Turn; t.ID != "" && t.Options.OnAsk != jackline.AskWait || p.r.Who.Source == jackline.FromPrefetch {
		reason := p.decision.Reason
		if p.t.facts.Asks {
			reason = "Nobody was there to answer."
		}
		return &ending{outcome: jackline.Denied, by: jackline.ByNobody, reason: reason, text: nobodyText(p.t.facts.Asks)}, nil
	}
	if p.r.Hold && g.follows(p) {
		return nil, nil // what its card would show is not yet so
	}
	card, err := g.question(ctx, p)
	if err != nil {
		// It cannot work, so nobody is asked about it.
		return &ending{outcome: jackline.Errored, text: g.failed(ctx, p, err)}, nil
	}
	because, err := g.because(ctx, p)
	if err != nil {
		return nil, err
	}
	why := p.decision
	why.Reason += because
	a, err := g.Desk.New(ctx, p.i, why, card)
	if jackline.KindOf(err) == jackline.Conflict {
		p.flooded = jackline.Say(err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a.Step = p.c.Step
	p.c.State, p.wait = jackline.CallWaiting, a.ID
	_, err = g.Log.Append(ctx, p.r.Who.Owner, jackline.Record{
		Session: p.c.Session, Calls: []jackline.Call{p.c}, Approvals: []jackline.Approval{a}, Sync: true,
		Events: []jackline.Event{jackline.NewEvent(p.c.Session, p.c.Turn, jackline.ApprovalNeeded{
			Approval: a.ID, Kind: a.Kind, Call: p.c.ID, Title: a.Title, Risk: a.Risk, Why: a.Why, Touches: append([]jackline.Touch{}, a.Touches...), Scopes: append([]jackline.Scope{}, a.Scopes...), Expires: a.Expires,
		})},
	})
	return nil, err
}

// answered follows the question about this call. It settles nothing when the answer was a yes to something that is
// not what would run now: then it is a new question.
func (g *Gate) answered(ctx context.Context, p *passage) (over *ending, settled bool, err error) {
	switch row := p.row; row.State {
	case jackline.Pending:
		p.wait = row.ID
		return nil, true, nil
	case jackline.Refused:
		p.stage = stageApproval
		return &ending{outcome: jackline.Denied, by: jackline.ByPerson, reason: row.Answer.Reason, text: deniedByPerson(row)}, true, nil
	case jackline.Lapsed:
		p.say(stageApproval, jackline.Deny, "expired", expiredText)
		return &ending{outcome: jackline.Expired, text: expiredText}, true, nil
	case jackline.Withdrawn:
		p.say(stageApproval, jackline.Deny, "cancelled", withdrawnText)
		return &ending{outcome: jackline.Cancelled, text: withdrawnText}, true, nil
	case jackline.Used:
		// The approval is spent, and the call has no outcome: it was interrupted as it began.
		return &ending{outcome: jackline.Unknown, text: UnknownText}, true, nil
	case jackline.Approved:
		if row.Kind == jackline.KindQuestion {
			p.say(stageApproval, jackline.Allow, jackline.ByPerson, "Somebody answered.")
			return &ending{outcome: jackline.OK, source: jackline.Ours, text: answers(row), used: &row}, true, nil
		}
		if settled, err = g.stands(ctx, p); settled {
			p.used = &row
			p.say(stageApproval, jackline.Allow, jackline.ByPerson, "Somebody allowed exactly this call.")
		}
	}
	return nil, settled, err
}

// run writes the intent, does the work and writes the outcome.
func (g *Gate) run(ctx context.Context, p *passage) (Done, error) {
	c := p.c
	line := p.line(jackline.AuditRan) // decision and outcome of a read are one line
	if c.Acts {
		rows, err := g.before(ctx, p.i)
		if ctx.Err() != nil {
			return Done{Call: p.r.Call}, ctx.Err()
		}
		if err != nil {
			over := ending{outcome: jackline.Errored, text: g.failed(ctx, p, err), used: p.used}
			over.line = p.stopped(over)
			return g.end(ctx, p.r, c, over)
		}
		p.kept = rows
	}
	c.State, c.Started = jackline.CallStarted, time.Now().UTC()
	if c.Acts {
		// From here on the call may have acted: this is on disk before anything happens.
		line.Kind = jackline.AuditStarted
		rec := jackline.Record{
			Session: c.Session, Calls: []jackline.Call{c}, Audit: []jackline.AuditEntry{line}, Snapshots: p.kept, Sync: true,
		}
		if p.used != nil {
			spent := *p.used
			spent.State = jackline.Used
			rec.Approvals, rec.From = []jackline.Approval{spent}, jackline.Approved
		}
		if _, err := g.Log.Append(ctx, p.r.Who.Owner, rec); err != nil {
			return Done{Call: p.r.Call}, err
		}
		line.Kind, line.Value, line.Rulings = jackline.AuditEnded, nil, nil
	}
	if over := g.recheck(ctx, p); over != nil {
		if c.Acts {
			over.used = nil // it was spent with the intent
		}
		over.line = line
		g.after(ctx, p.r.Who, c, over)
		return g.end(ctx, p.r, c, *over)
	}
	marked, err := g.marking(ctx, p)
	if err != nil { // what it writes would pass for the owner's own
		over := ending{outcome: jackline.Errored, source: jackline.Ours, text: g.failed(ctx, p, err), line: line}
		g.after(ctx, p.r.Who, c, &over)
		return g.end(ctx, p.r, c, over)
	}
	var out Out
	err = safely(func() (err error) { out, err = p.b.run(ctx, p.in); return err })
	c.MS = time.Since(c.Started).Milliseconds()
	if late := marked(context.WithoutCancel(ctx)); late != nil && g.Errors != nil {
		g.Errors.Error("marks", "call", c.ID, "err", late) // what was marked before it ran stays marked
	}

	e := ending{outcome: jackline.OK, text: out.Text, origin: out.Origin, source: p.t.facts.Source, stamp: out.Stamp, out: out, secret: p.t.secret, line: line}
	if out.Label != nil {
		e.source, e.secret = out.Label.Source, out.Label.Secret
	}
	switch {
	case err != nil && errors.Is(context.Cause(ctx), jackline.ErrShutdown):
		if !c.Acts { // it runs again when the turn is taken up
			return Done{Call: p.r.Call}, context.Cause(ctx)
		}
		e.outcome, e.text = jackline.Unknown, UnknownText+soFar(out.Text)
	case err != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		e.outcome, e.text, e.source, e.secret = jackline.Errored, slowText, jackline.Ours, false
	case err != nil && ctx.Err() != nil:
		e.outcome, e.text = jackline.Cancelled, stoppedText+soFar(out.Text)
	case err != nil:
		e.outcome, e.text, e.source, e.secret = jackline.Errored, g.failed(ctx, p, err), jackline.Ours, false
	case out.Failed:
		e.outcome = jackline.Errored
	}
	e.source = g.vouched(ctx, p, e)
	if !c.Acts {
		e.used = p.used
	}
	g.after(ctx, p.r.Who, c, &e)
	if p.edited {
		e.text = "[The owner changed the arguments before allowing this call; it ran as " + string(c.Args) + "]\n" + e.text
	}
	d, err := g.end(ctx, p.r, c, e)
	if err != nil && c.Acts { // it stands as begun, and nobody may take it for one that did not run
		err = jackline.E("tool.run", jackline.KindOf(err), err,
			"This call was made, but how it ended could not be written down: look at what it did before it is made again. %s", jackline.Say(err))
	}
	return d, err
}
