package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
)

// An arg is what the tools of these tests take.
type arg struct {
	Path string `json:"path" doc:"which file"`
	Text string `json:"text,omitempty" doc:"what to write"`
	N    int    `json:"n,omitempty" doc:"a number"`
	Nums []int  `json:"nums,omitempty" doc:"some numbers"`
}

// A world is a gate over a real store and a real desk. Only the judge and the tools are scripted.
type world struct {
	t     *testing.T
	db    *store.DB
	log   *journal
	desk  *approval.Desk
	judge *judge
	gate  *tool.Gate
	who   jackline.Actor
	prior []jackline.Call
	halt  bool
	fault bytes.Buffer // what was logged for nobody else to see

	mu  sync.Mutex
	ran []string // "tool path" for each run
	did func(ctx context.Context, in tool.In, a arg) (tool.Out, error)

	previews int
	preview  func() error
	question func() error
	changed  func(stamp string) bool
	titles   func(arg) string
	touch    func([]jackline.Touch) []jackline.Touch
	sandbox  jackline.Sandbox // of exec
}

// newWorld makes a session, a turn that waits for people, and these tools:
//
//	look   reads, is cached          put    writes, or only reads without a text
//	peek   reads, is not cached      think  is pure
//	ask    is a question             gone   cannot be used
//	liar   writes, says it reads     void   touches with no effect at all
//	page   pages through results     mail   sends
//	exec   runs a command
func newWorld(t *testing.T) *world {
	t.Helper()
	db, err := store.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	w := &world{t: t, db: db, log: &journal{DB: db}, judge: &judge{verdict: jackline.Allow}}
	w.desk = approval.New(db, db.Key("approval"), approval.Options{})
	set, err := tool.NewSet(w.tools()...)
	if err != nil {
		t.Fatal(err)
	}
	w.gate = &tool.Gate{
		Tools: set, Judge: w.judge, Desk: w.desk, Log: w.log, Halted: func() bool { return w.halt },
		Errors: slog.New(slog.NewTextHandler(&w.fault, nil)),
	}
	s, err := db.CreateSession(t.Context(), jackline.Local, jackline.Session{
		ID: jackline.NewID[jackline.SessionID]("s_"), Workspace: "/ws", Mode: jackline.ModeAllowReads,
	})
	if err != nil {
		t.Fatal(err)
	}
	tn := jackline.Turn{
		ID: jackline.NewID[jackline.TurnID]("t_"), Session: s.ID, Owner: jackline.Local, Status: jackline.Running,
		Options: jackline.TurnOptions{OnAsk: jackline.AskWait},
	}
	w.must(db.Append(t.Context(), jackline.Local, jackline.Record{Session: s.ID, Turn: &tn}))
	w.who = jackline.Actor{Owner: jackline.Local, Session: s, Turn: tn, Source: jackline.FromModel}
	return w
}

func (w *world) must(_ []jackline.Event, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) spec(name string, e jackline.Effect) tool.Spec[arg] {
	return tool.Spec[arg]{
		Name: name, Group: "files", Summary: "Does " + name + ".", Effect: e, Source: jackline.Workspace, Icon: "other",
		Title: func(a arg) string {
			if w.titles != nil {
				return w.titles(a)
			}
			return name + " " + a.Path
		},
		Touches: func(_ tool.In, a arg) ([]jackline.Touch, error) { return w.touches(e, a) },
		Run: func(ctx context.Context, in tool.In, a arg) (tool.Out, error) {
			w.mu.Lock()
			w.ran = append(w.ran, name+" "+a.Path)
			did := w.did
			w.mu.Unlock()
			if did != nil {
				return did(ctx, in, a)
			}
			return tool.Out{Text: name + " did " + a.Path}, nil
		},
	}
}

func (w *world) touches(e jackline.Effect, a arg) ([]jackline.Touch, error) {
	if a.Path == "nowhere" {
		return nil, jackline.E("test", jackline.NotFound, nil, "There is no such place.")
	}
	touch := jackline.Touch{Effect: e, Kind: "path", Name: a.Path}
	if e.Has(jackline.Read | jackline.Write) {
		if touch.Effect = jackline.Write; a.Text == "" {
			touch.Effect = jackline.Read
		}
	}
	if a.Path == "secret" {
		touch.Refused = "It holds secrets."
	}
	touches := []jackline.Touch{touch}
	if w.touch != nil {
		touches = w.touch(touches)
	}
	return touches, nil
}

func (w *world) tools() []tool.Tool {
	look := w.spec("look", jackline.Read)
	look.Cache, look.Aliases = true, []string{"read_it", "open"}
	look.Changed = func(_ context.Context, _ tool.In, _ arg, stamp string) bool {
		return w.changed != nil && w.changed(stamp)
	}
	put := w.spec("put", jackline.Read|jackline.Write)
	put.Preview = func(context.Context, tool.In, arg) (jackline.View, error) {
		w.previews++
		if w.preview != nil {
			return jackline.View{}, w.preview()
		}
		return jackline.View{Shape: jackline.ViewText, Text: "what it would do"}, nil
	}
	think := w.spec("think", jackline.Pure)
	think.Touches, think.Source = nil, jackline.Ours
	ask := w.spec("ask", jackline.Pure)
	ask.Touches, ask.Run, ask.Source = nil, nil, jackline.Ours
	ask.Ask = func(a arg) ([]jackline.Question, error) {
		if w.question != nil {
			return nil, w.question()
		}
		return []jackline.Question{{Text: "Which " + a.Path + "?", Options: []string{"red", "blue"}}}, nil
	}
	gone := w.spec("gone", jackline.Read)
	gone.Missing = func() string { return "Nothing to run it with." }
	liar := w.spec("liar", jackline.Read)
	liar.Touches = func(tool.In, arg) ([]jackline.Touch, error) {
		return []jackline.Touch{{Effect: jackline.Read, Name: "a"}, {Effect: jackline.Write, Name: "b"}}, nil
	}
	void := w.spec("void", jackline.Read)
	void.Touches = func(tool.In, arg) ([]jackline.Touch, error) { return []jackline.Touch{{Name: "a"}}, nil }
	page := w.spec("page", jackline.Pure)
	page.Touches, page.Pager = nil, true
	mail := w.spec("mail", jackline.Outward)
	mail.Secret = true
	exec := w.spec("exec", jackline.Exec)
	exec.Sandbox = func(tool.In, arg) (jackline.Sandbox, error) { return w.sandbox, nil }
	var all []tool.Tool
	for _, s := range []tool.Spec[arg]{look, w.spec("peek", jackline.Read), put, think, ask, gone, liar, void, page, mail, exec} {
		all = append(all, tool.Define(s))
	}
	return all
}

// call records a new call of the turn, as the loop does.
func (w *world) call(name, args string) jackline.Call {
	w.t.Helper()
	c := jackline.Call{
		ID: jackline.NewID[jackline.CallID]("c_"), Session: w.who.Session.ID, Turn: w.who.Turn.ID, Step: 1, Index: len(w.prior),
		Asked: name, Name: name, Args: json.RawMessage(args), State: jackline.CallNew,
	}
	w.must(w.db.Append(w.t.Context(), jackline.Local, jackline.Record{Session: c.Session, Calls: []jackline.Call{c}}))
	return c
}

// do takes a call as far as it comes. An ended one is a prior call of those that follow.
func (w *world) do(c jackline.Call) tool.Done {
	w.t.Helper()
	d, err := w.try(w.t.Context(), tool.Request{Call: c})
	if err != nil {
		w.t.Fatalf("%s: %v", c.Name, err)
	}
	if d.Call.State == jackline.CallEnded {
		w.prior = append(w.prior, d.Call)
	}
	return d
}

func (w *world) try(ctx context.Context, r tool.Request) (tool.Done, error) {
	r.Who, r.Prior = w.who, w.prior
	d, err := w.gate.Do(ctx, r)
	// What need not be waited for is written before what follows it.
	if _, flush := w.db.Append(context.WithoutCancel(ctx), jackline.Local, jackline.Record{Session: w.who.Session.ID}); flush != nil && err == nil {
		w.t.Error(flush)
	}
	return d, err
}

// run makes one call.
func (w *world) run(name, args string) tool.Done {
	w.t.Helper()
	return w.do(w.call(name, args))
}

// asks makes a call that must open a card.
func (w *world) asks(name, args string) tool.Done {
	w.t.Helper()
	d := w.run(name, args)
	if d.Wait == "" || d.Call.State != jackline.CallWaiting {
		w.t.Fatalf("%s %s did not ask: %s %q", name, args, d.Call.Outcome, d.Call.Text)
	}
	return d
}

func (w *world) answer(id jackline.ApprovalID, a jackline.Answer, edited *approval.EditedIntent) {
	w.t.Helper()
	if _, err := w.desk.Answer(w.t.Context(), jackline.Local, id, a, edited); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) yes(id jackline.ApprovalID, s jackline.Scope) {
	w.t.Helper()
	w.answer(id, jackline.Answer{Yes: true, Scope: s}, nil)
}

func (w *world) row(id jackline.ApprovalID) jackline.Approval {
	w.t.Helper()
	a, err := w.db.Approval(context.Background(), jackline.Local, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// cards is how many rows were ever opened.
func (w *world) cards() int {
	w.t.Helper()
	rows, err := w.db.Approvals(context.Background(), jackline.Local, jackline.ApprovalFilter{Session: w.who.Session.ID})
	if err != nil {
		w.t.Fatal(err)
	}
	return len(rows)
}

func (w *world) stored(id jackline.CallID) jackline.Call {
	w.t.Helper()
	c, err := w.db.Call(context.Background(), jackline.Local, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) runs() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.ran)
}

// wantRuns fails unless exactly these ran.
func (w *world) wantRuns(want ...string) {
	w.t.Helper()
	if got := w.runs(); !slices.Equal(got, want) {
		w.t.Errorf("ran %q, want %q", got, want)
	}
}

func (w *world) wantCards(n int) {
	w.t.Helper()
	if got := w.cards(); got != n {
		w.t.Errorf("%d cards were opened, want %d", got, n)
	}
}

// wantEnd fails unless a call ended so, once, and the store knows it.
func (w *world) wantEnd(d tool.Done, o jackline.Outcome) {
	w.t.Helper()
	if d.Call.State != jackline.CallEnded || d.Call.Outcome != o {
		w.t.Fatalf("%s is %s %s %q, want ended %s", d.Call.Name, d.Call.State, d.Call.Outcome, d.Call.Text, o)
	}
	if c := w.stored(d.Call.ID); c.State != jackline.CallEnded || c.Outcome != o || c.Text != d.Call.Text {
		w.t.Errorf("the store says %s %s %q, the gate %s %q", c.State, c.Outcome, c.Text, o, d.Call.Text)
	}
	n := 0
	for _, r := range bodies[jackline.ToolResult](w) {
		if r.Call != d.Call.ID {
			continue
		}
		if n++; r.Outcome != o || r.Name != d.Call.Name || r.By != d.Call.By || r.Cached != d.Call.Cached || r.Label != d.Call.Source {
			w.t.Errorf("the log says %+v of %+v", r, d.Call)
		}
	}
	if n != 1 {
		w.t.Errorf("%d results of %s are in the log, want 1", n, d.Call.Name)
	}
}

// bodies are the events of one type in the log.
func bodies[B jackline.Body](w *world) (list []B) {
	w.t.Helper()
	events, err := w.db.Events(context.Background(), jackline.Local, w.who.Session.ID, 0, 10000)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range events {
		var b B
		if e.Type == b.Type() {
			if err := json.Unmarshal(e.Data, &b); err != nil {
				w.t.Fatal(err)
			}
			list = append(list, b)
		}
	}
	return list
}

// A judge says what it is told to, and remembers what it was asked.
type judge struct {
	blind   bool // what a card would open is judged like everything else
	mu      sync.Mutex
	verdict jackline.Verdict
	hard    bool
	seen    []jackline.Intent
}

func (j *judge) Judge(i jackline.Intent) jackline.Decision {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = append(j.seen, i)
	for _, t := range i.Touches {
		if t.Refused != "" {
			return jackline.Decision{Verdict: jackline.Deny, Rule: "refused", Reason: t.Refused, Hard: true}
		}
	}
	if n := len(j.seen) - 2; n >= 0 && i.Effect == jackline.Read && j.seen[n].Call == i.Call && j.seen[n].Effect.Acts() && !j.blind {
		return jackline.Decision{Verdict: jackline.Allow, Rule: "look", Reason: "A card may look."}
	}
	return jackline.Decision{Verdict: j.verdict, Rule: "test", Reason: "The test says so.", Hard: j.hard}
}

func (j *judge) last() jackline.Intent { return j.seen[len(j.seen)-1] }

// A journal is the store, which can be made to fail and remembers what it was given.
type journal struct {
	*store.DB
	mu      sync.Mutex
	fail    func(jackline.Record) error
	spoil   error // what WriteSpill fails with
	written []string
	records []jackline.Record
	live    []jackline.Event
}

func (j *journal) Append(ctx context.Context, o jackline.Owner, r jackline.Record) ([]jackline.Event, error) {
	j.mu.Lock()
	fail := j.fail
	j.mu.Unlock()
	if fail != nil {
		if err := fail(r); err != nil {
			return nil, err
		}
	}
	events, err := j.DB.Append(ctx, o, r)
	if err == nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.records = append(j.records, r)
		for _, c := range r.Calls {
			j.written = append(j.written, fmt.Sprint("call ", c.State))
		}
	}
	return events, err
}

func (j *journal) WriteSpill(ctx context.Context, o jackline.Owner, s jackline.SessionID, c jackline.CallID, text string) error {
	if j.spoil != nil {
		return j.spoil
	}
	err := j.DB.WriteSpill(ctx, o, s, c, text)
	if err == nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.written = append(j.written, "spill")
	}
	return err
}

func (j *journal) Live(o jackline.Owner, e jackline.Event) {
	j.mu.Lock()
	j.live = append(j.live, e)
	j.mu.Unlock()
	j.DB.Live(o, e)
}

var zone = time.FixedZone("there", 3600)
