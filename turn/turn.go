// Package turn takes one prompt to one answer.
//
// An [Engine] is a fold over the log: everything it needs to go on stands in the journal, so a run can end at any step boundary
// and another run, in another process, takes the turn up where the log ends. Nothing here blocks on a person: when a
// call waits, Run returns, and whoever learns of the answer calls Run again.
package turn

import (
	"context"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// The causes with which the context of a run may be cancelled.
var (
	// ErrStopped ends the turn as stopped: a person or a limit said so.
	ErrStopped = jackline.ErrStopped
	// ErrShutdown leaves the turn as it stands in the log, to be taken up again.
	ErrShutdown = jackline.ErrShutdown
)

// A Journal is what the engine needs of a store.
type Journal interface {
	tool.Log

	// Settle waits for the records that were appended Soon.
	Settle(context.Context) error

	Session(context.Context, jackline.Owner, jackline.SessionID) (jackline.Session, error)
	Turn(context.Context, jackline.Owner, jackline.TurnID) (jackline.Turn, error)
	Calls(context.Context, jackline.Owner, jackline.TurnID) ([]jackline.Call, error)
	History(context.Context, jackline.Owner, jackline.SessionID) ([]jackline.Item, error)
	Call(context.Context, jackline.Owner, jackline.CallID) (jackline.Call, error)
}

// Control lets the caller reach into a run at its step boundaries.
type Control struct {
	// Steered reports whether words for this turn were stored under [SteerKey] since it was asked last. The engine also looks
	// once when a run begins. nil is never.
	Steered func() bool

	// New is the turn with its session where both have just been made and nobody has changed them since. Then neither is read.
	New *New
}

// New is the first turn of a session, which has not begun, as the journal has it.
type New struct {
	Session jackline.Session
	Turn    jackline.Turn
}

// SteerKey is the session fact under which words wait that steer the turn: a JSON list of strings. The engine
// empties it in the record that delivers them.
const SteerKey = "steer"

// Runner is what callers see of the engine.
type Runner interface {
	// Run takes a turn that is queued, running or waiting as far as it can go and returns it as it then stands: ended, or waiting with
	// its cards open. An error means that the journal could not be read or written, or that ctx ended for another cause than
	// [ErrStopped]; the turn then still stands in the log as running.
	Run(ctx context.Context, o jackline.Owner, id jackline.TurnID, c Control) (jackline.Turn, error)

	// Finish ends a turn that is not running here: its open cards are withdrawn, its open calls cancelled.
	Finish(ctx context.Context, o jackline.Owner, id jackline.TurnID, s jackline.Status, reason string) (jackline.Turn, error)
}
