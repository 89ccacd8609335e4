package builtin

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/diff"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/workspace"
	"github.com/jackline-ai/jackline/workspace/textfile"
)

func applyPatch(d Deps) tool.Tool {
	type args struct {
		Patch string `json:"patch" doc:"unified diff or *** Begin Patch"`
	}
	return tool.Define(tool.Spec[args]{
		Name:    "apply_patch",
		Aliases: []string{"patch", "patch_file", "apply_diff", "git_apply", "file_patch", "patch_apply", "edit_files", "multi_edit"},
		Group:   "files",
		Summary: "Change several files by a patch, all or nothing.",
		Use:     "For larger changes; small ones are easier one by one.",
		Find:    "diff hunk multiple files modify create delete rename",
		Effect:  jackline.Write | jackline.Delete,
		Source:  jackline.Ours,
		Icon:    "edit",
		Body:    "patch",
		Title:   func(a args) string { return patchTitle(a.Patch) },
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) { return patchTouches(d.Root, a.Patch) },
		Preview: func(ctx context.Context, _ tool.In, a args) (jackline.View, error) {
			p, err := planPatch(ctx, d.Root, a.Patch)
			var missed *patchMiss
			if errors.As(err, &missed) {
				err = jackline.E("builtin.patch", jackline.Unprocessed, nil, "%s: %s", missed.path, missed.miss.plain)
			}
			return p.view(), err
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			p, err := planPatch(ctx, d.Root, a.Patch)
			var missed *patchMiss
			if errors.As(err, &missed) {
				out := tool.Out{Text: shownMiss(missed.path, missed.miss), Failed: true}
				if missed.miss.shown != "" {
					out.Origin, out.Label = "file "+missed.path, ownText()
				}
				return out, nil
			}
			if err != nil {
				return near(ctx, d.Root, p.at, err)
			}
			return p.do(ctx, d.Root.Bound(in.Facts))
		},
	})
}

func patchTitle(text string) string {
	files, err := parsePatch(text)
	switch {
	case err != nil:
		return "Apply a patch"
	case len(files) == 1:
		return "Patch " + short(files[0].path, 80)
	}
	return fmt.Sprintf("Patch %s", count(len(files), "file"))
}

func patchTouches(root *workspace.Root, text string) ([]jackline.Touch, error) {
	files, err := parsePatch(text)
	if err != nil {
		return nil, err
	}
	var touches []jackline.Touch
	for _, f := range files {
		switch {
		case f.op == patchDelete:
			touches = append(touches, root.Touch(jackline.Delete, f.path)...)
		case f.to != "":
			touches = append(touches, root.TouchEntry(jackline.Write, f.path)...)
			touches = append(touches, root.Touch(jackline.Write, f.to)...)
		default:
			touches = append(touches, root.Touch(jackline.Write, f.path)...)
		}
	}
	return touches, nil
}

// A patchMiss is a hunk that does not fit.
type patchMiss struct {
	path string
	miss *miss
}

func (m *patchMiss) Error() string { return m.path + ": " + m.miss.plain }

// A patchPlan is a patch that was tried on copies of all its files.
type patchPlan struct {
	order []*patched
	files map[string]*patched // by clean path
	at    string              // the file that was looked at last
}

// A patched is one file before and after.
type patched struct {
	path   string
	from   string // where it was moved from
	before workspace.File
	was    bool // it existed
	text   textfile.Text
	gone   bool
	old    string // the text before
}

// planPatch reads all files, tries everything and writes nothing.
func planPatch(ctx context.Context, root *workspace.Root, text string) (patchPlan, error) {
	p := patchPlan{files: map[string]*patched{}}
	files, err := parsePatch(text)
	if err != nil {
		return p, err
	}
	for _, f := range files {
		p.at = f.path
		if err := p.add(ctx, root, f); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (p *patchPlan) add(ctx context.Context, root *workspace.Root, f filePatch) error {
	if f.op == patchAdd {
		return p.create(ctx, root, f)
	}
	e, err := p.load(ctx, root, f.path)
	if err != nil {
		return err
	}
	if f.op == patchDelete && len(f.hunks) == 0 {
		e.gone = true
		return nil
	}
	body := e.text.Body
	if e.text.CRLF {
		body = unixEnds(body)
	}
	after, m := patchText(body, f.hunks)
	if m != nil {
		return &patchMiss{f.path, m}
	}
	if f.op == patchDelete {
		if after != "" {
			return jackline.E("builtin.patch", jackline.Unprocessed, nil,
				"The patch deletes %s but does not hold all of it; nothing was changed.", f.path)
		}
		e.gone = true
		return nil
	}
	if e.text.CRLF {
		after = strings.ReplaceAll(after, "\n", "\r\n")
	}
	e.text.Body = after
	if f.to != "" && path.Clean(f.to) != path.Clean(f.path) {
		return p.move(root, e, f.to)
	}
	return nil
}

func (p *patchPlan) create(ctx context.Context, root *workspace.Root, f filePatch) error {
	key := path.Clean(f.path)
	if e, ok := p.files[key]; ok && !e.gone {
		return jackline.E("builtin.patch", jackline.Conflict, nil, "The patch adds %s twice.", f.path)
	}
	if _, err := root.Stat(f.path); err == nil {
		return jackline.E("builtin.patch", jackline.Conflict, nil,
			"%s exists already: update it instead of adding it. Nothing was changed.", f.path)
	} else if jackline.KindOf(err) != jackline.NotFound {
		return err
	}
	if err := root.Writable(f.path); err != nil {
		return err
	}
	body := f.body
	if len(f.hunks) > 0 {
		var m *miss
		if body, m = patchText("", f.hunks); m != nil {
			return &patchMiss{f.path, m}
		}
	}
	return p.put(key, &patched{path: f.path, text: textfile.Text{Body: body}})
}

func (p *patchPlan) put(key string, e *patched) error {
	p.files[key] = e
	p.order = append(p.order, e)
	return nil
}

// load reads a file once; a second part of the patch finds it as the first has left it.
func (p *patchPlan) load(ctx context.Context, root *workspace.Root, name string) (*patched, error) {
	key := path.Clean(name)
	if e, ok := p.files[key]; ok {
		if e.gone {
			return nil, jackline.E("builtin.patch", jackline.Unprocessed, nil,
				"The patch changes %s after it has deleted it.", name)
		}
		return e, nil
	}
	f, err := root.Read(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := root.Writable(name); err != nil {
		return nil, err
	}
	t, ok := textfile.Decode(f.Data)
	if !ok {
		return nil, jackline.E("builtin.patch", jackline.Unprocessed, nil, "%s is a binary file and cannot be patched.", name)
	}
	e := &patched{path: name, before: f, was: true, text: t, old: t.Body}
	return e, p.put(key, e)
}

func (p *patchPlan) move(root *workspace.Root, e *patched, to string) error {
	if _, err := root.Stat(to); err == nil {
		return jackline.E("builtin.patch", jackline.Conflict, nil,
			"%s exists already, so nothing is moved there. Nothing was changed.", to)
	} else if jackline.KindOf(err) != jackline.NotFound {
		return err
	}
	if _, taken := p.files[path.Clean(to)]; taken || e.from != "" || !e.was {
		return jackline.E("builtin.patch", jackline.Conflict, nil,
			"The patch moves %s more than once, or onto another of its files.", e.path)
	}
	e.from, e.path = e.path, to
	p.files[path.Clean(to)] = e
	return nil
}

func (p *patchPlan) diffs() (all []jackline.Diff) {
	for _, e := range p.order {
		switch {
		case e.gone && !e.was:
		case e.gone:
			all = append(all, diff.Of(e.path, "delete", e.old, ""))
		case !e.was:
			all = append(all, diff.Of(e.path, "create", "", e.text.Body))
		case e.from != "":
			d := diff.Of(e.from, "move", e.old, e.text.Body)
			d.To = e.path
			all = append(all, d)
		default:
			all = append(all, diff.Of(e.path, "edit", e.old, e.text.Body))
		}
	}
	return all
}

func (p *patchPlan) view() jackline.View { return diffView(p.diffs()...) }

// do writes everything. If anything fails, what was done is taken back.
func (p *patchPlan) do(ctx context.Context, root *workspace.Root) (tool.Out, error) {
	var undo []func(context.Context) error
	for _, e := range p.order {
		back, err := e.do(ctx, root)
		undo = append(undo, back...)
		if err == nil {
			continue
		}
		rest := context.WithoutCancel(ctx) // half a patch is worse than a late stop
		var failed []error
		for i := len(undo) - 1; i >= 0; i-- {
			failed = append(failed, undo[i](rest))
		}
		if back := errors.Join(failed...); back != nil {
			return tool.Out{}, jackline.E("builtin.patch", jackline.Conflict, errors.Join(err, back),
				"%s Not all of what was done before could be taken back: look at the files of the patch.", jackline.Say(err))
		}
		if ctx.Err() != nil {
			return tool.Out{}, ctx.Err()
		}
		return tool.Out{}, jackline.E("builtin.patch", jackline.KindOf(err), err, "%s Nothing was changed.", jackline.Say(err))
	}
	out := tool.Out{View: p.view()}
	var b strings.Builder
	for _, d := range out.View.Files {
		c := changeOf(d)
		out.Changes = append(out.Changes, c)
		fmt.Fprintf(&b, "%s %s (+%d -%d lines)\n", pastOf(c.Change), c.Path, c.Added, c.Gone)
	}
	out.Text = strings.TrimSuffix(b.String(), "\n")
	return out, nil
}

func pastOf(change string) string {
	switch change {
	case "create":
		return "Created"
	case "delete":
		return "Deleted"
	case "move":
		return "Moved to"
	}
	return "Changed"
}

// do brings one file into its new state, and returns how to take that back.
func (e *patched) do(ctx context.Context, root *workspace.Root) (undo []func(context.Context) error, err error) {
	data, err := e.text.Encode()
	if err != nil {
		return nil, err
	}
	switch {
	case e.gone && !e.was:
		return nil, nil
	case e.gone:
		if now, err := root.Seal(ctx, e.path); err != nil || now.Sum != e.before.Stamp.Sum {
			return nil, errors.Join(jackline.E("builtin.patch", jackline.Conflict, nil,
				"%s has changed meanwhile.", e.path), err)
		}
		if _, err := root.Delete(ctx, e.path, false); err != nil {
			return nil, err
		}
		return append(undo, func(ctx context.Context) error {
			_, err := root.Write(ctx, e.path, e.before.Data, workspace.WriteOptions{New: true})
			return err
		}), nil
	case !e.was:
		if _, err := root.Write(ctx, e.path, data, workspace.WriteOptions{Parents: true, New: true}); err != nil {
			return nil, err
		}
		return append(undo, func(ctx context.Context) error {
			_, err := root.Delete(ctx, e.path, false)
			return err
		}), nil
	case e.from != "":
		if _, err := root.Move(ctx, e.from, e.path, false); err != nil {
			return nil, err
		}
		undo = append(undo, func(ctx context.Context) error {
			_, err := root.Move(ctx, e.path, e.from, false)
			return err
		})
	}
	if e.text.Body == e.old {
		return undo, nil
	}
	if _, err := root.Write(ctx, e.path, data, workspace.WriteOptions{Expect: &e.before.Stamp}); err != nil {
		return undo, err
	}
	return append(undo, func(ctx context.Context) error {
		_, err := root.Write(ctx, e.path, e.before.Data, workspace.WriteOptions{})
		return err
	}), nil
}
