package dialect

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline/args"
)

// rule is one line of testdata/rules.jsonl: an output and what is to be made of it. A new
// case is a new line with a text; -update fills in the rest, for you to check.
type rule struct {
	Text    string   `json:"text"`
	Calls   []string `json:"calls,omitempty"`
	Visible string   `json:"visible,omitempty"`
	Thought string   `json:"thought,omitempty"`
	Error   string   `json:"error,omitempty"`
	Cut     string   `json:"cut,omitempty"`
}

var update = flag.Bool("update", false, "fill in what the readings are")

func readRule(c *Catalog, text string) rule {
	r := Read(c, text)
	o := outcomeOf(r)
	got := rule{Text: text, Calls: o.Calls, Visible: o.Visible, Thought: o.Thought, Error: o.Error}
	for _, call := range r.Calls {
		if call.Cut {
			got.Cut += call.Name + " "
		}
	}
	return got
}

func TestRules(t *testing.T) {
	path := filepath.Join("testdata", "rules.jsonl")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	c := everything(t, loadCorpus(t))
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	for line := range bytes.Lines(data) {
		var want rule
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		got := readRule(c, want.Text)
		if err := encoder.Encode(got); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", want) && !*update {
			t.Errorf("%q\n got %+v\nwant %+v", want.Text, got, want)
		}
		whole := Read(c, want.Text)
		for _, size := range []int{1, 2, 3, 7} {
			agree(t, c, want.Text, whole, size)
		}
	}
	if *update {
		if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestGuardHoldsLittle feeds ordinary text byte by byte: no more of it may be held back than the
// beginning of a marker.
func TestGuardHoldsLittle(t *testing.T) {
	const most = 40
	texts := []string{
		"Assistants answer at once: a < b, c > d & e; [1] see [the page](https://example.test/a?b=1). It costs 5 {coins}.\n\n" +
			"# About tools\n\n- Action is a word, and so is Observation.\n- [ ] a task, [x] another\n1. first\n\n> quoted\n\n" +
			"| a | b |\n|---|---|\n| 1 | 2 |\n\n~ about ~ and ~~struck~~ *and* “quoted” – naïve 日本語 🚲\n\n[Note that this goes on, and on, and on, without an end. ",
		"```python\nx = {\"name\": \"shell\", \"args\": [1, 2]}\nif a < b: print(f\"{a}\")\n```\n\nThen ~~~\n",
		"```\nno json\n```\n```json\n// a comment\n{\"a\": 1}\n```\n{this is prose}\n[\n",
		"<div class=\"a\"><p>Text</p></div>\n<table>\n<toolbar> <tools> <thin> </thing> <|x|> <functional> <parameter>\n",
	}
	c := everything(t, loadCorpus(t))
	for _, text := range texts {
		g := NewGuard(c, Options{})
		released := 0
		for i := range len(text) {
			released += len(g.Write([]byte{text[i]}).Visible)
			if held := i + 1 - released; held > most {
				t.Fatalf("%d bytes are held back: %q", held, text[released:i+1])
			}
		}
		g.Close()
	}
}

// TestLinear feeds texts on which a careless reader would go back again and again.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a while")
	}
	c := everything(t, loadCorpus(t))
	units := []string{
		"{a:\"x\n", "{\"a\":\"x\n", "[\n", "[{\"a\":\n", "{\"a\": 'b\n", "[weather(\n", "[weather(city=\"x\n",
		"```json\n{\"a\":\"x\n```\n", "```tool\n{\"a\": \"x\n```\n", "```tool\n", "```\n</think>", "~~~\n", "``", "` ``  ",
		"<tool_call>", "<tool_call> {\"a\": \"x", "<tool_call>{\"a\": \"</tool_call>", "x<tool_call>{\"a\": \"</tool_call>", "<tool_call>\nx\n", "x <tool_call> y\n",
		"<think>", "</think>", "<think", "<think>\n<think>a", "<think x", "x</think>\n```\n",
		"<function=shell>", "<function=shell>\n<parameter=command>", "<parameter=command>x", "<invoke name=\"shell\"><command>", "<function=shell>{\"command\": \"",
		"<tool_call>shell<arg_key>", "<arg_key>a</arg_key><arg_value>", "<tool_call>time_now<arg_key>zone</arg_key>",
		"<|channel|>", "<|channel|>commentary to=functions.shell", "<|start|>assistant", "<|channel|>analysis<|message|>",
		"[TOOL_CALLS]", "[TOOL_CALLS]shell[ARGS]{\"a\": \"", "[TOOL_CALLS] x\n", "functools[", "functools[{", "functools[\n",
		"&lt;tool_call&gt;{\n", "&lt;tool_call&gt;\n", "&lt;function=", "<tool_call>{&quot;", "<tool_call>{&quot;\n</tool_call>\n",
		"]<]minimax[>[", "]<]minimax[>[ x", "<|open|>tools<|sep|>", "<|open|>call tool=\"shell\"<|sep|><|open|>argument key=\"command\"<|sep|>",
		"Action: shell\nAction Input: {\"\n", "Action: ```json\n", "Action: ", ">>>weather\n{\"\n", "<|tool_call>call:shell{a:<|\"|>", "<｜DSML｜", "<｜tool▁call▁begin｜>shell",
		"\ufeff", "\xe2\x80", "<function_model><function_call>", "<answer>", "commentary to=functions.", "assistantcommentary to=",
	}
	for _, unit := range units {
		n := 25_000 / len(unit)
		small, large := strings.Repeat(unit, n), strings.Repeat(unit, 4*n)
		var once, more time.Duration
		for range 4 {
			once = fastest(func() { Read(c, small) })
			more = fastest(func() { Read(c, large) })
			if more < time.Second*slower && (more < 8*once || more < 30*time.Millisecond*slower) {
				break
			}
		}
		if more >= 8*once && more >= 30*time.Millisecond*slower {
			t.Errorf("%q: four times the text took %v instead of %v", unit, more, once)
		}
		if more > time.Second*slower {
			t.Errorf("%q: %d bytes took %v", unit, len(large), more)
		}
	}
}

func TestGuardClosesTwice(t *testing.T) {
	g := NewGuard(NewCatalog(nil), Options{})
	g.Write([]byte("Hi"))
	g.Write(nil)
	_, r := g.Close()
	d, again := g.Close()
	if r.Visible != "Hi" || again.Visible != "Hi" || d != (Delta{}) || g.Write([]byte("x")) != (Delta{}) {
		t.Errorf("closed twice: %+v, %+v, %+v", r, again, d)
	}
}

func TestOptions(t *testing.T) {
	c := everything(t, loadCorpus(t))
	text := strings.Repeat("<tool_call>{\"name\": \"time_now\"}</tool_call>", 6)
	if r := (Options{Calls: 5}).Read(c, text); len(r.Calls) != 5 {
		t.Errorf("%d calls, want 5", len(r.Calls))
	}
	if r := (Options{Plain: true}).Read(c, text); len(r.Calls) != 0 || r.Visible != text {
		t.Errorf("plain: %+v", r)
	}
	if r := (Options{Thinking: true}).Read(c, "hm</think>Yes"); r.Thought != "hm" || r.Visible != "Yes" || r.Orphan {
		t.Errorf("thinking: %+v", r)
	}
	if s := c.Schema("cat"); s == nil || s.Field("path") == nil {
		t.Error("no schema by alias")
	}
	if _, ok := c.Find("nothing"); ok || c.Schema("nothing") != nil {
		t.Error("found nothing")
	}
	if args.Trim(" x\u200b") != "x" {
		t.Error("Trim")
	}
}

// TestAsked asks that the name that no tool has comes through, and only with the error that it explains.
func TestAsked(t *testing.T) {
	c := everything(t, loadCorpus(t))
	fly := "<tool_call>{\"name\": \"fly\", \"arguments\": {}}</tool_call>"
	for text, want := range map[string]string{
		fly:                                     "fly",
		fly + "\n<tool_call>sail()</tool_call>": "fly",
		"[TOOL_CALLS]fly_away[ARGS]{}":          "fly_away",
		"```tool\nnothing\n```\n" + fly:         "",
		fly + "<tool_call>{\"name\": \"time_now\"}</tool_call>": "",
		fly + "</think>No.":                      "",
		"{\"name\": \"fly\", \"arguments\": {}}": "",
	} {
		if r := Read(c, text); r.Asked != want {
			t.Errorf("%q: asked for %q, want %q", text, r.Asked, want)
		}
	}
}
