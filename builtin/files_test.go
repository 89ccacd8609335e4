package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

func TestFileRead(t *testing.T) {
	w := newWork(t, map[string]string{
		"a.txt": "one\ntwo\nthree\n", "empty": "", "bin": "\x00\x01\x02", "latin": "caf\xe9\n", "src/main.go": "package main\n",
		"wide": "\xff\xfeh\x00i\x00\n\x00", "long": strings.Repeat("x", 5000), ".env": "K=v",
	})
	for _, c := range []struct {
		args m
		want string
	}{
		{m{"path": "a.txt"}, "1\tone\n2\ttwo\n3\tthree"},
		{m{"path": "a.txt", "from": 2}, "[lines 2-3 of 3]\n2\ttwo\n3\tthree"},
		{m{"path": "a.txt", "from": "2", "to": "2"}, "[lines 2-2 of 3]\n2\ttwo"},
		{m{"path": "a.txt", "from": -1}, "[lines 3-3 of 3]\n3\tthree"},
		{m{"path": "./a.txt", "to": 99}, "1\tone\n2\ttwo\n3\tthree"},
		{m{"path": "empty"}, "empty is empty."},
		{m{"path": "bin"}, "bin is no text but a binary file of 3 B."},
		{m{"path": "latin"}, "1\tcaf\ufffd"},
		{m{"path": "wide"}, "1\thi"},
	} {
		if r := w.ok(t, "file_read", c.args); r.Text != c.want {
			t.Errorf("%v: %q, want %q", c.args, r.Text, c.want)
		}
	}
	r := w.ok(t, "cat", m{"path": "a.txt"})
	if r.Source != jackline.Workspace || !r.Labels.Tainted || r.Origin != "file a.txt" || r.Title != "Read a.txt" {
		t.Errorf("labels and names: %+v", r)
	}
	if r := w.ok(t, "file_read", m{"path": "long"}); !strings.Contains(r.Text, "[3000 more characters]") {
		t.Errorf("long line: %q", r.Text)
	}
	w.fails(t, "file_read", m{"path": "a.txt", "from": 9}, "only 3 lines")
	w.fails(t, "file_read", m{"path": "a.txt", "from": 3, "to": 2}, "comes after")
	if r := w.fails(t, "file_read", m{"path": "main.go"}, "Did you mean", "src/main.go"); r.Source != jackline.Workspace {
		t.Errorf("names of files are labelled %v", r.Source)
	}
	if r := w.fails(t, "file_read", m{"path": "nosuch"}, "List the folder"); r.Source != jackline.Ours || r.Labels.Tainted || r.Labels.Private {
		t.Errorf("%+v %+v", r.Call, r.Labels)
	}
	w.fails(t, "file_read", m{"path": "src"}, "folder")
	w.fails(t, "file_read", m{"path": ".env"}, "protected")
	w.fails(t, "file_read", m{"path": "../x"}, "outside")
	w.fails(t, "file_read", m{"path": "/etc/passwd"}, "outside")
	w.fails(t, "file_read", m{}, "path")
}

func TestFileReadPagesByLines(t *testing.T) {
	w := newWork(t, map[string]string{"big": strings.Repeat("a line of text\n", 10_000)})
	w.Limit = 800
	r := w.ok(t, "file_read", m{"path": "big"})
	if len(r.Text) > 800 || r.Dropped != 0 || !strings.Contains(r.Text, "[more: read on with from=") {
		t.Errorf("%d characters, %d dropped: %s", len(r.Text), r.Dropped, r.Text)
	}
}

func TestFileReadIsCachedUntilTheFileChanges(t *testing.T) {
	w := newWork(t, map[string]string{"a": "1\n"})
	first := w.ok(t, "file_read", m{"path": "a"})
	if again := w.ok(t, "file_read", m{"path": "a"}); again.Cached != first.ID {
		t.Error("the second read did not come from the first")
	}
	if err := os.WriteFile(filepath.Join(w.dir, "a"), []byte("22\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := w.ok(t, "file_read", m{"path": "a"}); r.Cached != "" || r.Text != "1\t22" {
		t.Errorf("stale: %+v", r.Call)
	}
}

func TestFileWrite(t *testing.T) {
	w := newWork(t, map[string]string{"a.txt": "old\n", "win": "a\r\nb\r\n", "ro": "x"})
	must(t, os.Chmod(filepath.Join(w.dir, "ro"), 0o444))
	must(t, os.Chmod(filepath.Join(w.dir, "a.txt"), 0o600))
	r := w.ok(t, "file_write", m{"path": "new/deep/f.txt", "content": "hi\n"})
	if w.file(t, "new/deep/f.txt") != "hi\n" || r.Text != "Created new/deep/f.txt (+1 -0 lines)." || r.Source != jackline.Ours || r.Labels.Tainted {
		t.Errorf("%+v", r.Call)
	}
	if len(r.Changes) != 1 || r.Changes[0].Change != "create" || r.View.Shape != jackline.ViewDiff {
		t.Errorf("%+v %+v", r.Changes, r.View)
	}
	r = w.ok(t, "write_file", m{"path": "a.txt", "content": "new\n"})
	if r.Text != "Changed a.txt (+1 -1 lines)." || r.View.Files[0].Patch != "@@ -1 +1 @@\n-old\n+new\n" {
		t.Errorf("%s %+v", r.Text, r.View)
	}
	if i, err := os.Stat(filepath.Join(w.dir, "a.txt")); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("mode: %v %v", i, err)
	}
	w.ok(t, "file_write", m{"path": "a.txt", "content": "more\n", "append": true})
	if w.file(t, "a.txt") != "new\nmore\n" {
		t.Errorf("%q", w.file(t, "a.txt"))
	}
	w.ok(t, "file_write", m{"path": "win", "content": "c\nd\n"})
	if w.file(t, "win") != "c\r\nd\r\n" {
		t.Errorf("%q", w.file(t, "win"))
	}
	w.fails(t, "file_write", m{"path": "ro", "content": "y"}, "read-only")
	w.fails(t, "file_write", m{"path": "d/", "content": "y"}, "name of a file")
	w.fails(t, "file_write", m{"path": ".git/hooks/x", "content": "y"}, "protected")
	w.fails(t, "file_write", m{"path": "a.txt"}, "content")
	w.absent(t, ".git")
}

func TestWritesShowTheirDiffBeforehand(t *testing.T) {
	w := newWork(t, map[string]string{"a.txt": "one\ntwo\n"})
	w.Judge.Verdict = jackline.Ask
	w.Desk.Answer = nil
	r := w.ok(t, "file_edit", m{"path": "a.txt", "old": "two", "new": "2"})
	if r.Card == nil || r.Card.Card.View.Files[0].Patch != r.View.Files[0].Patch || r.View.Files[0].Patch == "" {
		t.Errorf("card %+v, view %+v", r.Card, r.View)
	}
	// What cannot work is not asked about.
	if r := w.fails(t, "file_edit", m{"path": "a.txt", "old": "nothing like it", "new": "2"}, "not found"); r.Card != nil {
		t.Error("a card was shown")
	}
	if got := w.file(t, "a.txt"); got != "one\n2\n" {
		t.Errorf("%q", got)
	}
}

func TestFileEdit(t *testing.T) {
	const text = "func a() {\n\treturn 1\n}\n\nfunc b() {\n\treturn 1\n}\n"
	for _, c := range []struct {
		name, before, old, new string
		all                    bool
		after, fail            string
	}{
		{"exact", text, "func a()", "func c()", false, strings.Replace(text, "func a()", "func c()", 1), ""},
		{"several", text, "return 1", "return 2", false, "", "lines 2, 6"},
		{"all", text, "return 1", "return 2", true, strings.ReplaceAll(text, "return 1", "return 2"), ""},
		{"blanks at ends", "a  \nb\t\nc\n", "a\nb", "x\ny", false, "x\ny\nc\n", ""},
		{"crlf", "a\r\nb\r\nc\r\n", "a\nb", "x\ny", false, "x\r\ny\r\nc\r\n", ""},
		{"mixed ends", "a\r\nb\nc\n", "a\nb", "x", false, "x\nc\n", ""},
		{"numbers copied", "a\nb\nc\n", "1\ta\n2\tb", "1\tx\n2\ty", false, "x\ny\nc\n", ""},
		{"no end of line", "a\nb", "b\n", "c\n", false, "a\nc", ""},
		{"delete lines", "a\nb\nc\n", "b\n", "", false, "a\nc\n", ""},
		{"none", text, "func zzz()", "x", false, "", "nearest"},
		{"nothing like it", text, "completely different", "x", false, "", "not found"},
		{"same", text, "func a()", "func a()", false, "", "same"},
		{"empty", text, "", "x", false, "", "empty"},
		{"empty file", "", "", "x\n", false, "x\n", ""},
		{"latin bytes stay", "caf\xe9 one\n", "one", "two", false, "caf\xe9 two\n", ""},
		{"binary", "\x00\x01", "a", "b", false, "", "binary"},
		{"mark stays", "\xef\xbb\xbfone\n", "one", "two", false, "\xef\xbb\xbftwo\n", ""},
		{"wide stays", "\xff\xfeo\x00n\x00e\x00", "one", "two", false, "\xff\xfet\x00w\x00o\x00", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWork(t, map[string]string{"f": c.before})
			args := m{"path": "f", "old": c.old, "new": c.new, "all": c.all}
			if c.fail != "" {
				w.fails(t, "file_edit", args, c.fail)
				c.after = c.before
			} else {
				w.ok(t, "file_edit", args)
			}
			if got := w.file(t, "f"); got != c.after {
				t.Errorf("%q, want %q", got, c.after)
			}
		})
	}
	w := newWork(t, map[string]string{"f": text})
	w.fails(t, "file_edit", m{"path": "nosuch", "old": "", "new": "x"}, "write it whole")
	// What a failure shows of the file makes it the file's text.
	if r := w.fails(t, "file_edit", m{"path": "f", "old": "func aa() {", "new": "x"}, "1\tfunc a() {"); r.Source != jackline.Workspace || !r.Labels.Private {
		t.Errorf("%+v %+v", r.Call, r.Labels)
	}
	if r := w.fails(t, "file_edit", m{"path": "f", "old": "return 1", "new": "x"}); r.Source != jackline.Ours {
		t.Errorf("%+v", r.Call)
	}
}

func TestMoveCopyDelete(t *testing.T) {
	w := newWork(t, map[string]string{
		"a.txt": "a", "b.txt": "b", "d/x.txt": "x", "d/sub/y.txt": "y", "k/.env": "secret", "k/z.txt": "z", "empty/": "",
	})
	r := w.ok(t, "mv", m{"from": "a.txt", "to": "n/a2.txt"})
	if w.file(t, "n/a2.txt") != "a" || r.Text != "Moved a.txt to n/a2.txt." {
		t.Errorf("%s", r.Text)
	}
	if got := w.Judge.Last(); got.Effect != jackline.Write || len(got.Touches) != 2 || got.Touches[1].Name != "n/a2.txt" {
		t.Errorf("%+v", got)
	}
	w.ok(t, "mv", m{"from": "n/a2.txt", "to": "d"})
	w.file(t, "d/a2.txt")
	w.ok(t, "file_move", m{"from": "d/a2.txt", "to": "b.txt"})
	if got := w.Judge.Last(); got.Effect != jackline.Write|jackline.Delete || w.file(t, "b.txt") != "a" {
		t.Errorf("replacing is %v", got.Effect)
	}
	w.fails(t, "file_move", m{"from": "b.txt", "to": ".env"}, "protected")
	w.fails(t, "file_move", m{"from": "k", "to": "k2"}, "protected")
	w.fails(t, "file_move", m{"from": "d", "to": "d/sub"}, "itself")
	w.fails(t, "file_move", m{"from": ".", "to": "x"}, "cannot be moved")
	w.fails(t, "file_move", m{"from": "nosuch", "to": "x"}, "nothing at")

	w.ok(t, "cp", m{"from": "b.txt", "to": "c.txt"})
	if w.file(t, "c.txt") != "a" || w.file(t, "b.txt") != "a" {
		t.Error("copy")
	}
	r = w.ok(t, "file_copy", m{"from": "d", "to": "d2"})
	if w.file(t, "d2/sub/y.txt") != "y" || !strings.Contains(r.Text, "2 files") {
		t.Errorf("%s", r.Text)
	}
	r = w.ok(t, "file_copy", m{"from": "k", "to": "k2"})
	w.absent(t, "k2/.env")
	w.fails(t, "file_copy", m{"from": "k/.env", "to": "e"}, "protected")

	w.fails(t, "file_delete", m{"path": "d"}, "not empty")
	if got := w.Judge.Last(); got.Effect != jackline.Delete {
		t.Errorf("%v", got.Effect)
	}
	w.ok(t, "file_delete", m{"path": "d", "all": true})
	w.absent(t, "d")
	w.ok(t, "rm", m{"path": "empty"})
	w.fails(t, "file_delete", m{"path": "k", "all": true}, "protected")
	if w.file(t, "k/z.txt") != "z" {
		t.Error("something went before the whole was looked at")
	}
	w.fails(t, "file_delete", m{"path": ".", "all": true}, "cannot be deleted")
	w.ok(t, "mkdir", m{"path": "p/q/r"})
	if r := w.ok(t, "make_dir", m{"path": "p/q/r/"}); !strings.Contains(r.Text, "exists already") {
		t.Error(r.Text)
	}
	w.fails(t, "make_dir", m{"path": "b.txt"}, "not a folder")
}

func TestLinks(t *testing.T) {
	w := newWork(t, map[string]string{"a.txt": "a", "d/x": "x"})
	outside := t.TempDir()
	must(t, os.WriteFile(filepath.Join(outside, "secret.txt"), []byte("CANARY"), 0o644))
	must(t, os.Symlink(filepath.Join(outside, "secret.txt"), filepath.Join(w.dir, "out")))
	must(t, os.Symlink(outside, filepath.Join(w.dir, "outdir")))
	must(t, os.Symlink("a.txt", filepath.Join(w.dir, "in")))
	w.fails(t, "file_read", m{"path": "out"}, "link")
	w.fails(t, "file_write", m{"path": "outdir/n", "content": "x"}, "link")
	w.fails(t, "list_dir", m{"path": "outdir"})
	w.ok(t, "file_write", m{"path": "in", "content": "b"})
	if w.file(t, "a.txt") != "b" {
		t.Error("a link inside is followed")
	}
	for _, r := range []string{
		w.ok(t, "list_dir", m{}).Text, w.ok(t, "glob", m{"pattern": "**/*"}).Text, w.ok(t, "grep", m{"pattern": "CANARY|a|x"}).Text,
	} {
		if strings.Contains(r, "CANARY") || strings.Contains(r, "secret") {
			t.Errorf("%s", r)
		}
	}
	w.ok(t, "file_delete", m{"path": "outdir"})
	if _, err := os.Stat(filepath.Join(outside, "secret.txt")); err != nil {
		t.Error(err)
	}
}

func TestListGlobGrep(t *testing.T) {
	w := newWork(t, map[string]string{
		"b.go": "package b\n// TODO one\n", "a/x.go": "package a\nfunc TODO() {}\n", "a/n.txt": "todo [x\n", ".git/config": "TODO", ".env": "TODO=1",
		"bin": "TODO\x00", "min.js": strings.Repeat("y", 5000) + "TODO" + strings.Repeat("z", 5000),
	})
	if r := w.ok(t, "list_dir", m{}); r.Text != "a/\nb.go (22 B)\nbin (5 B)\nmin.js (9.8 KB)" {
		t.Errorf("%q", r.Text)
	}
	if r := w.ok(t, "ls", m{"path": "a/"}); r.Text != "n.txt (8 B)\nx.go (25 B)" {
		t.Errorf("%q", r.Text)
	}
	for _, c := range []struct {
		args m
		want string
	}{
		{m{"pattern": "*.go"}, "a/x.go\nb.go"},
		{m{"pattern": "**/*.{go,txt}"}, "a/n.txt\na/x.go\nb.go"},
		{m{"pattern": "*.go", "path": "a"}, "a/x.go"},
		{m{"pattern": "a/*"}, "a/n.txt\na/x.go"},
		{m{"pattern": "**/.env"}, "Nothing matches **/.env."},
	} {
		if r := w.ok(t, "glob", c.args); r.Text != c.want {
			t.Errorf("%v: %q", c.args, r.Text)
		}
	}
	w.fails(t, "glob", m{"pattern": "../*"}, "outside")
	w.fails(t, "glob", m{"pattern": "[a"}, "pattern")
	r := w.ok(t, "grep", m{"pattern": "TODO"})
	lines := strings.Split(r.Text, "\n")
	if len(lines) != 4 || lines[0] != "a/x.go:2: func TODO() {}" || lines[1] != "b.go:2: // TODO one" || lines[2] != "bin: (binary file of 5 bytes matches)" ||
		len(lines[3]) > 500 || !strings.Contains(lines[3], "TODO") {
		t.Errorf("%q", r.Text)
	}
	if !r.Labels.Private || r.Source != jackline.Workspace {
		t.Errorf("%+v", r.Labels)
	}
	if r := w.ok(t, "grep", m{"pattern": "[x"}); !strings.Contains(r.Text, "a/n.txt:1: todo [x") || !strings.Contains(r.Text, "plain text") {
		t.Errorf("%q", r.Text)
	}
	if r := w.ok(t, "grep", m{"pattern": "(?i)todo", "files": "*.txt"}); r.Text != "a/n.txt:1: todo [x" {
		t.Errorf("%q", r.Text)
	}
	if r := w.ok(t, "grep", m{"pattern": "package", "path": "a/x.go"}); r.Text != "a/x.go:1: package a" {
		t.Errorf("%q", r.Text)
	}
	if r := w.ok(t, "grep", m{"pattern": "nowhere"}); r.Source != jackline.Ours || r.Labels.Tainted {
		t.Errorf("%+v", r.Call)
	}
	w.fails(t, "grep", m{"pattern": "x", "path": "nosuch"}, "nothing at")
	w.fails(t, "grep", m{"pattern": ""})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
