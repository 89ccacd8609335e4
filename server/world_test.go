package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/policy"
	"github.com/jackline-ai/jackline/server"
	"github.com/jackline-ai/jackline/server/guard"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/turn"
)

const (
	token = "0123456789abcdef0123456789abcdef0123456789a"
	other = jackline.Owner("somebody else")
)

// settings are the owners' settings, in memory.
type settings struct {
	mu    sync.Mutex
	p     jackline.Permissions
	a     jackline.AgentSettings
	fixed []string
}

func (s *settings) Permissions(context.Context, jackline.Owner) (jackline.Permissions, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.p, nil
}

func (s *settings) Agent(context.Context, jackline.Owner) (jackline.AgentSettings, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.a, nil
}

func (s *settings) Fixed() []string { return s.fixed }

func (s *settings) Put(_ context.Context, _ jackline.Owner, values map[string]json.RawMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	into := map[string]any{
		"permissions.mode": &s.p.Mode, "permissions.rules": &s.p.Rules, "permissions.workspaceRoot": &s.p.WorkspaceRoot,
		"permissions.approvalTimeout": &s.p.ApprovalTimeout, "permissions.onAsk": &s.p.OnAsk, "tools.disabled": &s.p.Disabled,
		"permissions.toggles.readFiles": &s.p.Toggles.ReadFiles, "permissions.toggles.writeFiles": &s.p.Toggles.WriteFiles,
		"permissions.toggles.runShell": &s.p.Toggles.RunShell, "permissions.toggles.network": &s.p.Toggles.Network,
		"agent.maxSteps": &s.a.MaxSteps, "agent.callsPerStep": &s.a.CallsPerStep, "agent.history": &s.a.History,
		"agent.prefetch": &s.a.Prefetch, "agent.persona": &s.a.Persona, "agent.maxTokens": &s.a.MaxTokens, "agent.maxTime": &s.a.MaxTime,
	}
	for k, v := range values {
		if into[k] == nil {
			return fmt.Errorf("no key %s", k)
		}
		if err := json.Unmarshal(v, into[k]); err != nil {
			return err
		}
	}
	return nil
}

// files is what the test tool writes to, instead of a disk.
type files struct {
	mu   sync.Mutex
	m    map[string]string
	runs int
}

func (f *files) get(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.m[name]
}

func (f *files) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs
}

type echoArgs struct {
	Text string `json:"text" doc:"what to say back"`
}

type putArgs struct {
	Path string `json:"path" doc:"where"`
	Text string `json:"text" doc:"what"`
}

type quizArgs struct {
	Text string `json:"text" doc:"what to ask"`
}

// tools are three small ones: one that is pure, one that writes, one that asks.
func tools(f *files) *tool.Set {
	echo := tool.Define(tool.Spec[echoArgs]{
		Name: "say_back", Group: "pure", Summary: "Say something back.", Effect: jackline.Pure, Source: jackline.Ours, Icon: "other",
		Title: func(a echoArgs) string { return "Say " + a.Text },
		Run:   func(_ context.Context, _ tool.In, a echoArgs) (tool.Out, error) { return tool.Out{Text: a.Text}, nil },
	})
	put := tool.Define(tool.Spec[putArgs]{
		Name: "put_text", Aliases: []string{"write_it"}, Group: "files", Summary: "Put text in a file.", Effect: jackline.Write, Source: jackline.Ours, Icon: "edit",
		Title: func(a putArgs) string { return "Put " + a.Path },
		Touches: func(_ tool.In, a putArgs) ([]jackline.Touch, error) {
			t := jackline.Touch{Effect: jackline.Write, Kind: "path", Name: a.Path}
			if strings.HasPrefix(a.Path, ".git") {
				t.Refused = "Nothing is written there."
			}
			return []jackline.Touch{t}, nil
		},
		Preview: func(_ context.Context, _ tool.In, a putArgs) (jackline.View, error) {
			return jackline.View{Shape: jackline.ViewDiff, Files: []jackline.Diff{{Path: a.Path, Change: "edit", Added: 1}}}, nil
		},
		Run: func(ctx context.Context, _ tool.In, a putArgs) (tool.Out, error) {
			if a.Text == "slow" {
				<-ctx.Done()
				return tool.Out{}, ctx.Err()
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			f.m[a.Path] = a.Text
			f.runs++
			return tool.Out{Text: "written", View: jackline.View{Shape: jackline.ViewList, Rows: [][]string{{a.Path}}}}, nil
		},
	})
	quiz := tool.Define(tool.Spec[quizArgs]{
		Name: "quiz_me", Group: "pure", Summary: "Ask something.", Effect: jackline.Pure, Source: jackline.Ours, Icon: "other",
		Title: func(a quizArgs) string { return "Ask " + a.Text },
		Ask: func(a quizArgs) ([]jackline.Question, error) {
			return []jackline.Question{{Text: a.Text, Options: []string{"yes", "no"}}}, nil
		},
	})
	set, err := tool.NewSet(echo, put, quiz)
	if err != nil {
		panic(err)
	}
	return set
}

// A puppet is a runner whose prompts are scripts: commands parted by ";". It uses the real gate, desk and log.
//
//	say TEXT         visible text
//	call NAME ARGS   a call, which may wait
//	hang             until the context ends
//	slowly           until the context ends, and then ends well all the same
//	steered          until words come
//	heard            until words come, which it leaves where they are
//	limit            end at the step limit
//	doze             wait for nothing
//	fail, panic, leave
type puppet struct {
	db   *store.DB
	desk *approval.Desk
	gate func(jackline.Session) (*tool.Gate, error)

	mu     sync.Mutex
	active map[jackline.SessionID]int
	most   int // turns at work at once
	two    bool
	began  chan jackline.TurnID
}

func (p *puppet) enter(s jackline.SessionID, id jackline.TurnID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active[s]++
	p.two = p.two || p.active[s] > 1
	n := 0
	for _, k := range p.active {
		n += k
	}
	p.most = max(p.most, n)
	select {
	case p.began <- id:
	default:
	}
}

func (p *puppet) atOnce() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.most
}

func (p *puppet) leave(s jackline.SessionID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.active[s]--
}

func (p *puppet) Run(ctx context.Context, o jackline.Owner, id jackline.TurnID, c turn.Control) (jackline.Turn, error) {
	t, err := p.db.Turn(ctx, o, id)
	if err != nil || t.Status.Over() {
		return t, err
	}
	s, err := p.db.Session(ctx, o, t.Session)
	if err != nil {
		return t, err
	}
	p.enter(s.ID, id)
	defer p.leave(s.ID)
	append1 := func(rec jackline.Record, bodies ...jackline.Body) error {
		rec.Session, rec.Turn = s.ID, &t
		for _, b := range bodies {
			rec.Events = append(rec.Events, jackline.NewEvent(s.ID, id, b))
		}
		_, err := p.db.Append(context.WithoutCancel(ctx), o, rec)
		return err
	}
	end := func(st jackline.Status, reason string) (jackline.Turn, error) {
		t.Status, t.Reason, t.Ended = st, reason, time.Now().UTC()
		if st == jackline.Done {
			t.Answer = "done: " + t.Prompt
		}
		return t, append1(jackline.Record{Items: []jackline.Item{{Turn: id, Role: jackline.ItemAssistant, Text: t.Answer}}},
			jackline.TurnEnd{Status: st, Answer: t.Answer, Reason: reason, Skills: []string{}, Denied: []jackline.DeniedAs{}, Changes: []jackline.Change{}})
	}
	switch t.Status {
	case jackline.Queued:
		t.Status, t.Started = jackline.Running, time.Now().UTC()
		err = append1(jackline.Record{Title: t.Prompt, Items: []jackline.Item{{Turn: id, Role: jackline.ItemPrompt, Text: t.Prompt}}},
			jackline.TurnStart{Prompt: t.Prompt, Mode: s.Mode, OnAsk: t.Options.OnAsk})
	case jackline.Waiting:
		t.Status = jackline.Running
		err = append1(jackline.Record{}, jackline.TurnStatus{Status: jackline.Running})
	default: // taken up again
	}
	if err != nil {
		return t, err
	}
	words := func() error {
		raw, err := p.db.State(ctx, o, s.ID, turn.SteerKey)
		if err != nil || raw == nil {
			return err
		}
		var list []string
		if err := json.Unmarshal(raw, &list); err != nil {
			return err
		}
		var bodies []jackline.Body
		for _, w := range list {
			bodies = append(bodies, jackline.Steered{Text: w})
		}
		return append1(jackline.Record{State: map[string]json.RawMessage{turn.SteerKey: json.RawMessage("null")}}, bodies...)
	}
	if err := words(); err != nil {
		return t, err
	}
	prompt := t.Prompt
	if t.Options.Continues != "" {
		prompt = "say on"
	}
	for _, cmd := range strings.Split(prompt, ";")[t.Progress.Step:] {
		verb, rest, _ := strings.Cut(strings.TrimSpace(cmd), " ")
		if verb != "heard" && c.Steered != nil && c.Steered() {
			if err := words(); err != nil {
				return t, err
			}
		}
		switch verb {
		case "say":
			p.db.Live(o, jackline.NewEvent(s.ID, id, jackline.TextDelta{Text: rest}))
			if err := append1(jackline.Record{}, jackline.Text{Text: rest}); err != nil {
				return t, err
			}
		case "call":
			name, args, _ := strings.Cut(rest, " ")
			d, err := p.call(ctx, o, s, t, name, args)
			if err != nil && ctx.Err() == nil {
				return t, err
			}
			if d.Wait != "" {
				t.Status = jackline.Waiting
				return t, append1(jackline.Record{}, jackline.TurnStatus{Status: jackline.Waiting})
			}
		case "hang":
			<-ctx.Done()
		case "slowly":
			<-ctx.Done()
			return end(jackline.Done, "")
		case "limit":
			return end(jackline.StepLimit, "limit")
		case "steered":
			for !c.Steered() && ctx.Err() == nil {
				<-time.After(time.Millisecond)
			}
			if err := words(); err != nil {
				return t, err
			}
		case "heard":
			for !c.Steered() && ctx.Err() == nil {
				<-time.After(time.Millisecond)
			}
		case "fail":
			return t, errors.New("a secret cause")
		case "panic":
			panic("a secret panic")
		case "leave":
			return t, nil
		case "doze":
			t.Status = jackline.Waiting
			return t, append1(jackline.Record{}, jackline.TurnStatus{Status: jackline.Waiting})
		}
		if cause := context.Cause(ctx); cause != nil {
			if errors.Is(cause, turn.ErrStopped) {
				return end(jackline.Stopped, "Stopped.")
			}
			return t, cause
		}
		t.Progress.Step++
		if err := append1(jackline.Record{}); err != nil {
			return t, err
		}
	}
	return end(jackline.Done, "")
}

func (p *puppet) call(ctx context.Context, o jackline.Owner, s jackline.Session, t jackline.Turn, name, args string) (tool.Done, error) {
	g, err := p.gate(s)
	if err != nil {
		return tool.Done{}, err
	}
	calls, err := p.db.Calls(ctx, o, t.ID)
	if err != nil {
		return tool.Done{}, err
	}
	c := jackline.Call{ID: jackline.NewID[jackline.CallID]("c_"), Session: s.ID, Turn: t.ID, Step: t.Progress.Step, Asked: name, Name: name, Args: json.RawMessage(args), State: jackline.CallNew}
	if n := len(calls); n > 0 && calls[n-1].Step == t.Progress.Step {
		c = calls[n-1]
	} else if _, err := p.db.Append(ctx, o, jackline.Record{Session: s.ID, Calls: []jackline.Call{c}}); err != nil {
		return tool.Done{}, err
	}
	return g.Do(ctx, tool.Request{Who: jackline.Actor{Owner: o, Admin: true, Session: s, Turn: t, Source: jackline.FromModel}, Call: c, Prior: calls, Limit: 2000})
}

func (p *puppet) Finish(ctx context.Context, o jackline.Owner, id jackline.TurnID, st jackline.Status, reason string) (jackline.Turn, error) {
	t, err := p.db.Turn(ctx, o, id)
	if err != nil || t.Status.Over() {
		return t, err
	}
	if err := p.desk.Withdraw(ctx, o, t.Session, id); err != nil {
		return t, err
	}
	t.Status, t.Reason, t.Ended = st, reason, time.Now().UTC()
	_, err = p.db.Append(ctx, o, jackline.Record{Session: t.Session, Turn: &t, Events: []jackline.Event{jackline.NewEvent(t.Session, id,
		jackline.TurnEnd{Status: st, Reason: reason, Skills: []string{}, Denied: []jackline.DeniedAs{}, Changes: []jackline.Change{}})}})
	return t, err
}

// A world is a server with all that is behind it.
type world struct {
	t      *testing.T
	dir    string
	db     *store.DB
	desk   *approval.Desk
	set    *settings
	files  *files
	puppet *puppet
	turns  *server.Turns
	server *server.Server
	http   *httptest.Server
	log    *syncBuffer
	folder string
	closed bool
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

type option func(*world, *server.TurnsConfig)

// newTurns makes everything but HTTP, over a store in dir.
func newTurns(t *testing.T, dir string, opts ...option) *world {
	t.Helper()
	ctx := t.Context()
	db, err := store.Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		t: t, dir: dir, db: db, log: &syncBuffer{}, files: &files{m: map[string]string{}}, folder: t.TempDir(),
		set: &settings{p: jackline.Permissions{Mode: jackline.ModeAllowReads, Toggles: jackline.AllOn, OnAsk: jackline.AskDeny, ApprovalTimeout: 3600}},
	}
	log := slog.New(slog.NewTextHandler(w.log, nil))
	w.desk = approval.New(db, db.Key("approvals"), approval.Options{Timeout: func() time.Duration {
		p, _ := w.set.Permissions(ctx, jackline.Local)
		return time.Duration(p.ApprovalTimeout) * time.Second
	}})
	w.puppet = &puppet{db: db, desk: w.desk, gate: w.gate, active: map[jackline.SessionID]int{}, began: make(chan jackline.TurnID, 1000)}
	c := server.TurnsConfig{Store: db, Desk: w.desk, Runner: w.puppet, Log: log}
	for _, o := range opts {
		o(w, &c)
	}
	if w.turns, err = server.OpenTurns(ctx, c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.close() })
	return w
}

func (w *world) close() {
	if w.closed {
		return
	}
	w.closed = true
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.turns.Shutdown(ctx); err != nil {
		w.t.Error("shutdown:", err)
	}
	if w.server != nil {
		w.server.Close()
	}
	if w.http != nil {
		w.http.Close()
	}
	if err := w.db.Close(); err != nil {
		w.t.Error("close:", err)
	}
	if w.puppet.two {
		w.t.Error("two turns of one session ran at once")
	}
}

type judge struct{ w *world }

func (j judge) Judge(i jackline.Intent) jackline.Decision {
	p, _ := j.w.set.Permissions(context.Background(), i.Actor.Owner)
	return j.w.policy().With(p).Judge(i)
}

func (w *world) policy() *policy.Policy {
	set := tools(w.files)
	return policy.New(policy.Config{Lookup: func(name string) (string, jackline.Effect, bool) {
		t, ok := set.Lookup(name)
		if !ok {
			return "", 0, false
		}
		return t.Facts().Name, t.Facts().Effect, true
	}})
}

func (w *world) gate(jackline.Session) (*tool.Gate, error) {
	return &tool.Gate{Tools: tools(w.files), Judge: judge{w}, Desk: w.desk, Log: w.db, Halted: w.halted}, nil
}

func (w *world) halted() bool { return w.turns.Halted() }

// newWorld makes a server over a store of its own, and lets it listen.
func newWorld(t *testing.T, opts ...option) *world {
	t.Helper()
	w := newTurns(t, filepath.Join(t.TempDir(), "data"), opts...)
	w.http = httptest.NewUnstartedServer(nil)
	w.serve(guard.HostsOf(w.http.Listener.Addr())...)
	w.http.Config.Handler = w.server.Handler()
	w.http.Start()
	return w
}

// serve makes the server.
func (w *world) serve(hosts ...string) {
	w.t.Helper()
	var err error
	w.server, err = server.New(server.Config{
		Store: w.db, Turns: w.turns, Desk: w.desk, Settings: w.set, Gate: w.gate,
		Model: func(context.Context) server.ModelStatus {
			return server.ModelStatus{Name: "puppet", Window: 8192, Mode: "text", Ready: true}
		},
		Vet: func(_ context.Context, f string) (string, error) {
			if strings.HasPrefix(f, "/bad") {
				return "", jackline.E("vet", jackline.Forbidden, nil, "Not there.")
			}
			if f == "" {
				return w.folder, nil
			}
			return f, nil
		},
		CheckRules: func(r []jackline.Rule) []error { return w.policy().CheckRules(r) },
		Judge: func(_ context.Context, _ jackline.Owner, line json.RawMessage) (json.RawMessage, error) {
			var in struct{ ID string }
			if err := json.Unmarshal(line, &in); err != nil {
				return nil, jackline.E("judge", jackline.Unprocessed, err, "Not a line.")
			}
			return json.Marshal(map[string]string{"id": in.ID, "decision": "ask"})
		},
		Files: fstest.MapFS{
			"index.html":      {Data: []byte("<!doctype html><title>page</title>")},
			"assets/app-1.js": {Data: []byte("1")},
			"icon.svg":        {Data: []byte("<svg/>")},
			".hidden":         {Data: []byte("no")},
		},
		Token: token, Hosts: hosts, Version: "test", Log: slog.New(slog.NewTextHandler(w.log, nil)),
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// problem is an error answer.
type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Decision string `json:"decision"`
	Rule     string `json:"rule"`
	Approval string `json:"approval"`
	By       string `json:"by"`
}

// send makes a request with the token.
func (w *world) send(method, path string, in any, header ...string) *http.Response {
	w.t.Helper()
	var r io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			w.t.Fatal(err)
		}
		r = bytes.NewReader(b)
		if raw, ok := in.(string); ok {
			r = strings.NewReader(raw)
		}
	}
	req, err := http.NewRequestWithContext(w.t.Context(), method, w.http.URL+path, r)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := w.http.Client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// do makes a request that must end with a status, and decodes the answer.
func do[T any](w *world, status int, method, path string, in any, header ...string) T {
	w.t.Helper()
	res := w.send(method, path, in, header...)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	if res.StatusCode != status {
		w.t.Fatalf("%s %s: %s, want %d: %s", method, path, res.Status, status, b)
	}
	var out T
	if len(b) > 0 {
		if err := json.Unmarshal(b, &out); err != nil {
			w.t.Fatalf("%s %s: %v: %s", method, path, err, b)
		}
	}
	return out
}

// refused makes a request that must end with a problem.
func (w *world) refused(status int, method, path string, in any, header ...string) problem {
	w.t.Helper()
	p := do[problem](w, status, method, path, in, header...)
	if p.Status != status || p.Type != "about:blank" || p.Title == "" || p.Detail == "" {
		w.t.Fatalf("%s %s: no proper problem: %+v", method, path, p)
	}
	return p
}

func (w *world) session() jackline.Session {
	w.t.Helper()
	s, err := w.db.CreateSession(w.t.Context(), jackline.Local, jackline.Session{Workspace: w.folder, Mode: jackline.ModeAllowReads})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// until waits for something to become true. It polls: what it waits for happens in other goroutines or processes.
func (w *world) until(what string, ok func() bool) {
	w.t.Helper()
	deadline := time.After(15 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			w.t.Fatalf("it never came to this: %s\n%s", what, w.log)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (w *world) turn(id jackline.TurnID) jackline.Turn {
	w.t.Helper()
	v, err := w.db.Turn(context.Background(), jackline.Local, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// ends waits for a turn to be in a state.
func (w *world) ends(id jackline.TurnID, st jackline.Status) jackline.Turn {
	w.t.Helper()
	w.until(fmt.Sprintf("turn %s is %s", id, st), func() bool {
		v := w.turn(id)
		if v.Status.Over() && v.Status != st {
			w.t.Fatalf("turn %s is %s (%s), want %s\n%s", id, v.Status, v.Reason, st, w.log)
		}
		return v.Status == st
	})
	return w.turn(id)
}

func (w *world) submit(s jackline.SessionID, prompt string) server.Taken {
	w.t.Helper()
	k, err := w.turns.Submit(w.t.Context(), jackline.Local, s, prompt, jackline.TurnOptions{OnAsk: jackline.AskWait})
	if err != nil {
		w.t.Fatal(err)
	}
	return k
}

func (w *world) pending(s jackline.SessionID) []jackline.Approval {
	w.t.Helper()
	rows, err := w.db.Approvals(context.Background(), jackline.Local, jackline.ApprovalFilter{Session: s, States: []jackline.ApprovalState{jackline.Pending}})
	if err != nil {
		w.t.Fatal(err)
	}
	return rows
}

func (w *world) types(s jackline.SessionID) []string {
	w.t.Helper()
	events, err := w.db.Events(context.Background(), jackline.Local, s, 0, 1000)
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for _, e := range events {
		list = append(list, e.Type)
	}
	return list
}

func wantKind(t *testing.T, err error, k jackline.Kind) {
	t.Helper()
	if err == nil || jackline.KindOf(err) != k {
		t.Fatalf("error %v, want kind %v", err, k)
	}
}
