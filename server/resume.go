package server

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
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

	// resumeAge is how long a turn may have lain still for a server to take it up by itself. What the person wanted
	// an hour ago may no longer be what they want.
	resumeAge = time.Hour

	// serveLease names the duty to resume what other processes left.
	serveLease = "serve"

	// aloneKey is the session fact that names the turns of a process that runs a prompt and ends: no server takes them
	// up by itself. maxAlone is how many are remembered.
	aloneKey = "alone"
	maxAlone = 2 * maxQueue
)

const tooOldText = "Jackline was not running for a while, so this turn was not taken up by itself. Continue it to go on from where it stopped."

func leaseOf(s jackline.SessionID) string { return "session " + string(s) }

// Resume takes the duty of the one server of a store, and takes up what others left: running turns that are not too old,
// answered ones that waited, and queues. address is where this server can be reached. A second server is a Conflict
// that names the first.
func (t *Turns) Resume(ctx context.Context, address string) error {
	t.mu.Lock()
	t.self.Address = address
	self := t.self
	t.mu.Unlock()
	for tries := 0; ; tries++ {
		ok, holder, err := t.db.Lease(ctx, serveLease, self, leaseTime)
		if err != nil {
			return err
		}
		if ok {
			break
		}
		if tries > 0 || t.lives(holder) {
			return jackline.E("server.Resume", jackline.Conflict, nil,
				"Another Jackline serves this data: process %d%s. Use that one, or stop it first.", holder.PID, at(holder))
		}
		if err := t.db.Release(ctx, serveLease, holder.ID); err != nil {
			return err
		}
	}
	t.mu.Lock()
	t.serving = true
	t.mu.Unlock()
	open, err := t.db.OpenTurns(ctx)
	if err != nil {
		return err
	}
	seen := map[jackline.SessionID]bool{}
	for _, v := range open {
		if seen[v.Session] {
			continue
		}
		seen[v.Session] = true
		if err := t.resumeSession(ctx, v.Owner, v.Session, open); err != nil {
			t.log.Error("a chat could not be taken up again", "session", v.Session, "err", err)
		}
	}
	t.look()
	return nil
}

func at(h store.Holder) string {
	if h.Address == "" {
		return ""
	}
	return " at " + h.Address
}

// resumeSession takes up what one session has under way.
func (t *Turns) resumeSession(ctx context.Context, o jackline.Owner, s jackline.SessionID, open []jackline.Turn) error {
	l := t.enter(o, s)
	defer t.leave(l)
	if err := t.elsewhere(ctx, l); err != nil {
		if jackline.KindOf(err) == jackline.Conflict {
			return nil // another process has it in hand
		}
		return err
	}
	for _, v := range open {
		if v.Session != s || v.Parent != "" || t.has(l, v.ID) {
			continue
		}
		again, err := t.resumeTurn(ctx, l, v)
		if err != nil {
			return err
		}
		if again {
			t.want(l, v.ID)
			return nil
		}
		if v.Status == jackline.Waiting {
			return nil
		}
	}
	t.want(l, "")
	return nil
}

// resumeTurn decides about one turn that has not ended: whether it runs again now, before the queue.
func (t *Turns) resumeTurn(ctx context.Context, l *lane, v jackline.Turn) (again bool, err error) {
	if t.Halted() && v.Status != jackline.Queued {
		_, err := t.runner.Finish(ctx, l.owner, v.ID, jackline.Stopped, killedText)
		return false, err
	}
	alone, err := t.words(ctx, l, aloneKey)
	if err != nil {
		return false, err
	}
	if v.Status != jackline.Waiting && slices.Contains(alone, string(v.ID)) {
		_, err = t.runner.Finish(ctx, l.owner, v.ID, jackline.Interrupted, interruptedText)
		return false, err
	}
	switch v.Status {
	case jackline.Queued:
		return false, nil
	case jackline.Waiting:
		rows, err := t.db.Approvals(ctx, l.owner, jackline.ApprovalFilter{Turn: v.ID, States: []jackline.ApprovalState{jackline.Pending}})
		if err == nil && len(rows) > 0 {
			t.mu.Lock()
			l.waiting, l.cards, l.since = v.ID, len(rows), time.Now()
			t.mu.Unlock()
			return false, nil
		}
		return err == nil, err
	default:
	}
	session, err := t.db.Session(ctx, l.owner, l.session)
	// A turn that works writes to its log all the time: the session's last change is its last sign of life.
	if err == nil && time.Since(session.Updated) > resumeAge {
		_, err = t.runner.Finish(ctx, l.owner, v.ID, jackline.Interrupted, tooOldText)
		return false, err
	}
	return err == nil, err
}

// marked is the change to the session's facts by which a turn is known as this process's own, if it is one that ends
// with its prompt, or as anybody's, if it is a server; nil where there is nothing to change.
func (t *Turns) marked(ctx context.Context, l *lane, id jackline.TurnID) (map[string]json.RawMessage, error) {
	alone, err := t.words(ctx, l, aloneKey)
	if err != nil || slices.Contains(alone, string(id)) != t.serves() {
		return nil, err
	}
	if t.serves() {
		alone = slices.DeleteFunc(alone, func(v string) bool { return v == string(id) })
	} else {
		alone = append(alone, string(id))
		alone = alone[max(0, len(alone)-maxAlone):]
	}
	return facts(map[string][]string{aloneKey: alone}), nil
}

// Woken lets a waiting turn go on after one of its cards was answered or has expired. If others still block it, it
// waits again.
func (t *Turns) Woken(ctx context.Context, o jackline.Owner, id jackline.TurnID) error {
	v, err := t.db.Turn(ctx, o, id)
	for err == nil && v.Parent != "" { // a sub-agent's card holds up the turn that sent it
		v, err = t.db.Turn(ctx, o, v.Parent)
	}
	if err != nil {
		return err
	}
	l := t.enter(o, v.Session)
	defer t.leave(l)
	if v, err = t.db.Turn(ctx, o, v.ID); err != nil {
		return err
	}
	t.wake(l, v, false)
	if v.Status.Over() { // somebody else saw it through
		t.mu.Lock()
		defer t.mu.Unlock()
		l.waiting = ""
	}
	return nil
}

// take takes the lease of a lane's session; false if another living process has it.
func (t *Turns) take(ctx context.Context, l *lane) (bool, error) {
	t.mu.Lock()
	self := t.self
	t.mu.Unlock()
	ok, holder, err := t.db.Lease(ctx, leaseOf(l.session), self, leaseTime)
	if err != nil || ok || t.lives(holder) {
		return ok, err
	}
	if err := t.db.Release(ctx, leaseOf(l.session), holder.ID); err != nil {
		return false, err
	}
	ok, _, err = t.db.Lease(ctx, leaseOf(l.session), self, leaseTime)
	return ok, err
}

// giveBack releases the lease of a lane's session.
func (t *Turns) giveBack(l *lane) {
	if err := t.db.Release(context.WithoutCancel(t.ctx), leaseOf(l.session), t.self.ID); err != nil {
		t.log.Error("a session's lease could not be given back; it ends by itself", "session", l.session, "err", err)
	}
}

// elsewhere is a Conflict while another living process works on the lane's session.
func (t *Turns) elsewhere(ctx context.Context, l *lane) error {
	holder, held, err := t.db.HolderOf(ctx, leaseOf(l.session))
	if err != nil || !held || holder.ID == t.self.ID || !t.lives(holder) {
		return err
	}
	return jackline.E("server.Turns", jackline.Conflict, nil,
		"Another Jackline works on this chat: process %d%s. Wait until it is done, or stop it there.", holder.PID, at(holder))
}

// processStart tells this process's own leases from those of one that had its number before.
var processStart = time.Now() //nolint:gochecknoglobals // a fact about the process, never changed

// lives reports whether the process that holds a lease may still run. Only of this machine can it be known that one
// does not.
func (t *Turns) lives(h store.Holder) bool {
	switch {
	case h.Host != t.self.Host || h.PID == 0:
		return true
	case h.PID == t.self.PID:
		// Another holder of our own number: in a container it is the one that ran before, unless it is in this process.
		return h.Since.After(processStart)
	}
	return processLives(h.PID)
}

// keep is the keeper: it renews leases, lets cards expire, and wakes turns whose cards were answered elsewhere.
func (t *Turns) keep() {
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
		if e := t.expire(ctx); !e.IsZero() && e.Before(next) {
			next = e
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

// processLives reports whether a process of this machine exists.
func processLives(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false // as Windows says it
	}
	defer func() { _ = p.Release() }()
	return !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}
