package policy

import (
	"strings"

	"github.com/jackline-ai/jackline"
)

// Grant says why a pattern may not stand for further calls like i, in a sentence for the person who wrote it, or nil where it may. It
// is read as an allow rule on one tool. It must cover all of i that would be asked about, and be no wider than a person who looks at
// one call can oversee: of a command the program and its first word are named, of files a folder, of hosts a site.
func (p *Policy) Grant(pattern string, i jackline.Intent) error {
	fail := func(why string, a ...any) error {
		return jackline.E("policy.Grant", jackline.Unprocessed, nil, "The pattern "+why, a...)
	}
	p = p.once()
	c := compile(jackline.Rule{Do: jackline.Allow, Pattern: pattern})
	switch {
	case c.bad != nil:
		return c.bad
	case strings.Contains(c.tool, "*"):
		return fail("must name one tool, without a star.")
	case c.whole:
		return fail("would cover every call of %s; say in parentheses which.", c.tool)
	case !p.about(c, i.Tool):
		return fail("is about %s, and this is a call of %s.", c.tool, i.Tool)
	}
	covered := false
	for _, n := range p.needs(i) {
		worst := jackline.Allow
		for _, d := range p.modeSays(i, n.column) {
			worst = min(worst, d.Verdict)
		}
		if worst == jackline.Allow {
			continue
		}
		if _, ok := p.lift(i, n, []rule{c}); !ok || worst == jackline.Deny {
			return fail("does not cover all of this call.")
		}
		if n.touch != nil {
			if why := c.wide(n.touch.Kind); why != "" {
				return fail("%s", why)
			}
		}
		covered = true
	}
	if !covered {
		return fail("covers nothing of this call that is asked about.")
	}
	return nil
}

// wide says why a pattern takes in too much of a kind of touches, or "".
func (r rule) wide(kind string) string {
	switch kind {
	case kindCommand:
		starred := false
		for _, w := range r.words {
			starred = starred || !w.literal()
		}
		if starred && !r.subcommand() {
			return "is too wide: name the program and its subcommand, as in git status *."
		}
	case kindPath:
		first, _, deeper := strings.Cut(r.glob, "/")
		if strings.ContainsAny(first, "*?[{") && (deeper || strings.Contains(first, "**")) || first == "" {
			return "is too wide: begin it with the name of a folder, as in src/**."
		}
	case kindHost:
		if suffix, wild := strings.CutPrefix(r.host, "*"); wild && strings.Count(suffix, ".") < 2 {
			return "is too wide: name a site, as in *.example.org."
		}
	}
	return ""
}

// subcommand reports whether the program and its first word are written out.
func (r rule) subcommand() bool {
	return len(r.words) >= 2 && r.words[0].literal() && r.words[1].literal() && !strings.HasPrefix(r.words[1][0], "-")
}
