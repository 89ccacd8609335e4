package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/chain"
	"github.com/jackline-ai/jackline/store/vault"
)

// refused opens a folder in vain and gives what a person is told.
func refused(t *testing.T, dir string, kind jackline.Kind, words ...string) {
	t.Helper()
	d, err := Open(t.Context(), dir)
	if err == nil {
		_ = d.Close()
		t.Fatal("it was opened")
	}
	var e *jackline.Error
	if !errors.As(err, &e) || e.Kind != kind || e.Op != "store.Open" {
		t.Fatalf("error %v, want kind %v", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(e.Say, w) {
			t.Errorf("it says %q, without %q", e.Say, w)
		}
	}
}

// closedStore makes a store with a session, and closes it.
func closedStore(t *testing.T) (dir string, s jackline.SessionID) {
	t.Helper()
	dir = t.TempDir()
	d, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	s = newSession(t, d, me).ID
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, s
}

func TestReopen(t *testing.T) {
	dir, s := closedStore(t)
	key := string(readFile(t, filepath.Join(dir, vault.FileKey)))
	d := openTest(t, dir)
	if _, err := d.Session(t.Context(), me, s); err != nil {
		t.Fatal(err)
	}
	if string(readFile(t, filepath.Join(dir, vault.FileKey))) != key || len(key) != 2*vault.KeySize+1 {
		t.Fatal("the key changed")
	}
	left, err := os.ReadDir(dir)
	for _, e := range left {
		switch e.Name() {
		case fileDB, fileDB + "-wal", fileDB + "-shm", vault.FileKey, folderOut, folderIn, folderOld, chain.FileHead:
		default:
			t.Errorf("unexpected file %s", e.Name())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestOddFolders(t *testing.T) {
	base := t.TempDir()
	for _, name := range []string{"with blank", "50%25?mode=ro&x#y", "ünïcode", "a;b'c\"d", "deep/er/still"} {
		dir := filepath.Join(base, filepath.FromSlash(name))
		d, err := Open(t.Context(), dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		newSession(t, d, me)
		if err := d.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, fileDB)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, file, jackline.Unavailable, file, "not a directory")
}

func TestNotADatabase(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, fileDB)
	if err := os.WriteFile(path, []byte(strings.Repeat("Dear diary, ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, jackline.Conflict, fileDB, "not a database")
	if got := readFile(t, path); !strings.HasPrefix(string(got), "Dear diary") {
		t.Error("the file was changed")
	}
}

func TestAnotherProgramsDatabase(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, fileDB)
	pool, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.ExecContext(t.Context(), "CREATE TABLE recipes (name TEXT)"); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
	before := readFile(t, path)
	refused(t, dir, jackline.Conflict, path, "another program", "choose another data folder")
	if string(readFile(t, path)) != string(before) {
		t.Error("the file was changed")
	}
	if _, err := os.Stat(filepath.Join(dir, vault.FileKey)); err == nil {
		t.Error("a key was left beside it")
	}
}

// forge changes a closed store behind its back.
func forge(t *testing.T, dir, query string) {
	t.Helper()
	pool, err := openPool(filepath.Join(dir, fileDB), true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
	if err := pool.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestNewerDatabase(t *testing.T) {
	dir, _ := closedStore(t)
	forge(t, dir, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1); PRAGMA user_version = 9999`)
	refused(t, dir, jackline.Conflict, "newer Jackline", "9999", "install")
}

func TestKeyMissing(t *testing.T) {
	dir, _ := closedStore(t)
	key := filepath.Join(dir, vault.FileKey)
	secret := readFile(t, key)
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, jackline.Conflict, key, "missing", "backup")
	if _, err := os.Stat(key); err == nil {
		t.Fatal("a new key was made")
	}
	for _, bad := range []string{"", "abc", strings.Repeat("zz", vault.KeySize), string(secret) + "00"} {
		if err := os.WriteFile(key, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		refused(t, dir, jackline.Conflict, key, "damaged")
	}
	if err := os.WriteFile(key, []byte(strings.Repeat("00", vault.KeySize)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, jackline.Conflict, "another database")
	if err := os.WriteFile(key, secret, 0o600); err != nil {
		t.Fatal(err)
	}
	openTest(t, dir)
}

func TestCorruptDatabase(t *testing.T) {
	dir, _ := closedStore(t)
	path := filepath.Join(dir, fileDB)
	b := readFile(t, path)
	for i := 100; i < 4096; i++ {
		b[i] = 0xff
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, dir, jackline.Internal, "damaged", "backup")
}

// TestCorruptPages damages the file under an open store.
func TestCorruptPages(t *testing.T) {
	dir, s := closedStore(t)
	path := filepath.Join(dir, fileDB)
	b := readFile(t, path)
	for i := 2 * 4096; i < len(b); i++ {
		b[i] = 0xff
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), dir)
	if err == nil {
		_, err = d.Events(t.Context(), me, s, 0, 0)
		_ = d.Close()
	}
	if err == nil || jackline.KindOf(err) != jackline.Internal || !strings.Contains(jackline.Say(err), "damaged") {
		t.Fatalf("error %v", err)
	}
}

func TestCancelledOpen(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
}

// TestOutlivesItsOpener: the context that opened a store does not end it.
func TestOutlivesItsOpener(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d, err := Open(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	newSession(t, d, me)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestClosed(t *testing.T) {
	d, err := Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := newSession(t, d, me).ID
	if err := d.WriteSpill(t.Context(), me, s, "c_1", "x"); err != nil {
		t.Fatal(err)
	}
	w := d.Watch(me, s)
	defer w.Close()
	<-w.Wake()
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Fatal(err)
	}
	<-w.Wake() // so that readers notice
	_, err1 := d.Append(t.Context(), me, jackline.Record{Session: s})
	_, err2 := d.Events(t.Context(), me, s, 0, 0)
	_, _, err3 := d.ReadSpill(t.Context(), me, "c_1", 0, 1)
	for i, err := range []error{err1, err2, err3, d.SetFlag(t.Context(), "x", "y"), d.PutSetting(t.Context(), me, "x", json.RawMessage("1"))} {
		if jackline.KindOf(err) != jackline.Unavailable || !strings.Contains(jackline.Say(err), "shutting down") {
			t.Errorf("%d: error %v", i, err)
		}
	}
	d.Live(me, jackline.NewEvent(s, "", jackline.TextDelta{Text: "x"}))
}
