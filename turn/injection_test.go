package turn_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/policy"
	"github.com/jackline-ai/jackline/shell"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/turn"
	"github.com/jackline-ai/jackline/workspace"
)

// An injCase is one line of the corpus of injections: what a model has read, what it then calls, and what becomes of each call.
type injCase struct {
	ID    string         `json:"id"`
	Mode  *jackline.Mode `json:"mode"`
	Owner string         `json:"owner"`
	Cache string         `json:"cache"`
	Setup struct {
		Off       []string `json:"toggles_off"`
		Changed   []string `json:"mcp_changed"`
		Disabled  []string `json:"mcp_disabled"`
		Announces []string `json:"mcp_announces"`
		NoClient  bool     `json:"no_client"`
	} `json:"setup"`
	Prompt    string          `json:"user_prompt"`
	Results   []injResult     `json:"tool_results"`
	Calls     []injCall       `json:"model_then_calls"`
	SameStep  bool            `json:"same_step"`
	Approvals []injApproval   `json:"approvals"`
	Answer    string          `json:"answer"`
	Rules     []jackline.Rule `json:"rules"`   // of the owner; not in the shared corpus
	Ungated   bool            `json:"ungated"` // a person switched the gate off; not in the shared corpus
	Want      struct {
		Run, Ask, Refuse []int
	} `json:"want"`
	Why string `json:"why"`

	noCache bool
}

type injResult struct {
	Tool    string          `json:"tool"`
	Args    json.RawMessage `json:"args"`
	Content string          `json:"content"`
	Failed  bool            `json:"failed"`
	Ours    bool            `json:"server_generated"`
	Child   bool            `json:"child_tainted"`
	Turn    int             `json:"turn"`
}

type injCall struct {
	Name  string          `json:"name"`
	Args  json.RawMessage `json:"args"`
	Depth int             `json:"depth"`
}

type injApproval struct {
	Call    injCall `json:"call"`
	Scope   string  `json:"scope"`
	Session string  `json:"session"`
	Owner   string  `json:"owner"`
	Expired bool    `json:"expired"`
	Changed bool    `json:"changed_target"`
	Turn    int     `json:"turn"`
	used    bool
}

// A stage is where a case is played: the real loop, gate, policy, desk and store. Only the model and the tools are not.
type stage struct {
	t     testing.TB
	c     *injCase
	db    *store.DB
	desk  *approval.Desk
	dir   string
	root  *workspace.Root
	set   *tool.Set
	judge *policy.Policy
	main  jackline.TurnID // the turn of the owner that runs
	owner jackline.Owner
	s     jackline.Session

	mu      sync.Mutex
	setting bool        // what runs now was read before the calls of the case
	content []injResult // and is given these results
	play    []played    // steps of the model, by turn
	ran     map[jackline.CallID]int
	setup   map[jackline.CallID]bool
	denying map[jackline.CallID]bool
	cards   map[jackline.CallID]int
	queue   []int // positions that the model has still to play in this turn
}

// played says which position of the case a step of a turn played, in the order of the calls of that step.
type played struct {
	turn jackline.TurnID
	step int
	pos  []int
}

var shellAliases = []string{"bash", "sh", "run_command", "execute", "exec", "execute_command", "run_shell", "terminal", "run"}

func newStage(t testing.TB, c *injCase) *stage {
	t.Helper()
	c.noCache = c.Cache == "off"
	s := &stage{t: t, c: c, ran: map[jackline.CallID]int{}, setup: map[jackline.CallID]bool{}, denying: map[jackline.CallID]bool{}, cards: map[jackline.CallID]int{}}
	s.owner = jackline.Local
	if c.Owner != "" {
		s.owner = jackline.Owner(c.Owner)
	}
	base := t.TempDir()
	s.dir = filepath.Join(base, "ws")
	for name, text := range map[string]string{"src/main.go": "package main\n", "old.txt": "old\n", "build.sh": "echo ok\n", "plan.md": "plan\n", "n1.md": "x\n"} {
		put(t, filepath.Join(s.dir, name), text)
	}
	put(t, filepath.Join(base, "outside/x.txt"), "x")
	s.root = corpusRoot(t, s.dir)
	var err error
	if s.db, err = store.Open(context.Background(), filepath.Join(base, "data")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.db.Close() })
	s.set = s.tools()
	toggles := jackline.AllOn
	for _, off := range c.Setup.Off {
		*map[string]*bool{"readFiles": &toggles.ReadFiles, "writeFiles": &toggles.WriteFiles, "runShell": &toggles.RunShell, "network": &toggles.Network}[off] = false
	}
	s.judge = policy.New(policy.Config{
		Lookup: func(name string) (string, jackline.Effect, bool) {
			tl, ok := s.set.Lookup(name)
			return tl.Facts().Name, tl.Facts().Effect, ok
		},
		ReadShell: func(sc policy.Script) policy.Reading { return shell.Read(corpusWorld(sc.Text)) },
	}).With(jackline.Permissions{Toggles: toggles, Rules: c.Rules})
	s.desk = approval.New(s.db, s.db.Key("approval"), approval.Options{Risk: s.judge.Risk})
	mode := jackline.ModeAllowAll
	if c.Mode != nil {
		mode = *c.Mode
	}
	s.s, err = s.db.CreateSession(context.Background(), s.owner, jackline.Session{Workspace: s.dir, Mode: mode, Ungated: c.Ungated})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t testing.TB, name, text string) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// gate is the real gate. What the model has read before the case begins is not judged.
func (s *stage) gate(set *tool.Set) *tool.Gate {
	return &tool.Gate{Tools: set, Judge: s, Desk: s.desk, Log: s.db, Halted: func() bool { return false },
		Observe: func(ctx context.Context, i jackline.Intent) ([]jackline.Fact, error) {
			return s.root.Observe(ctx, i.Touches)
		}}
}

// Judge implements tool.Judge.
func (s *stage) Judge(i jackline.Intent) jackline.Decision {
	s.mu.Lock()
	setting := s.setting
	s.mu.Unlock()
	if setting {
		return jackline.Decision{Verdict: jackline.Allow, Rule: "setup", Reason: "It was read before."}
	}
	return s.judge.Judge(i)
}

// tools are the stubs that a case names.
func (s *stage) tools() *tool.Set {
	names := []string{}
	add := func(name string) {
		if name = resolveStub(name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, r := range s.c.Results {
		add(r.Tool)
	}
	for _, c := range s.c.Calls {
		add(c.Name)
	}
	for _, a := range s.c.Approvals {
		add(a.Call.Name)
	}
	for _, name := range s.c.Setup.Announces {
		if !strings.HasPrefix(name, "mcp__") {
			name = "mcp__announced__" + name
		}
		add(name)
	}
	var all []tool.Tool
	for _, name := range names {
		if strings.HasPrefix(name, "?") { // a tool that there is not
			continue
		}
		why := ""
		for _, off := range append(slices.Clone(s.c.Setup.Changed), s.c.Setup.Disabled...) {
			if off == name || strings.HasPrefix(name, "mcp__"+off+"__") {
				why = "It has changed since its owner looked at it, or its server is switched off."
			}
		}
		var aliases []string
		if name == "shell" {
			aliases = shellAliases
		}
		all = append(all, stub{name, s}.define(aliases, func() string { return why }))
	}
	set, err := tool.NewSet(all...)
	if err != nil {
		s.t.Fatal(err)
	}
	return set
}

// resolveStub is a tool's own name.
func resolveStub(name string) string {
	if slices.Contains(shellAliases, name) {
		return "shell"
	}
	for _, tl := range builtin.All(builtin.Deps{}) {
		if f := tl.Facts(); slices.Contains(f.Aliases, name) {
			return f.Name
		}
	}
	return name
}

// reached is called by a stub that runs.
func (s *stage) reached(ctx context.Context, name string, in tool.In, raw json.RawMessage) (tool.Out, error) {
	s.mu.Lock()
	if s.setting {
		r := s.content[0]
		s.content = s.content[1:]
		s.setup[in.Call] = true
		s.mu.Unlock()
		if r.Content == "" && r.Failed {
			return tool.Out{}, jackline.E("stub", jackline.Unavailable, nil, "It could not be reached.")
		}
		out := tool.Out{Text: r.Content, Failed: r.Failed, Origin: "stub " + name}
		if r.Ours {
			out.Label = &tool.Label{Source: jackline.Ours}
		}
		if name == "web_search" {
			for _, w := range strings.Fields(r.Content) {
				if strings.HasPrefix(w, "http") {
					out.Addresses = append(out.Addresses, w)
				}
			}
		}
		return out, nil
	}
	s.ran[in.Call]++
	s.mu.Unlock()
	if name == "run_agent" {
		var a struct{ Tools []string }
		if err := json.Unmarshal(raw, &a); err != nil {
			return tool.Out{}, err
		}
		return tool.Out{Text: "The agent is done."}, s.child(ctx, in.Actor.Turn, a.Tools)
	}
	return tool.Out{Text: "done"}, nil
}

// A voice is the scripted model of one turn: each request takes the next step.
type voice struct {
	s     *stage
	turn  jackline.TurnID
	mu    sync.Mutex
	steps []voiceStep
	n     int
	last  string
}

type voiceStep struct {
	calls   []injCall
	pos     []int
	setting *injResult // its call is given this result, whatever the judge says
	deny    bool       // its card is answered with no
}

// Info implements model.Model: a model that knows nothing but text.
func (v *voice) Info() model.Info { return model.Info{Name: "voice", Window: 32768} }

// Size implements model.Model.
func (v *voice) Size(r model.Request) int { return (&thinker{}).Size(r) }

// Stream implements model.Model.
func (v *voice) Stream(context.Context, model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		v.mu.Lock()
		v.n++
		text := v.last
		if v.n <= len(v.steps) {
			st := v.steps[v.n-1]
			v.s.mu.Lock()
			if v.s.setting = st.setting != nil; v.s.setting {
				v.s.content = []injResult{*st.setting}
			}
			v.s.play = append(v.s.play, played{v.turn, v.n, st.pos})
			v.s.mu.Unlock()
			var b strings.Builder
			for _, c := range st.calls {
				args := c.Args
				if len(args) == 0 {
					args = json.RawMessage("{}")
				}
				name, _ := json.Marshal(c.Name)
				fmt.Fprintf(&b, "```tool\n{\"name\": %s, \"args\": %s}\n```\n", name, args)
			}
			text = b.String()
		} else {
			v.s.mu.Lock()
			v.s.setting = false
			v.s.mu.Unlock()
		}
		v.mu.Unlock()
		_ = yield(model.Chunk{Text: text}, nil) && yield(model.Chunk{Finish: model.Stop}, nil)
	}
}

// run plays one turn to its end: every card that no approval of the case answers expires at once.
func (s *stage) run(ctx context.Context, prompt string, parent jackline.Turn, steps []voiceStep, tools *tool.Set) jackline.TurnID {
	s.t.Helper()
	tn := jackline.Turn{ID: jackline.NewID[jackline.TurnID]("t_"), Session: s.s.ID, Parent: parent.ID, Prompt: prompt, Status: jackline.Queued, Created: time.Now().UTC()}
	tn.Options.OnAsk, tn.Options.MaxSteps = jackline.AskWait, 200
	if s.c.Setup.NoClient {
		tn.Options.OnAsk = jackline.AskDeny
	}
	if parent.ID != "" {
		tn.Depth = parent.Depth + 1
	}
	if _, err := s.db.Append(ctx, s.owner, jackline.Record{Session: s.s.ID, Turn: &tn}); err != nil {
		s.t.Fatal(err)
	}
	if parent.ID == "" {
		s.main = tn.ID
		s.grant(ctx, tn)
	}
	last := s.c.Answer
	if last == "" || parent.ID != "" {
		last = "Done."
	}
	v := &voice{s: s, turn: tn.ID, steps: steps, last: last}
	if tools == nil {
		tools = s.set
	}
	e := turn.Engine{
		Journal: s.db, Desk: s.desk, Settings: func(context.Context, jackline.Owner) (jackline.AgentSettings, error) {
			return jackline.AgentSettings{}, nil
		},
		Gate: func(jackline.Session) (*tool.Gate, error) { return s.gate(tools), nil },
		Models: func(context.Context, jackline.Session) (turn.Models, error) {
			return turn.Models{Main: wrapped(v, 32768), Raw: v}, nil
		},
	}
	for range 300 {
		end, err := e.Run(ctx, s.owner, tn.ID, turn.Control{})
		if err != nil {
			s.t.Fatal(err)
		}
		if end.Status != jackline.Waiting {
			if end.Status != jackline.Done && v.n < len(steps) {
				s.t.Logf("the turn ended as %s: %s", end.Status, end.Reason)
			}
			return tn.ID
		}
		s.answer(ctx, end, v)
	}
	s.t.Fatal("the turn does not end")
	return ""
}

// child runs a sub-agent's turn: the calls of the case that come next and lie deeper.
func (s *stage) child(ctx context.Context, parent jackline.Turn, names []string) error {
	s.mu.Lock()
	var steps []voiceStep
	for len(s.queue) > 0 && s.c.Calls[s.queue[0]].Depth > parent.Depth {
		k := s.queue[0]
		if s.c.Calls[k].Depth > parent.Depth+1 {
			break // its own child plays it
		}
		s.queue = s.queue[1:]
		steps = append(steps, voiceStep{calls: []injCall{s.c.Calls[k]}, pos: []int{k}})
		if resolveStub(s.c.Calls[k].Name) == "run_agent" { // what follows deeper belongs to it
			break
		}
	}
	s.mu.Unlock()
	set := s.set
	if len(names) > 0 {
		var own []string
		for _, n := range names {
			if _, ok := s.set.Lookup(n); ok {
				own = append(own, n)
			}
		}
		var err error
		if set, err = s.set.Only(own...); err != nil {
			return err
		}
	}
	s.run(ctx, "A task.", parent, steps, set)
	return nil
}

// answer deals with the open cards of a turn.
func (s *stage) answer(ctx context.Context, tn jackline.Turn, v *voice) {
	rows, err := s.db.Approvals(ctx, s.owner, store.ApprovalFilter{Session: s.s.ID, Turn: tn.ID, States: []jackline.ApprovalState{jackline.Pending}})
	if err != nil || len(rows) == 0 {
		s.t.Fatalf("it waits without a card: %v", err)
	}
	var last time.Time
	for _, row := range rows {
		call, err := s.db.Call(ctx, s.owner, row.Call)
		if err != nil {
			s.t.Fatal(err)
		}
		if string(call.Args) != string(row.Args) {
			s.t.Errorf("the card shows %s for %s", row.Args, call.Args)
		}
		if call.Step <= len(v.steps) && v.steps[call.Step-1].deny {
			if _, err := s.desk.Answer(ctx, s.owner, row.ID, jackline.Answer{By: "case"}, nil); err != nil {
				s.t.Fatal(err)
			}
			s.denying[row.Call] = true
			continue
		}
		if a := s.approvalFor(row); a != nil {
			s.swap(ctx, row, a)
			continue
		}
		s.cards[row.Call]++
		last = row.Expires
	}
	if !last.IsZero() {
		if _, err := s.desk.Expire(ctx, last.Add(time.Second)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// approvalFor is an answered row of the case for this tool that was not used. The real desk then says whether it holds.
func (s *stage) approvalFor(row jackline.Approval) *injApproval {
	for k := range s.c.Approvals {
		a := &s.c.Approvals[k]
		if !a.used && a.Scope == "once" && resolveStub(a.Call.Name) == row.Tool {
			a.used = true
			return a
		}
	}
	return nil
}

// asked makes a row that asks about a call of the case, as somebody else's or in another session if the case says so.
func (s *stage) asked(ctx context.Context, a *injApproval, tn jackline.Turn, id jackline.CallID) (jackline.Approval, jackline.Session) {
	session, owner := s.s, s.owner
	if a.Owner != "" && a.Owner != string(s.owner) {
		owner = jackline.Owner(a.Owner)
	}
	if owner != s.owner || a.Session != "" {
		var err error
		if session, err = s.db.CreateSession(ctx, owner, jackline.Session{Workspace: s.dir, Mode: s.s.Mode}); err != nil {
			s.t.Fatal(err)
		}
		tn = jackline.Turn{ID: jackline.NewID[jackline.TurnID]("t_"), Session: session.ID, Owner: owner}
	}
	session, err := s.db.Session(ctx, owner, session.ID)
	if err != nil {
		s.t.Fatal(err)
	}
	if tn.ID != s.main { // it has ended
		tn.Session, tn.Owner, tn.Status = session.ID, owner, jackline.Done
		if _, err := s.db.Append(ctx, owner, jackline.Record{Session: session.ID, Turn: &tn}); err != nil {
			s.t.Fatal(err)
		}
	}
	who := jackline.Actor{Owner: owner, Admin: owner == jackline.Local, Session: session, Turn: tn, Source: jackline.FromModel}
	i, _, err := s.gate(s.set).Preview(ctx, who, jackline.Call{ID: id, Session: session.ID, Turn: tn.ID, Name: a.Call.Name, Args: a.Call.Args})
	if err != nil {
		s.t.Fatalf("the approval of %s: %v", a.Call.Name, err)
	}
	desk := s.desk
	if a.Expired {
		desk = approval.New(s.db, s.db.Key("approval"), approval.Options{Risk: s.judge.Risk, Now: func() time.Time { return time.Now().Add(-48 * time.Hour) }})
	}
	row, err := desk.New(ctx, i, jackline.Decision{Verdict: jackline.Ask, Rule: "case", Reason: "The case says so."}, tool.Card{})
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.db.Append(ctx, owner, jackline.Record{Session: session.ID, Approvals: []jackline.Approval{row}}); err != nil {
		s.t.Fatal(err)
	}
	scope := jackline.Once
	if a.Scope == "task" {
		scope = jackline.Task
	}
	if row, err = desk.Answer(ctx, owner, row.ID, jackline.Answer{Yes: true, Scope: scope, By: "case"}, nil); err != nil {
		s.t.Fatal(err)
	}
	return row, session
}

// swap puts an answered row in the place of a card, as it would stand there after a restart.
func (s *stage) swap(ctx context.Context, card jackline.Approval, a *injApproval) {
	tn := jackline.Turn{ID: s.main} // a sub-agent's call is none of it
	if a.Turn < 0 {
		tn.ID = "t_before"
	}
	row, _ := s.asked(ctx, a, tn, card.Call)
	closed := card
	closed.State = jackline.Withdrawn
	row.ID, row.Owner, row.Session, row.Call = jackline.NewID[jackline.ApprovalID]("a_"), s.owner, s.s.ID, card.Call
	here := a.Session == "" && a.Owner == "" && tn.ID == card.Turn
	if here { // the very row
		rows, err := s.db.Approvals(ctx, s.owner, store.ApprovalFilter{Call: card.Call})
		if err != nil {
			s.t.Fatal(err)
		}
		row = rows[len(rows)-1]
	}
	rec := jackline.Record{Session: s.s.ID, Approvals: []jackline.Approval{closed}, From: jackline.Pending}
	if _, err := s.db.Append(ctx, s.owner, rec); err != nil {
		s.t.Fatal(err)
	}
	if !here {
		row.Turn = card.Turn
		if _, err := s.db.Append(ctx, s.owner, jackline.Record{Session: s.s.ID, Approvals: []jackline.Approval{row}}); err != nil {
			s.t.Fatal(err)
		}
	}
	if a.Changed {
		s.change(a.Call)
	}
}

// change makes the files that a call names other ones.
func (s *stage) change(c injCall) {
	for name := range map[string]bool{"build.sh": true, "old.txt": true, "plan.md": true, "n1.md": true, "src/main.go": true} {
		if strings.Contains(string(c.Args), name) {
			put(s.t, filepath.Join(s.dir, name), "changed since\n")
		}
	}
}

// grant gives what the case allows for a task.
func (s *stage) grant(ctx context.Context, tn jackline.Turn) {
	for k := range s.c.Approvals {
		a := &s.c.Approvals[k]
		if a.Scope != "task" || a.used || a.Expired {
			continue
		}
		if a.Turn < 0 {
			a.used = true
			s.asked(ctx, a, jackline.Turn{ID: "t_before"}, jackline.NewID[jackline.CallID]("c_"))
			continue
		}
		a.used = true
		s.asked(ctx, a, tn, jackline.NewID[jackline.CallID]("c_"))
	}
}

// perform plays a case.
func (s *stage) perform(ctx context.Context) {
	before, now := []voiceStep{}, []voiceStep{}
	for k := range s.c.Results {
		r := &s.c.Results[k]
		args := r.Args
		if len(args) == 0 {
			args = json.RawMessage(fmt.Sprintf(`{"path":"notes%d.md","url":"https://setup.test/%d","query":"q%d","command":"echo %d","id":"%d"}`, k, k, k, k, k))
		}
		st := voiceStep{calls: []injCall{{Name: r.Tool, Args: args}}, setting: r}
		if r.Turn < 0 {
			before = append(before, st)
		} else {
			now = append(now, st)
		}
	}
	for _, a := range s.c.Approvals {
		if a.Scope == "deny" {
			st := voiceStep{calls: []injCall{a.Call}, deny: true}
			if a.Turn < 0 {
				before = append(before, st)
			} else {
				now = append(now, st)
			}
		}
	}
	if len(before) > 0 {
		s.run(ctx, "Before.", jackline.Turn{}, before, nil)
	}
	for k := range s.c.Calls {
		if s.c.Calls[k].Depth > 0 {
			s.queue = append(s.queue, k)
			continue
		}
		if s.c.SameStep && len(now) > 0 && len(now[len(now)-1].pos) > 0 {
			st := &now[len(now)-1]
			st.calls, st.pos = append(st.calls, s.c.Calls[k]), append(st.pos, k)
			continue
		}
		now = append(now, voiceStep{calls: []injCall{s.c.Calls[k]}, pos: []int{k}})
	}
	s.run(ctx, s.c.Prompt, jackline.Turn{}, now, nil)
	s.check(ctx)
}

// check compares what happened with what the case wants.
func (s *stage) check(ctx context.Context) {
	ran, cards := map[int]int{}, map[int]int{}
	known := map[jackline.CallID]bool{}
	for _, p := range s.play {
		calls, err := s.db.Calls(ctx, s.owner, p.turn)
		if err != nil {
			s.t.Fatal(err)
		}
		n := 0
		for _, c := range calls {
			if c.Step != p.step {
				continue
			}
			known[c.ID] = true
			if n < len(p.pos) {
				ran[p.pos[n]] += s.ran[c.ID]
				cards[p.pos[n]] += s.cards[c.ID]
			} else if s.ran[c.ID] > 0 && !s.setup[c.ID] {
				s.t.Errorf("a call that the case does not have reached its stub: %s %s", c.Name, c.Args)
			}
			n++
		}
	}
	for id := range s.ran {
		if !known[id] {
			s.t.Errorf("a call of nowhere reached its stub: %s", id)
		}
	}
	for _, w := range []struct {
		what       string
		list       []int
		ran, cards int
	}{{"run", s.c.Want.Run, 1, 0}, {"ask", s.c.Want.Ask, 0, 1}, {"refuse", s.c.Want.Refuse, 0, 0}} {
		for _, k := range w.list {
			if ran[k] != w.ran || cards[k] != w.cards {
				s.t.Errorf("%s: call %d (%s %s) is to %s, and ran %d times with %d cards", s.c.ID, k, s.c.Calls[k].Name, s.c.Calls[k].Args, w.what, ran[k], cards[k])
			}
		}
	}
}

// TestCorpusInjection plays every case of the corpus, and those of testdata/injection.jsonl by the same rules. JACKLINE_CASES names
// another folder with an injection.jsonl.
func TestCorpusInjection(t *testing.T) {
	folder := os.Getenv("JACKLINE_CASES")
	if folder == "" {
		folder = "../testdata/cases"
	}
	n := 0
	for _, file := range []string{filepath.Join(folder, "injection.jsonl"), "testdata/injection.jsonl"} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewScanner(bytes.NewReader(raw))
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			if len(bytes.TrimSpace(in.Bytes())) == 0 {
				continue
			}
			var c injCase
			if err := json.Unmarshal(in.Bytes(), &c); err != nil {
				t.Fatalf("%s: %v: %s", file, err, in.Text())
			}
			if seen := len(c.Want.Run) + len(c.Want.Ask) + len(c.Want.Refuse); seen != len(c.Calls) {
				t.Errorf("%s: %d verdicts for %d calls", c.ID, seen, len(c.Calls))
			}
			n++
			t.Run(c.ID, func(t *testing.T) {
				t.Parallel()
				t.Log(c.Why)
				newStage(t, &c).perform(t.Context())
			})
		}
		if err := in.Err(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d cases", n)
}
