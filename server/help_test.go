package server_test

import (
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"
)

func pid() int { return os.Getpid() }

func hostname(t *testing.T) string {
	t.Helper()
	h, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// exec changes the database from outside, as time or an accident would.
func exec(t *testing.T, w *world, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "jackline.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

var discard = slog.New(slog.DiscardHandler)

// zombie is the number of a process that has ended, and whose parent has not taken note.
func zombie(t *testing.T) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.StartProcess(self, []string{self, "-test.run", "^$"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Wait() })
	stat := fmt.Sprintf("/proc/%d/stat", p.Pid)
	for range 5000 {
		b, err := os.ReadFile(stat)
		if err != nil {
			t.Skip("only Linux tells")
		}
		if strings.Contains(string(b), ") Z ") {
			return p.Pid
		}
		<-time.After(time.Millisecond)
	}
	t.Fatal("it did not end")
	return 0
}
