package prompted

import (
	"context"
	"strings"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/taught"
)

// form is how calls are written here, without the fence around them.
func form() constraint.Form { return constraint.Form{Tool: "name", Args: "args"} }

// again asks for the call that could not be read, in a form that leaves nothing to get wrong. It reports whether that was the
// answer. Where it was not, because the model would rather say something, or because the engine does not know the form, the
// request is to be made as all others are; usage is what this attempt took.
func (w *wrap) again(ctx context.Context, r, req model.Request, yield func(model.Chunk, error) bool) (usage *model.Usage, over bool) {
	tools := taught.Callable(r, req)
	held, err := form().Compile(tools, w.inner.Info().Knob)
	if err != nil {
		return nil, false // too many tools for a form
	}
	req.Constraint = held
	var text strings.Builder
	last := model.Chunk{}
	said := false
	for c, err := range w.inner.Stream(ctx, req) {
		switch {
		case err != nil && engine.NoForm(err) && !said:
			w.loose.Store(true)
			return nil, false
		case err != nil:
			yield(c, err)
			return nil, true
		case c.Text != "":
			text.WriteString(c.Text)
		case c.Usage != nil || c.Finish != "":
			if c.Usage != nil {
				last.Usage = c.Usage
			}
			if c.Finish != "" {
				last.Finish = c.Finish
			}
		case c.Opaque != "":
			last.Opaque = c.Opaque
		default:
			said = true
			if !yield(c, nil) {
				return nil, true
			}
		}
	}
	step, ok := form().Read(text.String(), tools)
	if ok && step.Final {
		return last.Usage, false
	}
	g := w.guard(r)
	defer g.Close()
	if !ok { // nobody held it to the form
		if !pass(yield, g.Write([]byte(text.String()))) {
			return nil, true
		}
		d, reading := g.Close()
		if pass(yield, d) {
			finish(yield, reading, last)
		}
		return nil, true
	}
	_, reading := g.Close()
	raw, err := args.Canonical(step.Args)
	if err != nil { // cannot be: it was read
		raw = nil
	}
	reading.Calls = []model.Call{{Name: step.Name, Args: raw, Cut: step.Cut || last.Finish == model.Length}}
	if yield(model.Chunk{Preview: model.Preview{Name: step.Name}}, nil) {
		finish(yield, reading, last)
	}
	return nil, true
}
