package anthropic_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/anthropic"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
	"github.com/jackline-ai/jackline/model/script"
)

func parse(t testing.TB, text string) *script.Script {
	t.Helper()
	s, err := script.Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// anything answers every request.
const anything = "=== *\nok\n"

// history is a conversation with all that the API has rules about.
func history() model.Request {
	r := request()
	r.Tools = append(r.Tools, model.Tool{Name: "srv.look up", Summary: "Look.", Schema: json.RawMessage(`{"anyOf":[{"type":"object"}]}`)})
	r.Messages = []model.Message{
		{Role: model.Assistant, Text: "Ahoy."},
		{Role: model.User, Text: "hello"},
		{Role: model.User, Text: " \n"},
		{Role: model.User, Text: "[note] It is late.", Images: []model.Image{{Type: "image/png", Data: []byte("\x89PNG")}}},
		{Role: model.Assistant},
		{Role: model.User, Text: "Well?"},
		{Role: model.Assistant, Text: "Look.\n", Calls: []model.Call{
			{ID: "call:1", Name: "file_read", Args: json.RawMessage(`{"path":"a"}`)},
			{Name: "srv.look up"},
			{ID: "call:1", Name: "no such tool!"},
			{ID: "c4", Name: "file_read", Args: json.RawMessage(`{}`)},
		}},
		{Role: model.Result, CallID: "c4", Name: "file_read", Text: ""},
		{Role: model.Result, CallID: "call:1", Name: "file_read", Text: "data \x01\xff"},
		{Role: model.Result, Name: "no such tool!", Text: "There is no such tool."},
		{Role: model.User, Text: "[note] Hurry."},
		{Role: model.Result, CallID: "c9", Name: "file_read", Text: "too late"},
		{Role: model.Assistant, Text: "Done."},
		{Role: model.Assistant, Text: " Really."},
		{Role: model.User, Text: "Thanks."},
	}
	r.NoCalls, r.MaxTokens = true, 500
	return r
}

// What is written, byte for byte, in each way of writing it.
func TestWrite(t *testing.T) {
	for name, o := range map[string]anthropic.Options{
		"native": {Native: true, Think: model.Yes, Effort: "high"}, "text": {Think: model.No}, "budget": {Native: true, Think: model.Yes, Budget: 100},
	} {
		t.Run(name, func(t *testing.T) {
			m := connect(t, parse(t, anything), hosted.MessagesRules{}, o)
			if got := play(t, m, history()); got != "text \"ok\"\nfinish stop {\"prompt\":"+after(got, `"prompt":`) {
				t.Fatal(got, m.srv.Errs())
			}
			var b bytes.Buffer
			if err := json.Indent(&b, m.srv.Sent()[0], "", " "); err != nil {
				t.Fatal(err)
			}
			b.WriteByte('\n')
			path := "testdata/request-" + name + ".json"
			if *update {
				if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(b.Bytes(), want) {
				t.Errorf("%s is not what is sent:\n%s", path, b.Bytes())
			}
		})
	}
}

func after(s, mark string) string {
	_, rest, _ := strings.Cut(s, mark)
	return rest
}

// Whatever a conversation looks like, the server takes it, and a longer one repeats the blocks of a shorter one.
func TestAnyHistory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 300 {
		r := request()
		r.Messages = nil
		for range 1 + rng.IntN(12) {
			r.Messages = append(r.Messages, anyMessage(rng))
		}
		o := anthropic.Options{Native: i%3 > 0, Think: []model.Known{model.Unknown, model.No, model.Yes}[rng.IntN(3)], Budget: rng.IntN(2) * 3000}
		m := connect(t, parse(t, anything), hosted.MessagesRules{}, o)
		all := r.Messages
		last := ""
		for n := 1; n <= len(all); n++ {
			// A request ends with what somebody says to the model, and when all results are there.
			if r.Messages = all[:n]; all[n-1].Role != model.User || strings.TrimSpace(all[n-1].Text) == "" || n < len(all) && all[n].Role == model.Result {
				continue
			}
			if got := play(t, m, r); !strings.HasPrefix(got, "text") {
				t.Fatalf("%s%v\n%s", got, m.srv.Errs(), dump(r.Messages))
			}
			sent := m.Sent()
			body := strings.TrimSuffix(string(sent[len(sent)-1][:bytes.Index(sent[len(sent)-1], []byte(`,"max_tokens":`))]), "]}]")
			if !strings.HasPrefix(body, last) {
				t.Fatalf("a longer request does not repeat a shorter one:\n%s\n%s", last, body)
			}
			last = body
		}
	}
}

func anyMessage(rng *rand.Rand) model.Message {
	text := []string{"", " ", "a", "b\n\n", "ü"}[rng.IntN(5)]
	switch rng.IntN(4) {
	case 0:
		return model.Message{Role: model.User, Text: text}
	case 1:
		return model.Message{Role: model.Result, CallID: []string{"", "a", "b"}[rng.IntN(3)], Name: "file_read", Text: text}
	}
	m := model.Message{Role: model.Assistant, Text: text}
	for range rng.IntN(3) {
		m.Calls = append(m.Calls, model.Call{ID: []string{"", "a", "b", "ü!"}[rng.IntN(4)], Name: []string{"file_read", "", "x y"}[rng.IntN(3)]})
	}
	return m
}

func dump(messages []model.Message) string {
	var b strings.Builder
	for _, m := range messages {
		fmt.Fprintf(&b, "%s %q %v\n", m.Role, m.Text, m.Calls)
	}
	return b.String()
}

// Four marks, and no more, and the next request finds what the one before it left, however many calls a step has.
func TestCache(t *testing.T) {
	m := connect(t, parse(t, anything), hosted.MessagesRules{}, anthropic.Options{Native: true})
	r := request()
	r.System = []string{strings.Repeat("You are a sailor. ", 100), strings.Repeat("Facts. ", 100)}
	for step := range 6 {
		play(t, m, r)
		body := m.srv.Sent()[step]
		if n := bytes.Count(body, []byte(hosted.CacheMark)); n > 4 || n < 3 {
			t.Errorf("step %d has %d marks", step, n)
		}
		u := m.srv.Counts()[step]
		if step > 0 {
			was := m.srv.Counts()[step-1].Prompt
			t.Logf("step %d: %d of %d tokens are cached, the request before had %d", step, u.Cached, u.Prompt, was)
			if u.Cached != was {
				t.Errorf("step %d finds %d tokens in the cache, of %d that are there", step, u.Cached, was)
			}
		}
		answer := model.Message{Role: model.Assistant, Text: "Look."}
		results := []model.Message{}
		for i := range 30 {
			id := fmt.Sprintf("s%dc%d", step, i)
			answer.Calls = append(answer.Calls, model.Call{ID: id, Name: "file_read", Args: json.RawMessage(`{"path":"a"}`)})
			results = append(results, model.Message{Role: model.Result, CallID: id, Name: "file_read", Text: "text"})
		}
		r.Messages = append(append(r.Messages, answer), results...)
	}

	// Another chat with the same persona and tools begins with what this one left.
	r = request()
	r.System = []string{strings.Repeat("You are a sailor. ", 100), "Other facts."}
	play(t, m, r)
	if u := m.srv.Counts()[6]; u.Cached < 400 {
		t.Errorf("%+v", u)
	}
}

func TestSizeCountsWhatIsSent(t *testing.T) {
	m, err := anthropic.New(anthropic.Options{Model: "m", Native: true})
	if err != nil {
		t.Fatal(err)
	}
	r := history()
	if n := m.Size(r) - model.ImageSize; n < 300 || n > 900 { // it has one image
		t.Error(n)
	}
	if got := fmt.Sprintf("%v %+v %#v", m, m, anthropic.Options{Model: "m", Key: "sk-ant-secret"}); strings.Contains(got, "secret") {
		t.Error(got)
	}
}
