// Package source reads the texts of commands into trees, words and literals. It says which texts cannot be read, or hide
// something from a reader's eye.
package source

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// MaxText is the size of the longest command that is read, in bytes. What is longer is refused.
const MaxText = 64 << 10

// MaxOpen bounds how often a text may open a bracket or a block, and with that how deep the parser may have to go.
const MaxOpen = 8192

// Normal is the text as it is judged, and as it has to be run: with the line ends of Unix.
func Normal(command string) string { return strings.ReplaceAll(command, "\r\n", "\n") }

// Parse reads a command, or says why it is refused.
func Parse(command string) (*syntax.File, string) {
	if len(command) > MaxText {
		return nil, tooLong
	}
	text := Normal(command)
	spaces, why := Characters(text)
	if why != "" {
		return nil, why
	}
	if Openings(text) > MaxOpen {
		return nil, "The command opens too many brackets and blocks to be read safely. Put it into a script file instead."
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	switch {
	case err != nil:
		return nil, "The command cannot be read as Bash: a quote, bracket, block or here-document is probably not closed."
	case len(file.Stmts) == 0:
		return nil, "There is no command in it."
	}
	if len(spaces) > 0 && bare(file, spaces) {
		return nil, otherSpace
	}
	return file, ""
}

const tooLong = "The command is longer than 64 KiB. Put it into a script file instead."

// Checked is the text of a command of Windows with one kind of line end, or why it is refused.
func Checked(command string) (text, why string) {
	if len(command) > MaxText {
		return "", tooLong
	}
	text = Normal(command)
	spaces, why := Characters(text)
	switch {
	case why != "":
	case len(spaces) > 0 && unquotedSpace(text, spaces):
		why = otherSpace
	case strings.TrimSpace(text) == "":
		why = "There is no command in it."
	}
	return text, why
}

const otherSpace = "The command holds a space of another kind outside quotes, which looks like a space and is none."

// unquotedSpace reports whether one of the offsets lies outside the quotes of a Windows shell.
func unquotedSpace(text string, at []uint) bool {
	quote, k := byte(0), 0
	for i := 0; i < len(text) && k < len(at); i++ {
		if uint(i) == at[k] {
			if quote == 0 {
				return true
			}
			k++
		}
		switch c := text[i]; {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return false
}

// Openings counts all in a text that could open something which has to be closed again.
func Openings(text string) (n int) {
	for _, s := range []string{"(", "{", "[", "if", "while", "until", "case", "do"} {
		n += strings.Count(text, s)
	}
	return n
}

// Characters refuses what no command needs and what hides or moves text from a reader's eye. It returns where
// the spaces stand that are fine in quotes only.
func Characters(text string) (spaces []uint, why string) {
	if !utf8.ValidString(text) {
		return nil, "The command is not valid UTF-8."
	}
	for k, r := range text {
		switch {
		case r == '\t', r == '\n':
		case r == '\r':
			return nil, "The command holds a carriage return that ends no line."
		case unicode.Is(unicode.Cc, r):
			return nil, "The command holds an invisible control character."
		case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0x200e, r == 0x200f:
			return nil, "The command holds a character that changes the direction of writing."
		case r == 0x200b, r == 0x2060, r == 0xfeff:
			return nil, "The command holds a character without width."
		case r == 0x2028, r == 0x2029:
			return nil, "The command holds a line separator that is no line end."
		case r != ' ' && unicode.Is(unicode.Zs, r):
			spaces = append(spaces, uint(k))
		}
	}
	return spaces, ""
}

// Bare reports whether one of the offsets lies outside quotes. The text of a here-document counts as quoted: nothing
// in it is taken apart at spaces.
func bare(file *syntax.File, offsets []uint) bool {
	type edge struct {
		at     uint
		quoted bool
	}
	var edges []edge
	state := []bool{false} // of the nodes that are open, outermost first
	bodies := map[syntax.Node]bool{}
	var ends []uint
	syntax.Walk(file, func(n syntax.Node) bool {
		if n == nil {
			last := len(state) - 1
			if state[last] != state[last-1] {
				edges = append(edges, edge{ends[last-1], state[last-1]})
			}
			state, ends = state[:last], ends[:last-1]
			return true
		}
		quoted := state[len(state)-1]
		switch n := n.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			quoted = true
		case *syntax.CmdSubst, *syntax.ProcSubst:
			quoted = false
		case *syntax.Redirect:
			if n.Hdoc != nil {
				bodies[n.Hdoc] = true
			}
		case *syntax.Word:
			quoted = quoted || bodies[n]
		}
		if quoted != state[len(state)-1] {
			edges = append(edges, edge{n.Pos().Offset(), quoted})
		}
		state, ends = append(state, quoted), append(ends, n.End().Offset())
		return true
	})
	slices.SortStableFunc(edges, func(a, b edge) int { return int(a.at) - int(b.at) })
	k, quoted := 0, false
	for _, at := range offsets {
		for ; k < len(edges) && edges[k].at <= at; k++ {
			quoted = edges[k].quoted
		}
		if !quoted {
			return true
		}
	}
	return false
}
