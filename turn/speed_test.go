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
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
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
}

func newCaller(tb testing.TB) *caller {
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
		fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call%d","type":"function","function":{"name":"file_read","arguments":"{\"path\":\"f%d.txt\"}"}}]}}]}`+"\n\n", n, n)
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	tb.Cleanup(c.Close)
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

// BenchmarkStep is the harness's own time for one step of a turn that reads a file at each, log and events on, early and late in the turn.
func BenchmarkStep(b *testing.B) {
	var early, late, all float64
	for b.Loop() {
		c := newCaller(b)
		bn := newBench(b, options{Mode: jackline.ModeAllowReads, Native: true, Turn: jackline.TurnOptions{MaxSteps: stepsEach + 1}}, "=== 1\nunused\n")
		files(b, bn.dir)
		m, err := openai.New(openai.Options{BaseURL: c.URL + "/v1", Model: "m", Window: 4_000_000, Native: true})
		if err != nil {
			b.Fatal(err)
		}
		bn.engine.Models = func(context.Context, jackline.Session) (turn.Models, error) {
			return turn.Models{Main: m, Raw: m}, nil
		}
		start := time.Now()
		bn.model.stop = func() {}
		tn, err := bn.engine.Run(context.Background(), jackline.Local, bn.submit(b, "read them all"), turn.Control{})
		if err != nil || tn.Status != jackline.Done {
			b.Fatalf("%v %v %v", err, tn.Status, tn.Reason)
		}
		all += time.Since(start).Seconds() * 1000 / stepsEach
		early += c.span(20)
		late += c.span(400)
	}
	b.ReportMetric(early/float64(b.N), "ms/step@20")
	b.ReportMetric(late/float64(b.N), "ms/step@400")
	b.ReportMetric(all/float64(b.N), "ms/step")
}

// BenchmarkStepFloor is the least that a loop with a growing conversation can do: write the request, send it, read the answer,
// read the file. Standard library only, one request and one file a step, no log, nothing else.
func BenchmarkStepFloor(b *testing.B) {
	type message struct {
		Role    string            `json:"role"`
		Content string            `json:"content"`
		Calls   []json.RawMessage `json:"tool_calls,omitempty"`
		ID      string            `json:"tool_call_id,omitempty"`
	}
	type delta struct {
		Choices []struct {
			Delta struct {
				Content string `json:"content"`
				Calls   []struct {
					ID       string `json:"id"`
					Function struct{ Name, Arguments string }
				} `json:"tool_calls"`
			} `json:"delta"`
		} `json:"choices"`
	}
	var early, late, all float64
	for b.Loop() {
		c := newCaller(b)
		dir := b.TempDir()
		files(b, dir)
		messages := []message{{Role: "system", Content: strings.Repeat("a rule. ", 90)}, {Role: "user", Content: "read them all"}}
		start := time.Now()
		for done := false; !done; {
			body, err := json.Marshal(map[string]any{"model": "m", "stream": true, "messages": messages})
			if err != nil {
				b.Fatal(err)
			}
			resp, err := http.Post(c.URL+"/v1/chat/completions", "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			done = true
			sc := bufio.NewScanner(resp.Body)
			for sc.Scan() {
				data, ok := bytes.CutPrefix(sc.Bytes(), []byte("data: "))
				var d delta
				if !ok || json.Unmarshal(data, &d) != nil || len(d.Choices) == 0 || len(d.Choices[0].Delta.Calls) == 0 {
					continue
				}
				call := d.Choices[0].Delta.Calls[0]
				var args struct{ Path string }
				if err := json.Unmarshal([]byte(call.Function.Arguments), &args); err != nil {
					b.Fatal(err)
				}
				text, err := os.ReadFile(filepath.Join(dir, args.Path))
				if err != nil {
					b.Fatal(err)
				}
				raw, err := json.Marshal(map[string]any{"id": call.ID, "type": "function", "function": map[string]string{"name": call.Function.Name, "arguments": call.Function.Arguments}})
				if err != nil {
					b.Fatal(err)
				}
				messages = append(messages, message{Role: "assistant", Calls: []json.RawMessage{raw}}, message{Role: "tool", ID: call.ID, Content: string(text)})
				done = false
			}
			_ = resp.Body.Close()
		}
		all += time.Since(start).Seconds() * 1000 / stepsEach
		early += c.span(20)
		late += c.span(400)
	}
	b.ReportMetric(early/float64(b.N), "ms/step@20")
	b.ReportMetric(late/float64(b.N), "ms/step@400")
	b.ReportMetric(all/float64(b.N), "ms/step")
}

// TestFirstRequest holds the price of hello: what a model is sent for it at each size of window.
func TestFirstRequest(t *testing.T) {
	for _, c := range []struct {
		name   string
		native bool
		window int
		most   int
	}{
		{"text 4k", false, 4096, 2100},
		{"text 8k", false, 8192, 3500},
		{"text 16k", false, 16384, 6000},
		{"text 32k", false, 32768, 12000},
		{"native 8k", true, 8192, 5000},
	} {
		t.Run(c.name, func(t *testing.T) {
			var bodies [][]byte
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies = append(bodies, body)
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"Hello."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
			}))
			defer srv.Close()
			bn := newBench(t, options{Mode: jackline.ModeAllowReads, Native: c.native, Window: c.window}, "=== 1\nunused\n")
			m, err := openai.New(openai.Options{BaseURL: srv.URL + "/v1", Model: "qwen3:4b", Window: c.window, Native: c.native})
			if err != nil {
				t.Fatal(err)
			}
			bn.engine.Models = func(context.Context, jackline.Session) (turn.Models, error) {
				var main model.Model = m
				if !c.native {
					main = wrapped(m, c.window)
				}
				return turn.Models{Main: main, Raw: m}, nil
			}
			if tn, err := bn.engine.Run(context.Background(), jackline.Local, bn.submit(t, "hello"), turn.Control{}); err != nil || tn.Status != jackline.Done {
				t.Fatalf("%v %v %s", err, tn.Status, tn.Reason)
			}
			if len(bodies) != 1 {
				t.Fatalf("%d model calls for hello, want 1", len(bodies))
			}
			var req struct {
				Messages []struct{ Content string }
			}
			if err := json.Unmarshal(bodies[0], &req); err != nil {
				t.Fatal(err)
			}
			chars := 0
			for _, msg := range req.Messages {
				chars += len([]rune(msg.Content))
			}
			if c.native {
				chars = len(bodies[0])
			}
			t.Logf("%s: %d of %d", c.name, chars, c.most)
			if chars > c.most {
				t.Errorf("hello costs %d, more than %d:\n%s", chars, c.most, bodies[0])
			}
		})
	}
}
