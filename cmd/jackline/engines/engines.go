// Package engines knows the engines that chats can talk to, and makes their models: which engine, which way of calling
// tools, which window. It reads no settings; whoever does gives it [Options].
//
// # Which engines
//
// There are four origins. One engine may be configured by its address; persons add others; [detect.Find] finds those of this
// machine; and there are services for which the environment holds a key. A service is not asked anything until a person
// chooses it. Where the address came as a flag, or address and model are both configured, nothing is looked for.
//
// Looking takes up to a few seconds, so it is done in the background and holds for half a minute. A turn waits for it only
// where it does not know its model yet.
//
// # References
//
// A model is named by its name, or by the id of its engine, a slash and its name. Names hold slashes of their own, so only an
// id that is known counts as one.
package engines

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/turn"
)

// Options say which models there are, in the words of the settings of group model.
type Options struct {
	Name            string // the model, where Default is nil
	BaseURL, KeyEnv string // of the configured engine; "" for none
	API             string // what it speaks; "" and "auto" tell by its address
	ToolMode, Think string
	Window          int
	Vision          bool     // models read images, whatever the engines say
	Each            []Each   // what differs for single models
	Fallback        []string // references: what is asked when a model fails before it says anything

	// Alone says that nothing is to be looked for: the address of the engine was given as a flag, or looking is off.
	Alone bool

	// Default reads the model of new chats as it stands, and SetDefault stores it.
	Default    func(context.Context) (string, error)
	SetDefault func(context.Context, string) error

	Store  Store               // where added engines are kept; nil keeps none
	File   string              // where the settings are, for those who are told to change them
	Env    func(string) string // the environment, for keys and for where engines are
	Skip   []int               // ports that are not asked: the server's own
	Memory int64               // of this machine, in bytes; 0 is unknown
	Log    *slog.Logger        // may be nil

	// Know is told the keys that the server holds, under a name for all of them, so that they can be hidden wherever they turn up; nil
	// is told nothing.
	Know func(name string, values ...string)

	// Idle is how long nobody has asked a model anything before the model of new chats is probed, once, if that was never done
	// and it runs on this machine; 0 is never.
	Idle time.Duration

	// Find looks for engines; nil is [detect.Find].
	Find func(context.Context, detect.Options) []detect.Found
}

// Each is what an owner set for one model. Zero fields are as for all models.
type Each struct {
	Ref      string `json:"ref"` // a reference, or the model's name
	ToolMode string `json:"toolMode"`
	Think    string `json:"think"`
	Window   int    `json:"window"`
	Tools    int    `json:"tools"` // how many are offered at once
	Steps    int    `json:"steps"` // model requests of a turn, where no setting says otherwise
}

// Store keeps settings, sealed: package store does.
type Store interface {
	Setting(ctx context.Context, o jackline.Owner, name string) (json.RawMessage, error)
	PutSetting(ctx context.Context, o jackline.Owner, name string, value json.RawMessage) error
}

// Engines makes the models that sessions talk to, once each. It is safe for use by several goroutines at once.
type Engines struct {
	o     Options
	known detect.Memory

	keeping sync.Mutex // one change of the added engines at a time; taken before mu, and never held while an engine is asked

	mu      sync.Mutex
	made    map[mark]turn.Models
	windows map[string]int // of Ollama's models, by address and name: the first choice stays
	learnt  *cards         // as last read; nil is nothing
	probes  []*probing
	road    road
	last    *look             // nil before the first
	looking *looking          // nil where no look is under way
	clouds  map[string]source // services that were asked, by id
	pulls   []*pull
	work    map[*context.CancelFunc]bool
	closed  bool
	keys    []string // of added engines, as last told to Options.Know
	wg      sync.WaitGroup
}

// New makes the engines of these options. It asks nothing.
func New(o Options) *Engines {
	if o.Env == nil {
		o.Env = func(string) string { return "" }
	}
	if o.Find == nil {
		o.Find = detect.Find
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Engines{o: o, made: map[mark]turn.Models{}, windows: map[string]int{}, clouds: map[string]source{}, work: map[*context.CancelFunc]bool{}}
}

// Close ends what is under way in the background, fetching of models included, and waits for it.
func (e *Engines) Close() {
	e.mu.Lock()
	e.closed = true
	for cancel := range e.work {
		(*cancel)()
	}
	e.mu.Unlock()
	e.wg.Wait()
}

// later runs f beside its caller, whose end does not end it. It is false once Close was called. The caller holds e.mu.
func (e *Engines) later(ctx context.Context, f func(context.Context)) (cancel context.CancelFunc, ok bool) {
	if e.closed {
		return nil, false
	}
	ctx, cancel = context.WithCancel(context.WithoutCancel(ctx))
	e.work[&cancel] = true
	e.wg.Go(func() {
		defer func() {
			cancel()
			e.mu.Lock()
			defer e.mu.Unlock()
			delete(e.work, &cancel)
		}()
		f(ctx)
	})
	return cancel, true
}

const (
	// mostCalls is how many calls are read from one answer. The loop takes fewer, and tells the model so.
	mostCalls = 64
	// maxScript bounds a transcript.
	maxScript = 4 << 20
	// mostMade bounds the models that are kept ready. Each holds an idle connection or two; more than these are not in use.
	mostMade = 64
)

// chosen is the model of new chats as a person chose it, or "".
func (e *Engines) chosen(ctx context.Context) (string, error) {
	if e.o.Default == nil {
		return e.o.Name, nil
	}
	return e.o.Default(ctx)
}

// Model is the model of a session: its own, or that of new chats. Where it fails before it says anything, those of the
// fallback list are asked in its place.
func (e *Engines) Model(ctx context.Context, s jackline.Session) (turn.Models, error) {
	const op = "engines.Model"
	own, err := e.chosen(ctx)
	if err != nil {
		return turn.Models{}, err
	}
	ref := own
	if s.Model != "" {
		// A session's model comes from the API; only the owner's own settings may name a file.
		if strings.HasPrefix(s.Model, scriptPrefix) && s.Model != own {
			return turn.Models{}, jackline.E(op, jackline.Invalid, nil,
				"A chat cannot choose a transcript file; start the server with --model %s.", engine.Printable(s.Model, maxShown))
		}
		ref = s.Model
	}
	m, p, err := e.ready(ctx, ref)
	if err == nil && p.id != "" {
		m.Note = e.remark(ctx, p, e.plan(p))
	}
	if len(e.o.Fallback) == 0 || ctx.Err() != nil || err != nil && !replaceable(err) {
		return m, err
	}
	c := &chain{e: e, rest: e.o.Fallback, had: []string{p.ref()}}
	if err != nil {
		if err := c.next(ctx, displayed(ref), err); err != nil {
			return turn.Models{}, err
		}
		return turn.Models{Main: c.main(), Raw: c.raw(), Note: c.said}, nil
	}
	c.now = m
	return turn.Models{Main: c.main(), Raw: c.raw(), Note: m.Note}, nil
}

// ready makes the model that a reference names.
func (e *Engines) ready(ctx context.Context, ref string) (turn.Models, pick, error) {
	if strings.HasPrefix(ref, scriptPrefix) {
		m, err := e.make(pick{card: model.Card{ID: ref}})
		return m, pick{card: model.Card{ID: ref}}, err
	}
	p, err := e.pick(ctx, ref)
	if err != nil {
		return turn.Models{}, p, err
	}
	m, err := e.make(p)
	return m, p, err
}

// Status is how a model is doing.
type Status struct {
	Name    string
	Window  int
	Assumed bool // the window is a guess
	Mode    string
	Vision  bool // it reads images
	BaseURL string
	Ready   bool
	Why     string // why it is not ready, and what to do
}

// Status is how the model of new chats is doing, as far as is known without asking the engine. Right after the start it waits
// a moment for the first look.
func (e *Engines) Status(ctx context.Context) Status {
	ref, err := e.chosen(ctx)
	if err != nil {
		return Status{Why: jackline.Say(err)}
	}
	st := Status{Name: ref, BaseURL: engine.Shown(e.o.BaseURL), Window: e.o.Window}
	p := pick{card: model.Card{ID: ref}}
	if !strings.HasPrefix(ref, scriptPrefix) {
		if p, err = e.glance(ctx, ref); err != nil {
			st.Why = jackline.Say(err)
			return st
		}
	}
	m, err := e.make(p)
	if err != nil {
		st.Why = jackline.Say(err)
		return st
	}
	info := m.Main.Info()
	// The model itself knows how it makes calls just now: an engine may have turned out to know none.
	st = Status{Name: info.Name, Window: info.Window, Assumed: info.Assumed, Vision: info.Vision, Mode: info.Mode(), BaseURL: engine.Shown(p.base), Ready: true}
	switch p.state {
	case detect.NeedsKey:
		st.Ready, st.Why = false, p.why
	case detect.Down, detect.NoModel:
		if p.origin != cloud { // a service may have no list, and answer all the same
			st.Ready, st.Why = false, p.why
		}
	case detect.Loading, detect.Ready:
	}
	return st
}
