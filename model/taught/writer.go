package taught

import (
	"hash/fnv"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/model"
)

// A Writer writes requests for models that know nothing but text. Its fields are not changed once it is used; the zero value of
// the rest is ready, and safe for several goroutines at once.
type Writer struct {
	Manual Manual

	// Said is what a message becomes: usually one message, none where nothing of it is left. What it gives depends on the
	// message and on the tools that are offered.
	Said func(m model.Message, tools []model.Tool) []model.Message

	drafts model.Drafts[written]
}

// Write writes a request.
//
// The tools come right after the first system block, then the other blocks, all in one
// message. Results become user messages. Messages of the same role that follow each other are
// joined with a blank line, since many chat templates refuse any conversation in which user
// and assistant do not take turns. What is written for a message depends on it alone and is only
// ever appended to, so a longer request begins with all the text of a shorter one.
func (w *Writer) Write(r model.Request) model.Request {
	// Tools that are not offered stand in the system message by name.
	names := fnv.New32a()
	for _, t := range r.Known {
		_, _ = names.Write([]byte(t.Name + " ")) // it never fails
	}
	d := w.drafts.Take(r, names.Sum32())
	if d == nil {
		d = w.drafts.Begin(r, names.Sum32())
		d.State.system = w.Manual.system(r)
	}
	defer w.drafts.Keep(d)
	out := model.Request{MaxTokens: r.MaxTokens}
	if d.State.system != "" {
		out.System = []string{d.State.system}
	}
	had := len(d.State.messages) // these may be in a request that is under way
	for _, m := range r.Messages[d.Written():] {
		d.Wrote(m)
		for _, said := range w.Said(m, r.Tools) {
			role, text := said.Role, said.Text
			if role == model.Result {
				role = model.User
			}
			if text == "" && len(said.Images) == 0 {
				continue
			}
			n := len(d.State.messages)
			if n == 0 || d.State.messages[n-1].Role != role {
				d.State.messages = append(d.State.messages, model.Message{Role: role, Text: text, Images: said.Images})
				continue
			}
			if n == had {
				d.State.messages, had = slices.Clone(d.State.messages), 0
			}
			last := &d.State.messages[n-1]
			last.Text = strings.TrimPrefix(last.Text+"\n\n"+text, "\n\n")
			last.Images = slices.Concat(last.Images, said.Images)
		}
	}
	out.Messages = d.State.messages[:len(d.State.messages):len(d.State.messages)]
	return out
}

// A written is a conversation as it is written out.
type written struct {
	system   string
	messages []model.Message
}

func (m Manual) system(r model.Request) string {
	blocks := r.System
	if len(r.Tools) > 0 {
		tools := m.Describe(r.Tools, r.Known)
		if len(blocks) == 0 {
			blocks = []string{tools}
		} else {
			blocks = append([]string{blocks[0], tools}, blocks[1:]...)
		}
	}
	return strings.Join(blocks, "\n\n")
}

// Result is the text of a result.
func Result(m model.Message) string { return "[tool result: " + m.Name + "]\n" + m.Text }

// mostCallable bounds the tools that a step is held to: more are no choice that a small model can make.
const mostCallable = 64

// Callable are the tools that a step may call: those that are offered, and those that the model has read the name of, in the
// list behind the offered ones or because somebody has found them for it. Written is r as it is written out.
func Callable(r, written model.Request) []model.Tool {
	if len(r.Known) <= len(r.Tools) {
		return r.Tools
	}
	offered := make(map[string]bool, len(r.Tools))
	for _, t := range r.Tools {
		offered[t.Name] = true
	}
	all := r.Tools[:len(r.Tools):len(r.Tools)]
	for _, t := range r.Known {
		if !offered[t.Name] && len(all) < mostCallable && told(written, t.Name) {
			all = append(all, t)
		}
	}
	return all
}

// told reports whether a name stands in what a model reads.
func told(r model.Request, name string) bool {
	for _, block := range r.System {
		if strings.Contains(block, name) {
			return true
		}
	}
	for _, m := range r.Messages {
		if strings.Contains(m.Text, name) {
			return true
		}
	}
	return false
}
