package constrainttest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline/args"
)

// A Tool is one that nobody wrote.
type Tool struct {
	Name   string
	Schema json.RawMessage
	Body   string // of its string arguments one that may be long, or ""
}

// Kinds say what made-up schemas do without, because an engine does.
type Kinds struct {
	NoLengths  bool // bounds on lengths
	NoHalfOpen bool // bounds of numbers that need not be whole, on one side only
	NoMaps     bool // objects with keys of the model's choice, and values of which nothing is known
}

// Tools makes up a set of tools as servers have them: one to four, with up to six arguments that are nested up to three
// levels deep.
func Tools(rnd *rand.Rand, k Kinds) []Tool {
	all := make([]Tool, 1+rnd.IntN(4))
	for i := range all {
		g := generator{rnd: rnd, kinds: k}
		t := Tool{Name: oneOf(rnd, []string{"look_up", "mcp__notes__find", "a", "Größe", "x-y.z", `quo"te`, `back\slash`}) + strconv.Itoa(i)}
		o := g.object(3, true)
		if names := g.texts; len(names) > 0 && rnd.IntN(3) == 0 {
			t.Body = oneOf(rnd, names)
		}
		if g.refs {
			o = strings.TrimSuffix(o, "}") + `,"$defs":{"point":{"type":"object","properties":{"x":{"type":"integer"},"y":{"type":"integer"}},"required":["y"]}}}`
		}
		t.Schema = json.RawMessage(o)
		all[i] = t
	}
	return all
}

type generator struct {
	rnd   *rand.Rand
	kinds Kinds
	refs  bool
	texts []string // plain string arguments of the tool itself
}

func (g *generator) chance(n int) bool { return g.rnd.IntN(n) == 0 }

func (g *generator) object(depth int, top bool) string {
	var properties, required []string
	for i := range g.rnd.IntN(6 - depth/2) {
		name := oneOf(g.rnd, []string{"path", "content", "n", "a b", `with "quotes"`, `\`, "naïve", "args", "tool", "$ref", "later"}) + strconv.Itoa(i)
		value := g.value(depth - 1)
		if top && strings.HasPrefix(value, `{"type":"string"}`) {
			g.texts = append(g.texts, name)
		}
		properties = append(properties, args.Compact(name)+":"+value)
		if g.chance(2) {
			required = append(required, args.Compact(name))
		}
	}
	o := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}`
	if len(required) > 0 || g.chance(3) {
		o += `,"required":[` + strings.Join(required, ",") + `]`
	}
	if g.chance(2) {
		o += `,"additionalProperties":false`
	}
	return o + `}`
}

func (g *generator) value(depth int) string {
	n := g.rnd.IntN(20)
	if depth <= 0 {
		n = g.rnd.IntN(14)
	}
	switch n {
	case 0, 1, 2:
		return `{"type":"string"}`
	case 3:
		return g.text()
	case 4, 5:
		return g.integer()
	case 6, 7:
		return g.number()
	case 8:
		return `{"type":"boolean","description":"whether, \"really\""}`
	case 9:
		return oneOf(g.rnd, []string{`{"enum":["a","b c","ü\n"]}`, `{"type":"string","enum":["x"]}`, `{"enum":[1,2.5,-3,null,true,"t"]}`, `{"const":"fixed"}`, `{"type":"integer","enum":[1,"no",2]}`})
	case 10:
		return oneOf(g.rnd, []string{`{"type":["string","null"]}`, `{"type":["integer","boolean"]}`, `{"type":"string","nullable":true}`, `{"type":["number","integer","null"]}`})
	case 11:
		return `{"anyOf":[` + g.integer() + `,{"type":"string"}]}`
	case 12:
		if g.kinds.NoMaps {
			return `{"type":"null"}`
		}
		return oneOf(g.rnd, []string{`{}`, `true`, `{"description":"anything"}`, `{"type":"array"}`})
	case 13:
		g.refs = true
		return `{"$ref":"#/$defs/point"}`
	case 14, 15:
		return g.object(depth, false)
	case 16:
		if g.kinds.NoMaps {
			return `{"type":"object","properties":{}}`
		}
		return `{"type":"object","additionalProperties":` + g.value(depth-1) + `}`
	case 17:
		return `{"oneOf":[` + g.value(depth-1) + `,{"type":"null"}]}`
	case 18:
		return `{"allOf":[` + g.object(depth, false) + `],"title":"joined"}`
	}
	o := `{"type":"array","items":` + g.value(depth-1)
	low := g.rnd.IntN(3)
	if g.chance(2) {
		o += fmt.Sprintf(`,"minItems":%d`, low)
	}
	if g.chance(3) {
		o += fmt.Sprintf(`,"maxItems":%d`, low+g.rnd.IntN(3))
	}
	return o + `}`
}

func (g *generator) text() string {
	if g.kinds.NoLengths {
		return `{"type":"string","title":"plain"}`
	}
	low := g.rnd.IntN(4)
	return oneOf(g.rnd, []string{
		fmt.Sprintf(`{"type":"string","minLength":%d}`, low), fmt.Sprintf(`{"type":"string","maxLength":%d}`, low+g.rnd.IntN(30)),
		fmt.Sprintf(`{"type":"string","minLength":%d,"maxLength":%d}`, low, low+g.rnd.IntN(3)),
	})
}

func (g *generator) integer() string {
	low := g.rnd.IntN(3000) - 1500
	high := low + g.rnd.IntN(2500)
	return oneOf(g.rnd, []string{
		`{"type":"integer"}`, fmt.Sprintf(`{"type":"integer","minimum":%d}`, low), fmt.Sprintf(`{"type":"integer","maximum":%d}`, high),
		fmt.Sprintf(`{"type":"integer","minimum":%d,"maximum":%d}`, low, high), fmt.Sprintf(`{"type":"integer","exclusiveMinimum":%d}`, low),
		`{"type":"integer","minimum":1,"maximum":10}`,
	})
}

func (g *generator) number() string {
	low := float64(g.rnd.IntN(400)-200) / 4
	high := low + 1 + float64(g.rnd.IntN(400))/4
	all := []string{
		`{"type":"number"}`, fmt.Sprintf(`{"type":"number","minimum":%g,"maximum":%g}`, low, high), `{"type":"number","minimum":0,"maximum":1}`,
		`{"type":"number","minimum":0.2,"maximum":0.8}`,
	}
	if !g.kinds.NoHalfOpen {
		all = append(all, fmt.Sprintf(`{"type":"number","minimum":%g}`, low), fmt.Sprintf(`{"type":"number","exclusiveMaximum":%g}`, high))
	}
	return oneOf(g.rnd, all)
}
