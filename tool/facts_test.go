package tool_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// seen makes a gate look at a world that a test changes.
func (w *world) seen(facts *[]jackline.Fact) {
	w.gate.Observe = func(context.Context, jackline.Intent) ([]jackline.Fact, error) {
		return append([]jackline.Fact(nil), *facts...), nil
	}
}

// TestChangedFactsAskAgain: what changed between the card and the answer is a new question, which says so.
func TestChangedFactsAskAgain(t *testing.T) {
	was := func() []jackline.Fact { return []jackline.Fact{{Name: "a", ID: "w:1", Digest: "x"}, {Name: "b"}} }
	for name, c := range map[string]struct {
		now  []jackline.Fact
		says string
	}{
		"content":  {[]jackline.Fact{{Name: "a", ID: "w:1", Digest: "y"}, {Name: "b"}}, "then a changed."},
		"another":  {[]jackline.Fact{{Name: "a", ID: "w:2", Digest: "x"}, {Name: "b"}}, "then a was replaced by another."},
		"gone":     {[]jackline.Fact{{Name: "a"}, {Name: "b"}}, "then a was removed."},
		"made":     {[]jackline.Fact{{Name: "a", ID: "w:1", Digest: "x"}, {Name: "b", ID: "w:3"}}, "then b was made."},
		"both":     {[]jackline.Fact{{Name: "a"}, {Name: "b", ID: "w:3"}}, "then a was removed and b was made."},
		"one more": {append(was(), jackline.Fact{Name: "c", ID: "w:9"}), "then c changed."},
		"one less": {was()[:1], "then b changed."},
		"order":    {[]jackline.Fact{was()[1], was()[0]}, "then what it uses changed."},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.judge.verdict = jackline.Ask
			facts := was()
			w.seen(&facts)
			d := w.asks("put", `{"path":"a","text":"x"}`)
			w.yes(d.Wait, jackline.Once)
			facts = c.now
			again := w.do(d.Call)
			if again.Wait == "" || again.Wait == d.Wait {
				t.Fatalf("it was not asked anew: %s %q", again.Call.Outcome, again.Call.Text)
			}
			w.wantRuns()
			if why := w.row(again.Wait).Why; !strings.Contains(why, c.says) {
				t.Errorf("the new card says %q, want %q", why, c.says)
			}
			w.yes(again.Wait, jackline.Once)
			w.wantEnd(w.do(again.Call), jackline.OK)
			w.wantRuns("put a")
		})
	}
}

// TestChangedAtTheLastMoment: between the intent on the disk and the run it is looked at once more; the call then ends without having
// done anything, and what it was allowed is spent.
func TestChangedAtTheLastMoment(t *testing.T) {
	for _, name := range []string{"put", "look"} {
		w := newWorld(t)
		w.judge.verdict, w.judge.blind = jackline.Ask, true
		facts := []jackline.Fact{{Name: "a", ID: "w:1", Digest: "x"}}
		looked := 0
		w.gate.Observe = func(context.Context, jackline.Intent) ([]jackline.Fact, error) {
			if looked++; looked == 4 { // twice for the card, once at the answer
				facts = []jackline.Fact{{Name: "a", ID: "w:1", Digest: "y"}}
			}
			return facts, nil
		}
		d := w.asks(name, `{"path":"a","text":"x"}`)
		w.yes(d.Wait, jackline.Once)
		end := w.do(d.Call)
		w.wantEnd(end, jackline.Errored)
		w.wantRuns()
		if !strings.Contains(end.Call.Text, "a changed, so nothing was done") || w.row(d.Wait).State != jackline.Used {
			t.Errorf("%s: %q, the row is %s", name, end.Call.Text, w.row(d.Wait).State)
		}
	}
}

// TestBlindAtTheLastMoment: what can no longer be looked at when it is about to run does not run.
func TestBlindAtTheLastMoment(t *testing.T) {
	w := newWorld(t)
	w.judge.verdict, w.judge.blind = jackline.Ask, true
	looked := 0
	facts := []jackline.Fact{{Name: "a", ID: "w:1", Digest: "x"}}
	w.gate.Observe = func(context.Context, jackline.Intent) ([]jackline.Fact, error) {
		if looked++; looked == 4 { // twice for the card, once at the answer
			return facts, jackline.E("test", jackline.Unprocessed, nil, "It cannot be seen.")
		}
		return facts, nil
	}
	d := w.asks("put", `{"path":"a","text":"x"}`)
	w.yes(d.Wait, jackline.Once)
	end := w.do(d.Call)
	w.wantEnd(end, jackline.Errored)
	w.wantRuns()
	if looked != 4 || !strings.Contains(end.Call.Text, "It cannot be seen.") || w.row(d.Wait).State != jackline.Used {
		t.Errorf("looked %d times: %q, the row is %s", looked, end.Call.Text, w.row(d.Wait).State)
	}
}

// TestRestlessWorld: nobody is asked about what keeps changing while the card is made.
func TestRestlessWorld(t *testing.T) {
	w := newWorld(t)
	w.judge.verdict = jackline.Ask
	n := 0
	w.gate.Observe = func(context.Context, jackline.Intent) ([]jackline.Fact, error) {
		n++
		return []jackline.Fact{{Name: "a", ID: fmt.Sprint(n)}}, nil
	}
	d := w.run("put", `{"path":"a","text":"x"}`)
	if w.wantEnd(d, jackline.Errored); !strings.Contains(d.Call.Text, "keeps changing") {
		t.Errorf("%q", d.Call.Text)
	}
	w.wantCards(0)
	w.wantRuns()
}

// TestBlindWorld: what cannot be looked at is not asked about, and an answer to it runs nothing.
func TestBlindWorld(t *testing.T) {
	w := newWorld(t)
	w.judge.verdict = jackline.Ask
	blind := false
	w.gate.Observe = func(context.Context, jackline.Intent) ([]jackline.Fact, error) {
		if blind {
			return nil, jackline.E("test", jackline.Unprocessed, nil, "It cannot be seen.")
		}
		return nil, nil
	}
	d := w.asks("put", `{"path":"a","text":"x"}`)
	w.yes(d.Wait, jackline.Once)
	blind = true
	if end := w.do(d.Call); end.Call.Outcome != jackline.Errored || !strings.Contains(end.Call.Text, "It cannot be seen.") {
		t.Errorf("%s %q", end.Call.Outcome, end.Call.Text)
	}
	if d := w.run("put", `{"path":"b","text":"x"}`); d.Call.Outcome != jackline.Errored {
		t.Errorf("%s", d.Call.Outcome)
	}
	w.gate.Observe = func(context.Context, jackline.Intent) ([]jackline.Fact, error) { panic("broken") }
	if d := w.run("put", `{"path":"c","text":"x"}`); d.Call.Outcome != jackline.Errored {
		t.Errorf("%s", d.Call.Outcome)
	}
	w.wantRuns()
}

// TestFactsReachTheTool: a tool that was allowed is given what was true then; one that nobody was asked about is given nothing.
func TestFactsReachTheTool(t *testing.T) {
	w := newWorld(t)
	facts := []jackline.Fact{{Name: "a", ID: "w:1"}}
	w.seen(&facts)
	var got []jackline.Fact
	w.did = func(_ context.Context, in tool.In, _ arg) (tool.Out, error) {
		got = in.Facts
		return tool.Out{Text: "done"}, nil
	}
	w.run("put", `{"path":"a","text":"x"}`)
	if got != nil {
		t.Errorf("unasked: %v", got)
	}
	w.judge.verdict = jackline.Ask
	d := w.asks("put", `{"path":"a","text":"y"}`)
	w.yes(d.Wait, jackline.Once)
	w.do(d.Call)
	if len(got) != 1 || got[0] != facts[0] {
		t.Errorf("allowed: %v", got)
	}
}

// TestSandboxReachesTheTool: a tool runs in the sandbox that was judged and allowed, the very same.
func TestSandboxReachesTheTool(t *testing.T) {
	w := newWorld(t)
	w.sandbox = jackline.Sandbox{Level: jackline.SandboxNamespaces, Hosts: []string{"a.test:443"}, Read: []string{"/srv/x"}}
	var got jackline.Sandbox
	w.did = func(_ context.Context, in tool.In, _ arg) (tool.Out, error) {
		got = in.Sandbox
		return tool.Out{Text: "done"}, nil
	}
	w.judge.verdict = jackline.Ask
	d := w.asks("exec", `{"path":"true"}`)
	w.yes(d.Wait, jackline.Once)
	w.wantEnd(w.do(d.Call), jackline.OK)
	if row := w.row(d.Wait).Sandbox; !reflect.DeepEqual(got, w.sandbox) || !reflect.DeepEqual(row, w.sandbox) {
		t.Errorf("it ran in %+v, and %+v was allowed, want %+v", got, row, w.sandbox)
	}
}

// TestOneFileIsNamedOnce: a file of the workspace that a command also runs by its whole path is one thing to whoever reads the card.
func TestOneFileIsNamedOnce(t *testing.T) {
	w := newWorld(t)
	facts := []jackline.Fact{{Name: "sub/go.sh", ID: "w:1", Digest: "a"}, {Name: "/home/o/ws/sub/go.sh", ID: "w:1", Digest: "a"}, {Name: "o.sh", ID: "w:2"}}
	w.seen(&facts)
	w.judge.verdict = jackline.Ask
	d := w.asks("put", `{"path":"a","text":"x"}`)
	w.yes(d.Wait, jackline.Once)
	for k := range facts {
		facts[k].ID, facts[k].Digest = "w:9", "b"
	}
	if d = w.do(d.Call); d.Wait == "" {
		t.Fatalf("it ran: %+v", d)
	}
	a, ok, err := w.desk.Row(t.Context(), jackline.Local, d.Call.ID)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if want := "but then sub/go.sh changed and o.sh changed."; !strings.Contains(a.Why, want) {
		t.Errorf("%q, want %q", a.Why, want)
	}
}
