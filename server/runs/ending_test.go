package runs_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/server/runs"
	"github.com/jackline-ai/jackline/server/runs/runstest"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/turn"
)

// From `full` to `roomy` the store takes no event, as where its disk is full.
const (
	full  = `CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'full'); END`
	roomy = `DROP TRIGGER full`
)

// fullAfterWriting is a chat whose turn writes a file, after which the disk is full.
func fullAfterWriting(t *testing.T, w *world) jackline.Session {
	t.Helper()
	s, err := w.DB.CreateSession(t.Context(), jackline.Local, jackline.Session{Workspace: w.Folder, Mode: jackline.ModeAllowAll})
	if err != nil {
		t.Fatal(err)
	}
	w.Files.Then = func() { w.Exec(full) }
	return s
}

// A turn whose end cannot be written ends by itself as soon as it can, and what is queued behind it follows.
func TestEndIsWrittenAtLast(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := fullAfterWriting(t, w)
		k := w.Submit(s.ID, `steered; `+writes)
		queued := w.Submit(s.ID, "say queued")
		pass(time.Second) // it waits for words now
		if _, err := w.Turns.Steer(t.Context(), jackline.Local, s.ID, "go", jackline.TurnOptions{}); err != nil {
			t.Fatal(err)
		}
		pass(5 * time.Minute)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Running {
			t.Fatalf("it is %s", v.Status)
		}
		if _, held, err := w.DB.HolderOf(t.Context(), "session "+string(s.ID)); !held || err != nil {
			t.Error("the session was let go of", err)
		}
		if _, err := w.Turns.Submit(t.Context(), jackline.Local, s.ID, "say more", jackline.TurnOptions{}); err == nil {
			t.Error("a prompt was taken that could not be kept")
		}
		w.Exec(roomy)
		pass(20 * time.Second)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Failed || !strings.Contains(v.Reason, "database failed") {
			t.Errorf("it is %s: %s", v.Status, v.Reason)
		}
		if v := w.Turn(queued.Turn.ID); v.Status != jackline.Done {
			t.Errorf("what was queued is %s", v.Status)
		}
		if w.Files.Count() != 1 {
			t.Error("it was run again")
		}
		if _, held, err := w.DB.HolderOf(t.Context(), "session "+string(s.ID)); held || err != nil {
			t.Error("the session was kept", err)
		}
	})
}

// Whoever comes before the keeper ends the turn with the true reason, too.
func TestOwedEndIsTrueForAll(t *testing.T) {
	for name, come := range map[string]func(*testing.T, *world, jackline.SessionID){
		"prompt": func(t *testing.T, w *world, s jackline.SessionID) { w.Submit(s, "say more") },
		"stop": func(t *testing.T, w *world, s jackline.SessionID) {
			if ids, err := w.Turns.Stop(t.Context(), jackline.Local, s); err != nil || len(ids) != 0 {
				t.Error(ids, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				s := fullAfterWriting(t, w)
				k := w.Submit(s.ID, writes)
				pass(5 * time.Minute)
				w.Exec(roomy)
				come(t, w, s.ID)
				if v := w.Turn(k.Turn.ID); v.Status != jackline.Failed || !strings.Contains(v.Reason, "database failed") {
					t.Errorf("it is %s: %s", v.Status, v.Reason)
				}
				pass(10 * time.Second) // less than a lease holds
				if _, held, err := w.DB.HolderOf(t.Context(), "session "+string(s.ID)); held || err != nil {
					t.Error("the session was kept", err)
				}
			})
		})
	}
}

// A turn that another process has taken up meanwhile is that one's to end.
func TestOwedEndIsDropped(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := fullAfterWriting(t, w)
		k := w.Submit(s.ID, writes)
		pass(time.Minute)
		w.Exec(`DELETE FROM leases`)
		elsewhere := store.Holder{ID: "p_there", PID: 1, Host: "there"}
		if ok, _, err := w.DB.Lease(t.Context(), "session "+string(s.ID), elsewhere, time.Hour); err != nil || !ok {
			t.Fatal(err)
		}
		w.Exec(roomy)
		pass(time.Minute)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Running {
			t.Errorf("it is %s", v.Status)
		}
	})
}

// A process that ends tries once more, and then leaves what any crash leaves.
func TestOwedEndAndShutdown(t *testing.T) {
	w := alone(t)
	s := fullAfterWriting(t, w)
	k := w.Submit(s.ID, writes)
	w.Until("the end is owed", func() bool { return strings.Contains(w.Log.String(), "could not be ended") })
	w.Close()
	w.Exec(roomy)
	w2 := newTurns(t, w.Dir)
	w2.Submit(s.ID, "say more")
	w2.Ends(k.Turn.ID, jackline.Interrupted)
}

func TestOwedEndAtTheLastMoment(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := fullAfterWriting(t, w)
		k := w.Submit(s.ID, writes)
		pass(5 * time.Minute)
		w.Exec(roomy)
		if err := w.Turns.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Failed {
			t.Errorf("it is %s: %s", v.Status, v.Reason)
		}
	})
}

// A full disk is no fault of the turn: it says what happened, and can be carried on.
func TestFullDisk(t *testing.T) {
	w := alone(t)
	s := w.Session()
	k := w.Submit(s.ID, "say one; full")
	v := w.Ends(k.Turn.ID, jackline.Interrupted)
	if !strings.Contains(v.Reason, "disk") || !strings.Contains(v.Reason, "is full") || !strings.Contains(v.Reason, "Continue") {
		t.Error(v.Reason)
	}
	w.Settled(s.ID)
	next, err := w.Turns.Continue(t.Context(), jackline.Local, s.ID, k.Turn.ID, jackline.TurnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Ends(next.Turn.ID, jackline.Done)
}

// The engine's turn ends in the same way: the call that was under way is in doubt, and is not made again.
func TestFullDiskAndTheEngine(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		p := parrot{asked: make(chan model.Request, 10)}
		w := newTurns(t, dir, func(w *runstest.World, c *runs.Config) {
			c.Runner = &turn.Engine{
				Journal: w.DB, Desk: w.Desk, Gate: func(s jackline.Session) (*tool.Gate, error) { return w.Gate(s) }, Settings: w.Set.Agent,
				Models: func(context.Context, jackline.Session) (turn.Models, error) { return turn.Models{Main: p, Raw: p}, nil },
			}
		})
		defer w.Close()
		s := fullAfterWriting(t, w)
		k := w.Submit(s.ID, "write")
		pass(time.Minute)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Running {
			t.Fatalf("it is %s", v.Status)
		}
		w.Exec(roomy)
		pass(20 * time.Second)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Failed {
			t.Errorf("it is %s: %s", v.Status, v.Reason)
		}
		calls, err := w.DB.Calls(t.Context(), jackline.Local, k.Turn.ID)
		if err != nil || len(calls) != 1 || calls[0].Outcome != jackline.Unknown {
			t.Errorf("%+v, %v", calls, err)
		}
		if w.Files.Count() != 1 || len(p.asked) != 1 {
			t.Errorf("written %d times, asked %d times", w.Files.Count(), len(p.asked))
		}
	})
}
