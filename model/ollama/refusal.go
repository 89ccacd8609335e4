package ollama

import (
	"net/http"
	"strings"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// refused says what a refusal of a chat means.
func (x *exchange) refused(r engine.Refusal) *engine.Trouble {
	m := x.m
	r.Tools, r.Held = m.info.Native && len(x.r.Tools) > 0, x.r.Constraint != nil
	if isSpoiled(r.Body) {
		x.answer.garbled = true
		return x.finished(model.Stop)
	}
	p := engine.ReadProblem(r.Body)
	if t := m.client.Meant(opStream, r, p); t != nil {
		return t
	}
	// What is learned has an end, because each time it is something new.
	if q := m.quirkOf(p); q&^x.sent != 0 && p.Status(r) < http.StatusInternalServerError {
		m.learned.Or(uint32(q))
		t := m.client.NotTaken(opStream, r, p)
		t.Again = engine.AtOnce
		return t
	}
	return m.client.Failing(opStream, r, p)
}

// quirkOf is the part of the request that the model or the engine does not take, or 0.
func (m *Model) quirkOf(p engine.Problem) quirks {
	switch {
	case p.Says("does not support thinking", "thinking is not supported"):
		return noThinking
	case p.Says("think value*not supported", "invalid think value", "think must be a boolean", ".think of type"):
		return noLevels
	case p.Says("unknown field*truncate", "unknown field*shift", "unexpected*truncate", "unexpected*shift", "not permitted*truncate"):
		return noGuards
	}
	return 0
}

// ours says what a refusal means that is in Ollama's own words; nil is another one.
func ours(c *engine.Client, op string, r engine.Refusal, p engine.Problem) *engine.Trouble {
	name, at := c.Model(), c.Address()
	say := func(k jackline.Kind, format string, a ...any) *engine.Trouble {
		return &engine.Trouble{Err: jackline.E(op, k, c.Cause(r), format, a...)}
	}
	status := p.Status(r)
	switch {
	case status == http.StatusUnauthorized && strings.Contains(string(r.Body), "signin_url"):
		return say(jackline.Forbidden,
			"%s runs in Ollama's cloud, and the Ollama at %s is not signed in: run \"ollama signin\" there, or choose a model that it has itself.",
			name, at)
	case status == http.StatusForbidden && len(strings.TrimSpace(string(r.Body))) == 0:
		return say(jackline.Forbidden,
			"The Ollama at %s does not answer to this host name: give its address in numbers with --base-url, "+
				"or start it with OLLAMA_HOST=0.0.0.0.", at)
	case p.Says("newer version of ollama", "requires a newer version", "requires ollama"):
		return say(jackline.Unavailable, "%s needs a newer Ollama than the one at %s: update it.", name, at)
	case p.Says("does not support chat", "does not support generate"):
		return say(jackline.Invalid, "%s is no model to talk to: choose another with --model.", name)
	case p.Says("does not support multimodal", "missing data required for image input", "does not support image", "only supports one image"):
		return say(jackline.Invalid, "%s at %s does not read these images: choose a model with vision, or leave them out.", name, at)
	}
	return nil
}
