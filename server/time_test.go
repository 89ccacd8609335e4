package server_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
)

// inBubble runs f where time passes as fast as everything waits for it.
func inBubble(t *testing.T, f func(*testing.T, *world)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		w := newTurns(t, dir)
		f(t, w)
		w.close()
	})
}

// pass lets time pass.
func pass(d time.Duration) { <-time.After(d) }

// A turn waits an hour for its card, holds no lease meanwhile, and goes on when the card expires.
func TestExpiryAfterAnHour(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.set.p.ApprovalTimeout = 3600
		s := w.session()
		k := w.submit(s.ID, writes+"; say after")
		synctest.Wait()
		pass(50 * time.Minute)
		if v := w.turn(k.Turn.ID); v.Status != jackline.Waiting {
			t.Fatalf("it is %s", v.Status)
		}
		if _, held, err := w.db.HolderOf(t.Context(), "session "+string(s.ID)); held || err != nil {
			t.Error("a waiting turn holds its session", err)
		}
		pass(20 * time.Minute)
		if v := w.turn(k.Turn.ID); v.Status != jackline.Done {
			t.Errorf("it is %s", v.Status)
		}
		if !slices.Contains(w.types(s.ID), "tool.expired") {
			t.Error(w.types(s.ID))
		}
	})
}

// A run keeps its session for as long as it takes.
func TestLeaseIsRenewed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.session()
		k := w.submit(s.ID, "hang")
		for range 10 {
			pass(25 * time.Second)
			if _, held, err := w.db.HolderOf(t.Context(), "session "+string(s.ID)); !held || err != nil {
				t.Fatal("the lease was lost", err)
			}
		}
		if _, err := w.turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if v := w.turn(k.Turn.ID); v.Status != jackline.Stopped {
			t.Errorf("it is %s", v.Status)
		}
	})
}

// A session that another process holds is taken up when that process lets go.
func TestBlocked(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.session()
		k := w.submit(s.ID, writes)
		pass(time.Second)
		card := w.pending(s.ID)[0]
		elsewhere := store.Holder{ID: "p_there", PID: 1, Host: "there"}
		if ok, _, err := w.db.Lease(t.Context(), "session "+string(s.ID), elsewhere, time.Minute); err != nil || !ok {
			t.Fatal(err)
		}
		if _, err := w.desk.Answer(t.Context(), jackline.Local, card.ID, jackline.Answer{Yes: true}, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.turns.Woken(t.Context(), jackline.Local, k.Turn.ID); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Second)
		if v := w.turn(k.Turn.ID); v.Status != jackline.Waiting {
			t.Fatalf("it is %s", v.Status)
		}
		pass(time.Minute)
		if v := w.turn(k.Turn.ID); v.Status != jackline.Done || w.files.count() != 1 {
			t.Errorf("it is %s", v.Status)
		}
	})
}

// When another process has taken a session over, the run here gives way, and takes the turn up again when it is free.
func TestLost(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.session()
		k := w.submit(s.ID, "hang")
		pass(time.Second)
		name := "session " + string(s.ID)
		h, _, err := w.db.HolderOf(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.db.Release(t.Context(), name, h.ID); err != nil {
			t.Fatal(err)
		}
		elsewhere := store.Holder{ID: "p_there", PID: 1, Host: "there"}
		if ok, _, err := w.db.Lease(t.Context(), name, elsewhere, time.Minute); err != nil || !ok {
			t.Fatal(err)
		}
		<-w.puppet.began
		pass(20 * time.Second)
		if len(w.puppet.began) != 0 {
			t.Error("it ran again while another process had the session")
		}
		pass(time.Minute)
		if len(w.puppet.began) != 1 {
			t.Error("it was not taken up again")
		}
		if v := w.turn(k.Turn.ID); v.Status != jackline.Running {
			t.Errorf("it is %s", v.Status)
		}
		if _, err := w.turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
	})
}

// A laptop that slept has lost its leases, and goes on with what it was doing if nobody else did.
func TestSlept(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.session()
		k := w.submit(s.ID, "hang")
		pass(time.Second)
		exec(t, w, `DELETE FROM leases`)
		pass(time.Minute)
		if v := w.turn(k.Turn.ID); v.Status != jackline.Running || len(w.puppet.began) != 1 {
			t.Errorf("it is %s, begun %d times", v.Status, len(w.puppet.began))
		}
		if _, held, err := w.db.HolderOf(t.Context(), "session "+string(s.ID)); !held || err != nil {
			t.Error("the lease was not taken again", err)
		}
		if _, err := w.turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
	})
}

// The kill switch that one process throws reaches the others.
func TestKillSwitchElsewhere(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.session()
		k := w.submit(s.ID, "hang")
		pass(time.Second)
		if err := w.db.SetFlag(t.Context(), "kill", "cli"); err != nil {
			t.Fatal(err)
		}
		pass(15 * time.Second)
		if v := w.turn(k.Turn.ID); v.Status != jackline.Stopped || !w.turns.Halted() {
			t.Errorf("it is %s", v.Status)
		}
	})
}

// A runner that waits for nothing is run again once and then left alone.
func TestWaitsForNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.session()
		w.submit(s.ID, "doze")
		pass(time.Hour)
		if n := len(w.puppet.began); n != 2 {
			t.Errorf("begun %d times", n)
		}
	})
}

// A stream shows that it lives while nothing happens.
func TestHeartbeat(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.serve("here")
		ctx, cancel := context.WithCancel(t.Context())
		req := httptest.NewRequestWithContext(ctx, "GET", "http://here/api/events", nil)
		req.Header.Set("Authorization", "Bearer "+token)
		rec := httptest.NewRecorder()
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.server.Handler().ServeHTTP(rec, req)
		}()
		pass(50 * time.Second)
		cancel()
		<-done
		if n := strings.Count(rec.Body.String(), ": beat\n\n"); rec.Code != 200 || n != 3 {
			t.Errorf("%d, %d beats: %q", rec.Code, n, rec.Body)
		}
	})
}
