package builtin

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool/tooltest"
)

func TestTime(t *testing.T) {
	w := newWork(t, nil)
	year := time.Now().UTC().Format("2006")
	if r := w.ok(t, "now", m{}); !strings.Contains(r.Text, year) || !strings.Contains(r.Text, "UTC+00:00") || r.Source != jackline.Ours {
		t.Errorf("%s", r.Text)
	}
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	must(t, err)
	w.Zone = tokyo
	if r := w.ok(t, "time", m{}); !strings.Contains(r.Text, "UTC+09:00") {
		t.Errorf("%s", r.Text)
	}
	for zone, want := range map[string]string{
		"Asia/Kolkata": "UTC+05:30", "new york": "America/New_York", "UTC-3": "UTC-03:00", "+0545": "UTC+05:45", "gmt": "UTC", "tokyo": "Asia/Tokyo",
		"Europe/Berlin": "Europe/Berlin",
	} {
		if r := w.ok(t, "time", m{"zone": zone}); !strings.Contains(r.Text, want) {
			t.Errorf("%s: %s", zone, r.Text)
		}
	}
	for _, zone := range []string{"Middle Earth", "../../etc/passwd", "UTC+99", "local", "/etc/localtime"} {
		w.fails(t, "time", m{"zone": zone}, "no time zone")
	}
}

func TestAskUser(t *testing.T) {
	w := newWork(t, nil)
	var asked []jackline.Question
	w.Desk.Answer = func(a tooltest.Asked) jackline.Answer {
		asked = a.Ask
		return jackline.Answer{Yes: true, Answers: [][]string{{"blue"}, {"42"}}}
	}
	r := w.ok(t, "ask", m{"question": "Which colour?", "options": []string{"red", "blue", ""}, "more": "How many?"})
	if len(asked) != 2 || len(asked[0].Options) != 2 || asked[1].Text != "How many?" || !strings.Contains(r.Text, "blue") || !strings.Contains(r.Text, "42") {
		t.Errorf("%+v %s", asked, r.Text)
	}
	if r.Source != jackline.Ours || r.Card == nil || r.Card.Kind != jackline.KindQuestion {
		t.Errorf("%+v", r)
	}
	w.fails(t, "ask_user", m{"question": " "}, "empty")
	w.fails(t, "ask_user", m{"question": "a", "more": []string{"b", "c", "d", "e"}}, "At most 4")
	w.fails(t, "ask_user", m{"question": strings.Repeat("x", 2000)}, "shorter")
}

func TestUpdatePlan(t *testing.T) {
	w := newWork(t, nil)
	r := w.ok(t, "update_plan", m{"steps": []m{{"text": "look", "state": "completed"}, {"text": "do it", "state": "in_progress"}, {"text": "check"}, {"text": ""}}})
	if r.Text != "The plan has 3 steps, 1 done. Now: do it" {
		t.Errorf("%s", r.Text)
	}
	want := []jackline.PlanStep{{Text: "look", State: "done"}, {Text: "do it", State: "active"}, {Text: "check", State: "pending"}}
	events := tooltest.Events[jackline.PlanUpdate](w.Log)
	if len(events) != 1 || !slices.Equal(events[0].Steps, want) {
		t.Errorf("%+v", events)
	}
	raw, err := w.Log.State(t.Context(), jackline.Local, w.Session.ID, "plan")
	must(t, err)
	var stored []jackline.PlanStep
	must(t, json.Unmarshal(raw, &stored))
	if !slices.Equal(stored, want) {
		t.Errorf("%+v", stored)
	}
	w.fails(t, "update_plan", m{"steps": slices.Repeat([]m{{"text": "x"}}, 31)}, "at most 30")
}

func TestTodo(t *testing.T) {
	w := newWork(t, nil)
	if r := w.ok(t, "todo", m{}); r.Text != "The list is empty." {
		t.Errorf("%s", r.Text)
	}
	r := w.ok(t, "todo", m{"add": []string{"buy rope", "paint deck", "call Ann"}})
	if r.Text != "1. [ ] buy rope\n2. [ ] paint deck\n3. [ ] call Ann" {
		t.Errorf("%s", r.Text)
	}
	r = w.ok(t, "todo", m{"done": []any{2}, "remove": []string{"rope"}, "add": "one more"})
	if r.Text != "1. [x] paint deck\n2. [ ] call Ann\n3. [ ] one more" {
		t.Errorf("%s", r.Text)
	}
	w.fails(t, "todo", m{"done": []string{"nothing such"}}, "by its number")
	if events := tooltest.Events[jackline.TodoUpdate](w.Log); len(events) != 2 || len(events[1].Items) != 3 {
		t.Errorf("%+v", events)
	}
	r = w.ok(t, "todo", m{"remove": []string{"1", "2", "3"}})
	if r.Text != "The list is empty." {
		t.Errorf("%s", r.Text)
	}
	if events := tooltest.Events[jackline.TodoUpdate](w.Log); len(events) != 3 || events[2].Items == nil {
		t.Errorf("%+v", events)
	}
	w.fails(t, "todo", m{"add": slices.Repeat([]string{"x"}, 101)}, "100 entries")
}

func TestFindTools(t *testing.T) {
	w := newWork(t, nil)
	for query, want := range map[string]string{
		"rename a file":                    "file_move",
		"delete directory":                 "file_delete",
		"square root of a number":          "calculator",
		"what day is it today":             "time",
		"apply a diff to multiple files":   "apply_patch",
		"search text in code":              "grep",
		"run tests":                        "shell",
		"find files by extension":          "glob",
		"read more of long command output": "read_result",
		"remember tasks in a checklist":    "todo",
		"copying":                          "file_copy",
	} {
		r := w.ok(t, "find_tools", m{"query": query})
		if first, _, _ := strings.Cut(r.Text, ":"); first != want || len(r.Found) == 0 || r.Found[0] != want {
			t.Errorf("%s: %s", query, r.Text)
		}
		if len(r.Found) > maxFound || r.Labels.Tainted {
			t.Errorf("%v", r.Found)
		}
	}
	if r := w.ok(t, "find_tools", m{"query": "qwertyuiop"}); !strings.Contains(r.Text, "All tools there are, to be called by name: file_read, ") || len(r.Found) != 0 {
		t.Errorf("%s", r.Text)
	}
	r := w.ok(t, "find_tools", m{"query": "copy"})
	if !strings.HasPrefix(r.Text, "file_copy: Copy a file or folder.") {
		t.Errorf("%s", r.Text)
	}
}
