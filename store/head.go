package store

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/chain"
	"github.com/jackline-ai/jackline/store/vault"
)

const (
	// sealEvery is how often the end of the audit is sealed while it grows: what a thief of the last lines could hide.
	sealEvery = time.Minute

	// cheapLines is how many lines a look at the end of the audit checks.
	cheapLines = 200

	// flagSealed names the flag that tells up to which line the audit was sealed: the last time, and the time before.
	flagSealed = "audit.sealed"
	// flagSettled names the flag that tells up to which line all was on the disk when it was looked at last.
	flagSettled = "audit.settled"
)

func auditKeys(master []byte) chain.Keys {
	return chain.KeysOf(func(purpose string) []byte { return vault.Subkey(master, purpose) })
}

// keepSealing seals the end of the audit once a minute while it grows.
func (d *DB) keepSealing(ctx context.Context, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-d.writer.audited:
		}
		timer := time.NewTimer(sealEvery)
		select {
		case <-stop:
			timer.Stop()
			return
		case <-timer.C:
		}
		if d.seal(ctx) != nil {
			poke(d.writer.audited) // again in a minute
		}
	}
}

// seal writes the end of the audit into the head file. What does not fit between the two is written into the audit first, and
// so is never sealed over in silence.
//
// The table is on disk before the head names it: a head that is ahead of its table means that somebody cut the table.
func (d *DB) seal(ctx context.Context) error {
	var end chain.Head
	if err := d.submit(ctx, d.settling(&end)); err != nil {
		return err
	}
	var head chain.Head
	if err := d.submit(ctx, d.sealing(end, &head)); err != nil {
		return err
	}
	return d.putHead(head)
}

// settling puts on the disk all lines that are there, and says which is the last of them: a head must not name a line that a power
// cut could still take.
func (d *DB) settling(end *chain.Head) *piece {
	return &piece{op: "store.seal", sync: true, run: func(w *writer) error {
		if err := w.findEnd(); err != nil {
			return err
		}
		*end = chain.Head{N: w.auditEnd.n, MAC: w.auditEnd.mac}
		return w.setFlag(flagSettled, strconv.FormatInt(end.N, 10)) // what writes nothing syncs nothing
	}}
}

// ExportAudit writes lines of the audit to w, oldest first, in a form that [chain.VerifyExport] can check: the owner's, or
// everybody's where the query says so. Its fields Before, After and Limit play no part. With all lines of all owners it is the
// whole chain up to its head, which is sealed for it.
func (d *DB) ExportAudit(ctx context.Context, owner jackline.Owner, q jackline.AuditQuery, w io.Writer) error {
	if err := d.seal(ctx); err != nil {
		return err
	}
	head, err := d.keys.Read(d.dir)
	if err != nil && !chain.Gone(err) {
		return vault.Fault("store.ExportAudit", d.dir, err)
	}
	q.After, q.Before, q.Limit = 0, head.N+1, maxPage
	filtered := q != jackline.AuditQuery{Everybody: true, Before: q.Before, Limit: q.Limit}
	q.Oldest = true
	return d.keys.Export(w, head, filtered, maxPage, func(after int64, _ int) ([]jackline.AuditEntry, error) {
		q.After = after
		return d.Audit(ctx, owner, q)
	})
}

// AuditKeys are the keys of the audit in a data folder, for checking an export. It opens no database and makes no key.
func AuditKeys(dir string) (chain.Keys, error) {
	master, err := vault.OpenKey(dir, true)
	if err != nil {
		return chain.Keys{}, vault.Fault("store.AuditKeys", dir, err)
	}
	return auditKeys(master), nil
}

// sealLast seals what this process wrote, when nothing more will be written. What others wrote is theirs to seal. Where it
// fails the next process does it.
func (d *DB) sealLast() {
	d.writer.held <- struct{}{}
	defer func() { <-d.writer.held }()
	if d.writer.wrote <= d.sealedTo.Load() {
		return
	}
	now := func(p *piece) bool {
		p.done = make(chan error, 1)
		d.writer.write([]*piece{p})
		return <-p.done == nil
	}
	var end chain.Head
	var head chain.Head
	if now(d.settling(&end)) && now(d.sealing(end, &head)) {
		_ = d.putHead(head)
	}
}

// sealing seals up to a line that is on the disk. The file is written while the database is this process's alone, so that of two
// that seal at once neither puts an older head over a newer one. What did not fit is written into the audit first: then head is
// filled, and has to be written when that line is on the disk.
func (d *DB) sealing(end chain.Head, head *chain.Head) *piece {
	return &piece{op: "store.seal", sync: true, run: func(w *writer) error {
		if err := w.findEnd(); err != nil {
			return err
		}
		last, before := w.sealed()
		have, err := d.keys.Read(d.dir)
		at, ok, fault := w.macOf(have.N)
		if fault != nil {
			return fault
		}
		problem := d.keys.Against(have, err, before, w.auditEnd.n, at, ok)
		if problem == nil {
			if have.N >= end.N {
				return nil // another process did it, or there is nothing
			}
			end.At = time.Now().UTC()
			if err := d.keys.Write(d.dir, end); err != nil {
				return vault.Fault("store.seal", d.dir, err)
			}
			d.sealedTo.Store(end.N)
			return w.setFlag(flagSealed, fmt.Sprintf("%d %d", end.N, min(last, end.N)))
		}
		if err := w.setFlag(flagSealed, fmt.Sprintf("%d %d", w.auditEnd.n+1, min(last, w.auditEnd.n))); err != nil {
			return err
		}
		line := jackline.AuditEntry{Kind: jackline.AuditFault, What: string(problem.Kind), In: problem.N}
		if err := w.audit(d.keys, d.audit(jackline.Local, line)); err != nil {
			return err
		}
		*head = chain.Head{N: w.auditEnd.n, MAC: w.auditEnd.mac, At: time.Now().UTC()}
		return nil
	}}
}

// putHead writes a head that takes the place of one that did not fit, if there is one.
func (d *DB) putHead(head chain.Head) error {
	if head.N == 0 {
		return nil
	}
	if err := d.keys.Write(d.dir, head); err != nil {
		return vault.Fault("store.seal", d.dir, err)
	}
	d.sealedTo.Store(head.N)
	return nil
}

// sealed tells up to which line the audit was sealed, the last time and the time before. A process may have died between the
// note and the file, so the file may be either.
func (w *writer) sealed() (last, before int64) {
	var text string
	if w.row(sqlFlag, flagSealed).Scan(&text) != nil {
		return 0, 0
	}
	return parseSealed(text)
}

func parseSealed(text string) (last, before int64) {
	if _, err := fmt.Sscanf(text, "%d %d", &last, &before); err != nil {
		return 0, 0
	}
	return last, before
}

// macOf is the MAC of a line of the audit; ok is false where there is no such line.
func (w *writer) macOf(n int64) (m chain.MAC, ok bool, err error) {
	var b []byte
	if err = noRows(w.row(`SELECT mac FROM audit WHERE n = ?`, n).Scan(&b)); err != nil || len(b) != len(m) {
		return m, false, err
	}
	copy(m[:], b)
	return m, true, nil
}

// VerifyAudit looks whether the audit is as it was written, and names what is not: all of it, or its last lines only. An error
// means that it could not be read.
func (d *DB) VerifyAudit(ctx context.Context, full bool) (jackline.AuditReport, error) {
	const op = "store.VerifyAudit"
	var from int64
	if !full {
		last, err := d.auditRows(ctx, op, `1 = 1 ORDER BY n DESC`, 1)
		if err != nil {
			return jackline.AuditReport{}, err
		}
		if len(last) > 0 {
			from = max(0, last[0].N-cheapLines)
		}
	}
	// The head is read first: what is written meanwhile only puts the table farther ahead.
	flag, err := d.Flag(ctx, flagSealed)
	if err != nil {
		return jackline.AuditReport{}, err
	}
	_, before := parseSealed(flag)
	head, headErr := d.keys.Read(d.dir)
	return d.keys.Verify(from, head, headErr, before, func(after int64, limit int) ([]jackline.AuditEntry, error) {
		return d.auditRows(ctx, op, `n > ? ORDER BY n`, limit, after)
	})
}
