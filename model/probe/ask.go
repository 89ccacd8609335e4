package probe

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
)

// An asker asks a model in one way.
type asker struct {
	p       *prober
	way     Way
	fails   int    // of the engine, in a row
	heard   bool   // it has answered in this way
	over    string // why this way is over
	noTools bool
}

// An answer is all that a model said at once.
type answer struct {
	text    string
	calls   []model.Call
	garbled model.Garbled
	finish  model.Finish
	usage   *model.Usage
	thought bool
	read    bool          // its calls were read from its text, and should not have had to be
	first   time.Duration // until something came
	took    time.Duration
}

// ask makes one request, again where it gave way to somebody.
func (a *asker) ask(ctx context.Context, r model.Request) (answer, error) {
	if a.p.left <= 0 {
		return answer{}, jackline.E(op, jackline.Unprocessed, nil, "The probe has used all the tokens that it may use.")
	}
	for range mostGaveWay {
		got, gaveWay, err := a.request(ctx, r)
		if gaveWay {
			continue
		}
		a.spend(r, got)
		return got, err
	}
	return answer{}, jackline.E(op, jackline.Unavailable, nil, "The engine was needed by others all the time. Probe the model when nothing else runs.")
}

func (a *asker) request(ctx context.Context, r model.Request) (got answer, gaveWay bool, err error) {
	if a.p.o.Leave != nil {
		let, done, err := a.p.o.Leave(ctx)
		if err != nil {
			return answer{}, false, err
		}
		defer done()
		ctx = let
	}
	limit := answerTime
	if !a.p.heard {
		limit = firstTime
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	read := func() int { return 0 }
	if a.way.Read != nil {
		read = a.way.Read
	}
	before := read()
	got, err = collect(limited, a.way.Model, r)
	got.read = read() > before
	switch {
	case err == nil:
	case errors.Is(context.Cause(ctx), ErrGaveWay):
		return answer{}, true, nil
	case ctx.Err() == nil && limited.Err() != nil:
		err = jackline.E(op, jackline.Timeout, nil, "The model did not end an answer within %d minutes.", int(limit.Minutes()))
	}
	return got, false, err
}

// collect takes an answer down, up to a bound.
func collect(ctx context.Context, m model.Model, r model.Request) (answer, error) {
	var got answer
	var words strings.Builder
	size, began := 0, time.Now()
	for c, err := range m.Stream(ctx, r) {
		if err != nil {
			return got, err
		}
		if got.first == 0 {
			got.first = time.Since(began)
		}
		size += len(c.Text) + len(c.Thought)
		words.WriteString(c.Text)
		got.thought = got.thought || c.Thought != ""
		if c.Call != nil {
			got.calls = append(got.calls, *c.Call)
			size += len(c.Call.Args)
		}
		if c.Garbled != "" {
			got.garbled = c.Garbled
		}
		if c.Usage != nil {
			got.usage = c.Usage
		}
		if c.Finish != "" {
			got.finish = c.Finish
		}
		if size > answerBytes {
			got.finish = model.Length
			break
		}
	}
	got.text, got.took = strings.TrimSpace(words.String()), time.Since(began)
	return got, nil
}

// spend counts what a request took, by the engine's count or else by ours.
func (a *asker) spend(r model.Request, got answer) {
	n := int(float64(a.way.Model.Size(r)+contract.Weight(got.text)) / contract.CharsPerToken)
	if got.usage != nil {
		n = got.usage.Prompt + got.usage.Completion
	}
	a.p.v.Tokens += n
	a.p.tally.add(got)
	a.p.left -= max(n, 1)
	if got.thought {
		a.p.v.Thinking = model.Yes
	}
}

// sends is a request that says these things.
func sends(tools []model.Tool, messages ...model.Message) model.Request {
	return model.Request{
		System:   []string{"You are an assistant with tools. Use a tool where the task needs one. Never make up what a tool would tell you. Answer in one short sentence."},
		Messages: messages, Tools: tools, Known: tools, MaxTokens: answerTokens,
	}
}

func says(words string) model.Message { return model.Message{Role: model.User, Text: words} }
