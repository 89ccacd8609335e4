// Package posix judges commands by what they would do. It is an interpreter that runs nothing: it follows words, folders,
// variables, functions and what flows through pipes, in all ways that the text leaves open, and holds each simple
// command to the rules. The rules D and S of the corpus are here; programs and shells of Windows are another's.
package posix

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/jackline-ai/jackline/shell/source"
	"github.com/jackline-ai/jackline/shell/value"
)

// The bounds of an analysis. What would go over one is refused: a text that needs more is not written by hand.
const (
	// maxSteps is the work of one analysis, in words and pieces of 32 bytes that are looked at: about 50 ms.
	maxSteps = 150_000
	// maxDepth is how deep texts may lie in texts (sh -c within eval within ssh) and functions may call.
	maxDepth = 24
	// maxSet is how many values one word may have, over all branches that lead to it.
	MaxSet = 64
	// maxFields is how many words the braces of one word may make.
	maxFields = 1024
	// maxValue is the size of one value, in bytes.
	maxValue = source.MaxText
	// maxListed is how many touches and parts are told: a person reads no more.
	MaxListed = 500
)

// A foreign judges the programs and texts of another system.
type foreign interface {
	// Program judges a program of Windows, where c is one. It reports whether that is all there is to say about it.
	Program(c Command) (out value.Set, is bool)
	// Script judges a file of commands of Windows.
	Script(e *Env, text string, in value.Set)
}

// A judge is one analysis under way.
type Judge struct {
	World   value.World
	Foreign foreign
	steps   int
	Depth   int
	files   int // made-up names of files
	Rule    string
	Why     string
	Touches []value.Touch
	Seen    map[value.Touch]bool
	Parts   [][]string
	Files   []string
}

// New is the judge of one command in a world.
func New(w value.World) *Judge {
	return &Judge{World: w.Filled(), Seen: map[value.Touch]bool{}}
}

// Deny notes why the command is refused. The first reason stands.
func (j *Judge) Deny(rule, why string, a ...any) {
	if j.Rule == "" {
		j.Rule, j.Why = rule, fmt.Sprintf(why, a...)
	}
}

// Denied reports whether the command is refused already.
func (j *Judge) Denied() bool { return j.Rule != "" }

// Spend pays for n bytes of work and reports whether there is any left.
func (j *Judge) Spend(n int) bool {
	if j.steps += 1 + n/32; j.steps > maxSteps {
		j.Deny("S3", "The command takes more work to understand than a command should. Put it into a script file, so that it can be read.")
	}
	return !j.Denied()
}

// Deeper runs f one level down, unless that is too deep.
func (j *Judge) Deeper(f func()) {
	if j.Depth >= maxDepth {
		j.Deny("S3", "The command nests too many commands in each other to be read safely. Write it flat.")
		return
	}
	j.Depth++
	f()
	j.Depth--
}

// Touch notes what is touched.
func (j *Judge) Touch(k value.TouchKind, name string) {
	t := value.Touch{Kind: k, Name: value.Shown(name)}
	if len(j.Touches) < MaxListed && !j.Seen[t] {
		j.Seen[t] = true
		j.Touches = append(j.Touches, t)
	}
}

// text judges a text that a command hands to a Bash-like shell. It is read in the surroundings e, with in on its input,
// and its output comes back.
func (j *Judge) text(e *Env, text string, in value.Set) (out value.Set) {
	out = value.Anything()
	if value.Taint(text) != "" {
		j.denyFed(text)
		return out
	}
	if strings.TrimSpace(text) == "" || !j.Spend(len(text)) {
		return out
	}
	j.Deeper(func() {
		var file *syntax.File
		var err error
		for _, lang := range []syntax.LangVariant{syntax.LangBash, syntax.LangZsh} {
			if source.Openings(text) > source.MaxOpen {
				break
			}
			file, err = syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
			if err == nil {
				break
			}
		}
		switch {
		case err != nil && !strings.ContainsRune(text, value.Some):
			j.Deny("S1", "A text that is given to a shell cannot be read as Bash: a quote, bracket or block is probably not closed.")
		case file != nil && err == nil:
			out = j.List(e, file.Stmts, in)
		}
	})
	return out
}

// denyFed refuses text from elsewhere that becomes a program.
func (j *Judge) denyFed(text string) {
	if strings.ContainsRune(text, value.FromNet) {
		j.Deny("D7", "Text from the network would be run as a program. Save it to a file, and look at it first.")
		return
	}
	j.Deny("D8", "Decoded text would be run as a program, so nobody can see what that is. Decode it to a file, and look at it first.")
}

// Add is the union of two sets.
func (j *Judge) Add(a, b value.Set) value.Set {
	for _, v := range b {
		if !slices.Contains(a, v) {
			a = append(a[:len(a):len(a)], v)
		}
	}
	if len(a) > MaxSet {
		j.Deny("S4", "A word of the command could be any of too many values. Write the values out.")
		return a[:MaxSet]
	}
	return a
}

// Join is every value of a followed by every value of b.
func (j *Judge) Join(a, b value.Set) value.Set {
	if len(a) == 0 {
		return b
	}
	if len(b) == 0 {
		return a
	}
	if len(a) == 1 && len(b) == 1 {
		if len(a[0])+len(b[0]) > maxValue {
			j.Deny("S4", "The command builds a longer text than a command should. Put it into a script file.")
			return a
		}
		j.Spend(len(a[0]) + len(b[0]))
		return value.Set{a[0] + b[0]}
	}
	if len(a)*len(b) > MaxSet {
		j.Deny("S4", "A word of the command could be any of too many values. Write the values out.")
		return a
	}
	var all value.Set
	for _, x := range a {
		for _, y := range b {
			all = j.Add(all, j.Join(value.Set{x}, value.Set{y}))
		}
	}
	return all
}

// Argvs are the ways in which a list of words can be started: words taken apart, unknown text read both as empty and as
// something. Each word is a set.
func (j *Judge) Argvs(words []value.Set) [][]string {
	first := make([]string, len(words)) // each word's first value
	var open []int                      // the words that have more
	product := 1
	for k, w := range words {
		if len(w) > 0 {
			first[k] = w[0]
		}
		if len(w) > 1 {
			open = append(open, k)
			if product *= len(w); product > MaxSet {
				j.Deny("S4", "The words of the command could be combined in too many ways. Write the commands out.")
				return nil
			}
		}
	}
	lines := [][]string{first}
	for _, k := range open {
		var next [][]string
		for _, l := range lines {
			for _, v := range words[k] {
				one := slices.Clone(l)
				one[k] = v
				next = append(next, one)
			}
		}
		lines = next
	}
	var all [][]string
	for _, l := range lines {
		holes, size := 0, 0
		for _, w := range l {
			holes += value.B2i(value.Maybe(w))
			size += len(w) + 8
		}
		if holes > 4 && !j.Spend(2*holes*size) {
			return nil
		}
		for _, r := range value.Readings(l) {
			argv := value.Fields(r)
			if !j.Spend(len(strings.Join(argv, " ")) + 8*len(argv)) {
				return nil
			}
			if !slices.ContainsFunc(all, func(have []string) bool { return slices.Equal(have, argv) }) {
				all = append(all, argv)
			}
		}
	}
	return all
}

// Concat is one output after another. Where that could be too many texts, or too long ones, it is only known where it came from.
func (j *Judge) Concat(a, b value.Set) value.Set {
	if len(a)*len(b) <= 16 && len(a)+len(b) > 0 {
		long := 0
		for _, s := range slices.Concat(a, b) {
			long = max(long, len(s))
		}
		if long < maxValue/2 {
			return j.Join(a, b)
		}
	}
	return value.Set{string(value.Hole) + a.Taint() + b.Taint()}
}

// File notes a program or script that is named by its path.
func (j *Judge) File(path string) {
	if path = value.Shown(path); len(j.Files) < MaxListed && !slices.Contains(j.Files, path) {
		j.Files = append(j.Files, path)
	}
}
