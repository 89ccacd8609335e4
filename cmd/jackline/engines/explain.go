package engines

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/detect"
)

// An Account says how the model of new chats is used, and why.
type Account struct {
	Ref    string // its whole reference
	Mode   string // why it calls tools as it does
	Window string // where its window comes from, and how to have a larger one
	Small  bool   // the window is a guess, or smaller than most work needs
	Card   string // what a probe found, or that there was none
	Poor   string // what to do where a probe is missing, is about other weights, or went badly
}

// Account explains how the model of new chats is used. Its errors are those of choosing it.
func (e *Engines) Account(ctx context.Context) (Account, error) {
	ref, err := e.chosen(ctx)
	if err != nil {
		return Account{}, err
	}
	if strings.HasPrefix(ref, scriptPrefix) {
		return Account{Ref: ref, Mode: "A transcript is played.", Window: "A transcript has the window that model.window says."}, nil
	}
	p, err := e.pick(ctx, ref)
	if err != nil {
		return Account{}, err
	}
	m, err := e.make(p)
	if err != nil {
		return Account{}, err
	}
	info, pl := m.Main.Info(), e.plan(p)
	a := Account{Ref: p.ref(), Mode: e.modeWhy(p, pl, info), Window: e.windowWhy(p, info)}
	a.Small = info.Assumed || info.Window < model.DefaultWindow
	a.Card, a.Poor = cardWhy(p)
	return a, nil
}

// cardWhy says what a probe found out about a model, and what to do about it.
func cardWhy(p pick) (card, poor string) {
	again := "Probe it: jackline models probe " + displayed(p.ref())
	switch {
	case p.kept == nil || p.kept.Verdict == nil:
		return "It was never probed, so what it can do is what its engine says. " + again, ""
	case p.stale:
		return "Its weights have changed since it was probed, so that nothing of it is used.", again
	}
	v := p.kept.Verdict
	card = "Probed on " + v.At.Format(time.DateOnly) + ". " + v.Why
	if v.Reads > 0 && v.Writes > 0 {
		card += fmt.Sprintf(" It reads %g and writes %g tokens a second.", v.Reads, v.Writes)
	}
	if p.writes() {
		card += fmt.Sprintf(" Since then %d answers had calls in their text that should have come through the engine.", p.kept.Written)
	}
	if !v.Passed {
		poor = "Another model may do better: jackline models list shows what there is."
	}
	return card, poor
}

func (e *Engines) modeWhy(p pick, pl plan, info model.Info) string {
	switch {
	case pl.mode == envelopes && info.Mode() == text:
		return "The engine refused to hold this model to a form, so calls are read from text."
	case pl.sure && e.wanted(p) == envelopes && pl.mode == text:
		return "Envelope mode is set, but there is no way to hold models to a form over this API, so calls are read from text."
	case pl.sure:
		return "model.toolMode says so, or model.each for this model."
	case pl.by == byUse:
		return "In chats it wrote its calls as text again and again, so they are read from there. jackline models probe tries it out anew."
	case pl.mode == native && info.Mode() == text:
		return "The engine refused tools of its own for this model, so calls are read from text."
	case pl.by == byProbe:
		return "A probe found that this works best: " + p.kept.Verdict.Why
	case pl.mode == native && p.card.Tools != model.Yes:
		return "Services on the network have tool calls of their own."
	case pl.mode == native:
		return "The engine says that this model calls tools."
	case p.card.Tools == model.Yes:
		return "The engine says that this model calls tools, but the calls of this family of models are known to get lost there, so they are read from text."
	case p.card.Tools == model.No:
		return "The engine says that this model has no tool calls of its own, so they are read from text."
	}
	return "Nobody says whether this model calls tools, so calls are read from text, which works with any. If you know better: --tool-mode native."
}

func (e *Engines) windowWhy(p pick, info model.Info) string {
	trained := ""
	if p.card.Trained > info.Window {
		trained = fmt.Sprintf(" The model was trained for up to %d; a larger window takes more memory.", p.card.Trained)
	}
	const raise = "set model.window or --window"
	switch {
	case p.api == detect.APIOllama:
		return "Ollama is asked for it with each request. For a larger one " + raise + "." + trained
	case info.Assumed:
		return "The engine does not say it, so it is a guess. Look up what the engine gives the model, and " + raise + " to that." + trained
	case p.card.Usable > 0 && info.Window >= p.card.Usable:
		return "It is what the engine was started with. " + larger(p.family) + trained
	}
	return "model.window says so." + trained
}

// larger says how an engine gets a larger window.
func larger(family string) string {
	switch family {
	case detect.LlamaCpp:
		return "For a larger one start it with more: llama-server -c 16384."
	case detect.LMStudio:
		return "For a larger one load the model with a larger context length in LM Studio."
	case detect.VLLM:
		return "For a larger one start it with more: --max-model-len."
	case detect.Ollama:
		return "Through this address Ollama cannot be told a window: use its own API, by an address without /v1 and --api ollama, or set OLLAMA_CONTEXT_LENGTH for it."
	}
	return "For a larger one see the engine's own documentation."
}

// Unfit says what is wrong with the models of the fallback list: a sentence for each that could not take a place now.
func (e *Engines) Unfit(ctx context.Context) []string {
	var said []string
	for _, ref := range e.o.Fallback {
		if _, _, err := e.ready(ctx, ref); err != nil {
			said = append(said, jackline.Say(err))
		}
	}
	return said
}
