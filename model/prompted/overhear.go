package prompted

import (
	"context"
	"iter"

	"github.com/jackline-ai/jackline/model"
)

// Overhear returns a model that has tool calls of its own, and whose text is read for calls all the same: engines miss calls
// that a model writes in another form than they expect, and would show them as an answer.
//
// Calls of the engine's own always come first: where there are any, what is written is not one more. heard is told, if it is
// not nil, of each answer with calls that had to be read from its text. In a request without tools nothing is read.
func Overhear(m model.Model, o Options, heard func(context.Context)) model.Model {
	return &overheard{wrap: wrap{inner: m, options: o}, heard: heard}
}

type overheard struct {
	wrap
	heard func(context.Context)
}

// Info is that of the inner model, calls included.
func (w *overheard) Info() model.Info { return w.inner.Info() }

// Size is that of the request as it is.
func (w *overheard) Size(r model.Request) int { return w.inner.Size(r) }

// Stream sends the request as it is, and reads the text of the answer.
func (w *overheard) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	if len(r.Tools) == 0 {
		return w.inner.Stream(ctx, r)
	}
	return func(yield func(model.Chunk, error) bool) {
		g := w.guard(r)
		defer g.Close()
		last, own := model.Chunk{}, false
		for c, err := range w.inner.Stream(ctx, r) {
			switch {
			case err != nil:
				yield(c, err)
				return
			case c.Text != "":
				if !pass(yield, g.Write([]byte(c.Text))) {
					return
				}
			case c.Opaque != "":
				last.Opaque = c.Opaque // it comes after the calls
			case c.Usage != nil || c.Finish != "":
				if c.Usage != nil {
					last.Usage = c.Usage
				}
				if c.Finish != "" {
					last.Finish = c.Finish
				}
			default:
				own = own || c.Call != nil || c.Garbled != ""
				if !yield(c, nil) {
					return
				}
			}
		}
		d, reading := g.Close()
		if own {
			reading.Calls, reading.Error = nil, ""
		}
		if len(reading.Calls) > 0 && w.heard != nil {
			w.heard(ctx)
		}
		if pass(yield, d) {
			finish(yield, reading, last)
		}
	}
}
