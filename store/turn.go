package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/column"
)

const sqlTurn = `INSERT INTO turns (id, session, owner, parent, depth, prompt, options, status, answer, reason, usage, progress, created, started, ended, sealed)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (id) DO UPDATE SET prompt = excluded.prompt, options = excluded.options, status = excluded.status,
		answer = excluded.answer, reason = excluded.reason, usage = excluded.usage, progress = excluded.progress,
		started = excluded.started, ended = excluded.ended, sealed = excluded.sealed
	WHERE turns.session = excluded.session`

// sqlTurnNew is of a turn that has only been asked: it knows nothing of the index of words, as what replaces a turn does.
const sqlTurnNew = `INSERT INTO turns (id, session, owner, parent, depth, prompt, options, status, answer, reason, usage, progress, created, started, ended, sealed)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`

const sqlTurnStep = `UPDATE turns SET options = ?, reason = ?, usage = ?, progress = ?, started = ?, ended = ?, sealed = ?
	WHERE id = ? AND session = ? AND status = ? AND prompt = ? AND answer = ?`

func (d *DB) turnArgs(t jackline.Turn) ([]any, error) {
	if t.ID == "" {
		return nil, jackline.E("store.Append", jackline.Invalid, nil, "A turn has an id.")
	}
	t, sealed := d.hidden(t)
	options, err1 := json.Marshal(t.Options)
	usage, err2 := json.Marshal(t.Usage)
	progress, err3 := json.Marshal(t.Progress)
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, jackline.E("store.Append", jackline.Invalid, err, "A turn's options cannot be written.")
	}
	return []any{string(t.ID), string(t.Session), string(t.Owner), string(t.Parent), t.Depth, t.Prompt, string(options), string(t.Status),
		t.Answer, t.Reason, string(usage), string(progress), column.Nanos(t.Created), column.Nanos(t.Started), column.Nanos(t.Ended), sealed}, nil
}

const turnColumns = `id, session, owner, parent, depth, prompt, options, status, answer, reason, usage, progress, created, started, ended, sealed`

func (d *DB) scanTurn(s scanner) (t jackline.Turn, err error) {
	var sealed []byte
	err = s.Scan(&t.ID, &t.Session, &t.Owner, &t.Parent, &t.Depth, &t.Prompt, column.Doc{V: &t.Options}, &t.Status, &t.Answer, &t.Reason,
		column.Doc{V: &t.Usage}, column.Doc{V: &t.Progress}, column.Moment{T: &t.Created}, column.Moment{T: &t.Started}, column.Moment{T: &t.Ended}, &sealed)
	if err != nil {
		return t, err
	}
	return t, d.exact(&t, sealed)
}

// Turn reads one turn.
func (d *DB) Turn(ctx context.Context, owner jackline.Owner, id jackline.TurnID) (jackline.Turn, error) {
	return one(ctx, d, "store.Turn", "turn", d.scanTurn, `SELECT `+turnColumns+` FROM turns WHERE id = ? AND owner = ?`, id, owner)
}

// Turns reads all turns of a session, oldest first.
func (d *DB) Turns(ctx context.Context, owner jackline.Owner, session jackline.SessionID) ([]jackline.Turn, error) {
	const op = "store.Turns"
	if err := d.own(ctx, op, owner, session); err != nil {
		return nil, err
	}
	return many(ctx, d, op, d.scanTurn, `SELECT `+turnColumns+` FROM turns WHERE session = ? ORDER BY num`, session)
}

// OpenTurns reads the turns of all owners that have not ended, oldest first: what a server has to take up again.
func (d *DB) OpenTurns(ctx context.Context) ([]jackline.Turn, error) {
	return many(ctx, d, "store.OpenTurns", d.scanTurn,
		`SELECT `+turnColumns+` FROM turns WHERE `+sqlOpen+` ORDER BY num`)
}

// EditQueued changes the prompt of a turn while it is queued, else it is a [jackline.Conflict]. The log says that the
// queue changed.
func (d *DB) EditQueued(ctx context.Context, owner jackline.Owner, id jackline.TurnID, prompt string) (jackline.Turn, error) {
	shown, sealed := d.hidden(jackline.Turn{ID: id, Prompt: prompt})
	return d.queued(ctx, "store.EditQueued", owner, id, func(w *writer) error {
		_, err := w.exec(`UPDATE turns SET prompt = ?, sealed = ? WHERE id = ?`, shown.Prompt, sealed, string(id))
		return err
	})
}

// DropQueued removes a turn while it is queued, else it is a [jackline.Conflict]. The log says that the queue
// changed.
func (d *DB) DropQueued(ctx context.Context, owner jackline.Owner, id jackline.TurnID) error {
	_, err := d.queued(ctx, "store.DropQueued", owner, id, func(w *writer) error {
		_, err := w.exec(`DELETE FROM turns WHERE id = ?`, string(id))
		return err
	})
	return err
}

// queued changes a turn that nothing has begun to answer, and logs the queue as it then stands. It gives the turn,
// or what it was.
func (d *DB) queued(ctx context.Context, op string, owner jackline.Owner, id jackline.TurnID, change func(*writer) error) (t jackline.Turn, err error) {
	var logged []jackline.Event
	find := func(w *writer) (jackline.Turn, error) {
		return d.scanTurn(w.row(`SELECT `+turnColumns+` FROM turns WHERE id = ? AND owner = ?`, string(id), string(owner)))
	}
	p := &piece{op: op}
	p.run = func(w *writer) error {
		found, err := find(w)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return absent(op, "turn")
		case err != nil:
			return err
		case found.Status != jackline.Queued:
			return jackline.E(op, jackline.Conflict, nil, "The prompt is no longer queued: its turn is %s.", found.Status)
		}
		if err := change(w); err != nil {
			return err
		}
		t = found
		if found, err = find(w); err == nil {
			t = found
		} else if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		queue, err := w.queuedTurns(t.Session)
		if err != nil {
			return err
		}
		r := &record{db: d, op: op, owner: owner, session: t.Session, now: time.Now().UnixNano(),
			events: []jackline.Event{jackline.NewEvent(t.Session, "", jackline.QueueChanged{Turns: queue})}}
		if err := r.write(w); err != nil {
			return err
		}
		logged = r.events
		return nil
	}
	p.after = func() { d.hub.Grew(owner, t.Session, logged) }
	err = d.submit(ctx, p)
	return t, err
}

func (w *writer) queuedTurns(session jackline.SessionID) ([]jackline.TurnID, error) {
	s, err := w.stmt(`SELECT id FROM turns WHERE session = ? AND ` + sqlOpen + ` AND status = 'queued' ORDER BY num`)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(w.ctx, string(session))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	ids := []jackline.TurnID{}
	for rows.Next() {
		var id jackline.TurnID
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}
