package storetest

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/store/watch"
)

// watchOrder follows the log while many write: nothing is seen before it can be read, nothing is missed, nothing
// comes twice.
func watchOrder(t *testing.T, db *store.DB) {
	ctx := t.Context()
	const writers, each = 8, 50
	sessions := []jackline.SessionID{session(t, db, alice), session(t, db, alice)}
	foreign := session(t, db, bob)
	follow := func(s jackline.SessionID, want int) error {
		w := db.Watch(alice, s)
		defer w.Close()
		var cursor int64
		for seen := 0; seen < want; {
			<-w.Wake()
			for {
				var evs []jackline.Event
				var err error
				if s == "" {
					evs, err = db.AllEvents(ctx, alice, cursor, 7)
				} else {
					evs, err = db.Events(ctx, alice, s, cursor, 7)
				}
				if err != nil {
					return err
				}
				if len(evs) == 0 {
					break
				}
				for _, e := range evs {
					next := e.Seq
					if s != "" {
						next = e.ID
						if next != cursor+1 {
							return fmt.Errorf("ID %d after %d", next, cursor)
						}
					}
					if next <= cursor {
						return fmt.Errorf("%d after %d", next, cursor)
					}
					cursor = next
					seen++
				}
			}
		}
		return nil
	}
	var readers, wg sync.WaitGroup
	for _, s := range append(slices.Clone(sessions), "") {
		want := writers * each / 2
		if s == "" {
			want = writers * each
		}
		for range 2 {
			readers.Go(func() {
				if err := follow(s, want); err != nil {
					t.Errorf("following %q: %v", s, err)
				}
			})
		}
	}
	for i := range writers {
		wg.Go(func() {
			s := sessions[i%2]
			w := db.Watch(alice, s)
			defer w.Close()
			for n := range each {
				evs, err := db.Append(ctx, alice, jackline.Record{Session: s, Events: []jackline.Event{text(s, n)}})
				if err != nil {
					t.Errorf("append: %v", err)
					continue
				}
				select {
				case <-w.Wake():
				default:
					t.Error("a watcher was not woken before Append returned")
				}
				got, err := db.Events(ctx, alice, s, evs[0].ID-1, 1)
				if err != nil || len(got) != 1 || got[0].Seq != evs[0].Seq {
					t.Errorf("the event cannot be read: %v, %v", got, err)
				}
				if _, err := db.Append(ctx, bob, jackline.Record{Session: foreign, Events: []jackline.Event{text(foreign, n)}}); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	readers.Wait()
}

func delta(s jackline.SessionID, text string) jackline.Event {
	return jackline.NewEvent(s, "", jackline.TextDelta{Text: text})
}

// live shows transient events to those whom they concern, in their place in the log.
func live(t *testing.T, db *store.DB) {
	s, other, foreign := session(t, db, alice), session(t, db, alice), session(t, db, bob)
	one, all, bobs, peeping := db.Watch(alice, s), db.Watch(alice, ""), db.Watch(bob, ""), db.Watch(bob, s)
	for _, w := range []*watch.Watcher{one, all, bobs, peeping} {
		defer w.Close()
		<-w.Wake()
	}
	d1, d2, d3, d4 := delta(s, "1"), delta(s, "2"), delta(s, "3"), delta(other, "4")
	db.Live(alice, d1)
	db.Live(alice, d2)
	log := appendTo(t, db, alice, jackline.Record{Session: s, Events: []jackline.Event{text(s, 12)}})
	db.Live(alice, d3)
	db.Live(alice, d4)
	<-one.Wake()
	<-all.Wake()
	same(t, "the session", watch.Interleave(events(t, db, alice, s), one.Live()), []jackline.Event{d1, d2, log[0], d3})
	same(t, "all sessions", watch.Interleave(log, all.Live()), []jackline.Event{d1, d2, log[0], d3, d4})
	same(t, "taken", one.Live(), []watch.Event(nil))
	for _, w := range []*watch.Watcher{bobs, peeping} {
		select {
		case <-w.Wake():
			t.Fatal("bob was woken by alice's events")
		default:
		}
		same(t, "bob's", w.Live(), []watch.Event(nil))
	}
	db.Live(bob, delta(foreign, "x"))
	<-bobs.Wake()
	if n := len(bobs.Live()); n != 1 {
		t.Fatalf("bob sees %d", n)
	}
	same(t, "alice's", all.Live(), []watch.Event(nil))
	one.Close()
	one.Close()
	db.Live(alice, d1)
	same(t, "after the end", one.Live(), []watch.Event(nil))
}

// lagging readers lose the oldest transient events, never the newest, and no logged one.
func lagging(t *testing.T, db *store.DB) {
	s := session(t, db, alice)
	w := db.Watch(alice, s)
	defer w.Close()
	const n = 5000
	for i := range n {
		db.Live(alice, delta(s, fmt.Sprint(i)))
	}
	got := w.Live()
	if len(got) == 0 || len(got) > n/2 {
		t.Fatalf("%d transient events are held", len(got))
	}
	for i, e := range got {
		want := delta(s, fmt.Sprint(n-len(got)+i))
		if string(e.Data) != string(want.Data) {
			t.Fatalf("event %d is %s, want %s", i, e.Data, want.Data)
		}
	}
	db.Live(alice, delta(s, "more"))
	if got := w.Live(); len(got) != 1 {
		t.Fatalf("%d events after the buffer was emptied", len(got))
	}
}

func leases(t *testing.T, db *store.DB) {
	ctx := t.Context()
	one := store.Holder{ID: "one", PID: 11, Host: "here", Address: "127.0.0.1:7410"}
	two := store.Holder{ID: "two", PID: 22}
	take := func(h store.Holder, ttl time.Duration) (bool, store.Holder) {
		t.Helper()
		ok, current, err := db.Lease(ctx, "serve", h, ttl)
		must(t, err)
		return ok, current
	}
	if _, ok, err := db.HolderOf(ctx, "serve"); ok || err != nil {
		t.Fatal("a lease that nobody took is held", err)
	}
	ok, got := take(one, time.Hour)
	if !ok || got.ID != "one" || got.Expires.Sub(got.Since) != time.Hour {
		t.Fatalf("taken: %v, %+v", ok, got)
	}
	ok, current := take(two, time.Hour)
	same(t, "the holder", current, got)
	held, found, err := db.HolderOf(ctx, "serve")
	same(t, "HolderOf", held, got)
	if ok || !found || err != nil {
		t.Fatalf("taken twice: %v, %v, %v", ok, found, err)
	}
	// Taken again by its holder, it is renewed, and keeps the time since when it is held.
	one.Address = "127.0.0.1:9999"
	ok, again := take(one, 2*time.Hour)
	if !ok || !again.Since.Equal(got.Since) || !again.Expires.After(got.Expires) || again.Address != one.Address {
		t.Fatalf("renewed: %v, %+v", ok, again)
	}
	renew := func(id string) bool {
		t.Helper()
		return get[bool](t)(db.Renew(ctx, "serve", id, 3*time.Hour))
	}
	if !renew("one") || renew("two") {
		t.Fatal("renewal")
	}
	if held, _, _ := db.HolderOf(ctx, "serve"); !held.Expires.After(again.Expires) {
		t.Fatalf("renewed until %v, before until %v", held.Expires, again.Expires)
	}
	must(t, db.Release(ctx, "serve", "two"))
	if ok, _ := take(two, time.Hour); ok {
		t.Fatal("released by another")
	}
	must(t, db.Release(ctx, "serve", "one"))
	if ok, got := take(two, time.Nanosecond); !ok || got.ID != "two" {
		t.Fatal("not taken after its release")
	}
	// Its time is over at once: it is nobody's, and anybody's.
	if _, ok, _ := db.HolderOf(ctx, "serve"); ok || renew("two") {
		t.Fatal("a lapsed lease is held")
	}
	if ok, got := take(one, time.Hour); !ok || got.ID != "one" {
		t.Fatal("a lapsed lease is not to be had")
	}
	if ok, _, err := db.Lease(ctx, "session:s_1", two, time.Hour); !ok || err != nil {
		t.Fatal("leases of other names", err)
	}
	_, _, err = db.Lease(ctx, "serve", store.Holder{}, time.Hour)
	wantKind(t, err, jackline.Invalid)

	// Of many who want it, one has it.
	var wg sync.WaitGroup
	var mu sync.Mutex
	winners := 0
	for i := range 16 {
		wg.Go(func() {
			ok, _, err := db.Lease(ctx, "race", store.Holder{ID: fmt.Sprint(i)}, time.Hour)
			if err != nil {
				t.Error(err)
			}
			if ok {
				mu.Lock()
				winners++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if winners != 1 {
		t.Fatalf("%d hold one lease", winners)
	}
}
