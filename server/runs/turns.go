package runs

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/stack"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/turn"
)

const (
	// maxRunning is how many turns run at once in one process. Each holds a model's stream, the processes of its
	// tools and their output in memory. A local engine answers one to four requests at a time and lets the others
	// wait with their connections open, so more of them would only wait there; a small team on cloud models seldom
	// has more at work.
	maxRunning = 8

	// maxQueue is how many prompts may wait in one session.
	maxQueue = 50
)

// Desk answers and closes the questions to people. Package approval has one.
type Desk interface {
	// Withdraw closes the turn's open rows as cancelled.
	Withdraw(context.Context, jackline.Owner, jackline.SessionID, jackline.TurnID) error

	// Expire closes the rows whose time is over and returns them.
	Expire(context.Context, time.Time) ([]jackline.Approval, error)
}

// Config is what [Open] needs. All fields are needed.
type Config struct {
	Store  *store.DB
	Desk   Desk
	Runner turn.Runner
	Log    *slog.Logger // gets what goes wrong where nobody waits for an answer
}

// Turns owns the running turns. At most one turn of a session is under way, running or waiting for a person; further
// prompts queue. It is safe for use by any number of goroutines.
//
// After a turn ends, the next queued one of its session starts. There is one exception: when a person stopped the turn,
// the queue rests until that person sends another prompt. The new prompt runs first and the queue follows it. That
// rule is read off the log, so it holds across a restart as well.
//
// Several processes may share a store. A process holds a lease on a session while it runs a turn of it, and refuses
// to touch a session that another living process holds.
type Turns struct {
	db     *store.DB
	desk   Desk
	runner turn.Runner
	log    *slog.Logger

	ctx    context.Context //nolint:containedctx // the life of the runs, which is that of the Turns
	cancel context.CancelCauseFunc
	runs   sync.WaitGroup // turns, and people's own calls

	keeper sync.WaitGroup
	stop   chan struct{} // closed: the keeper ends
	poke   chan struct{} // cap 1: the keeper looks again

	mu      sync.Mutex
	self    store.Holder
	lanes   map[jackline.SessionID]*lane
	ready   []*lane // they have something to run and wait for a slot, in order
	free    int     // slots
	killed  bool
	closed  bool
	serving bool // it took the duty to resume what others left
	calls   map[*personal]struct{}
}

// A lane is what is known here about one session.
type lane struct {
	owner   jackline.Owner
	session jackline.SessionID

	// mu is held while something is decided about the session, store calls included, and never while a turn runs.
	// It is taken before Turns.mu.
	mu sync.Mutex

	// The rest is guarded by Turns.mu and changes only while mu is held too.
	users   int             // who is deciding or about to
	busy    bool            // a goroutine drives it
	ready   bool            // it stands in Turns.ready
	blocked bool            // it would run, but another process holds the session
	run     *run            // the turn that runs
	next    jackline.TurnID // what runs next, before the queue
	quiet   jackline.TurnID // a new turn that was never announced as queued
	waiting jackline.TurnID // the turn that was left waiting for a person
	since   time.Time       // since when
	cards   int             // how many cards of it were open when the keeper last looked; -1: it has not looked
	idle    bool            // it was run again although no card of it was open
	first   *turn.New       // its session was begun with this turn and its lease taken, and nobody has decided anything since
	ending  *ending         // the end of a turn that could not be written yet; nothing runs before it is
}

// A run is one stretch of a turn.
type run struct {
	turn   jackline.TurnID
	first  *turn.New       // of the session
	ctx    context.Context //nolint:containedctx // the run's own
	cancel context.CancelCauseFunc

	// Guarded by Turns.mu.
	steered bool   // words came that the engine has not asked for
	again   bool   // an answer came: if it ends waiting, it runs again
	why     string // why it was stopped
}

// personal is a person's own call that runs.
type personal struct{ cancel context.CancelCauseFunc }

// Taken says what became of a prompt.
type Taken struct {
	Turn    jackline.Turn
	Queued  bool // another turn of the session, or of other sessions, goes first
	Steered bool // the words went to the turn under way, which is Turn
}

// errLost ends a run whose session another process has taken over.
var errLost = errors.New("another process has taken the session over")

// Open makes a Turns that runs nothing yet. The caller ends it with [Turns.Shutdown].
func Open(ctx context.Context, c Config) (*Turns, error) {
	flag, err := c.Store.Flag(ctx, killFlag)
	if err != nil {
		return nil, err
	}
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	// What runs outlives the call that opened this: it ends with Shutdown.
	life, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	t := &Turns{
		db: c.Store, desk: c.Desk, runner: c.Runner, log: c.Log,
		ctx: life, cancel: cancel, stop: make(chan struct{}), poke: make(chan struct{}, 1),
		self:  store.Holder{ID: jackline.NewID[string]("p_"), PID: os.Getpid(), Host: host},
		lanes: map[jackline.SessionID]*lane{}, free: maxRunning, killed: flag != "", calls: map[*personal]struct{}{},
	}
	t.keeper.Go(t.keep)
	return t, nil
}

// Shutdown ends what runs, leaves it in the log so that a server takes it up again, and waits for all goroutines, or
// until ctx ends. A process that never called [Turns.Resume] owes nobody that: its turns end as interrupted.
func (t *Turns) Shutdown(ctx context.Context) error {
	t.mu.Lock()
	first := !t.closed
	t.closed = true
	for _, l := range t.ready {
		l.ready = false
	}
	t.ready = nil
	t.mu.Unlock()
	t.cancel(turn.ErrShutdown)
	if first {
		close(t.stop)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		t.runs.Wait()
		t.keeper.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return jackline.E("runs.Shutdown", jackline.Timeout, ctx.Err(), "Some turns did not end in time.")
	}
	if first {
		t.payLast(ctx)
	}
	if !t.serves() {
		return nil
	}
	return t.db.Release(ctx, serveLease, t.self.ID)
}

func (t *Turns) serves() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.serving
}

// enter takes the lane of a session to decide something about it. The caller has made sure that the session is the
// owner's, and leaves the lane again.
func (t *Turns) enter(o jackline.Owner, s jackline.SessionID) *lane {
	t.mu.Lock()
	l := t.lanes[s]
	if l == nil {
		l = &lane{owner: o, session: s}
		t.lanes[s] = l
	}
	l.users++
	t.mu.Unlock()
	l.mu.Lock()
	t.mu.Lock()
	l.first = nil
	t.mu.Unlock()
	return l
}

func (t *Turns) leave(l *lane) {
	l.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	l.users--
	t.forget(l)
}

// forget drops a lane that knows nothing that the store does not. Turns.mu is held.
func (t *Turns) forget(l *lane) {
	if l.users == 0 && !l.busy && !l.ready && !l.blocked && l.waiting == "" && l.next == "" && l.ending == nil && t.lanes[l.session] == l {
		delete(t.lanes, l.session)
	}
}

// enterOwn checks that the session is the owner's, and takes its lane.
func (t *Turns) enterOwn(ctx context.Context, o jackline.Owner, s jackline.SessionID) (*lane, error) {
	if _, err := t.db.Session(ctx, o, s); err != nil {
		return nil, err
	}
	return t.enter(o, s), nil
}

// takes says why no new turn is taken now, or nil.
func (t *Turns) takes() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return jackline.E("runs.Turns", jackline.Unavailable, nil, "Jackline is shutting down.")
	case t.killed:
		return jackline.E("runs.Turns", jackline.Conflict, nil, "The kill switch is on: lift it, then send the prompt again.")
	}
	return nil
}

// want puts a lane in line for a slot, with a turn that goes before its queue or "". The lane's mu is held. A lane that is
// driven looks for more by itself.
func (t *Turns) want(l *lane, next jackline.TurnID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if next != "" {
		l.next, l.waiting = next, ""
	}
	l.blocked = false
	if l.busy || l.ready || t.closed {
		return
	}
	l.ready = true
	t.ready = append(t.ready, l)
	t.schedule()
}

// schedule starts as many lanes as there are slots. Turns.mu is held.
func (t *Turns) schedule() {
	for t.free > 0 && len(t.ready) > 0 && !t.closed {
		l := t.ready[0]
		t.ready = t.ready[1:]
		t.free--
		l.ready, l.busy = false, true
		t.runs.Go(func() {
			stack.Grow()
			t.drive(l)
		})
	}
}

// standing reads what a session has under way and what it has queued. A turn that counts as running, but that no
// living process runs, is what a crash left behind: it is ended here as interrupted, or as stopped if a person had said
// so; and one whose end could not be written before is ended as it should have been. A turn that another living process runs makes it a Conflict.
func (t *Turns) standing(ctx context.Context, l *lane) (active *jackline.Turn, queue []jackline.Turn, err error) {
	open, err := t.db.OpenTurns(ctx)
	if err != nil {
		return nil, nil, err
	}
	stops, err := t.words(ctx, l, stopKey)
	if err != nil {
		return nil, nil, err
	}
	var late []jackline.Turn
	for _, v := range open {
		if v.Session != l.session || v.Parent != "" {
			continue
		}
		owed := t.owes(l, v.ID)
		if owed == nil && t.has(l, v.ID) {
			active = &v
			continue
		}
		end, why := jackline.Interrupted, interruptedText
		switch {
		case owed != nil:
			end, why = owed.status, owed.reason
		case slices.Contains(stops, string(v.ID)):
			end, why = jackline.Stopped, stoppedText
		case v.Status == jackline.Queued:
			queue = append(queue, v)
			continue
		case v.Status == jackline.Waiting:
			active = &v
			continue
		}
		if err := t.elsewhere(ctx, l); err != nil {
			return nil, nil, err
		}
		words, err := t.conclude(ctx, l, v.ID, end, why)
		if err != nil {
			return nil, nil, err
		}
		if owed != nil {
			t.giveBack(l) // it was kept for this
		}
		late = append(late, words...)
	}
	return active, append(queue, late...), nil
}

// has reports whether the turn runs here or is next to.
func (t *Turns) has(l *lane, id jackline.TurnID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return l.run != nil && l.run.turn == id || l.next == id
}

const interruptedText = "The program that ran this turn ended before it was done. Continue it to go on from where it stopped."
