package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
)

// The job that everything here is proved with: list, read, edit with a yes, run with a yes, verify, answer.
const (
	jobPrompt = "Mend the greeting and run it"
	jobFile   = "greet.sh"
	jobBefore = "echo Helo, world\n"
	jobAfter  = "echo Hello, world\n"
	jobAnswer = "I mended the greeting; it now says **Hello**."
	jobScript = `=== 1
I will look around.
--- call list_dir {"path": "."}
=== 2
--- call file_read {"path": "greet.sh"}
=== 3
--- call file_edit {"path": "greet.sh", "old": "Helo", "new": "Hello"}
=== 4
--- call shell {"command": "sh greet.sh"}
=== 5
--- expect Hello, world
--- call grep {"pattern": "Hello", "path": "greet.sh"}
=== 6
I mended the greeting; it now says **Hello**.
`
)

func toolModes() []string { return []string{"native", "text"} }

// jobHome is a home that is ready for the job.
func jobHome(t *testing.T, mode string) *home {
	t.Helper()
	e := engine(t, jobScript)
	t.Cleanup(func() {
		if errs := e.Errs(); len(errs) > 0 {
			t.Errorf("the engine says: %v", errs)
		}
	})
	h := newHome(t, e.URL, mode)
	h.write(jobFile, jobBefore)
	return h
}

// TestJobOverAPI does the job by HTTP alone, and loses its event stream in the middle.
func TestJobOverAPI(t *testing.T) {
	for _, mode := range toolModes() {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := jobHome(t, mode)
			a := h.serve()
			e := jobOverAPI(t, h, a)
			if len(e.Events) < 30 {
				t.Errorf("the log holds only %d events", len(e.Events))
			}
			t.Logf("%d events", len(e.Events))
		})
	}
}

func jobOverAPI(t *testing.T, h *home, a *api) export {
	t.Helper()
	s := a.session(map[string]any{"workspace": h.ws})
	turn := a.prompt(s.ID, jobPrompt, nil)

	// The stream up to the first card; then it is lost.
	var seen []frame
	var needed jackline.ApprovalNeeded
	deltas := 0
	collect := func(f frame) {
		if f.id == 0 {
			if f.ev.Type != "ready" {
				deltas++
			}
			return
		}
		if f.id != int64(len(seen)+1) {
			t.Errorf("event %d came where %d belongs", f.id, len(seen)+1)
		}
		seen = append(seen, f)
	}
	for f := range a.events(s.ID, 0) {
		collect(f)
		if f.ev.Type == "tool.approval_needed" {
			needed = body[jackline.ApprovalNeeded](t, f.ev)
		}
		if f.ev.Type == "turn.status" {
			break // it waits
		}
	}
	card := want[jackline.Approval](a, 200, "GET", "/api/tools/approvals/"+string(needed.Approval), nil)
	if card.View.Shape != jackline.ViewDiff || len(card.View.Files) != 1 || !strings.Contains(card.View.Files[0].Patch, "+echo Hello") {
		t.Errorf("the card of the edit shows %+v", card.View)
	}
	if h.read(jobFile) != jobBefore {
		t.Error("the file was changed before the yes")
	}
	a.answer(card.ID, map[string]any{"approved": true, "scope": "once"})
	if status, b := a.send("POST", "/api/tools/approvals/"+string(card.ID), map[string]any{"approved": false}); status != 409 {
		t.Errorf("a second answer is taken: %d %s", status, b)
	}

	// The stream again, from where it was lost, to the end.
	ready := false
	for f := range a.events(s.ID, seen[len(seen)-1].id) {
		collect(f)
		ready = ready || f.ev.Type == "ready"
		if f.ev.Type == "tool.approval_needed" {
			needed = body[jackline.ApprovalNeeded](t, f.ev)
		}
		if f.ev.Type == "turn.status" && body[jackline.TurnStatus](t, f.ev).Status == jackline.Waiting {
			a.answer(needed.Approval, map[string]any{"approved": true, "scope": "once"})
		}
		if f.ev.Type == "turn.end" {
			break
		}
	}
	if !ready {
		t.Error("the stream does not say where live begins")
	}
	if deltas == 0 {
		t.Error("no live text came")
	}
	end := body[jackline.TurnEnd](t, seen[len(seen)-1].ev)
	if end.Status != jackline.Done || end.Answer != jobAnswer || end.ToolCalls != 5 || len(end.Changes) != 1 {
		t.Errorf("the turn ended so: %+v", end)
	}
	if got := a.settled(s.ID, turn.ID); got.Answer != jobAnswer || got.Status != jackline.Done {
		t.Errorf("the turn is %+v", got)
	}
	if h.read(jobFile) != jobAfter {
		t.Errorf("the file holds %q", h.read(jobFile))
	}
	e := a.export(s.ID)
	for k, ev := range e.Events {
		if k >= len(seen) || seen[k].ev.Type != ev.Type || string(seen[k].ev.Data) != string(ev.Data) {
			t.Fatalf("event %d of the log did not come over the stream as it stands there", k+1)
		}
	}
	if len(seen) != len(e.Events) {
		t.Errorf("%d events came, the log has %d", len(seen), len(e.Events))
	}
	return e
}

// TestLogin holds the door: the code works once, and nothing of the API answers without the token.
func TestLogin(t *testing.T) {
	h := jobHome(t, "native")
	a := h.serve()
	code := want[struct{ Code string }](a, 201, "POST", "/api/login/codes", map[string]any{}).Code
	b := logIn(t, a.base, code)
	if b.token != a.token {
		t.Error("two codes gave two tokens")
	}
	stranger := &api{t: t, base: a.base}
	if status, _ := stranger.send("POST", "/api/login", map[string]any{"code": code}); status < 400 {
		t.Error("the code works twice")
	}
	for _, path := range []string{"/api/status", "/api/sessions", "/api/events", "/openapi.json"} {
		if status, _ := stranger.send("GET", path, nil); status != 401 {
			t.Errorf("GET %s without a token: %d", path, status)
		}
	}
	resp, err := http.Get(a.base + "/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != 200 || resp.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("the page answers %s with policy %q", resp.Status, resp.Header.Get("Content-Security-Policy"))
	}
}

// clients are the fields that truly name the client: who answered a card, where a turn came from, and the client's
// time zone.
var clients = []struct {
	re *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`"by":"(api|cli)"`), `"by":"CLIENT"`},         // tool.approved
	{regexp.MustCompile(`"source":"(api|cli)"`), `"source":"CLIENT"`}, // options of a turn
	{regexp.MustCompile(`"tz":"[^"]*"`), `"tz":"CLIENT"`},             // options of a turn
}

func sameFor(lines []string, subs ...string) []string {
	var out []string
	for _, l := range lines {
		for _, c := range clients {
			l = c.re.ReplaceAllString(l, c.by)
		}
		for k := 0; k+1 < len(subs); k += 2 {
			l = strings.ReplaceAll(l, subs[k], subs[k+1])
		}
		out = append(out, l)
	}
	return out
}

// TestSameLog does the job over the API and in three ways from the command line, in both tool modes: it is the same log.
func TestSameLog(t *testing.T) {
	ways := []struct {
		name string
		do   func(*testing.T, *home) export
	}{
		{"api", func(t *testing.T, h *home) export { return jobOverAPI(t, h, h.serve()) }},
		{"cli parked", jobParked},
		{"cli watched", jobWatched},
		{"cli on a server", jobOnServer},
	}
	var first []string
	for _, mode := range toolModes() {
		var api []string
		for _, w := range ways {
			e := w.do(t, jobHome(t, mode))
			got := sameFor(e.masked(t))
			if api == nil {
				api = got
				t.Logf("%s: %d lines in the masked log", mode, len(got))
			}
			if diff := cmp.Diff(api, got); diff != "" {
				t.Errorf("%s, %s against api (-api +%s):\n%s", mode, w.name, w.name, diff)
			}
		}
		api = sameFor(api, `"mode":"`+mode+`"`, `"mode":"TOOLS"`)
		if first == nil {
			first = api
		}
		if diff := cmp.Diff(first, api); diff != "" {
			t.Errorf("text against native (-native +text):\n%s", diff)
		}
	}
}

// exported reads the only session of a home, by the command line.
func exported(t *testing.T, h *home) export {
	t.Helper()
	a := h.serve()
	rows := want[[]jackline.Session](a, 200, "GET", "/api/sessions", nil)
	if len(rows) != 1 {
		t.Fatalf("there are %d sessions", len(rows))
	}
	if h.read(jobFile) != jobAfter {
		t.Errorf("the file holds %q", h.read(jobFile))
	}
	return a.export(rows[0].ID)
}

var printedApproval = regexp.MustCompile(`jackline approve yes (a_[0-9a-v]{20})`)

// jobParked runs without a server and without a person: the run ends at each card, and approve carries it on.
func jobParked(t *testing.T, h *home) export {
	t.Helper()
	code, _, stderr := h.cli("run", "-C", h.ws, "--on-ask", "wait", jobPrompt)
	for range 2 {
		m := printedApproval.FindStringSubmatch(stderr)
		if code != terminal.ExitWaiting || m == nil {
			t.Fatalf("code %d, %s", code, stderr)
		}
		var stdout string
		code, stdout, stderr = h.cli("approve", "yes", m[1], "--for", "once")
		if code == terminal.ExitOK && !strings.Contains(stdout, jobAnswer) {
			t.Errorf("the answer is not printed: %s", stdout)
		}
	}
	if code != terminal.ExitOK {
		t.Fatalf("code %d, %s", code, stderr)
	}
	return exported(t, h)
}

// jobWatched runs without a server, at a terminal whose person says nothing: the cards are answered from another
// process, and the run goes on by itself.
func jobWatched(t *testing.T, h *home) export {
	t.Helper()
	keyboard, silence := io.Pipe()
	out, errs := newPrinted(), newPrinted()
	m := &Main{
		Args: []string{"run", "-C", h.ws, jobPrompt}, Env: func(k string) string { return h.env[k] },
		In: keyboard, Out: out, Err: errs, Terminal: true,
	}
	ended := make(chan int, 1)
	go func() {
		ended <- m.Run(context.Background())
		_ = silence.Close()
	}()
	for k := range 2 {
		eventually(t, "a card on the terminal", func() bool { return strings.Count(errs.String(), "Allow this?") > k })
		_, stdout, _ := h.cli("approve", "list", "--json")
		var rows []jackline.Approval
		if err := json.Unmarshal([]byte(stdout), &rows); err != nil || len(rows) != 1 {
			t.Fatalf("approve list: %v: %s", err, stdout)
		}
		_, _, _ = h.cli("approve", "yes", string(rows[0].ID))
	}
	select {
	case code := <-ended:
		if code != terminal.ExitOK || !strings.Contains(out.String(), jobAnswer) {
			t.Errorf("code %d: %s%s", code, out, errs)
		}
	case <-time.After(patience):
		t.Fatalf("the run does not end: %s", errs)
	}
	return exported(t, h)
}

// jobOnServer sends the run to a server, and answers from another process.
func jobOnServer(t *testing.T, h *home) export {
	t.Helper()
	a := h.serve()
	code, stdout, stderr := h.cli("run", "-C", h.ws, "--on-ask", "wait", "--output", "json", jobPrompt)
	var out outcome
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != terminal.ExitWaiting || len(out.Waiting) != 1 {
		t.Fatalf("code %d, %v: %s%s", code, err, stdout, stderr)
	}
	for range 2 {
		card := a.card(out.Session)
		if code, _, stderr := h.cli("approve", "yes", string(card.ID)); code != terminal.ExitOK {
			t.Fatalf("approve: code %d: %s", code, stderr)
		}
	}
	if v := a.settled(out.Session, out.Turn); v.Answer != jobAnswer {
		t.Errorf("the turn is %+v", v)
	}
	if h.read(jobFile) != jobAfter {
		t.Errorf("the file holds %q", h.read(jobFile))
	}
	return a.export(out.Session)
}

// TestLiveOrder follows many short answers. Live text comes before the logged text that supersedes it, never behind it: there
// it would stand for ever.
func TestLiveOrder(t *testing.T) {
	t.Parallel()
	const turns, queue, most = 160, 20, 10 * time.Second // a slow machine makes fewer of them
	began := time.Now()
	h := newHome(t, engine(t, "=== *\nThis is said in a few words.\n").URL, "native")
	a := h.serve()
	s := a.session(map[string]any{"workspace": h.ws})
	for range queue {
		a.prompt(s.ID, "say it", nil)
	}
	sent, ended, live, late := queue, 0, map[jackline.TurnID]string{}, map[jackline.TurnID]bool{}
	for f := range a.events(s.ID, 0) {
		switch f.ev.Type {
		case "text.delta":
			live[f.ev.Turn] += body[jackline.TextDelta](t, f.ev).Text
		case "text":
			live[f.ev.Turn] = ""
		case "turn.end":
			if ended++; sent < turns && time.Since(began) < most {
				sent++
				a.prompt(s.ID, "say it", nil)
			}
			late[f.ev.Turn] = true
		}
		if late[f.ev.Turn] && live[f.ev.Turn] != "" {
			t.Fatalf("after the end of a turn comes %q", live[f.ev.Turn])
		}
		if ended == sent {
			break
		}
	}
	t.Logf("%d turns", ended)
}
