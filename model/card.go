package model

import "context"

// A Card is what is known about one model of one engine. A field that nobody told is the zero value: unknown stays
// unknown and is never a guess.
type Card struct {
	Engine string `json:"engine"`           // which server: "ollama", "llama.cpp", "lm-studio", "vllm", "localai", "openai", "anthropic", or ""
	ID     string `json:"id"`               // the model's name, as the engine wants it
	Digest string `json:"digest,omitempty"` // of the model's weights, where the engine has one
	Bytes  int64  `json:"bytes,omitempty"`  // size of the weights

	Trained int `json:"trained,omitempty"` // the window the model was trained for, tokens
	Usable  int `json:"usable,omitempty"`  // the window that a request has now, tokens

	Tools    Known `json:"tools"`    // calls through the engine's own tool interface
	Thinking Known `json:"thinking"` // reasons before it answers
	Vision   Known `json:"vision"`   // reads images
	Loaded   Known `json:"loaded"`   // is in memory, so that an answer begins at once
	Remote   Known `json:"remote"`   // what is asked leaves this engine for somebody else's machine

	// Constraints are the ways in which the engine can be made to write what fits: "json_schema", "grammar".
	Constraints []string `json:"constraints,omitempty"`

	// Mode is how calls are best made, as somebody found out who tried: ModeNative, ModeEnvelope or ModeText; "" where
	// nobody has.
	Mode string `json:"mode,omitempty"`

	// Source says who told a field, by the field's JSON name: "engine", "owner", "probe".
	Source map[string]string `json:"source,omitempty"`
}

// Known is an answer that may be missing.
type Known uint8

// The answers. The zero value is Unknown.
const (
	Unknown Known = iota
	No
	Yes
)

// Is makes an answer of a report.
func Is(yes bool) Known {
	if yes {
		return Yes
	}
	return No
}

// MarshalText writes "unknown", "no" or "yes".
func (k Known) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads what MarshalText wrote; anything else is Unknown.
func (k *Known) UnmarshalText(b []byte) error {
	switch string(b) {
	case "no":
		*k = No
	case "yes":
		*k = Yes
	default:
		*k = Unknown
	}
	return nil
}

// String is "unknown", "no" or "yes".
func (k Known) String() string {
	switch k {
	case No:
		return "no"
	case Yes:
		return "yes"
	case Unknown:
	}
	return "unknown"
}

// A Lister is an engine that says which models it has.
type Lister interface {
	// Cards asks the engine, once. Errors are as those of [Model].
	Cards(ctx context.Context) ([]Card, error)
}
