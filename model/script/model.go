package script

import (
	"context"
	"errors"
	"iter"
	"net/http"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
)

// Options say what a scripted model claims to be.
type Options struct {
	Native bool // play calls as calls; otherwise write them into the text
	Window int  // context size in tokens; 0 is model.DefaultWindow
	Vision bool // claim to read images

	Knob model.Knob // claim that it can be held to a form; whether the script keeps to it is its own affair
}

// Model plays a [Script]. It is safe for use by several goroutines at once: each request takes the next answer.
type Model struct {
	script *Script
	info   model.Info
}

// New makes a model that plays s.
func New(s *Script, o Options) *Model {
	if o.Window == 0 {
		o.Window = model.DefaultWindow
	}
	return &Model{script: s, info: model.Info{Name: "script:" + s.name, Window: o.Window, Native: o.Native, Vision: o.Vision, Knob: o.Knob}}
}

// Info gives the name "script:NAME" and what the options said.
func (m *Model) Info() model.Info { return m.info }

// Size is the number of characters in system blocks, messages and tools.
func (m *Model) Size(r model.Request) int {
	n := 0
	for _, block := range r.System {
		n += contract.Weight(block)
	}
	for _, msg := range r.Messages {
		n += contract.Weight(msg.Text) + contract.Weight(msg.Name) + len(msg.Images)*model.ImageSize
		for _, c := range msg.Calls {
			n += contract.Weight(c.Name) + contract.Weight(c.Args)
		}
	}
	for _, t := range r.Tools {
		n += contract.Weight(t.Name) + contract.Weight(t.Summary) + contract.Weight(t.Use)
		n += contract.Weight(t.Schema)
	}
	return n
}

// Stream plays the next answer. Failures that the script orders have the kind that their status has over HTTP;
// a script that has run out, or a check that fails, is invalid.
func (m *Model) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(model.Chunk{}, err)
			return
		}
		a, err := m.script.Next(r)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		if r.Constraint != nil {
			a = a.Held()
		}
		s := stage{yield: yield}
		for step := range a.Steps(m.info.Native) {
			if !s.play(ctx, step) {
				return
			}
		}
	}
}

// A stage is one answer being played.
type stage struct {
	yield   func(model.Chunk, error) bool
	calls   int
	garbled bool
	usage   *model.Usage
}

// play does one step and reports whether the answer goes on.
func (s *stage) play(ctx context.Context, step Step) bool {
	if err := ctx.Err(); err != nil {
		return s.fail(err)
	}
	switch {
	case step.Text != "":
		return s.yield(model.Chunk{Text: step.Text}, nil)
	case step.Thought != "":
		return s.yield(model.Chunk{Thought: step.Thought}, nil)
	case step.Call != nil:
		s.calls++
		return s.preview(step.Call.Name, string(step.Call.Args)) && s.yield(model.Chunk{Call: step.Call}, nil)
	case step.Garbled != nil:
		s.garbled = true
		return s.preview(step.Garbled.Name, step.Garbled.Args)
	case step.Usage != nil:
		s.usage = step.Usage
		return true
	case step.Fail != nil:
		return s.fail(jackline.E("script.Stream", kind(step.Fail.Status), nil, "The script answers with status %d: %s.",
			step.Fail.Status, step.Fail.Text))
	case step.Cut:
		return s.fail(jackline.E("script.Stream", jackline.Unavailable, errCut, "The script broke off in the middle of its answer."))
	case step.Wait:
		<-ctx.Done()
		return s.fail(ctx.Err())
	}
	return s.end(step.Finish)
}

// preview plays how a call is written: its name, and then its arguments.
func (s *stage) preview(name, args string) bool {
	return s.yield(model.Chunk{Preview: model.Preview{Name: name}}, nil) &&
		(args == "" || s.yield(model.Chunk{Preview: model.Preview{Name: name, Args: args}}, nil))
}

var errCut = errors.New("cut by the script")

func (s *stage) fail(err error) bool {
	s.yield(model.Chunk{}, err)
	return false
}

func (s *stage) end(f model.Finish) bool {
	if s.garbled && s.calls == 0 && !s.yield(model.Chunk{Garbled: model.Unreadable}, nil) {
		return false
	}
	return s.yield(model.Chunk{Usage: s.usage, Finish: f}, nil)
}

// kind is the kind of error that a status means.
func kind(status int) jackline.Kind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return jackline.Forbidden
	case http.StatusNotFound:
		return jackline.NotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return jackline.Timeout
	case http.StatusConflict:
		return jackline.Conflict
	case http.StatusGone:
		return jackline.Gone
	case http.StatusUnprocessableEntity:
		return jackline.Unprocessed
	case http.StatusTooManyRequests:
		return jackline.Unavailable
	}
	if status >= http.StatusInternalServerError {
		return jackline.Unavailable
	}
	return jackline.Invalid
}
