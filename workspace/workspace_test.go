//go:build unix

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jackline-ai/jackline"
)

func opened(t *testing.T) *tree {
	w := newTree(t)
	w.open(t)
	return w
}

func denied(t *testing.T, err error, k jackline.Kind, words string) {
	t.Helper()
	if err == nil || jackline.KindOf(err) != k || !strings.Contains(jackline.Say(err), words) {
		t.Errorf("%v, want %v with %q", err, k, words)
	}
}

func TestTouch(t *testing.T) {
	w := opened(t)
	must(t, os.Symlink("src", filepath.Join(w.ws, "s")))
	must(t, os.Symlink("../outside", filepath.Join(w.ws, "out")))
	must(t, os.Symlink(".env", filepath.Join(w.ws, "e")))
	put(t, filepath.Join(w.ws, ".env"), "K=v")
	for _, c := range []struct {
		effect  jackline.Effect
		path    string
		name    string
		exists  bool
		refused string
	}{
		{jackline.Read, "a.txt", "a.txt", true, ""},
		{jackline.Read, "./src//main.go", "src/main.go", true, ""},
		{jackline.Write, "s/new/x", "src/new/x", false, ""},
		{jackline.Write, "s/main.go", "src/main.go", true, ""},
		{jackline.Delete, "s", "s", true, ""},
		{jackline.Delete, "out", "out", true, ""},
		{jackline.Read, w.ws + "/a.txt", "a.txt", true, ""},
		{jackline.Read, ".", ".", true, ""},
		{jackline.Read, "out/secret.txt", "out/secret.txt", false, "outside"},
		{jackline.Read, "e", "e", false, "protected"},
		{jackline.Read, ".env", ".env", false, "protected"},
		{jackline.Write, "nosuch/.git/x", "nosuch/.git/x", false, "protected"},
		{jackline.Read, "../x", "../x", false, "outside"},
		{jackline.Read, "/etc/passwd", "/etc/passwd", false, "outside"},
		{jackline.Read, "a\x1bb", "a\ufffdb", false, "control"},
		{jackline.Read, "nosuch/../../x", "nosuch/../../x", false, "outside"},
		{jackline.Read, "nosuch/../x", "x", false, ""},
		{jackline.Read, "a.txt/x", "a.txt/x", false, ""},
	} {
		got := w.root.Touch(c.effect, c.path)
		if len(got) != 1 || got[0].Name != c.name || got[0].Exists != c.exists || got[0].Effect != c.effect || got[0].Kind != "path" ||
			(got[0].Refused == "") != (c.refused == "") || !strings.Contains(got[0].Refused, c.refused) {
			t.Errorf("%v %q: %+v", c.effect, c.path, got)
		}
	}
}

func TestStateFoldersAreProtected(t *testing.T) {
	w := newTree(t)
	state := filepath.Join(w.ws, "inner", "state")
	put(t, filepath.Join(state, "db"), "CANARY")
	must(t, os.Symlink("inner/state", filepath.Join(w.ws, "l")))
	r, err := Open(w.ws, Options{State: []string{state, filepath.Join(w.ws, "nosuch")}})
	must(t, err)
	defer func() { must(t, r.Close()) }()
	for _, p := range []string{"inner/state/db", "l/db", "inner/state", "inner/../l"} {
		if _, err := r.Read(t.Context(), p); err == nil || jackline.KindOf(err) != jackline.Forbidden {
			t.Errorf("%s: %v", p, err)
		}
		if got := r.Touch(jackline.Read, p); got[0].Refused == "" {
			t.Errorf("%s: %+v", p, got)
		}
	}
	found, err := r.Grep(t.Context(), ".", Search{Pattern: "CANARY", Max: 10})
	if err != nil || len(found.Hits) > 0 {
		t.Errorf("%+v %v", found, err)
	}
	_, err = r.Delete(t.Context(), "inner", true)
	denied(t, err, jackline.Forbidden, "protected")
}

func TestReadLimits(t *testing.T) {
	w := opened(t)
	must(t, os.WriteFile(filepath.Join(w.ws, "big"), nil, 0o644))
	must(t, os.Truncate(filepath.Join(w.ws, "big"), MaxRead+1))
	_, err := w.root.Read(t.Context(), "big")
	denied(t, err, jackline.Unprocessed, "not read")
	must(t, os.Truncate(filepath.Join(w.ws, "big"), MaxRead))
	if _, err := w.root.Read(t.Context(), "big"); err != nil {
		t.Error(err)
	}
	must(t, mkfifo(filepath.Join(w.ws, "pipe")))
	for _, op := range []string{"read", "write", "edit"} {
		_, err := w.do(t.Context(), op, "pipe", "")
		denied(t, err, jackline.Forbidden, "regular")
	}
	if _, _, err := w.root.Glob(t.Context(), ".", "**", 10); err != nil {
		t.Error(err)
	}
	if f, err := w.root.Grep(t.Context(), ".", Search{Pattern: ".", Max: 10}); err != nil || f.Files == 0 {
		t.Error(f, err)
	}
	if err := os.Symlink("/dev/zero", filepath.Join(w.ws, "zero")); err != nil {
		t.Fatal(err)
	}
	_, err = w.root.Read(t.Context(), "zero")
	denied(t, err, jackline.Forbidden, "absolute")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := w.root.Read(ctx, "big"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := w.root.Grep(ctx, ".", Search{Pattern: "x"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestWriteIsAtomicAndKeepsTheMode(t *testing.T) {
	w := opened(t)
	must(t, os.Chmod(filepath.Join(w.ws, "a.txt"), 0o751))
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	done, err := w.root.Write(t.Context(), "a.txt", []byte("b"), WriteOptions{})
	must(t, err)
	if i, err := os.Stat(filepath.Join(w.ws, "a.txt")); err != nil || i.Mode().Perm() != 0o751 || done.Created || done.Path != "a.txt" {
		t.Errorf("%v %v %+v", i.Mode(), err, done)
	}
	done, err = w.root.Write(t.Context(), "n/m/new", []byte("b"), WriteOptions{Parents: true})
	must(t, err)
	if i, err := os.Stat(filepath.Join(w.ws, "n/m/new")); err != nil || i.Mode().Perm() != 0o640 || !done.Created {
		t.Errorf("%v %v %+v", i.Mode(), err, done)
	}
	_, err = w.root.Write(t.Context(), "o/new", nil, WriteOptions{})
	denied(t, err, jackline.NotFound, "make it first")
	_, err = w.root.Write(t.Context(), "a.txt", nil, WriteOptions{New: true})
	denied(t, err, jackline.Conflict, "exists")
	_, err = w.root.Write(t.Context(), "x", make([]byte, MaxWrite+1), WriteOptions{})
	denied(t, err, jackline.Unprocessed, "in parts")
	entries, err := os.ReadDir(w.ws)
	must(t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s is left", e.Name())
		}
	}
}

func TestWriteExpects(t *testing.T) {
	w := opened(t)
	seal, err := w.root.Seal(t.Context(), "a.txt")
	must(t, err)
	// The same text in another file is not the file that was seen.
	must(t, os.Rename(filepath.Join(w.ws, "a.txt"), filepath.Join(w.ws, "old")))
	put(t, filepath.Join(w.ws, "a.txt"), "a")
	_, err = w.root.Write(t.Context(), "a.txt", []byte("b"), WriteOptions{Expect: &seal})
	denied(t, err, jackline.Conflict, "changed")
	must(t, os.Rename(filepath.Join(w.ws, "old"), filepath.Join(w.ws, "a.txt")))
	if _, err := w.root.Write(t.Context(), "a.txt", []byte("b"), WriteOptions{Expect: &seal}); err != nil {
		t.Error(err)
	}
	must(t, os.Remove(filepath.Join(w.ws, "a.txt")))
	_, err = w.root.Write(t.Context(), "a.txt", []byte("b"), WriteOptions{Expect: &seal})
	denied(t, err, jackline.Conflict, "gone")
}

func TestTheRootStays(t *testing.T) {
	w := opened(t)
	for _, p := range []string{".", "./", "src/..", w.ws, w.ws + "/.", "src/../src/.."} {
		_, err := w.root.Delete(t.Context(), p, true)
		denied(t, err, jackline.Forbidden, "itself")
		_, err = w.root.Move(t.Context(), p, "x", true)
		denied(t, err, jackline.Forbidden, "itself")
		_, err = w.root.Move(t.Context(), "src", p, true)
		denied(t, err, jackline.Forbidden, "itself")
	}
	for _, p := range []string{"../ws/a.txt", w.ws + "/../ws/a.txt", w.ws + "-evil/x", "/", w.out, filepath.Dir(w.ws)} {
		_, err := w.root.Read(t.Context(), p)
		denied(t, err, jackline.Forbidden, "outside")
	}
	// The folder itself may be moved; what is open stays open.
	must(t, os.Rename(w.ws, w.ws+"2"))
	must(t, os.Symlink(w.out, w.ws))
	if f, err := w.root.Read(t.Context(), "a.txt"); err != nil || string(f.Data) != "a" {
		t.Errorf("%v", err)
	}
	if _, err := w.root.Read(t.Context(), w.ws+"/secret.txt"); jackline.KindOf(err) != jackline.NotFound {
		t.Errorf("%v", err)
	}
}

func TestLinksInside(t *testing.T) {
	w := opened(t)
	link := func(target, name string) { must(t, os.Symlink(target, filepath.Join(w.ws, name))) }
	link("../a.txt", "src/up")
	link("nosuch/deep", "dangling")
	link("src/", "slash")
	link("a.txt/", "fileslash")
	link("..", "src/parent")
	link("../..", "src/out")
	link("self", "self")
	link(".", "dot")
	for i := range maxLinks + 5 {
		link(fmt.Sprintf("l%d", i+1), fmt.Sprintf("l%d", i))
	}
	for path, want := range map[string]string{
		"src/up": "a", "slash/main.go": "package main", "src/parent/a.txt": "a", "dot/dot/dot/a.txt": "a", "src/parent/src/parent/a.txt": "a",
		"slash/../a.txt": "a", "l40": "", "fileslash": "!", "src/out/outside/secret.txt": "!", "src/out/ws/a.txt": "!", "self": "!", "l0": "!", "dangling": "!",
	} {
		if want == "" {
			continue
		}
		f, err := w.root.Read(t.Context(), path)
		if want == "!" {
			if err == nil {
				t.Errorf("%s is read", path)
			}
		} else if err != nil || string(f.Data) != want {
			t.Errorf("%s: %q %v", path, f.Data, err)
		}
	}
	if _, err := w.root.Write(t.Context(), "dangling", []byte("x"), WriteOptions{Parents: true}); err != nil || read(t, filepath.Join(w.ws, "nosuch/deep")) != "x" {
		t.Errorf("%v", err)
	}
	if i, err := os.Lstat(filepath.Join(w.ws, "dangling")); err != nil || i.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link was replaced")
	}
	if _, err := w.root.Delete(t.Context(), "self", false); err != nil {
		t.Error(err)
	}
	if to, err := w.root.Move(t.Context(), "dot", "src/dot2", false); err != nil || to != "src/dot2" {
		t.Error(to, err)
	}
}

func TestMoveOfOneFileUnderTwoNames(t *testing.T) {
	w := opened(t)
	must(t, os.Link(filepath.Join(w.ws, "a.txt"), filepath.Join(w.ws, "b.txt")))
	if _, err := w.root.Move(t.Context(), "a.txt", "b.txt", true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Join(w.ws, "a.txt")); err == nil || read(t, filepath.Join(w.ws, "b.txt")) != "a" {
		t.Error("the old name is still there")
	}
}

func TestTreesHaveLimits(t *testing.T) {
	w := opened(t)
	for i := range maxTree + 1 {
		put(t, filepath.Join(w.ws, "many", fmt.Sprint(i)), "")
	}
	_, err := w.root.Delete(t.Context(), "many", true)
	denied(t, err, jackline.Unprocessed, "not deleted at once")
	_, _, err = w.root.Copy(t.Context(), "many", "copy", false)
	denied(t, err, jackline.Unprocessed, "not copied at once")
	entries, err := os.ReadDir(filepath.Join(w.ws, "many"))
	if err != nil || len(entries) != maxTree+1 {
		t.Errorf("%d entries, %v", len(entries), err)
	}
	if _, err := os.Lstat(filepath.Join(w.ws, "copy")); err == nil {
		t.Error("a copy was begun")
	}
	deep := filepath.Join(w.ws, strings.Repeat("d/", maxDepth+10))
	must(t, os.MkdirAll(deep, 0o755))
	put(t, filepath.Join(deep, "CANARY"), "")
	if items, _, err := w.root.Glob(t.Context(), "d", "**/CANARY", 10); err != nil || len(items) > 0 {
		t.Errorf("%v %v", items, err)
	}
	_, err = w.root.Read(t.Context(), strings.Repeat("d/", maxDepth+10)+"CANARY")
	denied(t, err, jackline.Unprocessed, "too deep")
	_, err = w.root.Delete(t.Context(), "d", true)
	denied(t, err, jackline.Unprocessed, "too deep")
	if items, more, err := w.root.Glob(t.Context(), "many", "*", 7); err != nil || len(items) != 7 || !more {
		t.Errorf("%d %v %v", len(items), more, err)
	}
}

func TestGrepAround(t *testing.T) {
	w := opened(t)
	put(t, filepath.Join(w.ws, "f"), "1\n2\nhit\n4\n5\nhit\nhit\n8\n")
	found, err := w.root.Grep(t.Context(), "f", Search{Pattern: "hit", Max: 10, Around: 1})
	must(t, err)
	var lines []int
	for _, h := range found.Hits {
		lines = append(lines, h.Line)
	}
	if fmt.Sprint(lines) != "[2 3 4 5 6 7 8]" {
		t.Errorf("%v", found.Hits)
	}
	for pattern, want := range map[string]int{"^hit$": 3, `\Ahit`: 3, "^4": 1, "hit\n4": 0, "(?i)HIT": 3, "[": 0, "h.t|8": 4, `\d`: 5} {
		found, err := w.root.Grep(t.Context(), "f", Search{Pattern: pattern, Max: 100})
		if err != nil || len(found.Hits) != want {
			t.Errorf("%s: %d %v", pattern, len(found.Hits), err)
		}
	}
	if found, err := w.root.Grep(t.Context(), "f", Search{Pattern: "HIT", Fold: true, Max: 2}); err != nil || len(found.Hits) != 2 || !found.More {
		t.Errorf("%+v %v", found, err)
	}
}

// An accepted path never leads out, whatever it is.
func FuzzResolve(f *testing.F) {
	base, err := filepath.EvalSymlinks(f.TempDir())
	if err != nil {
		f.Fatal(err)
	}
	ws, out := filepath.Join(base, "ws"), filepath.Join(base, "outside")
	for _, d := range []string{filepath.Join(ws, "d", "e"), filepath.Join(ws, ".git"), out} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			f.Fatal(err)
		}
	}
	for name, target := range map[string]string{"l": "d/e", "up": "..", "d/u": "../..", "d/e/r": "../../d", "o": "../outside", "a": out, "g": ".git", "s": "s", "d/h": "../g"} {
		if err := os.Symlink(target, filepath.Join(ws, name)); err != nil {
			f.Fatal(err)
		}
	}
	r, err := Open(ws, Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = r.Close() })
	for _, s := range []string{"d/e/r/e/../../l", "up/x", "d/u/outside", "l/../../..", "a/x", "g/config", "d/h/x", "./d//e/.", "s/s", ws + "/d", ws + "/../outside", "nosuch/a/b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, follow := range []bool{true, false} {
			p, err := r.resolve(s, follow)
			if err != nil {
				continue
			}
			at, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", p.dir.fd()))
			if err != nil {
				t.Fatal(err)
			}
			if at != ws && !strings.HasPrefix(at, ws+"/") {
				t.Errorf("%q leads to %s", s, at)
			}
			if strings.Contains(p.name, "/") || p.name == ".." || p.name == "" {
				t.Errorf("%q leads to %q in %s", s, p.name, at)
			}
			for _, e := range append(split(p.full()), split(strings.TrimPrefix(at, ws))...) {
				if r.names.Protected(e) || e == ".." {
					t.Errorf("%q leads to %q in %s", s, p.full(), at)
				}
			}
			p.close()
		}
	})
}

// What a killed program had begun to write goes; what somebody still writes, and what only looks like it, stays.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	r, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{".jackline-DEAD.tmp", ".jackline-notes", "x.tmp"} {
		if err := errors.Join(os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o600), os.Chtimes(filepath.Join(dir, name), old, old)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := r.resolve("new", true)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	alive, err := p.dir.create(".jackline-ALIVE.tmp", newFile)
	if err != nil {
		t.Fatal(err)
	}
	left := func() string {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return strings.Join(names, " ")
	}
	if err := r.Sweep("."); err != nil || left() != ".jackline-ALIVE.tmp .jackline-notes x.tmp" {
		t.Errorf("%q %v", left(), err)
	}
	_ = alive.Close()
	if err := errors.Join(os.Chtimes(filepath.Join(dir, ".jackline-ALIVE.tmp"), old, old), r.Sweep(".")); err != nil || left() != ".jackline-notes x.tmp" {
		t.Errorf("%q %v", left(), err)
	}
	if err := r.Sweep("none"); err == nil {
		t.Error("a folder that is not there was swept")
	}
}
