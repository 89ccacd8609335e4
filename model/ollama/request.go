package ollama

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// Quirks are what an engine or a model was found not to take. They are learned from refusals and kept as long as the
// Model.
type quirks uint32

const (
	noThinking quirks = 1 << iota // the model cannot reason
	noLevels                      // it can, but only on or off
	noGuards                      // truncate and shift are refused rather than skipped, by servers that only look like Ollama
)

// write renders r. Model, tools and messages come first, in this order, and what is written for one depends on
// nothing behind it: a request that repeats another and adds to it begins with the same bytes. They are not even written
// again: the first part of the body is what stands already, and is only ever appended to, whoever still sends it.
//
// There is no way to say that no tool may be called: NoCalls is left to the words of the request.
func (m *Model) write(r model.Request, q quirks) [][]byte {
	d := m.drafts.Take(r, 0)
	if d == nil {
		d = m.begin(r)
	}
	held := m.goOn(d, r)
	defer m.drafts.Keep(d)

	w := writer{n: d.State.n, open: d.State.open}
	w.results(held)
	w.raw(`],"stream":true,"think":` + m.thinks(q))
	if r.Constraint != nil { // a model that reasons does so freely first, and is held to it then
		w.raw(`,"format":` + string(r.Constraint.Schema))
	}
	if q&noGuards == 0 {
		w.raw(`,"truncate":false,"shift":false`)
	}
	switch {
	case m.keepAlive < 0:
		w.raw(`,"keep_alive":-1`)
	case m.keepAlive > 0:
		w.raw(`,"keep_alive":"` + max(m.keepAlive, time.Second).Round(time.Second).String() + `"`)
	}
	w.raw(`,"options":{"num_ctx":` + strconv.Itoa(m.info.Window))
	if r.MaxTokens > 0 {
		w.raw(`,"num_predict":` + strconv.Itoa(r.MaxTokens))
	}
	w.raw(`}}`)
	return [][]byte{d.State.b, w.b}
}

// A body is the body of a request as far as it will not change, up to its last message.
type body struct {
	writer
	chars  int // characters of the system text, the tools and the messages that are written
	images int // of them
}

// begin writes what stands in front of the messages.
func (m *Model) begin(r model.Request) *model.Draft[body] {
	d := m.drafts.Begin(r, 0)
	w := &d.State
	w.native, w.chars, w.ids = m.info.Native, m.frame().Head(r), map[string]bool{}
	w.b = make([]byte, 0, w.chars+4096)
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
	if system := strings.Join(slices.DeleteFunc(slices.Clone(r.System), isEmpty), "\n\n"); system != "" {
		w.begin("system", system)
		w.raw(`}`)
	}
	return d
}

func isEmpty(s string) bool { return s == "" }

// goOn writes the messages of r that are not written yet. It gives those that wait: the results of calls that do not have all of
// theirs yet.
func (m *Model) goOn(d *model.Draft[body], r model.Request) (held []model.Message) {
	w := &d.State
	for i := d.Written(); i < len(r.Messages); i++ {
		msg := r.Messages[i]
		if msg.Role == model.Result && len(w.open) > 0 {
			held = append(held, msg)
			if _, _, whole := model.Pair(w.open, held); !whole {
				continue
			}
			w.results(held)
		} else {
			w.results(held)
			if msg.Role == model.Assistant {
				w.assistant(i, msg)
			} else {
				w.user(msg)
			}
		}
		held = nil
		for _, msg := range r.Messages[d.Written() : i+1] {
			w.chars += m.frame().Messages(msg)
			w.images += len(msg.Images)
			d.Wrote(msg)
		}
	}
	return held
}

// thinks is the value of think.
func (m *Model) thinks(q quirks) string {
	switch {
	case m.think == ThinkOff || q&noThinking != 0:
		return "false"
	case m.think == ThinkOn || q&noLevels != 0:
		return "true"
	}
	return `"` + string(m.think) + `"`
}

// A writer appends JSON.
type writer struct {
	b      []byte
	native bool
	n      int // messages written so far

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
	w.raw(`,"description":`)
	w.text(t.Description())
	w.raw(`,"parameters":`)
	w.b = append(w.b, engine.Schema(t.Schema)...)
	w.raw(`}}`)
}

func (w *writer) begin(role, text string) {
	w.comma(w.n)
	w.n++
	w.raw(`{"role":"` + role + `","content":`)
	w.text(text)
}

func (w *writer) pictures(all []model.Image) {
	for i, im := range all {
		if i == 0 {
			w.raw(`,"images":["`)
		} else {
			w.raw(`","`)
		}
		w.b = base64.StdEncoding.AppendEncode(w.b, im.Data)
	}
	if len(all) > 0 {
		w.raw(`"]`)
	}
}

// user writes what a person, or the program, says.
func (w *writer) user(msg model.Message) {
	w.begin("user", msg.Text)
	w.pictures(msg.Images)
	w.raw(`}`)
}

// assistant writes what the model said. A call has an ID only if the engine gave it one: older versions give none and
// skip what they do not know.
func (w *writer) assistant(at int, msg model.Message) {
	w.begin("assistant", msg.Text)
	if w.native && len(msg.Calls) > 0 {
		w.raw(`,"tool_calls":[`)
		for i, c := range msg.Calls {
			w.comma(i)
			w.raw(`{`)
			made := model.Made{ID: c.ID, Sent: w.id(at, i, c.ID), Name: c.Name}
			w.open = append(w.open, made)
			if made.Sent != "" {
				w.raw(`"id":`)
				w.text(made.Sent)
				w.raw(`,`)
			}
			w.raw(`"function":{"name":`)
			w.text(engine.FunctionName(c.Name))
			w.raw(`,"arguments":`)
			w.b = append(w.b, object(c.Args)...)
			w.raw(`}}`)
		}
		w.raw(`]`)
	}
	w.raw(`}`)
}

// longestID is how long the ID of a call may be, in bytes. Ollama sets no limit; other engines' are not longer.
const longestID = 64

// id is the ID under which the i-th call of a message is sent: its own, or another if that is of no use or an earlier call's.
func (w *writer) id(at, i int, given string) string {
	if given == "" {
		return ""
	}
	ok := len(given) <= longestID && !w.ids[given] && !strings.ContainsFunc(given, func(r rune) bool { return r <= ' ' || r >= 0x7f })
	for n := at; !ok; n++ {
		given = fmt.Sprintf("c%05d%03d", n%100_000, i%1_000)
		ok = !w.ids[given]
	}
	w.ids[given] = true
	return given
}

// object is args, unless it is no object: that would have the request refused, now and each time it is repeated.
func object(args json.RawMessage) []byte {
	if len(args) == 0 || args[0] != '{' || !json.Valid(args) {
		return []byte(`{}`)
	}
	return args
}

// results writes the results of the open calls, one for each, and behind them, as user messages, those that answer none of them.
// Templates of older models find a call by its name, newer ones by its ID or its place.
func (w *writer) results(held []model.Message) {
	texts, rest, _ := model.Pair(w.open, held)
	for i, c := range w.open {
		w.begin("tool", texts[i])
		w.raw(`,"tool_name":`)
		w.text(engine.FunctionName(c.Name))
		if c.Sent != "" {
			w.raw(`,"tool_call_id":`)
			w.text(c.Sent)
		}
		w.raw(`}`)
	}
	w.open = nil
	for _, msg := range rest {
		w.user(msg)
	}
}

// Size is the number of characters that r's system blocks, messages, calls and offered tools take in the request, escapes
// not counted. The JSON around messages is left out: engines put marks of their own in its place. An image counts
// as the text that takes as many tokens.
func (m *Model) Size(r model.Request) int {
	chars, images := m.measure(r)
	return chars + images*imageSize
}

// frame counts characters; images are counted apart.
func (m *Model) frame() model.Measure {
	return model.Measure{Native: m.info.Native, Call: callFrame, Tool: toolFrame, Schema: engine.Schema}
}

// measure counts the characters and the images of r.
func (m *Model) measure(r model.Request) (chars, images int) {
	from := 0
	if d := m.drafts.Take(r, 0); d != nil {
		m.goOn(d, r)
		chars, images, from = d.State.chars, d.State.images, d.Written()
		m.drafts.Keep(d)
	} else {
		chars = m.frame().Head(r)
	}
	for _, msg := range r.Messages[from:] {
		chars += m.frame().Messages(msg)
		images += len(msg.Images)
	}
	return chars, images
}

const (
	// Models read calls and tools as JSON: these characters stand around each.
	callFrame = len(`{"name": "", "arguments": }`)
	toolFrame = len(`{"type":"function","function":{"name":"","description":"","parameters":}}`)

	// Ollama itself reckons with 768 tokens an image; a token is about four characters.
	imageSize = 768 * 4
)

// cut reports whether the engine cannot have read all of r, given how many tokens of a prompt it counted. It either
// filled the window to the brim, as versions before 0.12.6 do with what they cut, or read far less than it was sent. An
// engine that does not count says nothing.
//
// The versions 0.30.0 and its next few leave what was in the cache out of their count, and are suspected wrongly.
func (m *Model) cut(r model.Request, prompt int) bool {
	size, _ := m.measure(r)
	return prompt > 0 && prompt >= m.info.Window || model.FarBelow(prompt, size)
}
