package turn_test

import (
	"context"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/turn"
)

// A turn whose workspace is gone fails with the reason, and can be ended. Left queued it would be tried for ever.
func TestWorkspaceGone(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, options{}, "=== 1\nhello\n")
	gone := jackline.E("gate", jackline.Invalid, nil, "The workspace is gone.")
	b.engine.Gate = func(jackline.Session) (*tool.Gate, error) { return nil, gone }

	id := b.submit(t, "hello")
	got, err := b.engine.Run(ctx, jackline.Local, id, turn.Control{})
	if err != nil || got.Status != jackline.Failed || got.Reason != gone.Say {
		t.Errorf("Run: %s %q, %v", got.Status, got.Reason, err)
	}
	id = b.submit(t, "hello again")
	got, err = b.engine.Finish(ctx, jackline.Local, id, jackline.Stopped, "Stopped.")
	if err != nil || got.Status != jackline.Stopped {
		t.Errorf("Finish: %s, %v", got.Status, err)
	}
}

// A turn that waited and finds its model gone leaves no call without an outcome and no card open.
func TestModelGoneWhileWaiting(t *testing.T) {
	ctx := context.Background()
	b := newBench(t, options{Mode: jackline.ModeAsk, Native: true}, "=== 1\n--- call list_dir {\"path\": \".\"}\n")
	id := b.submit(t, "look around")
	got, err := b.engine.Run(ctx, jackline.Local, id, turn.Control{})
	if err != nil || got.Status != jackline.Waiting {
		t.Fatalf("Run: %s %q, %v", got.Status, got.Reason, err)
	}
	b.engine.Models = func(context.Context, jackline.Session) (turn.Models, error) {
		return turn.Models{}, jackline.E("models", jackline.NoModel, nil, "There is no model.")
	}
	if got, err = b.engine.Run(ctx, jackline.Local, id, turn.Control{}); err != nil || got.Status != jackline.Failed {
		t.Fatalf("Run: %s %q, %v", got.Status, got.Reason, err)
	}
	calls, err := b.db.Calls(ctx, jackline.Local, id)
	if err != nil || len(calls) != 1 || calls[0].State != jackline.CallEnded || calls[0].Outcome != jackline.Cancelled {
		t.Errorf("calls: %+v, %v", calls, err)
	}
	open, err := b.db.Approvals(ctx, jackline.Local, jackline.ApprovalFilter{Turn: id, States: []jackline.ApprovalState{jackline.Pending}})
	if err != nil || len(open) != 0 {
		t.Errorf("open cards: %+v, %v", open, err)
	}
	items, err := b.db.History(ctx, jackline.Local, b.session.ID)
	if err != nil || len(items) == 0 || items[len(items)-1].Role != jackline.ItemResult {
		t.Errorf("the call has no result in the history: %+v, %v", items, err)
	}
}

// A leaky journal says at a record of a kind that the disk is full, as it does when an earlier one was lost.
type leaky struct {
	turn.Journal
	kind string
}

func (l leaky) Append(ctx context.Context, o jackline.Owner, r jackline.Record) ([]jackline.Event, error) {
	for _, e := range r.Events {
		if e.Type == l.kind {
			return nil, jackline.E("journal", jackline.Unavailable, nil, "The disk is full.")
		}
	}
	return l.Journal.Append(ctx, o, r)
}

// The record that says that the model goes in circles is one like any other: if it cannot be written, the turn does not go on as
// if it had been, since what was lost may be an earlier one.
func TestGuardCannotBeWritten(t *testing.T) {
	const look = "--- call list_dir {\"path\": \".\"}\n"
	b := newBench(t, options{Mode: jackline.ModeAllowReads, Native: true}, "=== 1\n"+look+"=== 2\n"+look+"=== 3\n"+look+"=== 4\nNever said.\n")
	b.engine.Journal = leaky{b.engine.Journal, jackline.LoopGuard{}.Type()}
	got, err := b.engine.Run(t.Context(), jackline.Local, b.submit(t, "look around"), turn.Control{})
	if err != nil || got.Status != jackline.Failed || got.Reason != "The disk is full." {
		t.Errorf("Run: %s %q %q, %v", got.Status, got.Reason, got.Answer, err)
	}
}

// A model that goes on and on is not waited for beyond the turn's time, nor is one that says nothing. What came is the answer, and
// the next turn goes on from it.
func TestOutOfTime(t *testing.T) {
	for _, test := range []struct{ script, answer, next string }{
		{"=== 1\nOnce upon a time\n--- wait\n=== 2\n--- expect Once upon a time\nGladly.\n", "Once upon a time", "Gladly."},
		{"=== 1\n--- wait\n=== 2\nGladly.\n", "I could not finish this within the time that I was given.", "Gladly."},
		{"=== 1\n--- call list_dir {\"path\": \".\"}\n--- wait\n=== 2\nGladly.\n", "I could not finish this within the time that I was given.", "Gladly."},
	} {
		b := newBench(t, options{Native: true, Turn: jackline.TurnOptions{MaxTimeMS: 200}}, test.script)
		got, err := b.engine.Run(t.Context(), jackline.Local, b.submit(t, "tell me a story"), turn.Control{})
		if err != nil || got.Status != jackline.StepLimit || got.Answer != test.answer || got.Reason != "The turn ran for 0 seconds; its limit is 0." || got.Usage.Steps != 1 || got.Usage.Calls != 0 {
			t.Errorf("Run: %s %q %q %+v, %v", got.Status, got.Answer, got.Reason, got.Usage, err)
		}
		b.o.Turn.MaxTimeMS = 0
		if got, err = b.engine.Run(t.Context(), jackline.Local, b.submit(t, "go on"), turn.Control{}); err != nil || got.Answer != test.next {
			t.Errorf("Run: %s %q, %v", got.Status, got.Answer, err)
		}
	}
}
