package store

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline"
)

// The environment that makes the test binary play another process.
const (
	childMode = "JACKLINE_STORE_TEST_CHILD"
	childDir  = "JACKLINE_STORE_TEST_DIR"
)

// child is what another process does with a store: it opens it, waits for a line on standard input where it is told
// to, and acts.
func child(ctx context.Context, mode, dir string) error {
	if mode == "wait" {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	}
	d, err := Open(ctx, dir)
	if err != nil {
		return err
	}
	switch mode {
	case "open", "wait":
		fmt.Println("open")
	case "audit":
		err = childAudits(ctx, d)
	case "write":
		err = childWrites(ctx, d, 50)
	case "crash":
		err = childLoops(ctx, d)
	}
	return errors.Join(err, d.Close())
}

// childWrites appends to each session that it finds.
func childWrites(ctx context.Context, d *DB, n int) error {
	rows, err := d.Sessions(ctx, me, SessionQuery{})
	if err != nil {
		return err
	}
	for i := range n {
		for _, row := range rows {
			rec := jackline.Record{Session: row.ID, Events: []jackline.Event{jackline.NewEvent(row.ID, "", jackline.Text{Text: strconv.Itoa(i)})}}
			if _, err := d.Append(ctx, me, rec); err != nil {
				return err
			}
		}
	}
	return nil
}

// childLoops appends to two sessions, without end, and says of each record on standard output that it is written.
func childLoops(ctx context.Context, d *DB) error {
	rows, err := d.Sessions(ctx, me, SessionQuery{})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make([]error, len(rows))
	for i, row := range rows {
		wg.Go(func() {
			for n := count(ctx, d, row.ID) + 1; errs[i] == nil; n++ {
				_, errs[i] = d.Append(ctx, me, crashRecord(row.ID, n))
				fmt.Printf("%s %d\n", row.ID, n) // one write: the line is whole or not there
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// count is how many crash records a session holds.
func count(ctx context.Context, d *DB, s jackline.SessionID) int {
	v, err := d.State(ctx, me, s, "n")
	if err != nil {
		return -1
	}
	n, _ := strconv.Atoi(string(v))
	return n
}

func crashRecord(s jackline.SessionID, n int) jackline.Record {
	turn := jackline.TurnID("t_" + s)
	rec := stepRecord(s, &jackline.Turn{ID: turn, Prompt: "work", Status: jackline.Running}, jackline.CallID(fmt.Sprintf("c_%s_%d", s, n)), n)
	rec.State = map[string]json.RawMessage{"n": json.RawMessage(strconv.Itoa(n))}
	rec.Approvals = []jackline.Approval{{ID: jackline.ApprovalID(fmt.Sprintf("a_%s_%d", s, n)), Turn: turn, State: jackline.Pending}}
	rec.Sync = n%5 == 0
	if n%10 == 0 {
		rec.Compacted = []jackline.Item{{Role: jackline.ItemSummary, Text: strconv.Itoa(n)}}
	}
	return rec
}

// start runs the test binary as another process.
func start(t testing.TB, mode, dir string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(t.Context(), exe)
	c.Env = append(os.Environ(), childMode+"="+mode, childDir+"="+dir)
	c.Stderr = os.Stderr
	return c
}

// TestKilled kills a process that writes, at any moment, again and again. What it said was written is there, nothing
// is there by halves.
func TestKilled(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 3
	}
	dir := t.TempDir()
	d, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	one, two := newSession(t, d, me).ID, newSession(t, d, me).ID
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	said := map[string]int{}
	for range rounds {
		c := start(t, "crash", dir)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 1 + rand.IntN(30) {
			if !lines.Scan() {
				break
			}
			note(said, lines.Text())
		}
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // what it said before it died
			note(said, lines.Text())
		}
		_ = c.Wait()

		d, err := Open(t.Context(), dir)
		if err != nil {
			t.Fatalf("after a kill: %v", err)
		}
		checkFile(t, dir)
		if r := verified(t, d); !r.OK || len(r.Noted) > 0 {
			t.Fatalf("the audit after a kill: %+v", r)
		}
		for _, s := range []jackline.SessionID{one, two} {
			checkCrash(t, d, s, said[string(s)])
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("records written: %v", said)
}

func note(said map[string]int, line string) {
	id, n, ok := strings.Cut(line, " ")
	if i, err := strconv.Atoi(n); ok && err == nil {
		said[id] = i
	}
}

func checkFile(t *testing.T, dir string) {
	t.Helper()
	pool, err := openPool(filepath.Join(dir, fileDB), false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	var ok string
	if err := pool.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
		t.Fatalf("integrity: %s, %v", ok, err)
	}
	var violations int
	if err := pool.QueryRowContext(t.Context(), "SELECT count(*) FROM pragma_foreign_key_check").Scan(&violations); err != nil || violations > 0 {
		t.Fatalf("foreign keys: %d, %v", violations, err)
	}
}

// checkCrash looks for all that each of the records wrote.
func checkCrash(t *testing.T, d *DB, s jackline.SessionID, said int) {
	t.Helper()
	ctx := t.Context()
	n := count(ctx, d, s)
	if n < said {
		t.Fatalf("%d records, the process said %d", n, said)
	}
	if n == 0 {
		return
	}
	perRecord := len(crashRecord(s, 1).Events)
	var last int64
	for {
		evs, err := d.Events(ctx, me, s, last, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(evs) == 0 {
			break
		}
		for _, e := range evs {
			if e.ID != last+1 {
				t.Fatalf("event %d after %d", e.ID, last)
			}
			last = e.ID
		}
	}
	if last != int64(n*perRecord) {
		t.Fatalf("%d events of %d records", last, n)
	}
	turn, err := d.Turn(ctx, me, jackline.TurnID("t_"+s))
	if err != nil || turn.Progress.Step != n {
		t.Fatalf("the turn is at step %d, %v; %d records", turn.Progress.Step, err, n)
	}
	calls, err := d.Calls(ctx, me, turn.ID)
	if err != nil || len(calls) != n || calls[n-1].Step != n {
		t.Fatalf("%d calls, %v; %d records", len(calls), err, n)
	}
	open, err := d.Approvals(ctx, me, ApprovalFilter{Session: s})
	if err != nil || len(open) != n {
		t.Fatalf("%d approvals, %v; %d records", len(open), err, n)
	}
	history, err := d.History(ctx, me, s)
	want := 2 * n
	if n >= 10 {
		want = 2*(n%10) + 3
	}
	if err != nil || len(history) != want {
		t.Fatalf("%d items, %v; %d after %d records", len(history), err, want, n)
	}
}

// TestTwoProcesses lets another process write to the sessions that this one writes to and watches.
func TestTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	d := openTest(t, dir)
	s := newSession(t, d, me).ID
	w := d.Watch(me, s)
	defer w.Close()
	c := start(t, "write", dir)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := childWrites(t.Context(), d, 50); err != nil {
		t.Fatal(err)
	}
	var last int64
	for last < 100 { // the test's own time limit ends this where a wake is missed
		<-w.Wake()
		evs, err := d.Events(t.Context(), me, s, last, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range evs {
			if e.ID != last+1 {
				t.Fatalf("event %d after %d", e.ID, last)
			}
			last = e.ID
		}
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	all, err := d.AllEvents(t.Context(), me, 0, 0)
	if err != nil || len(all) != 100 {
		t.Fatalf("%d events, %v", len(all), err)
	}
}

// TestManyOpenAtOnce lets processes meet in an empty folder.
func TestManyOpenAtOnce(t *testing.T) {
	for range 3 {
		dir := filepath.Join(t.TempDir(), "new")
		var all []*exec.Cmd
		var starts []io.Closer
		for range 6 {
			c := start(t, "wait", dir)
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			all, starts = append(all, c), append(starts, in)
		}
		for _, in := range starts {
			_ = in.Close()
		}
		for _, c := range all {
			if err := c.Wait(); err != nil {
				t.Errorf("a process failed: %v", err)
			}
		}
		// Where two close at the same moment SQLite may leave its log for the next one; nothing else may be left.
		left, err := filepath.Glob(filepath.Join(dir, ".*"))
		if err != nil || len(left) > 0 {
			t.Errorf("in the folder: %v, %v", left, err)
		}
		checkFile(t, dir)
	}
}
