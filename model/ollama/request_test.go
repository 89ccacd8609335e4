package ollama_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/ollama"
)

// sent is the body that r becomes.
func sent(t *testing.T, o ollama.Options, r model.Request) string {
	t.Helper()
	m, s := stubbed(t, o, answers(200, done))
	if got := play(t, m, r); got != "finish stop\n" {
		t.Fatal(got)
	}
	return s.sent[0]
}

func TestBody(t *testing.T) {
	r := request()
	r.Messages = []model.Message{
		{Role: model.User, Text: "look", Images: []model.Image{{Type: "image/png", Data: []byte("\x89PNG")}, {Type: "image/gif", Data: []byte("GIF")}}},
		{Role: model.Assistant, Text: "Look.", Calls: []model.Call{
			{ID: "c1", Name: "file_read", Args: json.RawMessage(`{"path":"a \"b\""}`)}, {Name: "time"}, {Name: "fly!\n", Args: json.RawMessage(`{"a":`)},
		}},
		{Role: model.Result, CallID: "c1", Name: "file_read", Text: "\x00\t\n\"\\<é\xff"},
		{Role: model.Result, Name: "fly!\n", Text: "by name"},
		{Role: model.Result, CallID: "gone", Text: "by order"},
		{Role: model.Result, CallID: "c1", Name: "file_read", Text: "one too many"},
		{Role: model.Assistant, Text: "Done."},
	}
	const tail = `,"stream":true,"think":false,"truncate":false,"shift":false,"options":{"num_ctx":8192}}`
	const tools = `"tools":[{"type":"function","function":{"name":"file_read","description":"Read a file. Before you change it.","parameters":{"type":"object"}}}],`
	const head = `"messages":[{"role":"system","content":"You are a sailor.\n\nFacts."},{"role":"user","content":"look","images":["iVBORw==","R0lG"]},`
	const results = `"content":"\u0000\t\n\"\\<é` + "\ufffd" + `"`
	native := `{"model":"qwen3:4b",` + tools + head +
		`{"role":"assistant","content":"Look.","tool_calls":[` +
		`{"id":"c1","function":{"name":"file_read","arguments":{"path":"a \"b\""}}},{"function":{"name":"time","arguments":{}}},{"function":{"name":"fly__","arguments":{}}}]},` +
		`{"role":"tool",` + results + `,"tool_name":"file_read","tool_call_id":"c1"},` +
		`{"role":"tool","content":"by order","tool_name":"time"},{"role":"tool","content":"by name","tool_name":"fly__"},` +
		`{"role":"user","content":"one too many"},{"role":"assistant","content":"Done."}]`
	if got := sent(t, ollama.Options{Native: true}, r); got != native+tail {
		t.Errorf("\n got %s\nwant %s", got, native+tail)
	}
	words := `{"model":"qwen3:4b",` + head + `{"role":"assistant","content":"Look."},{"role":"user",` + results + `},` +
		`{"role":"user","content":"by name"},{"role":"user","content":"by order"},{"role":"user","content":"one too many"},{"role":"assistant","content":"Done."}]`
	if got := sent(t, ollama.Options{}, r); got != words+tail {
		t.Errorf("\n got %s\nwant %s", got, words+tail)
	}
	r.MaxTokens, r.NoCalls = 7, true
	o := ollama.Options{Native: true, Window: 4096, Think: ollama.ThinkHigh, KeepAlive: 90 * time.Minute}
	want := native + `,"stream":true,"think":"high","truncate":false,"shift":false,"keep_alive":"1h30m0s","options":{"num_ctx":4096,"num_predict":7}}`
	if got := sent(t, o, r); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	o = ollama.Options{Think: ollama.ThinkOn, KeepAlive: -1}
	want = `{"model":"qwen3:4b","messages":[],"stream":true,"think":true,"truncate":false,"shift":false,"keep_alive":-1,"options":{"num_ctx":8192}}`
	if got := sent(t, o, model.Request{}); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestNew(t *testing.T) {
	for base, want := range map[string]string{
		"http://127.0.0.1:11434": "http://127.0.0.1:11434", "http://127.0.0.1:11434/v1/": "http://127.0.0.1:11434",
		" http://h/api ": "http://h", "https://h/ollama/": "https://h/ollama", "http://h/v1?key=secret": "http://h",
	} {
		m := open(t, ollama.Options{BaseURL: base, Model: "m", Native: true})
		if got := m.String(); got != "ollama: m at "+want {
			t.Errorf("%s: %s", base, got)
		}
		if got := m.Info(); got != (model.Info{Name: "m", Window: model.DefaultWindow, Native: true, Knob: model.KnobFormat}) {
			t.Errorf("%+v", got)
		}
	}
	for _, o := range []ollama.Options{
		{}, {BaseURL: "ftp://h"}, {BaseURL: "http://me:pw@h"}, {BaseURL: "http://h", Window: -1}, {BaseURL: "http://h", Think: "hard"},
	} {
		if _, err := ollama.New(o); jackline.KindOf(err) != jackline.Invalid {
			t.Errorf("%s: %v", o, err)
		}
	}
	o := ollama.Options{BaseURL: "http://h?k=secret", Model: "m", Key: "sk-secret"}
	if s := fmt.Sprintf("%v %+v %#v %s", o, o, o, open(t, o)); strings.Contains(s, "secret") {
		t.Error(s)
	}
}

func TestSizeOfImages(t *testing.T) {
	m := open(t, ollama.Options{BaseURL: "http://h"})
	r := modeltest.Ask("look")
	without := m.Size(r)
	r.Messages[0].Images = []model.Image{{}, {}}
	if got := m.Size(r); got != without+2*3072 {
		t.Error(got, without)
	}
}

// A prompt that the engine cannot have read whole is told.
func TestCut(t *testing.T) {
	long := request()
	long.Messages[0].Text = strings.Repeat("words ", 10_000)
	for _, tt := range []struct {
		r      model.Request
		prompt int
		cut    bool
	}{
		{request(), 3, false}, {request(), 8191, false}, {request(), 8192, true},
		{long, 0, false}, {long, 2050, true}, {long, 7600, false},
	} {
		m, _ := stubbed(t, ollama.Options{}, answers(200, fmt.Sprintf(`{"done":true,"prompt_eval_count":%d,"eval_count":1}`, tt.prompt)))
		for c, err := range m.Stream(t.Context(), tt.r) {
			if err != nil || c.Usage == nil || c.Usage.Cut != tt.cut {
				t.Errorf("%d: %+v %v", tt.prompt, c.Usage, err)
			}
		}
	}
}

// What the model or the engine does not take is left out the next time, and from then on.
func TestLearn(t *testing.T) {
	fine := answers(200, done)
	for _, tt := range []struct {
		name, refusal, after string
		think                ollama.Think
	}{
		{"cannot reason", `{"error":"\"qwen3:4b\" does not support thinking"}`, `"think":false,"truncate":false`, ollama.ThinkOn},
		{"knows no levels", `{"error":"think value \"low\" is not supported for this model"}`, `"think":true,`, ollama.ThinkLow},
		{"before levels", `{"error":"json: cannot unmarshal string into Go struct field ChatRequest.think of type bool"}`, `"think":true,`, ollama.ThinkMax},
		{"a strict one", `{"detail":"unknown field: truncate"}`, `"think":false,"options"`, ollama.ThinkOff},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, s := stubbed(t, ollama.Options{Think: tt.think, Retry: once}, answers(400, tt.refusal), fine, fine)
			for range 2 {
				if got := play(t, m, request()); got != "finish stop\n" {
					t.Fatal(got)
				}
			}
			if strings.Contains(s.sent[0], tt.after) || !strings.Contains(s.sent[1], tt.after) || s.sent[1] != s.sent[2] {
				t.Errorf("%s\n%s\n%s", s.sent[0], s.sent[1], s.sent[2])
			}
		})
	}
	m, _ := stubbed(t, ollama.Options{Think: ollama.ThinkLow, Retry: once},
		answers(400, `{"error":"think value \"low\" is not supported for this model"}`), answers(400, `{"error":"x does not support thinking"}`),
		answers(400, `{"error":"x does not support thinking"}`))
	if got := play(t, m, request()); got != "error invalid: The engine at URL refuses the request (status 400). Jackline's log says what it answered.\n" {
		t.Error(got)
	}
}

func BenchmarkWrite(b *testing.B) {
	m := open(b, ollama.Options{BaseURL: "http://engine.test", Native: true, Retry: once, Transport: pieces{200, done, 1 << 20}})
	r := request()
	for i := range 200 {
		r.Messages = append(r.Messages,
			model.Message{Role: model.Assistant, Calls: []model.Call{{ID: fmt.Sprint("c", i), Name: "file_read", Args: json.RawMessage(`{"path":"a"}`)}}},
			model.Message{Role: model.Result, CallID: fmt.Sprint("c", i), Name: "file_read", Text: strings.Repeat("a line of text\n", 100)})
	}
	b.ReportAllocs()
	b.SetBytes(int64(m.Size(r)))
	for b.Loop() {
		for _, err := range m.Stream(b.Context(), r) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
