package approval

import (
	"context"
	"errors"
	"time"

	"github.com/jackline-ai/jackline"
)

// Withdraw cancels the pending rows of a turn, because a person stopped it or went on with something else. A row that
// somebody answers at the same moment stays answered.
func (d *Desk) Withdraw(ctx context.Context, o jackline.Owner, s jackline.SessionID, t jackline.TurnID) error {
	rows, err := d.ledger.Approvals(ctx, o, pending(s, t))
	if err != nil {
		return err
	}
	_, err = d.closeEach(ctx, rows, jackline.Withdrawn)
	return err
}

// Expire closes the pending rows of all owners whose time is up, and returns them as closed, so that what waits
// for them can go on.
func (d *Desk) Expire(ctx context.Context, now time.Time) ([]jackline.Approval, error) {
	rows, err := d.ledger.ExpiringApprovals(ctx, now)
	if err != nil {
		return nil, err
	}
	return d.closeEach(ctx, rows, jackline.Lapsed)
}

// Extend lets a pending row wait for as long again as a new one does, and returns it. A row that is closed says how; one that is
// about to reach the age at which no row waits any longer is a Conflict.
func (d *Desk) Extend(ctx context.Context, o jackline.Owner, id jackline.ApprovalID, by string) (jackline.Approval, error) {
	a, err := d.ledger.Approval(ctx, o, id)
	if err != nil {
		return jackline.Approval{}, err
	}
	if err := d.open(a); err != nil {
		return a, err
	}
	if !d.sealed(a) {
		return a, reject(jackline.Conflict, "This question is not as it was asked, so it can only be answered with no.")
	}
	until := d.now().UTC().Add(d.patience())
	if last := a.Created.Add(maxLife); until.After(last) {
		until = last
	}
	if !until.After(a.Expires) {
		if until.Equal(a.Created.Add(maxLife)) {
			return a, reject(jackline.Conflict, "This waits as long as a question can: until %s. Answer it, or let it go.", a.Expires.Format("2006-01-02 15:04 MST"))
		}
		return a, nil // it waits longer than that already
	}
	a.Expires = until
	d.seal(&a)
	_, err = d.ledger.Append(ctx, o, jackline.Record{
		Session: a.Session, Approvals: []jackline.Approval{a}, From: jackline.Pending, Sync: true,
		Events: []jackline.Event{jackline.NewEvent(a.Session, a.Turn, jackline.ApprovalExtended{Approval: a.ID, Call: a.Call, Expires: until, By: by})},
	})
	return a, err
}

func pending(s jackline.SessionID, t jackline.TurnID) jackline.ApprovalFilter {
	return jackline.ApprovalFilter{Session: s, Turn: t, States: []jackline.ApprovalState{jackline.Pending}}
}

// closeEach moves each row on by a record of its own, so that one that was answered meanwhile holds up none.
func (d *Desk) closeEach(ctx context.Context, rows []jackline.Approval,
	to jackline.ApprovalState) ([]jackline.Approval, error) {
	var closed []jackline.Approval
	var errs []error
	for _, a := range rows {
		a.State = to
		a.Answer = jackline.Answer{At: d.now().UTC()}
		err := d.move(ctx, a.Owner, a.Session, []jackline.Approval{a}, nil)
		switch {
		case err == nil:
			closed = append(closed, a)
		case jackline.KindOf(err) == jackline.Conflict:
		case ctx.Err() != nil:
			return closed, ctx.Err()
		default:
			errs = append(errs, err)
		}
	}
	return closed, errors.Join(errs...)
}
