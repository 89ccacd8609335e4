package anthropic_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/anthropic"
	"github.com/jackline-ai/jackline/model/engine"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/modeltest/hosted"
	"github.com/jackline-ai/jackline/model/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sender is a model that knows what its server was sent.
type sender struct {
	*anthropic.Model
	srv *hosted.MessagesServer
}

// Sent leaves out the marks for the cache: they move from request to request.
func (s sender) Sent() [][]byte { return hosted.Unmarked(s.srv.Sent()) }

func connect(t *testing.T, s *script.Script, rules hosted.MessagesRules, o anthropic.Options) sender {
	t.Helper()
	srv := hosted.NewMessages(t, s, rules)
	o.BaseURL, o.Model, o.Key = srv.URL, "script", engine.Key(rules.Key)
	if o.Retry.Tries == 0 {
		o.Retry.Tries = 1
	}
	m, err := anthropic.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return sender{m, srv}
}

func TestContract(t *testing.T) {
	for name, tt := range map[string]struct {
		rules hosted.MessagesRules
		o     anthropic.Options
	}{
		"native":   {hosted.MessagesRules{Key: "sk-ant-test"}, anthropic.Options{Native: true}},
		"text":     {hosted.MessagesRules{}, anthropic.Options{}},
		"adaptive": {hosted.MessagesRules{Bound: true}, anthropic.Options{Native: true, Think: model.Yes, Effort: "low"}},
		"budget":   {hosted.MessagesRules{Bound: true, Refuses: []string{"adaptive"}}, anthropic.Options{Native: true, Think: model.Yes, Budget: 2000}},
		"always": {hosted.MessagesRules{Refuses: []string{"disabled", "enabled"}, MaxOut: 4096},
			anthropic.Options{Native: true, Think: model.No}},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.Contract(t, func(t *testing.T, s *script.Script) model.Model { return connect(t, s, tt.rules, tt.o) })
		})
	}
}
