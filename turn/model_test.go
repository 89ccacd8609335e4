package turn_test

import (
	"context"
	"encoding/json"
	"iter"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/turn"
)

// A shifting model is one that fails, and from then on another.
type shifting struct {
	failed bool
	info   [2]model.Info
	asked  []model.Request
	usage  model.Usage
	fails  bool
}

func (m *shifting) Info() model.Info {
	if m.failed {
		return m.info[1]
	}
	return m.info[0]
}

func (m *shifting) Size(r model.Request) int { return (&thinker{}).Size(r) }

func (m *shifting) Stream(_ context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		m.asked = append(m.asked, r)
		if m.fails && !m.failed {
			m.failed = true
			yield(model.Chunk{}, &model.Instead{Say: "One failed. Two answers."})
			return
		}
		_ = yield(model.Chunk{Text: "Done."}, nil) && yield(model.Chunk{Usage: &m.usage, Finish: model.Stop}, nil)
	}
}

// with runs one turn of a life on this model, and gives its events.
func (l *life) with(m model.Model, note string) []jackline.Event {
	l.t.Helper()
	l.open(0, "")
	l.engine.Models = func(context.Context, jackline.Session) (turn.Models, error) {
		return turn.Models{Main: m, Raw: m, Note: note}, nil
	}
	l.begin()
	ctx := context.Background()
	end, err := l.engine.Run(ctx, jackline.Local, l.id, turn.Control{})
	if err != nil || end.Status != jackline.Done || end.Answer != "Done." {
		l.t.Fatalf("%v: %+v", err, end)
	}
	events, err := l.db.Events(ctx, jackline.Local, l.session.ID, 0, 1000)
	if err != nil {
		l.t.Fatal(err)
	}
	return events
}

func newLife(t *testing.T) *life {
	l := &life{t: t, data: filepath.Join(t.TempDir(), "data"), native: true, answers: []answer{{text: "Done."}}, ran: map[jackline.CallID]int{}}
	t.Cleanup(func() { _ = l.db.Close() })
	return l
}

func of[T any](t *testing.T, events []jackline.Event, kind string) (all []T) {
	t.Helper()
	for _, ev := range events {
		if ev.Type == kind {
			var v T
			if err := json.Unmarshal(ev.Data, &v); err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
	}
	return all
}

// When another model takes the place of one that failed, the request is made anew for its window, and the log says who answers.
func TestAnotherModelAnswers(t *testing.T) {
	m := &shifting{fails: true, info: [2]model.Info{{Name: "one", Window: 32768, Native: true}, {Name: "two", Window: 4096}}}
	events := newLife(t).with(m, "")
	if start := of[jackline.TurnStart](t, events, "turn.start"); start[0].Model != "one" {
		t.Errorf("begun with %s", start[0].Model)
	}
	if n := of[jackline.Nudge](t, events, "nudge"); len(n) != 1 || n[0].Kind != "model" || n[0].Text != "One failed. Two answers." {
		t.Errorf("said: %+v", n)
	}
	if mm := of[jackline.Metrics](t, events, "metrics"); len(mm) != 1 || mm[0].Model != "two" {
		t.Errorf("metrics: %+v", mm)
	}
	if b := of[jackline.Budget](t, events, "budget"); b[0].Window != 4096 {
		t.Errorf("budget: %+v", b)
	}
	if len(m.asked) != 2 || m.asked[0].MaxTokens != 2048 || m.asked[1].MaxTokens != 1024 {
		t.Errorf("the requests: %d, %d", m.asked[0].MaxTokens, m.asked[1].MaxTokens)
	}
	// One that stood in from the beginning is on record as well.
	events = newLife(t).with(&shifting{info: [2]model.Info{{Name: "two", Window: 8192}}}, "One is not there. Two answers.")
	if n := of[jackline.Nudge](t, events, "nudge"); len(n) != 1 || n[0].Text != "One is not there. Two answers." {
		t.Errorf("said: %+v", n)
	}
	if mm := of[jackline.Metrics](t, events, "metrics"); mm[0].Model != "" {
		t.Errorf("metrics: %+v", mm)
	}
}

// A prompt that the engine cut without a word is said to be cut, with what to do about it.
func TestCutPrompts(t *testing.T) {
	m := &shifting{info: [2]model.Info{{Name: "one", Window: 8192, Native: true}}, usage: model.Usage{Prompt: 40, Completion: 2, Cut: true}}
	events := newLife(t).with(m, "")
	n := of[jackline.Nudge](t, events, "nudge")
	if len(n) != 1 || n[0].Kind != "window" || !strings.Contains(n[0].Text, "read only 40 of about") || !strings.Contains(n[0].Text, "model.window") {
		t.Errorf("said: %+v", n)
	}
}

// A mender is a model whose only call had to be repaired.
type mender struct{ shifting }

func (m *mender) Stream(_ context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	m.asked = append(m.asked, r)
	return func(yield func(model.Chunk, error) bool) {
		if len(m.asked) == 1 {
			call := &model.Call{ID: "c1", Name: "no_such_tool", Args: json.RawMessage(`{}`), Mended: true}
			_ = yield(model.Chunk{Call: call}, nil) && yield(model.Chunk{Finish: model.Calls}, nil)
			return
		}
		_ = yield(model.Chunk{Text: "Done."}, nil) && yield(model.Chunk{Finish: model.Stop}, nil)
	}
}

// How many calls of a step had to be repaired is on record.
func TestMendedCallsAreCounted(t *testing.T) {
	m := &mender{shifting{info: [2]model.Info{{Name: "one", Window: 8192, Native: true}}}}
	mm := of[jackline.Metrics](t, newLife(t).with(m, ""), "metrics")
	if len(mm) != 2 || mm[0].Mended != 1 || mm[1].Mended != 0 {
		t.Errorf("metrics: %+v", mm)
	}
}
