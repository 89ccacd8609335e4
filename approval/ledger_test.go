package approval_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/tool"
)

var _ tool.Desk = (*approval.Desk)(nil)

// A memory is a ledger that keeps what a store would: rows in the form in which they are written.
type memory struct {
	mu     sync.Mutex
	order  []jackline.ApprovalID
	rows   map[jackline.ApprovalID]jackline.Approval
	grants []jackline.Grant
	events []jackline.Event
	before func() // runs before each Append, without the lock
}

func newMemory() *memory { return &memory{rows: map[jackline.ApprovalID]jackline.Approval{}} }

// stored is a row after it was written and read.
func stored(a jackline.Approval) jackline.Approval {
	b, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	var out jackline.Approval
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	out.Facts = slices.Clone(a.Facts)
	out.Owner, out.Digest, out.Seal = a.Owner, a.Digest, slices.Clone(a.Seal)
	out.Args, out.Answer.Args = slices.Clone(a.Args), slices.Clone(a.Answer.Args)
	return out
}

func (m *memory) Append(_ context.Context, o jackline.Owner, r jackline.Record) ([]jackline.Event, error) {
	if m.before != nil {
		m.before()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, a := range r.Approvals {
		if have, ok := m.rows[a.ID]; ok && (have.State != r.From || have.Owner != o || have.Session != r.Session) {
			return nil, jackline.E("memory.Append", jackline.Conflict, nil, "The approval moved on.")
		}
	}
	for _, a := range r.Approvals {
		if _, ok := m.rows[a.ID]; !ok {
			m.order = append(m.order, a.ID)
		}
		m.rows[a.ID] = stored(a)
	}
	m.grants = append(m.grants, r.Grants...)
	m.events = append(m.events, r.Events...)
	return r.Events, nil
}

func (m *memory) Approval(_ context.Context, o jackline.Owner, id jackline.ApprovalID) (jackline.Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, ok := m.rows[id]
	if !ok || a.Owner != o {
		return jackline.Approval{}, jackline.E("memory.Approval", jackline.NotFound, nil, "There is no such approval.")
	}
	return a, nil
}

func (m *memory) Approvals(_ context.Context, o jackline.Owner, f jackline.ApprovalFilter) ([]jackline.Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []jackline.Approval
	for _, id := range m.order {
		a := m.rows[id]
		if a.Owner == o && (f.Session == "" || a.Session == f.Session) && (f.Turn == "" || a.Turn == f.Turn) &&
			(f.Call == "" || a.Call == f.Call) && (len(f.States) == 0 || slices.Contains(f.States, a.State)) {
			list = append(list, a)
		}
	}
	return list, nil
}

func (m *memory) ExpiringApprovals(_ context.Context, before time.Time) ([]jackline.Approval, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []jackline.Approval
	for _, id := range m.order {
		if a := m.rows[id]; a.State == jackline.Pending && a.Expires.Before(before) {
			list = append(list, a)
		}
	}
	return list, nil
}

func (m *memory) Grants(_ context.Context, o jackline.Owner, s jackline.SessionID) ([]jackline.Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []jackline.Grant
	for _, g := range m.grants {
		if g.Owner == o && g.Session == s {
			list = append(list, g)
		}
	}
	return list, nil
}

// A bench is a desk with its ledger.
type bench struct {
	*testing.T
	*memory
	desk *approval.Desk
}

var key = []byte("0123456789abcdef0123456789abcdef")

func newBench(t *testing.T) bench {
	m := newMemory()
	return bench{t, m, approval.New(m, key, approval.Options{})}
}

// ask opens a row about i, as the gate does.
func (b bench) ask(i jackline.Intent) jackline.Approval {
	b.Helper()
	why := jackline.Decision{Verdict: jackline.Ask, Rule: "mode.allow-reads", Reason: "It needs a yes."}
	a, err := b.desk.New(b.Context(), i, why, jackline.Card{View: jackline.View{Shape: jackline.ViewText, Text: "x"}})
	if err != nil {
		b.Fatal(err)
	}
	b.keep(a)
	return a
}

func (b bench) keep(a jackline.Approval) {
	b.Helper()
	if _, err := b.Append(b.Context(), a.Owner, jackline.Record{Session: a.Session, Approvals: []jackline.Approval{a}}); err != nil {
		b.Fatal(err)
	}
}

func (b bench) answer(a jackline.Approval, ans jackline.Answer) jackline.Approval {
	b.Helper()
	got, err := b.desk.Answer(b.Context(), a.Owner, a.ID, ans, nil)
	if err != nil {
		b.Fatal(err)
	}
	return got
}

func (b bench) yes(a jackline.Approval, s jackline.Scope) jackline.Approval {
	b.Helper()
	return b.answer(a, jackline.Answer{Yes: true, Scope: s, By: "page"})
}

func (b bench) read(a jackline.Approval) jackline.Approval {
	b.Helper()
	got, err := b.Approval(b.Context(), a.Owner, a.ID)
	if err != nil {
		b.Fatal(err)
	}
	return got
}

func (b bench) granted(i jackline.Intent) bool {
	b.Helper()
	ok, err := b.desk.Granted(b.Context(), i)
	if err != nil {
		b.Fatal(err)
	}
	return ok
}

// intent is a call of one tool that touches things of one kind.
func intent(tool string, e jackline.Effect, kind string, names ...string) jackline.Intent {
	i := jackline.Intent{Call: jackline.NewID[jackline.CallID]("c_"), Tool: tool, Digest: "d", Title: tool, Effect: e}
	i.Actor.Owner, i.Actor.Source = jackline.Local, jackline.FromModel
	i.Actor.Session = jackline.Session{ID: "s_1", Owner: jackline.Local, Workspace: "/w", Mode: jackline.ModeAllowReads}
	i.Actor.Turn = jackline.Turn{ID: "t_1", Session: "s_1"}
	for _, n := range names {
		i.Touches = append(i.Touches, jackline.Touch{Effect: e, Kind: kind, Name: n})
	}
	i.Args, _ = json.Marshal(map[string]any{"what": names})
	return i
}

func write(names ...string) jackline.Intent {
	return intent("file_write", jackline.Write, "path", names...)
}
func command(names ...string) jackline.Intent {
	return intent("shell", jackline.Exec, "command", names...)
}
func fetch(names ...string) jackline.Intent {
	return intent("web_fetch", jackline.Network, "host", names...)
}
func remove(names ...string) jackline.Intent {
	return intent("file_delete", jackline.Delete, "path", names...)
}
