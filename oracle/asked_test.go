package oracle_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
)

// Messages can be lists of parts, with pictures among them, and a system message can be the developer's.
func TestParts(t *testing.T) {
	picture := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n and so on"))
	const text = "=== *\n--- expect Aye\n--- expect What is it?\nA boat.\n"
	heard := func(t *testing.T, c client) {
		t.Helper()
		if s, err := c.ask(t.Context(), quietly); err != nil || s.Text != "A boat." {
			t.Errorf("%+v, %v", s, err)
		}
	}
	t.Run("chat", func(t *testing.T) {
		srv := modeltest.NewServer(t, parse(t, text), modeltest.OpenAI())
		c := newChat(t, openaiClient(srv.URL, "sk-test"), "gpt-x", true)
		c.p.Messages = []openai.ChatCompletionMessageParamUnion{
			openai.DeveloperMessage("Aye"),
			openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
				openai.ImageContentPart(openai.ChatCompletionContentPartImageImageURLParam{URL: "data:image/png;base64," + picture}),
				openai.TextContentPart("What is it?"),
			}),
		}
		heard(t, c)
	})
	t.Run("messages", func(t *testing.T) {
		srv := hosted.NewMessages(t, parse(t, text), hosted.MessagesRules{})
		c := newMessages(t, anthropicClient(srv.URL, ""), "m", true)
		c.p.System[0].Text = "Aye"
		c.next = []anthropic.ContentBlockParamUnion{anthropic.NewImageBlockBase64("image/png", picture), anthropic.NewTextBlock("What is it?")}
		heard(t, c)
	})
	t.Run("responses", func(t *testing.T) {
		srv := hosted.NewResponses(t, parse(t, text), hosted.ResponsesRules{})
		c := newResponse(t, openaiClient(srv.URL, ""), "m", true)
		c.items = append(c.items,
			responses.ResponseInputItemParamOfMessage("Aye", responses.EasyInputMessageRoleDeveloper),
			responses.ResponseInputItemParamOfMessage(responses.ResponseInputMessageContentListParam{
				{OfInputImage: &responses.ResponseInputImageParam{Detail: "auto", ImageURL: openai.String("data:image/png;base64," + picture)}},
				{OfInputText: &responses.ResponseInputTextParam{Text: "What is it?"}},
			}, responses.EasyInputMessageRoleUser))
		heard(t, c)
	})
}

// An error in the middle of a stream is, to each library, the kind of error that it has for that.
func TestFailsInTheMiddle(t *testing.T) {
	const text = "===\nso far\n--- error 529 Overloaded\n"
	ask := func(c client) error {
		c.say("hi")
		_, err := c.ask(t.Context(), quietly)
		return err
	}
	one := modeltest.NewServer(t, parse(t, text), modeltest.Dialect{})
	var inStream *ssestream.StreamError
	if err := ask(newChat(t, openaiClient(one.URL, ""), "m", true)); !errors.As(err, &inStream) {
		t.Errorf("chat: %v", err)
	}
	two := hosted.NewMessages(t, parse(t, text), hosted.MessagesRules{})
	var e *anthropic.Error
	err := ask(newMessages(t, anthropicClient(two.URL, ""), "m", true))
	if !errors.As(err, &e) || e.Type() != anthropic.ErrorTypeOverloadedError || e.Message != "Overloaded" || e.StatusCode != http.StatusOK || e.RequestID == "" {
		t.Errorf("messages: %v", err)
	}
	// Of Ollama it is a line, of the Responses API an event: see TestOllamaEnds and TestResponsesFailed.
}
