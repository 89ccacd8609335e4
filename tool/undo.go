package tool

import (
	"context"

	"github.com/jackline-ai/jackline"
)

// A Keeper keeps what calls are about to change, so that a person can take it back. Package undo has one.
type Keeper interface {
	// Cover says what of a call could be undone afterwards and what not, for its card; "" where it changes no files.
	Cover(context.Context, jackline.Intent) (string, error)

	// Before keeps what a call may change, on the disk. Its rows are written together with the call's intent. A call of which
	// that cannot be kept does not run.
	Before(context.Context, jackline.Intent) ([]jackline.Snapshot, error)

	// After compares what stands when a call has ended, or after a crash that cut it short, with what Before kept.
	After(ctx context.Context, who jackline.Actor, call jackline.CallID) (Kept, error)
}

// Kept is what a [Keeper] saw when a call had ended.
type Kept struct {
	Rows    []jackline.Snapshot // to be written with the outcome
	Changes []jackline.Change   // what a command changed; a file tool says so itself
	Note    string              // what of it cannot be undone, in words; "" where all can
}

// before keeps what a call may change.
func (g *Gate) before(ctx context.Context, i jackline.Intent) ([]jackline.Snapshot, error) {
	if g.Keeper == nil {
		return nil, nil
	}
	return g.Keeper.Before(ctx, i)
}

// after adds to a call's ending what its keeper saw. That it could see nothing takes nothing from what the call did.
func (g *Gate) after(ctx context.Context, who jackline.Actor, c jackline.Call, e *ending) {
	if g.Keeper == nil || !c.Acts {
		return
	}
	kept, err := g.Keeper.After(context.WithoutCancel(ctx), who, c.ID)
	if err != nil {
		kept.Note = "what it changed could not be looked at"
		if g.Errors != nil {
			g.Errors.Error("undo", "call", c.ID, "err", err)
		}
	}
	e.kept = kept.Rows
	if len(e.out.Changes) == 0 {
		e.out.Changes = kept.Changes
	}
	if kept.Note != "" {
		e.text += "\n[" + kept.Note + "]"
	}
}
