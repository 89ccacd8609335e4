package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

const opStream = "ollama.Stream"

// Ways in which an answer ends early.
var (
	errEnough   = errors.New("calls enough")
	errNoJSON   = errors.New("not a line of JSON")
	errUnloaded = errors.New("the model was unloaded")
	errSpoiled  = errors.New("a call that the engine cannot read")
)

// A brokenOff is an error that came within a stream.
type brokenOff struct{ body []byte }

// Error leaves out the body: it is classified first.
func (e *brokenOff) Error() string { return "an error within the stream" }

// Stream asks the model. See package engine for what is repeated and what fails how.
//
// An answer with more than 64 calls ends there, as if the limit on tokens had been reached.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		said := false
		attempt := func() *engine.Trouble {
			return m.attempt(ctx, r, func(c model.Chunk) bool {
				said = true
				return yield(c, nil)
			})
		}
		err := m.client.Repeat(ctx, opStream, m.names, func() bool { return said }, attempt)
		if err != nil && !errors.Is(err, engine.ErrGone) {
			yield(model.Chunk{}, err)
		}
	}
}

// An exchange is one attempt: a request, and the answer as far as it goes.
type exchange struct {
	m    *Model
	sent quirks // what the request is written without
	r    model.Request

	reply  *engine.Reply
	lines  *engine.Lines
	answer *answer
}

// attempt sends r once and reads the answer.
func (m *Model) attempt(ctx context.Context, r model.Request, yield func(model.Chunk) bool) *engine.Trouble {
	x := &exchange{m: m, sent: quirks(m.learned.Load()), r: r, answer: m.newAnswer(yield, r)}
	return m.client.Ask(ctx, opStream, "api/chat", m.write(r, x.sent), func(reply *engine.Reply) *engine.Trouble {
		x.reply, x.lines = reply, engine.NewLines(reply)
		if !reply.OK() {
			return x.refused(reply.Refusal())
		}
		t := x.ended(x.read())
		if t == nil && x.answer.done {
			reply.Drain()
		}
		return t
	})
}

// read turns the lines into chunks until something ends them; nil is the line that says that it is done.
func (x *exchange) read() error {
	for !x.answer.done {
		if err := x.reply.Left(); err != nil {
			return err // what is in the buffer is not wanted any more
		}
		line, err := x.lines.Next()
		if err != nil {
			return err
		}
		if err := x.answer.take(line); err != nil {
			return err
		}
		if x.answer.size > 0 {
			x.reply.Begun()
		}
	}
	return nil
}

// ended says how the answer ended, given what ended the reading.
func (x *exchange) ended(err error) *engine.Trouble {
	m, a := x.m, x.answer
	atEnd := err == io.EOF //nolint:errorlint // wrapped, it is not the body that ended but a connection
	var off *brokenOff
	switch {
	case err == nil:
		return x.finished(a.finish)
	case errors.Is(err, errEnough):
		return x.finished(model.Length)
	case errors.Is(err, errSpoiled):
		a.garbled = true
		return x.finished(model.Stop)
	case errors.As(err, &off):
		return x.refused(engine.Refusal{Body: off.body})
	case errors.Is(err, errUnloaded):
		return &engine.Trouble{Again: engine.Busy, Err: jackline.E(opStream, jackline.Unavailable, err,
			"The engine at %s unloaded %s before the answer was whole. What came so far is kept.", m.client.Address(), m.info.Name)}
	case errors.Is(err, errNoJSON) && a.heard:
		return x.reply.Unreadable(err)
	case errors.Is(err, errNoJSON), atEnd && !a.heard:
		return &engine.Trouble{Err: m.client.Strange(opStream, a.first)}
	}
	return x.reply.Cut(err)
}

func (x *exchange) finished(f model.Finish) *engine.Trouble {
	a := x.answer
	if a.usage != nil {
		a.usage.Cut = x.m.cut(x.r, a.usage.Prompt)
	}
	if err := a.end(f); err != nil {
		return &engine.Trouble{Err: err}
	}
	return nil
}

// A line is one line of an answer. Fields that are not known are skipped.
type line struct {
	Message *message `json:"message"`
	Done    bool     `json:"done"`
	Reason  string   `json:"done_reason"` // missing in old versions

	Prompt     float64  `json:"prompt_eval_count"`        // the whole prompt; missing when it is not known
	Cached     *float64 `json:"prompt_eval_cached_count"` // part of it; since 0.34
	Completion float64  `json:"eval_count"`

	Reading float64 `json:"prompt_eval_duration"` // nanoseconds, as the next
	Writing float64 `json:"eval_duration"`

	Error json.RawMessage `json:"error"`

	// Spoiled is an error that 0.11 wrote under a name of its own by mistake.
	Spoiled json.RawMessage `json:"error parsing tool call"`
}

type message struct {
	Content  string `json:"content"`
	Thinking string `json:"thinking"`
	Calls    []struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"` // an object; a string that holds one, from what only looks like Ollama
		} `json:"function"`
	} `json:"tool_calls"`
}

// An answer turns the lines of one response into chunks.
type answer struct {
	yield func(model.Chunk) bool

	size    int // bytes of text, reasoning and calls so far
	calls   int // handed out
	called  engine.Calls
	garbled bool // a call that could not be read
	offered bool // the engine was told of tools
	empty   bool // nothing but blanks so far
	done    bool
	finish  model.Finish
	usage   *model.Usage
	heard   bool   // something in it was for us
	first   []byte // the beginning of the first line, for the error if nothing was
}

func (m *Model) newAnswer(yield func(model.Chunk) bool, r model.Request) *answer {
	return &answer{yield: yield, called: engine.Calls{}, offered: m.info.Native && len(r.Tools) > 0, empty: true}
}

// swallowed is how many tokens of an answer that holds nothing were a call. Ollama keeps back what comes behind the mark of a call,
// and drops it without a word if it names no tool that was offered, or ends before it is whole; a mark, a name and arguments are more
// tokens than this. An answer that is empty because the model had nothing to say is one or two, or a few with empty reasoning.
const swallowed = 8

// take reads one line.
func (a *answer) take(text []byte) error {
	if a.first == nil {
		a.first = slices.Clone(text[:min(len(text), engine.MaxExcerpt)])
	}
	var l line
	var mismatch *json.UnmarshalTypeError
	// A field that has another type than expected is left out; the others are read all the same.
	if err := json.Unmarshal(text, &l); err != nil && !errors.As(err, &mismatch) {
		if a.heard && isHalf(err, text) {
			return io.ErrUnexpectedEOF
		}
		return fmt.Errorf("%w: %w", errNoJSON, err)
	}
	switch {
	case isSet(l.Spoiled), isSpoiled(l.Error):
		return errSpoiled
	case isSet(l.Error):
		return &brokenOff{body: slices.Clone(text[:min(len(text), engine.MaxRefusal)])}
	}
	a.heard = a.heard || l.Message != nil || l.Done
	if l.Message != nil {
		if err := a.say(l.Message); err != nil {
			return err
		}
	}
	if !l.Done {
		return nil
	}
	if l.Prompt > 0 || l.Completion > 0 {
		u := model.Usage{Prompt: count(l.Prompt), Completion: count(l.Completion), Reading: engine.Took(l.Reading), Writing: engine.Took(l.Writing)}
		if l.Cached != nil {
			u.Cached, u.CacheTold = min(count(*l.Cached), u.Prompt), true
		}
		a.usage = &u
	}
	switch l.Reason {
	case "unload":
		return errUnloaded
	case "length":
		a.finish = model.Length
	default: // "stop" and, after an empty list of messages, "load"; calls have no word of their own
		a.finish = model.Stop
	}
	a.done = true
	return nil
}

// isHalf reports whether text is the beginning of a line that was cut off.
func isHalf(err error, text []byte) bool {
	var syntax *json.SyntaxError
	return errors.As(err, &syntax) && syntax.Offset == int64(len(text)) && text[len(text)-1] != '}'
}

func isSet(raw json.RawMessage) bool {
	return len(raw) > 0 && string(raw) != "null" && string(raw) != `""`
}

// isSpoiled reports whether an error only says that the model wrote a call that Ollama's reader does not understand.
func isSpoiled(raw []byte) bool {
	return bytes.Contains(raw, []byte("error parsing tool call")) || bytes.Contains(raw, []byte("failed to parse tool call"))
}

// mostTokens bounds a count of tokens: more is nonsense, and must not overflow a sum.
const mostTokens = 1 << 30

func count(n float64) int {
	if !(n > 0) {
		return 0 // less, or no number at all
	}
	return int(min(n, mostTokens))
}

// say hands out what a message holds: reasoning, then text, then calls.
func (a *answer) say(msg *message) error {
	a.size += len(msg.Thinking) + len(msg.Content)
	for _, c := range msg.Calls {
		a.size += len(c.Function.Name) + len(c.Function.Arguments)
	}
	if a.size > engine.MaxText {
		return fmt.Errorf("%w: an answer of over %d bytes", engine.ErrTooMuch, engine.MaxText)
	}
	a.empty = a.empty && len(msg.Calls) == 0 && strings.TrimSpace(msg.Thinking+msg.Content) == ""
	if msg.Thinking != "" && !a.yield(model.Chunk{Thought: msg.Thinking}) {
		return engine.ErrGone
	}
	if msg.Content != "" && !a.yield(model.Chunk{Text: msg.Content}) {
		return engine.ErrGone
	}
	for _, c := range msg.Calls {
		if a.calls == engine.MaxCalls {
			return errEnough
		}
		if err := a.call(c.ID, engine.CalledName(c.Function.Name), c.Function.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// call hands out one call, which always comes whole. One without a name, or whose arguments are beyond reading, is not handed
// out but noted.
func (a *answer) call(id, name string, raw json.RawMessage) error {
	text := strings.TrimSpace(string(raw))
	if strings.HasPrefix(text, `"`) {
		var inner string
		if json.Unmarshal(raw, &inner) == nil {
			text = strings.TrimSpace(inner)
		}
	}
	taken, ok := a.called.Take(id, name, text)
	if !ok {
		a.garbled = true
		return nil
	}
	c := model.Call{ID: taken.ID, Name: name, Args: taken.Args, Cut: taken.Cut, Mended: taken.Mended}
	a.calls++
	if !a.yield(model.Chunk{Preview: model.Preview{Name: name}}) || !a.yield(model.Chunk{Call: &c}) {
		return engine.ErrGone
	}
	return nil
}

// end hands out what is left: the news that a call could not be read, tokens and the reason for the end.
func (a *answer) end(f model.Finish) error {
	if a.calls > 0 && f == model.Stop {
		f = model.Calls
	}
	if a.offered && a.empty && a.usage != nil && a.usage.Completion > swallowed {
		a.garbled = true
	}
	if a.garbled && a.calls == 0 && !a.yield(model.Chunk{Garbled: model.Unreadable}) {
		return engine.ErrGone
	}
	if !a.yield(model.Chunk{Usage: a.usage, Finish: f}) {
		return engine.ErrGone
	}
	return nil
}
