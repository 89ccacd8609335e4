package crowd_test

import (
	"testing"

	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/tool/crowd"
)

// There are as many tools as were asked for, no two of one name, and what is pinned comes first.
func TestFill(t *testing.T) {
	own := builtin.All(builtin.Deps{})
	for n, want := range map[int]int{-1: 0, 0: 0, 3: 3, len(own): len(own), 50: 50, crowd.Most: crowd.Most, crowd.Most + 1: crowd.Most} {
		tools := crowd.Fill(own, n)
		if len(tools) != want {
			t.Errorf("%d: %d tools", n, len(tools))
		}
		if _, err := tool.NewSet(tools...); err != nil {
			t.Errorf("%d: %v", n, err)
		}
		for k, x := range tools[:min(len(tools), 7)] {
			if x.Facts().Pin != tool.PinSmall {
				t.Errorf("%d: tool %d is %s", n, k, x.Facts().Name)
			}
		}
	}
}
