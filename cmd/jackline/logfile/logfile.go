// Package logfile is the program's own log: a file that only its user can read, that is put aside when it has grown, and that holds
// no secrets.
package logfile

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/redact"
)

// largeLog is the size beyond which a log file is put aside. There is one old file, so logs take twice that at most.
const largeLog = 10 << 20

// Open makes a logger that writes to the file jackline.log in dir, which is made if need be, and also shows warnings on warn, unless
// that is nil. What hider knows to be a secret is written nowhere. The file is to be closed when nothing is logged any more.
func Open(dir string, warn io.Writer, hider *redact.Redactor) (*slog.Logger, io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, jackline.E("log", jackline.Invalid, err, "The log folder %s cannot be made: give this user the right to write where it lies, or choose another place (XDG_STATE_HOME, or JACKLINE_HOME).", dir)
	}
	f, err := openLog(filepath.Join(dir, "jackline.log"), largeLog)
	if err != nil {
		return nil, nil, err
	}
	var to slog.Handler = slog.NewTextHandler(f, nil)
	if warn != nil {
		to = slog.NewMultiHandler(to, slog.NewTextHandler(warn, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	return slog.New(hiding{to, hider}), f, nil
}

// A logFile is a log that is put aside when it has grown beyond most, also while the program runs. Several processes may write to
// the same one.
type logFile struct {
	name string
	most int64

	mu sync.Mutex
	f  *os.File
}

func openLog(name string, most int64) (*logFile, error) {
	l := &logFile{name: name, most: most}
	if err := l.open(); err != nil {
		return nil, jackline.E("log", jackline.Invalid, err, "The log %s cannot be opened: give this user the right to write it and its folder.", name)
	}
	return l, nil
}

func (l *logFile) open() (err error) {
	l.f, err = os.OpenFile(l.name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	return err
}

// Write implements io.Writer.
func (l *logFile) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return 0, os.ErrClosed
	}
	if st, err := l.f.Stat(); err == nil && st.Size() > 0 && st.Size()+int64(len(b)) > l.most {
		if err := l.rotate(st); err != nil {
			return 0, err
		}
	}
	return l.f.Write(b)
}

// rotate begins a new file. Where another process has done so already, it only goes along. A file that cannot be put aside is
// written on: a log that is too large is better than none.
func (l *logFile) rotate(have os.FileInfo) error {
	err := l.f.Close()
	l.f = nil
	if now, serr := os.Stat(l.name); serr == nil && os.SameFile(now, have) {
		_ = os.Rename(l.name, l.name+".1")
	}
	return errors.Join(err, l.open())
}

// Close implements io.Closer.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return nil
	}
	f := l.f
	l.f = nil
	return f.Close()
}
