package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
)

// call makes a person's own call and gives the status and, where it is asked about, its card.
func (a *api) call(s jackline.SessionID, name string, args map[string]any) (int, jackline.Approval, string) {
	a.t.Helper()
	status, b := a.send("POST", "/api/tools/run", map[string]any{"name": name, "args": args, "session": s})
	var p struct{ Decision, Approval, Text string }
	if err := json.Unmarshal(b, &p); err != nil {
		a.t.Fatalf("%s: %v", b, err)
	}
	if p.Approval == "" {
		return status, jackline.Approval{}, string(b)
	}
	return status, want[jackline.Approval](a, 200, "GET", "/api/tools/approvals/"+p.Approval, nil), string(b)
}

// asked makes a call that must be asked about.
func (a *api) asked(s jackline.SessionID, name string, args map[string]any) jackline.Approval {
	a.t.Helper()
	status, card, text := a.call(s, name, args)
	if status != 403 || card.ID == "" {
		a.t.Fatalf("%s %v is not asked about: %d %s", name, args, status, text)
	}
	return card
}

// runs makes a call that must run.
func (a *api) runs(s jackline.SessionID, name string, args map[string]any) {
	a.t.Helper()
	if status, _, text := a.call(s, name, args); status != 200 {
		a.t.Fatalf("%s %v does not run: %d %s", name, args, status, text)
	}
}

func shellArgs(command string) map[string]any { return map[string]any{"command": command} }

// approvalsHome is a server with a workspace that has something to run in it, and a second workspace of the same kind.
func approvalsHome(t *testing.T) (h *home, a *api, s, elsewhere jackline.Session) {
	t.Helper()
	h = newHome(t, "http://127.0.0.1:1", "text")
	h.write("greet.sh", "echo hello $1 >> greeted\n")
	h.write("other.sh", "echo other >> greeted\n")
	other := filepath.Join(filepath.Dir(h.ws), "other")
	if err := os.CopyFS(other, os.DirFS(h.ws)); err != nil {
		t.Fatal(err)
	}
	a = h.serve()
	return h, a, a.session(map[string]any{"workspace": h.ws}), a.session(map[string]any{"workspace": other})
}

// A yes for the workspace is a rule that everybody can see, in that workspace only, until it is taken out.
func TestRuleForTheWorkspace(t *testing.T) {
	t.Parallel()
	h, a, s, elsewhere := approvalsHome(t)
	card := a.asked(s.ID, "shell", shellArgs("sh greet.sh"))
	if !slices.Contains(card.Scopes, jackline.Lasting) || card.Pattern != "shell(sh greet.sh)" {
		t.Fatalf("offered %v %q", card.Scopes, card.Pattern)
	}
	yes := map[string]any{"approved": true, "scope": "workspace"}
	if status, b := a.send("POST", "/api/tools/approvals/"+string(card.ID), yes); status != 422 || !strings.Contains(string(b), "confirm") {
		t.Errorf("without a second click: %d %s", status, b)
	}
	yes["confirm"] = true
	a.answer(card.ID, yes)
	p := want[standing](a, 200, "GET", "/api/permissions", nil)
	if len(p.Rules) != 1 || p.Rules[0].Pattern != "shell(sh greet.sh)" || p.Rules[0].Workspace != s.Workspace || p.Rules[0].Do != jackline.Allow {
		t.Fatalf("the rules: %+v", p.Rules)
	}
	a.asked(s.ID, "shell", shellArgs("sh other.sh"))
	for range 2 { // each in a chat that has read nothing yet
		a.runs(a.session(map[string]any{"workspace": h.ws}).ID, "shell", shellArgs("sh greet.sh"))
	}
	a.asked(elsewhere.ID, "shell", shellArgs("sh greet.sh"))
	again := a.asked(elsewhere.ID, "shell", shellArgs("sh greet.sh"))
	a.answer(again.ID, map[string]any{"approved": true})

	// What a rule would widen is not offered as one, and neither is what may not last.
	for _, c := range []struct {
		tool string
		args map[string]any
	}{
		{"shell", shellArgs("sh greet.sh *.sh")}, {"shell", shellArgs("sh greet.sh && sh other.sh")}, {"file_delete", map[string]any{"path": "other.sh"}},
		{"shell", shellArgs("sh greet.sh $(cat x)")},
	} {
		if card := a.asked(s.ID, c.tool, c.args); slices.Contains(card.Scopes, jackline.Lasting) {
			t.Errorf("%s %v may last: %v %q", c.tool, c.args, card.Scopes, card.Pattern)
		} else if status, b := a.send("POST", "/api/tools/approvals/"+string(card.ID), yes); status != 409 {
			t.Errorf("%s %v lasts: %d %s", c.tool, c.args, status, b)
		}
	}

	code, out, _ := h.cli("permissions", "grants")
	if code != 0 || !strings.Contains(out, "allow shell(sh greet.sh)") || !strings.Contains(out, s.Workspace) {
		t.Errorf("listed as %d %s", code, out)
	}
	if code, _, errs := h.cli("permissions", "forget", "allow shell(sh greet.sh)"); code == 0 {
		t.Errorf("a rule that holds everywhere was found: %s", errs)
	}
	if code, _, errs := h.cli("permissions", "forget", "allow shell(sh greet.sh)", "--workspace", s.Workspace); code != 0 {
		t.Errorf("forget: %d %s", code, errs)
	}
	a.asked(s.ID, "shell", shellArgs("sh greet.sh"))
}

// A person may say with a pattern what a yes covers: what fits it, no more than can be overseen, and never beyond what the card offers.
func TestPatternByHand(t *testing.T) {
	t.Parallel()
	h, a, s, _ := approvalsHome(t)
	card := a.asked(s.ID, "shell", shellArgs("sh greet.sh you"))
	path := "/api/tools/approvals/" + string(card.ID)
	for _, p := range []string{"shell", "*", "*(sh greet.sh *)", "shell(*)", "shell(sh *)", "shell(sh -c *)", "shell(s* greet.sh you)", "shell(sh other.sh *)",
		"file_write(**)", "shell(sh greet.sh", "shell()", "python(sh greet.sh *)"} {
		if status, b := a.send("POST", path, map[string]any{"approved": true, "scope": "chat", "pattern": p}); status < 400 || status >= 500 {
			t.Errorf("%s is taken: %d %s", p, status, b)
		}
	}
	if status, b := a.send("POST", path, map[string]any{"approved": true, "scope": "once", "pattern": "shell(sh greet.sh *)"}); status != 422 {
		t.Errorf("a pattern for once: %d %s", status, b)
	}
	if status, b := a.send("POST", path, map[string]any{"approved": false, "pattern": "shell(sh greet.sh *)"}); status != 422 {
		t.Errorf("a pattern for a no: %d %s", status, b)
	}
	a.answer(card.ID, map[string]any{"approved": true, "scope": "chat", "pattern": "shell(sh greet.sh *)"})
	for _, c := range []string{"sh other.sh", "sh greet.sh; sh other.sh", "sh greet.sh you > out", "sh greet.sh $X", "sh greet.sh you && rm greeted"} {
		a.asked(s.ID, "shell", shellArgs(c))
	}
	a.runs(s.ID, "shell", shellArgs("sh greet.sh them"))
	// The chat has read what a command wrote by now, which somebody else could have: what was granted to it does not count any more.
	if card := a.asked(s.ID, "shell", shellArgs("sh greet.sh them")); slices.Contains(card.Scopes, jackline.Chat) || slices.Contains(card.Scopes, jackline.Lasting) {
		t.Errorf("a tainted chat is offered %v", card.Scopes)
	}
	p := want[standing](a, 200, "GET", "/api/permissions", nil)
	if len(p.Grants) != 1 || p.Grants[0].Kind != jackline.GrantPattern || p.Grants[0].Value != "shell(sh greet.sh *)" {
		t.Fatalf("the grants: %+v", p.Grants)
	}
	if code, _, errs := h.cli("permissions", "revoke", string(p.Grants[0].ID)); code != 0 {
		t.Fatal(errs)
	}

	// A folder, by hand.
	s = a.session(map[string]any{"workspace": h.ws})
	card = a.asked(s.ID, "file_write", map[string]any{"path": "src/a/x.txt", "content": "x"})
	path = "/api/tools/approvals/" + string(card.ID)
	for _, p := range []string{"file_write(**)", "file_write(*/a/*)", "file_write(doc/**)", "file_write"} {
		if status, b := a.send("POST", path, map[string]any{"approved": true, "scope": "chat", "pattern": p}); status < 400 || status >= 500 {
			t.Errorf("%s is taken: %d %s", p, status, b)
		}
	}
	a.answer(card.ID, map[string]any{"approved": true, "scope": "chat", "pattern": "file_write(src/**)"})
	a.runs(s.ID, "file_write", map[string]any{"path": "src/b/c/y.txt", "content": "y"})
	a.asked(s.ID, "file_write", map[string]any{"path": "lib/y.txt", "content": "y"})
}

// The cards of a step are answered together, each by itself.
func TestAnswerTogether(t *testing.T) {
	t.Parallel()
	h, a, s, _ := approvalsHome(t)
	write := func(name string) jackline.Approval {
		return a.asked(s.ID, "file_write", map[string]any{"path": name, "content": "x"})
	}
	one, two, gone := write("one"), write("two"), write("gone")
	del := a.asked(s.ID, "file_delete", map[string]any{"path": "other.sh"})
	del2 := a.asked(s.ID, "file_delete", map[string]any{"path": "greet.sh"})
	a.answer(gone.ID, map[string]any{"approved": false})
	type answered struct {
		ID       jackline.ApprovalID
		Status   int
		Approval *jackline.Approval
		Problem  *struct{ Detail, By string }
	}
	list := want[[]answered](a, 200, "POST", "/api/tools/approvals", map[string]any{"answers": []map[string]any{
		{"id": one.ID, "approved": true}, {"id": two.ID, "approved": false, "reason": "not now"}, {"id": gone.ID, "approved": true},
		{"id": del.ID, "approved": true}, {"id": del2.ID, "approved": true, "confirm": true}, {"id": "a_none", "approved": true},
	}})
	for k, status := range []int{200, 200, 409, 422, 200, 404} {
		if list[k].Status != status || (list[k].Problem == nil) != (status == 200) || (list[k].Approval == nil) == (status == 200) {
			t.Errorf("answer %d: %+v, want %d", k+1, list[k], status)
		}
	}
	if list[2].Problem.By == "" || list[0].Approval.State != jackline.Approved || list[1].Approval.State != jackline.Refused {
		t.Errorf("%+v", list)
	}
	if del = want[jackline.Approval](a, 200, "GET", "/api/tools/approvals/"+string(del.ID), nil); del.State != jackline.Pending {
		t.Errorf("high risk among others was answered: %s", del.State)
	}
	for _, bad := range []map[string]any{
		{}, {"answers": []any{}}, {"answers": []map[string]any{{"id": one.ID, "approved": true}, {"id": one.ID, "approved": false}}},
		{"answers": slices.Repeat([]map[string]any{{"id": "a_x", "approved": true}}, 21)},
	} {
		if status, b := a.send("POST", "/api/tools/approvals", bad); status != 422 {
			t.Errorf("%v: %d %s", bad, status, b)
		}
	}
	// By the command line, with the word that high risk needs.
	three, four := write("three"), a.asked(s.ID, "file_delete", map[string]any{"path": "other.sh"})
	if code, _, errs := h.cli("approve", "yes", string(three.ID), string(four.ID)); code == 0 || !strings.Contains(errs, "high risk") {
		t.Errorf("%d %s", code, errs)
	}
	if code, _, errs := h.cli("approve", "yes", string(four.ID), string(del.ID), "--confirm"); code != 0 {
		t.Errorf("%d %s", code, errs)
	}
}

// A question can be made to wait longer; what is over cannot.
func TestExtend(t *testing.T) {
	t.Parallel()
	h, a, s, _ := approvalsHome(t)
	want[any](a, 200, "POST", "/api/permissions", map[string]any{"approvalTimeout": 60})
	card := a.asked(s.ID, "file_write", map[string]any{"path": "x", "content": "x"})
	want[any](a, 200, "POST", "/api/permissions", map[string]any{"approvalTimeout": 7200})
	path := "/api/tools/approvals/" + string(card.ID)
	longer := want[jackline.Approval](a, 200, "POST", path+"/extend", nil)
	if longer.Expires.Sub(card.Expires) < time.Hour || longer.State != jackline.Pending {
		t.Errorf("it waits until %s, it was %s", longer.Expires, card.Expires)
	}
	if code, out, errs := h.cli("approve", "extend", string(card.ID)); code != 0 || !strings.Contains(out, "waits until") {
		t.Errorf("%d %s %s", code, out, errs)
	}
	a.answer(card.ID, map[string]any{"approved": true})
	if status, b := a.send("POST", "/api/tools/run", map[string]any{"name": "file_write", "args": map[string]any{"path": "x", "content": "x"}, "session": s.ID, "approved": true, "approval": card.ID}); status != 200 {
		t.Errorf("an extended yes does not hold: %d %s", status, b)
	}
	if status, b := a.send("POST", path+"/extend", nil); status != 409 {
		t.Errorf("what was answered waits longer: %d %s", status, b)
	}
	found := false
	for _, ev := range a.export(s.ID).Events {
		found = found || ev.Type == "tool.approval_extended"
	}
	if !found {
		t.Error("the log does not say that it waits longer")
	}
}

// The classic: a file changes between the card and the yes. It is asked again, and the new card says why.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	h, a, s, _ := approvalsHome(t)
	h.write("a.txt", "old\n")
	args := map[string]any{"path": "a.txt", "content": "new\n"}
	card := a.asked(s.ID, "file_write", args)
	h.write("a.txt", "somebody's\n")
	again := func(card jackline.Approval) (int, string, jackline.Approval) {
		status, b := a.send("POST", "/api/tools/run", map[string]any{"name": "file_write", "args": args, "session": s.ID, "approved": true, "approval": card.ID})
		var p struct{ Approval string }
		_ = json.Unmarshal(b, &p)
		if p.Approval == "" {
			return status, string(b), jackline.Approval{}
		}
		return status, string(b), want[jackline.Approval](a, 200, "GET", "/api/tools/approvals/"+p.Approval, nil)
	}
	status, text, next := again(card)
	if status != 403 || next.ID == card.ID || !strings.Contains(next.Why, "a.txt changed") || h.read("a.txt") != "somebody's\n" {
		t.Fatalf("%d %s: %q", status, text, next.Why)
	}
	if len(next.View.Files) != 1 || !strings.Contains(next.View.Files[0].Patch, "-somebody's") {
		t.Errorf("the new card shows %+v", next.View)
	}
	if status, text, _ := again(next); status != 200 || h.read("a.txt") != "new\n" {
		t.Errorf("%d %s", status, text)
	}
}
