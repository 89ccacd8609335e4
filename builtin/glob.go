package builtin

import (
	"context"
	"path"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/workspace"
)

// maxPaths is how many paths one search gives: nobody reads more.
const maxPaths = 1000

func glob(d Deps) tool.Tool {
	type args struct {
		Pattern string `json:"pattern" doc:"as **/*.go"`
		Path    string `json:"path,omitempty" doc:"folder to look in"`
	}
	return tool.Define(tool.Spec[args]{
		Name:    "glob",
		Aliases: []string{"find_files", "search_files", "file_search", "glob_files", "find_file", "find_by_name", "file_glob", "glob_search", "fd"},
		Group:   "files",
		Summary: "Find files by name.",
		Find:    "find files names pattern wildcard extension locate where",
		Effect:  jackline.Read,
		Source:  jackline.Workspace,
		Pin:     tool.PinLarge,
		Cache:   true,
		Icon:    "search",
		Title:   func(a args) string { return "Find " + a.Pattern },
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) {
			return d.Root.Touch(jackline.Read, here(a.Path)), nil
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			items, more, err := d.Root.Glob(ctx, here(a.Path), a.Pattern, maxPaths)
			if err != nil {
				return tool.Out{}, err
			}
			lines := make([]string, 0, len(items))
			for _, i := range items {
				p := oneLine(path.Join(a.Path, i.Path))
				if i.Kind == workspace.KindFolder {
					p += "/"
				}
				lines = append(lines, p)
			}
			extra := 0
			if more {
				extra = 1
			}
			out := tool.Out{
				Text: shown(lines, extra, "path", "Nothing matches "+a.Pattern+".", in.AtMost()), View: listView(lines), Origin: "names of files",
			}
			if len(items) == 0 {
				out.Label = &tool.Label{Source: jackline.Ours}
			}
			return out, nil
		},
	})
}
