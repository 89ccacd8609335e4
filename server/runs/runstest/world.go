// Package runstest is what tests of the running turns and of the server stand on. Only tests import it.
package runstest

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "modernc.org/sqlite" // to reach past the store

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/policy"
	"github.com/jackline-ai/jackline/server/runs"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
)

// A World is the running turns with all that is behind them: the real store, desk, gate and judge, a few small tools,
// and a puppet where the loop is.
type World struct {
	T      *testing.T
	Dir    string // of the store
	DB     *store.DB
	Desk   *approval.Desk
	Set    *Settings
	Files  *Files
	Puppet *Puppet
	Turns  *runs.Turns
	Log    *Log
	Folder string // a workspace
	closed bool
}

// A Log holds what was logged for whoever runs the program.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (s *Log) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// String is all of it.
func (s *Log) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// An Option changes what a world is made of.
type Option func(*World, *runs.Config)

// New makes a world over a store in dir. It is closed with the test, or before.
func New(t *testing.T, dir string, opts ...Option) *World {
	t.Helper()
	db, err := store.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return Over(t, db, opts...)
}

// Over makes a world over a store, which the world closes.
func Over(t *testing.T, db *store.DB, opts ...Option) *World {
	t.Helper()
	ctx := t.Context()
	w := &World{
		T: t, Dir: db.Dir(), DB: db, Log: &Log{}, Files: &Files{m: map[string]string{}}, Folder: t.TempDir(),
		Set: &Settings{p: jackline.Permissions{Mode: jackline.ModeAllowReads, Toggles: jackline.AllOn, OnAsk: jackline.AskDeny, ApprovalTimeout: 3600}},
	}
	log := slog.New(slog.NewTextHandler(w.Log, nil))
	w.Desk = approval.New(db, db.Key("approvals"), approval.Options{Timeout: func() time.Duration {
		p, _ := w.Set.Permissions(ctx, jackline.Local)
		return time.Duration(p.ApprovalTimeout) * time.Second
	}})
	w.Puppet = &Puppet{db: db, desk: w.Desk, gate: w.Gate, active: map[jackline.SessionID]int{}, Began: make(chan jackline.TurnID, 1000)}
	c := runs.Config{Store: db, Desk: w.Desk, Runner: w.Puppet, Log: log}
	for _, o := range opts {
		o(w, &c)
	}
	var err error
	if w.Turns, err = runs.Open(ctx, c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// ctx outlives the test, for what is done while it is cleaned up.
func (w *World) ctx() context.Context { return context.WithoutCancel(w.T.Context()) }

// Close ends what runs, and closes the store.
func (w *World) Close() {
	if w.closed {
		return
	}
	w.closed = true
	ctx, cancel := context.WithTimeout(w.ctx(), 10*time.Second)
	defer cancel()
	if err := w.Turns.Shutdown(ctx); err != nil {
		w.T.Error("shutdown:", err)
	}
	if err := w.DB.Close(); err != nil {
		w.T.Error("close:", err)
	}
	if w.Puppet.two {
		w.T.Error("two turns of one session ran at once")
	}
}

type judge struct{ w *World }

func (j judge) Judge(i jackline.Intent) jackline.Decision {
	p, _ := j.w.Set.Permissions(j.w.ctx(), i.Actor.Owner)
	return j.w.Policy().With(p).Judge(i)
}

// Policy is the judge, before settings.
func (w *World) Policy() *policy.Policy {
	set := tools(w.Files)
	return policy.New(policy.Config{Lookup: func(name string) (string, jackline.Effect, bool) {
		t, ok := set.Lookup(name)
		if !ok {
			return "", 0, false
		}
		return t.Facts().Name, t.Facts().Effect, true
	}})
}

// Gate is the way to the tools.
func (w *World) Gate(jackline.Session) (*tool.Gate, error) {
	return &tool.Gate{Tools: tools(w.Files), Judge: judge{w}, Desk: w.Desk, Log: w.DB, Halted: w.Halted}, nil
}

// Halted reports whether the kill switch is on.
func (w *World) Halted() bool { return w.Turns.Halted() }

// Session makes a chat.
func (w *World) Session() jackline.Session {
	w.T.Helper()
	s, err := w.DB.CreateSession(w.T.Context(), jackline.Local, jackline.Session{Workspace: w.Folder, Mode: jackline.ModeAllowReads})
	if err != nil {
		w.T.Fatal(err)
	}
	return s
}

// Until waits for something to become true. It polls: what it waits for happens in other goroutines or processes.
func (w *World) Until(what string, ok func() bool) {
	w.T.Helper()
	deadline := time.After(15 * time.Second)
	for !ok() {
		select {
		case <-deadline:
			w.T.Fatalf("it never came to this: %s\n%s", what, w.Log)
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// Turn reads a turn.
func (w *World) Turn(id jackline.TurnID) jackline.Turn {
	w.T.Helper()
	v, err := w.DB.Turn(w.ctx(), jackline.Local, id)
	if err != nil {
		w.T.Fatal(err)
	}
	return v
}

// Ends waits for a turn to be in a state.
func (w *World) Ends(id jackline.TurnID, st jackline.Status) jackline.Turn {
	w.T.Helper()
	w.Until(fmt.Sprintf("turn %s is %s", id, st), func() bool {
		v := w.Turn(id)
		if v.Status.Over() && v.Status != st {
			w.T.Fatalf("turn %s is %s (%s), want %s\n%s", id, v.Status, v.Reason, st, w.Log)
		}
		return v.Status == st
	})
	return w.Turn(id)
}

// Submit sends a prompt whose questions may wait.
func (w *World) Submit(s jackline.SessionID, prompt string) runs.Taken {
	w.T.Helper()
	k, err := w.Turns.Submit(w.T.Context(), jackline.Local, s, prompt, jackline.TurnOptions{OnAsk: jackline.AskWait})
	if err != nil {
		w.T.Fatal(err)
	}
	return k
}

// Pending lists the questions of a chat that nobody has answered.
func (w *World) Pending(s jackline.SessionID) []jackline.Approval {
	w.T.Helper()
	rows, err := w.DB.Approvals(w.ctx(), jackline.Local, jackline.ApprovalFilter{Session: s, States: []jackline.ApprovalState{jackline.Pending}})
	if err != nil {
		w.T.Fatal(err)
	}
	return rows
}

// Types lists the types of the events of a chat.
func (w *World) Types(s jackline.SessionID) []string {
	w.T.Helper()
	events, err := w.DB.Events(w.ctx(), jackline.Local, s, 0, 1000)
	if err != nil {
		w.T.Fatal(err)
	}
	var list []string
	for _, e := range events {
		list = append(list, e.Type)
	}
	return list
}

// Settled waits until nothing of a chat is on its way.
func (w *World) Settled(s jackline.SessionID) {
	w.T.Helper()
	w.Until("it settles", func() bool {
		h, ok, err := w.DB.HolderOf(w.ctx(), "session "+string(s))
		return err == nil && !ok && h.ID == ""
	})
}

// Exec changes the database from outside, as time or an accident would.
func (w *World) Exec(query string) {
	w.T.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.Dir, "jackline.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		w.T.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(query); err != nil {
		w.T.Fatal(err)
	}
}
