package engines

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/turn"
)

// A chain is the models of one stretch of a turn: the one that was asked for, and those that take its place when it fails
// before it says anything. What has taken a place keeps it to the end of the stretch.
type chain struct {
	e *Engines

	mu   sync.Mutex
	now  turn.Models
	rest []string // references
	had  []string // of those that had their turn
	said string   // why the last one took the place
}

// replaceable reports whether another model may do what this error says that one could not: the engine is not there, or not
// able to work. What is wrong with the request or the key stays wrong, and is to be seen.
func replaceable(err error) bool {
	switch jackline.KindOf(err) { //nolint:exhaustive // the others stay
	case jackline.Unavailable, jackline.Timeout, jackline.NoModel:
		return true
	}
	return false
}

// next puts the next model in its place. Where none is left the error is cause.
func (c *chain) next(ctx context.Context, failed string, cause error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.rest) > 0 {
		ref := c.rest[0]
		c.rest = c.rest[1:]
		m, p, err := c.e.ready(ctx, ref)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.e.o.Log.Warn("a fallback model cannot be used", "model", ref, "err", err)
			continue
		}
		if slices.Contains(c.had, p.ref()) {
			continue
		}
		c.had = append(c.had, p.ref())
		c.now = m
		c.said = fmt.Sprintf("%s failed: %s %s answers in its place.", failed, jackline.Say(cause), displayed(p.ref()))
		c.e.o.Log.Warn("a fallback model is used", "failed", failed, "model", ref, "err", cause)
		return nil
	}
	return cause
}

func (c *chain) main() model.Model { return &stand{c: c} }
func (c *chain) raw() model.Model  { return &stand{c: c, raw: true} }

// A stand is the place of a model: whichever has it just now.
type stand struct {
	c   *chain
	raw bool
}

func (s *stand) now() model.Model {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.raw {
		return s.c.now.Raw
	}
	return s.c.now.Main
}

// Info implements model.Model: what the model is that has the place.
func (s *stand) Info() model.Info { return s.now().Info() }

// Size implements model.Model.
func (s *stand) Size(r model.Request) int { return s.now().Size(r) }

// Stream implements model.Model. Once another model has the place, the error is [model.Instead]: the request was written for the
// first, whose window and way of calling tools may be others.
func (s *stand) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		m, began := s.now(), false
		for c, err := range m.Stream(ctx, r) {
			if err != nil && !began && !s.raw && ctx.Err() == nil && replaceable(err) && jackline.KindOf(err) != jackline.NoModel {
				if err = s.c.next(ctx, displayed(m.Info().Name), err); err == nil {
					err = &model.Instead{Say: s.c.said}
				}
			}
			began = began || err == nil && (c.Text != "" || c.Thought != "" || c.Preview.Name != "" || c.Call != nil)
			if !yield(c, err) || err != nil {
				return
			}
		}
	}
}
