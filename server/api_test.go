package server_test

import (
	"net/http"
	"testing"

	"github.com/jackline-ai/jackline"
)

func TestTurnOverHTTP(t *testing.T) {
	w := newWorld(t)
	s := do[jackline.Session](w, 201, "POST", "/api/sessions", map[string]any{"title": "First"})
	k := do[struct {
		Turn            jackline.Turn
		Queued, Steered bool
	}](w, 202, "POST", "/api/sessions/"+string(s.ID)+"/turns", map[string]any{"prompt": `say hello; call put_text {"path":"a.txt","text":"x"}; say bye`, "onAsk": "wait"})
	if k.Queued || k.Steered || k.Turn.Status != jackline.Running {
		t.Errorf("taken as %+v", k)
	}
	w.ends(k.Turn.ID, jackline.Waiting)
	rows := do[[]jackline.Approval](w, 200, "GET", "/api/tools/approvals?session="+string(s.ID), nil)
	if len(rows) != 1 || rows[0].Tool != "put_text" {
		t.Fatalf("cards %+v", rows)
	}
	a := do[jackline.Approval](w, 200, "POST", "/api/tools/approvals/"+string(rows[0].ID), map[string]any{"approved": true})
	if a.State != jackline.Approved || a.Answer.By != "api" {
		t.Errorf("answered %+v", a)
	}
	w.ends(k.Turn.ID, jackline.Done)
	if got := w.files.get("a.txt"); got != "x" {
		t.Errorf("file holds %q", got)
	}
	p := w.refused(http.StatusConflict, "POST", "/api/tools/approvals/"+string(rows[0].ID), map[string]any{"approved": false})
	if p.By != "api" {
		t.Errorf("answered by %q: %+v", p.By, p)
	}
}
