package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// Ways in which an answer ends early.
var (
	errEnough   = errors.New("calls enough")
	errFiltered = errors.New("stopped by a content filter")
)

// A brokenOff is an error that came within a stream.
type brokenOff struct{ body []byte }

// Error leaves out the body: it is classified first.
func (e *brokenOff) Error() string { return "an error within the stream" }

// An answer turns the events of one response into chunks.
type answer struct {
	yield func(model.Chunk) bool
	calls desk
	how   quirks
	model string

	details joined          // signed reasoning
	thought strings.Builder // all of it, for a server that wants it back

	size   int    // bytes of text, reasoning and arguments so far
	spoken bool   // there is visible text
	finish string // the server's word for why it ended; "" until it is known
	lied   bool   // and went on all the same
	pieces bool   // the answer comes in pieces
	whole  bool   // the answer came in one piece
	usage  *model.Usage
	heard  bool   // something in it was for us
	first  []byte // the beginning of the first event, for the error if nothing was
}

func (m *Model) newAnswer(r model.Request, yield func(model.Chunk) bool) *answer {
	a := &answer{yield: yield, how: quirks(m.learned.Load()), model: m.info.Name}
	a.calls = desk{
		called: engine.Calls{}, last: map[int]string{}, known: [][]model.Tool{r.Tools, r.Known},
		preview: func(p model.Preview) bool { return yield(model.Chunk{Preview: p}) },
		yield:   func(c *model.Call) bool { return yield(model.Chunk{Call: c}) },
	}
	return a
}

// take reads one event.
func (a *answer) take(ev engine.Event) error {
	if a.first == nil {
		a.first = slices.Clone(ev.Data[:min(len(ev.Data), engine.MaxExcerpt)])
	}
	var p packet
	var mismatch *json.UnmarshalTypeError
	// A field that has another type than expected is left out; the others are read all the same.
	if err := json.Unmarshal(ev.Data, &p); err != nil && !errors.As(err, &mismatch) {
		if len(ev.Data) > 0 && ev.Data[0] != '{' {
			return nil // "ping" and the like
		}
		return fmt.Errorf("%w: %w", engine.ErrNoStream, err)
	}
	if body := p.fails(ev.Kind, ev.Data); body != nil {
		return &brokenOff{body: slices.Clone(body[:min(len(body), engine.MaxRefusal)])}
	}
	a.usage = p.count(a.usage)
	a.heard = a.heard || len(p.Choices) > 0 || p.Usage != nil
	for _, c := range p.Choices {
		if c.Index != 0 {
			continue // we never ask for a second answer
		}
		if err := a.choice(c); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) choice(c choice) error {
	ended := a.finish != ""
	if c.Finish != nil && *c.Finish != "" {
		a.finish = *c.Finish
	}
	said := delta{}
	switch {
	case c.Delta != nil:
		said, a.pieces = *c.Delta, true
	case c.Message != nil && a.pieces:
		return nil // some servers repeat the whole at the end
	case c.Message != nil:
		said, a.whole = *c.Message, true
	case c.Text != "":
		said.Content.text = c.Text
	}
	if said.FunctionCall != nil {
		said.ToolCalls = append(said.ToolCalls, fragment{Function: *said.FunctionCall})
	}
	before := a.size
	err := a.say(said)
	a.lied = a.lied || ended && a.size > before
	return err
}

// say hands out what a delta holds: reasoning, then text, then what it adds to calls.
func (a *answer) say(d delta) error {
	thought := d.ReasoningContent.all()
	if thought == "" {
		thought = d.Reasoning.all()
	}
	if thought == "" {
		thought = d.Thinking.all()
	}
	thought += d.Content.thought
	text := d.Content.text + d.Refusal
	a.size += len(thought) + len(text)
	for _, f := range d.ToolCalls {
		a.size += len(f.Function.Arguments.text) + len(f.Function.Name) + len(f.Extra)
	}
	for _, piece := range d.Details {
		a.size += len(piece)
	}
	if a.size > engine.MaxText {
		return fmt.Errorf("%w: an answer of over %d bytes", engine.ErrTooMuch, engine.MaxText)
	}
	for _, piece := range d.Details {
		a.details.add(piece)
	}
	if a.how&wantsThoughts != 0 {
		a.thought.WriteString(thought)
	}
	if thought != "" && !a.yield(model.Chunk{Thought: thought}) {
		return engine.ErrGone
	}
	if text != "" {
		a.spoken = true
		if !a.yield(model.Chunk{Text: text}) {
			return engine.ErrGone
		}
	}
	for i, f := range d.ToolCalls {
		if err := a.calls.add(i, f); err != nil {
			return err
		}
	}
	return nil
}

// end hands out what is left: calls, the news that one could not be read, tokens and the reason for the end.
func (a *answer) end(f model.Finish) error {
	if !a.calls.flush(true) {
		return engine.ErrGone
	}
	switch {
	case a.calls.given > 0 && f == model.Stop:
		f = model.Calls // some engines say "stop" even so
	case a.calls.given == 0 && f == model.Calls && !a.spoken:
		a.calls.garbled = true // it wanted to call something, and nothing came through
	}
	if a.calls.garbled && a.calls.given == 0 && !a.yield(model.Chunk{Garbled: model.Unreadable}) {
		return engine.ErrGone
	}
	if s := a.opaque().String(); s != "" && !a.yield(model.Chunk{Opaque: s}) {
		return engine.ErrGone
	}
	if !a.yield(model.Chunk{Usage: a.usage, Finish: f}) {
		return engine.ErrGone
	}
	return nil
}

func (a *answer) opaque() opaque {
	o := opaque{Model: a.model, Details: a.details.list(), Thought: a.thought.String()}
	if slices.ContainsFunc(a.calls.extras, isSet) {
		o.Extras = a.calls.extras
		for i, extra := range o.Extras {
			if extra == nil {
				o.Extras[i] = json.RawMessage("null")
			}
		}
	}
	return o
}

// reason maps the server's word for the end. ok is false when the answer did not end well.
func reason(word string) (f model.Finish, ok bool) {
	switch word {
	case "length", "max_tokens", "max_output_tokens", "model_length", "MAX_TOKENS":
		return model.Length, true
	case "tool_calls", "function_call", "tool_use", "tool_call":
		return model.Calls, true
	case "error", "abort", "aborted", "cancelled", "canceled":
		return "", false
	}
	return model.Stop, true
}

// filtered reports whether the word is one for a content filter.
func filtered(word string) bool {
	return word == "content_filter" || word == "safety" || word == "SAFETY" || word == "recitation"
}
