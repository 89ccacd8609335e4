package builtin

import (
	"context"
	"path"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

func fileMove(d Deps) tool.Tool {
	type args struct {
		From string `json:"from"`
		To   string `json:"to" doc:"new path, or a folder"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "file_move",
		Aliases: []string{
			"move_file", "movefile", "rename_file", "rename", "move", "mv", "move_path", "file_rename", "rename_path", "move_dir", "rename_dir",
			"move_folder",
		},
		Group:   "files",
		Summary: "Move or rename a file or folder.",
		Find:    "rename mv relocate",
		Effect:  jackline.Write | jackline.Delete,
		Source:  jackline.Ours,
		Icon:    "move",
		Title:   func(a args) string { return "Move " + a.From + " to " + a.To },
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) {
			from := d.Root.TouchEntry(jackline.Write, a.From)
			return append(from, landing(d.Root.TouchEntry(jackline.Write, d.Root.Target(a.From, a.To)))...), nil
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			to := d.Root.Target(a.From, a.To)
			rel, err := d.Root.Bound(in.Facts).Move(ctx, a.From, to, replaces(d.Root.TouchEntry(jackline.Write, to)))
			if err != nil {
				return near(ctx, d.Root, a.From, err)
			}
			return tool.Out{
				Text:    "Moved " + a.From + " to " + path.Clean(to) + ".",
				View:    diffView(jackline.Diff{Path: a.From, To: rel, Change: "move"}),
				Changes: []jackline.Change{{Path: rel, Change: "move"}},
			}, nil
		},
	})
}

// landing makes a write that would replace something a deletion of it.
func landing(touches []jackline.Touch) []jackline.Touch {
	for i := range touches {
		if touches[i].Exists {
			touches[i].Effect = jackline.Delete
		}
	}
	return touches
}

// replaces reports whether something stands where a move or copy lands: what the judge was told of is what may go.
func replaces(touches []jackline.Touch) bool {
	for _, t := range touches {
		if t.Exists {
			return true
		}
	}
	return false
}
