package server_test

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/jackline-ai/jackline/server/folders"
	"github.com/jackline-ai/jackline/workspace"
)

func TestFolders(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	dir := filepath.Join(home, "site")
	for _, d := range []string{dir, filepath.Join(dir, ".git"), filepath.Join(home, ".hidden")} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"AGENTS.md": "Use tabs.", ".env": "", "a.txt": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t)
	if l := do[workspace.Listing](w, 200, "GET", "/api/workspace/browse", nil); l.Path != home || !slices.Equal(l.Folders, []workspace.Crumb{{Name: "site", Path: dir}}) {
		t.Errorf("the home folder: %+v", l)
	}
	for path, status := range map[string]int{"/": 403, "/etc": 403, home + "/.hidden": 403, w.Dir: 403, home + "/nosuch": 404, "site": 400, dir + "/a.txt": 400} {
		w.refused(status, "GET", "/api/workspace/browse?path="+url.QueryEscape(path), nil)
	}

	want := folders.Look{Path: dir, Fits: true, Writable: true, Facts: workspace.Facts{Git: true, Guide: 9, Protected: []string{".env", ".git"}, Entries: 4}}
	same := func(what string, got folders.Look) {
		t.Helper()
		if got.Path != want.Path || got.Fits != want.Fits || got.Trusted != want.Trusted || got.Git != want.Git || got.Guide != want.Guide ||
			got.Entries != want.Entries || got.Writable != want.Writable || !slices.Equal(got.Protected, want.Protected) || (got.Why == "") != want.Fits {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	same("vet", do[folders.Look](w, 200, "POST", "/api/workspace/vet", map[string]any{"path": dir + "/."}))
	want.Trusted = true
	same("trust", do[folders.Look](w, 200, "POST", "/api/workspace/trust", map[string]any{"path": dir, "trusted": true}))
	same("trust twice", do[folders.Look](w, 200, "POST", "/api/workspace/trust", map[string]any{"path": dir, "trusted": true}))
	w.refused(403, "POST", "/api/workspace/trust", map[string]any{"path": "/etc", "trusted": true})
	type trusted struct{ Trusted []folders.Trusted }
	if l := do[trusted](w, 200, "GET", "/api/workspace", nil); len(l.Trusted) != 1 || l.Trusted[0].Path != dir || l.Trusted[0].Since.IsZero() {
		t.Errorf("trusted: %+v", l)
	}
	if got := do[folders.Look](w, 200, "POST", "/api/workspace/vet", map[string]any{"path": "/etc"}); got.Fits || got.Why == "" || got.Path != "/etc" || got.Protected == nil {
		t.Errorf("the system's: %+v", got)
	}

	// What is no longer there can still be taken back.
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if got := do[folders.Look](w, 200, "POST", "/api/workspace/trust", map[string]any{"path": dir, "trusted": false}); got.Fits || got.Trusted {
		t.Errorf("a folder that is gone: %+v", got)
	}
	w.refused(404, "POST", "/api/workspace/trust", map[string]any{"path": dir, "trusted": false})
	if l := do[trusted](w, 200, "GET", "/api/workspace", nil); len(l.Trusted) != 0 {
		t.Errorf("trusted: %+v", l)
	}
}
