package undo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/workspace"
)

// Options say which part of a unit is undone, and how.
type Options struct {
	Paths []string // only these files; none is all
	Force bool     // files that were changed since, too
	Dry   bool     // say what would be done, and do nothing
	By    string   // from where: page, cli, api
}

// A Report is what an undo does, or did.
type Report struct {
	ID    string             // by which it can be undone; "" where nothing was done
	Files []jackline.Undoing // in the order of their paths
}

// A step is one file on its way back.
type step struct {
	row jackline.Snapshot
	now jackline.Kept
	id  string // of what stands there, as the workspace names it
	out jackline.Undoing
}

// Changes lists what a unit changed, with the differences, and what an undo of each file would do now.
func (k *Keeper) Changes(ctx context.Context, who jackline.Actor, unit string) ([]jackline.Undoing, error) {
	r, err := k.Undo(ctx, who, unit, Options{Dry: true})
	return r.Files, err
}

// Undo takes back what a unit did to files. Each file is taken back whole or not at all, and one that cannot be stays as it is and
// is reported. Nothing runs in the session meanwhile: the caller sees to that.
func (k *Keeper) Undo(ctx context.Context, who jackline.Actor, unit string, o Options) (Report, error) {
	const op = "undo.Undo"
	rows, err := k.store.Snapshots(ctx, who.Owner, who.Session.ID, unit)
	if err != nil {
		return Report{}, err
	}
	c, err := k.collect(ctx, who, jackline.NewUndo())
	if err != nil {
		return Report{}, err
	}
	var steps []*step
	matched := map[string]bool{}
	for _, row := range rows {
		if row.Path == whole || row.Seen && row.Before.Same(row.After) {
			continue
		}
		if len(o.Paths) > 0 && !slices.Contains(o.Paths, row.Path) {
			continue
		}
		matched[row.Path] = true
		s, err := k.step(ctx, c, row, o)
		if err != nil {
			return Report{}, err
		}
		steps = append(steps, s)
	}
	for _, p := range o.Paths {
		if !matched[p] {
			return Report{}, jackline.E(op, jackline.NotFound, nil, "%s is none of the files that were changed.", clean(p))
		}
	}
	slices.SortFunc(steps, func(a, b *step) int { return cmp.Compare(a.row.Path, b.row.Path) })
	r := Report{}
	if !o.Dry && slices.ContainsFunc(steps, func(s *step) bool { return s.out.State == jackline.UndoReady }) {
		r.ID = c.unit
		if err := k.perform(ctx, c, unit, steps, o); err != nil {
			return Report{}, err
		}
	}
	for _, s := range steps {
		r.Files = append(r.Files, s.out)
	}
	return r, nil
}

// step finds out what taking back one change means now.
func (k *Keeper) step(ctx context.Context, c *collection, row jackline.Snapshot, o Options) (*step, error) {
	s := &step{row: row, out: jackline.Undoing{Path: row.Path, Change: changeOf(row.Before, row.After), Does: "restore", State: jackline.UndoReady}}
	if row.Before.Kind == jackline.KeptNothing {
		s.out.Does = "delete"
	}
	if err := k.root.Check(row.Path); err != nil { // a command gives files what names it likes; one of them stops nothing
		s.out.State, s.out.Does, s.out.Why = jackline.UndoCannot, "nothing", "its name is protected"
		if jackline.KindOf(err) != jackline.Forbidden {
			s.out.Why = "its name holds what no path may: a control or invisible character"
		}
		return s, nil
	}
	var data []byte
	err := k.scan(ctx, row.Path, func(f *workspace.Standing) (err error) {
		s.id = f.ID()
		if s.now, data, err = c.look(ctx, f); err != nil {
			return err
		}
		return fs.SkipAll
	})
	if ended(err) != nil {
		return nil, err
	}
	if err := k.show(ctx, c.who, s, data); err != nil {
		return nil, err
	}
	why := lost(row)
	switch {
	case s.now.Same(row.Before):
		s.out.State, s.out.Does = jackline.UndoAlready, "nothing"
	case why != "":
		s.out.State, s.out.Why = jackline.UndoCannot, why
	case s.now.Kind == jackline.KeptFolder && row.Before.Kind != jackline.KeptFolder && row.After.Kind != jackline.KeptFolder:
		s.out.State, s.out.Why = jackline.UndoCannot, "a folder stands there now"
	case s.now.Kind == jackline.KeptFile && s.now.Why != "" && !o.Force:
		s.out.State, s.out.Why = jackline.UndoConflict, "it would be gone for good: "+s.now.Why
	case row.Seen && s.now.Same(row.After), s.now.Kind == jackline.KeptNothing && row.Before.Kind == jackline.KeptFolder:
	case o.Force:
	case !row.Seen:
		s.out.State, s.out.Why = jackline.UndoConflict, "how it was left is not known: the program died meanwhile"
	case s.now.Kind == jackline.KeptNothing:
		s.out.State, s.out.Why = jackline.UndoConflict, "it was deleted since"
	case row.After.Kind == jackline.KeptNothing:
		s.out.State, s.out.Why = jackline.UndoConflict, "something new stands there"
	default:
		s.out.State, s.out.Why = jackline.UndoConflict, "it was changed since"
	}
	return s, nil
}

// show adds what the unit changed in a file. now is what the file holds at present.
func (k *Keeper) show(ctx context.Context, who jackline.Actor, s *step, now []byte) error {
	read := func(v jackline.Kept) (data []byte, ok bool, err error) {
		switch {
		case v.Kind == jackline.KeptNothing:
			return nil, true, nil
		case v.Kind != jackline.KeptFile || v.Size > maxShown || v.Sum == "":
			return nil, false, nil
		case v.Sum == s.now.Sum:
			return now, true, nil
		case !v.Held:
			return nil, false, nil
		}
		data, err = k.store.Content(ctx, who.Owner, who.Session.ID, v.Sum)
		if kind := jackline.KindOf(err); err != nil && (kind == jackline.Gone || kind == jackline.NotFound) {
			return nil, false, nil
		}
		return data, err == nil, err
	}
	before, ok, err := read(s.row.Before)
	if err != nil || !ok {
		return err
	}
	after, ok, err := read(s.row.After)
	if err != nil || !ok {
		return err
	}
	d := diffOf(s.row.Path, s.out.Change, before, after)
	s.out.Added, s.out.Gone, s.out.Patch = d.Added, d.Gone, d.Patch
	return nil
}

// perform takes back what is ready: first what came to be goes, from the deepest up, then what was is put back, from the top down.
func (k *Keeper) perform(ctx context.Context, c *collection, unit string, steps []*step, o Options) error {
	for _, s := range steps {
		if s.out.State == jackline.UndoReady {
			if err := c.before(ctx, s.row.Path, false); err != nil {
				return err
			}
		}
	}
	if err := c.flush(ctx); err != nil {
		return err
	}
	line := c.line(jackline.AuditUndoing, unit, steps, o)
	rec := jackline.Record{Session: c.who.Session.ID, Snapshots: c.rows, Audit: []jackline.AuditEntry{line}, Sync: true}
	if _, err := k.store.Append(ctx, c.who.Owner, rec); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx) // it is on record: half of it helps nobody
	var paths []string
	for _, s := range steps {
		paths = append(paths, s.row.Path)
	}
	k.sweep(paths)
	for i := len(steps) - 1; i >= 0; i-- {
		s := steps[i]
		goes := s.now.Kind != jackline.KeptNothing && (s.row.Before.Kind == jackline.KeptNothing ||
			(s.now.Kind == jackline.KeptFolder) != (s.row.Before.Kind == jackline.KeptFolder))
		if s.out.State != jackline.UndoReady || !goes {
			continue
		}
		if err := k.root.Remove(ctx, s.row.Path, s.id); err != nil {
			s.fail(err)
			continue
		}
		s.id, s.now = "", jackline.Kept{}
		if s.row.Before.Kind == jackline.KeptNothing {
			s.out.State = jackline.UndoDone
		}
	}
	for _, s := range steps {
		if s.out.State != jackline.UndoReady {
			continue
		}
		if err := k.put(ctx, c, s); err != nil {
			s.fail(err)
			continue
		}
		s.out.State = jackline.UndoDone
	}
	return k.record(ctx, c, unit, steps, o)
}

// sweep takes away what an earlier call or undo left half written beside some paths when the program was killed. What cannot be
// looked at stays.
func (k *Keeper) sweep(paths []string) {
	var done []string
	for _, p := range paths {
		if dir := path.Dir(p); !slices.Contains(done, dir) {
			done = append(done, dir)
			_ = k.root.Sweep(dir)
		}
	}
}

// fail says that a file stayed as it is.
func (s *step) fail(err error) {
	s.out.State, s.out.Why = jackline.UndoCannot, jackline.Say(err)
	if jackline.KindOf(err) == jackline.Conflict {
		s.out.State = jackline.UndoConflict
	}
}

// put puts back what stood there.
func (k *Keeper) put(ctx context.Context, c *collection, s *step) error {
	b := s.row.Before
	w := workspace.Put{Mode: fs.FileMode(b.Mode), Link: b.Link, Now: s.id}
	switch b.Kind {
	case jackline.KeptFolder:
		w.Kind = workspace.KindFolder
	case jackline.KeptLink:
		w.Kind = workspace.KindLink
	default:
		data, err := k.store.Content(ctx, c.who.Owner, c.who.Session.ID, b.Sum)
		if err != nil {
			return err
		}
		if sumOf(data) != b.Sum {
			return jackline.E("undo.put", jackline.Gone, nil, "What was kept of %s is damaged.", clean(s.row.Path))
		}
		w.Kind, w.Data = workspace.KindFile, data
	}
	return k.root.Restore(ctx, s.row.Path, w)
}

// record writes how the undo left the files, and that it was.
func (k *Keeper) record(ctx context.Context, c *collection, unit string, steps []*step, o Options) error {
	for _, p := range c.open() {
		if err := c.after(ctx, p, false); err != nil {
			return err
		}
	}
	if err := c.flush(ctx); err != nil {
		return err
	}
	done := jackline.Undone{ID: c.unit, Unit: unit, By: o.By, Force: o.Force, Files: []jackline.Change{}}
	for _, s := range steps {
		switch s.out.State {
		case jackline.UndoDone:
			ch := jackline.Change{Path: s.row.Path, Change: "edit", Added: s.out.Gone, Gone: s.out.Added}
			switch {
			case s.out.Does == "delete":
				ch.Change = "delete"
			case s.out.Change == "delete":
				ch.Change = "create"
			}
			done.Files = append(done.Files, ch)
		case jackline.UndoConflict, jackline.UndoCannot:
			done.Left++
		case jackline.UndoReady, jackline.UndoAlready:
		}
	}
	line := c.line(jackline.AuditUndone, unit, steps, o)
	line.Outcome = jackline.OK.String()
	if done.Left > 0 {
		line.Outcome = jackline.Errored.String() // some stay as they are
	}
	rec := jackline.Record{Session: c.who.Session.ID, Snapshots: c.rows, Audit: []jackline.AuditEntry{line}, Sync: true}
	turn := turnOf(unit)
	if n := len(done.Files); n > 0 {
		// It names no file: names in a tree are somebody else's text.
		rec.Items = []jackline.Item{{Turn: turn, Role: jackline.ItemNote, Text: fmt.Sprintf(
			"The owner has since put %s back as before. Read files again before you rely on what they hold.", plural(n, "changed file"))}}
	}
	rec.Events = []jackline.Event{jackline.NewEvent(c.who.Session.ID, turn, done)}
	_, err := k.store.Append(ctx, c.who.Owner, rec)
	return err
}

// line is what the audit says of an undo. Which files it is about is there as a digest alone.
func (c *collection) line(kind jackline.AuditKind, unit string, steps []*step, o Options) jackline.AuditEntry {
	var paths []string
	for _, s := range steps {
		paths = append(paths, s.row.Path)
	}
	value, err := json.Marshal(paths)
	if err != nil { // texts always encode
		value = nil
	}
	return jackline.AuditEntry{
		Kind: kind, Session: c.who.Session.ID, Turn: turnOf(unit), Source: c.who.Source, By: o.By, What: unit, Labels: c.who.Session.Labels, Value: value,
	}
}

// turnOf is the turn that a unit is; "" where it is a call or an undo.
func turnOf(unit string) jackline.TurnID {
	if strings.HasPrefix(unit, "t_") {
		return jackline.TurnID(unit)
	}
	return ""
}
