//go:build linux

package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

func TestBrowse(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	home := filepath.Join(base, "owner")
	t.Setenv("HOME", home)
	for _, d := range []string{"b/c", "A", ".hidden", ".ssh", "state/workspace/w", "state/data"} {
		must(t, os.MkdirAll(filepath.Join(home, d), 0o755))
	}
	put(t, filepath.Join(home, "file"), "")
	must(t, os.Symlink("b", filepath.Join(home, "link")))
	o := Options{State: []string{filepath.Join(home, "state")}}

	names := func(l Listing) (all []string) {
		for _, f := range l.Folders {
			all = append(all, f.Name)
			if f.Path != filepath.Join(l.Path, f.Name) {
				t.Errorf("%s has the path %s", f.Name, f.Path)
			}
		}
		return all
	}
	for _, dir := range []string{"", "~", home, home + "/link/.."} {
		l, err := Browse(dir, o)
		if err != nil || !slices.Equal(names(l), []string{"A", "b"}) || l.Path != home || l.More != 0 {
			t.Errorf("%q: %+v %v", dir, l, err)
		}
	}
	l, err := Browse(home+"/link", o) // the folder itself, not the link
	if err != nil || l.Path != home+"/b" || len(l.Above) == 0 || l.Above[len(l.Above)-1] != (Crumb{"owner", home}) {
		t.Errorf("below: %+v %v", l, err)
	}
	if l, err := Browse(home+"/state/workspace", o); err != nil || !slices.Equal(names(l), []string{"w"}) {
		t.Errorf("the folder for work: %+v %v", l, err)
	}
	for dir, want := range map[string]jackline.Kind{
		"/": jackline.Forbidden, "/etc": jackline.Forbidden, "/proc/self/fd": jackline.Forbidden, "/usr/lib": jackline.Forbidden,
		home + "/.hidden": jackline.Forbidden, home + "/.ssh": jackline.Forbidden, home + "/state": jackline.Forbidden,
		home + "/state/data": jackline.Forbidden, home + "/nosuch": jackline.NotFound, home + "/file": jackline.Invalid,
		"b": jackline.Invalid, "/a\x00": jackline.Invalid, "/" + strings.Repeat("a", 5000): jackline.Invalid,
	} {
		if l, err := Browse(dir, o); err == nil || jackline.KindOf(err) != want {
			t.Errorf("%.60q: %+v %v, want %v", dir, l, err, want)
		}
	}
}

func TestBrowseIsBounded(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	for i := range MaxEntries + 7 {
		must(t, os.Mkdir(filepath.Join(dir, fmt.Sprint("d", i)), 0o755))
	}
	if l, err := Browse("", Options{}); err != nil || len(l.Folders) != MaxEntries || l.More != 7 {
		t.Errorf("%d folders, %d more, %v", len(l.Folders), l.More, err)
	}
}

func TestFacts(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, ".git"), 0o755))
	put(t, filepath.Join(dir, ".env"), "")
	put(t, filepath.Join(dir, "a.txt"), "")
	put(t, filepath.Join(dir, "AGENTS.md"), "Write tests.\n\xff")
	r, err := Open(dir, Options{})
	must(t, err)
	defer func() { must(t, r.Close()) }()
	f, err := r.Facts(t.Context())
	if err != nil || !f.Git || f.Guide != 14 || f.Entries != 4 || !slices.Equal(f.Protected, []string{".env", ".git"}) {
		t.Errorf("%+v %v", f, err)
	}
	if g, err := r.Guide(t.Context()); err != nil || g != "Write tests.\n\ufffd" {
		t.Errorf("%q %v", g, err)
	}
	put(t, filepath.Join(dir, "AGENTS.md"), "a\x00b")
	if _, err := r.Guide(t.Context()); jackline.KindOf(err) != jackline.Unprocessed {
		t.Errorf("no text: %v", err)
	}
	must(t, os.Remove(filepath.Join(dir, "AGENTS.md")))
	must(t, os.Symlink("a.txt", filepath.Join(dir, "AGENTS.md")))
	if g, err := r.Guide(t.Context()); err != nil || g != "" {
		t.Errorf("a link: %q %v", g, err)
	}
	if f, err := r.Facts(t.Context()); err != nil || f.Guide != 0 {
		t.Errorf("a link: %+v %v", f, err)
	}
}
