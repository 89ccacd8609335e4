package prompted

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/dialect"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// nine is a plausible set of tools.
func nine() []model.Tool {
	tool := func(name, summary, use string, schema json.RawMessage) model.Tool {
		return model.Tool{Name: name, Summary: summary, Use: use, Schema: schema}
	}
	return []model.Tool{
		tool("file_read", "Read a text file in the workspace.", "Read a file before you change it.", args.For[struct {
			Path string `json:"path"`
			From int    `json:"from,omitempty"`
			To   int    `json:"to,omitempty"`
		}]()),
		tool("file_write", "Write a whole file; makes missing folders.", "For new files; change old ones with file_edit.", args.For[struct {
			Path    string `json:"path"`
			Content string `json:"content"`
			Append  bool   `json:"append,omitempty"`
		}]()),
		tool("file_edit", "Replace exact text in a file.", "Old must occur once, with its blanks.", args.For[struct {
			Path string `json:"path"`
			Old  string `json:"old"`
			New  string `json:"new"`
			All  bool   `json:"all,omitempty"`
		}]()),
		tool("grep", "Search file contents with a regular expression.", "Finds where something is named.", args.For[struct {
			Pattern string `json:"pattern"`
			Path    string `json:"path,omitempty"`
			Glob    string `json:"glob,omitempty"`
		}]()),
		tool("shell", "Run a command in the workspace.", "For builds, tests, git and system facts.", args.For[struct {
			Command string `json:"command"`
			Timeout int    `json:"timeout,omitempty"`
		}]()),
		tool("ask_user", "Ask the user a question and wait.", "Only when you cannot find out yourself.", args.For[struct {
			Question string   `json:"question"`
			Options  []string `json:"options,omitempty"`
		}]()),
		tool("find_tools", "Find further tools by what they do.", "When none here fits.", args.For[struct {
			Query string `json:"query"`
		}]()),
		tool("list_dir", "List a folder.", "", args.For[struct {
			Path      string `json:"path,omitempty"`
			Recursive bool   `json:"recursive,omitempty"`
		}]()),
		tool("web_search", "Search the web.", "For anything current; then read a page with web_fetch.", args.For[struct {
			Query string `json:"query"`
			Max   int    `json:"max,omitempty"`
			Kind  string `json:"kind,omitempty" enum:"web,news"`
		}]()),
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; run with -update if it should\n%s", path, got)
	}
}

// written shows a rendered request.
func shown(r model.Request) string {
	var b strings.Builder
	for _, s := range r.System {
		b.WriteString("== system\n" + s + "\n")
	}
	for _, m := range r.Messages {
		b.WriteString("== " + string(m.Role) + "\n" + m.Text + "\n")
	}
	return b.String()
}

func conversation() []model.Message {
	return []model.Message{
		{Role: model.User, Text: "What is in a.txt and b.txt?"},
		{Role: model.Assistant, Text: "I read both.", Calls: []model.Call{
			{ID: "1", Name: "file_read", Args: json.RawMessage(`{"path":"a.txt"}`)},
			{ID: "2", Name: "file_read", Args: json.RawMessage(`{"path":"b.txt"}`)},
		}},
		{Role: model.Result, CallID: "1", Name: "file_read", Text: "alpha"},
		{Role: model.Result, CallID: "2", Name: "file_read", Text: "FAILED: there is no b.txt"},
		{Role: model.User, Text: "[note] Two steps are left."},
		{Role: model.Assistant, Text: "a.txt says alpha, and b.txt is not there."},
		{Role: model.User, Text: "Thanks."},
	}
}

func TestPrompt(t *testing.T) {
	known := append(nine(), model.Tool{Name: "weather"}, model.Tool{Name: "mcp__notes__find"}, model.Tool{Name: "calculator"})
	request := model.Request{
		System:   []string{"You are Jackline, a careful assistant.", "The workspace is /home/me/project."},
		Messages: conversation(),
		Known:    known,
	}
	for _, test := range []struct {
		name  string
		o     Options
		tools []model.Tool
		room  int
	}{
		{"prompt-4k", Options{Brief: true}, known[:7], 1300},
		{"prompt-8k", Options{}, known[:9], 2300},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := request
			r.Tools = test.tools
			golden(t, test.name, shown(wrapped(nil, test.o).writer.Write(r)))
			n := utf8.RuneCountInString(test.o.manual().Describe(r.Tools, r.Known))
			t.Logf("%d characters for %d tools", n, len(r.Tools))
			if n > test.room {
				t.Errorf("the tools take %d characters, more than %d", n, test.room)
			}
		})
	}
}

func TestDescribeKeepsToItsRoom(t *testing.T) {
	tools := nine()
	for i := range tools {
		tools[i].Summary = strings.Repeat(tools[i].Summary+" ", 6)
		tools[i].Use = strings.Repeat("Use it well and often. ", 6)
	}
	var known []model.Tool
	for i := range 400 {
		known = append(known, model.Tool{Name: "mcp__server__tool_" + strings.Repeat("x", i%9)})
	}
	for _, o := range []Options{{}, {Brief: true}, {Room: 1500}} {
		room := map[bool]int{true: 1300, false: 2300}[o.Brief]
		if o.Room > 0 {
			room = o.Room
		}
		text := o.manual().Describe(tools, known)
		if n := utf8.RuneCountInString(text); n > room {
			t.Errorf("%+v: %d characters, more than %d", o, n, room)
		}
		for _, tool := range tools {
			if !strings.Contains(text, "- "+tool.Name+"(") {
				t.Errorf("%+v: %s is missing", o, tool.Name)
			}
		}
	}
}

// TestPrefix adds message after message: what was written before must stay.
func TestPrefix(t *testing.T) {
	messages, before := conversation(), ""
	for n := range len(messages) + 1 {
		r := wrapped(nil, Options{}).writer.Write(model.Request{System: []string{"p"}, Tools: nine(), Messages: messages[:n], NoCalls: n%2 == 0})
		if r.NoCalls || r.Tools != nil || r.Known != nil {
			t.Error("the inner model is told about tools")
		}
		now := strings.TrimSuffix(shown(r), "\n")
		if !strings.HasPrefix(now, before) {
			t.Fatalf("%d messages do not begin like %d", n, n-1)
		}
		before = now
		for i := 1; i < len(r.Messages); i++ {
			if r.Messages[i].Role == r.Messages[i-1].Role {
				t.Errorf("messages %d and %d have the same role", i-1, i)
			}
		}
	}
}

// fake is a model that writes what it is told to.
type fake struct {
	chunks []model.Chunk
	err    error
	asked  *model.Request
}

func (f fake) Info() model.Info { return model.Info{Name: "fake", Window: 4096, Native: true} }

func (f fake) Size(r model.Request) int {
	n := len(strings.Join(r.System, ""))
	for _, m := range r.Messages {
		n += len(m.Text)
	}
	return n
}

func (f fake) Stream(_ context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	if f.asked != nil {
		*f.asked = r
	}
	return func(yield func(model.Chunk, error) bool) {
		for _, c := range f.chunks {
			if !yield(c, nil) {
				return
			}
		}
		if f.err != nil {
			yield(model.Chunk{}, f.err)
		}
	}
}

// says cuts text into chunks.
func says(text string, size int, end ...model.Chunk) []model.Chunk {
	var chunks []model.Chunk
	for piece := range slices.Chunk([]byte(text), size) {
		chunks = append(chunks, model.Chunk{Text: string(piece)})
	}
	return append(chunks, end...)
}

// heard writes a stream down, texts and thoughts joined.
func heard(t *testing.T, m model.Model, r model.Request) string {
	t.Helper()
	var b strings.Builder
	kind := ""
	for c, err := range m.Stream(t.Context(), r) {
		now, text := "", ""
		switch {
		case err != nil:
			now, text = "error", err.Error()
		case c.Text != "":
			now, text = "text", c.Text
		case c.Thought != "":
			now, text = "thought", c.Thought
		case c.Preview.Name != "":
			continue
		case c.Call != nil:
			now, text = "call", c.Call.Name+string(c.Call.Args)
			if c.Call.Cut {
				text += " cut"
			}
		case c.Garbled != "":
			now, text = "garbled", strings.TrimSpace(string(c.Garbled)+" "+c.Asked)
		case c.Opaque != "":
			now, text = "opaque", c.Opaque
		case c.Usage != nil || c.Finish != "":
			now, text = "end", string(c.Finish)
		}
		if now != kind || now == "call" {
			b.WriteString("|" + now + ":")
			kind = now
		}
		b.WriteString(text)
	}
	return b.String()
}

func TestStream(t *testing.T) {
	stop := model.Chunk{Finish: model.Stop}
	tests := []struct{ name, text, want string }{
		{"answer", "Hello, world.", "|text:Hello, world.|end:stop"},
		{"call", "I look.\n```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"a\"}}\n```",
			"|text:I look.\n|call:file_read{\"path\":\"a\"}|end:tool_calls"},
		{"thought and two calls", "<think>Hm. </think>Now.<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}</tool_call><tool_call>{\"name\": \"find_tools\", \"arguments\": {\"query\": \"x\"}}</tool_call>",
			"|thought:Hm.|text:Now.|call:shell{\"command\":\"ls\"}|call:find_tools{\"query\":\"x\"}|end:tool_calls"},
		{"unreadable", "Well.\n```tool\nno idea\n```", "|text:Well.\n|garbled:unreadable|end:stop"},
		{"unknown", "<tool_call>{\"name\": \"fly\", \"arguments\": {}}</tool_call>", "|garbled:unknown_tool fly|end:stop"},
		{"cut off", "```tool\n{\"name\": \"shell\", \"args\": {\"command\": \"rm -r /tmp/", "|call:shell{\"command\":\"rm -r /tmp/\"} cut|end:tool_calls"},
		{"a brace too few", "```tool\n{\"name\": \"shell\", \"args\": {\"command\": \"ls\"}\n```", "|call:shell{\"command\":\"ls\"}|end:tool_calls"},
	}
	for _, test := range tests {
		for _, size := range []int{1, 3, 1000} {
			m := Wrap(fake{chunks: says(test.text, size, stop)}, Options{})
			tools := nine()
			tools[0].Aliases = []string{"read_file"}
			got := heard(t, m, model.Request{Tools: tools})
			if got != test.want {
				t.Errorf("%s in pieces of %d:\n got %s\nwant %s", test.name, size, got, test.want)
			}
		}
	}
}

// TestPreview asks that a call is announced while it is being written, whatever its form.
func TestPreview(t *testing.T) {
	for _, text := range []string{
		"```tool\n{\"name\": \"shell\", \"args\": {",
		"<tool_call>\n<function=shell>\n",
		"[TOOL_CALLS]bash[ARGS]{",
		"<|channel|>commentary to=functions.shell json<|message|>",
		"[shell(",
		"<|tool_call>call:shell{",
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>shell\n`",
	} {
		g := dialect.NewGuard(dialect.NewCatalogWith(nine(), map[string]string{"bash": "shell"}), dialect.Options{})
		preview := ""
		for _, c := range []byte(text) {
			if p := g.Write([]byte{c}).Preview; p.Args == "" {
				preview += p.Name
			}
		}
		if preview != "shell" {
			t.Errorf("%q: preview %q", text, preview)
		}
		g.Close()
	}
}

func TestStreamWithoutTools(t *testing.T) {
	text := "<think>Hm.</think>Write ```tool\n{\"name\": \"shell\", \"args\": {}}\n```\nor {\"a\": 1}."
	m := Wrap(fake{chunks: says(text, 2)}, Options{})
	if got, want := heard(t, m, model.Request{}), "|thought:Hm.|text:"+strings.TrimPrefix(text, "<think>Hm.</think>"); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	m = Wrap(fake{chunks: says("Hm.</think>Yes.", 2)}, Options{Options: dialect.Options{Thinking: true}})
	if got, want := heard(t, m, model.Request{}), "|thought:Hm.|text:Yes."; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestStreamPassesOn(t *testing.T) {
	usage := &model.Usage{Prompt: 5}
	m := Wrap(fake{chunks: []model.Chunk{{Thought: "a thought"}, {Text: "Yes."}, {Finish: model.Length}, {Usage: usage}}}, Options{})
	var last model.Chunk
	for c, err := range m.Stream(t.Context(), model.Request{Tools: nine()}) {
		if err != nil {
			t.Fatal(err)
		}
		last = c
	}
	if last.Usage != usage || last.Finish != model.Length {
		t.Errorf("last chunk %+v", last)
	}
	m = Wrap(fake{chunks: says("Yes.<tool_call>{\"name\": \"shell\", \"arguments\": {}}</tool_call>", 9, model.Chunk{Opaque: "state"},
		model.Chunk{Finish: model.Stop})}, Options{})
	if got, want := heard(t, m, model.Request{Tools: nine()}), "|text:Yes.|call:shell{}|opaque:state|end:tool_calls"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	broken := errors.New("broken")
	m = Wrap(fake{chunks: says("Yes. <tool_", 4), err: broken}, Options{})
	if got, want := heard(t, m, model.Request{Tools: nine()}), "|text:Yes. |error:broken"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, err := range m.Stream(t.Context(), model.Request{Tools: nine()}) {
		if err != nil {
			t.Error(err)
		}
		break // must leave nothing behind
	}
}

func TestWrapFacts(t *testing.T) {
	var asked model.Request
	m := Wrap(fake{asked: &asked, chunks: says("Yes.", 9)}, Options{})
	if i := m.Info(); i.Native || i.Window != 4096 {
		t.Errorf("Info = %+v", i)
	}
	r := model.Request{System: []string{"persona"}, Messages: conversation(), Tools: nine(), MaxTokens: 7}
	heard(t, m, r)
	if asked.MaxTokens != 7 || len(asked.System) != 1 || !strings.HasPrefix(asked.System[0], "persona\n\n# Tools\n") {
		t.Errorf("asked %+v", asked)
	}
	if got, want := m.Size(r), (fake{}).Size(asked); got != want {
		t.Errorf("Size = %d, want %d", got, want)
	}
}
