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
	type further struct {
		Question string   `json:"question"`
		Options  []string `json:"options,omitempty"`
	}
	type args struct {
		Question string    `json:"question"`
		Options  []string  `json:"options,omitempty"`
		More     []further `json:"more,omitempty"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "ask_user",
		Aliases: []string{
			"ask", "ask_question", "question", "ask_human", "ask_followup_question", "clarify", "user_input", "request_input", "ask_owner", "get_user_input",
		},
		Group:   "pure",
		Summary: "Ask the user up to four questions.",
		Use:     "Only when you cannot decide or find it out yourself.",
		Find:    "question clarify choose confirm human input prompt",
		Effect:  jackline.Pure,
		Source:  jackline.Ours,
		Pin:     pinSmall,
		Icon:    "think",
		Final:   true,
		Title:   func(a args) string { return "Ask: " + short(a.Question, 80) },
		Ask: func(a args) ([]jackline.Question, error) {
			all := append([]further{{a.Question, a.Options}}, a.More...)
			if len(all) > maxQuestions {
				return nil, jackline.E("builtin.ask", jackline.Unprocessed, nil, "At most %d questions may be asked at once.", maxQuestions)
			}
			questions := make([]jackline.Question, 0, len(all))
			for _, q := range all {
				text := strings.TrimSpace(q.Question)
				if text == "" {
					return nil, jackline.E("builtin.ask", jackline.Unprocessed, nil, "A question is empty.")
				}
				if len([]rune(text)) > maxAsked {
					return nil, jackline.E("builtin.ask", jackline.Unprocessed, nil, "A question has more than %d characters; say it shorter.", maxAsked)
				}
				var options []string
				for _, o := range q.Options {
					if o = short(o, 200); o != "" && len(options) < maxOptions {
						options = append(options, o)
					}
				}
				questions = append(questions, jackline.Question{Text: text, Options: options})
			}
			return questions, nil
		},
	})
}
