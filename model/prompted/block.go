package prompted

import (
	"strings"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/taught"
)

// What models are taught. Every word of it is paid for with the window of a small model.
const (
	teaching = `# Tools
To use a tool, end your answer with a block of exactly this form:
` + "```tool" + `
{"name": "NAME", "args": {"KEY": "VALUE"}}
` + "```" + `
Then stop. The next message brings the result, headed [tool result: NAME]. Never write a result yourself, and never guess one. Up to 3 blocks at once if none needs the result of another. Use only the tools below; arguments with ? may be left out. If you need no tool, answer in plain words without a block.
`
	teachingBrief = `# Tools
To use a tool, end your answer with exactly:
` + "```tool" + `
{"name": "NAME", "args": {"KEY": "VALUE"}}
` + "```" + `
Then stop: the result comes next, headed [tool result: NAME]. Never make up a result. Arguments are text unless marked; those with ? are optional. Need no tool? Answer without a block.
`
)

func (o Options) manual() taught.Manual {
	return taught.Manual{Teaching: teaching, Brief: teachingBrief, Short: o.Brief, Room: o.Room, Names: o.Names}
}

// said writes one message.
func said(m model.Message, _ []model.Tool) []model.Message {
	text := m.Text
	switch m.Role {
	case model.Result:
		text = taught.Result(m)
	case model.Assistant:
		parts := make([]string, 0, 1+len(m.Calls))
		if m.Text != "" {
			parts = append(parts, m.Text)
		}
		for _, c := range m.Calls {
			parts = append(parts, block(c))
		}
		text = strings.Join(parts, "\n")
	case model.User:
	}
	return []model.Message{{Role: m.Role, Text: text, Images: m.Images}}
}

// block writes a call in the form that is taught.
func block(c model.Call) string {
	return "```tool\n{\"name\": " + args.Compact(c.Name) + ", \"args\": " + string(c.Arguments()) + "}\n```"
}
