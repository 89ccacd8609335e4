package envelope_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint"
	"github.com/jackline-ai/jackline/model/envelope"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/script"
)

// TestContract wraps a model that skips the form, as engines skip what they do not know.
func TestContract(t *testing.T) {
	modeltest.Wrapper(t, func(_ *testing.T, s *script.Script) model.Model {
		return envelope.Wrap(script.New(s, script.Options{Knob: model.KnobGrammar}), envelope.Options{})
	})
}

// A player gives one answer a request, and remembers what it was asked.
type player struct {
	mu      sync.Mutex
	answers [][]model.Chunk
	asked   []model.Request
}

func (p *player) Info() model.Info {
	return model.Info{Name: "m", Window: 8192, Knob: model.KnobSchema}
}
func (p *player) Size(r model.Request) int {
	n := len(strings.Join(r.System, ""))
	for _, m := range r.Messages {
		n += len(m.Text)
	}
	return n
}

func (p *player) Stream(_ context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, r)
	answer := p.answers[0]
	p.answers = p.answers[1:]
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range answer {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// says is a generation: a text in pieces of a size, tokens, and why it ends.
func says(text string, size int, f model.Finish) []model.Chunk {
	var all []model.Chunk
	for piece := range slices.Chunk([]byte(text), size) {
		all = append(all, model.Chunk{Text: string(piece)})
	}
	return append(all, model.Chunk{Usage: &model.Usage{Prompt: 100, Cached: 10, Completion: 5}, Finish: f})
}

func tools() []model.Tool {
	return []model.Tool{
		{Name: "read", Summary: "Read.", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"from":{"type":"integer"}},"required":["path"],"additionalProperties":false}`)},
		{Name: "write", Summary: "Write.", Body: "content", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"append":{"type":"boolean"}},"required":["path","content"],"additionalProperties":false}`)},
		{Name: "note", Summary: "Note.", Body: "text", Schema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false}`)},
	}
}

func heard(t *testing.T, m model.Model, r model.Request) string {
	t.Helper()
	var b strings.Builder
	kind := ""
	note := func(now, text string) {
		if now != kind || now == "call" {
			b.WriteString("|" + now + ":")
			kind = now
		}
		b.WriteString(text)
	}
	for c, err := range m.Stream(t.Context(), r) {
		switch {
		case err != nil:
			note("error", err.Error())
		case c.Text != "":
			note("text", c.Text)
		case c.Thought != "":
			note("thought", c.Thought)
		case c.Preview.Name != "" && c.Preview.Args == "":
			note("preview", c.Preview.Name)
		case c.Preview.Name != "": // more of its arguments; see TestPreview
		case c.Call != nil:
			note("call", c.Call.Name+string(c.Call.Args))
			if c.Call.Cut {
				b.WriteString("cut")
			}
		case c.Garbled != "":
			note("garbled", string(c.Garbled))
		default:
			note("end", string(c.Finish))
			if c.Usage != nil {
				note("end", fmt.Sprintf(" %d+%d+%d", c.Usage.Prompt, c.Usage.Cached, c.Usage.Completion))
			}
		}
	}
	return b.String()
}

func TestStream(t *testing.T) {
	long := strings.Repeat("x", constraint.Inline)
	const later = `{"tool": "write", "args": {"path": "a", "content": {"later": true}}}`
	for _, test := range []struct {
		name    string
		answers []string
		finish  model.Finish // of the last
		want    string
	}{
		{"a call", []string{`{"tool": "read", "args": {"path": "a"}}`}, "", `|preview:read|call:read{"path":"a"}|end:tool_calls 100+10+5`},
		{"blanks before it", []string{" \n{\"tool\":\"read\",\"args\":{\"path\":\"a\",\"from\":2}}"}, "", `|preview:read|call:read{"from":2,"path":"a"}|end:tool_calls 100+10+5`},
		{"as OpenAI has it", []string{`{"step":{"tool":"read","args":{"path":"a","from":null}}}`}, "", `|preview:read|call:read{"path":"a"}|end:tool_calls 100+10+5`},
		{"done", []string{`{"final": true}`, "Hello, **you**."}, "", `|text:Hello, **you**.|end:stop 200+20+10`},
		{"done, said twice", []string{`{"final": true}`, `{"final": true} Hello.`}, "", `|text:Hello.|end:stop 200+20+10`},
		{"JSON is an answer too", []string{`{"final": true}`, `{"final": 3}`}, "", `|text:{"final": 3}|end:stop 200+20+10`},
		{"the answer in the word's place", []string{`{"final": "Hello."}`}, "", `|text:Hello.|end:stop 100+10+5`},
		{"a thought first", []string{"<think>Hm.</think>\n\n{\"tool\": \"read\", \"args\": {\"path\": \"a\"}}"}, "", `|thought:Hm.|preview:read|call:read{"path":"a"}|end:tool_calls 100+10+5`},
		{"an answer with a thought", []string{`{"final": true}`, "<think>Hm.</think>Hello."}, "", `|thought:Hm.|text:Hello.|end:stop 200+20+10`},
		{"a body apart", []string{`{"tool": "write", "args": {"path": "a", "content": {"later": true}}}`, "```go\na\n```"}, "", `|preview:write|call:write{"content":"a\n","path":"a"}|end:tool_calls 200+20+10`},
		{"a body to the brim", []string{`{"tool": "write", "args": {"path": "a", "content": "` + long + `"}}`, "b"}, "", `|preview:write|call:write{"content":"b","path":"a"}|end:tool_calls 200+20+10`},
		{"an empty body", []string{later, "```\n```"}, "", `|preview:write|call:write{"content":"","path":"a"}|end:tool_calls 200+20+10`},
		{"no body", []string{later, " \n"}, "", `|preview:write|call:write{"path":"a"}|end:tool_calls 200+20+10`},
		{"a thought for a body", []string{later, "<think>Hm."}, "", `|preview:write|call:write{"path":"a"}|end:tool_calls 200+20+10`},
		{"a step for a body", []string{later, `{"tool": "write", "args": {"path": "a", "content": "b"}}`}, "", `|preview:write|call:write{"path":"a"}|end:tool_calls 200+20+10`},
		{"done in the place of a body", []string{later, "{\"final\":true}\n"}, "", `|preview:write|call:write{"path":"a"}|end:tool_calls 200+20+10`},
		{"a body that looks like a step", []string{later, "```json\n{\"final\":true}\n```"}, "", `|preview:write|call:write{"content":"{\"final\":true}\n","path":"a"}|end:tool_calls 200+20+10`},
		{"a body in JSON", []string{later, `{"final": 3}`}, "", `|preview:write|call:write{"content":"{\"final\": 3}","path":"a"}|end:tool_calls 200+20+10`},
		{"no body that could be left out", []string{`{"tool": "note", "args": {"text": {"later": true}}}`, ""}, "", `|preview:note|call:note{}cut|end:tool_calls 200+20+10`},
		{"a body that was cut", []string{`{"tool": "write", "args": {"path": "a", "content": {"later": true}}}`, "```\na"}, model.Length, `|preview:write|call:write{"content":"a","path":"a"}cut|end:length 200+20+10`},
		{"a call that was cut", []string{`{"tool": "write", "args": {"path": "a", "content": "b`}, model.Length, `|preview:write|call:write{"content":"b","path":"a"}cut|end:length 100+10+5`},
		{"cut before it was a call", []string{`{"tool": "wri`}, model.Length, `|garbled:unreadable|end:length 100+10+5`},
		{"an unknown tool", []string{`{"tool": "fly", "args": {}}`}, "", `|preview:fly|garbled:unknown_tool|end:stop 100+10+5`},
		{"no step", []string{`{"what": 1}`}, "", `|garbled:unreadable|end:stop 100+10+5`},
		{"nothing", []string{``}, "", `|end:stop 100+10+5`},
		{"words", []string{"I would rather talk."}, "", `|text:I would rather talk.|end:stop 100+10+5`},
		{"another way of writing", []string{"Look.<tool_call>{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}</tool_call>"}, "", `|text:Look.|preview:read|call:read{"path":"a"}|end:tool_calls 100+10+5`},
	} {
		for _, size := range []int{1, 5, 1000} {
			p := &player{}
			for i, a := range test.answers {
				f := model.Stop
				if i == len(test.answers)-1 && test.finish != "" {
					f = test.finish
				}
				p.answers = append(p.answers, says(a, size, f))
			}
			r := model.Request{System: []string{"p"}, Messages: []model.Message{{Role: model.User, Text: "go"}}, Tools: tools(), Known: tools()}
			if got := heard(t, envelope.Wrap(p, envelope.Options{}), r); got != test.want {
				t.Errorf("%s in pieces of %d:\n got %s\nwant %s", test.name, size, got, test.want)
			}
			if len(p.answers) != 0 {
				t.Errorf("%s: %d generations were not asked for", test.name, len(p.answers))
			}
			for i, asked := range p.asked {
				if (asked.Constraint != nil) != (i == 0) {
					t.Errorf("%s: generation %d is held: %v", test.name, i, asked.Constraint != nil)
				}
			}
		}
	}
}

// TestCallForBody is an engine that tells a call apart where a text was asked for: nothing of it is made, and no file is emptied.
func TestCallForBody(t *testing.T) {
	p := &player{answers: [][]model.Chunk{
		says(`{"tool": "write", "args": {"path": "a", "content": {"later": true}}}`, 5, model.Stop),
		{{Preview: model.Preview{Name: "read"}}, {Call: &model.Call{Name: "read"}}, {Finish: model.Calls}},
	}}
	r := model.Request{Messages: []model.Message{{Role: model.User, Text: "go"}}, Tools: tools()}
	if got, want := heard(t, envelope.Wrap(p, envelope.Options{}), r), `|preview:write|call:write{"path":"a"}|end:tool_calls 100+10+5`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestBlanks holds that blanks without end, one by one, cost no more than other text: each is looked at once.
func TestBlanks(t *testing.T) {
	const many = 400_000
	blanks := says(strings.Repeat(" ", many), 1, model.Stop)
	begin := func(text string) []model.Chunk { return append([]model.Chunk{{Text: text}}, blanks...) }
	for name, answers := range map[string][][]model.Chunk{
		"before":         {blanks},
		"behind a name":  {begin(`{"tool": "read"`)},
		"before args":    {begin(`{"tool": "read", "args":`)},
		"in an answer":   {says(`{"final": true}`, 5, model.Stop), blanks},
		"in its word":    {says(`{"final": true}`, 5, model.Stop), begin(`{"final"`)},
		"behind a word":  {says(`{"final": true}`, 5, model.Stop), begin(`{"final": true}`)},
		"instead a body": {says(`{"tool": "write", "args": {"path": "a", "content": {"later": true}}}`, 5, model.Stop), blanks},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			heard(t, envelope.Wrap(&player{answers: answers}, envelope.Options{}), model.Request{Messages: []model.Message{{Role: model.User, Text: "go"}}, Tools: tools()})
			if took := time.Since(began); took > 10*time.Second { // looked at again and again it is minutes
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestPreview shows the arguments while they come, from the first one on.
func TestPreview(t *testing.T) {
	for _, size := range []int{1, 5, 1000} {
		p := &player{answers: [][]model.Chunk{says(`{"tool": "read", "args": {"path": "a:b", "from": 2}}`, size, model.Stop)}}
		r := model.Request{Messages: []model.Message{{Role: model.User, Text: "go"}}, Tools: tools()}
		got := ""
		for c, err := range envelope.Wrap(p, envelope.Options{}).Stream(t.Context(), r) {
			if err != nil || c.Preview.Name != "" && c.Preview.Name != "read" {
				t.Errorf("%+v, %v", c, err)
			}
			got += c.Preview.Args
		}
		if want := ` {"path": "a:b", "from": 2}}`; got != want {
			t.Errorf("in pieces of %d: %q, want %q", size, got, want)
		}
	}
}

// TestThoughtForAnswer is an engine whose template has opened a thought, so that what it is held to counts as one.
func TestThoughtForAnswer(t *testing.T) {
	p := &player{answers: [][]model.Chunk{{{Thought: `{"tool": "read", `}, {Thought: `"args": {"path": "a"}}`}, {Finish: model.Stop}}}}
	r := model.Request{Messages: []model.Message{{Role: model.User, Text: "go"}}, Tools: tools()}
	if got, want := heard(t, envelope.Wrap(p, envelope.Options{}), r), `|thought:{"tool": "read", "args": {"path": "a"}}|call:read{"path":"a"}|end:tool_calls`; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// TestPrefix holds that each generation repeats the one before it, through calls, bodies and answers, once they are history.
func TestPrefix(t *testing.T) {
	body := strings.Repeat("A line of the file.\n", 40)
	p := &player{}
	for _, a := range []string{
		`{"tool": "read", "args": {"path":"b","from":3}}`, `{"tool": "write", "args": {"path":"a","content":{"later":true}}}`, "```\n" + body + "```",
		`{"final": true}`, "Done.", `{"final": true}`, "You are welcome.",
	} {
		p.answers = append(p.answers, says(a, 7, model.Stop))
	}
	m := envelope.Wrap(p, envelope.Options{})
	r := model.Request{System: []string{"persona", "place"}, Tools: tools(), Known: append(tools(), model.Tool{Name: "other"})}
	say := func(more ...model.Message) { r.Messages = append(slices.Clone(r.Messages), more...) }
	step := func() (said model.Message) {
		said.Role = model.Assistant
		for c, err := range m.Stream(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			said.Text += c.Text
			if c.Call != nil {
				said.Calls = append(said.Calls, *c.Call)
			}
		}
		return said
	}
	say(model.Message{Role: model.User, Text: "go"})
	for range 2 {
		say(step())
		say(model.Message{Role: model.Result, Name: "x", Text: "ok"})
	}
	say(step())
	say(model.Message{Role: model.User, Text: "Thanks."})
	say(step())
	if len(p.asked) != 7 {
		t.Fatalf("%d generations", len(p.asked))
	}
	before := ""
	for i, asked := range p.asked {
		var b strings.Builder
		for _, s := range asked.System {
			b.WriteString("== system\n" + s + "\n")
		}
		for k, msg := range asked.Messages {
			if k > 0 && asked.Messages[k-1].Role == msg.Role {
				t.Errorf("generation %d: two messages of %s in a row", i, msg.Role)
			}
			b.WriteString("== " + string(msg.Role) + "\n" + msg.Text + "\n")
		}
		if !strings.HasPrefix(b.String(), before) {
			t.Errorf("generation %d does not repeat the one before it:\n%s\n---\n%s", i, before, b.String())
		}
		before = b.String()
	}
	if !strings.Contains(before, `{"tool": "read", "args": {"path":"b","from":3}}`) {
		t.Error("the arguments do not stand in the order of the schema")
	}
}

func TestFacts(t *testing.T) {
	m := envelope.Wrap(&player{}, envelope.Options{})
	if i := m.Info(); i.Mode() != model.ModeEnvelope || i.Knob != model.KnobSchema {
		t.Errorf("%+v", i)
	}
}

// FuzzStep reads whatever a model writes: it must not fail, and a call that comes out is one of a tool that is there.
func FuzzStep(f *testing.F) {
	for _, s := range []string{
		`{"tool": "read", "args": {"path": "a"}}`, `{"final": true}`, "<think>x</think>{\"tool\":\"write\",\"args\":{\"content\":{\"later\":true}}}",
		`{"step":{"tool":"read","args":null}}`, "```tool\n{\"name\": \"read\"}\n```", `{"tool`, `{"final":`, "", "{", `{"tool":"read","args":[1]}`,
	} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = 1 + max(size, 0)%64
		p := &player{answers: [][]model.Chunk{says(text, size, model.Stop), says(text, size, model.Stop)}}
		r := model.Request{Messages: []model.Message{{Role: model.User, Text: "go"}}, Tools: tools()}
		for c, err := range envelope.Wrap(p, envelope.Options{}).Stream(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Call == nil {
				continue
			}
			if c.Call.Name != "read" && c.Call.Name != "write" || !json.Valid(c.Call.Args) {
				t.Errorf("%+v", c.Call)
			}
		}
	})
}
