package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"

	"github.com/jackline-ai/jackline"
)

// State reads one of a session's own small facts; nil where there is none.
func (d *DB) State(ctx context.Context, owner jackline.Owner, session jackline.SessionID, name string) (json.RawMessage, error) {
	const op = "store.State"
	v, err := one(ctx, d, op, "session", func(s scanner) (v json.RawMessage, err error) { return v, s.Scan((*[]byte)(&v)) },
		`SELECT (SELECT value FROM state WHERE session = s.id AND name = ?) FROM sessions s WHERE id = ? AND owner = ?`, name, session, owner)
	if err != nil {
		return nil, err
	}
	return d.readState(session, name, v)
}

// first is the only row of a list, or the zero value.
func first[T any](list []T, err error) (v T, _ error) {
	if len(list) > 0 {
		v = list[0]
	}
	return v, err
}

const (
	sqlSetting  = `SELECT name, sealed FROM settings WHERE owner = ? AND name = ?`
	sqlSettings = `SELECT name, sealed FROM settings WHERE owner = ?`
	sqlFlag     = `SELECT value FROM flags WHERE name = ?`
)

type setting struct {
	name  string
	value json.RawMessage
}

// Spare names the settings that a damaged database may do without, because they are learnt again: one that does not open is as if it had
// never been put, and lost is told. All others, rules above all, are an error then. It is called before anything is read.
func (d *DB) Spare(lost func(name string, err error), names ...string) {
	d.lost, d.spare = lost, map[string]bool{}
	for _, name := range names {
		d.spare[name] = true
	}
}

func (d *DB) scanSetting(owner jackline.Owner) func(scanner) (setting, error) {
	return func(s scanner) (v setting, err error) {
		var sealed []byte
		if err = s.Scan(&v.name, &sealed); err != nil {
			return v, err
		}
		plain, err := d.boxes.settings.Open(sealed, string(owner), v.name)
		if err != nil && d.spare[v.name] {
			d.lost(v.name, err)
			return v, nil // as if it had never been put
		}
		if err != nil {
			return v, unsealable("setting", err)
		}
		v.value = plain
		return v, nil
	}
}

// Setting reads one of the owner's settings; nil where it was never put.
func (d *DB) Setting(ctx context.Context, owner jackline.Owner, name string) (json.RawMessage, error) {
	v, err := first(many(ctx, d, "store.Setting", d.scanSetting(owner),
		sqlSetting, owner, name))
	return v.value, err
}

// Settings reads all of the owner's settings by name.
func (d *DB) Settings(ctx context.Context, owner jackline.Owner) (map[string]json.RawMessage, error) {
	list, err := many(ctx, d, "store.Settings", d.scanSetting(owner), sqlSettings, owner)
	if err != nil {
		return nil, err
	}
	all := make(map[string]json.RawMessage, len(list))
	for _, v := range list {
		if v.value != nil {
			all[v.name] = v.value
		}
	}
	return all, nil
}

// PutSetting stores one of the owner's settings, durably. A value of nil or null removes it. It is for what the program
// remembers by itself: no line of the audit speaks of it.
func (d *DB) PutSetting(ctx context.Context, owner jackline.Owner, name string, value json.RawMessage) error {
	return d.putSettings(ctx, "store.PutSetting", owner, map[string]json.RawMessage{name: value}, false)
}

// PutSettings stores several of the owner's settings, durably: all of them or none. Values of nil or null remove. They are
// what a person decided, so the audit gets a line for each.
func (d *DB) PutSettings(ctx context.Context, owner jackline.Owner, values map[string]json.RawMessage) error {
	return d.putSettings(ctx, "store.PutSettings", owner, values, true)
}

func (d *DB) putSettings(ctx context.Context, op string, owner jackline.Owner, values map[string]json.RawMessage, decided bool) error {
	for _, value := range values {
		if owner == "" || value != nil && !json.Valid(value) {
			return jackline.E(op, jackline.Invalid, nil, "A setting has an owner and a JSON value.")
		}
	}
	values = maps.Clone(values) // the writer may come to it after a caller who gave up
	var lines []jackline.AuditEntry
	if decided {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			lines = append(lines, jackline.AuditEntry{Kind: jackline.AuditSetting, What: name, Value: values[name]})
		}
		lines = d.audit(owner, lines...)
	}
	return d.submit(ctx, &piece{op: op, sync: true, run: func(w *writer) error {
		for name, value := range values {
			if err := d.putSetting(w, owner, name, value); err != nil {
				return err
			}
		}
		return w.audit(d.keys, lines)
	}})
}

func (d *DB) putSetting(w *writer, owner jackline.Owner, name string, value json.RawMessage) error {
	if value == nil || string(value) == "null" {
		_, err := w.exec(`DELETE FROM settings WHERE owner = ? AND name = ?`, string(owner), name)
		return err
	}
	_, err := w.exec(`INSERT INTO settings (owner, name, sealed) VALUES (?, ?, ?)
		ON CONFLICT (owner, name) DO UPDATE SET sealed = excluded.sealed`,
		string(owner), name, d.boxes.settings.Seal(value, string(owner), name))
	return err
}

// Flag reads a fact of the whole store, such as the kill switch; "" where it is not set.
func (d *DB) Flag(ctx context.Context, name string) (string, error) {
	return first(many(ctx, d, "store.Flag", func(s scanner) (v string, err error) { return v, s.Scan(&v) },
		sqlFlag, name))
}

// SetFlag sets a fact of the whole store, durably. The value "" unsets it.
func (d *DB) SetFlag(ctx context.Context, name, value string) error {
	const op = "store.SetFlag"
	if name == "" || name == flagKey || name == flagSealed {
		return jackline.E(op, jackline.Invalid, nil, "There is no flag of this name to set.")
	}
	kind := jackline.AuditFlagOn
	if value == "" {
		kind = jackline.AuditFlagOff
	}
	lines := d.audit(jackline.Local, jackline.AuditEntry{Kind: kind, What: name}) // it is nobody's but the program's
	return d.submit(ctx, &piece{op: op, sync: true, run: func(w *writer) error {
		if err := w.setFlag(name, value); err != nil {
			return err
		}
		return w.audit(d.keys, lines)
	}})
}

// setFlag sets a flag, or with "" removes it.
func (w *writer) setFlag(name, value string) error {
	if value == "" {
		_, err := w.exec(`DELETE FROM flags WHERE name = ?`, name)
		return err
	}
	_, err := w.exec(`INSERT INTO flags (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, value)
	return err
}

// noRows turns the absence of a row into no error.
func noRows(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return err
}
