package storetest

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
)

// A try is what bob does with something of alice's.
type try func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error

// absent are the methods that take the id of a row: for bob the row is not there.
func absent() map[string]try {
	return map[string]try{
		"Append": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Append(ctx, bob, jackline.Record{Session: s, Title: "bob was here", Events: []jackline.Event{text(s, 1)}}))
		},
		"Attach": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Attach(ctx, bob, jackline.Attachment{Session: s, Name: "bob was here"}, []byte("bob"), "bob"))
		},
		"Attachment": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Attachment(ctx, bob, rec.Turn.Options.Attachments[0]))
		},
		"AttachmentData": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.AttachmentData(ctx, bob, rec.Turn.Options.Attachments[0]))
		},
		"AttachmentText": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.AttachmentText(ctx, bob, rec.Turn.Options.Attachments[0]))
		},
		"Attachments": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Attachments(ctx, bob, s))
		},
		"Detach": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return db.Detach(ctx, bob, rec.Turn.Options.Attachments[0])
		},
		"Approval": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Approval(ctx, bob, rec.Approvals[0].ID))
		},
		"Approvals": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			if err := second(db.Approvals(ctx, bob, store.ApprovalFilter{Session: s})); jackline.KindOf(err) != jackline.NotFound {
				return err
			}
			return second(db.Approvals(ctx, bob, store.ApprovalFilter{Turn: rec.Turn.ID}))
		},
		"Call": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Call(ctx, bob, rec.Calls[0].ID))
		},
		"Calls": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Calls(ctx, bob, rec.Turn.ID))
		},
		"DeleteSession": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return db.DeleteSession(ctx, bob, s)
		},
		"AuditLine": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.AuditLine(ctx, bob, false, 1))
		},
		"DropQueued": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return db.DropQueued(ctx, bob, "t_queued")
		},
		"EditQueued": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.EditQueued(ctx, bob, "t_queued", "bob was here"))
		},
		"Events": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Events(ctx, bob, s, 0, 0))
		},
		"Grants": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Grants(ctx, bob, s))
		},
		"History": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.History(ctx, bob, s))
		},
		"Base": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Base(ctx, bob, s, "", 0, -1))
		},
		"Content": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Content(ctx, bob, s, "sum"))
		},
		"DropBase": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return db.DropBase(ctx, bob, s, "")
		},
		"Hold": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return db.Hold(ctx, bob, s, []jackline.Content{{Sum: "other", Data: []byte("bob was here")}})
		},
		"KeepBase": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return db.KeepBase(ctx, bob, s, "", []byte("bob was here"))
		},
		"Snapshots": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Snapshots(ctx, bob, s, string(rec.Turn.ID)))
		},
		"UnitSession": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.UnitSession(ctx, bob, string(rec.Turn.ID)))
		},
		"ReadSpill": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			page, total, err := db.ReadSpill(ctx, bob, rec.Calls[0].ID, 0, 100)
			if page != "" || total != 0 {
				return nil
			}
			return err
		},
		"RevokeGrant": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return db.RevokeGrant(ctx, bob, rec.Grants[0].ID)
		},
		"Session": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Session(ctx, bob, s))
		},
		"State": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.State(ctx, bob, s, "plan"))
		},
		"Turn": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Turn(ctx, bob, rec.Turn.ID))
		},
		"Turns": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return second(db.Turns(ctx, bob, s))
		},
		"WriteSpill": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			if err := db.WriteSpill(ctx, bob, s, rec.Calls[0].ID, "bob was here"); jackline.KindOf(err) != jackline.NotFound {
				return err
			}
			mine, err := db.CreateSession(ctx, bob, jackline.Session{})
			if err != nil {
				return err
			}
			return db.WriteSpill(ctx, bob, mine.ID, rec.Calls[0].ID, "bob was here")
		},
	}
}

// own are the methods that take no id: bob gets what is his, which is nothing, and what he does touches nothing of
// alice's.
func own() map[string]try {
	return map[string]try{
		"AllEvents": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return nothing(db.AllEvents(ctx, bob, 0, 0))
		},
		"Approvals": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			if err := nothing(db.Approvals(ctx, bob, store.ApprovalFilter{Call: rec.Calls[0].ID})); err != nil {
				return err
			}
			return nothing(db.Approvals(ctx, bob, store.ApprovalFilter{}))
		},
		"Audit": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			lines, err := db.Audit(ctx, bob, jackline.AuditQuery{})
			for _, e := range lines {
				if e.Owner != bob {
					return jackline.E("storetest", jackline.Internal, nil, "bob sees %v", e)
				}
			}
			return err
		},
		"ExportAudit": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			var b strings.Builder
			err := db.ExportAudit(ctx, bob, jackline.AuditQuery{}, &b)
			if strings.Contains(b.String(), string(alice)) {
				return jackline.E("storetest", jackline.Internal, nil, "bob sees %s", b.String())
			}
			return err
		},
		"Note": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return db.Note(ctx, bob, jackline.AuditEntry{Kind: jackline.AuditLogin})
		},
		"Begin": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			if _, err := db.Begin(ctx, bob, jackline.Session{ID: s}, jackline.Record{}, store.Claim{}); jackline.KindOf(err) != jackline.Conflict {
				return jackline.E("storetest", jackline.Internal, err, "bob begins alice's session")
			}
			_, err := db.Begin(ctx, bob, jackline.Session{}, jackline.Record{Turn: &jackline.Turn{ID: rec.Turn.ID, Status: jackline.Queued}}, store.Claim{})
			if jackline.KindOf(err) != jackline.NotFound {
				return jackline.E("storetest", jackline.Internal, err, "bob begins with alice's turn")
			}
			_, err = db.Begin(ctx, bob, jackline.Session{}, jackline.Record{}, store.Claim{})
			return err
		},
		"CreateSession": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			if _, err := db.CreateSession(ctx, bob, jackline.Session{ID: s}); jackline.KindOf(err) != jackline.Conflict {
				return err
			}
			return nil
		},
		"Grants": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return nothing(db.Grants(ctx, bob, ""))
		},
		"Live": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			w := db.Watch(alice, "")
			defer w.Close()
			db.Live(bob, delta(s, "bob was here"))
			return nothing(w.Live(), nil)
		},
		"PutSetting": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return db.PutSetting(ctx, bob, "agent", nil)
		},
		"PutSettings": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			return db.PutSettings(ctx, bob, map[string]json.RawMessage{"agent": nil, "tools": nil})
		},
		"Sessions": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			for _, q := range []store.SessionQuery{{}, {Search: "title"}, {Search: "tell"}} {
				rows, err := db.Sessions(ctx, bob, q)
				for _, row := range rows {
					if row.Owner != bob {
						return jackline.E("storetest", jackline.Internal, nil, "bob sees %v", row)
					}
				}
				if err != nil {
					return err
				}
			}
			return nil
		},
		"Setting": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			v, err := db.Setting(ctx, bob, "agent")
			return nothing([]byte(v), err)
		},
		"Settings": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			m, err := db.Settings(ctx, bob)
			return nothing(make([]int, len(m)), err)
		},
		"Watch": func(ctx context.Context, db *store.DB, bob jackline.Owner, s jackline.SessionID, rec jackline.Record) error {
			for _, of := range []jackline.SessionID{"", s} {
				w := db.Watch(bob, of)
				defer w.Close()
				<-w.Wake()
				db.Live(alice, delta(s, "secret"))
				select {
				case <-w.Wake():
					return jackline.E("storetest", jackline.Internal, nil, "bob was woken")
				default:
				}
				if err := nothing(w.Live(), nil); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// nothing is an error unless a list is empty.
func nothing[T any](list []T, err error) error {
	if err == nil && len(list) > 0 {
		return jackline.E("storetest", jackline.Internal, nil, "bob sees %v", list)
	}
	return err
}

// ownerless are the methods that serve the program, not a person.
func ownerless() []string {
	return []string{
		"Close", "Dir", "ExpiringApprovals", "Flag", "Hide", "HolderOf", "Key", "LastSeq", "Lease", "Mark", "Marked", "Marks", "OpenTurns", "Release", "Renew", "SetFlag", "Settle", "Spare", "Unmark", "VerifyAudit",
	}
}

// everyMethod tries each method of the store as bob on alice's rows. A method that is in none of the lists above
// fails the test, so that nobody adds one without saying what it shows to whom.
func everyMethod(t *testing.T, db *store.DB) {
	ctx := t.Context()
	s := session(t, db, alice)
	rec := full(s, 1)
	a, err := db.Attach(ctx, alice, jackline.Attachment{Session: s, Name: "a.txt", Type: "text/plain"}, []byte("alice's"), "alice's")
	must(t, err)
	rec.Turn.Options.Attachments = []jackline.AttachmentID{a.ID}
	appendTo(t, db, alice, rec)
	appendTo(t, db, alice, jackline.Record{Session: s, Turn: &jackline.Turn{ID: "t_queued", Status: jackline.Queued, Prompt: "tell"}})
	rec.Turn.Status = jackline.Done // so that nothing but the owner forbids to delete the session
	appendTo(t, db, alice, jackline.Record{Session: s, Turn: rec.Turn})
	must(t, db.WriteSpill(ctx, alice, s, rec.Calls[0].ID, "alice's"))
	must(t, db.Hold(ctx, alice, s, []jackline.Content{{Sum: "sum", Data: []byte("alice's")}}))
	must(t, db.KeepBase(ctx, alice, s, "", []byte("alice's")))
	must(t, db.PutSetting(ctx, alice, "agent", json.RawMessage(`{}`)))
	before := snapshot(t, db, alice, s)

	covered := map[string]bool{}
	for _, name := range ownerless() {
		covered[name] = true
	}
	for name, try := range absent() {
		covered[name] = true
		t.Run(name+"/absent", func(t *testing.T) { wantKind(t, try(ctx, db, bob, s, rec), jackline.NotFound) })
	}
	for name, try := range own() {
		covered[name] = true
		t.Run(name+"/own", func(t *testing.T) { must(t, try(ctx, db, bob, s, rec)) })
	}
	same(t, "alice's rows", snapshot(t, db, alice, s), before)
	if page, _, err := db.ReadSpill(ctx, alice, rec.Calls[0].ID, 0, 100); page != "alice's" || err != nil {
		t.Fatalf("alice's spill: %q, %v", page, err)
	}
	if text, err := db.Content(ctx, alice, s, "sum"); string(text) != "alice's" || err != nil {
		t.Fatalf("what alice's file held: %q, %v", text, err)
	}
	if text, err := db.Base(ctx, alice, s, "", 0, -1); string(text) != "alice's" || err != nil {
		t.Fatalf("alice's base: %q, %v", text, err)
	}
	if text, err := db.AttachmentText(ctx, alice, a.ID); text != "alice's" || err != nil {
		t.Fatalf("alice's attachment: %q, %v", text, err)
	}
	typ, owner := reflect.TypeFor[*store.DB](), reflect.TypeFor[jackline.Owner]()
	for m := range typ.Methods() {
		takes := false
		for i := range m.Type.NumIn() {
			takes = takes || m.Type.In(i) == owner
		}
		switch {
		case !covered[m.Name]:
			t.Errorf("no test says what %s shows to whom", m.Name)
		case takes == slices.Contains(ownerless(), m.Name):
			t.Errorf("%s: it takes an owner: %v", m.Name, takes)
		}
		delete(covered, m.Name)
	}
	for name := range covered {
		t.Errorf("there is no method %s", name)
	}
}
