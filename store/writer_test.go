package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/watch"
)

// hold keeps the writer busy until the function that it gives is called.
func hold(t *testing.T, d *DB) (release func()) {
	t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	done := make(chan error, 1)
	go func() {
		done <- d.update(context.WithoutCancel(t.Context()), "test", func(*writer) error {
			close(begun)
			<-end
			return nil
		})
	}()
	<-begun
	return func() {
		close(end)
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// queueIs reports whether so many pieces wait.
func queueIs(d *DB, n int) bool { return d.queue.Len() == n }

// TestOneTransaction lets pieces of all kinds share a transaction: those that fail are undone alone, those whose
// callers left are not begun, the rest is written.
func TestOneTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := Open(t.Context(), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}()
		s := newSession(t, d, me).ID
		release := hold(t, d)
		const n = 300 // more than a batch
		var wg sync.WaitGroup
		errs := make([]error, n)
		leave, cancel := context.WithCancel(t.Context())
		for i := range n {
			wg.Go(func() {
				ctx, owner := t.Context(), me
				switch i % 3 {
				case 1:
					owner = "other"
				case 2:
					ctx = leave
				}
				_, errs[i] = d.Append(ctx, owner, jackline.Record{Session: s, Title: fmt.Sprint(i), Sync: i == 0,
					Events: []jackline.Event{jackline.NewEvent(s, "", jackline.Text{Text: fmt.Sprint(i)})}})
			})
		}
		synctest.Wait()
		if !queueIs(d, n) {
			t.Error("not all wait")
		}
		cancel()
		synctest.Wait()
		release()
		wg.Wait()
		for i, err := range errs {
			ok := err == nil
			switch i % 3 {
			case 1:
				ok = jackline.KindOf(err) == jackline.NotFound
			case 2:
				ok = errors.Is(err, context.Canceled)
			}
			if !ok {
				t.Errorf("%d: %v", i, err)
			}
		}
		evs, err := d.Events(t.Context(), me, s, 0, 0)
		if err != nil || len(evs) != n/3 || evs[len(evs)-1].ID != n/3 {
			t.Errorf("%d events, %v", len(evs), err)
		}
		for _, e := range evs {
			var i int
			if _, err := fmt.Sscanf(string(e.Data), `{"text":"%d"}`, &i); err != nil || i%3 != 0 {
				t.Errorf("event %s, %v", e.Data, err)
			}
		}
	})
}

// TestCloseWritesWhatWaits closes a store while pieces wait.
func TestCloseWritesWhatWaits(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(t, d, me).ID
		release := hold(t, d)
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if _, err := d.Append(t.Context(), me, jackline.Record{Session: s, Events: []jackline.Event{jackline.NewEvent(s, "", jackline.Text{})}}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		wg.Go(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if _, err := d.Append(t.Context(), me, jackline.Record{Session: s}); jackline.KindOf(err) != jackline.Unavailable {
			t.Errorf("append while it closes: %v", err)
		}
		release()
		wg.Wait()
	})
	d := openTest(t, dir)
	if evs, err := d.AllEvents(t.Context(), me, 0, 0); err != nil || len(evs) != 10 {
		t.Fatalf("%d events, %v", len(evs), err)
	}
}

// TestDiskFull lets the disk fill while many write. Who is told that a record is written finds it, the rest left no
// trace, and all goes on when there is room.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	d := openTest(t, dir)
	s := newSession(t, d, me).ID
	limit := func(pages int) {
		t.Helper()
		err := d.update(t.Context(), "test", func(w *writer) error {
			var n int
			return w.row(fmt.Sprintf("PRAGMA max_page_count = %d", pages)).Scan(&n)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // which SQLite takes as: not one page more than there are
	var mu sync.Mutex
	written, full := 0, 0
	load := func() {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for range 20 {
					_, err := d.Append(t.Context(), me, jackline.Record{Session: s,
						Events: []jackline.Event{jackline.NewEvent(s, "", jackline.Text{Text: strings.Repeat("x", 900)})},
						Items:  []jackline.Item{{Text: strings.Repeat("y", 900)}}})
					mu.Lock()
					switch {
					case err == nil:
						written++
					case jackline.KindOf(err) == jackline.Unavailable && strings.Contains(jackline.Say(err), "full"):
						full++
					default:
						t.Errorf("append: %v", err)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
	}
	check := func() {
		t.Helper()
		evs, err := d.Events(t.Context(), me, s, 0, 0)
		if err != nil || len(evs) != written {
			t.Fatalf("%d events, %v; %d were written", len(evs), err, written)
		}
		for i, e := range evs {
			if e.ID != int64(i+1) {
				t.Fatalf("event %d has ID %d", i+1, e.ID)
			}
		}
		if h, err := d.History(t.Context(), me, s); err != nil || len(h) != written {
			t.Fatalf("%d items, %v; %d were written", len(h), err, written)
		}
	}
	load()
	if full == 0 {
		t.Fatal("the disk did not fill")
	}
	check()
	limit(1 << 30)
	full = 0
	load()
	if full > 0 {
		t.Fatal("the disk is full though there is room")
	}
	check()
	checkFile(t, dir)
}

// TestPolling has a second store on the same folder, which is to the first what another process is.
func TestPolling(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var stores []*DB
		for range 2 {
			d, err := Open(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}()
			stores = append(stores, d)
		}
		here, there := stores[0], stores[1]
		s := newSession(t, here, me).ID
		write := func(d *DB) {
			t.Helper()
			if _, err := d.Append(t.Context(), me, jackline.Record{Session: s, Events: []jackline.Event{jackline.NewEvent(s, "", jackline.Text{})}}); err != nil {
				t.Fatal(err)
			}
		}
		awake := func(w *watch.Watcher, within time.Duration) bool {
			select {
			case <-w.Wake():
				return true
			case <-time.After(within):
				return false
			}
		}
		w := here.Watch(me, s)
		<-w.Wake()
		if awake(w, 10*pollEvery) {
			t.Error("woken for nothing")
		}
		for range 3 {
			write(there)
			if !awake(w, 2*pollEvery) {
				t.Error("not woken by another process")
			}
			if awake(w, 10*pollEvery) {
				t.Error("woken twice")
			}
		}
		write(here) // whose Append sees the other's writes before the poll does
		write(there)
		write(here)
		if !awake(w, time.Millisecond) {
			t.Error("not woken by our own write")
		}
		evs, err := here.Events(t.Context(), me, s, 0, 0)
		if err != nil || len(evs) != 6 || evs[5].ID != 6 || evs[5].Seq != 6 {
			t.Errorf("events %v, %v", evs, err)
		}
		// Nobody watches, nobody polls; who comes later still hears.
		w.Close()
		write(there)
		w = here.Watch(me, s)
		defer w.Close()
		<-w.Wake()
		write(there)
		if !awake(w, 2*pollEvery) {
			t.Error("the second watcher is not woken")
		}
	})
}

// TestLeaseLapses lets time go by.
func TestLeaseLapses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		d, err := Open(ctx, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}()
		const ttl = 30 * time.Second
		take := func(id string) bool {
			t.Helper()
			ok, _, err := d.Lease(ctx, "serve", Holder{ID: id}, ttl)
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		renew := func(id string) bool {
			t.Helper()
			ok, err := d.Renew(ctx, "serve", id, ttl)
			if err != nil {
				t.Fatal(err)
			}
			return ok
		}
		if !take("one") {
			t.Error("not taken")
		}
		for range 5 {
			<-time.After(ttl * 2 / 3)
			if !renew("one") || take("two") {
				t.Error("lost though renewed")
			}
		}
		<-time.After(ttl + time.Millisecond)
		if renew("one") {
			t.Error("renewed after its time")
		}
		if !take("two") || take("one") {
			t.Error("not lapsed")
		}
	})
}

func TestInterleave(t *testing.T) {
	e := func(seq int64) jackline.Event { return jackline.Event{Seq: seq, Type: "log"} }
	l := func(after int64) watch.Event {
		return watch.Event{Event: jackline.Event{Type: fmt.Sprint(after)}, After: after}
	}
	for _, test := range []struct {
		log  []jackline.Event
		live []watch.Event
		want string
	}{
		{nil, nil, ""},
		{nil, []watch.Event{l(1), l(2)}, "1 2"},
		{[]jackline.Event{e(1), e(2)}, nil, "log log"},
		{[]jackline.Event{e(3), e(5)}, []watch.Event{l(2), l(3), l(4), l(5), l(9)}, "2 log 3 4 log 5 9"},
		{[]jackline.Event{e(3)}, []watch.Event{l(0), l(0)}, "0 0 log"},
	} {
		var got []string
		for _, v := range watch.Interleave(test.log, test.live) {
			got = append(got, v.Type)
		}
		if s := strings.Join(got, " "); s != test.want {
			t.Errorf("got %q, want %q", s, test.want)
		}
	}
}

// TestSyncedTransactions asks the connection, again and again, how it commits.
func TestSyncedTransactions(t *testing.T) {
	d := openTest(t, t.TempDir())
	for i := range 6 {
		want := 1 // NORMAL
		if i%2 == 1 {
			want = 2 // FULL
		}
		got := 0
		err := d.submit(t.Context(), &piece{op: "test", sync: i%2 == 1, run: func(w *writer) error {
			return w.conn.QueryRowContext(w.ctx, "PRAGMA synchronous").Scan(&got)
		}})
		if err != nil || got != want {
			t.Fatalf("transaction %d has level %d, want %d; %v", i, got, want, err)
		}
	}
}

// TestLeavingALockedStore: while another process keeps the file locked a caller can still leave, and then nothing is
// written. Who stays is served when the lock is gone.
func TestLeavingALockedStore(t *testing.T) {
	dir := t.TempDir()
	d := openTest(t, dir)
	s := newSession(t, d, me).ID
	other, err := openPool(filepath.Join(dir, fileDB), true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	tx, err := other.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	rec := func(text string) jackline.Record {
		return jackline.Record{Session: s, Events: []jackline.Event{jackline.NewEvent(s, "", jackline.Text{Text: text})}}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	var left, stayed error
	wg.Go(func() { _, stayed = d.Append(t.Context(), me, rec("stays")) })
	for len(d.writer.held) == 0 { // whoever is first waits for the lock itself
		runtime.Gosched()
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, left = d.Append(ctx, me, rec("leaves"))
	}()
	cancel()
	<-gone // though the lock is still held
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	wg.Wait()
	evs, err := d.Events(t.Context(), me, s, 0, 0)
	if !errors.Is(left, context.Canceled) || stayed != nil || err != nil || len(evs) != 1 || !strings.Contains(string(evs[0].Data), "stays") {
		t.Fatalf("left: %v, stayed: %v, events %v, %v", left, stayed, evs, err)
	}
}

// TestCheckpoint writes for several checkpoints: the log's space is used again.
func TestCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		d, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(t, d, me).ID
		text := strings.Repeat("x", 5000)
		var sizes []int64
		for range 8 {
			for range checkpointEvery {
				if _, err := d.Append(t.Context(), me, jackline.Record{Session: s, Events: []jackline.Event{jackline.NewEvent(s, "", jackline.Text{Text: text})}}); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(time.Second) // the writer pauses
			info, err := os.Stat(filepath.Join(dir, fileDB+"-wal"))
			if err != nil {
				t.Fatal(err)
			}
			sizes = append(sizes, info.Size())
		}
		if first, last := sizes[0], sizes[len(sizes)-1]; first == 0 || last > 2*first {
			t.Errorf("the log grows: %d", sizes)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestLossIsHeardByItsTurn loses a record that nobody waits for. What others write to the session meanwhile is theirs: it is
// written, and the turn whose record it was still hears of it before it does anything else.
func TestLossIsHeardByItsTurn(t *testing.T) {
	d := openTest(t, t.TempDir())
	ctx, s, other := t.Context(), newSession(t, d, me).ID, newSession(t, d, me).ID
	call := jackline.Call{ID: "c_other", Session: other, Turn: "t_other", State: jackline.CallNew}
	if _, err := d.Append(ctx, me, jackline.Record{Session: other, Calls: []jackline.Call{call}}); err != nil {
		t.Fatal(err)
	}
	call.Session, call.Turn = s, "t_1" // another session's row: the store will not have it
	step := jackline.NewEvent(s, "t_1", jackline.Text{Text: "step"})
	if _, err := d.Append(ctx, me, jackline.Record{Session: s, Soon: true, Calls: []jackline.Call{call}, Events: []jackline.Event{step}}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Append(ctx, me, jackline.Record{Session: s, Title: "A person renames it"}); err != nil {
		t.Errorf("somebody else's record: %v", err)
	}
	effect := jackline.Record{Session: s, Sync: true, Calls: []jackline.Call{{ID: "c_effect", Turn: "t_1", State: jackline.CallStarted, Acts: true}}}
	if _, err := d.Append(ctx, me, effect); jackline.KindOf(err) != jackline.NotFound {
		t.Errorf("the turn goes on without its step: %v", err)
	}
	if evs, err := d.Events(ctx, me, s, 0, 0); err != nil || len(evs) > 0 {
		t.Errorf("events %v, %v", evs, err)
	}
	if _, err := d.Append(ctx, me, effect); err != nil { // it has heard
		t.Error(err)
	}
}

// TestPanicOfAPiece lets a piece break down, alone and among others. It fails, and the writer writes on.
func TestPanicOfAPiece(t *testing.T) {
	d := openTest(t, t.TempDir())
	ctx, s := t.Context(), newSession(t, d, me).ID
	for range 2 {
		if err := d.update(ctx, "test", func(*writer) error { panic("oh") }); jackline.KindOf(err) != jackline.Internal {
			t.Fatalf("the piece: %v", err)
		}
		ev := jackline.NewEvent(s, "", jackline.Text{Text: "after"})
		if _, err := d.Append(ctx, me, jackline.Record{Session: s, Soon: true, Events: []jackline.Event{ev}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.Append(ctx, me, jackline.Record{Session: s, Events: []jackline.Event{jackline.NewEvent(s, "", jackline.Text{})}}); err != nil {
		t.Fatal(err)
	}
	if evs, err := d.Events(ctx, me, s, 0, 0); err != nil || len(evs) != 3 {
		t.Errorf("%d events, %v", len(evs), err)
	}
}
