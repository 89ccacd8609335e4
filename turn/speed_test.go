package turn_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/envelope"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/turn"
)

// stepsEach is how long the turns of the benchmark are.
const stepsEach = 420

// A caller is a server whose model reads another file at each step, and answers at the end. It notes when each request came.
type caller struct {
	*httptest.Server
	n     atomic.Int64
	times [stepsEach + 2]time.Time
	began time.Time
	took  time.Duration
}

func newCaller(tb testing.TB, native bool) *caller {
	c := &caller{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(c.n.Add(1))
		c.times[min(n, stepsEach+1)] = time.Now()
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		if n > stepsEach {
			fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"done"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
			return
		}
		if !native {
			text, _ := json.Marshal(fmt.Sprintf("```tool\n{\"name\": \"file_read\", \"args\": {\"path\": \"f%d.txt\"}}\n```", n))
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", text)
			return
		}
		fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call%d","type":"function","function":{"name":"file_read","arguments":"{\"path\":\"f%d.txt\"}"}}]}}]}`+"\n\n", n, n)
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	return c
}

// span is the mean time of the steps around at, in milliseconds.
func (c *caller) span(at int) float64 {
	const half = 10
	return c.times[at+half].Sub(c.times[at-half]).Seconds() * 1000 / (2 * half)
}

func files(tb testing.TB, dir string) {
	for n := 1; n <= stepsEach; n++ {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", n)), []byte(fmt.Sprintf("this is file %d\nwith two lines\n", n)), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

// BenchmarkStep times a turn that reads a small file at each step through the whole harness: engine, gate, judge, sealed log, and
// somebody who watches the events, in native mode and in a window that never fills. The figures include the server's part and the loopback, as do those
// of the floor. Not in it: compaction, long answers and cut results.
func BenchmarkStep(b *testing.B) {
	for name, native := range map[string]bool{"native": true, "text": false} {
		b.Run(name, func(b *testing.B) {
			var sum spans
			for b.Loop() {
				sum.add(harness(b, native))
			}
			sum.report(b)
		})
	}
}

// harness runs one turn of the benchmark.
func harness(b *testing.B, native bool) *caller {
	c := newCaller(b, native)
	defer c.Close()
	bn := newBench(b, options{Mode: jackline.ModeAllowReads, Native: native, Turn: jackline.TurnOptions{MaxSteps: stepsEach + 1}}, "=== 1\nunused\n")
	defer func() { _ = bn.db.Close() }()
	files(b, bn.dir)
	m, err := openai.New(openai.Options{BaseURL: c.URL + "/v1", Model: "m", Window: 4_000_000, Native: native})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = m.Close() }()
	bn.engine.Models = func(context.Context, jackline.Session) (turn.Models, error) {
		if native {
			return turn.Models{Main: m, Raw: m}, nil
		}
		return turn.Models{Main: wrapped(m, 4_000_000), Raw: m}, nil
	}
	// Somebody watches, as the page does: the log is read again as it grows.
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	defer watching.Wait()
	defer stop()
	w := bn.db.Watch(jackline.Local, bn.session.ID)
	defer w.Close()
	watching.Go(func() {
		after := int64(0)
		for {
			select {
			case <-ctx.Done():
				return
			case <-w.Wake():
				w.Live()
				events, err := bn.db.Events(ctx, jackline.Local, bn.session.ID, after, 0)
				if err == nil && len(events) > 0 {
					after = events[len(events)-1].ID
				}
			}
		}
	})
	id := bn.submit(b, "read them all")
	c.began = time.Now()
	tn, err := bn.engine.Run(ctx, jackline.Local, id, turn.Control{})
	c.took = time.Since(c.began)
	if err != nil || tn.Status != jackline.Done {
		b.Fatalf("%v %v %v", err, tn.Status, tn.Reason)
	}
	calls, err := bn.db.Calls(ctx, jackline.Local, id)
	if err != nil || len(calls) != stepsEach {
		b.Fatalf("%d calls, %v", len(calls), err)
	}
	for _, call := range calls {
		if call.Outcome != jackline.OK {
			b.Fatalf("%s: %s", call.Title, call.Text)
		}
	}
	return c
}

// BenchmarkStepFloor is the least that a loop with a growing conversation can do: send the request, read the answer, read the file.
// Standard library only, one request and one file a step, no log. What was written once is not written again: a step appends its two
// messages to the body.
func BenchmarkStepFloor(b *testing.B) {
	var sum spans
	for b.Loop() {
		sum.add(floor(b))
	}
	sum.report(b)
}

// floor runs the bare loop once.
func floor(b *testing.B) *caller {
	type call struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	}
	type message struct {
		Role    string `json:"role"`
		Content string `json:"content"`
		Calls   []call `json:"tool_calls,omitempty"`
		ID      string `json:"tool_call_id,omitempty"`
	}
	type answer struct {
		Choices []struct {
			Delta struct {
				Calls []call `json:"tool_calls"`
			} `json:"delta"`
		} `json:"choices"`
	}
	const tools = `[{"type":"function","function":{"name":"file_read","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}]`
	c := newCaller(b, true)
	defer c.Close()
	dir := b.TempDir()
	files(b, dir)
	body := []byte(`{"model":"m","stream":true,"tools":` + tools + `,"messages":[`)
	say := func(m message) {
		raw, err := json.Marshal(m)
		if err != nil {
			b.Fatal(err)
		}
		if body[len(body)-1] != '[' {
			body = append(body, ',')
		}
		body = append(body, raw...)
	}
	say(message{Role: "system", Content: strings.Repeat("a rule. ", 90)})
	say(message{Role: "user", Content: "read them all"})
	c.began = time.Now()
	for done := false; !done; {
		resp, err := http.Post(c.URL+"/v1/chat/completions", "application/json", io.MultiReader(bytes.NewReader(body), strings.NewReader("]}")))
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatalf("%v %v", err, resp)
		}
		done = true
		sc := bufio.NewScanner(resp.Body)
		for sc.Scan() {
			data, ok := bytes.CutPrefix(sc.Bytes(), []byte("data: "))
			var a answer
			if !ok || json.Unmarshal(data, &a) != nil || len(a.Choices) == 0 || len(a.Choices[0].Delta.Calls) == 0 {
				continue
			}
			asked := a.Choices[0].Delta.Calls[0]
			var args struct{ Path string }
			if err := json.Unmarshal([]byte(asked.Function.Arguments), &args); err != nil {
				b.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, args.Path))
			if err != nil {
				b.Fatal(err)
			}
			say(message{Role: "assistant", Calls: []call{asked}})
			say(message{Role: "tool", ID: asked.ID, Content: string(text)})
			done = false
		}
		if err := sc.Err(); err != nil {
			b.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	c.took = time.Since(c.began)
	if n := c.n.Load(); n != stepsEach+1 {
		b.Fatalf("%d requests", n)
	}
	return c
}

// spans are the figures of several turns, in milliseconds.
type spans struct{ early, late, all, n float64 }

func (s *spans) add(c *caller) {
	s.n++
	s.early += c.span(20)
	s.late += c.span(400)
	s.all += c.took.Seconds() * 1000 / (stepsEach + 1)
}

func (s *spans) report(b *testing.B) {
	b.ReportMetric(s.early/s.n, "ms/step@20")
	b.ReportMetric(s.late/s.n, "ms/step@400")
	b.ReportMetric(s.all/s.n, "ms/step")
	b.ReportMetric(0, "ns/op") // it holds the making of files and databases too
}

// TestFirstRequest holds the price of hello: what a model is sent for it at each size of window, however many tools there are.
func TestFirstRequest(t *testing.T) {
	for _, mode := range []string{model.ModeText, model.ModeEnvelope, model.ModeNative} {
		for _, window := range []int{contract.Small, contract.Middle, contract.Large, contract.Huge} {
			for _, tools := range []int{0, 10, 50, 300} {
				c := contract.Of(window)
				most, unit := c.Fixed, "characters"
				if mode == model.ModeNative {
					most, unit = c.NativeBytes, "bytes"
				}
				t.Run(fmt.Sprintf("%s/%dk/%d", mode, window/1024, tools), func(t *testing.T) {
					chars, body := hello(t, "hello", mode, window, tools)
					if mode == model.ModeNative {
						chars = len(body)
					}
					t.Logf("%d %s of %d", chars, unit, most)
					if chars > most {
						t.Errorf("hello costs %d %s, more than %d:\n%s", chars, unit, most, body)
					}
				})
			}
		}
	}
}

// A first prompt that points at many tools has some of them offered in large windows, and all of it within the contract.
func TestFirstRequestThatPoints(t *testing.T) {
	const prompt = "Search the open issues on GitHub, comment on the report in Jira, update the calendar event, copy notes.txt and look at the weather in Bern"
	for _, window := range []int{contract.Small, contract.Middle, contract.Large, contract.Huge} {
		c := contract.Of(window)
		if _, body := hello(t, prompt, model.ModeNative, window, 300); len(body) > c.NativeBytes+c.Found+2*len(prompt) {
			t.Errorf("%d: %d bytes of %d:\n%s", window, len(body), c.NativeBytes, body)
		}
		chars, body := hello(t, prompt, model.ModeText, window, 300)
		if most := c.Fixed + c.Found + len(prompt) + len("[note] ") + len("These tools are yours to call now:\n"); chars > most {
			t.Errorf("%d: %d characters of %d:\n%s", window, chars, most, body)
		}
		system, rest, _ := strings.Cut(string(body), `"role":"user"`)
		if n := strings.Count(system, "- mcp__"); n > c.Picked || c.Picked > 0 && n < 3 {
			t.Errorf("%d: %d picked tools are offered:\n%s", window, n, system)
		}
		if n := strings.Count(rest, "- mcp__"); n > c.Points || c.Picked == 0 && n == 0 {
			t.Errorf("%d: %d tools are described:\n%s", window, n, rest)
		}
	}
}

// hello asks a first prompt and gives what was sent: the characters of all messages, and the body.
func hello(t *testing.T, prompt, mode string, window, tools int) (chars int, body []byte) {
	t.Helper()
	var bodies [][]byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, body)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer srv.Close()
	bn := newBench(t, options{Mode: jackline.ModeAllowReads, Native: mode == model.ModeNative, Window: window, Web: true, Tools: tools}, "=== 1\nunused\n")
	m, err := openai.New(openai.Options{BaseURL: srv.URL + "/v1", Model: "qwen3:4b", Window: window, Native: mode == model.ModeNative, Knob: model.KnobSchema})
	if err != nil {
		t.Fatal(err)
	}
	bn.engine.Models = func(context.Context, jackline.Session) (turn.Models, error) {
		var main model.Model = m
		switch c := contract.Of(window); mode {
		case model.ModeText:
			main = wrapped(m, window)
		case model.ModeEnvelope:
			main = envelope.Wrap(m, envelope.Options{Brief: c.Brief(), Room: c.Tools, Names: c.Names})
		}
		return turn.Models{Main: main, Raw: m}, nil
	}
	if tn, err := bn.engine.Run(context.Background(), jackline.Local, bn.submit(t, prompt), turn.Control{}); err != nil || tn.Status != jackline.Done {
		t.Fatalf("%v %v %s", err, tn.Status, tn.Reason)
	}
	if len(bodies) != 1 {
		t.Fatalf("%d model calls, want 1", len(bodies))
	}
	var req struct {
		Messages []struct{ Content string }
	}
	if err := json.Unmarshal(bodies[0], &req); err != nil {
		t.Fatal(err)
	}
	for _, msg := range req.Messages {
		chars += len([]rune(msg.Content))
	}
	return chars, bodies[0]
}
