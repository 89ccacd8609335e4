package envelope

import (
	"encoding/json"
	"strings"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint"
	"github.com/jackline-ai/jackline/model/taught"
)

// What models are taught. Every word of it is paid for with the window of a small model.
const (
	teaching = `# Tools
Each answer is one JSON object, nothing else. To use a tool:
{"tool": "NAME", "args": {"KEY": "VALUE"}}
The next message brings the result, headed [tool result: NAME]. Never write a result yourself, and never guess one. One tool at a time. When you are done, or need no tool:
{"final": true}
Then you are asked for your answer in plain words. Use only the tools below; arguments with ? may be left out. In the place of a long text put {"later": true}: you are asked for it next.
`
	teachingBrief = `# Tools
Each answer is one JSON object: a tool call
{"tool": "NAME", "args": {"KEY": "VALUE"}}
whose result comes next, headed [tool result: NAME], or, when you are done or need no tool,
{"final": true}
Then you are asked for the answer. Never make up a result. Arguments are text unless marked; those with ? are optional. For a long text put {"later": true}.
`

	askAnswer = "[note] Now write your answer, in plain words. No JSON, no tool."
	askBody   = "[note] Now write KEY, whole and nothing else: a line ```, the text, a line ```."
)

// doneSaid is what stands between the word that the model is done and its answer.
func doneSaid() []model.Message {
	return []model.Message{{Role: model.Assistant, Text: constraint.Envelope().Final()}, {Role: model.User, Text: askAnswer}}
}

// bodySaid is what stands between a call and the body that comes apart.
func bodySaid(call, key string) []model.Message {
	return []model.Message{{Role: model.Assistant, Text: call}, {Role: model.User, Text: strings.Replace(askBody, "KEY", key, 1)}}
}

// said writes one message: what the model has said as it would have said it in this mode, with what it was asked in
// between. Where no tools are offered nothing was asked.
func said(m model.Message, tools []model.Tool) []model.Message {
	switch m.Role {
	case model.Result:
		return []model.Message{{Role: model.User, Text: taught.Result(m)}}
	case model.Assistant:
		var all []model.Message
		if m.Text != "" {
			if len(tools) > 0 && len(m.Calls) == 0 {
				all = append(all, doneSaid()...)
			}
			all = append(all, model.Message{Role: model.Assistant, Text: m.Text})
		}
		for _, c := range m.Calls {
			all = append(all, called(c, tools)...)
		}
		return all
	case model.User:
	}
	return []model.Message{{Role: m.Role, Text: m.Text, Images: m.Images}}
}

// called writes a call, its arguments in the order of the tool's schema, as the model was held to. A long body stands apart,
// as it was asked for.
func called(c model.Call, tools []model.Tool) []model.Message {
	f := constraint.Envelope()
	o, t := ordered(c, tools)
	if o == nil {
		return []model.Message{{Role: model.Assistant, Text: f.Call(c.Name, c.Arguments())}}
	}
	body, _ := o.Get(t.Body)
	text, _ := body.(string)
	if t.Body == "" || !f.Long(text) {
		return []model.Message{{Role: model.Assistant, Text: f.Call(c.Name, json.RawMessage(args.Compact(o)))}}
	}
	return append(bodySaid(f.Call(c.Name, later(o, t.Body)), t.Body),
		model.Message{Role: model.Assistant, Text: "```\n" + strings.TrimSuffix(text, "\n") + "\n```"})
}

// later writes arguments of which one comes apart.
func later(o *args.Object, body string) json.RawMessage {
	marker := &args.Object{}
	marker.Set("later", true)
	o.Set(body, marker)
	return json.RawMessage(args.Compact(o))
}

// ordered are the arguments of a call in the order of its tool's schema: the required ones first. It is nil for a call of a
// tool that is not offered.
func ordered(c model.Call, tools []model.Tool) (*args.Object, model.Tool) {
	for _, t := range tools {
		if t.Name != c.Name {
			continue
		}
		schema, err := args.Parse(t.Schema)
		if err != nil {
			return nil, t
		}
		v, err := args.Strict(c.Arguments())
		given, ok := v.(*args.Object)
		if err != nil || !ok {
			return nil, t
		}
		out := &args.Object{}
		for _, required := range []bool{true, false} {
			for _, name := range schema.Names() {
				if v, there := given.Get(name); there && schema.Required(name) == required {
					out.Set(name, v)
				}
			}
		}
		for name, v := range given.All() {
			out.Set(name, v)
		}
		return out, t
	}
	return nil, model.Tool{}
}
