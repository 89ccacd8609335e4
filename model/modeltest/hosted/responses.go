package hosted

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint/constrainttest"
	"github.com/jackline-ai/jackline/model/script"
)

// ResponsesRules are what one server of the Responses API is like. The zero value is like OpenAI's, takes every model and any
// key.
type ResponsesRules struct {
	Models  []string                         // names that are offered; a request for another is refused. Empty offers "script" and takes any
	Key     string                           // bearer token that is asked for; "" asks for none
	Refuses []string                         // fields of a request that are refused
	Answers func(constrainttest.Form) string // what a model writes that is held to a form, in place of the script; nil plays it
	Open    bool                             // reasoning is not sealed: it comes as text, as from servers of open models
	Phases  bool                             // messages say whether they are commentary or the answer
}

// Responses is a server of the Responses API (https://platform.openai.com/docs/api-reference/responses) that plays a
// script, and is strict with what it is sent. It keeps nothing. A request that offers tools gets native calls, another one
// gets them written into the text. Thoughts come as reasoning items, with a summary.
type Responses struct {
	script *script.Script
	rules  ResponsesRules
	mux    *http.ServeMux

	mu     sync.Mutex
	bodies [][]byte
	errs   []error
}

// ResponsesHandler makes a server that plays s by rules.
func ResponsesHandler(s *script.Script, rules ResponsesRules) *Responses {
	e := &Responses{script: s, rules: rules, mux: http.NewServeMux()}
	e.mux.HandleFunc("POST /v1/responses", e.respond)
	e.mux.HandleFunc("GET /v1/models", e.models)
	return e
}

// A ResponsesServer is a [Responses] that listens on loopback.
type ResponsesServer struct {
	*Responses
	URL string // base URL, ending in /v1
}

// NewResponses starts a server that is stopped when the test ends.
func NewResponses(t testing.TB, s *script.Script, rules ResponsesRules) *ResponsesServer {
	t.Helper()
	e := ResponsesHandler(s, rules)
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	return &ResponsesServer{Responses: e, URL: srv.URL + "/v1"}
}

// ServeHTTP answers one request.
func (e *Responses) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.rules.Key != "" && r.Header.Get("Authorization") != "Bearer "+e.rules.Key {
		refuseResponse(w, http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided.")
		return
	}
	e.mux.ServeHTTP(w, r)
}

// Sent are the bodies of all requests for an answer so far, byte for byte.
func (e *Responses) Sent() [][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.bodies)
}

// Errs are what was wrong with requests: the API's rules, or checks of the script.
func (e *Responses) Errs() []error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.errs)
}

func refuseResponse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	kind, word := "invalid_request_error", any(code) // null where there is no word for it
	switch {
	case status == http.StatusTooManyRequests:
		kind, word = "requests", "rate_limit_exceeded"
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	if word == "" {
		word = nil
	}
	// Nobody is there to tell that it could not be written.
	_, _ = w.Write(encode(map[string]any{"error": map[string]any{"message": message, "type": kind, "code": word, "param": nil}}))
}

func (e *Responses) models(w http.ResponseWriter, _ *http.Request) {
	names := e.rules.Models
	if len(names) == 0 {
		names = []string{"script"}
	}
	data := []any{}
	for _, n := range names {
		data = append(data, map[string]any{"id": n, "object": "model", "created": created, "owned_by": "system"})
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(map[string]any{"object": "list", "data": data}))
}

func (e *Responses) respond(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	e.mu.Lock()
	e.bodies = append(e.bodies, body)
	e.mu.Unlock()

	q, status, code, message := e.read(body)
	if status == 0 {
		var a script.Answer
		if a, err = e.next(q); err == nil {
			p := &responsePerformance{e: e, w: w, r: r, q: q, count: model.Usage{Prompt: len(body) / 4}}
			for step := range a.Steps(len(q.Tools) > 0) {
				p.step(step)
			}
			return
		}
		status, code, message = http.StatusBadRequest, "script", jackline.Say(err)
	}
	e.mu.Lock()
	e.errs = append(e.errs, fmt.Errorf("status %d: %s", status, message))
	e.mu.Unlock()
	refuseResponse(w, status, code, message)
}

// next is the answer to q. One that is held to a form is made up, or is the script's, which must have the form then.
func (e *Responses) next(q *responseRequest) (script.Answer, error) {
	r := q.request()
	if q.form.None() {
		return e.script.Next(r)
	}
	r.Constraint = &model.Constraint{}
	if e.rules.Answers != nil {
		return script.Says(e.rules.Answers(q.form)), nil
	}
	a, err := e.script.Next(r)
	if err != nil {
		return a, err
	}
	a = a.Held()
	if text, whole := a.Text(); whole {
		if err := q.form.Check(text); err != nil {
			return a, jackline.E("hosted.next", jackline.Invalid, err, "The script says %q, which the form does not allow: %v.", text, err)
		}
	}
	return a, nil
}

// A responsePerformance is one answer being written.
type responsePerformance struct {
	e *Responses
	w http.ResponseWriter
	r *http.Request
	q *responseRequest

	begun  bool
	number int // of the next event
	count  model.Usage
	output []map[string]any // items so far
	open   string           // kind of the last one, while it is open
	text   strings.Builder  // of it
}

func (p *responsePerformance) step(s script.Step) {
	switch {
	case s.Fail != nil && !p.begun:
		refuseResponse(p.w, s.Fail.Status, "", s.Fail.Text)
	case s.Fail != nil:
		code := "server_error"
		switch {
		case s.Fail.Status == http.StatusTooManyRequests:
			code = "rate_limit_exceeded"
		case s.Fail.Status < http.StatusInternalServerError:
			code = "invalid_prompt"
		}
		p.end("failed", map[string]any{"error": map[string]any{"code": code, "message": s.Fail.Text}})
	case s.Cut:
		p.begin()
		panic(http.ErrAbortHandler) // the one way to drop a connection from within a handler
	case s.Wait:
		p.begin()
		<-p.r.Context().Done()
	case s.Usage != nil:
		p.count = *s.Usage
	case s.Text != "":
		p.start("message")
		p.text.WriteString(s.Text)
		p.event("response.output_text.delta", p.about(map[string]any{"content_index": 0, "delta": s.Text, "logprobs": []any{}}))
	case s.Thought != "":
		p.think(s.Thought)
	case s.Call != nil:
		p.call("call_"+s.Call.ID, s.Call.Name, string(s.Call.Args))
	case s.Garbled != nil:
		p.call(fmt.Sprintf("call_garbled%d", len(p.output)), s.Garbled.Name, s.Garbled.Args)
	case s.Finish != "":
		p.stop(s.Finish == model.Length)
		if s.Finish == model.Length {
			p.end("incomplete", map[string]any{"incomplete_details": map[string]any{"reason": "max_output_tokens"}})
			return
		}
		p.end("completed", nil)
	}
}

// response is the response as far as it has come.
func (p *responsePerformance) response(status string, more map[string]any) map[string]any {
	output := p.output
	if output == nil {
		output = []map[string]any{}
	}
	v := map[string]any{
		"id": "resp_01script", "object": "response", "created_at": created, "status": status, "error": nil,
		"incomplete_details": nil, "instructions": nil, "metadata": map[string]any{}, "model": p.q.Model, "output": output,
		"parallel_tool_calls": true, "temperature": 1, "tool_choice": "auto", "tools": []any{}, "top_p": 1, "store": false, "usage": nil,
	}
	if status != "in_progress" {
		v["usage"] = map[string]any{
			"input_tokens": p.count.Prompt, "input_tokens_details": map[string]any{"cached_tokens": p.count.Cached},
			"output_tokens": p.count.Completion, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
			"total_tokens": p.count.Prompt + p.count.Completion,
		}
	}
	for name, field := range more {
		v[name] = field
	}
	return v
}

// begin sends the events that open a stream.
func (p *responsePerformance) begin() {
	if p.begun || !p.q.Stream {
		return
	}
	p.begun = true
	p.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	p.w.WriteHeader(http.StatusOK)
	for _, kind := range []string{"response.created", "response.in_progress"} {
		p.event(kind, map[string]any{"response": p.response("in_progress", nil)})
	}
}

// event writes an event. Errors mean that the client has gone; the request's context says so too.
func (p *responsePerformance) event(kind string, v map[string]any) {
	if !p.q.Stream {
		return
	}
	v["type"], v["sequence_number"] = kind, p.number
	p.number++
	_, _ = fmt.Fprintf(p.w, "event: %s\ndata: %s\n\n", kind, encode(v))
	_ = http.NewResponseController(p.w).Flush()
}

// about puts into v which item it is about.
func (p *responsePerformance) about(v map[string]any) map[string]any {
	v["output_index"] = len(p.output) - 1
	v["item_id"] = p.output[len(p.output)-1]["id"]
	return v
}

func textPart(kind, text string) map[string]any {
	part := map[string]any{"type": kind, "text": text}
	if kind == "output_text" {
		part["annotations"], part["logprobs"] = []any{}, []any{}
	}
	return part
}

// start opens an item of kind, unless it is open.
func (p *responsePerformance) start(kind string) {
	p.begin()
	if p.open == kind {
		return
	}
	p.stop(false)
	p.open = kind
	n := len(p.output)
	switch kind {
	case "message":
		it := map[string]any{"id": fmt.Sprintf("msg_%02d", n), "type": "message", "status": "in_progress", "role": "assistant", "content": []any{}}
		p.output = append(p.output, it)
		p.added()
		p.event("response.content_part.added", p.about(map[string]any{"content_index": 0, "part": textPart("output_text", "")}))
	case "reasoning":
		p.output = append(p.output, map[string]any{"id": fmt.Sprintf("rs_%02d", n), "type": "reasoning", "summary": []any{}})
		p.added()
		if !p.e.rules.Open {
			p.event("response.reasoning_summary_part.added", p.about(map[string]any{"summary_index": 0, "part": textPart("summary_text", "")}))
		}
	}
}

// added says that the last item has begun.
func (p *responsePerformance) added() {
	n := len(p.output) - 1
	p.event("response.output_item.added", map[string]any{"output_index": n, "item": p.output[n]})
}

func (p *responsePerformance) think(thought string) {
	p.start("reasoning")
	p.text.WriteString(thought)
	if p.e.rules.Open {
		p.event("response.reasoning_text.delta", p.about(map[string]any{"content_index": 0, "delta": thought}))
		return
	}
	p.event("response.reasoning_summary_text.delta", p.about(map[string]any{"summary_index": 0, "delta": thought}))
}

// stop closes the item that is open.
func (p *responsePerformance) stop(cut bool) {
	if p.open == "" {
		return
	}
	it, text := p.output[len(p.output)-1], p.text.String()
	switch p.open {
	case "message":
		part := textPart("output_text", text)
		p.event("response.output_text.done", p.about(map[string]any{"content_index": 0, "text": text, "logprobs": []any{}}))
		p.event("response.content_part.done", p.about(map[string]any{"content_index": 0, "part": part}))
		it["content"], it["status"] = []any{part}, "completed"
		if p.e.rules.Phases {
			it["phase"] = "commentary"
		}
		if cut {
			it["status"] = "incomplete"
		}
	case "reasoning":
		if p.e.rules.Open {
			part := textPart("reasoning_text", text)
			p.event("response.reasoning_text.done", p.about(map[string]any{"content_index": 0, "text": text}))
			it["content"] = []any{part}
			break
		}
		part := textPart("summary_text", text)
		p.event("response.reasoning_summary_text.done", p.about(map[string]any{"summary_index": 0, "text": text}))
		p.event("response.reasoning_summary_part.done", p.about(map[string]any{"summary_index": 0, "part": part}))
		it["summary"] = []any{part}
		if slices.Contains(p.q.Include, "reasoning.encrypted_content") {
			it["encrypted_content"] = sealed(it["id"].(string), text)
		}
	}
	p.done()
	p.text.Reset()
	p.open = ""
}

// sealed is what stands for reasoning that nobody can read.
func sealed(id, text string) string {
	return "gAAAAAB" + base64.StdEncoding.EncodeToString([]byte(id+":"+text))
}

// done says that the last item is whole.
func (p *responsePerformance) done() {
	n := len(p.output) - 1
	p.event("response.output_item.done", map[string]any{"output_index": n, "item": p.output[n]})
}

func (p *responsePerformance) call(id, name, args string) {
	p.begin()
	p.stop(false)
	it := map[string]any{
		"id": fmt.Sprintf("fc_%02d", len(p.output)), "type": "function_call", "status": "in_progress", "call_id": id, "name": name, "arguments": "",
	}
	p.output = append(p.output, it)
	p.added()
	for rest := args; rest != ""; {
		n := whole(rest, argPiece)
		p.event("response.function_call_arguments.delta", p.about(map[string]any{"delta": rest[:n]}))
		rest = rest[n:]
	}
	p.event("response.function_call_arguments.done", p.about(map[string]any{"arguments": args, "name": name}))
	it["arguments"], it["status"] = args, "completed"
	p.done()
}

// end sends the whole response.
func (p *responsePerformance) end(status string, more map[string]any) {
	p.begin()
	whole := p.response(status, more)
	if !p.q.Stream {
		p.w.Header().Set("Content-Type", "application/json")
		_, _ = p.w.Write(encode(whole))
		return
	}
	p.event("response."+status, map[string]any{"response": whole})
}
