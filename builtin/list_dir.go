package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/workspace"
	"github.com/jackline-ai/jackline/workspace/textfile"
)

func listDir(d Deps) tool.Tool {
	type args struct {
		Path string `json:"path,omitempty" doc:"default: the workspace"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "list_dir",
		Aliases: []string{
			"list_files", "list_directory", "ls", "dir", "list_folder", "file_list", "listfiles", "list", "directory_list", "get_files", "tree",
			"list_contents", "read_dir", "read_directory",
		},
		Group:   "files",
		Summary: "List a folder.",
		Find:    "ls dir tree files folders contents directory",
		Effect:  jackline.Read,
		Source:  jackline.Workspace,
		Pin:     tool.PinMiddle,
		Cache:   true,
		Icon:    "read",
		Title:   func(a args) string { return "List " + here(a.Path) },
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) {
			return d.Root.Touch(jackline.Read, here(a.Path)), nil
		},
		Changed: func(_ context.Context, _ tool.In, a args, stamp string) bool {
			now, err := d.Root.Stat(here(a.Path))
			return err != nil || now.String() != stamp
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			stamp, err := d.Root.Stat(here(a.Path))
			if err != nil {
				return tool.Out{}, err
			}
			items, more, err := d.Root.List(ctx, here(a.Path))
			if err != nil {
				return tool.Out{}, err
			}
			lines := make([]string, 0, len(items))
			for _, i := range items {
				lines = append(lines, itemLine(i))
			}
			return tool.Out{
				Text:   shown(lines, more, "entry", "(empty folder)", in.AtMost()),
				View:   listView(lines),
				Origin: "folder " + here(a.Path), Stamp: stamp.String(),
			}, nil
		},
	})
}

func itemLine(i workspace.Item) string {
	name := oneLine(i.Path)
	switch i.Kind {
	case workspace.KindFolder:
		return name + "/"
	case workspace.KindLink:
		return name + " (link)"
	case workspace.KindOther:
		return name + " (special)"
	case workspace.KindFile:
	}
	return fmt.Sprintf("%s (%s)", name, bytesOf(i.Size))
}

// oneLine shows a name that somebody else chose without letting it pass for more than a name.
func oneLine(name string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return '\ufffd'
		}
		return r
	}, textfile.Valid(name))
}

// shown writes lines for a model, as many as fit, and how many there are besides.
func shown(lines []string, more int, one, none string, limit int) string {
	if len(lines) == 0 {
		return none
	}
	const room = 80 // characters, for the last line
	text, taken := fit(lines, max(limit-room, limit/2))
	if left := len(lines) - taken + more; left > 0 {
		return text + fmt.Sprintf("[%s more; look at less at once]", count(left, one))
	}
	return strings.TrimSuffix(text, "\n")
}

// maxRows is how many lines of a list a person is shown.
const maxRows = 500

func listView(lines []string) jackline.View {
	v := jackline.View{Shape: jackline.ViewList}
	for _, l := range lines[:min(len(lines), maxRows)] {
		v.Rows = append(v.Rows, []string{l})
	}
	return v
}
