package constraint_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint"
	"github.com/jackline-ai/jackline/model/constraint/constrainttest"
)

// sets is how many random tool sets are tried.
func sets() int {
	if testing.Short() {
		return 500
	}
	return 10_000
}

func tools(made []constrainttest.Tool) []model.Tool {
	var all []model.Tool
	for _, t := range made {
		all = append(all, model.Tool{Name: t.Name, Schema: t.Schema, Body: t.Body})
	}
	return all
}

// each runs a check over random tool sets, on both cores.
func each(t *testing.T, of int, k constrainttest.Kinds, check func(rnd *rand.Rand, made []constrainttest.Tool) error) {
	t.Helper()
	const workers = 4
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < of && !t.Failed(); i += workers {
				rnd := rand.New(rand.NewPCG(uint64(i), 7))
				made := constrainttest.Tools(rnd, k)
				if err := check(rnd, made); err != nil {
					t.Errorf("set %d: %v", i, err)
				}
			}
		})
	}
	wg.Wait()
}

// valid checks that an answer is a call of one of the tools that its own schema allows, or the end.
func valid(answer string, made []constrainttest.Tool) error {
	step, ok := constraint.Envelope().Read(answer, tools(made))
	switch {
	case !ok:
		return fmt.Errorf("%s cannot be read", answer)
	case step.Final:
		return nil
	case step.Cut:
		return fmt.Errorf("%s counts as cut", answer)
	}
	for _, m := range made {
		if m.Name != step.Name {
			continue
		}
		if step.Body != "" {
			if step.Body != m.Body {
				return fmt.Errorf("%s leaves out %s", answer, step.Body)
			}
			step.Args.Set(step.Body, "the body")
		}
		raw, err := args.Canonical(step.Args)
		if err != nil {
			return err
		}
		schema, err := args.Parse(m.Schema)
		if err != nil {
			return err
		}
		if err := schema.Validate(raw); err != nil {
			return fmt.Errorf("%s: the gate says %w\n%s", answer, err, m.Schema)
		}
		strict, err := constrainttest.ParseSchema(m.Schema)
		if err != nil {
			return err
		}
		if err := strict.Check(string(raw)); err != nil {
			return fmt.Errorf("%s: %w\n%s", answer, err, m.Schema)
		}
		return nil
	}
	return fmt.Errorf("%s names no tool", answer)
}

// TestGrammar goes both ways over random tool sets. What is sampled from the grammar is a valid call; calls that are sampled from
// a tool's own schema are accepted by the grammar, and none that leaves something out, adds what is not declared, or names
// no tool.
func TestGrammar(t *testing.T) {
	t.Parallel()
	each(t, sets(), constrainttest.Kinds{}, func(rnd *rand.Rand, made []constrainttest.Tool) error {
		f := constraint.Envelope()
		c, err := f.Compile(tools(made), model.KnobGrammar)
		if err != nil {
			return err
		}
		g, err := constrainttest.ParseGrammar(c.Grammar)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, c.Grammar)
		}
		answer := g.Sample(rnd)
		if !g.Accepts(answer) {
			return fmt.Errorf("the grammar does not accept %s\n%s", answer, c.Grammar)
		}
		if err := valid(answer, made); err != nil {
			return fmt.Errorf("%w\n%s", err, c.Grammar)
		}
		m := made[rnd.IntN(len(made))]
		schema, err := constrainttest.ParseSchema(m.Schema)
		if err != nil {
			return err
		}
		call := f.Call(m.Name, json.RawMessage(schema.Sample(rnd)))
		if rnd.IntN(2) == 0 { // the blanks are the model's choice
			call = strings.Replace(call, `{"tool": `, `{"tool":`, 1)
		}
		call = strings.Replace(call, `, "args": `, `,"args": `, 1)
		if !g.Accepts(call) {
			return fmt.Errorf("the grammar does not accept %s\n%s\n%s", call, m.Schema, c.Grammar)
		}
		for _, wrong := range []string{
			f.Call(m.Name+"x", json.RawMessage(`{}`)), `{"tool":` + args.Compact(m.Name) + `,"args":{"undeclared":1}}`, call + " ", call[:len(call)-1], `{"tool": 1}`,
		} {
			if g.Accepts(wrong) {
				return fmt.Errorf("the grammar accepts %s\n%s", wrong, c.Grammar)
			}
		}
		if !g.Accepts(f.Final()) {
			return fmt.Errorf("the grammar does not accept %s", f.Final())
		}
		return nil
	})
}

// knobs are one for each row of what engines take: what made-up tools must do without there, and the keywords.
func knobs() []struct {
	knob     model.Knob
	kinds    constrainttest.Kinds
	keywords string
} {
	const common = " type properties required additionalProperties items anyOf enum const minItems maxItems minimum maximum "
	return []struct {
		knob     model.Knob
		kinds    constrainttest.Kinds
		keywords string
	}{
		{model.KnobFormat, constrainttest.Kinds{NoHalfOpen: true}, common + "minLength maxLength "},
		{model.KnobStructured, constrainttest.Kinds{}, common + "minLength maxLength exclusiveMinimum exclusiveMaximum "},
		{model.KnobStrict, constrainttest.Kinds{NoLengths: true, NoMaps: true}, common + "exclusiveMinimum exclusiveMaximum "},
	}
}

// TestSchemaOfEachKnob samples answers from the schema that an engine gets: each is a valid call, and the schema has no
// keyword that the engine does not take.
func TestSchemaOfEachKnob(t *testing.T) {
	t.Parallel()
	for _, k := range knobs() {
		t.Run(string(k.knob), func(t *testing.T) {
			t.Parallel()
			// Those that go through adapters are tried 10,000 times in package envelope.
			each(t, sets()/10, k.kinds, func(rnd *rand.Rand, made []constrainttest.Tool) error {
				c, err := constraint.Envelope().Compile(tools(made), k.knob)
				if err != nil {
					return err
				}
				s, err := constrainttest.ParseSchema(c.Schema)
				if err != nil {
					return fmt.Errorf("%w\n%s", err, c.Schema)
				}
				for word := range s.Keywords() {
					if !strings.Contains(k.keywords, " "+word+" ") {
						return fmt.Errorf("%s is not for this engine\n%s", word, c.Schema)
					}
				}
				if err := valid(s.Sample(rnd), made); err != nil {
					return fmt.Errorf("%w\n%s", err, c.Schema)
				}
				return nil
			})
		})
	}
}
