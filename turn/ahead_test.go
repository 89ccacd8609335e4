package turn_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/turn"
)

// scout is a tool that looks ahead whenever a sentence begins with its name.
func scout(name string, run func(context.Context) (string, error)) tool.Tool {
	type args struct{}
	return tool.Define(tool.Spec[args]{
		Name: name, Group: "web", Summary: "Look.", Effect: jackline.Network, Source: jackline.Outside, Icon: "fetch",
		Title:    func(args) string { return "Look for " + name },
		Touches:  func(tool.In, args) ([]jackline.Touch, error) { return nil, nil },
		Prefetch: func(s string) (args, bool) { return args{}, strings.HasPrefix(s, name) },
		Run: func(ctx context.Context, _ tool.In, _ args) (tool.Out, error) {
			text, err := run(ctx)
			return tool.Out{Text: text, Origin: "the " + name}, err
		},
	})
}

func ahead(tools ...tool.Tool) options {
	return options{Mode: jackline.ModeAllowReads, Native: true, Agent: jackline.AgentSettings{Prefetch: true}, tools: tools}
}

// start runs a turn until ctx ends it, or it ends.
func (b *bench) start(t *testing.T, ctx context.Context, id jackline.TurnID) (jackline.Turn, error) {
	t.Helper()
	return b.engine.Run(ctx, jackline.Local, id, turn.Control{})
}

func (b *bench) types(t *testing.T) string {
	t.Helper()
	var types []string
	events, err := b.db.Events(t.Context(), jackline.Local, b.session.ID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		types = append(types, ev.Type)
	}
	return strings.Join(types, " ")
}

func (b *bench) prompts(t *testing.T) []string {
	t.Helper()
	items, err := b.db.History(t.Context(), jackline.Local, b.session.ID)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, it := range items {
		if it.Role == jackline.ItemPrompt {
			all = append(all, it.Text)
		}
	}
	return all
}

// Several things are looked up side by side: each of these waits for the other. One failing does not take the other along. The
// session is labelled before the model reads any of it.
func TestAheadTogether(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	meet := func(text string, err error) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { both.Done(); both.Wait(); return text, err }
	}
	o := ahead(scout("tide", meet("High tide at noon.", nil)), scout("moon", meet("", jackline.E("test", jackline.Unavailable, nil, "The moon is away."))))
	b := newBench(t, o, "=== 1\n--- expect High tide at noon.\n--- expect Look for moon: this could not be checked now. The moon is away.\nNoon.\n")
	b.model.before = func() {
		s, err := b.db.Session(t.Context(), jackline.Local, b.session.ID)
		if err != nil || !s.Labels.Tainted {
			t.Errorf("the model is asked before the session is labelled: %+v %v", s.Labels, err)
		}
	}
	b.turn(t, "tide here? moon there?", nil)
	if b.last.Status != jackline.Done || b.last.Usage.Steps != 1 || b.last.Usage.Calls != 2 {
		t.Errorf("%+v", b.last)
	}
	calls, err := b.db.Calls(t.Context(), jackline.Local, b.last.ID)
	if err != nil || len(calls) != 2 || calls[0].Step != 0 || calls[0].Outcome != jackline.OK || calls[1].Outcome != jackline.Errored || calls[0].Acts {
		t.Errorf("%v %+v", err, calls)
	}
}

// All look-ups together take ten seconds at most. What is not there by then could not be checked.
func TestAheadTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }
		o := ahead(scout("tide", slow), scout("moon", func(context.Context) (string, error) { return "Full.", nil }))
		b := newBench(t, o, "=== 1\n--- expect Full.\n--- expect Look for tide: this could not be checked now. it did not end in the time that it was given.\nI cannot check it.\n")
		began := time.Now()
		b.turn(t, "tide? moon?", nil)
		if took := time.Since(began); took != 10*time.Second || b.last.Status != jackline.Done {
			t.Errorf("%v, %s %s", took, b.last.Status, b.last.Reason)
		}
	})
}

// A stop ends the look-ups at once; the prompt is part of the conversation all the same.
func TestAheadStop(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	b := newBench(t, ahead(scout("tide", func(ctx context.Context) (string, error) { cancel(turn.ErrStopped); <-ctx.Done(); return "", ctx.Err() })), "=== 1\nunused\n")
	tn, err := b.start(t, ctx, b.submit(t, "tide?"))
	if err != nil || tn.Status != jackline.Stopped || tn.Progress.Ahead {
		t.Errorf("%v %+v", err, tn)
	}
	if p := b.prompts(t); len(p) != 1 || !strings.HasSuffix(p[0], "]\ntide?") {
		t.Errorf("%q", p)
	}
	if got := b.types(t); got != "turn.start prep tools.start tool.call tool.result turn.end" || len(b.model.requests) != 0 {
		t.Errorf("%s, %d requests", got, len(b.model.requests))
	}
}

// After a crash amid the look-ups they are made again, for none of them acts; those that had ended are not. After one behind them
// the model is sent the same bytes.
func TestAheadCrash(t *testing.T) {
	ctx, crash := context.WithCancelCause(t.Context())
	tides, moons := 0, 0
	moon := make(chan struct{})
	o := ahead(scout("tide", func(ctx context.Context) (string, error) {
		if tides++; tides == 1 {
			<-moon
			crash(turn.ErrShutdown)
			<-ctx.Done()
			return "", ctx.Err()
		}
		return fmt.Sprintf("Tide %d.", tides), nil
	}), scout("moon", func(context.Context) (string, error) { moons++; return fmt.Sprintf("Moon %d.", moons), nil }))
	o.Ungated = true // files keep the network from being asked
	b := newBench(t, o, "=== 1\n--- expect Tide 2.\nFirst.\n")
	b.attach(t, "a.txt", "text/plain", "x", "TEXT OF A")
	id := b.submit(t, "tide? moon?")
	b.engine.Journal = notice{b.engine.Journal, func(rec jackline.Record) {
		for _, c := range rec.Calls {
			if c.State == jackline.CallEnded && c.Name == "moon" {
				close(moon)
			}
		}
	}}
	gate := b.engine.Gate
	b.engine.Gate = func(s jackline.Session) (*tool.Gate, error) {
		g, err := gate(s)
		g.Log = b.engine.Journal
		return g, err
	}
	if tn, err := b.start(t, ctx, id); !errors.Is(err, turn.ErrShutdown) || tn.Status != jackline.Running || len(b.prompts(t)) != 0 {
		t.Fatalf("%v %+v", err, tn)
	}

	reopen := func() {
		if err := b.db.Close(); err != nil {
			t.Fatal(err)
		}
		b.open(t)
	}
	reopen()
	ctx, crash = context.WithCancelCause(t.Context())
	b.model.before = func() { crash(turn.ErrShutdown) }
	if _, err := b.start(t, ctx, id); !errors.Is(err, turn.ErrShutdown) {
		t.Fatal(err)
	}
	reopen()
	b.model.before = nil
	if tn, err := b.start(t, t.Context(), id); err != nil || tn.Status != jackline.Done {
		t.Fatalf("%v %+v", err, tn)
	}
	if tides != 2 || moons != 1 || len(b.prompts(t)) != 1 || !strings.Contains(b.prompts(t)[0], "Moon 1.") {
		t.Errorf("%d tides, %d moons, %q", tides, moons, b.prompts(t))
	}
	if p := b.prompts(t)[0]; !strings.Contains(p, "TEXT OF A") || strings.Index(p, "TEXT OF A") > strings.Index(p, "[Context") || !strings.HasSuffix(p, "[End of context.]\ntide? moon?") {
		t.Errorf("%q", p)
	}
	if r := b.model.requests; len(r) != 2 || r[0] != r[1] {
		t.Errorf("other bytes after a restart:\n%s", strings.Join(r, "\n--\n"))
	}
	calls, err := b.db.Calls(t.Context(), jackline.Local, id)
	if err != nil || len(calls) != 2 || calls[0].Outcome != jackline.OK || calls[1].Outcome != jackline.OK {
		t.Errorf("%v %+v", err, calls)
	}
}

// notice passes records on and shows them once they are written.
type notice struct {
	turn.Journal
	see func(jackline.Record)
}

func (n notice) Append(ctx context.Context, o jackline.Owner, rec jackline.Record) ([]jackline.Event, error) {
	events, err := n.Journal.Append(ctx, o, rec)
	if err == nil {
		n.see(rec)
	}
	return events, err
}

// A turn that is ended from elsewhere while it looks ahead keeps its prompt, and its calls end.
func TestAheadFinish(t *testing.T) {
	ctx, crash := context.WithCancelCause(t.Context())
	b := newBench(t, ahead(scout("tide", func(ctx context.Context) (string, error) { crash(turn.ErrShutdown); <-ctx.Done(); return "", ctx.Err() })), "=== 1\nunused\n")
	id := b.submit(t, "tide?")
	if _, err := b.start(t, ctx, id); !errors.Is(err, turn.ErrShutdown) {
		t.Fatal(err)
	}
	tn, err := b.engine.Finish(t.Context(), jackline.Local, id, jackline.Interrupted, "It was interrupted.")
	if err != nil || tn.Status != jackline.Interrupted || tn.Progress.Ahead || len(b.prompts(t)) != 1 {
		t.Errorf("%v %+v %q", err, tn, b.prompts(t))
	}
	if calls, err := b.db.Calls(t.Context(), jackline.Local, id); err != nil || len(calls) != 1 || calls[0].Outcome != jackline.Cancelled {
		t.Errorf("%v %+v", err, calls)
	}
}

// Context takes a share of the window and no more, however much is found, and leaves the rest of the call readable.
func TestAheadSize(t *testing.T) {
	long := func(context.Context) (string, error) { return strings.Repeat("many words\n", 10_000), nil }
	for window, most := range map[int]int{4096: 1792, 8192: 3584, 32768: 6000, 200_000: 6000} {
		o := ahead(scout("tide", long), scout("moon", long))
		o.Window = window
		b := newBench(t, o, "=== 1\nSo much.\n")
		b.turn(t, "tide? moon?", nil)
		const frames = 300 // what stands around the results
		if p := b.prompts(t); len(p) != 1 || len(p[0]) > most+frames || len(p[0]) < most*3/4 || strings.Count(p[0], "[…]") != 2 || b.last.Status != jackline.Done {
			t.Errorf("window %d: %d characters, %s", window, len(p[0]), b.last.Status)
		}
	}
}

// At most three things are looked up for one prompt, each once, and nothing for a long one.
func TestAheadCount(t *testing.T) {
	var ran sync.Map
	one := func(name string) tool.Tool {
		return scout(name, func(context.Context) (string, error) {
			if _, again := ran.LoadOrStore(name, true); again {
				t.Errorf("%s twice", name)
			}
			return name, nil
		})
	}
	b := newBench(t, ahead(one("tide"), one("moon"), one("star"), one("cloud")), "=== 1\nYes.\n=== 2\nNo.\n")
	b.turn(t, "cloud? tide! tide? moon. star. moon?", nil)
	if b.last.Usage.Calls != 3 {
		t.Errorf("%d calls", b.last.Usage.Calls)
	}
	b.turn(t, "tide? "+strings.Repeat("And so on. ", 40), nil)
	if b.last.Usage.Calls != 0 {
		t.Errorf("%d calls for a long prompt", b.last.Usage.Calls)
	}
}

// Which prompts set off which calls: all of them at once, through the loop.
func TestAheadPrompts(t *testing.T) {
	for prompt, want := range map[string]string{
		"What is the weather in Oslo?":                                        "Weather in Oslo",
		"Hi! What time is it?":                                                "Time",
		"Wie ist das Wetter in Berlin? Und wie spät ist es?":                  "Time, Weather in Berlin",
		"Search the web for hiking boots.":                                    "Search the web for hiking boots",
		"What does weather mean?":                                             "",
		"What is a weather forecast?":                                         "",
		"How do I print the time in Go?":                                      "",
		"How can I show the weather in Oslo in my terminal?":                  "",
		"Translate “What time is it?” into French.":                           "",
		"How do I say \"what is the weather in Oslo\" in French?":             "",
		"Explain this: what is the weather in Oslo?":                          "",
		"What is the difference between the weather in Oslo and its climate?": "",
		"Fix this:\n```\nWhat time is it?\n```":                               "",
		"> What time is it?\n\nAnswer him in reply.md.":                       "",
		"Was bedeutet Wetter?":                                                "",
		"Wie funktioniert das Wetter in Oslo?":                                "",
		"Erkläre mir das Wetter in Oslo.":                                     "",
		"Read notes.txt.":                                                     "",
	} {
		o := ahead()
		o.Web, o.Mode = true, jackline.ModeAllowReads
		b := newBench(t, o, "=== 1\nI cannot check it.\n")
		b.turn(t, prompt, nil)
		calls, err := b.db.Calls(t.Context(), jackline.Local, b.last.ID)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range calls {
			got = append(got, c.Title)
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
}
