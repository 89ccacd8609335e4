package builtin

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/diff"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/workspace"
	"github.com/jackline-ai/jackline/workspace/textfile"
)

func fileWrite(d Deps) tool.Tool {
	type args struct {
		Path    string `json:"path"`
		Content string `json:"content"`
		Append  bool   `json:"append,omitempty" doc:"at the end"`
	}
	plan := func(ctx context.Context, a args) (rewrite, error) {
		return writing(ctx, d.Root, a.Path, a.Content, a.Append)
	}
	return tool.Define(tool.Spec[args]{
		Name: "file_write",
		Aliases: []string{
			"write_file", "writefile", "create_file", "create_new_file", "new_file", "save_file", "write_to_file", "write_text_file",
			"write", "save", "file_create", "append_file", "touch", "put_file",
		},
		Group:   "files",
		Summary: "Write a whole text file.",
		Use:     "For new files; edit existing ones.",
		Find:    "create save store append output text folder parents",
		Effect:  jackline.Write,
		Source:  jackline.Ours,
		Pin:     tool.PinSmall,
		Icon:    "edit",
		Body:    "content",
		Title:   func(a args) string { return "Write " + a.Path },
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) { return d.Root.Touch(jackline.Write, a.Path), nil },
		Preview: func(ctx context.Context, _ tool.In, a args) (jackline.View, error) {
			w, err := plan(ctx, a)
			return diffView(w.diff), err
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			w, err := plan(ctx, a)
			if err != nil {
				return tool.Out{}, err
			}
			return w.do(ctx, d.Root.Bound(in.Facts))
		},
	})
}

// A rewrite is a change of one file that is worked out and not done yet.
type rewrite struct {
	path string
	data []byte
	opts workspace.WriteOptions
	diff jackline.Diff
	note string // for the model, after what was done
}

// do writes the file.
func (w rewrite) do(ctx context.Context, root *workspace.Root) (tool.Out, error) {
	done, err := root.Write(ctx, w.path, w.data, w.opts)
	if err != nil {
		return tool.Out{}, err
	}
	w.diff.Path = done.Path // where it really is; the model is told its own word for it, which holds nobody else's text
	verb := "Changed"
	if done.Created {
		verb = "Created"
	}
	return tool.Out{
		Text:    fmt.Sprintf("%s %s (+%d -%d lines).%s", verb, w.path, w.diff.Added, w.diff.Gone, w.note),
		View:    diffView(w.diff),
		Changes: []jackline.Change{changeOf(w.diff)},
	}, nil
}

// writing works out a write of a whole file.
func writing(ctx context.Context, root *workspace.Root, path, content string, add bool) (rewrite, error) {
	w := rewrite{path: path, opts: workspace.WriteOptions{Parents: true}}
	old, err := root.Read(ctx, path)
	switch {
	case err == nil:
		w.opts.Expect = &old.Stamp
	case jackline.KindOf(err) == jackline.NotFound:
		w.opts.New = true
		w.data = []byte(content)
		w.diff = diff.Of(path, "create", "", content)
		return w, root.Writable(path)
	default:
		if size, ok := large(root, path); ok && !add {
			w.data = []byte(content)
			w.diff = diff.Of(path, "edit", "", content)
			w.note = fmt.Sprintf(" It held %s.", bytesOf(size))
			return w, root.Writable(path)
		}
		return w, err
	}
	if err := root.Writable(path); err != nil {
		return w, err
	}
	t, isText := textfile.Decode(old.Data)
	switch {
	case !isText && add:
		return w, jackline.E("builtin.write", jackline.Unprocessed, nil,
			"%s is a binary file; nothing can be added to it.", path)
	case !isText:
		w.data = []byte(content)
		w.diff = diff.Of(old.Path, "edit", "", content)
		w.note = fmt.Sprintf(" It was a binary file of %s.", bytesOf(int64(len(old.Data))))
		return w, nil
	}
	// A file keeps its line ends.
	if t.CRLF && !strings.Contains(content, "\r\n") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
	}
	before := t.Body
	if add {
		content = before + content
	}
	t.Body = content
	if w.data, err = t.Encode(); err != nil {
		return w, err
	}
	w.diff = diff.Of(old.Path, "edit", before, content)
	if before == content {
		w.note = " It held exactly this already."
	}
	return w, nil
}

// large reports whether a file is too large to be read, and so is written over unseen.
func large(root *workspace.Root, path string) (int64, bool) {
	s, err := root.Stat(path)
	return s.Size, err == nil && s.Size > workspace.MaxRead
}
