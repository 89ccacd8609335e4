package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
)

func sessionStatus(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s := session(t, db, alice)
	check := func(want store.SessionStatus, open int) {
		t.Helper()
		rows := get[[]store.SessionRow](t)(db.Sessions(ctx, alice, store.SessionQuery{}))
		if len(rows) != 1 || rows[0].Status != want || rows[0].Open != open {
			t.Fatalf("%+v, want %s with %d open", rows, want, open)
		}
	}
	turn := func(id jackline.TurnID, status jackline.Status) {
		appendTo(t, db, alice, jackline.Record{Session: s, Turn: &jackline.Turn{ID: id, Status: status}})
	}
	check(store.SessionIdle, 0)
	turn("t_1", jackline.Running)
	check(store.SessionBusy, 0)
	turn("t_2", jackline.Queued)
	turn("t_1", jackline.Done)
	check(store.SessionBusy, 0)
	turn("t_2", jackline.Waiting)
	check(store.SessionWaiting, 0)
	a := full(s, 1).Approvals[0]
	appendTo(t, db, alice, jackline.Record{Session: s, Approvals: []jackline.Approval{a}})
	check(store.SessionWaiting, 1)
	turn("t_2", jackline.Running) // another call of the turn runs while the card is open
	check(store.SessionWaiting, 1)
	a.State = jackline.Lapsed
	appendTo(t, db, alice, jackline.Record{Session: s, Approvals: []jackline.Approval{a}, From: jackline.Pending})
	check(store.SessionBusy, 0)
	turn("t_2", jackline.Failed)
	check(store.SessionIdle, 0)
}

func sessionPages(t *testing.T, db *store.DB) {
	ctx := t.Context()
	base := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for n := range 10 {
		_, err := db.CreateSession(ctx, alice, jackline.Session{ID: jackline.SessionID(fmt.Sprintf("s_%d", n)),
			Workspace: fmt.Sprintf("/w%d", n%2), Created: base.Add(time.Duration(n) * time.Minute)})
		must(t, err)
	}
	session(t, db, bob)
	ids := func(q store.SessionQuery) string {
		var b strings.Builder
		for _, row := range get[[]store.SessionRow](t)(db.Sessions(ctx, alice, q)) {
			b.WriteString(strings.TrimPrefix(string(row.ID), "s_"))
		}
		return b.String()
	}
	same(t, "all", ids(store.SessionQuery{}), "9876543210")
	same(t, "a page", ids(store.SessionQuery{Limit: 3}), "987")
	same(t, "the next page", ids(store.SessionQuery{Limit: 3, Before: base.Add(7 * time.Minute)}), "654")
	same(t, "of one folder", ids(store.SessionQuery{Workspace: "/w1", Limit: 4}), "9753")
	// Who is written to comes first.
	appendTo(t, db, alice, jackline.Record{Session: "s_4", Events: []jackline.Event{text("s_4", 1)}})
	same(t, "after one changed", ids(store.SessionQuery{Limit: 3}), "498")
	_, err := db.CreateSession(ctx, alice, jackline.Session{ID: "s_4"})
	wantKind(t, err, jackline.Conflict)
	_, err = db.CreateSession(ctx, bob, jackline.Session{ID: "s_4"})
	wantKind(t, err, jackline.Conflict)
	_, err = db.CreateSession(ctx, bob, jackline.Session{Owner: alice})
	wantKind(t, err, jackline.Invalid)
	_, err = db.CreateSession(ctx, bob, jackline.Session{Mode: 77})
	wantKind(t, err, jackline.Invalid)
}

func search(t *testing.T, db *store.DB) {
	ctx := t.Context()
	make := func(owner jackline.Owner, id jackline.SessionID, title, prompt, answer string) {
		_, err := db.CreateSession(ctx, owner, jackline.Session{ID: id, Title: title})
		must(t, err)
		turn := &jackline.Turn{ID: "t" + jackline.TurnID(id), Prompt: prompt, Status: jackline.Running}
		appendTo(t, db, owner, jackline.Record{Session: id, Turn: turn})
		turn.Answer, turn.Status = answer, jackline.Done
		appendTo(t, db, owner, jackline.Record{Session: id, Turn: turn})
	}
	make(alice, "s_boat", "The boat", "Repair the anchor winch", "Grease it. Überholung fällig.")
	make(alice, "s_tax", "Taxes 2025", "Sum the receipts", "They come to 42 euros; the boat is not deductible.")
	make(bob, "s_bob", "Boat of bob", "anchor", "anchor")
	find := func(words string) string {
		var ids []string
		for _, row := range get[[]store.SessionRow](t)(db.Sessions(ctx, alice, store.SessionQuery{Search: words})) {
			ids = append(ids, string(row.ID))
		}
		return strings.Join(ids, " ")
	}
	for words, want := range map[string]string{
		"anchor":          "s_boat",
		"ANCHOR":          "s_boat",
		"anch":            "s_boat",
		"boat":            "s_tax s_boat",
		"boat receipts":   "s_tax",  // each word somewhere in the chat
		"boat anchor":     "s_boat", // title and prompt
		"uberholung":      "s_boat",
		"ÜBERHOLUNG":      "s_boat",
		"taxes":           "s_tax",
		"42":              "s_tax",
		"bob":             "",
		"nowhere":         "",
		"boat nowhere":    "",
		"...":             "",
		"winch, grease!":  "s_boat",
		"re-pair":         "",
		"the":             "s_tax s_boat",
		"\x00":            "",
		"anchor\x00winch": "s_boat",
		"\xff\xfe":        "",
	} {
		same(t, fmt.Sprintf("search for %q", words), find(words), want)
	}
	// What a person types is never syntax.
	for _, words := range []string{`"`, `""`, `"boat`, `boat"`, `boat*`, `*`, `^boat`, `title:boat`, `-boat`, `NOT boat`, `boat AND`, `OR`, `NEAR(`,
		`NEAR(a b, 5)`, `(boat`, `boat)`, `{title prompt}: boat`, `+`, `'`, `';--`, `\`, `%`, `_`, `boat -anchor`, "a\nb", "日本語", "🛥️",
		strings.Repeat("boat ", 1000), strings.Repeat("x", 100_000)} {
		find(words)
	}
	// Changes are found, what was is not.
	appendTo(t, db, alice, jackline.Record{Session: "s_tax", Title: "Holidays"})
	same(t, "the new title", find("holidays"), "s_tax")
	same(t, "the old title", find("taxes"), "")
	appendTo(t, db, alice, jackline.Record{Session: "s_tax", Turn: &jackline.Turn{ID: "t_q", Prompt: "quadrant", Status: jackline.Queued}})
	get[jackline.Turn](t)(db.EditQueued(ctx, alice, "t_q", "sextant"))
	same(t, "the new prompt", find("sextant"), "s_tax")
	same(t, "the old prompt", find("quadrant"), "")
	must(t, db.DropQueued(ctx, alice, "t_q"))
	same(t, "the dropped prompt", find("sextant"), "")
	must(t, db.DeleteSession(ctx, alice, "s_boat"))
	same(t, "the deleted session", find("anchor"), "")
	make(alice, "s_new", "Fresh", "Nothing", "Nothing")
	same(t, "a session in its place", find("anchor"), "")
}

// deletion takes all that belongs to a session, and nothing else.
func deletion(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s, other := session(t, db, alice), session(t, db, alice)
	for _, id := range []jackline.SessionID{s, other} {
		appendTo(t, db, alice, full(id, 1))
		must(t, db.WriteSpill(ctx, alice, id, full(id, 1).Calls[0].ID, "spilled"))
	}
	wantKind(t, db.DeleteSession(ctx, alice, s), jackline.Conflict) // full's turn runs
	turn := *full(s, 1).Turn
	turn.Status = jackline.Waiting
	appendTo(t, db, alice, jackline.Record{Session: s, Turn: &turn})
	before := snapshot(t, db, alice, other)
	must(t, db.DeleteSession(ctx, alice, s))
	wantKind(t, db.DeleteSession(ctx, alice, s), jackline.NotFound)
	rec := full(s, 1)
	for what, err := range map[string]error{
		"session":  second(db.Session(ctx, alice, s)),
		"events":   second(db.Events(ctx, alice, s, 0, 0)),
		"turn":     second(db.Turn(ctx, alice, rec.Turn.ID)),
		"call":     second(db.Call(ctx, alice, rec.Calls[0].ID)),
		"history":  second(db.History(ctx, alice, s)),
		"approval": second(db.Approval(ctx, alice, rec.Approvals[0].ID)),
		"grant":    db.RevokeGrant(ctx, alice, rec.Grants[0].ID),
		"state":    second(db.State(ctx, alice, s, "plan")),
		"append":   second(db.Append(ctx, alice, jackline.Record{Session: s, Events: []jackline.Event{text(s, 1)}})),
	} {
		if jackline.KindOf(err) != jackline.NotFound {
			t.Errorf("%s of a deleted session: %v", what, err)
		}
	}
	_, _, err := db.ReadSpill(ctx, alice, rec.Calls[0].ID, 0, 10)
	wantKind(t, err, jackline.NotFound)
	after := snapshot(t, db, alice, other)
	for _, list := range []string{"sessions", "approvals", "grants"} {
		delete(before, list)
		delete(after, list)
	}
	same(t, "the other session", after, before)
	page, total, err := db.ReadSpill(ctx, alice, full(other, 1).Calls[0].ID, 0, 100)
	if page != "spilled" || total != 7 || err != nil {
		t.Fatalf("the other session's spill: %q, %d, %v", page, total, err)
	}
	// The ids may be used anew.
	_, err = db.CreateSession(ctx, alice, jackline.Session{ID: s})
	must(t, err)
	if evs := appendTo(t, db, alice, full(s, 1)); evs[0].ID != 1 {
		t.Fatalf("the first event has ID %d", evs[0].ID)
	}
}

// second is the error of a pair.
func second[T any](_ T, err error) error { return err }
