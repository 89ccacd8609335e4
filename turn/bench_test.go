package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/dialect"
	"github.com/jackline-ai/jackline/model/envelope"
	"github.com/jackline-ai/jackline/model/prompted"
	"github.com/jackline-ai/jackline/model/script"
	"github.com/jackline-ai/jackline/policy"
	"github.com/jackline-ai/jackline/server/folders"
	"github.com/jackline-ai/jackline/shell"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/tool/crowd"
	"github.com/jackline-ai/jackline/turn"
	"github.com/jackline-ai/jackline/undo"
	"github.com/jackline-ai/jackline/web"
	"github.com/jackline-ai/jackline/workspace"
)

// options are what a transcript may choose.
type options struct {
	Mode     jackline.Mode          `json:"mode"`
	Native   bool                   `json:"native"`
	Envelope bool                   `json:"envelope"` // calls are JSON that the model is held to
	Held     bool                   `json:"held"`     // the engine can hold the model to a form
	Vision   bool                   `json:"vision"`
	Guide    string                 `json:"guide"` // what a trusted workspace says
	Window   int                    `json:"window"`
	Turn     jackline.TurnOptions   `json:"turn"`
	Agent    jackline.AgentSettings `json:"agent"`
	Rules    []jackline.Rule        `json:"rules"`
	Disabled []string               `json:"disabled"`
	Continue bool                   `json:"continue"` // a further prompt carries a turn at its limit on
	Reload   bool                   `json:"reload"`   // every stretch of a turn runs in a new engine over a reopened store
	Steer    string                 `json:"steer"`    // the owner\'s words when the model says <<steer>>
	Killed   bool                   `json:"killed"`   // the kill switch is on
	Ungated  bool                   `json:"ungated"`  // a person switched the taint gate off
	Web      bool                   `json:"web"`      // the tools of the network are there too
	Env      map[string]string      `json:"env"`      // and what they find in the environment
	Tools    int                    `json:"tools"`    // how many tools there are, with made-up ones; 0 is those that exist
	NoNet    bool                   `json:"no_net"`   // the category network is switched off

	Trusted bool `json:"trusted"` // the owner trusts the folder

	pages pages       // what the web holds
	tools []tool.Tool // more tools
}

// A bench is a whole engine over a real store, real tools and a real policy. Only the model and the person are scripted.
type bench struct {
	o       options
	dir     string
	db      *store.DB
	data    string
	desk    *approval.Desk
	engine  *turn.Engine
	model   *spy
	inner   *spy // below the wrapper; nil where there is none
	raw     model.Model
	session jackline.Session
	last    jackline.Turn
	ids     map[string]string
	counts  map[string]int
	flagged bool
	web     web.Deps
	server  string // what SERVER stands for
}

func newBench(t testing.TB, o options, text string) *bench {
	t.Helper()
	if o.Window == 0 {
		o.Window = 8192
	}
	deps, server := web.Deps{}, "SERVER"
	if o.Web {
		deps, server = network(t, o.pages, o.Env)
	}
	s, err := script.Parse("model", []byte(strings.ReplaceAll(text, "SERVER", server)))
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{web: deps, server: server, o: o, data: filepath.Join(t.TempDir(), "data"), dir: filepath.Join(t.TempDir(), "ws"), ids: map[string]string{}, counts: map[string]int{}}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	so := script.Options{Native: o.Native, Window: o.Window, Vision: o.Vision}
	if o.Held || o.Envelope {
		so.Knob = model.KnobGrammar
	}
	b.raw = script.New(s, so)
	main := b.raw
	switch {
	case o.Envelope:
		b.inner = &spy{Model: b.raw}
		main = envelope.Wrap(b.inner, envelope.Options{Brief: o.Window < 8192})
	case !o.Native:
		b.inner = &spy{Model: b.raw}
		main = wrapped(b.inner, o.Window)
	}
	b.model = &spy{Model: main, raw: b.raw}
	b.open(t)
	b.session, err = b.db.CreateSession(context.Background(), jackline.Local, jackline.Session{
		ID: jackline.NewID[jackline.SessionID]("s_"), Workspace: b.dir, Mode: o.Mode, Ungated: o.Ungated,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.db.Close() })
	return b
}

// wrapped makes a model of text speak native calls, as the program does.
func wrapped(m model.Model, window int) model.Model {
	c := contract.Of(window)
	return prompted.Wrap(m, prompted.Options{Options: dialect.Options{Calls: 64}, Brief: c.Brief(), Room: c.Tools, Names: c.Names})
}

// open opens the store and makes an engine, as a start of the program does.
func (b *bench) open(t testing.TB) {
	db, err := store.Open(context.Background(), b.data)
	if err != nil {
		t.Fatal(err)
	}
	root, err := workspace.Open(b.dir, workspace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	tools := builtin.All(builtin.Deps{Root: root, Result: db.Call, Spill: db.ReadSpill, Analyse: analysed})
	if b.o.Web {
		tools = append(tools, web.All(b.web)...)
	}
	tools = append(tools, b.o.tools...)
	if b.o.Tools > 0 {
		tools = crowd.Fill(tools, b.o.Tools)
	}
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	pol := policy.New(policy.Config{
		Lookup: func(name string) (string, jackline.Effect, bool) {
			tl, ok := set.Lookup(name)
			return tl.Facts().Name, tl.Facts().Effect, ok
		},
		ReadShell: shell.Read,
	})
	toggles := jackline.AllOn
	toggles.Network = !b.o.NoNet
	judge := pol.With(jackline.Permissions{Toggles: toggles, Rules: b.o.Rules, Disabled: b.o.Disabled})
	known := folders.New(db, db, workspace.Options{State: []string{b.data}})
	if b.o.Trusted && b.db == nil {
		if _, err := known.Trust(context.Background(), jackline.Local, root.Path(), true); err != nil {
			t.Fatal(err)
		}
	}
	b.db = db
	b.desk = approval.New(db, db.Key("approval"), approval.Options{Risk: judge.Risk})
	b.engine = &turn.Engine{
		Journal: db, Desk: b.desk,
		Models: func(context.Context, jackline.Session) (turn.Models, error) {
			return turn.Models{Main: b.model, Raw: b.raw}, nil
		},
		Gate: func(jackline.Session) (*tool.Gate, error) {
			return &tool.Gate{
				Tools: set, Judge: judge, Desk: b.desk, Log: db, Keeper: undo.New(root, db, db, judge.OnlyReads), Marks: known.Marks(root),
				Halted: func() bool { return b.o.Killed },
				Observe: func(ctx context.Context, i jackline.Intent) ([]jackline.Fact, error) {
					return root.Observe(ctx, i.Touches)
				},
			}, nil
		},
		Settings: func(context.Context, jackline.Owner) (jackline.AgentSettings, error) { return b.o.Agent, nil },
		Files:    db,
		Memory:   db,
		Guide:    func(context.Context, jackline.Session) (string, error) { return b.o.Guide, nil },
	}
}

// analysed is what a command reads, for the facts of its card.
func analysed(command, dir string) jackline.Uses {
	return jackline.Uses{Reads: shell.Used(shell.Script{Text: command, Workspace: dir, Dir: dir}).Reads}
}

func (b *bench) write(t testing.TB, path, text string) {
	full := filepath.Join(b.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// submit stores a queued turn, as the dispatcher does.
func (b *bench) submit(t testing.TB, prompt string) jackline.TurnID {
	tn := jackline.Turn{
		ID: jackline.NewID[jackline.TurnID]("t_"), Session: b.session.ID, Prompt: strings.ReplaceAll(prompt, "SERVER", b.server), Options: b.o.Turn, Status: jackline.Queued, Created: time.Now().UTC(),
	}
	if tn.Options.OnAsk == "" {
		tn.Options.OnAsk = jackline.AskWait
	}
	if b.o.Continue && b.last.Status == jackline.StepLimit {
		tn.Options.Continues, tn.Prompt = b.last.ID, ""
	}
	if _, err := b.db.Append(context.Background(), jackline.Local, jackline.Record{Session: b.session.ID, Turn: &tn}); err != nil {
		t.Fatal(err)
	}
	return tn.ID
}

// turn runs one prompt to its end, answering what it asks from answers; what is left of them is returned.
func (b *bench) turn(t testing.TB, prompt string, answers []string) []string {
	t.Helper()
	ctx := context.Background()
	id := b.submit(t, prompt)
	for range 100 {
		if b.o.Reload {
			if err := b.db.Close(); err != nil {
				t.Fatal(err)
			}
			b.open(t)
		}
		rctx, cancel := context.WithCancelCause(ctx)
		b.model.stop = func() { cancel(turn.ErrStopped) }
		b.model.steer = func() { b.steer(t, b.o.Steer) }
		tn, err := b.engine.Run(rctx, jackline.Local, id, turn.Control{Steered: func() bool { f := b.flagged; b.flagged = false; return f }})
		cancel(nil)
		if err != nil {
			t.Fatalf("Run: %v", err)
		}
		b.last = tn
		if strings.HasPrefix(tn.Reason, "model:") {
			t.Errorf("the model's script says: %s", tn.Reason)
		}
		if tn.Status != jackline.Waiting {
			return answers
		}
		if len(answers) == 0 {
			t.Fatal("the turn waits, and the transcript has no answer left")
		}
		b.answer(t, id, answers[0])
		answers = answers[1:]
	}
	t.Fatal("the turn does not end")
	return nil
}

func (b *bench) steer(t testing.TB, words string) {
	raw, err := json.Marshal([]string{words})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.db.Append(context.Background(), jackline.Local, jackline.Record{
		Session: b.session.ID, State: map[string]json.RawMessage{turn.SteerKey: raw},
	}); err != nil {
		t.Fatal(err)
	}
	b.flagged = true
}

// answer gives a person's answer to the oldest open card.
func (b *bench) answer(t testing.TB, id jackline.TurnID, line string) {
	t.Helper()
	ctx := context.Background()
	rows, err := b.db.Approvals(ctx, jackline.Local, store.ApprovalFilter{Session: b.session.ID, Turn: id, States: []jackline.ApprovalState{jackline.Pending}})
	if err != nil || len(rows) == 0 {
		t.Fatalf("no open card: %v", err)
	}
	row := rows[0]
	word, rest, _ := strings.Cut(line, " ")
	if word == "meanwhile" {
		change, then, _ := strings.Cut(rest, "; ")
		path, text, _ := strings.Cut(change, "=")
		b.write(t, path, text+"\n")
		b.answer(t, id, then)
		return
	}
	a := jackline.Answer{By: "script"}
	var edited *approval.EditedIntent
	switch word {
	case "yes":
		a.Yes, a.Scope = true, jackline.Scope(rest)
		if rest == "" {
			a.Scope = jackline.Once
		}
	case "no":
		a.Reason = rest
	case "edit":
		gate, err := b.engine.Gate(b.session)
		if err != nil {
			t.Fatal(err)
		}
		call, err := b.db.Call(ctx, jackline.Local, row.Call)
		if err != nil {
			t.Fatal(err)
		}
		call.Args = json.RawMessage(rest)
		i, view, err := gate.Preview(ctx, jackline.Actor{Owner: jackline.Local, Session: b.session, Turn: b.last, Source: jackline.FromModel}, call)
		if err != nil {
			t.Fatal(err)
		}
		a.Yes, a.Scope, a.Args = true, jackline.Once, i.Args
		edited = &approval.EditedIntent{Intent: i, Decision: gate.Judged(i), View: view}
	case "say":
		a.Yes = true
		for _, s := range strings.Split(rest, " | ") {
			a.Answers = append(a.Answers, []string{s})
		}
	case "decline":
	case "steer":
		b.steer(t, rest)
		if err := b.desk.Withdraw(ctx, jackline.Local, b.session.ID, id); err != nil {
			t.Fatal(err)
		}
		return
	case "stop":
		if _, err := b.engine.Finish(ctx, jackline.Local, id, jackline.Stopped, "Stopped."); err != nil {
			t.Fatal(err)
		}
		return
	case "expire":
		if _, err := b.desk.Expire(ctx, row.Expires.Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		return
	default:
		t.Fatalf("unknown answer %q", line)
	}
	if _, err := b.desk.Answer(ctx, jackline.Local, row.ID, a, edited); err != nil {
		t.Fatalf("answer %q: %v", line, err)
	}
}

// sent is the Nth request to the model, written out.
func (b *bench) sent(t testing.TB, n int) string { return b.nth(t, b.model, n) }

func (b *bench) nth(t testing.TB, s *spy, n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > len(s.requests) {
		t.Errorf("there were only %d requests", len(s.requests))
		return ""
	}
	return b.mask([]byte(s.requests[n-1]))
}

// A spy passes requests on and keeps what was sent. Text that holds <<stop>> or <<steer>> makes the person do that in the
// middle of the answer.
type spy struct {
	model.Model
	raw      model.Model
	mu       sync.Mutex
	requests []string
	stop     func()
	steer    func()
	before   func() // before each request
}

func (s *spy) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	s.mu.Lock()
	s.requests = append(s.requests, written(r))
	s.mu.Unlock()
	if s.before != nil {
		s.before()
	}
	return func(yield func(model.Chunk, error) bool) {
		for c, err := range s.Model.Stream(ctx, r) {
			if s.stop != nil && strings.Contains(c.Text, "<<stop>>") {
				s.stop()
			}
			if s.steer != nil && strings.Contains(c.Text, "<<steer>>") {
				s.steer()
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

func written(r model.Request) string {
	var b strings.Builder
	fmt.Fprintf(&b, "system: %s\n", strings.Join(r.System, "\n--\n"))
	if r.Constraint != nil {
		b.WriteString("held to a form\n")
	}
	for _, m := range r.Messages {
		for _, i := range m.Images {
			fmt.Fprintf(&b, "  image %s %s\n", i.Type, i.Data)
		}
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Text)
		for _, c := range m.Calls {
			fmt.Fprintf(&b, "  call %s %s\n", c.Name, c.Args)
		}
	}
	var names []string
	for _, t := range r.Tools {
		names = append(names, t.Name)
	}
	fmt.Fprintf(&b, "tools: %s; no calls: %v\n", strings.Join(names, " "), r.NoCalls)
	return b.String()
}
