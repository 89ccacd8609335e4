package args_test

import (
	"encoding/json"
	"testing"

	"github.com/jackline-ai/jackline/args"
)

func TestSignature(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"},"deep":{"type":"boolean"},
		"how":{"enum":["a","b",1]},"list":{"type":"array","items":{"type":"string"}},"any":{"type":"array"},
		"rows":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"string"}},"required":["x"]}}},"required":["path"]}`)
	for want, d := range map[string]args.Detail{
		`look(path, n?: int, deep?: bool, how?: "a"|"b"|1, list?: string[], any?: list, rows?: object[])`:                                {},
		`look(path, n?: int, deep?: bool, how?: "a"|"b"|1, list?: string[], any?: list, rows?: list of {x: number, y?})`:                 {Nested: true},
		`look(path: string, n?: int, deep?: bool, how?: "a"|"b"|1, list?: string[], any?: list, rows?: list of {x: number, y?: string})`: {Nested: true, Text: true},
	} {
		if got := args.Signature("look", schema, d); got != want {
			t.Errorf("%+v:\n%s\n%s", d, got, want)
		}
	}
	if got := args.Signature("odd", json.RawMessage(`[`), args.Detail{}); got != "odd(…)" {
		t.Error(got)
	}
}

func TestSignatureOfOddTypes(t *testing.T) {
	schema := `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"integer"}},
		"c":{"type":"array","items":{"enum":["x","y"]}},"d":{"type":"object","properties":{"e":{"type":"boolean"}},"required":["e"]},
		"f":{"type":"number"},"g":{},"h":{"type":"array"},"i":{"type":"object"}},"required":["a"]}`
	want := `t(a: string, b?: int[], c?: list of "x"|"y", d?: {e: bool}, f?: number, g?, h?: list, i?: object)`
	if got := args.Signature("t", json.RawMessage(schema), args.Detail{Text: true, Nested: true}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
