package builtin

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/workspace/textfile"
)

// maxTouches is how many things one command may name. Nobody reads more on a card, and what is left out is said.
const maxTouches = 64

// startsIn is the folder of the workspace that a command starts in, as it names it.
func (d Deps) startsIn(cwd string) string {
	if cwd == "" {
		return ""
	}
	return d.Root.Touch(jackline.Read, cwd)[0].Name
}

// analyse reads a command that is to start in a folder of the workspace.
func (d Deps) analyse(command, dir string) jackline.Uses {
	if d.Analyse == nil || d.Root == nil {
		return jackline.Uses{}
	}
	at := d.Root.Path()
	if dir != "" {
		at = filepath.Join(at, filepath.FromSlash(dir))
	}
	return d.Analyse(command, at)
}

// commandTouches is what a command would touch: itself, and what its text names, which a process does and so lies within
// running it. Outside the workspace and on protected names a person is asked. held is whether it will run in the cell.
func (d Deps) commandTouches(command, dir string, held bool) []jackline.Touch {
	a := d.analyse(command, dir)
	folder := ""
	if d.Root != nil {
		folder = d.Root.Path()
	}
	touches := touched(command, folder, a, func(t jackline.Touch) jackline.Touch {
		real := d.Root.Touch(t.Effect, t.Name)[0]
		real.Asks, real.Refused = real.Refused, ""
		return real
	})
	touches[0].Dir = dir
	if a.Git {
		touches[0].Doubt = d.gitHelper()
	}
	for k, t := range touches {
		if held && t.Kind == "path" && t.Effect.Has(jackline.Write) && d.Cell.Fleeting(t.Name) {
			touches[k].Asks = "It lies outside the workspace, in a folder for temporary files that is the command's own: it is gone when the command ends."
		}
	}
	return touches
}

// passing says which of the files that the text of a command writes are gone now that it has ended. Else the next command looks for
// them, and a model takes it for a fault.
func (d Deps) passing(command, dir string) string {
	const most = 3 // names in the sentence
	var gone []string
	for _, name := range d.analyse(command, dir).Writes {
		if !strings.ContainsAny(name, "?*") && len(gone) < most && d.Cell.Fleeting(name) {
			gone = append(gone, textfile.Valid(short(name, 80)))
		}
	}
	if len(gone) == 0 {
		return ""
	}
	return "[" + strings.Join(gone, ", ") + " is gone: /tmp is each command's own. What is to stay belongs in the workspace]\n"
}

// Commanded is what a command would touch in a folder that nobody looks at: by its text alone.
func Commanded(command, folder string, a jackline.Uses) []jackline.Touch {
	return touched(command, folder, a, nil)
}

// touched makes touches of what a command names. look finds where a path in the workspace leads, if anybody looks.
func touched(command, folder string, a jackline.Uses, look func(jackline.Touch) jackline.Touch) []jackline.Touch {
	touches := []jackline.Touch{{Effect: jackline.Exec, Kind: "command", Name: command}}
	add := func(t jackline.Touch) {
		t.Effect |= jackline.Exec
		same := func(have jackline.Touch) bool {
			return have.Kind == t.Kind && have.Name == t.Name && have.Effect == t.Effect
		}
		switch {
		case slices.ContainsFunc(touches, same) || len(touches) > maxTouches:
		case len(touches) == maxTouches:
			touches = append(touches, jackline.Touch{Effect: jackline.Exec, Kind: "path", Name: "…", Asks: "The command names more than can be shown here."})
		default:
			touches = append(touches, t)
		}
	}
	if a.Settings {
		add(jackline.Touch{Effect: jackline.Write, Kind: "path", Name: ".git/config", Exists: true, Asks: "It changes the repository's settings, which can name programs that git starts."})
	}
	for _, list := range []struct {
		effect jackline.Effect
		names  []string
	}{{jackline.Delete, a.Deletes}, {jackline.Write, a.Writes}, {jackline.Read, a.Reads}} {
		for _, name := range list.names {
			t := jackline.Touch{Effect: list.effect, Kind: "path", Name: name}
			rel, inside := within(filepath.ToSlash(folder), name)
			switch {
			case harmlessDevice(name):
				continue
			case !inside:
				t.Asks = "It lies outside the workspace."
			case rel == "." && list.effect == jackline.Read:
				continue
			case rel == "." || strings.ContainsAny(rel, "?*") || look == nil:
				t.Name = rel
			default:
				t.Name = rel
				t = look(t)
				// One that is not there and would only be read is none: words that are no paths look the same.
				if list.effect == jackline.Read && !t.Exists && t.Asks == "" {
					continue
				}
			}
			add(t)
		}
	}
	for _, name := range a.Hosts {
		add(jackline.Touch{Effect: jackline.Network, Kind: "host", Name: name})
	}
	for _, name := range a.Programs {
		add(jackline.Touch{Kind: "program", Name: name})
	}
	return touches
}

// within is a path relative to a folder, and whether it lies there. A path that the text leaves open from its very beginning is
// taken to lie in the folder: where nothing confines the command, it is asked about anyway.
func within(folder, name string) (rel string, ok bool) {
	if name == "?" || name == "*" {
		return name, true
	}
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if name == folder {
		return ".", true
	}
	return strings.CutPrefix(name, strings.TrimSuffix(folder, "/")+"/")
}

// harmlessDevice reports whether a path is one of the devices that every program may use.
func harmlessDevice(name string) bool {
	return slices.Contains([]string{
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/tty",
	}, name) || strings.HasPrefix(name, "/dev/fd/")
}

// gitHelper says why git may start a program here merely by looking, or "".
func (d Deps) gitHelper() string {
	if d.GitHelper == nil {
		return ""
	}
	config, err := d.Root.GitConfig()
	switch {
	case err != nil:
		return "The repository's settings cannot be read, and may name a program that git starts."
	case config == "":
		return ""
	}
	if name := d.GitHelper(config); name != "" {
		return "The repository's own settings name a program that git would start: " + name + "."
	}
	return ""
}
