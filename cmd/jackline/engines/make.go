package engines

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/anthropic"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/dialect"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/envelope"
	"github.com/jackline-ai/jackline/model/ollama"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/probe"
	"github.com/jackline-ai/jackline/model/prompted"
	"github.com/jackline-ai/jackline/model/responses"
	"github.com/jackline-ai/jackline/model/script"
	"github.com/jackline-ai/jackline/turn"
)

// The words of the settings.
const (
	auto         = "auto"
	native       = model.ModeNative
	envelopes    = model.ModeEnvelope
	text         = model.ModeText
	thinkOff     = "off"
	thinkOn      = "on"
	scriptPrefix = "script:"
)

// A mark tells models apart that have to be made anew: another engine at the same address, other weights under the same name,
// another key, another window of the engine's own choice.
type mark struct {
	id, base, family, name, digest string
	api                            detect.API
	key                            engine.Key
	window                         int
	tools, vision                  model.Known
	mode                           string // that a probe or its use has brought
	steps, offer                   int
	knob                           model.Knob
}

// Format writes engine and name alone, as that of a source does.
func (m mark) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, m.id+"/"+m.name) }

func (p pick) mark() mark {
	m := mark{
		id: p.id, base: p.base, family: p.family, name: p.card.ID, digest: p.card.Digest, api: p.api, key: p.key,
		window: p.card.Usable, tools: p.card.Tools, vision: p.card.Vision,
		mode: p.card.Mode, steps: p.card.StepBudget, offer: p.card.ToolBudget, knob: knobFor(p),
	}
	if p.writes() {
		m.mode = text
	}
	if p.api == detect.APIOllama {
		m.window = 0 // with Ollama it is we who choose, once
	}
	return m
}

// make gives the two ways to a model, the same ones each time. Ollama loads a model anew for another window, so the first choice
// of one stays.
func (e *Engines) make(p pick) (turn.Models, error) {
	m := p.mark()
	e.mu.Lock()
	defer e.mu.Unlock()
	if made, ok := e.made[m]; ok {
		return made, nil
	}
	pl := e.plan(p)
	if p.api == detect.APIOllama {
		pl.window = e.window(p, pl.window)
	}
	made, err := e.built(p, pl)
	if err != nil {
		return turn.Models{}, err
	}
	made.Main, made.Raw = &inUse{made.Main, e, pl}, &inUse{made.Raw, e, pl}
	if len(e.made) >= mostMade {
		clear(e.made)
	}
	e.made[m] = made
	return made, nil
}

// mostWindows bounds the windows that are remembered: more models than that are in use nowhere.
const mostWindows = 1024

// window is the window in which a model of Ollama's is asked: the one of the first time, whatever has come to be known since, for
// another makes Ollama load the model again. The caller holds e.mu.
func (e *Engines) window(p pick, wanted int) int {
	key := originOf(p.base) + " " + full(p.card.ID) + " " + p.card.Digest
	if w, ok := e.windows[key]; ok {
		return w
	}
	if len(e.windows) >= mostWindows {
		clear(e.windows)
	}
	e.windows[key] = wanted
	return wanted
}

// A plan is how a model is used.
type plan struct {
	mode    string
	by      string // who says so: owner, probe, engine or use; "" is nobody
	sure    bool   // the mode is not changed by what the engine says
	steps   int    // requests of a turn; 0 is as for all models
	offer   int    // tools worth offering; 0 is not known
	asked   int    // the window that its owner set; 0 is none
	window  int
	assumed bool
	think   string
	vision  bool
	knob    model.Knob // by which the engine is held to a form
}

// plan decides how a model is used, by what the owner set and what its card says.
func (e *Engines) plan(p pick) (pl plan) {
	each := e.each(p)
	pl = plan{mode: e.wanted(p), think: e.o.Think, vision: e.o.Vision || p.card.Vision == model.Yes}
	if each.Think != "" {
		pl.think = each.Think
	}
	asked := e.o.Window
	if each.Window > 0 {
		asked = each.Window
	}
	pl.asked = asked
	if pl.mode == native || pl.mode == envelopes || pl.mode == text {
		pl.sure, pl.by = true, byOwner
	} else {
		pl.mode, pl.by = modeFor(p)
	}
	pl.knob = knobFor(p)
	if pl.mode == envelopes && pl.knob == model.NoKnob {
		pl.knob = anyKnob(p) // somebody says that it works
	}
	if pl.mode == envelopes && pl.knob == model.NoKnob {
		pl.mode = text
	}
	defer func() { pl.steps, pl.offer = budgets(each, p.card, pl.window) }()
	card := p.card
	if p.api == detect.APIOllama {
		card.Engine = detect.Ollama
		pl.window = model.Window(card, asked, e.memory(p))
		return pl
	}
	switch {
	case card.Usable > 0, asked > 0:
		card.Engine = fixedWindow(card.Engine)
		pl.window = model.Window(card, asked, 0)
	case p.api == detect.APIAnthropic:
		pl.window, pl.assumed = anthropic.DefaultWindow, true
	default:
		pl.window, pl.assumed = model.Window(card, 0, 0), true
	}
	return pl
}

// fixedWindow keeps the name of Ollama from a card that is used through another API, in which it takes no window.
func fixedWindow(engine string) string {
	if engine == detect.Ollama {
		return detect.OpenAI
	}
	return engine
}

// each is what the owner set for this model alone.
func (e *Engines) each(p pick) Each {
	for _, x := range e.o.Each {
		if x.Ref == p.ref() || x.Ref == p.card.ID {
			return x
		}
	}
	return Each{}
}

// wanted is the way of calling tools that the owner set for this model, or for all.
func (e *Engines) wanted(p pick) string {
	if own := e.each(p).ToolMode; own != "" {
		return own
	}
	return e.o.ToolMode
}

// memory is what the engine may use: that of this machine, if the engine is here.
func (e *Engines) memory(p pick) int64 {
	u, err := url.Parse(p.base)
	if err != nil {
		return 0
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() == "localhost" || ip != nil && ip.IsLoopback() {
		return e.o.Memory
	}
	return 0
}

// budgets are the steps and the tools that a model is trusted with: what its owner says, or what a probe found. A window that is
// smaller than it was then has no room for the results of as many steps.
func budgets(each Each, c model.Card, window int) (steps, offer int) {
	steps = min(c.StepBudget, probe.Steps(window))
	if each.Steps > 0 {
		steps = each.Steps
	}
	return steps, cmp.Or(each.Tools, c.ToolBudget)
}

// modeFor is how a model calls tools where the owner leaves that open, and who says so. What a probe found comes first, and what
// was noticed since. Services have calls of their own. Of other engines those that say so are believed, but for models whose
// calls the engines are known to spoil. All others write calls as text.
func modeFor(p pick) (mode, by string) {
	mode, by = p.card.Mode, byProbe
	if mode != native && mode != envelopes && mode != text {
		mode, by = unprobed(p)
	}
	if mode == native && p.writes() {
		return text, byUse
	}
	return mode, by
}

func unprobed(p pick) (mode, by string) {
	name := strings.ToLower(p.card.ID)
	broken := strings.Contains(name, "gpt-oss") || strings.Contains(name, "deepseek-r1") || strings.HasPrefix(name, "r1")
	switch {
	case p.origin == cloud, p.api == detect.APIAnthropic, p.api == detect.APIResponses, isCloud(p.base):
		return native, ""
	case p.card.Tools == model.Yes && !broken:
		return native, byEngine
	case p.card.Tools == model.No:
		return text, byEngine
	}
	return text, ""
}

// isCloud reports whether an address is out on the network: such engines have tool calls of their own.
func isCloud(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); ip != nil {
		return !ip.IsLoopback() && !ip.IsPrivate() && !ip.IsLinkLocalUnicast()
	}
	return u.Scheme == "https" && strings.Contains(host, ".") && !strings.HasSuffix(host, ".local") && !strings.HasSuffix(host, ".lan")
}

// built makes the adapters for a model. It connects to nothing.
func (e *Engines) built(p pick, pl plan) (turn.Models, error) {
	if file, ok := strings.CutPrefix(p.card.ID, scriptPrefix); ok && p.id == "" {
		o := script.Options{Native: e.o.ToolMode == native, Window: e.o.Window, Vision: e.o.Vision}
		if e.o.ToolMode == envelopes {
			o.Knob = model.KnobGrammar
		}
		raw, err := scripted(file, o)
		if err != nil {
			return turn.Models{}, err
		}
		if e.o.ToolMode == envelopes {
			return turn.Models{Main: enveloped(raw), Raw: raw}, nil
		}
		return modelsOf(raw, e.o.ToolMode == native), nil
	}
	if p.keyEnv != "" && p.key == "" && p.origin == configured {
		return turn.Models{}, jackline.E("engines", jackline.Invalid, nil,
			"The environment variable %s, which should hold the engine's key, is not set.", engine.Printable(p.keyEnv, maxShown))
	}
	plain, err := e.adapter(p, pl, false)
	if err != nil {
		return turn.Models{}, err
	}
	weights := cmp.Or(p.card.Digest, p.ref())
	plain = known{plain, weights}
	switch pl.mode {
	case text:
		return modelsOf(plain, false), nil
	case envelopes:
		return turn.Models{Main: &either{first: enveloped(plain), second: modelsOf(plain, false).Main, refused: engine.NoForm, say: sayNoForm}, Raw: plain}, nil
	}
	own, err := e.adapter(p, pl, true)
	if err != nil {
		return turn.Models{}, err
	}
	own = known{reading(p, own, func(ctx context.Context) { e.overheard(ctx, p) }), weights}
	if pl.sure {
		return turn.Models{Main: own, Raw: plain}, nil
	}
	// The engine is taken at its word that it knows no tools, once.
	return turn.Models{Main: &either{first: own, second: modelsOf(plain, false).Main, refused: engine.NoTools}, Raw: plain}, nil
}

// sayNoForm is what a turn says whose engine turned out not to hold models to a form.
func sayNoForm(name string) string {
	return "The engine does not hold " + name + " to a form, so its calls are read from text from now on. A newer engine may; `--tool-mode text` says so from the start."
}

// reading has the text of a model with calls of its own read for calls as well, where engines run models that anybody trained for
// anything. The two APIs of services that run their own models are left alone: there a call in the text is one that is talked about.
func reading(p pick, own model.Model, heard func(context.Context)) model.Model {
	if p.api == detect.APIAnthropic || p.api == detect.APIResponses {
		return own
	}
	return prompted.Overhear(own, prompted.Options{Options: dialect.Options{Calls: mostCalls}}, heard)
}

// A known model says what its weights are.
type known struct {
	model.Model
	weights string
}

// Info implements model.Model.
func (k known) Info() model.Info {
	i := k.Model.Info()
	i.Weights = k.weights
	return i
}

// adapter makes a model that speaks the engine's API.
func (e *Engines) adapter(p pick, pl plan, tools bool) (model.Model, error) {
	switch p.api {
	case detect.APIOllama:
		think := ollama.Think(pl.think)
		if think == thinkOff {
			think = ollama.ThinkOff
		}
		return ollama.New(ollama.Options{
			BaseURL: p.base, Model: p.card.ID, Key: p.key, Window: pl.window, Think: think, Native: tools, Vision: pl.vision,
		})
	case detect.APIOpenAI, "":
		return openai.New(openai.Options{
			BaseURL: p.base, Model: p.card.ID, Key: p.key, Window: pl.window, Assumed: pl.assumed, Native: tools, Vision: pl.vision,
			Knob: pl.knob,
		})
	case detect.APIAnthropic:
		think, effort := model.Yes, pl.think
		switch pl.think {
		case "", thinkOff:
			think, effort = model.No, ""
		case thinkOn:
			effort = ""
		}
		return anthropic.New(anthropic.Options{
			BaseURL: p.base, Model: p.card.ID, Key: p.key, Window: pl.window, Assumed: pl.assumed, Native: tools, Vision: pl.vision,
			Think: think, Effort: effort,
		})
	case detect.APIResponses:
		effort := pl.think
		if effort == thinkOff || effort == thinkOn {
			effort = "" // it is the model that decides whether it reasons
		}
		return responses.New(responses.Options{
			BaseURL: p.base, Model: p.card.ID, Key: p.key, Window: pl.window, Assumed: pl.assumed, Native: tools, Vision: pl.vision,
			Effort: effort, Summaries: pl.think != "" && pl.think != thinkOff,
		})
	}
	return nil, jackline.E("engines", jackline.Invalid, nil, "There is no API %q: take ollama, openai, anthropic or responses.", engine.Printable(string(p.api), maxShown))
}

// modelsOf wraps a model that has no tool calls of its own.
func modelsOf(raw model.Model, native bool) turn.Models {
	if native {
		return turn.Models{Main: raw, Raw: raw}
	}
	c := contract.Of(raw.Info().Window)
	return turn.Models{
		Main: prompted.Wrap(raw, prompted.Options{Options: dialect.Options{Calls: mostCalls}, Brief: c.Brief(), Room: c.Tools, Names: c.Names}), Raw: raw,
	}
}

// enveloped wraps a model that can be held to a form.
func enveloped(raw model.Model) model.Model {
	c := contract.Of(raw.Info().Window)
	return envelope.Wrap(raw, envelope.Options{Dialect: dialect.Options{Calls: mostCalls}, Brief: c.Brief(), Room: c.Tools, Names: c.Names})
}

func scripted(file string, o script.Options) (model.Model, error) {
	st, err := os.Stat(file)
	if err == nil && (st.Size() > maxScript || !st.Mode().IsRegular()) {
		return nil, jackline.E("engines", jackline.Invalid, nil, "The transcript %s is no file of at most %d bytes.", file, maxScript)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, jackline.E("engines", jackline.Invalid, err, "The transcript %s cannot be read.", file)
	}
	s, err := script.Parse(file, b)
	if err != nil {
		return nil, jackline.E("engines", jackline.Invalid, err, "The transcript %s is not right: %v", file, err)
	}
	return script.New(s, o), nil
}

// either is a model whose engine may turn out not to do what is asked of it; from then on calls are read from text.
type either struct {
	first, second model.Model
	refused       func(error) bool
	say           func(name string) string // what the turn is told then; nil goes on without a word
	fell          atomic.Bool
}

func (e *either) now() model.Model {
	if e.fell.Load() {
		return e.second
	}
	return e.first
}

// Info implements model.Model: what the model is from now on.
func (e *either) Info() model.Info { return e.now().Info() }

// Size implements model.Model.
func (e *either) Size(r model.Request) int { return e.now().Size(r) }

// Stream implements model.Model. Where the turn is told, it is by [model.Instead], and writes its request anew.
func (e *either) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if !e.fell.Load() {
			again, began := false, false
			for c, err := range e.first.Stream(ctx, r) {
				if err != nil && !began && e.refused(err) {
					again = true
					break
				}
				began = true
				if !yield(c, err) {
					return
				}
			}
			if !again {
				return
			}
			if e.fell.CompareAndSwap(false, true) && e.say != nil {
				yield(model.Chunk{}, &model.Instead{Say: e.say(e.first.Info().Name)})
				return
			}
		}
		for c, err := range e.second.Stream(ctx, r) {
			if !yield(c, err) {
				return
			}
		}
	}
}
