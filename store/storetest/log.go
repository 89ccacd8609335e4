package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
)

func replay(t *testing.T, db *store.DB) {
	ctx := t.Context()
	one, two := session(t, db, alice), session(t, db, alice)
	var all []jackline.Event
	for n := range 10 {
		s := one
		if n%3 == 0 {
			s = two
		}
		all = append(all, appendTo(t, db, alice, jackline.Record{Session: s, Events: []jackline.Event{text(s, n), text(s, n)}})...)
	}
	same(t, "the log of all sessions", get[[]jackline.Event](t)(db.AllEvents(ctx, alice, 0, 0)), all)
	mid := all[6].Seq
	same(t, "the log after a Seq", get[[]jackline.Event](t)(db.AllEvents(ctx, alice, mid, 5)), all[7:12])
	if last := get[int64](t)(db.LastSeq(ctx)); last < all[len(all)-1].Seq {
		t.Fatalf("LastSeq is %d, an event has %d", last, all[len(all)-1].Seq)
	}
	var want []jackline.Event
	for _, e := range all {
		if e.Session == one {
			want = append(want, e)
		}
	}
	for i, e := range want {
		if e.ID != int64(i+1) {
			t.Fatalf("event %d of the session has ID %d", i+1, e.ID)
		}
	}
	same(t, "the log of one session", events(t, db, alice, one), want)
	same(t, "the log after an ID", get[[]jackline.Event](t)(db.Events(ctx, alice, one, 5, 3)), want[5:8])
	same(t, "the log after its end", get[[]jackline.Event](t)(db.Events(ctx, alice, one, 999, 0)), []jackline.Event{})
	_, err := db.Events(ctx, alice, "s_unknown", 0, 0)
	wantKind(t, err, jackline.NotFound)
}

// roundTrip writes something of everything and reads it back as it was.
func roundTrip(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s := session(t, db, alice)
	rec := full(s, 1)
	evs := appendTo(t, db, alice, rec)
	same(t, "events", events(t, db, alice, s), evs)
	for i, e := range evs {
		want := rec.Events[i]
		want.ID, want.Seq = e.ID, e.Seq
		same(t, "event", e, want)
	}
	turn := *rec.Turn
	turn.Owner = alice
	same(t, "turn", get[jackline.Turn](t)(db.Turn(ctx, alice, turn.ID)), turn)
	same(t, "call", get[jackline.Call](t)(db.Call(ctx, alice, rec.Calls[0].ID)), rec.Calls[0])
	same(t, "history", get[[]jackline.Item](t)(db.History(ctx, alice, s)), rec.Items)
	a := rec.Approvals[0]
	a.Owner = alice
	same(t, "approval", get[jackline.Approval](t)(db.Approval(ctx, alice, a.ID)), a)
	g := rec.Grants[0]
	g.Owner = alice
	same(t, "grants", get[[]jackline.Grant](t)(db.Grants(ctx, alice, s)), []jackline.Grant{g})
	same(t, "state", string(get[json.RawMessage](t)(db.State(ctx, alice, s, "plan"))), string(rec.State["plan"]))
	sess := get[jackline.Session](t)(db.Session(ctx, alice, s))
	if sess.Title != rec.Title || sess.Mode != *rec.Mode || sess.Model != *rec.Model || !sess.Labels.Tainted || sess.Labels.Private || sess.Owner != alice {
		t.Fatalf("session %+v", sess)
	}
	// Rows are whole: each replaces the one before it.
	rec = full(s, 1)
	rec.Events, rec.Items, rec.From = nil, nil, jackline.Pending
	rec.Turn.Status, rec.Turn.Answer, rec.Turn.Ended, rec.Turn.Started = jackline.Done, "", rec.Turn.Created.Add(time.Hour), time.Time{}
	rec.Calls[0].Text, rec.Calls[0].Args, rec.Calls[0].Outcome = "other", nil, jackline.OK
	rec.Approvals[0].State, rec.Approvals[0].Seal = jackline.Approved, nil
	rec.Grants[0].Value = "other"
	appendTo(t, db, alice, rec)
	turn, a, g = *rec.Turn, rec.Approvals[0], rec.Grants[0]
	turn.Owner, a.Owner, g.Owner = alice, alice, alice
	same(t, "replaced turn", get[jackline.Turn](t)(db.Turn(ctx, alice, turn.ID)), turn)
	same(t, "replaced call", get[jackline.Call](t)(db.Call(ctx, alice, rec.Calls[0].ID)), rec.Calls[0])
	same(t, "replaced approval", get[jackline.Approval](t)(db.Approval(ctx, alice, a.ID)), a)
	same(t, "replaced grant", get[[]jackline.Grant](t)(db.Grants(ctx, alice, s)), []jackline.Grant{g})
}

// allOrNothing makes a record fail at its last piece, and finds no trace of it.
func allOrNothing(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s := session(t, db, alice)
	first := full(s, 1)
	appendTo(t, db, alice, first)
	before := snapshot(t, db, alice, s)
	w := db.Watch(alice, "")
	defer w.Close()
	<-w.Wake()

	bad := full(s, 2)
	bad.Labels.Private = true
	bad.Approvals = append(bad.Approvals, first.Approvals[0]) // it is pending, not in the state ""
	bad.Compacted = []jackline.Item{{Role: jackline.ItemSummary, Text: "s"}}
	if _, err := db.Append(ctx, alice, bad); err == nil {
		t.Fatal("the record was written")
	} else {
		wantKind(t, err, jackline.Conflict)
	}
	same(t, "the store after a failed record", snapshot(t, db, alice, s), before)
	select {
	case <-w.Wake():
		t.Fatal("a watcher was woken by a record that failed")
	default:
	}
	// The numbers go on as if it had never been.
	evs := appendTo(t, db, alice, jackline.Record{Session: s, Events: []jackline.Event{text(s, 1)}})
	if evs[0].ID != int64(len(first.Events)+1) {
		t.Fatalf("the next event has ID %d", evs[0].ID)
	}
}

// snapshot is all that an owner can read of a session.
func snapshot(t testing.TB, db *store.DB, owner jackline.Owner, s jackline.SessionID) map[string]any {
	t.Helper()
	ctx := t.Context()
	all := map[string]any{
		"session":   get[jackline.Session](t)(db.Session(ctx, owner, s)),
		"sessions":  get[[]store.SessionRow](t)(db.Sessions(ctx, owner, store.SessionQuery{})),
		"events":    events(t, db, owner, s),
		"turns":     get[[]jackline.Turn](t)(db.Turns(ctx, owner, s)),
		"history":   get[[]jackline.Item](t)(db.History(ctx, owner, s)),
		"approvals": get[[]jackline.Approval](t)(db.Approvals(ctx, owner, store.ApprovalFilter{})),
		"grants":    get[[]jackline.Grant](t)(db.Grants(ctx, owner, "")),
		"plan":      string(get[json.RawMessage](t)(db.State(ctx, owner, s, "plan"))),
		"settings":  get[map[string]json.RawMessage](t)(db.Settings(ctx, owner)),
	}
	for _, turn := range all["turns"].([]jackline.Turn) {
		all["calls of "+string(turn.ID)] = get[[]jackline.Call](t)(db.Calls(ctx, owner, turn.ID))
	}
	return all
}

// wrongRows are records that must not be written: rows of other sessions, of other owners, and no JSON.
func wrongRows(t *testing.T, db *store.DB) {
	s, other, foreign := session(t, db, alice), session(t, db, alice), session(t, db, bob)
	appendTo(t, db, alice, full(other, 1))
	appendTo(t, db, bob, full(foreign, 1))
	beforeOther, beforeForeign := snapshot(t, db, alice, other), snapshot(t, db, bob, foreign)
	mode := jackline.Mode(99)
	for name, test := range map[string]struct {
		rec  jackline.Record
		kind jackline.Kind
	}{
		"event of another session":    {jackline.Record{Events: []jackline.Event{text(other, 1)}}, jackline.Invalid},
		"event without JSON":          {jackline.Record{Events: []jackline.Event{{Type: "text", Data: json.RawMessage("{")}}}, jackline.Invalid},
		"event without data":          {jackline.Record{Events: []jackline.Event{{Type: "text"}}}, jackline.Invalid},
		"turn of another session":     {jackline.Record{Turn: &jackline.Turn{ID: "t_1", Session: other}}, jackline.Invalid},
		"turn of another owner":       {jackline.Record{Turn: &jackline.Turn{ID: "t_1", Owner: bob}}, jackline.Invalid},
		"turn without id":             {jackline.Record{Turn: &jackline.Turn{}}, jackline.Invalid},
		"turn's id in use elsewhere":  {jackline.Record{Turn: &jackline.Turn{ID: full(other, 1).Turn.ID}}, jackline.NotFound},
		"turn's id in use by another": {jackline.Record{Turn: &jackline.Turn{ID: full(foreign, 1).Turn.ID}}, jackline.NotFound},
		"call's id in use by another": {jackline.Record{Calls: []jackline.Call{{ID: full(foreign, 1).Calls[0].ID}}}, jackline.NotFound},
		"approval in use by another": {jackline.Record{From: jackline.Pending,
			Approvals: []jackline.Approval{{ID: full(foreign, 1).Approvals[0].ID, State: jackline.Approved}}}, jackline.NotFound},
		"grant in use by another": {jackline.Record{Grants: []jackline.Grant{{ID: full(foreign, 1).Grants[0].ID}}}, jackline.NotFound},
		"unknown mode":            {jackline.Record{Mode: &mode}, jackline.Invalid},
		"state without JSON":      {jackline.Record{State: map[string]json.RawMessage{"x": json.RawMessage("{")}}, jackline.Invalid},
		"unknown session":         {jackline.Record{Session: "s_unknown"}, jackline.NotFound},
		"session of another":      {jackline.Record{Session: foreign, Title: "mine"}, jackline.NotFound},
		"no session":              {jackline.Record{Session: "-"}, jackline.NotFound},
	} {
		t.Run(name, func(t *testing.T) {
			if test.rec.Session == "" {
				test.rec.Session = s
			}
			_, err := db.Append(t.Context(), alice, test.rec)
			wantKind(t, err, test.kind)
		})
	}
	same(t, "the other session", snapshot(t, db, alice, other), beforeOther)
	same(t, "the other owner's session", snapshot(t, db, bob, foreign), beforeForeign)
	same(t, "the session", events(t, db, alice, s), []jackline.Event{})
}

// manyWriters append at once, some to one session and some to others, some of them in vain.
func manyWriters(t *testing.T, db *store.DB) {
	const writers, each = 16, 40
	sessions := []jackline.SessionID{session(t, db, alice), session(t, db, alice), session(t, db, alice)}
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			s := sessions[i%len(sessions)]
			for n := range each {
				rec := jackline.Record{Session: s, Sync: n%20 == 0, Events: []jackline.Event{text(s, i), text(s, n)},
					Items: []jackline.Item{{Role: jackline.ItemNote, Text: fmt.Sprint(i, " ", n)}}}
				evs, err := db.Append(t.Context(), alice, rec)
				if err != nil || len(evs) != 2 || evs[1].ID != evs[0].ID+1 || evs[1].Seq <= evs[0].Seq {
					t.Errorf("append: %v, %v", evs, err)
				}
				rec.Grants = []jackline.Grant{{ID: "g"}, {ID: "g", Session: "s_other"}}
				if _, err := db.Append(t.Context(), alice, rec); jackline.KindOf(err) != jackline.Invalid {
					t.Errorf("a record of two sessions: %v", err)
				}
				rec.Grants = nil
				if _, err := db.Append(t.Context(), bob, rec); jackline.KindOf(err) != jackline.NotFound {
					t.Errorf("a record to a foreign session: %v", err)
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for _, s := range sessions {
		evs := events(t, db, alice, s)
		for i, e := range evs {
			if e.ID != int64(i+1) {
				t.Fatalf("event %d has ID %d", i+1, e.ID)
			}
		}
		total += len(evs)
		if h := get[[]jackline.Item](t)(db.History(t.Context(), alice, s)); len(h) != len(evs)/2 {
			t.Fatalf("%d items beside %d events", len(h), len(evs))
		}
	}
	if want := writers * each * 2; total != want {
		t.Fatalf("%d events, want %d", total, want)
	}
	var last int64
	for {
		evs := get[[]jackline.Event](t)(db.AllEvents(t.Context(), alice, last, 100))
		if len(evs) == 0 {
			break
		}
		for _, e := range evs {
			if e.Seq <= last {
				t.Fatalf("Seq %d after %d", e.Seq, last)
			}
			last = e.Seq
			total--
		}
	}
	if total != 0 {
		t.Fatalf("the log of all sessions lacks %d events", total)
	}
}

// numbersNeverReturn deletes the newest events with their session: their Seq is not given again.
func numbersNeverReturn(t *testing.T, db *store.DB) {
	keep, gone := session(t, db, alice), session(t, db, alice)
	appendTo(t, db, alice, jackline.Record{Session: keep, Events: []jackline.Event{text(keep, 1)}})
	last := appendTo(t, db, alice, jackline.Record{Session: gone, Events: []jackline.Event{text(gone, 1), text(gone, 2)}})[1].Seq
	must(t, db.DeleteSession(t.Context(), alice, gone))
	if n := get[int64](t)(db.LastSeq(t.Context())); n != last {
		t.Fatalf("LastSeq is %d after the deletion, was %d", n, last)
	}
	e := appendTo(t, db, alice, jackline.Record{Session: keep, Events: []jackline.Event{text(keep, 2)}})[0]
	if e.Seq <= last || e.ID != 2 {
		t.Fatalf("ID %d, Seq %d after %d", e.ID, e.Seq, last)
	}
}

func labels(t *testing.T, db *store.DB) {
	s := session(t, db, alice)
	for _, step := range []struct{ add, want jackline.Labels }{
		{jackline.Labels{}, jackline.Labels{}},
		{jackline.Labels{Private: true}, jackline.Labels{Private: true}},
		{jackline.Labels{}, jackline.Labels{Private: true}},
		{jackline.Labels{Tainted: true}, jackline.Labels{Private: true, Tainted: true}},
		{jackline.Labels{Private: true}, jackline.Labels{Private: true, Tainted: true}},
		{jackline.Labels{}, jackline.Labels{Private: true, Tainted: true}},
	} {
		appendTo(t, db, alice, jackline.Record{Session: s, Labels: step.add})
		same(t, "labels", get[jackline.Session](t)(db.Session(t.Context(), alice, s)).Labels, step.want)
	}
}

// cancelled callers: what gives the context's error is not written, all else is.
func cancelled(t *testing.T, db *store.DB) {
	s := session(t, db, alice)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := db.Append(over, alice, jackline.Record{Session: s, Events: []jackline.Event{text(s, 0)}}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if _, err := db.Events(over, alice, s, 0, 0); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	written := 0
	for i := range 16 {
		wg.Go(func() {
			for n := range 20 {
				ctx, cancel := context.WithCancel(t.Context())
				if (i+n)%2 == 0 {
					wg.Go(cancel)
				}
				_, err := db.Append(ctx, alice, jackline.Record{Session: s, Events: []jackline.Event{text(s, n), text(s, n)}})
				cancel()
				switch {
				case err == nil:
					mu.Lock()
					written++
					mu.Unlock()
				case !errors.Is(err, context.Canceled):
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	evs := events(t, db, alice, s)
	if len(evs) != 2*written {
		t.Fatalf("%d events, %d records were said to be written", len(evs), written)
	}
}

// soon: what nobody waits for stands in front of what comes after it, and whoever comes after hears if it could not be written.
func soon(t *testing.T, db *store.DB) {
	ctx, s, other := t.Context(), session(t, db, alice), session(t, db, alice)
	for n := range 200 {
		rec := jackline.Record{Session: s, Soon: true, Events: []jackline.Event{text(s, n)}}
		if evs := get[[]jackline.Event](t)(db.Append(ctx, alice, rec)); evs != nil {
			t.Fatalf("events %v", evs)
		}
		if n%20 == 0 {
			if err := db.Settle(ctx); err != nil {
				t.Fatal(err)
			}
			if have := len(events(t, db, alice, s)); have != n+1 {
				t.Fatalf("%d events are seen after %d", have, n+1)
			}
		}
	}
	if e := appendTo(t, db, alice, jackline.Record{Session: s, Events: []jackline.Event{text(s, 200)}})[0]; e.ID != 201 {
		t.Fatalf("the next event has ID %d", e.ID)
	}
	for n, e := range events(t, db, alice, s) {
		if string(e.Data) != string(text(s, n).Data) {
			t.Fatalf("event %d is %s", n, e.Data)
		}
	}

	call := full(other, 1).Calls[0]
	appendTo(t, db, alice, jackline.Record{Session: other, Calls: []jackline.Call{call}})
	call.Session, call.Turn = s, "" // another session's row: the store will not have it
	lost := jackline.Record{Session: s, Soon: true, Calls: []jackline.Call{call}, Events: []jackline.Event{text(s, 0)}}
	get[[]jackline.Event](t)(db.Append(ctx, alice, lost))
	appendTo(t, db, alice, jackline.Record{Session: other, Events: []jackline.Event{text(other, 1)}})
	_, err := db.Append(ctx, alice, jackline.Record{Session: s, Events: []jackline.Event{text(s, 0)}})
	wantKind(t, err, jackline.NotFound)
	if e := appendTo(t, db, alice, jackline.Record{Session: s, Events: []jackline.Event{text(s, 201)}})[0]; e.ID != 202 {
		t.Fatalf("after a loss that was told the next event has ID %d", e.ID)
	}
}

func state(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s, other := session(t, db, alice), session(t, db, alice)
	put := func(name, value string) {
		appendTo(t, db, alice, jackline.Record{Session: s, State: map[string]json.RawMessage{name: json.RawMessage(value)}})
	}
	put("plan", `{"a":1}`)
	put("todo", `[]`)
	put("plan", `{"a":2}`)
	same(t, "plan", string(get[json.RawMessage](t)(db.State(ctx, alice, s, "plan"))), `{"a":2}`)
	put("plan", `null`)
	same(t, "no plan", string(get[json.RawMessage](t)(db.State(ctx, alice, s, "plan"))), "")
	same(t, "todo", string(get[json.RawMessage](t)(db.State(ctx, alice, s, "todo"))), `[]`)
	same(t, "the other's", string(get[json.RawMessage](t)(db.State(ctx, alice, other, "todo"))), "")
}

// generations compacts a history twice; the present generation is what is read, and items go on behind it.
func generations(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s := session(t, db, alice)
	item := func(text string) jackline.Item { return jackline.Item{Role: jackline.ItemNote, Text: text} }
	write := func(rec jackline.Record) {
		rec.Session = s
		appendTo(t, db, alice, rec)
	}
	check := func(gen int, want ...string) {
		t.Helper()
		got := []string{}
		for _, it := range get[[]jackline.Item](t)(db.History(ctx, alice, s)) {
			got = append(got, it.Text)
		}
		same(t, "history", got, want)
		if g := get[jackline.Session](t)(db.Session(ctx, alice, s)).Gen; g != gen {
			t.Fatalf("generation %d, want %d", g, gen)
		}
	}
	check(0)
	write(jackline.Record{Items: []jackline.Item{item("a"), item("b")}})
	write(jackline.Record{Items: []jackline.Item{item("c")}})
	check(0, "a", "b", "c")
	write(jackline.Record{Compacted: []jackline.Item{item("sum"), item("c")}, Items: []jackline.Item{item("d")}})
	check(1, "sum", "c", "d")
	write(jackline.Record{Items: []jackline.Item{item("e")}})
	check(1, "sum", "c", "d", "e")
	write(jackline.Record{Compacted: []jackline.Item{}})
	check(2)
	write(jackline.Record{Items: []jackline.Item{item("f")}})
	check(2, "f")
	long := make([]jackline.Item, 30)
	for i := range long {
		long[i] = item(fmt.Sprint(i))
	}
	write(jackline.Record{Items: long})
	if h := get[[]jackline.Item](t)(db.History(ctx, alice, s)); len(h) != 31 || h[30].Text != "29" || h[8].Text != "7" {
		t.Fatalf("%d items: %v", len(h), h)
	}
}

// far is a time that no column of nanoseconds can hold.
var far = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
