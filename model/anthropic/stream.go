package anthropic

import (
	"context"
	"errors"
	"io"
	"iter"
	"strconv"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/phrase"
)

const opStream = "anthropic.Stream"

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
	this  way  // what is different about this request

	sent     way
	thoughts bool // sealed reasoning was sent
	reply    *engine.Reply
	events   *engine.Events
	answer   *answer
}

// attempt sends the request once and reads the answer.
func (x *exchange) attempt(ctx context.Context) *engine.Trouble {
	x.sent = x.this
	x.sent.quirks |= quirks(x.m.learned.Load())
	x.sent.most = int(x.m.most.Load())
	body, thoughts := x.m.write(x.r, x.sent)
	x.thoughts = thoughts
	return x.m.client.Ask(ctx, opStream, x.m.path+"messages", [][]byte{body}, func(reply *engine.Reply) *engine.Trouble {
		if !reply.OK() {
			return x.refused(reply.Refusal())
		}
		x.reply, x.events, x.answer = reply, engine.NewEvents(reply), x.m.newAnswer(x.r, x.yield)
		t := x.ended(x.read())
		if t == nil && x.answer.over {
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
		case a.over:
			return io.EOF
		case a.reason != "":
			x.reply.Ending()
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
	case a.reason == "refusal":
		return &engine.Trouble{Err: jackline.E(opStream, jackline.Forbidden, errDeclined,
			"%s declines to answer: its provider's rules stopped it. Ask in other words, or another model.", m.info.Name)}
	case a.reason != "" || a.over:
		return x.finished(reason(a.reason))
	}
	return x.reply.Cut(err)
}

func (x *exchange) finished(f model.Finish) *engine.Trouble {
	for _, b := range x.answer.blocks {
		if b.raw != nil {
			x.m.thinks.Store(true)
		}
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
	r.Tools = m.info.Native && len(x.r.Tools) > 0
	p := engine.ReadProblem(r.Body)
	if r.Status == 0 {
		r.Status = statusOf(kindOf(r.Body))
	}
	again := func() *engine.Trouble {
		t := m.client.NotTaken(opStream, r, p)
		t.Again = engine.AtOnce
		return t
	}
	if r.Status == 400 && x.learn(p, r.Body) {
		return again()
	}
	t := m.client.Refused(opStream, r)
	say := func(k jackline.Kind, format string, a ...any) *engine.Trouble {
		t.Err = jackline.E(opStream, k, t.Err, format, a...)
		return t
	}
	switch {
	case r.Status == 403 && kindOf(r.Body) == "permission_error":
		return say(jackline.Forbidden, "The key that was given to %s may not do this. Check what it is allowed, and its workspace.",
			m.client.Address())
	case m.effort != "" && r.Status == 400 && p.Says("effort"):
		return say(jackline.Invalid, "%s does not know the effort %q. There are low, medium, high, xhigh and max, but not for every model.",
			m.info.Name, m.effort)
	case r.Status == 413:
		return say(jackline.Invalid, "The request is larger than %s takes (32 MB, pictures included). Start a new session.", m.client.Address())
	case r.Status == statusOverloaded:
		return say(jackline.Unavailable, "%s has more requests than it can answer just now. Try again in a few minutes.", m.client.Address())
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
func (x *exchange) learn(p engine.Problem, body []byte) bool {
	if q := quirkOf(p, x.sent); q != 0 {
		x.m.learned.Or(uint32(q))
		return true
	}
	if p.Says("signature*thinking", "thinking*blocks*modified", "expected `thinking`", "bound to a different conversation") && x.forget() {
		return true
	}
	if n := number(mostTokens, body, 1); n > 0 && (x.sent.most == 0 || n < x.sent.most) {
		x.m.most.Store(int64(n))
		return true
	}
	prompt, window := number(overWindow, body, 1), number(overWindow, body, 2)
	if left := window - prompt; left >= leastAnswer && (x.sent.max == 0 || left < x.sent.max) {
		x.this.max = left
		return true
	}
	return false
}

// quirkOf is what of the request is not taken that was in it, or 0.
func quirkOf(p engine.Problem, sent way) quirks {
	candidates := []struct {
		quirk quirks
		says  bool
	}{
		{noDisplay, p.Says("thinking*display")},
		{noAdaptive, p.Says("adaptive*not supported", "does not support adaptive", "tag 'adaptive'", "thinking.type: input should be 'enabled'")},
		{noBudget, p.Says("thinking.type.enabled", "\"enabled\"*not supported", "budget_tokens*not supported", "manual*thinking*not supported")},
		{noDisabled, p.Says("disabled*not supported", "cannot be disabled", "thinking*does not accept disabled", "thinking.type.disabled")},
		{noEffort, p.Says("not support*effort", "effort*not support", "output_config: extra inputs")},
		{noMarks, p.Says("cache_control")},
		{noToolChoice, p.Says("tool_choice")},
		{needsTools, p.Says("must define tools", "toolconfig field must be defined")},
	}
	for _, c := range candidates {
		if c.says && sent.quirks&c.quirk == 0 {
			return c.quirk
		}
	}
	return 0
}

// What the API says of numbers of tokens.
var (
	mostTokens = phrase.New(`max_tokens: [0-9]+ > ([0-9]+)`)
	overWindow = phrase.New("input length and `max_tokens` exceed context limit: ([0-9]+) \\+ [0-9]+ > ([0-9]+)")
)

// number is the n-th number that re finds in an error, or 0.
func number(p *phrase.Phrase, body []byte, n int) int {
	found := p.FindStringSubmatch(string(body))
	if found == nil {
		return 0
	}
	v, err := strconv.Atoi(found[n])
	if err != nil {
		return 0
	}
	return v
}
