package store

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/vault"
)

// What was kept of files is in sealed files of the folder undo: SESSION/k_… holds contents one after the other, and SESSION/base…
// is what [DB.KeepBase] was given. See [vault.Vault].

const (
	packPrefix = "k_"
	baseFile   = "base"

	// maxBases is how many sessions keep what their next command is compared with. It is a copy of the workspace: what is
	// gone costs only the time of making it again.
	maxBases = 4
)

const sqlSnapshot = `INSERT INTO snapshots (session, unit, path, sealed) VALUES (?, ?, ?, ?)
	ON CONFLICT (session, unit, path) DO UPDATE SET sealed = excluded.sealed`

func (d *DB) snapshotArgs(session jackline.SessionID, s jackline.Snapshot) []any {
	key := d.digest("path", s.Path)
	text, _ := json.Marshal(s) // a struct of plain fields cannot fail
	return []any{string(session), s.Unit, key, d.boxes.snapshots.Seal(vault.Pack(string(text), s.Path, s.Before.Link, s.After.Link), string(session), s.Unit, string(key))}
}

// digest is a keyed digest of a text: it tells nobody without the key what was digested.
func (d *DB) digest(what, text string) []byte {
	const enough = 16 // bytes: nobody finds two texts of one digest who has no key
	m := hmac.New(sha256.New, d.Key("undo "+what))
	m.Write([]byte(text))
	return m.Sum(nil)[:enough]
}

// Snapshots reads what is known of the files of a unit, in the order in which they were first touched.
func (d *DB) Snapshots(ctx context.Context, owner jackline.Owner, session jackline.SessionID, unit string) ([]jackline.Snapshot, error) {
	const op = "store.Snapshots"
	if err := d.own(ctx, op, owner, session); err != nil {
		return nil, err
	}
	scan := func(s scanner) (v jackline.Snapshot, err error) {
		var key, sealed []byte
		if err = s.Scan(&key, &sealed); err != nil {
			return v, err
		}
		plain, err := d.boxes.snapshots.Open(sealed, string(session), unit, string(key))
		var text, path, before, after string
		if err == nil {
			err = vault.Unpack(plain, &text, &path, &before, &after)
		}
		if err == nil {
			err = json.Unmarshal([]byte(text), &v)
		}
		if err != nil {
			return v, unsealable("snapshot", err)
		}
		v.Unit, v.Path, v.Before.Link, v.After.Link = unit, path, before, after // JSON keeps no byte that is not UTF-8
		return v, nil
	}
	return many(ctx, d, op, scan, `SELECT path, sealed FROM snapshots WHERE session = ? AND unit = ? ORDER BY num`, session, unit)
}

// UnitSession is the session of a unit that changed files: a turn, a person's own call or an undo.
func (d *DB) UnitSession(ctx context.Context, owner jackline.Owner, unit string) (jackline.SessionID, error) {
	return one(ctx, d, "store.UnitSession", "change", func(s scanner) (id jackline.SessionID, err error) { return id, s.Scan(&id) },
		`SELECT s.id FROM snapshots u JOIN sessions s ON s.id = u.session WHERE u.unit = ? AND s.owner = ? LIMIT 1`, unit, owner)
}

// Hold keeps contents on the disk before it returns. What the session holds already is passed over.
func (d *DB) Hold(ctx context.Context, owner jackline.Owner, session jackline.SessionID, contents []jackline.Content) error {
	const op = "store.Hold"
	if !vault.PlainName(string(session)) {
		return absent(op, "session")
	}
	if err := d.own(ctx, op, owner, session); err != nil {
		return err
	}
	type part struct {
		sum         []byte
		start, size int
	}
	var parts []part
	var data []byte
	seen := map[string]bool{}
	for _, c := range contents {
		if seen[c.Sum] {
			continue
		}
		seen[c.Sum] = true
		key := d.digest("content", c.Sum)
		have, err := many(ctx, d, op, func(s scanner) (n int, err error) { return n, s.Scan(&n) }, `SELECT 1 FROM contents WHERE session = ? AND sum = ?`, session, key)
		if err != nil {
			return err
		}
		if len(have) == 0 {
			parts = append(parts, part{key, len(data), len(c.Data)})
			data = append(data, c.Data...)
		}
	}
	if len(parts) == 0 {
		return nil
	}
	pack := jackline.NewID[string](packPrefix)
	if err := d.undo.Write(session, pack, data); err != nil {
		return keepFault(op, err)
	}
	err := d.update(ctx, op, func(w *writer) error {
		if err := w.own(op, owner, session); err != nil {
			return err
		}
		for _, p := range parts {
			if _, err := w.exec(`INSERT INTO contents (session, sum, pack, start, size) VALUES (?, ?, ?, ?, ?) ON CONFLICT (session, sum) DO NOTHING`,
				string(session), p.sum, pack, p.start, p.size); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		_ = d.undo.Root.Remove(string(session) + "/" + pack)
		if jackline.KindOf(err) == jackline.NotFound { // the session was deleted meanwhile, and its folder may have come back
			_ = d.sweepFiles(ctx, op)
		}
	}
	return err
}

// Content reads a content that is held.
func (d *DB) Content(ctx context.Context, owner jackline.Owner, session jackline.SessionID, sum string) ([]byte, error) {
	const op = "store.Content"
	type place struct {
		pack        string
		start, size int
	}
	p, err := one(ctx, d, op, "content", func(s scanner) (p place, err error) { return p, s.Scan(&p.pack, &p.start, &p.size) },
		`SELECT c.pack, c.start, c.size FROM contents c JOIN sessions s ON s.id = c.session WHERE c.session = ? AND s.owner = ? AND c.sum = ?`,
		session, owner, d.digest("content", sum))
	if err != nil {
		return nil, err
	}
	return d.kept(op, session, p.pack, p.start, p.size)
}

// kept reads a part of a file of the folder undo.
func (d *DB) kept(op string, session jackline.SessionID, name string, start, size int) ([]byte, error) {
	f, whole, err := d.undo.Open(session, name)
	if err != nil {
		return nil, undoFault(op, err)
	}
	defer func() { _ = f.Close() }()
	if size < 0 {
		size = whole - start
	}
	if start < 0 || size < 0 || start > whole-size {
		return nil, undoFault(op, fs.ErrNotExist)
	}
	data, err := d.undo.Read(f, name, whole, start, start+size)
	return data, undoFault(op, err)
}

// KeepBase keeps a file of what a session's next command is compared with: the list itself under the name "", or a part of what
// it speaks of. It is a copy that can be made again: only the newest few sessions keep theirs.
func (d *DB) KeepBase(ctx context.Context, owner jackline.Owner, session jackline.SessionID, name string, data []byte) error {
	const op = "store.KeepBase"
	if !vault.PlainName(string(session)) || name != "" && !vault.PlainName(name) {
		return absent(op, "session")
	}
	if err := d.own(ctx, op, owner, session); err != nil {
		return err
	}
	if err := d.undo.Write(session, baseFile+name, data); err != nil {
		return keepFault(op, err)
	}
	if name != "" {
		return nil
	}
	return undoFault(op, d.trimBases())
}

// Base reads size bytes from start on of a file that KeepBase was given; a size below 0 is all that follow.
func (d *DB) Base(ctx context.Context, owner jackline.Owner, session jackline.SessionID, name string, start, size int) ([]byte, error) {
	const op = "store.Base"
	if err := d.own(ctx, op, owner, session); err != nil {
		return nil, err
	}
	return d.kept(op, session, baseFile+name, start, size)
}

// DropBase removes files that KeepBase was given. One that is gone is no error.
func (d *DB) DropBase(ctx context.Context, owner jackline.Owner, session jackline.SessionID, names ...string) error {
	const op = "store.DropBase"
	if err := d.own(ctx, op, owner, session); err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		if err := d.undo.Root.Remove(string(session) + "/" + baseFile + name); !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return undoFault(op, errors.Join(errs...))
}

// trimBases takes the base away from all sessions but those that used it last.
func (d *DB) trimBases() error {
	type base struct {
		session string
		used    int64
	}
	folders, err := fs.ReadDir(d.undo.Root.FS(), ".")
	if err != nil || len(folders) <= maxBases {
		return err
	}
	var bases []base
	for _, f := range folders {
		if info, err := d.undo.Root.Stat(f.Name() + "/" + baseFile); err == nil {
			bases = append(bases, base{f.Name(), info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(bases, func(a, b base) int { return cmp.Or(cmp.Compare(b.used, a.used), cmp.Compare(b.session, a.session)) })
	for _, b := range bases[min(maxBases, len(bases)):] {
		files, err := fs.ReadDir(d.undo.Root.FS(), b.session)
		if err != nil {
			return err
		}
		for _, f := range files { // the list sorts first, so what is left of a crash names nothing
			if strings.HasPrefix(f.Name(), baseFile) {
				if err := d.undo.Root.Remove(b.session + "/" + f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
		}
	}
	return nil
}

func undoFault(op string, err error) error {
	var known *jackline.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return jackline.E(op, jackline.Gone, err, "What was kept of this file is no longer on the disk.")
	}
	return keepFault(op, err)
}

func keepFault(op string, err error) error {
	if errors.Is(err, os.ErrClosed) {
		return closedError(op)
	}
	return jackline.E(op, jackline.Unavailable, err,
		"What files held cannot be kept or read: check that the disk is not full and that the data folder was not changed from outside.")
}
