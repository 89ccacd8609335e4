package modeltest

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/script"
)

const (
	created  = 1_790_000_000 // a time is expected; the same each time makes recordings comparable
	answerID = "chatcmpl-1"
	argPiece = 12 // bytes of arguments in a fragment
)

// A performance is one answer being written.
type performance struct {
	w    http.ResponseWriter
	r    *http.Request
	d    Dialect
	q    question
	size int // bytes of the request

	out   io.Writer
	pack  *gzip.Writer
	begun bool

	calls  int
	pieces int // of text, reasoning and calls, which stand for tokens
	usage  *model.Usage

	text, thought strings.Builder // of an answer in one piece
	whole         []any           // its calls
}

func (p *performance) play(a script.Answer) {
	for step := range a.Steps(len(p.q.Tools) > 0) {
		p.step(step)
	}
	if p.pack != nil {
		_ = p.pack.Close() // what it cannot write, the client does not want
	}
}

func (p *performance) step(s script.Step) {
	switch {
	case s.Fail != nil:
		p.fail(*s.Fail)
	case s.Cut:
		p.begin()
		p.flush()
		panic(http.ErrAbortHandler) // the one way to drop a connection from within a handler
	case s.Wait:
		p.begin()
		p.flush()
		<-p.r.Context().Done()
	case s.Usage != nil:
		p.usage = s.Usage
	case s.Text != "":
		p.pieces++
		p.text.WriteString(s.Text)
		p.delta(map[string]any{"content": s.Text})
	case s.Thought != "":
		p.pieces++
		p.thought.WriteString(s.Thought)
		p.delta(map[string]any{p.reasoning(): s.Thought})
	case s.Call != nil:
		p.call(s.Call.ID, s.Call.Name, string(s.Call.Args))
	case s.Garbled != nil:
		p.call("garbled"+strconv.Itoa(p.calls), s.Garbled.Name, s.Garbled.Args)
	case s.Finish != "":
		p.finish(string(s.Finish))
	}
}

func (p *performance) reasoning() string {
	if p.d.Reasoning == "" {
		return "reasoning_content"
	}
	return p.d.Reasoning
}

func (p *performance) streams() bool { return p.q.Stream && !p.d.OnePiece }

func (p *performance) begin() {
	if p.begun {
		return
	}
	p.begun = true
	kind := "application/json"
	if p.streams() {
		kind = "text/event-stream"
	}
	p.w.Header().Set("Content-Type", kind)
	p.out = p.w
	if p.d.Gzip {
		p.w.Header().Set("Content-Encoding", "gzip")
		p.pack = gzip.NewWriter(p.w)
		p.out = p.pack
	}
	p.w.WriteHeader(http.StatusOK)
	if p.d.Opening != nil {
		p.delta(p.d.Opening)
	}
}

// write sends bytes. Errors mean that the client has gone; the request's context says so too.
func (p *performance) write(s string) {
	p.begin()
	_, _ = io.WriteString(p.out, s)
}

func (p *performance) flush() {
	if p.pack != nil {
		_ = p.pack.Flush()
	}
	_ = http.NewResponseController(p.w).Flush() // a writer that cannot flush is one that keeps all for the end
}

func (p *performance) event(v []byte) {
	s := "data: " + string(v) + "\n\n"
	if p.d.Comments {
		s = ": still here\n\nevent: message\n" + s
	}
	if p.d.CRLF {
		s = strings.ReplaceAll(s, "\n", "\r\n")
	}
	p.write(s)
	p.flush()
}

func (p *performance) chunk(choices []any, more map[string]any) {
	v := map[string]any{
		"id": answerID, "object": "chat.completion.chunk", "created": created, "model": p.q.Model, "choices": choices,
	}
	maps.Copy(v, p.d.Fields)
	maps.Copy(v, more)
	p.event(encode(v))
}

func (p *performance) delta(d map[string]any) {
	if !p.streams() {
		return
	}
	var more map[string]any
	if p.d.Count == WithEach {
		more = map[string]any{"usage": p.tokens()}
	}
	p.chunk([]any{map[string]any{"index": 0, "delta": d, "finish_reason": nil}}, more)
}

// call writes a call, in one fragment or in several.
func (p *performance) call(id, name, args string) {
	p.pieces++
	index := p.calls
	p.calls++
	frame := func(f map[string]any) map[string]any {
		c := map[string]any{"function": f}
		switch {
		case p.d.OneIndex:
			c["index"] = 0
		case !p.d.NoIndex:
			c["index"] = index
		}
		return c
	}
	var value any = args
	if p.d.ObjectArgs && json.Valid([]byte(args)) {
		value = json.RawMessage(args)
	}
	first := frame(map[string]any{"name": name, "arguments": value})
	first["type"] = "function"
	if !p.d.NoIDs {
		first["id"] = id
	}
	p.whole = append(p.whole, first)
	if p.d.WholeCalls || p.d.ObjectArgs {
		p.delta(map[string]any{"tool_calls": []any{first}})
		return
	}
	opening := frame(map[string]any{"name": name, "arguments": ""})
	opening["type"] = "function"
	if !p.d.NoIDs {
		opening["id"] = id
	}
	p.delta(map[string]any{"tool_calls": []any{opening}})
	for args != "" {
		n := min(argPiece, len(args))
		for n < len(args) && args[n]&0xC0 == 0x80 {
			n++
		}
		p.delta(map[string]any{"tool_calls": []any{frame(map[string]any{"arguments": args[:n]})}})
		args = args[n:]
	}
}

// tokens is the count, the script's or one made up.
func (p *performance) tokens() map[string]any {
	u := model.Usage{Prompt: p.size / 4, Completion: p.pieces}
	if p.usage != nil {
		u = *p.usage
	}
	return map[string]any{
		"prompt_tokens": u.Prompt, "completion_tokens": u.Completion, "total_tokens": u.Prompt + u.Completion,
		"prompt_tokens_details": map[string]any{"cached_tokens": u.Cached},
	}
}

func (p *performance) finish(word string) {
	if p.d.StopAlways && word == string(model.Calls) {
		word = "stop"
	}
	if !p.streams() {
		p.onePiece(word)
		return
	}
	more := map[string]any{}
	if p.d.Count == WithEach || p.d.Count == WithLast {
		more["usage"] = p.tokens()
	}
	if p.d.Timings {
		cached := 0
		if p.usage != nil {
			cached = p.usage.Cached
		}
		more["timings"] = map[string]any{"cache_n": cached, "prompt_n": p.size/4 - cached, "predicted_n": p.pieces}
	}
	p.chunk([]any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": word}}, more)
	if p.d.Count == WhenAsked && p.q.StreamOptions.IncludeUsage {
		p.chunk([]any{}, map[string]any{"usage": p.tokens()})
	}
	if !p.d.NoDone {
		p.event([]byte("[DONE]"))
	}
}

func (p *performance) onePiece(word string) {
	message := map[string]any{"role": "assistant", "content": p.text.String()}
	if p.thought.Len() > 0 {
		message[p.reasoning()] = p.thought.String()
	}
	if len(p.whole) > 0 {
		message["tool_calls"] = p.whole
	}
	v := map[string]any{
		"id": answerID, "object": "chat.completion", "created": created, "model": p.q.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": word}},
	}
	if p.d.Count != Never {
		v["usage"] = p.tokens()
	}
	p.write(string(encode(v)))
}

// fail answers with an error: as the status of the response, or within it once it has begun.
func (p *performance) fail(f script.Failure) {
	if !p.begun {
		p.w.Header().Set("Content-Type", "application/json")
		p.w.WriteHeader(f.Status)
		_, _ = p.w.Write(p.d.problem(f.Status, "", f.Text))
		return
	}
	p.event(p.d.problem(f.Status, "", f.Text))
}
