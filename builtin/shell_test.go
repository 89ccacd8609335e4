//go:build unix

package builtin

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
)

func TestShell(t *testing.T) {
	t.Setenv("MY_TOKEN", "CANARY")
	w := newWork(t, map[string]string{"d/f": "x", ".env": "K=v"})
	r := w.ok(t, "bash", m{"command": "echo hi; pwd -P; echo $MY_TOKEN; echo $PWD"})
	if r.Text != "hi\n"+w.dir+"\n\n"+w.dir || r.Source != jackline.Outside || !r.Labels.Private || !r.Labels.Tainted {
		t.Errorf("%q %+v", r.Text, r.Labels)
	}
	if r.View.Shape != jackline.ViewTerminal || r.View.Exit == nil || *r.View.Exit != 0 || r.Title != "Run echo hi; pwd -P; echo $MY_TOKEN; echo $PWD" {
		t.Errorf("%+v %s", r.View, r.Title)
	}
	if i := w.Judge.Last(); i.Effect != jackline.Exec || len(i.Touches) != 1 || i.Touches[0].Kind != "command" || !strings.HasPrefix(i.Touches[0].Name, "echo hi;") {
		t.Errorf("%+v", i)
	}
	if r := w.ok(t, "shell", m{"command": "ls", "cwd": "d"}); r.Text != "f" {
		t.Errorf("%q", r.Text)
	}
	if i := w.Judge.Last(); len(i.Touches) != 2 || i.Touches[1].Name != "d" || i.Effect != jackline.Exec|jackline.Read {
		t.Errorf("%+v", i)
	}
	if r := w.ok(t, "shell", m{"command": "true"}); r.Text != "(no output)" {
		t.Errorf("%q", r.Text)
	}
	if r := w.fails(t, "shell", m{"command": "echo oops >&2; exit 3"}, "[exit code 3]\noops"); r.Outcome != jackline.Errored || *r.View.Exit != 3 {
		t.Errorf("%+v", r)
	}
	w.fails(t, "shell", m{"command": "kill -9 $$"}, "killed")
	if r := w.ok(t, "shell", m{"command": "sleep 100 & echo started"}); !strings.Contains(r.Text, "1 process in the background ended") {
		t.Errorf("%q", r.Text)
	}
	w.fails(t, "shell", m{"command": "echo begun; sleep 100", "timeout": 1}, "not done after 1 s", "begun")
	w.fails(t, "shell", m{"command": "ls", "cwd": ".."}, "outside")
	w.fails(t, "shell", m{"command": "ls", "cwd": "nosuch"}, "nothing at")
	w.fails(t, "shell", m{"command": "ls", "cwd": "d/f"}, "not a folder")
	w.fails(t, "shell", m{"command": " "}, "Give a command")
	if r := w.ok(t, "shell", m{"command": "printf '\\033[31mred\\033[0m 1%%\\r2%%\\007\\377'"}); r.Text != "2%␇\ufffd" {
		t.Errorf("%q", r.Text)
	}
}

func TestShellIsStopped(t *testing.T) {
	w := newWork(t, nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := os.Stat(filepath.Join(w.dir, "begun")); err == nil {
				stop()
				return
			}
			select {
			case <-t.Context().Done():
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	r := w.RunContext(t, ctx, "shell", m{"command": "echo before; touch begun; sleep 100"})
	<-done
	if r.Outcome != jackline.Cancelled || !strings.Contains(r.Text, "before") {
		t.Errorf("%+v", r.Call)
	}
}

func TestLongOutputIsReadOnInPages(t *testing.T) {
	w := newWork(t, nil)
	w.Limit = 1000
	r := w.ok(t, "shell", m{"command": "seq 1 2000"})
	if r.Dropped == 0 || !strings.Contains(r.Text, "left out") || !strings.Contains(r.Text, string(r.ID)) {
		t.Fatalf("%s", r.Text)
	}
	var all strings.Builder
	for page := 1; ; page++ {
		p := w.ok(t, "read_result", m{"call": r.ID, "page": page})
		head, text, _ := strings.Cut(p.Text, "\n")
		if p.Source != jackline.Outside || p.Dropped != 0 {
			t.Fatalf("%+v", p.Call)
		}
		all.WriteString(text)
		if strings.Contains(head, "page 10 of 10,") {
			break
		}
	}
	if !strings.HasPrefix(all.String(), "1\n2\n3\n") || !strings.HasSuffix(all.String(), "1999\n2000") || strings.Count(all.String(), "\n") != 1999 {
		t.Errorf("%d characters", all.Len())
	}
	w.fails(t, "read_result", m{"call": r.ID, "page": 99}, "only 10 pages")
	w.fails(t, "read_result", m{"call": r.ID, "page": math.MaxInt}, "only 10 pages")
	w.fails(t, "read_result", m{"call": "c_none"}, "copy the id")
	// Our own words stay our own.
	own := w.ok(t, "calculator", m{"expression": "1+1"})
	if p := w.ok(t, "read_result", m{"call": own.ID}); p.Source != jackline.Ours || p.Labels.Tainted || !strings.HasSuffix(p.Text, "1+1 = 2") {
		t.Errorf("%+v", p.Call)
	}
	// Another chat's results are nobody's business here.
	w.Session.ID = "s_other"
	w.fails(t, "read_result", m{"call": r.ID}, "copy the id")
}
