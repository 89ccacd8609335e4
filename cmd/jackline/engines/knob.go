package engines

import (
	"slices"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/detect"
)

// knobFor is the field by which a model's engine can be held to a form, by which engine it is and what is spoken to it. An
// engine that nobody knows has none: most skip a field that they do not know, and nobody would notice.
func knobFor(p pick) model.Knob {
	switch p.api {
	case detect.APIOllama:
		return model.KnobFormat
	case detect.APIResponses:
		return model.KnobStrict
	case detect.APIAnthropic:
		return model.NoKnob
	case detect.APIOpenAI, "":
	}
	switch p.family {
	case detect.LlamaCpp:
		// A grammar is kept from the first token on, thoughts included, and is exact. What llama.cpp makes of a schema leaves room
		// for thoughts, and for as many blanks and line ends as a small model likes.
		if p.card.Thinking == model.Yes {
			return model.KnobSchema
		}
		return model.KnobGrammar
	case detect.LocalAI:
		return model.KnobGrammar
	case detect.VLLM:
		if oldVLLM(p.version) {
			return model.KnobGuided
		}
		return model.KnobStructured
	case detect.LMStudio, detect.Ollama:
		return model.KnobResponse
	}
	if isOpenAI(p.base) {
		return model.KnobStrict
	}
	if slices.Contains(p.card.Constraints, "json_schema") {
		return model.KnobResponse
	}
	return model.NoKnob
}

// anyKnob is what an engine that nobody knows is held to a form by, where its owner wants that: the one field that most have.
func anyKnob(p pick) model.Knob {
	if p.api == detect.APIOpenAI || p.api == "" {
		return model.KnobResponse
	}
	return model.NoKnob
}

// oldVLLM reports whether a vLLM said that it is older than 0.12, which took guided_json out.
func oldVLLM(version string) bool {
	const lastGuided = 11
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(minor)
	return major == "0" && err == nil && n <= lastGuided
}

// isOpenAI reports whether an address is OpenAI's own, whose schemas are strict.
func isOpenAI(base string) bool { return strings.HasPrefix(base, "https://api.openai.com/") }
