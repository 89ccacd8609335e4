package engines

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/probe"
)

// A probing is a model that is probed for the server: it goes on whoever watches, and ends with the server.
type probing struct {
	model.Probe
	cancel context.CancelFunc
	ended  time.Time
	idle   bool // nobody asked for it
}

// Probes lists the probes under way, and those that ended a short while ago, the oldest first.
func (e *Engines) Probes() []model.Probe {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.probes = slices.DeleteFunc(e.probes, func(p *probing) bool { return p.Over() && time.Since(p.ended) >= endedFor })
	if over := len(e.probes) - maxEnded; over > 0 {
		e.probes = slices.Delete(e.probes, 0, over) // one runs at a time, and it is the last
	}
	all := make([]model.Probe, 0, len(e.probes))
	for _, p := range e.probes {
		all = append(all, p.Probe)
	}
	return all
}

// Probe begins to try a model out, in all ways of calling tools or in one. What comes of it is kept with the model's card. One
// model is probed at a time, for each wants all of the machine; where it is this one already, its probe is given. "" is the
// model of new chats.
func (e *Engines) Probe(ctx context.Context, ref, mode string, times int) (model.Probe, error) {
	return e.probe(ctx, ref, mode, times, false)
}

func (e *Engines) probe(ctx context.Context, ref, mode string, times int, idle bool) (model.Probe, error) {
	const op = "engines.Probe"
	if mode != "" && mode != auto && !slices.Contains(probe.Modes(), mode) {
		return model.Probe{}, jackline.E(op, jackline.Unprocessed, nil, "There is no tool mode %s: take %s, or auto for all of them.", engine.Printable(mode, maxShown), strings.Join(probe.Modes(), ", "))
	}
	if times < 0 || times > probe.MaxTimes {
		return model.Probe{}, jackline.E(op, jackline.Unprocessed, nil, "Each check can be made from 1 to %d times.", probe.MaxTimes)
	}
	if ref == "" {
		own, err := e.chosen(ctx)
		if err != nil {
			return model.Probe{}, err
		}
		ref = own
	}
	if strings.HasPrefix(ref, scriptPrefix) {
		return model.Probe{}, jackline.E(op, jackline.Unprocessed, nil, "A transcript cannot be probed: it says what it says.")
	}
	p, err := e.pick(ctx, ref)
	if err != nil {
		return model.Probe{}, err
	}
	if p, err = e.asked(ctx, p); err != nil {
		return model.Probe{}, err
	}
	ways, err := e.ways(p, mode)
	if err != nil {
		return model.Probe{}, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, x := range e.probes {
		switch {
		case x.Over():
		case x.Ref == p.ref() && !x.idle:
			return x.Probe, nil
		case x.idle && !idle: // nobody waits for it
			x.cancel()
		default:
			return model.Probe{}, jackline.E(op, jackline.Conflict, nil, "%s is being probed: wait for its end, or cancel it.", displayed(x.Ref))
		}
	}
	x := &probing{Probe: model.Probe{ID: jackline.NewID[string]("b_"), Ref: p.ref(), Status: model.ProbeRunning, Doing: "waiting"}, idle: idle}
	cancel, ok := e.later(ctx, func(ctx context.Context) { e.try(ctx, x, p, probe.Options{Ways: ways, Times: times}) })
	if !ok {
		return model.Probe{}, jackline.E(op, jackline.Unavailable, nil, "Jackline is shutting down.")
	}
	x.cancel = cancel
	e.probes = append(e.probes, x)
	return x.Probe, nil
}

// asked is p with what its engine says just now, so that what is found out is kept for the right weights.
func (e *Engines) asked(ctx context.Context, p pick) (pick, error) {
	s := e.read(ctx, p.source)
	if ctx.Err() != nil {
		return pick{}, ctx.Err()
	}
	if len(s.cards) == 0 { // it may have no list, and answer all the same; if not, it is the probe that says why
		return p, nil
	}
	s.id, s.learnt = p.id, p.learnt
	fresh := s.pick(p.card.ID, false)
	fresh.card.ID = cmp.Or(fresh.card.ID, p.card.ID)
	return fresh, nil
}

// ways are the ways in which a model can be asked to call tools, as turns would ask it.
func (e *Engines) ways(p pick, only string) ([]probe.Way, error) {
	pl := e.plan(p)
	e.mu.Lock()
	if p.api == detect.APIOllama {
		pl.window = e.window(p, pl.window) // the window that turns have, or Ollama loads the model twice
	}
	e.mu.Unlock()
	var ways []probe.Way
	for _, mode := range probe.Modes() {
		if only != "" && only != auto && mode != only {
			continue
		}
		w := probe.Way{Mode: mode}
		switch mode {
		case native:
			m, err := e.adapter(p, pl, true)
			if err != nil {
				return nil, err
			}
			read := new(atomic.Int64)
			w.Model = reading(p, m, func(context.Context) { read.Add(1) })
			w.Read = func() int { return int(read.Load()) }
		case text:
			m, err := e.adapter(p, pl, false)
			if err != nil {
				return nil, err
			}
			w.Model = modelsOf(m, false).Main
		case envelopes:
			held := pl
			if held.knob = knobFor(p); held.knob == model.NoKnob && only == mode {
				held.knob = anyKnob(p) // somebody thinks that it works
			}
			if held.knob == model.NoKnob {
				w.Why = "Not tried: nobody knows whether this engine can hold a model to a form."
				break
			}
			m, err := e.adapter(p, held, false)
			if err != nil {
				return nil, err
			}
			w.Model, w.Raw = enveloped(m), m
		}
		ways = append(ways, w)
	}
	return ways, nil
}

// try follows a probe to its end.
func (e *Engines) try(ctx context.Context, x *probing, p pick, o probe.Options) {
	quiet := settle
	if x.idle {
		quiet = e.o.Idle
	}
	o.Leave = func(ctx context.Context) (context.Context, func(), error) { return e.road.lend(ctx, quiet) }
	o.Progress = func(doing string, done, total int) {
		e.mu.Lock()
		defer e.mu.Unlock()
		x.Doing, x.Done, x.Total = doing, done, total
	}
	v, err := probe.Run(ctx, o)
	if err == nil {
		err = e.note(ctx, p, func(k *keptCard) { k.Verdict, k.Written, k.Told = &v, 0, false })
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	x.ended, x.Doing = time.Now(), ""
	switch {
	case err == nil:
		x.Status, x.Done, x.Result = model.ProbeDone, x.Total, &v
	case ctx.Err() != nil:
		x.Status = model.ProbeCancelled
	default:
		x.Status, x.Error = model.ProbeFailed, jackline.Say(err)
		e.o.Log.Warn("a model was not probed", "model", x.Ref, "err", err)
	}
}

// CancelProbe ends a probe, or takes one that has ended off the list.
func (e *Engines) CancelProbe(_ context.Context, id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	at := slices.IndexFunc(e.probes, func(p *probing) bool { return p.ID == id })
	if at < 0 {
		return jackline.E("engines.CancelProbe", jackline.NotFound, nil, "No model is being probed under %s.", engine.Printable(id, maxShown))
	}
	if p := e.probes[at]; !p.Over() {
		p.cancel()
		return nil
	}
	e.probes = slices.Delete(e.probes, at, at+1)
	return nil
}

// rest probes the model of new chats whenever nobody has asked anything for a while and it was never probed, or not with these
// weights. Each is tried once; what is done for nobody must not be done again and again.
func (e *Engines) rest(ctx context.Context) {
	tried := map[string]bool{}
	for {
		if e.road.wait(ctx, e.o.Idle) != nil {
			return
		}
		if ref, err := e.chosen(ctx); err == nil && !strings.HasPrefix(ref, scriptPrefix) {
			if p, err := e.pick(ctx, ref); err == nil && e.probable(p) && !tried[p.ref()+" "+p.card.Digest] {
				tried[p.ref()+" "+p.card.Digest] = true
				if _, err := e.probe(ctx, p.ref(), "", 1, true); err != nil && ctx.Err() == nil {
					e.o.Log.Warn("a model was not probed", "model", p.ref(), "err", err)
				}
			}
		}
		select {
		case <-time.After(e.o.Idle):
		case <-ctx.Done():
			return
		}
	}
}

// probable reports a model that may be probed without being asked for: of an engine on this machine, which does not pass on to
// others what it is asked.
func (e *Engines) probable(p pick) bool {
	u, err := url.Parse(p.base)
	if err != nil || p.origin == cloud || p.card.Remote == model.Yes || p.state != detect.Ready {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()) && (p.kept == nil || p.kept.Verdict == nil || p.stale)
}
