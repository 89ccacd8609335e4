package openai_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/openai"
)

// refuses is a refusal with a provider's own words.
func refuses(status int, words string) turn {
	quoted, err := json.Marshal(words)
	if err != nil {
		return breaks(err)
	}
	return says(status, `{"error":{"message":`+string(quoted)+`,"type":"invalid_request_error"}}`)
}

var fine = says(200, text("a")+finish("stop"))

// heardOf asks once, and gives the calls of the answer and what is to go back with it.
func heardOf(t *testing.T, m model.Model, r model.Request) model.Message {
	t.Helper()
	answer := model.Message{Role: model.Assistant}
	for c, err := range m.Stream(t.Context(), r) {
		if err != nil {
			t.Fatal(err)
		}
		answer.Text += c.Text
		answer.Opaque += c.Opaque
		if c.Call != nil {
			answer.Calls = append(answer.Calls, *c.Call)
		}
	}
	return answer
}

// further is r with an answer to it and the results of its calls.
func further(r model.Request, answer model.Message) model.Request {
	r.Messages = append(slices.Clone(r.Messages), answer)
	for _, c := range answer.Calls {
		r.Messages = append(r.Messages, model.Message{Role: model.Result, CallID: c.ID, Name: c.Name, Text: "noon"})
	}
	return r
}

// What is signed goes back as it came, to the model that signed it, where it is still whole; and to no other.
func TestSignaturesGoBack(t *testing.T) {
	const signed = `"extra_content":{"google":{"thought_signature":"c2ln"}}`
	const details = `"reasoning_details":[{"index":0,"signature":"s","text":"Hm.","type":"reasoning.text"}]`
	said := says(200, delta(`"reasoning":"Hm.","reasoning_details":[{"type":"reasoning.text","text":"Hm.","signature":"s","index":0}]`)+
		calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":"{}"},`+signed+`}`)+calls(`{"index":1,"id":"c2","function":{"name":"cat","arguments":"{}"}}`)+finish("tool_calls"))
	m, s := stubbed(t, openai.Options{}, said, fine, fine, refuses(400, `Invalid JSON payload received. Unknown name "extra_content"`), fine)
	r := request()
	answer := heardOf(t, m, r)
	want := `{"role":"assistant","content":"",` + details + `,"tool_calls":[{"id":"c1","type":"function","function":{"name":"grep","arguments":"{}"},` + signed +
		`},{"id":"c2","type":"function","function":{"name":"cat","arguments":"{}"}}]}`
	heardOf(t, m, further(r, answer))
	if !strings.Contains(s.sent[1], want) {
		t.Errorf("sent %s\nwithout %s", s.sent[1], want)
	}
	fewer := answer
	fewer.Calls = fewer.Calls[:1]
	heardOf(t, m, further(r, fewer))
	if strings.Contains(s.sent[2], "thought_signature") {
		t.Errorf("a signature of other calls is sent: %s", s.sent[2])
	}
	heardOf(t, m, further(r, answer))
	if last := s.sent[len(s.sent)-1]; len(s.sent) != 5 || strings.Contains(last, "extra_content") || strings.Contains(last, "reasoning_details") {
		t.Errorf("what is refused is sent: %s", last)
	}
	other, s := stubbed(t, openai.Options{Model: "other"}, fine)
	heardOf(t, other, further(r, answer))
	if strings.Contains(s.sent[0], "signature") {
		t.Errorf("another model's signature is sent: %s", s.sent[0])
	}
}

// What a provider says in its own words is learned, once, and the request sent again as it wants it.
func TestHistoryAsTheyWantIt(t *testing.T) {
	history := further(request(), model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "call_0fypS1hVX", Name: "grep", Args: json.RawMessage(`{}`)}, {ID: "c2", Name: "cat"}}})
	history.Messages = append(history.Messages, model.Message{Role: model.User, Text: "[note] Hurry."}, model.Message{Role: model.Assistant, Text: "Yes."}, userNote)
	for name, tt := range map[string]struct {
		refusal turn
		want    []string
		not     string
	}{
		"Mistral's IDs": {refuses(400, "Tool call id was call_0fypS1hVX but must be a-z, A-Z, 0-9, with a length of 9."),
			[]string{`"id":"c00001000"`, `"tool_call_id":"c00001000"`, `"id":"c00001001"`, `"tool_call_id":"c00001001"`}, "call_0"},
		"a template's IDs": {refuses(500, "Tool call IDs should be alphanumeric strings with length 9!"), []string{`"id":"c00001000"`}, "call_0"},
		"Bedrock's IDs":    {refuses(400, "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"), []string{`"id":"c00001000"`}, "call_0"},
		"Mistral's order": {refuses(400, "Unexpected role 'user' after role 'tool'"),
			[]string{`"content":"noon"},{"role":"assistant","content":"(I have read the results.)"},{"role":"user","content":"[note] Hurry."}`}, ""},
		"Moonshot's empty text": {refuses(400, "Invalid request: text content is empty"), []string{`"content":null,"tool_calls"`}, `"content":""`},
		"Bedrock's empty text":  {refuses(400, "ValidationException: messages: text content blocks must be non-empty"), []string{`"content":null,"tool_calls"`}, `"content":""`},
		"DeepSeek's reasoning": {refuses(400, "Missing `reasoning_content` field in the assistant message at message index 2. For more information, please refer to the documents"),
			[]string{`"content":"","reasoning_content":"","tool_calls"`, `"content":"Yes.","reasoning_content":""}`}, ""},
		"Gemini's signatures": {says(400, `[{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.","status":"INVALID_ARGUMENT"}}]`),
			[]string{`"arguments":"{}"},"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}},{"id":"c2","type":"function","function":{"name":"cat","arguments":"{}"}}]`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m, s := stubbed(t, openai.Options{}, tt.refusal, fine, fine)
			for range 2 {
				heardOf(t, m, history)
			}
			if len(s.sent) != 3 {
				t.Fatalf("%d requests", len(s.sent))
			}
			for _, body := range s.sent[1:] {
				for _, want := range tt.want {
					if !strings.Contains(body, want) {
						t.Errorf("sent %s\nwithout %s", body, want)
					}
				}
				if tt.not != "" && strings.Contains(body, tt.not) {
					t.Errorf("sent %s\nwith %s", body, tt.not)
				}
			}
		})
	}
}

// Where calls are not taken without tools, they are put into words when there are none, and only then.
func TestCallsWithoutTools(t *testing.T) {
	m, s := stubbed(t, openai.Options{}, refuses(400, "ValidationException: The toolConfig field must be defined when using toolUse and toolResult content blocks."), fine, fine)
	r := further(request(), model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "c1", Name: "grep"}}})
	offered := r.Tools
	r.Tools = nil
	heardOf(t, m, r)
	if want := `{"role":"user","content":"hello"},{"role":"user","content":"noon"}]`; !strings.Contains(s.sent[1], want) {
		t.Errorf("sent %s", s.sent[1])
	}
	r.Tools = offered
	heardOf(t, m, r)
	if !strings.Contains(s.sent[2], `"tool_call_id":"c1"`) {
		t.Errorf("sent %s", s.sent[2])
	}
}

// A server that was found to want reasoning back gets it, as it came.
func TestThoughtsGoBack(t *testing.T) {
	thinks := says(200, delta(`"reasoning_content":"Hm. \"é\""`)+calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":"{}"}}`)+finish("tool_calls"))
	m, s := stubbed(t, openai.Options{}, thinks, refuses(400, "The `reasoning_content` in the thinking mode must be passed back to the API."), thinks, fine)
	r := request()
	first := heardOf(t, m, r)
	r = further(r, first)
	second := heardOf(t, m, r)
	heardOf(t, m, further(r, second))
	if first.Opaque != "" || !strings.HasPrefix(second.Opaque, `{"openai":`) {
		t.Errorf("%q %q", first.Opaque, second.Opaque)
	}
	if want := `"content":"","reasoning_content":"Hm. \"é\"","tool_calls"`; !strings.Contains(s.sent[3], want) || !strings.Contains(s.sent[3], `"reasoning_content":""`) {
		t.Errorf("sent %s\nwithout %s", s.sent[3], want)
	}
}

// What stands in a log as opaque state spoils no request, whatever it is.
func FuzzOpaque(f *testing.F) {
	for _, s := range []string{"", "?", `{"openai":null}`, `{"openai":{"model":"m","details":{},"extras":[1]}}`, `{"openai":{"model":"m","details":[1,"x"],"extras":[{"google":{}}]}}`, `{"openai":{"model":"m","thought":"\ud800"}}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, opaque string) {
		r := further(request(), model.Message{Role: model.Assistant, Opaque: opaque, Calls: []model.Call{{ID: "c1", Name: "grep"}}})
		if body := sent(t, true, r)[0]; !json.Valid([]byte(body)) {
			t.Fatalf("%q spoils %s", opaque, body)
		}
	})
}
