package turn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

// Each request repeats the whole of the one before it, within a turn and from one turn to the next: an engine's cache always
// hits. Only the last line of what is compared may differ; it says which tools there are and whether calls are taken.
func TestRequestsRepeat(t *testing.T) {
	const steps = 20
	for _, native := range []bool{false, true} {
		var says strings.Builder
		for n := range steps - 1 {
			fmt.Fprintf(&says, "=== %d\n--- call file_read {\"path\": \"f%d.txt\"}\n", n+1, n)
		}
		fmt.Fprintf(&says, "=== %d\nRead.\n=== %d\n--- call find_tools {\"query\": \"copy\"}\n=== %d\nThat one.\n", steps, steps+1, steps+2)
		o := options{Native: native, Window: 32768}
		o.Turn.MaxSteps = steps
		o.Mode = jackline.ModeAllowReads
		b := newBench(t, o, says.String())
		for n := range steps {
			b.write(t, fmt.Sprintf("f%d.txt", n), fmt.Sprintf("this is file %d\n", n))
		}
		b.turn(t, "Read them all", nil)
		b.turn(t, "Which tool copies?", nil)
		sent := b.model.requests
		if len(sent) != steps+2 {
			t.Fatalf("native %v: %d requests", native, len(sent))
		}
		body := func(n int) (messages, tools string) {
			s := strings.TrimSuffix(sent[n], "\n")
			at := strings.LastIndexByte(s, '\n')
			tools, _, _ = strings.Cut(s[at:], ";")
			return s[:at], tools
		}
		for n := 1; n < len(sent); n++ {
			before, toolsBefore := body(n - 1)
			now, tools := body(n)
			if !strings.HasPrefix(now, before) || tools != toolsBefore {
				t.Errorf("native %v: request %d does not repeat the one before it:\n%s\n--\n%s", native, n+1, before, now)
				break
			}
		}
	}
}
