package prompted

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline/model"
)

// copied is a request that nothing can change any more.
func copied(r model.Request) model.Request {
	r.System, r.Messages = slices.Clone(r.System), slices.Clone(r.Messages)
	for i, m := range r.Messages {
		r.Messages[i].Images = slices.Clone(m.Images)
	}
	return r
}

// TestSharedRender renders wild conversations of several goroutines through one wrapper. Each becomes what a fresh wrapper makes of
// it, and none changes afterwards what was handed out before.
func TestSharedRender(t *testing.T) {
	shared := wrapped(fake{}, Options{})
	var wg sync.WaitGroup
	for c := range uint64(4) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(c/2, c)) // two of them begin alike
			r := model.Request{System: []string{"You are a sailor."}, Tools: nine()[:3], Known: nine()}
			var given, kept []model.Request
			for n := range 400 {
				r.Messages = slices.Clone(r.Messages)
				word := fmt.Sprint("m", n%5)
				switch k := rnd.IntN(20); {
				case k < 4:
					r.Messages = append(r.Messages, model.Message{Role: model.User, Text: word})
				case k < 5:
					r.Messages = append(r.Messages, model.Message{Role: model.User, Images: []model.Image{{Type: "image/png", Data: []byte(word)}}})
				case k < 8:
					r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Text: word})
				case k < 11:
					r.Messages = append(r.Messages, model.Message{Role: model.Assistant, Calls: []model.Call{{Name: word, Args: []byte(`{"n":1}`)}}})
				case k < 15:
					r.Messages = append(r.Messages, model.Message{Role: model.Result, Name: word, Text: word})
				case k < 16:
					r.Messages = append(r.Messages, model.Message{Role: model.Assistant}) // leaves no message
				case k < 17 && len(r.Messages) > 0:
					r.Messages = r.Messages[:rnd.IntN(len(r.Messages))]
				case k == 17 && len(r.Messages) > 0:
					r.Messages[rnd.IntN(len(r.Messages))].Text = word
				case k == 18:
					r.Tools, r.MaxTokens = nine()[:n%4], n%3
				case k == 19:
					r.Known = nine()[:n%9]
				}
				got, want := shared.writer.Write(r), wrapped(nil, Options{}).writer.Write(r)
				if !reflect.DeepEqual(copied(got), copied(want)) {
					t.Errorf("step %d:\n got %s\nwant %s", n, shown(got), shown(want))
					return
				}
				given, kept = append(given, got), append(kept, copied(got))
			}
			for n, r := range given {
				if !reflect.DeepEqual(copied(r), kept[n]) {
					t.Errorf("request %d changed after it was given:\n now %s\n was %s", n, shown(r), shown(kept[n]))
					return
				}
			}
		})
	}
	wg.Wait()
}
