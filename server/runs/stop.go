package runs

import (
	"context"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/turn"
)

// killFlag is the store's flag of the kill switch. It holds who threw it, and when.
const killFlag = "kill"

// stopKey is the session fact that names the turn that a person stopped last. It is written before the run is told, so
// that a turn whose process dies before it has ended is not taken up again. A turn is stopped once, so the fact may stay.
const stopKey = "stop"

const killedText = "Stopped by the kill switch."

// Stop ends the session's turn, running or waiting, and names it. The queue stays as it is and rests until the next
// prompt. Where nothing is under way, nothing happens.
func (t *Turns) Stop(ctx context.Context, o jackline.Owner, s jackline.SessionID) ([]jackline.TurnID, error) {
	l, err := t.enterOwn(ctx, o, s)
	if err != nil {
		return nil, err
	}
	defer t.leave(l)
	return t.stopLane(ctx, l, stoppedText)
}

// stopLane stops what is under way in a lane that is entered. A turn that runs ends a moment later, when its run
// returns.
func (t *Turns) stopLane(ctx context.Context, l *lane, why string) ([]jackline.TurnID, error) {
	stopped := []jackline.TurnID{}
	t.mu.Lock()
	r := l.run
	if r != nil {
		r.why = why
	}
	t.mu.Unlock()
	if r != nil {
		rec := jackline.Record{Session: l.session, State: facts(map[string][]string{stopKey: {string(r.turn)}}), Sync: true}
		if _, err := t.db.Append(context.WithoutCancel(ctx), l.owner, rec); err != nil {
			t.log.Error("a stop could not be written down", "session", l.session, "turn", r.turn, "err", err) // it holds here
		}
		r.cancel(turn.ErrStopped)
		return append(stopped, r.turn), nil
	}
	// A turn that is next and has not begun counts as under way: its owner was told that it started, or waits for it.
	active, _, err := t.standing(ctx, l)
	if err != nil || active == nil {
		return stopped, err
	}
	if err := t.elsewhere(ctx, l); err != nil {
		return stopped, err
	}
	if _, err := t.conclude(ctx, l, active.ID, jackline.Stopped, why); err != nil {
		return stopped, err
	}
	t.mu.Lock()
	if l.next == active.ID {
		l.next = ""
	}
	l.waiting, l.blocked = "", false
	t.mu.Unlock()
	return append(stopped, active.ID), nil
}

// StopAll throws the kill switch: it ends all turns and people's own calls, and none begins until [Turns.Lift]. It
// holds across a restart. by says from where it was thrown.
func (t *Turns) StopAll(ctx context.Context, o jackline.Owner, by string) ([]jackline.TurnID, error) {
	t.mu.Lock()
	t.killed = true // first of all, and even if it cannot be stored
	for p := range t.calls {
		p.cancel(turn.ErrStopped)
	}
	t.mu.Unlock()
	flagErr := t.db.SetFlag(ctx, killFlag, by+" "+time.Now().UTC().Format(time.RFC3339))
	stopped, sessions, err := t.stopEverything(ctx)
	if err == nil {
		err = flagErr
	}
	if len(sessions) == 0 {
		sessions = t.newest(ctx, o)
	}
	t.tell(ctx, sessions, jackline.Killed{On: true, By: by})
	return stopped, err
}

// A place is a session with its owner.
type place struct {
	owner   jackline.Owner
	session jackline.SessionID
}

// stopEverything stops every session, and goes on where one cannot be stopped.
func (t *Turns) stopEverything(ctx context.Context) (stopped []jackline.TurnID, where []place, first error) {
	open, err := t.db.OpenTurns(ctx)
	if err != nil {
		// The log cannot be read; what runs here is known all the same.
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, l := range t.lanes {
			if l.run != nil {
				l.run.cancel(turn.ErrStopped)
				stopped = append(stopped, l.run.turn)
			}
		}
		return stopped, nil, err
	}
	stopped = []jackline.TurnID{}
	seen := map[jackline.SessionID]bool{}
	for _, v := range open {
		if seen[v.Session] {
			continue
		}
		seen[v.Session] = true
		l := t.enter(v.Owner, v.Session)
		ids, err := t.stopLane(ctx, l, killedText)
		t.leave(l)
		if err != nil && first == nil {
			first = err
		}
		if len(ids) > 0 {
			stopped = append(stopped, ids...)
			where = append(where, place{v.Owner, v.Session})
		}
	}
	return stopped, where, first
}

// Lift takes the kill switch back. Nothing starts by itself: the next prompt of each session does that.
func (t *Turns) Lift(ctx context.Context, o jackline.Owner, by string) error {
	if err := t.db.SetFlag(ctx, killFlag, ""); err != nil {
		return err
	}
	t.mu.Lock()
	t.killed = false
	t.mu.Unlock()
	t.Announce(ctx, o, jackline.Killed{On: false, By: by})
	return nil
}

// Halted reports whether the kill switch is on. It is for tool.Gate.
func (t *Turns) Halted() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.killed
}

// Announce logs an event that belongs to no session where its owner looks first: in the session that changed last.
// What it tells of holds even where it cannot be logged.
func (t *Turns) Announce(ctx context.Context, o jackline.Owner, b jackline.Body) {
	t.tell(ctx, t.newest(ctx, o), b)
}

// newest is the owner's session that changed last, or none.
func (t *Turns) newest(ctx context.Context, o jackline.Owner) []place {
	rows, err := t.db.Sessions(ctx, o, store.SessionQuery{Limit: 1})
	if err != nil || len(rows) == 0 {
		return nil
	}
	return []place{{o, rows[0].ID}}
}

// tell logs an event in sessions. What it tells of holds even where it cannot be logged.
func (t *Turns) tell(ctx context.Context, where []place, b jackline.Body) {
	for _, p := range where {
		rec := jackline.Record{Session: p.session, Events: []jackline.Event{jackline.NewEvent(p.session, "", b)}}
		if _, err := t.db.Append(ctx, p.owner, rec); err != nil {
			t.log.Error("an event could not be logged", "session", p.session, "type", b.Type(), "err", err)
		}
	}
}

// Do runs f, a call that a person makes by hand. It ends with the kill switch or with [Turns.Shutdown], and not with
// ctx: a client that is lost stops nothing.
func (t *Turns) Do(ctx context.Context, f func(context.Context) error) error {
	own, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	p := &personal{cancel: cancel}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return t.takes()
	}
	t.calls[p] = struct{}{}
	t.runs.Add(1)
	t.mu.Unlock()
	defer func() {
		t.mu.Lock()
		delete(t.calls, p)
		t.mu.Unlock()
		t.runs.Done()
	}()
	unlink := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	defer unlink()
	return f(own)
}

// Alone runs f, something that a person does to a session's files, while no turn of it runs and none can begin. Where one runs or
// waits, here or in another process, that is a Conflict.
func (t *Turns) Alone(ctx context.Context, o jackline.Owner, s jackline.SessionID, f func(context.Context) error) error {
	const op = "runs.Alone"
	l, err := t.enterOwn(ctx, o, s)
	if err != nil {
		return err
	}
	defer t.leave(l)
	active, _, err := t.standing(ctx, l)
	if err != nil {
		return err
	}
	if active != nil { // a run whose turn has ended does nothing any more
		return jackline.E(op, jackline.Conflict, nil, "A turn of this chat is still under way: wait until it is done, or stop it, then try again.")
	}
	ok, err := t.take(ctx, l)
	if err != nil {
		return err
	}
	if !ok {
		return jackline.E(op, jackline.Conflict, nil, "Another Jackline works on this chat: wait until it is done, or stop it there.")
	}
	done := make(chan struct{})
	var renewing sync.WaitGroup
	renewing.Go(func() {
		ticker := time.NewTicker(renewEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if _, err := t.db.Renew(context.WithoutCancel(ctx), leaseOf(s), t.self.ID, leaseTime); err != nil {
					t.log.Error("a session's lease could not be renewed", "session", s, "err", err)
				}
			}
		}
	})
	defer func() {
		close(done)
		renewing.Wait()
		t.giveBack(l)
	}()
	return t.Do(ctx, f)
}
