package chain

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"

	"github.com/jackline-ai/jackline"
)

// maxWord is how long a name in a line may be, in bytes: those of tools and rules are shorter.
const maxWord = 120

// Ready makes a line ready to be written: its owner and time, digests in the place of values, and names that are fit to stand in
// it. Its number and its MACs come last.
func (k Keys) Ready(owner jackline.Owner, now time.Time, e jackline.AuditEntry) jackline.AuditEntry {
	if e.Owner == "" {
		e.Owner = owner
	}
	if e.At.IsZero() {
		e.At = now
	}
	e.At = time.Unix(0, e.At.UnixNano()).UTC()
	e.In = max(e.In, int64(len(e.Value)))
	if e.Args == "" {
		e.Args = k.Digest("value", e.Value)
	}
	if e.Chain == "" {
		e.Chain = k.Rulings(e.Rulings)
	}
	e.Value, e.Rulings, e.Prev, e.MAC = nil, nil, "", ""
	e.Tool, e.Rule, e.Stage, e.By, e.What = word(e.Tool), word(rule(e.Rule)), word(e.Stage), word(e.By), word(e.What)
	return e
}

// rule is the name of a rule without what it is about: an owner's own rule names paths, hosts and commands.
func rule(s string) string {
	if name, _, ok := strings.Cut(s, "("); ok {
		return name + "(…)"
	}
	return s
}

// word is a name that is safe to stand in a line: short, and all of it visible.
func word(s string) string {
	plain := func(r rune) bool { return unicode.IsGraphic(r) && r != unicode.ReplacementChar }
	if len(s) <= maxWord && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !plain(r) {
			r = '?'
		}
		if b.Len()+len(string(r)) > maxWord {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Implied are the lines that follow from a record: what is asked and answered, what is granted, and a change of mode or of the
// taint gate.
func Implied(rec jackline.Record) []jackline.AuditEntry {
	var list []jackline.AuditEntry
	for _, a := range rec.Approvals {
		kind, verdict := jackline.AuditAsked, jackline.Ask
		switch a.State {
		case jackline.Pending:
		case jackline.Approved:
			kind, verdict = jackline.AuditApproved, jackline.Allow
		case jackline.Refused:
			kind, verdict = jackline.AuditDenied, jackline.Deny
		case jackline.Lapsed:
			kind, verdict = jackline.AuditLapsed, jackline.Deny
		case jackline.Withdrawn:
			kind, verdict = jackline.AuditWithdrawn, jackline.Deny
		case jackline.Used:
			kind, verdict = jackline.AuditUsed, jackline.Allow
		}
		list = append(list, jackline.AuditEntry{
			Kind: kind, Session: rec.Session, Turn: a.Turn, Call: a.Call, Tool: a.Tool, By: a.Answer.By, Verdict: verdict.String(), Rule: a.Rule,
			Stage: "approval", Approval: a.ID, Scope: a.Answer.Scope, What: string(a.Kind), Labels: a.Labels, Sandbox: a.Sandbox.Level, Value: a.Args,
		})
	}
	for _, g := range rec.Grants {
		kind := jackline.AuditGranted
		if !g.Revoked.IsZero() {
			kind = jackline.AuditRevoked
		}
		list = append(list, Granted(kind, rec.Session, g))
	}
	if rec.Mode != nil {
		list = append(list, jackline.AuditEntry{Kind: jackline.AuditMode, Session: rec.Session, What: rec.Mode.String()})
	}
	if rec.Ungated != nil {
		what := "on"
		if *rec.Ungated {
			what = "off"
		}
		list = append(list, jackline.AuditEntry{Kind: jackline.AuditTaint, Session: rec.Session, What: what})
	}
	return list
}

// Granted is the line of a grant that is made or revoked.
func Granted(kind jackline.AuditKind, s jackline.SessionID, g jackline.Grant) jackline.AuditEntry {
	return jackline.AuditEntry{
		Kind: kind, Session: s, Turn: g.Turn, Tool: g.Tool, Approval: g.Approval, Grant: g.ID, Scope: g.Scope, What: string(g.Kind),
		Value: json.RawMessage(g.Value),
	}
}
