package undo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/diff"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/workspace"
	"github.com/jackline-ai/jackline/workspace/textfile"
)

// whole is the path of the row that says that all of the workspace is compared.
const whole = "."

// Before keeps what a call may change. The rows that it gives go to the disk together with the call's intent; the contents are there
// already.
func (k *Keeper) Before(ctx context.Context, i jackline.Intent) ([]jackline.Snapshot, error) {
	paths, runs := writes(i), k.runs(i)
	if len(paths) == 0 && !runs {
		return nil, nil
	}
	unit := unitOf(i.Actor, i.Call)
	c, err := k.collect(ctx, i.Actor, unit)
	if err != nil {
		return nil, err
	}
	if runs {
		k.copying.Lock()
		b, err := k.capture(ctx, i.Actor)
		if err == nil {
			k.mu.Lock()
			k.running[i.Call] = b
			k.mu.Unlock()
		}
		k.copying.Unlock()
		if err != nil {
			return nil, err
		}
		c.put(jackline.Snapshot{Unit: unit, Path: whole, Before: jackline.Kept{Kind: jackline.KeptWorkspace, Sum: b.sum}})
	}
	for _, p := range paths {
		if err := c.before(ctx, p, true); err != nil {
			return nil, err
		}
	}
	return c.rows, c.flush(ctx)
}

// A collection is the rows of a unit that one call adds or changes.
type collection struct {
	k     *Keeper
	who   jackline.Actor
	unit  string
	have  map[string]jackline.Snapshot // the unit's rows
	bytes int64                        // of contents that they hold
	rows  []jackline.Snapshot
	place map[string]int  // of a path in rows
	done  map[string]bool // paths whose end this call has seen
	hold  []jackline.Content
	size  int
}

func (k *Keeper) collect(ctx context.Context, who jackline.Actor, unit string) (*collection, error) {
	rows, err := k.store.Snapshots(ctx, who.Owner, who.Session.ID, unit)
	if err != nil {
		return nil, err
	}
	c := &collection{k: k, who: who, unit: unit, have: map[string]jackline.Snapshot{}, place: map[string]int{}, done: map[string]bool{}}
	for _, r := range rows {
		c.have[r.Path] = r
		if r.Before.Held {
			c.bytes += r.Before.Size
		}
	}
	return c, nil
}

// before keeps what stands at a path, and with deep what stands below it. What the unit knows already stays as it was first found.
func (c *collection) before(ctx context.Context, at string, deep bool) error {
	found := false
	many, err := c.k.many(ctx, at)
	if err != nil {
		return err
	}
	err = c.k.scan(ctx, at, func(f *workspace.Standing) error {
		found = true
		row, known := c.have[f.Path]
		if !known {
			v, data, err := c.look(ctx, f)
			if err == nil {
				err = c.keep(ctx, &v, data, MaxFile)
			}
			if err != nil {
				return err
			}
			if v.Kind == jackline.KeptFolder && deep {
				v.Why = many
			}
			row = jackline.Snapshot{Unit: c.unit, Path: f.Path, Before: v}
		}
		row.Unit, row.Seen = c.unit, false
		c.put(row)
		if !deep || many != "" {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil || found {
		return ended(err)
	}
	// Nothing is there, and maybe none of the folders above: they will be made with it.
	first, err := c.k.root.Within(at)
	if err != nil {
		return nil //nolint:nilerr // it cannot be used, as the tool will find out
	}
	for p := at; ; p = path.Dir(p) {
		row, known := c.have[p]
		if !known {
			row = jackline.Snapshot{Path: p}
		}
		row.Unit, row.Seen = c.unit, false
		c.put(row)
		if p == first || p == whole || p == "/" {
			return nil
		}
	}
}

// many says why a path holds too much to be kept file by file; "" where it does not.
func (k *Keeper) many(ctx context.Context, at string) (why string, err error) {
	n := 0
	err = k.scan(ctx, at, func(*workspace.Standing) error {
		if n++; n > maxChanged {
			why = fmt.Sprintf("it holds more than %d files", maxChanged)
			return fs.SkipAll
		}
		return nil
	})
	return why, ended(err)
}

// ended is the error of a scan that was ended early on purpose.
func ended(err error) error {
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (c *collection) put(row jackline.Snapshot) {
	c.have[row.Path] = row
	if i, ok := c.place[row.Path]; ok {
		c.rows[i] = row
		return
	}
	c.place[row.Path] = len(c.rows)
	c.rows = append(c.rows, row)
}

// look reads an entry, a file with its content.
func (c *collection) look(ctx context.Context, f *workspace.Standing) (v jackline.Kept, data []byte, err error) {
	v = keptOf(f)
	if f.Kind != workspace.KindFile {
		return v, nil, nil
	}
	if v.Why = (&gaps{}).room(f); v.Why != "" {
		return v, nil, nil
	}
	data, err = f.Read(ctx, MaxFile)
	if ctx.Err() != nil {
		return v, nil, ctx.Err()
	}
	if err != nil {
		v.Why = unreadable
		return v, nil, nil //nolint:nilerr // the file is named
	}
	v.Sum = sumOf(data)
	return v, data, nil
}

// keep holds the content of a file that was read, if it has at most limit bytes.
func (c *collection) keep(ctx context.Context, v *jackline.Kept, data []byte, limit int64) error {
	n := int64(len(data))
	switch {
	case v.Sum == "" || n > limit:
		return nil
	case c.bytes+n > MaxBytes:
		v.Held, v.Why = false, fmt.Sprintf("the turn changed more than %d MiB", MaxBytes>>20)
		return nil
	}
	v.Held = true
	c.bytes += n
	c.size += len(data)
	c.hold = append(c.hold, jackline.Content{Sum: v.Sum, Data: data})
	if c.size >= batch {
		return c.flush(ctx)
	}
	return nil
}

func (c *collection) flush(ctx context.Context) error {
	if len(c.hold) == 0 {
		return nil
	}
	err := c.k.store.Hold(ctx, c.who.Owner, c.who.Session.ID, c.hold)
	c.hold, c.size = nil, 0
	return err
}

// After compares what stands now with what was kept before a call that has ended, or that a crash cut short. It gives the rows
// that go to the disk with the call's outcome, what changed, and what of it cannot be undone, in words.
func (k *Keeper) After(ctx context.Context, who jackline.Actor, call jackline.CallID) (tool.Kept, error) {
	unit := unitOf(who, call)
	k.mu.Lock()
	b := k.running[call]
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		delete(k.running, call)
		k.mu.Unlock()
	}()
	c, err := k.collect(ctx, who, unit)
	if err != nil {
		return tool.Kept{}, err
	}
	open := c.open()
	k.sweep(open) // this may be a call that a crash cut short
	var out tool.Kept
	if row, ok := c.have[whole]; ok && !row.Seen {
		if b == nil { // the program died meanwhile
			if b, err = k.load(ctx, who); err != nil {
				return out, err
			}
		}
		if b.sum != row.Before.Sum {
			out.Note = "what it changed is not known, and cannot be undone"
		} else if err := c.compare(ctx, b, &out); err != nil {
			return out, err
		}
		row.Unit, row.Seen = unit, true
		c.put(row)
	}
	for _, p := range open {
		if err := c.after(ctx, p, true); err != nil {
			return out, err
		}
	}
	if err := c.flush(ctx); err != nil {
		return out, err
	}
	out.Rows = c.rows
	if note := c.missing(&out); out.Note == "" {
		out.Note = note
	}
	return out, nil
}

// open are the paths whose end has not been seen, those above before those below.
func (c *collection) open() []string {
	var paths []string
	for p, r := range c.have {
		if !r.Seen && p != whole {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// after sees how a path was left, and with deep what came to be below it.
func (c *collection) after(ctx context.Context, at string, deep bool) error {
	if c.done[at] { // with a folder above
		return nil
	}
	row := c.have[at]
	row.Unit, row.Seen, row.After = c.unit, true, jackline.Kept{}
	c.put(row)
	many, err := c.k.many(ctx, at)
	if err != nil {
		return err
	}
	return ended(c.k.scan(ctx, at, func(f *workspace.Standing) error {
		if c.done[f.Path] && deep {
			return nil
		}
		c.done[f.Path] = true
		v, data, err := c.look(ctx, f)
		if err == nil {
			err = c.keep(ctx, &v, data, maxShown)
		}
		if err != nil {
			return err
		}
		if v.Kind == jackline.KeptFolder && deep {
			v.Why = many
		}
		row := c.have[f.Path]
		row.Unit, row.Path, row.Seen, row.After = c.unit, f.Path, true, v
		c.put(row)
		if !deep || many != "" {
			return fs.SkipAll
		}
		return nil
	}))
}

// compare finds what a command changed in the workspace.
func (c *collection) compare(ctx context.Context, b *base, out *tool.Kept) error {
	seen := make(map[string]bool, len(b.Files))
	changed := 0
	all, err := c.k.walk(ctx, &gaps{}, func(f *workspace.Standing, _ string) error {
		seen[f.Path] = true
		was, known := b.Files[f.Path]
		if known && b.unchanged(was, keptOf(f)) {
			return nil
		}
		if !known && (b.Part || f.Kind == workspace.KindFile && f.Changed() < b.Taken-int64(slack)) {
			return nil // it was there, and was not looked at: nobody may take it for new
		}
		now, data, err := c.look(ctx, f)
		if err != nil || known && was.Kept.Same(now) && (was.Kept.Sum == now.Sum || was.Kept.Sum == "") {
			return err
		}
		if changed++; changed > maxChanged {
			return fs.SkipAll
		}
		return c.changed(ctx, f.Path, was, now, data, out)
	})
	switch {
	case err != nil:
		return err
	case changed > maxChanged:
		out.Note = "it changed more than " + plural(maxChanged, "file") + ", and not all of that can be undone"
	case all:
		var gone []string
		for name := range b.Files {
			if !seen[name] {
				gone = append(gone, name)
			}
		}
		slices.Sort(gone)
		for _, name := range gone[:min(len(gone), maxChanged-changed)] {
			if err := c.changed(ctx, name, b.Files[name], jackline.Kept{}, nil, out); err != nil {
				return err
			}
		}
		if len(gone) > maxChanged-changed {
			out.Note = "it changed more than " + plural(maxChanged, "file") + ", and not all of that can be undone"
		}
	}
	slices.SortFunc(out.Changes, func(a, b jackline.Change) int { return strings.Compare(a.Path, b.Path) })
	return nil
}

// unchanged reports whether an entry is surely the one of the base.
func (b *base) unchanged(was stood, now jackline.Kept) bool {
	if now.Kind != was.Kept.Kind || now.Mode != was.Kept.Mode || now.Link != was.Kept.Link {
		return false
	}
	return now.Kind != jackline.KeptFile || now.ID == was.Kept.ID && (was.Kept.Sum == "" || b.sure(was))
}

// changed notes one difference, and keeps what the base alone has of it.
func (c *collection) changed(ctx context.Context, name string, was stood, now jackline.Kept, data []byte, out *tool.Kept) error {
	row, known := c.have[name]
	if !known {
		row = jackline.Snapshot{Path: name, Before: was.Kept}
	}
	var before []byte
	if was.Kept.Held {
		var err error
		before, err = c.k.content(ctx, c.who, was)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		lost := err != nil || sumOf(before) != was.Kept.Sum
		switch {
		case !known && lost:
			row.Before.Held, row.Before.Why = false, "the copy of it is gone"
		case !known:
			if err := c.keep(ctx, &row.Before, before, MaxFile); err != nil {
				return err
			}
		}
		if lost {
			before = nil
		}
	}
	if err := c.keep(ctx, &now, data, maxShown); err != nil {
		return err
	}
	row.Unit, row.Seen, row.After = c.unit, true, now
	c.put(row)
	ch := jackline.Change{Path: name, Change: changeOf(was.Kept, now)}
	if (now.Kind == jackline.KeptFolder || was.Kept.Kind == jackline.KeptFolder) && ch.Change != "edit" {
		return nil // the files in it say it
	}
	if was.Kept.Size <= maxShown && now.Size <= maxShown {
		d := diffOf(name, ch.Change, before, data)
		ch.Added, ch.Gone = d.Added, d.Gone
	}
	out.Changes = append(out.Changes, ch)
	return nil
}

// lost says why a change cannot be undone; "" where it can.
func lost(r jackline.Snapshot) string {
	switch {
	case r.Before.Same(r.After):
		return ""
	case r.Before.Kind == jackline.KeptFolder && r.Before.Why != "":
		return r.Before.Why
	case r.After.Kind == jackline.KeptFolder && r.After.Why != "":
		return r.After.Why
	case r.Before.Kind == jackline.KeptOther:
		return "it was no file, folder or link"
	case r.Before.Kind == jackline.KeptFile && !r.Before.Held && r.Before.Why == "":
		return "what it held was not kept"
	case r.Before.Kind == jackline.KeptFile && !r.Before.Held:
		return r.Before.Why
	}
	return ""
}

// missing says how much of the changes cannot be undone; "" where all can. It names no file: a model reads it, and names in a tree are
// somebody else's text.
func (c *collection) missing(out *tool.Kept) string {
	n, why := 0, ""
	for _, r := range c.rows {
		if w := lost(r); w != "" && r.Path != whole {
			n, why = n+1, w
			for i := range out.Changes {
				if out.Changes[i].Path == r.Path {
					out.Changes[i].Lost = w
				}
			}
		}
	}
	switch n {
	case 0:
		return ""
	case 1:
		return "the change of 1 file cannot be undone: " + why
	}
	return fmt.Sprintf("the changes of %d files cannot be undone", n)
}

// changeOf says in one word what became of something.
func changeOf(before, after jackline.Kept) string {
	switch {
	case before.Kind == jackline.KeptNothing:
		return "create"
	case after.Kind == jackline.KeptNothing:
		return "delete"
	}
	return "edit"
}

// diffOf is the difference of two contents; one without a patch where either is no text.
func diffOf(name, change string, before, after []byte) jackline.Diff {
	a, okA := textfile.Decode(before)
	b, okB := textfile.Decode(after)
	if !okA || !okB {
		return jackline.Diff{Path: name, Change: change}
	}
	return diff.Of(name, change, a.Body, b.Body)
}
