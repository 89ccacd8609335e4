package engines

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/url"
	"os"
	"strings"
	"sync/atomic"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/anthropic"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/model/dialect"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/ollama"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/prompted"
	"github.com/jackline-ai/jackline/model/responses"
	"github.com/jackline-ai/jackline/model/script"
	"github.com/jackline-ai/jackline/turn"
)

// The words of the settings.
const (
	auto         = "auto"
	native       = "native"
	text         = "text"
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
}

// Format writes engine and name alone, as that of a source does.
func (m mark) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, m.id+"/"+m.name) }

func (p pick) mark() mark {
	m := mark{
		id: p.id, base: p.base, family: p.family, name: p.card.ID, digest: p.card.Digest, api: p.api, key: p.key,
		window: p.card.Usable, tools: p.card.Tools, vision: p.card.Vision,
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
	made, err := e.built(p)
	if err != nil {
		return turn.Models{}, err
	}
	if len(e.made) >= mostMade {
		clear(e.made)
	}
	e.made[m] = made
	return made, nil
}

// A plan is how a model is used.
type plan struct {
	mode    string
	sure    bool // the mode is not changed by what the engine says
	window  int
	assumed bool
	think   string
	vision  bool
}

// plan decides how a model is used, by what the owner set and what its card says.
func (e *Engines) plan(p pick) plan {
	each := e.each(p)
	pl := plan{mode: e.o.ToolMode, think: e.o.Think, vision: e.o.Vision || p.card.Vision == model.Yes}
	if each.ToolMode != "" {
		pl.mode = each.ToolMode
	}
	if each.Think != "" {
		pl.think = each.Think
	}
	asked := e.o.Window
	if each.Window > 0 {
		asked = each.Window
	}
	if pl.mode == native || pl.mode == text {
		pl.sure = true
	} else {
		pl.mode = modeFor(p)
	}
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

// modeFor is how a model calls tools where the owner leaves that open. Services have calls of their own. Of other engines those
// that say so are believed, but for models whose calls the engines are known to spoil. All others write calls as text.
func modeFor(p pick) string {
	name := strings.ToLower(p.card.ID)
	broken := strings.Contains(name, "gpt-oss") || strings.Contains(name, "deepseek-r1") || strings.HasPrefix(name, "r1")
	switch {
	case p.origin == cloud, p.api == detect.APIAnthropic, p.api == detect.APIResponses, isCloud(p.base):
		return native
	case p.card.Tools == model.Yes && !broken:
		return native
	}
	return text
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
func (e *Engines) built(p pick) (turn.Models, error) {
	pl := e.plan(p)
	if file, ok := strings.CutPrefix(p.card.ID, scriptPrefix); ok && p.id == "" {
		raw, err := scripted(file, script.Options{Native: e.o.ToolMode == native, Window: e.o.Window, Vision: e.o.Vision})
		if err != nil {
			return turn.Models{}, err
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
	if pl.mode == text {
		return modelsOf(plain, false), nil
	}
	own, err := e.adapter(p, pl, true)
	if err != nil {
		return turn.Models{}, err
	}
	own = known{own, weights}
	if pl.sure {
		return turn.Models{Main: own, Raw: plain}, nil
	}
	// The engine is taken at its word that it knows no tools, once.
	return turn.Models{Main: &either{native: own, text: modelsOf(plain, false).Main}, Raw: plain}, nil
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
			BaseURL: p.base, Model: p.card.ID, Key: p.key, Window: pl.window, Think: think, Native: tools, Vision: pl.vision, ReadArgs: readArgs,
		})
	case detect.APIOpenAI, "":
		return openai.New(openai.Options{
			BaseURL: p.base, Model: p.card.ID, Key: p.key, Window: pl.window, Assumed: pl.assumed, Native: tools, Vision: pl.vision, ReadArgs: readArgs,
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
			BaseURL: p.base, Model: p.card.ID, Key: p.key, Window: pl.window, Assumed: pl.assumed, Native: tools, Vision: pl.vision, ReadArgs: readArgs,
			Think: think, Effort: effort,
		})
	case detect.APIResponses:
		effort := pl.think
		if effort == thinkOff || effort == thinkOn {
			effort = "" // it is the model that decides whether it reasons
		}
		return responses.New(responses.Options{
			BaseURL: p.base, Model: p.card.ID, Key: p.key, Window: pl.window, Assumed: pl.assumed, Native: tools, Vision: pl.vision, ReadArgs: readArgs,
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

// readArgs reads what a model wrote as the arguments of a native call, mending what can be mended.
func readArgs(text string) (canonical json.RawMessage, cut, ok bool) {
	found, ok := args.ReadText(text)
	if !ok {
		return nil, false, false
	}
	if _, object := found.Value.(*args.Object); !object {
		return nil, false, false
	}
	canonical, err := args.Canonical(found.Value)
	return canonical, found.Cut, err == nil
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

// either is a model whose engine may turn out to have no tool calls of its own; from then on they are read from text.
type either struct {
	native, text model.Model
	plain        atomic.Bool
}

func (e *either) now() model.Model {
	if e.plain.Load() {
		return e.text
	}
	return e.native
}

// Info implements model.Model: what the model is from now on.
func (e *either) Info() model.Info { return e.now().Info() }

// Size implements model.Model.
func (e *either) Size(r model.Request) int { return e.now().Size(r) }

// Stream implements model.Model.
func (e *either) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		if !e.plain.Load() {
			again := false
			for c, err := range e.native.Stream(ctx, r) {
				if err != nil && engine.NoTools(err) {
					again = true
					break
				}
				if !yield(c, err) {
					return
				}
			}
			if !again {
				return
			}
			e.plain.Store(true)
		}
		for c, err := range e.text.Stream(ctx, r) {
			if !yield(c, err) {
				return
			}
		}
	}
}
