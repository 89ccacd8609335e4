package policy

import (
	"strings"

	"github.com/jackline-ai/jackline"
)

// hard is every refusal that nobody may lift, in order. Each is tried, so that all can be shown; the first is the
// decision.
func (p *Policy) hard(i jackline.Intent, needs []need) []jackline.Decision {
	var all []jackline.Decision
	for _, t := range i.Touches {
		if t.Refused != "" {
			all = appendNew(all, refuse("refused-touch", "%s", t.Refused))
		}
	}
	all = append(all, p.commands(i)...)
	if d, ok := control(i); ok {
		all = append(all, d)
	}
	all = append(append(all, p.ours(i)...), strangers(i)...)
	if p.off(i.Tool) {
		all = append(all, refuse(jackline.RuleDisabled, "The tool %s is switched off in the settings.", i.Tool))
	}
	for k, t := range i.Touches { // hosts that a command names have no column of their own
		if t.Kind == kindHost {
			needs = append(needs[:len(needs):len(needs)], need{web, &i.Touches[k]})
		}
	}
	for _, n := range needs {
		if d, ok := p.toggled(n); ok {
			all = appendNew(all, d)
		}
	}
	if i.Actor.Turn.Options.Offline && effects(i)&(jackline.Network|jackline.Outward) != 0 {
		all = append(all, refuse(jackline.RuleOffline, "This turn is to do without the web."))
	}
	if i.Actor.Turn.Options.Guide {
		all = append(all, refuse("guide", "This turn is to be answered in words, without tools."))
	}
	for _, n := range needs {
		for _, d := range p.modeSays(i, n.column) {
			if d.Verdict == jackline.Deny {
				all = appendNew(all, d)
			}
		}
	}
	return all
}

// commands refuses text that no shell should be given.
func (p *Policy) commands(i jackline.Intent) []jackline.Decision {
	var all []jackline.Decision
	for _, t := range i.Touches {
		if t.Kind != kindCommand {
			continue
		}
		r, ok := p.read(i, t)
		switch {
		case !ok:
			all = appendNew(all, refuse("command-text", "Nothing here can read commands, so none is run."))
		case r.Refused != "" && r.Rule != "":
			all = appendNew(all, refuse(r.Rule, "%s", r.Refused))
		case r.Refused != "":
			all = appendNew(all, refuse("command-text", "%s", r.Refused))
		}
	}
	return all
}

// ours refuses the program's own server to whatever a model reaches out with: there a person changes settings and answers.
func (p *Policy) ours(i jackline.Intent) []jackline.Decision {
	if p.conf.Own == nil || person(i) {
		return nil
	}
	for _, t := range i.Touches {
		if t.Kind == kindHost && !t.Service && p.conf.Own(t.Name) {
			return []jackline.Decision{refuse("control-plane", "%s is Jackline's own server, which no tool may reach.", t.Name)}
		}
	}
	return nil
}

// strangers refuses the tools of connected servers to those who may not have them. A name that looks like one is one.
func strangers(i jackline.Intent) []jackline.Decision {
	if i.Actor.Admin || !foreign(i) {
		return nil
	}
	return []jackline.Decision{refuse("connected", "The tools of connected servers are the administrator's.")}
}

// foreign reports whether a call is to a connected server.
func foreign(i jackline.Intent) bool {
	return i.Connected != "" || strings.HasPrefix(strings.ToLower(i.Tool), connected)
}

// person reports whether a call is a person's own, not a model's.
func person(i jackline.Intent) bool {
	return i.Actor.Source == jackline.FromUser || i.Actor.Source == jackline.FromAPI
}

// control keeps models away from the program's own settings. A person reaches them.
func control(i jackline.Intent) (jackline.Decision, bool) {
	if person(i) {
		return jackline.Decision{}, false
	}
	if effects(i).Has(jackline.Configure) {
		return refuse("control-plane", "Only a person changes settings, permissions and approvals."), true
	}
	return jackline.Decision{}, false
}

// off reports whether the list of disabled tools holds the tool, by any of its names or by a pattern.
func (p *Policy) off(tool string) bool {
	for _, entry := range p.disabled {
		entry = strings.TrimSpace(entry)
		if strings.Contains(entry, "*") {
			if star(strings.ToLower(entry), strings.ToLower(tool)) {
				return true
			}
			continue
		}
		if strings.EqualFold(entry, tool) || p.own(entry) == tool && entry != "" {
			return true
		}
	}
	return false
}

// own is the tool's own name for any of its names, and name itself where there is no such tool.
func (p *Policy) own(name string) string {
	if p.conf.Lookup != nil {
		if own, _, ok := p.conf.Lookup(name); ok {
			return own
		}
	}
	return name
}

// toggled refuses what a switched-off category covers. What nobody knows may belong to any of them.
func (p *Policy) toggled(n need) (jackline.Decision, bool) {
	const text = "The category %s is switched off in the settings."
	t := p.toggles
	var name string
	switch n.column {
	case reads:
		if !t.ReadFiles {
			name = "readFiles"
		}
	case writes, deletes:
		if !t.WriteFiles {
			name = "writeFiles"
		}
	case readShell, boxedShell, otherShell:
		if !t.RunShell {
			name = "runShell"
		}
	case web, sends:
		if !t.Network {
			name = "network"
		}
	case unknown:
		if t != jackline.AllOn {
			return refuse("toggle", "What this tool does is not known, and a category is switched off in the settings."), true
		}
	case settings:
	}
	if name == "" {
		return jackline.Decision{}, false
	}
	return refuse("toggle."+name, text, name), true
}
