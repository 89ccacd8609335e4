package modeltest

import (
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint/constrainttest"
)

// A Dialect is how one family of servers answers where families differ. The zero Dialect is plain and correct: it
// streams calls in fragments, counts tokens when asked to, and ends with the marker.
type Dialect struct {
	Reasoning string   // field that reasoning comes in; "" is reasoning_content
	Models    []string // names that are offered; a request for another is refused. Empty offers "script" and takes any
	Owner     string   // owned_by in the list of models
	Key       string   // bearer token that is asked for; "" asks for none

	Opening map[string]any // the delta of a first event that says nothing; nil leaves that event out
	Fields  map[string]any // further fields of every event

	Count      Count // when tokens are counted
	Timings    bool  // tokens are counted in llama.cpp's "timings" too
	WholeCalls bool  // a call comes in one fragment
	ObjectArgs bool  // arguments are an object, not a string
	OneIndex   bool  // every call has index 0
	NoIndex    bool  // calls have no index
	NoIDs      bool  // calls have no ID
	StopAlways bool  // the reason for the end is "stop" even after calls
	NoDone     bool  // there is no marker at the end
	OnePiece   bool  // a stream is not known: the answer is one JSON object
	Comments   bool  // comment lines stand between the events
	CRLF       bool  // lines end in carriage return and line feed
	Gzip       bool  // the answer is packed, asked for or not

	// Errors are the types of errors by status, of all others at 0, with never a code; nil is as OpenAI does it.
	Errors map[int]string

	// Takes are the fields by which it holds an answer to a form. Others are skipped, as most servers skip what they do not
	// know. Answers, if it is not nil, says what the model writes then, in place of the script: see constrainttest.Samples.
	Takes   []model.Knob
	Answers func(constrainttest.Form) string

	NoTools bool     // tools are refused, in Ollama's words
	Refuses []string // fields of a request that are refused

	Rules ChatRules // what is held against a conversation
}

// Count is when a server counts tokens.
type Count int

// The habits of counting.
const (
	WhenAsked Count = iota // in an event of its own, if stream_options wants it
	WithEach               // in every event
	WithLast               // in the last event, asked for or not
	Never
)

// The families below are written from documentation and from reports, not from captured traffic.

// OpenAI is the service that the others look like: strict, calls in fragments, tokens in a last event when asked.
func OpenAI() Dialect {
	return Dialect{
		Models: []string{"gpt-x", "gpt-x-mini"}, Owner: "system", Key: "sk-test",
		Takes:   []model.Knob{model.KnobStrict},
		Opening: map[string]any{"role": "assistant", "content": "", "refusal": nil},
		Fields:  map[string]any{"service_tier": "default", "system_fingerprint": "fp_1", "obfuscation": "x7"},
	}
}

// LlamaCpp is llama.cpp's server: reasoning_content, and its timings beside the usage.
func LlamaCpp() Dialect {
	return Dialect{
		Owner: "llamacpp", Timings: true, Takes: []model.Knob{model.KnobGrammar, model.KnobSchema, model.KnobResponse},
		Opening: map[string]any{"role": "assistant", "content": nil},
		Fields:  map[string]any{"system_fingerprint": "b7000-abc"},
	}
}

// VLLM is vLLM: reasoning under its newer name, and every call on index 0, as some of its parsers number them.
func VLLM() Dialect {
	return Dialect{
		Reasoning: "reasoning", Owner: "vllm", Models: []string{"org/model-7b"}, OneIndex: true,
		Takes:   []model.Knob{model.KnobStructured, model.KnobResponse},
		Opening: map[string]any{"role": "assistant", "content": ""},
	}
}

// Ollama is Ollama under /v1: whole calls, tool_choice is ignored, tokens when asked.
func Ollama() Dialect {
	return Dialect{
		Reasoning: "reasoning", Owner: "library", Models: []string{"qwen3:8b", "gemma3:4b"}, WholeCalls: true,
		Takes:  []model.Knob{model.KnobResponse},
		Fields: map[string]any{"system_fingerprint": "fp_ollama"},
		Errors: map[int]string{400: "invalid_request_error", 404: "not_found_error", 0: "api_error"},
	}
}

// LMStudio is LM Studio: lines with carriage returns, events that have a name, tokens in the last event.
func LMStudio() Dialect {
	return Dialect{
		Owner: "organization_owner", Models: []string{"qwen/qwen3-8b"}, Count: WithLast, Comments: true, CRLF: true,
		Takes:  []model.Knob{model.KnobResponse},
		Fields: map[string]any{"system_fingerprint": "qwen/qwen3-8b", "stats": map[string]any{}},
	}
}
