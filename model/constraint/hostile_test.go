package constraint_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	jackline "github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/constraint"
	"github.com/jackline-ai/jackline/model/constraint/constrainttest"
)

// compiled checks what holds for every constraint, and gives the grammar.
func compiled(t *testing.T, tools []model.Tool) *constrainttest.Grammar {
	t.Helper()
	var g *constrainttest.Grammar
	for _, knob := range []model.Knob{model.KnobGrammar, model.KnobFormat, model.KnobStructured, model.KnobStrict} {
		c, err := constraint.Envelope().Compile(tools, knob)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(c.Schema) + len(c.Grammar); n > 96<<10 {
			t.Errorf("%s: %d bytes", knob, n)
		}
		if knob == model.KnobGrammar {
			if g, err = constrainttest.ParseGrammar(c.Grammar); err != nil {
				t.Fatalf("%v\n%s", err, c.Grammar)
			}
			continue
		}
		if _, err := constrainttest.ParseSchema(c.Schema); err != nil {
			t.Fatalf("%v\n%s", err, c.Schema)
		}
		if err := constrainttest.Strict(c.Schema); err != nil && knob == model.KnobStrict {
			t.Errorf("%v\n%s", err, c.Schema)
		}
	}
	return g
}

// Whatever a schema holds, the constraint is bounded, can be compiled, and lets plain calls through.
func TestHostileSchemas(t *testing.T) {
	nested := func(n int) string {
		return strings.Repeat(`{"type":"object","properties":{"a":`, n) + `{"type":"string"}` + strings.Repeat(`}}`, n)
	}
	many := func(n int, one string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(one, "N", strconv.Itoa(i))
		}
		return strings.Join(all, ",")
	}
	for name, test := range map[string]struct{ schema, call string }{
		"none":                   {``, `{}`},
		"no schema":              {`[`, `{"any":1}`},
		"a number":               {`7`, `{"any":1}`},
		"true":                   {`true`, `{"any":["x"]}`},
		"a list":                 {`{"type":"array"}`, `{"any":1}`},
		"deep":                   {`{"type":"object","properties":{"x":` + nested(60) + `}}`, `{"x":{"a":{"a":{"a":{"a":{"a":{"a":"b"}}}}}}}`},
		"deeper than a reader":   {nested(500), `{"a":{"a":{}}}`},
		"itself":                 {`{"type":"object","properties":{"next":{"$ref":"#"},"v":{"type":"integer"}},"required":["v"]}`, `{"v":1,"next":{"v":2,"next":{"v":3}}}`},
		"two of each other":      {`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"array","items":{"$ref":"#/$defs/b"}},"b":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"string"}]}}}`, `{"a":["x",["y"]]}`},
		"nothing but itself":     {`{"$ref":"#"}`, `{"any":1}`},
		"all of itself":          {`{"type":"object","allOf":[{"$ref":"#"},{"properties":{"a":{"type":"string"}}}]}`, `{"a":"x"}`},
		"a reference to nothing": {`{"type":"object","properties":{"a":{"$ref":"#/nope"},"b":{"$ref":"http://elsewhere.example/x"},"c":{"$ref":7}}}`, `{"a":1,"b":"x","c":null}`},
		"a huge choice":          {`{"type":"object","properties":{"a":{"enum":[` + many(5000, `"value N"`) + `]}}}`, `{"a":"anything"}`},
		"a wide choice":          {`{"type":"object","properties":{"a":{"anyOf":[` + many(300, `{"const":N}`) + `]}}}`, `{"a":1}`},
		"no choice":              {`{"type":"object","properties":{"a":{"enum":[]},"b":{"anyOf":[]},"c":{"type":[]}}}`, `{"a":1,"b":2,"c":3}`},
		"many properties":        {`{"type":"object","properties":{` + many(3000, `"pN":{"type":"object","properties":{"q":{"type":"array","items":{"type":"string"}}}}`) + `}}`, `{"p0":{"q":["x"]},"p1":{}}`},
		"long names":             {`{"type":"object","properties":{"` + strings.Repeat("n", 5000) + `":{"type":"string"},"a":{"type":"string"}}}`, `{"a":"x"}`},
		"strange names":          {`{"type":"object","properties":{"a\"\\\n\u0000]::=|root":{"type":"string"},"":{"type":"boolean"}},"required":[""]}`, `{"":true,"a\"\\\n\u0000]::=|root":"x"}`},
		"patterns":               {`{"type":"object","properties":{"a":{"type":"string","pattern":"(a+)+$","format":"uri"}}}`, `{"a":"x"}`},
		"wild bounds":            {`{"type":"object","properties":{"a":{"type":"string","minLength":1e9,"maxLength":-1},"b":{"type":"integer","minimum":1e400,"maximum":"x"},"c":{"type":"array","minItems":99999999},"d":{"type":"number","minimum":5,"maximum":1},"e":{"type":"string","minLength":2.5}}}`, `{"a":"","b":7,"c":[],"d":-3.5,"e":"x"}`},
		"required unknown":       {`{"type":"object","properties":{"a":{"type":"string"}},"required":["b",7,"a","b"]}`, `{"a":"x","b":[1]}`},
		"types as they are not":  {`{"type":"object","properties":[1],"required":"a","additionalProperties":"x"}`, `{}`},
		"a tuple":                {`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"integer"}]}}}`, `{"a":["x",1]}`},
	} {
		t.Run(name, func(t *testing.T) {
			tools := []model.Tool{{Name: "t", Schema: json.RawMessage(test.schema), Body: "a"}}
			g := compiled(t, tools)
			call := `{"tool":"t","args":` + test.call + `}`
			if !g.Accepts(call) {
				c, _ := constraint.Envelope().Compile(tools, model.KnobGrammar)
				t.Errorf("the grammar does not accept %s:\n%.3000s", call, c.Grammar)
			}
			rnd := rand.New(rand.NewPCG(1, 1))
			for range 20 {
				answer := g.Sample(rnd)
				if _, ok := constraint.Envelope().Read(answer, tools); !ok {
					t.Errorf("%.300s cannot be read", answer)
				}
			}
		})
	}
}

// Many tools with much to say are cut down until the whole is small enough; what is still too much is an error.
func TestManyTools(t *testing.T) {
	var tools []model.Tool
	for i := range 200 {
		var properties []string
		for k := range 40 {
			properties = append(properties, fmt.Sprintf(`"property_%d":{"type":"object","properties":{"inner":{"type":"string","enum":["one","two","three"]}}}`, k))
		}
		tools = append(tools, model.Tool{Name: fmt.Sprintf("tool_%d", i), Schema: json.RawMessage(`{"type":"object","properties":{` + strings.Join(properties, ",") + `}}`)})
	}
	if g := compiled(t, tools); !g.Accepts(`{"tool":"tool_199","args":{"property_0":"x"}}`) {
		t.Error("the last tool cannot be called")
	}
	for name, bad := range map[string][]model.Tool{
		"none": nil, "too many": slices.Repeat(tools, 2), "no name": {{}}, "a long name": {{Name: strings.Repeat("n", 300)}}, "a broken name": {{Name: "\xff"}},
	} {
		if _, err := constraint.Envelope().Compile(bad, model.KnobGrammar); jackline.KindOf(err) != jackline.Invalid || jackline.Say(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
	twice := []model.Tool{{Name: "a", Schema: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}`)}, {Name: "a"}}
	if g := compiled(t, twice); g.Accepts(`{"tool":"a","args":{}}`) || !g.Accepts(`{"tool":"a","args":{"x":"y"}}`) {
		t.Error("the second of two tools with one name counts")
	}
}

// Ranges of whole numbers are exact: all numbers around their edges are tried.
func TestRanges(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for range 150 {
		low := int64(rnd.IntN(20_000) - 10_000)
		high := low + int64(rnd.IntN(1+rnd.IntN(12_000)))
		schema := fmt.Sprintf(`{"type":"object","properties":{"n":{"type":"integer","minimum":%d,"maximum":%d}},"required":["n"]}`, low, high)
		c, err := constraint.Envelope().Compile([]model.Tool{{Name: "t", Schema: json.RawMessage(schema)}}, model.KnobGrammar)
		if err != nil {
			t.Fatal(err)
		}
		g, err := constrainttest.ParseGrammar(c.Grammar)
		if err != nil {
			t.Fatalf("%v\n%s", err, c.Grammar)
		}
		try := []int64{0, 1, -1, 9, 10, 99, 100, 999, 1000, 9999, 10_000, -10, -100, low*10 + 1, high * 10}
		for d := int64(-12); d <= 12; d++ {
			try = append(try, low+d, high+d)
		}
		for range 20 {
			try = append(try, low+rnd.Int64N(high-low+1))
		}
		for _, n := range try {
			if got, want := g.Accepts(fmt.Sprintf(`{"tool":"t","args":{"n":%d}}`, n)), low <= n && n <= high; got != want {
				t.Fatalf("%d in %d to %d: %v\n%s", n, low, high, got, c.Grammar)
			}
		}
	}
}

// A body stands in the call up to its limit, or apart.
func TestBody(t *testing.T) {
	f := constraint.Envelope()
	tools := []model.Tool{{Name: "w", Body: "c", Schema: json.RawMessage(`{"type":"object","properties":{"p":{"type":"string"},"c":{"type":"string"}},"required":["p","c"]}`)}}
	g := compiled(t, tools)
	for args, want := range map[string]bool{
		`{"p":"a","c":"x"}`: true, `{"p":"a","c":{"later":true}}`: true, `{"p":"a","c":{"later": true}}`: true, `{"p":{"later":true},"c":"x"}`: false,
		`{"p":"a","c":"` + strings.Repeat("ä", constraint.Inline) + `"}`: true, `{"p":"a","c":"` + strings.Repeat("ä", constraint.Inline+1) + `"}`: false,
	} {
		if got := g.Accepts(`{"tool":"w","args":` + args + `}`); got != want {
			t.Errorf("%.60s: %v", args, got)
		}
	}
	for answer, want := range map[string]string{
		`{"tool":"w","args":{"p":"a","c":"x"}}`:                                              "",
		`{"tool":"w","args":{"p":"a","c":{"later":true}}}`:                                   "c",
		`{"tool":"w","args":{"p":"a","c":"` + strings.Repeat("ä", constraint.Inline) + `"}}`: "c",
	} {
		step, ok := f.Read(answer, tools)
		if _, there := step.Args.Get("c"); !ok || step.Body != want || there != (want == "") {
			t.Errorf("%.60s: %+v", answer, step)
		}
	}
	if f.Long(strings.Repeat("ä", constraint.Inline-1)) || (constraint.Form{}).Long(strings.Repeat("x", 9999)) {
		t.Error("short bodies count as long")
	}
}

func TestNamed(t *testing.T) {
	f := constraint.Envelope()
	for begin, want := range map[string]string{
		`{"tool": "read", "ar`: "read", ` { "tool" : "re\"ad"`: `re"ad`, `{"step":{"tool":"x"`: "x", `{"tool": "rea`: "", `{"too`: "", "": "", `{"final": true}`: "",
		`{"args":{"tool":"x"}`: "", `{"tool":7`: "", `{"tool":"a\`: "", `{"tool": "` + strings.Repeat("n", 500): "",
	} {
		if got, at, _ := f.Named(begin); got != want || got != "" && begin[at-1] != '"' {
			t.Errorf("%.40s: %q, want %q", begin, got, want)
		}
	}
}

// FuzzCompile compiles whatever a server calls a schema.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"$ref":"#"}`, `{"allOf":[{"$ref":"#/allOf/0"}]}`, `{"type":"object","properties":{"n":{"type":"number","minimum":0.2,"maximum":0.3}}}`,
		`{"type":"object","properties":{"n":{"type":"integer","exclusiveMinimum":true,"minimum":-5}}}`, `{"properties":{"a":{"items":{"items":{}}}}}`, `[`, `{"type":"object","required":["x"]}`, "{\"properties\":{\"\x84\":{}}}",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, schema string) {
		tools := []model.Tool{{Name: "t", Schema: json.RawMessage(schema), Body: "a"}}
		g := compiled(t, tools)
		answer := g.Sample(rand.New(rand.NewPCG(1, 2)))
		if _, ok := constraint.Envelope().Read(answer, tools); !ok || !json.Valid([]byte(answer)) {
			t.Errorf("%s cannot be read", answer)
		}
	})
}

// FuzzRead reads whatever a model writes.
func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"tool":"t","args":{"a":"x"}}`, `{"final":true}`, `{"step":{"final":true}}`, `{"tool":"t","args":{"a":{"later":true}}}`, `{`, `{"tool":"t","args":`} {
		f.Add(s)
	}
	tools := []model.Tool{{Name: "t", Body: "a", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"o":{"type":"object","properties":{"x":{"type":"integer"}}}},"required":["a"]}`)}}
	f.Fuzz(func(t *testing.T, answer string) {
		step, ok := constraint.Envelope().Read(answer, tools)
		if ok && !step.Final && (step.Name != "t" || step.Args == nil) {
			t.Errorf("%+v", step)
		}
		constraint.Envelope().Named(answer)
	})
}
