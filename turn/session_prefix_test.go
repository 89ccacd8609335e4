package turn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/envelope"
	"github.com/jackline-ai/jackline/model/ollama"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/turn"
)

// What an engine of a long session says to one request.
type said struct {
	text string
	call string // the name of a tool, with args
	args string
}

// An engineOf answers a long session in the words of one API, and keeps what it was sent.
type engineOf struct {
	*httptest.Server
	api  string
	mode string // in which it makes calls

	mu     sync.Mutex
	plan   []said
	bodies [][]byte
	sums   int

	compactions int   // so far
	compacted   []int // for each body, how many there were before it
}

func newEngineOf(t *testing.T, api, mode string) *engineOf {
	e := &engineOf{api: api, mode: mode}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.write(w, e.next(body))
	}))
	t.Cleanup(e.Close)
	return e
}

// next is the answer to a request. Those that sum up are no part of the conversation.
func (e *engineOf) next(body []byte) said {
	e.mu.Lock()
	defer e.mu.Unlock()
	if bytes.Contains(body, []byte("Sum up this conversation")) {
		e.sums++
		return said{text: fmt.Sprintf("They have worked through the files so far, %d times.", e.sums)}
	}
	e.bodies, e.compacted = append(e.bodies, body), append(e.compacted, e.compactions)
	held := e.mode == model.ModeEnvelope && (bytes.Contains(body, []byte(`"json_schema":`)) || bytes.Contains(body, []byte(`"format":`)))
	if held && len(e.plan) > 0 && e.plan[0].call == "" { // the words come in the next generation
		return said{text: `{"final": true}`}
	}
	if len(e.plan) == 0 {
		return said{text: "There is nothing more in the plan."}
	}
	next := e.plan[0]
	e.plan = e.plan[1:]
	return next
}

func (e *engineOf) write(w io.Writer, s said) {
	n, native := len(e.bodies), e.mode == model.ModeNative
	switch {
	case s.call == "" || native:
	case e.mode == model.ModeEnvelope:
		s.text = `{"tool": "` + s.call + `", "args": ` + s.args + "}"
	default:
		s.text += "\n```tool\n{\"name\": \"" + s.call + "\", \"args\": " + s.args + "}\n```"
	}
	text, _ := json.Marshal(s.text)
	args, _ := json.Marshal(s.args)
	calls := s.call != "" && native
	if e.api == "ollama" {
		if calls {
			fmt.Fprintf(w, `{"model":"m","message":{"role":"assistant","content":%s,"tool_calls":[{"id":"call_%d","function":{"name":"%s","arguments":%s}}]},"done":false}`+"\n", text, n, s.call, s.args)
		} else {
			fmt.Fprintf(w, `{"model":"m","message":{"role":"assistant","content":%s},"done":false}`+"\n", text)
		}
		fmt.Fprint(w, `{"model":"m","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop"}`+"\n")
		return
	}
	fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"content":%s}}]}`+"\n\n", text)
	finish := "stop"
	if calls {
		finish = "tool_calls"
		fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_%d","type":"function","function":{"name":"%s","arguments":%s}}]}}]}`+"\n\n", n, s.call, args)
	}
	fmt.Fprintf(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"%s"}]}`+"\n\ndata: [DONE]\n\n", finish)
}

// A chapter is one turn of the long session.
type chapter struct {
	prompt string
	says   []said
	tz     string
}

// longSession is fifty turns with what a session may meet.
func longSession() []chapter {
	var all []chapter
	day := "Pacific/Pago_Pago"
	for k := range 50 {
		c := chapter{prompt: fmt.Sprintf("What does the file f%d.txt say?", k%10), tz: day}
		read := said{call: "file_read", args: fmt.Sprintf(`{"path":"f%d.txt"}`, k%10)}
		answer := said{text: fmt.Sprintf("Answer %d: it says what the file says, in so many words, and no more than that.", k)}
		c.says = []said{read, answer}
		switch {
		case k%9 == 2: // words that point at a tool that is not offered
			c.prompt = fmt.Sprintf("Copy f%d.txt into another one", k%10)
			c.says = []said{{text: "I copy it.", call: "file_copy", args: fmt.Sprintf(`{"from":"f%d.txt","to":"copy%d.txt"}`, k%10, k)}, answer}
		case k%9 == 5: // a tool that is searched for
			c.prompt = "How much is it, all together?"
			c.says = []said{{call: "find_tools", args: `{"query":"arithmetic sum multiply numbers"}`}, {call: "calculator", args: fmt.Sprintf(`{"expression":"%d*7"}`, k)}, answer}
		case k == 13: // the owner speaks while it works
			c.says = []said{{text: "<<steer>> I look.", call: "list_dir", args: `{"path":"."}`}, read, answer}
		case k == 17: // what does not exist, and what fails
			c.says = []said{{call: "no_such_tool", args: `{"a":1}`}, {call: "file_read", args: `{"path":"missing.txt"}`}, {call: "grep", args: `{"pattern":"line 3"}`}, answer}
		case k%10 == 6: // words only
			c.prompt, c.says = "Thank you. <b>Well</b> \"done\", ü", []said{answer}
		}
		if k == 30 {
			day = "Pacific/Kiritimati" // where it is the next day, or the one after it
		}
		all = append(all, c)
	}
	return all
}

// TestPrefixOfALongSession holds requests to repeat one another over fifty turns, as bytes of the bodies that engines get: within a turn
// whole, and from one turn to the next to 95 %. The requests behind a compaction begin anew, and are named.
func TestPrefixOfALongSession(t *testing.T) {
	for _, api := range []string{"openai", "ollama"} {
		for _, mode := range []string{model.ModeText, model.ModeEnvelope, model.ModeNative} {
			for _, window := range []int{8192, 16384} {
				t.Run(fmt.Sprintf("%s/%s/%dk", api, mode, window/1024), func(t *testing.T) {
					t.Parallel()
					longSessionOn(t, api, mode, window)
				})
			}
		}
	}
}

func longSessionOn(t *testing.T, api, mode string, window int) {
	e, native := newEngineOf(t, api, mode), mode == model.ModeNative
	b := newBench(t, options{Mode: jackline.ModeAllowEdits, Native: native, Ungated: true, Window: window, Tools: 60, Steer: "And say it in German, please."}, "=== 1\nunused\n")
	for k := range 10 {
		b.write(t, fmt.Sprintf("f%d.txt", k), strings.Repeat(fmt.Sprintf("This is line %d of a file with \"quotes\" and ümlauts.\n", k), 25))
	}
	var raw model.Model
	var err error
	if api == "ollama" {
		raw, err = ollama.New(ollama.Options{BaseURL: e.URL, Model: "m", Window: window, Native: native})
	} else {
		raw, err = openai.New(openai.Options{BaseURL: e.URL + "/v1", Model: "m", Window: window, Native: native, Knob: model.KnobSchema})
	}
	if err != nil {
		t.Fatal(err)
	}
	b.model.Model, b.model.raw = raw, raw
	switch c := contract.Of(window); mode {
	case model.ModeText:
		b.model.Model = wrapped(raw, window)
	case model.ModeEnvelope:
		b.model.Model = envelope.Wrap(raw, envelope.Options{Brief: c.Brief(), Room: c.Tools, Names: c.Names})
	}
	var log bytes.Buffer
	b.engine.Errors = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	b.engine.Models = func(context.Context, jackline.Session) (turn.Models, error) {
		return turn.Models{Main: b.model, Raw: raw}, nil
	}
	var turns []int // of each request
	read := int64(0)
	b.model.before = func() {
		events, err := b.db.Events(context.Background(), jackline.Local, b.session.ID, read, 10000)
		if err != nil {
			t.Error(err)
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		for _, ev := range events {
			if read = ev.ID; ev.Type == "compaction.done" {
				e.compactions++
			}
		}
	}
	for k, c := range longSession() {
		e.plan = c.says
		b.o.Turn.TZ, b.o.Turn.MaxSteps = c.tz, 20
		b.turn(t, c.prompt, nil)
		if b.last.Status != jackline.Done || len(e.plan) > 0 {
			t.Fatalf("turn %d ended as %s (%s), with %d answers left", k+1, b.last.Status, b.last.Reason, len(e.plan))
		}
		for len(turns) < len(e.bodies) {
			turns = append(turns, k+1)
		}
	}
	var within, across, of, acrossOf, anew int
	for k := 1; k < len(e.bodies); k++ {
		head := headOf(t, e.bodies[k-1])
		same := commonPrefix(head, e.bodies[k])
		switch {
		case e.compacted[k] != e.compacted[k-1]:
			anew++
			t.Logf("turn %d begins anew behind a compaction: %d of %d bytes repeated", turns[k], same, len(head))
		case turns[k] == turns[k-1]:
			within, of = within+same, of+len(head)
			if same < len(head) {
				t.Errorf("request %d, in turn %d, loses %d of %d bytes:\n%s\n%s", k+1, turns[k], len(head)-same, len(head), around(head, same), around(e.bodies[k], same))
			}
		default:
			across, acrossOf = across+same, acrossOf+len(head)
			if share := float64(same) / float64(len(head)); share < 0.95 {
				t.Errorf("turn %d repeats %.1f %% of the one before it:\n%s\n%s", turns[k], 100*share, around(head, same), around(e.bodies[k], same))
			}
		}
	}
	t.Logf("%d requests: within turns %.2f %%, across %.2f %%, %d behind a compaction", len(e.bodies), percent(within, of), percent(across, acrossOf), anew)
	if anew == 0 || anew > 25 {
		t.Errorf("%d requests came behind a compaction", anew)
	}
	// The log names what differs, at compactions and nowhere else.
	if n := strings.Count(log.String(), "msg=prefix"); n != anew {
		t.Errorf("the log names %d breaks, want %d:\n%s", n, anew, log.String())
	}
	last := string(e.bodies[len(e.bodies)-1])
	if !strings.Contains(last, "These tools are yours to call now") {
		t.Error("the tools that were found are forgotten")
	}
}

func percent(part, of int) float64 { return 100 * float64(part) / float64(max(of, 1)) }

// headOf is a body up to and with its last message, less what closes the list.
func headOf(t *testing.T, b []byte) []byte {
	t.Helper()
	var fields struct {
		Messages json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(b, &fields); err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, fields.Messages)
	if at < 0 {
		t.Fatal("the messages are not to be found")
	}
	return b[:at+len(fields.Messages)-1]
}

func commonPrefix(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

func around(b []byte, at int) []byte { return b[max(at-100, 0):min(at+200, len(b))] }
