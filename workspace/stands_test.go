//go:build unix

package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestStands(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, away := filepath.Join(base, "work"), filepath.Join(base, "away")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Mkdir(dir, 0o755))
	r, err := Open(dir, Options{})
	must(err)
	defer func() { must(r.Close()) }()
	if !r.Stands() {
		t.Error("it does not stand from the start")
	}
	must(os.Rename(dir, away))
	if r.Stands() {
		t.Error("it stands though it was moved")
	}
	must(os.Mkdir(dir, 0o755))
	if r.Stands() {
		t.Error("it stands though another folder has its place")
	}
	must(os.Remove(dir))
	must(os.Symlink(away, dir))
	if r.Stands() {
		t.Error("it stands though a link has its place, be it to the same folder")
	}
	must(os.Remove(dir))
	must(os.Rename(away, dir))
	if !r.Stands() {
		t.Error("it does not stand though it is back")
	}
}

// What is made can be entered again.
func TestMakesNothingTooDeep(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	made := 0
	for depth := 60; depth < 70; depth++ {
		path := strings.Repeat("d/", depth) + "f"
		if _, err := r.Write(t.Context(), path, []byte("x"), WriteOptions{Parents: true}); err != nil {
			continue
		}
		made++
		if _, err := r.Read(t.Context(), path); err != nil {
			t.Errorf("depth %d was written and cannot be read: %v", depth, err)
		}
	}
	if made == 0 || made == 10 {
		t.Errorf("%d of 10 were written", made)
	}
}
