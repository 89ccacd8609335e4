//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
)

// lines counts the lines of a file of the workspace; one that is not there has none.
func (h *home) lines(name string) int {
	b, err := os.ReadFile(filepath.Join(h.ws, name))
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}

// TestKilledWhileWaiting kills the server with a card open. The card is there after it, and its answer carries the turn on.
func TestKilledWhileWaiting(t *testing.T) {
	for _, mode := range toolModes() {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := jobHome(t, mode)
			p, a := h.startServer()
			s := a.session(map[string]any{"workspace": h.ws})
			turn := a.prompt(s.ID, jobPrompt, nil)
			card := a.card(s.ID)
			eventually(t, "the turn to wait", func() bool { return a.turn(s.ID, turn.ID).Status == jackline.Waiting })
			p.kill()

			p, a = h.startServer()
			again := a.card(s.ID)
			if again.ID != card.ID || again.State != jackline.Pending || string(again.Args) != string(card.Args) ||
				again.Title != card.Title || len(again.View.Files) != 1 {
				t.Errorf("the card is now %+v, it was %+v", again, card)
			}
			if v := a.turn(s.ID, turn.ID); v.Status != jackline.Waiting {
				t.Errorf("the turn is %s", v.Status)
			}
			a.answer(card.ID, map[string]any{"approved": true, "scope": "once"})
			eventually(t, "the next card", func() bool { return a.card(s.ID).ID != card.ID })
			a.answer(a.card(s.ID).ID, map[string]any{"approved": true, "scope": "once"})
			ok(t, a, s.ID, turn.ID, jobAnswer)
			if h.read(jobFile) != jobAfter {
				t.Errorf("the file holds %q", h.read(jobFile))
			}
			p.kill()
		})
	}
}

// TestKilledWhileRunning kills the server while a command runs that has had an effect. What became of it is not known, and it
// is not done again.
func TestKilledWhileRunning(t *testing.T) {
	for _, mode := range toolModes() {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			e := engine(t, `=== 1
--- call shell {"command": "echo once >> counter; for i in $(seq 3000); do [ -e go ] && break; sleep 0.02; done; echo done >> counter"}
=== 2
--- expect UNKNOWN: the program was interrupted
--- call file_read {"path": "counter"}
=== 3
It was counted.
`)
			h := newHome(t, e.URL, mode)
			t.Cleanup(func() { h.write("go", "") }) // whatever still runs ends
			p, a := h.startServer()
			s := a.session(map[string]any{"workspace": h.ws})
			turn := a.prompt(s.ID, "Count once", nil)
			a.answer(a.card(s.ID).ID, map[string]any{"approved": true, "scope": "chat"}) // a second run would need no yes
			eventually(t, "the command's effect", func() bool { return h.lines("counter") == 1 })
			p.kill()

			_, a = h.startServer()
			log := ok(t, a, s.ID, turn.ID, "It was counted.")
			var outcomes []string
			for _, ev := range log.Events {
				if ev.Type == "tool.result" {
					r := body[jackline.ToolResult](t, ev)
					outcomes = append(outcomes, r.Name+" "+r.Outcome.String())
				}
			}
			if got := strings.Join(outcomes, ", "); got != "shell unknown, file_read ok" {
				t.Errorf("the outcomes are %s", got)
			}
			if n := strings.Count(h.read("counter"), "once"); n != 1 {
				t.Errorf("the command began %d times", n)
			}
			if n := len(e.Sent()); n != 3 {
				t.Errorf("the engine was asked %d times, want 3", n)
			}
			if errs := e.Errs(); len(errs) > 0 {
				t.Error(errs)
			}
		})
	}
}

// TestKilledWhileStreaming kills the server in the middle of the model's answer. The turn is taken up by itself.
func TestKilledWhileStreaming(t *testing.T) {
	for _, mode := range toolModes() {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			e := engine(t, `=== 1
--- call file_read {"path": "a.txt"}
=== 2
It says half of
--- wait
=== 3
It says: whole.
`)
			h := newHome(t, e.URL, mode)
			h.write("a.txt", "whole\n")
			p, a := h.startServer()
			s := a.session(map[string]any{"workspace": h.ws})
			turn := a.prompt(s.ID, "What does it say?", nil)
			for f := range a.events(s.ID, 0) {
				if f.ev.Type == "text.delta" && strings.Contains(body[jackline.TextDelta](t, f.ev).Text, "half") {
					break
				}
			}
			p.kill()

			_, a = h.startServer()
			log := ok(t, a, s.ID, turn.ID, "It says: whole.")
			reads := 0
			for _, ev := range log.Events {
				if ev.Type == "tool.result" {
					reads++
				}
			}
			if reads != 1 || len(e.Sent()) != 3 {
				t.Errorf("%d results, %d requests; want 1 and 3", reads, len(e.Sent()))
			}
		})
	}
}

// TestTwoServers starts a second server of the same data.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	h := newHome(t, engine(t, "=== *\nx\n").URL, "native")
	p, a := h.startServer()
	code, stdout, stderr := h.cli("serve", "--listen", "127.0.0.1:0", "--model", "another")
	if code != terminal.ExitFailed || stdout != "" || !strings.Contains(stderr, fmt.Sprintf("Another Jackline serves this data: process %d", p.cmd.Process.Pid)) ||
		!strings.Contains(stderr, "stop it first") {
		t.Errorf("code %d, %q: %s", code, stdout, stderr)
	}
	// Without settings of its own it only makes a link to the first one.
	code, stdout, _ = h.cli("web", "--open=false")
	base, link, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(stdout, "Jackline is at ")), "/#code=")
	if code != terminal.ExitOK || base != a.base {
		t.Errorf("code %d, %q", code, stdout)
	}
	logIn(t, base, link)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if n := p.wait(); n != terminal.ExitOK {
		t.Errorf("the first server ended with code %d: %s", n, p.errs)
	}
	if _, err := os.Stat(h.data("address")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the address is still there: %v", err)
	}
}

// lives reports whether a process is there and not merely waiting for its parent to look.
func lives(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(b), ") ")
	return err != nil && runtime.GOOS != "linux" || err == nil && !strings.HasPrefix(state, "Z")
}

// napping are the processes that sleep for a time of their own; where the system shows none by their arguments, those that they say
// they are.
func napping(t *testing.T, nap string, said []int) []int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return said
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, l := range lines {
		b, err := os.ReadFile(l)
		if err != nil || string(b) != "sleep\x00"+nap+"\x00" {
			continue // gone, or another
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(l)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// TestInterruptedRun ends a one-shot run with Ctrl+C while its command sleeps, in the foreground and in the background.
func TestInterruptedRun(t *testing.T) {
	t.Parallel()
	e := engine(t, `=== 1
--- call shell {"command": "sh nap.sh"}
=== *
Never said.
`)
	h := newHome(t, e.URL, "native")
	nap := fmt.Sprintf("1000.%d", os.Getpid()) // by which its processes are known: a held command counts them by itself
	h.write("nap.sh", strings.ReplaceAll("sleep 1000 & echo $! >> pids; (sleep 1000 & echo $! >> pids; wait) & echo $$ >> pids; sleep 1000\n", "1000", nap))
	p := h.start("run", "-C", h.ws, "--allow", "shell(sh nap.sh)", "sleep")
	read := func() []int {
		var pids []int
		b, _ := os.ReadFile(filepath.Join(h.ws, "pids"))
		for _, f := range strings.Fields(string(b)) {
			n, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, n)
		}
		return pids
	}
	eventually(t, "three processes", func() bool { return len(read()) == 3 && len(napping(t, nap, read())) == 3 })
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if n := p.wait(); n != terminal.ExitInterrupted {
		t.Errorf("the run ended with code %d: %s", n, p.errs)
	}
	for _, pid := range napping(t, nap, read()) {
		if lives(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	if len(e.Sent()) != 1 {
		t.Errorf("the engine was asked %d times", len(e.Sent()))
	}
	a := h.serve()
	rows := want[[]jackline.Session](a, 200, "GET", "/api/sessions", nil)
	turns := want[[]jackline.Turn](a, 200, "GET", "/api/sessions/"+string(rows[0].ID)+"/turns", nil)
	if len(turns) != 1 || turns[0].Status != jackline.Stopped {
		t.Errorf("the turn is %+v", turns)
	}
}
