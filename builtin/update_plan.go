package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// Limits of plans and lists: longer ones are neither read nor followed.
const (
	maxSteps    = 30
	maxStepText = 200 // characters
)

func updatePlan() tool.Tool {
	type step struct {
		Text  string `json:"text"`
		State string `json:"state,omitempty" doc:"pending, active or done"`
	}
	type args struct {
		Steps []step `json:"steps"`
	}
	return tool.Define(tool.Spec[args]{
		Name:    "update_plan",
		Aliases: []string{"plan", "set_plan", "make_plan", "create_plan", "write_plan", "plan_update"},
		Group:   "pure",
		Summary: "Write down the steps of this task and how far they are.",
		Use:     "For tasks of three steps or more; send all steps each time.",
		Find:    "plan steps progress task organise",
		Effect:  jackline.Pure,
		Source:  jackline.Ours,
		Icon:    "think",
		Title:   func(a args) string { return fmt.Sprintf("Plan of %s", count(len(a.Steps), "step")) },
		Run: func(_ context.Context, _ tool.In, a args) (tool.Out, error) {
			if len(a.Steps) > maxSteps {
				return tool.Out{}, jackline.E("builtin.plan", jackline.Unprocessed, nil,
					"A plan has at most %d steps; join some.", maxSteps)
			}
			steps := make([]jackline.PlanStep, 0, len(a.Steps))
			done, now := 0, ""
			for _, s := range a.Steps {
				p := jackline.PlanStep{Text: short(s.Text, maxStepText), State: stateOf(s.State)}
				if p.Text == "" {
					continue
				}
				switch p.State {
				case stateDone:
					done++
				case stateActive:
					now = p.Text
				}
				steps = append(steps, p)
			}
			stored, err := json.Marshal(steps)
			if err != nil {
				return tool.Out{}, err
			}
			text := fmt.Sprintf("The plan has %s, %d done.", count(len(steps), "step"), done)
			if now != "" {
				text += " Now: " + now
			}
			return tool.Out{
				Text: text, View: stepsView(steps), State: map[string]json.RawMessage{jackline.PlanKey: stored},
				Events: []jackline.Body{jackline.PlanUpdate{Steps: steps}},
			}, nil
		},
	})
}

// The states of a step.
const (
	statePending = "pending"
	stateActive  = "active"
	stateDone    = "done"
)

// stateOf reads a state in any of the words that models have for it.
func stateOf(s string) string {
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(s)) {
	case "done", "complete", "completed", "finished", "x", "✓", "✔", "true", "ok":
		return stateDone
	case "active", "inprogress", "doing", "current", "started", "running", "now", "wip":
		return stateActive
	}
	return statePending
}

func stepsView(steps []jackline.PlanStep) jackline.View {
	v := jackline.View{Shape: jackline.ViewList}
	for _, s := range steps {
		v.Rows = append(v.Rows, []string{mark(s.State) + " " + s.Text})
	}
	return v
}

func mark(state string) string {
	switch state {
	case stateDone:
		return "[x]"
	case stateActive:
		return "[>]"
	}
	return "[ ]"
}
