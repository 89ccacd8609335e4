package server_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store/chain"
)

// TestAuditOverHTTP asks why calls ran, and reads what was written down of them.
func TestAuditOverHTTP(t *testing.T) {
	w := newWorld(t)
	s := w.Session()
	k := w.Submit(s.ID, writes)
	w.Ends(k.Turn.ID, jackline.Waiting)
	row := w.Pending(s.ID)[0]
	do[any](w, 200, "POST", "/api/tools/approvals/"+string(row.ID), map[string]any{"approved": true})
	w.Ends(k.Turn.ID, jackline.Done)

	var kinds []string
	for _, e := range do[[]jackline.AuditEntry](w, 200, "GET", "/api/audit?oldest=true&session="+string(s.ID), nil) {
		kinds = append(kinds, string(e.Kind))
		if e.Call != "" && (e.Call != row.Call || e.Tool != "put_text" || e.Owner != jackline.Local) {
			t.Errorf("%+v", e)
		}
	}
	want := "session.created approval.opened approval.approved approval.used call.started call.ended"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	type explained struct {
		Tool, State, Outcome string
		Rulings              []jackline.Ruling
		Approval             jackline.ApprovalID
		Answer               struct{ State, By string }
		Audit                []jackline.AuditEntry
	}
	x := do[explained](w, 200, "GET", "/api/tools/calls/"+string(row.Call)+"/explain", nil)
	if x.Tool != "put_text" || x.Outcome != "ok" || x.Approval != row.ID || x.Answer.State != "used" || x.Answer.By != "api" || len(x.Audit) != 5 {
		t.Errorf("%+v", x)
	}
	n := len(x.Rulings)
	if n < 2 || x.Rulings[0].Verdict != jackline.Ask || x.Rulings[n-1].Stage != "approval" || x.Rulings[n-1].Verdict != jackline.Allow {
		t.Errorf("%+v", x.Rulings)
	}
	// The digest is of the very arguments, wherever it stands.
	if x.Audit[0].Args == "" || x.Audit[0].Args != x.Audit[3].Args {
		t.Errorf("%+v", x.Audit)
	}
	first := do[jackline.AuditEntry](w, 200, "GET", "/api/audit/1", nil)
	if first.N != 1 || first.MAC == "" {
		t.Errorf("%+v", first)
	}
	w.refused(404, "GET", "/api/audit/999999", nil)
	w.refused(422, "GET", "/api/audit?verdict=maybe", nil)
	w.refused(422, "GET", "/api/audit?since=yesterday", nil)
	w.refused(404, "GET", "/api/tools/calls/c_none/explain", nil)
	if got := do[[]jackline.AuditEntry](w, 200, "GET", "/api/audit?until=2001-01-01T00:00:00Z", nil); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	for _, q := range []string{"", "?full=true"} {
		if r := do[jackline.AuditReport](w, 200, "GET", "/api/audit/verify"+q, nil); !r.OK || r.Checked < 6 {
			t.Errorf("%+v", r)
		}
	}
	res := w.send("GET", "/api/audit/export", nil)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Fatal(err, res.Header)
	}
	r, err := chain.VerifyExport(bytes.NewReader(text), chain.Keys{})
	if err != nil || !r.OK || !r.Full || r.Checked < 6 {
		t.Errorf("%+v %v", r, err)
	}
}

// TestAuditOfControl changes what people change, and looks that each change left its line.
func TestAuditOfControl(t *testing.T) {
	w := newWorld(t)
	s := w.Session()
	do[any](w, 200, "PATCH", "/api/sessions/"+string(s.ID), map[string]any{"mode": "ask"})
	do[any](w, 200, "POST", "/api/stop", map[string]any{})
	do[any](w, 200, "POST", "/api/stop", map[string]any{"lift": true})
	code := do[struct{ Code string }](w, 201, "POST", "/api/login/codes", nil)
	do[any](w, 200, "POST", "/api/login", map[string]any{"code": code.Code})
	do[any](w, 200, "POST", "/api/workspace/trust", map[string]any{"path": w.Folder, "trusted": true})
	do[any](w, 204, "DELETE", "/api/sessions/"+string(s.ID), nil)
	var said []string
	for _, e := range do[[]jackline.AuditEntry](w, 200, "GET", "/api/audit?oldest=true", nil) {
		said = append(said, strings.TrimSpace(string(e.Kind)+" "+e.What))
	}
	want := "session.created allow-reads, session.mode ask, switch.on kill, switch.off kill, token.made login code, login code, setting.changed workspace.trusted, session.deleted"
	if got := strings.Join(said, ", "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
