package undo_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/undo"
	"github.com/jackline-ai/jackline/workspace"
)

// A world is a workspace and a store, with a session.
type world struct {
	dir, data string
	db        *store.DB
	root      *workspace.Root
	keeper    *undo.Keeper
	who       jackline.Actor
	calls     int
}

const owner = jackline.Local

func newWorld(t testing.TB, files map[string]string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	w := &world{dir: dir, data: filepath.Join(t.TempDir(), "data")}
	for name, text := range files {
		w.write(t, name, text)
	}
	w.open(t)
	s, err := w.db.CreateSession(t.Context(), owner, jackline.Session{Workspace: dir})
	must(t, err)
	w.who = jackline.Actor{Owner: owner, Session: s, Turn: jackline.Turn{ID: "t_one", Session: s.ID}, Source: jackline.FromModel}
	t.Cleanup(func() { w.close(t) })
	return w
}

func (w *world) open(t testing.TB) {
	t.Helper()
	var err error
	w.db, err = store.Open(context.WithoutCancel(t.Context()), w.data)
	must(t, err)
	w.root, err = workspace.Open(w.dir, workspace.Options{})
	must(t, err)
	w.keeper = undo.New(w.root, w.db, w.db, func(i jackline.Intent) bool { return i.Touches[0].Name == "ls" })
}

func (w *world) close(t testing.TB) {
	must(t, w.root.Close())
	must(t, w.db.Close())
}

func (w *world) path(name string) string { return filepath.Join(w.dir, filepath.FromSlash(name)) }

func (w *world) write(t testing.TB, name, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(w.path(name)), 0o755))
	must(t, os.WriteFile(w.path(name), []byte(text), 0o644))
}

func (w *world) remove(t testing.TB, name string) {
	t.Helper()
	must(t, os.RemoveAll(w.path(name)))
}

// is fails the test where a file holds something else; "-" is no file.
func (w *world) is(t testing.TB, name, want string) {
	t.Helper()
	b, err := os.ReadFile(w.path(name))
	got := string(b)
	if err != nil {
		got = "-"
	}
	if got != want {
		t.Errorf("%s holds %.60q, want %.60q", name, got, want)
	}
}

// A call is what a tool or command says it touches, and does.
func (w *world) intent(effect jackline.Effect, kind string, names ...string) jackline.Intent {
	w.calls++
	i := jackline.Intent{Actor: w.who, Call: jackline.CallID(fmt.Sprintf("c_%d", w.calls)), Effect: effect}
	for _, n := range names {
		i.Touches = append(i.Touches, jackline.Touch{Effect: effect, Kind: kind, Name: n})
	}
	return i
}

// before is the first half of a call: what is on the disk when it begins.
func (w *world) before(t testing.TB, i jackline.Intent) {
	t.Helper()
	rows, err := w.keeper.Before(t.Context(), i)
	must(t, err)
	w.append(t, rows)
}

func (w *world) append(t testing.TB, rows []jackline.Snapshot) {
	t.Helper()
	_, err := w.db.Append(t.Context(), owner, jackline.Record{Session: w.who.Session.ID, Snapshots: rows})
	must(t, err)
}

func (w *world) after(t testing.TB, call jackline.CallID) tool.Kept {
	t.Helper()
	k, err := w.keeper.After(t.Context(), w.who, call)
	must(t, err)
	w.append(t, k.Rows)
	return k
}

// edits is a call of a file tool.
func (w *world) edits(t testing.TB, do func(), names ...string) tool.Kept {
	t.Helper()
	i := w.intent(jackline.Write, "path", names...)
	w.before(t, i)
	do()
	return w.after(t, i.Call)
}

// runs is a command.
func (w *world) runs(t testing.TB, do func()) tool.Kept {
	t.Helper()
	i := w.intent(jackline.Exec, "command", "make")
	w.before(t, i)
	do()
	return w.after(t, i.Call)
}

// undo takes a unit back, and gives "path state" of each file.
func (w *world) undo(t testing.TB, unit string, o undo.Options) (id string, got []string) {
	t.Helper()
	r, err := w.keeper.Undo(t.Context(), w.who, unit, o)
	must(t, err)
	for _, f := range r.Files {
		got = append(got, f.Path+" "+string(f.State))
	}
	return r.ID, got
}

func same(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFileTools(t *testing.T) {
	w := newWorld(t, map[string]string{"a.txt": "one\n", "sub/b.txt": "two\n", "old/x": "x", "old/deep/y": "y"})
	must(t, os.Chmod(w.path("a.txt"), 0o600))
	w.edits(t, func() { w.write(t, "a.txt", "ONE\n") }, "a.txt")
	w.edits(t, func() { w.write(t, "a.txt", "1\n") }, "a.txt") // the first state counts
	w.edits(t, func() { w.write(t, "new/folder/c.txt", "three\n") }, "new/folder/c.txt")
	w.edits(t, func() { w.remove(t, "sub/b.txt") }, "sub/b.txt")
	w.edits(t, func() { must(t, os.Rename(w.path("old"), w.path("moved"))) }, "old", "moved")

	files, err := w.keeper.Changes(t.Context(), w.who, "t_one")
	must(t, err)
	var got []string
	for _, f := range files {
		got = append(got, fmt.Sprintf("%s %s %s %s +%d -%d", f.Path, f.Change, f.Does, f.State, f.Added, f.Gone))
	}
	same(t, got,
		"a.txt edit restore ready +1 -1",
		"moved create delete ready +0 -0",
		"moved/deep create delete ready +0 -0",
		"moved/deep/y create delete ready +1 -0",
		"moved/x create delete ready +1 -0",
		"new create delete ready +0 -0",
		"new/folder create delete ready +0 -0",
		"new/folder/c.txt create delete ready +1 -0",
		"old delete restore ready +0 -0",
		"old/deep delete restore ready +0 -0",
		"old/deep/y delete restore ready +0 -1",
		"old/x delete restore ready +0 -1",
		"sub/b.txt delete restore ready +0 -1",
	)
	if want := "@@ -1 +1 @@\n-one\n+1\n"; files[0].Patch != want {
		t.Errorf("patch %q", files[0].Patch)
	}
	// A dry run does nothing.
	w.undo(t, "t_one", undo.Options{Dry: true})
	w.is(t, "a.txt", "1\n")

	id, states := w.undo(t, "t_one", undo.Options{By: "cli"})
	for _, s := range states {
		if !strings.HasSuffix(s, " done") {
			t.Error(s)
		}
	}
	w.is(t, "a.txt", "one\n")
	w.is(t, "sub/b.txt", "two\n")
	w.is(t, "old/deep/y", "y")
	w.is(t, "old/x", "x")
	for _, gone := range []string{"new", "moved"} {
		if _, err := os.Lstat(w.path(gone)); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
	if info, err := os.Stat(w.path("a.txt")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	// The undo is an event, and the model is told.
	events, err := w.db.Events(t.Context(), owner, w.who.Session.ID, 0, 0)
	must(t, err)
	if last := events[len(events)-1]; last.Type != "undo" || last.Turn != "t_one" || !strings.Contains(string(last.Data), id) {
		t.Errorf("%s %s", last.Type, last.Data)
	}

	// Again there is nothing to do, and the undo itself can be undone.
	_, states = w.undo(t, "t_one", undo.Options{})
	for _, s := range states {
		if !strings.HasSuffix(s, " already") {
			t.Error(s)
		}
	}
	_, states = w.undo(t, id, undo.Options{})
	for _, s := range states {
		if !strings.HasSuffix(s, " done") {
			t.Error(s)
		}
	}
	w.is(t, "a.txt", "1\n")
	w.is(t, "new/folder/c.txt", "three\n")
	w.is(t, "sub/b.txt", "-")
	w.is(t, "moved/deep/y", "y")
	w.is(t, "old/x", "-")
}

func TestCommands(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "a\n", "b": "b\n", "bin": "\x00\x01", "d/c": "c\n", "node_modules/m/x": "x", ".env": "SECRET=1"})
	kept := w.runs(t, func() {
		w.write(t, "a", "A\n")
		w.remove(t, "b")
		w.write(t, "bin", "\x00\x02")
		w.write(t, "made/e", "e\n")
		w.write(t, "node_modules/m/x", "y")
		w.write(t, ".env", "SECRET=2")
		must(t, os.Chmod(w.path("d/c"), 0o755))
	})
	var got []string
	for _, c := range kept.Changes {
		got = append(got, fmt.Sprintf("%s %s +%d -%d", c.Path, c.Change, c.Added, c.Gone))
	}
	same(t, got, "a edit +1 -1", "b delete +0 -1", "bin edit +0 -0", "d/c edit +0 -0", "made/e create +1 -0")
	if kept.Note != "" {
		t.Error(kept.Note)
	}
	// A second command of the turn goes on from there.
	kept = w.runs(t, func() { w.write(t, "a", "AA\n"); w.write(t, "f", "f") })
	if len(kept.Changes) != 2 {
		t.Errorf("%+v", kept.Changes)
	}
	// And one that only reads is not looked at.
	i := w.intent(jackline.Exec, "command", "ls")
	if rows, err := w.keeper.Before(t.Context(), i); err != nil || rows != nil {
		t.Errorf("%v %v", rows, err)
	}
	_, states := w.undo(t, "t_one", undo.Options{})
	same(t, states, "a done", "b done", "bin done", "d/c done", "f done", "made done", "made/e done")
	w.is(t, "a", "a\n")
	w.is(t, "b", "b\n")
	w.is(t, "bin", "\x00\x01")
	w.is(t, "made/e", "-")
	w.is(t, "f", "-")
	w.is(t, "node_modules/m/x", "y")
	w.is(t, ".env", "SECRET=2")
	if info, err := os.Stat(w.path("d/c")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestLaterEditsAreConflicts(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "1", "b": "1", "c": "1"})
	w.edits(t, func() { w.write(t, "a", "2"); w.write(t, "b", "2"); w.remove(t, "c"); w.write(t, "d", "2") }, "a", "b", "c", "d")
	w.write(t, "a", "a person's")
	w.remove(t, "b")
	w.write(t, "c", "a new one")
	w.write(t, "d", "3")
	_, states := w.undo(t, "t_one", undo.Options{})
	same(t, states, "a conflict", "b conflict", "c conflict", "d conflict")
	w.is(t, "a", "a person's")
	// A second, explicit choice goes over it, file by file, and can be undone.
	id, states := w.undo(t, "t_one", undo.Options{Force: true, Paths: []string{"a", "d"}})
	same(t, states, "a done", "d done")
	w.is(t, "a", "1")
	w.is(t, "d", "-")
	w.is(t, "c", "a new one")
	_, states = w.undo(t, id, undo.Options{})
	same(t, states, "a done", "d done")
	w.is(t, "a", "a person's")
	w.is(t, "d", "3")
	_, err := w.keeper.Undo(t.Context(), w.who, "t_one", undo.Options{Paths: []string{"nothing"}})
	if jackline.KindOf(err) != jackline.NotFound {
		t.Error(err)
	}
}

// Turns are taken back one after the other, the last one first.
func TestTurnsAboveEachOther(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "1"})
	w.edits(t, func() { w.write(t, "a", "2") }, "a")
	w.who.Turn.ID = "t_two"
	w.runs(t, func() { w.write(t, "a", "3") })
	_, states := w.undo(t, "t_one", undo.Options{})
	same(t, states, "a conflict")
	_, states = w.undo(t, "t_two", undo.Options{})
	same(t, states, "a done")
	_, states = w.undo(t, "t_one", undo.Options{})
	same(t, states, "a done")
	w.is(t, "a", "1")
}

// The program dies between what it kept and what a call did, or after that.
func TestCrash(t *testing.T) {
	for _, wrote := range []bool{false, true} {
		for _, command := range []bool{false, true} {
			t.Run(fmt.Sprintf("wrote=%v command=%v", wrote, command), func(t *testing.T) {
				w := newWorld(t, map[string]string{"a": "1", "b": "1"})
				i := w.intent(jackline.Write, "path", "a", "new/c")
				if command {
					i = w.intent(jackline.Exec, "command", "make")
				}
				w.before(t, i)
				if wrote {
					w.write(t, "a", "2")
					w.write(t, "new/c", "2")
				}
				w.close(t)
				w.open(t)
				if !command {
					// Before anybody has looked, nobody knows who wrote it.
					_, states := w.undo(t, "t_one", undo.Options{Dry: true})
					if wrote && !slices.Contains(states, "a conflict") {
						t.Errorf("%q", states)
					}
				}
				w.after(t, i.Call)
				_, states := w.undo(t, "t_one", undo.Options{})
				if !wrote {
					same(t, states)
					return
				}
				same(t, states, "a done", "new done", "new/c done")
				w.is(t, "a", "1")
				w.is(t, "new/c", "-")
			})
		}
	}
}

func TestLinksAndOddThings(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "1", "d/x": "x"})
	must(t, os.Symlink("a", w.path("l")))
	must(t, os.Symlink("/etc/passwd", w.path("out")))
	must(t, os.WriteFile(w.path("ro"), []byte("ro"), 0o444))
	must(t, os.Link(w.path("d/x"), w.path("hard")))
	w.runs(t, func() {
		w.remove(t, "l")
		w.write(t, "l", "a file now")
		w.remove(t, "out")
		w.remove(t, "d")
		w.write(t, "d", "a file instead of a folder")
		w.remove(t, "ro")
	})
	_, states := w.undo(t, "t_one", undo.Options{})
	same(t, states, "d done", "d/x done", "l done", "out done", "ro done")
	for name, want := range map[string]string{"l": "a", "out": "/etc/passwd"} {
		if got, err := os.Readlink(w.path(name)); err != nil || got != want {
			t.Errorf("%s leads to %q, %v", name, got, err)
		}
	}
	w.is(t, "a", "1")
	w.is(t, "d/x", "x")
	w.is(t, "ro", "ro")
	if info, _ := os.Stat(w.path("ro")); info.Mode().Perm() != 0o444 {
		t.Error(info.Mode())
	}
}

// A folder on the way that became a link leads nowhere.
func TestLinkOnTheWay(t *testing.T) {
	w := newWorld(t, map[string]string{"d/a": "1", "other/a": "mine"})
	w.edits(t, func() { w.write(t, "d/a", "2") }, "d/a")
	w.remove(t, "d")
	must(t, os.Symlink("other", w.path("d")))
	for _, force := range []bool{false, true} {
		_, states := w.undo(t, "t_one", undo.Options{Force: force})
		if len(states) != 1 || strings.HasSuffix(states[0], "done") {
			t.Errorf("%q", states)
		}
		w.is(t, "other/a", "mine")
	}
}

func TestLimits(t *testing.T) {
	w := newWorld(t, map[string]string{"small": "1"})
	big := strings.Repeat("x", undo.MaxFile+1)
	w.write(t, "big", big)
	cover, err := w.keeper.Cover(t.Context(), w.intent(jackline.Exec, "command", "make"))
	must(t, err)
	if !strings.Contains(cover, "big (over 32 MiB)") || !strings.Contains(cover, "protected") {
		t.Error(cover)
	}
	cover, err = w.keeper.Cover(t.Context(), w.intent(jackline.Write, "path", "small"))
	must(t, err)
	if cover != "Can be undone: jackline sessions undo, or the page." {
		t.Error(cover)
	}
	kept := w.runs(t, func() { w.write(t, "big", big+"y"); w.write(t, "small", "2"); w.write(t, "big2", big) })
	if !strings.Contains(kept.Note, "the change of 1 file cannot be undone: it is larger than 32 MiB") || strings.Contains(kept.Note, "big") {
		t.Errorf("%q", kept.Note)
	}
	for _, c := range kept.Changes {
		if (c.Lost != "") != (c.Path == "big") {
			t.Errorf("%+v", c)
		}
	}
	_, states := w.undo(t, "t_one", undo.Options{})
	same(t, states, "big cannot", "big2 conflict", "small done") // to delete big2 would be for good
	_, states = w.undo(t, "t_one", undo.Options{Force: true})
	same(t, states, "big cannot", "big2 done", "small already")
}

// What is swept with a session leaves nothing.
func TestSwept(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "1"})
	w.runs(t, func() { w.write(t, "a", "2") })
	files, err := os.ReadDir(filepath.Join(w.data, "undo"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	must(t, w.db.DeleteSession(t.Context(), owner, w.who.Session.ID))
	files, err = os.ReadDir(filepath.Join(w.data, "undo"))
	if err != nil || len(files) != 0 {
		t.Error(files, err)
	}
}

// What is kept is sealed.
func TestSealed(t *testing.T) {
	w := newWorld(t, map[string]string{"a-telling-name": "what nobody else may read"})
	w.runs(t, func() { w.write(t, "a-telling-name", "2") })
	must(t, filepath.WalkDir(filepath.Join(w.data), func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		if strings.Contains(string(b), "nobody else") || strings.Contains(string(b), "telling-name") {
			t.Errorf("%s holds it", p)
		}
		return err
	}))
}

// A folder with more in it than is told apart is moved all the same. That it cannot be undone is said before and after, and half
// of it is never moved back.
func TestVeryManyFiles(t *testing.T) {
	w := newWorld(t, nil)
	for i := range 5001 {
		w.write(t, fmt.Sprintf("many/%d", i), "")
	}
	w.write(t, "a", "1")
	i := w.intent(jackline.Write, "path", "many", "moved", "a")
	cover, err := w.keeper.Cover(t.Context(), i)
	must(t, err)
	if !strings.Contains(cover, "many (it holds more than 5000 files)") {
		t.Error(cover)
	}
	w.before(t, i)
	must(t, os.Rename(w.path("many"), w.path("moved")))
	w.write(t, "a", "2")
	if kept := w.after(t, i.Call); kept.Note != "the changes of 2 files cannot be undone" || len(kept.Rows) != 3 {
		t.Errorf("%q, %d rows", kept.Note, len(kept.Rows))
	}
	_, states := w.undo(t, "t_one", undo.Options{Force: true})
	same(t, states, "a done", "many cannot", "moved cannot")
	w.is(t, "moved/17", "")
	// A command that does as much is told apart as far as that goes.
	w.who.Turn.ID = "t_two"
	kept := w.runs(t, func() { w.remove(t, "moved") })
	if !strings.Contains(kept.Note, "more than 5000 files") {
		t.Error(kept.Note)
	}
}

// What was there and was not looked at is never taken for new.
func TestOldFilesAreNotNew(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "1", "hidden/b": "old"})
	must(t, os.Chtimes(w.path("hidden/b"), time.Unix(1e9, 0), time.Unix(1e9, 0)))
	if os.Getuid() == 0 {
		t.Log("as root no folder is unreadable: only the times of files are tried")
	}
	must(t, os.Chmod(w.path("hidden"), 0o000))
	kept := w.runs(t, func() { must(t, os.Chmod(w.path("hidden"), 0o755)) })
	for _, c := range kept.Changes {
		if c.Path == "hidden/b" {
			t.Errorf("%+v", c)
		}
	}
	w.undo(t, "t_one", undo.Options{Force: true})
	must(t, os.Chmod(w.path("hidden"), 0o755))
	w.is(t, "hidden/b", "old")
}

// An undo stands in the audit as a person's act: one line before it begins and one after it, and no name of a file. To look at what it
// would do leaves none.
func TestUndoIsAudited(t *testing.T) {
	w := newWorld(t, map[string]string{"secret-plan.txt": "1", "b": "1"})
	w.before(t, w.intent(jackline.Write, "path", "secret-plan.txt", "b"))
	w.write(t, "secret-plan.txt", "2")
	w.write(t, "b", "2")
	kept, err := w.keeper.After(t.Context(), w.who, "c_1")
	must(t, err)
	w.append(t, kept.Rows)
	w.who.Source = jackline.FromUser
	lines := func() (all []jackline.AuditEntry) {
		t.Helper()
		list, err := w.db.Audit(t.Context(), owner, jackline.AuditQuery{Oldest: true})
		must(t, err)
		for _, e := range list {
			if e.Kind == jackline.AuditUndoing || e.Kind == jackline.AuditUndone {
				all = append(all, e)
			}
		}
		return all
	}
	w.undo(t, "t_one", undo.Options{Dry: true, By: "cli"})
	if got := lines(); len(got) != 0 {
		t.Errorf("looking left %+v", got)
	}
	w.write(t, "b", "changed since")
	id, states := w.undo(t, "t_one", undo.Options{By: "cli"})
	if len(states) != 2 || id == "" {
		t.Fatal(id, states)
	}
	again, _ := w.undo(t, id, undo.Options{By: "page"})
	got := lines()
	if len(got) != 4 || again == "" {
		t.Fatalf("%d lines: %+v", len(got), got)
	}
	for k, want := range []struct {
		kind          jackline.AuditKind
		by, what, out string
		turn          jackline.TurnID
	}{
		{jackline.AuditUndoing, "cli", "t_one", "", "t_one"}, {jackline.AuditUndone, "cli", "t_one", "error", "t_one"},
		{jackline.AuditUndoing, "page", id, "", ""}, {jackline.AuditUndone, "page", id, "ok", ""},
	} {
		e := got[k]
		if e.Kind != want.kind || e.By != want.by || e.What != want.what || e.Outcome != want.out || e.Turn != want.turn ||
			e.Source != jackline.FromUser || e.Session != w.who.Session.ID || e.Args == "" {
			t.Errorf("%d: %+v", k, e)
		}
		if strings.Contains(fmt.Sprintf("%+v", e), "secret-plan") {
			t.Errorf("%d names a file: %+v", k, e)
		}
	}
}

// A file whose name no tool may use, which a command has made or changed, keeps no other from being taken back.
func TestOddNames(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "1", "b\x1b[2J": "1"})
	w.runs(t, func() {
		w.write(t, "a", "2")
		w.write(t, "b\x1b[2J", "2")
		w.write(t, "c\u202etxt", "2")
	})
	_, states := w.undo(t, "t_one", undo.Options{})
	same(t, states, "a done", "b\x1b[2J cannot", "c\u202etxt cannot")
	w.is(t, "a", "1")
}
