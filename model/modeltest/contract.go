// Package modeltest is what models are tested with: the contract that every [model.Model] passes, a Chat Completions
// server that plays scripts in the dialects of the engines, and a tape that records and replays
// HTTP exchanges. Servers of other APIs are in package hosted.
package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/script"
)

// prompt is how quickly a model must let go of a request that was cancelled. It is long, for slow machines.
const promptly = 10 * time.Second

// Contract checks what [model.Model] promises. Open makes a model that answers what a script says; it must not repeat
// requests that fail. If the model has a method Sent() [][]byte, which gives the bodies of its requests so far, they
// are checked to repeat one another.
func Contract(t *testing.T, open func(t *testing.T, s *script.Script) model.Model) {
	t.Run("Order", func(t *testing.T) { testOrder(t, open) })
	t.Run("Whole", func(t *testing.T) { testWhole(t, open) })
	t.Run("Calls", func(t *testing.T) { testCalls(t, open) })
	t.Run("Garbled", func(t *testing.T) { testGarbled(t, open) })
	t.Run("Ends", func(t *testing.T) { testEnds(t, open) })
	t.Run("Errors", func(t *testing.T) { testErrors(t, open) })
	t.Run("Cancel", func(t *testing.T) { testCancel(t, open) })
	t.Run("Break", func(t *testing.T) { testBreak(t, open) })
	t.Run("Concurrent", func(t *testing.T) { testConcurrent(t, open) })
	t.Run("Size", func(t *testing.T) { testSize(t, open) })
	t.Run("Prefix", func(t *testing.T) { testPrefix(t, open) })
}

type opener = func(t *testing.T, s *script.Script) model.Model

// start opens a model and makes sure that nothing is left of its requests when the test ends.
func start(t *testing.T, open opener, text string) model.Model {
	t.Helper()
	s, err := script.Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m := open(t, s)
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if c, ok := m.(io.Closer); ok {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
		goleak.VerifyNone(t, before)
	})
	return m
}

// Offered are two tools for tests.
func Offered() []model.Tool {
	return []model.Tool{
		{Name: "file_read", Summary: "Read a text file.", Use: "Read a file before you change it.", Aliases: []string{"cat"},
			Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		{Name: "time", Summary: "Tell the time.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
	}
}

// Ask is a first request of a turn.
func Ask(text string) model.Request {
	return model.Request{
		System:   []string{"You are a sailor.", "The workspace is /boat."},
		Messages: []model.Message{{Role: model.User, Text: text}},
		Tools:    Offered(), Known: Offered(),
	}
}

// An outcome is all that a model said to one request.
type outcome struct {
	text, thought string
	calls         []model.Call
	garbled       model.Garbled
	usage         *model.Usage
	finish        model.Finish
	err           error

	// order has one letter a chunk, repeats left out: t(ext), r(easoning), p(review), c(all), g(arbled), f(inish).
	order string

	written []model.Preview // the calls that were announced, each with all that was told of its arguments

	opaque string // what goes back with the answer
}

// ask sends r and checks what holds for every answer.
func ask(ctx context.Context, t *testing.T, m model.Model, r model.Request) outcome {
	t.Helper()
	var o outcome
	for c, err := range m.Stream(ctx, r) {
		if o.err != nil {
			t.Fatal("the sequence goes on after an error")
		}
		if err != nil {
			o.err = err
			continue
		}
		if o.finish != "" {
			t.Fatalf("a chunk after the reason for the end: %+v", c)
		}
		o.add(t, c)
	}
	if o.err == nil && o.finish == "" {
		t.Error("the answer ended without a reason and without an error")
	}
	return o
}

func (o *outcome) add(t *testing.T, c model.Chunk) {
	t.Helper()
	set := 0
	note := func(is bool, letter string) {
		if is {
			set++
			if !strings.HasSuffix(o.order, letter) {
				o.order += letter
			}
		}
	}
	note(c.Text != "", "t")
	note(c.Thought != "", "r")
	note(c.Preview != model.Preview{}, "p")
	o.preview(t, c.Preview)
	note(c.Call != nil, "c")
	note(c.Garbled != "", "g")
	note(c.Finish != "" || c.Usage != nil, "f")
	if c.Opaque != "" {
		set++
	}
	if o.opaque != "" && c.Usage == nil && c.Finish == "" {
		t.Errorf("only tokens and the reason for the end come after the opaque state: %+v", c)
	}
	if set != 1 {
		t.Errorf("%d fields are set in a chunk, want one: %+v", set, c)
	}
	o.text += c.Text
	o.thought += c.Thought
	if c.Call != nil {
		o.calls = append(o.calls, *c.Call)
	}
	if c.Garbled != "" {
		o.garbled = c.Garbled
	}
	if c.Opaque != "" {
		o.opaque = c.Opaque
	}
	if c.Usage != nil {
		o.usage = c.Usage
	}
	o.finish = c.Finish
}

// preview takes news of a call down.
func (o *outcome) preview(t *testing.T, p model.Preview) {
	t.Helper()
	last := len(o.written) - 1
	switch {
	case p == model.Preview{}:
	case p.Name == "":
		t.Errorf("arguments of a call without a name: %+v", p)
	case p.Args == "":
		o.written = append(o.written, p)
	case last < 0 || o.written[last].Name != p.Name:
		t.Errorf("arguments of a call that did not begin: %+v", p)
	default:
		o.written[last].Args += p.Args
	}
}

// good is the outcome of a request that must not fail.
func good(t *testing.T, m model.Model, r model.Request) outcome {
	t.Helper()
	o := ask(t.Context(), t, m, r)
	if o.err != nil {
		t.Fatal(o.err)
	}
	return o
}

func testOrder(t *testing.T, open opener) {
	m := start(t, open, "===\n--- thought\nI think.\n--- text\nI say.\n--- call time\n--- usage 10 3 4\n")
	if m.Info().Name == "" || m.Info().Window <= 0 {
		t.Errorf("%+v", m.Info())
	}
	o := good(t, m, Ask("hello"))
	want := "rtf"
	if m.Info().Native {
		want = "rtpcf"
	}
	if o.order != want {
		t.Errorf("chunks came as %q, want %q", o.order, want)
	}
	if u := o.usage; u == nil || u.Prompt != 10 || u.Completion != 3 || u.Cached != 4 || !u.CacheTold || u.Cut {
		t.Errorf("usage %+v", o.usage)
	}
}

func testWhole(t *testing.T, open opener) {
	const awkward = "  äöü – 船 👩‍🚀 \"quoted\" \\n \\u0041 </tool> <b>&amp;</b>\n\n```go\n\tx := `a`\n```\n" +
		" data: [DONE]\n\x01\u2028end"
	const thought = "Hm.\n\n- one\n- \"two\""
	for _, pieces := range []string{"", "--- pieces 1\n", "--- pieces 7\n", "--- pieces 100000\n"} {
		m := start(t, open, "===\n"+pieces+"--- thought\n"+thought+"\n--- raw\n"+awkward+"\n--- end\n")
		o := good(t, m, Ask("hello"))
		if o.text != awkward {
			t.Errorf("%q: text %q, want %q", pieces, o.text, awkward)
		}
		if o.thought != thought {
			t.Errorf("%q: thought %q, want %q", pieces, o.thought, thought)
		}
		if o.finish != model.Stop {
			t.Errorf("finish %q", o.finish)
		}
	}
}

func testCalls(t *testing.T, open opener) {
	m := start(t, open, "===\nLook.\n"+
		"--- call file_read {\"path\": \"ä \\\"b\\\".txt\", \"deep\": {\"z\": [1, 2.50, null], \"a\": \"}{\"}}\n"+
		"--- call time\n--- call file_read {\"path\": \"b\"}\n=== *\nDone.\n")
	o := good(t, m, Ask("hello"))
	if !m.Info().Native {
		if want := "```tool\n{\"name\": \"time\", \"args\": {}}\n```"; !strings.Contains(o.text, want) {
			t.Errorf("text %q holds no %q", o.text, want)
		}
		return
	}
	want := []string{
		`file_read {"deep":{"a":"}{","z":[1,2.5,null]},"path":"ä \"b\".txt"}`, `time {}`, `file_read {"path":"b"}`,
	}
	if len(o.calls) != len(want) {
		t.Fatalf("%d calls, want %d", len(o.calls), len(want))
	}
	ids := map[string]bool{}
	for i, c := range o.calls {
		if got := c.Name + " " + string(c.Args); got != want[i] {
			t.Errorf("call %d is %s, want %s", i, got, want[i])
		}
		if ids[c.ID] && c.ID != "" {
			t.Errorf("the ID %q is there twice", c.ID)
		}
		ids[c.ID] = true
		if c.Cut {
			t.Errorf("call %d is cut", i)
		}
	}
	for i, p := range o.written {
		if p.Args == "" {
			continue // not every engine tells of them as they come
		}
		told, err := args.Strict([]byte(p.Args))
		if err != nil || i >= len(o.calls) {
			t.Errorf("what was told of call %d is %+v, %v", i, p, err)
			continue
		}
		if same, err := args.Canonical(told); err != nil || string(same) != string(o.calls[i].Args) {
			t.Errorf("what was told of call %d is %+v, %v", i, p, err)
		}
	}
	if o.finish != model.Calls || o.text != "Look." {
		t.Errorf("finish %q after text %q", o.finish, o.text)
	}
	// The answer can be sent back, and results with it.
	r := Ask("hello")
	r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: o.text, Calls: o.calls, Opaque: o.opaque})
	for _, c := range o.calls {
		r.Messages = append(r.Messages, model.Message{Role: model.Result, CallID: c.ID, Name: c.Name, Text: "nothing"})
	}
	if o := good(t, m, r); o.text != "Done." {
		t.Errorf("text %q", o.text)
	}
}

func testGarbled(t *testing.T, open opener) {
	m := start(t, open, "===\nx\n--- garbled file_read [\n===\n--- garbled file_read [\n--- call time\n")
	if !m.Info().Native {
		t.Skip("text is not read here")
	}
	if o := good(t, m, Ask("")); o.garbled != model.Unreadable || len(o.calls) != 0 || !strings.HasSuffix(o.order, "gf") {
		t.Errorf("%+v", o)
	}
	if o := good(t, m, Ask("")); o.garbled != "" || len(o.calls) != 1 {
		t.Errorf("%+v", o)
	}
}

func testEnds(t *testing.T, open opener) {
	m := start(t, open, "===\n===\nx\n--- finish length\n===\n--- call time\n--- finish length\n")
	if o := good(t, m, Ask("")); o.order != "f" || o.finish != model.Stop {
		t.Errorf("an empty answer: %+v", o)
	}
	for range 2 {
		if o := good(t, m, Ask("")); o.finish != model.Length {
			t.Errorf("finish %q", o.finish)
		}
	}
}

func testErrors(t *testing.T, open opener) {
	tests := []struct {
		script, text string
		kind         jackline.Kind
	}{
		{"--- error 503 busy", "", jackline.Unavailable},
		{"--- error 429 slowly", "", jackline.Unavailable},
		{"--- error 401 who?", "", jackline.Forbidden},
		{"--- error 400 what?", "", jackline.Invalid},
		{"so far\n--- error 500 boom", "so far", jackline.Unavailable},
		{"so far\n--- cut", "so far", jackline.Unavailable},
		{"--- cut", "", jackline.Unavailable},
		{"--- expect gold", "", jackline.Invalid},
	}
	for _, tt := range tests {
		m := start(t, open, "===\n"+tt.script+"\n")
		o := ask(t.Context(), t, m, Ask("hello"))
		var e *jackline.Error
		if !errors.As(o.err, &e) {
			t.Errorf("%q: %v is no *jackline.Error", tt.script, o.err)
			continue
		}
		if e.Kind != tt.kind || e.Op == "" || e.Say == "" || !strings.HasSuffix(e.Say, ".") {
			t.Errorf("%q: %+v, want kind %s and a sentence", tt.script, e, tt.kind)
		}
		if o.text != tt.text {
			t.Errorf("%q: text %q, want %q", tt.script, o.text, tt.text)
		}
	}
}

// AsItIs reports whether err is want itself. So a model returns the error of a context: wrapped, it does not count.
func AsItIs(err, want error) bool {
	return err == want //nolint:errorlint // errors.Is would let a wrapped error pass
}

func testCancel(t *testing.T, open opener) {
	m := start(t, open, "===\none two\n--- wait\n=== *\n--- wait\n")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if o := ask(ctx, t, m, Ask("")); !AsItIs(o.err, context.Canceled) || o.order != "" {
		t.Errorf("cancelled before it began: %+v", o)
	}

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	var began time.Time
	var last error
	for c, err := range m.Stream(ctx, Ask("")) {
		if strings.Contains(c.Text, "two") {
			began = time.Now()
			cancel()
		}
		last = err
	}
	if !AsItIs(last, context.Canceled) {
		t.Errorf("cancelled in the middle: %v", last)
	}
	if took := time.Since(began); took > promptly {
		t.Errorf("it took %s to let go", took)
	}

	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if o := ask(ctx, t, m, Ask("")); !AsItIs(o.err, context.DeadlineExceeded) {
		t.Errorf("out of time: %+v", o)
	}
}

func testBreak(t *testing.T, open opener) {
	m := start(t, open, "=== *\n--- thought\na b c\n--- text\nd e f\n--- call time\n--- call time\n--- wait\n")
	chunks := 8
	if m.Info().Native {
		chunks = 9 // the last call is known to be whole only at the end
	}
	for n := 1; n <= chunks; n++ {
		seen := 0
		for _, err := range m.Stream(t.Context(), Ask("")) {
			if err != nil {
				t.Fatal(err)
			}
			if seen++; seen == n {
				break
			}
		}
		if seen != n {
			t.Errorf("%d chunks, want %d", seen, n)
		}
	}
}

func testConcurrent(t *testing.T, open opener) {
	const n = 16
	m := start(t, open, "=== *\n--- thought\na b c\n--- text\nd e f\n--- call time\n")
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			text := ""
			for c, err := range m.Stream(t.Context(), Ask(fmt.Sprint(i))) {
				if err != nil {
					t.Error(err)
				}
				text += c.Text
			}
			if !strings.HasPrefix(text, "d e f") {
				t.Errorf("%q", text)
			}
		})
	}
	wg.Wait()
}

// Conversation are requests of one turn, as a loop sends them: each repeats and adds to the one before.
func Conversation() []model.Request {
	r := Ask("What do the notes say? \"<&>\"")
	all := []model.Request{r}
	for i, id := range []string{"c1", "", "c3"} {
		args := json.RawMessage(fmt.Sprintf(`{"path":"n%d"}`, i))
		messages := append([]model.Message{}, r.Messages...)
		messages = append(messages, model.Message{Role: model.Assistant, Text: "Look.\n",
			Calls: []model.Call{{ID: id, Name: "file_read", Args: args}, {Name: "time", Args: json.RawMessage(`{}`)}}})
		messages = append(messages, model.Message{Role: model.Result, CallID: id, Name: "file_read", Text: "a\tb\nüx"},
			model.Message{Role: model.Result, Name: "time", Text: "noon"})
		if i == 1 {
			messages = append(messages, model.Message{Role: model.User, Text: "[note] Hurry."})
		}
		r.Messages = messages
		all = append(all, r)
	}
	all[len(all)-1].NoCalls = true
	all[len(all)-1].MaxTokens = 100
	return all
}

func testSize(t *testing.T, open opener) {
	m := start(t, open, "===\n")
	last := 0
	for i, r := range Conversation() {
		n := m.Size(r)
		if n <= last {
			t.Errorf("request %d has size %d, the one before it %d", i, n, last)
		}
		last = n
	}
	r := Ask("hello")
	with := m.Size(r)
	for more, want := range map[string]int{"!": 1, "äö": 3, "日": 4} {
		r.Messages[0].Text = "hello" + more
		if got := m.Size(r); got != with+want {
			t.Errorf("%q more makes %d of %d", more, got, with)
		}
	}
	r.Tools = r.Tools[:1]
	if got := m.Size(r); m.Info().Native && got >= with {
		t.Errorf("a tool less makes %d of %d", got, with)
	}
}

func testPrefix(t *testing.T, open opener) {
	m := start(t, open, "=== *\nx\n")
	sender, ok := m.(interface{ Sent() [][]byte })
	if !ok {
		t.Skip("the model does not say what it sent")
	}
	for _, r := range Conversation() {
		good(t, m, r)
	}
	Grows(t, sender.Sent())
}

// Grows checks that each body of a request begins with the one before it, up to the end of its messages, which are called
// "messages" or "input".
func Grows(t testing.TB, bodies [][]byte) {
	t.Helper()
	var last []byte
	for i, body := range bodies {
		head, err := uptoMessages(body)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		if !bytes.HasPrefix(head, last) {
			t.Errorf("request %d does not repeat the one before it:\n%s\n%s", i, last, head)
		}
		last = head
	}
}

// uptoMessages is the beginning of a body up to its last message.
func uptoMessages(body []byte) ([]byte, error) {
	var fields struct {
		Messages json.RawMessage `json:"messages"`
		Input    json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, err
	}
	messages := fields.Messages
	if messages == nil {
		messages = fields.Input
	}
	at := bytes.Index(body, messages)
	if at < 0 || len(messages) < 2 {
		return nil, errors.New("no messages")
	}
	return body[:at+len(messages)-1], nil
}
