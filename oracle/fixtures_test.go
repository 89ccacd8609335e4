package oracle_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	anthropicopt "github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/google/go-cmp/cmp"
	"github.com/ollama/ollama/api"
	"github.com/openai/openai-go/v3/option"
	"golang.org/x/tools/txtar"

	"github.com/jackline-ai/jackline/model/anthropic"
	"github.com/jackline-ai/jackline/model/ollama"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/responses"
)

// tolerated are the streams in the testdata of the adapters that our adapter reads in another way than the library, on
// purpose: the reason says what the library does, and what we do. A stream that is listed and read alike fails, so that the
// list stays true.
var tolerated = map[string]string{
	"chat/vllm/2": "the library merges the calls of one index; we begin another one where another ID comes",

	"messages/broken_arguments": "the library makes {} of arguments that are no JSON; we read what can be, and say that it was cut off",
	"messages/broken_and_good":  "the same, and the call beside it runs",
	"messages/cut_call":         "the same of arguments that were cut off",
	"messages/half":             "the library drops a last event without its blank line; we keep what it said, and say that the connection broke",
	"messages/look_alike":       "the library skips events without a name; we read their type",
	"messages/open_blocks":      "an ID that is there twice cannot be answered; the library keeps it, we drop the second",
	"messages/refusal":          "the library has a reason for the end; the loop must hear that the provider stopped the answer, as an error",
	"messages/refusal_at_once":  "the same",
	"messages/unknown":          "the library ends at a delta for a block that was never opened; we read its text",
	"messages/wrong_types":      "the library ends at fields of another type; we skip such an event",

	"responses/broken_arguments": "the library gives the call as it was written; we read what can be, and say that it was cut off",
	"responses/cut_call":         "the library has no call that is not done; we give it, and say that it was cut off",
	"responses/done_only":        "the call is done twice, once whole and once again; we give it once",
	"responses/filtered":         "the library has a reason for the end; where nothing was said, the loop must hear why, as an error",
	"responses/no_places":        "the library reads data lines without a blank line between them as one event; we read each",
	"responses/other_json":       "the library finds a response in any JSON object; we say that this is none",
	"responses/wrong_types":      "the library ends at events of another type; we skip them",

	"ollama/blanks":        "the library ends at a blank line; we skip it",
	"ollama/cut":           "the library has no word for a prompt that was cut; we see it by the count",
	"ollama/loaded":        "the reason for the end is that the model was loaded; to the loop nothing was said, and that is all",
	"ollama/no-name":       "the library gives a call without a name; we say that it cannot be read",
	"ollama/odd-calls":     "the library ends at arguments that are a string, or null, or at content that is a list; we read what there is",
	"ollama/old":           "old servers give no reason for the end, and the library none either; we go by what came",
	"ollama/spoiled":       "to the library a call that Ollama could not read is a failed answer; we let the model try again",
	"ollama/spoiled-0.11":  "the same, which the library does not even see as an error",
	"ollama/spoiled-after": "the same, and the call before it counts",
	"ollama/unloaded":      "to the library the answer is whole; a model that was unloaded in the middle has not answered",
}

// A reading is what somebody makes of a stream.
type reading struct {
	Said   said
	Failed bool
}

// read has c ask, and leaves of an answer that failed only its text: the rest is not given on in halves.
func read(t *testing.T, c client) reading {
	t.Helper()
	c.say("hello")
	s, err := c.ask(t.Context(), quietly)
	if err != nil {
		t.Logf("%T: %v", c, err)
		return reading{said{Text: s.Text}, true}
	}
	return reading{s, false}
}

// compare checks one stream.
func compare(t *testing.T, name string, theirs, mine reading) {
	t.Helper()
	diff := cmp.Diff(theirs, mine)
	switch why, listed := tolerated[name]; {
	case listed && diff == "":
		t.Errorf("%s is read alike, and listed as if it were not: %s", name, why)
	case !listed && diff != "":
		t.Errorf("%s is read in another way (-library +ours):\n%s", name, diff)
	}
}

// play is a response with this body, of the type that it looks like.
func play(body string) canned {
	kind := "text/event-stream"
	switch {
	case strings.HasPrefix(body, "{"):
		kind = "application/json"
	case strings.HasPrefix(body, "<"):
		kind = "text/html"
	}
	return canned{status: http.StatusOK, head: http.Header{"Content-Type": {kind}}, body: body}
}

// streams reads the streams of an adapter.
func streams(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal("no streams: ", pattern, err)
	}
	all := map[string]string{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
		if filepath.Ext(file) == ".txtar" {
			all[name] = strings.ReplaceAll(string(txtar.Parse(text).Files[0].Data), `\r`+"\n", "\r\n")
		}
	}
	return all
}

func TestMessagesStreams(t *testing.T) {
	for name, body := range streams(t, "../model/anthropic/testdata/*.txtar") {
		t.Run(name, func(t *testing.T) {
			answer := play(body)
			api := anthropicClient("http://engine.test", "", anthropicopt.WithHTTPClient(&http.Client{Transport: answer}))
			m, err := anthropic.New(anthropic.Options{BaseURL: "http://engine.test", Model: "m", Native: true, Retry: once, Transport: answer})
			if err != nil {
				t.Fatal(err)
			}
			theirs := newMessages(t, api, "m", !strings.HasPrefix(body, "{"))
			theirs.strict = false
			compare(t, "messages/"+name, read(t, theirs), read(t, adapter(m)))
		})
	}
}

func TestResponsesStreams(t *testing.T) {
	for name, body := range streams(t, "../model/responses/testdata/*.txtar") {
		t.Run(name, func(t *testing.T) {
			answer := play(body)
			api := openaiClient("http://engine.test/v1", "", option.WithHTTPClient(&http.Client{Transport: answer}))
			m, err := responses.New(responses.Options{BaseURL: "http://engine.test/v1", Model: "m", Native: true, Retry: once, Transport: answer})
			if err != nil {
				t.Fatal(err)
			}
			theirs := newResponse(t, api, "m", !strings.HasPrefix(body, "{"))
			theirs.strict = false
			compare(t, "responses/"+name, read(t, theirs), read(t, adapter(m)))
		})
	}
}

func TestOllamaStreams(t *testing.T) {
	for name, body := range streams(t, "../model/ollama/testdata/streams/*.ndjson") {
		t.Run(name, func(t *testing.T) {
			answer := play(body)
			theirs := newLocal(t, "http://engine.test", "qwen3:4b", true)
			theirs.strict = false
			theirs.api = api.NewClient(parseURL(t, "http://engine.test"), &http.Client{Transport: answer})
			m, err := ollama.New(ollama.Options{BaseURL: "http://engine.test", Model: "qwen3:4b", Native: true, Retry: once, Transport: answer})
			if err != nil {
				t.Fatal(err)
			}
			mine := read(t, adapter(m))
			mine.Said = asOllama([]said{mine.Said})[0]
			compare(t, "ollama/"+name, read(t, theirs), mine)
		})
	}
}

// A recorded exchange of a tape, as far as it matters here. The format is described at modeltest.Tape.
type recorded struct {
	get, stream bool
	answer      canned
}

// tape reads the tape at path.
func tape(t *testing.T, path string) []recorded {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []recorded
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		x := recorded{answer: canned{head: http.Header{}}}
		for line := range strings.SplitSeq(part, "\n") {
			mark, rest, _ := strings.Cut(line, " ")
			switch {
			case mark == ">" && strings.HasPrefix(rest, "GET "):
				x.get = true
			case mark == ">" && strings.HasPrefix(rest, "{"):
				x.stream = strings.Contains(rest, `"stream":true`)
			case mark == "<" && x.answer.status == 0:
				if x.answer.status, err = strconv.Atoi(rest); err != nil {
					t.Fatal(path, err)
				}
			case mark == "<":
				name, value, _ := strings.Cut(rest, ": ")
				x.answer.head.Set(name, value)
			case mark == "|":
				x.answer.body += rest + "\n"
			case mark == `\`:
				x.answer.body += rest
			case mark == `"`:
				s, err := strconv.Unquote(rest)
				if err != nil {
					t.Fatal(path, err)
				}
				x.answer.body += s
			case mark == "!":
				x.answer.broken = true
			}
		}
		all = append(all, x)
	}
	return all
}

func TestChatTapes(t *testing.T) {
	for family, d := range dialects() {
		if family == "plain" {
			continue
		}
		for i, x := range tape(t, "../model/openai/testdata/"+family+".http") {
			n := strconv.Itoa(i + 1)
			t.Run(family+"/"+n, func(t *testing.T) {
				api := openaiClient("http://engine.test/v1", "", option.WithHTTPClient(&http.Client{Transport: x.answer}))
				m, err := openai.New(openai.Options{BaseURL: "http://engine.test/v1", Model: named(d), Native: true, Retry: once, Transport: x.answer})
				if err != nil {
					t.Fatal(err)
				}
				if !x.get {
					compare(t, "chat/"+family+"/"+n, read(t, newChat(t, api, named(d), x.stream)), read(t, adapter(m)))
					return
				}
				page, err := api.Models.List(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				var got []string
				for _, one := range page.Data {
					got = append(got, one.ID)
				}
				own, err := m.List(t.Context())
				if err != nil || len(own) == 0 {
					t.Fatal(own, err)
				}
				same(t, "OpenAI's library", got, own)
			})
		}
	}
}
