package engines

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
)

// CardsName is the setting under which is kept what was found out about models, sealed like all settings and no key of the
// configuration either.
const CardsName = "engines.cards"

const (
	// maxCards bounds what is kept: the oldest goes first. A card takes some 3 kB, and people have dozens of models, not hundreds.
	maxCards = 64
	// mostWritten is how many answers with calls in their text make a model one that writes its calls as text: once is a slip.
	mostWritten = 3
)

// A keptCard is what was found out about one model of one engine, and for which weights. Without a verdict it has only what was
// noticed on the way.
type keptCard struct {
	Origin string `json:"origin"` // scheme, host and port of the engine
	ID     string `json:"id"`     // the model's name there

	// Which weights it was. An engine that has no digests may still say how large they are and for what window they were trained.
	Digest  string `json:"digest,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
	Trained int    `json:"trained,omitempty"`

	At      time.Time      `json:"at"` // of the last change
	Verdict *model.Verdict `json:"verdict,omitempty"`

	Written int  `json:"written,omitempty"` // answers in native mode that had calls in their text, since it was probed
	Told    bool `json:"told,omitempty"`    // somebody was told what follows from it
}

// is reports whether k is about these weights, as far as anybody says: what is not known now speaks against nothing.
func (k keptCard) is(c model.Card) bool {
	if k.Digest != "" && c.Digest != "" {
		return k.Digest == c.Digest
	}
	return (k.Bytes == 0 || c.Bytes == 0 || k.Bytes == c.Bytes) && (k.Trained == 0 || c.Trained == 0 || k.Trained == c.Trained)
}

// cards is all that was found out. It is never changed, only replaced.
type cards struct {
	raw []byte // as it is kept
	all []keptCard
}

// of gives what is known of a model of the engine at origin: by its name, or by the digest of its weights, which may have several
// names. stale is that its weights have changed since.
func (k *cards) of(origin string, c model.Card) (_ keptCard, known, stale bool) {
	if k == nil || origin == "" {
		return keptCard{}, false, false
	}
	at := slices.IndexFunc(k.all, func(x keptCard) bool { return x.Origin == origin && x.ID == c.ID })
	if at >= 0 && k.all[at].is(c) {
		return k.all[at], true, false
	}
	if c.Digest != "" {
		if same := slices.IndexFunc(k.all, func(x keptCard) bool { return x.Origin == origin && x.Digest == c.Digest && x.Verdict != nil }); same >= 0 {
			return k.all[same], true, false
		}
	}
	if at < 0 {
		return keptCard{}, false, false
	}
	return k.all[at], true, true
}

// cards reads what was found out. What cannot be read is as good as nothing: a probe finds it out again.
func (e *Engines) cards(ctx context.Context) (*cards, error) {
	if e.o.Store == nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.learnt, nil
	}
	raw, err := e.o.Store.Setting(ctx, jackline.Local, CardsName)
	if err != nil || raw == nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.learnt != nil && bytes.Equal(raw, e.learnt.raw) {
		return e.learnt, nil
	}
	k := &cards{raw: raw}
	if json.Unmarshal(raw, &k.all) != nil {
		k.all = nil
		e.o.Log.Warn("what was found out about models cannot be read; probe them again")
	}
	e.learnt = k
	return k, nil
}

// note changes what is known of a model. change gets what was known of the very same weights, or an empty card.
func (e *Engines) note(ctx context.Context, p pick, change func(*keptCard)) error {
	e.keeping.Lock()
	defer e.keeping.Unlock()
	k, err := e.cards(ctx)
	if err != nil {
		return err
	}
	var all []keptCard
	if k != nil {
		all = slices.Clone(k.all)
	}
	origin := originOf(p.base)
	now, known, stale := k.of(origin, p.card)
	if !known || stale {
		now = keptCard{}
	}
	now.Origin, now.ID, now.At = origin, p.card.ID, time.Now().UTC().Truncate(time.Second)
	now.Digest, now.Bytes, now.Trained = cmp.Or(p.card.Digest, now.Digest), cmp.Or(p.card.Bytes, now.Bytes), cmp.Or(p.card.Trained, now.Trained)
	change(&now)
	all = slices.DeleteFunc(all, func(x keptCard) bool { return x.Origin == origin && x.ID == now.ID })
	all = append(all, now)
	if len(all) > maxCards {
		slices.SortStableFunc(all, func(a, b keptCard) int { return a.At.Compare(b.At) })
		all = all[len(all)-maxCards:]
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return jackline.E("engines.note", jackline.Internal, err, "What was found out about the model cannot be written down.")
	}
	if e.o.Store != nil {
		return e.o.Store.PutSetting(ctx, jackline.Local, CardsName, raw)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.learnt = &cards{raw: raw, all: all}
	return nil
}

// Who says how a model is used.
const (
	byOwner  = "owner"
	byProbe  = "probe"
	byEngine = "engine"
	byUse    = "use" // what was noticed while it was used
)

// with is a model of s, with all that is known of it: a probe has seen what an engine only says. What the weights were before
// they changed counts for nothing.
func (s source) with(c model.Card) pick {
	p := pick{source: s, card: c}
	k, known, stale := s.learnt.of(originOf(s.base), c)
	if !known {
		return p
	}
	p.kept, p.stale = &k, stale
	v := k.Verdict
	if stale || v == nil {
		return p
	}
	p.card.Source = maps.Clone(c.Source)
	if p.card.Source == nil {
		p.card.Source = map[string]string{}
	}
	say := func(field string, set bool, take func()) {
		if set {
			take()
			p.card.Source[field] = byProbe
		}
	}
	say("mode", v.Mode != "", func() { p.card.Mode = v.Mode })
	say("tools", v.Tools != model.Unknown, func() { p.card.Tools = v.Tools })
	say("thinking", v.Thinking != model.Unknown, func() { p.card.Thinking = v.Thinking })
	say("constraints", v.Holds != model.Unknown, func() { p.card.Constraints = v.Constraints })
	say("tool_budget", v.ToolBudget > 0, func() { p.card.ToolBudget = v.ToolBudget })
	say("step_budget", v.StepBudget > 0, func() { p.card.StepBudget = v.StepBudget })
	say("reads", v.Reads > 0, func() { p.card.Reads = v.Reads })
	say("writes", v.Writes > 0, func() { p.card.Writes = v.Writes })
	return p
}

// writes reports a model that has written its calls as text too often since it was probed.
func (p pick) writes() bool { return p.kept != nil && !p.stale && p.kept.Written >= mostWritten }

// overheard counts an answer in native mode with calls in its text.
func (e *Engines) overheard(ctx context.Context, p pick) {
	ctx = context.WithoutCancel(ctx) // it is true even if the turn ends just now
	if err := e.note(ctx, p, func(k *keptCard) { k.Written++ }); err != nil {
		e.o.Log.Warn("a card was not kept", "model", p.ref(), "err", err)
	}
}

// remark is what is to be said once about how a model is used from now on, or "".
func (e *Engines) remark(ctx context.Context, p pick, pl plan) string {
	if pl.by != byUse || p.kept.Told {
		return ""
	}
	if err := e.note(ctx, p, func(k *keptCard) { k.Told = true }); err != nil {
		e.o.Log.Warn("a card was not kept", "model", p.ref(), "err", err)
	}
	return displayed(p.ref()) + " has written its calls as text again and again instead of making them through its engine. From now on it is taught to write them, and they are read from its text. " +
		"jackline models probe tries it out anew."
}
