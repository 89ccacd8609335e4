package taught

import (
	"encoding/json"
	"testing"

	"github.com/jackline-ai/jackline/model"
)

func TestSignature(t *testing.T) {
	schema := `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"array","items":{"type":"integer"}},
		"c":{"type":"array","items":{"enum":["x","y"]}},"d":{"type":"object","properties":{"e":{"type":"boolean"}},"required":["e"]},
		"f":{"type":"number"},"g":{},"h":{"type":"array"},"i":{"type":"object"}},"required":["a"]}`
	d := detail{types: true, nested: true}
	want := `t(a: string, b?: int[], c?: list of "x"|"y", d?: {e: bool}, f?: number, g?, h?: list, i?: object)`
	if got := d.signature(model.Tool{Name: "t", Schema: json.RawMessage(schema)}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := d.signature(model.Tool{Name: "t", Schema: json.RawMessage(`[`)}); got != "t(…)" {
		t.Error(got)
	}
}
