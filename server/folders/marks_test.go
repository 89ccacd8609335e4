package folders_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/folders"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/workspace"
)

// What a tainted session wrote, by a file tool or a command, is not the owner's word in a trusted folder: under whatever name, and
// until a person says again that they trust it.
func TestMarks(t *testing.T) {
	ctx := t.Context()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	dir := filepath.Join(base, "ws")
	write := func(name, text string) {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	write("AGENTS.md", "Use tabs.")
	write("a.txt", "a")
	write("sub/b.txt", "b")
	db, err := store.Open(ctx, filepath.Join(base, "data"))
	must(t, err)
	defer func() { must(t, db.Close()) }()
	root, err := workspace.Open(dir, workspace.Options{})
	must(t, err)
	defer func() { must(t, root.Close()) }()
	f := folders.New(db, db, workspace.Options{State: []string{filepath.Join(base, "data")}})
	m := f.Marks(root)
	clean := jackline.Actor{Owner: jackline.Local, Session: jackline.Session{ID: "s_1"}}
	tainted := clean
	tainted.Session.Labels.Tainted = true
	read := func(name string) []jackline.Touch {
		return []jackline.Touch{{Effect: jackline.Read, Kind: "path", Name: name}}
	}
	own := func(name string) bool {
		t.Helper()
		yes, err := m.Own(ctx, clean, read(name))
		must(t, err)
		return yes
	}
	want := func(name string, yes bool) {
		t.Helper()
		if own(name) != yes {
			t.Errorf("%s: own %v, want %v", name, !yes, yes)
		}
	}
	want("a.txt", false) // nobody trusts the folder
	trust := func() { t.Helper(); _, err := f.Trust(ctx, jackline.Local, dir, true); must(t, err) }
	trust()
	want("a.txt", true)
	want("sub", true)

	guide := func(text string) {
		t.Helper()
		if have, err := f.Guide(ctx, jackline.Local, root); err != nil || have != text {
			t.Errorf("the guide is %q, %v; want %q", have, err, text)
		}
	}
	guide("Use tabs.")
	must(t, m.Wrote(ctx, tainted, []jackline.Touch{{Effect: jackline.Write, Kind: "path", Name: "AGENTS.md"}}))
	guide("")
	want("a.txt", true)
	want(".", false) // a search would find it
	trust()
	guide("Use tabs.")

	// A clean session marks nothing, unless it moves what is marked.
	must(t, m.Wrote(ctx, clean, []jackline.Touch{{Effect: jackline.Write, Kind: "path", Name: "a.txt"}}))
	want("a.txt", true)
	must(t, m.Wrote(ctx, tainted, []jackline.Touch{{Effect: jackline.Write, Kind: "path", Name: "a.txt"}}))
	must(t, m.Wrote(ctx, clean, []jackline.Touch{{Effect: jackline.Read, Kind: "path", Name: "a.txt"}, {Effect: jackline.Write, Kind: "path", Name: "copy.txt"}}))
	write("copy.txt", "a")
	want("copy.txt", false)
	must(t, os.Rename(filepath.Join(dir, "a.txt"), filepath.Join(dir, "moved.txt")))
	want("moved.txt", false)
	trust()
	want("moved.txt", true)

	// While a command runs everything may be its work, afterwards what it changed.
	ended, err := m.Ran(ctx, tainted, time.Now())
	must(t, err)
	want("sub/b.txt", false)
	write("made.txt", "x")
	must(t, ended(ctx))
	want("made.txt", false)
	ended, err = m.Ran(ctx, clean, time.Now()) // it could copy what is marked
	must(t, err)
	write("copy.txt", "x")
	must(t, ended(ctx))
	want("copy.txt", false)
	trust()
	ended, err = m.Ran(ctx, clean, time.Now())
	must(t, err)
	write("ours.txt", "x")
	must(t, ended(ctx))
	want("ours.txt", true)
	if _, err = m.Ran(ctx, tainted, time.Now()); err != nil { // and the program dies
		t.Fatal(err)
	}
	want("sub/b.txt", false)
	trust()
	want("sub/b.txt", true)
	if yes, err := m.Own(ctx, clean, []jackline.Touch{{Effect: jackline.Read | jackline.Exec, Kind: "path", Name: "a"}}); yes || err != nil {
		t.Errorf("a command's touch: %v %v", yes, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
