package builtin

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/diff"
)

func TestApplyPatch(t *testing.T) {
	base := map[string]string{"a.txt": "one\ntwo\nthree\nfour\nfive\n", "src/b.txt": "x\ny\nx\ny\n", "win": "a\r\nb\r\nc\r\n", "end": "a\nb"}
	for _, c := range []struct {
		name, patch string
		want        map[string]string // "" is absent
		fail        string
	}{
		{"marked", "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n three\n*** End Patch\n", map[string]string{"a.txt": "one\n2\nthree\nfour\nfive\n"}, ""},
		{"fenced", "```diff\n--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n```", map[string]string{"a.txt": "one\n2\nthree\nfour\nfive\n"}, ""},
		{"wrong numbers", "--- a.txt\n+++ a.txt\n@@ -90,1 +90,7 @@\n four\n-five\n+5\n+6\n", map[string]string{"a.txt": "one\ntwo\nthree\nfour\n5\n6\n"}, ""},
		{"closest", "--- a/src/b.txt\n+++ b/src/b.txt\n@@ -3,2 +3,2 @@\n-x\n+z\n y\n", map[string]string{"src/b.txt": "x\ny\nz\ny\n"}, ""},
		{"ambiguous", "*** Begin Patch\n*** Update File: src/b.txt\n-x\n+z\n y\n*** End Patch", nil, "lines 1, 3"},
		{"two hunks", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1,2 @@\n one\n+one and a half\n@@ -5 +6 @@\n-five\n+5\n", map[string]string{"a.txt": "one\none and a half\ntwo\nthree\nfour\n5\n"}, ""},
		{"near", "*** Begin Patch\n*** Update File: src/b.txt\n@@ y\n-x\n+z\n*** End Patch", map[string]string{"src/b.txt": "x\ny\nz\ny\n"}, ""},
		{"end of file", "*** Begin Patch\n*** Update File: src/b.txt\n@@\n-y\n+z\n*** End of File\n*** End Patch", map[string]string{"src/b.txt": "x\ny\nx\nz\n"}, ""},
		{"add, delete, move", "*** Begin Patch\n*** Add File: n/new.txt\n+hi\n+\n+there\n*** Delete File: a.txt\n*** Update File: src/b.txt\n*** Move to: src/c.txt\n@@\n-x\n+X\n y\n x\n*** End Patch",
			map[string]string{"n/new.txt": "hi\n\nthere\n", "a.txt": "", "src/b.txt": "", "src/c.txt": "X\ny\nx\ny\n"}, ""},
		{"git", "diff --git a/a.txt b/a.txt\nindex 1..2 100644\n--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@ func\n-one\n+1\n two\ndiff --git a/z b/z\nnew file mode 100644\n--- /dev/null\n+++ b/z\n@@ -0,0 +1,2 @@\n+z\n+z\n" +
			"diff --git a/win b/win\ndeleted file mode 100644\n--- a/win\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n",
			map[string]string{"a.txt": "1\ntwo\nthree\nfour\nfive\n", "z": "z\nz\n", "win": ""}, ""},
		{"git rename", "diff --git a/a.txt b/q.txt\nsimilarity index 100%\nrename from a.txt\nrename to q.txt\n", map[string]string{"a.txt": "", "q.txt": base["a.txt"]}, ""},
		{"line ends stay", "--- a/win\n+++ b/win\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", map[string]string{"win": "a\r\nB\r\nc\r\n"}, ""},
		{"no line end stays", "--- a/end\n+++ b/end\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n", map[string]string{"end": "a\nB"}, ""},
		{"line end comes", "--- a/end\n+++ b/end\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+B\n", map[string]string{"end": "a\nB\n"}, ""},
		{"line after the last", "--- a/end\n+++ b/end\n@@ -1,2 +1,3 @@\n a\n b\n+c\n", map[string]string{"end": "a\nb\nc"}, ""},
		{"insert only", "--- a/a.txt\n+++ b/a.txt\n@@ -2,0 +3 @@\n+two and a half\n", map[string]string{"a.txt": "one\ntwo\ntwo and a half\nthree\nfour\nfive\n"}, ""},
		{"append", "*** Begin Patch\n*** Update File: a.txt\n@@\n+six\n*** End Patch", map[string]string{"a.txt": "one\ntwo\nthree\nfour\nfive\nsix\n"}, ""},
		{"blanks aside", "*** Begin Patch\n*** Update File: a.txt\n@@\n one  \n-two\t\n+2\n*** End Patch", map[string]string{"a.txt": "one\n2\nthree\nfour\nfive\n"}, ""},
		{"minus lines", "*** Begin Patch\n*** Add File: m\n+-- x\n+++ y\n*** End Patch", map[string]string{"m": "-- x\n++ y\n"}, ""},
		{"mail", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n-- \n2.40\n", map[string]string{"a.txt": "1\ntwo\nthree\nfour\nfive\n"}, ""},

		{"all or nothing", "*** Begin Patch\n*** Add File: new\n+x\n*** Update File: a.txt\n@@\n-nowhere to be found\n+x\n*** End Patch", map[string]string{"new": ""}, "not found"},
		{"cut off", "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2", nil, "does not end"},
		{"add onto a file", "*** Begin Patch\n*** Add File: a.txt\n+x\n*** End Patch", nil, "exists already"},
		{"missing", "*** Begin Patch\n*** Update File: b.txt\n@@\n-x\n+y\n*** End Patch", nil, "src/b.txt"},
		{"protected", "*** Begin Patch\n*** Add File: .git/hooks/x\n+x\n*** End Patch", nil, "protected"},
		{"outside", "--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", nil, "outside"},
		{"nothing", "hello", nil, "no file"},
		{"empty", "", nil, "no file"},
		{"binary", "diff --git a/x b/x\nBinary files a/x and b/x differ\n", nil, "binary"},
		{"partial delete", "--- a/a.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n", nil, "does not hold all"},
		{"junk", "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n2\n*** End Patch", nil, "lines start with"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWork(t, base)
			if c.fail != "" {
				w.fails(t, "apply_patch", m{"patch": c.patch}, c.fail)
			} else {
				w.ok(t, "apply_patch", m{"patch": c.patch})
			}
			for name, text := range base {
				if want, changed := c.want[name]; changed {
					text = want
				}
				if text == "" {
					w.absent(t, name)
				} else if got := w.file(t, name); got != text {
					t.Errorf("%s: %q, want %q", name, got, text)
				}
			}
			for name, text := range c.want {
				if text == "" {
					w.absent(t, name)
				} else if got := w.file(t, name); got != text {
					t.Errorf("%s: %q, want %q", name, got, text)
				}
			}
		})
	}
}

func TestApplyPatchTakesBackWhatItDid(t *testing.T) {
	w := newWork(t, map[string]string{"a": "1\n", "d/b": "2\n", "c": "3\n"})
	// The second file cannot be written: its folder takes no new files.
	if os.Getuid() == 0 {
		must(t, os.Link(filepath.Join(w.dir, "d/b"), filepath.Join(w.dir, "d/other")))
	}
	must(t, os.Chmod(filepath.Join(w.dir, "d"), 0o555))
	t.Cleanup(func() { must(t, os.Chmod(filepath.Join(w.dir, "d"), 0o755)) })
	patch := "*** Begin Patch\n*** Delete File: c\n*** Update File: a\n@@\n-1\n+one\n*** Update File: d/b\n@@\n-2\n+two\n*** Add File: e\n+5\n*** End Patch"
	w.fails(t, "apply_patch", m{"patch": patch})
	if w.file(t, "a") != "1\n" || w.file(t, "c") != "3\n" || w.file(t, "d/b") != "2\n" {
		t.Error("something is left of the patch")
	}
	w.absent(t, "e")
}

func TestApplyPatchTouches(t *testing.T) {
	w := newWork(t, map[string]string{"a": "1\n", "b": "2\n"})
	w.ok(t, "apply_patch", m{"patch": "*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** End Patch"})
	if got := w.Judge.Last(); got.Effect != jackline.Write || got.Title != "Patch a" {
		t.Errorf("%v %s", got.Effect, got.Title)
	}
	r := w.ok(t, "apply_patch", m{"patch": "*** Begin Patch\n*** Delete File: b\n*** Update File: a\n@@\n-2\n+3\n*** End Patch"})
	if got := w.Judge.Last(); got.Effect != jackline.Write|jackline.Delete || len(got.Touches) != 2 {
		t.Errorf("%v", got)
	}
	if len(r.Changes) != 2 || r.Changes[0] != (jackline.Change{Path: "b", Change: "delete", Gone: 1}) || len(r.View.Files) != 2 {
		t.Errorf("%+v", r.Changes)
	}
}

// What diff.Of finds, written as a patch, makes one text of the other.
func TestDiffsApply(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	text := func() string {
		var b strings.Builder
		for range rng.IntN(30) {
			fmt.Fprintf(&b, "%c\n", 'a'+rng.IntN(5))
		}
		s := b.String()
		if rng.IntN(3) == 0 {
			s = strings.TrimSuffix(s, "\n")
		}
		return s
	}
	for range 3000 {
		a, b := text(), text()
		d := diff.Of("f", "edit", a, b)
		if d.Patch == "" {
			if a != b {
				t.Fatalf("no difference between %q and %q", a, b)
			}
			continue
		}
		files, err := parsePatch("--- a/f\n+++ b/f\n" + d.Patch)
		if err != nil {
			t.Fatalf("%v: %q", err, d.Patch)
		}
		got, m := patchText(a, files[0].hunks)
		if m != nil || got != b {
			t.Fatalf("%q to %q by %q: %q %+v", a, b, d.Patch, got, m)
		}
	}
}

func FuzzPatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n@@ x\n-b\n+c\n*** End of File\n*** End Patch", "a\nb\n")
	f.Add("--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n a\n-b\n\\ No newline at end of file\n", "a\nb")
	f.Add("diff --git a/x b/y\nrename from x\nrename to y\n", "")
	f.Add("@@\n", "")
	f.Fuzz(func(t *testing.T, patch, body string) {
		files, err := parsePatch(patch)
		if err != nil {
			if jackline.KindOf(err) != jackline.Unprocessed {
				t.Errorf("%v", err)
			}
			return
		}
		for _, p := range files {
			after, m := patchText(body, p.hunks)
			if m == nil && strings.Count(after, "\n") > strings.Count(body, "\n")+strings.Count(patch, "\n")+1 {
				t.Errorf("%q on %q gives %q", patch, body, after)
			}
		}
	})
}
