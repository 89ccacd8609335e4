package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server"
	"github.com/jackline-ai/jackline/store"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func alone(t *testing.T, opts ...option) *world {
	t.Helper()
	return newTurns(t, filepath.Join(t.TempDir(), "data"), opts...)
}

const writes = `call put_text {"path":"a.txt","text":"x"}`

func TestQueue(t *testing.T) {
	w := alone(t)
	s := w.session()
	first := w.submit(s.ID, "hang")
	second := w.submit(s.ID, "say two")
	third := w.submit(s.ID, "say three")
	if first.Queued || !second.Queued || !third.Queued {
		t.Fatalf("queued: %v %v %v", first.Queued, second.Queued, third.Queued)
	}
	w.until("the first runs", func() bool { return w.turn(first.Turn.ID).Status == jackline.Running })
	if _, err := w.turns.EditQueued(t.Context(), jackline.Local, s.ID, first.Turn.ID, "other"); jackline.KindOf(err) != jackline.Conflict {
		t.Errorf("editing what runs: %v", err)
	}
	if v, err := w.turns.EditQueued(t.Context(), jackline.Local, s.ID, third.Turn.ID, "say four"); err != nil || v.Prompt != "say four" {
		t.Errorf("editing: %v %+v", err, v)
	}
	if err := w.turns.DropQueued(t.Context(), jackline.Local, s.ID, second.Turn.ID); err != nil {
		t.Error(err)
	}
	wantKind(t, w.turns.DropQueued(t.Context(), jackline.Local, s.ID, second.Turn.ID), jackline.NotFound)
	_, err := w.turns.EditQueued(t.Context(), other, s.ID, third.Turn.ID, "x")
	wantKind(t, err, jackline.NotFound)
	_, err = w.turns.EditQueued(t.Context(), jackline.Local, w.session().ID, third.Turn.ID, "x")
	wantKind(t, err, jackline.NotFound)

	// A stop ends the turn, and the queue rests.
	stopped, err := w.turns.Stop(t.Context(), jackline.Local, s.ID)
	if err != nil || !slices.Equal(stopped, []jackline.TurnID{first.Turn.ID}) {
		t.Fatalf("stopped %v, %v", stopped, err)
	}
	if v := w.ends(first.Turn.ID, jackline.Stopped); v.Reason == "" {
		t.Error("no reason")
	}
	settled(w, s.ID)
	if v := w.turn(third.Turn.ID); v.Status != jackline.Queued {
		t.Errorf("the queue went on after a stop: %s", v.Status)
	}
	if stopped, err := w.turns.Stop(t.Context(), jackline.Local, s.ID); err != nil || len(stopped) != 0 {
		t.Errorf("stopped %v, %v where nothing runs", stopped, err)
	}

	// The next prompt goes first, and the queue follows it.
	fourth := w.submit(s.ID, "say five")
	if fourth.Queued {
		t.Error("the prompt after a stop was queued")
	}
	w.ends(third.Turn.ID, jackline.Done)
	if a, b := w.turn(fourth.Turn.ID), w.turn(third.Turn.ID); a.Status != jackline.Done || !a.Started.Before(b.Started) {
		t.Errorf("order: %v %v", a.Started, b.Started)
	}
	if v := w.turn(third.Turn.ID); v.Prompt != "say four" {
		t.Errorf("ran %q", v.Prompt)
	}
}

// settled waits until nothing of a session is on its way: submitting and dropping a turn goes through the same door.
func settled(w *world, s jackline.SessionID) {
	w.t.Helper()
	w.until("it settles", func() bool {
		h, ok, err := w.db.HolderOf(context.Background(), "session "+string(s))
		return err == nil && !ok && h.ID == ""
	})
}

func TestQueueIsBounded(t *testing.T) {
	w := alone(t)
	s := w.session()
	w.submit(s.ID, "hang")
	for range 50 {
		w.submit(s.ID, "say x")
	}
	_, err := w.turns.Submit(t.Context(), jackline.Local, s.ID, "say x", jackline.TurnOptions{})
	wantKind(t, err, jackline.Conflict)
	_, err = w.turns.Submit(t.Context(), jackline.Local, s.ID, " \n", jackline.TurnOptions{})
	wantKind(t, err, jackline.Unprocessed)
	_, err = w.turns.Submit(t.Context(), other, s.ID, "say x", jackline.TurnOptions{})
	wantKind(t, err, jackline.NotFound)
	if _, err := w.turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
		t.Fatal(err)
	}
}

func TestAnswerWakes(t *testing.T) {
	w := alone(t)
	s := w.session()
	k := w.submit(s.ID, writes+"; say after")
	next := w.submit(s.ID, "say next")
	w.ends(k.Turn.ID, jackline.Waiting)
	if !next.Queued {
		t.Error("a prompt behind a waiting turn did not queue")
	}
	card := w.pending(s.ID)[0]
	if _, err := w.desk.Answer(t.Context(), jackline.Local, card.ID, jackline.Answer{Yes: true}, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.turns.Woken(t.Context(), jackline.Local, k.Turn.ID); err != nil {
		t.Fatal(err)
	}
	w.ends(k.Turn.ID, jackline.Done)
	w.ends(next.Turn.ID, jackline.Done)
	if w.files.count() != 1 {
		t.Errorf("ran %d times", w.files.count())
	}
	if err := w.turns.Woken(t.Context(), jackline.Local, k.Turn.ID); err != nil {
		t.Error("waking what is over:", err)
	}
	wantKind(t, w.turns.Woken(t.Context(), other, k.Turn.ID), jackline.NotFound)
}

func TestStopWaiting(t *testing.T) {
	w := alone(t)
	s := w.session()
	k := w.submit(s.ID, writes)
	w.ends(k.Turn.ID, jackline.Waiting)
	card := w.pending(s.ID)[0]
	stopped, err := w.turns.Stop(t.Context(), jackline.Local, s.ID)
	if err != nil || len(stopped) != 1 {
		t.Fatal(stopped, err)
	}
	w.ends(k.Turn.ID, jackline.Stopped)
	_, err = w.desk.Answer(t.Context(), jackline.Local, card.ID, jackline.Answer{Yes: true}, nil)
	wantKind(t, err, jackline.Conflict)
	if w.files.count() != 0 {
		t.Error("it ran")
	}
}

// A turn that was taken and has not begun can be stopped too.
func TestStopAtOnce(t *testing.T) {
	w := alone(t)
	for range 20 {
		s := w.session()
		k := w.submit(s.ID, "hang")
		if stopped, err := w.turns.Stop(t.Context(), jackline.Local, s.ID); err != nil || len(stopped) != 1 {
			t.Fatal(stopped, err)
		}
		w.ends(k.Turn.ID, jackline.Stopped)
	}
}

func TestSteer(t *testing.T) {
	w := alone(t)
	s := w.session()
	steer := func(words string) server.Taken {
		t.Helper()
		k, err := w.turns.Steer(t.Context(), jackline.Local, s.ID, words, jackline.TurnOptions{OnAsk: jackline.AskWait})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	// In an idle session words are a prompt.
	idle := steer("say x")
	if idle.Steered || idle.Queued {
		t.Errorf("%+v", idle)
	}
	w.ends(idle.Turn.ID, jackline.Done)

	// They reach a turn that runs at its next step.
	k := w.submit(s.ID, "steered; say after")
	w.until("it runs", func() bool { return w.turn(k.Turn.ID).Status == jackline.Running })
	if got := steer("left, please"); !got.Steered || got.Turn.ID != k.Turn.ID {
		t.Errorf("%+v", got)
	}
	w.ends(k.Turn.ID, jackline.Done)
	if !slices.Contains(w.types(s.ID), "steer") {
		t.Error("not delivered")
	}

	// They wake a turn that waits, and withdraw its card.
	k = w.submit(s.ID, writes+"; say after")
	w.ends(k.Turn.ID, jackline.Waiting)
	card := w.pending(s.ID)[0]
	if got := steer("never mind"); !got.Steered {
		t.Errorf("%+v", got)
	}
	w.ends(k.Turn.ID, jackline.Done)
	row, err := w.db.Approval(t.Context(), jackline.Local, card.ID)
	if err != nil || row.State != jackline.Withdrawn {
		t.Errorf("card %s, %v", row.State, err)
	}
	if w.files.count() != 0 {
		t.Error("the call ran")
	}

	// Words that come too late are a prompt of their own.
	k = w.submit(s.ID, "slowly")
	w.until("it runs", func() bool { return w.turn(k.Turn.ID).Status == jackline.Running })
	steer("too")
	steer("late")
	if _, err := w.turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
		t.Fatal(err)
	}
	w.ends(k.Turn.ID, jackline.Done)
	w.until("the late words ran", func() bool {
		turns, err := w.db.Turns(context.Background(), jackline.Local, s.ID)
		last := turns[len(turns)-1]
		return err == nil && last.Prompt == "too\n\nlate" && last.Status == jackline.Done
	})
}

// Words that a stop overtook are kept, but they start nothing: neither themselves nor the queue that rests.
func TestStopOvertakesWords(t *testing.T) {
	w := alone(t)
	s := w.session()
	k := w.submit(s.ID, "hang")
	queued := w.submit(s.ID, "say queued")
	w.until("it runs", func() bool { return w.turn(k.Turn.ID).Status == jackline.Running })
	if _, err := w.turns.Steer(t.Context(), jackline.Local, s.ID, "say words", jackline.TurnOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
		t.Fatal(err)
	}
	w.ends(k.Turn.ID, jackline.Stopped)
	settled(w, s.ID)
	turns, err := w.db.Turns(t.Context(), jackline.Local, s.ID)
	if err != nil || len(turns) != 3 || turns[2].Prompt != "say words" {
		t.Fatalf("%+v, %v", turns, err)
	}
	for _, v := range turns[1:] {
		if v.Status != jackline.Queued {
			t.Errorf("%q is %s after a stop", v.Prompt, v.Status)
		}
	}
	// The next prompt goes first, and all follow it.
	w.submit(s.ID, "say more")
	w.ends(queued.Turn.ID, jackline.Done)
	w.ends(turns[2].ID, jackline.Done)
}

// Words that are sent while the engine takes others are not lost, however close the two come.
func TestSteerLosesNothing(t *testing.T) {
	w := alone(t)
	s := w.session()
	w.submit(s.ID, strings.Repeat("say x;", 60))
	sent := make(chan string, 100)
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for k := range 8 {
				word := fmt.Sprintf("say word-%d-%d.", n, k)
				if _, err := w.turns.Steer(t.Context(), jackline.Local, s.ID, word, jackline.TurnOptions{}); err == nil {
					sent <- word
				} else if jackline.KindOf(err) != jackline.Conflict { // too many at once
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(sent)
	w.until("it is over", func() bool {
		open, err := w.db.OpenTurns(context.Background())
		return err == nil && len(open) == 0
	})
	var said strings.Builder
	events, err := w.db.Events(t.Context(), jackline.Local, s.ID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	delivered := 0
	for _, e := range events {
		if e.Type == "steer" || e.Type == "turn.start" {
			said.Write(e.Data)
			delivered++
		}
	}
	n := 0
	for word := range sent {
		n++
		if c := strings.Count(said.String(), word); c != 1 {
			t.Errorf("%q was delivered %d times", word, c)
		}
	}
	if n < 10 {
		t.Errorf("only %d were taken", n)
	}
}

func TestContinue(t *testing.T) {
	w := alone(t)
	s := w.session()
	good := w.submit(s.ID, "say x")
	w.ends(good.Turn.ID, jackline.Done)
	on := func(id jackline.TurnID, opt jackline.TurnOptions) (server.Taken, error) {
		return w.turns.Continue(t.Context(), jackline.Local, s.ID, id, opt)
	}
	_, err := on(good.Turn.ID, jackline.TurnOptions{})
	wantKind(t, err, jackline.Conflict)
	_, err = on("t_none", jackline.TurnOptions{})
	wantKind(t, err, jackline.NotFound)

	opt := jackline.TurnOptions{OnAsk: jackline.AskWait, TZ: "Europe/Berlin", MaxSteps: 3, Allow: []jackline.Rule{{Do: jackline.Allow, Pattern: "x"}}}
	k, err := w.turns.Submit(t.Context(), jackline.Local, s.ID, "limit", opt)
	if err != nil {
		t.Fatal(err)
	}
	w.ends(k.Turn.ID, jackline.StepLimit)
	more, err := on(k.Turn.ID, jackline.TurnOptions{MaxSteps: 9})
	if err != nil {
		t.Fatal(err)
	}
	want := jackline.TurnOptions{OnAsk: jackline.AskWait, TZ: "Europe/Berlin", MaxSteps: 9, Continues: k.Turn.ID}
	if d := cmp.Diff(want, w.ends(more.Turn.ID, jackline.Done).Options); d != "" {
		t.Error(d)
	}
	_, err = on(k.Turn.ID, jackline.TurnOptions{})
	wantKind(t, err, jackline.Conflict) // no longer the last
}

func TestKillSwitch(t *testing.T) {
	w := alone(t)
	a, b, c := w.session(), w.session(), w.session()
	running := w.submit(a.ID, "hang")
	queued := w.submit(a.ID, "say x")
	waiting := w.submit(b.ID, writes)
	w.ends(waiting.Turn.ID, jackline.Waiting)
	w.until("it runs", func() bool { return w.turn(running.Turn.ID).Status == jackline.Running })
	began := make(chan struct{})
	byHand := make(chan error, 1)
	go func() {
		byHand <- w.turns.Do(context.Background(), func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	<-began

	stopped, err := w.turns.StopAll(t.Context(), jackline.Local, "page")
	if err != nil || len(stopped) != 2 || !w.turns.Halted() {
		t.Fatalf("stopped %v, %v", stopped, err)
	}
	w.ends(running.Turn.ID, jackline.Stopped)
	w.ends(waiting.Turn.ID, jackline.Stopped)
	if err := <-byHand; err == nil {
		t.Error("a person's call went on")
	}
	if !slices.Contains(w.types(a.ID), "killed") || !slices.Contains(w.types(b.ID), "killed") || slices.Contains(w.types(c.ID), "killed") {
		t.Error("not told where it mattered")
	}
	_, err = w.turns.Submit(t.Context(), jackline.Local, c.ID, "say x", jackline.TurnOptions{})
	wantKind(t, err, jackline.Conflict)
	_, err = w.turns.Steer(t.Context(), jackline.Local, c.ID, "say x", jackline.TurnOptions{})
	wantKind(t, err, jackline.Conflict)
	settled(w, a.ID)

	// It holds across a restart.
	again, err := server.OpenTurns(t.Context(), server.TurnsConfig{Store: w.db, Desk: w.desk, Runner: w.puppet, Log: nil})
	if err != nil {
		t.Fatal(err)
	}
	if !again.Halted() {
		t.Error("the switch was forgotten")
	}
	if err := again.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.turns.Lift(t.Context(), jackline.Local, "page"); err != nil {
		t.Fatal(err)
	}
	k := w.submit(c.ID, "say x")
	w.ends(k.Turn.ID, jackline.Done)
	if v := w.turn(queued.Turn.ID); v.Status != jackline.Queued {
		t.Errorf("a queued prompt is %s", v.Status)
	}
}

func TestBrokenRunner(t *testing.T) {
	w := alone(t)
	s := w.session()
	for _, prompt := range []string{"panic", "fail", "leave"} {
		k := w.submit(s.ID, prompt)
		v := w.ends(k.Turn.ID, jackline.Failed)
		if v.Reason == "" || strings.Contains(v.Reason, "secret") {
			t.Errorf("%s: told %q", prompt, v.Reason)
		}
	}
	if log := w.log.String(); !strings.Contains(log, "a secret panic") || !strings.Contains(log, "a secret cause") {
		t.Error("the log does not say why:", log)
	}
	k := w.submit(s.ID, "say x")
	w.ends(k.Turn.ID, jackline.Done)
}

func TestSlots(t *testing.T) {
	w := alone(t)
	var all []server.Taken
	for range 12 {
		all = append(all, w.submit(w.session().ID, "hang; say x"))
	}
	queued := 0
	for _, k := range all {
		if k.Queued {
			queued++
		}
	}
	if queued != 4 {
		t.Errorf("%d were queued", queued)
	}
	w.until("eight run", func() bool { return len(w.puppet.began) == 8 })
	for _, k := range all {
		if !k.Queued {
			if _, err := w.turns.Stop(t.Context(), jackline.Local, k.Turn.Session); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.until("the others run", func() bool { return len(w.puppet.began) == 12 })
	if n := w.puppet.atOnce(); n > 8 {
		t.Errorf("%d ran at once", n)
	}
	if _, err := w.turns.StopAll(t.Context(), jackline.Local, "cli"); err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		w.ends(k.Turn.ID, jackline.Stopped)
	}
}

func TestShutdownAndResume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	w := newTurns(t, dir)
	if err := w.turns.Resume(t.Context(), "http://here"); err != nil {
		t.Fatal(err)
	}
	running, waiting, answered, resting := w.session(), w.session(), w.session(), w.session()
	r := w.submit(running.ID, "hang; say x")
	behind := w.submit(running.ID, "say behind")
	q := w.submit(waiting.ID, writes)
	a := w.submit(answered.ID, writes)
	z := w.submit(resting.ID, "hang")
	rest := w.submit(resting.ID, "say rest")
	w.ends(q.Turn.ID, jackline.Waiting)
	w.ends(a.Turn.ID, jackline.Waiting)
	w.until("it runs", func() bool { return w.turn(r.Turn.ID).Status == jackline.Running })
	if _, err := w.turns.Stop(t.Context(), jackline.Local, resting.ID); err != nil {
		t.Fatal(err)
	}
	w.ends(z.Turn.ID, jackline.Stopped)
	w.close()

	w2 := newTurns(t, dir)
	if v := w2.turn(r.Turn.ID); v.Status != jackline.Running {
		t.Fatalf("left as %s", v.Status)
	}
	// An answer that came while no server ran.
	if _, err := w2.desk.Answer(t.Context(), jackline.Local, w2.pending(answered.ID)[0].ID, jackline.Answer{Yes: true}, nil); err != nil {
		t.Fatal(err)
	}
	if err := w2.turns.Resume(t.Context(), "http://here"); err != nil {
		t.Fatal(err)
	}
	w2.ends(a.Turn.ID, jackline.Done)
	w2.until("the turn is taken up", func() bool { return len(w2.puppet.began) >= 2 })
	if _, err := w2.turns.Stop(t.Context(), jackline.Local, running.ID); err != nil {
		t.Fatal(err)
	}
	w2.ends(r.Turn.ID, jackline.Stopped)
	if v := w2.turn(q.Turn.ID); v.Status != jackline.Waiting {
		t.Errorf("the waiting turn is %s", v.Status)
	}
	if v := w2.turn(rest.Turn.ID); v.Status != jackline.Queued {
		t.Errorf("the resting queue is %s", v.Status)
	}
	if v := w2.turn(behind.Turn.ID); v.Status != jackline.Queued {
		t.Errorf("the queue behind a stopped turn is %s", v.Status)
	}
}

func TestResumeStartsQueues(t *testing.T) {
	w := alone(t)
	s := w.session()
	v := jackline.Turn{ID: "t_queued", Prompt: "say x", Status: jackline.Queued, Created: time.Now()}
	if _, err := w.db.Append(t.Context(), jackline.Local, jackline.Record{Session: s.ID, Turn: &v}); err != nil {
		t.Fatal(err)
	}
	if err := w.turns.Resume(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	w.ends("t_queued", jackline.Done)
}

func TestResumeTooOld(t *testing.T) {
	w := alone(t)
	s := w.session()
	k := w.submit(s.ID, "hang")
	w.until("it runs", func() bool { return w.turn(k.Turn.ID).Status == jackline.Running })
	// As if the process had died: the one-shot mark is gone, the lease too, and time has passed.
	crashed(t, w, s.ID)
	exec(t, w, `UPDATE sessions SET updated = updated - 3700000000000`)
	w2 := newTurns(t, w.dir)
	if err := w2.turns.Resume(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	v := w2.ends(k.Turn.ID, jackline.Interrupted)
	if !strings.Contains(v.Reason, "Continue") {
		t.Errorf("reason %q", v.Reason)
	}
	more, err := w2.turns.Continue(t.Context(), jackline.Local, s.ID, k.Turn.ID, jackline.TurnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w2.ends(more.Turn.ID, jackline.Done)
}

func TestOneShot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	w := newTurns(t, dir)
	s := w.session()
	k := w.submit(s.ID, "hang")
	w.until("it runs", func() bool { return w.turn(k.Turn.ID).Status == jackline.Running })
	w.close()
	w2 := newTurns(t, dir)
	if v := w2.turn(k.Turn.ID); v.Status != jackline.Interrupted {
		t.Errorf("a one-shot that was ended left its turn %s", v.Status)
	}

	// Killed, it leaves a turn that counts as running. No server takes it up.
	k = w2.submit(s.ID, "hang")
	w2.until("it runs", func() bool { return w2.turn(k.Turn.ID).Status == jackline.Running })
	behind := w2.submit(s.ID, "say x") // and this one was never begun
	if err := w2.db.Release(t.Context(), "session "+string(s.ID), holder(t, w2, s.ID).ID); err != nil {
		t.Fatal(err)
	}
	w3 := newTurns(t, dir)
	if err := w3.turns.Resume(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	w3.ends(k.Turn.ID, jackline.Interrupted)
	w3.ends(behind.Turn.ID, jackline.Interrupted)
	more, err := w3.turns.Continue(t.Context(), jackline.Local, s.ID, behind.Turn.ID, jackline.TurnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if v := w3.ends(more.Turn.ID, jackline.Done); v.Prompt != "say x" || v.Options.Continues != "" {
		t.Errorf("%+v", v)
	}
}

// A turn that a crash left running is ended by whoever next sends a prompt.
func TestStaleTurn(t *testing.T) {
	w := alone(t)
	s := w.session()
	k := w.submit(s.ID, "hang")
	w.until("it runs", func() bool { return w.turn(k.Turn.ID).Status == jackline.Running })
	crashed(t, w, s.ID)
	w2 := newTurns(t, w.dir)
	next := w2.submit(s.ID, "say x")
	if next.Queued {
		t.Error("queued behind a dead turn")
	}
	w2.ends(next.Turn.ID, jackline.Done)
	w2.ends(k.Turn.ID, jackline.Interrupted)
}

// crashed takes away what a process that has died no longer has.
func crashed(t *testing.T, w *world, s jackline.SessionID) {
	t.Helper()
	if err := w.db.Release(t.Context(), "session "+string(s), holder(t, w, s).ID); err != nil {
		t.Fatal(err)
	}
	exec(t, w, `DELETE FROM state WHERE name = 'alone'`)
}

func holder(t *testing.T, w *world, s jackline.SessionID) store.Holder {
	t.Helper()
	h, ok, err := w.db.HolderOf(t.Context(), "session "+string(s))
	if err != nil || !ok {
		t.Fatal("no lease", err)
	}
	return h
}

func TestOneServer(t *testing.T) {
	w := alone(t)
	if err := w.turns.Resume(t.Context(), "http://127.0.0.1:7717"); err != nil {
		t.Fatal(err)
	}
	w2 := newTurns(t, w.dir)
	err := w2.turns.Resume(t.Context(), "")
	wantKind(t, err, jackline.Conflict)
	if !strings.Contains(jackline.Say(err), "http://127.0.0.1:7717") || !strings.Contains(jackline.Say(err), fmt.Sprint(pid())) {
		t.Errorf("it says %q", jackline.Say(err))
	}

	// A dead server holds nobody up, whether or not its parent has taken note.
	for _, pid := range []int{1 << 22, zombie(t)} {
		w3 := alone(t)
		dead := store.Holder{ID: "p_dead", PID: pid, Host: hostname(t)}
		if ok, _, err := w3.db.Lease(t.Context(), "serve", dead, time.Hour); err != nil || !ok {
			t.Fatal(err)
		}
		if err := w3.turns.Resume(t.Context(), ""); err != nil {
			t.Error(err)
		}
	}
}

func TestElsewhere(t *testing.T) {
	w := alone(t)
	s := w.session()
	k := w.submit(s.ID, "hang")
	w.until("it runs", func() bool { return w.turn(k.Turn.ID).Status == jackline.Running })
	w2 := newTurns(t, w.dir)
	_, err := w2.turns.Submit(t.Context(), jackline.Local, s.ID, "say x", jackline.TurnOptions{})
	wantKind(t, err, jackline.Conflict)
	if !strings.Contains(jackline.Say(err), fmt.Sprint(pid())) {
		t.Errorf("it says %q", jackline.Say(err))
	}
	_, err = w2.turns.Stop(t.Context(), jackline.Local, s.ID)
	wantKind(t, err, jackline.Conflict)
	wantKind(t, w2.turns.Delete(t.Context(), jackline.Local, s.ID), jackline.Conflict)
	if _, err := w.turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
		t.Fatal(err)
	}
	w.ends(k.Turn.ID, jackline.Stopped)
	settled(w, s.ID)
	w2.ends(w2.submit(s.ID, "say x").Turn.ID, jackline.Done)
}

// An answer that another process takes reaches the turn that waits here.
func TestAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	w := alone(t)
	s := w.session()
	k := w.submit(s.ID, writes)
	w.ends(k.Turn.ID, jackline.Waiting)
	w2 := newTurns(t, w.dir)
	if _, err := w2.desk.Answer(t.Context(), jackline.Local, w2.pending(s.ID)[0].ID, jackline.Answer{Yes: true}, nil); err != nil {
		t.Fatal(err)
	}
	w.ends(k.Turn.ID, jackline.Done)
}

func TestDelete(t *testing.T) {
	w := alone(t)
	s := w.session()
	k := w.submit(s.ID, "hang")
	w.until("it runs", func() bool { return w.turn(k.Turn.ID).Status == jackline.Running })
	wantKind(t, w.turns.Delete(t.Context(), jackline.Local, s.ID), jackline.Conflict)
	wantKind(t, w.turns.Delete(t.Context(), other, s.ID), jackline.NotFound)
	if _, err := w.turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
		t.Fatal(err)
	}
	w.ends(k.Turn.ID, jackline.Stopped)
	k = w.submit(s.ID, writes)
	w.ends(k.Turn.ID, jackline.Waiting)
	settled(w, s.ID)
	if err := w.turns.Delete(t.Context(), jackline.Local, s.ID); err != nil {
		t.Fatal(err)
	}
	wantKind(t, w.turns.Woken(t.Context(), jackline.Local, k.Turn.ID), jackline.NotFound)
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	w := alone(t)
	w.set.p.ApprovalTimeout = 1
	s := w.session()
	k := w.submit(s.ID, writes+"; say after")
	w.ends(k.Turn.ID, jackline.Waiting)
	w.ends(k.Turn.ID, jackline.Done)
	if !slices.Contains(w.types(s.ID), "tool.expired") || w.files.count() != 0 {
		t.Error(w.types(s.ID))
	}
}

func TestShutDown(t *testing.T) {
	w := alone(t)
	s := w.session()
	if err := w.turns.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := w.turns.Submit(t.Context(), jackline.Local, s.ID, "say x", jackline.TurnOptions{})
	wantKind(t, err, jackline.Unavailable)
	wantKind(t, w.turns.Do(t.Context(), func(context.Context) error { return errors.New("ran") }), jackline.Unavailable)
}

// TestRaces does everything at once, and then looks whether the rules held: the puppet notes when two turns of one
// session run together, and every turn must come to an end.
func TestRaces(t *testing.T) {
	w := alone(t)
	w.set.p.ApprovalTimeout = 60
	var sessions []jackline.Session
	for range 6 {
		sessions = append(sessions, w.session())
	}
	prompts := []string{"say a", "say a; say b", writes, writes + "; " + writes, "hang", "slowly", "panic", "fail", "limit", "steered; say x"}
	ctx := t.Context()
	var wg sync.WaitGroup
	for n := range 8 {
		r := rand.New(rand.NewPCG(uint64(n), 7))
		wg.Go(func() {
			for range 40 {
				s := sessions[r.IntN(len(sessions))].ID
				switch r.IntN(10) {
				case 0, 1, 2:
					_, _ = w.turns.Submit(ctx, jackline.Local, s, prompts[r.IntN(len(prompts))], jackline.TurnOptions{OnAsk: jackline.AskWait})
				case 3, 4:
					_, _ = w.turns.Stop(ctx, jackline.Local, s)
				case 5, 6:
					for _, a := range w.pending(s) {
						if _, err := w.desk.Answer(ctx, jackline.Local, a.ID, jackline.Answer{Yes: r.IntN(2) == 0}, nil); err == nil {
							_ = w.turns.Woken(ctx, jackline.Local, a.Turn)
						}
					}
				case 7:
					_, _ = w.turns.Steer(ctx, jackline.Local, s, "say steered", jackline.TurnOptions{OnAsk: jackline.AskWait})
				case 8:
					turns, _ := w.db.Turns(ctx, jackline.Local, s)
					for _, v := range turns {
						if v.Status == jackline.Queued {
							_, _ = w.turns.EditQueued(ctx, jackline.Local, s, v.ID, "say edited")
							_ = w.turns.DropQueued(ctx, jackline.Local, s, v.ID)
						}
					}
				case 9:
					if r.IntN(4) == 0 {
						_, _ = w.turns.StopAll(ctx, jackline.Local, "test")
						_ = w.turns.Lift(ctx, jackline.Local, "test")
					}
				}
			}
		})
	}
	wg.Wait()
	// Nothing gets stuck: what is open can be stopped, and a new prompt runs in every session.
	begun := time.Now()
	w.until("all of it can be brought to an end", func() bool {
		open, err := w.db.OpenTurns(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range open {
			err := w.turns.DropQueued(ctx, jackline.Local, v.Session, v.ID)
			stopped, stop := w.turns.Stop(ctx, jackline.Local, v.Session)
			if time.Since(begun) > 12*time.Second {
				t.Logf("%s is still %s: %v; %v %v", v.ID, v.Status, err, stopped, stop)
			}
		}
		return len(open) == 0
	})
	for _, s := range sessions {
		w.ends(w.submit(s.ID, "say fine").Turn.ID, jackline.Done)
	}
}
