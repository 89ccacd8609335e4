package prompted

import (
	"context"
	"iter"
	"testing"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/script"
)

// A pair answers what is held to a form in one way, and all else in another.
type pair struct {
	fake
	knob       model.Knob
	held, free []model.Chunk
	asked      []bool // whether each request was held
}

func (p *pair) Info() model.Info { return model.Info{Name: "m", Window: 8192, Knob: p.knob} }

func (p *pair) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	p.asked = append(p.asked, r.Constraint != nil)
	f := fake{chunks: p.free}
	if r.Constraint != nil {
		f.chunks = p.held
	}
	return f.Stream(ctx, r)
}

// A retry is held to a form, once, and only where the engine can.
func TestRetry(t *testing.T) {
	end := func(n int) model.Chunk {
		return model.Chunk{Usage: &model.Usage{Prompt: n, Completion: 1}, Finish: model.Stop}
	}
	for _, test := range []struct {
		name, held, want string
		knob             model.Knob
		retry            bool
		asked            int
		prompt           int
	}{
		{"a call", `{"name": "shell", "args": {"command": "ls"}}`, `|call:shell{"command":"ls"}|end:tool_calls`, model.KnobFormat, true, 1, 10},
		{"no call is wanted", `{"final": true}`, "|text:Words.|end:stop", model.KnobFormat, true, 2, 30},
		{"the form was skipped", "Now.\n```tool\n{\"name\": \"shell\", \"args\": {\"command\": \"ls\"}}\n```", "|text:Now.\n|call:shell{\"command\":\"ls\"}|end:tool_calls", model.KnobFormat, true, 1, 10},
		{"no knob", "", "|text:Words.|end:stop", model.NoKnob, true, 1, 20},
		{"no retry", "", "|text:Words.|end:stop", model.KnobFormat, false, 1, 20},
	} {
		p := &pair{knob: test.knob, held: says(test.held, 5, end(10)), free: says("Words.", 2, end(20))}
		m := Wrap(p, Options{})
		r := model.Request{Tools: nine()[:5], Known: nine(), Retry: test.retry}
		if got := heard(t, m, r); got != test.want || len(p.asked) != test.asked {
			t.Errorf("%s: %s after %d requests, want %s after %d", test.name, got, len(p.asked), test.want, test.asked)
		}
		var usage *model.Usage
		for c, err := range m.Stream(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Usage != nil {
				usage = c.Usage
			}
		}
		if usage == nil || usage.Prompt != test.prompt {
			t.Errorf("%s: usage %+v, want %d", test.name, usage, test.prompt)
		}
	}
}

// An engine that refuses the form is asked as ever, and not held to one again.
func TestRetryRefused(t *testing.T) {
	s, err := script.Parse("t", []byte("=== *\nWords.\n"))
	if err != nil {
		t.Fatal(err)
	}
	srv := modeltest.NewServer(t, s, modeltest.Dialect{Refuses: []string{"response_format"}})
	inner, err := openai.New(openai.Options{BaseURL: srv.URL, Model: "m", Knob: model.KnobResponse, Retry: engine.Retry{Tries: 1}})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close() //nolint:errcheck // it never fails
	m := Wrap(inner, Options{})
	for range 2 {
		if got := heard(t, m, model.Request{Tools: nine(), Messages: conversation()[:1], Retry: true}); got != "|text:Words.|end:stop" {
			t.Error(got)
		}
	}
	if n := len(srv.Sent()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}
