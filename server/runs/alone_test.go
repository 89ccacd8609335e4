package runs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/runs/runstest"
)

// What is done alone waits for no turn and lets none begin: while one runs it is refused, and one that comes meanwhile runs after it.
func TestAlone(t *testing.T) {
	w := runstest.New(t, t.TempDir())
	s := w.Session()
	busy := w.Submit(s.ID, "hang")
	err := w.Turns.Alone(t.Context(), jackline.Local, s.ID, func(context.Context) error { t.Error("it ran"); return nil })
	if jackline.KindOf(err) != jackline.Conflict {
		t.Error(err)
	}
	if _, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
		t.Fatal(err)
	}
	w.Ends(busy.Turn.ID, jackline.Stopped)

	broken := errors.New("broken")
	submitted := make(chan jackline.TurnID)
	err = w.Turns.Alone(t.Context(), jackline.Local, s.ID, func(context.Context) error {
		go func() { submitted <- w.Submit(s.ID, "say x").Turn.ID }()
		open, err := w.DB.OpenTurns(t.Context())
		if err != nil || len(open) != 0 {
			t.Errorf("%v %v", open, err)
		}
		return broken
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	w.Ends(<-submitted, jackline.Done)
	if err := w.Turns.Alone(t.Context(), "somebody", s.ID, nil); jackline.KindOf(err) != jackline.NotFound {
		t.Error(err)
	}
}
