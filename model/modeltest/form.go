package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint/constrainttest"
	"github.com/jackline-ai/jackline/model/script"
)

// A Form is what a request holds its answer to: a schema, or a grammar. The zero Form is none.
type Form struct {
	Knob    model.Knob
	schema  *constrainttest.Schema
	grammar *constrainttest.Grammar
}

func (f Form) none() bool { return f.schema == nil && f.grammar == nil }

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

// Samples makes up answers that have the form that they are held to, and nothing else: a model that was never trained.
func Samples(seed uint64) func(Form) (string, error) {
	rnd := rand.New(rand.NewPCG(seed, 1))
	var mu sync.Mutex
	return func(f Form) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if f.schema != nil {
			return f.schema.Sample(rnd), nil
		}
		return f.grammar.Sample(rnd), nil
	}
}

// formOf reads what stands in a field. Engines refuse what they cannot compile.
func formOf(knob model.Knob, raw json.RawMessage) (Form, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return Form{}, nil
	}
	f := Form{Knob: knob}
	var err error
	if knob == model.KnobGrammar {
		var text string
		if err = json.Unmarshal(raw, &text); err == nil {
			f.grammar, err = constrainttest.ParseGrammar(text)
		}
		return f, err
	}
	f.schema, err = constrainttest.ParseSchema(raw)
	return f, err
}

// form is what q holds its answer to, by the fields that are taken.
func (q question) form(takes []model.Knob) (Form, error) {
	var response struct {
		Type string `json:"type"`
		JSON struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if len(q.Format) > 0 {
		if err := json.Unmarshal(q.Format, &response); err != nil || response.Type != "json_schema" || response.JSON.Name == "" {
			return Form{}, errors.New("response_format: expected a named json_schema")
		}
	}
	var structured struct {
		JSON json.RawMessage `json:"json"`
	}
	if len(q.Structured) > 0 {
		if err := json.Unmarshal(q.Structured, &structured); err != nil {
			return Form{}, fmt.Errorf("structured_outputs: %w", err)
		}
	}
	if len(q.Schema) > 0 && len(q.Grammar) > 0 { // as llama.cpp has it
		return Form{}, errors.New("Either \"json_schema\" or \"grammar\" can be specified, but not both")
	}
	for _, each := range []struct {
		knob model.Knob
		raw  json.RawMessage
	}{
		{model.KnobGrammar, q.Grammar}, {model.KnobSchema, q.Schema}, {model.KnobGuided, q.Guided}, {model.KnobStructured, structured.JSON},
		{model.KnobResponse, response.JSON.Schema}, {model.KnobStrict, response.JSON.Schema},
	} {
		if !slices.Contains(takes, each.knob) || len(each.raw) == 0 {
			continue
		}
		if each.knob == model.KnobStrict && response.JSON.Strict {
			if err := strict(each.raw, true); err != nil {
				return Form{}, err
			}
		}
		return formOf(each.knob, each.raw)
	}
	return Form{}, nil
}

// strict is what OpenAI has against a schema, in its own words.
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
		return errors.New("Invalid schema for response_format: schema must have type 'object' and not have 'anyOf' at the top level")
	}
	if s.Type == "object" {
		if s.Additional != false {
			return errors.New("Invalid schema for response_format: 'additionalProperties' is required to be supplied and to be false")
		}
		if len(s.Required) != len(s.Properties) {
			return errors.New("Invalid schema for response_format: 'required' is required to include every key in properties")
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

// next is the answer to r. One that is held to a form is made up, or is the script's, which must have the form then: what
// follows a lost connection or an error is not looked at.
func next(s *script.Script, r model.Request, f Form, answers func(Form) (string, error)) (script.Answer, error) {
	const op = "modeltest.next"
	if f.none() {
		return s.Next(r)
	}
	r.Constraint = &model.Constraint{}
	if answers != nil {
		text, err := answers(f)
		if err != nil {
			return script.Answer{}, err
		}
		made, err := script.Parse("sample", []byte("===\n--- raw\n"+text+"\n--- end\n"))
		if err != nil {
			return script.Answer{}, err
		}
		return made.Next(r)
	}
	a, err := s.Next(r)
	if err != nil {
		return a, err
	}
	a = a.Held()
	var text strings.Builder
	for step := range a.Steps(false) {
		text.WriteString(step.Text)
		switch {
		case step.Fail != nil, step.Cut, step.Wait, step.Finish == model.Length:
			return a, nil
		case step.Finish != "":
			if err := f.Check(text.String()); err != nil {
				return a, jackline.E(op, jackline.Invalid, err, "The script says %q, which %s does not allow: %v.", text.String(), f.Knob, err)
			}
		}
	}
	return a, nil
}
