package tool_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// far is a world with a tool that reads from the network beside the others.
func far(t *testing.T) *world {
	w := newWorld(t)
	s := w.spec("far", jackline.Network)
	s.Source, s.Cache = jackline.Outside, true
	set, err := tool.NewSet(append(w.tools(), tool.Define(s))...)
	if err != nil {
		t.Fatal(err)
	}
	w.gate.Tools = set
	return w
}

// What reads from the network changes nothing: after a crash it is read again, its result is no reason to ask the disk to hurry, and
// what was read before still holds.
func TestFarReads(t *testing.T) {
	w := far(t)
	c := w.call("far", `{"path":"a"}`)
	if c.State = jackline.CallStarted; c.Acts {
		t.Error("it acts")
	}
	w.wantEnd(w.do(c), jackline.OK)
	w.wantRuns("far a")

	w = far(t)
	w.wantEnd(w.run("look", `{"path":"a"}`), jackline.OK)
	first := w.run("far", `{"path":"b"}`)
	if first.Call.Acts || !first.Labels.Tainted {
		t.Errorf("%+v", first)
	}
	if d := w.run("look", `{"path":"a"}`); d.Call.Cached == "" {
		t.Error("a web read made a file that was read forgotten")
	}
	if d := w.run("far", `{"path":"b"}`); d.Call.Cached != first.Call.ID {
		t.Error("it was read twice")
	}
	w.wantRuns("look a", "far b")
	for _, r := range w.log.records {
		if r.Sync {
			t.Errorf("%+v waits for the disk", r)
		}
	}
}

// An address can carry something away, so the kill switch holds web reads back all the same.
func TestFarHalted(t *testing.T) {
	w := far(t)
	w.halt = true
	d := w.run("far", `{"path":"a"}`)
	w.wantEnd(d, jackline.Denied)
	if d.Call.By != jackline.RuleHalted {
		t.Errorf("by %q", d.Call.By)
	}
	w.wantRuns()
}

// A call that took longer than it was given has failed; nobody stopped it.
func TestFarTooSlow(t *testing.T) {
	w := far(t)
	w.did = func(ctx context.Context, _ tool.In, _ arg) (tool.Out, error) {
		<-ctx.Done()
		return tool.Out{}, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	d, err := w.try(ctx, tool.Request{Call: w.call("far", `{"path":"a"}`)})
	if err != nil || d.Call.Outcome != jackline.Errored || !strings.Contains(d.Call.Text, "in the time that it was given") {
		t.Errorf("%v %+v", err, d.Call)
	}
}

// Foresee tells what would become of a call, and nothing comes of that.
func TestForesee(t *testing.T) {
	w := far(t)
	for _, c := range []struct {
		name, args string
		judge      jackline.Verdict
		halt       bool
		want       jackline.Verdict
		why        string
	}{
		{"far", `{"path":"a"}`, jackline.Allow, false, jackline.Allow, "The test says so."},
		{"far", `{"path":"a"}`, jackline.Ask, false, jackline.Ask, "The test says so."},
		{"far", `{"path":"a"}`, jackline.Deny, false, jackline.Deny, "The test says so."},
		{"far", `{"path":"a"}`, jackline.Allow, true, jackline.Deny, "kill switch"},
		{"far", `{"path":"nowhere"}`, jackline.Allow, false, jackline.Deny, "There is no such place."},
		{"far", `{}`, jackline.Allow, false, jackline.Deny, "path"},
		{"gone", `{"path":"a"}`, jackline.Allow, false, jackline.Deny, "cannot be used now"},
		{"ask", `{"path":"a"}`, jackline.Allow, false, jackline.Ask, ""},
		{"unheard", `{}`, jackline.Allow, false, jackline.Deny, "no tool called"},
	} {
		w.judge.verdict, w.halt = c.judge, c.halt
		call := w.call(c.name, c.args)
		n := len(w.log.records)
		d, err := w.gate.Foresee(t.Context(), w.who, call)
		if err != nil || d.Verdict != c.want || !strings.Contains(d.Reason, c.why) || len(w.log.records) != n {
			t.Errorf("%s %s: %v %+v", c.name, c.args, err, d)
		}
	}
	w.wantRuns()
	w.wantCards(0)

	// What a person granted needs no question.
	w.judge.verdict, w.halt = jackline.Ask, false
	d := w.asks("far", `{"path":"a"}`)
	w.yes(d.Wait, jackline.Task)
	w.wantEnd(w.do(d.Call), jackline.OK)
	if d, err := w.gate.Foresee(t.Context(), w.who, w.call("far", `{"path":"a"}`)); err != nil || d.Verdict != jackline.Allow {
		t.Errorf("granted: %v %+v", err, d)
	}
}

// Nobody is ever asked about a look ahead.
func TestAheadAsksNobody(t *testing.T) {
	w := far(t)
	w.judge.verdict = jackline.Ask
	w.who.Source = jackline.FromPrefetch
	w.wantEnd(w.run("far", `{"path":"a"}`), jackline.Denied)
	w.wantRuns()
	w.wantCards(0)
}
