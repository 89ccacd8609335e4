package args

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

func mustParse(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := Parse(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const city = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`

const mixed = `{"type":"object","properties":{
	"n":{"type":"number"},"i":{"type":["null","integer"]},"b":{"type":"boolean"},"s":{"type":"string"},
	"l":{"type":"array","items":{"type":"integer"}},"o":{"type":"object","properties":{"b":{"type":"boolean"}}},
	"any":{},"text":{"type":"string"}}}`

func TestShape(t *testing.T) {
	tests := []struct{ name, schema, written, want string }{
		{"as it should be", city, `{"city": "Oslo", "days": 2}`, `{"city":"Oslo","days":2}`},
		{"JSON in a string", city, `"{\"city\": \"Oslo\"}"`, `{"city":"Oslo"}`},
		{"three times", city, `"\"\\\"{\\\\\\\"city\\\\\\\": 1}\\\"\""`, `{"city":"1"}`},
		{"wrapped", city, `{"arguments": {"params": {"city": "Oslo"}}}`, `{"city":"Oslo"}`},
		{"wrapped as text", city, `{"arguments": "{\"city\": \"Oslo\"}"}`, `{"city":"Oslo"}`},
		{"wrapped three times", city, `{"args": {"args": {"args": {"city": "Oslo"}}}}`, `{}`},
		{"no wrapper", `{"properties":{"input":{"type":"string"}}}`, `{"input": "x"}`, `{"input":"x"}`},
		{"plain text", city, `"Oslo"`, `{"city":"Oslo"}`},
		{"quoted phrases", city, `"\"a\" and \"b\""`, `{"city":"\"a\" and \"b\""}`},
		{"text in brackets", city, `"[draft] plan"`, `{"city":"[draft] plan"}`},
		{"a number", city, `7`, `{"city":"7"}`},
		{"a list of one object", city, `[{"city": "Oslo"}]`, `{"city":"Oslo"}`},
		{"a list of one text", city, `["Oslo"]`, `{"city":"Oslo"}`},
		{"a list of two", city, `["Oslo", "Bergen"]`, `{}`},
		{"a list for a list", `{"properties":{"l":{"type":"array"}},"required":["l"]}`, `[1, {"a": 2}]`, `{"l":[1,{"a":2}]}`},
		{"the only parameter", `{"properties":{"zone":{"type":"string"}}}`, `"UTC"`, `{"zone":"UTC"}`},
		{"no only parameter", mixed, `"UTC"`, `{}`},
		{"null", city, `null`, `{}`},
		{"unknown keys", city, `{"city": "Oslo", "City": "x", "mood": 1}`, `{"city":"Oslo"}`},
		{"unknown keys allowed", `{"properties":{},"additionalProperties":true}`, `{"x": 1}`, `{"x":1}`},
		{"tex", mixed, `{"tex": "x"}`, `{"text":"x"}`},
		{"tex beside text", mixed, `{"tex": "x", "text": "y"}`, `{"text":"y"}`},
		{"numbers", mixed, `{"n": "12e2", "i": "5.0"}`, `{"i":5,"n":1200}`},
		{"no numbers", mixed, `{"n": "many", "i": true}`, `{"i":true,"n":"many"}`},
		{"a fraction", mixed, `{"i": "5.5"}`, `{"i":5.5}`},
		{"booleans", mixed, `{"b": "YES"}`, `{"b":true}`},
		{"0 is false", mixed, `{"b": 0}`, `{"b":false}`},
		{"2 is nothing", mixed, `{"b": 2}`, `{"b":2}`},
		{"texts", mixed, `{"s": {"b": 1, "a": [true, "é<"]}}`, `{"s":"{\"b\":1,\"a\":[true,\"é<\"]}"}`},
		{"words to a list", mixed, `{"l": "3, 14,,15"}`, `{"l":[3,14,15]}`},
		{"JSON to a list", mixed, `{"l": "[\"3\", 4]"}`, `{"l":[3,4]}`},
		{"one to a list", mixed, `{"l": 7}`, `{"l":[7]}`},
		{"JSON to an object", mixed, `{"o": "{\"b\": \"on\", \"x\": 1}"}`, `{"o":{"b":true,"x":1}}`},
		{"nulls", mixed, `{"n": null, "i": null, "any": null, "o": {"b": null, "x": null}}`, `{"any":null,"i":null,"o":{"x":null}}`},
		{"no type", mixed, `{"any": "5"}`, `{"any":"5"}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			written, err := Strict([]byte(test.written))
			if err != nil {
				t.Fatal(err)
			}
			got, err := Canonical(mustParse(t, test.schema).Shape(written))
			if err != nil || string(got) != test.want {
				t.Errorf("got %s %v\nwant %s", got, err, test.want)
			}
		})
	}
}

func TestFit(t *testing.T) {
	s := mustParse(t, city)
	for _, test := range []struct {
		text, want string
		cut        bool
	}{
		{`{'days': '3', 'city': 'Oslo'}`, `{"city":"Oslo","days":3}`, false},
		{`Oslo`, `{"city":"Oslo"}`, false},
		{`Oslo, Norway`, `{"city":"Oslo, Norway"}`, false},
		{``, `{"city":""}`, false},
		{`{"city": "Os`, `{"city":"Os"}`, true},
	} {
		got, cut := s.Fit(test.text)
		if string(got) != test.want || cut != test.cut {
			t.Errorf("Fit(%q) = %s, %v", test.text, got, cut)
		}
	}
}

func TestValidate(t *testing.T) {
	s := mustParse(t, `{"type":"object","properties":{
		"path":{"type":"string","minLength":1},"from":{"type":"integer","minimum":1,"maximum":9},
		"unit":{"enum":["metric","imperial"]},"list":{"type":"array","items":{"type":"number"}},
		"sub":{"type":"object","properties":{"x":{"type":["string","null"],"maxLength":2}},"required":["x"]}},
		"required":["path"],"additionalProperties":false}`)
	tests := []struct{ object, want string }{
		{`{"path":"a","from":2.0,"unit":"metric","list":[1,2.5],"sub":{"x":null,"y":1}}`, ``},
		{`{}`, `"path" is required: a string`},
		{`{"path":"","from":"abc"}`, `"path" must not be empty; "from" must be an integer, got "abc"`},
		{`{"path":"a","from":0}`, `"from" must be at least 1, got 0`},
		{`{"path":"a","from":10}`, `"from" must be at most 9, got 10`},
		{`{"path":"a","from":2.5}`, `"from" must be an integer, got 2.5`},
		{`{"path":"a","unit":"feet"}`, `"unit" must be one of "metric", "imperial", got "feet"`},
		{`{"path":"a","list":[1,"x"]}`, `"list[1]" must be a number, got "x"`},
		{`{"path":"a","sub":{}}`, `"sub.x" is required: a string or null`},
		{`{"path":"a","sub":{"x":5}}`, `"sub.x" must be a string or null, got 5`},
		{`{"path":"a","sub":{"x":"abc"}}`, `"sub.x" must have at most 2 characters, got 3`},
		{`{"path":"a","name":1}`, `"name" is not known here; use path, from, unit, list, sub`},
		{`[1]`, `the arguments must be an object, got an array`},
		{`{`, `the arguments are not valid JSON`},
		{`{"path":"a","list":["a","b","c","d","e","f"]}`, `"list[0]" must be a number, got "a"; "list[1]" must be a number, got "b"; "list[2]" must be a number, got "c"; "list[3]" must be a number, got "d"; "list[4]" must be a number, got "e"`},
	}
	for _, test := range tests {
		got := ""
		if err := s.Validate(json.RawMessage(test.object)); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.object, got, test.want)
		}
	}
}

// TestCheck asks that each sentence says what is wrong and what to write instead.
func TestCheck(t *testing.T) {
	many := make([]string, 40)
	for i := range many {
		many[i] = fmt.Sprintf("%q", "value"+strconv.Itoa(i))
	}
	s := mustParse(t, `{"type":"object","properties":{
		"path":{"type":"string"},"max_results":{"type":"integer","minimum":1},"unit":{"type":"string","enum":["metric","imperial"]},
		"ids":{"type":"array","items":{"type":"integer"}},"one":{"enum":[`+strings.Join(many, ",")+`]},
		"sub":{"type":"object","properties":{"title":{"type":"string"},"due":{"type":"string"}},"required":["title"],"additionalProperties":false}},
		"required":["path"],"additionalProperties":false}`)
	tests := []struct{ written, want string }{
		{`{"path":"a","max_results":"5","ids":"1,2"}`, ``},
		{`{}`, `"path" is required: a string`},
		{`{"pth":"a"}`, `"path" is required: a string; you wrote "pth"`},
		{`{"file_path":"a"}`, `"path" is required: a string; you wrote "file_path"`},
		{`{"Path":"a"}`, `"path" is required: a string; you wrote "Path"`},
		{`{"other":"a"}`, `"path" is required: a string`},
		{`{"path":"a","max_results":"many"}`, `"max_results" must be an integer, got "many"`},
		{`{"path":"a","max_results":0}`, `"max_results" must be at least 1, got 0`},
		{`{"path":"a","unit":"Metric"}`, `"unit" must be one of "metric", "imperial", got "Metric"`},
		{`{"path":"a","ids":["x"]}`, `"ids[0]" must be an integer, got "x"`},
		{`{"path":"a","one":"valeu7"}`, `"one" must be one of "value7", "value0", "value1", "value2", "value3", "value4", "value5", "value6", "value8", "value9", "value17", "value27", …, got "valeu7"`},
		{`{"path":"a","sub":{"titel":"x"}}`, `"sub.title" is required: a string; you wrote "titel"; "sub.titel" is not known here; use title`},
		{`{"path":"a","sub":{"title":"x","deadline":"y"}}`, `"sub.deadline" is not known here; use title, due`},
		{`{"path":"a","sub":[1]}`, `"sub" must be an object, got an array`},
	}
	for _, test := range tests {
		written, err := Strict([]byte(test.written))
		if err != nil {
			t.Fatal(err)
		}
		shaped, err := s.Check(written)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s\n got %s\nwant %s", test.written, got, test.want)
		}
		if Compact(shaped) != Compact(s.Shape(written)) {
			t.Errorf("%s: shaped as %s", test.written, Compact(shaped))
		}
	}
	long := strings.Repeat("path", 10_000)
	o := &Object{}
	o.Set(long, "x")
	if _, err := s.Check(o); err == nil || len(err.Error()) > 400 {
		t.Errorf("a long name: %.500s", err)
	}
}

func TestParseRefusesNonsense(t *testing.T) {
	for _, text := range []string{`[]`, `{`, `"x"`, `{"items": 5}`} {
		if _, err := Parse(json.RawMessage(text)); err == nil {
			t.Errorf("Parse(%s) is content", text)
		}
	}
	if s := mustParse(t, ``); s.Validate(json.RawMessage(`{"a":1}`)) != nil {
		t.Error("no schema must allow everything")
	}
}

func TestFor(t *testing.T) {
	type line struct {
		Text string `json:"text"`
	}
	type arguments struct {
		Path   string            `json:"path" doc:"relative to the workspace" min:"1"`
		From   int               `json:"from,omitempty" doc:"first line" min:"1" max:"9"`
		Unit   string            `json:"unit,omitempty" enum:"metric, imperial"`
		Level  *int              `json:"level" enum:"1,2"`
		Ratio  float64           `json:"ratio,omitempty"`
		All    bool              `json:"all,omitempty"`
		Lines  []line            `json:"lines,omitempty" doc:"what to \"add\""`
		Extra  map[string]string `json:"extra,omitempty"`
		Hidden string            `json:"-"`
		hidden string
	}
	want := `{"type":"object","properties":{` +
		`"path":{"type":"string","description":"relative to the workspace","minLength":1},` +
		`"from":{"type":"integer","description":"first line","minimum":1,"maximum":9},` +
		`"unit":{"type":"string","enum":["metric","imperial"]},` +
		`"level":{"type":"integer","enum":[1,2]},` +
		`"ratio":{"type":"number"},` +
		`"all":{"type":"boolean"},` +
		`"lines":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false},"description":"what to \"add\""},` +
		`"extra":{"type":"object","additionalProperties":{"type":"string"}}},` +
		`"required":["path"],"additionalProperties":false}`
	if got := string(For[arguments]()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	_ = arguments{}.hidden
	mustParse(t, want)
}

func TestForPanics(t *testing.T) {
	type list struct {
		Next []*list `json:"next"`
	}
	for name, call := range map[string]func(){
		"channel": func() { For[chan int]() },
		"map":     func() { For[map[int]string]() },
		"limit": func() {
			For[struct {
				A int `json:"a" min:"few"`
			}]()
		},
		"endless": func() { For[list]() },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			call()
		}()
	}
}

func TestCanonical(t *testing.T) {
	tests := []struct {
		v    any
		want string
	}{
		{json.RawMessage(` {"b": 1, "a": {"d": [], "c": {}}} `), `{"a":{"c":{},"d":[]},"b":1}`},
		{map[string]any{"b": 1, "a": "<&>\u2028é\x01\t\""}, `{"a":"<&>` + "\u2028" + `é\u0001\t\"","b":1}`},
		{json.RawMessage(`[5, 5.0, 50e-1, 1.50, 0.0010, 1e2, -0.0, 1e21, 123456789012345678901, 1.5e-9, 1e300]`),
			`[5,5,5,1.5,0.001,100,0,1e21,123456789012345678901,1.5e-9,1e300]`},
		{"\xff", `"` + "\uFFFD" + `"`},
		{nil, `null`},
		{struct {
			Z int `json:"z"`
			A int `json:"a"`
		}{1, 2}, `{"a":2,"z":1}`},
	}
	for _, test := range tests {
		got, err := Canonical(test.v)
		if err != nil || string(got) != test.want {
			t.Errorf("got  %s %v\nwant %s", got, err, test.want)
		}
		again, err := Canonical(got)
		if err != nil || string(again) != string(got) {
			t.Errorf("again %s, %v", again, err)
		}
	}
	if _, err := Canonical(func() {}); err == nil {
		t.Error("a function has a canonical form")
	}
}

func TestObject(t *testing.T) {
	o := &Object{}
	for i := range 3 * indexed {
		o.Set(string(rune('a'+i)), i)
	}
	o.Set("b", "new")
	if v, ok := o.Get("b"); !ok || v != "new" || o.Len() != 3*indexed {
		t.Errorf("Get = %v, %v; Len = %d", v, ok, o.Len())
	}
	if _, ok := o.Get("?"); ok {
		t.Error("found what is not there")
	}
}
