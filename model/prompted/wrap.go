// Package prompted makes a model that knows no tool calls speak them.
//
// [Wrap] is the whole of it for the rest of the program: it writes the tools and past
// calls into the prompt as text, and has package dialect turn the text that comes back into visible
// text, thoughts and calls. Nobody else has to know which models need that.
package prompted

import (
	"context"
	"iter"
	"sync"
	"sync/atomic"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/dialect"
	"github.com/jackline-ai/jackline/model/taught"
)

// Options say how to read and how to write. The zero value is right for most models.
type Options struct {
	dialect.Options

	// Brief describes tools in few words, for a window of 4k tokens.
	Brief bool

	// Room bounds the description of the tools, in characters; 0 means 1,300 when it is
	// brief and 2,300 when it is not. Names of tools that are not offered stand there as
	// long as there is room. If the tools themselves do not fit, they are described in
	// fewer words, but none is left out.
	Room int

	// Names bounds what of Room those names take, in characters; 0 means all that is left.
	Names int
}

// Wrap returns a model that makes tool calls, given one that only writes text.
//
// Text is let through a [dialect.Guard] while it arrives, thoughts as thoughts and the name of a
// call that is being written as a preview. The calls come at the end of the answer, when
// it is certain that they are none of a thought's, without IDs; or else the reason why an
// attempt at one could not be read.
//
// A retry, after a call that could not be read, is held to a form where the engine can: see [wrap.again].
//
// In a request without tools nothing is a call, and text is told from thoughts only.
func Wrap(m model.Model, o Options) model.Model { return wrapped(m, o) }

func wrapped(m model.Model, o Options) *wrap {
	return &wrap{inner: m, options: o, writer: taught.Writer{Manual: o.manual(), Said: said}}
}

type wrap struct {
	inner   model.Model
	options Options
	writer  taught.Writer
	loose   atomic.Bool // the engine was found not to hold it to a form

	// The catalog of the last request serves the next one with the very same tools: the requests of a turn.
	mu      sync.Mutex
	known   []model.Tool
	catalog *dialect.Catalog
}

// Info is that of the inner model, which has no calls of its own.
func (w *wrap) Info() model.Info {
	i := w.inner.Info()
	i.Native = false
	return i
}

// Size is that of the request as it is written out for the inner model.
func (w *wrap) Size(r model.Request) int { return w.inner.Size(w.writer.Write(r)) }

// Stream sends the request as text and reads the answer.
func (w *wrap) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		g := w.guard(r)
		defer g.Close()
		last := model.Chunk{} // how the answer ended
		req := w.writer.Write(r)
		var before *model.Usage // of an attempt that was no answer
		if r.Retry && !r.NoCalls && len(r.Tools) > 0 && w.inner.Info().Knob != model.NoKnob && !w.loose.Load() {
			usage, over := w.again(ctx, r, req, yield)
			if over {
				return
			}
			before = usage
		}
		for c, err := range w.inner.Stream(ctx, req) {
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
					last.Usage = before.Plus(c.Usage)
				}
				if c.Finish != "" {
					last.Finish = c.Finish
				}
			default: // the engine told a thought, or even a call, from the text by itself
				if !yield(c, nil) {
					return
				}
			}
		}
		d, reading := g.Close()
		if pass(yield, d) {
			finish(yield, reading, last)
		}
	}
}

// guard returns the guard over the answer to r.
func (w *wrap) guard(r model.Request) *dialect.Guard {
	o := w.options
	if o.Plain = o.Plain || len(r.Tools) == 0; o.Plain {
		return dialect.NewGuard(dialect.NewCatalog(nil), o.Options)
	}
	known := r.Known
	if len(known) == 0 {
		known = r.Tools
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.catalog == nil || len(w.known) != len(known) || &w.known[0] != &known[0] {
		w.known, w.catalog = known, dialect.NewCatalog(known)
	}
	return dialect.NewGuard(w.catalog, o.Options)
}

// pass yields what a guard let through, and reports whether more is wanted.
func pass(yield func(model.Chunk, error) bool, d dialect.Delta) bool {
	for _, c := range []model.Chunk{{Thought: d.Thought}, {Text: d.Visible}, {Preview: d.Preview}} {
		if c != (model.Chunk{}) && !yield(c, nil) {
			return false
		}
	}
	return true
}

// finish yields the calls of an answer, or why there are none, and how it ended.
func finish(yield func(model.Chunk, error) bool, r dialect.Reading, last model.Chunk) {
	for i := range r.Calls {
		if !yield(model.Chunk{Call: &r.Calls[i]}, nil) {
			return
		}
	}
	if r.Error != "" && !yield(model.Chunk{Garbled: r.Error, Asked: r.Asked}, nil) {
		return
	}
	if last.Opaque != "" && !yield(model.Chunk{Opaque: last.Opaque}, nil) {
		return
	}
	last.Opaque = ""
	if len(r.Calls) > 0 && last.Finish == model.Stop {
		last.Finish = model.Calls
	}
	if last != (model.Chunk{}) {
		yield(last, nil)
	}
}
