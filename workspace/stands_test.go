//go:build unix

package workspace

import (
	"os"
	"path/filepath"
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
	defer r.Close()
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
