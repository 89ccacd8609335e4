package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/script"
)

// A badEngine answers well at first, badly in the middle, and well again.
type badEngine struct {
	good  http.Handler
	bad   func(http.ResponseWriter, *http.Request)
	worse atomic.Bool
	asked atomic.Int32
}

func (b *badEngine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !b.worse.Load() || r.Method != http.MethodPost {
		b.good.ServeHTTP(w, r)
		return
	}
	// A request that is not read to its end would break the connection, and hide what is to be seen.
	asked, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(asked))
	b.asked.Add(1)
	b.bad(w, r)
}

// raw answers with exactly these bytes.
func raw(contentType, body string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write([]byte(body))
	}
}

const eventStream = "text/event-stream"

// said is one event of a stream that says text.
func said(text string) string {
	return `data: {"choices":[{"index":0,"delta":{"content":"` + text + `"}}]}` + "\n\n"
}

// called is one event of a stream that holds a whole call.
func called(k int, name, args string) string {
	f, _ := json.Marshal(map[string]string{"name": name, "arguments": args}) // strings: it cannot fail
	return fmt.Sprintf(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":%d,"id":"c%d","type":"function","function":%s}]}}]}`+"\n\n", k, k, f)
}

const over = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"

// scriptedly answers as a transcript says.
func scriptedly(t *testing.T, text string) func(http.ResponseWriter, *http.Request) {
	t.Helper()
	s, err := script.Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return modeltest.Handler(s, modeltest.LlamaCpp()).ServeHTTP
}

// flood sends a piece again and again until the client goes, at most so many bytes.
func flood(piece string, most int) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", eventStream)
		for n := 0; n < most; n += len(piece) {
			if _, err := w.Write([]byte(piece)); err != nil {
				return
			}
		}
		_, _ = w.Write([]byte(over))
	}
}

// broken sends a part and loses the connection.
func broken(part string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", eventStream)
		_, _ = w.Write([]byte(part))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// TestBadEngine puts engines behind the real server that do what no engine should. Each turn ends, in a clear error or in
// an answer; the server lives on; the turns before it are there as they were, and the next one works.
func TestBadEngine(t *testing.T) {
	const mib = 1 << 20
	tests := []struct {
		name   string
		bad    func(t *testing.T) func(http.ResponseWriter, *http.Request)
		status jackline.Status
		reason string // stands in what is said of the end
		answer string // stands in the answer
		max    int    // times the engine is asked
	}{
		{name: "nothing", bad: always(raw(eventStream, "")), status: jackline.Failed, reason: "empty answer", max: 5},
		{name: "no words", bad: always(raw(eventStream, over)), status: jackline.Failed, reason: "returned nothing", max: 3},
		{name: "html", bad: always(raw("text/html", "<html><body><h1>It works!</h1></body></html>")), status: jackline.Failed, reason: "web page", max: 5},
		{name: "not json", bad: always(raw(eventStream, "data: {nonsense\n\n")), status: jackline.Failed, reason: "is not what a Chat Completions server says", max: 5},
		{name: "half a stream", bad: always(broken(said("half a sentence"))), status: jackline.Failed, reason: "broke", answer: "half a sentence", max: 5},
		{name: "half a call", bad: always(broken(`data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"file_write","arguments":"{\"path\": \"x.txt\", \"cont"}}]}}]}` + "\n\n")),
			status: jackline.Failed, reason: "broke", max: 5},
		{name: "invalid utf-8", bad: always(raw(eventStream, said("caf\xe9 \xff\xfe au lait")+over)), status: jackline.Done, answer: "caf\ufffd", max: 1},
		{name: "50 MB of text", bad: always(flood(said(strings.Repeat("many words ", 1000)), 50*mib)), status: jackline.Failed, reason: "larger than Jackline reads", answer: "many words", max: 1},
		{name: "50 MB in one line", bad: always(flood(strings.Repeat("x", 64<<10), 50*mib)), status: jackline.Failed, reason: "larger than Jackline reads", max: 5},
		{name: "50 MB of thoughts", bad: always(flood(strings.ReplaceAll(said(strings.Repeat("hm ", 1000)), "content", "reasoning_content"), 50*mib)), status: jackline.Failed, reason: "larger than Jackline reads", max: 3},
		{name: "an error of 50 MB", bad: always(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(400)
			flood("<p>no</p>", 50*mib)(w, r)
		}), status: jackline.Failed, reason: "400", max: 5},
		{name: "one call of 50 MB", bad: always(flood(called(0, "time", strings.Repeat("{", 5000)), 50*mib)), max: 3},
		{name: "calls without end", bad: always(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", eventStream)
			for k := range 1 << 20 {
				if _, err := w.Write([]byte(called(k, "calculator", fmt.Sprintf(`{"expression":"%d"}`, k)))); err != nil {
					return
				}
			}
		}), max: 10},
		{name: "a thousand calls", bad: func(*testing.T) func(http.ResponseWriter, *http.Request) {
			var b strings.Builder
			for k := range 1000 {
				b.WriteString(called(k, "list_dir", fmt.Sprintf(`{"path":".","n":%d}`, k)))
			}
			return raw(eventStream, b.String()+over)
		}, max: 100},
		{name: "the same call for ever", bad: func(t *testing.T) func(http.ResponseWriter, *http.Request) {
			return scriptedly(t, "=== *\n--- call list_dir {\"path\": \".\"}\n")
		}, max: 10},
		{name: "other calls for ever", bad: func(t *testing.T) func(http.ResponseWriter, *http.Request) {
			var b strings.Builder
			for k := range 300 {
				fmt.Fprintf(&b, "===\n--- call calculator {\"expression\": \"%d+1\"}\n", k)
			}
			return scriptedly(t, b.String())
		}, status: jackline.StepLimit, reason: "limit of", max: 30},
		{name: "unknown tools", bad: func(t *testing.T) func(http.ResponseWriter, *http.Request) {
			return scriptedly(t, "=== 1\n--- call launch_rocket {\"to\": \"moon\"}\n=== *\nThere is no such tool.\n")
		}, status: jackline.Done, answer: "no such tool", max: 4},
		{name: "only unknown tools", bad: func(t *testing.T) func(http.ResponseWriter, *http.Request) {
			return scriptedly(t, "=== *\n--- call launch_rocket {\"to\": \"moon\"}\n")
		}, max: 20},
		{name: "wrong types", bad: func(t *testing.T) func(http.ResponseWriter, *http.Request) {
			return scriptedly(t, "=== 1\n--- call file_read {\"path\": {\"deep\": [1, null]}}\n=== 2\n--- call file_read {\"path\": 5, \"from\": \"x\"}\n"+
				"=== 3\n--- call grep {}\n=== *\nI give up.\n")
		}, status: jackline.Done, answer: "I give up", max: 5},
		{name: "wrong types of the protocol", bad: always(raw(eventStream, `data: {"choices":{"delta":"x"},"usage":"many"}`+"\n\n"+`data: [1,2]`+"\n\n"+`data: "x"`+"\n\n")),
			status: jackline.Failed, reason: "http://", max: 5},
		{name: "arguments that are no object", bad: always(raw(eventStream, called(0, "file_read", "[1")+over)), max: 10},
		{name: "names that are no names", bad: always(raw(eventStream, called(0, "../../etc\x00\u202e"+strings.Repeat("n", 5000), "{}")+over)), max: 20},
	}
	for _, mode := range toolModes() {
		for _, tt := range tests {
			t.Run(mode+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				b := &badEngine{good: http.HandlerFunc(scriptedly(t, "=== *\nAll is well.\n")), bad: tt.bad(t)}
				srv := httptest.NewServer(b)
				t.Cleanup(srv.Close)
				h := newHome(t, srv.URL+"/v1", mode)
				a := h.serve()
				s := a.session(map[string]any{"workspace": h.ws})
				ok(t, a, s.ID, a.prompt(s.ID, "before", nil).ID, "All is well.")
				before := a.export(s.ID)

				b.worse.Store(true)
				id := a.prompt(s.ID, "now", map[string]any{"onAsk": "deny", "max_steps": 20}).ID
				v := a.settled(s.ID, id)
				b.worse.Store(false)
				reason := v.Reason
				for _, ev := range a.export(s.ID).Events {
					if ev.Type == "turn.end" && ev.Turn == id {
						if p := body[jackline.TurnEnd](t, ev).Error; p != nil {
							reason += " " + p.Text
						}
					}
				}
				t.Logf("%s after %d requests; %s; answer %.80q (%d bytes)", v.Status, b.asked.Load(), strings.TrimSpace(reason), v.Answer, len(v.Answer))
				if tt.status != "" && v.Status != tt.status {
					t.Errorf("the turn is %s, want %s", v.Status, tt.status)
				}
				if !strings.Contains(reason, tt.reason) || !strings.Contains(v.Answer, tt.answer) {
					t.Errorf("said is %q, answered %.200q; want %q, %q", reason, v.Answer, tt.reason, tt.answer)
				}
				if v.Status != jackline.Done && strings.TrimSpace(reason) == "" {
					t.Error("nobody is told why")
				}
				if v.Status == jackline.Done && strings.TrimSpace(v.Answer) == "" {
					t.Error("it is done without an answer")
				}
				if n := int(b.asked.Load()); n > tt.max || n == 0 {
					t.Errorf("the engine was asked %d times, want 1 to %d", n, tt.max)
				}

				// Nothing is lost, and the next turn works.
				ok(t, a, s.ID, a.prompt(s.ID, "after", nil).ID, "All is well.")
				after := a.export(s.ID)
				for k, ev := range before.Events {
					if after.Events[k].Type != ev.Type || string(after.Events[k].Data) != string(ev.Data) {
						t.Fatalf("event %d of the earlier turn changed", k+1)
					}
				}
				if len(after.Turns) != 3 || after.Turns[0].Answer != "All is well." {
					t.Errorf("there are %d turns", len(after.Turns))
				}
				want[map[string]any](a, 200, "GET", "/healthz", nil)
			})
		}
	}
}

func always(f func(http.ResponseWriter, *http.Request)) func(*testing.T) func(http.ResponseWriter, *http.Request) {
	return func(*testing.T) func(http.ResponseWriter, *http.Request) { return f }
}

// TestLongCalls writes more in a row than the window holds. The turn ends well, and so does the next one.
func TestLongCalls(t *testing.T) {
	for _, mode := range toolModes() {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			const files, size = 5, 360
			text := strings.Repeat("some words of text\n", size)
			var b strings.Builder
			for k := range files {
				args, err := json.Marshal(map[string]string{"path": fmt.Sprintf("f%d.txt", k), "content": text})
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "===\n--- call file_write %s\n", args)
			}
			e := engine(t, b.String()+"=== side\nIt wrote files.\n=== *\nAll are written.\n")
			h := newHome(t, e.URL, mode)
			a := h.serve("--mode", "allow-edits")
			s := a.session(map[string]any{"workspace": h.ws})
			ok(t, a, s.ID, a.prompt(s.ID, "Write five files", nil).ID, "All are written.")
			ok(t, a, s.ID, a.prompt(s.ID, "And now?", nil).ID, "All are written.")
			for k := range files {
				if h.read(fmt.Sprintf("f%d.txt", k)) != text {
					t.Errorf("file %d is not whole", k)
				}
			}
		})
	}
}
