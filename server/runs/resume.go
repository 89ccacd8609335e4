package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
)

const (
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
			return jackline.E("runs.Resume", jackline.Conflict, nil,
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
	stops, err := t.words(ctx, l, stopKey)
	if err != nil {
		return err
	}
	for _, v := range open {
		if v.Session != s || v.Parent != "" || t.has(l, v.ID) {
			continue
		}
		if slices.Contains(stops, string(v.ID)) {
			if _, err := t.conclude(ctx, l, v.ID, jackline.Stopped, stoppedText); err != nil {
				return err
			}
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
		_, err := t.conclude(ctx, l, v.ID, jackline.Stopped, killedText)
		return false, err
	}
	alone, err := t.words(ctx, l, aloneKey)
	if err != nil {
		return false, err
	}
	if v.Status != jackline.Waiting && slices.Contains(alone, string(v.ID)) {
		_, err = t.conclude(ctx, l, v.ID, jackline.Interrupted, interruptedText)
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
		_, err = t.conclude(ctx, l, v.ID, jackline.Interrupted, tooOldText)
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

// restTime is how long an answer may wait for its turn to say that it waits. After a card was stored the other calls of the
// step only come as far as their own cards, which takes milliseconds. A person would not notice this much more.
const restTime = 2 * time.Second

// Rest waits until a turn that has asked something says in the log that it waits, in this process or another, so that
// whoever reads the log sees the wait before the answer. It waits for a moment only: an answer counts in any order.
func (t *Turns) Rest(ctx context.Context, o jackline.Owner, id jackline.TurnID) error {
	v, err := t.db.Turn(ctx, o, id)
	if err != nil || v.Status != jackline.Running {
		return err
	}
	watch := t.db.Watch(o, v.Session)
	defer watch.Close()
	enough := time.NewTimer(restTime)
	defer enough.Stop()
	for {
		// Watching began before this reading, so that nothing falls between the two.
		if v, err = t.db.Turn(ctx, o, id); err != nil || v.Status != jackline.Running {
			return err
		}
		select {
		case <-watch.Wake():
		case <-enough.C:
			return nil
		case <-t.stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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
	if v.Status != jackline.Waiting || t.answered(ctx, l, v.ID) {
		t.wake(l, v, false)
	}
	if v.Status.Over() { // somebody else saw it through
		t.mu.Lock()
		defer t.mu.Unlock()
		l.waiting = ""
	}
	return nil
}

// answered reports whether a card that a waiting turn waits for is settled. Whoever says that one was may come late: the turn has
// gone on, and waits for another. What cannot be read is taken for a yes: a turn that runs in vain waits again.
func (t *Turns) answered(ctx context.Context, l *lane, id jackline.TurnID) bool {
	calls, err := t.db.Calls(ctx, l.owner, id)
	if err != nil {
		return true
	}
	pending, err := t.db.Approvals(ctx, l.owner, jackline.ApprovalFilter{Turn: id, States: []jackline.ApprovalState{jackline.Pending}})
	if err != nil {
		return true
	}
	waiting := 0
	for _, c := range calls {
		if c.State == jackline.CallWaiting {
			waiting++
		}
	}
	return len(pending) < waiting || waiting == 0
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
	return jackline.E("runs.Turns", jackline.Conflict, nil,
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

// processLives reports whether a process of this machine still runs.
func processLives(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false // as Windows says it
	}
	defer func() { _ = p.Release() }()
	if errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone) {
		return false
	}
	// A process that was killed keeps its number until its parent takes note, which in a container may be never. Linux says
	// so in the field behind the name, which is in parentheses and may hold anything.
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	rest := bytes.TrimSpace(stat[bytes.LastIndexByte(stat, ')')+1:])
	return len(rest) == 0 || rest[0] != 'Z' && rest[0] != 'X'
}
