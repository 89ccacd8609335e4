package engines

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/engine"
)

// Catalogue is what there is to choose from. It is at most half a minute old; again makes it new.
func (e *Engines) Catalogue(ctx context.Context, again bool) (model.Catalogue, error) {
	old := fresh
	if again {
		old = 0
	}
	if err := e.look(ctx, old); err != nil {
		return model.Catalogue{}, err
	}
	k, err := e.sight(ctx)
	if err != nil {
		return model.Catalogue{}, err
	}
	own, err := e.chosen(ctx)
	if err != nil {
		return model.Catalogue{}, err
	}
	c := model.Catalogue{Default: own, Engines: []model.Engine{}, Pulls: e.Pulls(), Probes: e.Probes()}
	if own != "" && !strings.HasPrefix(own, scriptPrefix) {
		if p, err := e.choose(k, own); err == nil {
			c.Default = p.ref()
		}
	}
	for _, s := range k.all {
		c.Engines = append(c.Engines, e.shown(s, k.alone))
	}
	return c, nil
}

// shown is an engine as people see it.
func (e *Engines) shown(s source, alone bool) model.Engine {
	v := model.Engine{
		ID: s.id, Name: s.name, Engine: s.family, API: string(cmp.Or(s.api, detect.APIOpenAI)), BaseURL: engine.Shown(s.base), Version: s.version,
		State: cmp.Or(string(s.state), "unknown"), Why: s.why, KeyEnv: s.keyEnv, Origin: s.origin, Models: []model.Item{},
	}
	for _, c := range s.cards {
		p := s.pick(c.ID, alone)
		pl := e.plan(p)
		it := item(p, pl, e.each(p))
		if s.origin == cloud || isCloud(s.base) {
			it.Remote = model.Yes
		}
		e.mu.Lock()
		m, ok := e.made[p.mark()]
		e.mu.Unlock()
		if ok { // it may have turned out otherwise, and has its window
			info := m.Main.Info()
			it.Mode, it.Window, it.WindowAssumed = info.Mode(), info.Window, info.Assumed
		}
		v.Models = append(v.Models, it)
	}
	return v
}

// item is a model as people see it, with who says what of it.
func item(p pick, pl plan, each Each) model.Item {
	c := p.card
	it := model.Item{
		Ref: p.ref(), ID: c.ID, Mode: pl.mode, Window: pl.window, WindowAssumed: pl.assumed, Trained: c.Trained,
		Tools: c.Tools, Thinking: c.Thinking, Vision: c.Vision, Loaded: c.Loaded, Remote: c.Remote, Bytes: c.Bytes, Digest: c.Digest,
		Constraints: slices.Clone(c.Constraints), ToolBudget: pl.offer, StepBudget: pl.steps, Reads: c.Reads, Writes: c.Writes, Source: map[string]string{},
	}
	if it.Constraints == nil {
		it.Constraints = []string{}
	}
	maps.Copy(it.Source, c.Source)
	if delete(it.Source, "mode"); pl.by != "" {
		it.Source["mode"] = pl.by
	}
	if each.Tools > 0 {
		it.Source["tool_budget"] = byOwner
	}
	if each.Steps > 0 {
		it.Source["step_budget"] = byOwner
	}
	switch {
	case pl.asked > 0 && pl.window <= pl.asked:
		it.Source["window"] = byOwner
	case c.Usable > 0 && pl.window == c.Usable:
		it.Source["window"] = byEngine
	}
	if p.kept != nil {
		it.Stale = p.stale
		it.Probed = p.kept.Verdict
		if !p.stale {
			it.Written = p.kept.Written
		}
	}
	return it
}

// Try looks at an address that nobody has added, or, with an id, at an engine that is known. What is the matter with it is its
// state and why; an error is only what is no address at all, and an id that is none.
func (e *Engines) Try(ctx context.Context, id string, a model.Address) (model.Engine, error) {
	const op = "engines.Try"
	if id == "" {
		s, _, err := e.tried(ctx, a)
		return e.shown(s, false), err
	}
	k, err := e.sight(ctx)
	if err != nil {
		return model.Engine{}, err
	}
	s, ok := k.by(id)
	if !ok {
		return model.Engine{}, jackline.E(op, jackline.NotFound, nil, "There is no engine %s.", engine.Printable(id, maxShown))
	}
	if s.keyEnv != "" && s.key == "" && s.origin == configured {
		s.state, s.why = detect.NeedsKey, "The environment variable "+engine.Printable(s.keyEnv, maxShown)+", which should hold the engine's key, is not set."
		return e.shown(s, k.alone), nil
	}
	s = e.read(ctx, s)
	if ctx.Err() != nil {
		return model.Engine{}, ctx.Err()
	}
	if s.origin == cloud {
		e.mu.Lock()
		e.clouds[s.id] = s
		e.mu.Unlock()
	}
	return e.shown(s, k.alone), nil
}

// tried asks at an address. known reports that an engine is there, whatever its state.
func (e *Engines) tried(ctx context.Context, a model.Address) (s source, known bool, err error) {
	s = source{
		name: clean(a.Name), api: detect.API(a.API), base: strings.TrimSpace(a.BaseURL), key: engine.Key(strings.TrimSpace(a.Key)), origin: added,
	}
	f, err := detect.Read(ctx, s.base, string(s.key))
	if ctx.Err() != nil {
		return s, false, ctx.Err()
	}
	if err != nil && jackline.KindOf(err) == jackline.Invalid {
		return s, false, err
	}
	if known = f.Engine != ""; known {
		s.family, s.version, s.state, s.why, s.cards = f.Engine, f.Version, f.State, f.Why, f.Cards
		if s.api == "" || s.api == f.API {
			s.api, s.base = f.API, f.BaseURL
		}
		return s, true, nil
	}
	if err != nil {
		s.state, s.why = stateOf(err), jackline.Say(err)
	}
	return s, false, nil
}

// clean is a name that a person gave, on one line.
func clean(name string) string {
	const most = 80 // bytes; it stands in a list
	name = strings.Join(strings.FieldsFunc(name, unicode.IsSpace), " ")
	return engine.Printable(name, most)
}

// Add keeps an engine. Where none answers it is kept only if the caller says what it speaks: a person who knows that may add one
// that is off just now, and everybody else has most likely mistyped.
func (e *Engines) Add(ctx context.Context, a model.Address) (model.Engine, error) {
	const op = "engines.Add"
	s, known, err := e.tried(ctx, a)
	switch {
	case err != nil:
		return model.Engine{}, err
	case !known && a.API == "":
		return model.Engine{}, jackline.E(op, jackline.Unprocessed, nil,
			"%s It was not added; if the address is right and the engine is off, add it together with the API that it speaks.", s.why)
	}
	if s.api == detect.APIAnthropic {
		s.family = cmp.Or(s.family, detect.Anthropic)
	}
	if _, err := e.adapter(pick{source: s, card: model.Card{ID: "any"}}, e.plan(pick{source: s}), false); err != nil {
		return model.Engine{}, err // an address or an API that nobody could use
	}
	e.keeping.Lock()
	defer e.keeping.Unlock()
	before, err := e.added(ctx)
	if err != nil {
		return model.Engine{}, err
	}
	if len(before.Engines) >= maxKept {
		return model.Engine{}, jackline.E(op, jackline.Conflict, nil, "There are %d added engines already: remove one first.", maxKept)
	}
	for _, x := range before.Engines {
		if x.BaseURL == s.base && x.API == s.api && x.Key == string(s.key) {
			return model.Engine{}, jackline.E(op, jackline.Conflict, nil, "This engine was added already, as %s.", x.ID)
		}
	}
	after, x := before.with(keptEntry{Name: s.name, BaseURL: s.base, API: s.api, Key: string(s.key)})
	if err := e.keep(ctx, after); err != nil {
		return model.Engine{}, err
	}
	s.id = x.ID
	e.mu.Lock()
	if e.last != nil { // what was just seen need not be asked again
		l := *e.last
		l.added = map[string]source{s.id: s}
		for id, o := range e.last.added {
			l.added[id] = o
		}
		e.last = &l
	}
	e.mu.Unlock()
	return e.shown(s, false), nil
}

// Drop forgets an engine that a person added.
func (e *Engines) Drop(ctx context.Context, id string) error {
	const op = "engines.Drop"
	e.keeping.Lock()
	defer e.keeping.Unlock()
	before, err := e.added(ctx)
	if err != nil {
		return err
	}
	after, there := before.without(id)
	if there {
		return e.keep(ctx, after)
	}
	k, err := e.sight(ctx)
	if err != nil {
		return err
	}
	if s, ok := k.by(id); ok {
		why := map[string]string{
			configured: "it stands in the settings: take model.baseUrl out of flag, environment or file",
			found:      "it runs on this machine: end it, and it is gone",
			cloud:      "the environment holds a key for it, in " + s.keyEnv,
		}[s.origin]
		return jackline.E(op, jackline.Conflict, nil, "%s was not added by a person, so it cannot be removed: %s.", id, why)
	}
	return jackline.E(op, jackline.NotFound, nil, "There is no engine %s.", engine.Printable(id, maxShown))
}

// Use makes a model the one of new chats, and gives its whole reference. "" is that nobody chose one.
func (e *Engines) Use(ctx context.Context, ref string) (string, error) {
	const op = "engines.Use"
	if e.o.SetDefault == nil {
		return "", jackline.E(op, jackline.Internal, nil, "The choice cannot be kept here.")
	}
	ref = strings.TrimSpace(ref)
	if strings.HasPrefix(ref, scriptPrefix) {
		return "", jackline.E(op, jackline.Unprocessed, nil, "A transcript cannot be chosen here; start the server with --model %s.", engine.Printable(ref, maxShown))
	}
	if ref != "" {
		p, err := e.pick(ctx, ref)
		if err != nil {
			if jackline.KindOf(err) == jackline.NoModel {
				err = jackline.E(op, jackline.Unprocessed, err, "%s", jackline.Say(err))
			}
			return "", err
		}
		if _, err := e.make(p); err != nil {
			return "", err
		}
		ref = p.ref()
	}
	return ref, e.o.SetDefault(ctx, ref)
}
