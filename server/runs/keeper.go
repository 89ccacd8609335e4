package runs

import (
	"context"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/stack"
)

const (
	// leaseTime is how long a lease holds that is not renewed, and renewEvery how often it is: three chances.
	leaseTime  = 30 * time.Second
	renewEvery = 10 * time.Second

	// lookEvery is how often waiting turns are compared with the desk at first, because another process may have taken
	// the answer; later it is every tenth of the time that nothing has changed, up to lookSeldom. Answers that this
	// process takes come at once, through Woken.
	lookEvery  = 2 * time.Second
	lookSeldom = 30 * time.Second
)

// keep is the keeper: it renews leases, lets cards expire, wakes turns whose cards were answered elsewhere, and ends those
// whose end could not be written.
func (t *Turns) keep() {
	stack.Grow()
	timer := time.NewTimer(renewEvery)
	defer timer.Stop()
	renew := time.Now().Add(renewEvery)
	for {
		select {
		case <-t.stop:
			return
		case <-t.poke:
		case <-timer.C:
		}
		ctx := context.WithoutCancel(t.ctx)
		if !time.Now().Before(renew) {
			t.renew(ctx)
			renew = time.Now().Add(renewEvery)
		}
		next := renew
		for _, due := range []time.Time{t.expire(ctx), t.pay(ctx)} {
			if !due.IsZero() && due.Before(next) {
				next = due
			}
		}
		if soon := t.compare(ctx); soon > 0 && time.Now().Add(soon).Before(next) {
			next = time.Now().Add(soon)
		}
		timer.Reset(time.Until(next))
	}
}

// look makes the keeper look again: there may be a new card, or a new wait.
func (t *Turns) look() {
	select {
	case t.poke <- struct{}{}:
	default:
	}
}

// renew renews the leases of what runs, and hears whether another process threw the kill switch.
func (t *Turns) renew(ctx context.Context) {
	flag, err := t.db.Flag(ctx, killFlag)
	if err != nil {
		t.log.Error("the kill switch cannot be read", "err", err)
	} else if t.heard(flag != "") {
		if _, _, err := t.stopEverything(ctx); err != nil {
			t.log.Error("the kill switch was thrown, and not all could be stopped", "err", err)
		}
	}
	t.mu.Lock()
	type holding struct {
		l *lane
		r *run
	}
	var held []holding
	var blocked []*lane
	for _, l := range t.lanes {
		if l.run != nil {
			held = append(held, holding{l, l.run})
		}
		if l.blocked {
			blocked = append(blocked, l)
		}
	}
	serving, self := t.serving, t.self
	t.mu.Unlock()
	if serving {
		if ok, _, err := t.db.Lease(ctx, serveLease, self, leaseTime); err != nil || !ok {
			t.log.Error("another server has taken over this data", "err", err)
		}
	}
	for _, h := range held {
		t.renewRun(ctx, h.l, h.r)
	}
	for _, l := range blocked {
		l := t.enter(l.owner, l.session)
		t.want(l, "")
		t.leave(l)
	}
}

// heard takes over what the store says of the kill switch, and reports whether it was thrown just now.
func (t *Turns) heard(on bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	thrown := on && !t.killed
	t.killed = on
	return thrown
}

// renewRun renews the lease of a run. Where it was over, as after a laptop slept, the run goes on if nobody has touched
// the turn in between.
func (t *Turns) renewRun(ctx context.Context, l *lane, r *run) {
	ok, err := t.db.Renew(ctx, leaseOf(l.session), t.self.ID, leaseTime)
	if err != nil || ok {
		if err != nil {
			t.log.Error("a session's lease could not be renewed", "session", l.session, "err", err)
		}
		return
	}
	t.mu.Lock()
	current, self := l.run == r, t.self
	t.mu.Unlock()
	if !current {
		return
	}
	ok, _, err = t.db.Lease(ctx, leaseOf(l.session), self, leaseTime)
	if err == nil && ok {
		v, err := t.db.Turn(ctx, l.owner, r.turn)
		if err == nil && (v.Status == jackline.Running || v.Status == jackline.Queued) {
			return
		}
	}
	t.log.Error("a session was taken over by another process", "session", l.session, "turn", r.turn)
	r.cancel(errLost)
}

// expire closes the cards whose time is over, wakes their turns, and says when the next one is due.
func (t *Turns) expire(ctx context.Context) time.Time {
	rows, err := t.desk.Expire(ctx, time.Now())
	if err != nil {
		t.log.Error("cards could not be closed", "err", err)
	}
	for _, a := range rows {
		if a.Turn == "" {
			continue
		}
		if err := t.Woken(ctx, a.Owner, a.Turn); err != nil {
			t.log.Error("a turn could not be woken", "turn", a.Turn, "err", err)
		}
	}
	open, err := t.db.ExpiringApprovals(ctx, time.Now().AddDate(10, 0, 0))
	if err != nil || len(open) == 0 {
		return time.Time{}
	}
	// Not at once again where closing failed.
	if soonest := time.Now().Add(time.Second); open[0].Expires.Before(soonest) {
		return soonest
	}
	return open[0].Expires
}

// compare looks after the turns that wait here, because another process may have taken an answer: one with fewer
// open cards than before is woken. It says when to look again; 0 is never.
func (t *Turns) compare(ctx context.Context) time.Duration {
	type wait struct {
		l  *lane
		id jackline.TurnID
	}
	t.mu.Lock()
	var waits []wait
	again := time.Duration(0)
	for _, l := range t.lanes {
		if l.waiting == "" {
			continue
		}
		soon := min(max(lookEvery, time.Since(l.since)/10), lookSeldom)
		if again == 0 || soon < again {
			again = soon
		}
		waits = append(waits, wait{l, l.waiting})
	}
	t.mu.Unlock()
	for _, w := range waits {
		rows, err := t.db.Approvals(ctx, w.l.owner, jackline.ApprovalFilter{Turn: w.id, States: []jackline.ApprovalState{jackline.Pending}})
		gone := jackline.KindOf(err) == jackline.NotFound
		if err != nil && !gone {
			t.log.Error("a waiting turn could not be looked after", "turn", w.id, "err", err)
			continue
		}
		if !t.moved(w.l, w.id, len(rows), gone) {
			continue
		}
		if err := t.Woken(ctx, w.l.owner, w.id); err != nil {
			t.log.Error("a turn could not be woken", "turn", w.id, "err", err)
		}
	}
	return again
}

// moved notes how many cards of a waiting turn are open, and reports whether it is to run again. Without any card it is
// run again once: an answer may have come before the first look.
func (t *Turns) moved(l *lane, id jackline.TurnID, open int, gone bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.waiting != id {
		return false
	}
	if gone {
		l.waiting = ""
		t.forget(l)
		return false
	}
	before := l.cards
	l.cards = open
	if before < 0 && open == 0 && !l.idle {
		l.idle = true
		return true
	}
	return open < before
}
