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
	if p.off(i.Tool) {
		all = append(all, refuse(jackline.RuleDisabled, "The tool %s is switched off in the settings.", i.Tool))
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
		for _, d := range modeSays(i, n.column) {
			if d.Verdict == jackline.Deny {
				all = appendNew(all, d)
			}
		}
	}
	return all
}

// commands refuses text that no shell should be given. The deny list of commands will stand here too.
func (p *Policy) commands(i jackline.Intent) []jackline.Decision {
	var all []jackline.Decision
	for _, t := range i.Touches {
		if t.Kind != kindCommand {
			continue
		}
		why := "Nothing here can read commands, so none is run."
		if p.conf.CheckShell != nil {
			why = p.conf.CheckShell(t.Name)
		}
		if why != "" {
			all = appendNew(all, refuse("command-text", "%s", why))
		}
	}
	return all
}

// control keeps models away from the program's own settings. A person reaches them.
func control(i jackline.Intent) (jackline.Decision, bool) {
	if i.Actor.Source == jackline.FromUser || i.Actor.Source == jackline.FromAPI {
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
	case readShell, otherShell:
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
