package openai

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// Quirks are what an engine was found not to take. They are learned from its refusals and kept as long as the Model.
type quirks uint32

const (
	noStreamOptions quirks = 1 << iota // refuses stream_options
	noToolChoice                       // refuses tool_choice
	newMaxTokens                       // wants max_completion_tokens for max_tokens
	noSystem                           // has no system role: its text goes in front of the first user message
	mustAlternate                      // takes no two user messages in a row: they are joined
	noSchema                           // refuses json_schema: a grammar says the same
	nineIDs                            // takes only IDs of nine letters and digits, as Mistral's templates do
	noEmpty                            // takes no empty text beside calls: there is none then
	wantsThoughts                      // wants the reasoning of each answer back
	wantsSignature                     // wants each step's first call signed, whoever made it
	noExtras                           // does not take back what it sent along with an answer
	noteless                           // takes no user message behind a result, as Mistral's
	needsTools                         // takes no calls where no tools are offered: they are put into words then
)

// write renders r. Model, tools and messages come first, in this order, and what is written for one depends on
// nothing behind it: a request that repeats another and adds to it begins with the same bytes. They are not even written
// again: the first part of the body is what stands already, and is only ever appended to, whoever still sends it.
func (m *Model) write(r model.Request, q quirks) [][]byte {
	d := m.drafts.Take(r, uint32(q))
	if d == nil {
		d = m.begin(r, q)
	}
	held, waiting := m.goOn(d, r, q)
	defer m.drafts.Keep(d)

	w := writer{n: d.State.n, last: d.State.last, how: q, open: d.State.open}
	w.user(append(waiting, w.results(held)...))
	w.raw(`],"stream":true`)
	if q&noStreamOptions == 0 {
		w.raw(`,"stream_options":{"include_usage":true}`)
	}
	if r.MaxTokens > 0 {
		name := `,"max_tokens":`
		if q&newMaxTokens != 0 {
			name = `,"max_completion_tokens":`
		}
		w.raw(name + strconv.Itoa(r.MaxTokens))
	}
	if m.info.Native && len(r.Tools) > 0 && r.NoCalls && q&noToolChoice == 0 {
		w.raw(`,"tool_choice":"none"`)
	}
	w.constraint(m.info.Knob, r.Constraint, q)
	w.raw(`}`)
	return [][]byte{d.State.b, w.b}
}

// constraint writes the form that the answer must have, behind the messages: the prefix stays. It says whether it did.
func (w *writer) constraint(knob model.Knob, c *model.Constraint, q quirks) bool {
	switch {
	case c == nil:
		return false
	case knob == model.KnobGrammar, knob == model.KnobSchema && q&noSchema != 0:
		w.raw(`,"grammar":`)
		w.text(c.Grammar)
		return true
	}
	switch knob {
	case model.KnobSchema, model.KnobGuided:
		w.raw(`,"` + string(knob) + `":` + string(c.Schema))
	case model.KnobStructured:
		w.raw(`,"structured_outputs":{"json":` + string(c.Schema) + `}`)
	case model.KnobResponse, model.KnobStrict:
		w.raw(`,"response_format":{"type":"json_schema","json_schema":{"name":`)
		w.text(c.Name)
		w.raw(`,"strict":true,"schema":` + string(c.Schema) + `}}`)
	case model.NoKnob, model.KnobGrammar, model.KnobFormat: // the last is Ollama's own
		return false
	}
	return true
}

// A body is the body of a request as far as it will not change, up to the last message that is whole.
type body struct {
	writer
	lead  string          // the system text, where it goes in front of the first user message, which is not written yet
	late  []model.Message // results that answer nothing, which wait to be joined with a user message
	head  int             // characters of the system text and the tools
	chars int             // characters of the messages that are written
}

// begin writes what stands in front of the messages.
func (m *Model) begin(r model.Request, q quirks) *model.Draft[body] {
	d := m.drafts.Begin(r, uint32(q))
	w := &d.State
	w.native = m.info.Native && (len(r.Tools) > 0 || q&needsTools == 0)
	w.how, w.model, w.head = q, m.info.Name, m.measure().Head(r)
	w.ids = map[string]bool{}
	w.b = make([]byte, 0, w.head+4096)
	w.raw(`{"model":`)
	w.text(m.info.Name)
	if m.info.Native && len(r.Tools) > 0 {
		w.raw(`,"tools":[`)
		for i, t := range r.Tools {
			w.comma(i)
			w.tool(t)
		}
		w.raw(`]`)
	}
	w.raw(`,"messages":[`)
	switch system := joinBlocks(r.System); {
	case system == "":
	case q&noSystem != 0:
		w.lead = system
	default:
		w.message("system", system)
	}
	return d
}

// goOn writes the messages of r that are not written yet. It gives those that wait: the results of calls that do not have all of
// theirs yet, and the texts that what comes next may have to be joined with.
func (m *Model) goOn(d *model.Draft[body], r model.Request, q quirks) (held, user []model.Message) {
	w := &d.State
	if w.lead != "" {
		user = append(user, model.Message{Text: w.lead})
	}
	user = append(user, w.late...)
	flush := func() {
		w.user(user)
		user, w.lead, w.late = user[:0], "", nil
	}
	wrote := func(n int) {
		more := r.Messages[d.Written():n]
		w.chars += m.measure().Messages(more...)
		d.Wrote(more...)
	}
	settle := func() {
		rest := w.results(held)
		held = nil
		user, w.late = append(user, rest...), append(w.late, rest...)
		if len(rest) > 0 && q&mustAlternate == 0 {
			flush()
		}
	}
	for i := d.Written(); i < len(r.Messages); i++ {
		msg := r.Messages[i]
		switch {
		case msg.Role == model.Result && len(w.open) > 0:
			held = append(held, msg)
			if _, _, whole := model.Pair(w.open, held); !whole {
				continue
			}
			settle()
			wrote(i + 1)
			continue
		case w.silent(msg):
			if d.Written() == i {
				wrote(i + 1)
			}
			continue
		case len(w.open) > 0:
			settle()
			wrote(i)
		}
		if msg.Role == model.Assistant {
			flush()
			w.assistant(i, msg)
			wrote(i + 1)
			continue
		}
		said := model.Message{Text: msg.Text}
		if m.info.Vision {
			said.Images = msg.Images
		}
		user = append(user, said)
		if q&mustAlternate == 0 {
			flush()
			wrote(i + 1)
		}
	}
	return held, user
}

// A writer appends JSON.
type writer struct {
	b      []byte
	native bool
	how    quirks
	model  string
	n      int    // messages written so far
	last   string // role of the last one

	open []model.Made    // the calls of the last assistant message, until their results are written
	ids  map[string]bool // of all calls so far
}

func (w *writer) raw(s string) { w.b = append(w.b, s...) }

func (w *writer) text(s string) { w.b = args.AppendText(w.b, s) }

func (w *writer) comma(i int) {
	if i > 0 {
		w.raw(",")
	}
}

func (w *writer) tool(t model.Tool) {
	w.raw(`{"type":"function","function":{"name":`)
	w.text(t.Name)
	if d := t.Description(); d != "" {
		w.raw(`,"description":`)
		w.text(d)
	}
	w.raw(`,"parameters":`)
	w.b = append(w.b, engine.Schema(t.Schema)...)
	w.raw(`}}`)
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

// What stands between two messages that an engine does not take one after the other.
const (
	seen = "(I have read the results.)" // a result and a user message
	goOn = "[Go on.]"                   // two answers
)

func (w *writer) begin(role string) {
	switch {
	case role == "user" && w.last == "tool" && w.how&noteless != 0:
		w.message("assistant", seen)
	case role == "assistant" && w.last != "user" && w.last != "tool" && w.how&mustAlternate != 0:
		w.message("user", goOn)
	}
	w.comma(w.n)
	w.n++
	w.last = role
	w.raw(`{"role":"` + role + `"`)
}

func (w *writer) message(role, text string) {
	w.begin(role)
	w.raw(`,"content":`)
	w.text(text)
	w.raw(`}`)
}

// user writes messages as one. Text alone is a string, which every engine takes; with images it is parts, in the order in which
// they came, so that what is joined to them later stands behind them.
func (w *writer) user(said []model.Message) {
	if len(said) == 0 {
		return
	}
	if !slices.ContainsFunc(said, func(m model.Message) bool { return len(m.Images) > 0 }) {
		texts := make([]string, len(said))
		for i, m := range said {
			texts[i] = m.Text
		}
		w.message("user", strings.Join(texts, "\n\n"))
		return
	}
	w.begin("user")
	w.raw(`,"content":[`)
	n := 0
	for _, m := range said {
		for _, image := range m.Images {
			w.comma(n)
			n++
			w.raw(`{"type":"image_url","image_url":{"url":"data:` + imageType(image.Type) + `;base64,`)
			w.b = base64.StdEncoding.AppendEncode(w.b, image.Data)
			w.raw(`"}}`)
		}
		if m.Text != "" {
			w.comma(n)
			n++
			w.raw(`{"type":"text","text":`)
			w.text(m.Text)
			w.raw(`}`)
		}
	}
	w.raw(`]}`)
}

// imageType is an image's media type, if it is one that may stand in an address.
func imageType(t string) string {
	switch t {
	case "image/png", "image/jpeg", "image/webp", "image/gif":
		return t
	}
	return "application/octet-stream"
}

// silent reports whether an assistant message says nothing at all. It is left out: many providers refuse one.
func (w *writer) silent(msg model.Message) bool {
	return msg.Role == model.Assistant && strings.TrimSpace(msg.Text) == "" && (!w.native || len(msg.Calls) == 0)
}

// assistant writes what the model said. Content is there even when it is empty, unless that is refused: some engines want it.
func (w *writer) assistant(at int, msg model.Message) {
	if !w.native {
		msg.Calls = nil
	}
	said := w.taken(msg)
	w.begin("assistant")
	w.raw(`,"content":`)
	if len(msg.Calls) > 0 && w.how&noEmpty != 0 && strings.TrimSpace(msg.Text) == "" {
		w.raw(`null`)
	} else {
		w.text(msg.Text)
	}
	if w.how&wantsThoughts != 0 {
		w.raw(`,"reasoning_content":`)
		w.text(said.Thought)
	}
	if said.Details != nil {
		w.raw(`,"reasoning_details":` + string(said.Details))
	}
	w.open = w.open[:0]
	for i, c := range msg.Calls {
		if i == 0 {
			w.raw(`,"tool_calls":[`)
		}
		w.comma(i)
		made := model.Made{ID: c.ID, Sent: w.id(at, i, c.ID), Name: c.Name}
		w.open = append(w.open, made)
		w.raw(`{"id":`)
		w.text(made.Sent)
		w.raw(`,"type":"function","function":{"name":`)
		w.text(engine.FunctionName(c.Name))
		w.raw(`,"arguments":`)
		w.text(string(c.Arguments()))
		w.raw(`}`)
		if extra := said.extra(i); extra != nil {
			w.raw(`,"extra_content":` + string(extra))
		}
		w.raw(`}`)
	}
	if len(msg.Calls) > 0 {
		w.raw(`]`)
	}
	w.raw(`}`)
}

// longestID is what OpenAI takes as the ID of a call, in bytes.
const longestID = 40

// id is the ID under which the i-th call of a message is sent: its own, if that is one and no other call has it, or one of nine
// letters and digits, which everybody takes.
func (w *writer) id(at, i int, given string) string {
	longest, letters := longestID, w.how&nineIDs != 0
	if letters {
		longest = 9
	}
	ok := given != "" && len(given) <= longest && (!letters || len(given) == longest) && !w.ids[given]
	for k := 0; ok && k < len(given); k++ {
		c := given[k]
		ok = c > ' ' && c < 0x7f && (!letters || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
	}
	for n := at; !ok; n++ {
		given = fmt.Sprintf("c%05d%03d", n%100_000, i%1_000)
		ok = !w.ids[given]
	}
	w.ids[given] = true
	return given
}

// results writes the results of the open calls, one for each, and gives those that answer none of them.
func (w *writer) results(held []model.Message) (rest []model.Message) {
	texts, rest, _ := model.Pair(w.open, held)
	for i, c := range w.open {
		w.begin("tool")
		w.raw(`,"tool_call_id":`)
		w.text(c.Sent)
		w.raw(`,"name":`)
		w.text(engine.FunctionName(c.Name))
		w.raw(`,"content":`)
		w.text(texts[i])
		w.raw(`}`)
	}
	w.open = nil
	return rest
}

// Size is the number of characters that r's system blocks, messages, calls and offered tools take in the request, escapes
// not counted. The JSON around messages is left out: engines put marks of their own in its place.
func (m *Model) Size(r model.Request) int {
	q := quirks(m.learned.Load())
	n, from := 0, 0
	if d := m.drafts.Take(r, uint32(q)); d != nil {
		m.goOn(d, r, q)
		n, from = d.State.head+d.State.chars, d.Written()
		m.drafts.Keep(d)
	} else {
		n = m.measure().Head(r)
	}
	return n + m.measure().Messages(r.Messages[from:]...)
}

func (m *Model) measure() model.Measure {
	size := model.Measure{Native: m.info.Native, Call: callFrame, Tool: toolFrame, Schema: engine.Schema}
	if m.info.Vision {
		size.Image = model.ImageSize
	}
	return size
}

// Models read calls and tools as JSON: these characters stand around each.
const (
	callFrame = len(`{"name": "", "arguments": }`)
	toolFrame = len(`{"type":"function","function":{"name":"","description":"","parameters":}}`)
)
