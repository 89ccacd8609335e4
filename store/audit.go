package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/chain"
	"github.com/jackline-ai/jackline/store/column"
)

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

// audit makes the lines of a piece ready.
func (d *DB) audit(owner jackline.Owner, list ...jackline.AuditEntry) []jackline.AuditEntry {
	if len(list) == 0 {
		return nil
	}
	now := time.Now()
	list = slices.Clone(list)
	for i := range list {
		list[i] = d.keys.Ready(owner, now, list[i])
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
		args = append(args, e.N, column.Nanos(e.At), string(e.Owner), string(e.Kind), string(e.Session), string(e.Turn), string(e.Call), e.Tool,
			string(e.Source), e.By, e.Verdict, e.Rule, e.Stage, string(e.Approval), string(e.Grant), string(e.Scope), e.Outcome, e.What,
			e.MS, e.In, e.Out, column.Bit(e.Labels.Tainted), column.Bit(e.Labels.Private), int64(e.Sandbox), e.Args, e.Chain, slices.Clone(end.mac[:]))
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
	err = s.Scan(&e.N, column.Moment{T: &e.At}, &e.Owner, &e.Kind, &e.Session, &e.Turn, &e.Call, &e.Tool, &e.Source, &e.By, &e.Verdict, &e.Rule, &e.Stage,
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
		and(`at >= ?`, column.Nanos(q.Since))
	}
	if !q.Until.IsZero() {
		and(`at < ?`, column.Nanos(q.Until))
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
