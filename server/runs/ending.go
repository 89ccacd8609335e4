package runs

import (
	"context"
	"time"

	"github.com/jackline-ai/jackline"
)

const (
	// endSoon is the first pause before a turn's end that could not be written is tried again. Each pause is twice the
	// one before, up to endSeldom: a disk stays full until a person makes room, and then that person waits. endSeldom is
	// shorter than a lease holds, so that a store that refuses only the end leaves the session ours.
	endSoon   = time.Second
	endSeldom = 20 * time.Second
)

// An ending is the end of a turn that could not be written: the disk is full, say. The turn is not run again, whatever
// it was doing: a call that was under way may have had its effect. It is only ended, as soon as that can be written.
type ending struct {
	turn   jackline.TurnID
	status jackline.Status
	reason string
	pause  time.Duration
	due    time.Time
}

// owes is the end that is owed to a turn of the lane, or to any of them for ""; nil is none.
func (t *Turns) owes(l *lane, id jackline.TurnID) *ending {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := l.ending; e != nil && (id == "" || id == e.turn) {
		return e
	}
	return nil
}

// owing lists the lanes in which an end is owed.
func (t *Turns) owing() (list []*lane) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lanes {
		if l.ending != nil {
			list = append(list, l)
		}
	}
	return list
}

// pay tries to write the ends that are owed and due, and says when the next one is due; the zero time is never.
func (t *Turns) pay(ctx context.Context) (next time.Time) {
	for _, l := range t.owing() {
		l := t.enter(l.owner, l.session)
		if e := t.owes(l, ""); e != nil && !time.Now().Before(e.due) {
			t.payOne(ctx, l, e)
		}
		if e := t.owes(l, ""); e != nil && (next.IsZero() || e.due.Before(next)) {
			next = e.due
		}
		t.leave(l)
	}
	return next
}

// payLast tries once more, as the process ends. What is still owed then is left to whoever looks at the session next.
func (t *Turns) payLast(ctx context.Context) {
	for _, l := range t.owing() {
		l := t.enter(l.owner, l.session)
		if e := t.owes(l, ""); e != nil {
			t.payOne(ctx, l, e)
		}
		if t.owes(l, "") != nil {
			t.giveBack(l)
		}
		t.leave(l)
	}
}

// payOne writes the end of a turn, unless another process has taken the turn up meanwhile. The lane is entered.
func (t *Turns) payOne(ctx context.Context, l *lane, e *ending) {
	ours, err := t.keeps(ctx, l, e.turn)
	if err == nil && ours {
		_, err = t.conclude(ctx, l, e.turn, e.status, e.reason)
	}
	if jackline.KindOf(err) == jackline.NotFound {
		err = nil // deleted meanwhile
	}
	if err != nil {
		e.pause = min(2*e.pause, endSeldom)
		e.due = time.Now().Add(e.pause)
		t.log.Debug("a turn still could not be ended", "session", l.session, "turn", e.turn, "err", err)
		return
	}
	if ours {
		t.giveBack(l)
	}
	t.mu.Lock()
	l.ending = nil
	t.mu.Unlock()
	t.want(l, "") // the queue goes on
}

// keeps reports whether the session of a turn that does not run any more is still ours. Where the lease was over, it is if
// nobody has touched the turn in between.
func (t *Turns) keeps(ctx context.Context, l *lane, id jackline.TurnID) (bool, error) {
	ok, err := t.db.Renew(ctx, leaseOf(l.session), t.self.ID, leaseTime)
	if err != nil || ok {
		return ok, err
	}
	if ok, err = t.take(ctx, l); err != nil || !ok {
		return false, err
	}
	v, err := t.db.Turn(ctx, l.owner, id)
	if jackline.KindOf(err) == jackline.NotFound {
		err = nil
	}
	if err != nil || v.Status == jackline.Running || v.Status == jackline.Queued {
		return err == nil, err
	}
	t.giveBack(l)
	if v.Status == jackline.Waiting { // with whom is not known: it is looked after like any other
		t.mu.Lock()
		l.waiting, l.cards, l.since = v.ID, -1, time.Now()
		t.mu.Unlock()
	}
	return false, nil
}
