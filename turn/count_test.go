package turn_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/turn"
)

// A meter is a model whose engine counts so many times the tokens that were to be expected. It answers at length.
type meter struct {
	factor  float64
	window  int
	weights string
	counted []int
}

func (m *meter) Info() model.Info {
	return model.Info{Name: "m", Window: m.window, Weights: m.weights, Native: true}
}

func (m *meter) Size(r model.Request) int {
	size := model.Measure{Native: true, Schema: func(b json.RawMessage) []byte { return b }}
	return size.Head(r) + size.Messages(r.Messages...)
}

func (m *meter) Stream(_ context.Context, r model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		n := int(m.factor * (float64(m.Size(r))/contract.CharsPerToken + 6*float64(len(r.Messages)+1)))
		if len(r.Tools) > 0 { // and no summary
			m.counted = append(m.counted, n)
		}
		_ = yield(model.Chunk{Text: strings.Repeat("a word ", 60)}, nil) &&
			yield(model.Chunk{Usage: &model.Usage{Prompt: n, Completion: 120}, Finish: model.Stop}, nil)
	}
}

// Whatever an engine counts, requests come to fill its window and not more; and what was learnt is known after a restart.
func TestEnginesCountOtherwise(t *testing.T) {
	for _, factor := range []float64{0.5, 1, 2} {
		m := &meter{factor: factor, window: contract.Middle, weights: "sha256:1"}
		b := newBench(t, options{Window: m.window}, "=== 1\nunused\n")
		use := func(m *meter) {
			b.engine.Models = func(context.Context, jackline.Session) (turn.Models, error) { return turn.Models{Main: m, Raw: m}, nil }
		}
		use(m)
		words := strings.Repeat("tell me more about it ", 30)
		for range 40 {
			b.turn(t, words, nil)
		}
		budget, most := contract.Of(m.window).Budget(), 0
		for _, n := range m.counted[1:] { // the first one was a guess
			if most = max(most, n); n > budget+budget/50 {
				t.Errorf("×%v: a request of %d tokens, for a budget of %d", factor, n, budget)
			}
		}
		if most < budget*9/10 {
			t.Errorf("×%v: no request had more than %d tokens, of %d", factor, most, budget)
		}
		// Another process, which asks for the first time.
		events := len(eventsOf(t, b))
		if err := b.db.Close(); err != nil {
			t.Fatal(err)
		}
		b.open(t)
		again := &meter{factor: factor, window: m.window, weights: m.weights}
		use(again)
		b.turn(t, "hello", nil)
		for _, ev := range eventsOf(t, b)[events:] {
			if ev.Type == "compaction.start" && factor < 1 && again.counted[0] < budget/2 {
				t.Error("after a restart it makes room for nothing")
			}
		}
		if n := again.counted[0]; n > budget+budget/50 {
			t.Errorf("×%v: after a restart the first request has %d tokens, for a budget of %d", factor, n, budget)
		}
	}
}

func eventsOf(t *testing.T, b *bench) []jackline.Event {
	events, err := b.db.Events(context.Background(), jackline.Local, b.session.ID, 0, 10000)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// A file in Chinese is read in pages that fit a small window, and an attached one leaves room for the task.
func TestDenseScriptsFit(t *testing.T) {
	for _, window := range []int{contract.Small, contract.Middle} {
		b := newBench(t, options{Window: window, Mode: jackline.ModeAllowReads}, "=== 1\n--- call file_read {\"path\": \"zh.txt\"}\n=== 2\nRead.\n")
		b.write(t, "zh.txt", strings.Repeat("请阅读这份报告并告诉我它说了什么。\n", 500))
		b.attach(t, "zh.txt", "text/plain", "x", strings.Repeat("这是一个附件。", 3000))
		b.turn(t, "请阅读", nil)
		if b.last.Status != jackline.Done {
			t.Errorf("%d: %s, %s", window, b.last.Status, b.last.Reason)
		}
		for _, ev := range eventsOf(t, b) {
			if ev.Type == "compaction.start" {
				t.Errorf("%d: what was read had to be cut again", window)
			}
		}
		if sent := b.sent(t, 2); !strings.Contains(sent, "read on with from=") || strings.Contains(sent, "left out in the middle; read_result with call \"C") {
			t.Errorf("%d: the file is not read in pages:\n%s", window, sent)
		}
	}
}
