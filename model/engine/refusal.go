package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/phrase"
)

// A Refusal is an answer that is an error, as status of the whole response or as an object within a stream.
type Refusal struct {
	Status int // 0 within a stream that does not say
	Header http.Header
	Body   []byte
	Tools  bool // the request offered tools
	Held   bool // the request held the model to a form
}

var (
	errNoTools = errors.New("no tools here")
	errNoForm  = errors.New("no form here")
)

// NoForm reports whether err says that the engine does not hold the model to the form that was asked for: the same question can
// be asked in text mode.
func NoForm(err error) bool { return errors.Is(err, errNoForm) }

// NoTools reports whether err says that this model or engine takes no tools: the same question can be asked in
// text mode.
func NoTools(err error) bool { return errors.Is(err, errNoTools) }

// tooLong is in the chain of errors about prompts that do not fit.
type tooLong struct {
	prompt, window int // tokens; 0 where the engine did not say
	cause          error
}

// Error is what the engine said.
func (e *tooLong) Error() string { return e.cause.Error() }

// Unwrap gives the cause.
func (e *tooLong) Unwrap() error { return e.cause }

// TooLong reports whether err says that the request does not fit the model's window, and the numbers of tokens that the
// engine gave: 0 for those it did not give.
func TooLong(err error) (prompt, window int, ok bool) {
	var e *tooLong
	if !errors.As(err, &e) {
		return 0, 0, false
	}
	return e.prompt, e.window, true
}

// A Problem is what was found in the body of a refusal.
type Problem struct {
	text   string // all that it says, in lower case; nothing of a page
	page   bool   // it is a web page
	status int    // its own idea of a status, or 0
	prompt int    // numbers of tokens that llama.cpp gives
	window int
}

// ReadProblem looks for an error in the shapes that servers give it: {"error": {…}} or {"error": "…"}, {"message"},
// {"detail"}, a list of one of these, or plain text. Ollama passes on what llama.cpp says as a string that holds JSON.
func ReadProblem(body []byte) Problem {
	var p Problem
	if body = bytes.TrimSpace(body); bytes.HasPrefix(body, []byte("<")) {
		return Problem{page: true}
	}
	var list []json.RawMessage
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	type fields struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		Type    string          `json:"type"`
		Param   string          `json:"param"`
		Code    json.RawMessage `json:"code"`
		Status  json.RawMessage `json:"status"`
		Prompt  int             `json:"n_prompt_tokens"`
		Window  int             `json:"n_ctx"`
	}
	var said []string
	raw := json.RawMessage(body)
	for range maxWrapped {
		if len(raw) == 0 {
			break
		}
		var f fields
		// A field of another type than expected is left out, the others are read all the same.
		var mismatch *json.UnmarshalTypeError
		if err := json.Unmarshal(raw, &f); err != nil && !errors.As(err, &mismatch) {
			said = append(said, string(raw))
			break
		}
		said = append(said, loose(f.Message), loose(f.Detail), f.Type, f.Param, loose(f.Code))
		for _, code := range []json.RawMessage{f.Code, f.Status} {
			if n, err := strconv.Atoi(loose(code)); err == nil && n >= 400 && n <= 599 && p.status == 0 {
				p.status = n
			}
		}
		p.prompt, p.window = max(p.prompt, f.Prompt), max(p.window, f.Window)
		raw = f.Error
		if len(raw) > 0 && raw[0] != '{' {
			inner := loose(raw)
			if !strings.HasPrefix(inner, "{") {
				said = append(said, inner)
				break
			}
			raw = json.RawMessage(inner)
		}
	}
	p.text = strings.ToLower(strings.Join(said, " "))
	return p
}

// loose is a JSON value as text: a string without its quotes, anything else as it is.
func loose(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Says reports whether p holds one of the phrases. A phrase may be several words joined by "*", which must all be there.
func (p Problem) Says(phrases ...string) bool {
	for _, phrase := range phrases {
		all := true
		for part := range strings.SplitSeq(phrase, "*") {
			all = all && strings.Contains(p.text, part)
		}
		if all {
			return true
		}
	}
	return false
}

// What engines say, learned from their documents and from reports of their users.
func (p Problem) isTooLong() bool {
	return p.Says("exceed_context_size", "context_length_exceeded", "maximum context length", "context length*exceed",
		"available context size", "context length is only", "exceed context window", "context window*exceed", "context length of only",
		"n_keep*n_ctx", "prompt is too long", "prompt too long", "too large for model*context",
		"input token count*exceeds the maximum", "input tokens exceed", "reduce the length of the messages", "context the overflows",
		"greater than the context length", "longer than the model's context")
}

func (p Problem) isNoTools() bool {
	return p.Says("does not support tools", "not support tool", "tools param requires --jinja", "unsupported param: tools",
		"enable-auto-tool-choice", "support tool use", "tool calling is not supported", "tool use is not supported",
		"tools is not supported", "tools are not supported", "function calling is not supported", "does not support function")
}

func (p Problem) isNoModel(status int) bool {
	return p.Says("model_not_found", "model_not_available", "not a valid model", "invalid model", "no models loaded",
		"no model loaded", "unknown model", "unknown_model", "no endpoints found for") ||
		namedModel.MatchString(p.text) || status == http.StatusNotFound && p.Says("model")
}

// isNoForm is how engines refuse the field that holds a model to a form, or what stands in it.
func (p Problem) isNoForm() bool {
	return p.Says("response_format", "json_schema", "structured_outputs", "structured output", "guided_json", "guided decoding", "grammar",
		"invalid format", "unsupported schema", "invalid schema", "failed to parse schema", "failed to load model vocabulary required for format",
		"text.format", "json schema")
}

// isNoAPI is how LM Studio says, with status 200, that the path is wrong.
func (p Problem) isNoAPI() bool { return p.Says("unexpected endpoint", "unknown endpoint") }

// Refused says what a refusal means.
func (c *Client) Refused(op string, r Refusal) *Trouble {
	p := ReadProblem(r.Body)
	if t := c.Meant(op, r, p); t != nil {
		return t
	}
	return c.Failing(op, r, p)
}

// Status is what r came with, else what its body says of itself, else 0.
func (p Problem) Status(r Refusal) int { return cmp.Or(r.Status, p.status) }

// A sayer makes the trouble for one refusal.
type sayer func(again Again, k jackline.Kind, format string, a ...any) *Trouble

func (c *Client) sayer(op string, r Refusal, status int) (sayer, error) {
	cause := fmt.Errorf("status %d: %w", status, c.excerpt(r.Body))
	return func(again Again, k jackline.Kind, format string, a ...any) *Trouble {
		return &Trouble{Again: again, Err: jackline.E(op, k, cause, format, a...)}
	}, cause
}

// Meant says what a refusal means that speaks of the request, the key or the model; nil is another one. An adapter that
// finds nothing of its own in that goes on to Failing.
func (c *Client) Meant(op string, r Refusal, p Problem) *Trouble {
	if c.o.Ours != nil {
		if t := c.o.Ours(c, op, r, p); t != nil {
			return t
		}
	}
	status := p.Status(r)
	say, cause := c.sayer(op, r, status)
	name := c.o.Model
	switch {
	case status == http.StatusForbidden && p.page:
		return &Trouble{Err: c.Strange(op, r.Body)}
	case status == http.StatusUnauthorized || status == http.StatusForbidden && !p.isTooLong():
		if c.o.Key == "" {
			return say(Never, jackline.Forbidden,
				"The engine at %s wants a key: name the environment variable that holds it with --api-key-env, or add the engine with its key.", c.Address())
		}
		return say(Never, jackline.Forbidden,
			"The engine at %s does not accept the key it was given: check the variable that --api-key-env names, or the key that the engine was added with.", c.Address())
	case p.isTooLong() || status == http.StatusRequestEntityTooLarge:
		prompt, window := p.numbers()
		return &Trouble{Err: jackline.E(op, jackline.Invalid, &tooLong{prompt: prompt, window: window, cause: cause},
			"%s", sayTooLong(name, prompt, window))}
	case r.Tools && p.isNoTools():
		return &Trouble{Err: jackline.E(op, jackline.Invalid, fmt.Errorf("%w: %w", errNoTools, cause),
			"%s takes no tools at %s. It can still be asked in text mode.", name, c.Address())}
	case r.Held && p.isNoForm() && status != http.StatusTooManyRequests:
		return &Trouble{Err: jackline.E(op, jackline.Invalid, fmt.Errorf("%w: %w", errNoForm, cause),
			"The engine at %s does not hold %s to a form. It can still be asked in text mode.", c.Address(), name)}
	case p.isNoModel(status):
		t := say(Never, jackline.NoModel, "The engine at %s has no model %q.", c.Address(), name)
		t.Lost = true
		return t
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed || p.isNoAPI():
		return say(Never, jackline.Unavailable, "There is no %s API at %s.%s", c.o.API, c.Address(), c.trySuffix())
	case status == http.StatusPaymentRequired || p.Says("insufficient_quota", "exceeded your current quota", "credit balance"):
		return say(Never, jackline.Forbidden, "The account that this key belongs to at %s has no credit left.", c.Address())
	}
	return nil
}

// Failing says what a refusal means that speaks of the server's state rather than of the request.
func (c *Client) Failing(op string, r Refusal, p Problem) *Trouble {
	status := p.Status(r)
	say, _ := c.sayer(op, r, status)
	after := retryAfterOf(r.Header, time.Now())
	switch {
	case status == http.StatusTooManyRequests:
		when := "later"
		if after > 0 {
			when = "in " + inWords(after)
		}
		t := say(Busy, jackline.Unavailable, "The engine at %s limits how often it may be asked: try again %s.", c.Address(), when)
		t.After = after
		return t
	case status == http.StatusServiceUnavailable && p.Says("loading model", "model is loading", "loading the model"):
		return say(Loading, jackline.Unavailable,
			"The engine at %s is still loading its model: try again in a moment.", c.Address())
	case p.Says("more system memory", "out of memory", "insufficient memory", "failed to allocate"):
		return say(Never, jackline.Unavailable,
			"The machine at %s has too little memory for %s: take a smaller model or a smaller window.",
			c.Address(), c.o.Model)
	case status == http.StatusNotImplemented:
		return say(Never, jackline.Unavailable, "The engine at %s does not know how to do this (status %d).", c.Address(), status)
	case status == http.StatusRequestTimeout || status == http.StatusGatewayTimeout:
		return say(Busy, jackline.Timeout, "The engine at %s took too long (status %d). Try again.", c.Address(), status)
	case status == 0:
		return say(Busy, jackline.Unavailable,
			"The engine at %s broke off its answer with an error. Its own log says why.", c.Address())
	case status >= http.StatusInternalServerError:
		t := say(Busy, jackline.Unavailable, "The engine at %s failed (status %d). Its own log says why.", c.Address(), status)
		t.After = after
		return t
	case p.Says("client sent an http request to an https server", "plain http request was sent to https"):
		return say(Never, jackline.Unavailable, "The engine at %s speaks https: write https:// in --base-url.", c.Address())
	case status < http.StatusBadRequest:
		return say(Never, jackline.Unavailable,
			"What %s answers (status %d) is no answer of %s server. Check --base-url.", c.Address(), status, article(c.o.API))
	}
	return c.NotTaken(op, r, p)
}

// NotTaken says that the engine does not take the request, without knowing why. A form is the most likely reason, where there
// is one: it is what differs from requests that were taken.
func (c *Client) NotTaken(op string, r Refusal, p Problem) *Trouble {
	say, cause := c.sayer(op, r, p.Status(r))
	if r.Held {
		return &Trouble{Err: jackline.E(op, jackline.Invalid, fmt.Errorf("%w: %w", errNoForm, cause),
			"The engine at %s refuses a request that holds %s to a form (status %d).", c.Address(), c.o.Model, p.Status(r))}
	}
	return say(Never, jackline.Invalid,
		"The engine at %s refuses the request (status %d). Jackline's log says what it answered.", c.Address(), p.Status(r))
}

func (c *Client) trySuffix() string {
	if c.o.Suffix == "" || strings.HasSuffix(c.base.Path, c.o.Suffix) {
		return " Check --base-url."
	}
	return " Try " + strings.TrimRight(c.Address(), "/") + c.o.Suffix + " as --base-url."
}

var (
	namedModel = phrase.New("\\bmodel ['\"`]?[^ ]{1,200}['\"`]? (?:was |is )?(?:not found|does not exist|not exist)")

	windowNumber = phrase.New(`(?:maximum context length (?:is|of)|context length (?:is|of)(?: only)?|context size \(|` +
		`context window of|n_ctx: ?|tokens > |configured limit of|maximum number of tokens allowed \(|for model with) ?([0-9][0-9,]*)`)
	promptNumber = phrase.New(`(?:you requested|resulted in|passed|request \(|n_keep: ?|prompt is too long:|keep the first|` +
		`requested tokens \(|input token count \(|prompt contains|request has|your prompt contains(?: at least)?) ?([0-9][0-9,]*)`)
)

// numbers are the tokens of the prompt and of the window, as far as the text gives them.
func (p Problem) numbers() (prompt, window int) {
	find := func(known int, re *phrase.Phrase) int {
		if known > 0 {
			return known
		}
		if found := re.FindStringSubmatch(p.text); found != nil {
			n, err := strconv.Atoi(strings.ReplaceAll(found[1], ",", ""))
			if err == nil {
				return n
			}
		}
		return 0
	}
	return find(p.prompt, promptNumber), find(p.window, windowNumber)
}

func sayTooLong(name string, prompt, window int) string {
	const help = " Load it with a larger context, or start a new session."
	switch {
	case prompt > 0 && prompt < window:
		return fmt.Sprintf("The request takes %d tokens of the %d that %s is loaded with: too few are left for the answer.",
			prompt, window, name) + help
	case prompt > 0 && window > 0:
		return fmt.Sprintf("The request takes %d tokens, but %s is loaded with room for %d.", prompt, name, window) + help
	case window > 0:
		return fmt.Sprintf("The request is too long for %s, which is loaded with room for %d tokens.", name, window) + help
	}
	return fmt.Sprintf("The request is too long for the window that %s is loaded with.", name) + help
}

// Cause is what a refusal says, short and without secrets: the cause of an error.
func (c *Client) Cause(r Refusal) error {
	return fmt.Errorf("status %d: %w", ReadProblem(r.Body).Status(r), c.excerpt(r.Body))
}
