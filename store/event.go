package store

import (
	"context"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/column"
)

// maxPage is how many rows a read gives at most, whatever limit it is given.
const maxPage = 1000

// page is a limit that holds: what was asked for, or the most.
func page(limit int) int {
	if limit <= 0 || limit > maxPage {
		return maxPage
	}
	return limit
}

const eventColumns = `v, id, seq, ts, session, turn, parent, type, data`

func scanEvent(s scanner) (e jackline.Event, err error) {
	var data []byte
	err = s.Scan(&e.V, &e.ID, &e.Seq, column.Moment{T: &e.TS}, &e.Session, &e.Turn, &e.Parent, &e.Type, &data)
	e.Data = data
	return e, err
}

// Events reads the log of a session from after an ID on, oldest first: at most limit events, or 1000.
func (d *DB) Events(ctx context.Context, owner jackline.Owner, session jackline.SessionID, afterID int64, limit int) ([]jackline.Event, error) {
	const op = "store.Events"
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if events := d.hub.Since(owner, session, afterID, page(limit)); len(events) > 0 && !d.queue.IsShut() {
		return events, nil
	}
	events, err := many(ctx, d, op, scanEvent, sqlEventsOf, session, afterID, owner, page(limit))
	if err == nil && len(events) == 0 {
		// Nothing new, nothing there, or nothing of theirs.
		if err = d.own(ctx, op, owner, session); err != nil {
			if why := d.unwritten(session); why != nil {
				err = why
			}
		}
	}
	return events, err
}

const sqlEventsOf = `SELECT ` + eventColumns + ` FROM events WHERE session = ? AND id > ? AND owner = ? ORDER BY id LIMIT ?`

// AllEvents reads the logs of all the owner's sessions from after a Seq on, in the order in which they were written.
func (d *DB) AllEvents(ctx context.Context, owner jackline.Owner, afterSeq int64, limit int) ([]jackline.Event, error) {
	return many(ctx, d, "store.AllEvents", scanEvent,
		`SELECT `+eventColumns+` FROM events WHERE owner = ? AND seq > ? ORDER BY seq LIMIT ?`, owner, afterSeq, page(limit))
}

// LastSeq is the Seq of the newest event in the store, or a later number: where a reader starts that wants only what
// comes.
func (d *DB) LastSeq(ctx context.Context) (int64, error) {
	return one(ctx, d, "store.LastSeq", "counter", func(s scanner) (n int64, err error) { return n, s.Scan(&n) },
		sqlLastSeq)
}
