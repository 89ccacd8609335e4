package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"
	"unicode"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
)

const opStream = "openai.Stream"

// Stream asks the model. See the package comment for what is repeated and what fails how.
//
// An answer with more than 64 calls ends there, as if the limit on tokens had been reached.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		said := false
		err := m.answer(ctx, r, &said, func(c model.Chunk) bool {
			said = true
			return yield(c, nil)
		})
		if err != nil && !errors.Is(err, errGone) {
			yield(model.Chunk{}, err)
		}
	}
}

// answer makes attempts until one succeeds or there is no sense in another.
func (m *Model) answer(ctx context.Context, r model.Request, said *bool, yield func(model.Chunk) bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if m.info.Name == "" {
		return m.unnamed(ctx)
	}
	var spent time.Duration
	for try := 1; ; try++ {
		t := m.attempt(ctx, r, yield)
		switch {
		case t == nil:
			return nil
		case errors.Is(t.err, errGone):
			return errGone
		case ctx.Err() != nil:
			return ctx.Err()
		case *said:
			return t.err
		case t.learn != 0:
			m.learned.Or(uint32(t.learn))
			try--
			continue
		case t.lost:
			return m.missing(ctx, t.err)
		}
		pause, again := m.retry.pause(t, try, spent)
		if !again {
			return t.err
		}
		spent += pause
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
}

// An exchange is one attempt: a request, and the answer as far as it goes.
type exchange struct {
	m      *Model
	sent   quirks       // what the request is written without
	tools  bool         // it offers tools
	left   func() error // the error of the caller's context
	silent func() bool  // the watch has ended the request

	watch  *watch
	events *events
	answer *answer
}

// attempt sends r once and reads the answer.
func (m *Model) attempt(parent context.Context, r model.Request, yield func(model.Chunk) bool) *trouble {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	w := &watch{limit: m.firstByte, timer: time.AfterFunc(m.firstByte, func() { cancel(errSilent) })}
	defer w.timer.Stop()
	x := &exchange{
		m: m, sent: quirks(m.learned.Load()), tools: m.info.Native && len(r.Tools) > 0, watch: w,
		left: parent.Err, silent: func() bool { return errors.Is(context.Cause(ctx), errSilent) },
	}

	resp, err := m.send(ctx, http.MethodPost, "chat/completions", m.write(r, x.sent))
	w.timer.Stop()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return m.unreachable(opStream, err)
	}
	defer closeBody(resp)
	w.body = resp.Body
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		w.limit = tail
		// What could be read of the error is enough.
		body, _ := io.ReadAll(io.LimitReader(w, maxRefusal))
		return x.refused(refusal{status: resp.StatusCode, header: resp.Header, body: body})
	}
	x.events, x.answer = newEvents(w), m.newAnswer(r, yield)
	t := x.ended(x.read())
	if t == nil && x.events.done {
		// A connection is kept only when its answer was read to the very end, which comes right behind the marker.
		w.limit = linger
		_, _ = io.CopyN(io.Discard, w, maxRefusal)
	}
	return t
}

// A watch is a body that ends the request when it is silent for too long. Only the time spent waiting for the server
// counts.
type watch struct {
	body  io.Reader
	timer *time.Timer
	limit time.Duration // for the read that comes
}

// Read reads from the body under the limit.
func (w *watch) Read(p []byte) (int, error) {
	w.timer.Reset(w.limit)
	n, err := w.body.Read(p)
	w.timer.Stop()
	return n, err
}

// read turns the body into chunks until something ends it.
func (x *exchange) read() error {
	if err := x.events.begin(); err != nil {
		return err
	}
	for {
		if err := x.left(); err != nil {
			return err // what is in the buffer is not wanted any more
		}
		ev, err := x.events.next()
		if err != nil {
			return err
		}
		if err := x.answer.take(ev); err != nil {
			return err
		}
		switch {
		case x.answer.finish != "":
			x.watch.limit = tail
		case x.answer.size > 0:
			x.watch.limit = x.m.idle
		}
	}
}

// ended says how the answer ended, given what ended the reading.
func (x *exchange) ended(err error) *trouble {
	m, a := x.m, x.answer
	atEnd := err == io.EOF //nolint:errorlint // wrapped, it is not the body that ended but a connection
	var off *brokenOff
	switch {
	case errors.Is(err, errGone) || x.left() != nil:
		return &trouble{err: err}
	case errors.Is(err, errEnough):
		return x.finished(model.Length)
	case errors.As(err, &off):
		return x.refused(refusal{body: off.body})
	case errors.Is(err, errTooMuch):
		return &trouble{err: jackline.E(opStream, jackline.Unavailable, err,
			"The engine at %s does not stop: its answer is larger than Jackline reads. What came so far is kept.", m.address())}
	case errors.Is(err, errNoStream):
		return &trouble{err: x.unreadable(err)}
	case !a.heard && atEnd && !x.events.done:
		return &trouble{err: m.strange(opStream, a.first)}
	case filtered(a.finish) && !a.spoken && a.calls.began == 0:
		return &trouble{err: jackline.E(opStream, jackline.Forbidden, errFiltered,
			"The content filter of %s withheld the answer. Ask in other words.", m.address())}
	}
	if f, ok := reason(a.finish); ok && (a.finish != "" || x.events.done || a.whole && atEnd) {
		return x.finished(f)
	}
	return x.cut(err)
}

func (x *exchange) refused(r refusal) *trouble {
	r.sent, r.tools = x.sent, x.tools
	return x.m.refused(opStream, r)
}

func (x *exchange) finished(f model.Finish) *trouble {
	if err := x.answer.end(f); err != nil {
		return &trouble{err: err}
	}
	return nil
}

// cut is the trouble with an answer that ended before its end.
func (x *exchange) cut(err error) *trouble {
	m := x.m
	if x.silent() {
		if x.answer.size == 0 {
			return m.unreachable(opStream, errSilent)
		}
		return &trouble{err: jackline.E(opStream, jackline.Timeout, errSilent,
			"The engine at %s stopped in the middle of its answer and has said nothing for %s.", m.address(), inWords(m.idle))}
	}
	return &trouble{again: busy, err: jackline.E(opStream, jackline.Unavailable, m.blotted(err),
		"The connection to %s broke off in the middle of the answer. What came so far is kept.", m.address())}
}

// unreadable is the error for a body that is no answer: a page, or something else.
func (x *exchange) unreadable(cause error) error {
	if x.answer.heard {
		return jackline.E(opStream, jackline.Unavailable, x.m.blotted(cause),
			"The engine at %s sent something unreadable in the middle of its answer. What came so far is kept.", x.m.address())
	}
	begin := x.answer.first
	if begin == nil {
		begin = x.events.ahead(maxExcerpt)
	}
	return x.m.strange(opStream, begin)
}

// unnamed is the error for a request without a model's name.
func (m *Model) unnamed(ctx context.Context) error {
	names, err := m.List(ctx)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return jackline.E(opStream, jackline.NoModel, nil,
			"No model is named, and the engine at %s has none: fetch one first (with Ollama: \"ollama pull NAME\").", m.address())
	}
	return jackline.E(opStream, jackline.NoModel, nil,
		"No model is named: choose one with --model. The engine at %s offers %s.", m.address(), offer(names))
}

// missing makes the error for a model that the engine does not know more helpful: it names those that it knows.
func (m *Model) missing(ctx context.Context, cause error) error {
	say := fmt.Sprintf("The engine at %s has no model %q.", m.address(), m.info.Name)
	names, err := m.List(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err == nil && len(names) > 0:
		say += " It offers " + offer(names) + ": choose one with --model, or fetch this one"
	default:
		say += " Choose another with --model, or fetch this one"
	}
	return jackline.E(opStream, jackline.NoModel, cause, "%s (with Ollama: \"ollama pull %s\").", say, m.info.Name)
}

// offer lists names for a sentence: not all of many, and nothing that does not print.
func offer(names []string) string {
	var shown []string
	for _, n := range names[:min(len(names), maxOffered)] {
		n = strings.Map(func(r rune) rune {
			if unicode.IsPrint(r) {
				return r
			}
			return -1
		}, strings.ToValidUTF8(n, ""))
		shown = append(shown, strings.ToValidUTF8(n[:min(len(n), maxNameShown)], ""))
	}
	s := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
