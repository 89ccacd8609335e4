// Package ollama speaks Ollama's own API: chats in the window that is asked for, and what is known of the models,
// fetching them included.
//
// Under /v1 Ollama cannot be told how large a window to load a model with, and it cuts what does not fit without a word.
// Its own API can: every request names the window (num_ctx), the same one for as long as the [Model] lives, because
// another one makes the engine load the model anew; truncate and shift are off, so that what does not fit is
// an error; and think is always said, because a model that can reason does so when nobody says anything.
//
// Versions before 0.12.6 do not know truncate and shift and go on cutting. What the engine counts gives them
// away: see [model.Usage], Cut.
//
// What is connected to, what is repeated and what fails how is told by package engine. Facts about the API are from
// Ollama's documents and its source, versions 0.17 to 0.40.
package ollama

import (
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// Options configure a [Model]. Only BaseURL is needed.
type Options struct {
	// BaseURL is where Ollama is: "http://127.0.0.1:11434". A path that ends in /v1 or /api, as other clients want it,
	// is taken for one without.
	BaseURL string

	// Model is the name of the model. Without one everything works but Stream.
	Model string

	Key     engine.Key  // sent as a bearer token when it is not empty: Ollama wants none, what stands in front of it may
	Headers http.Header // sent with every request, in place of our own of the same name

	// Window is the context size in tokens that the model is loaded with; 0 is model.DefaultWindow. It should not be
	// more than the model was trained for, see Card: Ollama takes less then.
	Window int

	// Think says whether and how much the model reasons before it answers. A model that cannot do what is asked does
	// what it can.
	Think Think

	// KeepAlive is how long the model stays loaded after an answer; 0 leaves that to Ollama, which takes 5 minutes, and
	// less than 0 is for ever.
	KeepAlive time.Duration

	// Native offers tools through the engine's interface. Otherwise no tools and no calls are sent, and results
	// of calls are written as user messages: a wrapper has put into words what the model is to know.
	Native bool

	// Vision says that the model reads images: the loop sends some then.
	Vision bool

	// Transport, FirstByte, Idle and Retry are as those of engine.Options.
	Transport       http.RoundTripper
	FirstByte, Idle time.Duration
	Retry           engine.Retry
}

// String names address and model only: the rest may be secret.
func (o Options) String() string {
	if address := engine.Shown(o.BaseURL); address != "" {
		return "ollama: " + o.Model + " at " + address
	}
	return "ollama: " + o.Model
}

// GoString is String, so that no verb prints a secret.
func (o Options) GoString() string { return o.String() }

// Think is how much a model reasons.
type Think string

// The ways to reason. Models of the gpt-oss family know levels only, others mostly on and off only.
const (
	ThinkOff    Think = ""
	ThinkOn     Think = "on"
	ThinkLow    Think = "low"
	ThinkMedium Think = "medium"
	ThinkHigh   Think = "high"
	ThinkMax    Think = "max"
)

const exampleURL = "http://127.0.0.1:11434"

// Model is a model of an Ollama. It is safe for use by several goroutines at once.
type Model struct {
	client    *engine.Client
	info      model.Info
	think     Think
	keepAlive time.Duration
	learned   atomic.Uint32 // what the engine or the model was found not to take, a set of quirks
	drafts    model.Drafts[body]
}

// New makes a client. It connects to nothing. A base URL that cannot be used, a window below 0 and a way to think that
// does not exist are invalid.
func New(o Options) (*Model, error) {
	const op = "ollama.New"
	switch {
	case o.Window < 0:
		return nil, jackline.E(op, jackline.Invalid, nil, "A window of %d tokens makes no sense: give a number above 0.", o.Window)
	case !slices.Contains([]Think{ThinkOff, ThinkOn, ThinkLow, ThinkMedium, ThinkHigh, ThinkMax}, o.Think):
		return nil, jackline.E(op, jackline.Invalid, nil,
			"There is no such way to think: take on, low, medium, high or max, or leave it out.")
	}
	client, err := engine.New(op, engine.Options{
		BaseURL: rootOf(o.BaseURL), API: "Ollama", Example: exampleURL, Model: o.Model,
		Key: o.Key, Headers: o.Headers, Accept: "application/x-ndjson, application/json", Transport: o.Transport,
		FirstByte: o.FirstByte, Idle: o.Idle, Retry: o.Retry, Ours: ours,
	})
	if err != nil {
		return nil, err
	}
	m := &Model{
		client: client, think: o.Think, keepAlive: o.KeepAlive,
		info: model.Info{Name: o.Model, Window: o.Window, Native: o.Native, Vision: o.Vision, Knob: model.KnobFormat},
	}
	if m.info.Window == 0 {
		m.info.Window = model.DefaultWindow
	}
	return m, nil
}

// rootOf takes off the path of an API below Ollama's address.
func rootOf(base string) string {
	path, query, asks := strings.Cut(strings.TrimSpace(base), "?")
	path = strings.TrimRight(path, "/")
	for _, api := range []string{"/v1", "/api"} {
		path = strings.TrimSuffix(path, api)
	}
	if asks {
		path += "?" + query
	}
	return path
}

// Info says what New was told. The window is that of every request.
func (m *Model) Info() model.Info { return m.info }

// String names the model and its address.
func (m *Model) String() string { return "ollama: " + m.info.Name + " at " + m.client.Address() }

// GoString is String, so that no verb prints a secret.
func (m *Model) GoString() string { return m.String() }

// Close lets go of idle connections. Answers that are being read go on.
func (m *Model) Close() error { return m.client.Close() }
