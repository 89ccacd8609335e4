package runs

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/turn"
)

// drive runs what a lane has to run, one turn after the other, until there is nothing more or other lanes wait for
// its slot.
func (t *Turns) drive(l *lane) {
	for first := true; ; first = false {
		r := t.pick(l, first)
		if r == nil {
			return
		}
		got, err := t.run(l, r)
		t.settle(l, r, got, err)
	}
}

// pick takes what runs next, with the lease of its session; nil gives the slot back.
func (t *Turns) pick(l *lane, first bool) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.yields(l, first) {
		return nil
	}
	begun := t.begun(l)
	if t.takes() != nil || t.owes(l, "") != nil {
		if begun != nil {
			t.giveBack(l)
			t.rest(l, begun.Turn.ID, false)
			return nil
		}
		t.rest(l, "", false)
		return nil
	}
	var id jackline.TurnID
	var err error
	holds, quiet, stopped := begun != nil, false, false
	if holds {
		id = begun.Turn.ID
	} else {
		id, quiet, err = t.upNext(l)
		if err == nil && id != "" {
			holds, err = t.take(t.ctx, l)
		}
		if holds {
			stopped, err = t.prepare(l, id, quiet)
		}
	}
	if err == nil && holds {
		if r := t.begin(l, id, begun); r != nil {
			if stopped {
				r.cancel(turn.ErrStopped)
			}
			return r
		}
	}
	if holds {
		t.giveBack(l)
	}
	if err != nil && t.ctx.Err() == nil {
		t.log.Error("a turn could not be started; it is tried again", "session", l.session, "turn", id, "err", err)
	}
	t.rest(l, id, err != nil || id != "")
	return nil
}

// begun takes the first turn of a session that has just been begun, nil where it is another. There is nothing to be found out
// about it and nothing to be written before it, and the lease is taken.
func (t *Turns) begun(l *lane) *turn.New {
	t.mu.Lock()
	defer t.mu.Unlock()
	first := l.first
	if first != nil {
		l.first, l.next, l.quiet = nil, "", ""
	}
	return first
}

// begin makes the run, unless nothing may begin any more.
func (t *Turns) begin(l *lane, id jackline.TurnID, first *turn.New) *run {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.killed {
		return nil
	}
	ctx, cancel := context.WithCancelCause(t.ctx)
	l.run = &run{turn: id, first: first, ctx: ctx, cancel: cancel}
	return l.run
}

// yields gives the slot to a lane that waits for one, and puts this one behind it.
func (t *Turns) yields(l *lane, first bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if first || len(t.ready) == 0 || t.closed {
		return false
	}
	t.free++
	l.busy, l.ready = false, true
	t.ready = append(t.ready, l)
	t.schedule()
	return true
}

// rest gives the slot back. A turn that could not begin stays next. With again, the keeper tries once more later.
func (t *Turns) rest(l *lane, next jackline.TurnID, again bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free++
	l.busy, l.blocked = false, again
	if next != "" {
		l.next = next
	}
	t.schedule()
	t.forget(l)
}

// upNext is the turn that the lane runs next: one that was set, else the head of the queue, unless the queue rests.
// quiet says that nobody was told that it was queued.
func (t *Turns) upNext(l *lane) (id jackline.TurnID, quiet bool, err error) {
	t.mu.Lock()
	id, quiet = l.next, l.next == l.quiet
	l.next, l.quiet = "", ""
	t.mu.Unlock()
	if id != "" {
		v, err := t.db.Turn(t.ctx, l.owner, id)
		if err == nil && !v.Status.Over() {
			return id, quiet, nil
		}
		if err != nil && jackline.KindOf(err) != jackline.NotFound { // a queued turn may have been dropped
			return id, quiet, err
		}
	}
	active, queue, err := t.standing(t.ctx, l)
	if err != nil || active != nil || len(queue) == 0 {
		return "", false, err
	}
	rests, err := t.rests(t.ctx, l, queue)
	if err != nil || rests {
		return "", false, err
	}
	return queue[0].ID, false, nil
}

// rests reports whether the queue waits for its owner: the last turn was stopped, and nothing was sent since.
func (t *Turns) rests(ctx context.Context, l *lane, queue []jackline.Turn) (bool, error) {
	turns, err := t.db.Turns(ctx, l.owner, l.session)
	if err != nil {
		return false, err
	}
	var last jackline.Turn
	for _, v := range turns {
		if v.Parent == "" && v.Status.Over() && v.Ended.After(last.Ended) {
			last = v
		}
	}
	return last.Status == jackline.Stopped && !queue[len(queue)-1].Created.After(last.Ended), nil
}

// prepare writes what has to be written before a turn's run: the queue without it, the words that steer it, and, in a
// process that will not resume it, that it is this process's alone. It reports whether the turn was stopped before, and
// has only to end.
func (t *Turns) prepare(l *lane, id jackline.TurnID, quiet bool) (stopped bool, err error) {
	stops, err := t.words(t.ctx, l, stopKey)
	if err != nil {
		return false, err
	}
	stopped = slices.Contains(stops, string(id))
	if _, err := t.deliver(t.ctx, l); err != nil {
		return false, err
	}
	v, err := t.db.Turn(t.ctx, l.owner, id)
	if err != nil {
		return false, err
	}
	rec := jackline.Record{Session: l.session}
	if v.Status == jackline.Queued && !quiet {
		ids, err := t.queued(t.ctx, l, id)
		if err != nil {
			return false, err
		}
		rec.Events = append(rec.Events, jackline.NewEvent(l.session, "", jackline.QueueChanged{Turns: ids}))
	}
	if rec.State, err = t.marked(t.ctx, l, id); err != nil {
		return false, err
	}
	if rec.Events == nil && rec.State == nil {
		return stopped, nil
	}
	_, err = t.db.Append(t.ctx, l.owner, rec)
	return stopped, err
}

// A broken run is one that panicked.
type broken struct{ what string }

func (b *broken) Error() string { return b.what }

// run runs the turn as far as it goes. A panic in the runner is that turn's end, not the program's.
func (t *Turns) run(l *lane, r *run) (got jackline.Turn, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &broken{fmt.Sprintf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return t.runner.Run(r.ctx, l.owner, r.turn, turn.Control{New: r.first, Steered: func() bool { return t.steered(l, r) }})
}

// steered answers the engine's question whether words came. The engine asks from within its run, so that it is not
// looking at them while they are put there.
func (t *Turns) steered(l *lane, r *run) bool {
	t.mu.Lock()
	some := r.steered
	t.mu.Unlock()
	if !some {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	some, err := t.deliver(r.ctx, l)
	if err != nil {
		if r.ctx.Err() == nil {
			t.log.Error("words could not be delivered to a turn", "turn", r.turn, "err", err)
		}
		return false // the mark stays: the next step asks again
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	r.steered = false
	return some
}

// settle brings a run that has returned to its end: what the engine left undone is done here.
func (t *Turns) settle(l *lane, r *run, got jackline.Turn, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer r.cancel(nil)
	ctx := context.WithoutCancel(t.ctx)
	cause := context.Cause(r.ctx)
	t.mu.Lock()
	again, steered, why := r.again, r.steered, r.why
	t.mu.Unlock()

	next, waits := jackline.TurnID(""), false
	switch {
	case errors.Is(cause, turn.ErrStopped):
		if !got.Status.Over() || err != nil {
			got = t.finish(ctx, l, r.turn, jackline.Stopped, why, err)
		}
	case errors.Is(cause, turn.ErrShutdown):
		if err != nil && !t.serves() {
			got = t.finish(ctx, l, r.turn, jackline.Interrupted, interruptedText, nil)
		}
	case errors.Is(cause, errLost):
		next = r.turn // taken up again when the session is free
	case err != nil:
		st, reason := endOf(err)
		got = t.finish(ctx, l, r.turn, st, reason, err)
	case got.Status == jackline.Waiting && again && (steered || t.answered(ctx, l, r.turn)):
		next = r.turn
	case got.Status == jackline.Waiting:
		waits = true
	case !got.Status.Over():
		got = t.finish(ctx, l, r.turn, jackline.Failed, jackline.Say(nil), fmt.Errorf("the runner left it %q", got.Status))
	}
	if got.Status.Over() && got.ID == r.turn {
		t.rescue(ctx, l, got)
	}
	if t.owes(l, "") == nil { // else it stays ours until the end is written
		t.giveBack(l)
	}
	t.mu.Lock()
	l.run, l.waiting, l.cards = nil, "", -1
	if next != "" {
		l.next = next
	}
	if waits {
		l.waiting, l.since = r.turn, time.Now()
	}
	if got.Status.Over() {
		l.idle = false
	}
	t.mu.Unlock()
	t.look()
}

// finish ends a turn that no longer runs, and says in the log why that was needed.
func (t *Turns) finish(ctx context.Context, l *lane, id jackline.TurnID, s jackline.Status, reason string, cause error) jackline.Turn {
	if cause != nil && s != jackline.Stopped {
		t.log.Error("a turn failed", "session", l.session, "turn", id, "err", cause)
	}
	if reason == "" {
		reason = stoppedText
	}
	v, err := t.finishSafely(ctx, l, id, s, reason)
	if err != nil {
		// It stays in the log as running for now. The keeper, or whoever looks at the session before, ends it.
		t.log.Error("a turn could not be ended; it is tried again", "session", l.session, "turn", id, "err", err)
		t.mu.Lock()
		l.ending = &ending{turn: id, status: s, reason: reason, pause: endSoon, due: time.Now().Add(endSoon)}
		t.mu.Unlock()
	}
	return v
}

// endOf is how a turn ends whose runner could not go on. Where the store cannot be used, nothing is wrong with the turn: a
// person may carry it on later.
func endOf(err error) (jackline.Status, string) {
	if jackline.KindOf(err) == jackline.Unavailable {
		return jackline.Interrupted, jackline.Say(err) + " Continue this turn to go on from where it stopped."
	}
	return jackline.Failed, jackline.Say(err)
}

// conclude ends a turn that no longer runs, or never did, and gives the prompt that was queued of what was said to it too
// late.
func (t *Turns) conclude(ctx context.Context, l *lane, id jackline.TurnID, s jackline.Status, reason string) ([]jackline.Turn, error) {
	v, err := t.finishSafely(ctx, l, id, s, reason)
	if err != nil {
		return nil, err
	}
	return t.rescue(ctx, l, v), nil
}

// rescue is salvage where the turn has ended whether or not that works. If not, the words reach the next turn.
func (t *Turns) rescue(ctx context.Context, l *lane, ended jackline.Turn) []jackline.Turn {
	late, err := t.salvage(ctx, l, ended)
	if err != nil {
		t.log.Error("words that came late could not be queued", "session", l.session, "err", err)
		return nil
	}
	return late
}

// finishSafely is the runner's Finish, whose panic is an error like any other.
func (t *Turns) finishSafely(ctx context.Context, l *lane, id jackline.TurnID, s jackline.Status, reason string) (v jackline.Turn, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &broken{fmt.Sprintf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	if v, err = t.runner.Finish(ctx, l.owner, id, s, reason); err != nil {
		return v, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.ending != nil && l.ending.turn == id {
		l.ending = nil
	}
	return v, nil
}

const stoppedText = "Stopped."
