package builtin

import (
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// Limits of what is asked at once: more is not read.
const (
	maxQuestions = 4
	maxOptions   = 8
	maxAsked     = 1000 // characters of a question
)

func askUser() tool.Tool {
	type args struct {
		Question string   `json:"question"`
		Options  []string `json:"options,omitempty"`
		More     []string `json:"more,omitempty" doc:"further questions"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "ask_user",
		Aliases: []string{
			"ask", "ask_question", "question", "ask_human", "ask_followup_question", "clarify", "user_input", "request_input", "ask_owner", "get_user_input",
		},
		Group:   "pure",
		Summary: "Ask the user up to four questions.",
		Use:     "Only if you cannot decide or find out yourself.",
		Find:    "question clarify choose confirm human input prompt",
		Effect:  jackline.Pure,
		Source:  jackline.Ours,
		Pin:     tool.PinSmall,
		Icon:    "think",
		Final:   true,
		Title:   func(a args) string { return "Ask: " + short(a.Question, 80) },
		Ask: func(a args) ([]jackline.Question, error) {
			if len(a.More) >= maxQuestions {
				return nil, jackline.E("builtin.ask", jackline.Unprocessed, nil,
					"At most %d questions may be asked at once.", maxQuestions)
			}
			var questions []jackline.Question
			for i, text := range append([]string{a.Question}, a.More...) {
				text = strings.TrimSpace(text)
				if text == "" {
					return nil, jackline.E("builtin.ask", jackline.Unprocessed, nil, "A question is empty.")
				}
				if len([]rune(text)) > maxAsked {
					return nil, jackline.E("builtin.ask", jackline.Unprocessed, nil,
						"A question has more than %d characters; say it shorter.", maxAsked)
				}
				q := jackline.Question{Text: text}
				if i == 0 {
					q.Options = choices(a.Options)
				}
				questions = append(questions, q)
			}
			return questions, nil
		},
	})
}

// choices are the answers to choose from. Every one is a line; empty ones are none.
func choices(options []string) (all []string) {
	for _, o := range options {
		if o = short(o, 200); o != "" && len(all) < maxOptions {
			all = append(all, o)
		}
	}
	return all
}
