package tool_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// lines are what the audit says of a call, one a word: kind:verdict/stage:outcome.
func (w *world) lines(id jackline.CallID) string {
	w.t.Helper()
	all, err := w.db.Audit(context.Background(), jackline.Local, jackline.AuditQuery{Call: id, Oldest: true})
	if err != nil {
		w.t.Fatal(err)
	}
	var list []string
	for _, e := range all {
		s := fmt.Sprintf("%s:%s/%s", e.Kind, e.Verdict, e.Stage)
		if e.Outcome != "" {
			s += ":" + e.Outcome
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

// rulings are what the call's row keeps of how it was decided.
func (w *world) rulings(id jackline.CallID) string {
	var list []string
	for _, r := range w.stored(id).Rulings {
		list = append(list, fmt.Sprintf("%s:%s:%s", r.Stage, r.Verdict, r.Rule))
	}
	return strings.Join(list, " ")
}

// Each way through the gate leaves its lines, and the call's row says how it was decided.
func TestAuditOfCalls(t *testing.T) {
	for _, test := range []struct {
		name  string
		do    func(w *world) jackline.CallID
		lines string
		kept  string
	}{
		{"a read", func(w *world) jackline.CallID { return w.run("look", `{"path":"a"}`).Call.ID },
			"call.ran:allow/policy:ok", "policy:allow:test"},
		{"a write", func(w *world) jackline.CallID { return w.run("put", write).Call.ID },
			"call.started:allow/policy call.ended:allow/policy:ok", "policy:allow:test"},
		{"a refusal", func(w *world) jackline.CallID { w.judge.verdict = jackline.Deny; return w.run("put", write).Call.ID },
			"call.refused:deny/policy:denied", "policy:deny:test"},
		{"no such tool", func(w *world) jackline.CallID { return w.run("rm -rf /secret", `{}`).Call.ID },
			"call.refused:/look-up:error", ""},
		{"no such arguments", func(w *world) jackline.CallID { return w.run("put", `{"nothing":1}`).Call.ID },
			"call.refused:/arguments:error", ""},
		{"the kill switch", func(w *world) jackline.CallID { w.halt = true; return w.run("put", write).Call.ID },
			"call.refused:deny/kill switch:denied", "policy:allow:test kill switch:deny:kill-switch"},
		{"a question", func(w *world) jackline.CallID { w.judge.verdict = jackline.Ask; return w.asks("put", write).Call.ID },
			"approval.opened:ask/approval", "policy:ask:test"},
		{"a yes", func(w *world) jackline.CallID {
			w.judge.verdict = jackline.Ask
			d := w.asks("put", write)
			w.yes(d.Wait, jackline.Once)
			return w.do(d.Call).Call.ID
		}, "approval.opened:ask/approval approval.approved:allow/approval approval.used:allow/approval call.started:allow/approval call.ended:allow/approval:ok",
			"policy:ask:test approval:allow:person"},
		{"a no", func(w *world) jackline.CallID {
			w.judge.verdict = jackline.Ask
			d := w.asks("put", write)
			w.answer(d.Wait, jackline.Answer{Reason: "no"}, nil)
			return w.do(d.Call).Call.ID
		}, "approval.opened:ask/approval approval.denied:deny/approval call.refused:deny/approval:denied", "policy:ask:test approval:deny:person"},
		{"a grant", func(w *world) jackline.CallID {
			w.judge.verdict = jackline.Ask
			d := w.asks("put", write)
			w.yes(d.Wait, jackline.Chat)
			w.do(d.Call)
			return w.run("put", write).Call.ID
		}, "call.started:allow/grants call.ended:allow/grants:ok", "policy:ask:test grants:allow:grant"},
		{"nobody", func(w *world) jackline.CallID {
			w.judge.verdict = jackline.Ask
			w.who.Turn.Options.OnAsk = jackline.AskDeny
			return w.run("put", write).Call.ID
		}, "call.refused:deny/policy:denied", "policy:ask:test policy:deny:not_shown"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			id := test.do(w)
			if got := w.lines(id); got != test.lines {
				t.Errorf("%s\nwant %s", got, test.lines)
			}
			if got := w.rulings(id); got != test.kept {
				t.Errorf("%s\nwant %s", got, test.kept)
			}
			if r, err := w.db.VerifyAudit(t.Context(), true); err != nil || !r.OK {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}

// The name of a tool that there is not is a model's own text.
func TestAuditOfUnknownTool(t *testing.T) {
	w := newWorld(t)
	id := w.run("rm -rf /secret", `{}`).Call.ID
	all, err := w.db.Audit(t.Context(), jackline.Local, jackline.AuditQuery{Call: id})
	if err != nil || len(all) != 1 || all[0].Tool != "(unknown)" {
		t.Errorf("%+v %v", all, err)
	}
}

// Where the audit cannot be written, what could act does not run, and what only reads brings nothing back.
func TestNoAuditNoRun(t *testing.T) {
	w := newWorld(t)
	spoilAudit(t, w)
	for _, c := range []jackline.Call{w.call("put", write), w.call("mail", write)} {
		if d, err := w.try(t.Context(), tool.Request{Call: c}); err == nil || d.Call.State != jackline.CallNew {
			t.Errorf("%s: %v, %s", c.Name, err, d.Call.State)
		}
	}
	w.wantRuns()
	// A read is written when it is over, and its turn hears of it with the next record at the latest.
	c := w.call("look", `{"path":"a"}`)
	_, err := w.try(t.Context(), tool.Request{Call: c})
	if err == nil {
		_, err = w.db.Append(t.Context(), jackline.Local, jackline.Record{Session: w.who.Session.ID, Turn: &w.who.Turn})
	}
	if err == nil {
		t.Error("a read went unnoticed")
	}
	if s := w.stored(c.ID).State; s == jackline.CallEnded {
		t.Error("a read without its line was kept")
	}
}

// spoilAudit makes every line of the audit fail.
func spoilAudit(t *testing.T, w *world) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.db.Dir(), "jackline.db")+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.ExecContext(t.Context(), `CREATE TRIGGER audit_fails BEFORE INSERT ON audit BEGIN SELECT RAISE(ABORT, 'no'); END`); err != nil {
		t.Fatal(err)
	}
}
