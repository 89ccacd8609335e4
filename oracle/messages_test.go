package oracle_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	ours "github.com/jackline-ai/jackline/model/anthropic"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
)

// Messages is Anthropic's library in a conversation.
type messages struct {
	api    anthropic.Client
	p      anthropic.MessageNewParams
	stream bool
	next   []anthropic.ContentBlockParamUnion // of the user message that comes next

	strict bool // a stream must begin and end as it should, and each of its blocks too
	last   *anthropic.Message
}

func anthropicClient(url, key string, more ...option.RequestOption) anthropic.Client {
	if key == "" {
		key = "unused"
	}
	return anthropic.NewClient(append([]option.RequestOption{
		option.WithoutEnvironmentDefaults(), option.WithBaseURL(url), option.WithAPIKey(key), option.WithMaxRetries(0),
	}, more...)...)
}

func newMessages(t testing.TB, api anthropic.Client, name string, stream bool) *messages {
	t.Helper()
	c := &messages{api: api, stream: stream, strict: true, p: anthropic.MessageNewParams{
		Model: name, MaxTokens: 4000, System: []anthropic.TextBlockParam{{Text: "You are a sailor."}},
		Thinking: anthropic.ThinkingConfigParamOfEnabled(2000),
	}}
	for _, tool := range modeltest.Offered() {
		var in anthropic.ToolInputSchemaParam
		if err := json.Unmarshal(tool.Schema, &in); err != nil {
			t.Fatal(err)
		}
		one := anthropic.ToolUnionParamOfTool(in, tool.Name)
		one.OfTool.Description = anthropic.String(tool.Summary)
		c.p.Tools = append(c.p.Tools, one)
	}
	return c
}

func (c *messages) say(text string) { c.next = append(c.next, anthropic.NewTextBlock(text)) }

func (c *messages) result(to call, text string) {
	c.next = append(c.next, anthropic.NewToolResultBlock(to.ID, text, false))
}

func (c *messages) ask(ctx context.Context, heard func(string)) (said, error) {
	if len(c.next) > 0 {
		c.p.Messages = append(c.p.Messages, anthropic.NewUserMessage(c.next...))
		c.next = nil
	}
	whole := &anthropic.Message{}
	if c.stream {
		s := c.api.Messages.NewStreaming(ctx, c.p)
		var order []string
		for s.Next() {
			if kind := s.Current().Type; kind != "content_block_delta" {
				order = append(order, kind)
			}
			if err := whole.Accumulate(s.Current()); err != nil {
				return readMessage(whole), err
			}
			if text := s.Current().Delta.Text; text != "" {
				heard(text)
			}
		}
		if err := s.Err(); err != nil {
			return readMessage(whole), err
		}
		blocks := slices.Repeat([]string{"content_block_start", "content_block_stop"}, len(whole.Content))
		want := slices.Concat([]string{"message_start"}, blocks, []string{"message_delta", "message_stop"})
		if c.strict && whole.StopReason != "" && !slices.Equal(order, want) {
			return readMessage(whole), fmt.Errorf("events came in the order %v", order)
		}
	} else {
		var err error
		if whole, err = c.api.Messages.New(ctx, c.p); err != nil {
			return said{}, err
		}
	}
	if whole.StopReason == "" {
		return readMessage(whole), errNoEnd // which the library does not notice
	}
	if len(whole.Content) > 0 {
		c.p.Messages = append(c.p.Messages, whole.ToParam())
	}
	c.last = whole
	return readMessage(whole), nil
}

func readMessage(whole *anthropic.Message) said {
	read, kept := int(whole.Usage.CacheReadInputTokens), int(whole.Usage.CacheCreationInputTokens)
	s := said{
		Finish: map[anthropic.StopReason]model.Finish{
			anthropic.StopReasonEndTurn: model.Stop, anthropic.StopReasonToolUse: model.Calls, anthropic.StopReasonMaxTokens: model.Length,
			anthropic.StopReasonRefusal: model.Stop, anthropic.StopReasonPauseTurn: model.Stop, "model_context_window_exceeded": model.Length,
		}[whole.StopReason],
		Usage: model.Usage{Prompt: int(whole.Usage.InputTokens) + read + kept, Cached: read, Completion: int(whole.Usage.OutputTokens)},
	}
	for _, b := range whole.Content {
		switch b.Type {
		case "text":
			s.Text += b.Text
		case "thinking":
			s.Thought += b.Thinking
		case "tool_use":
			s.Calls = append(s.Calls, call{b.ID, b.Name, canonical(string(b.Input))})
		}
	}
	return s
}

func ourMessages(t *testing.T, url, name, key string) *ours.Model {
	t.Helper()
	m, err := ours.New(ours.Options{BaseURL: url, Model: name, Key: engine.Key(key), Native: true, Retry: once})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// thinkingVoyage has reasoning before each answer with a call, as the API wants it back when reasoning was asked for.
var thinkingVoyage = strings.Replace(voyage, "--- call file_read {\"path\": \"ä", "--- thought\nAgain.\n--- call file_read {\"path\": \"ä", 1)

// Signed reasoning goes back as the library sends it back, and the server is content with the signatures.
func TestMessages(t *testing.T) {
	for name, rules := range map[string]hosted.MessagesRules{
		"plain": {}, "bound": {Bound: true}, "redacted": {Redacts: true, Bound: true},
		"strict": {Key: "sk-ant-test", MaxOut: 64000, Models: []hosted.ModelInfo{{"id": "m"}}, Bound: true},
	} {
		want := truth(t, thinkingVoyage, voyageSteps, "toolu_")
		if rules.Redacts {
			for i := range want {
				want[i].Thought = ""
			}
		}
		for _, stream := range []bool{true, false} {
			t.Run(name+map[bool]string{true: "/stream", false: "/whole"}[stream], func(t *testing.T) {
				srv := hosted.NewMessages(t, parse(t, thinkingVoyage), rules)
				c := newMessages(t, anthropicClient(srv.URL, rules.Key), "m", stream)
				same(t, "Anthropic's library", sail(t, c), want)
				if errs := srv.Errs(); len(errs) > 0 {
					t.Error(errs)
				}
				if m := c.last; m.ID == "" || m.Role != "assistant" || m.Type != "message" || m.Model != "m" {
					t.Errorf("%+v", m)
				}
			})
		}
		t.Run(name+"/ours", func(t *testing.T) {
			srv := hosted.NewMessages(t, parse(t, thinkingVoyage), rules)
			same(t, "our adapter", sail(t, adapter(ourMessages(t, srv.URL, "m", rules.Key))), want)
			if errs := srv.Errs(); len(errs) > 0 {
				t.Error(errs)
			}
		})
	}
}

// A signature that was changed is refused, so that it is no accident that the others are taken.
func TestMessagesForged(t *testing.T) {
	srv := hosted.NewMessages(t, parse(t, thinkingVoyage), hosted.MessagesRules{})
	c := newMessages(t, anthropicClient(srv.URL, ""), "m", true)
	c.say("What do the notes say?")
	s, err := c.ask(t.Context(), quietly)
	if err != nil {
		t.Fatal(err)
	}
	c.p.Messages[1].OfAssistant.Content[0].OfThinking.Thinking += "!"
	for _, each := range s.Calls {
		c.result(each, "x")
	}
	_, err = c.ask(t.Context(), quietly)
	var e *anthropic.Error
	if !errors.As(err, &e) || e.StatusCode != http.StatusBadRequest || !strings.Contains(e.Message, "signature") {
		t.Errorf("%v", err)
	}
}

// What the cache makes of a prompt is counted as the library's marks say.
func TestMessagesCache(t *testing.T) {
	srv := hosted.NewMessages(t, parse(t, "=== *\nok\n"), hosted.MessagesRules{})
	c := newMessages(t, anthropicClient(srv.URL, ""), "m", true)
	c.p.System[0].CacheControl = anthropic.NewCacheControlEphemeralParam()
	for i := range 2 {
		c.say("hi " + strings.Repeat("x", 400))
		s, err := c.ask(t.Context(), quietly)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "Anthropic's library", s.Usage, srv.Counts()[i])
		if (s.Usage.Cached > 0) != (i > 0) || s.Usage.Prompt <= s.Usage.Cached {
			t.Errorf("request %d: %+v", i, s.Usage)
		}
	}
}

// Lists come in pages, which the library turns.
func TestMessagesModels(t *testing.T) {
	rules := hosted.MessagesRules{}
	var want []string
	for i := range 45 {
		id := fmt.Sprintf("m-%02d", i)
		want = append(want, id)
		rules.Models = append(rules.Models, hosted.ModelInfo{
			"id": id, "type": "model", "display_name": "M", "created_at": "2026-02-03T04:05:06Z", "max_input_tokens": 200_000, "max_tokens": 64_000,
		})
	}
	srv := hosted.NewMessages(t, parse(t, voyage), rules)
	var got []string
	api := anthropicClient(srv.URL, "")
	pages := api.Models.ListAutoPaging(t.Context(), anthropic.ModelListParams{})
	for pages.Next() {
		m := pages.Current()
		got = append(got, m.ID)
		if m.DisplayName != "M" || m.CreatedAt.Year() != 2026 || m.MaxInputTokens != 200_000 || m.MaxTokens != 64_000 {
			t.Errorf("%s", m.RawJSON())
		}
	}
	if err := pages.Err(); err != nil {
		t.Fatal(err)
	}
	same(t, "Anthropic's library", got, want)
	own, err := ourMessages(t, srv.URL, "m-00", "").List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "our adapter", own, want)
}

func TestMessagesErrors(t *testing.T) {
	rules := hosted.MessagesRules{Key: "sk-ant-test", Models: []hosted.ModelInfo{{"id": "m"}}}
	for _, tt := range []struct {
		name, script, key, model string
		status                   int
		kind                     anthropic.ErrorType
		message                  string
		ours                     jackline.Kind
	}{
		{"key", "===\nx\n", "sk-ant-wrong", "m", 401, anthropic.ErrorTypeAuthenticationError, "invalid x-api-key", jackline.Forbidden},
		{"model", "===\nx\n", rules.Key, "none", 404, anthropic.ErrorTypeNotFoundError, "model: none", jackline.NoModel},
		{"rate", "===\n--- error 429 slowly\n", rules.Key, "m", 429, anthropic.ErrorTypeRateLimitError, "slowly", jackline.Unavailable},
		{"much", "===\n--- error 529 Overloaded\n", rules.Key, "m", 529, anthropic.ErrorTypeOverloadedError, "Overloaded", jackline.Unavailable},
		{"server", "===\n--- error 500 boom\n", rules.Key, "m", 500, anthropic.ErrorTypeAPIError, "boom", jackline.Unavailable},
		{"request", "===\n--- error 400 what?\n", rules.Key, "m", 400, anthropic.ErrorTypeInvalidRequestError, "what?", jackline.Invalid},
		{"permission", "===\n--- error 403 no\n", rules.Key, "m", 403, anthropic.ErrorTypePermissionError, "no", jackline.Forbidden},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, stream := range []bool{true, false} {
				srv := hosted.NewMessages(t, parse(t, tt.script), rules)
				c := newMessages(t, anthropicClient(srv.URL, tt.key), tt.model, stream)
				c.say("hi")
				_, err := c.ask(t.Context(), quietly)
				var e *anthropic.Error
				if !errors.As(err, &e) {
					t.Fatalf("%v is no error of the API", err)
				}
				same(t, "Anthropic's library", []any{e.StatusCode, e.Type(), e.Message}, []any{tt.status, tt.kind, tt.message})
				if e.RequestID == "" {
					t.Error("no request-id")
				}
			}
			srv := hosted.NewMessages(t, parse(t, tt.script), rules)
			c := adapter(ourMessages(t, srv.URL, tt.model, tt.key))
			c.say("hi")
			_, err := c.ask(t.Context(), quietly)
			kind(t, err, tt.ours)
		})
	}
}

func TestMessagesEnds(t *testing.T) {
	ends(t, func(t *testing.T, text string) client {
		srv := hosted.NewMessages(t, parse(t, text), hosted.MessagesRules{})
		return newMessages(t, anthropicClient(srv.URL, ""), "m", true)
	}, func(t *testing.T, text string) client {
		srv := hosted.NewMessages(t, parse(t, text), hosted.MessagesRules{})
		return adapter(ourMessages(t, srv.URL, "m", ""))
	})
}
