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
)

// bench puts the tools that run something on a cell.
func (w *world) bench(t testing.TB) *tooltest.Bench {
	b := tooltest.New(t, builtin.All(builtin.Deps{Root: w.root, Environ: os.Environ(), Cell: w.cell})...)
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
