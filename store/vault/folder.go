package vault

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/jackline-ai/jackline"
)

// OpenFolder makes sure of a data folder, of the key and the database in it, of its folders, and of who may read all that. It
// reports whether the database was there.
//
// It never opens a database file that was there: to close any handle of it drops the locks that SQLite holds in this
// process.
func OpenFolder(dir, database string, folders ...string) (exists bool, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false, err
	}
	path := filepath.Join(dir, database)
	if info, err := os.Stat(path); err == nil {
		exists = info.Size() > 0
	} else if !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	// A folder that a person named by mistake, such as a home, keeps its permissions.
	if exists || len(entries) == 0 {
		if err := Tighten(dir, 0o700); err != nil {
			return false, err
		}
	}
	if !exists {
		// First the key, then the database: of two processes that begin at once, neither sees one without the other.
		if _, err := OpenKey(dir, false); err != nil {
			return false, err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	switch {
	case err == nil:
		err = f.Close()
	case errors.Is(err, fs.ErrExist):
		err = Tighten(path, 0o600)
	}
	if err != nil {
		return false, err
	}
	for _, folder := range folders {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
	}
	return exists, nil
}

// Fault says what a person can do about a data folder that cannot be used. An error that says so already stays what it is.
func Fault(op, dir string, err error) error {
	var have *jackline.Error
	switch {
	case errors.As(err, &have):
		return err
	case errors.Is(err, syscall.EROFS):
		return jackline.E(op, jackline.Unavailable, err,
			"Jackline's data folder %s lies on a disk that is read-only: make it writable, or choose another folder.", dir)
	case errors.Is(err, fs.ErrPermission):
		return jackline.E(op, jackline.Unavailable, err,
			"Jackline may not use its data folder %s: give this user the right to read and write it and the files in it, or choose another folder.", dir)
	}
	return jackline.E(op, jackline.Unavailable, err, "Jackline cannot use its data folder %s: %s.", dir, plainReason(err))
}

// plainReason is what the system says about a file, without the path.
func plainReason(err error) string {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		return p.Err.Error()
	case errors.As(err, &l):
		return l.Err.Error()
	}
	return err.Error()
}
