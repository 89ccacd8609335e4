// Package builtin is the tools that ship with the program, one file each.
//
// Their texts are written for models of three to eight billion parameters: names and parameters that such models guess
// by themselves, results without decoration, and errors that say what to do next.
package builtin

import (
	"context"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/workspace"
)

// Deps are what the tools stand on.
type Deps struct {
	// Root is the workspace that file tools and commands work in.
	Root *workspace.Root

	// Environ is the program's own environment, which commands inherit after it was cleaned of secrets.
	Environ []string

	// Keep is what commands get of that environment whatever it looks like, as NAME=value: a yes is bound to it, too.
	Keep []string

	// Analyse says what the text of a command would touch, run in a folder, an absolute path. Nil knows nothing: then a yes to a command
	// is bound to no script.
	Analyse func(command, dir string) jackline.Uses

	// GitHelper names the first setting in a repository's settings by which git would start a program; "" is none.
	GitHelper func(config string) string

	// Cell is where commands run; nil holds nothing.
	Cell Cell

	// Key keys the digests that a yes to a command is bound to.
	Key []byte

	// Result gives the stored row of a call of the owner's.
	Result func(context.Context, jackline.Owner, jackline.CallID) (jackline.Call, error)

	// Spill gives limit characters of a result that was kept whole, from offset on, and how many it has in all.
	Spill func(ctx context.Context, o jackline.Owner, c jackline.CallID, offset, limit int) (text string, total int, err error)
}

// All lists the tools in the order in which models are told of them.
func All(d Deps) []tool.Tool {
	return []tool.Tool{
		fileRead(d), fileWrite(d), fileEdit(d), grep(d), shell(d), python(d), askUser(), findTools(),
		listDir(d), glob(d), applyPatch(d), fileMove(d), fileCopy(d), fileDelete(d), makeDir(d),
		clock(), calculator(), updatePlan(), todo(), readResult(d),
	}
}
