package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/chain"
)

// maxAuditWord is how long a name in a line of the audit may be, in bytes: those of tools and rules are shorter.
const maxAuditWord = 120

// A chainEnd is where the audit ends, as the writer knows it.
type chainEnd struct {
	known bool
	n     int64
	mac   chain.MAC
}

const auditColumns = `n, at, owner, kind, session, turn, call, tool, source, actor, verdict, rule, stage, approval, permit, scope, outcome, what,
	ms, bytes_in, bytes_out, tainted, private, sandbox, args, chain, mac`

// auditWidth is how many columns that is.
const auditWidth = 27

const sqlAudit = `INSERT INTO audit (` + auditColumns + `) VALUES `

// auditLine makes a line ready: times, owner and digests. Its number and its MAC come last, from the writer.
func (d *DB) auditLine(owner jackline.Owner, now time.Time, e jackline.AuditEntry) jackline.AuditEntry {
	if e.Owner == "" {
		e.Owner = owner
	}
	if e.At.IsZero() {
		e.At = now
	}
	e.At = time.Unix(0, nanos(e.At)).UTC()
	e.In = max(e.In, int64(len(e.Value)))
	if e.Args == "" {
		e.Args = d.keys.Digest("value", e.Value)
	}
	if e.Chain == "" {
		e.Chain = d.keys.Rulings(e.Rulings)
	}
	e.Value, e.Rulings, e.Prev, e.MAC = nil, nil, "", ""
	e.Tool, e.Rule, e.Stage, e.By, e.What = auditWord(e.Tool), auditWord(ruleWord(e.Rule)), auditWord(e.Stage), auditWord(e.By), auditWord(e.What)
	return e
}

// ruleWord is the name of a rule without what it is about: an owner's own rule names paths, hosts and commands.
func ruleWord(rule string) string {
	if name, _, ok := strings.Cut(rule, "("); ok {
		return name + "(…)"
	}
	return rule
}

// auditWord is a name that is safe to stand in a line: short, and all of it visible.
func auditWord(s string) string {
	plain := func(r rune) bool { return unicode.IsGraphic(r) && r != unicode.ReplacementChar }
	if len(s) <= maxAuditWord && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !plain(r) {
			r = '?'
		}
		if b.Len()+len(string(r)) > maxAuditWord {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// implied are the lines that follow from a record: what is asked and answered, what is granted, and a change of mode.
func implied(rec jackline.Record) []jackline.AuditEntry {
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
		list = append(list, grantLine(kind, rec.Session, g))
	}
	if rec.Mode != nil {
		list = append(list, jackline.AuditEntry{Kind: jackline.AuditMode, Session: rec.Session, What: rec.Mode.String()})
	}
	return list
}

func grantLine(kind jackline.AuditKind, s jackline.SessionID, g jackline.Grant) jackline.AuditEntry {
	return jackline.AuditEntry{
		Kind: kind, Session: s, Turn: g.Turn, Tool: g.Tool, Approval: g.Approval, Grant: g.ID, Scope: g.Scope, What: string(g.Kind),
		Value: json.RawMessage(g.Value),
	}
}

// audit makes the lines of a piece ready.
func (d *DB) audit(owner jackline.Owner, list ...jackline.AuditEntry) []jackline.AuditEntry {
	if len(list) == 0 {
		return nil
	}
	now := time.Now()
	list = slices.Clone(list)
	for i := range list {
		list[i] = d.auditLine(owner, now, list[i])
	}
	return list
}

// Note writes lines into the audit, durably, which belong to no other record.
func (d *DB) Note(ctx context.Context, owner jackline.Owner, list ...jackline.AuditEntry) error {
	const op = "store.Note"
	if owner == "" {
		return jackline.E(op, jackline.Invalid, nil, "A line of the audit has an owner.")
	}
	lines := d.audit(owner, list...)
	return d.submit(ctx, &piece{op: op, sync: true, run: func(w *writer) error { return w.audit(d.keys, lines) }})
}

// audit writes lines at the end of the chain. It is the last thing that a piece does: what is known of the end then holds if and
// only if the piece does.
func (w *writer) audit(keys chain.Keys, lines []jackline.AuditEntry) error {
	if len(lines) == 0 {
		return nil
	}
	if err := w.findEnd(); err != nil {
		return err
	}
	end := w.auditEnd
	args := make([]any, 0, auditWidth*len(lines))
	for _, e := range lines {
		end.n++
		e.N = end.n
		end.mac = keys.Next(end.mac, e)
		args = append(args, e.N, nanos(e.At), string(e.Owner), string(e.Kind), string(e.Session), string(e.Turn), string(e.Call), e.Tool,
			string(e.Source), e.By, e.Verdict, e.Rule, e.Stage, string(e.Approval), string(e.Grant), string(e.Scope), e.Outcome, e.What,
			e.MS, e.In, e.Out, bit(e.Labels.Tainted), bit(e.Labels.Private), int64(e.Sandbox), e.Args, e.Chain, slices.Clone(end.mac[:]))
	}
	if err := w.insert(sqlAudit, auditWidth, args); err != nil {
		return err
	}
	w.auditEnd, w.wrote = end, end.n
	poke(w.audited)
	return nil
}

// findEnd looks where the chain ends, unless that is known.
func (w *writer) findEnd() error {
	if w.auditEnd.known {
		return nil
	}
	var n int64
	var mac []byte
	err := w.row(`SELECT n, mac FROM audit ORDER BY n DESC LIMIT 1`).Scan(&n, &mac)
	if errors.Is(err, sql.ErrNoRows) {
		w.auditEnd = chainEnd{known: true}
		return nil
	}
	if err != nil {
		return err
	}
	// A MAC that somebody cut or lengthened is no reason to write nothing more: the line that it stands in is found out.
	w.auditEnd = chainEnd{known: true, n: n}
	copy(w.auditEnd.mac[:], mac)
	return nil
}

// scanAudit reads a line behind the MAC of the one before it.
func scanAudit(s scanner) (e jackline.AuditEntry, err error) {
	var prev, mac []byte
	var sandbox int64
	err = s.Scan(&e.N, moment{&e.At}, &e.Owner, &e.Kind, &e.Session, &e.Turn, &e.Call, &e.Tool, &e.Source, &e.By, &e.Verdict, &e.Rule, &e.Stage,
		&e.Approval, &e.Grant, &e.Scope, &e.Outcome, &e.What, &e.MS, &e.In, &e.Out, &e.Labels.Tainted, &e.Labels.Private, &sandbox,
		&e.Args, &e.Chain, &mac, &prev)
	e.Sandbox = jackline.SandboxLevel(sandbox)
	e.MAC = hexOf(mac)
	if e.Prev = hexOf(prev); prev == nil {
		e.Prev = chain.MAC{}.Hex()
	}
	return e, err
}

func hexOf(b []byte) string {
	var m chain.MAC
	if len(b) != len(m) {
		return ""
	}
	copy(m[:], b)
	return m.Hex()
}

// Audit reads lines of the audit: the owner's, or everybody's where the query says so. Newest first,
// unless it says otherwise.
func (d *DB) Audit(ctx context.Context, owner jackline.Owner, q jackline.AuditQuery) ([]jackline.AuditEntry, error) {
	where, args := `1 = 1`, []any{}
	and := func(cond string, v any) { where, args = where+` AND `+cond, append(args, v) }
	if !q.Everybody {
		and(`owner = ?`, string(owner))
	}
	for _, f := range []struct{ column, value string }{
		{"session", string(q.Session)}, {"call", string(q.Call)}, {"tool", q.Tool}, {"kind", string(q.Kind)}, {"verdict", q.Verdict},
	} {
		if f.value != "" {
			and(f.column+` = ?`, f.value)
		}
	}
	if !q.Since.IsZero() {
		and(`at >= ?`, nanos(q.Since))
	}
	if !q.Until.IsZero() {
		and(`at < ?`, nanos(q.Until))
	}
	order := `DESC`
	if q.After > 0 {
		and(`n > ?`, q.After)
	}
	if q.Oldest {
		order = `ASC`
	}
	if q.Before > 0 {
		and(`n < ?`, q.Before)
	}
	return d.auditRows(ctx, "store.Audit", where+` ORDER BY n `+order, q.Limit, args...)
}

func (d *DB) auditRows(ctx context.Context, op, where string, limit int, args ...any) ([]jackline.AuditEntry, error) {
	return many(ctx, d, op, scanAudit, `SELECT `+auditColumns+`, (SELECT p.mac FROM audit p WHERE p.n = audit.n - 1)
		FROM audit WHERE `+where+` LIMIT ?`, append(args, page(limit))...)
}

// AuditLine reads one line of the audit.
func (d *DB) AuditLine(ctx context.Context, owner jackline.Owner, everybody bool, n int64) (jackline.AuditEntry, error) {
	const op = "store.AuditLine"
	list, err := d.auditRows(ctx, op, `n = ? AND (? OR owner = ?)`, 1, n, everybody, string(owner))
	if err == nil && len(list) == 0 {
		err = absent(op, "line of the audit")
	}
	return first(list, err)
}
