package store

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/column"
)

// A Holder says who holds a lease, so that another process can say so to a person, or reach it.
type Holder struct {
	ID      string    `json:"id"` // of one process, or one worker in it; the same when it renews
	PID     int       `json:"pid,omitempty"`
	Host    string    `json:"host,omitempty"`
	Address string    `json:"address,omitempty"` // where it serves, for clients
	Since   time.Time `json:"since"`             // set when the lease is taken
	Expires time.Time `json:"expires"`           // set when it is taken or renewed
}

// Lease takes the lease of a name for a time, or renews it where h holds it already. It reports whether h holds it
// now, and who does: h itself with its times, or the one that was there first.
//
// Times are those of the clocks of the processes that take leases: the one that takes a lease writes when it ends,
// and whoever wants it next compares that with its own clock. On one machine that is one clock; several machines
// must agree to well within the time of a lease. The lease of a dead process ends by itself when its time is over;
// who knows by other means that its holder is dead may release it. A holder renews often, and stops its work when
// [DB.Renew] says that the lease is lost.
func (d *DB) Lease(ctx context.Context, name string, h Holder, ttl time.Duration) (ok bool, current Holder, err error) {
	const op = "store.Lease"
	if name == "" || h.ID == "" || ttl <= 0 {
		return false, Holder{}, jackline.E(op, jackline.Invalid, nil, "A lease has a name, a holder and a time.")
	}
	err = d.update(ctx, op, func(w *writer) error {
		ok, current, err = w.lease(name, h, ttl)
		return err
	})
	return ok && err == nil, current, err
}

func (w *writer) lease(name string, h Holder, ttl time.Duration) (ok bool, current Holder, err error) {
	now := time.Now().Round(0).UTC()
	have, err := scanHolder(w.row(`SELECT info, expires FROM leases WHERE name = ?`, name))
	if noRows(err) != nil {
		return false, have, err
	}
	held := err == nil && have.Expires.After(now)
	if held && have.ID != h.ID {
		return false, have, nil
	}
	current = h
	current.Since, current.Expires = now, now.Add(ttl)
	if held {
		current.Since = have.Since
	}
	return true, current, w.writeLease(name, current)
}

// putLease gives the lease of a name that nobody else knows.
func (w *writer) putLease(name string, h Holder, ttl time.Duration) error {
	h.Since = time.Now().Round(0).UTC()
	h.Expires = h.Since.Add(ttl)
	return w.writeLease(name, h)
}

func (w *writer) writeLease(name string, h Holder) error {
	info, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = w.exec(`INSERT INTO leases (name, holder, info, expires) VALUES (?, ?, ?, ?)
		ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, info = excluded.info, expires = excluded.expires`,
		name, h.ID, string(info), column.Nanos(h.Expires))
	return err
}

func scanHolder(s scanner) (h Holder, err error) {
	err = s.Scan(column.Doc{V: &h}, column.Moment{T: &h.Expires})
	return h, err
}

// Renew lengthens a lease that the holder still has. It reports false where the time was over, even if nobody else
// took the lease since: somebody may have had it in between.
func (d *DB) Renew(ctx context.Context, name, holder string, ttl time.Duration) (ok bool, err error) {
	err = d.update(ctx, "store.Renew", func(w *writer) error {
		now := time.Now()
		n, err := w.exec(`UPDATE leases SET expires = ? WHERE name = ? AND holder = ? AND expires > ?`,
			column.Nanos(now.Add(ttl)), name, holder, column.Nanos(now))
		ok = n > 0
		return err
	})
	return ok && err == nil, err
}

// Release gives a lease back. Where the holder no longer has it, nothing happens. Those whose time is over go with it.
func (d *DB) Release(ctx context.Context, name, holder string) error {
	return d.update(ctx, "store.Release", func(w *writer) error {
		_, err := w.exec(`DELETE FROM leases WHERE name = ? AND holder = ? OR expires <= ?`, name, holder, column.Nanos(time.Now()))
		return err
	})
}

// HolderOf says who holds a lease now; ok is false where nobody does.
func (d *DB) HolderOf(ctx context.Context, name string) (h Holder, ok bool, err error) {
	list, err := many(ctx, d, "store.HolderOf", scanHolder,
		`SELECT info, expires FROM leases WHERE name = ? AND expires > ?`, name, column.Nanos(time.Now()))
	h, err = first(list, err)
	return h, len(list) > 0, err
}
