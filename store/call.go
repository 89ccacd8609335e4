package store

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/column"
	"github.com/jackline-ai/jackline/store/vault"
)

const sqlCall = `INSERT INTO calls (id, session, turn, step, idx, native, asked, name, cut, state, outcome, source, dropped, cached, denied_by, acts, ms, started, sealed)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (id) DO UPDATE SET native = excluded.native, asked = excluded.asked, name = excluded.name, cut = excluded.cut,
		state = excluded.state, outcome = excluded.outcome, source = excluded.source, dropped = excluded.dropped,
		cached = excluded.cached, denied_by = excluded.denied_by, acts = excluded.acts, ms = excluded.ms,
		started = excluded.started, sealed = excluded.sealed
	WHERE calls.session = excluded.session`

func (d *DB) callArgs(c jackline.Call) []any {
	changes, rulings := "", ""
	if len(c.Rulings) > 0 {
		b, _ := json.Marshal(c.Rulings) // nor can this
		rulings = string(b)
	}
	if len(c.Changes) > 0 {
		b, _ := json.Marshal(c.Changes) // a struct of plain fields cannot fail
		changes = string(b)
	}
	sealed := d.boxes.calls.Seal(vault.Pack(string(c.Args), c.Text, c.Origin, c.Stamp, c.Title, c.Reason, changes, rulings), string(c.ID), string(c.Session))
	return []any{string(c.ID), string(c.Session), string(c.Turn), c.Step, c.Index, c.Native, c.Asked, c.Name, column.Bit(c.Cut), string(c.State),
		c.Outcome.String(), c.Source.String(), c.Dropped, string(c.Cached), c.By, column.Bit(c.Acts), c.MS, column.Nanos(c.Started), sealed}
}

const callColumns = `c.id, c.session, c.turn, c.step, c.idx, c.native, c.asked, c.name, c.cut, c.state, c.outcome, c.source, c.dropped,
	c.cached, c.denied_by, c.acts, c.ms, c.started, c.sealed`

func (d *DB) scanCall(s scanner) (c jackline.Call, err error) {
	var sealed []byte
	err = s.Scan(&c.ID, &c.Session, &c.Turn, &c.Step, &c.Index, &c.Native, &c.Asked, &c.Name, &c.Cut, &c.State,
		column.Word[jackline.Outcome, *jackline.Outcome]{V: &c.Outcome}, column.Word[jackline.Integrity, *jackline.Integrity]{V: &c.Source},
		&c.Dropped, &c.Cached, &c.By, &c.Acts, &c.MS, column.Moment{T: &c.Started}, &sealed)
	if err != nil {
		return c, err
	}
	plain, err := d.boxes.calls.Open(sealed, string(c.ID), string(c.Session))
	if err != nil {
		return c, unsealable("call", err)
	}
	var args, changes, rulings string
	if vault.Unpack(plain, &args, &c.Text, &c.Origin, &c.Stamp, &c.Title, &c.Reason, &changes, &rulings) != nil {
		rulings = "" // a version that kept none wrote it
		if err := vault.Unpack(plain, &args, &c.Text, &c.Origin, &c.Stamp, &c.Title, &c.Reason, &changes); err != nil {
			return c, unsealable("call", err)
		}
	}
	if rulings != "" {
		if err := json.Unmarshal([]byte(rulings), &c.Rulings); err != nil {
			return c, unsealable("call", err)
		}
	}
	if changes != "" {
		if err := json.Unmarshal([]byte(changes), &c.Changes); err != nil {
			return c, unsealable("call", err)
		}
	}
	if args != "" {
		c.Args = json.RawMessage(args)
	}
	return c, nil
}

// unsealable says that a sealed column does not open: somebody else wrote it, or the file is damaged.
func unsealable(what string, err error) error {
	return jackline.E("store.open", jackline.Internal, err,
		"A stored %s cannot be decrypted: the database was changed from outside, or it is damaged. Restore a backup.", what)
}

// Call reads one call.
func (d *DB) Call(ctx context.Context, owner jackline.Owner, id jackline.CallID) (jackline.Call, error) {
	return one(ctx, d, "store.Call", "call", d.scanCall,
		`SELECT `+callColumns+` FROM calls c JOIN sessions s ON s.id = c.session WHERE c.id = ? AND s.owner = ?`, id, owner)
}

// Calls reads the calls of a turn in the order in which they were asked for.
func (d *DB) Calls(ctx context.Context, owner jackline.Owner, turn jackline.TurnID) ([]jackline.Call, error) {
	const op = "store.Calls"
	t, err := d.Turn(ctx, owner, turn)
	if err != nil {
		return nil, err
	}
	return many(ctx, d, op, d.scanCall,
		`SELECT `+callColumns+` FROM calls c WHERE c.session = ? AND c.turn = ? ORDER BY c.step, c.idx, c.num`, t.Session, turn)
}

// History reads the model history of a session: the items of its present generation, in order.
func (d *DB) History(ctx context.Context, owner jackline.Owner, session jackline.SessionID) ([]jackline.Item, error) {
	const op = "store.History"
	if err := d.own(ctx, op, owner, session); err != nil {
		return nil, err
	}
	scan := func(s scanner) (it jackline.Item, err error) {
		var n int64
		var calls, images string
		var sealed, opaque []byte
		if err = s.Scan(&n, &it.Turn, &it.Role, &calls, &it.Call, &it.Keep, &images, &sealed, &opaque); err != nil {
			return it, err
		}
		for id := range strings.FieldsSeq(calls) {
			it.Calls = append(it.Calls, jackline.CallID(id))
		}
		for id := range strings.FieldsSeq(images) {
			it.Images = append(it.Images, jackline.AttachmentID(id))
		}
		plain, err := d.boxes.items.Open(sealed, itemRow(session, n)...)
		if err != nil {
			return it, unsealable("part of a chat", err)
		}
		it.Text = string(plain)
		if len(opaque) > 0 {
			if plain, err = d.boxes.items.Open(opaque, opaqueRow(session, n)...); err != nil {
				return it, unsealable("part of a chat", err)
			}
			it.Opaque = string(plain)
		}
		return it, nil
	}
	return many(ctx, d, op, scan, `SELECT i.n, i.turn, i.role, i.calls, i.call, i.keep, i.images, i.sealed, i.opaque FROM items i
		JOIN sessions s ON s.id = i.session WHERE i.session = ? AND i.n > s.gen_after ORDER BY i.n`, session)
}
