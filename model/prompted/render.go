package prompted

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
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
	byName = "Also by name: "
)

// render writes a request for a model that knows nothing but text.
//
// The tools come right after the first system block, then the other blocks, all in one
// message. Results become user messages. Messages of the same role that follow each other are
// joined with a blank line, since many chat templates refuse any conversation in which user
// and assistant do not take turns. What is written for a message depends on it alone and is only
// ever appended to, so a longer request begins with all the text of a shorter one.
func (w *wrap) render(r model.Request) model.Request {
	// Tools that are not offered stand in the system message by name.
	names := fnv.New32a()
	for _, t := range r.Known {
		_, _ = names.Write([]byte(t.Name + " ")) // it never fails
	}
	d := w.drafts.Take(r, names.Sum32())
	if d == nil {
		d = w.drafts.Begin(r, names.Sum32())
		d.State.system = w.options.system(r)
	}
	defer w.drafts.Keep(d)
	out := model.Request{MaxTokens: r.MaxTokens}
	if d.State.system != "" {
		out.System = []string{d.State.system}
	}
	had := len(d.State.messages) // these may be in a request that is under way
	for _, m := range r.Messages[d.Written():] {
		d.Wrote(m)
		role, text := m.Role, message(m)
		if role == model.Result {
			role = model.User
		}
		if text == "" && len(m.Images) == 0 {
			continue
		}
		n := len(d.State.messages)
		if n == 0 || d.State.messages[n-1].Role != role {
			d.State.messages = append(d.State.messages, model.Message{Role: role, Text: text, Images: m.Images})
			continue
		}
		if n == had {
			d.State.messages, had = slices.Clone(d.State.messages), 0
		}
		last := &d.State.messages[n-1]
		last.Text = strings.TrimPrefix(last.Text+"\n\n"+text, "\n\n")
		last.Images = slices.Concat(last.Images, m.Images)
	}
	out.Messages = d.State.messages[:len(d.State.messages):len(d.State.messages)]
	return out
}

// A written is a conversation as it is written out.
type written struct {
	system   string
	messages []model.Message
}

// message writes one message.
func message(m model.Message) string {
	switch m.Role {
	case model.Result:
		return "[tool result: " + m.Name + "]\n" + m.Text
	case model.Assistant:
		parts := make([]string, 0, 1+len(m.Calls))
		if m.Text != "" {
			parts = append(parts, m.Text)
		}
		for _, c := range m.Calls {
			parts = append(parts, block(c))
		}
		return strings.Join(parts, "\n")
	case model.User:
	}
	return m.Text
}

// block writes a call in the form that is taught.
func block(c model.Call) string {
	return "```tool\n{\"name\": " + args.Compact(c.Name) + ", \"args\": " + string(c.Arguments()) + "}\n```"
}

func (o Options) system(r model.Request) string {
	blocks := r.System
	if len(r.Tools) > 0 {
		tools := o.Describe(r.Tools, r.Known)
		if len(blocks) == 0 {
			blocks = []string{tools}
		} else {
			blocks = append([]string{blocks[0], tools}, blocks[1:]...)
		}
	}
	return strings.Join(blocks, "\n\n")
}

// Describe writes what a model is told about tools: how to call one, what each does, and which
// others there are.
func (o Options) Describe(tools, known []model.Tool) string {
	c := contract.Of(contract.Middle)
	if o.Brief {
		c = contract.Of(contract.Small)
	}
	room, names := c.Tools, c.Tools
	if o.Room > 0 {
		room, names = o.Room, o.Room
	}
	if o.Names > 0 {
		names = o.Names
	}
	text := ""
	for _, d := range o.details() {
		if text = d.describe(tools); utf8.RuneCountInString(text) <= room {
			break
		}
	}
	text = strings.TrimRight(text, "\n")
	return text + also(tools, known, min(names, room-utf8.RuneCountInString(text)))
}

// detail is how much is said about a tool.
type detail struct {
	teaching string
	use      bool // when to use it
	types    bool // that an argument is text
	nested   bool // what is in an argument that is an object
	summary  int  // characters of the summary, 0 for all
}

// details are the ways to describe tools, the longest first.
func (o Options) details() []detail {
	all := []detail{
		{teaching: teaching, use: true, types: true, nested: true},
		{teaching: teaching, use: true, nested: true},
		{teaching: teaching, nested: true},
		{teaching: teachingBrief, nested: true, summary: 90},
		{teaching: teachingBrief, summary: 60},
		{teaching: teachingBrief, summary: 30},
	}
	if o.Brief {
		return all[3:]
	}
	return all
}

func (d detail) describe(tools []model.Tool) string {
	var b strings.Builder
	b.WriteString(d.teaching)
	for _, t := range tools {
		b.WriteString("- " + args.Signature(t.Name, t.Schema, args.Detail{Text: d.types, Nested: d.nested}))
		if s := d.shorten(t.Summary); s != "" {
			b.WriteString(" " + s)
		}
		if d.use && t.Use != "" {
			b.WriteString(" " + t.Use)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// shorten cuts a summary at the end of a sentence or a word.
func (d detail) shorten(summary string) string {
	if d.summary == 0 || utf8.RuneCountInString(summary) <= d.summary {
		return summary
	}
	if first, _, ok := strings.Cut(summary, ". "); ok && utf8.RuneCountInString(first) < d.summary {
		return first + "."
	}
	runes := []rune(summary)
	cut := string(runes[:d.summary-1])
	if i := strings.LastIndexByte(cut, ' '); i > 0 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,.;:") + "…"
}

// also lists tools that are not offered, as many as there is room for, and how many more there are.
func also(tools, known []model.Tool, room int) string {
	offered := make(map[string]bool, len(tools))
	for _, t := range tools {
		offered[t.Name] = true
	}
	const rest = ", and 1000 more"
	var b strings.Builder
	left, chars := 0, 0
	for _, t := range known {
		if offered[t.Name] {
			continue
		}
		next := ", " + t.Name
		if b.Len() == 0 {
			next = "\n" + byName + t.Name
		}
		n := utf8.RuneCountInString(next)
		if left > 0 || chars+n > room-len(rest) {
			left++
			continue
		}
		chars += n
		b.WriteString(next)
	}
	if left > 0 && b.Len() > 0 {
		fmt.Fprintf(&b, ", and %d more", left)
	}
	return b.String()
}
