// Package approval is the desk: sealed questions to people, their answers, and the standing permissions that
// answers leave.
//
// A row of the desk is a stored [jackline.Approval]. It is pending until it is answered, expires or is withdrawn,
// and only one of these happens: each is one record that the ledger writes only while the row is still pending.
// Nothing here waits. Whoever stored a row goes on when it is closed.
//
// # Seal
//
// Each row carries a keyed hash over all that was asked: owner, session, turn, call, tool and its definition,
// arguments, folder, touches, facts, sandbox, labels, mode, expiry, and whether it was answered with a yes. [Desk.Holds]
// makes the hash anew, once from the row and once from what is about to run, so that neither a changed row nor a changed
// call passes. The facts are what was true of the things that the call names when a person was asked: which files, and
// what was in them. Who runs the call makes them anew and puts them into the intent.
//
// # Scopes
//
// Once is the sealed call. Task is the rest of the turn and chat the rest of the session, both for what the card
// says it covers: changes to files in the same folder, the same command under the same sandbox, the same host, otherwise
// the same arguments. A person may write a pattern in its place, which must cover the call and be no wider than
// [Options].Pattern lets it be. Lasting is a rule for all chats in the workspace, which whoever answers stores: see [Rules].
//
// Deleting, sending, connected tools and unknown effects can be granted for the same arguments, for the task, and no
// further; commands that reach beyond the workspace or their sandbox for the task. Where somebody else's text has been
// read nothing beyond the task is offered, and what was granted to the chat before does not count. The API's "remember"
// is the scope chat; where that is not offered the answer is a conflict.
package approval

import (
	"context"
	"time"

	"github.com/jackline-ai/jackline"
)

// A Ledger is where the desk keeps its rows. Package store has one.
type Ledger interface {
	// Append writes a record whole. Approvals that exist are replaced only while they are in the state From, else
	// the record fails with a Conflict.
	Append(context.Context, jackline.Owner, jackline.Record) ([]jackline.Event, error)

	// Approval reads one row of the owner's.
	Approval(context.Context, jackline.Owner, jackline.ApprovalID) (jackline.Approval, error)

	// Approvals reads the owner's rows that a filter lets through, oldest first.
	Approvals(context.Context, jackline.Owner, jackline.ApprovalFilter) ([]jackline.Approval, error)

	// ExpiringApprovals reads the pending rows of all owners that expire before a moment.
	ExpiringApprovals(ctx context.Context, before time.Time) ([]jackline.Approval, error)

	// Grants reads the grants in force in one session of the owner's.
	Grants(context.Context, jackline.Owner, jackline.SessionID) ([]jackline.Grant, error)
}

// Options are what a desk may be told besides.
type Options struct {
	// Risk gives the risk word for a card and what it is for. Without it every card says high.
	Risk func(jackline.Intent) (word, why string)

	// Pattern says why a pattern of a rule may not stand for calls like one, or nil where it may and covers that call. Without it
	// nobody may write a pattern of their own, and no rule is offered.
	Pattern func(pattern string, like jackline.Intent) error

	// Timeout is how long a row waits for its answer. Nil, and what is not positive, is 24 hours.
	Timeout func() time.Duration

	// Now is the clock; nil is the system's.
	Now func() time.Time
}

// Named limits. Whoever asks more often than this is not answered with care.
const (
	maxOpen    = 20               // rows of a session that are open at once
	maxRecent  = 60               // rows of a session opened within recent
	recent     = 10 * time.Minute //
	maxTimeout = 24 * time.Hour   // the default wait

	// maxLife is how long after it was asked a row can still be made to wait: what it asks about is hardly true any longer, and
	// it holds its turn.
	maxLife = 30 * 24 * time.Hour

	minKey = 32
)

// A Desk keeps the questions to people.
type Desk struct {
	ledger  Ledger
	key     []byte
	risk    func(jackline.Intent) (word, why string)
	pattern func(pattern string, like jackline.Intent) error
	wait    func() time.Duration
	now     func() time.Time
}

// New makes a desk that seals with key. It panics on a key under 32 bytes, which is a mistake in this program.
func New(l Ledger, key []byte, o Options) *Desk {
	if len(key) < minKey {
		panic("approval: the key is too short")
	}
	d := &Desk{ledger: l, key: append([]byte(nil), key...), risk: o.Risk, pattern: o.Pattern, wait: o.Timeout, now: o.Now}
	if d.risk == nil {
		d.risk = func(jackline.Intent) (string, string) { return "high", "" }
	}
	if d.pattern == nil {
		d.pattern = func(string, jackline.Intent) error {
			return reject(jackline.Conflict, "No pattern can be granted here.")
		}
	}
	if d.wait == nil {
		d.wait = func() time.Duration { return 0 }
	}
	if d.now == nil {
		d.now = time.Now
	}
	return d
}

// Row is the newest row about a call.
func (d *Desk) Row(ctx context.Context, o jackline.Owner, c jackline.CallID) (jackline.Approval, bool, error) {
	if c == "" {
		return jackline.Approval{}, false, nil
	}
	rows, err := d.ledger.Approvals(ctx, o, jackline.ApprovalFilter{Call: c})
	if err != nil || len(rows) == 0 {
		return jackline.Approval{}, false, err
	}
	return rows[len(rows)-1], true, nil
}

// New makes the row that asks about i. It stores nothing: the gate writes the row together with the call that waits.
func (d *Desk) New(ctx context.Context, i jackline.Intent, why jackline.Decision,
	card jackline.Card) (jackline.Approval, error) {
	const op = "approval.New"
	if why.Verdict == jackline.Deny {
		return jackline.Approval{}, jackline.E(op, jackline.Forbidden, nil, "%s", why.Reason)
	}
	if t, ok := refused(i); ok {
		return jackline.Approval{}, jackline.E(op, jackline.Forbidden, nil, "%s", t.Refused)
	}
	now := d.now().UTC()
	if err := d.flood(ctx, i, now); err != nil {
		return jackline.Approval{}, err
	}
	a := jackline.Approval{
		ID: jackline.NewID[jackline.ApprovalID]("a_"), Kind: jackline.KindCall, State: jackline.Pending, Rule: why.Rule,
		Created: now, Expires: now.Add(d.patience()),
	}
	d.describe(&a, i, why.Reason, card.View)
	if len(card.Questions) > 0 {
		a.Kind, a.Ask = jackline.KindQuestion, card.Questions
		a.Scopes, a.Covers, a.Pattern, a.Undo, a.Risk, a.Why = nil, "", "", "", "low", "The model asks a question."
	}
	d.seal(&a)
	return a, nil
}

// patience is how long a row waits.
func (d *Desk) patience() time.Duration {
	if w := d.wait(); w > 0 {
		return w
	}
	return maxTimeout
}

// flood refuses to open one more row where people could not read them all.
func (d *Desk) flood(ctx context.Context, i jackline.Intent, now time.Time) error {
	const op = "approval.New"
	if i.Actor.Session.ID == "" {
		return nil
	}
	rows, err := d.ledger.Approvals(ctx, i.Actor.Owner, jackline.ApprovalFilter{Session: i.Actor.Session.ID})
	if err != nil {
		return err
	}
	open, lately := 0, 0
	for _, a := range rows {
		if a.State == jackline.Pending && now.Before(a.Expires) {
			open++
		}
		if now.Sub(a.Created) < recent {
			lately++
		}
	}
	switch {
	case open >= maxOpen:
		return jackline.E(op, jackline.Conflict, nil,
			"This chat already has %d open questions. Answer some of them, then let it go on.", open)
	case lately >= maxRecent:
		return jackline.E(op, jackline.Conflict, nil,
			"This chat has asked %d questions within ten minutes. Look at what it is doing before you let it go on.", lately)
	}
	return nil
}

func refused(i jackline.Intent) (jackline.Touch, bool) {
	for _, t := range i.Touches {
		if t.Refused != "" {
			return t, true
		}
	}
	return jackline.Touch{}, false
}
