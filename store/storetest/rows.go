package storetest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
)

// firstAnswerWins lets many answer one approval at once.
func firstAnswerWins(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s := session(t, db, alice)
	for round := range 10 {
		a := full(s, round).Approvals[0]
		appendTo(t, db, alice, jackline.Record{Session: s, Approvals: []jackline.Approval{a}})
		const people = 8
		errs := make([]error, people)
		var wg sync.WaitGroup
		for i := range people {
			wg.Go(func() {
				b := a
				b.State = jackline.Approved
				b.Answer = jackline.Answer{Yes: true, By: fmt.Sprint(i)}
				_, errs[i] = db.Append(ctx, alice, jackline.Record{Session: s, Approvals: []jackline.Approval{b}, From: jackline.Pending,
					Events: []jackline.Event{jackline.NewEvent(s, "", jackline.ApprovalClosed{Approval: a.ID, State: b.State})}})
			})
		}
		wg.Wait()
		winner := -1
		for i, err := range errs {
			if err == nil {
				if winner >= 0 {
					t.Fatalf("both %d and %d won", winner, i)
				}
				winner = i
				continue
			}
			wantKind(t, err, jackline.Conflict)
		}
		if winner < 0 {
			t.Fatal("nobody won")
		}
		if got := get[jackline.Approval](t)(db.Approval(ctx, alice, a.ID)); got.Answer.By != fmt.Sprint(winner) {
			t.Fatalf("the answer is %q's, the winner is %d", got.Answer.By, winner)
		}
		if n := len(events(t, db, alice, s)); n != round+1 {
			t.Fatalf("%d events after %d answers", n, round+1)
		}
	}
}

func approvalFilters(t *testing.T, db *store.DB) {
	ctx := t.Context()
	one, two := session(t, db, alice), session(t, db, alice)
	var want []jackline.ApprovalID
	states := []jackline.ApprovalState{jackline.Pending, jackline.Approved, jackline.Refused, jackline.Used}
	for n, state := range states {
		for _, s := range []jackline.SessionID{one, two} {
			rec := full(s, n)
			rec.Approvals[0].State = state
			appendTo(t, db, alice, rec)
			want = append(want, rec.Approvals[0].ID)
		}
	}
	for name, test := range map[string]struct {
		filter store.ApprovalFilter
		want   []jackline.ApprovalID
	}{
		"all":       {store.ApprovalFilter{}, want},
		"session":   {store.ApprovalFilter{Session: two}, []jackline.ApprovalID{want[1], want[3], want[5], want[7]}},
		"turn":      {store.ApprovalFilter{Turn: full(one, 1).Turn.ID}, want[2:3]},
		"call":      {store.ApprovalFilter{Call: full(two, 2).Calls[0].ID}, want[5:6]},
		"one state": {store.ApprovalFilter{States: states[:1]}, want[:2]},
		"states":    {store.ApprovalFilter{Session: one, States: states[2:]}, []jackline.ApprovalID{want[4], want[6]}},
		"none":      {store.ApprovalFilter{Turn: full(one, 1).Turn.ID, States: states[:1]}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got []jackline.ApprovalID
			for _, a := range get[[]jackline.Approval](t)(db.Approvals(ctx, alice, test.filter)) {
				got = append(got, a.ID)
			}
			same(t, "approvals", got, test.want)
		})
	}
}

func expiring(t *testing.T, db *store.DB) {
	s, foreign := session(t, db, alice), session(t, db, bob)
	now := time.Now()
	put := func(owner jackline.Owner, s jackline.SessionID, n int, at time.Time, state jackline.ApprovalState) jackline.ApprovalID {
		a := full(s, n).Approvals[0]
		a.Expires, a.State = at, state
		appendTo(t, db, owner, jackline.Record{Session: s, Approvals: []jackline.Approval{a}})
		return a.ID
	}
	second := put(alice, s, 1, now.Add(-time.Minute), jackline.Pending)
	first := put(bob, foreign, 2, now.Add(-time.Hour), jackline.Pending)
	put(alice, s, 3, now.Add(-time.Hour), jackline.Refused)
	put(alice, s, 4, now.Add(time.Hour), jackline.Pending)
	put(alice, s, 5, time.Time{}, jackline.Pending)
	put(alice, s, 6, far, jackline.Pending)
	list := get[[]jackline.Approval](t)(db.ExpiringApprovals(t.Context(), now))
	if len(list) != 2 || list[0].ID != first || list[1].ID != second || list[0].Owner != bob {
		t.Fatalf("expiring: %+v", list)
	}
	same(t, "a far expiry", get[jackline.Approval](t)(db.Approval(t.Context(), alice, full(s, 6).Approvals[0].ID)).Expires, far)
}

func grants(t *testing.T, db *store.DB) {
	ctx := t.Context()
	one, two := session(t, db, alice), session(t, db, alice)
	for n, s := range []jackline.SessionID{one, two, one} {
		appendTo(t, db, alice, jackline.Record{Session: s, Grants: full(s, n).Grants})
	}
	ids := func(s jackline.SessionID) (ids []jackline.GrantID) {
		for _, g := range get[[]jackline.Grant](t)(db.Grants(ctx, alice, s)) {
			ids = append(ids, g.ID)
		}
		return ids
	}
	a, b, c := full(one, 0).Grants[0].ID, full(two, 1).Grants[0].ID, full(one, 2).Grants[0].ID
	same(t, "all grants", ids(""), []jackline.GrantID{a, b, c})
	same(t, "grants of one session", ids(one), []jackline.GrantID{a, c})
	must(t, db.RevokeGrant(ctx, alice, a))
	must(t, db.RevokeGrant(ctx, alice, a))
	same(t, "grants after one was revoked", ids(""), []jackline.GrantID{b, c})
	wantKind(t, db.RevokeGrant(ctx, alice, "g_unknown"), jackline.NotFound)
	g := full(two, 1).Grants[0]
	g.Revoked = time.Now()
	appendTo(t, db, alice, jackline.Record{Session: two, Grants: []jackline.Grant{g}})
	same(t, "grants after a record revoked one", ids(""), []jackline.GrantID{c})
}

func turns(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s, foreign := session(t, db, alice), session(t, db, bob)
	statuses := []jackline.Status{jackline.Queued, jackline.Running, jackline.Waiting, jackline.Done, jackline.Stopped,
		jackline.StepLimit, jackline.Failed, jackline.Interrupted}
	var all, open []jackline.TurnID
	put := func(owner jackline.Owner, s jackline.SessionID, id jackline.TurnID, status jackline.Status) {
		appendTo(t, db, owner, jackline.Record{Session: s, Turn: &jackline.Turn{ID: id, Status: status, Created: time.Now()}})
		if !status.Over() {
			open = append(open, id)
		}
	}
	for _, status := range statuses {
		id := jackline.TurnID("t_" + string(status))
		put(alice, s, id, status)
		all = append(all, id)
	}
	put(bob, foreign, "t_bob", jackline.Running)
	ids := func(list []jackline.Turn) (ids []jackline.TurnID) {
		for _, turn := range list {
			ids = append(ids, turn.ID)
		}
		return ids
	}
	same(t, "turns", ids(get[[]jackline.Turn](t)(db.Turns(ctx, alice, s))), all)
	list := get[[]jackline.Turn](t)(db.OpenTurns(ctx))
	same(t, "open turns", ids(list), open)
	if list[3].Owner != bob || list[3].Session != foreign {
		t.Fatalf("bob's turn: %+v", list[3])
	}
	// A turn moves through its states by records.
	put(alice, s, "t_queued", jackline.Running)
	put(alice, s, "t_running", jackline.Done)
	if got := get[jackline.Turn](t)(db.Turn(ctx, alice, "t_running")).Status; got != jackline.Done {
		t.Fatalf("status %s", got)
	}
	same(t, "open turns", ids(get[[]jackline.Turn](t)(db.OpenTurns(ctx))), []jackline.TurnID{"t_queued", "t_waiting", "t_bob"})
	_, err := db.Turn(ctx, alice, "t_unknown")
	wantKind(t, err, jackline.NotFound)
}

func queue(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s := session(t, db, alice)
	for _, id := range []jackline.TurnID{"t_1", "t_2", "t_3"} {
		appendTo(t, db, alice, jackline.Record{Session: s, Turn: &jackline.Turn{ID: id, Status: jackline.Queued, Prompt: "first words"}})
	}
	w := db.Watch(alice, s)
	defer w.Close()
	<-w.Wake()
	turn := get[jackline.Turn](t)(db.EditQueued(ctx, alice, "t_2", "other words"))
	if turn.Prompt != "other words" || turn.ID != "t_2" {
		t.Fatalf("edited: %+v", turn)
	}
	<-w.Wake()
	same(t, "the turn", get[jackline.Turn](t)(db.Turn(ctx, alice, "t_2")), turn)
	must(t, db.DropQueued(ctx, alice, "t_1"))
	<-w.Wake()
	_, err := db.Turn(ctx, alice, "t_1")
	wantKind(t, err, jackline.NotFound)
	var queues []string
	for _, e := range events(t, db, alice, s) {
		if e.Type == (jackline.QueueChanged{}).Type() {
			queues = append(queues, string(e.Data))
		}
	}
	same(t, "what the log says", queues, []string{`{"turns":["t_1","t_2","t_3"]}`, `{"turns":["t_2","t_3"]}`})
	appendTo(t, db, alice, jackline.Record{Session: s, Turn: &jackline.Turn{ID: "t_2", Status: jackline.Running, Prompt: "other words"}})
	_, err = db.EditQueued(ctx, alice, "t_2", "too late")
	wantKind(t, err, jackline.Conflict)
	wantKind(t, db.DropQueued(ctx, alice, "t_2"), jackline.Conflict)
	wantKind(t, db.DropQueued(ctx, alice, "t_1"), jackline.NotFound)
	if n := len(events(t, db, alice, s)); n != 2 {
		t.Fatalf("%d events after changes that were refused", n)
	}
}

func calls(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s := session(t, db, alice)
	appendTo(t, db, alice, full(s, 1))
	turn := full(s, 1).Turn.ID
	put := func(id jackline.CallID, step, index int, turn jackline.TurnID) {
		appendTo(t, db, alice, jackline.Record{Session: s, Calls: []jackline.Call{{ID: id, Turn: turn, Step: step, Index: index,
			Name: "time", State: jackline.CallNew, Args: json.RawMessage(`{}`)}}})
	}
	put("c_last", 3, 1, turn)
	put("c_third", 3, 0, turn)
	put("c_first", 1, 0, turn)
	put("c_own", 0, 0, "") // a person's
	var ids []jackline.CallID
	for _, c := range get[[]jackline.Call](t)(db.Calls(ctx, alice, turn)) {
		ids = append(ids, c.ID)
	}
	same(t, "calls", ids, []jackline.CallID{"c_first", full(s, 1).Calls[0].ID, "c_third", "c_last"})
	if c := get[jackline.Call](t)(db.Call(ctx, alice, "c_own")); c.Session != s || c.State != jackline.CallNew || c.Outcome != jackline.Denied {
		t.Fatalf("call %+v", c)
	}
	_, err := db.Call(ctx, alice, "c_unknown")
	wantKind(t, err, jackline.NotFound)
	_, err = db.Calls(ctx, alice, "t_unknown")
	wantKind(t, err, jackline.NotFound)
}

func settings(t *testing.T, db *store.DB) {
	ctx := t.Context()
	put := func(owner jackline.Owner, name, value string) {
		must(t, db.PutSetting(ctx, owner, name, json.RawMessage(value)))
	}
	same(t, "no setting", get[json.RawMessage](t)(db.Setting(ctx, alice, "agent")), json.RawMessage(nil))
	put(alice, "agent", `{"maxSteps": 9, "persona": "<x>"}`)
	put(alice, "permissions", `{}`)
	put(bob, "agent", `1`)
	put(alice, "permissions", `{"mode":"ask"}`)
	same(t, "settings", get[map[string]json.RawMessage](t)(db.Settings(ctx, alice)), map[string]json.RawMessage{
		"agent": json.RawMessage(`{"maxSteps": 9, "persona": "<x>"}`), "permissions": json.RawMessage(`{"mode":"ask"}`)})
	put(alice, "agent", `null`)
	must(t, db.PutSetting(ctx, alice, "permissions", nil))
	same(t, "settings", get[map[string]json.RawMessage](t)(db.Settings(ctx, alice)), map[string]json.RawMessage{})
	same(t, "bob's", string(get[json.RawMessage](t)(db.Setting(ctx, bob, "agent"))), "1")
	wantKind(t, db.PutSetting(ctx, alice, "agent", json.RawMessage(`{`)), jackline.Invalid)
	wantKind(t, db.PutSetting(ctx, "", "agent", json.RawMessage(`{}`)), jackline.Invalid)

	put(alice, "gone", `1`)
	must(t, db.PutSettings(ctx, alice, map[string]json.RawMessage{"agent": json.RawMessage(`2`), "tools": json.RawMessage(`[]`), "gone": nil}))
	several := map[string]json.RawMessage{"agent": json.RawMessage(`2`), "tools": json.RawMessage(`[]`)}
	same(t, "several", get[map[string]json.RawMessage](t)(db.Settings(ctx, alice)), several)
	wantKind(t, db.PutSettings(ctx, alice, map[string]json.RawMessage{"agent": json.RawMessage(`3`), "tools": json.RawMessage(`[`)}), jackline.Invalid)
	same(t, "all or none", get[map[string]json.RawMessage](t)(db.Settings(ctx, alice)), several)
	same(t, "bob's", string(get[json.RawMessage](t)(db.Setting(ctx, bob, "agent"))), "1")

	same(t, "no flag", get[string](t)(db.Flag(ctx, "stopped")), "")
	must(t, db.SetFlag(ctx, "stopped", "by page"))
	must(t, db.SetFlag(ctx, "stopped", "by cli"))
	same(t, "flag", get[string](t)(db.Flag(ctx, "stopped")), "by cli")
	must(t, db.SetFlag(ctx, "stopped", ""))
	same(t, "no flag", get[string](t)(db.Flag(ctx, "stopped")), "")

	one, two := db.Key("seal"), db.Key("audit")
	if len(one) != 32 || string(one) == string(two) || string(one) != string(db.Key("seal")) {
		t.Fatal("keys of purposes")
	}
}
