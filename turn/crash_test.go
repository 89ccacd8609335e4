package turn_test

import (
	"context"
	"errors"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/turn"
)

var errDead = errors.New("the process is dead")

// mortal is a store whose process dies right before, or right after, one of its records.
type mortal struct {
	*store.DB
	left  int  // records until then
	after bool // the last one is still written
}

func (m *mortal) Append(ctx context.Context, o jackline.Owner, r jackline.Record) ([]jackline.Event, error) {
	if m.left--; m.left < 0 || m.left == 0 && !m.after {
		return nil, errDead
	}
	events, err := m.DB.Append(ctx, o, r)
	if m.left == 0 {
		return nil, errDead
	}
	return events, err
}

// Whenever the process dies, the turn that another one takes up ends with one answer, each call has one outcome, and what may
// have had an effect is not done again.
func TestDeathAtEveryRecord(t *testing.T) {
	const says = `=== 1
--- call file_read {"path": "a.txt"}
=== 2
--- call file_move {"from": "a.txt", "to": "b.txt"}
=== 3
It is done.
=== 4
It is done.
=== 5
It is done.
`
	for _, after := range []bool{false, true} {
		for left := 1; ; left++ {
			ctx := t.Context()
			b := newBench(t, options{Mode: jackline.ModeAllowAll, Native: true}, says)
			b.write(t, "a.txt", "x\n")
			m := &mortal{DB: b.db, left: left, after: after}
			whole := b.engine.Gate
			b.engine.Journal = m
			b.engine.Gate = func(s jackline.Session) (*tool.Gate, error) {
				g, err := whole(s)
				g.Log = m
				return g, err
			}
			id := b.submit(t, "Rename a.txt")
			_, err := b.engine.Run(ctx, jackline.Local, id, turn.Control{})
			died := err != nil
			if died && !errors.Is(err, errDead) {
				t.Fatal(err)
			}
			if err := b.db.Close(); err != nil {
				t.Fatal(err)
			}
			b.open(t)
			got, err := b.engine.Run(ctx, jackline.Local, id, turn.Control{})
			if err != nil || got.Status != jackline.Done {
				t.Errorf("%d, after %v: %s %q, %v", left, after, got.Status, got.Reason, err)
			}
			alive(t, b, id, left, after)
			if !died {
				break
			}
		}
	}
}

func alive(t *testing.T, b *bench, id jackline.TurnID, left int, after bool) {
	t.Helper()
	calls, err := b.db.Calls(t.Context(), jackline.Local, id)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range calls {
		if c.State != jackline.CallEnded || c.Outcome != jackline.OK && c.Outcome != jackline.Unknown {
			t.Errorf("%d, after %v: %s is %s %s: %s", left, after, c.Title, c.State, c.Outcome, c.Text)
		}
	}
	items, err := b.db.History(t.Context(), jackline.Local, b.session.ID)
	if err != nil {
		t.Fatal(err)
	}
	answers, asked, told := 0, 0, 0
	for _, it := range items {
		switch {
		case it.Role == jackline.ItemAssistant && len(it.Calls) == 0:
			answers++
		case it.Role == jackline.ItemResult:
			told++
		}
		asked += len(it.Calls)
	}
	if answers != 1 || asked != told || asked != len(calls) {
		t.Errorf("%d, after %v: %d answers, %d calls in the history and %d in all, %d results", left, after, answers, asked, len(calls), told)
	}
}
