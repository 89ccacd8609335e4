package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// main is a request that belongs to a turn.
func mainRequest(text string) model.Request {
	tool := model.Tool{Name: "file_read", Summary: "Read a file.", Schema: json.RawMessage(`{"type":"object"}`)}
	return model.Request{
		System:   []string{"You are a sailor."},
		Messages: []model.Message{{Role: model.User, Text: text}},
		Tools:    []model.Tool{tool}, Known: []model.Tool{tool},
	}
}

func parse(t *testing.T, text string) *script.Script {
	t.Helper()
	s, err := script.Parse("test.script", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// play writes down what a model says to r, one line a chunk.
func play(t *testing.T, m model.Model, r model.Request) string {
	t.Helper()
	var b strings.Builder
	for c, err := range m.Stream(t.Context(), r) {
		if c.Preview.Args == "" { // how arguments grow has a test of its own
			b.WriteString(line(c, err) + "\n")
		}
	}
	return b.String()
}

func line(c model.Chunk, err error) string {
	switch {
	case err != nil:
		return "error " + jackline.KindOf(err).String() + ": " + jackline.Say(err)
	case c.Text != "":
		return "text " + quote(c.Text)
	case c.Thought != "":
		return "thought " + quote(c.Thought)
	case c.Preview != model.Preview{}:
		return "preview " + c.Preview.Name
	case c.Call != nil:
		return "call " + c.Call.ID + " " + c.Call.Name + " " + string(c.Call.Args)
	case c.Garbled != "":
		return "garbled " + string(c.Garbled)
	}
	s := "finish " + string(c.Finish)
	if c.Usage != nil {
		b, _ := json.Marshal(c.Usage)
		s += " " + string(b)
	}
	return s
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestPlay(t *testing.T) {
	tests := []struct {
		name, script string
		native       bool
		want         string
	}{
		{"words", "=== 1\n\n  two words\nmore\n\n", true, `
text "  two "
text "words\n"
text "more"
finish stop
`},
		{"call", "=== 1\nLook.\n--- call file_read {\"path\": \"b\", \"a\": 1.50}\n", true, `
text "Look."
preview file_read
call main1call1 file_read {"a":1.5,"path":"b"}
finish tool_calls
`},
		{"call in text", "=== 1\nLook.\n--- pieces 100\n--- call file_read {\"path\": \"b\"}\n--- call grep", false, `
text "Look."
text "\n` + "```tool\\n{\\\"name\\\": \\\"file_read\\\", \\\"args\\\": {\\\"path\\\": \\\"b\\\"}}\\n```" + `"
text "\n` + "```tool\\n{\\\"name\\\": \\\"grep\\\", \\\"args\\\": {}}\\n```" + `"
finish stop
`},
		{"thought", "===\n--- thought\nhm\n--- text\nyes\n--- usage 10 2 5\n--- finish length", true, `
thought "hm"
text "yes"
finish length {"prompt":10,"cached":5,"completion":2}
`},
		{"raw", "=== 1\n# a heading, no comment\n--- pieces 99\n--- raw\n\n=== 2\n--- call\n\n--- end\n--- text\nend", true, `
text "# "
text "a "
text "heading, "
text "no "
text "comment"
text "\n\n=== 2\n--- call\n"
text "end"
finish stop
`},
		{"pieces", "===\n--- pieces 2\naäbc\n---\n---x", true, `
text "aä"
text "bc"
text "\n-"
text "--"
text "\n-"
text "--"
text "x"
finish stop
`},
		{"garbled", "===\nx\n--- garbled grep {\"a\": ", true, `
text "x"
preview grep
garbled unreadable
finish tool_calls
`},
		{"garbled beside a call", "===\n--- garbled grep {\n--- call grep {}", true, `
preview grep
preview grep
call main1call2 grep {}
finish tool_calls
`},
		{"error", "===\nx\n--- error 503 busy\nnever", true, `
text "x"
error unavailable: The script answers with status 503: busy.
`},
		{"cut", "===\nx\n--- cut\nnever", true, `
text "x"
error unavailable: The script broke off in the middle of its answer.
`},
		{"expect", "===\nx\n--- expect file_read\n--- refuse gold", true, "\ntext \"x\"\nfinish stop\n"},
		{"expect fails", "===\nx\n\n--- expect gold", true, `
error invalid: test.script:4: request 1 does not hold "gold".
`},
		{"refuse fails", "===\nx\n--- refuse sailor", true, `
error invalid: test.script:3: request 1 holds "sailor".
`},
		{"nothing", "===", true, "\nfinish stop\n"},
		{"crlf", "\ufeff===\r\nx\r\n", true, "\ntext \"x\"\nfinish stop\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := script.New(parse(t, tt.script), script.Options{Native: tt.native})
			if got := "\n" + play(t, m, mainRequest("hello")); got != tt.want {
				t.Errorf("got:%s\nwant:%s", got, tt.want)
			}
		})
	}
}

func TestOrder(t *testing.T) {
	m := script.New(parse(t, "# c\n#\n\n=== 1\none\n=== side\nA\n=== 2\ntwo\n=== *\nrest\n=== side\nB"), script.Options{})
	side := model.Request{System: []string{"Summarize."}}
	taught := model.Request{System: []string{"Call tools so:\n```tool\n{}\n```"}}
	var got []string
	for _, r := range []model.Request{mainRequest(""), side, taught, side, side, mainRequest(""), mainRequest("")} {
		for c, err := range m.Stream(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Text != "" {
				got = append(got, c.Text)
			}
		}
	}
	if s := strings.Join(got, " "); s != "one A two B A rest rest" {
		t.Error(s)
	}
}

func TestRunsOut(t *testing.T) {
	m := script.New(parse(t, "===\nx"), script.Options{})
	play(t, m, mainRequest(""))
	// Without side blocks, a side request takes a main answer too.
	want := "error invalid: The script test.script has no answer to request 2: it ends after 1. " +
		"Add a block, or one that begins with \"=== *\".\n"
	if got := play(t, m, model.Request{}); got != want {
		t.Error(got)
	}
}

func TestWait(t *testing.T) {
	m := script.New(parse(t, "===\nx\n--- wait"), script.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for c, err := range m.Stream(ctx, mainRequest("")) {
		if c.Text == "x" {
			cancel()
		}
		last = err
	}
	if !modeltest.AsItIs(last, context.Canceled) {
		t.Error(last)
	}
}

func TestParseErrors(t *testing.T) {
	tests := map[string]string{
		"":                        `The script s has no answer: a block begins with a line "===".`,
		"# only\n":                `The script s has no answer: a block begins with a line "===".`,
		"\xff":                    `The script s is not UTF-8 text.`,
		"hello":                   `s:1: text before the first block: a block begins with a line "===".`,
		"#hello":                  `s:1: text before the first block: a block begins with a line "===".`,
		"=== 2":                   `s:1: block 2 stands where block 1 belongs.`,
		"===\n=== 3":              `s:2: block 3 stands where block 2 belongs.`,
		"=== one":                 `s:1: "=== one" is no block: use "===", "=== 1", "=== side" or "=== *".`,
		"=== *\n===":              `s:2: a main block after "=== *", which answers everything from there on.`,
		"=== *\n=== *":            `s:2: a second "=== *".`,
		"===\n--- shout x":        `s:2: "--- shout" is no directive.`,
		"===\n--- shout":          `s:2: "--- shout" needs something behind it, or is no directive.`,
		"===\n--- text x":         `s:2: "--- text" stands alone on its line.`,
		"===\n--- end":            `s:2: "--- end" without "--- raw".`,
		"===\na\n--- raw\nb":      `s:3: "--- raw" has no "--- end".`,
		"===\n--- call x {":       `s:2: the arguments of x are not one JSON object on this line.`,
		"===\n--- call x {}}":     `s:2: the arguments of x are not one JSON object on this line.`,
		"===\n--- call x null":    `s:2: the arguments of x are not one JSON object on this line.`,
		"===\n--- call x [1]":     `s:2: the arguments of x are not one JSON object on this line.`,
		"===\n--- usage 1":        `s:2: "--- usage" takes two or three numbers: prompt, completion, cached.`,
		"===\n--- usage 1 -2":     `s:2: "--- usage" takes numbers from 0: "-2" is none.`,
		"===\n--- finish never":   `s:2: "--- finish" takes stop, length or tool_calls.`,
		"===\n--- error 200 fine": `s:2: "--- error" takes a status from 400 to 599 and a text.`,
		"===\n--- pieces 0":       `s:2: "--- pieces" takes a number of bytes from 1.`,
		"===\n--- expect":         `s:2: "--- expect" needs something behind it, or is no directive.`,
	}
	for text, want := range tests {
		_, err := script.Parse("s", []byte(text))
		if jackline.KindOf(err) != jackline.Invalid || jackline.Say(err) != want {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

// The count is shared: each of many requests at once gets an answer of its own.
func TestConcurrent(t *testing.T) {
	const n = 50
	m := script.New(parse(t, strings.Repeat("===\nx\n", n)), script.Options{Native: true})
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			for _, err := range m.Stream(t.Context(), mainRequest("")) {
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if got := play(t, m, mainRequest("")); !strings.HasPrefix(got, "error") {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("=== 1\nx\n--- call a {\"b\": 1}\n=== side\ny\n=== *\n--- raw\n--- \n--- end\n--- pieces 1\nä")
	f.Add("# c\n===\n--- thought\nx\n--- cut")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := script.Parse("s", []byte(text))
		if err != nil {
			if jackline.KindOf(err) != jackline.Invalid {
				t.Fatal(err)
			}
			return
		}
		for _, native := range []bool{true, false} {
			a, err := s.Next(mainRequest(""))
			if err != nil {
				continue
			}
			for step := range a.Steps(native) {
				if step.Call != nil && (!native || !json.Valid(step.Call.Args)) {
					t.Fatalf("%+v", step)
				}
			}
		}
	})
}

func Example() {
	s, err := script.Parse("demo", []byte(`# one step with a call, and the answer
=== 1
I look.
--- call file_read {"path": "notes.txt"}
=== 2
Buy milk.
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	m := script.New(s, script.Options{Native: true})
	for range 2 {
		for c, err := range m.Stream(context.Background(), model.Request{}) {
			switch {
			case err != nil:
				fmt.Println(err)
			case c.Text != "":
				fmt.Printf("%q ", c.Text)
			case c.Call != nil:
				fmt.Printf("%s(%s) ", c.Call.Name, c.Call.Args)
			case c.Finish != "":
				fmt.Println(c.Finish)
			}
		}
	}
	// Output:
	// "I " "look." file_read({"path":"notes.txt"}) tool_calls
	// "Buy " "milk." stop
}
