// Package contract says what a context window holds: how much of it each part of a request may take.
//
// The figures stand in one table. What builds a request, what fits it, what describes tools and what prints the contract
// for a person read the same row, so that none of them can promise what another does not keep. Characters are those of
// the request as it is written out; a window is counted in tokens.
package contract

import "fmt"

// The windows, in tokens, from which on a row of the table counts. Small is the least that a turn with tools fits into.
const (
	Small  = 4096
	Middle = 8192
	Large  = 16384
	Huge   = 32768
)

// CharsPerToken is the first guess, before an engine has counted: close for English and for code, and for other scripts
// once their letters are weighed.
const CharsPerToken = 3.5

// A Contract is the budgets of one window, in characters unless they say something else.
type Contract struct {
	Window int // tokens

	// Fixed is the whole of what stands in front of the conversation when somebody says hello in an empty folder: rules,
	// tools and workspace. NativeBytes is the same as bytes of a whole request where the engine has tool calls of its own,
	// whose schemas are JSON.
	Fixed, NativeBytes int

	Rules     int // who the model is, and the house rules
	Tools     int // how to call tools, and the tools that are offered
	Names     int // of it the names of tools that are not offered
	Workspace int // where the model is, and what it may do

	// Instructions and Skills stand in front of every conversation where there are any.
	Instructions int // a trusted folder's AGENTS.md
	Skills       int // the catalogue of skills
	Summary      int // of what a compaction took out of the history

	// What stands in the prompt's own message.
	Found   int // tools that its words point at
	Context int // what was looked up ahead
	Files   int // what was attached

	Result  int // one result
	Results int // all results together

	Picked  int // how many tools beside the pinned ones a session's first prompt may have offered
	Points  int // how many further tools one prompt may have described
	Reserve int // tokens kept free for the answer
}

// rows are the budgets that do not follow from the window's size alone, by the window from which on they count.
//
// A small model reads its tools with every request and chooses worse the more there are; so a window of 4k affords seven of
// them in few words, and no larger one affords all. At 4k and 8k the pinned tools fill the budget.
func rows() []Contract {
	return []Contract{
		{Window: Small, Fixed: 2100, NativeBytes: 4100, Rules: 620, Tools: 1300, Names: 250, Workspace: 180, Skills: 300, Found: 400, Points: 2},
		{Window: Middle, Fixed: 3500, NativeBytes: 5000, Rules: 700, Tools: 2300, Names: 400, Workspace: 500, Skills: 800, Found: 900, Points: 4},
		{Window: Large, Fixed: 6000, NativeBytes: 9000, Rules: 700, Tools: 4800, Names: 800, Workspace: 500, Skills: 2000, Found: 1600, Picked: 8, Points: 5},
		{Window: Huge, Fixed: 12000, NativeBytes: 16000, Rules: 700, Tools: 10800, Names: 1600, Workspace: 500, Skills: 4000, Found: 2400, Picked: 20, Points: 5},
	}
}

// The shares of a window, and the most of them in characters where windows are large: what the task itself reads needs the room.
const (
	instructionsShare = 0.1
	instructionsMost  = 8000
	contextShare      = 0.125
	contextMost       = 6000
	filesShare        = 0.3 // no compaction touches them while their turn runs
	summaryMost       = 1600

	// One result: a quarter, so that two can be compared. More than some pages a small model does not take in at once, and asks for
	// page by page; a huge window reads most source files whole.
	resultShare = 0.25
	resultLeast = 800 // some lines, even where the window is too small
	resultMost  = 6000
	resultHuge  = 20_000

	// All results: below Middle less, for there the fixed part takes more of the window.
	resultsShare      = 0.5
	resultsShareSmall = 0.4

	// The answer, in tokens: a quarter, which is a page even in the smallest window, and no more than a long answer takes.
	reservePart  = 4 // of so many
	reserveLeast = 256
	reserveMost  = 2048
)

// Of is the contract for a window of so many tokens. Below [Small] it is that of Small: see [TooSmall].
func Of(window int) Contract {
	var c Contract
	for _, row := range rows() {
		if window >= row.Window || row.Window == Small {
			c = row
		}
	}
	chars := float64(window) * CharsPerToken
	c.Window = window
	c.Instructions = min(int(chars*instructionsShare), instructionsMost)
	c.Summary = summaryMost
	c.Context = min(int(chars*contextShare), contextMost)
	c.Files = int(chars * filesShare)
	c.Result = min(max(int(chars*resultShare), resultLeast), resultMost)
	if window >= Huge {
		c.Result = resultHuge
	}
	share := resultsShare
	if window < Middle {
		share = resultsShareSmall
	}
	c.Results = int(chars * share)
	c.Reserve = min(max(window/reservePart, reserveLeast), reserveMost)
	return c
}

// Budget is what a request may take, in tokens: the window less what is kept free for the answer.
func (c Contract) Budget() int { return c.Window - c.Reserve }

// ForTools is what the offered tools may take, in characters, less the names of others: as schemas where the engine has tool calls of its
// own, and otherwise as signatures, with how to call them.
func (c Contract) ForTools(native bool) int {
	if native {
		return c.NativeBytes - c.Rules - c.Workspace - c.Names
	}
	return c.Tools - c.Names
}

// Brief reports whether tools are taught in few words.
func (c Contract) Brief() bool { return c.Window < Middle }

// TooSmall says why a window is too small to work with, in a sentence for a person, or is "" where it is not.
func TooSmall(model string, window int) string {
	if window >= Small {
		return ""
	}
	whose := "The model has"
	if model != "" {
		whose = "The model " + model + " has"
	}
	c := Of(Small)
	return fmt.Sprintf("%s a window of %d tokens; Jackline needs at least %d: about %d for rules and tools, up to %d for results, %d for the answer, and the rest for the conversation. "+
		"Start the engine with a larger context (--num-ctx, -c) or set --window if this is wrong.",
		whose, window, Small, int(float64(c.Fixed)/CharsPerToken), int(float64(c.Results)/CharsPerToken), c.Reserve)
}
