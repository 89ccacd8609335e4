package folders

import (
	"context"
	"path"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/workspace"
)

// A Marker keeps which files of a workspace were written by sessions that had read text by others. Package store has one.
type Marker interface {
	Mark(ctx context.Context, workspace string, marks []store.Mark) error
	Unmark(ctx context.Context, workspace string, paths ...string) error
	// Marked asks for one file, or for any where the path is "".
	Marked(ctx context.Context, workspace, path, id string) (bool, error)
}

// mostChanged is how many files that one command changed are marked one by one; beyond it the whole workspace is.
const mostChanged = 2000

// Marks are those of one workspace. They implement tool.Marks.
type Marks struct {
	f    *Folders
	root *workspace.Root
}

// Marks gives the marks of a workspace.
func (f *Folders) Marks(root *workspace.Root) *Marks { return &Marks{f: f, root: root} }

// Own reports whether what stands at the touches is the owner's own word: they trust the folder, and no session that had read text by
// others has written there. A folder is only where nothing in the workspace is marked.
func (m *Marks) Own(ctx context.Context, who jackline.Actor, touches []jackline.Touch) (bool, error) {
	yes, err := m.f.Trusts(ctx, who.Owner, m.root.Path())
	if !yes || err != nil || len(touches) == 0 {
		return false, err
	}
	for _, t := range touches {
		if t.Kind != "path" || t.Effect != jackline.Read || t.Refused != "" {
			return false, nil
		}
		if marked, err := m.marked(ctx, t.Name); marked || err != nil {
			return false, err
		}
	}
	return true, nil
}

// marked reports whether something at a path is marked.
func (m *Marks) marked(ctx context.Context, name string) (bool, error) {
	name = path.Clean(name)
	id, folder := m.root.Identity(name)
	if folder {
		name, id = "", "" // anything in it may be meant
	}
	return m.f.marker.Marked(ctx, m.root.Path(), name, id)
}

// Wrote marks the files at the touches that are written. It is told before, so that a crash leaves no file unmarked, and again
// afterwards, when they are what they have become. A session that has read nothing by others marks what it makes of marked
// files.
func (m *Marks) Wrote(ctx context.Context, who jackline.Actor, touches []jackline.Touch) error {
	tainted := who.Session.Labels.Tainted
	var marks []store.Mark
	for _, t := range touches {
		switch {
		case t.Kind != "path":
		case t.Effect.Has(jackline.Write):
			id, _ := m.root.Identity(t.Name)
			marks = append(marks, store.Mark{Path: path.Clean(t.Name), ID: id, Session: who.Session.ID})
		}
		if t.Kind == "path" && !tainted {
			var err error
			if tainted, err = m.marked(ctx, t.Name); err != nil {
				return err
			}
		}
	}
	if !tainted || len(marks) == 0 {
		return nil
	}
	return m.f.marker.Mark(ctx, m.root.Path(), marks)
}

// Ran is told that a command begins. One of a tainted session, or in a workspace where something is marked, which the command could
// copy: until it has ended and what it changed is known, the whole workspace is marked, and stays so if the program dies meanwhile.
func (m *Marks) Ran(ctx context.Context, who jackline.Actor, began time.Time) (ended func(context.Context) error, err error) {
	nothing := func(context.Context) error { return nil }
	dir := m.root.Path()
	if !who.Session.Labels.Tainted {
		if some, err := m.f.marker.Marked(ctx, dir, "", ""); !some || err != nil {
			return nothing, err
		}
	}
	running := jackline.NewID[string](store.AllPaths + "run_")
	if err := m.f.marker.Mark(ctx, dir, []store.Mark{{Path: running, Session: who.Session.ID}}); err != nil {
		return nothing, err
	}
	return func(ctx context.Context) error {
		files, whole, err := m.root.Changed(ctx, began, mostChanged)
		if err != nil {
			return err
		}
		marks := make([]store.Mark, 0, len(files))
		for _, f := range files {
			marks = append(marks, store.Mark{Path: f.Path, ID: f.ID, Session: who.Session.ID})
		}
		if !whole {
			marks = []store.Mark{{Path: store.AllPaths, Session: who.Session.ID}}
		}
		if len(marks) > 0 {
			if err := m.f.marker.Mark(ctx, dir, marks); err != nil {
				return err
			}
		}
		return m.f.marker.Unmark(ctx, dir, running)
	}, nil
}
