package modeltest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint/constrainttest"
	"github.com/jackline-ai/jackline/model/script"
)

// A chatQuestion is the body of a request to /api/chat, as far as it matters here.
type chatQuestion struct {
	Model    string `json:"model"`
	Messages []struct {
		Role      string   `json:"role"`
		Content   string   `json:"content"`
		Images    [][]byte `json:"images"`
		ToolName  string   `json:"tool_name"`
		CallID    string   `json:"tool_call_id"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string         `json:"name"`
				Arguments map[string]any `json:"arguments"` // a string is refused; numbers lose what does not fit a float, as there
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	Stream    *bool           `json:"stream"`
	Format    json.RawMessage `json:"format"`
	Think     any             `json:"think"`
	Truncate  *bool           `json:"truncate"`
	KeepAlive any             `json:"keep_alive"`
	Options   struct {
		NumCtx     int `json:"num_ctx"`
		NumPredict int `json:"num_predict"`
	} `json:"options"`
}

// request is q as a model is asked it.
func (q chatQuestion) request() model.Request {
	r := model.Request{MaxTokens: q.Options.NumPredict}
	for _, m := range q.Messages {
		if m.Role == "system" {
			r.System = append(r.System, m.Content)
			continue
		}
		msg := model.Message{Role: model.Role(m.Role), Text: m.Content, CallID: m.CallID, Name: m.ToolName}
		for _, c := range m.ToolCalls {
			msg.Calls = append(msg.Calls, model.Call{ID: c.ID, Name: c.Function.Name, Args: encode(c.Function.Arguments)})
		}
		for _, data := range m.Images {
			msg.Images = append(msg.Images, model.Image{Type: http.DetectContentType(data), Data: data})
		}
		r.Messages = append(r.Messages, msg)
	}
	for _, t := range q.Tools {
		r.Tools = append(r.Tools, model.Tool{Name: t.Function.Name, Summary: t.Function.Description, Schema: t.Function.Parameters})
	}
	r.Known = r.Tools
	return r
}

// tokens is about how many tokens a body of so many bytes has: Ollama reckons with 768 for an image.
func (q chatQuestion) tokens(bytes int) int {
	images := 0
	for _, msg := range q.Messages {
		for _, data := range msg.Images {
			bytes -= base64.StdEncoding.EncodedLen(len(data))
			images++
		}
	}
	return bytes/4 + 768*images
}

// keep is how long the model stays loaded: seconds or a duration, less than 0 for ever.
func (q chatQuestion) keep() time.Duration {
	switch v := q.KeepAlive.(type) {
	case float64:
		return time.Duration(v * float64(time.Second))
	case string:
		if d, err := time.ParseDuration(v); err == nil {
			return d
		}
	}
	return 5 * time.Minute
}

// thinks reports whether q wants reasoning, which is what a model does that nobody tells otherwise.
func (q chatQuestion) thinks(m OllamaModel) bool {
	return m.Thinking && q.Think != false
}

func (e *OllamaEngine) chat(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	e.mu.Lock()
	e.bodies = append(e.bodies, body)
	e.mu.Unlock()

	var q chatQuestion
	if err := json.Unmarshal(body, &q); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	m, ok := e.model(q.Model)
	if !ok {
		refuse(w, http.StatusNotFound, fmt.Sprintf("model '%s' not found", q.Model))
		return
	}
	if err := CheckOllama(body); err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	if status, message := q.objection(m); status != 0 {
		refuse(w, status, message)
		return
	}
	window := e.windowOf(m, q.Options.NumCtx)
	e.load(m, window, q.keep())
	p := &chatPerformance{w: w, r: r, q: q, model: m, prompt: q.tokens(len(body))}
	if len(q.Messages) == 0 {
		p.word = "load"
		if q.keep() == 0 {
			p.word = "unload"
		}
		p.last()
		return
	}
	if p.prompt > window {
		if !e.o.Cuts && q.Truncate != nil && !*q.Truncate {
			refuse(w, http.StatusBadRequest, overflow(p.prompt, window))
			return
		}
		p.prompt = window
	}
	form := constrainttest.Form{}
	if len(q.Format) > 0 {
		form, err = constrainttest.OfSchema(q.Format)
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("invalid format: %q; expected \"json\" or a valid JSON Schema object", q.Format))
		return
	}
	a, err := next(e.script, q.request(), form, e.o.Answers)
	if err != nil {
		e.mu.Lock()
		e.errs = append(e.errs, err)
		e.mu.Unlock()
		refuse(w, http.StatusBadRequest, jackline.Say(err))
		return
	}
	p.play(a)
}

// overflow is llama.cpp's error about a prompt that does not fit, which Ollama passes on as a string since 0.34.
func overflow(prompt, window int) string {
	return string(encode(map[string]any{"error": map[string]any{
		"code": http.StatusBadRequest, "type": "exceed_context_size_error", "n_prompt_tokens": prompt, "n_ctx": window,
		"message": fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", prompt, window),
	}}))
}

// objection is what Ollama has against q, or status 0.
func (q chatQuestion) objection(m OllamaModel) (status int, message string) {
	level, leveled := q.Think.(string)
	switch {
	case m.Embeds:
		return http.StatusBadRequest, fmt.Sprintf("%q does not support chat", q.Model)
	case leveled && level != "low" && level != "medium" && level != "high" && level != "max":
		return http.StatusBadRequest, fmt.Sprintf("invalid think value: %q (must be \"high\", \"medium\", \"low\", \"max\", true, or false)", level)
	case !m.Thinking && (leveled || q.Think == true):
		return http.StatusBadRequest, fmt.Sprintf("%q does not support thinking", q.Model)
	case len(q.Tools) > 0 && !m.Tools:
		return http.StatusBadRequest, longName(m) + " does not support tools"
	case leveled && m.Family != "gptoss":
		return http.StatusBadRequest, fmt.Sprintf("think value %q is not supported for this model", level)
	}
	for _, msg := range q.Messages {
		if len(msg.Images) > 0 && !m.Vision {
			return http.StatusBadRequest, string(encode(map[string]any{"error": map[string]any{
				"code": http.StatusBadRequest, "type": "invalid_request_error",
				"message": "Multimodal data provided, but model does not support multimodal requests.",
			}}))
		}
	}
	return 0, ""
}

// A chatPerformance is one answer of /api/chat being written.
type chatPerformance struct {
	w      http.ResponseWriter
	r      *http.Request
	q      chatQuestion
	model  OllamaModel
	prompt int // tokens

	begun   bool
	pieces  int // of text, reasoning and calls, which stand for tokens
	usage   *model.Usage
	garbled string // arguments that Ollama's own reader does not understand
	word    string // why the answer ends

	text, thought strings.Builder // of an answer in one piece
	calls         []any
}

func (p *chatPerformance) streams() bool { return p.q.Stream == nil || *p.q.Stream }

func (p *chatPerformance) play(a script.Answer) {
	for s := range a.Steps(len(p.q.Tools) > 0) {
		p.step(s)
	}
}

func (p *chatPerformance) step(s script.Step) {
	switch {
	case s.Fail != nil:
		p.fail(s.Fail.Status, s.Fail.Text)
	case s.Cut:
		p.begin()
		panic(http.ErrAbortHandler) // the one way to drop a connection from within a handler
	case s.Wait:
		p.begin()
		<-p.r.Context().Done()
	case s.Usage != nil:
		p.usage = s.Usage
	case s.Text != "":
		p.text.WriteString(s.Text)
		p.say(map[string]any{"content": s.Text})
	case s.Thought != "":
		if p.q.thinks(p.model) {
			p.thought.WriteString(s.Thought)
			p.say(map[string]any{"content": "", "thinking": s.Thought})
		}
	case s.Call != nil:
		c := map[string]any{"id": s.Call.ID, "function": map[string]any{"index": len(p.calls), "name": s.Call.Name, "arguments": s.Call.Args}}
		p.calls = append(p.calls, c)
		p.say(map[string]any{"content": "", "tool_calls": []any{c}})
	case s.Garbled != nil:
		p.garbled = s.Garbled.Args
	case s.Finish != "":
		p.end(s.Finish)
	}
}

// begin sends the head, without which a client does not know that an answer has begun.
func (p *chatPerformance) begin() {
	if !p.begun {
		p.begun = true
		p.w.Header().Set("Content-Type", "application/x-ndjson")
		p.w.WriteHeader(http.StatusOK)
	}
	_ = http.NewResponseController(p.w).Flush() // a writer that cannot flush is one that keeps all for the end
}

func (p *chatPerformance) line(v any) {
	p.begin()
	_, _ = p.w.Write(append(encode(v), '\n')) // the request's context says that the client has gone
	_ = http.NewResponseController(p.w).Flush()
}

func (p *chatPerformance) say(message map[string]any) {
	p.pieces++
	if p.streams() {
		message["role"] = "assistant"
		p.line(p.frame(message, false))
	}
}

func (p *chatPerformance) frame(message map[string]any, done bool) map[string]any {
	return map[string]any{"model": p.q.Model, "created_at": ollamaTime, "message": message, "done": done}
}

// end ends the answer. There is no word for calls; a call that Ollama's reader does not understand is an error.
func (p *chatPerformance) end(f model.Finish) {
	p.word = "stop"
	if f == model.Length {
		p.word = "length"
	}
	if p.garbled != "" {
		p.fail(http.StatusInternalServerError, "error parsing tool call: raw='"+p.garbled+"', err=unexpected end of JSON input")
		return
	}
	p.last()
}

func (p *chatPerformance) last() {
	message := map[string]any{"role": "assistant", "content": ""}
	if !p.streams() {
		message["content"] = p.text.String()
		if p.thought.Len() > 0 {
			message["thinking"] = p.thought.String()
		}
		if len(p.calls) > 0 {
			message["tool_calls"] = p.calls
		}
	}
	v := p.frame(message, true)
	v["done_reason"] = p.word
	if p.word != "load" && p.word != "unload" {
		u := model.Usage{Prompt: p.prompt, Completion: p.pieces}
		if p.usage != nil {
			u = *p.usage
		}
		for name, n := range map[string]int{
			"total_duration": 5_000_000_000, "load_duration": 1_000_000_000, "prompt_eval_count": u.Prompt, "prompt_eval_duration": 300_000_000,
			"eval_count": u.Completion, "eval_duration": 900_000_000, "prompt_eval_cached_count": u.Cached,
		} {
			if n > 0 {
				v[name] = n // what is 0 is left out
			}
		}
	}
	if p.streams() && len(p.q.Messages) > 0 {
		p.line(v)
		return
	}
	reply(p.w, http.StatusOK, v)
}

// fail answers with an error: as the status of the response, or as a line within it once it has begun.
func (p *chatPerformance) fail(status int, text string) {
	if !p.begun {
		refuse(p.w, status, text)
		return
	}
	p.line(map[string]any{"error": cmp.Or(text, strconv.Itoa(status))})
}
