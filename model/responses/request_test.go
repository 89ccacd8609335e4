package responses_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
	"github.com/jackline-ai/jackline/model/responses"
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
		{Role: model.User, Text: "hello"},
		{Role: model.User, Text: "[note] It is late.", Images: []model.Image{{Type: "image/png", Data: []byte("\x89PNG")}}},
		{Role: model.Assistant},
		{Role: model.Assistant, Text: "Look.\n", Calls: []model.Call{
			{ID: "call:1", Name: "file_read", Args: json.RawMessage(`{"path":"a"}`)},
			{Name: "srv.look up"},
			{ID: "call:1", Name: "no such tool!"},
			{ID: strings.Repeat("c", 70), Name: "file_read", Args: json.RawMessage(`{}`)},
		}},
		{Role: model.Result, CallID: strings.Repeat("c", 70), Name: "file_read", Text: ""},
		{Role: model.Result, CallID: "call:1", Name: "file_read", Text: "data \x01\xff"},
		{Role: model.Result, Name: "no such tool!", Text: "There is no such tool."},
		{Role: model.User, Text: "[note] Hurry."},
		{Role: model.Result, CallID: "c9", Name: "file_read", Text: "too late"},
		{Role: model.Assistant, Text: "Done."},
		{Role: model.User, Text: "Thanks."},
	}
	r.NoCalls, r.MaxTokens = true, 5
	return r
}

// What is written, byte for byte, in each way of writing it.
func TestWrite(t *testing.T) {
	for name, o := range map[string]responses.Options{"native": {Native: true, Effort: "low", Summaries: true}, "text": {}} {
		t.Run(name, func(t *testing.T) {
			m := connect(t, parse(t, anything), hosted.ResponsesRules{}, o)
			if got := play(t, m, history()); !strings.HasPrefix(got, "text \"ok\"\nfinish stop") {
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

// Whatever a conversation looks like, the server takes it, and a longer one repeats the items of a shorter one.
func TestAnyHistory(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 200 {
		r := request()
		var all []model.Message
		for range 1 + rng.IntN(12) {
			all = append(all, anyMessage(rng))
		}
		m := connect(t, parse(t, anything), hosted.ResponsesRules{}, responses.Options{Native: i%3 > 0})
		for n := 1; n <= len(all); n++ {
			// A request ends with what somebody says to the model, and when all results are there.
			if r.Messages = all[:n]; all[n-1].Role != model.User || n < len(all) && all[n].Role == model.Result {
				continue
			}
			if got := play(t, m, r); !strings.HasPrefix(got, "text") {
				t.Fatalf("%s%v\n%s", got, m.srv.Errs(), dump(r.Messages))
			}
		}
		modeltest.Grows(t, m.Sent())
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

func TestSizeCountsWhatIsSent(t *testing.T) {
	m, err := responses.New(responses.Options{BaseURL: "http://engine.test/v1", Model: "m", Native: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := m.Size(history()) - model.ImageSize; n < 300 || n > 900 { // it has one image
		t.Error(n)
	}
	if got := fmt.Sprintf("%v %+v %#v", m, m, responses.Options{Model: "m", Key: "sk-secret"}); strings.Contains(got, "secret") {
		t.Error(got)
	}
}
