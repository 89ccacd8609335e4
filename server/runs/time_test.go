package runs_test

import (
	"slices"
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
		w.Close()
	})
}

// pass lets time pass.
func pass(d time.Duration) { <-time.After(d) }

// A turn waits an hour for its card, holds no lease meanwhile, and goes on when the card expires.
func TestExpiryAfterAnHour(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.Set.Change(func(p *jackline.Permissions) { p.ApprovalTimeout = 3600 })
		s := w.Session()
		k := w.Submit(s.ID, writes+"; say after")
		synctest.Wait()
		pass(50 * time.Minute)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Waiting {
			t.Fatalf("it is %s", v.Status)
		}
		if _, held, err := w.DB.HolderOf(t.Context(), "session "+string(s.ID)); held || err != nil {
			t.Error("a waiting turn holds its session", err)
		}
		pass(20 * time.Minute)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Done {
			t.Errorf("it is %s", v.Status)
		}
		if !slices.Contains(w.Types(s.ID), "tool.expired") {
			t.Error(w.Types(s.ID))
		}
	})
}

// A run keeps its session for as long as it takes.
func TestLeaseIsRenewed(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.Session()
		k := w.Submit(s.ID, "hang")
		for range 10 {
			pass(25 * time.Second)
			if _, held, err := w.DB.HolderOf(t.Context(), "session "+string(s.ID)); !held || err != nil {
				t.Fatal("the lease was lost", err)
			}
		}
		if _, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Stopped {
			t.Errorf("it is %s", v.Status)
		}
	})
}

// A session that another process holds is taken up when that process lets go.
func TestBlocked(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.Session()
		k := w.Submit(s.ID, writes)
		pass(time.Second)
		card := w.Pending(s.ID)[0]
		elsewhere := store.Holder{ID: "p_there", PID: 1, Host: "there"}
		if ok, _, err := w.DB.Lease(t.Context(), "session "+string(s.ID), elsewhere, time.Minute); err != nil || !ok {
			t.Fatal(err)
		}
		if _, err := w.Desk.Answer(t.Context(), jackline.Local, card.ID, jackline.Answer{Yes: true}, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Turns.Woken(t.Context(), jackline.Local, k.Turn.ID); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Second)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Waiting {
			t.Fatalf("it is %s", v.Status)
		}
		pass(time.Minute)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Done || w.Files.Count() != 1 {
			t.Errorf("it is %s", v.Status)
		}
	})
}

// When another process has taken a session over, the run here gives way, and takes the turn up again when it is free.
func TestLost(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.Session()
		k := w.Submit(s.ID, "hang")
		pass(time.Second)
		name := "session " + string(s.ID)
		h, _, err := w.DB.HolderOf(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.DB.Release(t.Context(), name, h.ID); err != nil {
			t.Fatal(err)
		}
		elsewhere := store.Holder{ID: "p_there", PID: 1, Host: "there"}
		if ok, _, err := w.DB.Lease(t.Context(), name, elsewhere, time.Minute); err != nil || !ok {
			t.Fatal(err)
		}
		<-w.Puppet.Began
		pass(20 * time.Second)
		if len(w.Puppet.Began) != 0 {
			t.Error("it ran again while another process had the session")
		}
		pass(time.Minute)
		if len(w.Puppet.Began) != 1 {
			t.Error("it was not taken up again")
		}
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Running {
			t.Errorf("it is %s", v.Status)
		}
		if _, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
	})
}

// A laptop that slept has lost its leases, and goes on with what it was doing if nobody else did.
func TestSlept(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.Session()
		k := w.Submit(s.ID, "hang")
		pass(time.Second)
		w.Exec(`DELETE FROM leases`)
		pass(time.Minute)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Running || len(w.Puppet.Began) != 1 {
			t.Errorf("it is %s, begun %d times", v.Status, len(w.Puppet.Began))
		}
		if _, held, err := w.DB.HolderOf(t.Context(), "session "+string(s.ID)); !held || err != nil {
			t.Error("the lease was not taken again", err)
		}
		if _, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
	})
}

// The kill switch that one process throws reaches the others.
func TestKillSwitchElsewhere(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.Session()
		k := w.Submit(s.ID, "hang")
		pass(time.Second)
		if err := w.DB.SetFlag(t.Context(), "kill", "cli"); err != nil {
			t.Fatal(err)
		}
		pass(15 * time.Second)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Stopped || !w.Turns.Halted() {
			t.Errorf("it is %s", v.Status)
		}
	})
}

// A runner that waits for nothing is run again once and then left alone.
func TestWaitsForNothing(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.Session()
		w.Submit(s.ID, "doze")
		pass(time.Hour)
		if n := len(w.Puppet.Began); n != 2 {
			t.Errorf("begun %d times", n)
		}
	})
}
