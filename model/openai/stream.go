package openai

import (
	"context"
	"errors"
	"io"
	"iter"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

const opStream = "openai.Stream"

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
		err := m.client.Repeat(ctx, opStream, m.List, func() bool { return said }, attempt)
		if err != nil && !errors.Is(err, engine.ErrGone) {
			yield(model.Chunk{}, err)
		}
	}
}

// An exchange is one attempt: a request, and the answer as far as it goes.
type exchange struct {
	m     *Model
	sent  quirks // what the request is written without
	tools bool   // it offers tools
	held  bool   // it holds the model to a form

	reply  *engine.Reply
	events *engine.Events
	answer *answer
}

// attempt sends r once and reads the answer.
func (m *Model) attempt(ctx context.Context, r model.Request, yield func(model.Chunk) bool) *engine.Trouble {
	x := &exchange{m: m, sent: quirks(m.learned.Load()), tools: m.info.Native && len(r.Tools) > 0, held: r.Constraint != nil && m.info.Knob != model.NoKnob}
	return m.client.Ask(ctx, opStream, "chat/completions", m.write(r, x.sent), func(reply *engine.Reply) *engine.Trouble {
		if !reply.OK() {
			return x.refused(reply.Refusal())
		}
		x.reply, x.events, x.answer = reply, engine.NewEvents(reply), m.newAnswer(r, yield)
		t := x.ended(x.read())
		if t == nil && x.events.Marked() {
			reply.Drain()
		}
		return t
	})
}

// read turns the body into chunks until something ends it.
func (x *exchange) read() error {
	for {
		if err := x.reply.Left(); err != nil {
			return err // what is in the buffer is not wanted any more
		}
		ev, err := x.events.Next()
		if err != nil {
			return err
		}
		if err := x.answer.take(ev); err != nil {
			return err
		}
		switch {
		case x.answer.finish != "" && !x.answer.lied:
			x.reply.Ending()
		case x.answer.size > 0:
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
	case errors.Is(err, engine.ErrNoStream):
		return x.unreadable(err)
	case !a.heard && atEnd && !x.events.Marked():
		return &engine.Trouble{Err: m.client.Strange(opStream, a.first)}
	case filtered(a.finish) && !a.spoken && a.calls.began == 0:
		return &engine.Trouble{Err: jackline.E(opStream, jackline.Forbidden, errFiltered,
			"The content filter of %s withheld the answer. Ask in other words.", m.client.Address())}
	}
	if f, ok := reason(a.finish); ok && (a.finish != "" || x.events.Marked() || a.whole && atEnd) {
		return x.finished(f)
	}
	return x.reply.Cut(err)
}

func (x *exchange) refused(r engine.Refusal) *engine.Trouble {
	r.Tools, r.Held = x.tools, x.held
	return x.m.refused(r, x.sent)
}

func (x *exchange) finished(f model.Finish) *engine.Trouble {
	if err := x.answer.end(f); err != nil {
		return &engine.Trouble{Err: err}
	}
	return nil
}

// unreadable is the trouble with a body that is no answer: a page, or something else.
func (x *exchange) unreadable(cause error) *engine.Trouble {
	if x.answer.heard {
		return x.reply.Unreadable(cause)
	}
	begin := x.answer.first
	if begin == nil {
		begin = x.events.Ahead(engine.MaxExcerpt)
	}
	return &engine.Trouble{Err: x.m.client.Strange(opStream, begin)}
}
