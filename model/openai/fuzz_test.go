package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/openai"
)

// shredded is a body that comes n bytes at a time.
type shredded struct {
	text string
	n    int
}

func (s *shredded) Read(p []byte) (int, error) {
	if s.text == "" {
		return 0, io.EOF
	}
	n := copy(p, s.text[:min(s.n, len(s.text))])
	s.text = s.text[n:]
	return n, nil
}

func (*shredded) Close() error { return nil }

type fixed struct {
	body string
	n    int
}

func (f fixed) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: &shredded{f.body, f.n}}, nil
}

func parser(t testing.TB, body string, n int) *openai.Model {
	t.Helper()
	m, err := openai.New(openai.Options{BaseURL: "http://engine.test", Model: "m", Native: true, Retry: once, Transport: fixed{body, n}})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Whatever comes, the chunks keep the contract, and it does not matter in which pieces it comes.
func FuzzStream(f *testing.F) {
	for _, s := range []string{
		text("a") + finish("stop") + done,
		calls(`{"index":0,"id":"c1","function":{"name":"grep","arguments":"{\"p\":"}}`) + calls(`{"index":0,"function":{"arguments":"1}"}}`) + finish("tool_calls"),
		calls(`{"id":"c1","function":{"name":"grep","arguments":{"a":1}}},{"id":"c1","function":{"name":"cat"}}`) + done,
		delta(`"reasoning":"x","content":[{"type":"text","text":"y"}]`) + "data: {\"error\":\"x\"}\n\n",
		`{"choices":[{"message":{"content":"a"}}]}`, "<html>", "event: error\r\ndata: {}\r\n\r\n", "data: {\ndata: }\n\n", "\ufeff\n",
		`data: {"choices":[{"delta":{"function_call":{"name":"a"}},"finish_reason":"length"}],"usage":{"prompt_tokens":1e3},"timings":{"cache_n":-1}}` + "\n",
	} {
		f.Add(s)
	}
	odd, err := filepath.Glob("testdata/odd/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range odd {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(a.Files[0].Data))
	}
	f.Fuzz(func(t *testing.T, body string) {
		whole := said(t, parser(t, body, len(body)+1))
		for _, n := range []int{1, 7} {
			if got := said(t, parser(t, body, n)); got != whole {
				t.Fatalf("in pieces of %d:\n%s\nat once:\n%s", n, got, whole)
			}
		}
	})
}

func said(t *testing.T, m *openai.Model) string {
	t.Helper()
	var b strings.Builder
	ended, calls, garbled := false, 0, false
	answer := model.Message{Role: model.Assistant}
	for c, err := range m.Stream(t.Context(), model.Request{}) {
		if ended {
			t.Fatalf("more after the end: %s", line(c, err))
		}
		ended = err != nil || c.Finish != ""
		if c.Call != nil {
			calls++
			answer.Calls = append(answer.Calls, *c.Call)
			var object map[string]any
			if c.Call.Name == "" || json.Unmarshal(c.Call.Args, &object) != nil || object == nil {
				t.Fatalf("%+v", c.Call)
			}
		}
		garbled = garbled || c.Garbled != ""
		answer.Text, answer.Opaque = answer.Text+c.Text, answer.Opaque+c.Opaque
		b.WriteString(line(c, err) + "\n")
	}
	if !ended || garbled && calls > 0 {
		t.Fatalf("ended %v, garbled %v, %d calls", ended, garbled, calls)
	}
	if next := sent(t, true, model.Request{Messages: []model.Message{answer}})[0]; !json.Valid([]byte(next)) {
		t.Fatalf("the next request is no JSON: %s", next)
	}
	return b.String()
}

func BenchmarkText(b *testing.B) {
	const n = 10_000
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, `data: {"id":"chatcmpl-9x","object":"chat.completion.chunk","created":1790000000,"model":"m","system_fingerprint":"fp","choices":[{"index":0,"delta":{"content":" word%d"},"logprobs":null,"finish_reason":null}]}`+"\n\n", i)
	}
	s.WriteString(finish("stop") + done)
	run(b, s.String(), n+1)
}

func BenchmarkCall(b *testing.B) {
	const n = 10_000
	var s strings.Builder
	s.WriteString(calls(`{"index":0,"id":"c1","type":"function","function":{"name":"file_write","arguments":"{\"text\":\""}}`))
	for range n {
		s.WriteString(calls(`{"index":0,"function":{"arguments":"a few words "}}`))
	}
	s.WriteString(calls(`{"index":0,"function":{"arguments":"\"}"}}`) + finish("tool_calls") + done)
	run(b, s.String(), 3)
}

// A hostile server that gives every fragment a new ID must not make reading quadratic.
func BenchmarkNewIDs(b *testing.B) {
	const n = 10_000
	var s strings.Builder
	s.WriteString(calls(`{"index":0,"id":"x","function":{"name":"file_write","arguments":"{\"text\":\""}}`))
	for i := range n {
		fmt.Fprintf(&s, "%s", calls(fmt.Sprintf(`{"index":0,"id":"c%d","function":{"name":"file_write","arguments":"a few words }"}}`, i)))
	}
	s.WriteString(calls(`{"index":0,"function":{"arguments":"\"}"}}`) + finish("tool_calls") + done)
	run(b, s.String(), 3)
}

func run(b *testing.B, body string, chunks int) {
	m := parser(b, body, 4<<10)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range m.Stream(b.Context(), model.Request{}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != chunks {
			b.Fatalf("%d chunks, want %d", n, chunks)
		}
	}
}
