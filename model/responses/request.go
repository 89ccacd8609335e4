package responses

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// Quirks are what a server was found not to take. They are learned from its refusals and kept as long as the Model.
type quirks uint32

const (
	noSealed     quirks = 1 << iota // seals no reasoning
	noSummary                       // shows no summaries of reasoning
	noReasoning                     // takes nothing about reasoning at all
	noStore                         // does not know store
	noToolChoice                    // refuses tool_choice
	noMax                           // takes no limit on tokens
)

// write renders r. Model, instructions, tools and input come first, in this order, and what is written for one depends on nothing
// behind it: a request that repeats another and adds to it begins with the same bytes. Thoughts says that sealed reasoning is in
// it.
func (m *Model) write(r model.Request, how quirks) (body []byte, thoughts bool) {
	w := writer{b: make([]byte, 0, m.Size(r)+1024), m: m, native: m.info.Native, how: how, ids: map[string]bool{}}
	w.raw(`{"model":`)
	w.text(m.info.Name)
	if system := joinBlocks(r.System); system != "" {
		w.raw(`,"instructions":`)
		w.text(system)
	}
	offered := m.info.Native && len(r.Tools) > 0
	if offered {
		w.tools(r.Tools)
	}
	w.raw(`,"input":[`)
	w.messages(r.Messages)
	w.raw(`],"stream":true`)
	m.settings(&w, r, offered)
	w.raw(`}`)
	return w.b, w.thoughts
}

// settings are what stands behind the conversation.
func (m *Model) settings(w *writer, r model.Request, offered bool) {
	q := w.how
	if q&noStore == 0 {
		w.raw(`,"store":false`)
	}
	if q&(noSealed|noReasoning) == 0 {
		w.raw(`,"include":["reasoning.encrypted_content"]`)
	}
	effort, summary := m.effort != "", m.summaries && q&noSummary == 0
	if (effort || summary) && q&noReasoning == 0 {
		w.raw(`,"reasoning":{`)
		if effort {
			w.raw(`"effort":`)
			w.text(m.effort)
		}
		if summary {
			if effort {
				w.raw(`,`)
			}
			w.raw(`"summary":"auto"`)
		}
		w.raw(`}`)
	}
	if r.MaxTokens > 0 && q&noMax == 0 {
		n := max(r.MaxTokens, leastOut)
		if m.thinks.Load() {
			n += thoughtRoom
		}
		w.raw(`,"max_output_tokens":` + strconv.Itoa(n))
	}
	if offered && r.NoCalls && q&noToolChoice == 0 {
		w.raw(`,"tool_choice":"none"`)
	}
	if c := r.Constraint; c != nil {
		w.raw(`,"text":{"format":{"type":"json_schema","name":`)
		w.text(c.Name)
		w.raw(`,"strict":true,"schema":` + string(c.Schema) + `}}`)
	}
}

// A writer appends JSON.
type writer struct {
	b      []byte
	native bool
	m      *Model
	how    quirks
	names  engine.Names

	n    int             // items written so far
	open []model.Made    // the calls of the last answer, until their results are written
	held []model.Message // their results so far
	ids  map[string]bool // of all calls so far

	thoughts bool // sealed reasoning was written
}

func (w *writer) raw(s string) { w.b = append(w.b, s...) }

func (w *writer) text(s string) { w.b = args.AppendText(w.b, s) }

func (w *writer) tools(tools []model.Tool) {
	w.names = namesOf(tools)
	w.raw(`,"tools":[`)
	for i, t := range tools {
		if i > 0 {
			w.raw(",")
		}
		w.raw(`{"type":"function","name":`)
		w.text(w.names.Sent(t.Name))
		if d := t.Description(); d != "" {
			w.raw(`,"description":`)
			w.text(d)
		}
		w.raw(`,"parameters":`)
		w.b = append(w.b, engine.ObjectSchema(t.Schema)...)
		w.raw(`,"strict":false}`) // strict schemas know no optional arguments
	}
	w.raw(`]`)
}

// namesOf gives the tools of a request names that the API takes.
func namesOf(tools []model.Tool) engine.Names {
	names := make([]string, len(tools))
	for i, t := range tools {
		names[i] = t.Name
	}
	return engine.NewNames(names)
}

func joinBlocks(blocks []string) string {
	var kept []string
	for _, b := range blocks {
		if b != "" {
			kept = append(kept, b)
		}
	}
	return strings.Join(kept, "\n\n")
}

func (w *writer) messages(all []model.Message) {
	for i, msg := range all {
		switch {
		case msg.Role == model.Assistant:
			w.settle()
			w.assistant(i, msg)
		case msg.Role == model.Result && w.native && len(w.open) > 0:
			w.held = append(w.held, msg)
		default:
			w.settle()
			w.user(msg)
		}
	}
	w.settle()
}

// item begins an item.
func (w *writer) item(begin string) {
	if w.n > 0 {
		w.raw(",")
	}
	w.n++
	w.raw(begin)
}

func (w *writer) user(msg model.Message) {
	w.item(`{"type":"message","role":"user","content":`)
	if len(msg.Images) == 0 {
		w.text(msg.Text)
		w.raw(`}`)
		return
	}
	w.raw(`[`)
	for i, img := range msg.Images {
		if i > 0 {
			w.raw(`,`)
		}
		w.raw(`{"type":"input_image","detail":"auto","image_url":`)
		w.b = engine.Base64(w.b, "data:"+mediaType(img.Type)+";base64,", img.Data)
		w.raw(`}`)
	}
	if msg.Text != "" {
		w.raw(`,{"type":"input_text","text":`)
		w.text(msg.Text)
		w.raw(`}`)
	}
	w.raw(`]}`)
}

// mediaType is t, if it is one of those that a picture may have: it goes into the JSON as it is.
func mediaType(t string) string {
	if slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/gif"}, t) {
		return t
	}
	return "application/octet-stream"
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
	w.item(`{"type":"function_call_output","call_id":`)
	w.text(id)
	w.raw(`,"output":`)
	w.text(text)
	w.raw(`}`)
}

// assistant writes what the model said, in the order in which it said it where that is known. Reasoning that nothing
// follows is left out: the API refuses that.
func (w *writer) assistant(at int, msg model.Message) {
	if !w.native {
		msg.Calls = nil
	}
	parts := w.parts(msg)
	for len(parts) > 0 && parts[len(parts)-1].thought != nil {
		parts = parts[:len(parts)-1]
	}
	for _, p := range parts {
		switch {
		case p.thought != nil:
			w.thoughts = true
			w.item(string(p.thought))
		case p.call != nil:
			w.call(at, p.n, *p.call)
		default:
			w.item(`{"type":"message","role":"assistant","content":`)
			w.text(p.text)
			if p.phase != "" {
				w.raw(`,"phase":`)
				w.text(p.phase)
			}
			w.raw(`}`)
		}
	}
}

func (w *writer) call(at, i int, c model.Call) {
	id := c.ID
	if id == "" {
		id = fmt.Sprintf("call_%d_%d", at, i)
	}
	id = engine.Unique(id, w.ids)
	w.item(`{"type":"function_call","call_id":`)
	w.text(id)
	w.raw(`,"name":`)
	w.text(w.names.Sent(c.Name))
	w.raw(`,"arguments":`)
	w.text(string(c.Arguments()))
	w.raw(`}`)
	w.open = append(w.open, model.Made{ID: c.ID, Sent: id, Name: c.Name})
}

// Size is the number of characters that r's system blocks, messages, calls and offered tools take in the request, escapes
// not counted. The JSON around messages is left out: servers put marks of their own in its place.
func (m *Model) Size(r model.Request) int {
	size := model.Measure{Native: m.info.Native, Call: callFrame, Tool: toolFrame, Image: model.ImageSize, Schema: engine.ObjectSchema}
	return size.Head(r) + size.Messages(r.Messages...)
}

// Models read calls and tools as JSON: these characters stand around each.
const (
	callFrame = len(`{"name": "", "arguments": }`)
	toolFrame = len(`{"type":"function","name":"","description":"","parameters":}`)
)
