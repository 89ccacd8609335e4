package envelope

import (
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
)

func TestUnfenced(t *testing.T) {
	for text, want := range map[string]string{
		"```\na\nb\n```":                       "a\nb\n",
		"\n\n```go\na\n```\n\n":                "a\n",
		"~~~\na\n~~~":                          "a\n",
		"````md\n```sh\nls\n```\n````":         "```sh\nls\n```\n",
		"```md\n# T\n```sh\nls\n```\nend\n```": "# T\n```sh\nls\n```\nend\n",
		"```\na\n```\nThat is it.":             "a\n",
		"```\na\n```\nb\n```\nc":               "```\na\n```\nb\n```\nc", // nobody knows which
		"```\na\nb":                            "a\nb",
		"```\n```":                             "",
		"plain\ntext\n":                        "plain\ntext\n",
		"\n# Title\n\n```sh\nls\n```\n":        "# Title\n\n```sh\nls\n```\n",
		"``` not a fence\nx":                   "``` not a fence\nx",
		"```inline``` code\n":                  "```inline``` code\n",
		"":                                     "",
		"  \n":                                 "  \n",
		"  ```\n  indented\n  ```":             "  indented\n",
		"```\r\na\r\n```\r\n":                  "a\r\n",
	} {
		if got := unfenced(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"<think>hm ``` </think>\n\n```\na\n```": "```\na\n```", "<think>never ends": "", "a <think>b</think>": "a <think>b</think>",
	} {
		if got, thinking := unthought(text); got != want || thinking != (want == "") {
			t.Errorf("%q: %q %t, want %q", text, got, thinking, want)
		}
	}
}

func FuzzUnfenced(f *testing.F) {
	for _, s := range []string{"```\na\n```", "~~~~\n", "```\n```\n```", "<think></think>```", "a\n```"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rest, _ := unthought(text)
		if got := unfenced(rest); !strings.Contains(text, got) {
			t.Errorf("%q became %q", text, got)
		}
		// What is written between fences for the history comes back as it was.
		if !strings.Contains(text, "```") && strings.TrimSpace(text) != "" && strings.HasSuffix(text, "\n") {
			if got := unfenced("```\n" + strings.TrimSuffix(text, "\n") + "\n```"); got != text {
				t.Errorf("%q came back as %q", text, got)
			}
		}
	})
}

// The word that the model is done, said again, goes; anything that only begins like it stays.
func TestSaidAgain(t *testing.T) {
	for text, want := range map[string]string{
		`{"final": true}`: "", `{ "final" :true } Yes.`: "Yes.", `{"final": false}`: `{"final": false}`, `{"fin`: `{"fin`, "Yes.": "Yes.", `{"final": true}{}`: "{}", "": "", " \n": " \n",
	} {
		for _, size := range []int{1, 4, 100} {
			var a saidAgain
			got := ""
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				got += a.without(rest[:n])
				rest = rest[n:]
			}
			if got += a.rest(); got != want {
				t.Errorf("%q in pieces of %d: %q, want %q", text, size, got, want)
			}
		}
	}
}

// Calls of other modes are written as this one would have had them.
func TestSaid(t *testing.T) {
	tools := []model.Tool{{Name: "t", Schema: []byte(`{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"},"r":{"type":"boolean"}},"required":["r"]}`)}}
	m := model.Message{Role: model.Assistant, Text: "Look.", Calls: []model.Call{
		{Name: "t", Args: []byte(`{"a":1,"other":2,"r":true,"z":"x"}`)}, {Name: "gone", Args: []byte(`{"b":1}`)}, {Name: "t"},
	}}
	got := ""
	for _, s := range said(m, tools) {
		got += string(s.Role) + ": " + s.Text + "\n"
	}
	want := `assistant: Look.
assistant: {"tool": "t", "args": {"r":true,"z":"x","a":1,"other":2}}
assistant: {"tool": "gone", "args": {"b":1}}
assistant: {"tool": "t", "args": {}}
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if all := said(model.Message{Role: model.Assistant, Text: "Words."}, nil); len(all) != 1 {
		t.Errorf("without tools: %+v", all)
	}
}
