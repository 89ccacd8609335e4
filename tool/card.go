package tool

import (
	"context"
	"strings"

	"github.com/jackline-ai/jackline"
)

// card is what the question shows besides the intent. Nothing is opened for it that could not be read unasked: a
// question must not tell what only its answer may.
func (g *Gate) card(ctx context.Context, p *passage) (card Card, err error) {
	look := p.i
	look.Effect, look.Touches = jackline.Read, nil
	for _, t := range p.i.Touches {
		if t.Kind == kindPath {
			t.Effect = jackline.Read
			look.Touches = append(look.Touches, t)
		}
	}
	err = safely(func() (err error) {
		switch {
		case p.t.facts.Asks:
			card.Questions, err = p.b.ask()
		case p.b.preview != nil && g.Judge.Judge(look).Verdict == jackline.Allow:
			card.View, err = p.b.preview(ctx, p.in)
		}
		return err
	})
	if err == nil && g.Keeper != nil && !p.t.facts.Asks {
		card.Undo, err = g.Keeper.Cover(ctx, p.i)
	}
	return card, err
}

// kindPath is the kind of touches that name files and folders.
const kindPath = "path"

// follows reports whether an earlier call of the turn that has not ended would touch what this one touches.
func (g *Gate) follows(p *passage) bool {
	for _, q := range p.r.Prior {
		if q.State == jackline.CallEnded {
			continue
		}
		earlier, err := g.Intent(p.r.Who, q)
		if err != nil {
			continue
		}
		for _, a := range earlier.Touches {
			for _, b := range p.i.Touches {
				if a.Kind == kindPath && b.Kind == kindPath && (a.Name == b.Name || strings.HasPrefix(a.Name, b.Name+"/") || strings.HasPrefix(b.Name, a.Name+"/")) {
					return true
				}
			}
		}
	}
	return false
}
