package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/shell"
	"github.com/jackline-ai/jackline/workspace"
)

// observe says what is true now of what an intent names: the files in its workspace, and the settings that it is judged by.
func (a *app) observe(root *workspace.Root) func(context.Context, jackline.Intent) ([]jackline.Fact, error) {
	return func(ctx context.Context, i jackline.Intent) ([]jackline.Fact, error) {
		facts, err := root.Observe(ctx, i.Touches)
		if err != nil {
			return nil, err
		}
		p, err := a.set.Permissions(ctx, i.Actor.Owner)
		if err != nil {
			return nil, err
		}
		digest, err := settingsDigest(p)
		return append(facts, jackline.Fact{Name: "the permissions", Digest: digest}), err
	}
}

// settingsDigest identifies what of the settings holds calls back. Rules that allow are not in it: they take nothing from a yes, and
// one may be the very answer to the card.
func settingsDigest(p jackline.Permissions) (string, error) {
	var strict []jackline.Rule
	for _, r := range p.Rules {
		if r.Do != jackline.Allow {
			strict = append(strict, r)
		}
	}
	text, err := json.Marshal([]any{p.Toggles, p.Disabled, strict})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// maxNamed is how many files and programs of one command are looked at: as many as its analysis lists.
const maxNamed = 500

// named reads from a command what it would use.
func (a *app) named(root *workspace.Root) func(command, dir string) builtin.Named {
	return func(command, dir string) builtin.Named {
		w := shell.World{Home: a.env("HOME"), Workspace: root.Path(), Dir: dir, State: a.places().State, User: a.env("USER")}
		found := shell.Judge(command, w, shell.Bash)
		n := builtin.Named{
			Files: found.Files, Data: found.Verdict == shell.Harmless,
			Cut: len(found.Touches) >= maxNamed || len(found.Parts) >= maxNamed || len(found.Files) >= maxNamed,
		}
		for _, t := range found.Touches {
			switch t.Kind {
			case shell.Runs:
				if !strings.ContainsAny(t.Name, "/?*") {
					n.Programs = append(n.Programs, t.Name)
				}
			case shell.Reads:
				n.Files = append(n.Files, t.Name)
			case shell.Writes, shell.Deletes, shell.Calls, shell.Unknown:
			}
		}
		return n
	}
}

// fits says why a pattern may not stand for calls like one, under the settings in force.
func (a *app) fits(pattern string, like jackline.Intent) error {
	p, err := a.set.Permissions(context.Background(), like.Actor.Owner)
	if err != nil {
		return err
	}
	return a.policy.With(p).Grant(pattern, like)
}
