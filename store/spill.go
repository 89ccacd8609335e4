package store

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"io/fs"
	"os"
	"strconv"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
)

// A spilled result is a file spill/SESSION/CALL: chunks of plain text, each sealed on its own, so that reading a page
// opens only the chunks under it. A chunk is bound to its call, its place and the size of the whole: files and
// chunks cannot be exchanged, reordered or cut short unnoticed.
const (
	chunkSize   = 32 << 10
	chunkSealed = chunkSize + sealOverhead
)

// WriteSpill keeps the whole text of a result that was cut for the model. It replaces what was kept for the call.
func (d *DB) WriteSpill(ctx context.Context, owner jackline.Owner, session jackline.SessionID, call jackline.CallID, text string) error {
	const op = "store.WriteSpill"
	if !plainName(string(session)) || !plainName(string(call)) {
		return absent(op, "call")
	}
	if err := d.ownCall(ctx, op, owner, session, call); err != nil {
		return err
	}
	if err := d.writeSpillFile(session, call, text); err != nil {
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

func (d *DB) writeSpillFile(session jackline.SessionID, call jackline.CallID, text string) error {
	if err := d.spill.Mkdir(string(session), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	name := string(session) + "/" + string(call)
	temp := name + ".new"
	f, err := d.spill.OpenFile(temp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = d.spill.Remove(temp) }()
	for i := 0; err == nil && i*chunkSize < len(text); i++ {
		plain := text[i*chunkSize : min(len(text), (i+1)*chunkSize)]
		_, err = f.Write(d.boxes.spill.seal([]byte(plain), chunkRow(call, i, len(text))...))
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return d.spill.Rename(temp, name)
}

func chunkRow(call jackline.CallID, i, size int) []string {
	return []string{string(call), strconv.Itoa(i), strconv.Itoa(size)}
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
	f, err := d.spill.Open(string(session) + "/" + string(call))
	if err != nil {
		return "", 0, spillFault(op, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return "", 0, spillFault(op, err)
	}
	size := plainSize(info.Size())
	if offset < 0 || offset >= size || limit <= 0 {
		return "", size, nil
	}
	stop := offset + min(limit, size-offset)
	from, to := max(0, offset-utf8.UTFMax+1), min(size, stop+utf8.UTFMax)
	b, err := d.readChunks(f, call, size, from, to)
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

// plainSize is the size of the text in a file of this size.
func plainSize(file int64) int {
	chunks := (file + chunkSealed - 1) / chunkSealed
	return max(0, int(file-chunks*sealOverhead))
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

// readChunks reads the bytes between two offsets.
func (d *DB) readChunks(f io.ReaderAt, call jackline.CallID, size, from, to int) ([]byte, error) {
	out := make([]byte, 0, to-from)
	buf := make([]byte, chunkSealed)
	for i := from / chunkSize; i*chunkSize < to; i++ {
		n := min(chunkSize, size-i*chunkSize) + sealOverhead
		if _, err := f.ReadAt(buf[:n], int64(i)*chunkSealed); err != nil {
			return nil, err
		}
		plain, err := d.boxes.spill.open(buf[:n], chunkRow(call, i, size)...)
		if err != nil {
			return nil, err
		}
		out = append(out, plain[max(0, from-i*chunkSize):min(len(plain), to-i*chunkSize)]...)
	}
	return out, nil
}

// sweepSpills removes the files of sessions that are gone: of the one just deleted, and of any whose deletion a crash
// cut short. A folder is made only for a session that exists, so one without a session is nobody's.
func (d *DB) sweepSpills(ctx context.Context, op string) error {
	folders, err := fs.ReadDir(d.spill.FS(), ".")
	if err != nil {
		return spillFault(op, err)
	}
	if len(folders) == 0 {
		return nil
	}
	ids, err := many(ctx, d, op, func(s scanner) (id string, err error) { return id, s.Scan(&id) }, `SELECT id FROM sessions`)
	if err != nil {
		return err
	}
	alive := make(map[string]bool, len(ids))
	for _, id := range ids {
		alive[id] = true
	}
	for _, f := range folders {
		if !alive[f.Name()] {
			if err := d.spill.RemoveAll(f.Name()); err != nil {
				return spillFault(op, err)
			}
		}
	}
	return nil
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

// plainName reports whether an id may be a file name on any system.
func plainName(id string) bool {
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && c != '-' {
			return false
		}
	}
	return id != "" && len(id) <= 64
}
