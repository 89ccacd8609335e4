package responses

import (
	"context"
	"errors"
	"io"
	"iter"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

const opStream = "responses.Stream"

// Stream asks the model. See package engine for what is repeated and what fails how.
//
// An answer with more than 64 calls ends there, as if the limit on tokens had been reached.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		x := &exchange{m: m, r: r}
		x.yield = func(c model.Chunk) bool {
			x.said = true
			return yield(c, nil)
		}
		err := m.client.Repeat(ctx, opStream, m.List, func() bool { return x.said }, func() *engine.Trouble { return x.attempt(ctx) })
		if err != nil && !errors.Is(err, engine.ErrGone) {
			yield(model.Chunk{}, err)
		}
	}
}

// An exchange is one request, written until it is taken, and the answer as far as it goes.
type exchange struct {
	m     *Model
	r     model.Request
	yield func(model.Chunk) bool
	said  bool // something of an answer was handed out

	sent     quirks // what the request is written without
	thoughts bool   // sealed reasoning was sent
	reply    *engine.Reply
	events   *engine.Events
	answer   *answer
}

// attempt sends the request once and reads the answer.
func (x *exchange) attempt(ctx context.Context) *engine.Trouble {
	x.sent = quirks(x.m.learned.Load())
	body, thoughts := x.m.write(x.r, x.sent)
	x.thoughts = thoughts
	return x.m.client.Ask(ctx, opStream, "responses", [][]byte{body}, func(reply *engine.Reply) *engine.Trouble {
		if !reply.OK() {
			return x.refused(reply.Refusal())
		}
		x.reply, x.events, x.answer = reply, engine.NewEvents(reply), x.m.newAnswer(x.r, x.yield)
		t := x.ended(x.read())
		if t == nil && x.answer.status != "" {
			reply.Drain()
		}
		return t
	})
}

// read turns the body into chunks until something ends it.
func (x *exchange) read() error {
	a := x.answer
	for {
		if err := x.reply.Left(); err != nil {
			return err // what is in the buffer is not wanted any more
		}
		ev, err := x.events.Next()
		if err != nil {
			return err
		}
		if err := a.take(ev); err != nil {
			return err
		}
		switch {
		case a.status != "":
			return io.EOF
		case a.size > 0:
			x.reply.Begun()
		}
	}
}

// ended says how the answer ended, given what ended the reading.
func (x *exchange) ended(err error) *engine.Trouble {
	m, a := x.m, x.answer
	atEnd := err == io.EOF //nolint:errorlint // wrapped, it is not the body that ended but a connection
	var off *brokenOff
	switch {
	case errors.Is(err, engine.ErrGone) || x.reply.Left() != nil:
		return &engine.Trouble{Err: err}
	case errors.Is(err, errEnough):
		return x.finished(model.Length)
	case errors.As(err, &off):
		return x.refused(engine.Refusal{Body: off.body})
	case errors.Is(err, engine.ErrTooMuch):
		return x.reply.Cut(err)
	case errors.Is(err, engine.ErrNoStream) && a.heard:
		return x.reply.Unreadable(err)
	case errors.Is(err, engine.ErrNoStream) && a.first == nil:
		return &engine.Trouble{Err: m.client.Strange(opStream, x.events.Ahead(engine.MaxExcerpt))}
	case errors.Is(err, engine.ErrNoStream), !a.heard && atEnd:
		return &engine.Trouble{Err: m.client.Strange(opStream, a.first)}
	case a.reason == "content_filter" && !a.spoken && a.calls == 0:
		return &engine.Trouble{Err: jackline.E(opStream, jackline.Forbidden, errFiltered,
			"The content filter of %s withheld the answer. Ask in other words.", m.client.Address())}
	case a.status == "incomplete" && a.reason != "content_filter":
		return x.finished(model.Length)
	case a.status != "":
		return x.finished(model.Stop)
	}
	return x.reply.Cut(err)
}

func (x *exchange) finished(f model.Finish) *engine.Trouble {
	if x.answer.thinks {
		x.m.thinks.Store(true)
	}
	if err := x.answer.end(x.m.info.Name, f); err != nil {
		return &engine.Trouble{Err: err}
	}
	return nil
}

// refused says what a refusal means. What it teaches is kept, and the request written anew: that has an end, because each
// time something is learned that was not known when it was sent.
func (x *exchange) refused(r engine.Refusal) *engine.Trouble {
	m := x.m
	r.Tools, r.Held = m.info.Native && len(x.r.Tools) > 0, x.r.Constraint != nil
	p := engine.ReadProblem(r.Body)
	if r.Status == 0 {
		r.Status = statusOf(codeOf(r.Body))
	}
	if r.Status >= 400 && r.Status < 500 && x.learn(p) {
		t := m.client.NotTaken(opStream, r, p)
		t.Again = engine.AtOnce
		return t
	}
	t := m.client.Refused(opStream, r)
	switch {
	case m.effort != "" && t.Again == engine.Never && p.Says("effort"):
		t.Err = jackline.E(opStream, jackline.Invalid, t.Err, "%s does not know the effort %q.", m.info.Name, m.effort)
	}
	return t
}

// forget leaves out the reasoning of all answers in the request from now on, and reports whether there was any.
func (x *exchange) forget() bool {
	for _, msg := range x.r.Messages {
		if readOpaque(msg.Opaque) != nil {
			x.m.refused.Add(msg.Opaque)
		}
	}
	return x.thoughts
}

// learn finds out what in the request was not taken, and reports whether it can be written in another way.
func (x *exchange) learn(p engine.Problem) bool {
	refused := p.Says("invalid_encrypted_content", "encrypted content*could not be", "provided without its required following item",
		"item*not found*not persisted", "item 'rs_")
	if refused && x.forget() {
		return true
	}
	candidates := []struct {
		quirk quirks
		says  bool
	}{
		{noSummary, x.m.summaries && p.Says("reasoning.summary", "reasoning summar")},
		{noSealed, p.Says("reasoning.encrypted_content", "encrypted content is not supported", "include*not supported", "unknown*include")},
		{noReasoning, p.Says("unsupported parameter*reasoning", "unknown parameter*reasoning", "reasoning*not supported with this model")},
		{noStore, p.Says("unsupported parameter: store", "'store'*not supported", "unsupported parameter: 'store'")},
		{noMax, p.Says("max_output_tokens")},
		{noToolChoice, p.Says("tool_choice")},
	}
	for _, c := range candidates {
		if c.says && x.sent&c.quirk == 0 {
			x.m.learned.Or(uint32(c.quirk))
			return true
		}
	}
	return false
}
