// Package engine is the way to a server that runs models and that the owner chose: one exact origin, a key that never
// shows, limits on everything that is read, and sentences for what goes wrong. The adapters under model/ are built on it;
// it knows none of their formats, and nothing of what a model is asked.
//
// # The origin
//
// Nothing but the origin of the base URL (scheme, host, port) is ever connected to: no proxy from the environment, no
// redirect to elsewhere. The owner chose the address, so it may be a local one.
//
// # Failures
//
// Errors are *jackline.Error values. Of what an engine writes about a failure only numbers and names of models get into
// the sentence for people, and nothing secret does: the rest stays, shortened and with keys blotted out, in the cause. A
// request is sent again, with growing pauses, when the engine is busy, failing or just coming up, but only as long as nothing
// of an answer was given. [NoTools] and [TooLong] tell two failures apart that a caller can do something about.
package engine

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	jackline "github.com/jackline-ai/jackline"
)

// Options configure a [Client]. BaseURL and API are needed.
type Options struct {
	// BaseURL is where the API begins. A query is kept. Credentials do not belong in it.
	BaseURL string

	// API is what the server is expected to speak, for sentences: "Chat Completions", "Ollama".
	API string

	Example string // a base URL for sentences
	Suffix  string // what the path of most base URLs ends in: "/v1"; "" for none
	Model   string // the model that is asked, for sentences; may be empty

	Key       Key
	KeyHeader string      // the header that carries the key; "" sends it as a bearer token
	Headers   http.Header // sent with every request, in place of our own of the same name
	Accept    string      // of requests with a body; "" takes JSON

	// Transport carries the requests; nil is one of our own. Requests to another origin never reach it.
	Transport http.RoundTripper

	// FirstByte is how long an engine may say nothing at all, Idle how long it may pause within an answer. 0 is the
	// default. Loading a model and reading a long prompt on a small machine take many minutes.
	FirstByte, Idle time.Duration

	Retry Retry

	// Ours says what a refusal means that is in the API's own words, before anything else is looked at; nil is another one.
	// It may be nil itself.
	Ours func(c *Client, op string, r Refusal, p Problem) *Trouble
}

// A Key is an API key. However it is printed, it does not show.
type Key string

// Format writes a placeholder whatever the verb.
func (Key) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(hidden)) }

// MarshalText gives a placeholder, so that no encoder writes the key.
func (Key) MarshalText() ([]byte, error) { return []byte(hidden), nil }

const hidden = "[key]"

// A Client sends requests to one engine. It is safe for use by several goroutines at once.
type Client struct {
	o      Options
	base   *url.URL
	client *http.Client
	own    *http.Transport // nil when the caller brought one
}

// New makes a client. It connects to nothing. A base URL that cannot be used is invalid, in the name of op.
func New(op string, o Options) (*Client, error) {
	base, err := parseBase(op, o)
	if err != nil {
		return nil, err
	}
	o.Headers = o.Headers.Clone()
	o.FirstByte, o.Idle = cmp.Or(o.FirstByte, firstByte), cmp.Or(o.Idle, idle)
	o.Accept = cmp.Or(o.Accept, "application/json")
	o.Retry = Retry{
		Tries: cmp.Or(o.Retry.Tries, retryTries), First: cmp.Or(o.Retry.First, retryFirst),
		Max: cmp.Or(o.Retry.Max, retryMax), After: cmp.Or(o.Retry.After, retryAfter),
	}
	c := &Client{o: o, base: base}
	origin := originOf(base)
	carrier := o.Transport
	if carrier == nil {
		c.own = newTransport(origin)
		carrier = c.own
	}
	c.client = &http.Client{
		Transport:     guard{origin: origin, next: carrier},
		CheckRedirect: origin.redirect,
	}
	return c, nil
}

func parseBase(op string, o Options) (*url.URL, error) {
	bad := func(format string, a ...any) error {
		return jackline.E(op, jackline.Invalid, nil, format, a...)
	}
	text := strings.TrimSpace(o.BaseURL)
	if text == "" {
		return nil, bad("No address is given for the engine: name one with --base-url, for example %s.", o.Example)
	}
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" {
		// The cause would repeat the text, which may hold a password.
		return nil, bad("The base URL must be an address that begins with http:// or https://, for example %s.", o.Example)
	}
	if u.User != nil {
		return nil, bad("The base URL holds a user name or password: give credentials as a key or a header instead.")
	}
	for _, c := range u.Host {
		if c > 0x7e {
			return nil, bad("The host in the base URL has other than plain letters: write it in its xn-- form.")
		}
	}
	u.Fragment, u.RawFragment = "", ""
	u.Path = strings.TrimRight(u.Path, "/")
	u.RawPath = strings.TrimRight(u.RawPath, "/")
	return u, nil
}

// For is c with another model in its sentences. Both share their connections.
func (c *Client) For(model string) *Client {
	other := *c
	other.o.Model = model
	return &other
}

// Model is the name of the model in sentences.
func (c *Client) Model() string { return c.o.Model }

// Address is the base URL as people are shown it: without its query, which may hold a secret.
func (c *Client) Address() string { return shown(c.base) }

// Shown is base as people may be shown it, or "" when it is no address that New takes.
func Shown(base string) string {
	u, err := parseBase("engine.Shown", Options{BaseURL: base})
	if err != nil {
		return ""
	}
	return shown(u)
}

func shown(u *url.URL) string {
	bare := *u
	bare.RawQuery, bare.ForceQuery = "", false
	return bare.String()
}

// Close lets go of idle connections. Answers that are being read go on.
func (c *Client) Close() error {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
	return nil
}
