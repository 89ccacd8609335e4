package engines

import (
	"context"
	"slices"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/ollama"
)

const (
	// maxPulls bounds the models that are fetched at the same time: they share one line to the network.
	maxPulls = 4
	// maxEnded bounds those that are listed after their end, and endedFor how long: a page that was closed finds out what became
	// of them.
	maxEnded = 32
	endedFor = 10 * time.Minute
)

// A pull is a model that is fetched for the server: it goes on whoever watches, and ends with the server.
type pull struct {
	model.Pull
	key    string // of engine and model
	cancel context.CancelFunc
	ended  time.Time
}

// Pulls lists the models that are being fetched, and those that were a short while ago, the oldest first.
func (e *Engines) Pulls() []model.Pull {
	e.mu.Lock()
	defer e.mu.Unlock()
	over := 0
	for _, p := range e.pulls {
		if p.Over() {
			over++
		}
	}
	e.pulls = slices.DeleteFunc(e.pulls, func(p *pull) bool {
		if !p.Over() || over <= maxEnded && time.Since(p.ended) < endedFor {
			return false
		}
		over--
		return true
	})
	all := make([]model.Pull, 0, len(e.pulls))
	for _, p := range e.pulls {
		all = append(all, p.Pull)
	}
	return all
}

// Fetch has an engine fetch a model. A model that is being fetched already is not fetched twice: its pull is given.
func (e *Engines) Fetch(ctx context.Context, id, name string) (model.Pull, error) {
	const op = "engines.Fetch"
	m, s, err := e.ollama(ctx, op, id)
	if err != nil {
		return model.Pull{}, err
	}
	if name == "" || engine.Printable(name, maxShown) != name {
		return model.Pull{}, jackline.E(op, jackline.Unprocessed, nil, "Name the model that is to be fetched, as in qwen3:4b.")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	key, running := s.base+" "+full(name), 0
	for _, p := range e.pulls {
		switch {
		case p.Over():
		case p.key == key:
			return p.Pull, nil
		default:
			running++
		}
	}
	if running >= maxPulls {
		return model.Pull{}, jackline.E(op, jackline.Conflict, nil, "%d models are being fetched already: wait for one of them, or cancel one.", running)
	}
	p := &pull{Pull: model.Pull{ID: jackline.NewID[string]("p_"), Engine: s.id, Model: name, Status: "waiting"}, key: key}
	cancel, ok := e.later(ctx, func(ctx context.Context) { e.fetch(ctx, m, p) })
	if !ok {
		return model.Pull{}, jackline.E(op, jackline.Unavailable, nil, "Jackline is shutting down.")
	}
	p.cancel = cancel
	e.pulls = append(e.pulls, p)
	return p.Pull, nil
}

// fetch follows a model being fetched to the end.
func (e *Engines) fetch(ctx context.Context, m *ollama.Model, p *pull) {
	var failed error
	for step, err := range m.Pull(ctx, p.Model) {
		if err != nil {
			failed = err
			break
		}
		if step.Status == model.PullDone {
			continue // said below, once it is certain
		}
		e.mu.Lock()
		p.Status, p.Done, p.Total = step.Status, step.Done, step.Total
		e.mu.Unlock()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	p.ended = time.Now()
	switch {
	case failed == nil:
		p.Status, p.Done = model.PullDone, p.Total
		e.stale()
	case ctx.Err() != nil:
		p.Status = model.PullCancelled
	default:
		p.Status, p.Error = model.PullFailed, jackline.Say(failed)
		e.o.Log.Warn("a model was not fetched", "model", p.Model, "err", failed)
	}
}

// Cancel stops the fetching of a model, or takes one that has ended off the list. What has arrived is kept by the engine.
func (e *Engines) Cancel(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := slices.IndexFunc(e.pulls, func(p *pull) bool { return p.ID == id })
	if at < 0 {
		return jackline.E("engines.Cancel", jackline.NotFound, nil, "No model is being fetched under %s.", engine.Printable(id, maxShown))
	}
	if p := e.pulls[at]; !p.Over() {
		p.cancel()
		return nil
	}
	e.pulls = slices.Delete(e.pulls, at, at+1)
	return nil
}

// Delete has the engine of a model delete it.
func (e *Engines) Delete(ctx context.Context, ref string) error {
	const op = "engines.Delete"
	if ref == "" {
		return jackline.E(op, jackline.Unprocessed, nil, "Name the model that is to be deleted.")
	}
	p, err := e.pick(ctx, ref)
	if err != nil {
		return err
	}
	m, _, err := e.ollama(ctx, op, p.id)
	if err != nil {
		return err
	}
	if err := m.Delete(ctx, p.card.ID); err != nil {
		if jackline.KindOf(err) == jackline.NoModel {
			err = jackline.E(op, jackline.NotFound, err, "%s", jackline.Say(err))
		}
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stale()
	return nil
}

// stale makes the next list a new one. The caller holds e.mu.
func (e *Engines) stale() {
	if e.last != nil {
		l := *e.last
		l.at = time.Time{}
		e.last = &l
	}
}

// ollama is a client for an engine that fetches and deletes models: only Ollama does. With "" it is the only one there is.
func (e *Engines) ollama(ctx context.Context, op, id string) (*ollama.Model, source, error) {
	k, err := e.sight(ctx)
	if err != nil {
		return nil, source{}, err
	}
	if _, ok := k.by(id); !ok {
		if err := e.look(ctx, justNow); err != nil {
			return nil, source{}, err
		}
		if k, err = e.sight(ctx); err != nil {
			return nil, source{}, err
		}
	}
	var all []source
	for _, s := range k.all {
		if s.id == id || id == "" && s.family == detect.Ollama {
			all = append(all, s)
		}
	}
	switch {
	case len(all) == 0 && id == "":
		return nil, source{}, jackline.E(op, jackline.Unprocessed, nil, "No Ollama is found on this machine. Start it with: ollama serve")
	case len(all) == 0:
		return nil, source{}, jackline.E(op, jackline.NotFound, nil, "There is no engine %s.", engine.Printable(id, maxShown))
	case len(all) > 1:
		return nil, source{}, jackline.E(op, jackline.Unprocessed, nil, "There are several: name the engine, as in %s.", all[0].id)
	case all[0].family != detect.Ollama:
		return nil, source{}, jackline.E(op, jackline.Unprocessed, nil,
			"Models of %s cannot be fetched or deleted from here; only Ollama's can. Its own program does that.", all[0].id)
	}
	s := all[0]
	m, err := ollama.New(ollama.Options{BaseURL: s.base, Key: s.key})
	return m, s, err
}
