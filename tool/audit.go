package tool

import (
	"github.com/jackline-ai/jackline"
)

// The stages of the gate, as the audit and the explanation of a call name them.
const (
	stageFind     = "look-up"
	stageResolve  = "arguments"
	stageJudge    = "policy"
	stageHalted   = "kill switch"
	stageRecall   = "earlier calls"
	stageGrant    = "grants"
	stageApproval = "approval"
)

// unknownTool is the tool of a call to none that exists: the name that a model made up may say anything.
const unknownTool = "(unknown)"

// A Weigher is a judge that can say all that its rules say besides what they come to.
type Weigher interface {
	// Weighed is the decision about an intent, and what each rule that has something to say about it says.
	Weighed(jackline.Intent) (jackline.Decision, []jackline.Decision)
}

// weigh asks the judge, and takes down what it said.
func (g *Gate) weigh(p *passage) jackline.Decision {
	w, ok := g.Judge.(Weigher)
	if !ok {
		d := g.Judge.Judge(p.i)
		p.rule(stageJudge, d)
		return d
	}
	d, all := w.Weighed(p.i)
	for _, said := range all {
		if said != d {
			p.rule(stageJudge, said)
		}
	}
	p.rule(stageJudge, d) // last, since it decided
	return d
}

// rule takes down what was said on the call.
func (p *passage) rule(stage string, d jackline.Decision) {
	p.stage = stage
	p.c.Rulings = append(p.c.Rulings, jackline.Ruling{Stage: stage, Decision: d})
}

// say takes it down where it is no rule's word.
func (p *passage) say(stage string, v jackline.Verdict, rule, reason string) {
	p.rule(stage, jackline.Decision{Verdict: v, Rule: rule, Reason: reason})
}

// line is what the audit says of the call as far as it has come. What it ended in is added by whoever ends it.
func (p *passage) line(kind jackline.AuditKind) jackline.AuditEntry {
	e := jackline.AuditEntry{
		Kind: kind, Session: p.c.Session, Turn: p.c.Turn, Call: p.c.ID, Tool: p.t.facts.Name, Source: p.r.Who.Source, Stage: p.stage,
		Labels: p.r.Who.Session.Labels, Sandbox: p.i.Sandbox.Level, Value: p.c.Args, Rulings: p.c.Rulings,
	}
	if e.Tool == "" {
		e.Tool = unknownTool
	}
	if n := len(p.c.Rulings); n > 0 {
		e.Verdict, e.Rule = p.c.Rulings[n-1].Verdict.String(), p.c.Rulings[n-1].Rule
	}
	if p.used != nil {
		e.Approval = p.used.ID
	} else if p.asked {
		e.Approval = p.row.ID
	}
	return e
}

// stopped is the line of a call that ended before it ran, or without running.
func (p *passage) stopped(over ending) jackline.AuditEntry {
	switch {
	case over.outcome == jackline.Unknown:
		return p.line(jackline.AuditEnded)
	case over.outcome == jackline.OK:
		return p.line(jackline.AuditRan)
	}
	n := len(p.c.Rulings)
	if over.outcome == jackline.Denied && (n == 0 || p.c.Rulings[n-1].Verdict != jackline.Deny) {
		p.rule(p.stage, jackline.Decision{Verdict: jackline.Deny, Rule: over.by, Reason: over.reason, Hard: over.hard})
	}
	e := p.line(jackline.AuditRefused)
	if over.outcome != jackline.Denied && e.Verdict == jackline.Allow.String() {
		e.Verdict = "" // it was allowed and could not begin
	}
	return e
}

// closed is the line once the outcome of the call is known.
func closed(e jackline.AuditEntry, c jackline.Call) []jackline.AuditEntry {
	if e.Kind == "" {
		return nil
	}
	e.Outcome, e.MS, e.Out = c.Outcome.String(), c.MS, int64(len(c.Text))
	return []jackline.AuditEntry{e}
}

// Abandoned is the line of a call that somebody else than the gate ends: it was stopped before it had an outcome.
func Abandoned(c jackline.Call, s jackline.Session, source jackline.Source) jackline.AuditEntry {
	e := jackline.AuditEntry{
		Kind: jackline.AuditRefused, Session: c.Session, Turn: c.Turn, Call: c.ID, Tool: unknownTool, Source: source, Stage: "stop",
		Labels: s.Labels, Outcome: c.Outcome.String(), Value: c.Args,
	}
	if n := len(c.Rulings); n > 0 { // the gate has seen it, so its name is a tool's
		e.Tool, e.Rule = c.Name, c.Rulings[n-1].Rule
	}
	if c.Outcome == jackline.Unknown {
		e.Kind = jackline.AuditEnded
	}
	return e
}
