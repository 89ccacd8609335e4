package openai

import (
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/engine"
)

// quirkOf is the part of the request that the engine does not take, or 0.
func quirkOf(p engine.Problem) quirks {
	switch {
	case p.Says("stream_options", "include_usage"):
		return noStreamOptions
	case p.Says("max_completion_tokens*instead", "max_tokens*not supported", "max_tokens*unsupported"):
		return newMaxTokens
	case p.Says("roles must alternate", "must alternate between"):
		return mustAlternate
	case p.Says("tool_choice"):
		return noToolChoice
	case p.Says("system role not supported", "system role is not supported", "does not support system",
		"system messages are not supported", "only user and assistant roles"):
		return noSystem
	}
	return 0
}

// refused says what a refusal of a request means that was written without the quirks of sent. What it teaches is written
// down, and the request sent again: that has an end, because each time something new is learned.
func (m *Model) refused(r engine.Refusal, sent quirks) *engine.Trouble {
	p := engine.ReadProblem(r.Body)
	t := m.client.Meant(opStream, r, p)
	// Templates of models fail with any status.
	if q := quirkOf(p); t == nil && q&^sent != 0 && (p.Status(r) < 500 || q&(noSystem|mustAlternate) != 0) {
		m.learned.Or(uint32(q))
		t = m.client.NotTaken(opStream, r, p)
		t.Again = engine.AtOnce
		return t
	}
	if t == nil {
		t = m.client.Failing(opStream, r, p)
	}
	if engine.NoForm(t.Err) && m.info.Knob == model.KnobSchema && sent&noSchema == 0 {
		m.learned.Or(uint32(noSchema)) // llama.cpp's converter may stumble where its grammars do not
		t.Again = engine.AtOnce
	}
	return t
}
