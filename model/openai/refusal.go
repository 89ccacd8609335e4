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
	case p.Says("tool call id*length of 9", "tool call ids*length 9", "tool_call_id*pattern", "tool_use.id*pattern"):
		return nineIDs
	case p.Says("must define tools", "toolconfig field must be defined", "tool calling without `tools="):
		return needsTools
	case p.Says("'user' after role 'tool'", "user after tool"):
		return noteless
	case p.Says("missing*reasoning_content", "reasoning_content*must be passed"):
		return wantsThoughts
	case p.Says("missing*thought_signature"):
		return wantsSignature
	case p.Says("corrupted thought signature", "thought_signature*invalid", "extra_content", "reasoning_details"):
		return noExtras
	case p.Says("text content is empty", "content*must be non-empty", "content*must not be empty", "content*cannot be empty",
		"content*should not be empty", "text.text: field required"):
		return noEmpty
	case p.Says("tool_choice"):
		return noToolChoice
	case p.Says("system role not supported", "system role is not supported", "does not support system",
		"system messages are not supported", "only user and assistant roles"):
		return noSystem
	}
	return 0
}

// templates are what templates of models refuse, which fail with any status.
const templates = noSystem | mustAlternate | nineIDs | noteless

// refused says what a refusal of a request means that was written without the quirks of sent. What it teaches is written
// down, and the request sent again: that has an end, because each time something new is learned.
func (m *Model) refused(r engine.Refusal, sent quirks) *engine.Trouble {
	p := engine.ReadProblem(r.Body)
	t := m.client.Meant(opStream, r, p)
	if q := quirkOf(p); t == nil && q&^sent != 0 && (p.Status(r) < 500 || q&templates != 0) {
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
