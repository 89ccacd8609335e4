package oracle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/ollama/ollama/api"
	capabilities "github.com/ollama/ollama/types/model"
	"github.com/openai/openai-go/v3"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	ours "github.com/jackline-ai/jackline/model/ollama"
)

// A local is Ollama's library in a conversation.
type local struct {
	api    *api.Client
	p      api.ChatRequest
	strict bool // every line must be as Ollama writes it
}

func ollamaClient(t testing.TB, base string) *api.Client {
	t.Helper()
	return api.NewClient(parseURL(t, base), http.DefaultClient)
}

func parseURL(t testing.TB, base string) *url.URL {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func newLocal(t testing.TB, base, name string, stream bool) *local {
	t.Helper()
	c := &local{strict: true, api: ollamaClient(t, base), p: api.ChatRequest{
		Model: name, Stream: &stream, Messages: []api.Message{{Role: "system", Content: "You are a sailor."}},
	}}
	for _, tool := range modeltest.Offered() {
		one := api.Tool{Type: "function", Function: api.ToolFunction{Name: tool.Name, Description: tool.Summary}}
		if err := json.Unmarshal(tool.Schema, &one.Function.Parameters); err != nil {
			t.Fatal(err)
		}
		c.p.Tools = append(c.p.Tools, one)
	}
	return c
}

func (c *local) say(text string) {
	c.p.Messages = append(c.p.Messages, api.Message{Role: "user", Content: text})
}

func (c *local) result(to call, text string) {
	c.p.Messages = append(c.p.Messages, api.Message{Role: "tool", Content: text, ToolName: to.Name, ToolCallID: to.ID})
}

func (c *local) ask(ctx context.Context, heard func(string)) (said, error) {
	var s said
	back := api.Message{Role: "assistant"}
	done, lines := false, 0
	err := c.api.Chat(ctx, &c.p, func(r api.ChatResponse) error {
		lines++
		if c.strict && (done || r.Model != c.p.Model || r.CreatedAt.IsZero() || r.Message.Role != "assistant") {
			return fmt.Errorf("a line that should not be: %+v", r)
		}
		back.Content += r.Message.Content
		back.Thinking += r.Message.Thinking
		back.ToolCalls = append(back.ToolCalls, r.Message.ToolCalls...)
		if done = r.Done; done {
			s.Finish = model.Finish(r.DoneReason)
			s.Usage = model.Usage{Prompt: r.PromptEvalCount, Completion: r.EvalCount}
			if c.strict && (r.TotalDuration == 0 || r.EvalDuration == 0) {
				return fmt.Errorf("no durations: %+v", r)
			}
		}
		if r.Message.Content != "" {
			heard(r.Message.Content)
		}
		return nil
	})
	s.Text, s.Thought = back.Content, back.Thinking
	for i, each := range back.ToolCalls {
		if c.strict && each.Function.Index != i {
			return s, fmt.Errorf("call %d has index %d", i, each.Function.Index)
		}
		s.Calls = append(s.Calls, call{each.ID, each.Function.Name, canonical(each.Function.Arguments.String())})
	}
	switch {
	case err != nil:
		return s, err
	case !done && ctx.Err() != nil: // the library takes any end of a connection for the end of the answer
		return s, ctx.Err()
	case !done:
		return s, errNoEnd
	case c.strict && !*c.p.Stream && lines != 1:
		return s, fmt.Errorf("an answer that should be one came in %d lines", lines)
	}
	if s.Finish == model.Stop && len(s.Calls) > 0 {
		s.Finish = model.Calls // Ollama has no word for it
	}
	c.p.Messages = append(c.p.Messages, back)
	return s, nil
}

func ourOllama(t *testing.T, base, name string, key engine.Key) *ours.Model {
	t.Helper()
	m, err := ours.New(ours.Options{BaseURL: base, Model: name, Key: key, Native: true, Think: ours.ThinkOn, Retry: once})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// asOllama is what Ollama's library can tell of answers: numbers are floats to it, and it does not read how much of a
// prompt was cached, which newer servers say.
func asOllama(all []said) []said {
	all = slices.Clone(all)
	for i := range all {
		all[i].Usage.Cached = 0
		all[i].Calls = slices.Clone(all[i].Calls)
		for k, c := range all[i].Calls {
			var v any
			if json.Unmarshal([]byte(c.Args), &v) == nil {
				b, _ := json.Marshal(v) // it was JSON just now
				all[i].Calls[k].Args = canonical(string(b))
			}
		}
	}
	return all
}

func shelf() modeltest.OllamaOptions {
	return modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen(), modeltest.Gemma(), modeltest.Nomic()}}
}

func TestOllama(t *testing.T) {
	want := truth(t, voyage, voyageSteps, "")
	for _, stream := range []bool{true, false} {
		t.Run(map[bool]string{true: "stream", false: "whole"}[stream], func(t *testing.T) {
			srv := modeltest.NewOllama(t, parse(t, voyage), shelf())
			same(t, "Ollama's library", sail(t, newLocal(t, srv.URL, "qwen3:4b", stream)), asOllama(want))
			if errs := srv.Errs(); len(errs) > 0 {
				t.Error(errs)
			}
		})
		t.Run(map[bool]string{true: "v1/stream", false: "v1/whole"}[stream], func(t *testing.T) {
			srv := modeltest.NewOllama(t, parse(t, voyage), shelf())
			c := newChat(t, openaiClient(srv.URL+"/v1", ""), "qwen3:4b", stream)
			same(t, "OpenAI's library", sail(t, c), want)
		})
	}
	t.Run("ours", func(t *testing.T) {
		srv := modeltest.NewOllama(t, parse(t, voyage), shelf())
		same(t, "our adapter", sail(t, adapter(ourOllama(t, srv.URL, "qwen3:4b", ""))), want)
	})
}

// Reasoning can be turned off, and an image arrives as it was.
func TestOllamaAsked(t *testing.T) {
	srv := modeltest.NewOllama(t, parse(t, "=== *\n--- thought\nHm.\n--- text\nok\n"), shelf())
	c := newLocal(t, srv.URL, "qwen3:4b", true)
	c.say("hi")
	for _, think := range []*api.ThinkValue{nil, {Value: true}, {Value: false}} {
		c.p.Think = think
		s, err := c.ask(t.Context(), quietly)
		if want := think == nil || think.Bool(); err != nil || (s.Thought == "Hm.") != want || s.Text != "ok" {
			t.Errorf("%+v: %+v, %v", think, s, err)
		}
	}
	picture := []byte("\x89PNG\r\n\x1a\n and so on")
	c = newLocal(t, srv.URL, "gemma3:4b", false)
	c.p.Tools = nil
	c.p.Messages = append(c.p.Messages, api.Message{Role: "user", Content: "What is it?", Images: []api.ImageData{picture}})
	if s, err := c.ask(t.Context(), quietly); err != nil || s.Text != "ok" {
		t.Errorf("%+v, %v", s, err)
	}
}

// What there is, what it can do, and what is loaded.
func TestOllamaModels(t *testing.T) {
	o := shelf()
	o.Version = "0.40.2"
	srv := modeltest.NewOllama(t, parse(t, "=== *\nok\n"), o)
	theirs, mine := ollamaClient(t, srv.URL), ourOllama(t, srv.URL, "qwen3:4b", "")
	if err := theirs.Heartbeat(t.Context()); err != nil {
		t.Error(err)
	}
	v, err := theirs.Version(t.Context())
	if own, err2 := mine.Version(t.Context()); err != nil || err2 != nil || v != o.Version || own != o.Version {
		t.Errorf("versions %q and %q, %v, %v", v, own, err, err2)
	}

	tags, err := theirs.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(tags.Models) != len(o.Models) {
		t.Fatalf("%d models, want %d", len(tags.Models), len(o.Models))
	}
	for i, m := range o.Models {
		l := tags.Models[i]
		same(t, "Ollama's library", []any{l.Name, l.Model, l.Size, l.Details.Family, l.Details.ParameterSize, l.Details.Format},
			[]any{m.Name, m.Name, m.Bytes, m.Family, m.Size, "gguf"})
		if len(l.Digest) != 64 || l.ModifiedAt.IsZero() {
			t.Errorf("%+v", l)
		}
		show, err := theirs.Show(t.Context(), &api.ShowRequest{Model: m.Name})
		if err != nil {
			t.Fatal(err)
		}
		can := func(word string) bool {
			return slices.ContainsFunc(show.Capabilities, func(c capabilities.Capability) bool { return string(c) == word })
		}
		same(t, "Ollama's library", []any{
			show.Details, show.ModelInfo["general.architecture"], show.ModelInfo[m.Family+".context_length"],
			can("completion"), can("tools"), can("thinking"), can("vision"), can("embedding"),
		}, []any{l.Details, m.Family, float64(m.Trained), !m.Embeds, m.Tools, m.Thinking, m.Vision, m.Embeds})
		card, err := mine.Card(t.Context(), m.Name)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "our adapter", []any{card.ID, card.Digest, card.Bytes, card.Trained, card.Tools, card.Thinking, card.Vision, card.Loaded},
			[]any{m.Name, l.Digest, m.Bytes, m.Trained, model.Is(m.Tools), model.Is(m.Thinking), model.Is(m.Vision), model.No})
	}

	// Loaded by asking, with the window that was asked for, and unloaded again.
	if ps, err := theirs.ListRunning(t.Context()); err != nil || len(ps.Models) != 0 {
		t.Errorf("%+v, %v", ps, err)
	}
	c := newLocal(t, srv.URL, "qwen3:4b", true)
	c.p.Options = map[string]any{"num_ctx": 9000}
	c.p.KeepAlive = &api.Duration{Duration: time.Hour}
	c.say("hi")
	if _, err := c.ask(t.Context(), quietly); err != nil {
		t.Fatal(err)
	}
	ps, err := theirs.ListRunning(t.Context())
	if err != nil || len(ps.Models) != 1 {
		t.Fatalf("%+v, %v", ps, err)
	}
	p := ps.Models[0]
	if left := time.Until(p.ExpiresAt); p.Name != "qwen3:4b" || p.ContextLength != 9000 || p.SizeVRAM == 0 || left > time.Hour || left < 50*time.Minute {
		t.Errorf("%+v", p)
	}
	if card, err := mine.Card(t.Context(), p.Name); err != nil || card.Loaded != model.Yes || card.Usable != p.ContextLength {
		t.Errorf("%+v, %v", card, err)
	}
	never := false
	unload := &api.ChatRequest{Model: "qwen3:4b", KeepAlive: &api.Duration{}, Stream: &never}
	err = theirs.Chat(t.Context(), unload, func(r api.ChatResponse) error {
		if !r.Done || r.DoneReason != "unload" {
			return fmt.Errorf("%+v", r)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if ps, err := theirs.ListRunning(t.Context()); err != nil || len(ps.Models) != 0 {
		t.Errorf("%+v, %v", ps, err)
	}
}

// Models are fetched, whether or not anybody watches; a connection that broke goes on where it was; and they are deleted.
func TestOllamaPull(t *testing.T) {
	gemma := modeltest.Gemma()
	gemma.Breaks = 1
	open := func(t *testing.T) (*api.Client, *ours.Model) {
		srv := modeltest.NewOllama(t, parse(t, "=== *\nok\n"), modeltest.OllamaOptions{Library: []modeltest.OllamaModel{modeltest.Qwen(), gemma}})
		return ollamaClient(t, srv.URL), ourOllama(t, srv.URL, "", "")
	}
	type last struct {
		Status      string
		Done, Total int64
	}
	pull := func(c *api.Client, name string, stream *bool) (last, error) {
		var l last
		layers := map[string]last{}
		err := c.Pull(t.Context(), &api.PullRequest{Model: name, Stream: stream}, func(p api.ProgressResponse) error {
			if p.Completed > p.Total || p.Total > 0 && p.Digest == "" {
				return fmt.Errorf("%+v", p)
			}
			l.Status = p.Status
			if p.Digest != "" {
				layers[p.Digest] = last{Done: p.Completed, Total: p.Total}
			}
			return nil
		})
		for _, each := range layers {
			l.Done += each.Done
			l.Total += each.Total
		}
		return l, err
	}
	own := func(m *ours.Model, name string) (l last, err error) {
		for p, e := range m.Pull(t.Context(), name) {
			if e != nil {
				return l, e
			}
			l = last{p.Status, p.Done, p.Total}
		}
		return l, nil
	}

	theirs, mine := open(t)
	got, err := pull(theirs, "qwen3:4b", nil)
	if err != nil || got.Status != "success" || got.Done != got.Total || got.Total < modeltest.Qwen().Bytes {
		t.Errorf("%+v, %v", got, err)
	}
	_, other := open(t)
	l, err := own(other, "qwen3:4b")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "our adapter", l, got)
	silent := false
	if l, err := pull(theirs, "qwen3:4b", &silent); err != nil || l != (last{Status: "success"}) {
		t.Errorf("%+v, %v", l, err)
	}

	if l, err := pull(theirs, gemma.Name, nil); err == nil || l.Done == 0 || l.Done >= gemma.Bytes {
		t.Errorf("it should have broken: %+v, %v", l, err)
	}
	if l, err := pull(theirs, gemma.Name, nil); err != nil || l.Status != "success" {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := own(other, gemma.Name); err == nil {
		t.Error("it should have broken")
	}
	var status api.StatusError
	if _, err := pull(theirs, "none", nil); err == nil || err.Error() != "pull model manifest: file does not exist" {
		t.Errorf("%v", err)
	}
	if _, err := pull(theirs, "none", &silent); !errors.As(err, &status) || status.StatusCode != http.StatusInternalServerError {
		t.Errorf("%v", err)
	}
	_, err = own(mine, "none")
	kind(t, err, jackline.NotFound)

	if err := theirs.Delete(t.Context(), &api.DeleteRequest{Model: "qwen3:4b"}); err != nil {
		t.Error(err)
	}
	if tags, err := theirs.List(t.Context()); err != nil || len(tags.Models) != 1 || tags.Models[0].Name != gemma.Name {
		t.Errorf("%+v, %v", tags, err)
	}
	if err := mine.Delete(t.Context(), gemma.Name); err != nil {
		t.Error(err)
	}
	err = theirs.Delete(t.Context(), &api.DeleteRequest{Model: gemma.Name})
	if !errors.As(err, &status) || status.StatusCode != http.StatusNotFound || status.ErrorMessage != "model 'gemma3:4b' not found" {
		t.Errorf("%+v", err)
	}
	kind(t, mine.Delete(t.Context(), gemma.Name), jackline.NoModel)
}

func TestOllamaErrors(t *testing.T) {
	for _, tt := range []struct {
		name, script, model string
		status              int
		message             string
		ours                jackline.Kind
	}{
		{"model", "===\nx\n", "none", 404, "model 'none' not found", jackline.NoModel},
		{"rate", "===\n--- error 429 slowly\n", "qwen3:4b", 429, "slowly", jackline.Unavailable},
		{"busy", "===\n--- error 503 busy\n", "qwen3:4b", 503, "busy", jackline.Unavailable},
		{"server", "===\n--- error 500 boom\n", "qwen3:4b", 500, "boom", jackline.Unavailable},
		{"no chat", "===\nx\n", "nomic-embed-text", 400, `"nomic-embed-text" does not support chat`, jackline.Invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, stream := range []bool{true, false} {
				srv := modeltest.NewOllama(t, parse(t, tt.script), shelf())
				c := newLocal(t, srv.URL, tt.model, stream)
				c.say("hi")
				_, err := c.ask(t.Context(), quietly)
				var e api.StatusError
				if !errors.As(err, &e) || e.StatusCode != tt.status || e.ErrorMessage != tt.message {
					t.Errorf("%+v", err)
				}
			}
			srv := modeltest.NewOllama(t, parse(t, tt.script), shelf())
			c := adapter(ourOllama(t, srv.URL, tt.model, ""))
			c.say("hi")
			_, err := c.ask(t.Context(), quietly)
			kind(t, err, tt.ours)
		})
	}
	t.Run("tools", func(t *testing.T) {
		srv := modeltest.NewOllama(t, parse(t, "===\nx\n"), shelf())
		c := newLocal(t, srv.URL, "gemma3:4b", true)
		c.say("hi")
		_, err := c.ask(t.Context(), quietly)
		var e api.StatusError
		if !errors.As(err, &e) || e.StatusCode != 400 || e.ErrorMessage != "registry.ollama.ai/library/gemma3:4b does not support tools" {
			t.Errorf("%+v", err)
		}
	})
	t.Run("key", func(t *testing.T) {
		o := shelf()
		o.Key = "secret"
		srv := modeltest.NewOllama(t, parse(t, "===\nx\n"), o)
		c := newLocal(t, srv.URL, "qwen3:4b", true)
		_, err := c.ask(t.Context(), quietly)
		var e api.AuthorizationError
		if !errors.As(err, &e) || e.StatusCode != http.StatusUnauthorized {
			t.Errorf("%+v", err)
		}
		m := adapter(ourOllama(t, srv.URL, "qwen3:4b", ""))
		_, err = m.ask(t.Context(), quietly)
		kind(t, err, jackline.Forbidden)
	})
	t.Run("v1", func(t *testing.T) {
		srv := modeltest.NewOllama(t, parse(t, "===\n--- error 500 boom\n"), shelf())
		for name, want := range map[string][]any{
			"none": {404, "not_found_error", "model 'none' not found", ""}, "qwen3:4b": {500, "api_error", "boom", ""},
		} {
			c := newChat(t, openaiClient(srv.URL+"/v1", ""), name, true)
			_, err := c.ask(t.Context(), quietly)
			var e *openai.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			same(t, "OpenAI's library", []any{e.StatusCode, e.Type, e.Message, e.Code}, want)
		}
	})
}

func TestOllamaEnds(t *testing.T) {
	ends(t, func(t *testing.T, text string) client {
		srv := modeltest.NewOllama(t, parse(t, text), shelf())
		return newLocal(t, srv.URL, "qwen3:4b", true)
	}, func(t *testing.T, text string) client {
		srv := modeltest.NewOllama(t, parse(t, text), shelf())
		return adapter(ourOllama(t, srv.URL, "qwen3:4b", ""))
	})
}
