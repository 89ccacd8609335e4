package modeltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint/constrainttest"
	"github.com/jackline-ai/jackline/model/script"
)

// form is what q holds its answer to, by the fields that are taken.
func (q question) form(takes []model.Knob) (constrainttest.Form, error) {
	var response struct {
		Type string `json:"type"`
		JSON struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	}
	if len(q.Format) > 0 {
		if err := json.Unmarshal(q.Format, &response); err != nil || response.Type == "json_schema" && response.JSON.Name == "" {
			return constrainttest.Form{}, errors.New("response_format: expected a named json_schema")
		}
	}
	var structured struct {
		JSON json.RawMessage `json:"json"`
	}
	if len(q.Structured) > 0 {
		if err := json.Unmarshal(q.Structured, &structured); err != nil {
			return constrainttest.Form{}, fmt.Errorf("structured_outputs: %w", err)
		}
	}
	if len(q.Schema) > 0 && len(q.Grammar) > 0 { // as llama.cpp has it
		return constrainttest.Form{}, errors.New("either \"json_schema\" or \"grammar\" can be specified, but not both")
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
			if err := constrainttest.Strict(each.raw); err != nil {
				return constrainttest.Form{}, err
			}
		}
		if each.knob == model.KnobGrammar {
			return constrainttest.OfGrammar(each.raw)
		}
		return constrainttest.OfSchema(each.raw)
	}
	return constrainttest.Form{}, nil
}

// next is the answer to r. One that is held to a form is made up, or is the script's, which must have the form then.
func next(s *script.Script, r model.Request, f constrainttest.Form, answers func(constrainttest.Form) string) (script.Answer, error) {
	if f.None() {
		return s.Next(r)
	}
	r.Constraint = &model.Constraint{}
	if answers != nil {
		return script.Says(answers(f)), nil
	}
	a, err := s.Next(r)
	if err != nil {
		return a, err
	}
	a = a.Held()
	if text, whole := a.Text(); whole {
		if err := f.Check(text); err != nil {
			return a, jackline.E("modeltest.next", jackline.Invalid, err, "The script says %q, which the form does not allow: %v.", text, err)
		}
	}
	return a, nil
}
