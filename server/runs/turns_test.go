package runs_test

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

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/runs"
	"github.com/jackline-ai/jackline/store"
)

const writes = `call put_text {"path":"a.txt","text":"x"}`

func TestQueue(t *testing.T) {
	w := alone(t)
	s := w.Session()
	first := w.Submit(s.ID, "hang")
	second := w.Submit(s.ID, "say two")
	third := w.Submit(s.ID, "say three")
	if first.Queued || !second.Queued || !third.Queued {
		t.Fatalf("queued: %v %v %v", first.Queued, second.Queued, third.Queued)
	}
	w.Until("the first runs", func() bool { return w.Turn(first.Turn.ID).Status == jackline.Running })
	if _, err := w.Turns.EditQueued(t.Context(), jackline.Local, s.ID, first.Turn.ID, "other"); jackline.KindOf(err) != jackline.Conflict {
		t.Errorf("editing what runs: %v", err)
	}
	if v, err := w.Turns.EditQueued(t.Context(), jackline.Local, s.ID, third.Turn.ID, "say four"); err != nil || v.Prompt != "say four" {
		t.Errorf("editing: %v %+v", err, v)
	}
	if err := w.Turns.DropQueued(t.Context(), jackline.Local, s.ID, second.Turn.ID); err != nil {
		t.Error(err)
	}
	wantKind(t, w.Turns.DropQueued(t.Context(), jackline.Local, s.ID, second.Turn.ID), jackline.NotFound)
	_, err := w.Turns.EditQueued(t.Context(), other, s.ID, third.Turn.ID, "x")
	wantKind(t, err, jackline.NotFound)
	_, err = w.Turns.EditQueued(t.Context(), jackline.Local, w.Session().ID, third.Turn.ID, "x")
	wantKind(t, err, jackline.NotFound)

	// A stop ends the turn, and the queue rests.
	stopped, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID)
	if err != nil || !slices.Equal(stopped, []jackline.TurnID{first.Turn.ID}) {
		t.Fatalf("stopped %v, %v", stopped, err)
	}
	if v := w.Ends(first.Turn.ID, jackline.Stopped); v.Reason == "" {
		t.Error("no reason")
	}
	w.Settled(s.ID)
	if v := w.Turn(third.Turn.ID); v.Status != jackline.Queued {
		t.Errorf("the queue went on after a stop: %s", v.Status)
	}
	if stopped, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil || len(stopped) != 0 {
		t.Errorf("stopped %v, %v where nothing runs", stopped, err)
	}

	// The next prompt goes first, and the queue follows it.
	fourth := w.Submit(s.ID, "say five")
	if fourth.Queued {
		t.Error("the prompt after a stop was queued")
	}
	w.Ends(third.Turn.ID, jackline.Done)
	if a, b := w.Turn(fourth.Turn.ID), w.Turn(third.Turn.ID); a.Status != jackline.Done || !a.Started.Before(b.Started) {
		t.Errorf("order: %v %v", a.Started, b.Started)
	}
	if v := w.Turn(third.Turn.ID); v.Prompt != "say four" {
		t.Errorf("ran %q", v.Prompt)
	}
}

func TestQueueIsBounded(t *testing.T) {
	w := alone(t)
	s := w.Session()
	w.Submit(s.ID, "hang")
	for range 50 {
		w.Submit(s.ID, "say x")
	}
	_, err := w.Turns.Submit(t.Context(), jackline.Local, s.ID, "say x", jackline.TurnOptions{})
	wantKind(t, err, jackline.Conflict)
	_, err = w.Turns.Submit(t.Context(), jackline.Local, s.ID, " \n", jackline.TurnOptions{})
	wantKind(t, err, jackline.Unprocessed)
	_, err = w.Turns.Submit(t.Context(), other, s.ID, "say x", jackline.TurnOptions{})
	wantKind(t, err, jackline.NotFound)
	if _, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
		t.Fatal(err)
	}
}

func TestAnswerWakes(t *testing.T) {
	w := alone(t)
	s := w.Session()
	k := w.Submit(s.ID, writes+"; say after")
	next := w.Submit(s.ID, "say next")
	w.Ends(k.Turn.ID, jackline.Waiting)
	if !next.Queued {
		t.Error("a prompt behind a waiting turn did not queue")
	}
	card := w.Pending(s.ID)[0]
	if _, err := w.Desk.Answer(t.Context(), jackline.Local, card.ID, jackline.Answer{Yes: true}, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Turns.Woken(t.Context(), jackline.Local, k.Turn.ID); err != nil {
		t.Fatal(err)
	}
	w.Ends(k.Turn.ID, jackline.Done)
	w.Ends(next.Turn.ID, jackline.Done)
	if w.Files.Count() != 1 {
		t.Errorf("ran %d times", w.Files.Count())
	}
	if err := w.Turns.Woken(t.Context(), jackline.Local, k.Turn.ID); err != nil {
		t.Error("waking what is over:", err)
	}
	wantKind(t, w.Turns.Woken(t.Context(), other, k.Turn.ID), jackline.NotFound)
}

// Who tells that a card was answered may come late: the turn went on by itself and waits for the next card. It does not run in
// vain, and does not say once more that it waits.
func TestWokenLate(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		s := w.Session()
		k := w.Submit(s.ID, writes+"; say after")
		pass(time.Second)
		before := w.Types(s.ID)
		if err := w.Turns.Woken(t.Context(), jackline.Local, k.Turn.ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if after := w.Types(s.ID); len(before) == 0 || !slices.Equal(after, before) {
			t.Errorf("the log grew by %q", after[len(before):])
		}
		if _, err := w.Desk.Answer(t.Context(), jackline.Local, w.Pending(s.ID)[0].ID, jackline.Answer{Yes: true}, nil); err != nil {
			t.Fatal(err)
		}
		if err := w.Turns.Woken(t.Context(), jackline.Local, k.Turn.ID); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		if v := w.Turn(k.Turn.ID); v.Status != jackline.Done {
			t.Errorf("it is %s", v.Status)
		}
	})
}

func TestStopWaiting(t *testing.T) {
	w := alone(t)
	s := w.Session()
	k := w.Submit(s.ID, writes)
	w.Ends(k.Turn.ID, jackline.Waiting)
	card := w.Pending(s.ID)[0]
	stopped, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID)
	if err != nil || len(stopped) != 1 {
		t.Fatal(stopped, err)
	}
	w.Ends(k.Turn.ID, jackline.Stopped)
	_, err = w.Desk.Answer(t.Context(), jackline.Local, card.ID, jackline.Answer{Yes: true}, nil)
	wantKind(t, err, jackline.Conflict)
	if w.Files.Count() != 0 {
		t.Error("it ran")
	}
}

// A turn that was taken and has not begun can be stopped too.
func TestStopAtOnce(t *testing.T) {
	w := alone(t)
	for range 20 {
		s := w.Session()
		k := w.Submit(s.ID, "hang")
		if stopped, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil || len(stopped) != 1 {
			t.Fatal(stopped, err)
		}
		w.Ends(k.Turn.ID, jackline.Stopped)
	}
}

func TestSteer(t *testing.T) {
	w := alone(t)
	s := w.Session()
	steer := func(words string) runs.Taken {
		t.Helper()
		k, err := w.Turns.Steer(t.Context(), jackline.Local, s.ID, words, jackline.TurnOptions{OnAsk: jackline.AskWait})
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
	w.Ends(idle.Turn.ID, jackline.Done)

	// They reach a turn that runs at its next step.
	k := w.Submit(s.ID, "steered; say after")
	w.Until("it runs", func() bool { return w.Turn(k.Turn.ID).Status == jackline.Running })
	if got := steer("left, please"); !got.Steered || got.Turn.ID != k.Turn.ID {
		t.Errorf("%+v", got)
	}
	w.Ends(k.Turn.ID, jackline.Done)
	if !slices.Contains(w.Types(s.ID), "steer") {
		t.Error("not delivered")
	}

	// They wake a turn that waits, and withdraw its card.
	k = w.Submit(s.ID, writes+"; say after")
	w.Ends(k.Turn.ID, jackline.Waiting)
	card := w.Pending(s.ID)[0]
	if got := steer("never mind"); !got.Steered {
		t.Errorf("%+v", got)
	}
	w.Ends(k.Turn.ID, jackline.Done)
	row, err := w.DB.Approval(t.Context(), jackline.Local, card.ID)
	if err != nil || row.State != jackline.Withdrawn {
		t.Errorf("card %s, %v", row.State, err)
	}
	if w.Files.Count() != 0 {
		t.Error("the call ran")
	}

	// Words that come too late are a prompt of their own.
	k = w.Submit(s.ID, "heard")
	w.Until("it runs", func() bool { return w.Turn(k.Turn.ID).Status == jackline.Running })
	steer("late")
	w.Ends(k.Turn.ID, jackline.Done)
	w.Until("the late words ran", func() bool {
		turns, err := w.DB.Turns(context.Background(), jackline.Local, s.ID)
		last := turns[len(turns)-1]
		return err == nil && last.Prompt == "late" && last.Status == jackline.Done
	})
}

// Words that a stop overtook are kept, but they start nothing: neither themselves nor the queue that rests.
func TestStopOvertakesWords(t *testing.T) {
	w := alone(t)
	s := w.Session()
	k := w.Submit(s.ID, "say here; hang")
	queued := w.Submit(s.ID, "say queued")
	w.Until("it takes no words any more", func() bool { return w.Turn(k.Turn.ID).Progress.Step == 1 })
	if _, err := w.Turns.Steer(t.Context(), jackline.Local, s.ID, "say words", jackline.TurnOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
		t.Fatal(err)
	}
	w.Ends(k.Turn.ID, jackline.Stopped)
	w.Settled(s.ID)
	pass(50 * time.Millisecond) // whatever would begin has begun
	turns, err := w.DB.Turns(t.Context(), jackline.Local, s.ID)
	if err != nil || len(turns) != 3 || turns[2].Prompt != "say words" {
		t.Fatalf("%+v, %v", turns, err)
	}
	for _, v := range turns[1:] {
		if v.Status != jackline.Queued {
			t.Errorf("%q is %s after a stop", v.Prompt, v.Status)
		}
	}
	// The next prompt goes first, and all follow it.
	w.Submit(s.ID, "say more")
	w.Ends(queued.Turn.ID, jackline.Done)
	w.Ends(turns[2].ID, jackline.Done)
}

// Words that are sent while the engine takes others are not lost, however close the two come.
func TestSteerLosesNothing(t *testing.T) {
	w := alone(t)
	s := w.Session()
	w.Submit(s.ID, strings.Repeat("say x;", 60))
	sent := make(chan string, 100)
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for k := range 8 {
				word := fmt.Sprintf("say word-%d-%d.", n, k)
				if _, err := w.Turns.Steer(t.Context(), jackline.Local, s.ID, word, jackline.TurnOptions{}); err == nil {
					sent <- word
				} else if jackline.KindOf(err) != jackline.Conflict { // too many at once
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	close(sent)
	w.Until("it is over", func() bool {
		open, err := w.DB.OpenTurns(context.Background())
		return err == nil && len(open) == 0
	})
	var said strings.Builder
	events, err := w.DB.Events(t.Context(), jackline.Local, s.ID, 0, 1000)
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
	s := w.Session()
	good := w.Submit(s.ID, "say x")
	w.Ends(good.Turn.ID, jackline.Done)
	on := func(id jackline.TurnID, opt jackline.TurnOptions) (runs.Taken, error) {
		return w.Turns.Continue(t.Context(), jackline.Local, s.ID, id, opt)
	}
	_, err := on(good.Turn.ID, jackline.TurnOptions{})
	wantKind(t, err, jackline.Conflict)
	_, err = on("t_none", jackline.TurnOptions{})
	wantKind(t, err, jackline.NotFound)

	opt := jackline.TurnOptions{OnAsk: jackline.AskWait, TZ: "Europe/Berlin", MaxSteps: 3, Allow: []jackline.Rule{{Do: jackline.Allow, Pattern: "x"}}}
	k, err := w.Turns.Submit(t.Context(), jackline.Local, s.ID, "limit", opt)
	if err != nil {
		t.Fatal(err)
	}
	w.Ends(k.Turn.ID, jackline.StepLimit)
	more, err := on(k.Turn.ID, jackline.TurnOptions{MaxSteps: 9})
	if err != nil {
		t.Fatal(err)
	}
	want := jackline.TurnOptions{OnAsk: jackline.AskWait, TZ: "Europe/Berlin", MaxSteps: 9, Continues: k.Turn.ID}
	if d := cmp.Diff(want, w.Ends(more.Turn.ID, jackline.Done).Options); d != "" {
		t.Error(d)
	}
	_, err = on(k.Turn.ID, jackline.TurnOptions{})
	wantKind(t, err, jackline.Conflict) // no longer the last

	failed := w.Submit(s.ID, "fail")
	w.Ends(failed.Turn.ID, jackline.Failed)
	if more, err = on(failed.Turn.ID, jackline.TurnOptions{}); err != nil {
		t.Fatal(err)
	}
	if v := w.Ends(more.Turn.ID, jackline.Done); v.Options.Continues != failed.Turn.ID {
		t.Errorf("%+v", v.Options)
	}
}

func TestKillSwitch(t *testing.T) {
	w := alone(t)
	a, b, c := w.Session(), w.Session(), w.Session()
	running := w.Submit(a.ID, "hang")
	queued := w.Submit(a.ID, "say x")
	waiting := w.Submit(b.ID, writes)
	w.Ends(waiting.Turn.ID, jackline.Waiting)
	w.Until("it runs", func() bool { return w.Turn(running.Turn.ID).Status == jackline.Running })
	began := make(chan struct{})
	byHand := make(chan error, 1)
	go func() {
		byHand <- w.Turns.Do(context.Background(), func(ctx context.Context) error {
			close(began)
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}()
	<-began

	stopped, err := w.Turns.StopAll(t.Context(), jackline.Local, "page")
	if err != nil || len(stopped) != 2 || !w.Turns.Halted() {
		t.Fatalf("stopped %v, %v", stopped, err)
	}
	w.Ends(running.Turn.ID, jackline.Stopped)
	w.Ends(waiting.Turn.ID, jackline.Stopped)
	if err := <-byHand; err == nil {
		t.Error("a person's call went on")
	}
	if !slices.Contains(w.Types(a.ID), "killed") || !slices.Contains(w.Types(b.ID), "killed") || slices.Contains(w.Types(c.ID), "killed") {
		t.Error("not told where it mattered")
	}
	_, err = w.Turns.Submit(t.Context(), jackline.Local, c.ID, "say x", jackline.TurnOptions{})
	wantKind(t, err, jackline.Conflict)
	_, err = w.Turns.Steer(t.Context(), jackline.Local, c.ID, "say x", jackline.TurnOptions{})
	wantKind(t, err, jackline.Conflict)
	w.Settled(a.ID)

	// It holds across a restart.
	again, err := runs.Open(t.Context(), runs.Config{Store: w.DB, Desk: w.Desk, Runner: w.Puppet, Log: nil})
	if err != nil {
		t.Fatal(err)
	}
	if !again.Halted() {
		t.Error("the switch was forgotten")
	}
	if err := again.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.Turns.Lift(t.Context(), jackline.Local, "page"); err != nil {
		t.Fatal(err)
	}
	k := w.Submit(c.ID, "say x")
	w.Ends(k.Turn.ID, jackline.Done)
	if v := w.Turn(queued.Turn.ID); v.Status != jackline.Queued {
		t.Errorf("a queued prompt is %s", v.Status)
	}
}

func TestBrokenRunner(t *testing.T) {
	w := alone(t)
	s := w.Session()
	for _, prompt := range []string{"panic", "fail", "leave"} {
		k := w.Submit(s.ID, prompt)
		v := w.Ends(k.Turn.ID, jackline.Failed)
		if v.Reason == "" || strings.Contains(v.Reason, "secret") {
			t.Errorf("%s: told %q", prompt, v.Reason)
		}
	}
	if log := w.Log.String(); !strings.Contains(log, "a secret panic") || !strings.Contains(log, "a secret cause") {
		t.Error("the log does not say why:", log)
	}
	k := w.Submit(s.ID, "say x")
	w.Ends(k.Turn.ID, jackline.Done)
}

func TestSlots(t *testing.T) {
	w := alone(t)
	var all []runs.Taken
	for range 12 {
		all = append(all, w.Submit(w.Session().ID, "hang; say x"))
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
	w.Until("eight run", func() bool { return len(w.Puppet.Began) == 8 })
	for _, k := range all {
		if !k.Queued {
			if _, err := w.Turns.Stop(t.Context(), jackline.Local, k.Turn.Session); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.Until("the others run", func() bool { return len(w.Puppet.Began) == 12 })
	if n := w.Puppet.AtOnce(); n > 8 {
		t.Errorf("%d ran at once", n)
	}
	if _, err := w.Turns.StopAll(t.Context(), jackline.Local, "cli"); err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		w.Ends(k.Turn.ID, jackline.Stopped)
	}
}

func TestShutdownAndResume(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	w := newTurns(t, dir)
	if err := w.Turns.Resume(t.Context(), "http://here"); err != nil {
		t.Fatal(err)
	}
	running, waiting, answered, resting := w.Session(), w.Session(), w.Session(), w.Session()
	r := w.Submit(running.ID, "hang; say x")
	behind := w.Submit(running.ID, "say behind")
	q := w.Submit(waiting.ID, writes)
	a := w.Submit(answered.ID, writes)
	z := w.Submit(resting.ID, "hang")
	rest := w.Submit(resting.ID, "say rest")
	w.Ends(q.Turn.ID, jackline.Waiting)
	w.Ends(a.Turn.ID, jackline.Waiting)
	w.Until("it runs", func() bool { return w.Turn(r.Turn.ID).Status == jackline.Running })
	if _, err := w.Turns.Stop(t.Context(), jackline.Local, resting.ID); err != nil {
		t.Fatal(err)
	}
	w.Ends(z.Turn.ID, jackline.Stopped)
	w.Close()

	w2 := newTurns(t, dir)
	if v := w2.Turn(r.Turn.ID); v.Status != jackline.Running {
		t.Fatalf("left as %s", v.Status)
	}
	// An answer that came while no server ran.
	if _, err := w2.Desk.Answer(t.Context(), jackline.Local, w2.Pending(answered.ID)[0].ID, jackline.Answer{Yes: true}, nil); err != nil {
		t.Fatal(err)
	}
	if err := w2.Turns.Resume(t.Context(), "http://here"); err != nil {
		t.Fatal(err)
	}
	w2.Ends(a.Turn.ID, jackline.Done)
	w2.Until("the turn is taken up", func() bool { return len(w2.Puppet.Began) >= 2 })
	if _, err := w2.Turns.Stop(t.Context(), jackline.Local, running.ID); err != nil {
		t.Fatal(err)
	}
	w2.Ends(r.Turn.ID, jackline.Stopped)
	if v := w2.Turn(q.Turn.ID); v.Status != jackline.Waiting {
		t.Errorf("the waiting turn is %s", v.Status)
	}
	if v := w2.Turn(rest.Turn.ID); v.Status != jackline.Queued {
		t.Errorf("the resting queue is %s", v.Status)
	}
	if v := w2.Turn(behind.Turn.ID); v.Status != jackline.Queued {
		t.Errorf("the queue behind a stopped turn is %s", v.Status)
	}
}

func TestResumeStartsQueues(t *testing.T) {
	w := alone(t)
	s := w.Session()
	v := jackline.Turn{ID: "t_queued", Prompt: "say x", Status: jackline.Queued, Created: time.Now()}
	if _, err := w.DB.Append(t.Context(), jackline.Local, jackline.Record{Session: s.ID, Turn: &v}); err != nil {
		t.Fatal(err)
	}
	if err := w.Turns.Resume(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	w.Ends("t_queued", jackline.Done)
}

func TestResumeTooOld(t *testing.T) {
	w := alone(t)
	s := w.Session()
	k := w.Submit(s.ID, "hang")
	w.Until("it runs", func() bool { return w.Turn(k.Turn.ID).Status == jackline.Running })
	// As if the process had died: the one-shot mark is gone, the lease too, and time has passed.
	crashed(t, w, s.ID)
	w.Exec(`UPDATE sessions SET updated = updated - 3700000000000`)
	w2 := newTurns(t, w.Dir)
	if err := w2.Turns.Resume(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	v := w2.Ends(k.Turn.ID, jackline.Interrupted)
	if !strings.Contains(v.Reason, "Continue") {
		t.Errorf("reason %q", v.Reason)
	}
	more, err := w2.Turns.Continue(t.Context(), jackline.Local, s.ID, k.Turn.ID, jackline.TurnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w2.Ends(more.Turn.ID, jackline.Done)
}

func TestOneShot(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	w := newTurns(t, dir)
	s := w.Session()
	k := w.Submit(s.ID, "hang")
	w.Until("it runs", func() bool { return w.Turn(k.Turn.ID).Status == jackline.Running })
	w.Close()
	w2 := newTurns(t, dir)
	if v := w2.Turn(k.Turn.ID); v.Status != jackline.Interrupted {
		t.Errorf("a one-shot that was ended left its turn %s", v.Status)
	}

	// Killed, it leaves a turn that counts as running. No server takes it up.
	k = w2.Submit(s.ID, "hang")
	w2.Until("it runs", func() bool { return w2.Turn(k.Turn.ID).Status == jackline.Running })
	behind := w2.Submit(s.ID, "say x") // and this one was never begun
	if err := w2.DB.Release(t.Context(), "session "+string(s.ID), holder(t, w2, s.ID).ID); err != nil {
		t.Fatal(err)
	}
	w3 := newTurns(t, dir)
	if err := w3.Turns.Resume(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	w3.Ends(k.Turn.ID, jackline.Interrupted)
	w3.Ends(behind.Turn.ID, jackline.Interrupted)
	more, err := w3.Turns.Continue(t.Context(), jackline.Local, s.ID, behind.Turn.ID, jackline.TurnOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if v := w3.Ends(more.Turn.ID, jackline.Done); v.Prompt != "say x" || v.Options.Continues != "" {
		t.Errorf("%+v", v)
	}
}

// A turn that a crash left running is ended by whoever next sends a prompt.
func TestStaleTurn(t *testing.T) {
	w := alone(t)
	s := w.Session()
	k := w.Submit(s.ID, "hang")
	w.Until("it runs", func() bool { return w.Turn(k.Turn.ID).Status == jackline.Running })
	crashed(t, w, s.ID)
	w2 := newTurns(t, w.Dir)
	next := w2.Submit(s.ID, "say x")
	if next.Queued {
		t.Error("queued behind a dead turn")
	}
	w2.Ends(next.Turn.ID, jackline.Done)
	w2.Ends(k.Turn.ID, jackline.Interrupted)
}

// crashed takes away what a process that has died no longer has.
func crashed(t *testing.T, w *world, s jackline.SessionID) {
	t.Helper()
	if err := w.DB.Release(t.Context(), "session "+string(s), holder(t, w, s).ID); err != nil {
		t.Fatal(err)
	}
	w.Exec(`DELETE FROM state WHERE name = 'alone'`)
}

func holder(t *testing.T, w *world, s jackline.SessionID) store.Holder {
	t.Helper()
	h, ok, err := w.DB.HolderOf(t.Context(), "session "+string(s))
	if err != nil || !ok {
		t.Fatal("no lease", err)
	}
	return h
}

func TestOneServer(t *testing.T) {
	w := alone(t)
	if err := w.Turns.Resume(t.Context(), "http://127.0.0.1:7717"); err != nil {
		t.Fatal(err)
	}
	w2 := newTurns(t, w.Dir)
	err := w2.Turns.Resume(t.Context(), "")
	wantKind(t, err, jackline.Conflict)
	if !strings.Contains(jackline.Say(err), "http://127.0.0.1:7717") || !strings.Contains(jackline.Say(err), fmt.Sprint(pid())) {
		t.Errorf("it says %q", jackline.Say(err))
	}

	// A dead server holds nobody up, whether or not its parent has taken note.
	for _, pid := range []int{1 << 22, zombie(t)} {
		w3 := alone(t)
		dead := store.Holder{ID: "p_dead", PID: pid, Host: hostname(t)}
		if ok, _, err := w3.DB.Lease(t.Context(), "serve", dead, time.Hour); err != nil || !ok {
			t.Fatal(err)
		}
		if err := w3.Turns.Resume(t.Context(), ""); err != nil {
			t.Error(err)
		}
	}
}

func TestElsewhere(t *testing.T) {
	w := alone(t)
	s := w.Session()
	k := w.Submit(s.ID, "hang")
	w.Until("it runs", func() bool { return w.Turn(k.Turn.ID).Status == jackline.Running })
	w2 := newTurns(t, w.Dir)
	_, err := w2.Turns.Submit(t.Context(), jackline.Local, s.ID, "say x", jackline.TurnOptions{})
	wantKind(t, err, jackline.Conflict)
	if !strings.Contains(jackline.Say(err), fmt.Sprint(pid())) {
		t.Errorf("it says %q", jackline.Say(err))
	}
	_, err = w2.Turns.Stop(t.Context(), jackline.Local, s.ID)
	wantKind(t, err, jackline.Conflict)
	wantKind(t, w2.Turns.Delete(t.Context(), jackline.Local, s.ID), jackline.Conflict)
	if _, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
		t.Fatal(err)
	}
	w.Ends(k.Turn.ID, jackline.Stopped)
	w.Settled(s.ID)
	w2.Ends(w2.Submit(s.ID, "say x").Turn.ID, jackline.Done)
}

// An answer that another process takes reaches the turn that waits here.
func TestAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	w := alone(t)
	s := w.Session()
	k := w.Submit(s.ID, writes)
	w.Ends(k.Turn.ID, jackline.Waiting)
	w2 := newTurns(t, w.Dir)
	if _, err := w2.Desk.Answer(t.Context(), jackline.Local, w2.Pending(s.ID)[0].ID, jackline.Answer{Yes: true}, nil); err != nil {
		t.Fatal(err)
	}
	w.Ends(k.Turn.ID, jackline.Done)
}

func TestDelete(t *testing.T) {
	w := alone(t)
	s := w.Session()
	k := w.Submit(s.ID, "hang")
	w.Until("it runs", func() bool { return w.Turn(k.Turn.ID).Status == jackline.Running })
	wantKind(t, w.Turns.Delete(t.Context(), jackline.Local, s.ID), jackline.Conflict)
	wantKind(t, w.Turns.Delete(t.Context(), other, s.ID), jackline.NotFound)
	if _, err := w.Turns.Stop(t.Context(), jackline.Local, s.ID); err != nil {
		t.Fatal(err)
	}
	w.Ends(k.Turn.ID, jackline.Stopped)
	k = w.Submit(s.ID, writes)
	w.Ends(k.Turn.ID, jackline.Waiting)
	w.Settled(s.ID)
	if err := w.Turns.Delete(t.Context(), jackline.Local, s.ID); err != nil {
		t.Fatal(err)
	}
	wantKind(t, w.Turns.Woken(t.Context(), jackline.Local, k.Turn.ID), jackline.NotFound)
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	w := alone(t)
	w.Set.Change(func(p *jackline.Permissions) { p.ApprovalTimeout = 1 })
	s := w.Session()
	k := w.Submit(s.ID, writes+"; say after")
	w.Ends(k.Turn.ID, jackline.Waiting)
	w.Ends(k.Turn.ID, jackline.Done)
	if !slices.Contains(w.Types(s.ID), "tool.expired") || w.Files.Count() != 0 {
		t.Error(w.Types(s.ID))
	}
}

func TestShutDown(t *testing.T) {
	w := alone(t)
	s := w.Session()
	if err := w.Turns.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := w.Turns.Submit(t.Context(), jackline.Local, s.ID, "say x", jackline.TurnOptions{})
	wantKind(t, err, jackline.Unavailable)
	wantKind(t, w.Turns.Do(t.Context(), func(context.Context) error { return errors.New("ran") }), jackline.Unavailable)
}

// TestRaces does everything at once, and then looks whether the rules held: the puppet notes when two turns of one
// session run together, and every turn must come to an end.
func TestRaces(t *testing.T) {
	w := alone(t)
	w.Set.Change(func(p *jackline.Permissions) { p.ApprovalTimeout = 60 })
	var sessions []jackline.Session
	for range 6 {
		sessions = append(sessions, w.Session())
	}
	prompts := []string{"say a", "say a; say b", writes, writes + "; " + writes, "hang", "slowly", "panic", "fail", "limit", "steered; say x"}
	ctx := t.Context()
	var wg sync.WaitGroup
	for n := range 8 {
		r := rand.New(rand.NewPCG(uint64(n), 7))
		wg.Go(func() {
			for range 40 {
				s := sessions[r.IntN(len(sessions))].ID
				switch r.IntN(11) {
				case 10:
					begun, _, err := w.Turns.Begin(ctx, jackline.Local, jackline.Session{Workspace: w.Folder}, prompts[r.IntN(len(prompts))], jackline.TurnOptions{OnAsk: jackline.AskWait})
					if err == nil && r.IntN(2) == 0 {
						_, _ = w.Turns.Stop(ctx, jackline.Local, begun.ID)
					}
				case 0, 1, 2:
					_, _ = w.Turns.Submit(ctx, jackline.Local, s, prompts[r.IntN(len(prompts))], jackline.TurnOptions{OnAsk: jackline.AskWait})
				case 3, 4:
					_, _ = w.Turns.Stop(ctx, jackline.Local, s)
				case 5, 6:
					for _, a := range w.Pending(s) {
						if _, err := w.Desk.Answer(ctx, jackline.Local, a.ID, jackline.Answer{Yes: r.IntN(2) == 0}, nil); err == nil {
							_ = w.Turns.Woken(ctx, jackline.Local, a.Turn)
						}
					}
				case 7:
					_, _ = w.Turns.Steer(ctx, jackline.Local, s, "say steered", jackline.TurnOptions{OnAsk: jackline.AskWait})
				case 8:
					turns, _ := w.DB.Turns(ctx, jackline.Local, s)
					for _, v := range turns {
						if v.Status == jackline.Queued {
							_, _ = w.Turns.EditQueued(ctx, jackline.Local, s, v.ID, "say edited")
							_ = w.Turns.DropQueued(ctx, jackline.Local, s, v.ID)
						}
					}
				case 9:
					if r.IntN(4) == 0 {
						_, _ = w.Turns.StopAll(ctx, jackline.Local, "test")
						_ = w.Turns.Lift(ctx, jackline.Local, "test")
					}
				}
			}
		})
	}
	wg.Wait()
	// Nothing gets stuck: what is open can be stopped, and a new prompt runs in every session.
	begun := time.Now()
	w.Until("all of it can be brought to an end", func() bool {
		open, err := w.DB.OpenTurns(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range open {
			err := w.Turns.DropQueued(ctx, jackline.Local, v.Session, v.ID)
			stopped, stop := w.Turns.Stop(ctx, jackline.Local, v.Session)
			if time.Since(begun) > 12*time.Second {
				t.Logf("%s is still %s: %v; %v %v", v.ID, v.Status, err, stopped, stop)
			}
		}
		return len(open) == 0
	})
	for _, s := range sessions {
		w.Ends(w.Submit(s.ID, "say fine").Turn.ID, jackline.Done)
	}
}
