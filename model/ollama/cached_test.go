package ollama_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/ollama"
)

// Versions before 0.34 do not tell what came from the cache; that stays unknown, and is no zero.
func TestCached(t *testing.T) {
	for told, want := range map[string]model.Usage{
		``:                                 {Prompt: 100, Completion: 5},
		`,"prompt_eval_cached_count":0`:    {Prompt: 100, Completion: 5, CacheTold: true},
		`,"prompt_eval_cached_count":92`:   {Prompt: 100, Completion: 5, Cached: 92, CacheTold: true},
		`,"prompt_eval_cached_count":9200`: {Prompt: 100, Completion: 5, Cached: 100, CacheTold: true},
		`,"prompt_eval_cached_count":-1`:   {Prompt: 100, Completion: 5, CacheTold: true},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			fmt.Fprintf(w, `{"model":"m","message":{"role":"assistant","content":"Hi."},"done":true,"done_reason":"stop","prompt_eval_count":100,"eval_count":5%s}`+"\n", told)
		}))
		m, err := ollama.New(ollama.Options{BaseURL: srv.URL, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		var got model.Usage
		for c, err := range m.Stream(t.Context(), modeltest.Ask("hello")) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Usage != nil {
				got = *c.Usage
			}
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", told, got, want)
		}
		srv.Close()
	}
}
