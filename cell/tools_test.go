//go:build linux

package cell

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/tool/tooltest"
	"github.com/jackline-ai/jackline/workspace"
)

// bench puts the tools that run something on a cell.
// Commands are taken to write what is named.
func (w *world) bench(t testing.TB, writes ...string) *tooltest.Bench {
	uses := func(string, string) jackline.Uses { return jackline.Uses{Writes: writes} }
	b := tooltest.New(t, builtin.All(builtin.Deps{Root: w.root, Environ: os.Environ(), Cell: w.cell, Analyse: uses})...)
	b.Session.Workspace = w.ws
	return b
}

type m = map[string]any

// TestTools: what was judged for a call is what holds it, from the arguments to the process.
func TestTools(t *testing.T) {
	eachLevel(t, func(t *testing.T, level jackline.SandboxLevel) {
		w := newWorld(t, level, map[string]string{"secret": "CANARY", "ws/f": "text", "ws/d/g": "x"}, nil)
		b := w.bench(t)
		r := b.Run(t, "shell", m{"command": "cat f ../secret; pwd -P", "cwd": "."})
		if r.Outcome != jackline.OK || !strings.HasPrefix(r.Text, "text") || strings.Contains(r.Text, "CANARY") || !strings.HasSuffix(r.Text, w.ws) {
			t.Errorf("%v %q", r.Outcome, r.Text)
		}
		if i := b.Judge.Last(); !i.Sandbox.Holds() || i.Sandbox.Level != level || i.Sandbox.Opens() != "" {
			t.Errorf("%+v", i.Sandbox)
		}
		r = b.Run(t, "shell", m{"command": "cat ../secret", "unsandboxed": true})
		if r.Text != "CANARY" || b.Judge.Last().Sandbox.Level != jackline.SandboxNone {
			t.Errorf("%q %+v", r.Text, b.Judge.Last().Sandbox)
		}
		if r := b.Run(t, "shell", m{"command": "echo x > ../made"}); r.Outcome != jackline.Errored || !strings.Contains(r.Text, "[commands can write in the workspace alone") {
			t.Errorf("%q", r.Text)
		}
		if r := b.Run(t, "shell", m{"command": "sleep 100", "timeout": 1}); !strings.Contains(r.Text, "not done after 1 s") {
			t.Errorf("%q", r.Text)
		}
		if r := b.Run(t, "shell", m{"command": "sleep 100 & echo started"}); r.Outcome != jackline.OK || !strings.HasSuffix(r.Text, "started") {
			t.Errorf("%q", r.Text)
		}
		if r := b.Run(t, "shell", m{"command": "ls", "hosts": []string{"127.0.0.1:80"}}); r.Outcome != jackline.Errored || !strings.Contains(r.Text, "cannot be given the host") {
			t.Errorf("%q", r.Text)
		}
		if left, err := filepath.Glob(filepath.Join(os.TempDir(), "jackline-*", "code.py")); err != nil || len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

// TestBesideInTmp: below /tmp, which is the command's own, nothing is written that would only seem to be: a folder on the way to the
// workspace cannot be written, what was allowed there is opened, and what is gone with the command is said.
func TestBesideInTmp(t *testing.T) {
	eachLevel(t, func(t *testing.T, level jackline.SandboxLevel) {
		w := newWorld(t, level, nil, nil)
		above, err := os.MkdirTemp("/tmp", "beside-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(above) })
		w.ws = filepath.Join(above, "ws")
		if err := os.Mkdir(w.ws, 0o755); err != nil {
			t.Fatal(err)
		}
		if w.root, err = workspace.Open(w.ws, workspace.Options{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = w.root.Close() })
		w.cell = w.cells.In(w.root)
		r, _ := w.run(t, "echo x > in; (echo x > ../made) 2>&1; mkdir ../folder 2>/dev/null; ls ..", jackline.Uses{})
		if !strings.Contains(r.Output, "Permission denied") || strings.Contains(r.Output, "made\nws") || strings.Contains(r.Output, "folder\n") {
			t.Errorf("%q", r.Output)
		}
		made := filepath.Join(above, "made")
		if r, _ := w.run(t, "echo x > ../made", jackline.Uses{Writes: []string{made}}); r.Exit != 0 || stat(made) != nil {
			t.Errorf("what was allowed was not made: %+v", r)
		}
		if b, err := os.ReadFile(filepath.Join(w.ws, "in")); err != nil || string(b) != "x\n" {
			t.Errorf("%q %v", b, err)
		}

		gone := filepath.Join("/tmp", filepath.Base(above)+"-gone")
		b := w.bench(t, gone) // what its commands are taken to write
		own := level == jackline.SandboxNamespaces
		out := b.Run(t, "shell", m{"command": "echo x > " + gone})
		asks := ""
		for _, touch := range b.Judge.Last().Touches {
			asks += touch.Asks
		}
		if strings.Contains(out.Text, gone+" is gone: /tmp is each command's own") != own || strings.Contains(asks, "it is gone when the command ends") != own {
			t.Errorf("%q %q", out.Text, asks)
		}
		_ = os.Remove(gone)
		out = b.Run(t, "shell", m{"command": "echo x > " + gone, "unsandboxed": true})
		if strings.Contains(out.Text, "is gone") || stat(gone) != nil {
			t.Errorf("%q", out.Text)
		}
		_ = os.Remove(gone)
	})
}

func TestPython(t *testing.T) {
	eachLevel(t, func(t *testing.T, level jackline.SandboxLevel) {
		w := newWorld(t, level, map[string]string{"secret": "CANARY", "ws/data.csv": "a,b\n1,2\n", "ws/json.py": "raise SystemExit('planted')"}, nil)
		b := w.bench(t)
		if interpreter, _ := b.Tools.Lookup("python"); interpreter.Facts().WhyNot != "" {
			t.Skipf("THERE IS NO PYTHON HERE, so nothing was tried: %s", interpreter.Facts().WhyNot)
		}
		for _, c := range []struct{ code, want string }{
			{"import csv, json\nprint(json.dumps(list(csv.DictReader(open('data.csv')))))", `[{"a": "1", "b": "2"}]`},
			{"open('out','w').write('x'); print(open('out').read())", "x"},
			{"import sys; print(sys.stdin.read() == '', sys.flags.isolated)", "True 1"},
			{"print('ü')", "ü"},
			{"import os; print(os.getcwd())", w.ws},
		} {
			if r := b.Run(t, "execute_code", m{"code": c.code}); r.Outcome != jackline.OK || r.Text != c.want {
				t.Errorf("%s: %v %q, want %q", c.code, r.Outcome, r.Text, c.want)
			}
		}
		for _, c := range []struct{ code, want string }{
			{"print(open('../secret').read())", "Error: [Errno "},
			{"x = 1\nraise ValueError('line two')", "line 2, in <module>"},
			{"import urllib.request; urllib.request.urlopen('http://127.0.0.1:1/')", "Error"},
			{"while True: pass", "not done after 1 s"},
		} {
			limit := 60
			if strings.HasPrefix(c.code, "while") {
				limit = 1
			}
			if r := b.Run(t, "python", m{"code": c.code, "timeout": limit}); r.Outcome != jackline.Errored || !strings.Contains(r.Text, c.want) || strings.Contains(r.Text, "CANARY") {
				t.Errorf("%s: %v %q, want %q", c.code, r.Outcome, r.Text, c.want)
			}
		}
		if i := b.Judge.Last(); i.Effect != jackline.Exec || len(i.Touches) != 1 || i.Touches[0].Kind != "code" || i.Sandbox.Level != level {
			t.Errorf("%+v", i)
		}
		if r := b.Run(t, "python", m{"code": " \n"}); !strings.Contains(r.Text, "Give the code") {
			t.Errorf("%q", r.Text)
		}
	})
	// Where nothing holds code, it does not run.
	w := newWorld(t, jackline.SandboxLandlock, nil, func(o *Options) { o.Launcher = nil })
	r := w.bench(t).Run(t, "python", m{"code": "print(1)"})
	if r.Outcome != jackline.Errored || !strings.Contains(r.Text, "cannot be used now: ") {
		t.Errorf("%v %q", r.Outcome, r.Text)
	}
}

// BenchmarkGate is the time that `true` takes through the whole gate, with nothing that holds it and at each level.
func BenchmarkGate(b *testing.B) {
	for _, level := range []jackline.SandboxLevel{jackline.SandboxNone, jackline.SandboxLandlock, jackline.SandboxNamespaces} {
		b.Run(level.String(), func(b *testing.B) {
			w := newWorld(b, max(level, jackline.SandboxLandlock), map[string]string{"ws/f": "x"}, func(o *Options) {
				if level == jackline.SandboxNone {
					o.Launcher = nil
				}
			})
			bench := w.bench(b)
			bench.Run(b, "shell", m{"command": "true"})
			for b.Loop() {
				if r := bench.Run(b, "shell", m{"command": "true"}); r.Outcome != jackline.OK {
					b.Fatal(r.Text)
				}
			}
		})
	}
}
