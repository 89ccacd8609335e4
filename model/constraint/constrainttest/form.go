package constrainttest

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"sync"
)

// A Form is what an engine holds an answer to: a schema, or a grammar. The zero Form is none.
type Form struct {
	schema  *Schema
	grammar *Grammar
}

// OfSchema is the form of a schema. Engines refuse what they cannot compile.
func OfSchema(raw json.RawMessage) (f Form, err error) {
	f.schema, err = ParseSchema(raw)
	return f, err
}

// OfGrammar is the form of a grammar, which stands in a JSON string.
func OfGrammar(raw json.RawMessage) (f Form, err error) {
	var text string
	if err = json.Unmarshal(raw, &text); err == nil {
		f.grammar, err = ParseGrammar(text)
	}
	return f, err
}

// None reports that an answer is free.
func (f Form) None() bool { return f.schema == nil && f.grammar == nil }

// Check says why an answer has not the form; nil is that it has.
func (f Form) Check(answer string) error {
	switch {
	case f.schema != nil:
		return f.schema.Check(answer)
	case f.grammar != nil && !f.grammar.Accepts(answer):
		return errors.New("the grammar does not allow it")
	}
	return nil
}

// Sample makes up an answer that has the form.
func (f Form) Sample(rnd *rand.Rand) string {
	if f.schema != nil {
		return f.schema.Sample(rnd)
	}
	return f.grammar.Sample(rnd)
}

// Samples makes up answers that have the form that they are held to, and nothing else: a model that was never trained.
func Samples(seed uint64) func(Form) string {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	return func(f Form) string {
		mu.Lock()
		defer mu.Unlock()
		return f.Sample(rnd)
	}
}

// Strict says what OpenAI has against a schema, in its own words; nil is nothing.
func Strict(raw json.RawMessage) error { return strict(raw, true) }

func strict(raw json.RawMessage, root bool) error {
	var s struct {
		Type       any                        `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
		Additional any                        `json:"additionalProperties"`
		Items      json.RawMessage            `json:"items"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
	}
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	if root && s.Type != "object" {
		return errors.New("invalid schema for response_format: schema must have type 'object' and not have 'anyOf' at the top level")
	}
	if s.Type == "object" {
		if s.Additional != false {
			return errors.New("invalid schema for response_format: 'additionalProperties' is required to be supplied and to be false")
		}
		if len(s.Required) != len(s.Properties) {
			return errors.New("invalid schema for response_format: 'required' is required to include every key in properties")
		}
	}
	for _, sub := range s.Properties {
		if err := strict(sub, false); err != nil {
			return err
		}
	}
	for _, sub := range append(s.AnyOf, s.Items) {
		if len(sub) > 0 {
			if err := strict(sub, false); err != nil {
				return err
			}
		}
	}
	return nil
}
