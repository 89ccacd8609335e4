package store

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/vault"
)

// A spilled result is a file SESSION/CALL of the folder spill. See [vault.Vault].

// WriteSpill keeps the whole text of a result that was cut for the model. It replaces what was kept for the call.
func (d *DB) WriteSpill(ctx context.Context, owner jackline.Owner, session jackline.SessionID, call jackline.CallID, text string) error {
	const op = "store.WriteSpill"
	if !vault.PlainName(string(session)) || !vault.PlainName(string(call)) {
		return absent(op, "call")
	}
	if err := d.ownCall(ctx, op, owner, session, call); err != nil {
		return err
	}
	if err := d.spill.Write(session, string(call), []byte(text)); err != nil {
		return spillFault(op, err)
	}
	return d.update(ctx, op, func(w *writer) error {
		if err := w.own(op, owner, session); err != nil {
			return err
		}
		n, err := w.exec(`INSERT INTO spills (call, session) VALUES (?, ?)
			ON CONFLICT (call) DO UPDATE SET session = excluded.session WHERE spills.session = excluded.session`,
			string(call), string(session))
		if err == nil && n == 0 {
			return absent(op, "call")
		}
		return err
	})
}

// ownCall makes sure that a session is the owner's and that a call, where it is known already, is the session's.
func (d *DB) ownCall(ctx context.Context, op string, owner jackline.Owner, session jackline.SessionID, call jackline.CallID) error {
	if err := d.own(ctx, op, owner, session); err != nil {
		return err
	}
	list, err := many(ctx, d, op, func(s scanner) (v jackline.SessionID, err error) { return v, s.Scan(&v) },
		`SELECT session FROM calls WHERE id = ? UNION ALL SELECT session FROM spills WHERE call = ?`, call, call)
	if err != nil {
		return err
	}
	for _, v := range list {
		if v != session {
			return absent(op, "call")
		}
	}
	return nil
}

// ReadSpill reads a page of a spilled result, by bytes: at most limit from offset on, and the size of the whole. A
// page neither begins nor ends within a character: it begins up to three bytes earlier, and ends up to three bytes
// earlier. A reader that goes on at offset plus the length of the page misses nothing.
func (d *DB) ReadSpill(ctx context.Context, owner jackline.Owner, call jackline.CallID, offset, limit int) (text string, total int, err error) {
	const op = "store.ReadSpill"
	session, err := one(ctx, d, op, "spilled result", func(s scanner) (v jackline.SessionID, err error) { return v, s.Scan(&v) },
		`SELECT p.session FROM spills p JOIN sessions s ON s.id = p.session WHERE p.call = ? AND s.owner = ?`, call, owner)
	if err != nil {
		return "", 0, err
	}
	f, size, err := d.spill.Open(session, string(call))
	if err != nil {
		return "", 0, spillFault(op, err)
	}
	defer func() { _ = f.Close() }()
	if offset < 0 || offset >= size || limit <= 0 {
		return "", size, nil
	}
	stop := offset + min(limit, size-offset)
	from, to := max(0, offset-utf8.UTFMax+1), min(size, stop+utf8.UTFMax)
	b, err := d.spill.Read(f, string(call), size, from, to)
	if err != nil {
		return "", size, spillFault(op, err)
	}
	begin, end := startOfRune(b, offset-from), startOfRune(b, stop-from)
	if end <= begin { // a limit smaller than one character
		_, n := utf8.DecodeRune(b[begin:])
		end = begin + n
	}
	return string(b[begin:end]), size, nil
}

// startOfRune is i, or the beginning of the character that i is within.
func startOfRune(b []byte, i int) int {
	for k := i; k >= max(0, i-utf8.UTFMax+1); k-- {
		if i < len(b) && utf8.RuneStart(b[k]) {
			if _, n := utf8.DecodeRune(b[k:]); k+n > i {
				return k
			}
			return i // the bytes before i are no character that reaches it
		}
	}
	return i
}

func spillFault(op string, err error) error {
	if errors.Is(err, os.ErrClosed) {
		return closedError(op)
	}
	if errors.Is(err, sql.ErrNoRows) || errors.Is(err, fs.ErrNotExist) {
		return jackline.E(op, jackline.Gone, err, "The rest of this result is no longer there.")
	}
	return jackline.E(op, jackline.Unavailable, err,
		"A spilled result cannot be written or read: check that the disk is not full and that the data folder was not changed from outside.")
}

// sweepFiles removes the files of sessions that are gone: of the one just deleted, and of any whose deletion a crash
// cut short. A folder is made only for a session that exists, so one without a session is nobody's.
func (d *DB) sweepFiles(ctx context.Context, op string) error {
	var alive map[string]bool
	for _, v := range []*vault.Vault{&d.spill, &d.files, &d.undo} {
		folders, err := fs.ReadDir(v.Root.FS(), ".")
		if err != nil {
			return spillFault(op, err)
		}
		if len(folders) == 0 {
			continue
		}
		if alive == nil {
			ids, err := many(ctx, d, op, func(s scanner) (id string, err error) { return id, s.Scan(&id) }, `SELECT id FROM sessions`)
			if err != nil {
				return err
			}
			alive = make(map[string]bool, len(ids))
			for _, id := range ids {
				alive[id] = true
			}
		}
		for _, f := range folders {
			if !alive[f.Name()] {
				if err := v.Root.RemoveAll(f.Name()); err != nil {
					return spillFault(op, err)
				}
			}
		}
	}
	return nil
}
