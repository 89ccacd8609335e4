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
// it to end in /v1; the error for a missing page says so. Nothing but the origin of that URL (scheme, host, port) is
// ever connected to: no proxy from the environment, no redirect to elsewhere. The owner chose the address, so it may
// be a local one.
//
// # Failures
//
// Errors are *jackline.Error values. Of what an engine writes about a failure only numbers and names of models get into
// the sentence for people, and nothing secret does: the rest stays, shortened and with keys blotted out, in the cause. A request is sent
// again, with growing pauses, when the engine is busy, failing or just coming up, but only as long as nothing of an answer
// was given. [NoTools] and [TooLong] tell two failures apart that a caller can do something about.
package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
)

// Options configure a [Model]. Only BaseURL is needed.
type Options struct {
	// BaseURL is where the API begins, usually ending in /v1: "http://127.0.0.1:11434/v1". A query is kept.
	// Credentials do not belong in it.
	BaseURL string

	// Model is the name of the model as the engine calls it. Without one only List works.
	Model string

	Key     Key         // sent as a bearer token when it is not empty
	Headers http.Header // sent with every request, in place of our own of the same name

	Window  int  // context size in tokens; 0 assumes DefaultWindow
	Assumed bool // Window is a guess

	// Native offers tools through the engine's interface. Otherwise no tools and no calls are sent, and results
	// of calls are written as user messages: a wrapper has put into words what the model is to know.
	Native bool

	// ReadArgs reads the arguments of a call, as the model wrote them, into one JSON object in canonical form. It
	// may repair: cut says that it had to close what was cut off. The default is [StrictArgs]. Empty
	// arguments never get here: they are {}.
	ReadArgs func(text string) (canonical json.RawMessage, cut bool, ok bool)

	// Transport carries the requests; nil is one of our own. Requests to another origin never reach it.
	Transport http.RoundTripper

	// FirstByte is how long an engine may say nothing at all, Idle how long it may pause within an answer. 0 is the
	// default. Loading a model and reading a long prompt on a small machine take many minutes.
	FirstByte, Idle time.Duration

	Retry Retry
}

// String names address and model only: the rest may be secret.
func (o Options) String() string {
	u, err := parseBase(o.BaseURL)
	if err != nil {
		return "openai: " + o.Model
	}
	return "openai: " + o.Model + " at " + shown(u)
}

// GoString is String, so that no verb prints a secret.
func (o Options) GoString() string { return o.String() }

// A Key is an API key. However it is printed, it does not show.
type Key string

// Format writes a placeholder whatever the verb.
func (Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// MarshalText gives a placeholder, so that no encoder writes the key.
func (Key) MarshalText() ([]byte, error) { return []byte(hidden), nil }

const hidden = "[key]"

// Retry says how a request that may be sent again is sent again. Zero fields take the defaults.
type Retry struct {
	Tries int           // attempts in all, the first included; 1 never repeats
	First time.Duration // pause after the first attempt; it doubles each time
	Max   time.Duration // longest pause of our own choice
	After time.Duration // longest pause that a server may ask for; if it wants more, the request fails at once
}

// Model is a model behind a Chat Completions server. It is safe for use by several goroutines at once.
type Model struct {
	base   *url.URL
	origin origin
	key    Key
	extra  http.Header
	client *http.Client
	own    *http.Transport // nil when the caller brought one

	info      model.Info
	readArgs  func(string) (json.RawMessage, bool, bool)
	firstByte time.Duration
	idle      time.Duration
	retry     Retry

	learned atomic.Uint32 // what the engine was found not to take, a set of quirks
}

// New makes a client. It connects to nothing. A base URL that cannot be used is invalid.
func New(o Options) (*Model, error) {
	base, err := parseBase(o.BaseURL)
	if err != nil {
		return nil, err
	}
	m := &Model{
		base: base, origin: originOf(base), key: o.Key, extra: o.Headers.Clone(),
		info:     model.Info{Name: o.Model, Window: o.Window, Assumed: o.Assumed, Native: o.Native},
		readArgs: o.ReadArgs, firstByte: orElse(o.FirstByte, firstByte), idle: orElse(o.Idle, idle),
		retry: Retry{
			Tries: orElse(o.Retry.Tries, retryTries), First: orElse(o.Retry.First, retryFirst),
			Max: orElse(o.Retry.Max, retryMax), After: orElse(o.Retry.After, retryAfter),
		},
	}
	if m.info.Window == 0 {
		m.info.Window, m.info.Assumed = DefaultWindow, true
	}
	if m.readArgs == nil {
		m.readArgs = StrictArgs
	}
	carrier := o.Transport
	if carrier == nil {
		m.own = newTransport(m.origin)
		carrier = m.own
	}
	m.client = &http.Client{
		Transport:     guard{origin: m.origin, next: carrier},
		CheckRedirect: m.origin.redirect,
	}
	return m, nil
}

func orElse[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func parseBase(text string) (*url.URL, error) {
	bad := func(cause error, format string, a ...any) error {
		return jackline.E("openai.New", jackline.Invalid, cause, format, a...)
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, bad(nil, "No address is given for the engine: name one with --base-url, for example %s.", exampleURL)
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		// The cause would repeat the text, which may hold a password.
		return nil, bad(nil, "The base URL must be an address that begins with http:// or https://, for example %s.", exampleURL)
	}
	if u.User != nil {
		return nil, bad(nil, "The base URL holds a user name or password: give credentials as a key or a header instead.")
	}
	for _, c := range u.Host {
		if c > 0x7e {
			return nil, bad(nil, "The host in the base URL has other than plain letters: write it in its xn-- form.")
		}
	}
	u.Fragment, u.RawFragment = "", ""
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// Info says what New was told.
func (m *Model) Info() model.Info { return m.info }

// String names the model and its address.
func (m *Model) String() string { return "openai: " + m.info.Name + " at " + m.address() }

// GoString is String, so that no verb prints a secret.
func (m *Model) GoString() string { return m.String() }

// address is the base URL as people are shown it.
func (m *Model) address() string { return shown(m.base) }

// shown is u without its query, which may hold a secret.
func shown(u *url.URL) string {
	bare := *u
	bare.RawQuery, bare.ForceQuery = "", false
	return bare.String()
}

// Close lets go of idle connections. Answers that are being read go on.
func (m *Model) Close() error {
	if m.own != nil {
		m.own.CloseIdleConnections()
	}
	return nil
}

// List asks the engine for the names of its models, in its own order. It asks once.
func (m *Model) List(ctx context.Context) ([]string, error) {
	limited, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	names, err := m.list(limited)
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return names, err
}

func (m *Model) list(ctx context.Context) ([]string, error) {
	resp, err := m.send(ctx, http.MethodGet, "models", nil)
	if err != nil {
		return nil, m.unreachable("openai.List", err).err
	}
	defer closeBody(resp)
	body, err := readBody(resp, maxList)
	if err != nil {
		return nil, m.unreachable("openai.List", err).err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, m.refused("openai.List", refusal{status: resp.StatusCode, header: resp.Header, body: body}).err
	}
	names, ok := modelNames(body)
	if !ok {
		return nil, m.strange("openai.List", body)
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
			if name := orElse(orElse(e.ID, e.Model), e.Name); name != "" {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			break // llama.cpp gives the same models twice, in two shapes
		}
	}
	return names, true
}
