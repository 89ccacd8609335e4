package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/chain"
	"github.com/jackline-ai/jackline/store/column"
	"github.com/jackline-ai/jackline/store/vault"
)

// An approvalRow is an approval made ready for the writer.
type approvalRow struct {
	id   jackline.ApprovalID
	args []any
}

const sqlApproval = `INSERT INTO approvals (id, session, owner, turn, call, state, created, expires, sealed) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (id) DO UPDATE SET turn = excluded.turn, call = excluded.call, state = excluded.state, expires = excluded.expires,
		sealed = excluded.sealed
	WHERE approvals.state = ? AND approvals.session = excluded.session`

// approvalRow seals all of an approval but what it is found by. Arguments are kept byte by byte, because the
// approval's own seal is over them; JSON would write them anew.
func (d *DB) approvalRow(a jackline.Approval, from jackline.ApprovalState) (approvalRow, error) {
	if a.ID == "" {
		return approvalRow{}, jackline.E("store.Append", jackline.Invalid, nil, "An approval has an id.")
	}
	args, edited := string(a.Args), string(a.Answer.Args)
	rest := a
	rest.Args, rest.Answer.Args = nil, nil
	text, err := json.Marshal(rest)
	if err != nil {
		return approvalRow{}, jackline.E("store.Append", jackline.Invalid, err, "An approval cannot be written.")
	}
	facts, err := json.Marshal(a.Facts)
	if err != nil {
		return approvalRow{}, jackline.E("store.Append", jackline.Invalid, err, "An approval cannot be written.")
	}
	sealed := d.boxes.approvals.Seal(vault.Pack(string(text), args, edited, a.Digest, string(a.Seal), string(facts)), string(a.ID))
	return approvalRow{a.ID, []any{string(a.ID), string(a.Session), string(a.Owner), string(a.Turn), string(a.Call), string(a.State),
		column.Nanos(a.Created), column.Nanos(a.Expires), sealed, string(from)}}, nil
}

// writeApproval opens an approval, or moves one on from the state in which the caller saw it.
func (r *record) writeApproval(w *writer, a approvalRow) error {
	n, err := w.exec(sqlApproval, a.args...)
	if err != nil || n > 0 {
		return err
	}
	var state jackline.ApprovalState
	err = w.row(`SELECT state FROM approvals WHERE id = ? AND session = ?`, string(a.id), string(r.session)).Scan(&state)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return absent(r.op, "approval")
	case err != nil:
		return err
	case state == jackline.Pending:
		return jackline.E(r.op, jackline.Conflict, nil, "The approval is still open.")
	}
	return jackline.E(r.op, jackline.Conflict, nil, "The approval was already answered: it is %s.", state)
}

const approvalColumns = `id, session, owner, state, sealed`

func (d *DB) scanApproval(s scanner) (a jackline.Approval, err error) {
	var id jackline.ApprovalID
	var session jackline.SessionID
	var owner jackline.Owner
	var state jackline.ApprovalState
	var sealed []byte
	if err = s.Scan(&id, &session, &owner, &state, &sealed); err != nil {
		return a, err
	}
	plain, err := d.boxes.approvals.Open(sealed, string(id))
	if err != nil {
		return a, unsealable("approval", err)
	}
	var text, args, edited, digest, seal, facts string
	err = vault.Unpack(plain, &text, &args, &edited, &digest, &seal)
	if err == nil {
		err = json.Unmarshal([]byte(text), &a)
	}
	// A row of an earlier version ends here. Its seal is of an earlier form, too, so it can be denied and asked about anew.
	if err == nil && vault.Unpack(plain, &text, &args, &edited, &digest, &seal, &facts) == nil {
		err = json.Unmarshal([]byte(facts), &a.Facts)
	}
	if err != nil {
		return a, unsealable("approval", err)
	}
	if a.ID != id || a.Session != session || a.State != state {
		return a, unsealable("approval", errors.New("columns and sealed text differ"))
	}
	a.Owner, a.Args, a.Answer.Args, a.Digest = owner, raw(args), raw(edited), digest
	if seal != "" {
		a.Seal = []byte(seal)
	}
	return a, nil
}

// raw is JSON text as it was stored, nil where there was none.
func raw(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return json.RawMessage(s)
}

// ApprovalFilter is the noun of that name, for shorter calls.
type ApprovalFilter = jackline.ApprovalFilter

// Approval reads one approval.
func (d *DB) Approval(ctx context.Context, owner jackline.Owner, id jackline.ApprovalID) (jackline.Approval, error) {
	return one(ctx, d, "store.Approval", "approval", d.scanApproval,
		`SELECT `+approvalColumns+` FROM approvals WHERE id = ? AND owner = ?`, id, owner)
}

// Approvals reads the owner's approvals, oldest first. A session or turn in the filter must be the owner's.
func (d *DB) Approvals(ctx context.Context, owner jackline.Owner, f ApprovalFilter) ([]jackline.Approval, error) {
	const op = "store.Approvals"
	where, args := `owner = ?`, []any{owner}
	if f.Session != "" {
		if err := d.own(ctx, op, owner, f.Session); err != nil {
			return nil, err
		}
		where, args = where+` AND session = ?`, append(args, f.Session)
	}
	if f.Turn != "" {
		t, err := d.Turn(ctx, owner, f.Turn)
		if err != nil {
			return nil, err
		}
		where, args = where+` AND session = ? AND turn = ?`, append(args, t.Session, f.Turn)
	}
	if f.Call != "" {
		where, args = where+` AND call = ?`, append(args, f.Call)
	}
	if len(f.States) > 0 {
		where += ` AND state IN (?` + strings.Repeat(`, ?`, len(f.States)-1) + `)`
		for _, s := range f.States {
			args = append(args, s)
		}
	}
	return many(ctx, d, op, d.scanApproval, `SELECT `+approvalColumns+` FROM approvals WHERE `+where+` ORDER BY num`, args...)
}

// ExpiringApprovals reads the open approvals of all owners that expire before a moment, the first to expire first.
// Approvals without an expiry are not among them.
func (d *DB) ExpiringApprovals(ctx context.Context, before time.Time) ([]jackline.Approval, error) {
	return many(ctx, d, "store.ExpiringApprovals", d.scanApproval,
		`SELECT `+approvalColumns+` FROM approvals WHERE state = 'pending' AND expires > 0 AND expires < ? ORDER BY expires, num`, column.Nanos(before))
}

const sqlGrant = `INSERT INTO grants (id, session, owner, turn, scope, tool, kind, mode, approval, created, revoked, terms, sealed)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (id) DO UPDATE SET turn = excluded.turn, scope = excluded.scope, tool = excluded.tool, kind = excluded.kind,
		mode = excluded.mode, approval = excluded.approval, revoked = excluded.revoked, terms = excluded.terms, sealed = excluded.sealed
	WHERE grants.session = excluded.session`

func (d *DB) grantArgs(g jackline.Grant) []any {
	return []any{string(g.ID), string(g.Session), string(g.Owner), string(g.Turn), string(g.Scope), g.Tool, string(g.Kind), g.Mode.String(),
		string(g.Approval), column.Nanos(g.Created), column.Nanos(g.Revoked), g.Terms, d.boxes.grants.Seal([]byte(g.Value), grantRow(g)...)}
}

// grantRow is all that widens a grant: a value opens only in the row that it was sealed for, as that row was.
func grantRow(g jackline.Grant) []string {
	row := []string{string(g.ID), string(g.Session), string(g.Owner), string(g.Turn), string(g.Scope), g.Tool, string(g.Kind), g.Mode.String()}
	if g.Terms != "" { // grants of earlier versions have none
		row = append(row, g.Terms)
	}
	return row
}

const grantColumns = `id, session, owner, turn, scope, tool, kind, mode, approval, created, revoked, terms, sealed`

func (d *DB) scanGrant(s scanner) (g jackline.Grant, err error) {
	var sealed []byte
	err = s.Scan(&g.ID, &g.Session, &g.Owner, &g.Turn, &g.Scope, &g.Tool, &g.Kind, column.Word[jackline.Mode, *jackline.Mode]{V: &g.Mode}, &g.Approval,
		column.Moment{T: &g.Created}, column.Moment{T: &g.Revoked}, &g.Terms, &sealed)
	if err != nil {
		return g, err
	}
	plain, err := d.boxes.grants.Open(sealed, grantRow(g)...)
	if err != nil {
		return g, unsealable("grant", err)
	}
	g.Value = string(plain)
	return g, nil
}

// Grants reads the grants in force, oldest first: of one session, or of all the owner's where session is "".
func (d *DB) Grants(ctx context.Context, owner jackline.Owner, session jackline.SessionID) ([]jackline.Grant, error) {
	const op = "store.Grants"
	if session == "" {
		return many(ctx, d, op, d.scanGrant, `SELECT `+grantColumns+` FROM grants WHERE owner = ? AND revoked = 0 ORDER BY num`, owner)
	}
	if err := d.own(ctx, op, owner, session); err != nil {
		return nil, err
	}
	return many(ctx, d, op, d.scanGrant, `SELECT `+grantColumns+` FROM grants WHERE session = ? AND revoked = 0 ORDER BY num`, session)
}

// RevokeGrant takes a grant back, durably. To revoke one that is revoked changes nothing.
func (d *DB) RevokeGrant(ctx context.Context, owner jackline.Owner, id jackline.GrantID) error {
	const op = "store.RevokeGrant"
	return d.submit(ctx, &piece{op: op, sync: true, run: func(w *writer) error {
		g, err := d.scanGrant(w.row(`SELECT `+grantColumns+` FROM grants WHERE id = ? AND owner = ?`, string(id), string(owner)))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return absent(op, "grant")
		case err != nil:
			return err
		case !g.Revoked.IsZero():
			return nil
		}
		if _, err := w.exec(`UPDATE grants SET revoked = ? WHERE id = ?`, column.Nanos(time.Now()), string(id)); err != nil {
			return err
		}
		return w.audit(d.keys, d.audit(owner, chain.Granted(jackline.AuditRevoked, g.Session, g)))
	}})
}
