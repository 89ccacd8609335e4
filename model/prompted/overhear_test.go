package prompted

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/dialect"
	"github.com/jackline-ai/jackline/model/script"
)

// TestOverhear: calls in the text of a model that has calls of its own are read in the forms that models have for them, of known tools
// only, and only where the engine has made none and tools are on offer.
func TestOverhear(t *testing.T) {
	const garbled = "the model could not be understood"
	for _, tt := range []struct {
		name, text string
		tools      bool
		shown      string // visible text, and behind it what was called
		heard      int
	}{
		{"words", "Nothing to call: a < b, {\"a\": 1}.", true, `Nothing to call: a < b, {"a": 1}. stop`, 0},
		{"tags", "I look.\n--- raw\n<tool_call>\n{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}\n</tool_call>\n--- end", true, `I look. grep{"pattern":"x"} tool_calls`, 1},
		{"bare", "--- raw\n{\"name\": \"grep\", \"parameters\": {\"pattern\": \"x\"}}\n--- end", true, `grep{"pattern":"x"} tool_calls`, 1},
		{"two", "--- raw\n[TOOL_CALLS][{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}, {\"name\": \"list_dir\", \"arguments\": {}}]\n--- end", true, `grep{"pattern":"x"} list_dir{} tool_calls`, 1},
		{"by name alone", "--- raw\n<tool_call>{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}</tool_call>\n--- end", true, `shell{"command":"ls"} tool_calls`, 1},
		{"bare and unknown", "--- raw\n{\"name\": \"nosuch\", \"parameters\": {\"pattern\": \"x\"}}\n--- end", true, `{"name": "nosuch", "parameters": {"pattern": "x"}} stop`, 0},
		{"marked and unknown", "Well.\n--- raw\n<tool_call>{\"name\": \"nosuch\", \"arguments\": {}}</tool_call>\n--- end", true, "Well. " + garbled + " stop", 0},
		{"in code", "As in `<tool_call>{\"name\": \"grep\", \"arguments\": {}}</tool_call>`, for one.", true, "As in `<tool_call>{\"name\": \"grep\", \"arguments\": {}}</tool_call>`, for one. stop", 0},
		{"its own", "I look.\n--- call grep {\"pattern\": \"y\"}", true, `I look. grep{"pattern":"y"} tool_calls`, 0},
		{"its own and written", "--- raw\n<tool_call>{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\"}}</tool_call>\n--- end\n--- call grep {\"pattern\": \"y\"}", true, `grep{"pattern":"y"} tool_calls`, 0},
		{"no tools", "--- raw\n<tool_call>{\"name\": \"grep\", \"arguments\": {}}</tool_call>\n--- end", false, `<tool_call>{"name": "grep", "arguments": {}}</tool_call> stop`, 0},
		{"cut off", "--- raw\n<tool_call>{\"name\": \"grep\", \"arguments\": {\"pattern\": \"x\n--- end\n--- finish length", true, `grep{"pattern":"x"} cut length`, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := script.Parse("s", []byte("===\n--- pieces 3\n"+tt.text+"\n--- usage 10 3\n"))
			if err != nil {
				t.Fatal(err)
			}
			heard := 0
			m := Overhear(script.New(s, script.Options{Native: true}), Options{Options: dialect.Options{Calls: 64}}, func(context.Context) { heard++ })
			r := model.Request{Messages: []model.Message{{Role: model.User, Text: "go"}}}
			if tt.tools {
				r.Known = nine()
				for _, k := range r.Known {
					if k.Name != "shell" {
						r.Tools = append(r.Tools, k)
					}
				}
			}
			if i := m.Info(); !i.Native {
				t.Errorf("it is another kind of model: %+v", i)
			}
			text, rest, counted := "", []string{}, false
			for c, err := range m.Stream(t.Context(), r) {
				if err != nil {
					t.Fatal(err)
				}
				text += c.Text
				switch {
				case c.Call != nil:
					rest = append(rest, c.Call.Name+string(c.Call.Args))
					if c.Call.Cut {
						rest = append(rest, "cut")
					}
				case c.Garbled != "":
					rest = append(rest, garbled)
				}
				counted = counted || c.Usage != nil && c.Usage.Prompt == 10
				if c.Finish != "" {
					rest = append(rest, string(c.Finish))
				}
			}
			got := strings.Join(append(strings.Fields(text), rest...), " ")
			if got != tt.shown || heard != tt.heard || !counted {
				t.Errorf("got %q, heard %d times, counted %t; want %q, %d", got, heard, counted, tt.shown, tt.heard)
			}
		})
	}
}

// What is asked is not changed, and errors and their kinds are those of the engine.
func TestOverhearPasses(t *testing.T) {
	s, err := script.Parse("s", []byte("===\nSome words\n--- error 503 busy\n===\n--- thought\nHm.\n--- text\nOne, two, three.\n"))
	if err != nil {
		t.Fatal(err)
	}
	inner := script.New(s, script.Options{Native: true})
	m := Overhear(inner, Options{}, nil)
	r := model.Request{System: []string{"x"}, Tools: []model.Tool{{Name: "look", Schema: json.RawMessage(`{}`)}}, Messages: []model.Message{{Role: model.User, Text: "go"}}}
	if m.Size(r) != inner.Size(r) {
		t.Error("it is written out another way")
	}
	var last error
	for _, err := range m.Stream(t.Context(), r) {
		last = err
	}
	if last == nil || !strings.Contains(fmt.Sprint(last), "busy") {
		t.Errorf("error %v", last)
	}
	n := 0
	for c, err := range m.Stream(t.Context(), r) { // whoever has heard enough goes
		if n++; err != nil || c.Text != "" {
			break
		}
	}
	if n < 2 {
		t.Errorf("%d chunks", n)
	}
}
