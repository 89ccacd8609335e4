package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// maxTodo is how long the list of a session may get.
const maxTodo = 100

func todo() tool.Tool {
	type args struct {
		Add    []string `json:"add,omitempty"`
		Done   []string `json:"done,omitempty" doc:"numbers or texts"`
		Remove []string `json:"remove,omitempty"`
	}
	return tool.Define(tool.Spec[args]{
		Name:    "todo",
		Aliases: []string{"todo_list", "todos", "todo_write", "todo_read", "add_todo", "todo_add", "task_list", "checklist", "write_todos"},
		Group:   "pure",
		Summary: "Keep this chat's to-do list; without arguments, show it.",
		Find:    "list tasks remember later remind checklist items",
		Effect:  jackline.Pure,
		Source:  jackline.Ours,
		Icon:    "think",
		Final:   true,
		Title: func(a args) string {
			switch {
			case len(a.Add) > 0:
				return "Note " + short(strings.Join(a.Add, ", "), 60)
			case len(a.Done)+len(a.Remove) > 0:
				return "Tick off " + short(strings.Join(append(slices.Clone(a.Done), a.Remove...), ", "), 60)
			}
			return "Show the to-do list"
		},
		Run: func(_ context.Context, in tool.In, a args) (tool.Out, error) {
			items, err := todoItems(in)
			if err != nil {
				return tool.Out{}, err
			}
			before := len(items)
			// All marks are read before any is carried out, so that numbers mean what was shown.
			done, err := marked(items, a.Done)
			if err != nil {
				return tool.Out{}, err
			}
			gone, err := marked(items, a.Remove)
			if err != nil {
				return tool.Out{}, err
			}
			var kept []jackline.PlanStep
			for i, item := range items {
				if done[i] {
					item.State = stateDone
				}
				if !gone[i] {
					kept = append(kept, item)
				}
			}
			for _, text := range a.Add {
				if text = short(text, maxStepText); text != "" {
					kept = append(kept, jackline.PlanStep{Text: text, State: statePending})
				}
			}
			if len(kept) > maxTodo {
				return tool.Out{}, jackline.E("builtin.todo", jackline.Unprocessed, nil,
					"The list may have %d entries; remove some that are done.", maxTodo)
			}
			out := tool.Out{Text: todoText(kept), View: stepsView(kept)}
			if len(done)+len(gone) == 0 && len(kept) == before {
				return out, nil // only shown
			}
			stored, err := json.Marshal(kept)
			if err != nil {
				return tool.Out{}, err
			}
			if kept == nil {
				kept = []jackline.PlanStep{}
			}
			out.State = map[string]json.RawMessage{todoKey: stored}
			out.Events = []jackline.Body{jackline.TodoUpdate{Items: kept}}
			return out, nil
		},
	})
}

// todoKey is under which the session keeps its list.
const todoKey = "todo"

// todoItems reads the list. A list that cannot be read is an error: it must not be taken for an empty one and written over.
func todoItems(in tool.In) ([]jackline.PlanStep, error) {
	if in.State == nil {
		return nil, nil
	}
	raw, err := in.State(todoKey)
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	var items []jackline.PlanStep
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, jackline.E("builtin.todo", jackline.Internal, err, "The list cannot be read.")
	}
	return items, nil
}

// marked finds the entries that are named by number or by text.
func marked(items []jackline.PlanStep, names []string) (map[int]bool, error) {
	found := map[int]bool{}
	for _, name := range names {
		name = strings.TrimSpace(name)
		if n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(name, "#"), ".")); err == nil && n >= 1 && n <= len(items) {
			found[n-1] = true
			continue
		}
		same := slices.IndexFunc(items, func(s jackline.PlanStep) bool { return strings.EqualFold(s.Text, name) })
		if same < 0 {
			same = slices.IndexFunc(items, func(s jackline.PlanStep) bool {
				return name != "" && strings.Contains(strings.ToLower(s.Text), strings.ToLower(name))
			})
		}
		if same < 0 {
			return nil, jackline.E("builtin.todo", jackline.Unprocessed, nil,
				"Nothing on the list is called %q; name an entry by its number.", short(name, 60))
		}
		found[same] = true
	}
	return found, nil
}

func todoText(items []jackline.PlanStep) string {
	if len(items) == 0 {
		return "The list is empty."
	}
	var b strings.Builder
	for i, s := range items {
		fmt.Fprintf(&b, "%d. %s %s\n", i+1, mark(s.State), s.Text)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
