package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/openai"
)

// An echo answers each request with its own body, as text.
type echo struct{ refuse func(body string) string }

func (e echo) RoundTrip(r *http.Request) (*http.Response, error) {
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if e.refuse != nil {
		if why := e.refuse(string(b)); why != "" {
			return says(400, `{"error":{"message":"`+why+`"}}`)(r)
		}
	}
	quoted, err := json.Marshal(string(b))
	if err != nil {
		return nil, err
	}
	return says(200, delta(`"content":`+string(quoted))+finish("stop"))(r)
}

// echoed is the body that r becomes.
func echoed(t *testing.T, m *openai.Model, r model.Request) string {
	var b strings.Builder
	for c, err := range m.Stream(t.Context(), r) {
		if err != nil {
			t.Error(err)
			return ""
		}
		b.WriteString(c.Text)
	}
	return b.String()
}

// wild grows, shrinks, edits and forks a conversation as no turn would.
func wild(rnd *rand.Rand, r model.Request, serial *int) model.Request {
	r.Messages, r.System = slices.Clone(r.Messages), slices.Clone(r.System)
	for range 1 + rnd.IntN(4) {
		*serial++
		n := *serial
		word := fmt.Sprintf("m%d \"é\n", n%7) // few words, so that forks meet again
		switch k := rnd.IntN(24); {
		case k < 5:
			r.Messages = append(r.Messages, model.Message{Role: model.User, Text: word})
		case k < 9:
			r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: word})
		case k < 13:
			msg := model.Message{Role: model.Assistant, Text: word}
			for i := range 1 + n%3 {
				msg.Calls = append(msg.Calls, model.Call{ID: strings.Repeat("i", n%3) + fmt.Sprint(i)[:n%2], Name: "file_read", Args: json.RawMessage(`{"n":` + fmt.Sprint(n%5) + `}`)})
			}
			r.Messages = append(r.Messages, msg)
		case k < 18:
			r.Messages = append(r.Messages, model.Message{Role: model.Result, CallID: strings.Repeat("i", n%3), Name: "file_read", Text: word})
		case k < 20 && len(r.Messages) > 0:
			r.Messages = r.Messages[:rnd.IntN(len(r.Messages))]
		case k == 20 && len(r.Messages) > 0:
			r.Messages[rnd.IntN(len(r.Messages))].Text = word
		case k == 21:
			r.NoCalls, r.MaxTokens = !r.NoCalls, n%3*100
		case k == 22:
			r.System = [][]string{nil, {"one"}, {"one", "two"}, {""}}[n%4]
		case k == 23:
			r.Tools = [][]model.Tool{nil, request().Tools, {{Name: "b", Summary: "B.", Schema: json.RawMessage(`{"type": "object"}`)}}}[n%3]
		}
	}
	return r
}

// TestSharedBody runs several conversations over one model at once, each as wild as can be, and forks them: what is written is
// what a model writes that has written nothing before, whatever was learned on the way, and so is its size.
func TestSharedBody(t *testing.T) {
	picky := map[string]func(string) string{
		"takes all": nil,
		"must alternate": func(b string) string {
			if twice(b) {
				return "roles must alternate"
			}
			return ""
		},
		"no system": func(b string) string {
			if strings.Contains(b, `"role":"system"`) {
				return "system role not supported"
			}
			return ""
		},
		"neither": func(b string) string {
			switch {
			case strings.Contains(b, `"role":"system"`):
				return "system role not supported"
			case twice(b):
				return "roles must alternate"
			case strings.Contains(b, "stream_options"):
				return "stream_options is unknown"
			}
			return ""
		},
	}
	for name, refuse := range picky {
		for _, native := range []bool{true, false} {
			t.Run(fmt.Sprint(name, native), func(t *testing.T) {
				t.Parallel()
				fresh := func() *openai.Model {
					m, err := openai.New(openai.Options{BaseURL: "http://engine.test/v1", Model: "m", Native: native, Transport: echo{refuse}, Retry: once})
					if err != nil {
						t.Fatal(err)
					}
					return m
				}
				shared := fresh()
				// What can be learned is learned first: a fresh model learns it with its first request, if that is refused.
				teach := model.Request{System: []string{"s"}, Messages: []model.Message{{Role: model.User, Text: "a"}, {Role: model.User, Text: "b"}}}
				echoed(t, shared, teach)
				var wg sync.WaitGroup
				for c := range uint64(4) {
					wg.Go(func() {
						rnd, serial := rand.New(rand.NewPCG(c/2, c)), 0 // two of them begin alike
						r := request()
						for range 60 {
							r = wild(rnd, r, &serial)
							m := fresh()
							echoed(t, m, teach)
							want, size := echoed(t, m, r), m.Size(r)
							if rnd.IntN(3) == 0 {
								if got := shared.Size(r); got != size {
									t.Errorf("size %d, want %d", got, size)
								}
							}
							if got := echoed(t, shared, r); got != want {
								t.Errorf("\n got %s\nwant %s", got, want)
								return
							}
							if got := shared.Size(r); got != size {
								t.Errorf("size %d, want %d", got, size)
								return
							}
							if !json.Valid([]byte(want)) {
								t.Errorf("no JSON: %s", want)
								return
							}
						}
					})
				}
				wg.Wait()
			})
		}
	}
}

// twice reports whether two user messages follow each other.
func twice(body string) bool {
	var q struct{ Messages []struct{ Role string } }
	if json.Unmarshal([]byte(body), &q) != nil {
		return false
	}
	for i := 1; i < len(q.Messages); i++ {
		if q.Messages[i].Role == "user" && q.Messages[i-1].Role == "user" {
			return true
		}
	}
	return false
}
