package openai_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/openai"
)

var userNote = model.Message{Role: model.User, Text: "[note]"}

// sent is the body that r becomes.
func sent(t *testing.T, native bool, requests ...model.Request) []string {
	t.Helper()
	var turns []turn
	for range requests {
		turns = append(turns, says(200, text("a")+finish("stop")))
	}
	st := &stub{turns: turns}
	m, err := openai.New(openai.Options{BaseURL: "http://engine.test/v1", Model: "m", Native: native, Transport: st, Retry: once})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requests {
		if got := play(t, m, r); !strings.HasSuffix(got, "finish stop\n") {
			t.Fatal(got)
		}
	}
	return st.sent
}

func TestBody(t *testing.T) {
	r := request()
	r.Messages = append(r.Messages,
		model.Message{Role: model.Assistant, Text: "Look.", Calls: []model.Call{
			{ID: "c1", Name: "file_read", Args: json.RawMessage(`{"path":"a \"b\""}`)}, {Name: "time"}, {Name: "file_read", Args: json.RawMessage(`{}`)},
		}},
		model.Message{Role: model.Result, CallID: "c1", Name: "file_read", Text: "\x00\x1f\t\n\r\"\\<é\u2028\xff"},
		model.Message{Role: model.Result, Name: "file_read", Text: "by name"},
		model.Message{Role: model.Result, CallID: "gone", Text: "by order"},
		model.Message{Role: model.Result, CallID: "c1", Name: "file_read", Text: "one too many"},
		model.Message{Role: model.Assistant, Text: "Done."},
		model.Message{Role: model.Result, CallID: "c1", Text: "to nothing"},
	)
	const tail = `,"stream":true,"stream_options":{"include_usage":true}}`
	native := `{"model":"m","tools":[{"type":"function","function":{"name":"file_read","description":"Read a file. Before you change it.","parameters":{"type":"object"}}}],` +
		`"messages":[{"role":"system","content":"You are a sailor.\n\nFacts."},{"role":"user","content":"hello"},` +
		`{"role":"assistant","content":"Look.","tool_calls":[` +
		`{"id":"c1","type":"function","function":{"name":"file_read","arguments":"{\"path\":\"a \\\"b\\\"\"}"}},` +
		`{"id":"c00001001","type":"function","function":{"name":"time","arguments":"{}"}},` +
		`{"id":"c00001002","type":"function","function":{"name":"file_read","arguments":"{}"}}]},` +
		`{"role":"tool","tool_call_id":"c1","name":"file_read","content":"\u0000\u001f\t\n\r\"\\<é` + "\u2028\ufffd" + `"},` +
		`{"role":"tool","tool_call_id":"c00001001","name":"time","content":"by order"},` +
		`{"role":"tool","tool_call_id":"c00001002","name":"file_read","content":"by name"},` +
		`{"role":"user","content":"one too many"},{"role":"assistant","content":"Done."},{"role":"user","content":"to nothing"}]`
	if got := sent(t, true, r)[0]; got != native+tail {
		t.Errorf("\n got %s\nwant %s", got, native+tail)
	}
	r.NoCalls, r.MaxTokens = true, 7
	if got, want := sent(t, true, r)[0], native+strings.TrimSuffix(tail, "}")+`,"max_tokens":7,"tool_choice":"none"}`; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	words := `{"model":"m","messages":[{"role":"system","content":"You are a sailor.\n\nFacts."},{"role":"user","content":"hello"},{"role":"assistant","content":"Look."},` +
		`{"role":"user","content":"\u0000\u001f\t\n\r\"\\<é` + "\u2028\ufffd" + `"},{"role":"user","content":"by name"},{"role":"user","content":"by order"},` +
		`{"role":"user","content":"one too many"},{"role":"assistant","content":"Done."},{"role":"user","content":"to nothing"}],"stream":true,"stream_options":{"include_usage":true},"max_tokens":7}`
	if got := sent(t, false, r)[0]; got != words {
		t.Errorf("\n got %s\nwant %s", got, words)
	}
	if got, want := sent(t, true, model.Request{})[0], `{"model":"m","messages":[]`+tail; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	odd := model.Request{Tools: []model.Tool{{Name: "a", Use: "Use it."}, {Name: "b", Schema: json.RawMessage(`[`)}, {Name: "c", Schema: json.RawMessage(`true`)}}}
	const anything = `"parameters":{"type":"object","properties":{}}}}`
	if got, want := sent(t, true, odd)[0], `{"model":"m","tools":[{"type":"function","function":{"name":"a","description":"Use it.",`+anything+
		`,{"type":"function","function":{"name":"b",`+anything+`,{"type":"function","function":{"name":"c",`+anything+`],"messages":[]`+tail; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// Images go in front of their message's text, to a model that reads them; what is sent for them does not depend on what follows.
func TestImages(t *testing.T) {
	picture := func(data string) []model.Image { return []model.Image{{Type: "image/png", Data: []byte(data)}} }
	first := model.Request{Messages: []model.Message{{Role: model.User, Text: "see", Images: picture("abc")}}}
	second := first
	second.Messages = append(second.Messages[:1:1], model.Message{Role: model.Assistant, Text: "seen"},
		model.Message{Role: model.User, Images: append(picture("\xff"), model.Image{Type: `x",`, Data: nil})})
	ask := func(vision bool, turns ...turn) []string {
		st := &stub{turns: turns}
		m, err := openai.New(openai.Options{BaseURL: "http://engine.test/v1", Model: "m", Vision: vision, Transport: st, Retry: once})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []model.Request{first, second} {
			if got := play(t, m, r); !strings.HasSuffix(got, "finish stop\n") {
				t.Fatal(got)
			}
		}
		return st.sent
	}
	ok := says(200, text("a")+finish("stop"))
	const one = `{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,YWJj"}},{"type":"text","text":"see"}]}`
	const two = one + `,{"role":"assistant","content":"seen"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,/w=="}},` +
		`{"type":"image_url","image_url":{"url":"data:application/octet-stream;base64,"}}]}`
	for n, got := range ask(true, ok, ok) {
		if want := []string{one, two}[n]; !strings.HasPrefix(got, want+`],"stream"`) {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
	}
	for _, got := range ask(false, ok, ok) {
		if !strings.HasPrefix(got, `{"model":"m","messages":[{"role":"user","content":"see"}`) || strings.Contains(got, "base64") {
			t.Errorf("to a model that sees nothing: %s", got)
		}
	}
}

// A request that adds to another begins with its bytes.
func TestPrefix(t *testing.T) {
	for _, native := range []bool{true, false} {
		var bodies [][]byte
		for _, b := range sent(t, native, modeltest.Conversation()...) {
			if !json.Valid([]byte(b)) {
				t.Errorf("not JSON: %s", b)
			}
			bodies = append(bodies, []byte(b))
		}
		modeltest.Grows(t, bodies)
	}
}

// The whole first request with nine tools stays within the product's budget: what stands around their texts is little.
func TestBudget(t *testing.T) {
	var r model.Request
	texts := 0
	for i := range 9 {
		tool := model.Tool{
			Name: fmt.Sprintf("tool_number_%d", i), Summary: "Search the files of the workspace for a regular expression.", Use: "Use it before you read whole files.",
			Schema: json.RawMessage(`{"type":"object","properties":{"pattern":{"type":"string","description":"regular expression"},"path":{"type":"string","description":"folder, default all"},"limit":{"type":"integer"}},"required":["pattern"]}`),
		}
		texts += len(tool.Name) + len(tool.Summary) + len(tool.Use) + len(tool.Schema)
		r.Tools = append(r.Tools, tool)
	}
	r.System = []string{strings.Repeat("s", 1000)}
	r.Messages = []model.Message{{Role: model.User, Text: "hello"}}
	body := sent(t, true, r)[0]
	if over := len(body) - texts - 1005; over > 1000 {
		t.Errorf("%d bytes around the texts", over)
	}
	if len(body) > 5000 {
		t.Errorf("%d bytes", len(body))
	}
}

func TestSize(t *testing.T) {
	m, _ := stubbed(t, openai.Options{})
	r := model.Request{System: []string{"äb", "c"}, Messages: []model.Message{{Role: model.User, Text: "\n\"ü"}}}
	if got := m.Size(r); got != 10 {
		t.Errorf("size %d, want the characters by what they weigh, not their escapes", got)
	}
}

func FuzzBody(f *testing.F) {
	f.Add("a\"\\\n\x00\xff\u2028é", "{}")
	f.Fuzz(func(t *testing.T, text, args string) {
		r := model.Request{System: []string{text}, Messages: []model.Message{{Role: model.Assistant, Text: text, Calls: []model.Call{{ID: text, Name: text, Args: json.RawMessage(args)}}}}}
		body := sent(t, true, r)[0]
		var q struct {
			Messages []struct {
				Content   string
				ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
			}
		}
		if err := json.Unmarshal([]byte(body), &q); err != nil {
			t.Fatalf("%v: %s", err, body)
		}
		clean := func(s string) string {
			b, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			var back string
			if err := json.Unmarshal(b, &back); err != nil {
				t.Fatal(err)
			}
			return back
		}
		last := q.Messages[len(q.Messages)-2] // behind it stands that there is no result
		if last.Content != clean(text) {
			t.Fatalf("%q became %q", text, last.Content)
		}
		if args != "" && last.ToolCalls[0].Function.Arguments != clean(args) {
			t.Fatalf("%q became %q", args, last.ToolCalls[0].Function.Arguments)
		}
	})
}

// A name that no engine takes, which a model made up, does not spoil the requests after it.
func TestNameThatIsNone(t *testing.T) {
	for name, want := range map[string]string{
		"file_read": "file_read", "functions.run: 1\n[note]": "functions_run__1__note_", "": "unknown", "wörter": "w__rter",
		strings.Repeat("a", 70): strings.Repeat("a", 64),
	} {
		r := request()
		r.Messages = append(r.Messages,
			model.Message{Role: model.Assistant, Calls: []model.Call{{ID: "c1", Name: name}}},
			model.Message{Role: model.Result, CallID: "c1", Name: "x " + name, Text: "no"})
		got := sent(t, true, r)[0]
		if !strings.Contains(got, `"function":{"name":"`+want+`","arguments"`) || strings.Contains(got, `"name":"x `) {
			t.Errorf("%q: %s", name, got)
		}
	}
}
