package policy

import (
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
)

// Risk is the word on a card, high, medium or low, and what it is for, in a sentence.
func (p *Policy) Risk(i jackline.Intent) (word, why string) {
	var high, medium []string
	add := func(list *[]string, s string) {
		for _, have := range *list {
			if have == s {
				return
			}
		}
		*list = append(*list, s)
	}
	for _, n := range p.needs(i) {
		switch n.column {
		case deletes:
			add(&high, "it deletes")
		case sends:
			add(&high, "it sends something out")
		case boxedShell:
			add(&medium, "it runs a program")
		case otherShell:
			if !i.Sandbox.Holds() {
				add(&high, "it runs without a sandbox")
			}
			add(&medium, "it runs a program")
		case settings:
			add(&high, "it changes settings")
		case unknown:
			add(&high, "what it does is not known")
		case web:
			if i.Labels.Tainted && i.Labels.Private {
				add(&high, "it reaches the network from a chat that has read both private text and text by others")
			}
			add(&medium, "it reaches the network")
		case writes:
			if n.touch == nil || n.touch.Exists {
				add(&medium, "it replaces what is there")
			}
		case readShell, reads:
		}
		if n.touch != nil && n.touch.Kind == kindPath && !globFits("**", n.touch.Name) {
			add(&high, "it reaches outside the workspace")
		}
	}
	if len(p.beyond(i)) > 0 {
		add(&high, "it reaches outside the workspace or something protected")
	}
	if len(i.Sandbox.Hosts) > 0 || slices.ContainsFunc(i.Touches, func(t jackline.Touch) bool { return t.Kind == kindHost && t.Effect.Has(jackline.Exec) }) {
		if i.Labels.Tainted && i.Labels.Private {
			add(&high, "it reaches the network from a chat that has read both private text and text by others")
		}
		add(&medium, "it reaches the network")
	}
	switch {
	case len(high) > 0:
		return "high", "High risk: " + strings.Join(high, ", and ") + "."
	case len(medium) > 0:
		return "medium", "Medium risk: " + strings.Join(medium, ", and ") + "."
	}
	return "low", "Low risk."
}
