package main

import (
	"context"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/policy"
	"github.com/jackline-ai/jackline/shell"
	"github.com/jackline-ai/jackline/web"
	"github.com/jackline-ai/jackline/workspace"
)

// judge answers one line of permissions test: what would happen if. It runs nothing and opens no file.
func (a *app) judge(ctx context.Context, o jackline.Owner, line json.RawMessage) (json.RawMessage, error) {
	p, err := a.set.Permissions(ctx, o)
	if err != nil {
		return nil, err
	}
	t := policy.Tester{
		Policy: a.policy.With(p),
		Actor:  jackline.Actor{Owner: o, Admin: true, Session: jackline.Session{Owner: o, Workspace: p.WorkspaceRoot, Mode: p.Mode}, Source: jackline.FromModel},
		Runner: a.runner, Command: a.commandTouches, Sandbox: jackline.Sandbox{Level: a.cells.Report().Level}, Path: a.pathIntent, URL: a.urlIntent, Call: a.callIntent,
	}
	j, err := t.Test(ctx, line)
	if err != nil {
		return nil, err
	}
	return json.Marshal(j)
}

// effects are what the operations of a path probe would do.
var effects = map[string]jackline.Effect{
	"": jackline.Read, "read": jackline.Read, "list": jackline.Read, "cwd": jackline.Read, "grep": jackline.Read, "glob": jackline.Read,
	"write": jackline.Write, "edit": jackline.Write, "mkdir": jackline.Write, "move": jackline.Write, "delete": jackline.Delete,
}

// pathIntent is what a file tool would be judged by. Where the workspace is there its links are followed; where it is not,
// the name alone is judged.
func (a *app) pathIntent(_ context.Context, who jackline.Actor, p policy.Probe) (jackline.Intent, error) {
	const op = "permissions.path"
	effect, ok := effects[p.Op]
	if !ok {
		return jackline.Intent{}, jackline.E(op, jackline.Invalid, nil, "There is no operation %q.", p.Op)
	}
	i := jackline.Intent{Actor: who, Effect: effect}
	paths := []string{p.Path}
	if p.To != "" {
		paths = append(paths, p.To)
	}
	names := workspace.Names{State: workspace.StateNames()}
	switch p.OS {
	case "", "linux", "darwin":
	case "casefold":
		names.Target = workspace.Folding
	case "windows":
		names.Target = workspace.Windows
	default:
		return i, jackline.E(op, jackline.Invalid, nil, "There are no rules for the system %q.", p.OS)
	}
	var root *workspace.Root
	if st, err := os.Stat(who.Session.Workspace); p.OS == "" && err == nil && st.IsDir() {
		if root, err = workspace.Open(who.Session.Workspace, a.places()); err != nil {
			return i, err
		}
		defer func() { _ = root.Close() }()
	}
	for _, given := range paths {
		if root != nil {
			i.Touches = append(i.Touches, root.Touch(effect, given)...)
			continue
		}
		touch := jackline.Touch{Effect: effect, Kind: "path", Name: given}
		if err := names.Check(given); err != nil {
			touch.Refused = jackline.Say(err)
		} else if leaves(who.Session.Workspace, given) {
			touch.Refused = "It is outside the workspace."
		}
		i.Touches = append(i.Touches, touch)
	}
	return i, nil
}

// leaves reports whether a clean name lies outside a folder, by its text.
func leaves(folder, name string) bool {
	if filepath.IsAbs(name) || path.IsAbs(name) {
		rel, err := filepath.Rel(folder, name)
		return err != nil || rel == ".." || strings.HasPrefix(rel, "../")
	}
	clean := path.Clean(name)
	return clean == ".." || strings.HasPrefix(clean, "../")
}

// urlIntent is what fetching an address would be judged by. Nothing is looked up.
func (a *app) urlIntent(_ context.Context, who jackline.Actor, p policy.Probe) (jackline.Intent, error) {
	return jackline.Intent{
		Actor: who, Tool: web.Reader(), Effect: jackline.Network, Labels: who.Session.Labels,
		Touches: []jackline.Touch{web.Touch(a.guard, p.URL)},
	}, nil
}

// commandTouches is what a command would touch. No repository is looked at.
func (a *app) commandTouches(s policy.Script) []jackline.Touch {
	return builtin.Commanded(s.Text, s.Workspace, shell.Used(a.world.in(s)))
}

// callIntent is what a model's call would be judged by.
func (a *app) callIntent(ctx context.Context, who jackline.Actor, p policy.Probe) (jackline.Intent, error) {
	if who.Session.Workspace == a.conf.Places.Workspace {
		// The default workspace is made by whatever needs it first.
		if _, err := a.vet(ctx, ""); err != nil {
			return jackline.Intent{Actor: who}, err
		}
	}
	if st, err := os.Stat(who.Session.Workspace); err != nil || !st.IsDir() {
		return jackline.Intent{Actor: who}, jackline.E("permissions.call", jackline.Invalid, err, "The workspace %s is not there.", who.Session.Workspace)
	}
	g, err := a.gate(who.Session)
	if err != nil {
		return jackline.Intent{Actor: who}, err
	}
	args := p.Args
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	return g.Intent(who, jackline.Call{Name: p.Tool, Args: args})
}
