// Package responses speaks OpenAI's Responses API, for servers and models that offer nothing else
// (https://platform.openai.com/docs/api-reference/responses).
//
// Nothing is kept by the server: each request holds the whole conversation (store is false). It is a thin client like
// package openai: what is written is small and stable, so that a request that grows repeats the bytes of the one before
// it, and what comes back is read tolerantly: kinds of events and items that it does not know are skipped.
//
// # The address
//
// A base URL is used as it is given: "/responses" and "/models" are put behind its path. Most servers want it to end in
// /v1; the error for a missing page says so.
//
// # Reasoning
//
// A model's reasoning comes sealed, with at most a summary that can be read. The sealed items go into
// [model.Chunk.Opaque] unread, and back to the same model where they stood. When a server does not take one back, the
// request is written once more without them.
package responses

import (
	"context"
	"encoding/json"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

const exampleURL = "https://api.openai.com/v1"

const (
	// leastOut is the smallest limit on tokens that OpenAI takes.
	leastOut = 16

	// thoughtRoom is how many tokens a model that reasons may take for that, on top of the answer's: the API counts both.
	thoughtRoom = 8192
)

// Options configure a [Model]. Only BaseURL is needed.
type Options struct {
	// BaseURL is where the API begins, usually ending in /v1. A query is kept. Credentials do not belong in it.
	BaseURL string

	// Model is the name of the model as the server calls it. Without one only List works.
	Model string

	Key     engine.Key  // sent as a bearer token when it is not empty
	Headers http.Header // sent with every request, in place of our own of the same name

	Window  int  // context size in tokens; 0 assumes [model.DefaultWindow]
	Assumed bool // Window is a guess

	// Native offers tools through the API. Otherwise no tools and no calls are sent, and results of calls are written as user
	// messages: a wrapper has put into words what the model is to know.
	Native bool

	// Vision says that the model reads images: the loop sends some then.
	Vision bool

	// Effort is how much the model reasons: none, minimal, low, medium, high, or what else the model knows. "" leaves it to the
	// model.
	Effort string

	// Summaries asks for what can be read of the reasoning. Models that do not reason, and accounts that may not see it,
	// are asked once.
	Summaries bool

	// Transport carries the requests; nil is one of our own. Requests to another origin never reach it.
	Transport http.RoundTripper

	// FirstByte is how long the server may say nothing at all, Idle how long it may pause within an answer. 0 is the
	// default.
	FirstByte, Idle time.Duration

	Retry engine.Retry
}

// String names address and model only: the rest may be secret.
func (o Options) String() string {
	if address := engine.Shown(o.BaseURL); address != "" {
		return "responses: " + o.Model + " at " + address
	}
	return "responses: " + o.Model
}

// GoString is String, so that no verb prints a secret.
func (o Options) GoString() string { return o.String() }

// Model is a model behind the Responses API. It is safe for use by several goroutines at once.
type Model struct {
	client    *engine.Client
	info      model.Info
	effort    string
	summaries bool

	learned atomic.Uint32 // what the server was found not to take, a set of quirks
	refused engine.States // reasoning that it did not take back
	thinks  atomic.Bool   // it reasons
}

// New makes a client. It connects to nothing. A base URL that cannot be used is invalid.
func New(o Options) (*Model, error) {
	client, err := engine.New("responses.New", engine.Options{
		BaseURL: o.BaseURL, API: "Responses", Example: exampleURL, Suffix: "/v1", Model: o.Model,
		Key: o.Key, Headers: o.Headers, Accept: "text/event-stream, application/json", Transport: o.Transport,
		FirstByte: o.FirstByte, Idle: o.Idle, Retry: o.Retry,
	})
	if err != nil {
		return nil, err
	}
	m := &Model{
		client: client, effort: o.Effort, summaries: o.Summaries,
		info: model.Info{Name: o.Model, Window: o.Window, Assumed: o.Assumed, Native: o.Native, Vision: o.Vision, Knob: model.KnobStrict},
	}
	if m.info.Window == 0 {
		m.info.Window, m.info.Assumed = model.DefaultWindow, true
	}
	return m, nil
}

// Info says what New was told.
func (m *Model) Info() model.Info { return m.info }

// String names the model and its address.
func (m *Model) String() string { return "responses: " + m.info.Name + " at " + m.client.Address() }

// GoString is String, so that no verb prints a secret.
func (m *Model) GoString() string { return m.String() }

// Close lets go of idle connections. Answers that are being read go on.
func (m *Model) Close() error { return m.client.Close() }

// List asks the server for the names of its models, in its own order. It asks once.
func (m *Model) List(ctx context.Context) ([]string, error) {
	const op = "responses.List"
	body, err := m.client.Fetch(ctx, op, http.MethodGet, "models", nil, engine.MaxList)
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil || list.Data == nil {
		return nil, m.client.Strange(op, body)
	}
	names := []string{}
	for _, d := range list.Data {
		if d.ID != "" {
			names = append(names, d.ID)
		}
	}
	return names, nil
}
