package storetest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
)

// undo keeps what files were and held, once for each unit and path.
func undo(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s, other := session(t, db, alice), session(t, db, alice)
	file := func(sum string) jackline.Kept {
		return jackline.Kept{Kind: jackline.KeptFile, Mode: 0o644, Size: 3, ID: "1.2", Sum: sum, Held: true, Why: "w", Link: "l"}
	}
	one := jackline.Snapshot{Unit: "t_1", Path: "a", Before: file("x")}
	two := jackline.Snapshot{Unit: "t_1", Path: "b/ü\xff", After: file("y"), Seen: true}
	elsewhere := jackline.Snapshot{Unit: "t_2", Path: "a", After: file("z"), Seen: true}
	appendTo(t, db, alice, jackline.Record{Session: s, Snapshots: []jackline.Snapshot{one, two, elsewhere}})
	one.After, one.Seen = file("z"), true
	appendTo(t, db, alice, jackline.Record{Session: s, Snapshots: []jackline.Snapshot{one}})
	got := get[[]jackline.Snapshot](t)(db.Snapshots(ctx, alice, s, "t_1"))
	if len(got) != 2 {
		t.Fatalf("%d rows", len(got))
	}
	same(t, "the first row", got[0], one)
	same(t, "the path of the second", got[1].Path, two.Path)
	same(t, "the other unit", get[[]jackline.Snapshot](t)(db.Snapshots(ctx, alice, s, "t_2")), []jackline.Snapshot{elsewhere})
	same(t, "the other session", get[[]jackline.Snapshot](t)(db.Snapshots(ctx, alice, other, "t_1")), []jackline.Snapshot{})
	same(t, "whose it is", get[jackline.SessionID](t)(db.UnitSession(ctx, alice, "t_2")), s)
	_, err := db.Append(ctx, alice, jackline.Record{Session: s, Snapshots: []jackline.Snapshot{{Path: "a"}}})
	wantKind(t, err, jackline.Invalid)

	big := strings.Repeat("0123456789abcdef", 10_000)
	must(t, db.Hold(ctx, alice, s, []jackline.Content{{Sum: "x", Data: []byte("one")}, {Sum: "big", Data: []byte(big)}, {Sum: "none"}, {Sum: "x", Data: []byte("one")}}))
	must(t, db.Hold(ctx, alice, s, []jackline.Content{{Sum: "x", Data: []byte("one")}}))
	must(t, db.Hold(ctx, alice, s, []jackline.Content{{Sum: "y", Data: []byte("two")}, {Sum: "x", Data: []byte("one")}}))
	for sum, want := range map[string]string{"x": "one", "y": "two", "big": big, "none": ""} {
		same(t, "content "+sum, string(get[[]byte](t)(db.Content(ctx, alice, s, sum))), want)
	}
	_, err = db.Content(ctx, alice, other, "x")
	wantKind(t, err, jackline.NotFound)

	// Only the newest few sessions keep what their next command is compared with.
	const kept = 4
	all := []jackline.SessionID{s}
	for range kept {
		all = append(all, session(t, db, alice))
	}
	for i, id := range all {
		must(t, db.KeepBase(ctx, alice, id, "part", []byte("part")))
		must(t, db.KeepBase(ctx, alice, id, "", fmt.Append(nil, "list ", i)))
	}
	for i, id := range all {
		text, err := db.Base(ctx, alice, id, "", 0, -1)
		if i == 0 {
			wantKind(t, err, jackline.Gone)
			_, err = db.Base(ctx, alice, id, "part", 1, 2)
			wantKind(t, err, jackline.Gone)
			continue
		}
		must(t, err)
		same(t, "a base", string(text), fmt.Sprint("list ", i))
		same(t, "a part", string(get[[]byte](t)(db.Base(ctx, alice, id, "part", 1, 2))), "ar")
	}
	same(t, "what was kept stays", string(get[[]byte](t)(db.Content(ctx, alice, s, "x"))), "one")
	_, err = db.Base(ctx, alice, all[1], "part", 2, 9)
	wantKind(t, err, jackline.Gone)
	must(t, db.DropBase(ctx, alice, all[1], "", "part", "never"))
	_, err = db.Base(ctx, alice, all[1], "", 0, -1)
	wantKind(t, err, jackline.Gone)
}
