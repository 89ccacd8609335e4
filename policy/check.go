package policy

import (
	"fmt"
	"strings"

	"github.com/jackline-ai/jackline"
)

// CheckRules reports what is wrong with rules: patterns that cannot be read, tools that do not exist, and
// examples that turn out otherwise than they say. Each error names the rule.
func (p *Policy) CheckRules(rules []jackline.Rule) []error {
	var all []error
	for _, r := range rules {
		c := compile(r)
		if c.bad != nil {
			all = append(all, c.bad)
			continue
		}
		fail := func(why string, a ...any) {
			all = append(all, jackline.E("policy.CheckRules", jackline.Invalid, nil, "The rule %q %s",
				r.Do.String()+" "+r.Pattern, fmt.Sprintf(why, a...)))
		}
		kind, problem := p.kind(c)
		if problem != "" {
			fail("%s", problem)
			continue
		}
		if c.even && (c.do != jackline.Allow || strings.Contains(c.tool, "*") || !c.narrow(kind)) {
			fail("is wider than even_tainted may be: allow an exact command, as in shell(go test ./...), or writes in one named folder, as in file_write(notes/*).")
			continue
		}
		for _, example := range r.Match {
			if got := p.try(c, kind, example); got != yes {
				fail("is meant to match %q and does not.", example)
			}
		}
		for _, example := range r.NotMatch {
			switch p.try(c, kind, example) {
			case yes:
				fail("is not meant to match %q and does.", example)
			case perhaps:
				fail("is not meant to match %q, but the text alone does not tell whether it does.", example)
			case no:
			}
		}
	}
	return all
}

// kind is what a rule's pattern is compared with: a tool's name, a command, a path or a host. It follows from what
// the tool could do, where that is known.
func (p *Policy) kind(r rule) (kind, problem string) {
	if r.whole {
		kind = kindTool
	} else if kind = kindPath; r.on != "" {
		kind = r.on
	}
	if p.conf.Lookup == nil || strings.Contains(r.tool, "*") {
		return kind, ""
	}
	_, e, ok := p.conf.Lookup(r.tool)
	if !ok {
		if strings.HasPrefix(r.tool, connected) {
			return kind, "" // a server that is not connected now
		}
		return "", fmt.Sprintf("names the tool %q, which does not exist.", r.tool)
	}
	if r.whole && r.do == jackline.Allow && e.Has(jackline.Exec) {
		return "", fmt.Sprintf("allows no command that does more than read without a sandbox, which a rule cannot count on: name the program, as in %s(go test *).", r.tool)
	}
	if r.whole || e == 0 {
		return kind, ""
	}
	has := kindPath
	switch {
	case e.Has(jackline.Exec):
		has = kindCommand
	case e.Has(jackline.Network) || e.Has(jackline.Outward):
		has = kindHost
	case e == jackline.Pure:
		return "", "has a pattern, but the tool touches nothing that one could be compared with."
	}
	switch {
	case has == kindHost && r.on == "":
		return "", "has a pattern for paths or commands, but the tool reaches hosts: write host: in front."
	case has != kindHost && r.on == kindHost:
		return "", "has a pattern for hosts, but the tool reaches none."
	case has == kindCommand && r.do == jackline.Allow && !r.words[0].literal():
		return "", "allows nothing without a sandbox, which a rule cannot count on: its first word must name the program, without a star."
	case has == kindPath && r.odd:
		return "", "has a pattern that cannot be read as a path."
	}
	return has, ""
}

const (
	kindTool  = "tool"
	connected = "mcp__" // how the names of connected tools begin
)

// try says whether a rule is about an example: a tool's name, or what the tool would touch.
func (p *Policy) try(r rule, kind, example string) fit {
	if kind == kindTool {
		return sure(p.about(r, p.own(example)))
	}
	if r.do != jackline.Allow {
		return p.broad(jackline.Intent{}, r, jackline.Touch{Kind: kind, Name: example})
	}
	switch kind {
	case kindHost:
		return sure(hostFits(r.host, example))
	case kindCommand:
		parts, ok := p.split(jackline.Intent{}, jackline.Touch{Kind: kindCommand, Name: example})
		for _, words := range parts {
			ok = ok && fitsNarrowly(r.words, words)
		}
		return sure(ok)
	}
	return sure(globFits(r.glob, example))
}
