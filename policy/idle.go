package policy

import (
	"fmt"
	"strings"

	"github.com/jackline-ai/jackline"
)

// IdleRules says which rules never do what they seem to: each as a sentence for their owner. They are no mistakes that
// [Policy.CheckRules] would find, since what they lack may come: a tool, a sandbox, the end of another rule. Rules that
// cannot be read are left to it.
func (p *Policy) IdleRules(rules []jackline.Rule) []string {
	var all []string
	for _, r := range rules {
		c := compile(r)
		if c.bad != nil {
			continue
		}
		if why := p.idle(r, c, rules); why != "" {
			all = append(all, fmt.Sprintf("The rule %q %s", r.Do.String()+" "+r.Pattern, why))
		}
	}
	return all
}

// idle says why r, which is c taken apart, does not do what it seems to, or "".
func (p *Policy) idle(r jackline.Rule, c rule, rules []jackline.Rule) string {
	if strings.Contains(c.tool, "*") && !p.aboutAny(c) {
		return "has no effect: there is no tool whose name fits."
	}
	if c.do != jackline.Allow {
		return ""
	}
	_, arg, _ := strings.Cut(r.Pattern, "(")
	for _, other := range rules {
		o := compile(other)
		if o.bad != nil || o.do == jackline.Allow {
			continue
		}
		_, otherArg, _ := strings.Cut(other.Pattern, "(")
		covers := o.tool == "*" || p.own(o.tool) == p.own(c.tool)
		if covers && (o.whole || !c.whole && otherArg == arg) {
			return fmt.Sprintf("has no effect: %q is stricter, and the strictest rule decides.", other.Do.String()+" "+other.Pattern)
		}
	}
	return ""
}

// aboutAny reports whether a rule is about any tool that there is, or that a server which is connected later may bring.
func (p *Policy) aboutAny(r rule) bool {
	found := p.conf.Names == nil || mayConnect(r.tool)
	for _, name := range p.conf.Names {
		found = found || p.about(r, name)
	}
	return found
}

// IdleNames gives the entries of a list of disabled tools that switch off none: neither one that there is nor one that
// a server which is connected later may bring.
func (p *Policy) IdleNames(disabled []string) []string {
	var idle []string
	for _, entry := range disabled {
		q := &Policy{conf: p.conf, disabled: []string{entry}}
		off := p.conf.Names == nil || mayConnect(strings.TrimSpace(entry))
		for _, name := range p.conf.Names {
			off = off || q.off(name)
		}
		if !off {
			idle = append(idle, entry)
		}
	}
	return idle
}

// mayConnect reports whether a name, or a pattern by how it begins, is about tools of connected servers.
func mayConnect(name string) bool {
	head, _, pattern := strings.Cut(strings.ToLower(name), "*")
	return strings.HasPrefix(head, connected) || pattern && head != "" && strings.HasPrefix(connected, head)
}
