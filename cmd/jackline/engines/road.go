package engines

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/probe"
)

// settle is how long nobody may have asked anything before a probe that somebody asked for goes on: within it a turn mostly has
// made its next request, for which the engine still has the beginning.
const settle = 5 * time.Second

// A road is shared by turns and probes, and probes give way: a small machine does one thing at a time. The zero value is free.
type road struct {
	mu     sync.Mutex
	active int           // requests of turns under way
	last   time.Time     // when the last one ended
	freed  chan struct{} // closed when active comes to 0; nil where nobody waits
	off    context.CancelCauseFunc
	lent   int // how often it was lent
}

// enter takes the road for a turn. leave gives it back.
func (r *road) enter() (leave func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.active++
	if r.off != nil {
		r.off(probe.ErrGaveWay)
		r.off = nil
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.active--
		r.last = time.Now()
		if r.active == 0 && r.freed != nil {
			close(r.freed)
			r.freed = nil
		}
	}
}

// wait waits until no turn has asked anything for so long.
func (r *road) wait(ctx context.Context, quiet time.Duration) error {
	for {
		r.mu.Lock()
		rest := time.Until(r.last.Add(quiet))
		var freed chan struct{}
		if r.active > 0 {
			if r.freed == nil {
				r.freed = make(chan struct{})
			}
			freed, rest = r.freed, quiet
		}
		r.mu.Unlock()
		if freed == nil && rest <= 0 {
			return ctx.Err()
		}
		var clock <-chan time.Time
		if freed == nil {
			clock = time.After(rest)
		}
		select {
		case <-freed:
		case <-clock:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lend gives the road to a probe, for one request, once it was quiet for so long: the context ends when a turn wants it.
func (r *road) lend(ctx context.Context, quiet time.Duration) (context.Context, func(), error) {
	for {
		if err := r.wait(ctx, quiet); err != nil {
			return nil, nil, err
		}
		r.mu.Lock()
		if r.active > 0 {
			r.mu.Unlock()
			continue
		}
		lent, off := context.WithCancelCause(ctx)
		r.off = off
		r.lent++
		which := r.lent
		r.mu.Unlock()
		return lent, func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			if r.lent == which { // else another probe has it: this one was told to end
				r.off = nil
			}
			off(nil)
		}, nil
	}
}

// inUse is a model as turns have it: with the budgets of its card, and the road before it.
type inUse struct {
	model.Model
	e  *Engines
	pl plan
}

// Info implements model.Model.
func (u *inUse) Info() model.Info {
	i := u.Model.Info()
	i.Steps, i.Offer = u.pl.steps, u.pl.offer
	return i
}

// Stream implements model.Model.
func (u *inUse) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		defer u.e.road.enter()()
		u.Model.Stream(ctx, r)(yield)
	}
}
