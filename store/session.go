package store

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/column"
	"github.com/jackline-ai/jackline/store/fault"
)

// SessionStatus says what a session is at, as a list of chats shows it.
type SessionStatus string

// What a session is at.
const (
	SessionIdle    SessionStatus = "idle"
	SessionBusy    SessionStatus = "busy"    // a turn runs or is queued
	SessionWaiting SessionStatus = "waiting" // it needs a person: a turn waits, or a card is open
)

// A SessionRow is one line of the list of chats.
type SessionRow struct {
	jackline.Session
	Status SessionStatus `json:"status"`
	Open   int           `json:"open"` // approvals that nobody has answered
}

// A SessionQuery says which sessions to list. The zero query lists the newest of all.
type SessionQuery struct {
	Search    string    // words that all occur in titles, prompts or answers of the session
	Workspace string    // only of this folder
	Before    time.Time // only those last changed before this moment: the Updated of the last row of a page
	Limit     int       // at most so many; 0 is 50
}

const sessionColumns = `s.id, s.owner, s.title, s.workspace, s.mode, s.model, s.tainted, s.private, s.ungated, s.created, s.updated, s.gen`

func sessionDest(v *jackline.Session) []any {
	return []any{&v.ID, &v.Owner, &v.Title, &v.Workspace, column.Word[jackline.Mode, *jackline.Mode]{V: &v.Mode}, &v.Model,
		&v.Labels.Tainted, &v.Labels.Private, &v.Ungated, column.Moment{T: &v.Created}, column.Moment{T: &v.Updated}, &v.Gen}
}

func scanSession(s scanner) (v jackline.Session, err error) {
	err = s.Scan(sessionDest(&v)...)
	return v, err
}

// CreateSession stores a new session of the owner's and gives it back as stored. It fills in what is missing: ID,
// Owner, times.
func (d *DB) CreateSession(ctx context.Context, owner jackline.Owner, s jackline.Session) (jackline.Session, error) {
	const op = "store.CreateSession"
	s, err := d.newSession(op, owner, s)
	if err != nil {
		return s, err
	}
	return s, d.update(ctx, op, func(w *writer) error { return d.createSession(w, op, s) })
}

// A Claim is a lease that is to be taken. Without a name it is none.
type Claim struct {
	Name   string
	Holder Holder
	TTL    time.Duration
}

// Begin stores a new session like [DB.CreateSession], with the first record of it and the lease of whoever goes on, in one
// transaction. With Soon a store that is alone does not wait for that, and writes it with what comes next: whoever reads what
// belongs to a session waits for it.
func (d *DB) Begin(ctx context.Context, owner jackline.Owner, s jackline.Session, rec jackline.Record, c Claim) (jackline.Session, error) {
	const op = "store.Begin"
	s, err := d.newSession(op, owner, s)
	if err != nil {
		return s, err
	}
	rec.Session = s.ID
	r, err := d.encode(op, owner, rec)
	if err != nil {
		return s, err
	}
	p := &piece{op: op, sync: rec.Sync, run: func(w *writer) error {
		if err := d.createSession(w, op, s); err != nil {
			return err
		}
		w.heads[s.ID] = head{owner: owner, gen: int64(s.Gen), updated: column.Nanos(s.Updated)}
		err := r.write(w)
		if err == nil && c.Name != "" {
			err = w.putLease(c.Name, c.Holder, c.TTL) // nobody else knows of the session yet
		}
		if err != nil {
			delete(w.heads, s.ID)
		}
		return err
	}}
	if len(r.events) > 0 {
		p.after = func() { d.hub.Grew(owner, s.ID, r.events) }
	}
	if rec.Soon && d.read == nil {
		p.whose, p.soon = r.whose, true
	}
	return s, d.submit(ctx, p)
}

// newSession fills in what a new session is not said to have.
func (d *DB) newSession(op string, owner jackline.Owner, s jackline.Session) (jackline.Session, error) {
	if s.Owner == "" {
		s.Owner = owner
	}
	switch {
	case owner == "":
		return s, jackline.E(op, jackline.Invalid, nil, "A session has an owner.")
	case s.Owner != owner:
		return s, jackline.E(op, jackline.Invalid, nil, "A session is created by its owner.")
	case !validMode(s.Mode):
		return s, jackline.E(op, jackline.Invalid, nil, "There is no such mode.")
	}
	if s.ID == "" {
		s.ID = jackline.NewID[jackline.SessionID]("s_")
	}
	if s.Created.IsZero() {
		s.Created = time.Now()
	}
	if s.Updated.IsZero() {
		s.Updated = s.Created
	}
	s.Title = d.hider.Text(s.Title)
	s.Created, s.Updated = s.Created.Round(0).UTC(), s.Updated.Round(0).UTC()
	return s, nil
}

func (d *DB) createSession(w *writer, op string, s jackline.Session) error {
	_, err := w.exec(`INSERT INTO sessions (id, owner, title, workspace, mode, model, tainted, private, ungated, gen, created, updated)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(s.ID), string(s.Owner), "", s.Workspace, s.Mode.String(), s.Model, column.Bit(s.Labels.Tainted), column.Bit(s.Labels.Private), column.Bit(s.Ungated), s.Gen,
		column.Nanos(s.Created), column.Nanos(s.Updated))
	if fault.Duplicate(err) {
		return jackline.E(op, jackline.Conflict, err, "There is a session with this id already.")
	}
	if err == nil && s.Title != "" { // with it the title's words come into the index
		_, err = w.exec(`UPDATE sessions SET title = ? WHERE id = ?`, s.Title, string(s.ID))
	}
	if err != nil {
		return err
	}
	return w.audit(d.keys, d.audit(s.Owner, jackline.AuditEntry{Kind: jackline.AuditSession, Session: s.ID, What: s.Mode.String(), Labels: s.Labels}))
}

// Session reads one session.
func (d *DB) Session(ctx context.Context, owner jackline.Owner, id jackline.SessionID) (jackline.Session, error) {
	return one(ctx, d, "store.Session", "session", scanSession,
		`SELECT `+sessionColumns+` FROM sessions s WHERE s.id = ? AND s.owner = ?`, id, owner)
}

// Sessions lists the owner's sessions, those that changed last first.
func (d *DB) Sessions(ctx context.Context, owner jackline.Owner, q SessionQuery) ([]SessionRow, error) {
	where, args := `s.owner = ?`, []any{owner}
	and := func(cond string, more ...any) {
		where += ` AND ` + cond
		args = append(args, more...)
	}
	if q.Search != "" {
		words := searchWords(q.Search)
		if len(words) == 0 {
			return []SessionRow{}, nil // nothing but punctuation: it occurs nowhere
		}
		if err := d.readWords(ctx); err != nil {
			return nil, err
		}
		for _, word := range words {
			and(sqlSessionHas, word, word, word)
		}
	}
	if q.Workspace != "" {
		and(`s.workspace = ?`, q.Workspace)
	}
	if !q.Before.IsZero() {
		and(`s.updated < ?`, column.Nanos(q.Before))
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 50
	}
	scan := func(s scanner) (v SessionRow, err error) {
		var turns int // what the open turns are at: 2 is waiting, 1 is running or queued, 0 is that there are none
		if err = s.Scan(append(sessionDest(&v.Session), &v.Open, &turns)...); err != nil {
			return v, err
		}
		switch {
		case turns == 2 || v.Open > 0:
			v.Status = SessionWaiting
		case turns == 1:
			v.Status = SessionBusy
		default:
			v.Status = SessionIdle
		}
		return v, nil
	}
	return many(ctx, d, "store.Sessions", scan, `SELECT `+sessionColumns+`,
		(SELECT count(*) FROM approvals a WHERE a.session = s.id AND a.state = 'pending'),
		coalesce((SELECT max(CASE t.status WHEN 'waiting' THEN 2 ELSE 1 END) FROM turns t WHERE t.session = s.id AND t.`+sqlOpen+`), 0)
		FROM sessions s WHERE `+where+` ORDER BY s.updated DESC, s.num DESC LIMIT ?`, append(args, page(limit))...)
}

// readWords puts the words of the turns that are new since the last search into the index.
func (d *DB) readWords(ctx context.Context) error {
	const op = "store.Sessions"
	n, err := one(ctx, d, op, "count", func(s scanner) (n int, err error) { return n, s.Scan(&n) }, sqlUnread)
	if err != nil || n == 0 {
		return err
	}
	return d.update(ctx, op, (*writer).readWords)
}

func (w *writer) readWords() error {
	for _, query := range sqlReadWords {
		if _, err := w.exec(query); err != nil {
			return err
		}
	}
	return nil
}

// sqlOpen is true for a turn that has not ended. An index knows these turns by just these words.
const sqlOpen = `status IN ('queued', 'running', 'waiting')`

// DeleteSession removes a session and all that belongs to it, spilled results and attachments too. While a turn runs in it that is a
// [jackline.Conflict].
func (d *DB) DeleteSession(ctx context.Context, owner jackline.Owner, id jackline.SessionID) error {
	const op = "store.DeleteSession"
	err := d.update(ctx, op, func(w *writer) error {
		if err := w.own(op, owner, id); err != nil {
			return err
		}
		var n int
		err := w.row(`SELECT 1 FROM turns WHERE session = ? AND `+sqlOpen+` AND status = 'running' LIMIT 1`, string(id)).Scan(&n)
		if err == nil {
			return jackline.E(op, jackline.Conflict, nil, "The session is busy: stop it, then delete it.")
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		// No number may come twice: a reader's cursor stands on it.
		if _, err := w.exec(`UPDATE counters SET value = (` + sqlLastSeq + `) WHERE name = 'seq'`); err != nil {
			return err
		}
		delete(w.heads, id)
		if _, err = w.exec(`DELETE FROM sessions WHERE id = ?`, string(id)); err != nil { // all other rows go with it, but for the audit's
			return err
		}
		return w.audit(d.keys, d.audit(owner, jackline.AuditEntry{Kind: jackline.AuditDeleted, Session: id}))
	})
	if err != nil {
		return err
	}
	d.hub.Forget(id)
	return d.sweepFiles(ctx, op)
}
