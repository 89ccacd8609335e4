package shell

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
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

// A Dialect is the grammar that a text is written in. The zero Dialect is Bash.
type Dialect uint8

// The grammars that are read.
const (
	Bash Dialect = iota
	PowerShell
	Cmd
)

// World is what a command stands in, as far as its text can mean it. All paths are absolute, of either kind of system.
// What is left out is assumed to lie somewhere in a home folder.
type World struct {
	Home      string
	Workspace string
	Dir       string   // the working folder; the workspace where it is ""
	State     []string // the product's own folders
	User      string
}

// A TouchKind says what a command does with something.
type TouchKind uint8

const (
	// Unknown is something that the text does not determine.
	Unknown TouchKind = iota
	// Reads is a path that is read, or may be.
	Reads
	// Writes is a path that is made or changed.
	Writes
	// Deletes is a path that is removed, moved away or emptied.
	Deletes
	// Runs is a program.
	Runs
	// Calls is a host of the network.
	Calls
)

func (k TouchKind) String() string {
	return [...]string{Unknown: "unknown", Reads: "read", Writes: "write", Deletes: "delete", Runs: "program", Calls: "host"}[k]
}

// A Touch is one thing that a command would touch. A path is absolute and clean; "?" stands for text that is not known,
// "*" for a pattern.
type Touch struct {
	Kind TouchKind
	Name string
}

// Analysis is what the text of a command means.
type Analysis struct {
	Verdict Verdict
	Rule    string     // the rule that decided, as "D1"; "" where none had to
	Why     string     // a sentence for a person, where Denied: why, and what to do instead
	Touches []Touch    // in the order in which they were found, each once
	Parts   [][]string // the simple commands as they would be started, wrappers taken off; "?" as in Touch
}

// The bounds of an analysis. What would go over one is refused: a text that needs more is not written by hand.
const (
	// maxSteps is the work of one analysis, in words and pieces of 32 bytes that are looked at: about 50 ms.
	maxSteps = 150_000
	// maxDepth is how deep texts may lie in texts (sh -c within eval within ssh) and functions may call.
	maxDepth = 24
	// maxSet is how many values one word may have, over all branches that lead to it.
	maxSet = 64
	// maxFields is how many words the braces of one word may make.
	maxFields = 1024
	// maxValue is the size of one value, in bytes.
	maxValue = MaxText
	// maxListed is how many touches and parts are told: a person reads no more.
	maxListed = 500
)

// Judge reads the text of a command in the grammar d, and says what may become of it in the world w. It looks at the
// text alone: it opens no file and starts nothing.
func Judge(text string, w World, d Dialect) Analysis {
	j := &judge{world: w.filled(), seen: map[Touch]bool{}}
	sh := &windows{j}
	j.foreign = sh
	harmless := false
	switch d {
	case Bash:
		file, why := parse(text)
		if why != "" {
			return Analysis{Rule: why2rule(why), Why: why}
		}
		e := newEnv(j.world)
		j.list(e, file.Stmts, nil)
		harmless = proved(j.world, file.Stmts)
	case PowerShell, Cmd:
		text, why := checked(text)
		if why != "" {
			return Analysis{Rule: why2rule(why), Why: why}
		}
		e := newEnv(j.world)
		if d == PowerShell {
			sh.powershell(e, text, unknown)
			harmless = psProved(j.world, text)
		} else {
			sh.cmd(e, text, unknown)
			harmless = cmdProved(j.world, text)
		}
	default:
		return Analysis{Rule: "S1", Why: "The text is written for a shell that is not known here."}
	}
	a := Analysis{Verdict: Asked, Touches: j.touches, Parts: j.parts}
	switch {
	case j.denied():
		a.Verdict, a.Rule, a.Why = Denied, j.rule, j.why
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

// foreign judges the programs and texts of another system.
type foreign interface {
	// Program judges a program of Windows, where c is one. It reports whether that is all there is to say about it.
	Program(c command) (out set, is bool)
	// Script judges a file of commands of Windows.
	Script(e *env, text string, in set)
}

// A judge is one analysis under way.
type judge struct {
	world   World
	foreign foreign
	steps   int
	depth   int
	files   int // made-up names of files
	rule    string
	why     string
	touches []Touch
	seen    map[Touch]bool
	parts   [][]string
}

// deny notes why the command is refused. The first reason stands.
func (j *judge) deny(rule, why string, a ...any) {
	if j.rule == "" {
		j.rule, j.why = rule, fmt.Sprintf(why, a...)
	}
}

func (j *judge) denied() bool { return j.rule != "" }

// spend pays for n bytes of work and reports whether there is any left.
func (j *judge) spend(n int) bool {
	if j.steps += 1 + n/32; j.steps > maxSteps {
		j.deny("S3", "The command takes more work to understand than a command should. Put it into a script file, so that it can be read.")
	}
	return !j.denied()
}

// deeper runs f one level down, unless that is too deep.
func (j *judge) deeper(f func()) {
	if j.depth >= maxDepth {
		j.deny("S3", "The command nests too many commands in each other to be read safely. Write it flat.")
		return
	}
	j.depth++
	f()
	j.depth--
}

func (j *judge) touch(k TouchKind, name string) {
	t := Touch{k, shown(name)}
	if len(j.touches) < maxListed && !j.seen[t] {
		j.seen[t] = true
		j.touches = append(j.touches, t)
	}
}

// filled is the world with a place for everything. The user's name is the home's.
func (w World) filled() World {
	if w.Home == "" {
		w.Home = "/home/user"
	}
	w.Home = tidy(w.Home)
	if w.Workspace == "" {
		w.Workspace = w.Home + "/projects/workspace"
	}
	w.Workspace = tidy(w.Workspace)
	if w.Dir == "" {
		w.Dir = w.Workspace
	}
	w.Dir = tidy(w.Dir)
	if w.User == "" {
		w.User = w.Home[strings.LastIndexByte(w.Home, '/')+1:]
	}
	state := make([]string, 0, len(w.State))
	for _, s := range w.State {
		if s = strings.TrimSuffix(tidy(s), "/"); s != "" {
			state = append(state, s)
		}
	}
	w.State = state
	return w
}

// text judges a text that a command hands to a Bash-like shell. It is read in the surroundings e, with in on its input,
// and its output comes back.
func (j *judge) text(e *env, text string, in set) (out set) {
	out = unknown
	if taint(text) != "" {
		j.denyFed(text)
		return out
	}
	if strings.TrimSpace(text) == "" || !j.spend(len(text)) {
		return out
	}
	j.deeper(func() {
		var file *syntax.File
		var err error
		for _, lang := range []syntax.LangVariant{syntax.LangBash, syntax.LangZsh} {
			if openings(text) > maxOpen {
				break
			}
			file, err = syntax.NewParser(syntax.Variant(lang)).Parse(strings.NewReader(text), "")
			if err == nil {
				break
			}
		}
		switch {
		case err != nil && !strings.ContainsRune(text, some):
			j.deny("S1", "A text that is given to a shell cannot be read as Bash: a quote, bracket or block is probably not closed.")
		case file != nil && err == nil:
			out = j.list(e, file.Stmts, in)
		}
	})
	return out
}

// denyFed refuses text from elsewhere that becomes a program.
func (j *judge) denyFed(text string) {
	if strings.ContainsRune(text, fromNet) {
		j.deny("D7", "Text from the network would be run as a program. Save it to a file, and look at it first.")
		return
	}
	j.deny("D8", "Decoded text would be run as a program, so nobody can see what that is. Decode it to a file, and look at it first.")
}
