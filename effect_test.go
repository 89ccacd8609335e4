package jackline_test

import (
	"testing"

	"github.com/jackline-ai/jackline"
)

// Reading may be done again, from wherever; what leaves the machine is held back with what acts.
func TestEffects(t *testing.T) {
	for e, want := range map[jackline.Effect]struct{ acts, leaves bool }{
		0:                                     {true, true},
		jackline.Pure:                         {false, false},
		jackline.Read:                         {false, false},
		jackline.Network:                      {false, true},
		jackline.Read | jackline.Network:      {false, true},
		jackline.Write:                        {true, true},
		jackline.Delete:                       {true, true},
		jackline.Exec:                         {true, true},
		jackline.Outward:                      {true, true},
		jackline.Configure:                    {true, true},
		jackline.Network | jackline.Outward:   {true, true},
		jackline.Configure << 1:               {true, true}, // one that is not known yet
		jackline.Network | jackline.Write:     {true, true},
		jackline.Pure | jackline.Configure<<3: {true, true},
	} {
		if e.Acts() != want.acts || e.Leaves() != want.leaves {
			t.Errorf("%s: acts %v, leaves %v", e, e.Acts(), e.Leaves())
		}
	}
}
