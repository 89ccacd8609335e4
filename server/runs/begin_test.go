package runs_test

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/runs"
	"github.com/jackline-ai/jackline/server/runs/runstest"
	"github.com/jackline-ai/jackline/store"
)

// begins runs a test over a store that others may share, and over one that is alone.
func begins(t *testing.T, test func(t *testing.T, w *runstest.World)) {
	for name, open := range map[string]func(context.Context, string) (*store.DB, error){"shared": store.Open, "alone": store.OpenAlone} {
		t.Run(name, func(t *testing.T) {
			db, err := open(t.Context(), filepath.Join(t.TempDir(), "data"))
			if err != nil {
				t.Fatal(err)
			}
			test(t, runstest.Over(t, db))
		})
	}
}

// begin begins a chat with a prompt.
func begin(w *runstest.World, prompt string) (jackline.Session, runs.Taken) {
	w.T.Helper()
	s, k, err := w.Turns.Begin(w.T.Context(), jackline.Local, jackline.Session{Workspace: w.Folder, Mode: jackline.ModeAllowReads}, prompt, jackline.TurnOptions{OnAsk: jackline.AskWait})
	if err != nil {
		w.T.Fatal(err)
	}
	return s, k
}

func TestBegin(t *testing.T) {
	begins(t, func(t *testing.T, w *runstest.World) {
		s, k := begin(w, "say one")
		if k.Queued || k.Turn.Session != s.ID || k.Turn.Status != jackline.Running || s.Workspace != w.Folder || s.Owner != jackline.Local {
			t.Errorf("%+v %+v", s, k)
		}
		w.Ends(k.Turn.ID, jackline.Done)
		w.Settled(s.ID)
		if _, held, err := w.DB.HolderOf(t.Context(), "session "+string(s.ID)); err != nil || held {
			t.Errorf("the lease is still held: %v", err)
		}
		// What comes next runs as in any chat.
		w.Ends(w.Submit(s.ID, "say two").Turn.ID, jackline.Done)
		// A prompt that comes at once waits for its turn.
		s, k = begin(w, "say three")
		second := w.Submit(s.ID, "say four")
		w.Ends(k.Turn.ID, jackline.Done)
		w.Ends(second.Turn.ID, jackline.Done)
		// A turn that waits has its card, and goes on.
		s, k = begin(w, writes)
		w.Ends(k.Turn.ID, jackline.Waiting)
		if _, err := w.Desk.Answer(t.Context(), jackline.Local, w.Pending(s.ID)[0].ID, jackline.Answer{Yes: true}, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Turns.Woken(t.Context(), jackline.Local, k.Turn.ID); err != nil {
			t.Fatal(err)
		}
		w.Ends(k.Turn.ID, jackline.Done)
	})
}

func TestBeginAndStopAtOnce(t *testing.T) {
	begins(t, func(t *testing.T, w *runstest.World) {
		for range 20 {
			s, k := begin(w, "hang")
			if stopped, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil || len(stopped) != 1 {
				t.Fatal(stopped, err)
			}
			w.Ends(k.Turn.ID, jackline.Stopped)
		}
	})
}

// Words that come at once reach the turn or are a prompt of their own: they are never lost.
func TestBeginAndSteerAtOnce(t *testing.T) {
	begins(t, func(t *testing.T, w *runstest.World) {
		for range 20 {
			s, k := begin(w, "say one; say two; say three")
			if _, err := w.Turns.Steer(t.Context(), jackline.Local, s.ID, "say left", jackline.TurnOptions{}); err != nil {
				t.Fatal(err)
			}
			w.Ends(k.Turn.ID, jackline.Done)
			w.Until("the words were heard", func() bool {
				turns, err := w.DB.Turns(t.Context(), jackline.Local, s.ID)
				if err != nil {
					t.Fatal(err)
				}
				last := turns[len(turns)-1]
				return slices.Contains(w.Types(s.ID), "steer") || last.Prompt == "say left" && last.Status == jackline.Done
			})
		}
	})
}

func TestBeginWithoutRoom(t *testing.T) {
	begins(t, func(t *testing.T, w *runstest.World) {
		var running []runs.Taken
		for range 8 {
			_, k := begin(w, "hang")
			running = append(running, k)
		}
		s, k := begin(w, "say x")
		if !k.Queued || k.Turn.Status != jackline.Queued {
			t.Errorf("%+v", k)
		}
		if !slices.Contains(w.Types(s.ID), "queue.changed") {
			t.Errorf("nobody was told that it is queued: %q", w.Types(s.ID))
		}
		for _, r := range running {
			if _, err := w.Turns.Stop(t.Context(), jackline.Local, r.Turn.Session); err != nil {
				t.Fatal(err)
			}
			w.Ends(r.Turn.ID, jackline.Stopped)
		}
		w.Ends(k.Turn.ID, jackline.Done)
	})
}

func TestBeginIsRefused(t *testing.T) {
	begins(t, func(t *testing.T, w *runstest.World) {
		_, _, err := w.Turns.Begin(t.Context(), jackline.Local, jackline.Session{Workspace: w.Folder}, "  ", jackline.TurnOptions{})
		wantKind(t, err, jackline.Unprocessed)
		if _, err := w.Turns.StopAll(t.Context(), jackline.Local, "test"); err != nil {
			t.Fatal(err)
		}
		_, _, err = w.Turns.Begin(t.Context(), jackline.Local, jackline.Session{Workspace: w.Folder}, "say x", jackline.TurnOptions{})
		wantKind(t, err, jackline.Conflict)
		if rows, err := w.DB.Sessions(t.Context(), jackline.Local, store.SessionQuery{}); err != nil || len(rows) != 0 {
			t.Errorf("%d chats were made: %v", len(rows), err)
		}
	})
}

// TestBeginAndClose: a turn whose program ends at once is interrupted, or was never begun and is taken up by nobody.
func TestBeginAndClose(t *testing.T) {
	for range 20 {
		dir := filepath.Join(t.TempDir(), "data")
		db, err := store.OpenAlone(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		w := runstest.Over(t, db)
		s, k := begin(w, "hang")
		w.Close()
		w = newTurns(t, dir).World
		if err := w.Turns.Resume(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		w.Ends(k.Turn.ID, jackline.Interrupted)
		w.Ends(w.Submit(s.ID, "say x").Turn.ID, jackline.Done)
		w.Close()
	}
}
