package probe

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint"
	"github.com/jackline-ai/jackline/model/engine"
)

// form finds out whether the engine holds the model to a form: it is asked for plain words, under a form that has no place for any.
func (p *prober) form(ctx context.Context, best *Way) error {
	raw := model.Model(nil)
	for _, w := range p.o.Ways {
		if w.Raw != nil {
			raw = w.Raw
		}
	}
	if raw == nil {
		return nil
	}
	g := model.Grade{Check: schema, Title: "the engine holds it to a form", Verdict: model.Fail}
	p.tell(g.Title)
	began, tokens := time.Now(), p.v.Tokens
	knob := raw.Info().Knob
	c, err := constraint.Envelope().Compile([]model.Tool{weather()}, knob)
	if err != nil {
		return err
	}
	r := sends(nil, says("Say hello to Ada, in plain words."))
	r.Constraint = c
	p.v.Holds = model.No
	got, err := (&asker{p: p, way: Way{Model: raw}}).ask(ctx, r)
	var object map[string]any
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case engine.NoForm(err):
		g.Why = "The engine refuses to."
	case err != nil:
		p.v.Holds, g.Why = model.Unknown, jackline.Say(err)
	case json.Unmarshal([]byte(got.text), &object) != nil || len(object) == 0:
		g.Why = "It said what it liked: the engine skips the form."
	default:
		p.v.Holds = model.Yes
		g.Verdict, g.Share, g.Why = model.Pass, 1, "It could only answer in the form."
		p.v.Constraints = []string{"json_schema"}
		if knob == model.KnobGrammar {
			p.v.Constraints = []string{"grammar"}
		}
	}
	g.Tokens, g.Millis = p.v.Tokens-tokens, time.Since(began).Milliseconds()
	for i := range p.v.Ways {
		if p.v.Ways[i].Mode == best.Mode {
			p.v.Ways[i].Grades = append(p.v.Ways[i].Grades, g)
		}
	}
	return nil
}
