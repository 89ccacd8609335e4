package builtin

import (
	"context"
	"path"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

func makeDir(d Deps) tool.Tool {
	type args struct {
		Path string `json:"path"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "make_dir",
		Aliases: []string{
			"mkdir", "create_dir", "create_directory", "make_directory", "create_folder", "make_folder", "new_folder", "dir_create", "mkdirs",
		},
		Group:   "files",
		Summary: "Create a folder, with those above it.",
		Find:    "mkdir new directory folder",
		Effect:  jackline.Write,
		Source:  jackline.Ours,
		Icon:    "edit",
		Title:   func(a args) string { return "Create folder " + a.Path },
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) { return d.Root.Touch(jackline.Write, a.Path), nil },
		Run: func(_ context.Context, _ tool.In, a args) (tool.Out, error) {
			rel, made, err := d.Root.Mkdir(a.Path)
			if err != nil {
				return tool.Out{}, err
			}
			if !made {
				return tool.Out{Text: "The folder " + path.Clean(a.Path) + " exists already."}, nil
			}
			return tool.Out{Text: "Created the folder " + path.Clean(a.Path) + ".", Changes: []jackline.Change{{Path: rel, Change: "create"}}}, nil
		},
	})
}
