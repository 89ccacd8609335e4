package modeltest

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
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
	"github.com/jackline-ai/jackline/model/script"
)

// An Engine is a Chat Completions server that plays a script. A request that offers tools gets native calls, another one
// gets them written into the text. It serves POST /v1/chat/completions and GET /v1/models.
type Engine struct {
	script  *script.Script
	dialect Dialect
	mux     *http.ServeMux

	mu     sync.Mutex
	bodies [][]byte
	heads  []http.Header
	errs   []error
}

// Handler makes an engine that plays s in dialect d.
func Handler(s *script.Script, d Dialect) *Engine {
	e := &Engine{script: s, dialect: d, mux: http.NewServeMux()}
	e.mux.HandleFunc("POST /v1/chat/completions", e.complete)
	e.mux.HandleFunc("GET /v1/models", e.models)
	return e
}

// A Server is an [Engine] that listens on loopback.
type Server struct {
	*Engine
	URL string // base URL, ending in /v1
}

// NewServer starts an engine that is stopped when the test ends.
func NewServer(t testing.TB, s *script.Script, d Dialect) *Server {
	t.Helper()
	e := Handler(s, d)
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	return &Server{Engine: e, URL: srv.URL + "/v1"}
}

// ServeHTTP answers one request.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.dialect.Key != "" && r.Header.Get("Authorization") != "Bearer "+e.dialect.Key {
		e.refuse(w, http.StatusUnauthorized, "invalid_api_key", "Incorrect API key provided.")
		return
	}
	e.mux.ServeHTTP(w, r)
}

// Sent are the bodies of all requests for an answer so far, byte for byte.
func (e *Engine) Sent() [][]byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.bodies)
}

// Headers are the headers of all requests for an answer so far.
func (e *Engine) Headers() []http.Header {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.heads)
}

// Errs are what the script had to say against requests: it ran out, or a check failed.
func (e *Engine) Errs() []error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.errs)
}

// refuse answers with an error object.
func (e *Engine) refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(e.dialect.problem(status, code, message)) // nobody is there to tell
}

// problem is an error object as OpenAI writes it, or with the types of the dialect: code is null where there is no word
// for it.
func (d Dialect) problem(status int, code, message string) []byte {
	kind, word := "invalid_request_error", any(code)
	switch {
	case d.Errors != nil:
		kind, word = cmp.Or(d.Errors[status], d.Errors[0]), nil
	case status == http.StatusTooManyRequests:
		kind, word = "requests", "rate_limit_exceeded"
	case status >= http.StatusInternalServerError:
		kind = "server_error"
	}
	if word == "" {
		word = nil
	}
	return encode(map[string]any{"error": map[string]any{"message": message, "type": kind, "code": word, "param": nil}})
}

func (e *Engine) models(w http.ResponseWriter, _ *http.Request) {
	names := e.dialect.Models
	if len(names) == 0 {
		names = []string{"script"}
	}
	data := []any{}
	for _, n := range names {
		data = append(data, map[string]any{"id": n, "object": "model", "created": created, "owned_by": e.dialect.Owner})
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(encode(map[string]any{"object": "list", "data": data}))
}

// A question is the body of a request, as far as it matters here.
type question struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role      string  `json:"role"`
		Content   content `json:"content"`
		Name      string  `json:"name"`
		CallID    string  `json:"tool_call_id"`
		ToolCalls []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
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
	ToolChoice    any             `json:"tool_choice"`
	MaxTokens     int             `json:"max_tokens"`
	Format        json.RawMessage `json:"response_format"`
	Grammar       json.RawMessage `json:"grammar"`
	Schema        json.RawMessage `json:"json_schema"`
	Structured    json.RawMessage `json:"structured_outputs"`
	Guided        json.RawMessage `json:"guided_json"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// content is what a message says: a string, a list of parts, or null beside calls.
type content struct {
	text   string
	images []model.Image
}

// UnmarshalJSON reads any of the three.
func (c *content) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &c.text) == nil {
		return nil
	}
	var parts []struct {
		Type  string `json:"type"`
		Text  string `json:"text"`
		Image struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return errors.New("invalid type for 'content': expected a string or an array of parts")
	}
	for _, p := range parts {
		switch p.Type {
		case "text":
			c.text += p.Text
		case "image_url":
			kind, data, ok := strings.Cut(strings.TrimPrefix(p.Image.URL, "data:"), ";base64,")
			raw, err := base64.StdEncoding.DecodeString(data)
			if !ok || err != nil {
				return errors.New("invalid 'image_url': expected a base64-encoded data URL")
			}
			c.images = append(c.images, model.Image{Type: kind, Data: raw})
		default:
			return fmt.Errorf("invalid value: '%s': supported are 'text' and 'image_url'", p.Type)
		}
	}
	return nil
}

// request is q as a model is asked it.
func (q question) request() model.Request {
	r := model.Request{NoCalls: q.ToolChoice == "none", MaxTokens: q.MaxTokens}
	for _, m := range q.Messages {
		if m.Role == "system" || m.Role == "developer" {
			r.System = append(r.System, m.Content.text)
			continue
		}
		msg := model.Message{Role: model.Role(m.Role), Text: m.Content.text, Images: m.Content.images, CallID: m.CallID, Name: m.Name}
		for _, c := range m.ToolCalls {
			msg.Calls = append(msg.Calls, model.Call{ID: c.ID, Name: c.Function.Name, Args: json.RawMessage(c.Function.Arguments)})
		}
		r.Messages = append(r.Messages, msg)
	}
	for _, t := range q.Tools {
		r.Tools = append(r.Tools, model.Tool{Name: t.Function.Name, Summary: t.Function.Description, Schema: t.Function.Parameters})
	}
	r.Known = r.Tools
	return r
}

func (e *Engine) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	e.mu.Lock()
	e.bodies = append(e.bodies, body)
	e.heads = append(e.heads, r.Header.Clone())
	e.mu.Unlock()

	var q question
	if err := json.Unmarshal(body, &q); err != nil {
		e.refuse(w, http.StatusBadRequest, "bad_json", err.Error())
		return
	}
	if status, code, message := e.objection(q, body); status != 0 {
		e.refuse(w, status, code, message)
		return
	}
	form, err := q.form(e.dialect.Takes)
	if err != nil {
		e.refuse(w, http.StatusBadRequest, "", err.Error())
		return
	}
	a, err := next(e.script, q.request(), form, e.dialect.Answers)
	if err != nil {
		e.mu.Lock()
		e.errs = append(e.errs, err)
		e.mu.Unlock()
		e.refuse(w, http.StatusBadRequest, "script", jackline.Say(err))
		return
	}
	p := &performance{w: w, r: r, d: e.dialect, q: q, size: len(body)}
	p.play(a)
}

// objection is what the dialect has against q, or status 0.
func (e *Engine) objection(q question, body []byte) (status int, code, message string) {
	d := e.dialect
	if err := d.Rules.Check(body); err != nil {
		return http.StatusBadRequest, "", err.Error()
	}
	if len(d.Models) > 0 && !slices.Contains(d.Models, q.Model) {
		return http.StatusNotFound, "model_not_found", fmt.Sprintf("The model `%s` does not exist.", q.Model)
	}
	if d.NoTools && len(q.Tools) > 0 {
		return http.StatusBadRequest, "", q.Model + " does not support tools"
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return http.StatusBadRequest, "bad_json", err.Error()
	}
	for _, f := range d.Refuses {
		if _, ok := fields[f]; ok {
			return http.StatusBadRequest, "unsupported_parameter", "Unsupported parameter: '" + f + "' is not supported with this model."
		}
	}
	return 0, "", ""
}

// encode writes v as JSON, without the escapes that are only of use inside HTML.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return []byte(strings.ToValidUTF8(err.Error(), "")) // v is made here: it always encodes
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
