package storetest

import (
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
)

// begin: a session, its first record and its lease are there together or not at all, whether anybody waits for them or not, and
// whoever reads finds them.
func begin(t *testing.T, db *store.DB) {
	ctx := t.Context()
	queued := func(id jackline.TurnID) *jackline.Turn {
		return &jackline.Turn{ID: id, Status: jackline.Queued, Prompt: "mend the rudder"}
	}
	for _, soon := range []bool{false, true} {
		name := map[bool]string{false: "waited", true: "soon"}[soon]
		turn := jackline.TurnID("t_" + name)
		rec := jackline.Record{Turn: queued(turn), Soon: soon}
		claim := store.Claim{Name: "lease " + name, Holder: store.Holder{ID: "me", PID: 7}, TTL: time.Minute}
		s := get[jackline.Session](t)(db.Begin(ctx, alice, jackline.Session{Workspace: "/w", Title: "Sails " + name}, rec, claim))
		if got := get[jackline.Turn](t)(db.Turn(ctx, alice, turn)); got.Session != s.ID || got.Owner != alice || got.Prompt != "mend the rudder" {
			t.Fatalf("%s: the turn is %+v", name, got)
		}
		if got := get[jackline.Session](t)(db.Session(ctx, alice, s.ID)); got != s || got.Title != "Sails "+name {
			t.Fatalf("%s: %+v, said to be %+v", name, got, s)
		}
		if h, held, err := db.HolderOf(ctx, claim.Name); err != nil || !held || h.ID != "me" || !h.Expires.After(time.Now()) {
			t.Fatalf("%s: the lease is %+v, %v, %v", name, h, held, err)
		}
		for _, words := range []string{"sails " + name, "rudder"} {
			rows := get[[]store.SessionRow](t)(db.Sessions(ctx, alice, store.SessionQuery{Search: words}))
			found := false
			for _, row := range rows {
				found = found || row.ID == s.ID
			}
			if !found {
				t.Fatalf("%s: %q is not found", name, words)
			}
		}
		if e := appendTo(t, db, alice, jackline.Record{Session: s.ID, Events: []jackline.Event{text(s.ID, 1)}})[0]; e.ID != 1 {
			t.Fatalf("%s: its first event has ID %d", name, e.ID)
		}

		// What cannot be written leaves nothing behind: this turn is another session's.
		id := jackline.SessionID("s_not_" + name)
		bad := jackline.Record{Turn: queued(turn), Soon: soon}
		other := store.Claim{Name: "lease not " + name, Holder: store.Holder{ID: "me"}, TTL: time.Minute}
		_, err := db.Begin(ctx, alice, jackline.Session{ID: id, Workspace: "/w"}, bad, other)
		if err == nil { // nobody waited: the next one hears of it
			_, err = db.Append(ctx, alice, jackline.Record{Session: id, Turn: queued(turn)})
		}
		wantKind(t, err, jackline.NotFound)
		_, err = db.Session(ctx, alice, id)
		wantKind(t, err, jackline.NotFound)
		if _, held, err := db.HolderOf(ctx, other.Name); err != nil || held {
			t.Fatalf("%s: a lease without its session: %v", name, err)
		}
		_, err = db.Append(ctx, alice, jackline.Record{Session: id, Events: []jackline.Event{text(id, 1)}})
		wantKind(t, err, jackline.NotFound)
	}
	_, err := db.Begin(ctx, bob, jackline.Session{Owner: alice}, jackline.Record{Turn: queued("t_x")}, store.Claim{})
	wantKind(t, err, jackline.Invalid)
	// Many at once, which share transactions.
	errs := make(chan error)
	const many = 50
	for range many {
		go func() {
			_, err := db.Begin(ctx, alice, jackline.Session{Workspace: "/w"}, jackline.Record{Turn: queued(jackline.NewID[jackline.TurnID]("t_")), Soon: true}, store.Claim{})
			errs <- err
		}()
	}
	for range many {
		must(t, <-errs)
	}
	must(t, db.Settle(ctx))
	if rows := get[[]store.SessionRow](t)(db.Sessions(ctx, alice, store.SessionQuery{Limit: 200})); len(rows) != many+2 {
		t.Fatalf("%d sessions", len(rows))
	}
}
