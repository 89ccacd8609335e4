// Package watch tells those who watch a log that it has grown, and shows them what is not written: text as it comes. It knows no
// database. The ends of watched logs are kept in memory, so that who follows one need not read back what was just written.
package watch

import (
	"slices"
	"sync"

	"github.com/jackline-ai/jackline"
)

// liveLimit is how many transient events a watcher holds for a reader that lags.
const liveLimit = 256

// A Event is a transient event, with its place in the log: it came after the logged event whose Seq is After,
// and before any later one that this process wrote. See [Interleave].
type Event struct {
	jackline.Event
	After int64
}

// A Watcher hears of an owner's events: of one session, or of all. Its reader loops: wait on [Watcher.Wake], take
// [Watcher.Live], read the log from its cursor on, show both.
type Watcher struct {
	hub     *Hub
	owner   jackline.Owner
	session jackline.SessionID // "" is all of them
	wake    chan struct{}

	// The oldest is at first once the buffer is full. Guarded by the hub.
	live  []Event
	first int
}

// Watch makes a watcher of one session, or of all the owner's sessions where session is "". It starts awake, so
// that a reader that begins by waiting misses nothing. The caller closes it.
func (h *Hub) Watch(owner jackline.Owner, session jackline.SessionID) *Watcher {
	w := &Watcher{hub: h, owner: owner, session: session, wake: make(chan struct{}, 1)}
	poke(w.wake)
	h.add(w)
	return w
}

// Wake is readable when the log may have grown or a transient event came. It may also wake for nothing: when
// another process wrote, or when the store closes.
func (w *Watcher) Wake() <-chan struct{} { return w.wake }

// Live takes the transient events that came since the last call, oldest first. When a reader lags the oldest are
// dropped: logged text supersedes them.
func (w *Watcher) Live() []Event {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	if len(w.live) == 0 {
		return nil
	}
	out := append(make([]Event, 0, len(w.live)), w.live[w.first:]...)
	out = append(out, w.live[:w.first]...)
	w.live, w.first = w.live[:0], 0
	return out
}

// Close ends the watching.
func (w *Watcher) Close() { w.hub.remove(w) }

// Interleave puts transient events where they belong in a stretch of the log, which was read up to its end after
// the transient ones were taken.
func Interleave(log []jackline.Event, live []Event) []jackline.Event {
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

// A Hub knows who watches. It is safe for use by several goroutines at once.
type Hub struct {
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

// NewHub makes a hub without watchers.
func NewHub() *Hub {
	return &Hub{watchers: map[*Watcher]struct{}{}, tails: map[jackline.SessionID]tail{}, changed: make(chan struct{}, 1)}
}

func (h *Hub) add(w *Watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.watchers[w] = struct{}{}
	if len(h.watchers) == 1 {
		poke(h.changed)
	}
}

func (h *Hub) remove(w *Watcher) {
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

// Changed is readable when the first watcher came or the last one went.
func (h *Hub) Changed() <-chan struct{} { return h.changed }

// Watched reports whether anybody watches.
func (h *Hub) Watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.watchers) > 0
}

// Grew wakes those whom new events of a session concern, and keeps the events for them.
func (h *Hub) Grew(owner jackline.Owner, session jackline.SessionID, events []jackline.Event) {
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

// Forget drops what is kept of a session that is gone.
func (h *Hub) Forget(session jackline.SessionID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.tails, session)
}

// Since gives the events of a session after an ID from memory, if all of them are there and there is one.
func (h *Hub) Since(owner jackline.Owner, session jackline.SessionID, after int64, limit int) []jackline.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tails[session]
	if len(t.events) == 0 || t.owner != owner || after < t.events[0].ID-1 {
		return nil
	}
	from := min(int(after-t.events[0].ID)+1, len(t.events))
	return slices.Clone(t.events[from:min(from+limit, len(t.events))])
}

// Show shows a transient event to the owner's watchers. Who is not watching never sees it.
func (h *Hub) Show(owner jackline.Owner, e jackline.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.watchers {
		if !w.concerns(owner, e.Session) {
			continue
		}
		l := Event{Event: e, After: h.last}
		if len(w.live) < liveLimit {
			w.live = append(w.live, l)
		} else {
			w.live[w.first] = l
			w.first = (w.first + 1) % liveLimit
		}
		poke(w.wake)
	}
}

// WakeAll wakes everybody after another process wrote, or at the end.
func (h *Hub) WakeAll() {
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

// poke makes c readable, if it is not yet.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
