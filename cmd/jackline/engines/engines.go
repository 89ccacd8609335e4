// Package engines makes the models that chats talk to: which engine, which way of calling tools, and what can be said of it
// without asking. It reads no settings; whoever does gives it [Options].
package engines

import (
	"context"
	"encoding/json"
	"iter"
	"net"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/dialect"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/prompted"
	"github.com/jackline-ai/jackline/model/script"
	"github.com/jackline-ai/jackline/turn"
)

// Options say which model there is, in the words of the settings of group model.
type Options struct {
	Name, BaseURL, KeyEnv, ToolMode string
	Window                          int
	Vision                          bool // it reads images

	File string              // where the settings are, for those who are told to change them
	Env  func(string) string // the environment, for the engine's key
}

// Engines makes the models that sessions talk to, once each.
type Engines struct {
	o Options

	mu     sync.Mutex
	made   map[string]turn.Models
	only   string // the engine's one model, when none is named
	looked time.Time
}

// New makes the engines of these options. It asks nothing.
func New(o Options) *Engines { return &Engines{o: o} }

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

const (
	// fewTokens is the window below which the short form of the tools text is taken.
	fewTokens = 8192
	// mostCalls is how many calls are read from one answer. The loop takes fewer, and tells the model so.
	mostCalls = 64
	// lookAgain is how long the answer to "which models do you have?" holds.
	lookAgain = 30 * time.Second
	// maxScript bounds a transcript.
	maxScript = 4 << 20
)

// Model is the model of a session: its own, or the configured one.
func (e *Engines) Model(ctx context.Context, s jackline.Session) (turn.Models, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := e.o.Name
	if s.Model != "" {
		// A session's model comes from the API; only the owner's own settings may name a file.
		if strings.HasPrefix(s.Model, "script:") && s.Model != name {
			return turn.Models{}, jackline.E("engines", jackline.Invalid, nil, "A chat cannot choose a transcript file; start the server with --model %s.", s.Model)
		}
		name = s.Model
	}
	if e.o.ToolMode == "envelope" {
		return turn.Models{}, jackline.E("engines", jackline.Invalid, nil,
			"The tool mode envelope is not built yet. Use auto, native or text.")
	}
	if name == "" {
		var err error
		if name, err = e.onlyModel(ctx); err != nil {
			return turn.Models{}, err
		}
	}
	if m, ok := e.made[name]; ok {
		return m, nil
	}
	m, err := e.make(name)
	if err != nil {
		return turn.Models{}, err
	}
	if e.made == nil {
		e.made = map[string]turn.Models{}
	}
	e.made[name] = m
	return m, nil
}

func (e *Engines) make(name string) (turn.Models, error) {
	window, mode := e.o.Window, e.o.ToolMode
	if file, ok := strings.CutPrefix(name, "script:"); ok {
		raw, err := scripted(file, script.Options{Native: mode == "native", Window: window, Vision: e.o.Vision})
		if err != nil {
			return turn.Models{}, err
		}
		return modelsOf(raw, mode == "native"), nil
	}
	o := openai.Options{
		BaseURL: e.o.BaseURL, Model: name, Window: window, Assumed: window == 0, Vision: e.o.Vision, ReadArgs: readArgs,
	}
	if v := e.o.KeyEnv; v != "" {
		o.Key = engine.Key(e.o.Env(v))
		if o.Key == "" {
			return turn.Models{}, jackline.E("engines", jackline.Invalid, nil, "The environment variable %s, which should hold the engine's key, is not set.", v)
		}
	}
	text, err := openai.New(o)
	if err != nil {
		return turn.Models{}, err
	}
	o.Native = true
	native, err := openai.New(o)
	if err != nil {
		return turn.Models{}, err
	}
	switch {
	case mode == "text", mode == "auto" && !cloud(o.BaseURL):
		return modelsOf(text, false), nil
	case mode == "native":
		return turn.Models{Main: native, Raw: text}, nil
	default:
		// The engine is taken at its word that it knows no tools, once.
		return turn.Models{Main: &either{native: native, text: modelsOf(text, false).Main}, Raw: text}, nil
	}
}

// Status is how the model of new chats is doing, as far as is known without asking the engine.
func (e *Engines) Status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	st := Status{Name: e.o.Name, BaseURL: e.o.BaseURL, Window: e.o.Window}
	if st.Name == "" {
		st.Name = e.only
	}
	if strings.HasPrefix(st.Name, "script:") {
		st.BaseURL = ""
	}
	if st.Name == "" {
		st.Why = "No model is named yet; the engine's only one is taken if it has just one. Name one with --model, JACKLINE_MODEL, or model.name in the configuration file."
		return st
	}
	m, ok := e.made[st.Name]
	if !ok {
		var err error
		if m, err = e.make(st.Name); err != nil {
			st.Why = jackline.Say(err)
			return st
		}
		if e.made == nil {
			e.made = map[string]turn.Models{}
		}
		e.made[st.Name] = m
	}
	info := m.Main.Info()
	// The model itself knows how it makes calls just now: an engine may have turned out to know none.
	st.Window, st.Assumed, st.Vision, st.Mode, st.Ready = info.Window, info.Assumed, info.Vision, "text", true
	if info.Native {
		st.Mode = "native"
	}
	return st
}

// modelsOf wraps a model that has no tool calls of its own.
func modelsOf(raw model.Model, native bool) turn.Models {
	if native {
		return turn.Models{Main: raw, Raw: raw}
	}
	return turn.Models{Main: prompted.Wrap(raw, prompted.Options{Options: dialect.Options{Calls: mostCalls}, Brief: raw.Info().Window < fewTokens}), Raw: raw}
}

// cloud reports whether an address is out on the network: such engines have tool calls of their own.
func cloud(base string) bool {
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

// onlyModel asks the engine for its models; where there is exactly one there is nothing to choose.
func (e *Engines) onlyModel(ctx context.Context) (string, error) {
	if e.only != "" && time.Since(e.looked) < lookAgain {
		return e.only, nil
	}
	o := openai.Options{BaseURL: e.o.BaseURL}
	if v := e.o.KeyEnv; v != "" {
		o.Key = engine.Key(e.o.Env(v))
	}
	m, err := openai.New(o)
	if err != nil {
		return "", err
	}
	names, err := m.List(ctx)
	if err != nil {
		return "", jackline.E("engines", jackline.NoModel, err,
			"No model is configured, and the engine at %s does not say which it has. Start one (ollama serve, llama-server, LM Studio) and name a model: jackline --model NAME, JACKLINE_MODEL, or model.name in %s.",
			o.BaseURL, e.o.File)
	}
	switch len(names) {
	case 0:
		return "", jackline.E("engines", jackline.NoModel, nil, "The engine at %s has no model yet. Get one, for example: ollama pull qwen3:4b", o.BaseURL)
	case 1:
		e.only, e.looked = names[0], time.Now()
		return names[0], nil
	}
	const shown = 12
	list := strings.Join(names[:min(len(names), shown)], ", ")
	return "", jackline.E("engines", jackline.NoModel, nil,
		"The engine at %s has several models: %s. Name one: --model NAME, JACKLINE_MODEL, or model.name in %s.", o.BaseURL, list, e.o.File)
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
