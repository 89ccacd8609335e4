//go:build linux

package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jackline-ai/jackline"
)

func TestVet(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	home := filepath.Join(base, "home", "owner")
	t.Setenv("HOME", home)
	for _, d := range []string{"work", "state/workspace", "state/data"} {
		must(t, os.MkdirAll(filepath.Join(home, d), 0o755))
	}
	put(t, filepath.Join(home, "file"), "")
	must(t, os.Symlink("/etc", filepath.Join(home, "etc")))
	must(t, os.Symlink("work", filepath.Join(home, "link")))
	o := Options{State: []string{filepath.Join(home, "state"), filepath.Join(home, "nosuch")}}
	for dir, want := range map[string]string{
		home + "/work": home + "/work", "~/work": home + "/work", home + "/link": home + "/work", home + "/./work/": home + "/work",
		home + "/state/workspace": home + "/state/workspace",
	} {
		if got, err := Vet(dir, o); err != nil || got != want {
			t.Errorf("%s: %s %v", dir, got, err)
		}
	}
	for dir, want := range map[string]struct {
		kind  jackline.Kind
		words string
	}{
		"":                     {jackline.Invalid, "which folder"},
		"work":                 {jackline.Invalid, "not an absolute path"},
		"~other/x":             {jackline.Invalid, "not an absolute path"},
		"/a\x00b":              {jackline.Invalid, "control"},
		"/":                    {jackline.Forbidden, "whole file system"},
		"/etc":                 {jackline.Forbidden, "folder of the system"},
		"/usr/share":           {jackline.Forbidden, "folder of the system"},
		"/var":                 {jackline.Forbidden, "shares"},
		home:                   {jackline.Forbidden, "whole home folder"},
		"~":                    {jackline.Forbidden, "whole home folder"},
		base:                   {jackline.Forbidden, "home folders"},
		home + "/etc":          {jackline.Forbidden, "folder of the system"},
		home + "/nosuch/x":     {jackline.NotFound, "make the folder first"},
		home + "/file":         {jackline.Invalid, "is a file"},
		home + "/state":        {jackline.Forbidden, "own settings"},
		home + "/state/data":   {jackline.Forbidden, "own settings"},
		filepath.Dir(home):     {jackline.Forbidden, "home folders"},
		home + "/file/x":       {jackline.Unprocessed, "cannot be used"},
		"/proc/self/root/home": {jackline.Forbidden, ""},
	} {
		if _, err := Vet(dir, o); err == nil || want.words != "" && (jackline.KindOf(err) != want.kind || !strings.Contains(jackline.Say(err), want.words)) {
			t.Errorf("%q: %v", dir, err)
		}
	}
	holds := Options{State: []string{filepath.Join(home, "work", "deep")}}
	must(t, os.Mkdir(filepath.Join(home, "work", "deep"), 0o755))
	_, err = Vet(home+"/work", holds)
	denied(t, err, jackline.Forbidden, "take a folder in it")
}

func TestUnfit(t *testing.T) {
	for path, bad := range map[string]bool{
		"/home": true, "/home/x": true, "/home/x/y": false, "/var": true, "/var/www": false, "/opt": true, "/opt/x": false, "/srv/x": false, "/usr/local": true,
		"/usr/local/x": false, "/usr": true, "/usr/lib/x": true, "/lib": true, "/lib64": true, "/library": false, "/root": true, "/root/x": true, "/mnt/c": true,
		"/mnt/c/x": false, "/mnt": true, "/workspace": false, "/data/x": false, "/proc/1": true, "/Users/ann": true, "/Applications/x": true,
		"C:/": true, "C:/Users": true, "C:/Users/ann": true, "C:/Users/ann/x": false, "C:/Windows/x": true, "C:/Program Files/x": true, "D:/x": false,
	} {
		home := "/home/owner"
		if strings.Contains(path, ":") {
			home = "C:/Users/owner"
		}
		if got := unfit(path, home); (got != "") != bad {
			t.Errorf("%s: %q", path, got)
		}
	}
	// A user called root works below its home.
	if got := unfit("/root/jackline", "/root"); got != "" {
		t.Error(got)
	}
}

// As an ordinary user: what cannot be written is no workspace.
func TestVetAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become somebody else")
	}
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for p := base; p != "/"; p = filepath.Dir(p) {
		i, err := os.Stat(p)
		must(t, err)
		if i.Mode().Perm()&0o055 != 0o055 {
			must(t, os.Chmod(p, i.Mode().Perm()|0o055))
		}
	}
	for name, mode := range map[string]os.FileMode{"open": 0o777, "readonly": 0o755, "closed": 0o700, "writeonly": 0o733} {
		must(t, os.Mkdir(filepath.Join(base, name), 0o700))
		must(t, os.Chmod(filepath.Join(base, name), mode))
	}
	t.Setenv("HOME", "/nonexistent")
	type result struct {
		name string
		err  error
	}
	results := make(chan result)
	go func() {
		defer close(results)
		// Only this thread becomes somebody else, and it ends with the goroutine.
		runtime.LockOSThread()
		const nobody = 65534
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
			results <- result{"setresuid", errno}
			return
		}
		for _, name := range []string{"open", "readonly", "closed", "writeonly"} {
			_, err := Vet(filepath.Join(base, name), Options{})
			results <- result{name, err}
		}
	}()
	for r := range results {
		if r.name == "open" {
			if r.err != nil {
				t.Errorf("open: %v", r.err)
			}
			continue
		}
		if r.err == nil || jackline.KindOf(r.err) != jackline.Forbidden {
			t.Errorf("%s: %v", r.name, r.err)
		}
	}
}
