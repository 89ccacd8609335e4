package store

import (
	"slices"
	"sync"

	"github.com/jackline-ai/jackline"
)

// liveLimit is how many transient events a watcher holds for a reader that lags.
const liveLimit = 256

// A LiveEvent is a transient event, with its place in the log: it came after the logged event whose Seq is After,
// and before any later one that this process wrote. See [Interleave].
type LiveEvent struct {
	jackline.Event
	After int64
}

// A Watcher hears of an owner's events: of one session, or of all. Its reader loops: wait on [Watcher.Wake], take
// [Watcher.Live], read the log from its cursor on, show both.
type Watcher struct {
	hub     *hub
	owner   jackline.Owner
	session jackline.SessionID // "" is all of them
	wake    chan struct{}

	// The oldest is at first once the buffer is full. Guarded by the hub.
	live  []LiveEvent
	first int
}

// Watch makes a watcher of one session, or of all the owner's sessions where session is "". It starts awake, so
// that a reader that begins by waiting misses nothing. The caller closes it.
func (d *DB) Watch(owner jackline.Owner, session jackline.SessionID) *Watcher {
	w := &Watcher{hub: d.hub, owner: owner, session: session, wake: make(chan struct{}, 1)}
	poke(w.wake)
	d.hub.add(w)
	return w
}

// Live shows a transient event to the owner's watchers. It is not written: who is not watching never sees it.
func (d *DB) Live(owner jackline.Owner, e jackline.Event) {
	e.Data = d.hider.JSON(e.Data)
	d.hub.show(owner, e)
}

// Wake is readable when the log may have grown or a transient event came. It may also wake for nothing: when
// another process wrote, or when the store closes.
func (w *Watcher) Wake() <-chan struct{} { return w.wake }

// Live takes the transient events that came since the last call, oldest first. When a reader lags the oldest are
// dropped: logged text supersedes them.
func (w *Watcher) Live() []LiveEvent {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if len(w.live) == 0 {
		return nil
	}
	out := append(make([]LiveEvent, 0, len(w.live)), w.live[w.first:]...)
	out = append(out, w.live[:w.first]...)
	w.live, w.first = w.live[:0], 0
	return out
}

// Close ends the watching.
func (w *Watcher) Close() { w.hub.remove(w) }

// Interleave puts transient events where they belong in a stretch of the log, which was read up to its end after
// the transient ones were taken.
func Interleave(log []jackline.Event, live []LiveEvent) []jackline.Event {
	out := make([]jackline.Event, 0, len(log)+len(live))
	for _, e := range log {
		for len(live) > 0 && live[0].After < e.Seq {
			out = append(out, live[0].Event)
			live = live[1:]
		}
		out = append(out, e)
	}
	for _, l := range live {
		out = append(out, l.Event)
	}
	return out
}

// A hub knows who watches.
type hub struct {
	mu       sync.Mutex
	watchers map[*Watcher]struct{}
	last     int64         // the newest Seq that this process committed
	changed  chan struct{} // cap 1: the first watcher came or the last one went

	// tails are the newest events of sessions that somebody watches, as they were committed: who follows a log need not read
	// back what has just been written.
	tails map[jackline.SessionID]tail
}

// A tail is the end of a session's log, without a gap.
type tail struct {
	owner  jackline.Owner
	events []jackline.Event
}

const (
	// tailEvents is how many events of a session are kept for its watchers: several steps, which is as far as one lags that is
	// worth serving from memory.
	tailEvents = 64
	// maxTails bounds the sessions of which they are kept.
	maxTails = 32
)

func newHub() *hub {
	return &hub{watchers: map[*Watcher]struct{}{}, tails: map[jackline.SessionID]tail{}, changed: make(chan struct{}, 1)}
}

func (h *hub) add(w *Watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[w] = struct{}{}
	if len(h.watchers) == 1 {
		poke(h.changed)
	}
}

func (h *hub) remove(w *Watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.watchers[w]; !ok {
		return
	}
	delete(h.watchers, w)
	if len(h.watchers) == 0 {
		clear(h.tails)
		poke(h.changed)
	}
}

func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers) > 0
}

// grew wakes those whom new events of a session concern, and keeps the events for them.
func (h *hub) grew(owner jackline.Owner, session jackline.SessionID, events []jackline.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = max(h.last, events[len(events)-1].Seq)
	concerned := false
	for w := range h.watchers {
		if w.concerns(owner, session) {
			concerned = true
			poke(w.wake)
		}
	}
	if !concerned {
		delete(h.tails, session) // it would have a gap
		return
	}
	t, ok := h.tails[session]
	if !ok && len(h.tails) >= maxTails {
		clear(h.tails)
	}
	if n := len(t.events); n > 0 && t.events[n-1].ID+1 != events[0].ID {
		t.events = nil
	}
	t.owner, t.events = owner, append(t.events, events...)
	if over := len(t.events) - tailEvents; over > tailEvents {
		t.events = append([]jackline.Event(nil), t.events[over:]...)
	}
	h.tails[session] = t
}

// forget drops what is kept of a session that is gone.
func (h *hub) forget(session jackline.SessionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tails, session)
}

// since gives the events of a session after an ID from memory, if all of them are there and there is one.
func (h *hub) since(owner jackline.Owner, session jackline.SessionID, after int64, limit int) []jackline.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tails[session]
	if len(t.events) == 0 || t.owner != owner || after < t.events[0].ID-1 {
		return nil
	}
	from := min(int(after-t.events[0].ID)+1, len(t.events))
	return slices.Clone(t.events[from:min(from+limit, len(t.events))])
}

func (h *hub) show(owner jackline.Owner, e jackline.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if !w.concerns(owner, e.Session) {
			continue
		}
		l := LiveEvent{Event: e, After: h.last}
		if len(w.live) < liveLimit {
			w.live = append(w.live, l)
		} else {
			w.live[w.first] = l
			w.first = (w.first + 1) % liveLimit
		}
		poke(w.wake)
	}
}

// wakeAll wakes everybody after another process wrote, or at the end.
func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.tails)
	for w := range h.watchers {
		poke(w.wake)
	}
}

func (w *Watcher) concerns(owner jackline.Owner, session jackline.SessionID) bool {
	return w.owner == owner && (w.session == "" || w.session == session)
}
