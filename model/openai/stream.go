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
// An answer with more than maxCalls calls ends there, as if the limit on tokens had been reached.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		said := false
		err := m.answer(ctx, r, &said, func(c model.Chunk) bool {
			said = true
			return yield(c, nil)
		})
		if err != nil && err != errGone {
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
		case t.err == errGone:
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

// attempt sends r once and reads the answer.
func (m *Model) attempt(parent context.Context, r model.Request, yield func(model.Chunk) bool) *trouble {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	w := &watch{limit: m.firstByte, idle: m.idle, timer: time.AfterFunc(m.firstByte, func() { cancel(errSilent) })}
	defer w.timer.Stop()

	q := quirks(m.learned.Load())
	resp, err := m.send(ctx, http.MethodPost, "chat/completions", m.write(r, q))
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
		w.limit, w.idle = tail, tail
		// What could be read of the error is enough.
		body, _ := io.ReadAll(io.LimitReader(w, maxRefusal))
		return m.refused(opStream, refusal{
			status: resp.StatusCode, header: resp.Header, body: body, sent: q, tools: m.info.Native && len(r.Tools) > 0,
		})
	}
	return m.read(ctx, w, m.newAnswer(r, yield), q)
}

// A watch is a body that ends the request when it is silent for too long. Only the time spent waiting for the server
// counts.
type watch struct {
	body  io.Reader
	timer *time.Timer
	limit time.Duration // for the read that comes
	idle  time.Duration // for those after the first
	begun bool
}

// Read reads from the body under the limit.
func (w *watch) Read(p []byte) (int, error) {
	w.timer.Reset(w.limit)
	n, err := w.body.Read(p)
	w.timer.Stop()
	if n > 0 && !w.begun {
		w.begun, w.limit = true, w.idle
	}
	return n, err
}

// read turns the body into chunks.
func (m *Model) read(ctx context.Context, w *watch, a *answer, q quirks) *trouble {
	e := newEvents(w)
	err := e.begin()
	for err == nil {
		var ev event
		if ev, err = e.next(); err == nil {
			err = a.take(ev)
		}
		if a.finish != "" {
			w.limit = tail
		}
	}
	return m.ended(ctx, err, w, e, a, q)
}

// ended says how the answer ended, given the error that ended the reading.
func (m *Model) ended(ctx context.Context, err error, w *watch, e *events, a *answer, q quirks) *trouble {
	var off *brokenOff
	switch {
	case err == errGone:
		return &trouble{err: errGone}
	case err == errEnough:
		return m.finished(a, model.Length)
	case errors.As(err, &off):
		t := m.refused(opStream, refusal{body: off.body, sent: q, tools: m.info.Native})
		return t
	case errors.Is(err, errTooMuch):
		return &trouble{err: jackline.E(opStream, jackline.Unavailable, err,
			"The engine at %s does not stop: its answer is larger than Jackline reads. What came so far is kept.", m.address())}
	case errors.Is(err, errNoStream):
		return &trouble{err: m.unreadable(e, a, err)}
	case !a.heard && err == io.EOF && !e.done:
		return &trouble{err: m.strange(opStream, a.first)}
	}
	if filtered(a.finish) && !a.spoken && a.calls.began == 0 {
		return &trouble{err: jackline.E(opStream, jackline.Forbidden, errFiltered,
			"The content filter of %s withheld the answer. Ask in other words.", m.address())}
	}
	f, ok := reason(a.finish)
	if ok && (a.finish != "" || e.done || a.whole && err == io.EOF) {
		return m.finished(a, f)
	}
	return m.cut(ctx, err, w)
}

func (m *Model) finished(a *answer, f model.Finish) *trouble {
	if err := a.end(f); err != nil {
		return &trouble{err: err}
	}
	return nil
}

// cut is the trouble with an answer that ended before its end.
func (m *Model) cut(ctx context.Context, err error, w *watch) *trouble {
	if context.Cause(ctx) == errSilent {
		if !w.begun {
			return m.unreachable(opStream, errSilent)
		}
		return &trouble{err: jackline.E(opStream, jackline.Timeout, errStalled,
			"The engine at %s stopped in the middle of its answer and has said nothing for %s.", m.address(), w.idle)}
	}
	return &trouble{again: busy, err: jackline.E(opStream, jackline.Unavailable, m.blotted(err),
		"The connection to %s broke off in the middle of the answer. What came so far is kept.", m.address())}
}

// unreadable is the error for a body that is no answer: a page, or something else.
func (m *Model) unreadable(e *events, a *answer, cause error) error {
	begin := a.first
	if begin == nil {
		n := min(e.r.Buffered(), maxExcerpt)
		if peeked, err := e.r.Peek(n); err == nil {
			begin = append([]byte{}, peeked...)
		}
	}
	if a.heard {
		return jackline.E(opStream, jackline.Unavailable, m.blotted(cause),
			"The engine at %s sent something unreadable in the middle of its answer. What came so far is kept.", m.address())
	}
	return m.strange(opStream, begin)
}

// unnamed is the error for a request without a model's name.
func (m *Model) unnamed(ctx context.Context) error {
	names, err := m.List(ctx)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return jackline.E(opStream, jackline.NoModel, nil, "No model is named, and the engine at %s has none: fetch one first (with Ollama: \"ollama pull NAME\").", m.address())
	}
	return jackline.E(opStream, jackline.NoModel, nil, "No model is named: choose one with --model. The engine at %s offers %s.", m.address(), offer(names))
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
		shown = append(shown, n[:min(len(n), maxNameShown)])
	}
	s := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}
