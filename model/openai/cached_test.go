package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/openai"
)

// Engines tell in three ways what came from their caches, or not at all; what is not told stays unknown.
func TestCached(t *testing.T) {
	for tail, want := range map[string]model.Usage{
		`"usage":{"prompt_tokens":100,"completion_tokens":5}`:                                                {Prompt: 100, Completion: 5},
		`"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{}}`:                     {Prompt: 100, Completion: 5},
		`"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":0}}`:    {Prompt: 100, Completion: 5, CacheTold: true},
		`"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":92}}`:   {Prompt: 100, Completion: 5, Cached: 92, CacheTold: true},
		`"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_cache_hit_tokens":64}`:                   {Prompt: 100, Completion: 5, Cached: 64, CacheTold: true},
		`"timings":{"cache_n":80,"prompt_n":20,"predicted_n":5}`:                                             {Prompt: 100, Completion: 5, Cached: 80, CacheTold: true},
		`"timings":{"prompt_n":100,"predicted_n":5}`:                                                         {Prompt: 100, Completion: 5},
		`"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":1000}}`: {Prompt: 100, Completion: 5, Cached: 100, CacheTold: true},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}],%s}\n\ndata: [DONE]\n\n", tail)
		}))
		m, err := openai.New(openai.Options{BaseURL: srv.URL + "/v1", Model: "m"})
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
			t.Errorf("%s: %+v, want %+v", tail, got, want)
		}
		_ = m.Close()
		srv.Close()
	}
}
