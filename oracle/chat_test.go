package oracle_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/shared"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	ours "github.com/jackline-ai/jackline/model/openai"
)

// A chat is OpenAI's library in a conversation over Chat Completions.
type chat struct {
	api    openai.Client
	p      openai.ChatCompletionNewParams
	stream bool
}

func openaiClient(url, key string, more ...option.RequestOption) openai.Client {
	if key == "" {
		key = "unused"
	}
	return openai.NewClient(append([]option.RequestOption{option.WithBaseURL(url), option.WithAPIKey(key), option.WithMaxRetries(0)}, more...)...)
}

func newChat(t testing.TB, api openai.Client, name string, stream bool) *chat {
	t.Helper()
	c := &chat{api: api, stream: stream, p: openai.ChatCompletionNewParams{
		Model: name, Messages: []openai.ChatCompletionMessageParamUnion{openai.SystemMessage("You are a sailor.")},
	}}
	if stream {
		c.p.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	for _, tool := range modeltest.Offered() {
		c.p.Tools = append(c.p.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: tool.Name, Description: openai.String(tool.Summary), Parameters: schema(t, tool.Schema),
		}))
	}
	return c
}

func schema(t testing.TB, raw json.RawMessage) map[string]any {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	return fields
}

func (c *chat) say(text string) { c.p.Messages = append(c.p.Messages, openai.UserMessage(text)) }

func (c *chat) result(to call, text string) {
	c.p.Messages = append(c.p.Messages, openai.ToolMessage(text, to.ID))
}

func (c *chat) ask(ctx context.Context, heard func(string)) (said, error) {
	var whole *openai.ChatCompletion
	thought := ""
	if c.stream {
		var sum openai.ChatCompletionAccumulator
		s := c.api.Chat.Completions.NewStreaming(ctx, c.p)
		for s.Next() {
			if !sum.AddChunk(s.Current()) {
				return said{}, errors.New("the library does not add up: " + s.Current().RawJSON())
			}
			if c := s.Current(); c.Object != "chat.completion.chunk" || c.ID == "" || c.Created == 0 || c.Model == "" {
				return said{}, errors.New("an event lacks what each has: " + c.RawJSON())
			}
			for _, choice := range s.Current().Choices {
				if choice.Delta.Content != "" {
					heard(choice.Delta.Content)
				}
				thought += reasoning(choice.Delta.JSON.ExtraFields) // the accumulator leaves it out
			}
		}
		whole = &sum.ChatCompletion
		if err := s.Err(); err != nil {
			return readCompletion(whole, thought), err
		}
	} else {
		var err error
		if whole, err = c.api.Chat.Completions.New(ctx, c.p); err != nil {
			return said{}, err
		}
	}
	if !c.stream && (whole.Object != "chat.completion" || whole.ID == "" || whole.Created == 0 || whole.Model == "") {
		return said{}, errors.New("the answer lacks what each has: " + whole.RawJSON())
	}
	if len(whole.Choices) != 1 {
		return said{}, errors.New("not one choice: " + whole.RawJSON())
	}
	if whole.Choices[0].FinishReason == "" {
		return readCompletion(whole, thought), errNoEnd // which the library does not notice
	}
	message := whole.Choices[0].Message
	if !c.stream {
		thought = reasoning(message.JSON.ExtraFields)
	}
	c.p.Messages = append(c.p.Messages, message.ToParam())
	return readCompletion(whole, thought), nil
}

// reasoning is not a field of OpenAI's; engines call it one of two names.
func reasoning(extra map[string]respjson.Field) string {
	text := ""
	for _, name := range []string{"reasoning_content", "reasoning"} {
		_ = json.Unmarshal([]byte(extra[name].Raw()), &text) // it stays empty where there is none
	}
	return text
}

func readCompletion(whole *openai.ChatCompletion, thought string) said {
	s := said{Thought: thought, Usage: model.Usage{
		Prompt: int(whole.Usage.PromptTokens), Completion: int(whole.Usage.CompletionTokens),
		Cached: int(whole.Usage.PromptTokensDetails.CachedTokens),
	}}
	if len(whole.Choices) == 0 {
		return s
	}
	choice := whole.Choices[0]
	s.Text, s.Finish = choice.Message.Content, model.Finish(choice.FinishReason)
	for _, tool := range choice.Message.ToolCalls {
		f := tool.AsFunction()
		if f.ID == "" { // of a stream the accumulator keeps no raw JSON
			f.ID, f.Function.Name, f.Function.Arguments = tool.ID, tool.Function.Name, tool.Function.Arguments
		}
		s.Calls = append(s.Calls, call{f.ID, f.Function.Name, canonical(f.Function.Arguments)})
	}
	return s
}

// dialects are the families under Chat Completions.
func dialects() map[string]modeltest.Dialect {
	return map[string]modeltest.Dialect{
		"plain": {}, "openai": modeltest.OpenAI(), "llamacpp": modeltest.LlamaCpp(), "vllm": modeltest.VLLM(),
		"ollama": modeltest.Ollama(), "lmstudio": modeltest.LMStudio(),
	}
}

// named is a model that d offers.
func named(d modeltest.Dialect) string {
	if len(d.Models) > 0 {
		return d.Models[0]
	}
	return "script"
}

func ourChat(t testing.TB, url, name, key string) *ours.Model {
	t.Helper()
	m, err := ours.New(ours.Options{BaseURL: url, Model: name, Key: engine.Key(key), Native: true, Retry: once})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

// oneIndex are dialects whose streams the library cannot put together: it adds up all calls of one index. Some of vLLM's
// parsers number them so all the same, and our adapter keeps calls apart by their IDs.
var oneIndex = []string{"vllm"}

func TestChat(t *testing.T) {
	for name, d := range dialects() {
		want := truth(t, voyage, voyageSteps, "")
		for _, stream := range []bool{true, false} {
			t.Run(name+map[bool]string{true: "/stream", false: "/whole"}[stream], func(t *testing.T) {
				theirs := d
				if stream && slices.Contains(oneIndex, name) {
					theirs.OneIndex = false
				}
				srv := modeltest.NewServer(t, parse(t, voyage), theirs)
				got := sail(t, newChat(t, openaiClient(srv.URL, d.Key), named(d), stream))
				same(t, "OpenAI's library", got, want)
				if errs := srv.Errs(); len(errs) > 0 {
					t.Error(errs)
				}
			})
		}
		t.Run(name+"/ours", func(t *testing.T) {
			for _, d.OnePiece = range []bool{false, true} {
				srv := modeltest.NewServer(t, parse(t, voyage), d)
				same(t, "our adapter", sail(t, adapter(ourChat(t, srv.URL, named(d), d.Key))), want)
			}
		})
	}
}

// That the library merges the calls of one index is why oneIndex leaves that habit out; if it stops, this fails.
func TestChatOneIndex(t *testing.T) {
	srv := modeltest.NewServer(t, parse(t, voyage), modeltest.Dialect{OneIndex: true})
	c := newChat(t, openaiClient(srv.URL, ""), "script", true)
	c.say("What do the notes say?")
	got, err := c.ask(t.Context(), quietly)
	if err != nil || len(got.Calls) != 1 {
		t.Errorf("the library reads %+v, %v", got.Calls, err)
	}
}

func TestChatModels(t *testing.T) {
	for name, d := range dialects() {
		t.Run(name, func(t *testing.T) {
			srv := modeltest.NewServer(t, parse(t, voyage), d)
			api := openaiClient(srv.URL, d.Key)
			page, err := api.Models.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range page.Data {
				got = append(got, m.ID)
				if string(m.Object) != "model" || m.Created == 0 || m.OwnedBy != d.Owner {
					t.Errorf("%s", m.RawJSON())
				}
			}
			want := d.Models
			if len(want) == 0 {
				want = []string{"script"}
			}
			same(t, "OpenAI's library", got, want)
			own, err := ourChat(t, srv.URL, named(d), d.Key).List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "our adapter", own, want)
		})
	}
}

// Engines of all families list what they have, and ask for their key, in a way that OpenAI's library understands.
func TestFamilies(t *testing.T) {
	for _, name := range []string{"lm-studio", "llama.cpp", "vllm", "jan", "localai", "mlx-lm", "exo", "docker-model-runner", "litert-lm"} {
		t.Run(name, func(t *testing.T) {
			p := modeltest.Presence{Version: "1.2.3", Key: "sk-test", Models: []modeltest.Offer{
				{ID: "a/b-7b", Trained: 32768, Usable: 8192, Tools: true, Loaded: true}, {ID: "c", Trained: 4096, Usable: 4096},
			}}
			srv := httptest.NewServer(modeltest.Family(name, p, modeltest.Handler(parse(t, voyage), modeltest.Dialect{})))
			defer srv.Close()
			url := srv.URL + "/v1"
			if name == "docker-model-runner" {
				url = srv.URL + "/engines/v1"
			}
			api := openaiClient(url, p.Key)
			page, err := api.Models.List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range page.Data {
				got = append(got, m.ID)
			}
			want := []string{"a/b-7b", "c"}
			same(t, "OpenAI's library", got, want)
			own, err := ourChat(t, url, "c", p.Key).List(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			same(t, "our adapter", own, want)
			same(t, "OpenAI's library", sail(t, newChat(t, openaiClient(url, p.Key), "c", true)), truth(t, voyage, voyageSteps, ""))

			// Those that ask for a key ask whoever chats; llama.cpp shows its models to everybody.
			c := newChat(t, openaiClient(url, "wrong"), "c", true)
			_, err = c.ask(t.Context(), quietly)
			var e *openai.Error
			switch asks := !slices.Contains([]string{"mlx-lm", "exo", "docker-model-runner", "litert-lm"}, name); {
			case name == "vllm": // its refusal is {"error":"Unauthorized"}, in which the library looks for an object
				if err == nil || errors.As(err, &e) {
					t.Errorf("with a wrong key: %v", err)
				}
			case asks && (!errors.As(err, &e) || e.StatusCode != http.StatusUnauthorized):
				t.Errorf("with a wrong key: %v", err)
			case !asks && errors.As(err, &e) && e.StatusCode == http.StatusUnauthorized:
				t.Errorf("it knows no keys: %v", err)
			}
		})
	}
}

func TestChatErrors(t *testing.T) {
	for _, tt := range []struct {
		name, script, key, model string
		status                   int
		code, kind, message      string // in OpenAI's words
		ours                     jackline.Kind
	}{
		{"key", "===\nx\n", "sk-wrong", "gpt-x", 401, "invalid_api_key", "invalid_request_error", "Incorrect API key provided.", jackline.Forbidden},
		{"model", "===\nx\n", "sk-test", "gpt-none", 404, "model_not_found", "invalid_request_error", "The model `gpt-none` does not exist.", jackline.NoModel},
		{"rate", "===\n--- error 429 slowly\n", "sk-test", "gpt-x", 429, "rate_limit_exceeded", "requests", "slowly", jackline.Unavailable},
		{"server", "===\n--- error 500 boom\n", "sk-test", "gpt-x", 500, "", "server_error", "boom", jackline.Unavailable},
		{"busy", "===\n--- error 503 busy\n", "sk-test", "gpt-x", 503, "", "server_error", "busy", jackline.Unavailable},
		{"request", "===\n--- error 400 what?\n", "sk-test", "gpt-x", 400, "", "invalid_request_error", "what?", jackline.Invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, stream := range []bool{true, false} {
				srv := modeltest.NewServer(t, parse(t, tt.script), modeltest.OpenAI())
				c := newChat(t, openaiClient(srv.URL, tt.key), tt.model, stream)
				c.say("hi")
				_, err := c.ask(t.Context(), quietly)
				var e *openai.Error
				if !errors.As(err, &e) {
					t.Fatalf("%v is no error of the API", err)
				}
				same(t, "OpenAI's library", []any{e.StatusCode, e.Code, e.Type, e.Message, e.Param}, []any{tt.status, tt.code, tt.kind, tt.message, ""})
			}
			srv := modeltest.NewServer(t, parse(t, tt.script), modeltest.OpenAI())
			c := adapter(ourChat(t, srv.URL, tt.model, tt.key))
			c.say("hi")
			_, err := c.ask(t.Context(), quietly)
			kind(t, err, tt.ours)
		})
	}
}

// Errors in the middle, connections that break, and clients that leave.
func TestChatEnds(t *testing.T) {
	srv := func(t *testing.T, text string) client {
		s := modeltest.NewServer(t, parse(t, text), modeltest.OpenAI())
		return newChat(t, openaiClient(s.URL, "sk-test"), "gpt-x", true)
	}
	mine := func(t *testing.T, text string) client {
		s := modeltest.NewServer(t, parse(t, text), modeltest.OpenAI())
		return adapter(ourChat(t, s.URL, "gpt-x", "sk-test"))
	}
	ends(t, srv, mine)
}

// ends checks that answers which break off are errors to both, with what had come so far, and that both can leave.
func ends(t *testing.T, theirs, mine func(t *testing.T, script string) client) {
	for who, open := range map[string]func(*testing.T, string) client{"theirs": theirs, "ours": mine} {
		for what, text := range map[string]string{"error": "===\nso far\n--- error 500 boom\n", "cut": "===\nso far\n--- cut\n"} {
			t.Run(who+"/"+what, func(t *testing.T) {
				c := open(t, text)
				c.say("hi")
				s, err := c.ask(t.Context(), quietly)
				if err == nil || s.Text != "so far" {
					t.Errorf("%q, %v", s.Text, err)
				}
			})
		}
		t.Run(who+"/leave", func(t *testing.T) {
			c := open(t, "===\nso far\n--- wait\n")
			c.say("hi")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			text := ""
			s, err := c.ask(ctx, func(piece string) {
				if text += piece; text == "so far" {
					cancel()
				}
			})
			if !errors.Is(err, context.Canceled) || s.Text != "so far" {
				t.Errorf("%q, %v", s.Text, err)
			}
		})
	}
}
