package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/tool"
)

// The tools that are always offered must leave room in a window of 4,096 tokens.
func TestPinnedToolsAreCheap(t *testing.T) {
	const mostText, mostNative = 190, 380 // on average, per tool
	for _, window := range []int{tool.PinSmall, tool.PinMiddle, tool.PinLarge} {
		text, native, n := 0, 0, 0
		for _, f := range pinned(t, window) {
			line, j := inWords(f), natively(t, f)
			text, native, n = text+len(line), native+len(j), n+1
			if window == tool.PinLarge {
				t.Logf("%3d %3d %s", len(line), len(j), line)
			}
		}
		t.Logf("%d: %d tools, %d in words, %d natively on average", window, n, text/n, native/n)
		if text/n > mostText || native/n > mostNative {
			t.Errorf("%d: on average %d characters in words and %d natively; at most %d and %d", window, text/n, native/n, mostText, mostNative)
		}
	}
	for _, name := range newWork(t, nil).Tools.Names() {
		x, _ := newWork(t, nil).Tools.Lookup(name)
		if f := x.Facts(); len(f.Summary) > 60 || len(f.Use) > 70 {
			t.Errorf("%s: a summary has at most 60 characters, a use 70", f.Name)
		}
	}
}

// pinned are the tools that are offered in a window.
func pinned(t *testing.T, window int) (facts []tool.Facts) {
	for _, tl := range newWork(t, nil).Tools.Names() {
		x, _ := newWork(t, nil).Tools.Lookup(tl)
		if f := x.Facts(); f.Pin > 0 && f.Pin <= window {
			facts = append(facts, f)
		}
	}
	return facts
}

func inWords(f tool.Facts) string {
	s, err := args.Parse(f.Schema)
	if err != nil {
		return err.Error()
	}
	var doc struct {
		Properties map[string]struct{ Description string } `json:"properties"`
	}
	_ = json.Unmarshal(f.Schema, &doc)
	var params []string
	for _, p := range s.Names() {
		d := doc.Properties[p].Description
		if d != "" {
			d = ": " + d
		}
		if s.Required(p) {
			params = append(params, p+d)
		} else {
			params = append(params, p+"?"+d)
		}
	}
	return fmt.Sprintf("- %s(%s) %s %s\n", f.Name, strings.Join(params, ", "), f.Summary, f.Use)
}

func natively(t *testing.T, f tool.Facts) string {
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	b, err := json.Marshal(map[string]any{"type": "function", "function": function{f.Name, f.Summary + " " + f.Use, f.Schema}})
	must(t, err)
	return string(b)
}

func TestPins(t *testing.T) {
	for window, want := range map[int]string{
		4096:  "file_read file_write file_edit grep shell ask_user find_tools",
		8192:  "file_read file_write file_edit grep shell ask_user find_tools list_dir",
		16384: "file_read file_write file_edit grep shell ask_user find_tools list_dir glob",
	} {
		var names []string
		for _, f := range pinned(t, window) {
			names = append(names, f.Name)
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%d: %s", window, got)
		}
	}
}

// Whatever a model sends, a call ends in a result that it can read.
func TestHostileArguments(t *testing.T) {
	w := newWork(t, map[string]string{"a.txt": "a\n", "keep.txt": "a\n"})
	w.Limit = 2000
	for name := range names(w) {
		for _, raw := range []string{
			`{}`, `[]`, `"x"`, `null`, `7`, `{"path":7}`, `{"path":null,"content":null}`, `{"path":["a"]}`, `{"path":{"x":1},"pattern":{}}`,
			`{"path":"a\u0000b","content":"","old":"","new":"","pattern":"\u0000","command":"a\u0000b"}`,
			`{"path":"../../etc/passwd","from":"../x","to":"../y","pattern":"../*"}`,
			`{"path":".git/config","content":"x","old":"x","new":"y","from":".env","to":"x","cwd":".git","command":"true"}`,
			`{"path":"` + strings.Repeat("a/", 5000) + `","content":"x","pattern":"` + strings.Repeat("(", 2000) + `"}`,
			`{"query":"` + strings.Repeat("x ", 50000) + `","expression":"` + strings.Repeat("(", 50000) + `","patch":"` + strings.Repeat("@@", 50000) + `"}`,
			`{"question":"\u202e","options":[[],{}],"steps":[1,2,{"text":[]}],"add":{"x":"y"},"zone":"\u0000","call":"","page":-1}`,
			`{"page":99999999999999999999,"from":-99999999999,"to":1e300,"timeout":-5,"path":"a.txt"}`,
		} {
			r := w.Run(t, name, raw)
			if r.State != jackline.CallEnded || r.Text == "" || len(r.Text) > 4*w.Limit {
				t.Errorf("%s %s: %+v", name, short(raw, 60), r.Call)
			}
			if strings.Contains(r.Text, "broke down") || strings.Contains(r.Text, "broken") {
				t.Errorf("%s %s: %s", name, short(raw, 60), r.Text)
			}
		}
	}
	if w.file(t, "keep.txt") != "a\n" {
		t.Error("a file was changed")
	}
}

func names(w *work) map[string]bool {
	all := map[string]bool{}
	for _, n := range w.Tools.Names() {
		all[n] = true
	}
	return all
}

// The words that models invent for these tools reach them.
func TestAliases(t *testing.T) {
	w := newWork(t, nil)
	for alias, want := range map[string]string{
		"read_file": "file_read", "readFile": "file_read", "cat": "file_read", "view": "file_read", "write_file": "file_write", "create_file": "file_write",
		"edit_file": "file_edit", "str_replace": "file_edit", "bash": "shell", "sh": "shell", "run_command": "shell", "execute": "shell", "ls": "list_dir",
		"list_files": "list_dir", "mkdir": "make_dir", "rm": "file_delete", "mv": "file_move", "cp": "file_copy", "find_files": "glob", "calc": "calculator",
		"now": "time", "Shell": "shell", "file-read": "file_read", "code_interpreter": "python", "python3": "python", "file_list": "list_dir", "time_now": "time",
	} {
		if tl, ok := w.Tools.Lookup(alias); !ok || tl.Facts().Name != want {
			t.Errorf("%s does not lead to %s", alias, want)
		}
	}
	for _, foreign := range []string{"search", "google", "fetch", "web_search", "weather", "run_agent", "skill", "memory_search"} {
		if tl, ok := w.Tools.Lookup(foreign); ok {
			t.Errorf("%s leads to %s, and is another tool's", foreign, tl.Facts().Name)
		}
	}
}

// The argument that a tool names as its body is a text that must be there: it is written apart where calls are JSON.
func TestBodies(t *testing.T) {
	bodies := 0
	for _, each := range All(Deps{}) {
		f := each.Facts()
		if f.Body == "" {
			continue
		}
		bodies++
		schema, err := args.Parse(f.Schema)
		if err != nil {
			t.Fatal(err)
		}
		if s := schema.Field(f.Body); s == nil || s.Type() != "string" || !schema.Required(f.Body) {
			t.Errorf("%s has no text %s", f.Name, f.Body)
		}
	}
	if bodies != 3 {
		t.Errorf("%d tools have a body", bodies)
	}
}
