package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// Ways in which an answer ends early.
var (
	errEnough   = errors.New("calls enough")
	errDeclined = errors.New("stopped by the provider's classifiers")
)

// maxBlocks is how many blocks one answer may have. A thousand is more than any honest one; each is remembered.
const maxBlocks = 1000

// A brokenOff is an error that came within a stream.
type brokenOff struct{ body []byte }

// Error leaves out the body: it is classified first.
func (e *brokenOff) Error() string { return "an error within the stream" }

// An answer turns the events of one response into chunks.
type answer struct {
	yield func(model.Chunk) bool
	names engine.Names

	blocks []*open         // in the order in which they began
	begun  map[int]bool    // places of all blocks, those that are not known included
	called engine.Calls    // handed out
	calls  int             // begun
	given  int             // handed out
	size   int             // bytes of text, reasoning and arguments so far
	spoken bool            // there is visible text
	words  strings.Builder // all of it

	reason  string // why the model stopped; "" until it is known
	over    bool   // the event of the end came
	usage   usage
	counted bool
	garbled bool
	heard   bool   // something in it was for us
	first   []byte // the beginning of the first event, for the error if nothing was
}

// An open is a content block as far as it has come.
type open struct {
	block
	index   int
	raw     map[string]json.RawMessage // of reasoning: all that it came with
	text    strings.Builder            // what deltas have added: reasoning or arguments
	signed  strings.Builder            // and to the signature
	said    int                        // bytes of visible text in it
	stopped bool
}

func (m *Model) newAnswer(r model.Request, yield func(model.Chunk) bool) *answer {
	return &answer{yield: yield, begun: map[int]bool{}, called: engine.Calls{}, names: namesOf(r.Tools)}
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
	if p.Type == "" {
		p.Type = ev.Kind
	}
	if p.Type == "error" || p.Type == "" && len(p.Error) > 0 && string(p.Error) != "null" {
		return &brokenOff{body: slices.Clone(ev.Data[:min(len(ev.Data), engine.MaxRefusal)])}
	}
	return a.event(p)
}

func (a *answer) event(p packet) error {
	switch p.Type {
	case "message_start":
		a.heard = true
		if p.Message != nil {
			a.count(p.Message.Usage)
		}
	case "content_block_start":
		a.heard = true
		return a.begin(p.Index, p.Block)
	case "content_block_delta":
		return a.add(p.Index, p.Delta)
	case "content_block_stop":
		if b := a.find(p.Index); b != nil {
			return a.stop(b)
		}
	case "message_delta":
		a.heard = true
		a.count(p.Usage)
		if p.Delta.Reason != "" {
			a.reason = p.Delta.Reason
		}
	case "message_stop":
		a.over = true
	case "message":
		return a.whole(p)
	}
	return nil
}

func (a *answer) count(u *usage) {
	if u != nil {
		a.counted = true
		a.usage.take(u)
	}
}

// whole reads an answer that came in one piece.
func (a *answer) whole(p packet) error {
	a.heard, a.over = true, true
	a.count(p.Usage)
	for i, raw := range p.Content {
		if err := a.begin(i, raw); err != nil {
			return err
		}
		if b := a.find(i); b != nil {
			if err := a.stop(b); err != nil {
				return err
			}
		}
	}
	a.reason = p.Reason
	return nil
}

// find gives the block under index that has not ended; nil if there is none.
func (a *answer) find(index int) *open {
	for _, b := range slices.Backward(a.blocks) {
		if b.index == index {
			if b.stopped {
				return nil
			}
			return b
		}
	}
	return nil
}

// begin opens a block. Kinds that are not known, as tools that run at the provider have, are kept as nothing.
func (a *answer) begin(index int, raw json.RawMessage) error {
	if len(a.begun) < maxBlocks {
		a.begun[index] = true
	}
	b := &open{index: index}
	var mismatch *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, &b.block); err != nil && !errors.As(err, &mismatch) {
		return nil
	}
	if len(a.blocks) == maxBlocks {
		return fmt.Errorf("%w: over %d blocks", engine.ErrTooMuch, maxBlocks)
	}
	switch b.Type {
	case "tool_use":
		if a.calls == engine.MaxCalls {
			return errEnough
		}
		a.calls++
		a.blocks = append(a.blocks, b)
		if name := a.names.Ours(strings.TrimSpace(b.Name)); name != "" && !a.yield(model.Chunk{Preview: model.Preview{Name: name}}) {
			return engine.ErrGone
		}
		return a.grow(len(b.Input))
	case "thinking", "redacted_thinking":
		if json.Unmarshal(raw, &b.raw) != nil {
			return nil
		}
		a.blocks = append(a.blocks, b)
		if err := a.grow(len(raw)); err != nil {
			return err
		}
		return a.think(b, b.Thinking)
	case "text":
		a.blocks = append(a.blocks, b)
		return a.say(b, b.Text)
	}
	return nil
}

// add takes a delta.
func (a *answer) add(index int, d delta) error {
	if kind, ok := strings.CutSuffix(d.Type, "_delta"); ok && !a.begun[index] && (kind == "text" || kind == "thinking") {
		// Some look-alikes do not say that a block begins.
		if err := a.begin(index, json.RawMessage(`{"type":"`+kind+`"}`)); err != nil {
			return err
		}
	}
	b := a.find(index)
	if b == nil {
		return nil
	}
	switch {
	case d.Type == "text_delta" && b.Type == "text":
		return a.say(b, d.Text)
	case d.Type == "thinking_delta" && b.Type == "thinking":
		return a.think(b, d.Thinking)
	case d.Type == "signature_delta" && b.Type == "thinking":
		b.signed.WriteString(d.Signature)
		return a.grow(len(d.Signature))
	case d.Type == "input_json_delta" && b.Type == "tool_use":
		b.text.WriteString(d.JSON)
		if err := a.grow(len(d.JSON)); err != nil {
			return err
		}
		if name := a.names.Ours(strings.TrimSpace(b.Name)); name != "" && d.JSON != "" && !a.yield(model.Chunk{Preview: model.Preview{Name: name, Args: d.JSON}}) {
			return engine.ErrGone
		}
	}
	return nil
}

// grow counts n bytes of what is kept.
func (a *answer) grow(n int) error {
	if a.size += n; a.size > engine.MaxText {
		return fmt.Errorf("%w: an answer of over %d bytes", engine.ErrTooMuch, engine.MaxText)
	}
	return nil
}

func (a *answer) say(b *open, text string) error {
	if text == "" {
		return nil
	}
	b.said += len(text)
	a.spoken = true
	a.words.WriteString(text)
	if err := a.grow(len(text)); err != nil {
		return err
	}
	if !a.yield(model.Chunk{Text: text}) {
		return engine.ErrGone
	}
	return nil
}

func (a *answer) think(b *open, thought string) error {
	if thought == "" {
		return nil
	}
	b.text.WriteString(thought)
	if err := a.grow(len(thought)); err != nil {
		return err
	}
	if !a.yield(model.Chunk{Thought: thought}) {
		return engine.ErrGone
	}
	return nil
}

// stop ends a block: a call is whole then.
func (a *answer) stop(b *open) error {
	b.stopped = true
	if b.Type == "tool_use" {
		return a.give(b)
	}
	return nil
}

// give hands out a call. Its arguments came in pieces, or, from some servers, whole with its beginning.
func (a *answer) give(b *open) error {
	name := a.names.Ours(strings.TrimSpace(b.Name))
	text := strings.TrimSpace(b.text.String())
	if text == "" && string(b.Input) != "null" {
		text = string(b.Input)
	}
	taken, ok := a.called.Take(b.ID, name, text)
	if !ok {
		a.garbled = true
		return nil
	}
	c := model.Call{ID: taken.ID, Name: name, Args: taken.Args, Cut: taken.Cut, Mended: taken.Mended}
	a.given++
	if !a.yield(model.Chunk{Call: &c}) {
		return engine.ErrGone
	}
	return nil
}

// end hands out what is left: calls that nobody ended, the news that one could not be read, signed reasoning, tokens and
// the reason for the end.
func (a *answer) end(modelName string, f model.Finish) error {
	for _, b := range a.blocks {
		if !b.stopped {
			if err := a.stop(b); err != nil {
				return err
			}
		}
	}
	switch {
	case a.given > 0 && f == model.Stop:
		f = model.Calls
	case a.given == 0 && f == model.Calls && !a.spoken:
		a.garbled = true // it wanted to call something, and nothing came through
	}
	if a.garbled && a.given == 0 && !a.yield(model.Chunk{Garbled: model.Unreadable}) {
		return engine.ErrGone
	}
	if s := a.opaque(modelName, f).String(); s != "" && !a.yield(model.Chunk{Opaque: s}) {
		return engine.ErrGone
	}
	if !a.yield(model.Chunk{Usage: a.tokens(), Finish: f}) {
		return engine.ErrGone
	}
	return nil
}

// opaque is what goes back with the answer. Reasoning that the limit on tokens cut off has no signature, and is dropped.
func (a *answer) opaque(modelName string, f model.Finish) opaque {
	words := a.words.String()
	trimmed := strings.TrimLeftFunc(words, unicode.IsSpace)
	o := opaque{Model: modelName, Lead: words[:len(words)-len(trimmed)]}
	o.Tail = trimmed[len(strings.TrimRightFunc(trimmed, unicode.IsSpace)):]
	for _, b := range a.blocks {
		switch b.Type {
		case "text":
			if b.said > 0 {
				o.Blocks = append(o.Blocks, opaqueBlock{Text: b.said})
			}
		case "tool_use":
			o.Blocks = append(o.Blocks, opaqueBlock{Call: true})
		case "thinking":
			signature := b.Signature + b.signed.String()
			if signature == "" && f == model.Length {
				continue
			}
			b.raw["thinking"] = args.AppendText(nil, b.text.String())
			b.raw["signature"] = args.AppendText(nil, signature)
			fallthrough
		case "redacted_thinking":
			o.Blocks = append(o.Blocks, opaqueBlock{Thought: thoughtOf(b.raw)})
		}
	}
	return o
}

// thoughtOf writes a block of reasoning as it came, its fields in order of their names.
func thoughtOf(raw map[string]json.RawMessage) json.RawMessage {
	names := make([]string, 0, len(raw))
	for name := range raw {
		names = append(names, name)
	}
	slices.Sort(names)
	b := []byte(`{`)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(args.AppendText(b, name), ':'), raw[name]...)
	}
	return append(b, '}')
}

// tokens are the tokens of the answer, or nil when nobody counted them.
func (a *answer) tokens() *model.Usage {
	if !a.counted {
		return nil
	}
	n := func(f *float64) int {
		if f == nil || !(*f > 0) || *f > 1e12 {
			return 0
		}
		return int(*f)
	}
	u := a.usage
	return &model.Usage{Prompt: n(u.Input) + n(u.Created) + n(u.Read), Cached: n(u.Read), CacheTold: u.Read != nil, Completion: n(u.Output)}
}

// reason maps the API's word for the end. A word that is not known is an end like any other.
func reason(word string) model.Finish {
	switch word {
	case "max_tokens", "model_context_window_exceeded":
		return model.Length
	case "tool_use":
		return model.Calls
	}
	return model.Stop
}
