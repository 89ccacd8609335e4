// Package anthropic speaks the Messages API: to Anthropic, and to servers that offer the same
// (https://platform.claude.com/docs/en/api/messages).
//
// It is a thin client like package openai: what is written is small and stable, what comes back is read tolerantly, and
// kinds of events and blocks that it does not know are skipped.
//
// # The address
//
// "/v1/messages" and "/v1/models" are put behind the base URL, without the "/v1" if the URL ends in that already.
//
// # Requests only grow
//
// The API has rules that a list of messages does not keep by itself. Roles alternate: messages of a person, and notes, that
// follow one another become blocks of one message. The results of all calls of one answer stand together at the
// beginning of the message behind it. No text is blank. Every call has a result: where one is missing, a line that says
// so takes its place. The first message is a person's, and so is the last. None of that looks ahead, so what is written
// for a message depends only on those before it; a request that grows repeats the blocks of the one before, byte for byte, and
// adds blocks.
//
// The one exception are the marks that tell the provider how far to cache (cache_control). They stand behind the first
// and the last block of the system message, behind the last block of the request, and where the request before ended, which is
// where the last mark of that one stood; four in all, the most that the API takes. As a request grows the last two move on. A
// mark changes no byte before it, and it is no part of what the provider compares: to its cache, and to the check of
// signed reasoning, a request with other marks is the same request.
//
// # Reasoning
//
// Blocks of reasoning come signed, and some with nothing to read in them. They go into [model.Chunk.Opaque] unread, and
// back to the same model where they stood. Some models check that nothing before such a block has changed, which a history
// that was compacted cannot keep: when a model refuses a signature the request is written once more without them.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

const (
	// DefaultURL is Anthropic's own address.
	DefaultURL = "https://api.anthropic.com"

	// DefaultWindow is the context size, in tokens, that is assumed of a model that nobody knows better: the smallest
	// among those that are offered.
	DefaultWindow = 200_000

	// version is the API that is spoken. It has not changed since; what is new is marked otherwise.
	version = "2023-06-01"
)

// How many tokens are asked for. The API wants a limit with every request.
const (
	defaultMax   = 32_000 // of an answer that nobody limits: what all models since the fourth generation give
	thoughtRoom  = 8_192  // for reasoning, on top of the answer, where no budget is given
	leastThought = 1_024  // the API takes no smaller budget
	leastAnswer  = 1_024  // an answer with less room than this is not worth a second request
)

// Options configure a [Model]. Only Model is needed.
type Options struct {
	BaseURL string // where the API begins; "" is DefaultURL. Credentials do not belong in it
	Model   string // the model's name. Without one only Cards and List work

	Key     engine.Key  // sent as x-api-key when it is not empty
	Headers http.Header // sent with every request, in place of our own of the same name

	Window  int  // context size in tokens; 0 assumes DefaultWindow
	Assumed bool // Window is a guess

	// MaxTokens limits answers that the request does not limit; 0 is 32 000, or less where the model gives less.
	MaxTokens int

	// Native offers tools through the engine's interface. Otherwise no tools and no calls are sent, and results
	// of calls are written as user messages: a wrapper has put into words what the model is to know.
	Native bool

	// Vision says that the model reads images: the loop sends some then.
	Vision bool

	// Think says whether the model reasons before it answers. Unknown leaves that to the model, No turns it off
	// where the model can, Yes turns it on.
	Think model.Known

	// Budget is how many tokens reasoning may take, for models that take a number. 0 lets the model decide; models that
	// cannot are given 8192. The tokens come on top of those of the answer.
	Budget int

	// Effort is how hard the model tries: low, medium, high, xhigh or max. "" leaves it to the model.
	Effort string

	// Transport carries the requests; nil is one of our own. Requests to another origin never reach it.
	Transport http.RoundTripper

	// FirstByte is how long the server may say nothing at all, Idle how long it may pause within an answer. 0 is the
	// default.
	FirstByte, Idle time.Duration

	Retry engine.Retry
}

// String names address and model only: the rest may be secret.
func (o Options) String() string {
	if address := engine.Shown(cmp.Or(o.BaseURL, DefaultURL)); address != "" {
		return "anthropic: " + o.Model + " at " + address
	}
	return "anthropic: " + o.Model
}

// GoString is String, so that no verb prints a secret.
func (o Options) GoString() string { return o.String() }

// Model is a model behind the Messages API. It is safe for use by several goroutines at once.
type Model struct {
	client *engine.Client
	info   model.Info
	path   string // what stands before "messages" and "models"
	max    int
	think  model.Known
	budget int
	effort string

	learned atomic.Uint32 // what the server was found not to take, a set of quirks
	refused engine.States // reasoning that it did not take back
	most    atomic.Int64  // the most tokens that the model gives in an answer; 0 until it said so
	thinks  atomic.Bool   // it reasons, asked or not
}

// New makes a client. It connects to nothing. A base URL that cannot be used is invalid.
func New(o Options) (*Model, error) {
	headers := o.Headers.Clone()
	if headers == nil {
		headers = http.Header{}
	}
	if headers.Get("Anthropic-Version") == "" {
		headers.Set("Anthropic-Version", version)
	}
	base := cmp.Or(strings.TrimSpace(o.BaseURL), DefaultURL)
	client, err := engine.New("anthropic.New", engine.Options{
		BaseURL: base, API: "Messages", Example: DefaultURL, Model: o.Model,
		Key: o.Key, KeyHeader: "X-Api-Key", Headers: headers, Accept: "text/event-stream, application/json",
		Transport: o.Transport, FirstByte: o.FirstByte, Idle: o.Idle, Retry: o.Retry,
	})
	if err != nil {
		return nil, err
	}
	m := &Model{
		client: client, path: "v1/", max: cmp.Or(max(o.MaxTokens, 0), defaultMax),
		think: o.Think, budget: max(o.Budget, 0), effort: o.Effort,
		info: model.Info{Name: o.Model, Window: o.Window, Assumed: o.Assumed, Native: o.Native, Vision: o.Vision},
	}
	if strings.HasSuffix(client.Address(), "/v1") {
		m.path = ""
	}
	if m.budget > 0 {
		m.budget = max(m.budget, leastThought)
	}
	if m.info.Window == 0 {
		m.info.Window, m.info.Assumed = DefaultWindow, true
	}
	return m, nil
}

// Info says what New was told.
func (m *Model) Info() model.Info { return m.info }

// String names the model and its address.
func (m *Model) String() string { return "anthropic: " + m.info.Name + " at " + m.client.Address() }

// GoString is String, so that no verb prints a secret.
func (m *Model) GoString() string { return m.String() }

// Close lets go of idle connections. Answers that are being read go on.
func (m *Model) Close() error { return m.client.Close() }

// How much of a list of models is read. The server has some dozens.
const (
	maxPages = 20
	pageSize = 1000 // the most that the API gives at once
)

// Cards asks for the models that the key may use, newest first, as the server lists them. Where the server tells no
// more than names, as some look-alikes do, the rest stays unknown.
func (m *Model) Cards(ctx context.Context) ([]model.Card, error) {
	const op = "anthropic.Cards"
	var cards []model.Card
	after := ""
	for range maxPages {
		query := url.Values{"limit": {"1000"}}
		if after != "" {
			query.Set("after_id", after)
		}
		body, err := m.client.Fetch(ctx, op, http.MethodGet, m.path+"models?"+query.Encode(), nil, engine.MaxList)
		if err != nil {
			return nil, err
		}
		var page modelPage
		if json.Unmarshal(body, &page) != nil || page.Data == nil {
			return nil, m.client.Strange(op, body)
		}
		for _, d := range page.Data {
			if d.ID != "" {
				cards = append(cards, d.card())
			}
		}
		if !page.More || page.Last == "" || page.Last == after || len(cards) >= maxPages*pageSize {
			break
		}
		after = page.Last
	}
	return cards, nil
}

// List asks for the names of the models.
func (m *Model) List(ctx context.Context) ([]string, error) {
	cards, err := m.Cards(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(cards))
	for i, c := range cards {
		names[i] = c.ID
	}
	return names, nil
}

// A modelPage is an answer to GET /v1/models.
type modelPage struct {
	Data []modelInfo `json:"data"`
	More bool        `json:"has_more"`
	Last string      `json:"last_id"`
}

type modelInfo struct {
	ID           string `json:"id"`
	Input        int    `json:"max_input_tokens"`
	Lifecycle    string `json:"lifecycle"`
	Capabilities *struct {
		Images     *support `json:"image_input"`
		Thinking   *support `json:"thinking"`
		Structured *support `json:"structured_outputs"`
	} `json:"capabilities"`
}

type support struct {
	Supported bool `json:"supported"`
}

// card is what d tells, and who told it.
func (d modelInfo) card() model.Card {
	c := model.Card{Engine: "anthropic", ID: d.ID, Source: map[string]string{}}
	told := func(field string) { c.Source[field] = "engine" }
	if d.Input > 0 {
		c.Trained, c.Usable = d.Input, d.Input
		told("trained")
		told("usable")
	}
	if caps := d.Capabilities; caps != nil {
		if caps.Images != nil {
			c.Vision = model.Is(caps.Images.Supported)
			told("vision")
		}
		if caps.Thinking != nil {
			c.Thinking = model.Is(caps.Thinking.Supported)
			told("thinking")
		}
		if caps.Structured != nil && caps.Structured.Supported {
			c.Constraints = []string{"json_schema"}
			told("constraints")
		}
	}
	return c
}
