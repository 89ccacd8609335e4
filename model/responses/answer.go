package responses

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// Ways in which an answer ends early.
var (
	errEnough   = errors.New("calls enough")
	errFiltered = errors.New("stopped by a content filter")
)

// maxItems is how many items one answer may have. A thousand is more than any honest one; each is remembered.
const maxItems = 1000

// gap stands between two messages of one answer.
const gap = "\n\n"

// A brokenOff is an error that came within a stream.
type brokenOff struct{ body []byte }

// Error leaves out the body: it is classified first.
func (e *brokenOff) Error() string { return "an error within the stream" }

// An answer turns the events of one response into chunks.
type answer struct {
	yield func(model.Chunk) bool
	names engine.Names

	items  []*open         // in the order in which they began
	called engine.Calls    // handed out
	calls  int             // begun
	given  int             // handed out
	size   int             // bytes of text, reasoning and arguments so far
	spoken bool            // there is visible text, and
	broken bool            // its last character is a line break
	words  strings.Builder // all of it

	status  string // of the response, once it is final
	reason  string // why it is incomplete
	usage   *model.Usage
	garbled bool
	thinks  bool // there was reasoning
	heard   bool
	first   []byte // the beginning of the first event, for the error if nothing was for us
}

// An open is an item as far as it has come.
type open struct {
	item
	index   int
	args    strings.Builder
	parts   map[int]bool // parts of its text that came in deltas
	gap     int          // bytes that were put before its text
	said    int          // bytes of visible text in it
	thought string       // the kind of reasoning that was shown: "summary" or "text"
	at      int          // which part of it
	shown   bool         // its name was announced
	done    bool
	sealed  json.RawMessage // what goes back
}

func (m *Model) newAnswer(r model.Request, yield func(model.Chunk) bool) *answer {
	return &answer{yield: yield, called: engine.Calls{}, names: namesOf(r.Tools)}
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
			return nil // not for us
		}
		return fmt.Errorf("%w: %w", engine.ErrNoStream, err)
	}
	p.Type = cmp.Or(p.Type, ev.Kind)
	if p.Object == "response" {
		p.Whole = &response{}
		_ = json.Unmarshal(ev.Data, p.Whole) // as above
		p.Type = "response." + p.Whole.Status
	}
	a.heard = a.heard || strings.HasPrefix(p.Type, "response.")
	switch {
	case p.Type == "error", p.Type == "" && isSet(p.Error):
		return &brokenOff{body: slices.Clone(ev.Data[:min(len(ev.Data), engine.MaxRefusal)])}
	case p.Whole != nil:
		return a.state(p)
	}
	return a.event(p)
}

func isSet(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// state takes an event about the whole response.
func (a *answer) state(p packet) error {
	r := p.Whole
	switch p.Type {
	case "response.failed", "response.cancelled":
		body := []byte(`{"error":null}`)
		if isSet(r.Error) {
			body = slices.Concat([]byte(`{"error":`), r.Error[:min(len(r.Error), engine.MaxRefusal)], []byte(`}`))
		}
		return &brokenOff{body: body}
	case "response.completed", "response.incomplete":
	default:
		return nil // it begins, or goes on
	}
	streamed := len(a.items) > 0
	for i, raw := range r.Output {
		if streamed && !a.missed(i, raw) {
			continue
		}
		if err := a.finish(i, raw); err != nil {
			return err
		}
	}
	a.status = strings.TrimPrefix(p.Type, "response.")
	if r.Details != nil {
		a.reason = r.Details.Reason
	}
	if r.Usage != nil {
		a.usage = r.Usage.count()
	}
	return nil
}

// missed reports whether the i-th item of a whole response is a call that was not streamed.
func (a *answer) missed(i int, raw json.RawMessage) bool {
	var last item
	_ = json.Unmarshal(raw, &last) // a field of another type is left out
	return last.Type == "function_call" && !slices.ContainsFunc(a.items, func(o *open) bool {
		return o.Type == last.Type && (o.index == i || o.index < 0 || o.CallID != "" && o.CallID == last.CallID)
	})
}

func (a *answer) event(p packet) error {
	index := -1
	if p.Index != nil {
		index = *p.Index
	}
	switch p.Type {
	case "response.output_item.added":
		return a.begin(index, p.Item)
	case "response.output_item.done":
		return a.finish(index, p.Item)
	case "response.output_text.delta", "response.refusal.delta":
		return a.say(a.find(index, p.ID, "message"), p.Part, p.Delta)
	case "response.output_text.done", "response.refusal.done":
		if it := a.find(index, p.ID, "message"); it != nil && !it.parts[p.Part] {
			return a.say(it, p.Part, p.Text+p.Refusal)
		}
	case "response.reasoning_summary_text.delta":
		return a.think(a.find(index, p.ID, "reasoning"), "summary", p.Summary, p.Delta)
	case "response.reasoning_text.delta":
		return a.think(a.find(index, p.ID, "reasoning"), "text", p.Part, p.Delta)
	case "response.function_call_arguments.delta":
		if it := a.find(index, p.ID, "function_call"); it != nil {
			it.args.WriteString(p.Delta)
			if err := a.grow(len(p.Delta)); err != nil {
				return err
			}
			if name := a.names.Ours(strings.TrimSpace(it.Name)); name != "" && p.Delta != "" && !a.yield(model.Chunk{Preview: model.Preview{Name: name, Args: p.Delta}}) {
				return engine.ErrGone
			}
		}
	case "response.function_call_arguments.done":
		if it := a.find(index, p.ID, "function_call"); it != nil && it.Args == "" {
			it.Args = p.Args
			return a.grow(len(p.Args) - it.args.Len())
		}
	}
	return nil
}

// find gives the item that an event is about: by its place, else by its ID, else the last of its kind.
func (a *answer) find(index int, id, kind string) *open {
	for _, it := range slices.Backward(a.items) {
		switch {
		case it.done || it.Type != kind:
		case index >= 0 && it.index >= 0 && it.index != index:
		case index < 0 && id != "" && it.ID != "" && it.ID != id:
		default:
			return it
		}
	}
	return nil
}

// begin opens an item. Those of kinds that are not known stay as they are and say nothing.
func (a *answer) begin(index int, raw json.RawMessage) error {
	it := &open{index: index, parts: map[int]bool{}}
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, &it.item); err != nil && !errors.As(err, &mismatch) {
		return nil
	}
	if len(a.items) == maxItems {
		return fmt.Errorf("%w: over %d items", engine.ErrTooMuch, maxItems)
	}
	if it.Type == "function_call" {
		if a.calls == engine.MaxCalls {
			return errEnough
		}
		a.calls++
	}
	a.thinks = a.thinks || it.Type == "reasoning"
	a.items = append(a.items, it)
	if it.Type == "function_call" {
		return a.show(it)
	}
	return nil
}

// show announces the name of a call once it is known.
func (a *answer) show(it *open) error {
	name := a.names.Ours(strings.TrimSpace(it.Name))
	if it.shown || name == "" {
		return nil
	}
	it.shown = true
	if !a.yield(model.Chunk{Preview: model.Preview{Name: name}}) {
		return engine.ErrGone
	}
	return nil
}

// finish ends an item with what it is in the end. What was not streamed is handed out now.
func (a *answer) finish(index int, raw json.RawMessage) error {
	var last item
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, &last); err != nil && !errors.As(err, &mismatch) {
		return nil
	}
	it := a.find(index, last.ID, last.Type)
	if it == nil {
		if slices.ContainsFunc(a.items, func(o *open) bool { return o.done && o.Type == last.Type && o.index == index && index >= 0 }) {
			return nil // it was ended before
		}
		if err := a.begin(index, raw); err != nil {
			return err
		}
		if it = a.find(index, last.ID, last.Type); it == nil {
			return nil
		}
	}
	defer func() { it.done = true }()
	switch last.Type {
	case "message":
		it.Phase = cmp.Or(last.Phase, it.Phase)
		for i, part := range last.Content {
			if it.parts[i] {
				continue
			}
			if err := a.say(it, i, part.Text+part.Refusal); err != nil {
				return err
			}
		}
	case "reasoning":
		return a.seal(it, last, raw)
	case "function_call":
		it.Name, it.CallID, it.Args = cmp.Or(last.Name, it.Name), cmp.Or(last.CallID, it.CallID), cmp.Or(last.Args, it.Args)
		if err := a.grow(max(0, len(last.Args)-it.args.Len())); err != nil {
			return err
		}
		return a.give(it)
	}
	return nil
}

// seal keeps reasoning for the way back, and shows what was not shown.
func (a *answer) seal(it *open, last item, raw json.RawMessage) error {
	it.sealed = sealedOf(last, raw)
	if err := a.grow(len(it.sealed)); err != nil {
		return err
	}
	if it.thought != "" {
		return nil
	}
	kind, parts := "summary", last.Summary
	if len(parts) == 0 {
		kind, parts = "text", last.Content
	}
	for i, part := range parts {
		if err := a.think(it, kind, i, part.Text); err != nil {
			return err
		}
	}
	return nil
}

// sealedOf is an item of reasoning as the API takes it back: what it is sealed in, and its summary; or its text, where a
// server seals nothing. Other fields are for reading only, and some are refused. An item that has neither means something only
// to a server that kept it, which this one was asked not to.
func sealedOf(last item, raw json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(raw, &fields) != nil {
		return nil
	}
	wanted := []string{"id", "summary", "encrypted_content"}
	if last.Sealed == "" {
		if len(last.Content) == 0 {
			return nil
		}
		wanted = []string{"id", "summary", "content"}
	}
	b := []byte(`{"type":"reasoning"`)
	for _, name := range wanted {
		value := fields[name]
		if name == "summary" && !isSet(value) {
			value = json.RawMessage(`[]`) // it has to be there
		}
		if isSet(value) {
			b = append(append(b, `,"`+name+`":`...), bytes.TrimSpace(value)...)
		}
	}
	return append(b, '}')
}

// grow counts n bytes of what is kept.
func (a *answer) grow(n int) error {
	if a.size += n; a.size > engine.MaxText {
		return fmt.Errorf("%w: an answer of over %d bytes", engine.ErrTooMuch, engine.MaxText)
	}
	return nil
}

// say hands out visible text of one part of a message. Messages of one answer are kept apart.
func (a *answer) say(it *open, part int, text string) error {
	if it == nil || text == "" {
		return nil
	}
	it.parts[part] = true
	if it.said == 0 && a.spoken && !a.broken {
		it.gap = len(gap)
		text = gap + text
	}
	it.said += len(text)
	a.spoken, a.broken = true, strings.HasSuffix(text, "\n")
	a.words.WriteString(text)
	if err := a.grow(len(text)); err != nil {
		return err
	}
	if !a.yield(model.Chunk{Text: text}) {
		return engine.ErrGone
	}
	return nil
}

// think hands out reasoning. Where a model shows both a summary and the whole, what came first is shown.
func (a *answer) think(it *open, kind string, part int, thought string) error {
	if it == nil || thought == "" || it.thought != "" && it.thought != kind {
		return nil
	}
	if it.thought != "" && part != it.at {
		thought = gap + thought
	}
	it.thought, it.at = kind, part
	if err := a.grow(len(thought)); err != nil {
		return err
	}
	if !a.yield(model.Chunk{Thought: thought}) {
		return engine.ErrGone
	}
	return nil
}

// give hands out a call.
func (a *answer) give(it *open) error {
	name := a.names.Ours(strings.TrimSpace(it.Name))
	text := strings.TrimSpace(cmp.Or(string(it.Args), it.args.String()))
	taken, ok := a.called.Take(it.CallID, name, text)
	if !ok {
		a.garbled = true
		return nil
	}
	c := model.Call{ID: taken.ID, Name: name, Args: taken.Args, Cut: taken.Cut, Mended: taken.Mended}
	if err := a.show(it); err != nil {
		return err
	}
	a.given++
	if !a.yield(model.Chunk{Call: &c}) {
		return engine.ErrGone
	}
	return nil
}

// end hands out what is left: calls that nobody ended, the news that one could not be read, what goes back, tokens and
// the reason for the end.
func (a *answer) end(modelName string, f model.Finish) error {
	for _, it := range a.items {
		if it.Type == "function_call" && !it.done {
			it.done = true
			if err := a.give(it); err != nil {
				return err
			}
		}
	}
	if a.given > 0 && f == model.Stop {
		f = model.Calls
	}
	if a.garbled && a.given == 0 && !a.yield(model.Chunk{Garbled: model.Unreadable}) {
		return engine.ErrGone
	}
	if s := a.opaque(modelName).String(); s != "" && !a.yield(model.Chunk{Opaque: s}) {
		return engine.ErrGone
	}
	if !a.yield(model.Chunk{Usage: a.usage, Finish: f}) {
		return engine.ErrGone
	}
	return nil
}

func (a *answer) opaque(modelName string) opaque {
	words := a.words.String()
	trimmed := strings.TrimLeftFunc(words, unicode.IsSpace)
	o := opaque{Model: modelName, Lead: words[:len(words)-len(trimmed)]}
	o.Tail = trimmed[len(strings.TrimRightFunc(trimmed, unicode.IsSpace)):]
	for _, it := range a.items {
		switch {
		case it.Type == "message" && it.said > 0:
			o.Items = append(o.Items, opaqueItem{Gap: it.gap, Text: it.said - it.gap, Phase: it.Phase})
		case it.Type == "function_call":
			o.Items = append(o.Items, opaqueItem{Call: true})
		case it.sealed != nil:
			o.Items = append(o.Items, opaqueItem{Thought: it.sealed})
		}
	}
	return o
}
