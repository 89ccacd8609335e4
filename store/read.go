package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
)

// A scanner is a row: one that was asked for alone, or the present one of many.
type scanner interface{ Scan(dest ...any) error }

// many reads all rows of a query.
func many[T any](ctx context.Context, d *DB, op string, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	stmt, done, err := d.statements.of(ctx, d.read, query)
	if err != nil {
		return nil, d.readFault(ctx, op, err)
	}
	defer done()
	rows, err := stmt.QueryContext(ctx, args...)
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
	stmt, done, err := d.statements.of(ctx, d.read, query)
	if err == nil {
		defer done()
		v, err = scan(stmt.QueryRowContext(ctx, args...))
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
	case d.queue.isShut():
		return closedError(op)
	}
	return fault(op, err)
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

// A moment is a time in a column: nanoseconds, or 0 for none.
type moment struct{ t *time.Time }

func (m moment) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return errors.New("a time column holds no number")
	}
	*m.t = time.Time{}
	if n != 0 {
		*m.t = time.Unix(0, n).UTC()
	}
	return nil
}

// nanos is a time as a column holds it. Times beyond what a column can hold are the last that it can.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	if last := time.Unix(0, math.MaxInt64); t.After(last) {
		t = last
	}
	return t.UnixNano()
}

// bit is a truth as a column holds it.
func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// A word is a value in a column that holds its name, such as a mode.
type word[T any, P interface {
	*T
	UnmarshalText([]byte) error
}] struct{ v *T }

func (w word[T, P]) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return errors.New("a name column holds no text")
	}
	return P(w.v).UnmarshalText([]byte(s))
}

func modeWord(m *jackline.Mode) any { return word[jackline.Mode, *jackline.Mode]{m} }

// A doc is a value in a column that holds its JSON.
type doc struct{ v any }

func (d doc) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return errors.New("a JSON column holds no text")
	}
	return json.Unmarshal([]byte(s), d.v)
}
