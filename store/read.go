package store

import (
	"context"
	"database/sql"
	"errors"
	"sync"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/fault"
)

// A scanner is a row: one that was asked for alone, or the present one of many.
type scanner interface{ Scan(dest ...any) error }

// many reads all rows of a query.
func many[T any](ctx context.Context, d *DB, op string, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	asks, stmt, done, err := d.ask(ctx, query) //nolint:sqlclosecheck // it is kept for the next time
	if err != nil {
		return nil, d.readFault(ctx, op, err)
	}
	defer done()
	rows, err := stmt.QueryContext(asks, args...)
	if err != nil {
		return nil, d.readFault(ctx, op, err)
	}
	defer func() { _ = rows.Close() }()
	out := []T{}
	for rows.Next() {
		v, err := scan(rows)
		if err != nil {
			return nil, d.readFault(ctx, op, err)
		}
		out = append(out, v)
	}
	if err := rows.Err(); err != nil {
		return nil, d.readFault(ctx, op, err)
	}
	return out, nil
}

// one reads the row of a query that gives at most one. Where it gives none, what is the thing that there is not.
func one[T any](ctx context.Context, d *DB, op, what string, scan func(scanner) (T, error), query string, args ...any) (T, error) {
	var v T
	asks, stmt, done, err := d.ask(ctx, query) //nolint:sqlclosecheck // it is kept for the next time
	if err == nil {
		defer done()
		v, err = scan(stmt.QueryRowContext(asks, args...))
	}
	switch {
	case err == nil:
		return v, nil
	case errors.Is(err, sql.ErrNoRows):
		err = absent(op, what)
	default:
		err = d.readFault(ctx, op, err)
	}
	var zero T
	return zero, err
}

// ask prepares a query, and gives the context to ask it with. done ends its use, when nothing is read from it any more.
func (d *DB) ask(ctx context.Context, query string) (asks context.Context, st *sql.Stmt, done func(), err error) {
	if d.read != nil {
		st, done, err = d.statements.of(ctx, d.read, query)
		return ctx, st, done, err
	}
	if p := d.lazy.Load(); p != nil && query == sqlEventsOf { // whoever follows a session has time
		select {
		case <-p.over:
		case <-ctx.Done():
			return nil, nil, nil, ctx.Err()
		}
	}
	// The connection is the writer's, so this is its turn. A query that is broken off there could break off what is written next.
	select {
	case d.writer.held <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, nil, ctx.Err()
	}
	if d.queue.Len() > 0 && !ofNoSession[query] {
		batch, _ := d.queue.Take(maxBatch) // what nobody waited for is seen by whoever reads
		d.writer.write(batch)
	}
	let := func() { <-d.writer.held }
	if st, err = d.writer.stmt(query); err != nil {
		let()
		return nil, nil, nil, err
	}
	return d.writer.ctx, st, let, nil
}

// unwritten says why the beginning of a session, which nobody waited for, could not be written; nil where it is not that.
func (d *DB) unwritten(session jackline.SessionID) error {
	p := d.lazy.Load()
	if p == nil || p.whose.session != session {
		return nil
	}
	<-p.over // it was written before its session was looked for
	return fault.Of(p.op, p.err)
}

// ofNoSession are the queries of what no record changes: they need not wait for records that nobody waited for.
var ofNoSession = map[string]bool{sqlSetting: true, sqlSettings: true, sqlFlag: true, sqlMarks: true}

// statements are the queries that were asked before, prepared: to parse one costs more than to answer it.
type statements struct {
	mu   sync.Mutex
	made map[string]*sql.Stmt
}

// maxStatements bounds what is kept. The program's own queries are some dozens; only lists of states make more.
const maxStatements = 200

// of prepares a query once. done ends its use, when nothing is read from it any more.
func (s *statements) of(ctx context.Context, pool *sql.DB, query string) (st *sql.Stmt, done func(), err error) {
	s.mu.Lock()
	st = s.made[query]
	s.mu.Unlock()
	if st != nil {
		return st, func() {}, nil
	}
	// A wait for a connection must not hold up those whose queries are prepared.
	st, err = pool.PrepareContext(ctx, query)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil {
		s.made = map[string]*sql.Stmt{}
	}
	if s.made[query] != nil || len(s.made) >= maxStatements {
		return st, func() { _ = st.Close() }, nil
	}
	s.made[query] = st
	return st, func() {}, nil
}

func (d *DB) readFault(ctx context.Context, op string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case d.queue.IsShut():
		return closedError(op)
	}
	return fault.Of(op, err)
}

// absent is the one answer to an id that is unknown or somebody else's.
func absent(op, what string) error {
	return jackline.E(op, jackline.NotFound, nil, "There is no such %s.", what)
}

// own makes sure that a session is the owner's.
func (d *DB) own(ctx context.Context, op string, owner jackline.Owner, session jackline.SessionID) error {
	_, err := one(ctx, d, op, "session", func(s scanner) (n int, err error) { return n, s.Scan(&n) },
		`SELECT 1 FROM sessions WHERE id = ? AND owner = ?`, session, owner)
	return err
}

// own makes sure of it within a write.
func (w *writer) own(op string, owner jackline.Owner, session jackline.SessionID) error {
	var n int
	err := w.row(`SELECT 1 FROM sessions WHERE id = ? AND owner = ?`, string(session), string(owner)).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return absent(op, "session")
	}
	return err
}
