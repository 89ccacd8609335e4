package approval_test

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/store"
)

// TestOverStore: what is sealed, written and read again still holds, also by another process, and the first answer
// wins in the database.
func TestOverStore(t *testing.T) {
	dir := t.TempDir()
	open := func() (*store.DB, *approval.Desk) {
		db, err := store.Open(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db, approval.New(db, db.Key("approval"), approval.Options{})
	}
	db, desk := open()
	session, err := db.CreateSession(t.Context(), jackline.Local, jackline.Session{Workspace: "/w", Mode: jackline.ModeAllowReads})
	if err != nil {
		t.Fatal(err)
	}
	turn := jackline.Turn{ID: "t_1", Session: session.ID, Owner: jackline.Local, Status: jackline.Running, Created: time.Now().UTC()}
	ask := func(i jackline.Intent) (jackline.Intent, jackline.Approval) {
		t.Helper()
		i.Actor.Session, i.Actor.Turn = session, turn
		i.Args = json.RawMessage(`{"path":"caf\u00e9","text":"<a & b>\n"}`)
		a, err := desk.New(t.Context(), i, jackline.Decision{Verdict: jackline.Ask, Reason: "Why."}, jackline.Card{})
		if err != nil {
			t.Fatal(err)
		}
		call := jackline.Call{ID: i.Call, Session: session.ID, Turn: turn.ID, Name: i.Tool, Args: i.Args, State: jackline.CallWaiting}
		_, err = db.Append(t.Context(), jackline.Local, jackline.Record{Session: session.ID, Turn: &turn,
			Calls: []jackline.Call{call}, Approvals: []jackline.Approval{a}})
		if err != nil {
			t.Fatal(err)
		}
		return i, a
	}
	i, a := ask(write("src/<a>.go"))
	_, later := ask(write("src/b.go"))
	_, other := ask(write("docs/c.go"))

	other2, desk2 := open() // another process
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for n := range 20 {
		wg.Go(func() {
			d := desk
			if n%2 == 0 {
				d = desk2
			}
			_, err := d.Answer(t.Context(), jackline.Local, a.ID, jackline.Answer{Yes: true, Scope: jackline.Task, By: "page"}, nil)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if jackline.KindOf(err) != jackline.Conflict {
				t.Errorf("a later answer: %v", err)
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d answers won", won)
	}
	row, ok, err := desk2.Row(t.Context(), jackline.Local, i.Call)
	if err != nil || !ok || !desk2.Holds(row, i) {
		t.Errorf("what was stored does not hold: %v %v %+v", ok, err, row)
	}
	i.Args = json.RawMessage(`{"path":"café","text":"<a & b>\n"}`)
	if desk2.Holds(row, i) {
		t.Error("it holds for other bytes")
	}
	if along, err := other2.Approval(t.Context(), jackline.Local, later.ID); err != nil || along.State != jackline.Approved {
		t.Errorf("the row in the same folder: %v %v", along.State, err)
	}
	next := write("src/z.go")
	next.Actor.Session, next.Actor.Turn = session, turn
	if ok, err := desk2.Granted(t.Context(), next); err != nil || !ok {
		t.Errorf("the grant: %v %v", ok, err)
	}
	grants, err := db.Grants(t.Context(), jackline.Local, session.ID)
	if err != nil || len(grants) != 1 || grants[0].Mode != jackline.ModeAllowReads {
		t.Fatalf("grants: %+v %v", grants, err)
	}
	if err := db.RevokeGrant(t.Context(), jackline.Local, grants[0].ID); err != nil {
		t.Fatal(err)
	}
	if ok, err := desk2.Granted(t.Context(), next); err != nil || ok {
		t.Errorf("a revoked grant: %v %v", ok, err)
	}
	closed, err := desk.Expire(t.Context(), time.Now().Add(25*time.Hour))
	if err != nil || len(closed) != 1 || closed[0].ID != other.ID || closed[0].Owner != jackline.Local {
		t.Errorf("expired: %+v %v", closed, err)
	}
}
