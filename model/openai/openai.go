// Package openai speaks Chat Completions to any server that offers it: llama.cpp, vLLM, LM Studio, Ollama under /v1,
// OpenAI and its many look-alikes.
//
// It is a thin client, because what makes local models work is what libraries hide or drop: the
// several spellings of reasoning, calls whose fragments reuse an index, arguments that are an object, streams that end
// without a marker or hold an error. All of that is read tolerantly; what is written is small, plain
// and stable: the bytes of tools and messages of a request repeat those of the request before it in the same turn.
//
// # The address
//
// A base URL is used as it is given: "/chat/completions" and "/models" are put behind its path. Most engines want
// it to end in /v1; the error for a missing page says so. What is connected to, what is repeated and what fails how
// is told by package engine.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// Options configure a [Model]. Only BaseURL is needed.
type Options struct {
	// BaseURL is where the API begins, usually ending in /v1: "http://127.0.0.1:11434/v1". A query is kept.
	// Credentials do not belong in it.
	BaseURL string

	// Model is the name of the model as the engine calls it. Without one only List works.
	Model string

	Key     engine.Key  // sent as a bearer token when it is not empty
	Headers http.Header // sent with every request, in place of our own of the same name

	Window  int  // context size in tokens; 0 assumes model.DefaultWindow
	Assumed bool // Window is a guess

	// Native offers tools through the engine's interface. Otherwise no tools and no calls are sent, and results
	// of calls are written as user messages: a wrapper has put into words what the model is to know.
	Native bool

	// Knob is the field by which the engine is held to a form; NoKnob says that it cannot be. See package model.
	Knob model.Knob

	// Vision sends images. Otherwise they are left out: engines refuse what their model does not read.
	Vision bool

	// Transport carries the requests; nil is one of our own. Requests to another origin never reach it.
	Transport http.RoundTripper

	// FirstByte is how long an engine may say nothing at all, Idle how long it may pause within an answer. 0 is the
	// default. Loading a model and reading a long prompt on a small machine take many minutes.
	FirstByte, Idle time.Duration

	Retry engine.Retry
}

// String names address and model only: the rest may be secret.
func (o Options) String() string {
	if address := engine.Shown(o.BaseURL); address != "" {
		return "openai: " + o.Model + " at " + address
	}
	return "openai: " + o.Model
}

// GoString is String, so that no verb prints a secret.
func (o Options) GoString() string { return o.String() }

// Model is a model behind a Chat Completions server. It is safe for use by several goroutines at once.
type Model struct {
	client  *engine.Client
	info    model.Info
	learned atomic.Uint32 // what the engine was found not to take, a set of quirks
	drafts  model.Drafts[body]
}

// New makes a client. It connects to nothing. A base URL that cannot be used is invalid.
func New(o Options) (*Model, error) {
	client, err := engine.New("openai.New", engine.Options{
		BaseURL: o.BaseURL, API: "Chat Completions", Example: exampleURL, Suffix: "/v1", Model: o.Model,
		Key: o.Key, Headers: o.Headers, Accept: "text/event-stream, application/json", Transport: o.Transport,
		FirstByte: o.FirstByte, Idle: o.Idle, Retry: o.Retry,
	})
	if err != nil {
		return nil, err
	}
	m := &Model{
		client: client,
		info:   model.Info{Name: o.Model, Window: o.Window, Assumed: o.Assumed, Native: o.Native, Vision: o.Vision, Knob: o.Knob},
	}
	if m.info.Window == 0 {
		m.info.Window, m.info.Assumed = model.DefaultWindow, true
	}
	return m, nil
}

// Info says what New was told.
func (m *Model) Info() model.Info { return m.info }

// String names the model and its address.
func (m *Model) String() string { return "openai: " + m.info.Name + " at " + m.client.Address() }

// GoString is String, so that no verb prints a secret.
func (m *Model) GoString() string { return m.String() }

// Close lets go of idle connections. Answers that are being read go on.
func (m *Model) Close() error { return m.client.Close() }

// List asks the engine for the names of its models, in its own order. It asks once.
func (m *Model) List(ctx context.Context) ([]string, error) {
	const op = "openai.List"
	body, err := m.client.Fetch(ctx, op, http.MethodGet, "models", nil, engine.MaxList)
	if err != nil {
		return nil, err
	}
	names, ok := modelNames(body)
	if !ok {
		return nil, m.client.Strange(op, body)
	}
	return names, nil
}

// modelNames reads the answer to GET /models, in the shapes that engines give it.
func modelNames(body []byte) ([]string, bool) {
	type entry struct {
		ID    string `json:"id"`
		Model string `json:"model"`
		Name  string `json:"name"`
	}
	var list struct {
		Data   []entry `json:"data"`
		Models []entry `json:"models"`
		Object string  `json:"object"`
	}
	var bare []entry
	if json.Unmarshal(body, &list) != nil && json.Unmarshal(body, &bare) != nil {
		return nil, false
	}
	if list.Data == nil && list.Models == nil && bare == nil && list.Object != "list" {
		return nil, false
	}
	names := []string{}
	for _, entries := range [][]entry{list.Data, list.Models, bare} {
		for _, e := range entries {
			if name := cmp.Or(e.ID, e.Model, e.Name); name != "" {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			break // llama.cpp gives the same models twice, in two shapes
		}
	}
	return names, true
}

const exampleURL = "http://127.0.0.1:11434/v1"
