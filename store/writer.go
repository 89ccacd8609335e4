package store

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxBatch is how many pieces share one transaction at most.
	maxBatch = 256

	// pollEvery is how often the writer looks whether another process wrote, while anybody watches.
	pollEvery = 500 * time.Millisecond
)

// A piece is one thing to write: all of it or nothing.
type piece struct {
	op    string
	run   func(*writer) error
	after func() // once it is committed, before its caller hears of it
	seqs  int    // how many numbers of the store-wide sequence it may take
	sync  bool
	err   error // the writer's own note within a batch

	state atomic.Int32 // waiting, then taken by the writer or left by its caller
	done  chan error
}

const (
	waiting int32 = iota
	taken
	left
)

// A queue holds what waits for the writer. It is as long as there are callers, because each waits for its piece.
type queue struct {
	mu     sync.Mutex
	pieces []*piece
	closed bool
	wake   chan struct{} // cap 1
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

func (q *queue) put(p *piece) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.pieces = append(q.pieces, p)
	poke(q.wake)
	return true
}

// take gives what waits, up to a batch, and whether the queue was shut and is now empty.
func (q *queue) take() (batch []*piece, over bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := min(len(q.pieces), maxBatch)
	batch, q.pieces = q.pieces[:n:n], q.pieces[n:]
	if len(q.pieces) == 0 {
		q.pieces = nil
	}
	return batch, q.closed && n == 0
}

// isShut reports whether nothing is taken any more.
func (q *queue) isShut() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// shut takes nothing more. What waits is still written.
func (q *queue) shut() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	poke(q.wake)
}

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
	if !d.queue.put(p) {
		return closedError(p.op)
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
		if p.state.CompareAndSwap(waiting, left) {
			return ctx.Err()
		}
		return <-p.done
	}
}

// update submits a piece that takes no number and wakes nobody.
func (d *DB) update(ctx context.Context, op string, run func(*writer) error) error {
	return d.submit(ctx, &piece{op: op, run: run})
}

// A writer owns the one connection that writes. Everything in it belongs to its goroutine.
type writer struct {
	ctx   context.Context //nolint:containedctx // the writer's own life, not a request's
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
	queue *queue
	hub   *hub

	seq     int64 // the next number of the store-wide sequence, within a batch
	version int64 // of the file, as other processes change it
}

func (w *writer) loop() {
	defer w.end()
	var ticker *time.Ticker // while anybody watches
	var tick <-chan time.Time
	for {
		select {
		case <-w.queue.wake:
			for {
				batch, over := w.queue.take()
				if over {
					return
				}
				if len(batch) == 0 {
					break
				}
				w.write(batch)
			}
		case <-w.hub.changed:
			switch watched := w.hub.watched(); {
			case watched && ticker == nil:
				w.moved()
				w.hub.wakeAll() // what was written before the first look
				ticker = time.NewTicker(pollEvery)
				tick = ticker.C
			case !watched && ticker != nil:
				ticker.Stop()
				ticker, tick = nil, nil
			}
		case <-tick:
			if w.moved() {
				w.hub.wakeAll()
			}
		}
	}
}

func (w *writer) end() {
	for _, s := range w.stmts {
		_ = s.Close()
	}
	_ = w.conn.Close()
}

// moved reports whether another process wrote since the last look.
func (w *writer) moved() bool {
	var v int64
	if err := w.row(sqlForeign).Scan(&v); err != nil || v == w.version {
		return false
	}
	w.version = v
	return true
}

// write commits a batch and tells each caller what became of its piece.
func (w *writer) write(batch []*piece) {
	sync, seqs := false, 0
	for _, p := range batch {
		sync = sync || p.sync
		seqs += p.seqs
	}
	live, err := w.transact(batch, sync, seqs)
	for _, p := range live {
		if p.err == nil {
			p.err = err
		}
		if p.err == nil && p.after != nil {
			p.after()
		}
		p.done <- fault(p.op, p.err)
	}
}

// transact runs a batch in one transaction. It gives the pieces whose callers are still there, each with its own
// error, and the error that befell all of them.
func (w *writer) transact(batch []*piece, sync bool, seqs int) (live []*piece, err error) {
	if sync {
		if _, err := w.exec(sqlSynced); err != nil {
			return claim(batch), err
		}
		defer func() { _, _ = w.exec(sqlUnsynced) }()
	}
	if _, err := w.exec(sqlBegin); err != nil {
		return claim(batch), err
	}
	// From here on a caller cannot leave: its piece is about to be written.
	live = claim(batch)
	if err = w.runAll(live, seqs); err == nil {
		if _, err = w.exec(sqlCommit); err == nil {
			return live, nil
		}
	}
	_, _ = w.exec(sqlRollback) // fails where the error has ended the transaction already
	return live, err
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
func (w *writer) runAll(live []*piece, seqs int) error {
	if seqs > 0 {
		// Taken before any savepoint, so that no piece that fails gives numbers back that a later one has.
		var last int64
		if err := w.row(`UPDATE counters SET value = value + ? WHERE name = 'seq' RETURNING value`, seqs).Scan(&last); err != nil {
			return err
		}
		w.seq = last - int64(seqs) + 1
	}
	if len(live) == 1 {
		return live[0].run(w) // alone: the transaction is its savepoint
	}
	for _, p := range live {
		if _, err := w.exec(sqlSave); err != nil {
			return err
		}
		if p.err = p.run(w); p.err != nil {
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
