package server_test

import (
	"database/sql"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

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
