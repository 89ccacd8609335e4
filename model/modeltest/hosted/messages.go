package hosted

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/script"
)

// MessagesRules are what one server of the Messages API is like. The zero value takes every model and any key, and any of the
// ways to ask for reasoning.
type MessagesRules struct {
	Models  []ModelInfo // what is offered; a request for another is refused. Empty offers "script" and takes any
	Key     string      // what x-api-key must hold, or a bearer token; "" asks for none
	MaxOut  int         // the most that max_tokens may be; 0 is any number
	Refuses []string    // types of thinking that are refused: enabled, adaptive, disabled
	Bound   bool        // signed reasoning is tied to all that stood before it
	Redacts bool        // reasoning comes with nothing to read in it
}

// ModelInfo is a model as GET /v1/models gives it.
type ModelInfo map[string]any

// Messages is a server of the Messages API (https://platform.claude.com/docs/en/api/messages) that plays a script. It is
// as strict with what it is sent as the API is known to be, and keeps a prefix cache as the API does. A request that
// offers tools gets native calls, another one gets them written into the text. Thoughts come as signed blocks, whether or
// not reasoning was asked for, as from models that always reason.
type Messages struct {
	script *script.Script
	rules  MessagesRules
	mux    *http.ServeMux

	mu     sync.Mutex
	bodies [][]byte
	heads  []http.Header
	errs   []error
	cached map[[sha256.Size]byte]bool
	counts []model.Usage // what the cache made of each request
}

// MessagesHandler makes a server that plays s by rules.
func MessagesHandler(s *script.Script, rules MessagesRules) *Messages {
	e := &Messages{script: s, rules: rules, mux: http.NewServeMux(), cached: map[[sha256.Size]byte]bool{}}
	e.mux.HandleFunc("POST /v1/messages", e.complete)
	e.mux.HandleFunc("GET /v1/models", e.models)
	return e
}

// A MessagesServer is a [Messages] that listens on loopback.
type MessagesServer struct {
	*Messages
	URL string // base URL, without /v1
}

// NewMessages starts a server that is stopped when the test ends.
func NewMessages(t testing.TB, s *script.Script, rules MessagesRules) *MessagesServer {
	t.Helper()
	e := MessagesHandler(s, rules)
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	return &MessagesServer{Messages: e, URL: srv.URL}
}

// requestID names every answer.
const requestID = "req_011CScript"

// ServeHTTP answers one request.
func (e *Messages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Request-Id", requestID)
	switch {
	case e.rules.Key != "" && r.Header.Get("X-Api-Key") != e.rules.Key && r.Header.Get("Authorization") != "Bearer "+e.rules.Key:
		refuseMessage(w, http.StatusUnauthorized, "invalid x-api-key")
	case r.Header.Get("Anthropic-Version") == "":
		refuseMessage(w, http.StatusBadRequest, "anthropic-version: header is required")
	default:
		e.mux.ServeHTTP(w, r)
	}
}

// Sent are the bodies of all requests for an answer so far, byte for byte.
func (e *Messages) Sent() [][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.bodies)
}

// Headers are the headers of all requests for an answer so far.
func (e *Messages) Headers() []http.Header {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.heads)
}

// Errs are what was wrong with requests: the API's rules, or checks of the script.
func (e *Messages) Errs() []error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.errs)
}

// Counts are what the cache made of the requests that were answered: of how many tokens, taken to be four bytes each,
// how many were there already.
func (e *Messages) Counts() []model.Usage {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.counts)
}

// CacheMark is the mark that tells the API how far to cache.
const CacheMark = `,"cache_control":{"type":"ephemeral"}`

// Unmarked are bodies without the marks for the cache, which move from request to request.
func Unmarked(bodies [][]byte) [][]byte {
	plain := make([][]byte, len(bodies))
	for i, b := range bodies {
		plain[i] = []byte(strings.ReplaceAll(string(b), CacheMark, ""))
	}
	return plain
}

// messageErrors are the API's words for statuses.
func messageError(status int, message string) []byte {
	kind := "api_error"
	switch status {
	case 400, 409, 422:
		kind = "invalid_request_error"
	case 401:
		kind = "authentication_error"
	case 402:
		kind = "billing_error"
	case 403:
		kind = "permission_error"
	case 404:
		kind = "not_found_error"
	case 413:
		kind = "request_too_large"
	case 429:
		kind = "rate_limit_error"
	case 504:
		kind = "timeout_error"
	case 503, 529:
		kind = "overloaded_error"
	}
	return encode(map[string]any{
		"type": "error", "error": map[string]any{"type": kind, "message": message}, "request_id": requestID,
	})
}

func refuseMessage(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(messageError(status, message)) // nobody is there to tell
}

// models lists the models in pages of limit, twenty unless it is given.
func (e *Messages) models(w http.ResponseWriter, r *http.Request) {
	all := e.rules.Models
	if len(all) == 0 {
		all = []ModelInfo{{"id": "script", "type": "model", "display_name": "Script", "created_at": "2026-01-01T00:00:00Z"}}
	}
	limit := 20
	if n, err := strconv.Atoi(r.URL.Query().Get("limit")); err == nil {
		limit = n
	}
	if limit < 1 || limit > 1000 {
		refuseMessage(w, http.StatusBadRequest, "limit: must be between 1 and 1000")
		return
	}
	if after := r.URL.Query().Get("after_id"); after != "" {
		at := slices.IndexFunc(all, func(m ModelInfo) bool { return m["id"] == after })
		all = all[at+1:]
	}
	page := all[:min(limit, len(all))]
	answer := map[string]any{"data": page, "has_more": len(page) < len(all), "first_id": nil, "last_id": nil}
	if len(page) > 0 {
		answer["first_id"], answer["last_id"] = page[0]["id"], page[len(page)-1]["id"]
	} else {
		answer["data"] = []any{}
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(answer))
}

func (e *Messages) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	e.mu.Lock()
	e.bodies = append(e.bodies, body)
	e.heads = append(e.heads, r.Header.Clone())
	e.mu.Unlock()

	q, status, message := e.read(body)
	if status == 0 {
		var a script.Answer
		if a, err = e.script.Next(q.request()); err == nil {
			p := &messagePerformance{e: e, w: w, r: r, q: q, count: e.count(q)}
			p.play(a)
			return
		}
		status, message = http.StatusBadRequest, jackline.Say(err)
	}
	e.mu.Lock()
	e.errs = append(e.errs, fmt.Errorf("status %d: %s", status, message))
	e.mu.Unlock()
	refuseMessage(w, status, message)
}

// count looks a request up in the cache, as the API does: from each mark back over at most twenty blocks, and puts its marked
// beginnings there.
func (e *Messages) count(q *messageRequest) model.Usage {
	const lookback = 20
	e.mu.Lock()
	defer e.mu.Unlock()
	u := model.Usage{Completion: 1}
	sums := make([][sha256.Size]byte, len(q.prefix))
	sizes := make([]int, len(q.prefix))
	h := sha256.New()
	for i, b := range q.prefix {
		h.Write(b.plain)
		u.Prompt += len(b.plain) / 4
		sums[i], sizes[i] = [sha256.Size]byte(h.Sum(nil)), u.Prompt
	}
	for i, b := range q.prefix {
		for k := i; b.marked && k > i-lookback && k >= 0; k-- {
			if e.cached[sums[k]] {
				u.Cached = max(u.Cached, sizes[k])
				break
			}
		}
	}
	for i, b := range q.prefix {
		if b.marked {
			e.cached[sums[i]] = true
		}
	}
	e.counts = append(e.counts, u)
	return u
}

// sign signs a thought that stands behind prefix.
func (e *Messages) sign(thought string, prefix []prefixBlock) string {
	h := sha256.New()
	_, _ = io.WriteString(h, thought) // hashes do not fail
	if e.rules.Bound {
		for _, b := range prefix {
			h.Write(b.plain)
		}
	}
	return "Ev" + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// A messagePerformance is one answer being written.
type messagePerformance struct {
	e *Messages
	w http.ResponseWriter
	r *http.Request
	q *messageRequest

	begun   bool
	count   model.Usage
	content []map[string]any // the blocks so far, as they are in a whole message
	open    string           // type of the last one, while it is open
	thought strings.Builder
	prefix  []prefixBlock // what the model has read and written so far
}

func (p *messagePerformance) play(a script.Answer) {
	p.prefix = slices.Clone(p.q.prefix)
	for step := range a.Steps(len(p.q.Tools) > 0) {
		p.step(step)
	}
}

func (p *messagePerformance) step(s script.Step) {
	switch {
	case s.Fail != nil && !p.begun:
		refuseMessage(p.w, s.Fail.Status, s.Fail.Text)
	case s.Fail != nil:
		p.raw("error", messageError(s.Fail.Status, s.Fail.Text))
	case s.Cut:
		p.begin()
		panic(http.ErrAbortHandler) // the one way to drop a connection from within a handler
	case s.Wait:
		p.begin()
		<-p.r.Context().Done()
	case s.Usage != nil:
		p.count = *s.Usage
	case s.Text != "":
		p.start("text", map[string]any{"type": "text", "text": ""})
		p.add("text", s.Text)
		p.delta(map[string]any{"type": "text_delta", "text": s.Text})
	case s.Thought != "":
		p.think(s.Thought)
	case s.Call != nil:
		p.call(s.Call.ID, s.Call.Name, string(s.Call.Args))
	case s.Garbled != nil:
		p.call("garbled"+strconv.Itoa(len(p.content)), s.Garbled.Name, s.Garbled.Args)
	case s.Finish != "":
		p.finish(s.Finish)
	}
}

// begin sends the event that opens a stream.
func (p *messagePerformance) begin() {
	if p.begun || !p.q.Stream {
		return
	}
	p.begun = true
	p.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	p.w.WriteHeader(http.StatusOK)
	p.event("message_start", map[string]any{"message": p.message(nil, 1)})
	p.event("ping", nil)
}

// message is the message so far.
func (p *messagePerformance) message(reason any, out int) map[string]any {
	content := p.content
	if content == nil {
		content = []map[string]any{}
	}
	return map[string]any{
		"id": "msg_01Script", "type": "message", "role": "assistant", "model": p.q.Model, "content": content,
		"stop_reason": reason, "stop_sequence": nil, "usage": p.tokens(out),
	}
}

func (p *messagePerformance) tokens(out int) map[string]any {
	return map[string]any{
		"input_tokens": p.count.Prompt - p.count.Cached, "cache_creation_input_tokens": 0,
		"cache_read_input_tokens": p.count.Cached, "output_tokens": out,
	}
}

func (p *messagePerformance) event(kind string, fields map[string]any) {
	v := map[string]any{"type": kind}
	for name, field := range fields {
		v[name] = field
	}
	p.raw(kind, encode(v))
}

// raw writes an event. Errors mean that the client has gone; the request's context says so too.
func (p *messagePerformance) raw(kind string, data []byte) {
	_, _ = fmt.Fprintf(p.w, "event: %s\ndata: %s\n\n", kind, data)
	_ = http.NewResponseController(p.w).Flush()
}

func (p *messagePerformance) last() int { return len(p.content) - 1 }

// start opens a block of kind, unless it is open.
func (p *messagePerformance) start(kind string, block map[string]any) {
	p.begin()
	if p.open == kind && kind != "tool_use" {
		return
	}
	p.stop()
	p.open = kind
	p.content = append(p.content, block)
	if p.q.Stream {
		p.event("content_block_start", map[string]any{"index": p.last(), "content_block": block})
	}
}

// stop closes the block that is open.
func (p *messagePerformance) stop() {
	if p.open == "" {
		return
	}
	if p.open == "thinking" {
		signature := p.e.sign(p.thought.String(), p.prefix)
		p.content[p.last()]["signature"] = signature
		p.delta(map[string]any{"type": "signature_delta", "signature": signature})
		p.thought.Reset()
	}
	p.open = ""
	p.prefix = append(p.prefix, plainBlock("assistant", encode(p.content[p.last()])))
	if p.q.Stream {
		p.event("content_block_stop", map[string]any{"index": p.last()})
	}
}

func (p *messagePerformance) delta(d map[string]any) {
	if p.q.Stream {
		p.event("content_block_delta", map[string]any{"index": p.last(), "delta": d})
	}
}

// add puts text into the field of a whole block.
func (p *messagePerformance) add(field, text string) {
	b := p.content[p.last()]
	was, _ := b[field].(string)
	b[field] = was + text
}

func (p *messagePerformance) think(text string) {
	if p.e.rules.Redacts {
		p.begin()
		p.stop()
		p.start("redacted_thinking", map[string]any{
			"type": "redacted_thinking", "data": "redacted:" + p.e.sign(text, p.prefix) + ":" + base64.StdEncoding.EncodeToString([]byte(text)),
		})
		p.stop()
		return
	}
	p.start("thinking", map[string]any{"type": "thinking", "thinking": "", "signature": ""})
	p.add("thinking", text)
	p.thought.WriteString(text)
	p.delta(map[string]any{"type": "thinking_delta", "thinking": text})
}

func (p *messagePerformance) call(id, name, args string) {
	p.start("tool_use", map[string]any{"type": "tool_use", "id": "toolu_" + id, "name": name, "input": map[string]any{}})
	p.delta(map[string]any{"type": "input_json_delta", "partial_json": ""})
	if json.Valid([]byte(args)) {
		p.content[p.last()]["input"] = json.RawMessage(args)
	}
	for args != "" {
		n := whole(args, argPiece)
		p.delta(map[string]any{"type": "input_json_delta", "partial_json": args[:n]})
		args = args[n:]
	}
	p.stop()
}

func (p *messagePerformance) finish(f model.Finish) {
	p.begin()
	p.stop()
	reason := map[model.Finish]string{model.Stop: "end_turn", model.Length: "max_tokens", model.Calls: "tool_use"}[f]
	if !p.q.Stream {
		p.w.Header().Set("Content-Type", "application/json")
		_, _ = p.w.Write(encode(p.message(reason, p.count.Completion)))
		return
	}
	p.event("message_delta", map[string]any{
		"delta": map[string]any{"stop_reason": reason, "stop_sequence": nil}, "usage": p.tokens(p.count.Completion),
	})
	p.event("message_stop", nil)
}
