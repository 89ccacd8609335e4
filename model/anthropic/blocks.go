package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// What stands in place of what the API wants and nobody has.
const (
	noBeginning = "[The beginning of this conversation was left out.]" // the first message is a person's, always
	noEnd       = "[Go on.]"                                           // and so is the last
)

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func (w *writer) messages(all []model.Message) {
	for i, msg := range all {
		switch {
		case msg.Role == model.Assistant:
			w.assistant(i, msg)
		case msg.Role == model.Result && w.native && len(w.open) > 0:
			w.held = append(w.held, msg)
		default:
			w.user(msg)
		}
	}
	w.settle()
	switch w.role {
	case "": // there is nothing to say, which is refused; so the model is told at least that
		w.block("user", noBeginning)
	case "assistant":
		w.block("user", noEnd)
	}
	w.end()
}

// begin opens a block of a message of role, and that message if another one, or none, is open.
func (w *writer) begin(role string) {
	if w.role == role {
		w.comma(w.blocks)
		w.blocks++
		return
	}
	first := w.role == ""
	w.end()
	if first && role == "assistant" {
		w.block("user", noBeginning)
		w.end()
		first = false
	}
	if !first {
		w.raw(",")
	}
	w.role, w.blocks = role, 1
	w.raw(`{"role":"` + role + `","content":[`)
}

// end closes the message that is open.
func (w *writer) end() {
	if w.role != "" {
		w.raw(`]}`)
		w.role = "-"
	}
}

// done closes a block.
func (w *writer) done() {
	if w.role == "user" {
		w.tail = len(w.b)
	}
	w.raw(`}`)
}

// block writes text, unless it is blank: the API refuses that.
func (w *writer) block(role, text string) {
	if blank(text) {
		return
	}
	w.begin(role)
	w.raw(`{"type":"text","text":`)
	w.text(text)
	w.done()
}

// user writes what a person, or the program, says. Calls that have no result by then will not get one.
func (w *writer) user(msg model.Message) {
	w.settle()
	for _, img := range msg.Images {
		w.begin("user")
		w.raw(`{"type":"image","source":{"type":"base64","media_type":`)
		w.text(img.Type)
		w.raw(`,"data":`)
		w.b = engine.Base64(w.b, "", img.Data)
		w.raw(`}`)
		w.done()
	}
	w.block("user", msg.Text)
}

// settle writes the results of the open calls, one for each, and behind them, as user messages, those that answer none of them: the
// API takes no call without a result, and no result without a call.
func (w *writer) settle() {
	open, held := w.open, w.held
	w.open, w.held = nil, nil
	texts, rest, _ := model.Pair(open, held)
	for i, c := range open {
		w.result(c.Sent, texts[i])
	}
	for _, msg := range rest {
		w.user(msg)
	}
}

func (w *writer) result(id, text string) {
	w.begin("user")
	w.raw(`{"type":"tool_result","tool_use_id":`)
	w.text(id)
	if !blank(text) {
		w.raw(`,"content":`)
		w.text(text)
	}
	w.done()
}

// assistant writes what the model said, in the order in which it said it where that is known. Reasoning that nothing
// follows is left out: the API takes no message that ends in it.
func (w *writer) assistant(at int, msg model.Message) {
	w.settle()
	if !w.native {
		msg.Calls = nil
	}
	parts := w.parts(msg)
	for len(parts) > 0 && parts[len(parts)-1].thought != nil {
		parts = parts[:len(parts)-1]
	}
	if len(parts) == 0 {
		return
	}
	w.before = w.tail
	w.unsigned = len(msg.Calls) > 0 && parts[0].thought == nil
	for _, p := range parts {
		switch {
		case p.thought != nil:
			w.thoughts = true
			w.begin("assistant")
			w.b = append(w.b, p.thought...)
		case p.call != nil:
			w.call(at, p.n, *p.call)
		default:
			w.block("assistant", p.text)
		}
	}
}

func (w *writer) call(at, i int, c model.Call) {
	id := c.ID
	if id == "" {
		id = fmt.Sprintf("toolu_%d_%d", at, i)
	}
	id = engine.Unique(id, w.ids)
	w.begin("assistant")
	w.raw(`{"type":"tool_use","id":`)
	w.text(id)
	w.raw(`,"name":`)
	w.text(w.names.Sent(c.Name))
	w.raw(`,"input":`)
	w.b = append(w.b, c.Arguments()...)
	w.done()
	w.open = append(w.open, model.Made{ID: c.ID, Sent: id, Name: c.Name})
}

// A part is one block of an answer: signed reasoning as it came, a call, or text.
type part struct {
	thought json.RawMessage
	call    *model.Call
	n       int // which call
	text    string
}

// parts are the blocks of an answer that is sent back. Reasoning goes in only where this model signed it, and each block
// stands where it stood, if what was said since then is still whole; else reasoning goes in front.
func (w *writer) parts(msg model.Message) []part {
	var parts []part
	said := readOpaque(msg.Opaque)
	if said != nil && (said.Model != w.m.info.Name || w.m.refused.Has(msg.Opaque)) {
		said = nil
	}
	text, fits := "", false
	if said != nil {
		text, fits = said.whole(msg)
	}
	if fits {
		n := 0
		for _, p := range said.Blocks {
			switch {
			case p.Thought != nil:
				parts = append(parts, part{thought: p.Thought})
			case p.Call:
				parts = append(parts, part{call: &msg.Calls[n], n: n})
				n++
			default:
				parts = appendText(parts, text[:p.Text])
				text = text[p.Text:]
			}
		}
		return parts
	}
	if said != nil {
		for _, p := range said.Blocks {
			if p.Thought != nil {
				parts = append(parts, part{thought: p.Thought})
			}
		}
	}
	parts = appendText(parts, msg.Text)
	for i := range msg.Calls {
		parts = append(parts, part{call: &msg.Calls[i], n: i})
	}
	return parts
}

func appendText(parts []part, text string) []part {
	if blank(text) {
		return parts
	}
	return append(parts, part{text: text})
}
