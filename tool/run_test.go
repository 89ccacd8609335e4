package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
)

const write = `{"path":"a","text":"x"}`

// What may act is on disk as begun before it begins, and the yes that lets it is spent with the same record.
func TestRunIntentFirst(t *testing.T) {
	for _, asked := range []bool{false, true} {
		w := newWorld(t)
		c := w.call("put", write)
		var row jackline.ApprovalID
		if asked {
			w.judge.verdict = jackline.Ask
			d := w.do(c)
			w.yes(d.Wait, jackline.Once)
			c, row = d.Call, d.Wait
		}
		w.did = func(_ context.Context, in tool.In, _ arg) (tool.Out, error) {
			s := w.stored(c.ID)
			if in.Call != c.ID || s.State != jackline.CallStarted || !s.Acts || s.Started.IsZero() || s.Outcome != jackline.Denied {
				t.Errorf("while it runs the store says %+v", s)
			}
			if asked && w.row(row).State != jackline.Used {
				t.Errorf("while it runs the row is %s", w.row(row).State)
			}
			last := w.log.records[len(w.log.records)-1]
			if !last.Sync || len(last.Calls) != 1 || len(last.Events) != 0 {
				t.Errorf("the intent was written as %+v", last)
			}
			return tool.Out{Text: "done"}, nil
		}
		w.wantEnd(w.do(c), jackline.OK)
		w.wantRuns("put a")
		if last := w.log.records[len(w.log.records)-1]; !last.Sync {
			t.Error("the outcome of what acted was not synced")
		}
	}
}

// A pure read writes once, when it is over.
func TestRunReadWritesOnce(t *testing.T) {
	w := newWorld(t)
	c := w.call("look", `{"path":"a"}`)
	w.did = func(context.Context, tool.In, arg) (tool.Out, error) {
		if s := w.stored(c.ID).State; s != jackline.CallNew {
			t.Errorf("while it runs the call is %s", s)
		}
		return tool.Out{Text: "text"}, nil
	}
	w.wantEnd(w.do(c), jackline.OK)
	if len(w.log.records) != 1 || w.log.records[0].Sync {
		t.Errorf("%d records, the first synced: %v", len(w.log.records), w.log.records[0].Sync)
	}
}

func TestRunLogFails(t *testing.T) {
	full := errors.New("disk full")
	t.Run("before", func(t *testing.T) {
		w := newWorld(t)
		w.log.fail = func(r jackline.Record) error { return full }
		c := w.call("put", write)
		d, err := w.try(t.Context(), tool.Request{Call: c})
		if !errors.Is(err, full) || d.Call.State != jackline.CallNew {
			t.Errorf("%v, %s", err, d.Call.State)
		}
		w.wantRuns()
	})
	t.Run("before, with a yes", func(t *testing.T) {
		w := newWorld(t)
		w.judge.verdict = jackline.Ask
		d := w.asks("put", write)
		w.yes(d.Wait, jackline.Once)
		w.log.fail = func(r jackline.Record) error { return full }
		if _, err := w.try(t.Context(), tool.Request{Call: d.Call}); !errors.Is(err, full) {
			t.Error(err)
		}
		w.wantRuns()
		w.log.fail = nil
		w.wantEnd(w.do(d.Call), jackline.OK) // the yes is not lost
		w.wantRuns("put a")
	})
	t.Run("the yes was spent meanwhile", func(t *testing.T) {
		w := newWorld(t)
		w.judge.verdict = jackline.Ask
		d := w.asks("put", write)
		w.yes(d.Wait, jackline.Once)
		w.log.fail = func(jackline.Record) error {
			w.log.fail = nil
			row := w.row(d.Wait)
			row.State = jackline.Used
			_, err := w.db.Append(t.Context(), jackline.Local, jackline.Record{Session: row.Session, Approvals: []jackline.Approval{row}, From: jackline.Approved})
			return err
		}
		if _, err := w.try(t.Context(), tool.Request{Call: d.Call}); jackline.KindOf(err) != jackline.Conflict {
			t.Errorf("err %v", err)
		}
		w.wantRuns()
	})
	t.Run("after", func(t *testing.T) {
		w := newWorld(t)
		w.log.fail = func(r jackline.Record) error {
			if r.Calls[0].State == jackline.CallEnded {
				return full
			}
			return nil
		}
		c := w.call("put", write)
		d, err := w.try(t.Context(), tool.Request{Call: c})
		if !errors.Is(err, full) || d.Call.State == jackline.CallEnded {
			t.Errorf("%v, %s", err, d.Call.State)
		}
		w.wantRuns("put a")
		// Whoever comes next finds it begun, and does not run it again.
		w.log.fail = nil
		w.wantEnd(w.do(w.stored(c.ID)), jackline.Unknown)
		w.wantRuns("put a")
	})
	t.Run("the spill", func(t *testing.T) {
		w := newWorld(t)
		w.log.spoil = full
		w.did = func(context.Context, tool.In, arg) (tool.Out, error) {
			return tool.Out{Text: strings.Repeat("x", 1000)}, nil
		}
		c := w.call("look", `{"path":"a"}`)
		if _, err := w.try(t.Context(), tool.Request{Call: c, Limit: 100}); !errors.Is(err, full) {
			t.Error(err)
		}
		if s := w.stored(c.ID); s.State != jackline.CallNew {
			t.Errorf("the row says %s though the rest of its text is nowhere", s.State)
		}
	})
}

func TestRunStopped(t *testing.T) {
	t.Run("gives up", func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		w.did = func(ctx context.Context, _ tool.In, _ arg) (tool.Out, error) {
			cancel()
			<-ctx.Done()
			return tool.Out{Text: "half of it"}, ctx.Err()
		}
		d, err := w.try(ctx, tool.Request{Call: w.call("put", write)})
		if err != nil {
			t.Fatal(err)
		}
		w.wantEnd(d, jackline.Cancelled)
		if d.Call.Text != "CANCELLED: the run was stopped while this call ran.\nUntil then:\nhalf of it" || d.Call.Source != jackline.Workspace {
			t.Errorf("%q from %s", d.Call.Text, d.Call.Source)
		}
		if w.fault.Len() > 0 {
			t.Errorf("a stop was reported as an error: %s", &w.fault)
		}
	})
	t.Run("says nothing", func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		w.did = func(ctx context.Context, _ tool.In, _ arg) (tool.Out, error) { cancel(); return tool.Out{}, ctx.Err() }
		d, err := w.try(ctx, tool.Request{Call: w.call("put", write)})
		if err != nil || d.Call.Text != "CANCELLED: the run was stopped while this call ran." || d.Labels.Tainted {
			t.Errorf("%v, %q, %+v", err, d.Call.Text, d.Labels)
		}
	})
	t.Run("before it begins", func(t *testing.T) {
		w := newWorld(t)
		w.judge.verdict = jackline.Ask
		ctx, cancel := context.WithCancel(t.Context())
		w.preview = func() error { cancel(); return ctx.Err() }
		c := w.call("put", write)
		d, err := w.try(ctx, tool.Request{Call: c})
		if !errors.Is(err, context.Canceled) || d.Call.State != jackline.CallNew || w.stored(c.ID).State != jackline.CallNew || w.fault.Len() > 0 {
			t.Errorf("%v, %s, logged %q", err, d.Call.State, &w.fault)
		}
		w.wantRuns()
	})
	t.Run("is done before it notices", func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		w.did = func(context.Context, tool.In, arg) (tool.Out, error) { cancel(); return tool.Out{Text: "done"}, nil }
		d, err := w.try(ctx, tool.Request{Call: w.call("put", write)})
		if err != nil {
			t.Fatal(err)
		}
		w.wantEnd(d, jackline.OK)
	})
}

func TestRunFails(t *testing.T) {
	for _, c := range []struct {
		name string
		out  tool.Out
		err  error
		text string
		from jackline.Integrity
		told bool // to the program's own log
	}{
		{"with a sentence", tool.Out{}, jackline.E("x", jackline.NotFound, errors.New("cause"), "No file a."), "FAILED: No file a.", jackline.Ours, false},
		{"without one", tool.Out{}, errors.New("secret cause"), "FAILED: Something went wrong inside the tool.", jackline.Ours, true},
		{"with text beside", tool.Out{Text: "text"}, errors.New("secret cause"), "FAILED: Something went wrong inside the tool.", jackline.Ours, true},
		{"by its own words", tool.Out{Text: "exit 1", Failed: true}, nil, "exit 1", jackline.Workspace, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.did = func(context.Context, tool.In, arg) (tool.Out, error) { return c.out, c.err }
			d := w.run("put", write)
			w.wantEnd(d, jackline.Errored)
			if d.Call.Text != c.text || d.Call.Source != c.from || d.Labels.Tainted != (c.from != jackline.Ours) {
				t.Errorf("%q from %s", d.Call.Text, d.Call.Source)
			}
			if told := strings.Contains(w.fault.String(), "secret cause"); told != c.told || strings.Contains(d.Call.Text, "cause") {
				t.Errorf("logged %q", &w.fault)
			}
			if last := w.log.records[len(w.log.records)-1]; last.Sync {
				t.Error("a failure was synced")
			}
		})
	}
}

// A tool that breaks down breaks its call, wherever it does.
func TestPanics(t *testing.T) {
	bang := func() { panic("bang") }
	for name, c := range map[string]struct {
		tool   string
		set    func(*world)
		effect bool // it may have acted
	}{
		"run": {"put", func(w *world) {
			w.did = func(context.Context, tool.In, arg) (tool.Out, error) { bang(); return tool.Out{}, nil }
		}, true},
		"title":   {"put", func(w *world) { w.titles = func(arg) string { bang(); return "" } }, false},
		"touches": {"put", func(w *world) { w.touch = func([]jackline.Touch) []jackline.Touch { bang(); return nil } }, false},
		"preview": {"put", func(w *world) { w.judge.verdict = jackline.Ask; w.preview = func() error { bang(); return nil } }, false},
		"ask":     {"ask", func(w *world) { w.question = func() error { bang(); return nil } }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c.set(w)
			d := w.run(c.tool, write)
			w.wantEnd(d, jackline.Errored)
			if d.Call.Text != "FAILED: The tool broke down." || d.Call.Source != jackline.Ours {
				t.Errorf("text %q", d.Call.Text)
			}
			if !strings.Contains(w.fault.String(), "panic: bang") || !strings.Contains(w.fault.String(), c.tool) {
				t.Errorf("the log of errors says %q", &w.fault)
			}
			if !c.effect {
				w.wantRuns()
			}
			w.wantCards(0)
			if name == "title" {
				if _, title, _, _ := w.gate.Describe("put", json.RawMessage(write)); title != "put" {
					t.Errorf("described as %q", title)
				}
			}
			if name == "preview" {
				if _, _, err := w.gate.Preview(t.Context(), w.who, d.Call); err == nil {
					t.Error("a view came of a panic")
				}
			}
		})
	}
	t.Run("changed", func(t *testing.T) {
		w := newWorld(t)
		w.run("look", `{"path":"a"}`)
		w.changed = func(string) bool { bang(); return false }
		d := w.run("look", `{"path":"a"}`)
		w.wantEnd(d, jackline.OK)
		if d.Call.Cached != "" {
			t.Error("what could not be checked was taken from the cache")
		}
	})
}

// A yes is spent once, however many ask for it at once.
func TestApprovalUsedOnce(t *testing.T) {
	for _, name := range []string{"put", "look"} {
		w := newWorld(t)
		w.judge.verdict = jackline.Ask
		c := w.asks(name, write)
		w.yes(c.Wait, jackline.Once)
		const many = 20
		start := make(chan struct{})
		var wg sync.WaitGroup
		ends := make([]tool.Done, many)
		errs := make([]error, many)
		for k := range many {
			wg.Add(1)
			go func() {
				defer wg.Done()
				<-start
				ends[k], errs[k] = w.try(context.Background(), tool.Request{Call: c.Call})
			}()
		}
		close(start)
		wg.Wait()
		ok := 0
		for k := range many {
			switch {
			case errs[k] == nil && ends[k].Call.Outcome == jackline.OK:
				ok++
			case errs[k] == nil && ends[k].Call.Outcome == jackline.Unknown:
			case jackline.KindOf(errs[k]) == jackline.Conflict:
			default:
				t.Errorf("%v, %+v", errs[k], ends[k].Call)
			}
		}
		if ok != 1 || w.row(c.Wait).State != jackline.Used {
			t.Errorf("%s: %d of %d ended well, the row is %s", name, ok, many, w.row(c.Wait).State)
		}
		if name == "put" {
			w.wantRuns("put a") // a read may have been made more than once: it changed nothing
		}
	}
}

func TestIn(t *testing.T) {
	w := newWorld(t)
	if _, err := w.db.Append(t.Context(), jackline.Local, jackline.Record{
		Session: w.who.Session.ID, State: map[string]json.RawMessage{"todo": json.RawMessage(`["a"]`)},
	}); err != nil {
		t.Fatal(err)
	}
	c := w.call("put", write)
	w.did = func(_ context.Context, in tool.In, _ arg) (tool.Out, error) {
		todo, err := in.State("todo")
		if err != nil || string(todo) != `["a"]` {
			t.Errorf("state %s, %v", todo, err)
		}
		in.Progress("half")
		if in.Actor.Owner != jackline.Local || in.Call != c.ID || in.Limit != 700 || in.Zone != zone || in.Tools != w.gate.Tools {
			t.Errorf("%+v", in)
		}
		return tool.Out{Text: "done", State: map[string]json.RawMessage{"todo": json.RawMessage(`["b"]`), "new": json.RawMessage(`1`)}}, nil
	}
	if _, err := w.try(t.Context(), tool.Request{Call: c, Limit: 700, Zone: zone}); err != nil {
		t.Fatal(err)
	}
	todo, err := w.db.State(t.Context(), jackline.Local, w.who.Session.ID, "todo")
	if err != nil || string(todo) != `["b"]` {
		t.Errorf("state %s, %v", todo, err)
	}
	var p jackline.ToolProgress
	if len(w.log.live) != 1 || json.Unmarshal(w.log.live[0].Data, &p) != nil || p.Text != "half" || p.Call != c.ID || w.log.live[0].Turn != c.Turn {
		t.Errorf("live %+v", w.log.live)
	}
}

func TestEndLabels(t *testing.T) {
	out := func(l *tool.Label, text string) tool.Out { return tool.Out{Text: text, Label: l} }
	for _, c := range []struct {
		name, tool string
		out        tool.Out
		had        jackline.Labels
		want       jackline.Labels
		said       bool // an event tells of labels that grew
	}{
		{"somebody else's words", "look", out(nil, "x"), jackline.Labels{}, jackline.Labels{Tainted: true}, true},
		{"nothing", "look", out(nil, ""), jackline.Labels{}, jackline.Labels{}, false},
		{"our own", "think", out(nil, "x"), jackline.Labels{}, jackline.Labels{}, false},
		{"the owner's secrets", "mail", out(nil, "x"), jackline.Labels{}, jackline.Labels{Tainted: true, Private: true}, true},
		{"no secret", "mail", out(nil, ""), jackline.Labels{}, jackline.Labels{}, false},
		{"as it says itself", "think", out(&tool.Label{Source: jackline.Outside, Secret: true}, "x"), jackline.Labels{}, jackline.Labels{Tainted: true, Private: true}, true},
		{"not what its spec says", "mail", out(&tool.Label{Source: jackline.Ours}, "x"), jackline.Labels{}, jackline.Labels{}, false},
		{"already so", "look", out(nil, "x"), jackline.Labels{Tainted: true}, jackline.Labels{Tainted: true}, false},
		{"one more", "mail", out(nil, "x"), jackline.Labels{Tainted: true}, jackline.Labels{Tainted: true, Private: true}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.who.Session.Labels = c.had
			w.did = func(context.Context, tool.In, arg) (tool.Out, error) { return c.out, nil }
			d := w.run(c.tool, `{"path":"a"}`)
			w.wantEnd(d, jackline.OK)
			if d.Labels != c.want {
				t.Errorf("labels %+v, want %+v", d.Labels, c.want)
			}
			s, err := w.db.Session(t.Context(), jackline.Local, w.who.Session.ID)
			if err != nil || s.Labels != c.want {
				t.Errorf("the session has %+v, want %+v (%v)", s.Labels, c.want, err)
			}
			// They come with the outcome, not after it: the text never reaches a model without them.
			last := w.log.records[len(w.log.records)-1]
			if last.Labels != c.want || len(last.Calls) != 1 {
				t.Errorf("the outcome was written with %+v", last.Labels)
			}
			// Nobody waits for the outcome of a read, unless it changes what the session may do. Mail acts.
			if want := !c.said && c.tool != "mail"; last.Soon != want {
				t.Errorf("Soon is %v, want %v", last.Soon, want)
			}
			said := bodies[jackline.LabelChanged](w)
			if (len(said) > 0) != c.said || c.said && said[0].Labels != c.want {
				t.Errorf("events %+v", said)
			}
		})
	}
}

func TestEndWrites(t *testing.T) {
	w := newWorld(t)
	w.did = func(context.Context, tool.In, arg) (tool.Out, error) {
		return tool.Out{
			Text: "text", Origin: "file a", Stamp: "s", Found: []string{"peek"},
			View:    jackline.View{Shape: jackline.ViewList, Text: strings.Repeat("v", 5000), Rows: [][]string{{"r"}}},
			Changes: []jackline.Change{{Path: "a", Change: "edit", Added: 1}},
			Events:  []jackline.Body{jackline.PlanUpdate{Steps: []jackline.PlanStep{{Text: "one"}}}},
		}, nil
	}
	d := w.run("put", write)
	w.wantEnd(d, jackline.OK)
	c := w.stored(d.Call.ID)
	if c.Origin != "file a" || c.Stamp != "s" || len(c.Changes) != 1 || c.Title != "put a" || c.Source != jackline.Workspace || !slices.Equal(d.Found, []string{"peek"}) {
		t.Errorf("call %+v, found %q", c, d.Found)
	}
	if p := bodies[jackline.PlanUpdate](w); len(p) != 1 || p[0].Steps[0].Text != "one" {
		t.Errorf("events %+v", p)
	}
	r := bodies[jackline.ToolResult](w)[0]
	if r.View.Shape != jackline.ViewList || len(r.View.Rows) != 1 || utf8.RuneCountInString(r.View.Text) != jackline.EventTextLimit+1 {
		t.Errorf("view %s of %d", r.View.Shape, len(r.View.Text))
	}
	w.did = nil
	w.run("put", `{"path":"b","text":"x"}`)
	if r := bodies[jackline.ToolResult](w)[1]; r.View.Shape != jackline.ViewText || r.View.Text != "put did b" {
		t.Errorf("view %+v", r.View)
	}
}

func TestEndSpill(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("line of text\n", 1000)
	w.did = func(context.Context, tool.In, arg) (tool.Out, error) { return tool.Out{Text: long}, nil }
	c := w.call("look", `{"path":"a"}`)
	d, err := w.try(t.Context(), tool.Request{Call: c, Limit: 900})
	if err != nil {
		t.Fatal(err)
	}
	w.wantEnd(d, jackline.OK)
	if want := []string{"spill", "call ended"}; !slices.Equal(w.log.written, want) {
		t.Errorf("written %q, want %q", w.log.written, want)
	}
	text, n, err := w.db.ReadSpill(t.Context(), jackline.Local, c.ID, 0, 1<<20)
	if err != nil || text != long || n != len(long) {
		t.Errorf("%d of %d characters are kept (%v)", n, len(long), err)
	}
	note := fmt.Sprintf("\n[%d characters left out in the middle; page with call %q reads on]", d.Call.Dropped, c.ID)
	body, ok := strings.CutSuffix(d.Call.Text, note)
	if head, tail, cut := strings.Cut(body, "\n[…]\n"); !ok || !cut || len(head)+len(tail)+d.Call.Dropped != len(long) || !strings.HasPrefix(long, head) || !strings.HasSuffix(long, tail) {
		t.Errorf("dropped %d, text %q", d.Call.Dropped, d.Call.Text)
	}
	if r := bodies[jackline.ToolResult](w)[0]; r.Cut != d.Call.Dropped {
		t.Errorf("the event says %d", r.Cut)
	}

	only, err := w.gate.Tools.Only("look")
	if err != nil {
		t.Fatal(err)
	}
	w.gate.Tools, w.prior = only, nil
	d, err = w.try(t.Context(), tool.Request{Call: w.call("look", `{"path":"a"}`), Limit: 900})
	if err != nil || !strings.HasSuffix(d.Call.Text, "characters left out in the middle]") {
		t.Errorf("%v, %q", err, d.Call.Text)
	}
	if d, err = w.try(t.Context(), tool.Request{Call: w.call("look", `{"path":"b"}`)}); err != nil || d.Call.Text != long || d.Call.Dropped != 0 {
		t.Errorf("%v: without a limit %d are dropped", err, d.Call.Dropped)
	}
}

func TestEndHugeAndBinary(t *testing.T) {
	const most = 8 << 20
	random := make([]byte, 5000)
	for k := range random {
		random[k] = byte(k * 7)
	}
	for _, c := range []struct {
		name, text string
		limit      int
	}{
		{"binary", string(random), 0},
		{"binary, cut", string(random), 500},
		{"nothing but broken bytes", strings.Repeat("\xff", 3000), 700},
		{"huge", strings.Repeat("0123456789", most/10+100), 900},
		{"huge, no limit", strings.Repeat("0123456789", most/10+100), 0},
		{"huge, ends within a character", "x" + strings.Repeat("ä", most/2), 0},
		{"huge, ends within a long character", "xx" + strings.Repeat("€", most/3), 900},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.did = func(context.Context, tool.In, arg) (tool.Out, error) { return tool.Out{Text: c.text}, nil }
			d, err := w.try(t.Context(), tool.Request{Call: w.call("look", `{"path":"a"}`), Limit: c.limit})
			if err != nil {
				t.Fatal(err)
			}
			w.wantEnd(d, jackline.OK)
			if !utf8.ValidString(d.Call.Text) {
				t.Error("the text is not valid UTF-8")
			}
			if utf8.ValidString(c.text) && strings.ContainsRune(d.Call.Text, utf8.RuneError) {
				t.Error("a character was broken")
			}
			n := utf8.RuneCountInString(d.Call.Text)
			if c.limit > 0 && n > c.limit+300 || n > most+300 {
				t.Errorf("%d characters of %d remain", n, c.limit)
			}
			whole := utf8.RuneCountInString(c.text)
			if kept := whole - d.Call.Dropped; len(c.text) > most && (kept > n || d.Call.Dropped == 0) {
				t.Errorf("%d characters are said to be left out of %d, and %d remain", d.Call.Dropped, whole, n)
			}
			if c.limit > 0 {
				if text, _, err := w.db.ReadSpill(t.Context(), jackline.Local, d.Call.ID, 0, 1000); err != nil || !utf8.ValidString(text) {
					t.Errorf("spill: %v", err)
				}
			}
			if len(c.text) > most && !strings.Contains(d.Call.Text, "were not kept") {
				t.Errorf("the model is not told that the end is gone: %q", d.Call.Text[len(d.Call.Text)-200:])
			}
		})
	}
}

func FuzzCap(f *testing.F) {
	f.Add("", 0)
	f.Add("short", 100)
	f.Add(strings.Repeat("äöü\n", 50), 100)
	f.Add(strings.Repeat("a", 101), 100)
	f.Add(strings.Repeat("\n", 40), 7)
	f.Add("日本語日本語", 1)
	f.Add(strings.Repeat("x", 30)+"\n"+strings.Repeat("y", 300), 2)
	f.Add("abc", -1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		text = strings.ToValidUTF8(text, "?")
		got, dropped := tool.Cap(text, limit)
		n := utf8.RuneCountInString(text)
		if limit <= 0 || contract.Weight(text) <= limit {
			if got != text || dropped != 0 {
				t.Fatalf("cut %d of %d at %d", dropped, n, limit)
			}
			return
		}
		limit = contract.Letters(text, limit)
		const mark = "\n[…]\n"
		left := utf8.RuneCountInString(got) - utf8.RuneCountInString(mark)
		switch {
		case !utf8.ValidString(got):
			t.Fatalf("%q is not valid", got)
		case dropped <= 0 || left+dropped != n:
			t.Fatalf("%d left, %d dropped, %d in all", left, dropped, n)
		case left > limit:
			t.Fatalf("%d left of a limit of %d", left, limit)
		case left < limit/2-2:
			t.Fatalf("only %d left of a limit of %d", left, limit)
		}
		head, tail := 0, 0
		for k := range got {
			if strings.HasPrefix(got[k:], mark) && strings.HasPrefix(text, got[:k]) && strings.HasSuffix(text, got[k+len(mark):]) {
				head, tail = k, len(got)-k-len(mark)
				break
			}
		}
		if head+tail+len(mark) != len(got) {
			t.Fatalf("%q is not the beginning and the end of %q", got, text)
		}
	})
}

func TestCapAtLines(t *testing.T) {
	text := strings.Repeat("a line\n", 200)
	got, _ := tool.Cap(text, 403)
	head, tail, _ := strings.Cut(got, "\n[…]\n")
	if !strings.HasSuffix(head, "a line\n") || !strings.HasPrefix(tail, "a line\n") {
		t.Errorf("cut within a line: %q … %q", head[len(head)-10:], tail[:10])
	}
	got, dropped := tool.Cap(strings.Repeat("x", 1000), 400)
	if head, tail, _ := strings.Cut(got, "\n[…]\n"); len(head) != 266 || len(tail) != 133 || dropped != 601 {
		t.Errorf("%d, %d, %d", len(head), len(tail), dropped)
	}
}

func TestDescribeAndIntent(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct{ name, args, want string }{
		{"OPEN", `{"path":"a"}`, "look, look a, other, false"},
		{"put", `{"path":"a"}`, "put, put a, other, true"}, // what it could do at most
		{"put", `{`, "put, put, other, true"},
		{"nix", `{"path":"a"}`, "nix, nix, other, false"},
	} {
		name, title, icon, acts := w.gate.Describe(c.name, json.RawMessage(c.args))
		if got := fmt.Sprintf("%s, %s, %s, %v", name, title, icon, acts); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.name, c.args, got, c.want)
		}
	}
	intent := func(name, args string) (jackline.Intent, jackline.View, error) {
		return w.gate.Preview(t.Context(), w.who, jackline.Call{ID: "c_1", Name: name, Args: json.RawMessage(args)})
	}
	if _, _, err := intent("nix", `{}`); jackline.KindOf(err) != jackline.NotFound {
		t.Error(err)
	}
	if _, _, err := intent("put", `{}`); jackline.KindOf(err) != jackline.Unprocessed {
		t.Error(err)
	}
	if _, _, err := intent("liar", `{"path":"a"}`); jackline.KindOf(err) != jackline.Internal {
		t.Error(err)
	}
	i, v, err := intent("PUT", `{"text":"x","path":"a"}`)
	if err != nil || i.Tool != "put" || string(i.Args) != `{"path":"a","text":"x"}` || i.Effect != jackline.Write || v.Text == "" || i.Call != "c_1" {
		t.Errorf("%+v, %+v, %v", i, v, err)
	}
	if i, v, err := intent("look", `{"path":"a"}`); err != nil || v.Shape != "" || w.gate.Judged(i).Verdict != jackline.Allow {
		t.Errorf("%+v, %v", v, err)
	}
	w.wantRuns()
	w.wantCards(0)
	if len(w.log.records) != 0 {
		t.Error("something was written")
	}
}

var _ tool.Log = (*store.DB)(nil)
