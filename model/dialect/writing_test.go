package dialect

import (
	"strings"
	"testing"
)

// TestWriting asks that whoever watches is told of a call's arguments as they come, in whole characters, and that none of
// it is text.
func TestWriting(t *testing.T) {
	c := everything(t, loadCorpus(t))
	tests := []struct{ text, want string }{
		{"```tool\n{\"name\": \"shell\", \"args\": {\"command\": \"ls ä\"}}\n```", `shell {"command": "ls ä"}`},
		{"<tool_call>\n{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>", `shell {"command": "ls"}`},
		{"<tool_call>\n<function=shell>\n<parameter=command>\nls\n</parameter>\n</function>\n</tool_call>", "shell <parameter=command>\nls\n</parameter>\n</function>"},
		{"<tool_call>shell\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>", "shell <arg_key>command</arg_key>\n<arg_value>ls</arg_value>"},
		{"[TOOL_CALLS]shell[ARGS]{\"command\": \"ls\"}", `shell {"command": "ls"}`},
		{"[shell(command=\"ls\")]", `shell (command="ls")]`},
		{"{\"name\": \"shell\", \"arguments\": {\"command\": \"ls\", \"input\": \"x\"}}", `shell {"command": "ls", "input": "x"}`},
		{"<|channel|>commentary to=functions.shell <|constrain|>json<|message|>{\"command\": \"ls\"}<|call|>", `shell {"command": "ls"}`},
		{"Action: shell\nAction Input: {\"command\": \"ls\"}\n", `shell {"command": "ls"}`},
		{"<tool_call>{\"name\": \"fly\", \"arguments\": {\"command\": \"ls\"}}</tool_call>", ""},
		{"Nothing of the kind: {\"a\": 1}.", ""},
	}
	for _, test := range tests {
		for _, size := range []int{1, 3, 7, len(test.text)} {
			g := NewGuard(c, Options{})
			told, visible, begun := "", "", 0
			take := func(d Delta) {
				visible += d.Visible
				switch {
				case d.Preview.Name == "" && d.Preview.Args != "":
					t.Errorf("%q: arguments of nothing: %+v", test.text, d.Preview)
				case d.Preview.Name != "" && d.Preview.Args == "":
					begun++
					told += d.Preview.Name + " "
				}
				if strings.ToValidUTF8(d.Preview.Args, "") != d.Preview.Args {
					t.Errorf("%q: half a character in %q", test.text, d.Preview.Args)
				}
				told += d.Preview.Args
			}
			for rest := test.text; rest != ""; {
				n := min(size, len(rest))
				take(g.Write([]byte(rest[:n])))
				rest = rest[n:]
			}
			d, r := g.Close()
			take(d)
			rest, ok := strings.CutPrefix(told, test.want)
			// What closes a call that is no JSON may be told with it.
			if !ok || strings.HasSuffix(test.want, "}") && strings.ContainsAny(rest, "}{\"") || test.want == "" && told != "" || begun > 1 {
				t.Errorf("%q in pieces of %d: told %q, want %q", test.text, size, told, test.want)
			}
			if len(r.Calls) > 0 && strings.TrimSpace(visible) != "" {
				t.Errorf("%q: visible %q", test.text, visible)
			}
		}
	}
}
