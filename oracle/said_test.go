package oracle_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/script"
)

// Connections that wait for another request belong to the standard library's own transport.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(status int) {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		os.Exit(status)
	}))
}

// said is an answer, whoever read it.
type said struct {
	Text, Thought string
	Calls         []call
	Finish        model.Finish
	Usage         model.Usage
}

type call struct{ ID, Name, Args string }

// canonical writes arguments in one way, and leaves alone what is no JSON. None at all are those of a call that needs none.
func canonical(text string) string {
	if text == "" {
		return "{}"
	}
	v, err := args.Strict([]byte(text))
	if err != nil {
		return text
	}
	b, err := args.Canonical(v)
	if err != nil {
		return text
	}
	return string(b)
}

// voyage is a turn: reasoning, a word and two calls at once, and then, over their results, the answer; then a call with
// awkward arguments and its answer; and an answer that is too long. The checks see to it that a server has understood
// what it was sent, whoever sent it.
const voyage = `
=== 1
--- expect notes say
--- expect file_read
--- thought
The notes – perhaps – will say.
--- text
I look into the notes.
--- call file_read {"path": "notes.txt"}
--- call time
--- usage 120 30 64
=== 2
--- expect buy milk – and "bread"
--- expect noon <&>
--- pieces 3
--- raw
  äöü – 船 👩‍🚀 "quoted" \n <b>&amp;</b>

` + "```go\n\tx := `a`\n```" + `
data: [DONE]
--- end
--- usage 180 8 120
=== 3
--- expect Once more
--- call file_read {"path": "ä \"b\".txt", "deep": {"z": [1, 2.50, null, 12345678901234567890], "a": "}{", "h": "<&>"}}
--- usage 200 5
=== 4
--- expect "h":"<&>"
--- expect nothing there
That was it.
--- usage 220 9 200
=== 5
--- expect That was it.
Half of the
--- finish length
--- usage 240 4 220
`

// parse reads a script.
func parse(t testing.TB, text string) *script.Script {
	t.Helper()
	s, err := script.Parse("oracle", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// truth is what a script says to n requests, with prefix before the IDs of its calls.
func truth(t testing.TB, text string, n int, prefix string) []said {
	t.Helper()
	var unchecked strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "--- expect ") {
			unchecked.WriteString(line)
		}
	}
	s := parse(t, unchecked.String())
	all := make([]said, n)
	for i := range all {
		a, err := s.Next(model.Request{})
		if err != nil {
			t.Fatal(err)
		}
		for step := range a.Steps(true) {
			all[i].Text += step.Text
			all[i].Thought += step.Thought
			if c := step.Call; c != nil {
				all[i].Calls = append(all[i].Calls, call{prefix + c.ID, c.Name, canonical(string(c.Args))})
			}
			if step.Usage != nil {
				all[i].Usage = counted(*step.Usage)
			}
			all[i].Finish = step.Finish
		}
	}
	return all
}

// A client asks a server, in whose ever words, and keeps the conversation.
type client interface {
	say(text string)
	result(c call, text string)

	// ask sends what has been said and keeps the answer, to be sent back in the way in which the client does that. Of a
	// stream, heard gets each piece of text. After an error, said is what had come.
	ask(ctx context.Context, heard func(text string)) (said, error)
}

// sail leads c through the voyage and gives what it read.
func sail(t *testing.T, c client) []said {
	t.Helper()
	var all []said
	ask := func() said {
		s, err := c.ask(t.Context(), quietly)
		if err != nil {
			t.Fatalf("request %d: %v", len(all)+1, err)
		}
		all = append(all, s)
		return s
	}
	c.say("What do the notes say?")
	first := ask()
	for _, each := range first.Calls {
		text := `buy milk – and "bread"`
		if each.Name == "time" {
			text = "noon <&>"
		}
		c.result(each, text)
	}
	ask()
	c.say("Once more, please.")
	for _, each := range ask().Calls {
		c.result(each, "nothing there")
	}
	ask()
	c.say("And now at length.")
	ask()
	return all
}

func quietly(string) {}

// voyageSteps is how often sail asks.
const voyageSteps = 5

// same compares, and says who read something else.
func same(t *testing.T, who string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s reads something else (-want +got):\n%s", who, diff)
	}
}

// An own is one of our adapters as a client.
type own struct {
	m model.Model
	r model.Request
}

func adapter(m model.Model) *own {
	return &own{m: m, r: model.Request{System: []string{"You are a sailor."}, Tools: modeltest.Offered(), Known: modeltest.Offered()}}
}

func (o *own) say(text string) {
	o.r.Messages = append(o.r.Messages, model.Message{Role: model.User, Text: text})
}

func (o *own) result(c call, text string) {
	o.r.Messages = append(o.r.Messages, model.Message{Role: model.Result, CallID: c.ID, Name: c.Name, Text: text})
}

func (o *own) ask(ctx context.Context, heard func(string)) (said, error) {
	var s said
	back := model.Message{Role: model.Assistant}
	for c, err := range o.m.Stream(ctx, o.r) {
		if err != nil {
			return s, err
		}
		s.Text += c.Text
		s.Thought += c.Thought
		if c.Text != "" {
			heard(c.Text)
		}
		if c.Call != nil {
			s.Calls = append(s.Calls, call{c.Call.ID, c.Call.Name, canonical(string(c.Call.Args))})
			back.Calls = append(back.Calls, *c.Call)
		}
		if c.Opaque != "" {
			back.Opaque = c.Opaque
		}
		if c.Usage != nil {
			s.Usage = counted(*c.Usage)
		}
		if c.Finish != "" {
			s.Finish = c.Finish
		}
	}
	back.Text = s.Text
	o.r.Messages = append(o.r.Messages, back)
	return s, nil
}

// kinds of errors that our adapters give, for errors of servers that the official libraries have read.
func kind(t *testing.T, err error, want jackline.Kind) {
	t.Helper()
	var e *jackline.Error
	if !errors.As(err, &e) || e.Kind != want {
		t.Errorf("our adapter gives %v, want kind %s", err, want)
	}
}

// errNoEnd is an answer that ended without a word that it has.
var errNoEnd = errors.New("the answer has no end")

// once: nothing is asked again, so that every answer of a script is seen.
var once = engine.Retry{Tries: 1}

// canned answers every request with the same response.
type canned struct {
	status int
	head   http.Header
	body   string
	broken bool // the connection breaks at the end of body
}

// RoundTrip reads the request and answers.
func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, err := io.Copy(io.Discard, r.Body)
		if err := errors.Join(err, r.Body.Close()); err != nil {
			return nil, err
		}
	}
	var body io.Reader = strings.NewReader(c.body)
	if c.broken {
		body = io.MultiReader(body, torn{})
	}
	return &http.Response{
		StatusCode: c.status, Status: http.StatusText(c.status), Header: c.head.Clone(), ContentLength: -1, Request: r,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: io.NopCloser(body),
	}, nil
}

// torn is the end of a connection that broke.
type torn struct{}

// Read fails.
func (torn) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// counted is what every library tells of u: none says whether a server told of its cache, or how long it took.
func counted(u model.Usage) model.Usage {
	u.CacheTold, u.Reading, u.Writing = false, 0, 0
	return u
}
