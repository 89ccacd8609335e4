package server_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server"
	"github.com/jackline-ai/jackline/server/guard"
	"github.com/jackline-ai/jackline/server/runs/runstest"
	"github.com/jackline-ai/jackline/tool"
)

var update = flag.Bool("update", false, "write docs/openapi.json")

// TestDocument holds the API to what is written down of it, and to the fields of its nouns.
func TestDocument(t *testing.T) {
	w := newWorld(t)
	res := w.send("GET", "/openapi.json", nil)
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	got = []byte(strings.Replace(string(got), `"version": "test"`, `"version": "dev"`, 1))
	const file = "../docs/openapi.json"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("the API has changed; go test ./server -run Document -update writes it down:\n%s", d)
	}
	for _, m := range jackline.Modes() {
		if !strings.Contains(string(got), `"`+m+`"`) {
			t.Errorf("the mode %s is missing", m)
		}
	}
	for _, not := range []string{"$schema", "ErrorModel", "/home/"} {
		if strings.Contains(string(got), not) {
			t.Errorf("the document holds %s", not)
		}
	}
}

type takenBody struct {
	Turn            jackline.Turn
	Queued, Steered bool
}

func (w *world) post(s jackline.SessionID, in map[string]any) takenBody {
	w.T.Helper()
	return do[takenBody](w, 202, "POST", "/api/sessions/"+string(s)+"/turns", in)
}

func TestTurnOverHTTP(t *testing.T) {
	w := newWorld(t)
	s := do[jackline.Session](w, 201, "POST", "/api/sessions", map[string]any{"title": "First"})
	if s.Mode != jackline.ModeAllowReads || s.Workspace != w.Folder || s.Title != "First" {
		t.Errorf("%+v", s)
	}
	k := w.post(s.ID, map[string]any{"prompt": "say hello; " + writes + "; say bye", "onAsk": "wait", "tz": "UTC", "max_steps": 4})
	if k.Queued || k.Steered || k.Turn.Status != jackline.Running {
		t.Errorf("taken as %+v", k)
	}
	w.Ends(k.Turn.ID, jackline.Waiting)
	rows := do[[]jackline.Approval](w, 200, "GET", "/api/tools/approvals?session="+string(s.ID), nil)
	if len(rows) != 1 || rows[0].Tool != "put_text" || rows[0].Why == "" {
		t.Fatalf("cards %+v", rows)
	}
	card := "/api/tools/approvals/" + string(rows[0].ID)
	if list := do[[]struct{ Status, Last string }](w, 200, "GET", "/api/sessions", nil); len(list) != 1 || list[0].Status != "waiting" || !strings.HasPrefix(list[0].Last, "say hello") {
		t.Errorf("%+v", list)
	}
	a := do[jackline.Approval](w, 200, "POST", card, map[string]any{"approved": true}, "Sec-Fetch-Mode", "cors")
	if a.State != jackline.Approved || a.Answer.By != "page" {
		t.Errorf("answered %+v", a)
	}
	w.Ends(k.Turn.ID, jackline.Done)
	if got := w.Files.Get("a.txt"); got != "x" {
		t.Errorf("file holds %q", got)
	}
	p := w.refused(http.StatusConflict, "POST", card, map[string]any{"approved": false})
	if p.By != "page" {
		t.Errorf("answered by %q: %+v", p.By, p)
	}
	turns := do[[]jackline.Turn](w, 200, "GET", "/api/sessions/"+string(s.ID)+"/turns", nil)
	if len(turns) != 1 || turns[0].Options.Source != "api" || turns[0].Options.MaxSteps != 4 {
		t.Errorf("%+v", turns)
	}
	c := do[jackline.Call](w, 200, "GET", "/api/sessions/"+string(s.ID)+"/calls/"+string(rows[0].Call), nil)
	if c.Outcome != jackline.OK || c.Text != "written" {
		t.Errorf("%+v", c)
	}
}

func TestPromptsOverHTTP(t *testing.T) {
	w := newWorld(t)
	s := w.Session()
	path := "/api/sessions/" + string(s.ID)
	first := w.post(s.ID, map[string]any{"prompt": "steered; hang"})
	next := w.post(s.ID, map[string]any{"prompt": "say x", "when": "queue"})
	if !next.Queued {
		t.Errorf("%+v", next)
	}
	if k := w.post(s.ID, map[string]any{"prompt": "left", "when": "steer"}); !k.Steered || k.Turn.ID != first.Turn.ID {
		t.Errorf("%+v", k)
	}
	// Words that the stop below overtakes would be a prompt of their own.
	w.Until("the words are heard", func() bool { return slices.Contains(w.Types(s.ID), jackline.Steered{}.Type()) })
	queue := do[[]jackline.Turn](w, 200, "GET", path+"/queue", nil)
	if len(queue) != 1 || queue[0].ID != next.Turn.ID {
		t.Errorf("%+v", queue)
	}
	item := path + "/queue/" + string(next.Turn.ID)
	if v := do[jackline.Turn](w, 200, "PATCH", item, map[string]any{"prompt": "say y"}); v.Prompt != "say y" {
		t.Errorf("%+v", v)
	}
	w.refused(422, "PATCH", item, map[string]any{"prompt": " "})
	do[any](w, 204, "DELETE", item, nil)
	w.refused(404, "DELETE", item, nil)
	w.refused(409, "DELETE", path, nil)
	got := do[struct{ Stopped []jackline.TurnID }](w, 202, "POST", path+"/stop", nil)
	if len(got.Stopped) != 1 {
		t.Errorf("%+v", got)
	}
	w.Ends(first.Turn.ID, jackline.Stopped)
	for status, in := range map[int][]map[string]any{
		422: {{}, {"prompt": ""}, {"prompt": "x", "when": "now"}, {"prompt": "x", "continue": "t_1"}, {"prompt": "x", "max_steps": 2001}, {"prompt": "x", "onAsk": "maybe"}, {"prompt": 1}, {"prompt": "x", "allow": []string{"put_text("}}},
		409: {{"continue": string(first.Turn.ID)}},
		404: {{"continue": "t_none"}},
	} {
		for _, b := range in {
			w.refused(status, "POST", path+"/turns", b)
		}
	}
	k := w.post(s.ID, map[string]any{"prompt": "limit", "allow": []string{"put_text(src/**)"}})
	if v := w.Ends(k.Turn.ID, jackline.StepLimit); len(v.Options.Allow) != 1 || v.Options.Allow[0].Do != jackline.Allow || v.Options.OnAsk != jackline.AskDeny {
		t.Errorf("%+v", v.Options)
	}
	more := w.post(s.ID, map[string]any{"continue": string(k.Turn.ID)})
	w.Ends(more.Turn.ID, jackline.Done)
	w.Settled(s.ID)
	do[any](w, 204, "DELETE", path, nil)
	w.refused(404, "GET", path, nil)
}

func TestKillSwitchOverHTTP(t *testing.T) {
	w := newWorld(t)
	s := w.Session()
	k := w.post(s.ID, map[string]any{"prompt": "hang"})
	type answer struct {
		Killed  bool
		Stopped []jackline.TurnID
	}
	got := do[answer](w, 200, "POST", "/api/stop", map[string]any{})
	if !got.Killed || len(got.Stopped) != 1 || !do[struct{ Killed bool }](w, 200, "GET", "/api/status", nil).Killed {
		t.Errorf("%+v", got)
	}
	w.Ends(k.Turn.ID, jackline.Stopped)
	w.refused(409, "POST", "/api/sessions/"+string(s.ID)+"/turns", map[string]any{"prompt": "say x"})
	// What a person runs by hand that could act is refused too; what cannot is not.
	w.Set.Change(func(p *jackline.Permissions) { p.Mode = jackline.ModeAllowAll })
	w.refused(409, "POST", "/api/tools/run", map[string]any{"name": "put_text", "args": map[string]any{"path": "a", "text": "x"}})
	do[any](w, 200, "POST", "/api/tools/run", map[string]any{"name": "say_back", "args": map[string]any{"text": "x"}})
	if got := do[answer](w, 200, "POST", "/api/stop", map[string]any{"lift": true}); got.Killed {
		t.Errorf("%+v", got)
	}
	w.Ends(w.post(s.ID, map[string]any{"prompt": "say x"}).Turn.ID, jackline.Done)
}

func TestRunTool(t *testing.T) {
	w := newWorld(t)
	type ran struct {
		Call    jackline.CallID
		Outcome jackline.Outcome
		Text    string
		View    jackline.View
	}
	const path = "/api/tools/run"
	run := func(text string, more ...any) map[string]any {
		m := map[string]any{"name": "write_it", "args": map[string]any{"text": text, "path": "a.txt"}}
		for i := 0; i+1 < len(more); i += 2 {
			m[more[i].(string)] = more[i+1]
		}
		return m
	}
	if r := do[ran](w, 200, "POST", path, map[string]any{"name": "say_back", "args": map[string]any{"text": "hi"}}); r.Text != "hi" || r.Outcome != jackline.OK || r.Call == "" {
		t.Errorf("%+v", r)
	}
	// To ask is to open a card, and yes is to send the same once more.
	p := w.refused(403, "POST", path, run("one"))
	if p.Decision != "ask" || p.Approval == "" || p.Rule == "" {
		t.Fatalf("%+v", p)
	}
	card := do[jackline.Approval](w, 200, "GET", "/api/tools/approvals/"+p.Approval, nil)
	if card.View.Shape != jackline.ViewDiff || card.Tool != "put_text" {
		t.Errorf("%+v", card)
	}
	w.refused(409, "POST", path, run("two", "approved", true, "approval", p.Approval))
	w.refused(409, "POST", path, map[string]any{"name": "say_back", "args": map[string]any{"text": "one"}, "approved": true, "approval": p.Approval})
	w.refused(409, "POST", path, run("one", "approved", true, "approval", p.Approval, "session", w.Session().ID))
	w.refused(422, "POST", path, run("one", "approval", p.Approval))
	w.refused(422, "POST", path, run("one", "approved", true))
	if w.Files.Count() != 0 {
		t.Fatal("it ran")
	}
	// The order of the arguments is not the call's.
	yes := `{"name":"put_text","args":{"path":"a.txt",  "text":"one"},"approved":true,"approval":"` + p.Approval + `"}`
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			res := w.send("POST", path, yes)
			res.Body.Close()
		})
	}
	wg.Wait()
	if w.Files.Get("a.txt") != "one" || w.Files.Count() != 1 {
		t.Errorf("ran %d times: %q", w.Files.Count(), w.Files.Get("a.txt"))
	}
	w.refused(409, "POST", path, yes)

	// A yes may come by way of the desk as well.
	p = w.refused(403, "POST", path, run("two"))
	do[any](w, 200, "POST", "/api/tools/approvals/"+p.Approval, map[string]any{"approved": true})
	if r := do[ran](w, 200, "POST", path, run("two", "approved", true, "approval", p.Approval)); r.View.Shape != jackline.ViewList {
		t.Errorf("%+v", r)
	}
	// A no stays one.
	p = w.refused(403, "POST", path, run("three"))
	do[any](w, 200, "POST", "/api/tools/approvals/"+p.Approval, map[string]any{"approved": false})
	if q := w.refused(409, "POST", path, run("three", "approved", true, "approval", p.Approval)); q.By != "api" {
		t.Errorf("%+v", q)
	}

	// What nobody may allow has no card.
	p = w.refused(403, "POST", path, map[string]any{"name": "put_text", "args": map[string]any{"path": ".git/config", "text": "x"}})
	if p.Decision != "deny" || p.Rule == "" || p.Approval != "" {
		t.Errorf("%+v", p)
	}
	s := w.Session()
	do[any](w, 200, "PATCH", "/api/sessions/"+string(s.ID), map[string]any{"mode": "plan"})
	if p := w.refused(403, "POST", path, run("x", "session", s.ID)); p.Decision != "deny" {
		t.Errorf("in plan mode: %+v", p)
	}
	w.refused(404, "POST", path, map[string]any{"name": "no_such_tool"})
	w.refused(422, "POST", path, map[string]any{"name": "say_back", "args": []int{1}})
	w.refused(422, "POST", path, map[string]any{"name": "say_back"})

	// A model's question is not for this route.
	s = w.Session()
	k := w.Submit(s.ID, writes)
	w.Ends(k.Turn.ID, jackline.Waiting)
	id := w.Pending(s.ID)[0].ID
	w.refused(409, "POST", path, map[string]any{"name": "put_text", "args": map[string]any{"path": "a.txt", "text": "x"}, "approved": true, "approval": id})
	if w.Files.Count() != 2 {
		t.Errorf("ran %d times", w.Files.Count())
	}

	// All these calls are on record, in one chat of their own.
	rows := do[[]jackline.Session](w, 200, "GET", "/api/sessions?search=hand", nil)
	if len(rows) != 1 {
		t.Errorf("%+v", rows)
	}
}

// Both requests of a person's own call are judged in the mode of the settings, whatever it was when the chat was made.
func TestRunToolInTheModeOfNow(t *testing.T) {
	w := newWorld(t)
	const path = "/api/tools/run"
	run := func(more string) string {
		return `{"name":"put_text","args":{"path":"a.txt","text":"x"}` + more + `}`
	}
	yes := func(p problem) string { return run(`,"approved":true,"approval":"` + p.Approval + `"`) }
	mode := func(m jackline.Mode) {
		w.Set.Change(func(p *jackline.Permissions) { p.Mode = m })
	}
	mode(jackline.ModePlan)
	if p := w.refused(403, "POST", path, run("")); p.Decision != "deny" || p.Approval != "" {
		t.Errorf("%+v", p)
	}
	mode(jackline.ModeAllowReads)
	p := w.refused(403, "POST", path, run(""))
	if p.Decision != "ask" {
		t.Fatalf("%+v", p)
	}
	do[any](w, 200, "POST", path, yes(p))
	// A person who changes the arguments of such a call is no worse off.
	p = w.refused(403, "POST", path, run(""))
	do[any](w, 200, "POST", "/api/tools/approvals/"+p.Approval, `{"approved":true,"args":{"path":"b.txt","text":"x"}}`)
	do[any](w, 200, "POST", path, strings.Replace(yes(p), "a.txt", "b.txt", 1))
	if w.Files.Count() != 2 {
		t.Errorf("ran %d times", w.Files.Count())
	}
	// A yes does not outlive the mode that it was given in.
	p = w.refused(403, "POST", path, run(""))
	mode(jackline.ModePlan)
	if p := w.refused(403, "POST", path, yes(p)); p.Decision != "deny" || p.Approval != "" || w.Files.Count() != 2 {
		t.Errorf("in plan mode: %+v", p)
	}
	// Another chat keeps its own.
	s := w.Session()
	mode(jackline.ModeAllowAll)
	p = w.refused(403, "POST", path, run(`,"session":"`+string(s.ID)+`"`))
	mode(jackline.ModePlan)
	do[any](w, 200, "POST", path, yes(p))
}

// A question without folders and scopes has empty lists of them.
func TestQuestionsHaveLists(t *testing.T) {
	w := newWorld(t)
	s := w.Session()
	k := w.Submit(s.ID, `call quiz_me {"text":"q"}`)
	w.Ends(k.Turn.ID, jackline.Waiting)
	path := "/api/tools/approvals/" + string(w.Pending(s.ID)[0].ID)
	rows := do[[]map[string]any](w, 200, "GET", "/api/tools/approvals", nil)
	rows = append(rows, do[map[string]any](w, 200, "GET", path, nil))
	rows = append(rows, do[map[string]any](w, 200, "POST", path, map[string]any{"declined": true}))
	for _, r := range rows {
		if r["touches"] == nil || r["scopes"] == nil {
			t.Errorf("%v", r)
		}
	}
	w.Ends(k.Turn.ID, jackline.Done)
}

// A long call outlives the time in which its request has to arrive, and ends with the kill switch.
func TestLongCall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Set.Change(func(p *jackline.Permissions) { p.Mode = jackline.ModeAllowAll })
	done := make(chan int, 1)
	go func() {
		res := w.send("POST", "/api/tools/run", map[string]any{"name": "put_text", "args": map[string]any{"path": "a", "text": "slow"}})
		res.Body.Close()
		done <- res.StatusCode
	}()
	select {
	case code := <-done:
		t.Fatalf("it ended by itself: %d", code)
	case <-time.After(6 * time.Second): // longer than the body's deadline would be if huma set it
	}
	do[any](w, 200, "POST", "/api/stop", map[string]any{})
	if code := <-done; code != 200 && code != 409 {
		t.Errorf("%d", code)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.Session()
	ask := func(prompt string) (jackline.TurnID, string) {
		t.Helper()
		k := w.Submit(s.ID, prompt)
		w.Ends(k.Turn.ID, jackline.Waiting)
		return k.Turn.ID, "/api/tools/approvals/" + string(w.Pending(s.ID)[0].ID)
	}
	id, card := ask(writes)
	for _, b := range []map[string]any{
		{}, {"approved": true, "scope": "always"}, {"answers": [][]string{{"x"}}}, {"declined": true}, {"approved": false, "scope": "once"},
		{"approved": true, "reason": "x"}, {"approved": true, "args": []int{1}}, {"approved": true, "args": map[string]any{"path": 1}},
		{"approved": true, "remember": true, "scope": "task"}, {"approved": "yes"},
	} {
		w.refused(422, "POST", card, b)
	}
	// Arguments that a person changes are judged anew.
	if p := w.refused(403, "POST", card, map[string]any{"approved": true, "args": map[string]any{"path": ".git/x", "text": "y"}}); p.Decision != "deny" || p.Rule == "" {
		t.Errorf("%+v", p)
	}
	a := do[jackline.Approval](w, 200, "POST", card, map[string]any{"approved": true, "args": map[string]any{"text": "changed", "path": "b.txt"}})
	if string(a.Args) != `{"path":"b.txt","text":"changed"}` {
		t.Errorf("%s", a.Args)
	}
	w.Ends(id, jackline.Done)
	if w.Files.Get("b.txt") != "changed" || w.Files.Get("a.txt") != "" {
		t.Error("what was approved is not what ran")
	}

	// A no, with a reason.
	id, card = ask(writes)
	do[any](w, 200, "POST", card, map[string]any{"approved": false, "reason": "not now"})
	w.Ends(id, jackline.Done)
	if w.Files.Get("a.txt") != "" {
		t.Error("it ran")
	}

	// Remembered for the chat: not asked again.
	id, card = ask(writes)
	if a := do[jackline.Approval](w, 200, "POST", card, map[string]any{"approved": true, "remember": true}); a.Answer.Scope != jackline.Chat {
		t.Errorf("%+v", a.Answer)
	}
	w.Ends(id, jackline.Done)
	k := w.Submit(s.ID, writes)
	w.Ends(k.Turn.ID, jackline.Done)
	grants := do[struct{ Grants []jackline.Grant }](w, 200, "GET", "/api/permissions", nil).Grants
	if len(grants) != 1 {
		t.Fatalf("%+v", grants)
	}
	after := do[struct{ Grants []jackline.Grant }](w, 200, "POST", "/api/permissions", map[string]any{"revoke": grants[0].ID})
	if len(after.Grants) != 0 {
		t.Errorf("%+v", after)
	}
	id, card = ask(writes)
	w.Set.Change(func(p *jackline.Permissions) { p.ApprovalTimeout = 1 })
	do[any](w, 202, "POST", "/api/sessions/"+string(s.ID)+"/stop", map[string]any{})
	w.Ends(id, jackline.Stopped)
	w.refused(409, "POST", card, map[string]any{"approved": true})

	// Expired is gone.
	id, card = ask(writes)
	w.Ends(id, jackline.Done)
	w.refused(410, "POST", card, map[string]any{"approved": true})
	w.Set.Change(func(p *jackline.Permissions) { p.ApprovalTimeout = 3600 })

	// Questions.
	id, card = ask(`call quiz_me {"text":"Well?"}`)
	w.refused(422, "POST", card, map[string]any{"approved": true})
	w.refused(422, "POST", card, map[string]any{})
	w.refused(422, "POST", card, map[string]any{"answers": [][]string{{"a"}}, "declined": true})
	do[any](w, 200, "POST", card, map[string]any{"answers": [][]string{{"of course"}}})
	w.Ends(id, jackline.Done)
	id, card = ask(`call quiz_me {"text":"Well?"}`)
	do[any](w, 200, "POST", card, map[string]any{"declined": true})
	w.Ends(id, jackline.Done)
	if rows := do[[]jackline.Approval](w, 200, "GET", "/api/tools/approvals?state=all&session="+string(s.ID), nil); len(rows) != 7 {
		t.Errorf("%d rows", len(rows))
	}
	w.refused(422, "GET", "/api/tools/approvals?state=odd", nil)
}

// An answer stands in the log after the word that the turn waits, however soon it comes. It does not wait for ever.
func TestAnswerAtOnce(t *testing.T) {
	for slow, want := range map[time.Duration]string{
		time.Second: "tool.approval_needed turn.status tool.approved turn.status",
		time.Minute: "tool.approval_needed tool.approved turn.status turn.status",
	} {
		t.Run(slow.String(), func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				w := &world{World: runstest.New(t, dir)}
				defer w.Close()
				w.serve("here")
				w.Puppet.Asked = func() { <-time.After(slow) }
				s := w.Session()
				k := w.Submit(s.ID, writes)
				<-time.After(100 * time.Millisecond)
				asked := time.Now()
				req := httptest.NewRequest("POST", "/api/tools/approvals/"+string(w.Pending(s.ID)[0].ID), strings.NewReader(`{"approved":true}`))
				req.Host = "here"
				req.Header.Set("Authorization", "Bearer "+token)
				req.Header.Set("Content-Type", "application/json")
				rec := httptest.NewRecorder()
				w.server.Handler().ServeHTTP(rec, req)
				if took := time.Since(asked); rec.Code != 200 || took > 3*time.Second {
					t.Errorf("%d after %s: %s", rec.Code, took, rec.Body)
				}
				<-time.After(2 * time.Minute)
				if v := w.Turn(k.Turn.ID); v.Status != jackline.Done || w.Files.Count() != 1 {
					t.Errorf("it is %s", v.Status)
				}
				var got []string
				for _, kind := range w.Types(s.ID) {
					if strings.Contains(want, kind) {
						got = append(got, kind)
					}
				}
				if strings.Join(got, " ") != want {
					t.Errorf("%q, want %q", got, want)
				}
			})
		})
	}
}

func TestSettings(t *testing.T) {
	w := newWorld(t)
	w.Set.Keys = []string{"permissions.toggles.network", "agent.maxSteps"}
	s := w.Session()
	type permissions struct {
		jackline.Permissions
		Fixed  []string
		Grants []jackline.Grant
	}
	p := do[permissions](w, 200, "GET", "/api/permissions", nil)
	if p.Mode != jackline.ModeAllowReads || p.Rules == nil || p.Grants == nil || p.Disabled == nil || !cmp.Equal(p.Fixed, []string{"toggles.network"}) {
		t.Errorf("%+v", p)
	}
	p = do[permissions](w, 200, "POST", "/api/permissions", map[string]any{
		"mode": "ask", "toggles": map[string]any{"runShell": false}, "tools.disabled": []string{"say_*"}, "onAsk": "wait", "approvalTimeout": 60,
		"rules": []map[string]any{{"do": "deny", "pattern": "put_text(secret/**)", "match": []string{"secret/x"}}},
	})
	if p.Mode != jackline.ModeAsk || p.Toggles.RunShell || !p.Toggles.ReadFiles || len(p.Rules) != 1 || p.ApprovalTimeout != 60 {
		t.Errorf("%+v", p)
	}
	if !strings.Contains(strings.Join(w.Types(s.ID), " "), "permissions") {
		t.Error("nobody was told")
	}
	for _, tool := range do[[]struct {
		Name, Title, Category string
		Enabled, Available    bool
		Effects               []string
		Parameters            map[string]any
	}](w, 200, "GET", "/api/tools", nil) {
		if tool.Enabled == strings.HasPrefix(tool.Name, "say_") || !tool.Available || tool.Parameters["type"] != "object" || len(tool.Effects) == 0 || tool.Title == "" {
			t.Errorf("%+v", tool)
		}
	}
	for status, in := range map[int][]map[string]any{
		409: {{"toggles": map[string]any{"network": false}}},
		403: {{"workspaceRoot": "/bad"}},
		422: {
			{"mode": "yolo"}, {"approvalTimeout": 0}, {"unknown": 1}, {"toggles": map[string]any{"unknown": true}}, {"onAsk": ""}, {"tools.disabled": []string{" "}},
			{"tools.disabled": []string{"say_*", "say_nothing"}}, {"tools.disabled": []string{"put_text(src/**)"}},
			{"rules": []map[string]any{{"do": "deny", "pattern": "put_text("}}}, {"revoke": "g_1", "mode": "ask"},
			{"rules": []map[string]any{{"do": "allow", "pattern": "put_text(src/**)", "match": []string{"lib/x"}}}},
			{"rules": []map[string]any{{"do": "allow", "pattern": "no_such_tool"}}},
		},
		404: {{"revoke": "g_none"}},
	} {
		for _, b := range in {
			if q := w.refused(status, "POST", "/api/permissions", b); b["unknown"] != nil && !strings.Contains(q.Detail, "unknown") {
				t.Errorf("it does not name the field: %+v", q)
			}
		}
	}
	// A tool that is gone may stay in the list; other names, and tools of servers that are not connected, may come into it.
	w.Set.Change(func(p *jackline.Permissions) { p.Disabled = []string{"gone"} })
	do[any](w, 200, "POST", "/api/permissions", map[string]any{"tools.disabled": []string{"gone", "Write-It", "mcp__away__now"}})
	a := do[jackline.AgentSettings](w, 200, "POST", "/api/agent", map[string]any{"persona": "brief", "history": 20})
	if a.Persona != "brief" || a.History != 20 {
		t.Errorf("%+v", a)
	}
	w.refused(409, "POST", "/api/agent", map[string]any{"maxSteps": 3})
	do[any](w, 200, "POST", "/api/agent", map[string]any{"maxSteps": 0, "history": 30}) // as it is
	for _, b := range []map[string]any{{"callsPerStep": 65}, {"persona": strings.Repeat("x", 401)}, {"maxTokens": -1}, {"unknown": 1}} {
		w.refused(422, "POST", "/api/agent", b)
	}
	do[any](w, 200, "POST", "/api/agent", map[string]any{})
	if got := do[map[string]string](w, 200, "POST", "/api/permissions/test", map[string]any{"id": "7", "kind": "shell"}); got["id"] != "7" {
		t.Errorf("%+v", got)
	}
	w.refused(422, "POST", "/api/permissions/test", []int{1})
}

func TestSessions(t *testing.T) {
	w := newWorld(t)
	for _, b := range []map[string]any{{"mode": "odd"}, {"title": strings.Repeat("x", 201)}, {"owner": "x"}} {
		w.refused(422, "POST", "/api/sessions", b)
	}
	w.refused(403, "POST", "/api/sessions", map[string]any{"workspace": "/bad"})
	s := do[jackline.Session](w, 201, "POST", "/api/sessions", map[string]any{"workspace": "/good", "mode": "allow-edits", "model": "m"})
	if s.Workspace != "/good" || s.Mode != jackline.ModeAllowEdits || s.Model != "m" {
		t.Errorf("%+v", s)
	}
	path := "/api/sessions/" + string(s.ID)
	if got := do[jackline.Session](w, 200, "PATCH", path, map[string]any{"title": " New ", "mode": "plan"}); got.Title != "New" || got.Mode != jackline.ModePlan {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"", "ollama/qwen3:4b"} {
		if got := do[jackline.Session](w, 200, "PATCH", path, map[string]any{"model": " " + name}); got.Model != name || got.Title != "New" {
			t.Errorf("%+v", got)
		}
	}
	w.refused(422, "PATCH", path, map[string]any{"model": "script:/etc/passwd"})
	w.refused(422, "PATCH", path, map[string]any{"title": "  "})
	w.refused(422, "PATCH", path, map[string]any{"workspace": "/other"})
	if types := w.Types(s.ID); len(types) != 1 || types[0] != "mode" {
		t.Errorf("%v", types)
	}
	other := do[jackline.Session](w, 201, "POST", "/api/sessions", map[string]any{})
	list := func(q string) (ids []jackline.SessionID) {
		for _, v := range do[[]jackline.Session](w, 200, "GET", "/api/sessions"+q, nil) {
			ids = append(ids, v.ID)
		}
		return ids
	}
	if got := list("?search=new"); !cmp.Equal(got, []jackline.SessionID{s.ID}) {
		t.Error(got)
	}
	if got := list("?workspace=/good"); !cmp.Equal(got, []jackline.SessionID{s.ID}) {
		t.Error(got)
	}
	first := do[[]jackline.Session](w, 200, "GET", "/api/sessions?limit=1", nil)
	if got := list("?before=" + first[0].Updated.Format(time.RFC3339Nano)); len(first) != 1 || len(got) != 1 || got[0] == first[0].ID {
		t.Error(got)
	}
	w.refused(422, "GET", "/api/sessions?limit=0", nil)
	w.refused(422, "GET", "/api/sessions?before=yesterday", nil)
	do[any](w, 204, "DELETE", "/api/sessions/"+string(other.ID), nil)
}

func TestForkAndExport(t *testing.T) {
	w := newWorld(t)
	w.Set.Change(func(p *jackline.Permissions) { p.Mode = jackline.ModeAllowAll })
	s := do[jackline.Session](w, 201, "POST", "/api/sessions", map[string]any{"title": "Original"})
	var ids []jackline.TurnID
	for _, prompt := range []string{"say one; " + writes, "say two", "say three"} {
		k := w.post(s.ID, map[string]any{"prompt": prompt})
		w.Ends(k.Turn.ID, jackline.Done)
		ids = append(ids, k.Turn.ID)
	}
	calls, err := w.DB.Calls(t.Context(), jackline.Local, ids[0])
	if err != nil || len(calls) != 1 {
		t.Fatal(calls, err)
	}
	if err := w.DB.WriteSpill(t.Context(), jackline.Local, s.ID, calls[0].ID, "the whole"); err != nil {
		t.Fatal(err)
	}
	f := do[jackline.Session](w, 201, "POST", "/api/sessions/"+string(s.ID)+"/fork", map[string]any{"turn": ids[1]})
	if f.ID == s.ID || f.Title == "" || f.Workspace != s.Workspace || f.Mode != s.Mode {
		t.Errorf("%+v", f)
	}
	type export struct {
		Session jackline.Session
		Turns   []jackline.Turn
		Events  []jackline.Event
	}
	from := do[export](w, 200, "GET", "/api/sessions/"+string(s.ID)+"/export", nil)
	to := do[export](w, 200, "GET", "/api/sessions/"+string(f.ID)+"/export", nil)
	if len(from.Turns) != 3 || len(to.Turns) != 2 || to.Turns[1].Answer != from.Turns[1].Answer || to.Turns[0].ID == from.Turns[0].ID {
		t.Errorf("%+v", to.Turns)
	}
	raw, err := json.Marshal(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []string{string(s.ID), string(ids[0]), string(ids[1]), string(calls[0].ID)} {
		if strings.Contains(string(raw), old) {
			t.Errorf("the copy names %s of the original", old)
		}
	}
	copied, err := w.DB.Calls(t.Context(), jackline.Local, to.Turns[0].ID)
	if err != nil || len(copied) != 1 || copied[0].Text != calls[0].Text || string(copied[0].Args) != string(calls[0].Args) {
		t.Errorf("%+v, %v", copied, err)
	}
	if text, _, err := w.DB.ReadSpill(t.Context(), jackline.Local, copied[0].ID, 0, 100); err != nil || text != "the whole" {
		t.Errorf("%q, %v", text, err)
	}
	var kinds []string
	for _, e := range to.Events {
		kinds = append(kinds, e.Type)
	}
	if n := strings.Count(strings.Join(kinds, " "), "turn.end"); n != 2 {
		t.Errorf("%v", kinds)
	}
	items, err := w.DB.History(t.Context(), jackline.Local, f.ID)
	if err != nil || len(items) != 4 || items[0].Turn != to.Turns[0].ID || items[3].Text != "done: say two" {
		t.Errorf("%+v, %v", items, err)
	}

	// After a compaction that came later, the copy still remembers what was said.
	if _, err := w.DB.Append(t.Context(), jackline.Local, jackline.Record{Session: s.ID, Compacted: []jackline.Item{{Turn: ids[2], Role: jackline.ItemSummary, Text: "all of it"}}}); err != nil {
		t.Fatal(err)
	}
	f = do[jackline.Session](w, 201, "POST", "/api/sessions/"+string(s.ID)+"/fork", map[string]any{"turn": ids[0]})
	items, err = w.DB.History(t.Context(), jackline.Local, f.ID)
	if err != nil || len(items) != 2 || items[0].Role != jackline.ItemPrompt {
		t.Errorf("%+v, %v", items, err)
	}
	if f := do[jackline.Session](w, 201, "POST", "/api/sessions/"+string(s.ID)+"/fork", map[string]any{}); f.ID == "" {
		t.Error(f)
	}
	k := w.post(s.ID, map[string]any{"prompt": "hang"})
	w.Until("it runs", func() bool { return w.Turn(k.Turn.ID).Status == jackline.Running })
	w.refused(409, "POST", "/api/sessions/"+string(s.ID)+"/fork", map[string]any{"turn": k.Turn.ID})
	w.refused(404, "POST", "/api/sessions/"+string(s.ID)+"/fork", map[string]any{"turn": "t_none"})
}

// A copy knows where its labels came from, and which addresses the model did not make up: of what is copied and of nothing else. That the
// gate was switched off does not go along.
func TestForkKeepsOrigins(t *testing.T) {
	w := newWorld(t)
	s := do[jackline.Session](w, 201, "POST", "/api/sessions", map[string]any{})
	var ids []jackline.TurnID
	for _, prompt := range []string{"say one of example.org/a", "say https://later.example/b"} {
		k := w.post(s.ID, map[string]any{"prompt": prompt})
		w.Ends(k.Turn.ID, jackline.Done)
		ids = append(ids, k.Turn.ID)
	}
	labels, off := jackline.Labels{Tainted: true}, true
	from, err := json.Marshal(tool.Provenance{Tainted: &tool.Source{Turn: ids[0], Step: 1, What: "file notes.md"}})
	if err != nil {
		t.Fatal(err)
	}
	result := jackline.Call{
		ID: jackline.NewID[jackline.CallID]("c_"), Session: s.ID, Turn: ids[0], Asked: "web_search", Name: "web_search", Args: json.RawMessage("{}"),
		State: jackline.CallEnded, Text: "1. https://found.example/x",
	}
	if _, err := w.DB.Append(t.Context(), jackline.Local, jackline.Record{
		Session: s.ID, Labels: labels, Ungated: &off, Calls: []jackline.Call{result}, State: map[string]json.RawMessage{
			tool.SaidKey:  json.RawMessage(`["https://example.org/a","https://later.example/b"]`),
			tool.FoundKey: json.RawMessage(`["https://found.example/x","https://elsewhere.example/"]`),
			tool.ReadKey:  from,
		},
	}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body        map[string]any
		said, found string
	}{
		{map[string]any{}, `["https://example.org/a","https://later.example/b"]`, `["https://found.example/x"]`},
		{map[string]any{"turn": ids[0]}, `["https://example.org/a"]`, `["https://found.example/x"]`},
	} {
		f := do[jackline.Session](w, 201, "POST", "/api/sessions/"+string(s.ID)+"/fork", c.body)
		if !f.Labels.Tainted || f.Ungated {
			t.Errorf("%+v", f)
		}
		state := func(key string) string {
			t.Helper()
			raw, err := w.DB.State(t.Context(), jackline.Local, f.ID, key)
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		if said, found := state(tool.SaidKey), state(tool.FoundKey); said != c.said || found != c.found {
			t.Errorf("%v: %s, %s", c.body, said, found)
		}
		var origin tool.Provenance
		if err := json.Unmarshal([]byte(state(tool.ReadKey)), &origin); err != nil || origin.Tainted == nil || origin.Tainted.What != "file notes.md" {
			t.Errorf("%+v, %v", origin, err)
		} else if turns, err := w.DB.Turns(t.Context(), jackline.Local, f.ID); err != nil || turns[0].ID != origin.Tainted.Turn {
			t.Errorf("it names the turn %s of the original, %v", origin.Tainted.Turn, err)
		}
	}
}

// Causes stay in the log, under the number that the client is told.
func TestInternalErrors(t *testing.T) {
	w := newWorld(t)
	s := w.Session()
	w.Exec(`DROP TABLE grants`)
	p := w.refused(500, "GET", "/api/permissions", nil)
	i := strings.Index(p.Detail, "r_")
	if i < 0 || strings.Contains(strings.ToLower(p.Detail), "sql") {
		t.Fatalf("told %q", p.Detail)
	}
	if id := strings.TrimRight(p.Detail[i:], "."); !strings.Contains(w.Log.String(), id) || !strings.Contains(w.Log.String(), "grants") {
		t.Errorf("the log does not hold %s: %s", id, w.Log)
	}
	do[any](w, 200, "GET", "/api/sessions/"+string(s.ID), nil)
}

func TestServe(t *testing.T) {
	w := newWorld(t)
	l, note, err := server.Listen("127.0.0.1:0", false)
	if err != nil || note != "" {
		t.Fatal(note, err)
	}
	// A taken port is the next free one, and it says so.
	l2, note, err := server.Listen(l.Addr().String(), false)
	if err != nil || !strings.Contains(note, "taken") || l2.Addr().String() == l.Addr().String() {
		t.Fatal(note, err)
	}
	_ = l2.Close()
	for _, bad := range []string{"0.0.0.0:0", ":0", "192.0.2.1:1", "[::]:0"} {
		_, _, err := server.Listen(bad, false)
		if jackline.KindOf(err) != jackline.Forbidden {
			t.Error(err)
		}
	}
	if l, _, err := server.Listen("0.0.0.0:0", true); err != nil {
		t.Error(err)
	} else {
		_ = l.Close()
	}
	for _, bad := range []string{"here", "127.0.0.1:x", "127.0.0.1:99999"} {
		_, _, err := server.Listen(bad, false)
		if jackline.KindOf(err) != jackline.Invalid {
			t.Error(err)
		}
	}

	addr := l.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	s, err := server.New(server.Config{
		Store: w.DB, Turns: w.Turns, Desk: w.Desk, Settings: w.Set, Gate: w.Gate,
		Model: func(context.Context) server.ModelStatus { return server.ModelStatus{} },
		Vet:   func(_ context.Context, f string) (string, error) { return f, nil },
		Token: token, Hosts: server.HostsOf(l.Addr()), Version: "test", Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l) }()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	res, err := client.Get("http://" + addr + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	// A refused request does not hold its connection until the rest of its body comes.
	slow, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = slow.Close() }()
	if _, err := fmt.Fprintf(slow, "POST /api/sessions HTTP/1.1\r\nHost: %s\r\nContent-Length: 9\r\n\r\n", addr); err != nil {
		t.Fatal(err)
	}
	_ = slow.SetReadDeadline(time.Now().Add(20 * time.Second))
	if answer, err := io.ReadAll(slow); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 401") {
		t.Errorf("%q, %v", answer, err)
	}
	req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr+"/api/events", nil)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err = client.Do(req) // an open stream does not hold the end up
	if err != nil || res.StatusCode != 200 {
		t.Fatal(err)
	}
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if _, err := io.ReadAll(res.Body); err != nil {
		t.Error("the stream did not end well:", err)
	}
	res.Body.Close()
	if c, err := net.Dial("tcp", addr); err == nil {
		_ = c.Close()
		t.Error("it still listens")
	}
}

func TestHostsOf(t *testing.T) {
	tcp := func(s string) net.Addr {
		a, err := net.ResolveTCPAddr("tcp", s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for addr, want := range map[string][]string{
		"127.0.0.1:7717": {"127.0.0.1:7717", "localhost:7717", "[::1]:7717", "box:1"},
		"127.0.0.1:80":   {"127.0.0.1:80", "localhost:80", "[::1]:80", "box:1", "127.0.0.1", "localhost", "[::1]"},
		"192.0.2.7:9":    {"192.0.2.7:9", "box:1"},
	} {
		if d := cmp.Diff(want, guard.HostsOf(tcp(addr), "box:1")); d != "" {
			t.Error(addr, d)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []server.Config{{Hosts: []string{"x"}}, {Token: "short", Hosts: []string{"x"}}, {Token: token}} {
		if _, err := server.New(c); err == nil {
			t.Errorf("%+v was taken", c)
		}
	}
}

// When no further question may be asked, a person's own call says that, and not that somebody denied it.
func TestRunToolFlooded(t *testing.T) {
	w := newWorld(t)
	ask := func(status, n int) {
		w.refused(status, "POST", "/api/tools/run", map[string]any{"name": "write_it", "args": map[string]any{"path": "a.txt", "text": fmt.Sprint(n)}})
	}
	for n := range 20 { // the most that may be open
		ask(403, n)
	}
	ask(409, 20)
}
