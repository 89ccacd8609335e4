package oracle_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
	ours "github.com/jackline-ai/jackline/model/responses"
)

// A response is OpenAI's library in a conversation over the Responses API.
type response struct {
	api    openai.Client
	p      responses.ResponseNewParams
	items  responses.ResponseInputParam
	stream bool

	// strict: every event must be known and in its place, and all of them must say the same. Otherwise the events count where
	// the response at the end has been left empty, as in many a stream that was written down.
	strict bool
}

func newResponse(t testing.TB, api openai.Client, name string, stream bool) *response {
	t.Helper()
	c := &response{api: api, stream: stream, strict: true, p: responses.ResponseNewParams{
		Model: name, Instructions: openai.String("You are a sailor."), Store: openai.Bool(false),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableReasoningEncryptedContent},
	}}
	for _, tool := range modeltest.Offered() {
		c.p.Tools = append(c.p.Tools, responses.ToolParamOfFunction(tool.Name, schema(t, tool.Schema), false))
	}
	return c
}

func (c *response) say(text string) {
	c.items = append(c.items, responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser))
}

func (c *response) result(to call, text string) {
	item := responses.ResponseInputItemParamOfFunctionCallOutput(text)
	item.OfFunctionCallOutput.CallID = openai.String(to.ID)
	c.items = append(c.items, item)
}

func (c *response) ask(ctx context.Context, heard func(string)) (said, error) {
	c.p.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: c.items}
	var whole *responses.Response
	if c.stream {
		var pieces, done said
		var err error
		if whole, pieces, done, err = c.listen(ctx, heard); err != nil {
			return pieces, err
		}
		last := readResponse(whole)
		for name, other := range map[string]*said{"the deltas": &pieces, "the items": &done} {
			// The same answer came three times: in pieces, item by item, and at the end.
			other.Finish, other.Usage = last.Finish, last.Usage
			if c.strict && fmt.Sprint(*other) != fmt.Sprint(last) {
				return last, fmt.Errorf("%s say %+v, the response %+v", name, *other, last)
			}
		}
		if !c.strict && len(whole.Output) == 0 {
			if len(done.Calls) > 0 && done.Finish == model.Stop {
				done.Finish = model.Calls // which the response's own items would have said
			}
			if done.Text+done.Thought != "" || len(done.Calls) > 0 {
				return done, nil
			}
			return pieces, nil
		}
	} else {
		var err error
		if whole, err = c.api.Responses.New(ctx, c.p); err != nil {
			return said{}, err
		}
	}
	for _, item := range whole.Output {
		var back responses.ResponseInputItemUnionParam
		switch v := item.AsAny().(type) {
		case responses.ResponseOutputMessage:
			p := v.ToParam()
			back.OfOutputMessage = &p
		case responses.ResponseFunctionToolCall:
			p := v.ToParam()
			back.OfFunctionCall = &p
		case responses.ResponseReasoningItem:
			p := v.ToParam()
			back.OfReasoning = &p
		default:
			if !c.strict {
				continue
			}
			return said{}, fmt.Errorf("an item of type %q", item.Type)
		}
		c.items = append(c.items, back)
	}
	return readResponse(whole), nil
}

// listen reads a stream: the response at its end, and what the events before it said, in pieces and in whole items.
func (c *response) listen(ctx context.Context, heard func(string)) (whole *responses.Response, pieces, done said, err error) {
	var number int64
	args := map[string]string{} // of calls that are being written, by item
	var text, thought, doneText, doneThought joiner
	s := c.api.Responses.NewStreaming(ctx, c.p)
	for s.Next() {
		e := s.Current()
		if c.strict && e.SequenceNumber != number {
			return nil, pieces, done, fmt.Errorf("event %d has number %d", number, e.SequenceNumber)
		}
		number++
		switch v := e.AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text.add(&pieces.Text, v.ItemID, v.Delta)
			heard(v.Delta)
		case responses.ResponseReasoningSummaryTextDeltaEvent:
			thought.add(&pieces.Thought, fmt.Sprint(v.ItemID, v.SummaryIndex), v.Delta)
		case responses.ResponseReasoningTextDeltaEvent:
			thought.add(&pieces.Thought, fmt.Sprint(v.ItemID, v.ContentIndex), v.Delta)
		case responses.ResponseFunctionCallArgumentsDeltaEvent:
			args[v.ItemID] += v.Delta
		case responses.ResponseFunctionCallArgumentsDoneEvent:
			if c.strict && args[v.ItemID] != v.Arguments {
				return nil, pieces, done, fmt.Errorf("arguments %q, in pieces %q", v.Arguments, args[v.ItemID])
			}
		case responses.ResponseOutputItemDoneEvent:
			one := readResponse(&responses.Response{Output: []responses.ResponseOutputItemUnion{v.Item}})
			doneText.add(&done.Text, v.Item.ID, one.Text)
			doneThought.add(&done.Thought, v.Item.ID, one.Thought)
			done.Calls = append(done.Calls, one.Calls...)
			for _, each := range one.Calls {
				each.Args = canonical(args[v.Item.ID])
				pieces.Calls = append(pieces.Calls, each)
			}
		case responses.ResponseErrorEvent:
			return nil, pieces, done, errors.New(v.Message)
		case responses.ResponseFailedEvent:
			return nil, pieces, done, &failed{string(v.Response.Error.Code), v.Response.Error.Message}
		case responses.ResponseCompletedEvent:
			whole = &v.Response
		case responses.ResponseIncompleteEvent:
			whole = &v.Response
		case nil:
			if !c.strict {
				continue
			}
			return nil, pieces, done, fmt.Errorf("an event of type %q", e.Type)
		}
	}
	if err := s.Err(); err != nil {
		return nil, pieces, done, err
	}
	if whole == nil {
		return nil, pieces, done, errNoEnd
	}
	return whole, pieces, done, nil
}

// A joiner puts texts together, with an empty line between those of different places, as our adapter does it.
type joiner struct{ at string }

func (j *joiner) add(to *string, at, text string) {
	if text != "" && *to != "" && j.at != at {
		*to += "\n\n"
	}
	if text != "" {
		j.at = at
	}
	*to += text
}

// failed is an answer that broke off, which the library gives as an event.
type failed struct{ code, message string }

// Error is both.
func (f *failed) Error() string { return f.code + ": " + f.message }

func readResponse(whole *responses.Response) said {
	s := said{Usage: model.Usage{
		Prompt: int(whole.Usage.InputTokens), Completion: int(whole.Usage.OutputTokens), Cached: int(whole.Usage.InputTokensDetails.CachedTokens),
	}}
	var text, thought joiner
	for _, item := range whole.Output {
		switch v := item.AsAny().(type) {
		case responses.ResponseOutputMessage:
			for _, part := range v.Content {
				text.add(&s.Text, v.ID, part.Text+part.Refusal)
			}
		case responses.ResponseFunctionToolCall:
			s.Calls = append(s.Calls, call{v.CallID, v.Name, canonical(v.Arguments)})
		case responses.ResponseReasoningItem:
			for i, part := range v.Summary {
				thought.add(&s.Thought, fmt.Sprint(v.ID, i), part.Text)
			}
			for i, part := range v.Content {
				thought.add(&s.Thought, fmt.Sprint(v.ID, i), part.Text)
			}
		}
	}
	switch {
	case whole.Status == responses.ResponseStatusIncomplete && whole.IncompleteDetails.Reason == "max_output_tokens":
		s.Finish = model.Length
	case whole.IncompleteDetails.Reason == "content_filter":
		s.Finish = model.Stop
	case whole.Status != responses.ResponseStatusCompleted:
	case len(s.Calls) > 0:
		s.Finish = model.Calls
	default:
		s.Finish = model.Stop
	}
	return s
}

func ourResponses(t *testing.T, url, name, key string) *ours.Model {
	t.Helper()
	m, err := ours.New(ours.Options{BaseURL: url, Model: name, Key: engine.Key(key), Native: true, Retry: once})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// Sealed reasoning goes back as the library sends it back, and the server finds it whole.
func TestResponses(t *testing.T) {
	want := truth(t, voyage, voyageSteps, "call_")
	for name, rules := range map[string]hosted.ResponsesRules{
		"plain": {}, "strict": {Key: "sk-test", Models: []string{"m"}}, "open": {Open: true}, "phases": {Phases: true},
	} {
		for _, stream := range []bool{true, false} {
			t.Run(name+map[bool]string{true: "/stream", false: "/whole"}[stream], func(t *testing.T) {
				srv := hosted.NewResponses(t, parse(t, voyage), rules)
				c := newResponse(t, openaiClient(srv.URL, rules.Key), "m", stream)
				same(t, "OpenAI's library", sail(t, c), want)
				if errs := srv.Errs(); len(errs) > 0 {
					t.Error(errs)
				}
				if sent := string(srv.Sent()[1]); !rules.Open && !strings.Contains(sent, `"encrypted_content":"gAAAAAB`) {
					t.Errorf("no sealed reasoning went back: %s", sent)
				}
			})
		}
		t.Run(name+"/ours", func(t *testing.T) {
			srv := hosted.NewResponses(t, parse(t, voyage), rules)
			same(t, "our adapter", sail(t, adapter(ourResponses(t, srv.URL, "m", rules.Key))), want)
			if errs := srv.Errs(); len(errs) > 0 {
				t.Error(errs)
			}
		})
	}
}

func TestResponsesModels(t *testing.T) {
	want := []string{"m", "n"}
	srv := hosted.NewResponses(t, parse(t, voyage), hosted.ResponsesRules{Models: want})
	api := openaiClient(srv.URL, "")
	page, err := api.Models.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range page.Data {
		got = append(got, m.ID)
	}
	same(t, "OpenAI's library", got, want)
	own, err := ourResponses(t, srv.URL, "m", "").List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "our adapter", own, want)
}

func TestResponsesErrors(t *testing.T) {
	rules := hosted.ResponsesRules{Key: "sk-test", Models: []string{"m"}}
	for _, tt := range []struct {
		name, script, key, model string
		status                   int
		code, kind, message      string
		ours                     jackline.Kind
	}{
		{"key", "===\nx\n", "sk-wrong", "m", 401, "invalid_api_key", "invalid_request_error", "Incorrect API key provided.", jackline.Forbidden},
		{"model", "===\nx\n", "sk-test", "none", 404, "model_not_found", "invalid_request_error", "The model `none` does not exist or you do not have access to it.", jackline.NoModel},
		{"rate", "===\n--- error 429 slowly\n", "sk-test", "m", 429, "rate_limit_exceeded", "requests", "slowly", jackline.Unavailable},
		{"server", "===\n--- error 500 boom\n", "sk-test", "m", 500, "", "server_error", "boom", jackline.Unavailable},
		{"request", "===\n--- error 400 what?\n", "sk-test", "m", 400, "", "invalid_request_error", "what?", jackline.Invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, stream := range []bool{true, false} {
				srv := hosted.NewResponses(t, parse(t, tt.script), rules)
				c := newResponse(t, openaiClient(srv.URL, tt.key), tt.model, stream)
				c.say("hi")
				_, err := c.ask(t.Context(), quietly)
				var e *openai.Error
				if !errors.As(err, &e) {
					t.Fatalf("%v is no error of the API", err)
				}
				same(t, "OpenAI's library", []any{e.StatusCode, e.Code, e.Type, e.Message}, []any{tt.status, tt.code, tt.kind, tt.message})
				if !e.JSON.Code.Valid() && e.Code != "" || tt.code == "" && !e.JSON.Code.Valid() && e.JSON.Code.Raw() != "null" {
					t.Errorf("code is %s, not null", e.JSON.Code.Raw())
				}
			}
			srv := hosted.NewResponses(t, parse(t, tt.script), rules)
			c := adapter(ourResponses(t, srv.URL, tt.model, tt.key))
			c.say("hi")
			_, err := c.ask(t.Context(), quietly)
			kind(t, err, tt.ours)
		})
	}
}

// An answer that fails in the middle ends with an event, not with an error of the connection.
func TestResponsesFailed(t *testing.T) {
	for status, code := range map[int]responses.ResponseErrorCode{
		500: responses.ResponseErrorCodeServerError, 429: responses.ResponseErrorCodeRateLimitExceeded, 400: responses.ResponseErrorCodeInvalidPrompt,
	} {
		srv := hosted.NewResponses(t, parse(t, fmt.Sprintf("===\nso far\n--- error %d boom\n", status)), hosted.ResponsesRules{})
		c := newResponse(t, openaiClient(srv.URL, ""), "m", true)
		c.say("hi")
		s, err := c.ask(t.Context(), quietly)
		var f *failed
		if !errors.As(err, &f) || f.code != string(code) || f.message != "boom" || s.Text != "so far" {
			t.Errorf("%d: %q, %v", status, s.Text, err)
		}
	}
}

func TestResponsesEnds(t *testing.T) {
	ends(t, func(t *testing.T, text string) client {
		srv := hosted.NewResponses(t, parse(t, text), hosted.ResponsesRules{})
		return newResponse(t, openaiClient(srv.URL, ""), "m", true)
	}, func(t *testing.T, text string) client {
		srv := hosted.NewResponses(t, parse(t, text), hosted.ResponsesRules{})
		return adapter(ourResponses(t, srv.URL, "m", ""))
	})
}
