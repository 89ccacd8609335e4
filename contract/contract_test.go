package contract_test

import (
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/contract"
)

// What is promised for the windows that people have.
func TestPromises(t *testing.T) {
	for window, want := range map[int]struct {
		fixed, tools, results, result, reserve int
	}{
		4096:    {2100, 1300, 5734, 3584, 1024},
		6000:    {2100, 1300, 8400, 5250, 1500},
		8192:    {3500, 2300, 14336, 6000, 2048},
		16384:   {6000, 4800, 28672, 6000, 2048},
		32768:   {12000, 10800, 57344, 20000, 2048},
		1 << 20: {12000, 10800, 1835008, 20000, 2048},
	} {
		c := contract.Of(window)
		got := want
		got.fixed, got.tools, got.results, got.result, got.reserve = c.Fixed, c.Tools, c.Results, c.Result, c.Reserve
		if got != want || c.Window != window {
			t.Errorf("%d: %+v, want %+v", window, got, want)
		}
	}
}

// The parts of what is fixed fit into it, and all that can stand in a window at once leaves room for a conversation: a larger
// window never gives a part less.
func TestPartsFit(t *testing.T) {
	before := contract.Contract{}
	for window := contract.Small; window <= 1<<18; window += 509 {
		c := contract.Of(window)
		if c.Rules+c.Tools+c.Workspace > c.Fixed || c.Names > c.Tools {
			t.Errorf("%d: the parts take more than %d: %+v", window, c.Fixed, c)
		}
		fixed := c.Fixed + c.Instructions + c.Skills + c.Summary
		if left := c.Budget() - int(float64(fixed)/contract.CharsPerToken); left < c.Window/4 {
			t.Errorf("%d: %d tokens are left for the conversation", window, left)
		}
		if c.Fixed < before.Fixed || c.Tools < before.Tools || c.Instructions < before.Instructions || c.Skills < before.Skills ||
			c.Results < before.Results || c.Result < before.Result || c.Picked < before.Picked || c.Found < before.Found || c.Budget() < before.Budget() {
			t.Errorf("%d: less than a smaller window has: %+v, %+v", window, before, c)
		}
		before = c
	}
}

func TestTooSmall(t *testing.T) {
	if say := contract.TooSmall("m", contract.Small); say != "" {
		t.Error(say)
	}
	say := contract.TooSmall("tiny", 2048)
	for _, want := range []string{"tiny", "2048", "at least 4096", "600 for rules and tools", "1638 for results", "1024 for the answer", "--num-ctx"} {
		if !strings.Contains(say, want) {
			t.Errorf("%q is missing in %q", want, say)
		}
	}
}

func TestLetters(t *testing.T) {
	for _, c := range []struct {
		text        string
		limit, want int
	}{{"", 10, 0}, {"abc", 10, 3}, {"abcdef", 4, 4}, {"日本語日本語日本語日", 35, 10}, {"日本語日本語日本語日", 14, 4}, {"äöüäöü", 3, 2}} {
		if got := contract.Letters(c.text, c.limit); got != c.want {
			t.Errorf("%q, %d: %d, want %d", c.text, c.limit, got, c.want)
		}
	}
}

// Letters weigh what they take: of a script with thousands of letters each is about a token.
func TestWeight(t *testing.T) {
	for text, want := range map[string]int{
		"": 0, "plain text": 10, "ä": 2, "äö": 3, "Привет": 9, "日本語": 11, "日本語日": 14, "한국": 7, "🙂": 7, "a日b": 6, "\xff\x80": 7, "ไทย": 11,
	} {
		if got := contract.Weight(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}
