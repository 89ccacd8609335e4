package turn_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

// The setting bounds from above what a compaction keeps; without it, as much is kept as fits.
func TestHistoryIsAnUpperBound(t *testing.T) {
	kept := func(most int) int {
		var says strings.Builder
		for n := range 100 {
			fmt.Fprintf(&says, "=== %d\n%s\n", n+1, strings.Repeat("so ", 30))
		}
		b := newBench(t, options{Window: 4096, Native: true, Agent: jackline.AgentSettings{History: most}}, says.String())
		ctx := context.Background()
		for range 60 {
			b.turn(t, strings.Repeat("and ", 25), nil)
			s, err := b.db.Session(ctx, jackline.Local, b.session.ID)
			if err != nil {
				t.Fatal(err)
			}
			if s.Gen > 0 {
				items, err := b.db.History(ctx, jackline.Local, b.session.ID)
				if err != nil {
					t.Fatal(err)
				}
				return len(items)
			}
		}
		t.Fatal("no compaction")
		return 0
	}
	all, few := kept(0), kept(10)
	// Besides what is kept there are the summary, a note where the rest would begin with the model's words, and the answer.
	if few > 10+3 || all <= few {
		t.Errorf("kept %d items, and %d where 10 were the most", all, few)
	}
}
