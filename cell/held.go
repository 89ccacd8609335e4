package cell

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/egress"
	"github.com/jackline-ai/jackline/job"
	"github.com/jackline-ai/jackline/sandbox"
	"github.com/jackline-ai/jackline/workspace"
	"github.com/jackline-ai/jackline/workspace/textfile"
)

const (
	// maxChanged bounds the copy that is kept of a protected file that a command changed.
	maxChanged = 1 << 20
	// maxNamed bounds the names in a sentence.
	maxNamed = 10
)

// A stay is one command in a cell.
type stay struct {
	k    *Cell
	s    jackline.Sandbox
	temp string
	made []string // files outside that were made so that they could be opened
	keep *workspace.Keepsake
	dir  *workspace.Folder
}

// held makes a place that the sandbox holds.
func (k *Cell) held(ctx context.Context, s jackline.Sandbox) (_ job.Place, err error) {
	const op = "cell.Enter"
	if now := k.c.Report().Level; now != s.Level {
		return job.Place{}, jackline.E(op, jackline.Conflict, nil, "This machine's sandbox is another than when the command was judged (%s, not %s). Try again.", now, s.Level)
	}
	k.c.prepare()
	home, err := k.c.makeHome(k.root.Path())
	if err != nil {
		return job.Place{}, err
	}
	v := &stay{k: k, s: s}
	if v.temp, err = os.MkdirTemp("", "jackline-"); err == nil {
		v.temp, err = filepath.EvalSymlinks(v.temp)
	}
	if err != nil {
		return job.Place{}, jackline.E(op, jackline.Unavailable, err, "No temporary folder can be made: is the disk full?")
	}
	defer func() {
		if err != nil {
			v.leave(context.WithoutCancel(ctx))
		}
	}()
	if err := v.outside(); err != nil {
		return job.Place{}, err
	}
	found, err := k.root.Shields()
	if err != nil {
		return job.Place{}, err
	}
	if v.dir, err = k.root.Dir(""); err != nil {
		return job.Place{}, err
	}
	spec := sandbox.Spec{
		Workspace: k.root.Path(), Dir: v.dir.File, Home: home, Temp: v.temp,
		Read: there(k.c.o.Read, k.c.tools.read, s.Read), Write: there(k.c.o.Write, s.Write),
	}
	if s.Level == jackline.SandboxNamespaces {
		v.shield(&spec, found)
	}
	if v.keep, err = k.root.Keep(ctx, v.watched(found), v.may); err != nil {
		return job.Place{}, err
	}
	return v.place(spec, home)
}

// outside looks once more at what was allowed outside the workspace: it must still be what was shown. A file that is to be written and
// is not there is made, since only what is there can be opened.
func (v *stay) outside() error {
	const op = "cell.Enter"
	for _, p := range slices.Concat(v.s.Read, v.s.Write) {
		if !inside(v.k.root.Path(), p) && real(p) != p {
			return jackline.E(op, jackline.Conflict, nil, "%s leads elsewhere since this was judged. Try again.", p)
		}
	}
	for _, p := range v.s.Write {
		if inside(v.k.root.Path(), p) || !errors.Is(stat(p), fs.ErrNotExist) {
			continue
		}
		f, err := os.OpenFile(p, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // it is the person's file, as their programs make it
		if err != nil {
			continue // its folder is not there, or closed: the command says so itself
		}
		v.made = append(v.made, p)
		_ = f.Close() // nothing was written
	}
	return nil
}

// there are the paths of some lists that exist, each once.
func there(lists ...[]string) []string {
	var all []string
	for _, p := range slices.Concat(lists...) {
		if stat(p) == nil && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	return all
}

// shield covers what is protected in the workspace, but for what was allowed by name. What is not there is not covered: a cover would be
// seen by everything that looks through the folder, and git would take it up. It is compared instead, see [stay.watched].
func (v *stay) shield(spec *sandbox.Spec, found workspace.Shields) {
	named := func(p string) bool { return slices.Contains(v.s.Read, p) || slices.Contains(v.s.Write, p) }
	for _, x := range found.List {
		p := filepath.Join(spec.Workspace, filepath.FromSlash(x.Path))
		open := v.s.Repository && x.Path == ".git"
		switch {
		case x.Link || x.Missing || named(p):
		case x.Git && !open, x.Git && !x.Folder:
			spec.ReadOnly = append(spec.ReadOnly, p)
		case x.Git:
			for _, part := range workspace.StoreFixed() {
				if q := filepath.Join(p, filepath.FromSlash(part)); stat(q) == nil && !slices.Contains(v.s.Write, q) {
					spec.ReadOnly = append(spec.ReadOnly, q)
				}
			}
		default:
			spec.Masks = append(spec.Masks, p)
		}
	}
}

// watched are the protected names that are compared before and after: those that are not there, where others are covered, and all where
// nothing can be. A git store that is made has settings of its own, but no hooks.
func (v *stay) watched(found workspace.Shields) []workspace.Shield {
	covered := v.s.Level == jackline.SandboxNamespaces
	var list []workspace.Shield
	for _, x := range found.List {
		switch {
		case x.Path == ".git" && x.Missing && v.s.Repository:
			for _, part := range []string{"hooks", "commondir", "config.worktree"} {
				list = append(list, workspace.Shield{Path: ".git/" + part})
			}
		case !covered || x.Missing:
			list = append(list, x)
		case x.Path == ".git" && x.Folder && v.s.Repository:
			for _, part := range workspace.StoreFixed() {
				if stat(filepath.Join(v.k.root.Path(), ".git", filepath.FromSlash(part))) != nil && part != "modules" && part != "worktrees" {
					list = append(list, workspace.Shield{Path: ".git/" + part})
				}
			}
		}
	}
	return list
}

// may reports whether a path in the workspace was allowed by name to be changed.
func (v *stay) may(rel string) bool {
	p := filepath.Join(v.k.root.Path(), filepath.FromSlash(rel))
	return slices.ContainsFunc(v.s.Write, func(w string) bool { return inside(w, p) || inside(p, w) })
}

// leave gives up what was made for the command, and puts back what it must not have changed.
func (v *stay) leave(ctx context.Context) (notes []string) {
	if v.keep != nil {
		changed, whole, err := v.keep.Restore(ctx)
		if err != nil || !whole {
			notes = append(notes, "[not every protected file could be compared with what it was before the command]")
		}
		notes = append(notes, v.told(changed)...)
	}
	if v.dir != nil {
		v.dir.Close()
	}
	for _, p := range v.made {
		if st, err := os.Lstat(p); err == nil && st.Mode().IsRegular() && st.Size() == 0 {
			_ = os.Remove(p) // the command did not write it after all
		}
	}
	if v.temp != "" {
		notes = append(notes, discard(v.temp)...)
	}
	return notes
}

// told says which protected files were put back, and keeps what they had become, for the person.
func (v *stay) told(changed []workspace.Changed) (notes []string) {
	var back, stuck []string
	dir := filepath.Join(v.k.c.o.Data, "changed", filepath.Base(v.k.c.Home(v.k.root.Path())))
	kept := false
	for _, c := range changed {
		if strings.HasSuffix(c.Path, ".sample") && c.Err == nil {
			continue // git's own examples, which do nothing
		}
		if len(c.Now) > 0 && len(c.Now) <= maxChanged && os.MkdirAll(dir, 0o700) == nil {
			name := time.Now().UTC().Format("20060102-150405.000") + "-" + strings.ReplaceAll(c.Path, "/", "_")
			kept = os.WriteFile(filepath.Join(dir, name), c.Now, 0o600) == nil || kept
		}
		if list := &back; len(*list) < maxNamed {
			if c.Err != nil {
				list = &stuck
			}
			*list = append(*list, textfile.Valid(c.Path))
		}
	}
	if len(back) > 0 {
		say := "[the command changed protected files, and they were put back: " + strings.Join(back, ", ")
		if kept {
			say += "; what they had become is kept in " + dir
		}
		notes = append(notes, say+"]")
	}
	if len(stuck) > 0 {
		notes = append(notes, "[the command changed protected files, and they could NOT be put back: "+strings.Join(stuck, ", ")+"]")
	}
	return notes
}

// place puts the launcher before the command, and a proxy beside it where hosts were allowed.
func (v *stay) place(spec sandbox.Spec, home string) (job.Place, error) {
	c := &cage{launcher: v.k.c.o.Launcher, spec: spec}
	if len(v.s.Hosts) > 0 {
		var err error
		if c.proxy, err = v.k.c.o.Guard.Proxy(v.s.Hosts); err != nil {
			return job.Place{}, err
		}
		c.spec.Network = sandbox.ProxyNetwork
	}
	return job.Place{
		Cage: c, Env: v.k.c.env(home, v.temp), Temp: v.temp,
		Leave: func(ctx context.Context) []string {
			var notes []string
			if c.proxy != nil {
				if refused := c.proxy.Refused(); len(refused) > 0 {
					notes = append(notes, "[the command asked for hosts that it may not reach: "+strings.Join(refused, ", ")+"]")
				}
			}
			if c.run != nil && v.s.Level == jackline.SandboxNamespaces && len(c.run.Unmasked) > 0 {
				few := c.run.Unmasked[:min(len(c.run.Unmasked), maxNamed)]
				notes = append(notes, "[protected names could not be kept from the command: "+textfile.Valid(strings.Join(few, ", "))+"]")
			}
			return append(notes, v.leave(ctx)...)
		},
	}, nil
}

// A cage is a job.Cage: the launcher with what one command is given.
type cage struct {
	launcher *sandbox.Launcher
	spec     sandbox.Spec
	proxy    *egress.Proxy // nil without a network

	run    *sandbox.Run
	stop   context.CancelFunc
	served sync.WaitGroup
}

// Start implements job.Cage.
func (c *cage) Start(ctx context.Context, cmd *exec.Cmd) error {
	run, err := c.launcher.Start(cmd, c.spec)
	if err != nil {
		return err
	}
	c.run = run
	if run.Proxy != nil && c.proxy != nil {
		ctx, stop := context.WithCancel(ctx)
		c.stop = stop
		c.served.Go(func() { _ = c.proxy.Serve(ctx, run.Proxy) }) // a command whose proxy is gone has no network, and says so
	}
	return nil
}

// Close implements job.Cage.
func (c *cage) Close() error {
	if c.run == nil {
		return nil
	}
	if c.stop != nil {
		c.stop()
		c.served.Wait()
	}
	_ = c.run.Close() // all that can fail is closing what is closed already
	return nil
}
