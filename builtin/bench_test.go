package builtin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool/tooltest"
	"github.com/jackline-ai/jackline/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A work is all tools over a temporary folder.
type work struct {
	*tooltest.Bench
	dir string
}

func newWork(t *testing.T, files map[string]string) *work {
	t.Helper()
	dir := tooltest.Folder(t, files)
	root, err := workspace.Open(dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	w := &work{dir: dir}
	log := tooltest.NewLog()
	w.Bench = tooltest.NewOn(t, log, All(Deps{Root: root, Environ: os.Environ(), Result: log.Call, Spill: log.ReadSpill})...)
	return w
}

func (w *work) file(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (w *work) absent(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Lstat(filepath.Join(w.dir, name)); err == nil {
		t.Errorf("%s exists", name)
	}
}

// ok runs a call that must succeed.
func (w *work) ok(t *testing.T, name string, args any) tooltest.Result {
	t.Helper()
	r := w.Run(t, name, args)
	if r.Outcome != jackline.OK {
		t.Fatalf("%s %v: %s: %s", name, args, r.Outcome, r.Text)
	}
	return r
}

// fails runs a call that must fail, and says all of words.
func (w *work) fails(t *testing.T, name string, args any, words ...string) tooltest.Result {
	t.Helper()
	r := w.Run(t, name, args)
	if r.Outcome != jackline.Errored && r.Outcome != jackline.Denied {
		t.Fatalf("%s %v: %s: %s", name, args, r.Outcome, r.Text)
	}
	for _, word := range words {
		if !strings.Contains(r.Text, word) {
			t.Errorf("%s %v: %q does not say %q", name, args, r.Text, word)
		}
	}
	return r
}

type m = map[string]any
