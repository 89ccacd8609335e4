package builtin

import (
	"context"
	"fmt"
	"path"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

func fileCopy(d Deps) tool.Tool {
	type args struct {
		From string `json:"from"`
		To   string `json:"to" doc:"new path, or a folder"`
	}
	return tool.Define(tool.Spec[args]{
		Name:    "file_copy",
		Aliases: []string{"copy_file", "copyfile", "copy", "cp", "duplicate_file", "copy_path", "copy_dir", "copy_folder", "file_duplicate"},
		Group:   "files",
		Summary: "Copy a file or folder.",
		Find:    "duplicate cp clone backup",
		Effect:  jackline.Read | jackline.Write | jackline.Delete,
		Source:  jackline.Ours,
		Icon:    "move",
		Title:   func(a args) string { return "Copy " + a.From + " to " + a.To },
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) {
			from := d.Root.Touch(jackline.Read, a.From)
			return append(from, landing(d.Root.Touch(jackline.Write, d.Root.Target(a.From, a.To)))...), nil
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			to := d.Root.Target(a.From, a.To)
			rel, n, err := d.Root.Bound(in.Facts).Copy(ctx, a.From, to, replaces(d.Root.Touch(jackline.Write, to)))
			if err != nil {
				return near(ctx, d.Root, a.From, err)
			}
			text := fmt.Sprintf("Copied %s to %s.", a.From, path.Clean(to))
			if n != 1 {
				text = fmt.Sprintf("Copied %s to %s (%s).", a.From, path.Clean(to), count(n, "file"))
			}
			return tool.Out{
				Text:    text,
				View:    diffView(jackline.Diff{Path: a.From, To: rel, Change: "copy"}),
				Changes: []jackline.Change{{Path: rel, Change: "copy"}},
			}, nil
		},
	})
}
