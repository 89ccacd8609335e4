// Package shell reads the text of commands. It never runs one: it imports nothing that could.
//
// [Judge] says what a command may do, by the rules that the corpus of cases is written from. It reads the whole text in
// the grammar of its shell and follows it: words are worked out as far as the text determines them, unknown ones are read
// both as nothing and as something, folders and variables and functions are kept track of, wrappers are looked through,
// and text that reaches another shell or interpreter is judged in turn. What nobody should run is refused; what is
// proved to read only, in the workspace, is said to; about everything else a person is asked. What the command would
// touch comes with it.
//
// [Check], [ReadOnly] and [Split] are what the policy asks. ReadOnly is stricter than the verdict: its list is
// deliberately short and knows no operand that names a file. Until there is a sandbox nothing else stands between a
// command and the machine, so that list holds only what cannot read a secret or run another program.
//
// Reading is bounded: a text has at most [MaxText] bytes, nests only so deep, and takes only so much work.
//
// The parts: shell/source reads texts into trees and words, shell/value holds what is known about words and paths,
// shell/posix is the judge, with the rules D and S, shell/windows judges PowerShell, cmd and the rules W, and
// shell/proof is the table of what only reads.
package shell

import "github.com/jackline-ai/jackline/shell/source"

// MaxText is the size of the longest command that is read, in bytes. What is longer is refused.
const MaxText = source.MaxText

// Normal is the text as it is judged, and as it has to be run: with the line ends of Unix.
func Normal(command string) string { return source.Normal(command) }

// Word is one word of a command. Text is what the shell would make of it; it means nothing unless Known.
// It is an alias so that another package can offer the same type without knowing this one.
type Word = struct {
	Text  string
	Known bool // the text alone determines it
}

// Check says why nobody may run a command, in a sentence for a person, or "" where somebody may. It is [Judge] for those
// who do not know where the command will run.
func Check(command string) string {
	a := Judge(command, World{}, Bash)
	if a.Verdict == Denied {
		return a.Why
	}
	return ""
}
