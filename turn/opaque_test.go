package turn_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/turn"
)

// A signer is a model that signs its answers and keeps what it is sent.
type signer struct {
	model.Model
	sent [][]model.Message
}

func (s *signer) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	s.sent = append(s.sent, slices.Clone(r.Messages))
	return func(yield func(model.Chunk, error) bool) {
		for c, err := range s.Model.Stream(ctx, r) {
			if c.Finish != "" && !yield(model.Chunk{Opaque: fmt.Sprintf("signed %d", len(s.sent))}, nil) {
				return
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// What an engine wants back with its answer goes back with it: within the turn, in the next one, and after the history was
// read from the store again.
func TestOpaqueGoesBack(t *testing.T) {
	b := newBench(t, options{Mode: jackline.ModeAllowReads, Native: true}, "=== 1\nI look.\n--- call list_dir {}\n=== 2\nEmpty.\n=== 3\nYes.\n")
	s := &signer{Model: b.model}
	b.engine.Models = func(context.Context, jackline.Session) (turn.Models, error) {
		return turn.Models{Main: s, Raw: b.model}, nil
	}
	for _, prompt := range []string{"what is here?", "sure?"} {
		if tn, err := b.engine.Run(t.Context(), jackline.Local, b.submit(t, prompt), turn.Control{}); err != nil || tn.Status != jackline.Done {
			t.Fatalf("%v %s %s", err, tn.Status, tn.Reason)
		}
	}
	if len(s.sent) != 3 {
		t.Fatalf("%d requests", len(s.sent))
	}
	var got []string
	for _, m := range s.sent[2] {
		if m.Role == model.Assistant {
			got = append(got, m.Text+": "+m.Opaque)
		} else if m.Opaque != "" {
			t.Errorf("a message of %s has %q", m.Role, m.Opaque)
		}
	}
	if want := []string{"I look.: signed 1", "Empty.: signed 2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
