package builtin

import (
	"testing"

	"github.com/jackline-ai/jackline"
)

func TestCalculator(t *testing.T) {
	w := newWork(t, nil)
	if r := w.ok(t, "calc", m{"expression": "6*7"}); r.Text != "6*7 = 42" || r.Source != jackline.Ours || r.Labels.Tainted {
		t.Errorf("%+v", r.Call)
	}
	w.fails(t, "calculator", m{"expression": "six"}, "known")
}
