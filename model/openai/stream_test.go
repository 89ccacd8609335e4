package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/tools/txtar"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/openai"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var once = engine.Retry{Tries: 1}

// client makes a Model for a server that handle answers.
func client(t *testing.T, o openai.Options, handle http.HandlerFunc) *openai.Model {
	t.Helper()
	srv := httptest.NewServer(handle)
	t.Cleanup(srv.Close)
	o.BaseURL = srv.URL + "/v1"
	if o.Model == "" {
		o.Model = "m"
	}
	m, err := openai.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.Close() })
	return m
}

func request() model.Request {
	read := model.Tool{Name: "file_read", Summary: "Read a file.", Use: "Before you change it.", Aliases: []string{"cat"},
		Schema: json.RawMessage(`{ "type": "object" }`)}
	return model.Request{
		System:   []string{"You are a sailor.", "", "Facts."},
		Messages: []model.Message{{Role: model.User, Text: "hello"}},
		Tools:    []model.Tool{read}, Known: []model.Tool{read, {Name: "grep"}},
	}
}

// Each file holds an answer that was captured from an engine, and what becomes of it.
func TestCaptured(t *testing.T) {
	files, err := filepath.Glob("testdata/captured_*.txtar")
	if err != nil || len(files) < 2 {
		t.Fatal(len(files), err)
	}
	for _, name := range files {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		m := client(t, openai.Options{Native: true, Retry: once}, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write(a.Files[0].Data)
		})
		if got, want := play(t, m, request()), string(a.Files[1].Data); got != want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, want)
		}
	}
}

// play writes down what m answers to r, one line a chunk.
func play(t *testing.T, m model.Model, r model.Request) string {
	t.Helper()
	var b strings.Builder
	for c, err := range m.Stream(t.Context(), r) {
		if c.Preview.Args == "" { // how arguments grow has a test of its own
			b.WriteString(line(c, err) + "\n")
		}
	}
	return b.String()
}

func line(c model.Chunk, err error) string {
	switch {
	case err != nil:
		return "error " + jackline.KindOf(err).String() + ": " + jackline.Say(err)
	case c.Text != "":
		return "text " + c.Text
	case c.Thought != "":
		return "thought " + c.Thought
	case c.Preview != model.Preview{}:
		return "preview " + c.Preview.Name
	case c.Call != nil:
		cut := ""
		if c.Call.Cut {
			cut = " cut"
		}
		if c.Call.Mended {
			cut += " mended"
		}
		return "call " + c.Call.ID + " " + c.Call.Name + " " + string(c.Call.Args) + cut
	case c.Garbled != "":
		return "garbled " + string(c.Garbled)
	case c.Opaque != "":
		return "opaque " + c.Opaque
	}
	s := "finish " + string(c.Finish)
	if c.Usage != nil {
		b, _ := json.Marshal(c.Usage)
		s += " " + string(b)
	}
	return s
}

// delta is one event with a choice's delta.
func delta(body string) string {
	return `data: {"choices":[{"index":0,"delta":{` + body + `}}]}` + "\n\n"
}

func finish(word string) string {
	return `data: {"choices":[{"index":0,"delta":{},"finish_reason":"` + word + `"}]}` + "\n\n"
}

const done = "data: [DONE]\n\n"

func text(s string) string { return delta(`"content":"` + s + `"`) }

func calls(fragments string) string { return delta(`"tool_calls":[` + fragments + `]`) }

func TestStream(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"plain", text("Hel") + text("lo") + finish("stop") + done, "text Hel|text lo|finish stop"},
		{"comments, events, blanks", ": hi\n\nevent: message\nid: 7\ndata:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\nretry: 3\n" + finish("stop"), "text a|finish stop"},
		{"crlf and byte order mark", "\ufeff" + strings.ReplaceAll(text("a")+finish("stop")+done, "\n", "\r\n"), "text a|finish stop"},
		{"no blank lines between", strings.ReplaceAll(text("a")+text("b")+finish("stop"), "\n\n", "\n"), "text a|text b|finish stop"},
		{"a value over several lines", "data: {\"choices\":[\ndata: {\"delta\":{\"content\":\"a\"},\ndata: \"finish_reason\":\"stop\"}]}\n\n", "text a|finish stop"},
		{"no end marker", text("a") + finish("stop"), "text a|finish stop"},
		{"no last line end", text("a") + strings.TrimSpace(finish("stop")), "text a|finish stop"},
		{"no reason, but the marker", text("a") + done, "text a|finish stop"},
		{"after the marker nothing counts", text("a") + done + text("b"), "text a|finish stop"},
		{"not JSON in between", "data: ping\n\n" + text("a") + "data: pong\n\n" + finish("stop"), "text a|finish stop"},
		{"null and unknown fields", `data: {"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":null,"reasoning":null,"x":[1]},"logprobs":null,"finish_reason":null}],"usage":null,"system_fingerprint":"f"}` + "\n\n" + text("a") + finish("stop"), "text a|finish stop"},
		{"a field of the wrong type", `data: {"id":5,"created":"x","choices":[{"index":"0","delta":{"content":"a","refusal":7}}]}` + "\n\n" + finish("stop"), "text a|finish stop"},
		{"usage only", text("a") + finish("length") + `data: {"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":4}}}` + "\n\n" + done,
			`text a|finish length {"prompt":10,"cached":4,"completion":3}`},
		{"usage in every chunk", `data: {"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}` + "\n\n" +
			`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":null}}` + "\n\n",
			`text a|finish stop {"prompt":10,"cached":0,"completion":2}`},
		{"timings", `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"timings":{"cache_n":30,"prompt_n":12,"predicted_n":4,"predicted_ms":1.5}}` + "\n\n",
			`text a|finish stop {"prompt":42,"cached":30,"completion":4}`},
		{"usage and timings", `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":42,"completion_tokens":4},"timings":{"cache_n":30,"prompt_n":12}}` + "\n\n",
			`text a|finish stop {"prompt":42,"cached":30,"completion":4}`},
		{"three spellings of reasoning", delta(`"reasoning_content":"a"`) + delta(`"reasoning":"b"`) + delta(`"thinking":"c"`) + delta(`"reasoning_content":"d","reasoning":"d"`) + text("e") + finish("stop"),
			"thought a|thought b|thought c|thought d|text e|finish stop"},
		{"content in parts", delta(`"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]`) + finish("stop"), "thought hm|text a|finish stop"},
		{"refusal", delta(`"refusal":"no"`) + finish("stop"), "text no|finish stop"},
		{"a second choice", `data: {"choices":[{"index":1,"delta":{"content":"b"}}]}` + "\n\n" + text("a") + finish("stop"), "text a|finish stop"},
		{"in one piece", `{"choices":[{"index":0,"message":{"role":"assistant","content":"a","reasoning_content":"t","tool_calls":[{"id":"1","type":"function","function":{"name":"grep","arguments":"{\"p\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`,
			`thought t|text a|preview grep|call 1 grep {"p":1}|finish tool_calls {"prompt":1,"cached":0,"completion":2}`},
		{"in one piece, printed wide", "\n{\n  \"choices\": [\n    {\"message\": {\"content\": \"a\"}}\n  ]\n}\n", "text a|finish stop"},
		{"bare JSON lines", `{"choices":[{"delta":{"content":"a"}}]}` + "\n" + `{"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n", "text a|finish stop"},
		{"invalid UTF-8", "data: {\"choices\":[{\"delta\":{\"content\":\"a\xffb\"},\"finish_reason\":\"stop\"}]}\n\n", "text a\ufffdb|finish stop"},
		{"nothing said", finish("stop") + done, "finish stop"},
		{"only the marker", done, "finish stop"},
		{"plain completion", `data: {"choices":[{"text":"a","finish_reason":"stop"}]}` + "\n\n", "text a|finish stop"},

		{"one call", calls(`{"index":0,"id":"c1","type":"function","function":{"name":"file_read","arguments":""}}`) + calls(`{"index":0,"function":{"arguments":"{\"pa"}}`) + calls(`{"index":0,"function":{"arguments":"th\": \"b\"}"}}`) + finish("tool_calls") + done,
			`preview file_read|call c1 file_read {"path":"b"}|finish tool_calls`},
		{"two calls", calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":"{}"}}`) + calls(`{"index":1,"id":"c2","function":{"name":"cat","arguments":"{\"z\":1,\"a\":2}"}}`) + finish("tool_calls"),
			`preview grep|call c1 grep {}|preview cat|call c2 cat {"a":2,"z":1}|finish tool_calls`},
		{"two calls on one index", calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":""}}`) + calls(`{"index":0,"function":{"arguments":"{\"p\":1}"}}`) +
			calls(`{"index":0,"id":"c2","function":{"name":"grep","arguments":""}}`) + calls(`{"index":0,"function":{"arguments":"{\"p\":2}"}}`) + finish("tool_calls"),
			`preview grep|call c1 grep {"p":1}|preview grep|call c2 grep {"p":2}|finish tool_calls`},
		{"two calls on one index, no IDs", calls(`{"index":0,"function":{"name":"grep","arguments":"{\"p\":1}"}}`) + calls(`{"index":0,"function":{"name":"grep","arguments":"{\"p\":2}"}}`) + finish("stop"),
			`preview grep|call  grep {"p":1}|preview grep|call  grep {"p":2}|finish tool_calls`},
		{"two calls without arguments on one index", calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":""}}`) + calls(`{"index":0,"id":"c2","function":{"name":"grep","arguments":""}}`) + finish("stop"),
			`preview grep|preview grep|call c1 grep {}|call c2 grep {}|finish tool_calls`},
		{"a new ID in each fragment", calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":""}}`) + calls(`{"index":0,"id":"c2","function":{"arguments":"{\"p\":"}}`) + calls(`{"index":0,"id":"c3","function":{"arguments":"1}"}}`) + finish("tool_calls"),
			`preview grep|call c1 grep {"p":1}|finish tool_calls`},
		{"ID and name in each fragment", calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":"{\"p\":"}}`) + calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":"1}"}}`) + finish("tool_calls"),
			`preview grep|call c1 grep {"p":1}|finish tool_calls`},
		{"fragments that cross", calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":"{\"p\":"}},{"index":1,"id":"c2","function":{"name":"cat","arguments":"{"}}`) + calls(`{"index":0,"function":{"arguments":"1}"}},{"index":1,"function":{"arguments":"}"}}`) + finish("tool_calls"),
			`preview grep|preview cat|call c1 grep {"p":1}|call c2 cat {}|finish tool_calls`},
		{"the first call is repeated at the end", calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":"{}"}}`) + calls(`{"index":1,"id":"c2","function":{"name":"cat","arguments":"{}"}}`) + calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":""}}`) + finish("tool_calls"),
			`preview grep|call c1 grep {}|preview cat|call c2 cat {}|finish tool_calls`},
		{"name in pieces", calls(`{"index":0,"id":"c1","function":{"name":"file_"}}`) + calls(`{"index":0,"function":{"name":"read"}}`) + calls(`{"index":0,"function":{"arguments":"{}"}}`) + finish("tool_calls"),
			`preview file_read|call c1 file_read {}|finish tool_calls`},
		{"an unknown name", calls(`{"index":0,"id":"c1","function":{"name":"fly"}}`) + calls(`{"index":0,"function":{"arguments":"{}"}}`) + finish("tool_calls"),
			`preview fly|call c1 fly {}|finish tool_calls`},
		{"arguments as an object", calls(`{"id":"c1","function":{"name":"grep","arguments":{"b": 1.0, "a": "<"}}}`) + finish("tool_calls"),
			`preview grep|call c1 grep {"a":"<","b":1}|finish tool_calls`},
		{"no index", calls(`{"id":"c1","function":{"name":"grep","arguments":"{\"p\":1}"}}`) + calls(`{"id":"c2","function":{"name":"grep","arguments":"{\"p\":2}"}}`) + finish("tool_calls"),
			`preview grep|call c1 grep {"p":1}|preview grep|call c2 grep {"p":2}|finish tool_calls`},
		{"no arguments", calls(`{"index":0,"id":"c1","function":{"name":"grep"}}`) + finish("tool_calls"), `preview grep|call c1 grep {}|finish tool_calls`},
		{"null for arguments", calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":null}}`) + finish("tool_calls"), `preview grep|call c1 grep {}|finish tool_calls`},
		{"the same ID twice", calls(`{"index":0,"id":"c","function":{"name":"grep","arguments":"{}"}},{"index":1,"id":"c","function":{"name":"cat","arguments":"{}"}}`) + finish("tool_calls"),
			`preview grep|call c grep {}|preview cat|call  cat {}|finish tool_calls`},
		{"marks in the name", calls(`{"index":0,"id":"c","function":{"name":"grep<|channel|>commentary","arguments":"{}"}}`) + finish("tool_calls"), `preview grep|call c grep {}|finish tool_calls`},
		{"legacy", delta(`"function_call":{"name":"grep","arguments":""}`) + delta(`"function_call":{"arguments":"{\"p\":1}"}`) + finish("function_call"),
			`preview grep|call  grep {"p":1}|finish tool_calls`},
		{"text around calls", text("a") + calls(`{"index":0,"id":"c","function":{"name":"grep","arguments":"{}"}}`) + text("b") + finish("stop"),
			`text a|preview grep|text b|call c grep {}|finish tool_calls`},
		{"cut off in a value", text("a") + calls(`{"index":0,"id":"c","function":{"name":"grep","arguments":"{\"p\": "}}`) + finish("length"), `text a|preview grep|call c grep {"p":null} cut mended|finish length`},
		{"unreadable beside a readable one", calls(`{"index":0,"id":"c","function":{"name":"grep","arguments":"["}},{"index":1,"id":"d","function":{"name":"cat","arguments":"{}"}}`) + finish("tool_calls"),
			`preview grep|preview cat|call d cat {}|finish tool_calls`},
		{"no name", calls(`{"index":0,"id":"c","function":{"arguments":"{}"}}`) + finish("tool_calls"), `garbled unreadable|finish tool_calls`},
		{"calls announced, none there", finish("tool_calls"), `garbled unreadable|finish tool_calls`},
		{"empty frame", text("a") + calls(`{"index":0}`) + finish("stop"), `text a|finish stop`},

		{"an error within", text("a") + `data: {"error":{"message":"boom","code":500}}` + "\n\n",
			"text a|error unavailable: The engine at URL failed (status 500). Its own log says why."},
		{"an error as text", text("a") + `data: {"error":"boom"}` + "\n\n",
			"text a|error unavailable: The engine at URL broke off its answer with an error. Its own log says why."},
		{"an error without data", text("a") + `{"error":{"message":"boom"}}` + "\n",
			"text a|error unavailable: The engine at URL broke off its answer with an error. Its own log says why."},
		{"an error event", "event: error\ndata: {\"message\":\"the model is loaded with context length of only 4096 tokens\"}\n\n",
			"error invalid: The request is too long for m, which is loaded with room for 4096 tokens. Load it with a larger context, or start a new session."},
		{"an old error", `data: {"object":"error","message":"boom","code":400}` + "\n\n",
			"error invalid: The engine at URL refuses the request (status 400). Jackline's log says what it answered."},
		{"an error as the reason", text("a") + finish("error"), "text a|error unavailable: The connection to URL broke off in the middle of the answer. What came so far is kept."},
		{"half", text("a") + text("b"), "text a|text b|error unavailable: The connection to URL broke off in the middle of the answer. What came so far is kept."},
		{"half an event", text("a") + `data: {"choices":[{"del`, "text a|error unavailable: The connection to URL broke off in the middle of the answer. What came so far is kept."},
		{"half a call", calls(`{"index":0,"id":"c","function":{"name":"grep","arguments":"{}"}}`), "preview grep|error unavailable: The connection to URL broke off in the middle of the answer. What came so far is kept."},
		{"broken JSON", text("a") + "data: {\"choices\":}\n\n" + finish("stop"), "text a|error unavailable: The engine at URL sent something unreadable in the middle of its answer. What came so far is kept."},
		{"a page", "<!DOCTYPE html><html><body>Sign in</body></html>", "error unavailable: URL answers with a web page: a sign-in page or a proxy stands there, or the address is not that of an API. Check --base-url."},
		{"nothing", "", "error unavailable: The engine at URL gave an empty answer. Its own log may say why."},
		{"blanks", "\n\n", "error unavailable: The engine at URL gave an empty answer. Its own log may say why."},
		{"something else", `{"hello":"world"}`, "error unavailable: What URL answers is not what a Chat Completions server says. Check --base-url."},
		{"filtered", finish("content_filter"), "error forbidden: The content filter of URL withheld the answer. Ask in other words."},
		{"filtered late", text("a") + finish("content_filter"), "text a|finish stop"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := client(t, openai.Options{Native: true, Retry: once}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, tt.body)
			})
			got := strings.ReplaceAll(strings.TrimSuffix(play(t, m, request()), "\n"), "\n", "|")
			_, base, _ := strings.Cut(m.String(), " at ")
			got = strings.ReplaceAll(got, base, "URL")
			if got != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// What is written of a call is told as it comes, once, and is not text.
func TestPreview(t *testing.T) {
	body := text("Look.") + calls(`{"index":0,"id":"1","function":{"name":"file_read","arguments":""}}`) +
		calls(`{"index":0,"function":{"arguments":"{\"pa"}}`) + calls(`{"index":0,"function":{"arguments":"th\": \"a\"}"}}`) +
		calls(`{"index":1,"id":"2","function":{"name":"nosuch","arguments":"{}"}}`) + finish("tool_calls")
	m := client(t, openai.Options{Native: true, Retry: once}, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	var told []string
	said := ""
	for c, err := range m.Stream(t.Context(), request()) {
		if err != nil {
			t.Fatal(err)
		}
		said += c.Text
		if c.Preview.Name != "" {
			told = append(told, c.Preview.Name+" "+c.Preview.Args)
		}
	}
	want := []string{"file_read ", `file_read {"pa`, `file_read th": "a"}`, "nosuch ", "nosuch {}"}
	if !slices.Equal(told, want) || said != "Look." {
		t.Errorf("said %q, told %q, want %q", said, told, want)
	}
}
