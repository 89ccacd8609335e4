package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/sandbox"
)

// What the page plays to people who have no model yet. It is recorded here, from the program itself with a scripted model.
const (
	tourFile   = "../../ui/web/tour/recording.json"
	tourFolder = "/home/you/bakery" // in place of the folder of the test
	tourPrompt = "On Saturdays we close at two now. Put that on the page with our hours, and check it."
	tourPage   = "<h1>Opening hours</h1>\n<ul>\n  <li>Tuesday to Friday: 7:00 to 18:00</li>\n  <li>Saturday: 7:00 to 16:00</li>\n  <li>Sunday and Monday: closed</li>\n</ul>\n"
	tourFirst  = `=== 1
--- thought
I do not know yet where the hours stand. First I look around.
--- text
I will see which page has your hours.
--- call list_dir {"path": "."}
=== 2
--- call file_read {"path": "hours.html"}
=== 3
The hours stand in hours.html, in one line for Saturday. I will change only that line.
--- call file_edit {"path": "hours.html", "old": "Saturday: 7:00 to 16:00", "new": "Saturday: 7:00 to 14:00"}
`
	tourSecond = `=== 4
The line is changed. Your folder has a script that checks the pages; I run it.
--- call shell {"command": "sh check.sh"}
`
	tourYes = `=== 5
--- expect hours.html: 3 lines, no mistakes
The page says **Saturday: 7:00 to 14:00** now. I changed that one line of hours.html and nothing else, and your check found no mistakes.
`
	tourNoRun = `=== 5
The page says **Saturday: 7:00 to 14:00** now; that is the one line of hours.html that I changed. I did not run the check, since you did not allow it.
`
	tourNoEdit = `=== 4
I left hours.html as it is, since you did not allow the change. It still says **Saturday: 7:00 to 16:00**.

If you would like it put differently, tell me how.
`
	tourCheck = "echo \"hours.html: $(grep -c '<li>' hours.html) lines, no mistakes\"\n"
)

var offered = regexp.MustCompile(`"tools":\["[^\]]*\]`)

// A tourRun is one way in which the recorded job can go: the answers, the cards that they answer, and the log.
type tourRun struct {
	Answers []bool              `json:"answers"`
	Cards   []jackline.Approval `json:"cards"`
	Events  []jackline.Event    `json:"events"`
}

// TestTour records the job with each way of answering, and compares it with what the page plays; -update writes it.
func TestTour(t *testing.T) {
	l, err := sandbox.Open(t.Context(), sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if r := l.Report(); r.Level == jackline.SandboxNone {
		t.Skipf("THERE IS NO SANDBOX HERE, and the tour shows one: it was not compared. %s", r.Why)
	}
	runs := []tourRun{
		recordTour(t, tourFirst+tourSecond+tourYes, "14:00", true, true),
		recordTour(t, tourFirst+tourSecond+tourNoRun, "14:00", true, false),
		recordTour(t, tourFirst+tourNoEdit, "16:00", false),
	}
	// Up to the answer in which two runs differ they must be the same, so that the page can go from one to the other.
	for _, pair := range []struct{ run, card int }{{1, 1}, {2, 0}} {
		one, other := runs[0].until(pair.card), runs[pair.run].until(pair.card)
		if d := cmp.Diff(one, other); d != "" {
			t.Errorf("before its answer %d, run %d is another:\n%s", pair.card+1, pair.run+1, d)
		}
	}
	b, err := json.MarshalIndent(map[string]any{"prompt": tourPrompt, "runs": runs}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	// In the tour's folder both levels hold as much.
	b = bytes.ReplaceAll(append(b, '\n'), []byte(`"level": "landlock"`), []byte(`"level": "namespaces"`))
	if *update {
		if err := os.WriteFile(filepath.FromSlash(tourFile), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	had, err := os.ReadFile(filepath.FromSlash(tourFile))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(had, b) {
		t.Errorf("%s is not what the program does now: make generate\n%s", tourFile, cmp.Diff(strings.Split(string(had), "\n"), strings.Split(string(b), "\n")))
	}
}

// until is the log up to where the run waits for the answer to a card.
func (r tourRun) until(card int) []jackline.Event {
	for k, ev := range r.Events {
		if ev.Type == "tool.approval_needed" && bytes.Contains(ev.Data, []byte(r.Cards[card].ID)) {
			return r.Events[:k+2] // and that it waits
		}
	}
	return nil
}

// recordTour does the job on a real server and gives the log as it stands afterwards.
func recordTour(t *testing.T, says, hour string, answers ...bool) tourRun {
	t.Helper()
	e := engine(t, says)
	h := newHome(t, e.URL, "native")
	for name, content := range map[string]string{"hours.html": tourPage, "index.html": "<h1>Bakery</h1>\n", "check.sh": tourCheck} {
		h.write(name, content)
	}
	a := h.serve()
	s := a.session(map[string]any{"workspace": h.ws})
	v := a.prompt(s.ID, tourPrompt, map[string]any{"onAsk": "wait"})
	var cards []jackline.Approval
	for _, yes := range answers {
		card := a.card(s.ID)
		cards = append(cards, card)
		in := map[string]any{"approved": yes}
		if yes {
			in["scope"] = "once"
		}
		a.answer(card.ID, in)
	}
	if end := a.settled(s.ID, v.ID); end.Status != jackline.Done {
		t.Fatalf("the turn ended as %s: %s", end.Status, end.Reason)
	}
	if errs := e.Errs(); len(errs) > 0 {
		t.Fatalf("the engine says: %v", errs)
	}
	if got := h.read("hours.html"); got != strings.Replace(tourPage, "16:00", hour, 1) {
		t.Errorf("the page holds %q", got)
	}
	return a.export(s.ID).tour(t, tourRun{Answers: answers, Cards: cards})
}

// tour is the log without what differs from run to run: ids go by their order, moments by the second, durations and counts
// of tokens are left at zero, and live text is in one piece.
func (e export) tour(t *testing.T, r tourRun) tourRun {
	t.Helper()
	var events []jackline.Event
	for _, ev := range e.Events {
		if n := len(events); n > 0 && ev.Type == events[n-1].Type && (ev.Type == "text" || ev.Type == "thought") {
			whole := body[jackline.Text](t, events[n-1]).Text + body[jackline.Text](t, ev).Text
			events[n-1].Data, _ = json.Marshal(jackline.Text{Text: whole})
			continue
		}
		ev.ID, ev.Seq = int64(len(events)+1), int64(len(events)+1)
		events = append(events, ev)
	}
	// Cards come after the log, so that ids go by their order there.
	r.Events = events
	b, err := json.Marshal(struct {
		Events  []jackline.Event    `json:"events"`
		Cards   []jackline.Approval `json:"cards"`
		Answers []bool              `json:"answers"`
	}{r.Events, r.Cards, r.Answers})
	if err != nil {
		t.Fatal(err)
	}
	folder, _ := json.Marshal(e.Session.Workspace)
	text := strings.ReplaceAll(string(b), strings.Trim(string(folder), `"`), tourFolder)
	ids := map[string]string{}
	text = someID.ReplaceAllStringFunc(text, func(id string) string {
		if ids[id] == "" {
			ids[id] = id[:2] + strconv.Itoa(len(ids)+1)
		}
		return ids[id]
	})
	second := 0
	begin := time.Date(2026, 1, 5, 10, 0, 0, 0, time.UTC)
	text = moments.ReplaceAllStringFunc(text, func(string) string {
		second++
		return strconv.Quote(begin.Add(time.Duration(second) * time.Second).Format(time.RFC3339))
	})
	text = figures.ReplaceAllString(text, `"$1":0`)
	text = offered.ReplaceAllString(text, `"tools":[]`) // which grow with the program, and are not shown
	var out tourRun
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// TestTourEvents holds the recording to the types of the log: those that event.go declares, and no others.
func TestTourEvents(t *testing.T) {
	b, err := os.ReadFile(filepath.FromSlash(tourFile))
	if err != nil {
		t.Fatal(err)
	}
	var tape struct {
		Prompt string    `json:"prompt"`
		Runs   []tourRun `json:"runs"`
	}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&tape); err != nil {
		t.Fatal(err)
	}
	types := eventTypes(t)
	for _, r := range tape.Runs {
		seen := map[string]bool{}
		for k, ev := range r.Events {
			if !types[ev.Type] {
				t.Errorf("event %d has the type %q, which no event of the log has", k+1, ev.Type)
			}
			if ev.V != jackline.EventVersion || ev.ID != int64(k+1) {
				t.Errorf("event %d has the version %d and the id %d", k+1, ev.V, ev.ID)
			}
			seen[ev.Type] = true
		}
		for _, must := range []string{"turn.start", "tool.call", "tool.approval_needed", "tool.result", "text", "budget", "turn.end"} {
			if !seen[must] {
				t.Errorf("a run without %s", must)
			}
		}
		if len(r.Cards) != len(r.Answers) || len(r.Cards) == 0 || r.Cards[0].View.Shape != jackline.ViewDiff || r.Cards[0].Folder != tourFolder {
			t.Errorf("the answers %v have the cards %+v", r.Answers, r.Cards)
		}
	}
	if len(tape.Runs) != 3 || tape.Prompt != tourPrompt {
		t.Errorf("%d runs of %q", len(tape.Runs), tape.Prompt)
	}
}

// eventTypes are the types that the Type methods of event.go return.
func eventTypes(t *testing.T) map[string]bool {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", "event.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]bool{}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv == nil || fn.Name.Name != "Type" {
			continue
		}
		ast.Inspect(fn, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				s, err := strconv.Unquote(lit.Value)
				if err != nil {
					t.Fatal(fmt.Errorf("%s: %w", lit.Value, err))
				}
				types[s] = true
			}
			return true
		})
	}
	if len(types) < 20 {
		t.Fatalf("event.go has only %d types: %v", len(types), types)
	}
	return types
}
