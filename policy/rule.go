package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/jackline-ai/jackline"
)

// Named limits: more than any sensible rule needs. Each brace of a path multiplies the ways to read it.
const (
	maxPattern = 512
	maxBraces  = 4
)

// A rule is a jackline.Rule taken apart once.
type rule struct {
	do    jackline.Verdict
	in    string // the workspace in whose chats it holds; "" is everywhere
	label string // what the rule is called in a decision
	tool  string // a name, or a pattern with *
	on    string // the kind of touches that an argument is compared with; "" is path or command, by the touch
	glob  string // for paths
	words []wordPattern
	host  string
	odd   bool // glob is no pattern for paths; it may still be one for commands
	whole bool // no argument: the rule is about the whole call
	even  bool // it counts in a tainted session
	bad   error
}

// exact reports whether a rule allows one command, word for word.
func (r rule) exact() bool {
	return r.bad == nil && !r.whole && r.on == "" && len(r.words) > 0 && !slices.ContainsFunc(r.words, func(w wordPattern) bool { return !w.literal() })
}

// folder reports whether a rule allows what lies in one named folder.
func (r rule) folder() bool {
	dir := strings.TrimSuffix(strings.TrimSuffix(r.glob, "/*"), "/**")
	return r.bad == nil && !r.whole && r.on == "" && dir != r.glob && dir != "" && dir != "." && !strings.ContainsAny(dir, "*?[]{}\\") && path.Clean(dir) == dir &&
		dir != ".." && !strings.HasPrefix(dir, "../") && !path.IsAbs(dir)
}

// ParseRule reads "allow|ask|deny PATTERN", as in "allow shell(npm test*)".
func ParseRule(s string) (jackline.Rule, error) {
	const op = "policy.ParseRule"
	verb, pattern, _ := strings.Cut(strings.TrimSpace(s), " ")
	r := jackline.Rule{Pattern: strings.TrimSpace(pattern)}
	if err := r.Do.UnmarshalText([]byte(verb)); err != nil {
		return jackline.Rule{}, jackline.E(op, jackline.Invalid, err,
			"The rule %q does not start with allow, ask or deny.", s)
	}
	if c := compile(r); c.bad != nil {
		return jackline.Rule{}, c.bad
	}
	return r, nil
}

// compile takes r apart. A rule that cannot be read is kept, marked bad.
func compile(r jackline.Rule) rule {
	c := rule{do: r.Do, even: r.EvenTainted, in: r.Workspace, label: "rule " + r.Do.String() + " " + r.Pattern}
	if c.in != "" {
		c.label += " in " + c.in
	}
	c.bad = c.parse(r)
	return c
}

func (c *rule) parse(r jackline.Rule) error {
	fail := func(why string, a ...any) error {
		return jackline.E("policy.ParseRule", jackline.Invalid, nil, "The rule %q cannot be read: %s",
			r.Do.String()+" "+r.Pattern, fmt.Sprintf(why, a...))
	}
	if r.Do != jackline.Deny && r.Do != jackline.Ask && r.Do != jackline.Allow {
		return fail("it neither allows nor asks nor denies.")
	}
	if r.Workspace != "" && !path.IsAbs(r.Workspace) && !strings.Contains(r.Workspace, ":\\") {
		return fail("its workspace %q is no absolute path.", r.Workspace)
	}
	if len(r.Pattern) > maxPattern {
		return fail("it is longer than %d bytes.", maxPattern)
	}
	name, arg, open := strings.Cut(r.Pattern, "(")
	c.tool, c.whole = name, !open
	if !toolName(name) {
		return fail("%q is not the name of a tool, nor a pattern for one.", name)
	}
	if !open {
		return nil
	}
	arg, closed := strings.CutSuffix(arg, ")")
	if !closed {
		return fail("the parenthesis is not closed.")
	}
	if strings.TrimSpace(arg) == "" {
		return fail("there is nothing between the parentheses; leave them out to mean every call.")
	}
	if host, ok := strings.CutPrefix(arg, "host:"); ok {
		c.on, c.host = kindHost, strings.ToLower(strings.TrimSpace(host))
		if !hostPattern(c.host) {
			return fail("%q is not a host; write example.org, *.example.org or *.", host)
		}
		return nil
	}
	words, err := splitPattern(arg)
	if err != "" {
		return fail("%s", err)
	}
	c.words, c.glob = words, strings.TrimPrefix(arg, "./")
	if strings.Count(c.glob, "{") > maxBraces || !doublestar.ValidatePattern(c.glob) {
		c.odd, c.glob = true, ""
	}
	return nil
}

func toolName(s string) bool {
	for _, r := range s {
		if !strings.ContainsRune("_-.*", r) && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func hostPattern(h string) bool {
	rest, wild := strings.CutPrefix(h, "*.")
	if h == "*" {
		return true
	}
	if strings.Contains(rest, "*") || rest == "" || wild && strings.HasPrefix(rest, ".") {
		return false
	}
	return !strings.ContainsAny(rest, " \t/@\\?#%")
}

// fits says how sure it is that the rule is about this touch. Narrow is how allow rules are read: what is not
// certain does not fit.
type fit int

const (
	no fit = iota
	perhaps
	yes
)

// holdsIn reports whether the rule is for the workspace of an intent.
func (r rule) holdsIn(i jackline.Intent) bool { return r.in == "" || r.in == i.Actor.Session.Workspace }

// about reports whether the rule is about the tool.
func (p *Policy) about(r rule, tool string) bool {
	if strings.Contains(r.tool, "*") {
		return star(r.tool, tool) || r.do != jackline.Allow && star(strings.ToLower(r.tool), strings.ToLower(tool))
	}
	return tool != "" && (p.own(r.tool) == tool || r.do != jackline.Allow && strings.EqualFold(r.tool, tool))
}

// limit is what a deny or ask rule says about i, if anything.
func (p *Policy) limit(r rule, i jackline.Intent) (jackline.Decision, bool) {
	if r.do == jackline.Allow || !r.holdsIn(i) {
		return jackline.Decision{}, false
	}
	if r.bad != nil {
		if effects(i) == jackline.Pure {
			return jackline.Decision{}, false
		}
		return jackline.Decision{Verdict: jackline.Ask, Rule: r.label,
			Reason: jackline.Say(r.bad) + " Until it can be, calls are asked about."}, true
	}
	if !p.about(r, i.Tool) {
		return jackline.Decision{}, false
	}
	best := no
	if r.whole {
		best = yes
	}
	for _, t := range i.Touches {
		best = max(best, p.broad(i, r, t))
	}
	d := jackline.Decision{Verdict: r.do, Rule: r.label,
		Reason: fmt.Sprintf("A rule of the owner's says %s to this.", r.do)}
	switch best {
	case perhaps:
		d.Verdict = jackline.Ask
		d.Reason = "A rule of the owner's may be about this; the text alone does not tell."
	case no:
		return jackline.Decision{}, false
	case yes:
	}
	return d, true
}

// broad says whether a deny or ask rule may be about a touch.
func (p *Policy) broad(i jackline.Intent, r rule, t jackline.Touch) fit {
	switch {
	case r.whole:
		return no // judged with the call
	case t.Kind == kindHost && r.on == kindHost:
		return sure(hostFits(r.host, t.Name))
	case t.Kind == kindPath && r.on == "" && r.odd:
		return perhaps
	case t.Kind == kindPath && r.on == "":
		return sure(globFits(strings.ToLower(r.glob), strings.ToLower(t.Name)))
	case t.Kind == kindCommand && r.on == "":
		parts, ok := p.split(i, t)
		if !ok {
			return perhaps
		}
		best := no
		for _, words := range parts {
			best = max(best, fitsBroadly(r.words, words))
		}
		return best
	}
	return no
}

// lift finds the rules that allow a need, and returns what they say.
func (p *Policy) lift(i jackline.Intent, n need, rules []rule) (jackline.Decision, bool) {
	var parts [][]Word
	if n.touch != nil && n.touch.Kind == kindCommand {
		parts, _ = p.split(i, *n.touch)
	}
	lifted := jackline.Decision{Verdict: jackline.Allow, Reason: "A rule of the owner's allows this."}
	open := len(parts) // parts that no rule allows yet
	done := make([]bool, len(parts))
	for _, r := range rules {
		if r.bad != nil || r.do != jackline.Allow || !r.holdsIn(i) || !p.about(r, i.Tool) {
			continue
		}
		if r.whole {
			if n.column == otherShell {
				continue // nothing confines it: a rule has to name the program
			}
			lifted.Rule = r.label
			return lifted, true
		}
		if n.touch == nil {
			continue
		}
		switch n.touch.Kind {
		case kindHost:
			if r.on == kindHost && hostFits(r.host, n.touch.Name) {
				lifted.Rule = r.label
				return lifted, true
			}
		case kindPath:
			if r.on == "" && globFits(r.glob, n.touch.Name) {
				lifted.Rule = r.label
				return lifted, true
			}
		case kindCommand:
			if r.on != "" || !r.words[0].literal() {
				continue
			}
			for k, words := range parts {
				if done[k] || !fitsNarrowly(r.words, words) {
					continue
				}
				done[k], open = true, open-1
				if lifted.Rule == "" {
					lifted.Rule = r.label
				} else if !strings.Contains(lifted.Rule, r.label) {
					lifted.Rule += ", " + r.label
				}
			}
			if len(parts) > 0 && open == 0 {
				return lifted, true
			}
		}
	}
	return jackline.Decision{}, false
}

func (p *Policy) split(i jackline.Intent, t jackline.Touch) ([][]Word, bool) {
	r, ok := p.read(i, t)
	return r.Parts, ok && r.Refused == "" && len(r.Parts) > 0
}

// turnRules are the rights that a person gave for the turn. All of them allow: that is what the list is for.
func turnRules(i jackline.Intent) []rule {
	given := i.Actor.Turn.Options.Allow
	if len(given) == 0 {
		return nil
	}
	rules := make([]rule, 0, len(given))
	for _, r := range given {
		r.Do = jackline.Allow
		rules = append(rules, compile(r))
	}
	return rules
}

func sure(b bool) fit {
	if b {
		return yes
	}
	return no
}

// globFits compares a path with a pattern. A path that is not inside the workspace fits none.
func globFits(glob, name string) bool {
	name = path.Clean(name)
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return false
	}
	ok, err := doublestar.Match(glob, name)
	return ok && err == nil
}

// hostFits compares a host, with or without a port, with a pattern. A pattern without a port fits every port.
func hostFits(pattern, host string) bool {
	host = strings.ToLower(host)
	name := host
	if k := strings.LastIndexByte(host, ':'); k >= 0 && (strings.Count(host, ":") == 1 || host[k-1] == ']') {
		name = host[:k]
	}
	for _, h := range []string{strings.TrimSuffix(name, "."), host} {
		suffix, wild := strings.CutPrefix(pattern, "*")
		if !wild && h == pattern || wild && len(h) > len(suffix) && strings.HasSuffix(h, suffix) {
			return true
		}
	}
	return false
}

// star compares s with a pattern in which * stands for any characters.
func star(pattern, s string) bool {
	pieces := strings.Split(pattern, "*")
	if len(pieces) == 1 {
		return pattern == s
	}
	return wordPattern(pieces).fits(s)
}
