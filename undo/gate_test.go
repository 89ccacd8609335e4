package undo_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/undo"
)

// all allows everything.
type all struct{}

func (all) Judge(jackline.Intent) jackline.Decision {
	return jackline.Decision{Verdict: jackline.Allow, Rule: "test"}
}

// do runs a real tool through a real gate.
func (w *world) do(t testing.TB, name string, args map[string]any) jackline.Call {
	t.Helper()
	c := w.call(t, name, args)
	d, err := w.gate(t).Do(t.Context(), tool.Request{Who: w.who, Call: c})
	must(t, err)
	return d.Call
}

func (w *world) gate(t testing.TB) *tool.Gate {
	t.Helper()
	g, err := w.gateOf()
	must(t, err)
	return g
}

func (w *world) gateOf() (*tool.Gate, error) {
	set, err := tool.NewSet(builtin.All(builtin.Deps{Root: w.root, Environ: os.Environ(), Result: w.db.Call, Spill: w.db.ReadSpill})...)
	return &tool.Gate{Tools: set, Judge: all{}, Desk: approval.New(w.db, w.db.Key("approval"), approval.Options{}), Log: w.db, Keeper: w.keeper}, err
}

func (w *world) call(t testing.TB, name string, args map[string]any) jackline.Call {
	t.Helper()
	w.calls++
	raw, err := json.Marshal(args)
	must(t, err)
	return jackline.Call{
		ID: jackline.CallID(fmt.Sprintf("c_%d", w.calls)), Session: w.who.Session.ID, Turn: w.who.Turn.ID, Step: 1, Index: w.calls,
		Asked: name, Name: name, Args: raw, State: jackline.CallNew,
	}
}

// Every tool that changes files, through the gate: what the tree was before the turn, it is after the undo.
func TestEveryTool(t *testing.T) {
	files := map[string]string{"a.txt": "one\ntwo\n", "b.txt": "b\n", "old/x.txt": "x\n", "old/deep/y": "y\n", "gone/1": "1", "gone/2": "2", "bin": "\x00\xff"}
	w := newWorld(t, files)
	must(t, os.Symlink("a.txt", w.path("link")))
	before := w.tree(t)
	for _, c := range []struct {
		name string
		args map[string]any
	}{
		{"file_write", map[string]any{"path": "new/deep/f.txt", "content": "f\n"}},
		{"file_write", map[string]any{"path": "link", "content": "through a link\n"}},
		{"file_edit", map[string]any{"path": "b.txt", "old": "b", "new": "B"}},
		{"apply_patch", map[string]any{"patch": "*** Begin Patch\n*** Delete File: b.txt\n*** Add File: c.txt\n+c\n*** End Patch"}},
		{"file_copy", map[string]any{"from": "old", "to": "copy"}},
		{"file_move", map[string]any{"from": "old", "to": "moved"}},
		{"file_move", map[string]any{"from": "moved/x.txt", "to": "a.txt"}},
		{"file_delete", map[string]any{"path": "gone", "all": true}},
		{"file_delete", map[string]any{"path": "link"}},
		{"make_dir", map[string]any{"path": "empty/inner"}},
		{"file_write", map[string]any{"path": "bin", "content": "text"}},
		{"shell", map[string]any{"command": "echo more >> c.txt; mkdir sh; echo s > sh/s; rm bin; mv copy copied; chmod 700 moved"}},
		{"file_delete", map[string]any{"path": "copied", "all": true}},
	} {
		got := w.do(t, c.name, c.args)
		if got.Outcome != jackline.OK {
			t.Fatalf("%s: %v %s", c.name, got.Outcome, got.Text)
		}
	}
	after := w.tree(t)
	id, states := w.undo(t, "t_one", undo.Options{})
	for _, s := range states {
		if !strings.HasSuffix(s, " done") {
			t.Error(s)
		}
	}
	same(t, w.tree(t), before...)
	w.undo(t, id, undo.Options{})
	same(t, w.tree(t), after...)
}

// tree lists what is in the workspace.
func (w *world) tree(t testing.TB) (list []string) {
	t.Helper()
	var walk func(string)
	walk = func(dir string) {
		entries, err := os.ReadDir(w.path(dir))
		must(t, err)
		for _, e := range entries {
			name := strings.TrimPrefix(dir+"/"+e.Name(), "./")
			info, err := e.Info()
			must(t, err)
			line := fmt.Sprint(name, " ", info.Mode())
			switch {
			case info.Mode().IsRegular():
				b, err := os.ReadFile(w.path(name))
				must(t, err)
				line += fmt.Sprintf(" %q", b)
			case info.Mode()&os.ModeSymlink != 0:
				to, err := os.Readlink(w.path(name))
				must(t, err)
				line += " " + to
			}
			list = append(list, line)
			if e.IsDir() {
				walk(name)
			}
		}
	}
	walk(".")
	return list
}

// A call that a crash cut short comes back as unknown. What it had done by then is looked at, and can be undone.
func TestCrashThroughTheGate(t *testing.T) {
	for _, c := range []struct {
		name   string
		effect jackline.Effect
		kind   string
		args   map[string]any
	}{
		{"shell", jackline.Exec, "command", map[string]any{"command": "make"}},
		{"file_write", jackline.Write, "path", map[string]any{"path": "a", "content": "2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"a": "1"})
			call := w.call(t, c.name, c.args)
			call.State, call.Acts, call.Started = jackline.CallStarted, true, time.Now().UTC()
			i := jackline.Intent{Actor: w.who, Call: call.ID, Effect: c.effect, Touches: []jackline.Touch{{Effect: c.effect, Kind: c.kind, Name: "a"}}}
			rows, err := w.keeper.Before(t.Context(), i)
			must(t, err)
			_, err = w.db.Append(t.Context(), owner, jackline.Record{Session: w.who.Session.ID, Calls: []jackline.Call{call}, Snapshots: rows, Sync: true})
			must(t, err)
			w.write(t, "a", "2")
			w.close(t)
			w.open(t)
			d, err := w.gate(t).Do(t.Context(), tool.Request{Who: w.who, Call: call})
			must(t, err)
			if d.Call.Outcome != jackline.Unknown {
				t.Fatalf("%v %s", d.Call.Outcome, d.Call.Text)
			}
			if c.name == "shell" && (len(d.Call.Changes) != 1 || d.Call.Changes[0].Path != "a") {
				t.Errorf("%+v", d.Call.Changes)
			}
			_, states := w.undo(t, "t_one", undo.Options{})
			same(t, states, "a done")
			w.is(t, "a", "1")
		})
	}
}

// A call of which nothing can be kept does not run.
func TestNothingRunsUnkept(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "1"})
	must(t, os.RemoveAll(w.data+"/undo"))
	must(t, os.WriteFile(w.data+"/undo", nil, 0o600))
	got := w.do(t, "file_write", map[string]any{"path": "a", "content": "2"})
	if got.Outcome != jackline.Errored || !strings.Contains(got.Text, "cannot be kept or read") {
		t.Errorf("%v %s", got.Outcome, got.Text)
	}
	w.is(t, "a", "1")
}

func BenchmarkFileTool(b *testing.B) {
	for _, keeps := range []bool{false, true} {
		b.Run(fmt.Sprintf("keeps=%v", keeps), func(b *testing.B) {
			w := newWorld(b, map[string]string{"a": strings.Repeat("line\n", 1000)})
			g := w.gate(b)
			if !keeps {
				g.Keeper = nil
			}
			for n := range b.N {
				w.who.Turn.ID = jackline.TurnID(fmt.Sprint("t_", n))
				_, err := g.Do(b.Context(), tool.Request{Who: w.who, Call: w.call(b, "file_write", map[string]any{"path": "a", "content": fmt.Sprint(n)})})
				must(b, err)
			}
		})
	}
}
