package policy

import (
	"slices"

	"github.com/jackline-ai/jackline"
)

// The rules of the taint gate, as a decision names them.
const (
	taintActs    = "taint"         // it changes, runs, sends, or nobody knows
	taintForeign = "taint.foreign" // a connected server
	taintAddress = "taint.address" // the model made the address up
	taintPrivate = "taint.private" // what it asks could carry the owner's own text out
)

// tainted is what the taint gate says about a call of a session that has read text which somebody else could have written: ask,
// or nothing where such a call is free. It is judged by what a call does, not by its name, and what a server says of its own tool
// changes nothing. A person's own calls are not a model's.
//
// Free are pure calls, reads in the workspace, and commands that are proved to read only. What reaches out could carry text away
// in its address: while the session has read nothing of the owner's own, a search is free, and so is an address that the owner
// wrote or a search brought; afterwards only an address that the owner wrote. A rule lifts the gate only if its owner wrote that it
// may, and only in the narrow cases of [jackline.Rule].
func (p *Policy) tainted(i jackline.Intent, needs []need) []jackline.Decision {
	if !i.Labels.Tainted || i.Actor.Session.Ungated || person(i) {
		return nil
	}
	if foreign(i) {
		return []jackline.Decision{asks(taintForeign, "This chat has read text that others could have written, so tools of connected servers are asked about.")}
	}
	even := slices.DeleteFunc(slices.Clone(p.rules), func(r rule) bool { return !r.even })
	var all, lifted []jackline.Decision
	for _, n := range needs {
		d, free := taintSays(i, n)
		if free {
			continue
		}
		narrow := slices.DeleteFunc(slices.Clone(even), func(r rule) bool { return !r.narrowFor(n) })
		if by, ok := p.lift(i, n, narrow); ok && len(p.beyond(i)) == 0 {
			lifted = appendNew(lifted, by)
			continue
		}
		all = appendNew(all, d)
	}
	return append(all, lifted...)
}

func asks(rule, reason string) jackline.Decision {
	return jackline.Decision{Verdict: jackline.Ask, Rule: rule, Reason: reason}
}

// taintSays is what the gate says about one need, whoever wrote rules.
func taintSays(i jackline.Intent, n need) (d jackline.Decision, free bool) {
	switch n.column {
	case reads, readShell:
		return d, true
	case web:
		own := n.touch != nil && n.touch.Address != "" && slices.Contains(i.Said, n.touch.Address)
		found := n.touch != nil && n.touch.Address != "" && slices.Contains(i.Found, n.touch.Address)
		search := n.touch != nil && n.touch.Service && n.touch.Address == ""
		switch {
		case own, !i.Labels.Private && (found || search):
			return d, true
		case i.Labels.Private:
			return asks(taintPrivate, "This chat has read text that others could have written and text of your own, which an address or a search could carry out."), false
		}
		return asks(taintAddress, "This chat has read text that others could have written, and neither you nor a search gave this address."), false
	case unknown, writes, deletes, boxedShell, otherShell, sends, settings:
	}
	return asks(taintActs, "This chat has read text that others could have written, so "+n.column.words()+" is asked about."), false
}

// narrow reports whether a rule on things of a kind is narrow enough to count in a tainted session.
func (r rule) narrow(kind string) bool {
	return kind == kindCommand && r.exact() || kind == kindPath && r.folder()
}

// narrowFor reports whether a rule may lift the taint gate for a need: a command in the sandbox, or a write.
func (r rule) narrowFor(n need) bool {
	switch n.column {
	case boxedShell:
		return r.exact()
	case writes:
		return r.folder() && n.touch != nil && n.touch.Kind == kindPath
	case unknown, reads, readShell, deletes, otherShell, web, sends, settings:
	}
	return false
}
