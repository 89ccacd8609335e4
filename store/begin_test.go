package store

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jackline-ai/jackline"
)

// TestBegin: the first transaction of an empty log does not wait for the log's beginning, all others do, and a log that
// another process has begun meanwhile is not empty.
func TestBegin(t *testing.T) {
	dir := t.TempDir()
	waits := func(w *writer) (n int) { // the caller holds the writer
		if err := w.row("PRAGMA synchronous").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	const never, normal, full = 0, 1, 2
	within := func(d *DB, synced bool) (n int) {
		if err := d.submit(t.Context(), &piece{op: "test", sync: synced, run: func(w *writer) error {
			n = waits(w)
			_, err := w.exec(`UPDATE counters SET value = value + 1`)
			return err
		}}); err != nil {
			t.Fatal(err)
		}
		return n
	}
	shut := func(d *DB) {
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	log := filepath.Join(dir, fileDB+"-wal")
	d := openTest(t, dir)
	shut(d) // its schema was made; the log is gone
	if _, err := os.Stat(log); err == nil {
		t.Fatal("a store that was closed leaves its log")
	}
	d = openTest(t, dir)
	if n := within(d, false); n != never {
		t.Errorf("the first transaction waits: %d", n)
	}
	d.writer.held <- struct{}{}
	if n := waits(d.writer); n != normal {
		t.Errorf("after it %d holds", n)
	}
	<-d.writer.held
	if n := within(d, false); n != normal {
		t.Errorf("the second one has %d", n)
	}
	if n := within(d, true); n != full {
		t.Errorf("one that is to be synced has %d", n)
	}
	// A log that was begun already.
	second := openTest(t, dir)
	if n := within(second, false); n != normal {
		t.Errorf("in a log with frames the first transaction has %d", n)
	}
	shut(second)
	shut(d)

	// One that is begun between the look at it and the lock.
	d = openTest(t, dir)
	looks := 0
	d.writer.held <- struct{}{}
	d.writer.empty = func() bool { looks++; return looks == 1 }
	<-d.writer.held
	if n := within(d, false); n != normal || looks != 2 {
		t.Errorf("in a log that another process began the first transaction has %d, after %d looks", n, looks)
	}
	if n, err := d.LastSeq(t.Context()); err != nil || n != 5 {
		t.Errorf("%d of 5 transactions are there: %v", n, err)
	}
	shut(d)

	// What is to be synced is so from the first transaction on.
	d = openTest(t, dir)
	if n := within(d, true); n != full {
		t.Errorf("a first transaction that is to be synced has %d", n)
	}
	if _, err := d.CreateSession(t.Context(), jackline.Local, jackline.Session{Workspace: "/ws"}); err != nil {
		t.Error(err)
	}
}
