// Package fault says what went wrong with a database in the words of somebody who can do something about it.
package fault

import (
	"context"
	"errors"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/jackline-ai/jackline"
)

// Of gives a database's error the kind and the sentence that a person can act on. An ended context stays what it
// is, and so does an [jackline.Error].
func Of(op string, err error) error {
	var have *jackline.Error
	if err == nil || errors.As(err, &have) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return jackline.E(op, jackline.Internal, err, "Jackline's database failed; its log says how.")
	}
	kind, say := jackline.Internal, "Jackline's database failed; its log says how."
	switch e.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		kind, say = jackline.Unavailable, "Another Jackline process is using the database and did not let go of it in time; try again."
	case sqlite3.SQLITE_FULL:
		kind, say = jackline.Unavailable, "The disk that holds Jackline's data is full: make room, then try again."
	case sqlite3.SQLITE_READONLY:
		kind, say = jackline.Unavailable, "Jackline's database cannot be written: the file or its disk is read-only. Give this user the right to write it."
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		kind, say = jackline.Unavailable, "Jackline's database cannot be opened: check that the data folder exists and that this user may write in it."
	case sqlite3.SQLITE_IOERR:
		kind, say = jackline.Unavailable, "The disk that holds Jackline's data reports errors: check the disk and that it is not full."
	case sqlite3.SQLITE_CORRUPT:
		say = "Jackline's database is damaged: stop Jackline, keep a copy of the data folder, and restore a backup."
	case sqlite3.SQLITE_NOTADB:
		kind, say = jackline.Conflict, "The file jackline.db in the data folder is not a database: move it away, or restore a backup."
	}
	return jackline.E(op, kind, err, "%s", say)
}

// Opening is Of for a database that is being opened: where it lies is half of what a person has to know.
func Opening(op, dir string, err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
			return jackline.E(op, jackline.Unavailable, err,
				"Jackline cannot write its database in the data folder %s: the folder, the file or the disk is read-only. Give this user the right to read and write the folder and the files in it, or choose another folder.", dir)
		}
	}
	return Of(op, err)
}

// Duplicate reports whether err says that a row with this key exists.
func Duplicate(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || e.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY)
}

// busy reports whether err says that another process holds the database.
func busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_BUSY || e.Code()&0xff == sqlite3.SQLITE_LOCKED)
}

// Patiently tries again what failed because another process opens the same folder: SQLite tells some of those that meet there so
// at once, and lets them wait for nothing. Other errors may come of the same, so they get a few tries as well.
func Patiently(ctx context.Context, try func() error) error {
	const (
		looks = 5
		waits = 40
		pause = 5 * time.Millisecond // longer each time: in all half as long as a lock is waited for
	)
	for look, wait := 1, 1; ; {
		err := try()
		var final *jackline.Error
		switch {
		case err == nil || ctx.Err() != nil || errors.As(err, &final) || look == looks || wait == waits:
			return err
		case !busy(err):
			look++
			continue
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(wait) * pause):
			wait++
		}
	}
}
