package builtin

import (
	"context"
	"fmt"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

func fileDelete(d Deps) tool.Tool {
	type args struct {
		Path string `json:"path"`
		All  bool   `json:"all,omitempty" doc:"a folder with all that is in it"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "file_delete",
		Aliases: []string{
			"delete_file", "deletefile", "remove_file", "delete", "remove", "rm", "del", "unlink", "rmdir", "delete_dir", "remove_dir",
			"delete_folder", "delete_directory", "remove_directory", "file_remove",
		},
		Group:   "files",
		Summary: "Delete a file, link or folder.",
		Find:    "remove erase rm unlink trash clean",
		Effect:  jackline.Delete,
		Source:  jackline.Ours,
		Icon:    "delete",
		Title: func(a args) string {
			if a.All {
				return "Delete " + a.Path + " and all in it"
			}
			return "Delete " + a.Path
		},
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) { return d.Root.Touch(jackline.Delete, a.Path), nil },
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			n, err := d.Root.Bound(in.Facts).Delete(ctx, a.Path, a.All)
			if err != nil {
				if n > 0 {
					return tool.Out{Text: fmt.Sprintf("FAILED after %s were deleted: %s", count(n, "entry"), jackline.Say(err)), Failed: true}, nil
				}
				return tool.Out{}, err
			}
			text := "Deleted " + a.Path + "."
			if n > 1 {
				text = fmt.Sprintf("Deleted %s (%s).", a.Path, count(n, "entry"))
			}
			return tool.Out{Text: text, Changes: []jackline.Change{{Path: a.Path, Change: "delete"}}}, nil
		},
	})
}
