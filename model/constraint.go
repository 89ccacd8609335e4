package model

import "encoding/json"

// A Knob is the field of a request by which an engine can be held to a form. An engine has one that is right for it, which
// [Info] names; what is written into it is up to the adapter.
type Knob string

// The knobs. What an engine takes of JSON Schema differs by knob: see package constraint.
const (
	NoKnob         Knob = ""
	KnobGrammar    Knob = "grammar"                // a grammar in GBNF: llama.cpp, LocalAI
	KnobSchema     Knob = "json_schema"            // a bare schema: llama.cpp
	KnobFormat     Knob = "format"                 // a bare schema: Ollama's own API
	KnobStructured Knob = "structured_outputs"     // {"json": schema}: vLLM since 0.12
	KnobGuided     Knob = "guided_json"            // a bare schema: vLLM before
	KnobResponse   Knob = "response_format"        // a named schema: LM Studio, Ollama under /v1, and others
	KnobStrict     Knob = "response_format.strict" // the same with the rules of OpenAI, which the Responses API calls text.format
)

// A Constraint is the form that an answer must have. It is written for the knob that [Info] names.
type Constraint struct {
	Name    string          // letters, digits, - and _: some engines want one
	Schema  json.RawMessage // JSON Schema of the whole answer
	Grammar string          // the same in GBNF, whose rule "root" is the whole answer
}

// The ways in which a model makes calls.
const (
	ModeNative   = "native"   // through the engine's own tool interface
	ModeEnvelope = "envelope" // as JSON that the engine holds the model to
	ModeText     = "text"     // as text that is taught and read
)

// Mode is how the model makes its calls.
func (i Info) Mode() string {
	switch {
	case i.Native:
		return ModeNative
	case i.Envelope:
		return ModeEnvelope
	}
	return ModeText
}
