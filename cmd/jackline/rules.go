package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/policy"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/web"
)

// newPolicy makes the judge of all intents, without settings, and names the tool that runs commands. The tools are good for nothing but
// what they say of themselves, which is the same in every workspace.
func newPolicy(w world) (p *policy.Policy, tools *tool.Set, runner string, err error) {
	tools, err = tool.NewSet(allTools(builtin.Deps{}, web.Deps{})...)
	if err != nil {
		return nil, nil, "", err
	}
	for t := range tools.All() {
		if t.Facts().Effect.Has(jackline.Exec) && t.Facts().Body == "" { // what has a body runs code, not commands
			runner = t.Facts().Name
		}
	}
	return policy.New(policy.Config{
		Lookup: func(name string) (string, jackline.Effect, bool) {
			t, ok := tools.Lookup(name)
			if !ok {
				return "", 0, false
			}
			return t.Facts().Name, t.Facts().Effect, true
		},
		Names: tools.Names(), ReadShell: w.read, Own: w.own, Root: os.Geteuid() == 0,
	}), tools, runner, nil
}

// idle says what of the permissions does nothing: that is allowed, and hardly what was meant.
func idle(p *policy.Policy, names []string, in jackline.Permissions) []string {
	all := p.IdleRules(in.Rules)
	for _, name := range p.IdleNames(in.Disabled) {
		if name = strings.TrimSpace(name); name != "" {
			all = append(all, fmt.Sprintf("tools.disabled: there is no tool %.60q; did you mean %s?", name, settings.Nearest(name, names)))
		}
	}
	return all
}

// warnIdle prints which of the rights given to a task allow nothing. What cannot be read the server refuses.
func (m *Main) warnIdle(allow []string) error {
	if len(allow) == 0 {
		return nil
	}
	p, tools, _, err := newPolicy(newWorld(nil, nil))
	if err != nil {
		return err
	}
	var rules []jackline.Rule
	for _, pattern := range allow {
		rules = append(rules, jackline.Rule{Do: jackline.Allow, Pattern: pattern})
	}
	m.warn(idle(p, tools.Names(), jackline.Permissions{Rules: rules}))
	return nil
}
