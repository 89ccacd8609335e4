package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/tool"
)

func TestFind(t *testing.T) {
	t.Run("unknown", func(t *testing.T) {
		w := newWorld(t)
		w.judge.verdict = jackline.Ask
		d := w.run("destroy", `{"path":"a"}`)
		w.wantEnd(d, jackline.Errored)
		if !strings.Contains(d.Call.Text, `"destroy"`) || !strings.Contains(d.Call.Text, "look, peek, put") || d.Call.Title != "destroy" {
			t.Errorf("text %q, title %q", d.Call.Text, d.Call.Title)
		}
		if len(w.judge.seen) != 0 {
			t.Error("a call to nothing was judged")
		}
		w.wantCards(0)
	})
	t.Run("alias", func(t *testing.T) {
		for _, name := range []string{"look", "read_it", "READ-IT", "readIt", "Open"} {
			w := newWorld(t)
			d := w.run(name, `{"path":"a"}`)
			w.wantEnd(d, jackline.OK)
			w.wantRuns("look a")
			if d.Call.Name != "look" || d.Call.Asked != name || w.judge.last().Tool != "look" {
				t.Errorf("%s is %s, asked for as %s, judged as %s", name, d.Call.Name, d.Call.Asked, w.judge.last().Tool)
			}
		}
	})
	t.Run("unavailable", func(t *testing.T) {
		w := newWorld(t)
		d := w.run("gone", `{"path":"a"}`)
		w.wantEnd(d, jackline.Errored)
		if !strings.Contains(d.Call.Text, "Nothing to run it with.") {
			t.Errorf("text %q", d.Call.Text)
		}
		w.wantRuns()
	})
	t.Run("cut", func(t *testing.T) {
		for _, c := range []struct {
			name, args string
			runs       bool
		}{
			{"put", `{"path":"a","text":"half a te"}`, false},
			{"put", `{"path":"a"}`, false}, // what is missing may be what makes it write
			{"mail", `{"path":"a"}`, false},
			{"look", `{"path":"a"}`, true},
			{"think", `{"path":"a"}`, true},
		} {
			w := newWorld(t)
			call := w.call(c.name, c.args)
			call.Cut = true
			d := w.do(call)
			if c.runs {
				w.wantEnd(d, jackline.OK)
				continue
			}
			w.wantEnd(d, jackline.Errored)
			w.wantRuns()
			if !strings.Contains(d.Call.Text, "error: cut off") || len(w.judge.seen) > 0 {
				t.Errorf("%s %s: %q, judged %d times", c.name, c.args, d.Call.Text, len(w.judge.seen))
			}
		}
	})
	t.Run("in doubt", func(t *testing.T) {
		for _, c := range []struct {
			name string
			acts bool
			want jackline.Outcome
		}{
			{"put", true, jackline.Unknown},
			{"put", false, jackline.OK}, // it only read
			{"look", false, jackline.OK},
			{"removed", true, jackline.Unknown},
			{"removed", false, jackline.Unknown}, // who knows what it did
		} {
			w := newWorld(t)
			call := w.call(c.name, `{"path":"a"}`)
			call.State, call.Acts = jackline.CallStarted, c.acts
			w.wantEnd(w.do(call), c.want)
			if ran := len(w.runs()) > 0; ran != (c.want == jackline.OK) {
				t.Errorf("%s acts %v: ran %v", c.name, c.acts, ran)
			}
		}
	})
	t.Run("ended", func(t *testing.T) {
		w := newWorld(t)
		d := w.run("put", `{"path":"a","text":"x"}`)
		n := len(w.log.records)
		again := w.do(d.Call)
		if again.Call.Text != d.Call.Text || len(w.log.records) != n {
			t.Errorf("it came to %+v, %d records more", again.Call, len(w.log.records)-n)
		}
		w.wantRuns("put a")
	})
	t.Run("context over", func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		c := w.call("think", `{"path":"a"}`)
		d, err := w.try(ctx, tool.Request{Call: c})
		if !errors.Is(err, context.Canceled) || d.Call.State != jackline.CallNew {
			t.Errorf("%v, %s", err, d.Call.State)
		}
		c.State, c.Acts, c.Name = jackline.CallStarted, true, "put"
		if d, err = w.try(ctx, tool.Request{Call: c}); !errors.Is(err, context.Canceled) || d.Call.State != jackline.CallStarted || len(w.log.records) > 0 {
			t.Errorf("in doubt: %v, %s", err, d.Call.State)
		}
		w.wantRuns()
	})
}

func TestResolveArguments(t *testing.T) {
	w := newWorld(t)
	big := `{"path":"a","text":"` + strings.Repeat("x", 1<<20) + `"}`
	for _, c := range []struct{ name, args, want string }{
		{"missing", `{"text":"x"}`, "path"},
		{"wrong type", `{"path":"a","n":"many"}`, "n"},
		{"wrong type in a list", `{"path":"a","nums":[1,"x"]}`, "nums[1]"},
		{"nothing known", `{"colour":"red"}`, "path"},
		{"null", `{"path":null}`, "path"},
		{"oversized", big, "larger than 1048576 bytes"},
		{"nested", `{"path":"a","more":` + strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40) + `}`, "32 levels"},
		{"no object", `{"path":`, "JSON object"},
		{"nothing", ``, "JSON object"},
		{"two values", `{"path":"a"}{"path":"b"}`, "JSON object"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w.t, w.prior = t, nil
			w.judge.verdict = jackline.Ask
			judged := len(w.judge.seen)
			call := w.call("put", `{"path":"stored"}`)
			call.Args = json.RawMessage(c.args)
			d := w.do(call)
			if d.Call.State != jackline.CallEnded || d.Call.Outcome != jackline.Errored || d.Wait != "" {
				t.Fatalf("%s %s", d.Call.State, d.Call.Outcome)
			}
			if !strings.HasPrefix(d.Call.Text, "FAILED: ") || !strings.Contains(d.Call.Text, c.want) {
				t.Errorf("text %q does not name %q", d.Call.Text, c.want)
			}
			if string(d.Call.Args) != c.args {
				t.Errorf("the arguments became %.80s", d.Call.Args)
			}
			if len(w.judge.seen) != judged {
				t.Error("it was judged")
			}
			if d.Labels != (jackline.Labels{}) {
				t.Errorf("our own words brought the labels %+v", d.Labels)
			}
		})
	}
	w.t = t
	w.wantCards(0)
	w.wantRuns()
	if w.previews != 0 {
		t.Error("a preview was made")
	}
}

// What can be understood is understood, and then it is the canonical form that is judged, stored and run.
func TestResolveCanonical(t *testing.T) {
	w := newWorld(t)
	w.did = func(_ context.Context, _ tool.In, a arg) (tool.Out, error) {
		return tool.Out{Text: fmt.Sprintf("%+v", a)}, nil
	}
	d := w.run("put", `{"n":"7","path":"a","text":"x","nums":1,"colour":"red"}`)
	w.wantEnd(d, jackline.OK)
	want := `{"n":7,"nums":[1],"path":"a","text":"x"}` // what no tool would read is neither judged nor shown
	if string(d.Call.Args) != want || string(w.judge.last().Args) != want || string(w.stored(d.Call.ID).Args) != want {
		t.Errorf("call %s, judged %s, stored %s", d.Call.Args, w.judge.last().Args, w.stored(d.Call.ID).Args)
	}
	if d.Call.Text != "{Path:a Text:x N:7 Nums:[1]}" || d.Call.Title != "put a" {
		t.Errorf("ran with %s as %q", d.Call.Text, d.Call.Title)
	}
}

func TestResolveTouches(t *testing.T) {
	for _, c := range []struct {
		name, tool, args string
		want             string
	}{
		{"beyond the declared effect", "liar", `{"path":"a"}`, "The tool is broken."},
		{"without an effect", "void", `{"path":"a"}`, "The tool is broken."},
		{"that cannot be resolved", "put", `{"path":"nowhere","text":"x"}`, "There is no such place."},
	} {
		for _, v := range []jackline.Verdict{jackline.Allow, jackline.Ask} {
			t.Run(fmt.Sprint(c.name, " ", v), func(t *testing.T) {
				w := newWorld(t)
				w.judge.verdict = v
				d := w.run(c.tool, c.args)
				w.wantEnd(d, jackline.Errored)
				if !strings.Contains(d.Call.Text, c.want) || len(w.judge.seen) != 0 {
					t.Errorf("text %q, judged %d times", d.Call.Text, len(w.judge.seen))
				}
				w.wantRuns()
				w.wantCards(0)
			})
		}
	}
	t.Run("narrow the effect", func(t *testing.T) {
		w := newWorld(t)
		d := w.run("put", `{"path":"a"}`)
		if i := w.judge.last(); i.Effect != jackline.Read || d.Call.Acts || i.Title != "put a" || i.Digest == "" || len(i.Touches) != 1 || i.Call != d.Call.ID {
			t.Errorf("judged as %+v, acts %v", i, d.Call.Acts)
		}
		d = w.run("put", `{"path":"a","text":"x"}`)
		if i := w.judge.last(); i.Effect != jackline.Write || !d.Call.Acts {
			t.Errorf("judged as %v, acts %v", i.Effect, d.Call.Acts)
		}
	})
	t.Run("none narrow nothing", func(t *testing.T) {
		w := newWorld(t)
		w.touch = func([]jackline.Touch) []jackline.Touch { return nil }
		d := w.run("put", `{"path":"a"}`)
		if i := w.judge.last(); i.Effect != jackline.Read|jackline.Write || !d.Call.Acts {
			t.Errorf("judged as %v, acts %v", i.Effect, d.Call.Acts)
		}
	})
	t.Run("the session's labels", func(t *testing.T) {
		w := newWorld(t)
		w.who.Session.Labels = jackline.Labels{Tainted: true, Private: true}
		w.run("think", `{"path":"a"}`)
		if i := w.judge.last(); i.Labels != w.who.Session.Labels || i.Actor.Session.ID != w.who.Session.ID {
			t.Errorf("judged with %+v", i.Labels)
		}
	})
}

func TestJudge(t *testing.T) {
	t.Run("a refused touch becomes no card", func(t *testing.T) {
		for _, on := range []jackline.OnAsk{jackline.AskWait, jackline.AskDeny, jackline.AskFail} {
			w := newWorld(t)
			w.judge.verdict, w.who.Turn.Options.OnAsk = jackline.Ask, on
			d := w.run("put", `{"path":"secret","text":"x"}`)
			w.wantEnd(d, jackline.Denied)
			if !d.Hard || d.Asked || d.Call.By != "refused" || d.Call.Reason != "It holds secrets." || w.previews != 0 {
				t.Errorf("%s: %+v, by %q for %q, %d previews", on, d, d.Call.By, d.Call.Reason, w.previews)
			}
			w.wantCards(0)
			w.wantRuns()
		}
	})
	t.Run("deny", func(t *testing.T) {
		w := newWorld(t)
		w.judge.verdict = jackline.Deny
		for _, name := range []string{"put", "look", "think", "ask"} {
			d := w.run(name, `{"path":"a"}`)
			w.wantEnd(d, jackline.Denied)
			if d.Hard || d.Call.By != "test" || !strings.HasPrefix(d.Call.Text, "DENIED (test): The test says so.") {
				t.Errorf("%+v", d)
			}
		}
		w.wantCards(0)
		w.wantRuns()
	})
	t.Run("deny wins over a yes", func(t *testing.T) {
		w := newWorld(t)
		w.judge.verdict = jackline.Ask
		d := w.asks("put", `{"path":"a","text":"x"}`)
		w.yes(d.Wait, jackline.Once)
		w.judge.verdict = jackline.Deny
		end := w.do(d.Call)
		w.wantEnd(end, jackline.Denied)
		w.wantRuns()
		if end.Call.By != "test" || w.row(d.Wait).State != jackline.Approved {
			t.Errorf("by %q, row %s", end.Call.By, w.row(d.Wait).State)
		}
	})
	t.Run("kill switch", func(t *testing.T) {
		w := newWorld(t)
		w.judge.verdict = jackline.Ask
		waiting := w.asks("put", `{"path":"a","text":"x"}`)
		w.yes(waiting.Wait, jackline.Once)
		w.halt = true
		for _, v := range []jackline.Verdict{jackline.Ask, jackline.Allow} {
			w.judge.verdict = v
			d := w.run("put", `{"path":"b","text":"x"}`)
			w.wantEnd(d, jackline.Denied)
			if d.Call.By != "kill-switch" || d.Wait != "" {
				t.Errorf("by %q", d.Call.By)
			}
		}
		w.wantEnd(w.run("put", `{"path":"a"}`), jackline.OK) // this only reads
		w.wantEnd(w.run("look", `{"path":"a"}`), jackline.OK)
		w.wantEnd(w.do(waiting.Call), jackline.Denied)
		w.wantRuns("put a", "look a")
		w.wantCards(1)
		w.halt = false
		w.wantEnd(w.run("put", `{"path":"c","text":"x"}`), jackline.OK)
		w.gate.Halted = nil
		w.wantEnd(w.run("put", `{"path":"d","text":"x"}`), jackline.OK)
	})
}

func TestRecallDenial(t *testing.T) {
	w := newWorld(t)
	w.judge.verdict = jackline.Ask
	no := func(d tool.Done, why string) {
		t.Helper()
		w.answer(d.Wait, jackline.Answer{Reason: why}, nil)
		w.wantEnd(w.do(d.Call), jackline.Denied)
	}
	no(w.asks("put", `{"path":"a","text":"x"}`), "Not on a Sunday.")
	no(w.asks("look", `{"path":"a"}`), "")
	no(w.asks("ask", `{"path":"a"}`), "")
	for _, name := range []string{"put", "look", "ask"} {
		args := `{"path":"a"}`
		if name == "put" {
			args = `{"text":"x", "path":"a"}`
		}
		d := w.run(name, args)
		w.wantEnd(d, jackline.Denied)
		said := "already denied"
		if name == "ask" {
			said = "already declined"
		}
		if d.Call.By != jackline.ByPerson || !strings.Contains(d.Call.Text, said) {
			t.Errorf("%s: by %q: %q", name, d.Call.By, d.Call.Text)
		}
		if name == "put" && (d.Call.Reason != "Not on a Sunday." || !strings.Contains(d.Call.Text, "Not on a Sunday.")) {
			t.Errorf("the reason is %q in %q", d.Call.Reason, d.Call.Text)
		}
	}
	w.wantCards(3)
	w.wantRuns()

	// What is allowed outright, and changes nothing, needs nobody's word.
	w.judge.verdict = jackline.Allow
	w.wantEnd(w.run("look", `{"path":"a"}`), jackline.OK)
	// What acts was refused by a person; a rule that says yes to all such calls does not take that back.
	w.wantEnd(w.run("put", `{"path":"a","text":"x"}`), jackline.Denied)
	// A question that was declined stays declined where questions need no permission.
	w.wantEnd(w.run("ask", `{"path":"a"}`), jackline.Denied)
	w.judge.verdict = jackline.Ask
	w.asks("put", `{"path":"a","text":"other"}`)
	w.asks("mail", `{"path":"a"}`)
}

// Only a person's no to exactly this is remembered.
func TestRecallOnlyDenials(t *testing.T) {
	old := jackline.Call{
		Name: "put", Args: json.RawMessage(`{"path":"a","text":"x"}`), State: jackline.CallEnded, Outcome: jackline.Denied, By: jackline.ByPerson,
	}
	for name, change := range map[string]func(*jackline.Call){
		"a rule's":     func(c *jackline.Call) { c.By = "test" },
		"nobody's":     func(c *jackline.Call) { c.By = jackline.ByNobody },
		"expired":      func(c *jackline.Call) { c.Outcome = jackline.Expired },
		"other tool":   func(c *jackline.Call) { c.Name = "mail" },
		"other words":  func(c *jackline.Call) { c.Args = json.RawMessage(`{"path":"b","text":"x"}`) },
		"not over yet": func(c *jackline.Call) { c.State = jackline.CallWaiting },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.judge.verdict = jackline.Ask
			c := old
			change(&c)
			w.prior = []jackline.Call{c}
			w.asks("put", `{"path":"a","text":"x"}`)
		})
	}
	w := newWorld(t)
	w.judge.verdict = jackline.Ask
	w.prior = []jackline.Call{old}
	w.wantEnd(w.run("put", `{"path":"a","text":"x"}`), jackline.Denied)
}

func TestRecallCache(t *testing.T) {
	first := func(t *testing.T) *world {
		w := newWorld(t)
		w.did = func(context.Context, tool.In, arg) (tool.Out, error) {
			return tool.Out{Text: fmt.Sprintf("content %d", len(w.ran)), Origin: "file a", Stamp: "stamp"}, nil
		}
		w.wantEnd(w.run("look", `{"path":"a"}`), jackline.OK)
		return w
	}
	hit := func(t *testing.T, w *world, d tool.Done) {
		t.Helper()
		w.wantEnd(d, jackline.OK)
		old, c := w.prior[0], d.Call
		from := slices.ContainsFunc(w.prior[:len(w.prior)-1], func(q jackline.Call) bool { return q.ID == c.Cached })
		if !from || c.Text != old.Text || c.Origin != old.Origin || c.Source != old.Source || c.Stamp != old.Stamp || c.Dropped != old.Dropped {
			t.Errorf("it is not the earlier result: %+v", c)
		}
	}
	miss := func(t *testing.T, w *world, d tool.Done) {
		t.Helper()
		w.wantEnd(d, jackline.OK)
		if d.Call.Cached != "" || d.Call.Text == w.prior[0].Text {
			t.Errorf("it was answered from the cache: %+v", d.Call)
		}
	}
	t.Run("an equal read", func(t *testing.T) {
		w := first(t)
		hit(t, w, w.run("OPEN", ` { "path" : "a" } `))
		hit(t, w, w.run("look", `{"path":"a"}`))
		w.wantRuns("look a")
	})
	t.Run("the stamp", func(t *testing.T) {
		w := first(t)
		asked := ""
		w.changed = func(stamp string) bool { asked = stamp; return true }
		miss(t, w, w.run("look", `{"path":"a"}`))
		if asked != "stamp" {
			t.Errorf("the stamp was %q", asked)
		}
		w.changed = func(string) bool { return false }
		w.wantEnd(w.run("look", `{"path":"a"}`), jackline.OK)
		w.wantRuns("look a", "look a")
	})
	t.Run("other arguments", func(t *testing.T) { w := first(t); miss(t, w, w.run("look", `{"path":"b"}`)) })
	t.Run("another tool", func(t *testing.T) { w := first(t); miss(t, w, w.run("peek", `{"path":"a"}`)) })
	t.Run("a tool that is not cached", func(t *testing.T) {
		w := first(t)
		w.prior = nil
		w.wantEnd(w.run("peek", `{"path":"a"}`), jackline.OK)
		miss(t, w, w.run("peek", `{"path":"a"}`))
	})
	t.Run("something acted", func(t *testing.T) {
		w := first(t)
		w.wantEnd(w.run("put", `{"path":"b","text":"x"}`), jackline.OK)
		miss(t, w, w.run("look", `{"path":"a"}`))
	})
	for _, o := range []jackline.Outcome{jackline.Errored, jackline.Unknown, jackline.Cancelled, jackline.Expired} {
		t.Run("something may have acted "+o.String(), func(t *testing.T) {
			w := first(t)
			w.prior = append(w.prior, jackline.Call{Name: "put", Acts: true, State: jackline.CallEnded, Outcome: o})
			miss(t, w, w.run("look", `{"path":"a"}`))
		})
	}
	t.Run("something was denied", func(t *testing.T) {
		w := first(t)
		w.prior = append(w.prior, jackline.Call{Name: "put", Acts: true, State: jackline.CallEnded, Outcome: jackline.Denied})
		hit(t, w, w.run("look", `{"path":"a"}`))
	})
	for _, s := range []jackline.CallState{jackline.CallNew, jackline.CallWaiting, jackline.CallStarted} {
		t.Run("something is about to act "+string(s), func(t *testing.T) {
			w := first(t)
			w.prior = append(w.prior, jackline.Call{Name: "put", Acts: true, State: s})
			miss(t, w, w.run("look", `{"path":"a"}`))
		})
	}
	t.Run("an earlier call of the step waits", func(t *testing.T) {
		w := first(t)
		d, err := w.try(t.Context(), tool.Request{Call: w.call("look", `{"path":"a"}`), Hold: true})
		if err != nil || !d.Held || d.Call.State != jackline.CallNew {
			t.Errorf("%+v, %v", d, err)
		}
		w.wantRuns("look a")
	})
	t.Run("a failure", func(t *testing.T) {
		w := first(t)
		w.prior[0].Outcome = jackline.Errored
		miss(t, w, w.run("look", `{"path":"a"}`))
	})
	t.Run("not where it would ask", func(t *testing.T) {
		w := first(t)
		w.judge.verdict = jackline.Ask
		w.asks("look", `{"path":"a"}`)
	})
	t.Run("a result that was cut", func(t *testing.T) {
		w := newWorld(t)
		w.did = func(context.Context, tool.In, arg) (tool.Out, error) {
			return tool.Out{Text: strings.Repeat("0123456789", 100)}, nil
		}
		old, err := w.try(t.Context(), tool.Request{Call: w.call("look", `{"path":"a"}`), Limit: 300})
		if err != nil || old.Call.Dropped == 0 {
			t.Fatalf("%v, %+v", err, old.Call)
		}
		w.prior = append(w.prior, old.Call)
		d, err := w.try(t.Context(), tool.Request{Call: w.call("look", `{"path":"a"}`), Limit: 300})
		if err != nil {
			t.Fatal(err)
		}
		w.prior = append(w.prior, d.Call)
		hit(t, w, d)
		if _, _, err := w.db.ReadSpill(t.Context(), jackline.Local, d.Call.ID, 0, 10); err == nil {
			t.Error("a second spill was written, of what was cut already")
		}
	})
}

func TestPermitNobody(t *testing.T) {
	for _, on := range []jackline.OnAsk{"", jackline.AskDeny, jackline.AskFail} {
		w := newWorld(t)
		w.judge.verdict, w.who.Turn.Options.OnAsk = jackline.Ask, on
		for _, name := range []string{"put", "ask"} {
			d := w.run(name, `{"path":"a"}`)
			w.wantEnd(d, jackline.Denied)
			if !d.Asked || d.Hard || d.Call.By != jackline.ByNobody || d.Call.Reason == "" || !strings.Contains(d.Call.Text, "obody is there") {
				t.Errorf("%q %s: %+v", on, name, d)
			}
		}
		w.wantCards(0)
		w.wantRuns()
		if w.previews != 0 {
			t.Error("a preview was made for nobody")
		}
		// A person's own call has no turn, and the person is there.
		w.who.Turn = jackline.Turn{}
		c := w.call("put", `{"path":"b","text":"x"}`)
		c.Turn = ""
		if d := w.do(c); d.Wait == "" {
			t.Errorf("%q: a person's own call ended as %s", on, d.Call.Outcome)
		}
	}
	w := newWorld(t)
	d := w.run("put", `{"path":"a","text":"x"}`)
	if w.wantEnd(d, jackline.OK); d.Asked || d.Hard {
		t.Errorf("%+v", d)
	}
}

func TestPermitCard(t *testing.T) {
	w := newWorld(t)
	w.judge.verdict = jackline.Ask
	d := w.asks("put", `{"path":"a/b","text":"x"}`)
	row, c := w.row(d.Wait), w.stored(d.Call.ID)
	if row.State != jackline.Pending || row.Kind != jackline.KindCall || row.Call != c.ID || row.Step != c.Step || row.Title != "put a/b" || row.View.Text != "what it would do" {
		t.Errorf("row %+v", row)
	}
	if c.State != jackline.CallWaiting || !c.Acts || c.Title != "put a/b" || string(c.Args) != string(row.Args) {
		t.Errorf("call %+v", c)
	}
	need := bodies[jackline.ApprovalNeeded](w)
	if len(need) != 1 || need[0].Approval != row.ID || need[0].Call != c.ID || len(need[0].Touches) != 1 || need[0].Expires.IsZero() {
		t.Errorf("events %+v", need)
	}
	if r := w.log.records[len(w.log.records)-1]; !r.Sync || len(r.Calls) != 1 || len(r.Approvals) != 1 {
		t.Errorf("the question was written as %+v", r)
	}
	w.wantRuns()

	w.preview = func() error { return jackline.E("test", jackline.NotFound, nil, "The text to replace is not there.") }
	bad := w.run("put", `{"path":"c","text":"x"}`)
	w.wantEnd(bad, jackline.Errored)
	w.question = func() error { return jackline.E("test", jackline.Invalid, nil, "A question needs words.") }
	silent := w.run("ask", `{"path":"c"}`)
	w.wantEnd(silent, jackline.Errored)
	if !strings.Contains(bad.Call.Text, "not there") || !strings.Contains(silent.Call.Text, "needs words") {
		t.Errorf("%q, %q", bad.Call.Text, silent.Call.Text)
	}
	w.wantCards(1)

	// The row cannot be written: no card, no call that waits for one.
	w.preview = nil
	w.log.fail = func(jackline.Record) error { return errors.New("disk full") }
	c = w.call("put", `{"path":"d","text":"x"}`)
	if got, err := w.try(t.Context(), tool.Request{Call: c}); err == nil || got.Wait != "" || got.Call.State != jackline.CallNew {
		t.Errorf("%v, %+v", err, got)
	}
	w.wantCards(1)
}

func TestPermitFlood(t *testing.T) {
	w := newWorld(t)
	w.judge.verdict = jackline.Ask
	for n := range 20 {
		w.asks("put", fmt.Sprintf(`{"path":"f%d","text":"x"}`, n))
	}
	c := w.call("put", `{"path":"one more","text":"x"}`)
	d, err := w.try(t.Context(), tool.Request{Call: c})
	if err != nil || !d.Held || d.Flooded == "" || d.Call.State != jackline.CallNew || w.stored(c.ID).State != jackline.CallNew {
		t.Errorf("%v, %+v", err, d)
	}
	w.wantCards(20)
}

// Where reading would have to be asked about, a card opens nothing, and its question tells nothing.
func TestPermitBlind(t *testing.T) {
	w := newWorld(t)
	w.judge.verdict, w.judge.blind = jackline.Ask, true
	d := w.asks("put", `{"path":"a/b","text":"x"}`)
	row, ok, err := w.desk.Row(t.Context(), jackline.Local, d.Call.ID)
	if err != nil || !ok || row.View.Shape != "" {
		t.Errorf("%v, %v, %+v", err, ok, row.View)
	}
}

// A call that would touch what an earlier one of its step still waits to touch has no card yet: it would show what is not so.
func TestHoldBehind(t *testing.T) {
	w := newWorld(t)
	w.judge.verdict = jackline.Ask
	first := w.asks("put", `{"path":"a","text":"x"}`)
	for path, held := range map[string]bool{"a": true, "b": false} {
		w.prior = []jackline.Call{first.Call}
		d, err := w.try(t.Context(), tool.Request{Call: w.call("put", `{"path":"`+path+`","text":"y"}`), Hold: true})
		if err != nil || d.Held != held || (d.Wait == "") != held {
			t.Errorf("%s: %v, %+v", path, err, d)
		}
	}
}

func TestPermitGrants(t *testing.T) {
	w := newWorld(t)
	w.judge.verdict = jackline.Ask
	d := w.asks("put", `{"path":"src/a","text":"x"}`)
	w.yes(d.Wait, jackline.Task)
	w.wantEnd(w.do(d.Call), jackline.OK)
	w.wantEnd(w.run("put", `{"path":"src/b","text":"y"}`), jackline.OK)
	w.wantCards(1)
	w.asks("put", `{"path":"etc/b","text":"y"}`)
	w.asks("put", `{"path":"src/b"}`) // to write there is not to read
	w.asks("mail", `{"path":"src/a"}`)
	w.asks("ask", `{"path":"src/a"}`) // no grant answers a question
	w.wantRuns("put src/a", "put src/b")
	w.who.Turn.ID = jackline.NewID[jackline.TurnID]("t_")
	tn := w.who.Turn
	w.must(w.db.Append(t.Context(), jackline.Local, jackline.Record{Session: w.who.Session.ID, Turn: &tn}))
	w.asks("put", `{"path":"src/c","text":"y"}`)
}

func TestPermitQuestion(t *testing.T) {
	for _, v := range []jackline.Verdict{jackline.Allow, jackline.Ask} {
		w := newWorld(t)
		w.judge.verdict = v
		d := w.asks("ask", `{"path":"one"}`)
		if row := w.row(d.Wait); row.Kind != jackline.KindQuestion || len(row.Ask) != 1 || row.Ask[0].Text != "Which one?" {
			t.Fatalf("row %+v", row)
		}
		w.answer(d.Wait, jackline.Answer{Yes: true, Answers: [][]string{{"blue"}}}, nil)
		end := w.do(d.Call)
		w.wantEnd(end, jackline.OK)
		if end.Call.Text != "Question: Which one?\nThe owner's answer: blue" || end.Call.Source != jackline.Ours || w.row(d.Wait).State != jackline.Used {
			t.Errorf("%q, %s, row %s", end.Call.Text, end.Call.Source, w.row(d.Wait).State)
		}
		if end.Labels != (jackline.Labels{}) {
			t.Errorf("the owner's own words brought %+v", end.Labels)
		}

		d = w.asks("ask", `{"path":"other"}`)
		w.answer(d.Wait, jackline.Answer{}, nil)
		end = w.do(d.Call)
		w.wantEnd(end, jackline.Denied)
		if end.Call.By != jackline.ByPerson || !strings.Contains(end.Call.Text, "declined to answer") {
			t.Errorf("%+v", end.Call)
		}
	}
}

func TestPermitRows(t *testing.T) {
	const args = `{"path":"a","text":"x"}`
	open := func(t *testing.T) (*world, tool.Done) {
		w := newWorld(t)
		w.judge.verdict = jackline.Ask
		return w, w.asks("put", args)
	}
	t.Run("pending", func(t *testing.T) {
		w, d := open(t)
		n := len(w.log.records)
		again := w.do(d.Call)
		if again.Wait != d.Wait || again.Call.State != jackline.CallWaiting || len(w.log.records) != n {
			t.Errorf("%+v", again)
		}
		// It stays a question even if the settings no longer ask for it: the card is open.
		w.judge.verdict = jackline.Allow
		if again = w.do(d.Call); again.Wait != d.Wait {
			t.Errorf("%+v", again)
		}
		w.wantCards(1)
		w.wantRuns()
	})
	t.Run("denied", func(t *testing.T) {
		w, d := open(t)
		w.answer(d.Wait, jackline.Answer{Reason: "Because."}, nil)
		end := w.do(d.Call)
		w.wantEnd(end, jackline.Denied)
		if end.Call.By != jackline.ByPerson || end.Call.Reason != "Because." || !strings.Contains(end.Call.Text, "says: Because.") || end.Hard || end.Asked {
			t.Errorf("%+v", end)
		}
		w.wantRuns()
	})
	t.Run("expired", func(t *testing.T) {
		w, d := open(t)
		if _, err := w.desk.Expire(t.Context(), w.row(d.Wait).Expires.Add(1)); err != nil {
			t.Fatal(err)
		}
		w.wantEnd(w.do(d.Call), jackline.Expired)
		w.wantRuns()
	})
	t.Run("withdrawn", func(t *testing.T) {
		w, d := open(t)
		if err := w.desk.Withdraw(t.Context(), jackline.Local, w.who.Session.ID, w.who.Turn.ID); err != nil {
			t.Fatal(err)
		}
		w.wantEnd(w.do(d.Call), jackline.Cancelled)
		w.wantRuns()
	})
	t.Run("used", func(t *testing.T) {
		w, d := open(t)
		w.yes(d.Wait, jackline.Once)
		row := w.row(d.Wait)
		row.State = jackline.Used
		w.must(w.db.Append(t.Context(), jackline.Local, jackline.Record{Session: row.Session, Approvals: []jackline.Approval{row}, From: jackline.Approved}))
		w.wantEnd(w.do(d.Call), jackline.Unknown)
		w.wantRuns()
	})
	t.Run("approved", func(t *testing.T) {
		w, d := open(t)
		w.yes(d.Wait, jackline.Once)
		end := w.do(d.Call)
		w.wantEnd(end, jackline.OK)
		if w.row(d.Wait).State != jackline.Used {
			t.Errorf("row %s", w.row(d.Wait).State)
		}
		w.wantRuns("put a")
		w.asks("put", args) // once is once
	})
	t.Run("approved read", func(t *testing.T) {
		w := newWorld(t)
		w.judge.verdict = jackline.Ask
		d := w.asks("look", `{"path":"a"}`)
		w.yes(d.Wait, jackline.Once)
		w.wantEnd(w.do(d.Call), jackline.OK)
		if w.row(d.Wait).State != jackline.Used {
			t.Errorf("row %s", w.row(d.Wait).State)
		}
	})
	t.Run("approved and held", func(t *testing.T) {
		w, d := open(t)
		w.yes(d.Wait, jackline.Once)
		n := len(w.log.records)
		held, err := w.try(t.Context(), tool.Request{Call: d.Call, Hold: true})
		if err != nil || !held.Held || held.Wait != "" || len(w.log.records) != n || w.row(d.Wait).State != jackline.Approved {
			t.Errorf("%+v, %v, row %s", held, err, w.row(d.Wait).State)
		}
		w.wantRuns()
		w.wantEnd(w.do(d.Call), jackline.OK)
	})
	t.Run("held calls still ask", func(t *testing.T) {
		w, _ := open(t)
		d, err := w.try(t.Context(), tool.Request{Call: w.call("mail", `{"path":"a"}`), Hold: true})
		if err != nil || d.Wait == "" || d.Held {
			t.Errorf("%+v, %v", d, err)
		}
	})
	t.Run("a forged yes", func(t *testing.T) {
		w, d := open(t)
		row := w.row(d.Wait)
		row.State, row.Answer = jackline.Approved, jackline.Answer{Yes: true, Scope: jackline.Once}
		w.must(w.db.Append(t.Context(), jackline.Local, jackline.Record{Session: row.Session, Approvals: []jackline.Approval{row}, From: jackline.Pending}))
		again := w.do(d.Call)
		if again.Wait == "" || again.Wait == d.Wait {
			t.Errorf("it was not asked anew: %+v", again)
		}
		w.wantRuns()
	})
}

// A yes is to one intent. When what would run has become something else, that is a new question.
func TestPermitChangedIntent(t *testing.T) {
	for name, change := range map[string]func(*world){
		"touches": func(w *world) {
			w.touch = func(t []jackline.Touch) []jackline.Touch { t[0].Name = "elsewhere"; return t }
		},
		"more touches": func(w *world) {
			w.touch = func(t []jackline.Touch) []jackline.Touch {
				return append(t, jackline.Touch{Effect: jackline.Read, Kind: "path", Name: "b"})
			}
		},
		"it would replace something": func(w *world) {
			w.touch = func(t []jackline.Touch) []jackline.Touch { t[0].Exists = true; return t }
		},
		"workspace": func(w *world) { w.who.Session.Workspace = "/other" },
		"taint": func(w *world) {
			// The row was about a session that had read outside text; it must not be used where it hasn't.
			w.who.Session.Labels = jackline.Labels{}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.judge.verdict = jackline.Ask
			if name == "taint" {
				w.who.Session.Labels = jackline.Labels{Tainted: true}
			}
			d := w.asks("put", `{"path":"a","text":"x"}`)
			w.yes(d.Wait, jackline.Once)
			change(w)
			again := w.do(d.Call)
			if again.Wait == "" || again.Wait == d.Wait {
				t.Fatalf("it was not asked anew: %+v", again)
			}
			w.wantRuns()
			w.yes(again.Wait, jackline.Once)
			w.wantEnd(w.do(again.Call), jackline.OK)
			if w.row(d.Wait).State != jackline.Approved || w.row(again.Wait).State != jackline.Used {
				t.Errorf("the rows are %s and %s", w.row(d.Wait).State, w.row(again.Wait).State)
			}
			w.wantRuns("put a")
		})
	}
}

func TestPermitEdited(t *testing.T) {
	edit := func(t *testing.T, w *world, d tool.Done, args string) {
		t.Helper()
		c := d.Call
		c.Args = json.RawMessage(args)
		i, view, err := w.gate.Preview(t.Context(), w.who, c)
		if err != nil {
			t.Fatal(err)
		}
		w.answer(d.Wait, jackline.Answer{Yes: true, Scope: jackline.Once, Args: i.Args},
			&approval.EditedIntent{Intent: i, Decision: w.gate.Judged(i), View: view})
	}
	w := newWorld(t)
	w.judge.verdict = jackline.Ask
	d := w.asks("put", `{"path":"a","text":"x"}`)
	edit(t, w, d, `{"text":"y","path":"b"}`)
	end := w.do(d.Call)
	w.wantEnd(end, jackline.OK)
	w.wantRuns("put b")
	const want = `{"path":"b","text":"y"}`
	if string(end.Call.Args) != want || end.Call.Title != "put b" || w.judge.last().Touches[0].Name != "b" {
		t.Errorf("ran as %q with %s, judged about %v", end.Call.Title, end.Call.Args, w.judge.last().Touches)
	}
	if !strings.HasPrefix(end.Call.Text, "[The owner changed the arguments") || !strings.Contains(end.Call.Text, want) {
		t.Errorf("the model is told %q", end.Call.Text)
	}

	// The edited arguments are what is judged: a rule that forbids them wins.
	d = w.asks("put", `{"path":"c","text":"x"}`)
	edit(t, w, d, `{"path":"d","text":"x"}`)
	w.judge.verdict = jackline.Deny
	w.wantEnd(w.do(d.Call), jackline.Denied)
	if string(w.judge.last().Args) != `{"path":"d","text":"x"}` {
		t.Errorf("judged %s", w.judge.last().Args)
	}
	w.wantRuns("put b")

	// A refused edit never becomes an answer.
	w.judge.verdict = jackline.Ask
	d = w.asks("put", `{"path":"e","text":"x"}`)
	c := d.Call
	c.Args = json.RawMessage(`{"path":"secret","text":"x"}`)
	previews := w.previews
	i, _, err := w.gate.Preview(t.Context(), w.who, c)
	if err != nil || w.previews != previews {
		t.Fatalf("%v, %d previews of what is refused", err, w.previews-previews)
	}
	_, err = w.desk.Answer(t.Context(), jackline.Local, d.Wait, jackline.Answer{Yes: true, Args: i.Args}, &approval.EditedIntent{Intent: i, Decision: w.gate.Judged(i)})
	if jackline.KindOf(err) != jackline.Forbidden {
		t.Errorf("the edit was answered with %v", err)
	}
	if again := w.do(d.Call); again.Wait != d.Wait {
		t.Errorf("%+v", again)
	}
}

type yes struct{}

func (yes) Judge(jackline.Intent) jackline.Decision {
	return jackline.Decision{Verdict: jackline.Allow, Rule: "yes"}
}

// What nobody may touch is refused whatever the judge says.
func TestRefusedWhateverTheJudgeSays(t *testing.T) {
	w := newWorld(t)
	w.gate.Judge = yes{}
	d := w.run("put", `{"path":"secret","text":"x"}`)
	if d.Call.Outcome != jackline.Denied || !d.Hard {
		t.Errorf("%s: %s", d.Call.Outcome, d.Call.Text)
	}
}
