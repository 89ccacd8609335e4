package builtin

import (
	"context"
	"fmt"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/diff"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/workspace"
	"github.com/jackline-ai/jackline/workspace/textfile"
)

func fileEdit(d Deps) tool.Tool {
	type args struct {
		Path string `json:"path"`
		Old  string `json:"old" doc:"exact text"`
		New  string `json:"new"`
		All  bool   `json:"all,omitempty"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "file_edit",
		Aliases: []string{
			"edit_file", "editfile", "str_replace", "replace_in_file", "edit", "replace", "modify_file", "update_file", "str_replace_editor",
			"str_replace_based_edit_tool", "search_replace", "change_file", "file_replace", "file_update", "edit_block",
		},
		Group:   "files",
		Summary: "Replace a piece of text in a file.",
		Use:     "To change a file; old must be found once, unless all.",
		Find:    "modify change fix substitute patch lines insert rename text",
		Effect:  jackline.Write,
		Source:  jackline.Ours,
		Pin:     tool.PinSmall,
		Icon:    "edit",
		Title:   func(a args) string { return "Edit " + a.Path },
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) { return d.Root.Touch(jackline.Write, a.Path), nil },
		Preview: func(ctx context.Context, _ tool.In, a args) (jackline.View, error) {
			w, miss, err := editing(ctx, d.Root, a.Path, a.Old, a.New, a.All)
			if miss != nil {
				err = jackline.E("builtin.edit", jackline.Unprocessed, nil, "%s", miss.plain)
			}
			return diffView(w.diff), err
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			w, miss, err := editing(ctx, d.Root, a.Path, a.Old, a.New, a.All)
			if err != nil {
				return near(ctx, d.Root, a.Path, err)
			}
			if miss != nil {
				out := tool.Out{Text: "FAILED: " + miss.plain, Failed: true}
				if miss.shown != "" {
					out.Text += "\n" + miss.shown
					out.Origin, out.Label = "file "+w.path, ownText()
				}
				return out, nil
			}
			return w.do(ctx, d.Root.Bound(in.Facts))
		},
	})
}

// editing works out the replacement of a piece of a file's text. A piece that is not found, or found too often, is a miss.
func editing(ctx context.Context, root *workspace.Root, path, old, with string, all bool) (rewrite, *miss, error) {
	w := rewrite{path: path}
	f, err := root.Read(ctx, path)
	if err != nil {
		if jackline.KindOf(err) == jackline.NotFound && old == "" {
			err = jackline.E("builtin.edit", jackline.NotFound, err,
				"There is no file %s to edit; to create it, write it whole.", path)
		}
		return w, nil, err
	}
	if err := root.Writable(path); err != nil {
		return w, nil, err
	}
	t, ok := textfile.Decode(f.Data)
	if !ok {
		return w, nil, jackline.E("builtin.edit", jackline.Unprocessed, nil,
			"%s is a binary file and cannot be edited as text.", path)
	}
	before := t.Body
	after, n, how, missed := replace(before, old, with, all, t.CRLF)
	if missed != nil {
		return w, missed, nil
	}
	t.Body = after
	if w.data, err = t.Encode(); err != nil {
		return w, nil, err
	}
	w.opts.Expect = &f.Stamp
	w.diff = diff.Of(f.Path, "edit", before, after)
	if n > 1 {
		w.note = fmt.Sprintf(" %s replaced.", count(n, "place"))
	}
	w.note += how
	return w, nil, nil
}
