package shell

import (
	"strings"

	"github.com/jackline-ai/jackline/shell/posix"
	"github.com/jackline-ai/jackline/shell/proof"
	"github.com/jackline-ai/jackline/shell/source"
	"github.com/jackline-ai/jackline/shell/value"
	"github.com/jackline-ai/jackline/shell/windows"
)

// What a judgement is asked with, and what it finds.
type (
	// World is what a command stands in, as far as its text can mean it.
	World = value.World
	// Dialect is the grammar that a text is written in.
	Dialect = value.Dialect
	// Touch is one thing that a command would touch.
	Touch = value.Touch
	// TouchKind says what a command does with something.
	TouchKind = value.TouchKind
)

// The grammars that are read, and the kinds of touches.
const (
	Bash       = value.Bash
	PowerShell = value.PowerShell
	Cmd        = value.Cmd

	Unknown = value.Unknown
	Reads   = value.Reads
	Writes  = value.Writes
	Deletes = value.Deletes
	Runs    = value.Runs
	Calls   = value.Calls
)

// A Verdict is what may become of a command. The zero Verdict refuses.
type Verdict uint8

const (
	// Denied is refused in every mode, before any approval is offered.
	Denied Verdict = iota
	// Asked is everything that is neither refused nor proved harmless.
	Asked
	// Harmless is proved to read only, inside the workspace, as long as protected files are kept out of what it searches.
	Harmless
)

func (v Verdict) String() string {
	return [...]string{Denied: "deny", Asked: "ask", Harmless: "read_only"}[v]
}

// Analysis is what the text of a command means.
type Analysis struct {
	Verdict Verdict
	Rule    string     // the rule that decided, as "D1"; "" where none had to
	Why     string     // a sentence for a person, where Denied: why, and what to do instead
	Touches []Touch    // in the order in which they were found, each once
	Parts   [][]string // the simple commands as they would be started, wrappers taken off; "?" as in Touch
	Files   []string   // the programs among them that are named by a path: absolute and clean, "?" as in Touch
}

// Judge reads the text of a command in the grammar d, and says what may become of it in the world w. It looks at the
// text alone: it opens no file and starts nothing.
func Judge(text string, w World, d Dialect) Analysis {
	j := posix.New(w)
	sh := windows.New(j)
	harmless := false
	switch d {
	case Bash:
		file, why := source.Parse(text)
		if why != "" {
			return Analysis{Rule: why2rule(why), Why: why}
		}
		e := posix.NewEnv(j.World)
		j.List(e, file.Stmts, nil)
		harmless = proof.Bash(j.World, file.Stmts)
	case PowerShell, Cmd:
		text, why := source.Checked(text)
		if why != "" {
			return Analysis{Rule: why2rule(why), Why: why}
		}
		e := posix.NewEnv(j.World)
		if d == PowerShell {
			sh.PowerShell(e, text, value.Anything())
			harmless = proof.PowerShell(j.World, text)
		} else {
			sh.Cmd(e, text, value.Anything())
			harmless = proof.Cmd(j.World, text)
		}
	default:
		return Analysis{Rule: "S1", Why: "The text is written for a shell that is not known here."}
	}
	a := Analysis{Verdict: Asked, Touches: j.Touches, Parts: j.Parts, Files: j.Files}
	switch {
	case j.Denied():
		a.Verdict, a.Rule, a.Why = Denied, j.Rule, j.Why
	case harmless:
		a.Verdict = Harmless
	}
	return a
}

// why2rule tells text that hides something from text that cannot be read.
func why2rule(why string) string {
	if strings.Contains(why, "holds a") || strings.Contains(why, "UTF-8") {
		return "S2"
	}
	return "S1"
}
