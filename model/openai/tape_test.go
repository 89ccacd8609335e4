package openai_test

import (
	"flag"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/script"
)

var record = flag.Bool("record", false, "write the tapes in testdata anew")

// voyage is a turn with two calls, its second step, a step in text mode, and two failures.
const voyage = `
=== 1
--- thought
The notes will say.
--- text
I look into the notes.
--- call file_read {"path": "notes.txt", "lines": [1, 20]}
--- call time
--- usage 120 30
=== 2
--- expect buy milk – and "bread"
Buy milk – and "bread".
--- usage 180 8 120
=== 3
--- call time
--- usage 100 9 64
=== 4
--- error 429 slowly
=== 5
Half of the
--- cut
`

const heard = `thought The notes will say.
text I look into the notes.
preview file_read
call ID1 file_read {"lines":[1,20],"path":"notes.txt"}
preview time
call ID2 time {}
finish tool_calls {"prompt":120,"cached":0,"completion":30}

text Buy milk – and "bread".
finish stop {"prompt":180,"cached":120,"completion":8}

text ` + "```tool\n{\"name\": \"time\", \"args\": {}}\n```" + `
finish stop {"prompt":100,"cached":64,"completion":9}

error unavailable: The engine at URL limits how often it may be asked: try again later.

text Half of the
error unavailable: The connection to URL broke off in the middle of the answer. What came so far is kept.
`

// Whatever engine answers, the loop above is told the same.
func TestTapes(t *testing.T) {
	families := map[string]modeltest.Dialect{
		"openai": modeltest.OpenAI(), "llamacpp": modeltest.LlamaCpp(), "vllm": modeltest.VLLM(),
		"ollama": modeltest.Ollama(), "lmstudio": modeltest.LMStudio(),
	}
	for family, d := range families {
		t.Run(family, func(t *testing.T) { testTape(t, family, d) })
	}
}

func testTape(t *testing.T, family string, d modeltest.Dialect) {
	name, base := "script", "http://engine.test/v1"
	if len(d.Models) > 0 {
		name = d.Models[0]
	}
	var live http.RoundTripper
	if *record {
		s, err := script.Parse("voyage", []byte(voyage))
		if err != nil {
			t.Fatal(err)
		}
		base = modeltest.NewServer(t, s, d).URL
		own := &http.Transport{DisableKeepAlives: true}
		t.Cleanup(own.CloseIdleConnections)
		live = own
	}
	tape := modeltest.Tape(t, filepath.Join("testdata", family+".http"), *record, live)
	open := func(native bool) *openai.Model {
		m, err := openai.New(openai.Options{BaseURL: base, Model: name, Key: engine.Key(d.Key), Native: native, Transport: tape, Retry: once})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	m := open(true)

	names, err := m.List(t.Context())
	if err != nil || len(names) == 0 || names[0] != name {
		t.Errorf("list: %v %v", names, err)
	}
	var got []string
	r := modeltest.Ask("What do the notes say?")
	said, calls := follow(t, m, r)
	got = append(got, said)
	r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: "I look into the notes.", Calls: calls})
	for _, c := range calls {
		text := `buy milk – and "bread"`
		if c.Name == "time" {
			text = "noon"
		}
		r.Messages = append(r.Messages, model.Message{Role: model.Result, CallID: c.ID, Name: c.Name, Text: text})
	}
	r.NoCalls, r.MaxTokens = true, 500
	said, _ = follow(t, m, r)
	got = append(got, said)
	said, _ = follow(t, open(false), modeltest.Ask("What time is it?"))
	got = append(got, said)
	for range 2 {
		said, _ = follow(t, m, modeltest.Ask("And now?"))
		got = append(got, said)
	}
	all := strings.ReplaceAll(strings.Join(got, "\n"), base, "URL")
	if all != heard {
		t.Errorf("got:\n%s\nwant:\n%s", all, heard)
	}
}

// follow writes down an answer, pieces of text put together and IDs numbered, and gives its calls.
func follow(t *testing.T, m model.Model, r model.Request) (string, []model.Call) {
	t.Helper()
	var b strings.Builder
	var calls []model.Call
	var open string // the kind of text that is being put together
	for c, err := range m.Stream(t.Context(), r) {
		kind := ""
		switch {
		case c.Text != "":
			kind = "text "
		case c.Thought != "":
			kind = "thought "
		}
		if kind != open && open != "" {
			b.WriteString("\n")
		}
		if kind != "" {
			if kind != open {
				b.WriteString(kind)
			}
			open = kind
			b.WriteString(c.Text + c.Thought)
			continue
		}
		open = ""
		if c.Call != nil {
			calls = append(calls, *c.Call)
			numbered := *c.Call
			numbered.ID = "ID" + string('0'+rune(len(calls)))
			c.Call = &numbered
		}
		if c.Preview.Args == "" {
			b.WriteString(line(c, err) + "\n")
		}
	}
	return b.String(), calls
}
