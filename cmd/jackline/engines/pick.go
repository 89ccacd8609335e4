package engines

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/engine"
)

// A pick is one model of one engine. Its card may hold nothing but the name.
type pick struct {
	source
	card model.Card

	kept  *keptCard // what was found out about it; nil is nothing
	stale bool      // about other weights than it has now
}

// ref names the model among all engines.
func (p pick) ref() string { return p.id + "/" + p.card.ID }

// pick finds the model that a reference names. It looks for engines only if the model is not known yet.
func (e *Engines) pick(ctx context.Context, ref string) (pick, error) {
	k, err := e.sight(ctx)
	if err != nil {
		return pick{}, err
	}
	p, err := e.choose(k, ref)
	if err != nil || ref == "" && !k.looked { // whether it is the only one is known at the end
		if p, err = e.search(ctx, ref); err != nil {
			return pick{}, err
		}
	}
	if p.origin == added && p.state == "" { // it alone is asked: others may take longer
		s := e.read(ctx, p.source)
		if ctx.Err() != nil {
			return pick{}, ctx.Err()
		}
		p = s.pick(p.card.ID, false)
	}
	switch {
	case p.origin == cloud && p.state == "":
		e.learn(ctx, p.source)
	case p.origin != cloud && p.origin != configured:
		e.freshen(ctx)
	}
	return p, nil
}

// search looks for a model that is not known. One that is named is taken as soon as it is seen.
func (e *Engines) search(ctx context.Context, ref string) (pick, error) {
	if ref != "" && !e.recent() {
		if err := e.lookHere(ctx); err != nil {
			return pick{}, err
		}
		k, err := e.sight(ctx)
		if err != nil {
			return pick{}, err
		}
		if p, err := e.choose(k, ref); err == nil {
			return p, nil
		}
	}
	if err := e.look(ctx, justNow); err != nil {
		return pick{}, err
	}
	k, err := e.sight(ctx)
	if err != nil {
		return pick{}, err
	}
	return e.choose(k, ref)
}

// recent reports a look that was only just done.
func (e *Engines) recent() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last != nil && time.Since(e.last.at) < justNow
}

// glance is pick without waiting for longer than a moment.
func (e *Engines) glance(ctx context.Context, ref string) (pick, error) {
	k, err := e.sight(ctx)
	if err != nil {
		return pick{}, err
	}
	p, err := e.choose(k, ref)
	if err == nil {
		if p.origin != configured && p.origin != cloud {
			e.freshen(ctx)
		}
		return p, nil
	}
	if k.looked {
		e.freshen(ctx)
		return p, err
	}
	limited, cancel := context.WithTimeout(ctx, moment)
	defer cancel()
	early := e.look(limited, fresh) != nil
	if k, err = e.sight(ctx); err != nil {
		return pick{}, err
	}
	if p, err = e.choose(k, ref); err != nil && early && ctx.Err() == nil {
		err = jackline.E("engines.Status", jackline.NoModel, nil, "Looking for engines on this machine.")
	}
	return p, err
}

// learn asks a service that a person chose for its models, behind whoever uses it.
func (e *Engines) learn(ctx context.Context, s source) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, asked := e.clouds[s.id]; asked {
		return
	}
	e.clouds[s.id] = s // one at a time
	e.later(ctx, func(ctx context.Context) {
		s := e.read(ctx, s)
		e.mu.Lock()
		defer e.mu.Unlock()
		if s.state == "" {
			delete(e.clouds, s.id)
			return
		}
		e.clouds[s.id] = s
	})
}

// choose finds a model among what is known, without asking anybody.
func (e *Engines) choose(k sight, ref string) (pick, error) {
	const op = "engines.choose"
	if ref == "" {
		return e.only(k)
	}
	if id, name, ok := strings.Cut(ref, "/"); ok && name != "" {
		if s, ok := k.by(id); ok {
			return s.pick(name, k.alone), nil
		}
	}
	if s, ok := k.by(configured); ok {
		return s.pick(ref, k.alone), nil
	}
	var names []string
	for _, s := range k.all {
		if s.origin == cloud {
			continue
		}
		for _, c := range s.cards {
			if same(s, c.ID, ref) {
				return s.with(c), nil
			}
			names = append(names, s.id+"/"+c.ID)
		}
	}
	shown := engine.Printable(ref, maxShown)
	if len(names) == 0 {
		return pick{}, jackline.E(op, jackline.NoModel, nil, "No engine that has the model %s is found. %s", shown, e.none(k))
	}
	return pick{}, jackline.E(op, jackline.NoModel, nil, "No engine has the model %s. There are %s. %s", shown, offer(names),
		"Choose one of them (jackline models use), or start the engine that has it.")
}

// pick is a model of s by its name. What the engine says of it is left alone where the owner named engine and model.
func (s source) pick(name string, alone bool) pick {
	c := model.Card{Engine: s.family, ID: name}
	at := slices.IndexFunc(s.cards, func(c model.Card) bool { return same(s, c.ID, name) })
	switch {
	case at < 0:
	case s.origin == configured && alone:
		c.Digest = s.cards[at].Digest // by which it is known again
	default:
		c = s.cards[at]
	}
	return s.with(c)
}

// same reports whether two names are of one model of s. Ollama takes a name without a tag for the one tagged latest.
func same(s source, a, b string) bool {
	return a == b || s.api == detect.APIOllama && full(a) == full(b)
}

// full is a name of Ollama's with its tag.
func full(name string) string {
	if !strings.Contains(name[strings.LastIndexByte(name, '/')+1:], ":") {
		name += ":latest"
	}
	return strings.ToLower(name)
}

// only is the one model that there is, where a person named none.
func (e *Engines) only(k sight) (pick, error) {
	const op = "engines.only"
	if s, ok := k.by(configured); ok {
		at := engine.Shown(s.base)
		switch {
		case s.state == "":
			return pick{}, jackline.E(op, jackline.NoModel, nil,
				"No model is named yet; the engine's only one is taken if it has just one. Name one with --model, JACKLINE_MODEL, or model.name in the configuration file.")
		case len(s.cards) == 1:
			return s.with(s.cards[0]), nil
		case len(s.cards) == 0:
			return pick{}, jackline.E(op, jackline.NoModel, nil,
				"No model is configured, and the engine at %s does not say which it has: %s Name a model: jackline --model NAME, JACKLINE_MODEL, or model.name in %s.", at, s.why, e.o.File)
		}
		var names []string
		for _, c := range s.cards {
			names = append(names, c.ID)
		}
		return pick{}, jackline.E(op, jackline.NoModel, nil,
			"The engine at %s has several models: %s. Name one: jackline models use NAME, --model NAME, JACKLINE_MODEL, or model.name in %s.", at, offer(names), e.o.File)
	}
	var all []pick
	var names []string
	for _, s := range k.all {
		if s.origin == cloud || s.state != detect.Ready && s.state != detect.Loading {
			continue
		}
		for _, c := range s.cards {
			p := s.with(c)
			all, names = append(all, p), append(names, p.ref())
		}
	}
	switch len(all) {
	case 0:
		return pick{}, jackline.E(op, jackline.NoModel, nil, "No model is there yet. %s", e.none(k))
	case 1:
		return all[0], nil
	}
	return pick{}, jackline.E(op, jackline.NoModel, nil,
		"There are several models: %s. Choose one: on the page, with jackline models use NAME, --model NAME, or model.name in %s.", offer(names), e.o.File)
}

// none says what to do where no model is to be had.
func (e *Engines) none(k sight) string {
	for _, s := range k.all {
		if s.origin != cloud && s.state != detect.Ready && s.why != "" {
			return s.why
		}
	}
	if _, ok := k.by(configured); k.alone && !ok && e.o.Alone {
		return "Looking for engines on this machine is off (model.detect). Name one: jackline models add ADDRESS, or model.baseUrl."
	}
	help := "Start an engine on this machine (ollama serve, llama-server, LM Studio), or name one elsewhere: jackline models add ADDRESS."
	for _, s := range k.all {
		if s.origin == cloud {
			return help + fmt.Sprintf(" The environment holds a key for %s: %s/NAME is a model there.", s.name, s.id)
		}
	}
	return help
}

// offer lists names for a sentence: not all of many, and nothing that does not print.
func offer(names []string) string {
	const most = 12
	var shown []string
	for _, n := range names[:min(len(names), most)] {
		shown = append(shown, engine.Printable(n, maxShown))
	}
	s := strings.Join(shown, ", ")
	if more := len(names) - len(shown); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// displayed is a reference for a sentence.
func displayed(ref string) string {
	if ref == "" {
		return "The model"
	}
	return engine.Printable(ref, maxShown)
}
