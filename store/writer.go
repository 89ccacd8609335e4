package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/fault"
	"github.com/jackline-ai/jackline/store/queue"
	"github.com/jackline-ai/jackline/store/watch"
)

const (
	// maxBatch is how many pieces share one transaction at most.
	maxBatch = 256

	// maxSoon is how many pieces may wait before those that need not be waited for are waited for all the same: a slow disk
	// must not be outrun.
	maxSoon = 64

	// mostLazy is how long what nobody waits for may wait for what comes next, to be written with it, in a store that is alone:
	// a command has better to do before it has asked its model. Somebody who looks on does not notice so little.
	mostLazy = 5 * time.Millisecond

	// maxUnread is how many turns at most the next search finds unread after a store was closed: they take a tenth of a second.
	maxUnread = 1000

	// pollEvery is how often the writer looks whether another process wrote, while anybody watches.
	pollEvery = 500 * time.Millisecond
)

// A piece is one thing to write: all of it or nothing.
type piece struct {
	op    string
	run   func(*writer) error
	after func() // once it is committed, before its caller hears of it
	sync  bool   // the transaction that it is in must survive a power cut
	err   error

	whose thread // whose record it is; none is nobody's
	soon  bool   // nobody waits for it

	state atomic.Int32 // waiting, then taken by the writer or left by its caller
	done  chan error
	over  chan struct{} // closed when it is written or will not be; nil where nobody asks
}

// end tells everybody what became of a piece.
func (p *piece) end(err error) {
	p.done <- err
	if p.over != nil {
		close(p.over)
	}
}

// A thread is what goes on one record after the other: a turn of a session, or with "" what others do to the session.
type thread struct {
	session jackline.SessionID
	turn    jackline.TurnID
}

const (
	waiting int32 = iota
	taken
	left
)

// poke wakes whoever waits on a channel of capacity 1, and does nothing where that was done already.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// submit hands a piece to the writer and waits for it. Where it gives the context's error nothing was written: a
// caller can leave only while its piece still waits.
func (d *DB) submit(ctx context.Context, p *piece) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	p.done = make(chan error, 1)
	if p.soon && d.read == nil {
		p.over = make(chan struct{})
	}
	if !d.queue.Put(p) {
		return closedError(p.op)
	}
	if p.soon {
		if d.read == nil {
			d.lazy.Store(p)
			time.AfterFunc(mostLazy, func() { d.queue.Poke() })
		} else {
			d.queue.Poke()
		}
		if d.queue.Len() < maxSoon {
			return nil
		}
		d.queue.Poke()
	} else {
		d.writer.lead()
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		if p.state.CompareAndSwap(waiting, left) {
			p.end(ctx.Err())
			return ctx.Err()
		}
		return <-p.done
	}
}

// update submits a piece that takes no number and wakes nobody.
func (d *DB) update(ctx context.Context, op string, run func(*writer) error) error {
	return d.submit(ctx, &piece{op: op, run: run})
}

// A writer owns the one connection that writes. Whoever holds it writes: a caller that finds it free does so for itself,
// and for all that wait, its goroutine writes what comes meanwhile.
type writer struct {
	held chan struct{} // cap 1: full while somebody writes. It guards all that follows.

	ctx   context.Context //nolint:containedctx // the writer's own life, not a request's
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	queue *queue.Queue[*piece]
	hub   *watch.Hub

	written atomic.Int64  // commits so far, for whoever does not hold it
	commits int           // since the last checkpoint was asked for
	full    chan struct{} // cap 1: a checkpoint is due

	version int64       // of the file: another after another process wrote
	begun   bool        // a transaction: the write-ahead log is not looked at any more
	empty   func() bool // whether it is
	mode    string      // of syncing, as the statement that sets it

	// What the database says, kept as long as nobody else writes.
	seq      int64 // the newest of the store-wide sequence; 0 is not known
	heads    map[jackline.SessionID]head
	auditEnd chainEnd
	wrote    int64 // the last line of the audit that this process wrote

	audited chan struct{} // cap 1: the audit has grown since it was sealed

	// broken are the threads of which a record was lost that nobody waited for, until the thread itself hears of it: a person who
	// renames the chat meanwhile must not take the news away from the turn that relies on the record.
	broken map[thread]error
}

// A head is what the writer knows of a session: where its log and its history end.
type head struct {
	owner   jackline.Owner
	id      int64 // of the newest event
	item    int64 // of the newest history item
	gen     int64
	updated int64
}

// maxHeads bounds what the writer remembers.
const maxHeads = 1000

// lead writes what waits if nobody is writing. A caller that is alone needs no other goroutine to write for it: to wake one
// and to be woken costs as much as the writing.
func (w *writer) lead() {
	select {
	case w.held <- struct{}{}:
	default:
		w.queue.Poke()
		return
	}
	batch, _ := w.queue.Take(maxBatch)
	w.write(batch)
	<-w.held
	if w.queue.Len() > 0 {
		w.queue.Poke()
	}
}

// drain writes until nothing waits, and reports whether nothing more will come.
func (w *writer) drain() (over bool) {
	w.held <- struct{}{}
	defer func() { <-w.held }()
	for {
		batch, over := w.queue.Take(maxBatch)
		if len(batch) == 0 {
			return over
		}
		w.write(batch)
	}
}

// loop writes until the queue is shut and empty. Then nobody else writes any more.
func (w *writer) loop() {
	look := func() {
		w.held <- struct{}{}
		defer func() { <-w.held }()
		_ = w.look()
	}
	look()
	var ticker *time.Ticker // while anybody watches
	var tick <-chan time.Time
	for {
		select {
		case <-w.queue.Wake():
			if w.drain() {
				return
			}
		case <-w.hub.Changed():
			switch watched := w.hub.Watched(); {
			case watched && ticker == nil:
				look() // what another process wrote since the last look
				ticker = time.NewTicker(pollEvery)
				tick = ticker.C
			case !watched && ticker != nil:
				ticker.Stop()
				ticker, tick = nil, nil
			}
		case <-tick:
			look()
		}
	}
}

func (w *writer) end() {
	w.held <- struct{}{}
	defer func() { <-w.held }()
	var unread int
	if err := w.row(sqlUnread).Scan(&unread); err == nil && unread > maxUnread {
		w.write([]*piece{{op: "store.Close", run: (*writer).readWords, done: make(chan error, 1)}}) // what fails is left to the next
	}
	_ = w.syncs(sqlUnsynced) // the last connection moves the log into the database
	for _, s := range w.stmts {
		_ = s.Close()
	}
	_ = w.conn.Close()
}

// look finds out whether another process wrote since the last look. Then what is remembered holds no longer, and
// watchers may have something to read.
func (w *writer) look() error {
	var v int64
	if err := w.row(sqlForeign).Scan(&v); err != nil || v == w.version {
		return err
	}
	w.version = v
	w.forget()
	w.hub.WakeAll()
	return nil
}

func (w *writer) forget() {
	w.seq, w.auditEnd = 0, chainEnd{}
	clear(w.heads)
}

// head finds out where a session of the owner's ends.
func (w *writer) head(op string, owner jackline.Owner, session jackline.SessionID) (head, error) {
	h, ok := w.heads[session]
	if !ok {
		err := w.row(`SELECT owner, gen, updated,
			(SELECT coalesce(max(id), 0) FROM events WHERE session = s.id),
			(SELECT coalesce(max(n), 0) FROM items WHERE session = s.id)
			FROM sessions s WHERE id = ?`, string(session)).Scan(&h.owner, &h.gen, &h.updated, &h.id, &h.item)
		if errors.Is(err, sql.ErrNoRows) {
			return h, absent(op, "session")
		}
		if err != nil {
			return h, err
		}
		if len(w.heads) >= maxHeads {
			clear(w.heads)
		}
		w.heads[session] = h
	}
	if h.owner != owner {
		return head{}, absent(op, "session")
	}
	return h, nil
}

// nextSeq gives the next number of the store-wide sequence. A piece that fails leaves a gap.
func (w *writer) nextSeq() (int64, error) {
	if w.seq == 0 {
		if err := w.row(sqlLastSeq).Scan(&w.seq); err != nil {
			return 0, err
		}
	}
	w.seq++
	return w.seq, nil
}

// write commits a batch and tells each caller what became of its piece.
func (w *writer) write(batch []*piece) {
	if len(batch) == 0 {
		return
	}
	synced := slices.ContainsFunc(batch, func(p *piece) bool { return p.sync })
	live, err := w.transact(batch, synced)
	for _, p := range live {
		if p.err == nil {
			p.err = err
		}
		if p.err == nil && p.after != nil {
			p.after()
		}
		switch {
		case p.err == nil:
		case p.soon:
			w.broken[p.whose] = p.err
		case p.whose != thread{}:
			delete(w.broken, p.whose) // this caller has heard of it
		}
		p.end(fault.Of(p.op, p.err))
	}
}

// transact runs a batch in one transaction. It gives the pieces whose callers are still there, each with its own
// error, and the error that befell all of them.
func (w *writer) transact(batch []*piece, synced bool) (live []*piece, err error) {
	defer func() { _ = w.syncs(sqlUnsynced) }() // else the next transaction or the end does it
	if err := w.begin(synced); err != nil {
		return claim(batch), err
	}
	// From here on a caller cannot leave: its piece is about to be written.
	live = claim(batch)
	if err = w.look(); err == nil {
		err = w.runAll(live)
	}
	if err == nil {
		if _, err = w.exec(sqlCommit); err == nil {
			w.written.Add(1)
			if w.commits++; w.commits >= checkpointEvery {
				w.commits = 0
				poke(w.full)
			}
			return live, nil
		}
	}
	_, _ = w.exec(sqlRollback) // fails where the error has ended the transaction already
	w.forget()
	return live, err
}

// begin begins a transaction, and says what it waits for.
//
// A write-ahead log begins with a head, and SQLite waits until that is on disk, which takes a twentieth of the time of a short
// command: after a power cut an old head must not stand before new frames. Where there are no old frames nothing can be mixed up,
// so a log that is empty, and stays so because the lock is ours, is begun without waiting. Whatever comes later waits for
// the beginning too: a transaction that is to be synced, and what moves the log into the database.
func (w *writer) begin(synced bool) error {
	mode := sqlUnsynced
	switch {
	case synced:
		mode = sqlSynced
	case !w.begun && w.empty():
		mode = sqlNever
	}
	w.begun = true
	if err := w.syncs(mode); err != nil {
		return err
	}
	if _, err := w.exec(sqlBegin); err != nil || mode != sqlNever || w.empty() {
		return err
	}
	_, err := w.exec(sqlRollback) // another process was faster
	if err == nil {
		err = w.syncs(sqlUnsynced)
	}
	if err == nil {
		_, err = w.exec(sqlBegin)
	}
	return err
}

// syncs sets what transactions wait for.
func (w *writer) syncs(mode string) error {
	if mode == w.mode {
		return nil
	}
	_, err := w.exec(mode)
	if err == nil {
		w.mode = mode
	}
	return err
}

func claim(batch []*piece) []*piece {
	live := batch[:0]
	for _, p := range batch {
		if p.state.CompareAndSwap(waiting, taken) {
			live = append(live, p)
		}
	}
	return live
}

// runAll runs the pieces. A failed one is undone and keeps its error; an error of runAll's own means that the whole
// transaction is lost.
func (w *writer) runAll(live []*piece) error {
	if len(live) == 1 {
		return w.run(live[0]) // alone, it needs no savepoint: the transaction is one
	}
	for _, p := range live {
		if _, err := w.exec(sqlSave); err != nil {
			return err
		}
		if p.err = w.run(p); p.err != nil {
			if p.soon {
				w.broken[p.whose] = p.err // what follows it may be in this batch
			}
			if _, err := w.exec(sqlUndo); err != nil {
				return p.err // the error has ended the transaction
			}
		}
		if _, err := w.exec(sqlRelease); err != nil {
			return err
		}
	}
	return nil
}

// run runs a piece. A panic in it is that piece's failure: the writer may be held by a caller above whom somebody recovers, and
// would be held for ever.
func (w *writer) run(p *piece) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = jackline.E(p.op, jackline.Internal, fmt.Errorf("panic: %v\n%s", v, debug.Stack()), "Jackline's database failed; its log says how.")
		}
	}()
	return p.run(w)
}

// stmt prepares a statement once.
func (w *writer) stmt(query string) (*sql.Stmt, error) {
	if s := w.stmts[query]; s != nil {
		return s, nil
	}
	s, err := w.conn.PrepareContext(w.ctx, query)
	if err == nil {
		w.stmts[query] = s
	}
	return s, err
}

// exec runs a statement and gives the number of rows it changed.
func (w *writer) exec(query string, args ...any) (int64, error) {
	s, err := w.stmt(query)
	if err != nil {
		return 0, err
	}
	r, err := s.ExecContext(w.ctx, args...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// maxRows is how many rows one statement inserts: more would save little and make more statements to keep.
const maxRows = 8

// insert adds rows of so many columns each, several with one statement, which costs half of what one each would.
func (w *writer) insert(into string, columns int, args []any) error {
	row := "(?" + strings.Repeat(", ?", columns-1) + ")"
	for len(args) > 0 {
		n := min(len(args)/columns, maxRows)
		if _, err := w.exec(into+row+strings.Repeat(", "+row, n-1), args[:n*columns]...); err != nil {
			return err
		}
		args = args[n*columns:]
	}
	return nil
}

// A result is one row, or why there is none.
type result struct {
	row *sql.Row
	err error
}

func (r result) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	return r.row.Scan(dest...)
}

// row runs a statement that gives one row.
func (w *writer) row(query string, args ...any) result {
	s, err := w.stmt(query)
	if err != nil {
		return result{err: err}
	}
	return result{row: s.QueryRowContext(w.ctx, args...)}
}
