// Package probe tries a model out: does it call tools, and in which of the ways that there are, does it fill in their arguments,
// wait for their results, and stop? What comes of it is a [model.Verdict], from which a card is filled.
//
// # Checks
//
// A check is a question or two with an answer that code can judge, see [checks]. The tools in it exist for it alone: their
// names begin with probe_, nothing runs them, and what they would bring is written here. A model is asked in each of its ways
// of calling tools, best first, until one has full marks. Then its speed is measured, by the engine's own clock where it shows it.
//
// # Limits
//
// A probe is bounded in requests, tokens and time, whatever model and engine do. A failure of the engine is a failed check; an
// engine that answers nothing at all, or that refuses whoever asks, ends the probe with an error that says so.
package probe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

const op = "probe"

// The ways of calling tools, by the names that settings have for them.
const (
	native   = model.ModeNative
	envelope = model.ModeEnvelope
	text     = model.ModeText
)

// Modes are the ways that [Run] knows, in the order in which they are tried: the first needs the fewest tokens, and the last
// works with any engine.
func Modes() []string { return []string{native, envelope, text} }

const (
	// MaxTimes bounds how often a check is made: five times tell three in four from nine in ten, and take as long as anybody waits.
	MaxTimes = 5

	// wholeTime bounds a probe: on a machine that writes three tokens a second one is through in a quarter of an hour.
	wholeTime = 45 * time.Minute
	// firstTime is how long the first answer may take, for the engine loads the model first, and answerTime any other.
	firstTime  = 15 * time.Minute
	answerTime = 5 * time.Minute

	// answerTokens bounds one answer. A call takes fifty tokens; a model that reasons first needs hundreds.
	answerTokens = 1024
	// answerBytes ends an answer from an engine that does not know a bound on tokens.
	answerBytes = 32 << 10
	// timesTokens bounds the tokens of a probe for each time that checks are made: twice of what two ways take with all that
	// a model may write.
	timesTokens = 80_000

	// mostGaveWay is how often a request is made anew because somebody else needed the engine.
	mostGaveWay = 100
	// inARow is how many failures of the engine one after another end a way: nothing more is to be learnt from it.
	inARow = 2
)

// A Way is one way of asking the model.
type Way struct {
	Mode  string
	Model model.Model // nil where it cannot be asked so
	Why   string      // why not

	// Raw is the model without tools, where its engine can hold it to a form; nil is none. It is asked for a form once.
	Raw model.Model

	// Read counts the answers whose calls had to be read from their text although the engine has calls of its own; nil is that
	// nobody counts.
	Read func() int
}

// Options say what is tried. Only Ways is needed.
type Options struct {
	Ways  []Way // by mode in the order of [Modes]
	Times int   // how often each check is made; 0 is once

	// Leave asks for leave before each request, and done is called after it. The request is made in the context that it gives:
	// where that ends with the cause [ErrGaveWay], the request is made again later. nil is leave at all times.
	Leave func(context.Context) (_ context.Context, done func(), err error)

	// Progress hears what is being tried; nil is nobody.
	Progress func(doing string, done, total int)
}

// ErrGaveWay is the cause with which a context of Leave ends when somebody else needs the engine.
var ErrGaveWay = errors.New("it gave way to somebody else")

// A prober is one probe under way.
type prober struct {
	o     Options
	v     model.Verdict
	done  int
	total int

	heard  bool // the engine has answered something
	failed error
	left   int // tokens that may yet be used
	tally  tally
}

// Run tries the model out. Its error is that of ctx as it is, or says why nothing could be found out: then the verdict is worth
// nothing.
func Run(ctx context.Context, o Options) (model.Verdict, error) {
	o.Times = min(max(o.Times, 1), MaxTimes)
	began := time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, wholeTime, errTooLong)
	defer cancel()
	p := &prober{o: o, left: timesTokens * o.Times}
	p.v.At, p.v.Times = began.UTC().Truncate(time.Second), o.Times
	for _, w := range o.Ways {
		if w.Model != nil {
			p.total += len(checks())
		}
	}
	for i, w := range o.Ways {
		way, err := p.way(ctx, w)
		if err != nil {
			return model.Verdict{}, ended(ctx, err)
		}
		p.v.Ways = append(p.v.Ways, way)
		if way.Score >= full {
			for _, rest := range o.Ways[i+1:] {
				p.v.Ways = append(p.v.Ways, model.Way{Mode: rest.Mode, Grades: []model.Grade{}, Why: "Not tried: " + w.Mode + " has full marks already."})
			}
			break
		}
	}
	if !p.heard {
		return model.Verdict{}, p.nothing()
	}
	best := p.choose()
	if best != nil {
		for _, measure := range []func(context.Context, *Way) error{p.form, p.speed} {
			if err := measure(ctx, best); err != nil {
				return model.Verdict{}, ended(ctx, err)
			}
		}
		p.budgets(best)
	}
	p.v.Millis = time.Since(began).Milliseconds()
	return p.v, nil
}

var errTooLong = errors.New("over the time of a probe")

// ended is the error of a probe that something ended.
func ended(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errTooLong) {
		return jackline.E(op, jackline.Timeout, errTooLong, "The probe took longer than %d minutes and was ended. The model is too slow on this machine, or the engine is busy with others.", int(wholeTime.Minutes()))
	}
	return err
}

// nothing is the error of a probe in which nothing was heard.
func (p *prober) nothing() error {
	if p.failed != nil {
		return p.failed
	}
	return jackline.E(op, jackline.Unprocessed, nil, "There is no way of calling tools in which this model can be probed.")
}

// way makes all checks in one way.
func (p *prober) way(ctx context.Context, w Way) (model.Way, error) {
	out := model.Way{Mode: w.Mode, Grades: []model.Grade{}, Why: w.Why}
	if w.Model == nil {
		return out, nil
	}
	a := &asker{p: p, way: w}
	points, weights, silent := 0.0, 0.0, true
	for i, c := range checks() {
		p.tell(w.Mode + ": " + c.title)
		g := model.Grade{Check: c.id, Title: c.title, Verdict: model.Skipped}
		switch {
		case w.Mode == envelope && c.id == parallel:
			g.Why, c.weight = "Not made: in this way a step has one call.", 0
		case out.Why != "":
			g.Why = "Not made."
		case i >= basics && silent:
			g.Why = "Not made: the model makes no calls in this way."
		default:
			var err error
			if g, err = a.grade(ctx, c); err != nil {
				return out, err
			}
			out.Why = a.over
		}
		if i < basics && g.Share > 0 && c.calls {
			silent = false
		}
		out.Grades = append(out.Grades, g)
		points, weights = points+c.weight*g.Share, weights+c.weight
		p.done++
	}
	out.Score = float64(int(points/weights*1000+0.5)) / 1000
	out.Fit = fit(out)
	if w.Mode == native {
		switch share := shareOf(out, forced); {
		case a.noTools:
			p.v.Tools = model.No
		case share >= half:
			p.v.Tools = model.Yes
		case a.heard:
			p.v.Tools = model.No
		}
	}
	return out, nil
}

// grade makes one check as often as it is to be made.
func (a *asker) grade(ctx context.Context, c check) (model.Grade, error) {
	g := model.Grade{Check: c.id, Title: c.title}
	began, tokens := time.Now(), a.p.v.Tokens
	sum, worst, times := 0.0, 2.0, 0
	for times < a.p.o.Times && a.over == "" {
		times++
		mark, why, err := a.once(ctx, c)
		if err != nil {
			return g, err
		}
		sum += mark
		if mark < worst {
			worst, g.Why = mark, why
		}
	}
	g.Share = sum / float64(times)
	switch {
	case g.Share >= passes:
		g.Verdict = model.Pass
	case g.Share >= half:
		g.Verdict = model.Partial
	default:
		g.Verdict = model.Fail
	}
	if times > 1 {
		g.Why = fmt.Sprintf("%.4g of %d times. %s", sum, times, g.Why)
	}
	g.Tokens, g.Millis = a.p.v.Tokens-tokens, time.Since(began).Milliseconds()
	return g, nil
}

// once makes one check once. What the engine fails to do is a mark of 0, unless it can only go on failing.
func (a *asker) once(ctx context.Context, c check) (mark float64, why string, err error) {
	mark, why, err = c.run(ctx, a)
	switch {
	case err == nil:
		a.fails, a.heard, a.p.heard = 0, true, true
		return mark, why, nil
	case ctx.Err() != nil:
		return 0, "", err
	}
	why = jackline.Say(err)
	switch kind := jackline.KindOf(err); {
	case engine.NoTools(err):
		a.noTools, a.over = true, "The engine says that this model takes no tools of its own."
		a.p.failed = err
		return 0, a.over, nil
	case kind == jackline.Forbidden, kind == jackline.NoModel, kind == jackline.Timeout && !a.p.heard:
		return 0, "", err
	}
	a.p.failed = err
	if a.fails++; a.fails >= inARow {
		a.over = "Given up: " + why
	}
	return 0, why, nil
}

func (p *prober) tell(doing string) {
	if p.o.Progress != nil {
		p.o.Progress(doing, p.done, p.total)
	}
}
