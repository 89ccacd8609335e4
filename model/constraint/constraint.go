// Package constraint writes down what an answer of a model may look like, so that an engine can hold the model to it: one
// of the tools that are offered, with arguments that its schema allows, or the word that it is done.
//
// [Form.Compile] makes one tree of all tools and writes it twice, as JSON Schema in the words that an engine takes (see
// schema.go for who takes what) and as a grammar in GBNF. [Form.Read] reads what came back.
//
// Schemas come from servers that others wrote. Whatever they hold, the tree is bounded in depth, in nodes and in bytes:
// what lies deeper than that, or cannot be said, becomes any JSON value, which is bounded as well. Nothing of a schema is
// run: patterns, formats and conditions are left out, and the tool's own check says what a constraint could not. What is
// kept is kept exactly. Objects hold the properties that they declare and no others, the required ones first, in the
// order of the schema; optional ones may be left out.
package constraint

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/args"
	"github.com/jackline-ai/jackline/model"
)

// A Form is how a call is written: an object with the tool's name and its arguments under these keys.
type Form struct {
	Tool string
	Args string

	// Inline is how many characters of a tool's Body may stand in a call. From there on, and wherever the model likes, the
	// body is {"later": true}, and is asked for apart. 0 leaves bodies as their schemas say.
	Inline int
}

// Envelope is the form that is taught in envelope mode.
func Envelope() Form { return Form{Tool: "tool", Args: "args", Inline: Inline} }

// Inline is how many characters of a body stand in a call in envelope mode: a few lines. Small models lose track of
// escapes in anything longer.
const Inline = 400

// The one member of the object that ends a step without a call, and of the one that stands for a body.
const (
	finalKey = "final"
	laterKey = "later"
	stepKey  = "step" // what OpenAI wants around a choice: its schemas are objects
)

// name is what a constraint is called to engines that want a name.
const name = "step"

// The bounds of what is compiled. Engines compile a constraint anew for each request, and their own limits are no wider.
const (
	maxTools = 256 // more are no choice that a small model can make
	maxName  = 200 // bytes of a tool's name, as the reader of calls has it
	maxBytes = 96 << 10
)

// A budget bounds what one tool may take of a constraint.
type budget struct {
	depth int // levels of objects and lists
	nodes int
}

// budgets are tried one after the other until the whole is small enough. The last leaves nothing of a tool but its name.
func budgets() []budget {
	return []budget{{6, 400}, {4, 100}, {2, 30}, {}}
}

// Compile makes the constraint of a step that offers these tools: one branch for each, and one for being done. It is
// written for a knob. Of tools with the same name the first counts. An error is invalid: no tools, too many, or names that
// nobody could call.
func (f Form) Compile(tools []model.Tool, knob model.Knob) (*model.Constraint, error) {
	const op = "constraint.Compile"
	if len(tools) == 0 {
		return nil, jackline.E(op, jackline.Invalid, nil, "A constraint needs at least one tool.")
	}
	if len(tools) > maxTools {
		return nil, jackline.E(op, jackline.Invalid, nil,
			"%d tools are more than the %d that one constraint can hold: offer fewer, or use --tool-mode text.", len(tools), maxTools)
	}
	seen := make(map[string]bool, len(tools))
	for _, t := range tools {
		if t.Name == "" || len(t.Name) > maxName || !utf8.ValidString(t.Name) {
			return nil, jackline.E(op, jackline.Invalid, nil,
				"A tool's name must be text of 1 to %d bytes, and one of those offered is not.", maxName)
		}
		seen[t.Name] = true
	}
	size := 0
	for _, b := range budgets() {
		branches := make([]branch, 0, len(seen))
		had := make(map[string]bool, len(seen))
		for _, t := range tools {
			if had[t.Name] {
				continue
			}
			had[t.Name] = true
			branches = append(branches, branch{name: t.Name, args: f.arguments(t, b)})
		}
		c := &model.Constraint{Name: name}
		if knob != model.KnobGrammar {
			c.Schema = f.schema(branches, knob)
		}
		if knob == model.KnobGrammar || knob == model.KnobSchema { // an engine that refuses one may take the other
			c.Grammar = f.grammar(branches)
		}
		if size = len(c.Schema) + len(c.Grammar); size <= maxBytes {
			return c, nil
		}
	}
	return nil, jackline.E(op, jackline.Invalid, fmt.Errorf("%d bytes", size),
		"The names of %d tools are too long for one constraint: offer fewer, or use --tool-mode text.", len(tools))
}

// A branch is one choice: a tool.
type branch struct {
	name string
	args *node
}

// arguments is the tree of a tool's arguments: always an object.
func (f Form) arguments(t model.Tool, b budget) *node {
	if b.depth == 0 {
		return &node{kind: object, extra: anything(0)}
	}
	n := readSchema(t.Schema, b)
	if n.kind != object {
		return &node{kind: object, extra: anything(anyDepth)}
	}
	if f.Inline == 0 || t.Body == "" {
		return n
	}
	for i, each := range n.fields {
		if each.name == t.Body && each.value.kind == text {
			body := *each.value
			if body.max < 0 || body.max > f.Inline {
				body.max = f.Inline
			}
			body.min = min(body.min, body.max)
			n.fields[i].value = &node{kind: union, of: []*node{&body, marker(laterKey)}}
		}
	}
	return n
}

// marker is the object whose only member is true.
func marker(key string) *node {
	return &node{kind: object, fields: []field{{name: key, value: &node{kind: literals, values: []string{"true"}}, required: true}}}
}

// Call writes a call as the model would have. Arguments are the JSON of an object, and stand in it as they are given.
func (f Form) Call(name string, arguments json.RawMessage) string {
	return `{` + args.Compact(f.Tool) + `: ` + args.Compact(name) + `, ` + args.Compact(f.Args) + `: ` + string(arguments) + `}`
}

// Final is what a model writes that is done.
func (f Form) Final() string { return `{"` + finalKey + `": true}` }
