package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/jackline-ai/jackline"
)

// mostCards is how many questions a standard task may cost a person who answers "this task": a person who is asked more
// often stops to read.
const mostCards = 2

// A task is one of the standard tasks: what a person wants, what a sensible model does, and the folder it happens in.
type task struct {
	name, title, prompt, script string
	files, want                 map[string]string
	git                         bool
}

// tasks reads testdata/tasks.
func tasks() ([]task, error) {
	paths, err := filepath.Glob(filepath.Join("testdata", "tasks", "*.txtar"))
	if err != nil {
		return nil, err
	}
	var all []task
	for _, p := range paths {
		a, err := txtar.ParseFile(p)
		if err != nil {
			return nil, err
		}
		k := task{name: strings.TrimSuffix(filepath.Base(p), ".txtar"), title: strings.TrimSpace(string(a.Comment)), files: map[string]string{}, want: map[string]string{}}
		for _, f := range a.Files {
			text := string(f.Data)
			switch folder, name, _ := strings.Cut(f.Name, "/"); folder {
			case "prompt":
				k.prompt = strings.TrimSpace(text)
			case "script":
				k.script = text
			case "git":
				k.git = true
			case "ws":
				k.files[name] = text
			case "want":
				k.want[name] = text
			default:
				return nil, fmt.Errorf("%s: what is %s?", p, f.Name)
			}
		}
		all = append(all, k)
	}
	return all, nil
}

var scriptedCall = regexp.MustCompile(`(?m)^--- call (.+)$`)

// taskTable is the part of docs/tasks.md that is made from them.
func taskTable() string {
	all, err := tasks()
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for n, k := range all {
		fmt.Fprintf(&b, "\n### %d. %s\n\n> %s\n\n", n+1, k.title, k.prompt)
		for _, m := range scriptedCall.FindAllStringSubmatch(k.script, -1) {
			fmt.Fprintf(&b, "- `%s`\n", strings.ReplaceAll(m[1], "WEB", "https://example.org"))
		}
	}
	return b.String() + "\n"
}

// lookups is a search service of the owner's, and the pages that it finds.
func lookups(t *testing.T) *httptest.Server {
	pages := map[string]string{
		"/lighthouse": "The lighthouse of Lindau was built from 1853 to 1856.", "/alpha": "The ferry Alpha makes 14 knots.", "/beta": "The ferry Beta makes 17 knots.",
	}
	var s *httptest.Server
	s = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/search" {
			var hits []map[string]string
			for path, text := range pages {
				hits = append(hits, map[string]string{"title": text[:20], "url": s.URL + path, "content": text})
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"results": hits})
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>Page</title><main><p>%s</p></main>", pages[r.URL.Path])
	}))
	t.Cleanup(s.Close)
	return s
}

// TestTasks does each standard task with the real program, in both modes, and counts what its person is asked.
func TestTasks(t *testing.T) {
	all, err := tasks()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 12 {
		t.Errorf("there are %d tasks", len(all))
	}
	for _, mode := range []string{"allow-reads", "allow-edits"} {
		for _, k := range all {
			t.Run(mode+"/"+k.name, func(t *testing.T) { k.do(t, mode) })
		}
	}
}

// do does the task in a home of its own.
func (k task) do(t *testing.T, mode string) {
	net := lookups(t)
	e := engine(t, strings.ReplaceAll(k.script, "WEB", net.URL))
	h := newHome(t, e.URL, "native")
	h.env["JACKLINE_SEARXNG_URL"], h.env["JACKLINE_EGRESS_ALLOW"], h.env["JACKLINE_WINDOW"] = net.URL, strings.TrimPrefix(net.URL, "http://"), "32768"
	k.lay(t, h.ws)
	_, a := h.startServer()
	level := want[struct{ Sandbox string }](a, 200, "GET", "/api/status", nil).Sandbox
	s := a.session(map[string]any{"workspace": h.ws, "mode": mode})
	v := a.prompt(s.ID, k.prompt, map[string]any{"onAsk": "wait"})
	cards, why := 0, []string{}
	for f := range a.events(s.ID, 0) {
		if f.ev.Type == "tool.approval_needed" {
			id := body[jackline.ApprovalNeeded](t, f.ev).Approval
			card := want[jackline.Approval](a, 200, "GET", "/api/tools/approvals/"+string(id), nil)
			if card.State == jackline.Pending { // one that an earlier answer covers is none
				cards++
				why = append(why, fmt.Sprintf("%s (%s)", card.Title, strings.TrimSpace(fmt.Sprint(card.Why))))
				a.answer(id, map[string]any{"approved": true, "scope": "task"})
			}
		}
		if f.ev.Turn == v.ID && f.ev.Type == "turn.end" {
			break
		}
	}
	v = a.turn(s.ID, v.ID)
	if v.Status != jackline.Done {
		t.Errorf("it ended as %s: %s %s", v.Status, v.Reason, v.Answer)
	}
	for _, ev := range a.export(s.ID).Events {
		if ev.Type == "tool.result" {
			if r := body[jackline.ToolResult](t, ev); r.Outcome != jackline.OK && !strings.Contains(k.name, "failing-test") {
				t.Errorf("%s: %s: %.300s", r.Name, r.Outcome, r.Text)
			}
		}
	}
	for name, text := range k.want {
		if got := h.read(filepath.FromSlash(name)); got != text {
			t.Errorf("%s holds %q, want %q", name, got, text)
		}
	}
	if errs := e.Errs(); len(errs) > 0 {
		t.Errorf("the engine says: %v", errs)
	}
	t.Logf("%d cards at sandbox level %s: %s", cards, level, strings.Join(why, "; "))
	if cards > mostCards {
		t.Errorf("%d cards: %d at most", cards, mostCards)
	}
}

// lay makes the workspace. In a repository, files below changed stand for what was changed since the last commit.
func (k task) lay(t *testing.T, ws string) {
	t.Helper()
	put := func(name, text string) {
		p := filepath.Join(ws, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range k.files {
		if !strings.HasPrefix(name, "changed/") {
			put(name, text)
		}
	}
	if !k.git {
		return
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("there is no git on this machine, which this task is about")
	}
	for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "Somebody"}, {"config", "user.email", "somebody@example.org"}, {"add", "-A"}, {"commit", "-qm", "Begin"}} {
		c := exec.Command(git, args...)
		c.Dir = ws
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, bytes.TrimSpace(out))
		}
	}
	for name, text := range k.files {
		if to, ok := strings.CutPrefix(name, "changed/"); ok {
			put(to, text)
		}
	}
}
