// Package envelope makes a model that can be held to a form speak tool calls.
//
// A step is one JSON object that the engine does not let the model get wrong: a tool with its arguments, or the word that
// it is done. The answer itself is then written in a second generation, without a form, so that it reads like prose and
// streams; so is the body of a file, which small models spoil inside a JSON string. [Wrap] is the whole of it for the rest
// of the program.
//
// What comes back is read as if nobody had held the model to anything: engines skip what they do not know. Words where an
// object should stand are the answer, and calls in any other way of writing are read by package dialect.
package envelope

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint"
	"github.com/jackline-ai/jackline/model/dialect"
	"github.com/jackline-ai/jackline/model/taught"
)

// Options say how to write and how to read. The zero value is right for most models.
type Options struct {
	// Dialect is for answers that have not the form.
	Dialect dialect.Options

	// Brief describes tools in few words, for a window of 4k tokens.
	Brief bool

	// Room and Names bound the description of the tools, and in it the names of those that are not offered, in characters; see
	// taught.Manual.
	Room, Names int
}

// Wrap returns a model that makes tool calls, given one whose Info names a knob.
//
// One request may take two generations, whose usage is summed. The prefix stays: what is said between the two is written the
// same way into every later request. In a request without tools nothing is a call and there is one generation. A refusal of
// the form is the error that the inner model gives for it.
func Wrap(m model.Model, o Options) model.Model {
	return &wrap{inner: m, options: o, form: constraint.Envelope(), writer: taught.Writer{
		Manual: taught.Manual{Teaching: teaching, Brief: teachingBrief, Short: o.Brief, Room: o.Room, Names: o.Names},
		Said:   said,
	}}
}

type wrap struct {
	inner   model.Model
	options Options
	form    constraint.Form
	writer  taught.Writer

	// What was made of the last tools serves the next request with the very same ones: those of a turn.
	mu       sync.Mutex
	callable []model.Tool
	held     *model.Constraint
	known    []model.Tool
	catalogs *dialect.Catalog
}

// Info is that of the inner model, whose calls come as JSON that it is held to.
func (w *wrap) Info() model.Info {
	i := w.inner.Info()
	i.Native, i.Envelope = false, true
	return i
}

// Size is that of the request as it is written out for the inner model.
func (w *wrap) Size(r model.Request) int { return w.inner.Size(w.writer.Write(r)) }

// Stream sends the request, and reads the step that comes back.
func (w *wrap) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		g := &generation{w: w, r: r, yield: yield}
		req := w.writer.Write(r)
		switch {
		case len(r.Tools) == 0:
			g.answer(ctx, req, true)
		case r.NoCalls: // it may only say that it is done, so nobody asks
			g.answer(ctx, after(req, doneSaid()...), false)
		default:
			g.step(ctx, req)
		}
	}
}

// constraint is the form of a step that may call these tools.
func (w *wrap) constraint(tools []model.Tool) (*model.Constraint, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.held != nil && slices.EqualFunc(w.callable, tools, func(a, b model.Tool) bool {
		return a.Name == b.Name && a.Body == b.Body && bytes.Equal(a.Schema, b.Schema)
	}) {
		return w.held, nil
	}
	c, err := w.form.Compile(tools, w.inner.Info().Knob)
	if err != nil {
		return nil, err
	}
	w.callable, w.held = tools, c
	return c, nil
}

// catalog knows the tools that may be called.
func (w *wrap) catalog(r model.Request) *dialect.Catalog {
	known := r.Known
	if len(known) == 0 {
		known = r.Tools
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.catalogs == nil || !same(w.known, known) {
		w.known, w.catalogs = known, dialect.NewCatalog(known)
	}
	return w.catalogs
}

func same(a, b []model.Tool) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// after is a request with more messages, of which none follows one of the same role.
func after(r model.Request, more ...model.Message) model.Request {
	messages := r.Messages[:len(r.Messages):len(r.Messages)]
	for _, m := range more {
		if n := len(messages); n > 0 && messages[n-1].Role == m.Role {
			last := messages[n-1]
			last.Text = strings.TrimPrefix(last.Text+"\n\n"+m.Text, "\n\n")
			messages = append(messages[:n-1:n-1], last)
			continue
		}
		messages = append(messages, m)
	}
	r.Messages = messages
	return r
}
