package storetest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
)

// audit writes records of two owners and reads the lines that they leave: one chain, each owner's own view of it, and
// filters.
func audit(t *testing.T, db *store.DB) {
	ctx := t.Context()
	one, two := session(t, db, alice), session(t, db, bob)
	line := func(n int, tool string) jackline.AuditEntry {
		return jackline.AuditEntry{Kind: jackline.AuditRan, Session: one, Call: jackline.CallID(fmt.Sprint("c_", n)), Tool: tool, Verdict: "allow",
			Rule: "r", Stage: "policy", Outcome: "ok", MS: 5, Out: 6, Labels: jackline.Labels{Private: true}, Sandbox: jackline.SandboxNamespaces,
			Value: json.RawMessage(`{"a":1}`)}
	}
	began := time.Now()
	appendTo(t, db, alice, jackline.Record{Session: one, Audit: []jackline.AuditEntry{line(1, "file_read"), line(2, "shell")}})
	a := full(two, 1).Approvals[0]
	appendTo(t, db, bob, jackline.Record{Session: two, Approvals: []jackline.Approval{a}})
	a.State, a.Answer = jackline.Refused, jackline.Answer{By: "page"}
	appendTo(t, db, bob, jackline.Record{Session: two, Approvals: []jackline.Approval{a}, From: jackline.Pending})
	mode := jackline.ModeAllowAll
	appendTo(t, db, alice, jackline.Record{Session: one, Mode: &mode})
	must(t, db.DeleteSession(ctx, alice, one))

	said := func(owner jackline.Owner, q jackline.AuditQuery) string {
		var list []string
		for _, e := range get[[]jackline.AuditEntry](t)(db.Audit(ctx, owner, q)) {
			list = append(list, fmt.Sprintf("%d %s", e.N, e.Kind))
		}
		return strings.Join(list, ", ")
	}
	everything := "1 session.created, 2 session.created, 3 call.ran, 4 call.ran, 5 approval.opened, 6 approval.denied, 7 session.mode, 8 session.deleted"
	for name, test := range map[string]struct {
		q    jackline.AuditQuery
		want string
	}{
		"everybody's":  {jackline.AuditQuery{Everybody: true, Oldest: true}, everything},
		"alice's":      {jackline.AuditQuery{}, "8 session.deleted, 7 session.mode, 4 call.ran, 3 call.ran, 1 session.created"},
		"one call":     {jackline.AuditQuery{Call: "c_2"}, "4 call.ran"},
		"one tool":     {jackline.AuditQuery{Tool: "file_read"}, "3 call.ran"},
		"one kind":     {jackline.AuditQuery{Kind: jackline.AuditMode}, "7 session.mode"},
		"one session":  {jackline.AuditQuery{Session: one, Limit: 1}, "8 session.deleted"},
		"one verdict":  {jackline.AuditQuery{Verdict: "deny", Everybody: true}, "6 approval.denied"},
		"behind":       {jackline.AuditQuery{After: 4, Oldest: true, Everybody: true, Limit: 2}, "5 approval.opened, 6 approval.denied"},
		"before":       {jackline.AuditQuery{Before: 3, Everybody: true}, "2 session.created, 1 session.created"},
		"in the past":  {jackline.AuditQuery{Until: began.Add(-time.Hour), Everybody: true}, ""},
		"since":        {jackline.AuditQuery{Since: began.Add(time.Hour), Everybody: true}, ""},
		"bob's of one": {jackline.AuditQuery{Session: two, Tool: "nothing"}, ""},
	} {
		if got := said(alice, test.q); got != test.want {
			t.Errorf("%s: %s\nwant %s", name, got, test.want)
		}
	}
	e := get[jackline.AuditEntry](t)(db.AuditLine(ctx, alice, false, 3))
	want := line(1, "file_read")
	if e.Args == "" || e.In != 7 || e.At.Before(began.Add(-time.Minute)) {
		t.Fatalf("%+v", e)
	}
	want.N, want.At, want.Owner, want.In, want.Args, want.Prev, want.MAC, want.Value = 3, e.At, alice, 7, e.Args, e.Prev, e.MAC, nil
	same(t, "the line", e, want)
	_, err := db.AuditLine(ctx, alice, false, 5)
	wantKind(t, err, jackline.NotFound)
	get[jackline.AuditEntry](t)(db.AuditLine(ctx, alice, true, 5))
	for _, full := range []bool{true, false} {
		if r := get[jackline.AuditReport](t)(db.VerifyAudit(ctx, full)); !r.OK || r.Last != 8 || r.Checked != 8 {
			t.Fatalf("%+v", r)
		}
	}
	wantKind(t, db.Note(ctx, "", line(1, "x")), jackline.Invalid)
}
