package constraint

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
)

// A row says what an engine takes of JSON Schema beyond objects, lists, choices, types and values, which all take. What it
// does not take is left out, or said in another way where there is one: an engine refuses a keyword that it does not
// know, or, worse, skips it.
type row struct {
	lengths bool // minLength, maxLength
	counts  bool // minItems, maxItems
	numbers bool // bounds of numbers that need not be whole; those of whole numbers all take
	maps    bool // additionalProperties that is a schema
	strict  bool // an object around all, every property required, optional ones null
}

// takes is the table, by the engines' own documents and source, as of 2026:
//
//   - json_schema, format, response_format end in llama.cpp's converter (grammars/README.md, common/json-schema-to-grammar):
//     it writes properties in the order of the schema, the required ones first, bounds of whole numbers only, and refuses
//     patterns that are not anchored. LM Studio gives schemas for MLX models to Outlines, which takes no less.
//   - structured_outputs and guided_json end in xgrammar (vllm/v1/structured_output/backend_xgrammar.py), which takes all
//     of it; vLLM sends what it does not know to another backend.
//   - response_format.strict has the rules of OpenAI's guide to structured outputs: no choice at the root, every object
//     closed and all of its properties required, no bounds on lengths.
func takes(knob model.Knob) row {
	switch knob {
	case model.KnobStructured, model.KnobGuided:
		return row{lengths: true, counts: true, numbers: true, maps: true}
	case model.KnobStrict:
		return row{counts: true, numbers: true, strict: true}
	case model.KnobSchema, model.KnobFormat, model.KnobResponse, model.KnobGrammar, model.NoKnob:
	}
	return row{lengths: true, counts: true, maps: true}
}

// schema writes the whole constraint as JSON Schema.
func (f Form) schema(branches []branch, knob model.Knob) json.RawMessage {
	w := &schemaWriter{takes: takes(knob)}
	if w.takes.strict {
		w.raw(`{"type":"object","properties":{"` + stepKey + `":`)
	}
	w.raw(`{"anyOf":[`)
	for _, b := range branches {
		w.node(&node{kind: object, fields: []field{
			{name: f.Tool, value: &node{kind: literals, values: []string{args.Compact(b.name)}}, required: true},
			{name: f.Args, value: b.args, required: true},
		}})
		w.raw(`,`)
	}
	w.node(marker(finalKey))
	w.raw(`]}`)
	if w.takes.strict {
		w.raw(`},"required":["` + stepKey + `"],"additionalProperties":false}`)
	}
	return w.b
}

type schemaWriter struct {
	takes row
	b     []byte
}

func (w *schemaWriter) raw(s string) { w.b = append(w.b, s...) }

func (w *schemaWriter) node(n *node) {
	switch n.kind {
	case anyValue:
		w.anything(n.level)
	case object:
		w.object(n)
	case list:
		w.raw(`{"type":"array","items":`)
		w.node(n.items)
		w.bounds(w.takes.counts, `Items`, n)
		w.raw(`}`)
	case text:
		w.raw(`{"type":"string"`)
		w.bounds(w.takes.lengths, `Length`, n)
		w.raw(`}`)
	case integer:
		w.raw(`{"type":"integer"`)
		w.edges(n)
		w.raw(`}`)
	case number:
		w.number(n)
	case boolean:
		w.raw(`{"type":"boolean"}`)
	case null:
		w.raw(`{"type":"null"}`)
	case literals:
		w.literals(n.values)
	case union:
		w.raw(`{"anyOf":[`)
		for i, each := range n.of {
			if i > 0 {
				w.raw(`,`)
			}
			w.node(each)
		}
		w.raw(`]}`)
	}
}

// anything writes any value that goes no deeper than level.
func (w *schemaWriter) anything(level int) {
	const flat = `{"type":["string","number","boolean","null"]}`
	if level == 0 {
		w.raw(flat)
		return
	}
	w.raw(`{"anyOf":[` + flat + `,{"type":"array","items":`)
	w.anything(level - 1)
	w.raw(`}`)
	if w.takes.maps {
		w.raw(`,{"type":"object","additionalProperties":`)
		w.anything(level - 1)
		w.raw(`}`)
	}
	w.raw(`]}`)
}

func (w *schemaWriter) object(n *node) {
	w.raw(`{"type":"object"`)
	if n.extra != nil && w.takes.maps {
		w.raw(`,"additionalProperties":`)
		w.node(n.extra)
		w.raw(`}`)
		return
	}
	w.raw(`,"properties":{`)
	for i, f := range n.fields {
		if i > 0 {
			w.raw(`,`)
		}
		w.b = append(args.AppendText(w.b, f.name), ':')
		if f.required || !w.takes.strict {
			w.node(f.value)
		} else {
			w.node(choice([]*node{f.value, {kind: null}}))
		}
	}
	w.raw(`},"required":[`)
	first := true
	for _, f := range n.fields {
		if !f.required && !w.takes.strict {
			continue
		}
		if !first {
			w.raw(`,`)
		}
		first = false
		w.b = args.AppendText(w.b, f.name)
	}
	w.raw(`],"additionalProperties":false}`)
}

func (w *schemaWriter) bounds(takes bool, of string, n *node) {
	if !takes {
		return
	}
	if n.min > 0 {
		w.raw(`,"min` + of + `":` + strconv.Itoa(n.min))
	}
	if n.max >= 0 {
		w.raw(`,"max` + of + `":` + strconv.Itoa(n.max))
	}
}

// edges writes the bounds of a whole number.
func (w *schemaWriter) edges(n *node) {
	low, high, ok := n.whole()
	if !ok {
		return
	}
	if n.low != nil {
		w.raw(`,"minimum":` + strconv.FormatInt(low, 10))
	}
	if n.high != nil {
		w.raw(`,"maximum":` + strconv.FormatInt(high, 10))
	}
}

// number writes a number. An engine that holds only whole numbers to a range gets a closed range as the whole numbers in it
// where those are many, and as steps where they are few. A range with one end it does not get: nothing that could be
// said instead leaves out no number that is wanted.
func (w *schemaWriter) number(n *node) {
	switch {
	case n.low == nil && n.high == nil, !w.takes.numbers && (n.low == nil || n.high == nil):
		w.raw(`{"type":"number"}`)
	case w.takes.numbers:
		w.raw(`{"type":"number"`)
		w.edge(n.low, `inimum`)
		w.edge(n.high, `aximum`)
		w.raw(`}`)
	default:
		if low, high, ok := n.whole(); ok && high-low >= fewSteps {
			w.node(&node{kind: integer, low: &bound{value: float64(low)}, high: &bound{value: float64(high)}})
			return
		}
		w.literals(n.steps())
	}
}

func (w *schemaWriter) edge(b *bound, name string) {
	switch {
	case b == nil:
	case b.open:
		w.raw(`,"exclusiveM` + name + `":` + written(b.value))
	default:
		w.raw(`,"m` + name + `":` + written(b.value))
	}
}

func written(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// fewSteps is how many values stand for a range of numbers.
const fewSteps = 20

// steps are values all over a closed range, its edges among them if they are in it.
func (n *node) steps() []string {
	low, high := n.low.value, n.high.value
	size := (high - low) / fewSteps
	// Two digits more than the size of a step keep values apart and readable.
	digits := max(0, int(math.Ceil(-math.Log10(max(size, 1e-12))))+1)
	var all []string
	for i := range fewSteps + 1 {
		f, err := strconv.ParseFloat(strconv.FormatFloat(low+float64(i)*size, 'f', digits, 64), 64)
		if i == 0 {
			f = low
		}
		if i == fewSteps {
			f = high
		}
		if err != nil || f < low || f > high || n.low.open && f == low || n.high.open && f == high {
			continue
		}
		if s := written(f); !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	if len(all) == 0 {
		all = append(all, written(low+(high-low)/2))
	}
	return all
}

// whole are the whole numbers of n's range; without an end it is the range of those that a float holds exactly. It is not ok
// where there are none.
func (n *node) whole() (low, high int64, ok bool) {
	low, high = -int64(maxNumber), int64(maxNumber)
	if n.low != nil {
		low = int64(math.Ceil(n.low.value))
		if n.low.open && float64(low) == n.low.value {
			low++
		}
	}
	if n.high != nil {
		high = int64(math.Floor(n.high.value))
		if n.high.open && float64(high) == n.high.value {
			high--
		}
	}
	return low, high, low <= high
}

// literals writes the values that are allowed.
func (w *schemaWriter) literals(values []string) {
	w.raw(`{`)
	if t := typeOf(values); t != "" {
		w.raw(`"type":"` + t + `",`)
	}
	if len(values) == 1 {
		w.raw(`"const":` + values[0] + `}`)
		return
	}
	w.raw(`"enum":[`)
	for i, v := range values {
		if i > 0 {
			w.raw(`,`)
		}
		w.raw(v)
	}
	w.raw(`]}`)
}

// typeOf is the type that all values have, which some engines want beside them, or "".
func typeOf(values []string) string {
	t := ""
	for _, v := range values {
		now := "number"
		switch v[0] {
		case '"':
			now = "string"
		case 't', 'f':
			now = "boolean"
		case 'n':
			now = "null"
		case '{', '[':
			return ""
		}
		if t != "" && t != now {
			return ""
		}
		t = now
	}
	return t
}
