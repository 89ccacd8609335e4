package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func shieldRoot(t testing.TB, files map[string]string) *Root {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		p := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func there(s Shields) (names []string) {
	for _, x := range s.List {
		if !x.Missing {
			names = append(names, x.Path)
		}
	}
	slices.Sort(names)
	return names
}

func TestShields(t *testing.T) {
	r := shieldRoot(t, map[string]string{
		"a/b/.env": "K=v", ".git/config": "x", ".git/.env": "not looked for", "lib/.git": "gitdir: x", "id_rsa.pub": "k", ".env.example": "K=", "src/main.go": "x", ".ENV.Local": "K=v",
	})
	if err := os.Symlink("../src", filepath.Join(r.path, "a", ".ssh")); err != nil {
		t.Fatal(err)
	}
	s, err := r.Shields()
	if err != nil || !s.Whole || !s.Any() {
		t.Fatal(s, err)
	}
	want := []string{".ENV.Local", ".git", "a/.ssh", "a/b/.env", "id_rsa.pub", "lib/.git"}
	if got := there(s); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, x := range s.List {
		switch {
		case x.Path == ".git" && (!x.Git || !x.Folder || x.Missing), x.Path == "lib/.git" && (!x.Git || x.Folder), x.Path == "a/.ssh" && !x.Link:
			t.Errorf("%+v", x)
		case x.Missing && strings.Contains(x.Path, "/"):
			t.Errorf("%+v", x)
		}
	}
	if !slices.ContainsFunc(s.List, func(x Shield) bool { return x.Path == ".npmrc" && x.Missing }) {
		t.Error("a name that is not there is not kept from being made")
	}
	// What was read is remembered only while it holds.
	old := time.Now().Add(-time.Hour)
	for _, d := range []string{"a/b", "a", "src", "lib", "."} {
		if err := os.Chtimes(filepath.Join(r.path, d), old, old); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if s, err = r.Shields(); err != nil || !slices.Equal(there(s), want) {
			t.Fatal(there(s), err)
		}
	}
	if len(r.shieldSeen) != 5 {
		t.Errorf("%d folders are remembered", len(r.shieldSeen))
	}
	if err := os.WriteFile(filepath.Join(r.path, "src", ".netrc"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err = r.Shields(); err != nil || !slices.Contains(there(s), "src/.netrc") {
		t.Error(there(s), err)
	}
}

// TestShieldsAreBounded: where there is too much, it is said that not all was seen.
func TestShieldsAreBounded(t *testing.T) {
	files := map[string]string{}
	for n := range maxShields + 10 {
		files[fmt.Sprintf("d%d/.env", n)] = ""
	}
	if s, err := shieldRoot(t, files).Shields(); err != nil || s.Whole {
		t.Error(len(s.List), err)
	}
	deep := strings.Repeat("d/", maxDepth+2)
	if s, err := shieldRoot(t, map[string]string{deep + ".env": ""}).Shields(); err != nil || s.Whole || len(there(s)) > 0 {
		t.Error(there(s), err)
	}
}

func TestKeepsake(t *testing.T) {
	r := shieldRoot(t, map[string]string{
		".env": "K=v", ".git/config": "[core]", ".git/hooks/x": "sample", ".git/index": "i", "a/.npmrc": "n", ".env.free": "f", ".ssh/key": "k",
	})
	s, err := r.Shields()
	if err != nil {
		t.Fatal(err)
	}
	keep := func() *Keepsake {
		k, err := r.Keep(t.Context(), s.List, func(p string) bool { return p == ".env.free" })
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	if c, whole, err := keep().Restore(t.Context()); len(c) > 0 || !whole || err != nil {
		t.Error(c, whole, err)
	}
	k := keep()
	at := func(p string) string { return filepath.Join(r.path, p) }
	for p, text := range map[string]string{".env": "K=evil", ".git/hooks/pre-commit": "evil", ".git/index": "i2", ".env.free": "changed", ".netrc": "made"} {
		if err := os.WriteFile(at(p), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{".git/config", "a/.npmrc", ".ssh"} {
		if err := os.RemoveAll(at(p)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../src", at("a/.npmrc")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(at(".git/config/x"), 0o755); err != nil {
		t.Fatal(err)
	}
	changed, whole, err := k.Restore(t.Context())
	if err != nil || !whole {
		t.Error(whole, err)
	}
	var names []string
	for _, c := range changed {
		names = append(names, c.Path)
		if c.Err != nil {
			t.Error(c.Path, c.Err)
		}
	}
	if want := []string{".env", ".git/config", ".git/config/x", ".git/hooks/pre-commit", ".netrc", ".ssh/key", "a/.npmrc"}; !slices.Equal(names, want) && !slices.Equal(names, slices.DeleteFunc(want, func(s string) bool { return s == ".git/config/x" })) {
		t.Errorf("%q, want %q", names, want)
	}
	for p, want := range map[string]string{".env": "K=v", ".git/config": "[core]", ".git/hooks/x": "sample", ".git/index": "i2", "a/.npmrc": "n", ".env.free": "changed", ".ssh/key": "k"} {
		if b, err := os.ReadFile(at(p)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", p, b, err)
		}
	}
	for _, p := range []string{".git/hooks/pre-commit", ".netrc"} {
		if _, err := os.Lstat(at(p)); err == nil {
			t.Errorf("%s is still there", p)
		}
	}
	if string(changed[0].Now) != "K=evil" {
		t.Errorf("what it had become is not told: %q", changed[0].Now)
	}
}

func BenchmarkShields(b *testing.B) {
	files := map[string]string{}
	for n := range 2000 {
		files[fmt.Sprintf("node_modules/p%d/lib/f.js", n)] = ""
	}
	r := shieldRoot(b, files)
	old := time.Now().Add(-time.Hour)
	_ = filepath.WalkDir(r.path, func(p string, _ os.DirEntry, _ error) error { return os.Chtimes(p, old, old) })
	for b.Loop() {
		if _, err := r.Shields(); err != nil {
			b.Fatal(err)
		}
	}
}
