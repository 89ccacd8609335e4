package responses_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
	"github.com/jackline-ai/jackline/model/responses"
	"github.com/jackline-ai/jackline/model/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sender is a model that knows what its server was sent.
type sender struct {
	*responses.Model
	srv *hosted.ResponsesServer
}

func (s sender) Sent() [][]byte { return s.srv.Sent() }

func connect(t *testing.T, s *script.Script, rules hosted.ResponsesRules, o responses.Options) sender {
	t.Helper()
	srv := hosted.NewResponses(t, s, rules)
	o.BaseURL, o.Key = srv.URL, engine.Key(rules.Key)
	if o.Model == "" {
		o.Model = "script"
	}
	if o.Retry.Tries == 0 {
		o.Retry.Tries = 1
	}
	m, err := responses.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return sender{m, srv}
}

func TestContract(t *testing.T) {
	for name, tt := range map[string]struct {
		rules hosted.ResponsesRules
		o     responses.Options
	}{
		"native": {hosted.ResponsesRules{Key: "sk-test", Phases: true}, responses.Options{Native: true, Effort: "low", Summaries: true}},
		"open":   {hosted.ResponsesRules{Open: true, Refuses: []string{"include", "reasoning"}}, responses.Options{Native: true, Effort: "high"}},
		"text":   {hosted.ResponsesRules{}, responses.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.Contract(t, func(t *testing.T, s *script.Script) model.Model { return connect(t, s, tt.rules, tt.o) })
		})
	}
}
