//go:build unix

package store

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/vault"
)

// nobody is the user as whom a child runs where the tests run as root, who may do everything.
const nobody = 65534

// asUser opens a store in a child that is an ordinary user, and gives what it printed.
func asUser(t *testing.T, dir string) string {
	t.Helper()
	c := start(t, "open", dir)
	if os.Getuid() == 0 {
		// The binary lies where only root may look; the link names it without a way there.
		if _, err := os.Stat("/proc/self/exe"); err != nil {
			t.Skip("no way to run the test binary as another user")
		}
		c.Path = "/proc/self/exe"
		c.Dir = "/"
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	c.Stderr = nil
	out, err := c.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out)
}

// reachable is a folder that the child can reach and owns.
func reachable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "jackline-store-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = os.Chmod(dir, 0o700)
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	give(t, dir)
	return dir
}

// give makes the child's user the owner of all in a folder.
func give(t *testing.T, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Chown(path, nobody, nobody)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNoRights opens, as an ordinary user, what that user may not read or write.
func TestNoRights(t *testing.T) {
	fill := func(t *testing.T, dir string) {
		t.Helper()
		d, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		give(t, dir)
	}
	chmod := func(t *testing.T, path string, mode fs.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		make func(t *testing.T, dir string)
		want []string
	}{
		"all rights":          {fill, []string{"open"}},
		"an empty folder":     {func(*testing.T, string) {}, []string{"open"}},
		"folder closed":       {func(t *testing.T, dir string) { fill(t, dir); chmod(t, dir, 0) }, []string{"error: unavailable", "give this user the right"}},
		"folder not writable": {func(t *testing.T, dir string) { chmod(t, dir, 0o500) }, []string{"error: unavailable", "give this user the right"}},
		"full folder not writable": {func(t *testing.T, dir string) { fill(t, dir); chmod(t, dir, 0o500) },
			[]string{"error: unavailable", "Give this user the right"}},
		"key closed":          {func(t *testing.T, dir string) { fill(t, dir); chmod(t, filepath.Join(dir, vault.FileKey), 0) }, []string{"error: unavailable", "give this user the right"}},
		"database closed":     {func(t *testing.T, dir string) { fill(t, dir); chmod(t, filepath.Join(dir, fileDB), 0) }, []string{"error: unavailable", "this user"}},
		"database read-only":  {func(t *testing.T, dir string) { fill(t, dir); chmod(t, filepath.Join(dir, fileDB), 0o400) }, []string{"error: unavailable", "read-only"}},
		"spill closed":        {func(t *testing.T, dir string) { fill(t, dir); chmod(t, filepath.Join(dir, folderOut), 0) }, []string{"error: unavailable", "give this user the right"}},
		"somebody else's":     {func(t *testing.T, dir string) { fill(t, dir); takeBack(t, dir) }, []string{"error: unavailable", "give this user the right"}},
		"parent not writable": {nil, []string{"error: unavailable", "give this user the right"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := reachable(t)
			if test.make != nil {
				test.make(t, dir)
			} else {
				chmod(t, dir, 0o500)
				dir = filepath.Join(dir, "below")
			}
			out := asUser(t, dir)
			if !strings.HasPrefix(out, "open") && !strings.Contains(out, dir) {
				t.Errorf("it says %q, without the folder", out)
			}
			for _, w := range test.want {
				if !strings.Contains(out, w) {
					t.Errorf("it says %q, without %q", out, w)
				}
			}
		})
	}
}

// A disk that is read-only is not a matter of rights.
func TestReadOnlyDisk(t *testing.T) {
	err := vault.Fault("test", "/mnt/data", &fs.PathError{Op: "open", Path: "/mnt/data/key", Err: syscall.EROFS})
	if say := jackline.Say(err); jackline.KindOf(err) != jackline.Unavailable || !strings.Contains(say, "/mnt/data lies on a disk that is read-only: make it writable") {
		t.Errorf("it says %q", say)
	}
}

// takeBack makes the folder and all in it root's, readable for everybody.
func takeBack(t *testing.T, dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs a second user")
	}
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, 0, 0), os.Chmod(path, 0o755))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestPermissions looks at who may read what Open, a write and a spill leave, under a umask that forbids nothing.
func TestPermissions(t *testing.T) {
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	dir := filepath.Join(t.TempDir(), "deep", "data")
	check := func() {
		t.Helper()
		d, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		s := newSession(t, d, me).ID
		if err := d.WriteSpill(t.Context(), me, s, jackline.CallID("c_"+s), "text"); err != nil {
			t.Fatal(err)
		}
		files := 0
		err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			info, err := e.Info()
			if err == nil && info.Mode().Perm()&0o077 != 0 {
				t.Errorf("%s has mode %v", path, info.Mode())
			}
			files++
			return err
		})
		if err != nil || files < 8 {
			t.Fatalf("%d files, %v", files, err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	check()
	// What others were let in to is closed again.
	for _, p := range []string{dir, filepath.Join(dir, fileDB), filepath.Join(dir, vault.FileKey)} {
		if err := os.Chmod(p, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	check()
	// A folder that holds other things is not ours to close.
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "diary"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(home, 0o755); err != nil {
		t.Fatal(err)
	}
	openTest(t, home)
	if info, err := os.Stat(home); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the folder has mode %v, %v", info.Mode(), err)
	}
}
