package undo_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/undo"
	"github.com/jackline-ai/jackline/workspace"
)

// victim is the variable that makes a process of this binary one that is killed; it holds a [killing].
const victim = "JACKLINE_UNDO_VICTIM"

// A killing is what a process works on until it is killed.
type killing struct {
	Dir, Data, Session, Turn string
	Undo                     bool // it undoes the turn; else it makes calls
	From                     int  // the number of its first call
}

// TestMain is a process that is to be killed where the binary was started as one.
func TestMain(m *testing.M) {
	if text := os.Getenv(victim); text != "" {
		if err := beKilled(text); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// work is the call of a number: file tools and commands in turn, over files that were there and files that were not.
func work(n int) (name string, args map[string]any) {
	file := fmt.Sprintf("d/f%d", n%filesKilled)
	switch n % 4 {
	case 0:
		return "file_write", map[string]any{"path": file, "content": strings.Repeat(fmt.Sprintf("written by %d\n", n), 2000)}
	case 1:
		return "shell", map[string]any{"command": fmt.Sprintf("echo %d >> log; echo %d > new%d; rm -f %s", n, n, n%7, file)}
	case 2:
		return "file_write", map[string]any{"path": fmt.Sprintf("made/%d/x", n%5), "content": strings.Repeat("x", n%50*1000)}
	}
	return "shell", map[string]any{"command": fmt.Sprintf("echo %d >> log; mkdir -p made; echo %d > made/y", n, n)}
}

const filesKilled = 40

// wholeFile is what a file of the workspace holds before anything is done: large enough to be caught by halves.
func wholeFile(n int) string { return strings.Repeat(fmt.Sprintf("as it was, %d\n", n), 4000) }

func beKilled(text string) error {
	var k killing
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		return err
	}
	ctx := context.Background()
	w := &world{dir: k.Dir, data: k.Data}
	var err error
	if w.db, err = store.Open(ctx, w.data); err != nil {
		return err
	}
	if w.root, err = workspace.Open(w.dir, workspace.Options{}); err != nil {
		return err
	}
	w.keeper = undo.New(w.root, w.db, w.db, nil)
	w.who = doer(k)
	fmt.Println("begins")
	if k.Undo {
		if _, err := w.keeper.Undo(ctx, w.who, k.Turn, undo.Options{}); err != nil {
			return err
		}
		fmt.Println("done")
		return nil
	}
	for n := k.From; ; n++ {
		gate, err := w.gateOf()
		if err != nil {
			return err
		}
		if _, err := gate.Do(ctx, tool.Request{Who: w.who, Call: workCall(k, n)}); err != nil {
			return err
		}
		fmt.Println(n)
	}
}

func doer(k killing) jackline.Actor {
	s := jackline.Session{ID: jackline.SessionID(k.Session), Owner: owner, Workspace: k.Dir}
	return jackline.Actor{Owner: owner, Session: s, Turn: jackline.Turn{ID: jackline.TurnID(k.Turn), Session: s.ID}, Source: jackline.FromModel}
}

func workCall(k killing, n int) jackline.Call {
	name, args := work(n)
	raw, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings and numbers
	}
	return jackline.Call{
		ID: jackline.CallID(fmt.Sprintf("c_%d", n)), Session: jackline.SessionID(k.Session), Turn: jackline.TurnID(k.Turn), Step: 1, Index: n,
		Asked: name, Name: name, Args: raw, State: jackline.CallNew,
	}
}

// kill starts a process and kills it when it has said enough and what is waited for has come. It gives the last number that it said.
func kill(t *testing.T, k killing, lines int, wait func()) (last int, done bool) {
	t.Helper()
	text, err := json.Marshal(k)
	must(t, err)
	exe, err := os.Executable()
	must(t, err)
	c := exec.CommandContext(t.Context(), exe)
	c.Env = append(os.Environ(), victim+"="+string(text))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	must(t, err)
	must(t, c.Start())
	last = k.From - 1
	said := bufio.NewScanner(out)
	note := func() {
		if strings.HasPrefix(said.Text(), "failed") {
			t.Error(said.Text())
		}
		done = done || said.Text() == "done"
		if n, err := strconv.Atoi(said.Text()); err == nil {
			last = n
		}
	}
	for range lines {
		if !said.Scan() {
			break
		}
		note()
	}
	wait()
	must(t, c.Process.Kill())
	for said.Scan() { // what it said before it died
		note()
	}
	_ = c.Wait()
	return last, done
}

func newKilledWorld(t *testing.T) (*world, []string) {
	t.Helper()
	files := map[string]string{}
	for n := range filesKilled {
		files[fmt.Sprintf("d/f%d", n)] = wholeFile(n)
	}
	w := newWorld(t, files)
	return w, w.tree(t)
}

// TestKilledWhileItWorks kills a program that makes one call after the other, at any moment, again and again: no call is made twice,
// and what all of them did can be taken back to the last byte.
func TestKilledWhileItWorks(t *testing.T) {
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	w, before := newKilledWorld(t)
	k := killing{Dir: w.dir, Data: w.data, Session: string(w.who.Session.ID), Turn: "t_one"}
	w.who = doer(k)
	doubt := 0
	for range rounds {
		w.close(t)
		last, _ := kill(t, k, 2+rand.IntN(12), func() { <-time.After(time.Duration(rand.IntN(20_000)) * time.Microsecond) })
		w.open(t)
		// The call after the last one that ended may have begun.
		c, err := w.db.Call(t.Context(), owner, jackline.CallID(fmt.Sprintf("c_%d", last+1)))
		if err == nil && c.State != jackline.CallEnded {
			doubt++
			tree := w.quiet(t)
			d, err := w.gate(t).Do(t.Context(), tool.Request{Who: w.who, Call: c})
			must(t, err)
			if d.Call.Outcome != jackline.Unknown {
				t.Errorf("call %d came back as %v: %s", last+1, d.Call.Outcome, d.Call.Text)
			}
			unchanged(t, tree, w.tree(t))
		}
		k.From = last + 2
		log, _ := os.ReadFile(w.path("log")) // a command may not have come so far
		lines := strings.Fields(string(log))
		for n, line := range lines {
			if slices.Contains(lines[:n], line) {
				t.Errorf("the command of call %s ran twice", line)
			}
		}
	}
	t.Logf("%d calls, %d of them in doubt after a kill", k.From, doubt)
	_, states := w.undo(t, "t_one", undo.Options{})
	for _, s := range states {
		if !strings.HasSuffix(s, " done") && !strings.HasSuffix(s, " already") {
			t.Error(s)
		}
	}
	unchanged(t, before, w.tree(t))
	w.verified(t)
}

// TestKilledWhileItRestores kills an undo at any moment: each file is as it was or as the turn left it, none is by halves, nothing else
// lies about, and the same undo, said again, ends the work.
func TestKilledWhileItRestores(t *testing.T) {
	rounds := 3
	if testing.Short() {
		rounds = 2
	}
	w, before := newKilledWorld(t)
	halves := 0
	for round := range rounds {
		k := killing{Dir: w.dir, Data: w.data, Session: string(w.who.Session.ID), Turn: fmt.Sprintf("t_%d", round), Undo: true}
		w.who = doer(k)
		w.runs(t, func() {
			for n := range filesKilled {
				switch n % 3 {
				case 0:
					w.write(t, fmt.Sprintf("d/f%d", n), "changed\n")
				case 1:
					w.remove(t, fmt.Sprintf("d/f%d", n))
				default:
					w.write(t, fmt.Sprintf("new/f%d", n), "new\n")
				}
			}
		})
		changed := w.tree(t)
		w.close(t)
		// It is killed around the moment in which one of the files comes back.
		one := w.path(fmt.Sprintf("d/f%d", 3*rand.IntN(filesKilled/3)+rand.IntN(2)))
		until := time.Now().Add(30 * time.Second)
		_, done := kill(t, k, 1, func() {
			for info, err := os.Stat(one); (err != nil || info.Size() < 100) && time.Now().Before(until); info, err = os.Stat(one) {
				<-time.After(50 * time.Microsecond)
			}
		})
		w.open(t)
		now := w.tree(t)
		for _, line := range now {
			if strings.Contains(line, "/.jackline-") { // what it was writing when it died goes with the next undo
				continue
			}
			if !slices.Contains(before, line) && !slices.Contains(changed, line) {
				t.Errorf("neither as it was nor as it was left: %.120s", line)
			}
		}
		switch {
		case slices.Equal(now, changed):
		case !slices.Equal(now, before):
			halves++
		case !done:
			t.Log("it was killed when all was done")
		}
		_, states := w.undo(t, k.Turn, undo.Options{})
		for _, s := range states {
			if !strings.HasSuffix(s, " done") && !strings.HasSuffix(s, " already") {
				t.Error(s)
			}
		}
		unchanged(t, before, w.tree(t))
	}
	t.Logf("%d of %d were killed half way", halves, rounds)
	if halves == 0 {
		t.Error("none was killed half way, so nothing was tried")
	}
	w.verified(t)
}

// unchanged fails the test where two trees differ, and says in what.
func unchanged(t *testing.T, was, is []string) {
	t.Helper()
	for _, l := range was {
		if !slices.Contains(is, l) && !strings.Contains(l, "/.jackline-") { // what was half written goes
			t.Errorf("missing: %.100s", l)
		}
	}
	for _, l := range is {
		if !slices.Contains(was, l) {
			t.Errorf("new: %.100s", l)
		}
	}
}

// quiet waits until a command that outlived its program has ended, and gives the tree.
func (w *world) quiet(t *testing.T) []string {
	t.Helper()
	const still = 50 * time.Millisecond
	last := ""
	for range 100 {
		now, _ := exec.Command("ls", "-lR", "--time-style=full-iso", w.dir).Output() // what is gone meanwhile is seen by the next
		if string(now) == last {
			break
		}
		last = string(now)
		<-time.After(still)
	}
	return w.tree(t)
}

// verified fails the test where the audit is not whole.
func (w *world) verified(t *testing.T) {
	t.Helper()
	r, err := w.db.VerifyAudit(t.Context(), true)
	if err != nil || !r.OK {
		t.Errorf("the audit: %+v %v", r, err)
	}
}
