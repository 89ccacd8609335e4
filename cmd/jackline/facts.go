package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/jackline-ai/jackline"
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

// fits says why a pattern may not stand for calls like one, under the settings in force.
func (a *app) fits(pattern string, like jackline.Intent) error {
	p, err := a.set.Permissions(context.Background(), like.Actor.Owner)
	if err != nil {
		return err
	}
	return a.policy.With(p).Grant(pattern, like)
}
