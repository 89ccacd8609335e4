package policy

import (
	"fmt"
	"slices"

	"github.com/jackline-ai/jackline"
)

// Word is one word of a command. Text is what the shell would make of it; it means nothing unless Known.
// It is an alias so that another package can offer the same type without this one knowing it.
type Word = struct {
	Text  string
	Known bool // the text alone determines it
}

// Config is what a policy is told about the program that it judges for. Each function has a safe absence.
type Config struct {
	// Lookup finds a tool by one of its names: its own name, and all that it could do. Without it rules and the
	// list of disabled tools know own names only.
	Lookup func(name string) (own string, e jackline.Effect, ok bool)

	// Names are the own names of all tools. Without them no rule and no entry of the list of disabled tools is called idle
	// for its name.
	Names []string

	// ReadShell reads the text of a command. Without it every command is refused.
	ReadShell func(Script) Reading

	// Own reports whether a host, with or without a port, is this program's own server. Without it none is known.
	Own func(host string) bool

	// Root says that the program runs as the system's administrator, so that a command which nothing confines may do
	// anything at all.
	Root bool
}

// Script is the text of a command and where it would run. Paths are absolute. Like [Word] it is an alias.
type Script = struct {
	Text  string
	Shell string // whose grammar: sh, powershell, cmd; "" is that of the shell that runs commands here

	Home, Workspace, Dir string
	State                []string // the program's own folders
}

// Reading is what the text of a command tells.
type Reading = struct {
	Refused string // why nobody may run it, in a sentence for a person; "" where somebody may
	Rule    string // the rule that refuses it, as "D1"

	ReadOnly bool // it is proved to read only, inside the workspace, as long as protected files are kept out of what it searches
	Plain    bool // it is proved to touch no file that somebody could have put there: so even where nothing confines it
	Searches bool // it looks through folders, and may come upon what it does not name

	Parts [][]Word // its simple commands; nil where it is more than a list of these
}

// A Policy judges intents under one owner's settings. The zero Policy denies everything that is not pure.
type Policy struct {
	conf     Config
	toggles  jackline.Toggles
	disabled []string
	rules    []rule
}

// New makes a policy without settings: all categories are off until [Policy.With] says otherwise.
func New(c Config) *Policy { return &Policy{conf: c} }

// With is the same policy under other settings. It is cheap enough to be called for each intent. The mode in p is
// that of new sessions and plays no part: an intent brings its session.
//
// A rule that cannot be read counts against the call: see [CheckRules] for how to find it before.
func (p *Policy) With(s jackline.Permissions) *Policy {
	q := &Policy{conf: p.conf, toggles: s.Toggles, disabled: s.Disabled, rules: make([]rule, 0, len(s.Rules))}
	for _, r := range s.Rules {
		q.rules = append(q.rules, compile(r))
	}
	return q
}

// Judge says what may be done about i.
func (p *Policy) Judge(i jackline.Intent) jackline.Decision {
	d, _ := p.decide(i)
	return d
}

// Explain is what each rule that has something to say about i says, in the order of the package comment. The
// strictest of them is the decision, except that an allow rule lifts an ask of the mode.
func (p *Policy) Explain(i jackline.Intent) []jackline.Decision {
	_, all := p.decide(i)
	return all
}

func (p *Policy) decide(i jackline.Intent) (jackline.Decision, []jackline.Decision) {
	p = p.once()
	needs := p.needs(i)
	all := p.hard(i, needs)
	refused := len(all)

	deny, ask, said := p.limits(i)
	base, soft := p.weigh(i, needs)
	all = appendNew(appendNew(all, soft...), said...)
	read := p.tainted(i, needs)
	all = appendNew(all, read...)
	switch {
	case refused > 0:
		return all[0], all
	case deny != nil:
		return *deny, all
	case ask != nil:
		return *ask, all
	case base.Verdict == jackline.Allow && len(read) > 0 && read[0].Verdict == jackline.Ask:
		return read[0], all
	}
	return base, all
}

// once is the policy for one judgement: each rule asks how the same command is made up, and it is read once.
func (p *Policy) once() *Policy {
	read := p.conf.ReadShell
	if read == nil {
		return p
	}
	q := *p
	var last string
	var reading Reading
	var known bool
	q.conf.ReadShell = func(s Script) Reading {
		// Within one judgement only the text and the folder differ.
		if key := s.Dir + "\x00" + s.Text; !known || key != last {
			last, known = key, true
			reading = read(s)
		}
		return reading
	}
	return &q
}

// weigh gives each need the table's verdict, lifts what rules lift, and returns the strictest answer and all of them.
func (p *Policy) weigh(i jackline.Intent, needs []need) (jackline.Decision, []jackline.Decision) {
	if len(needs) == 0 {
		d := jackline.Decision{Verdict: jackline.Allow, Rule: "pure", Reason: "It touches nothing outside its own session."}
		return d, []jackline.Decision{d}
	}
	turn := turnRules(i)
	strictest := jackline.Decision{Verdict: jackline.Allow}
	var all []jackline.Decision
	for _, n := range needs {
		table := p.modeSays(i, n.column)
		all = appendNew(all, table...)
		worst := table[0]
		for _, d := range table {
			if d.Verdict < worst.Verdict {
				worst = d
			}
		}
		if worst.Verdict == jackline.Ask {
			// The turn's own rules are as fresh as the wish to be asked first; standing ones are not.
			rules := turn
			if !i.Actor.Turn.Options.AskFirst {
				rules = append(append(make([]rule, 0, len(turn)+len(p.rules)), turn...), p.rules...)
			}
			if lifted, ok := p.lift(i, n, rules); ok {
				all = appendNew(all, lifted)
				worst = lifted
			}
		}
		if strictest.Rule == "" || worst.Verdict < strictest.Verdict {
			strictest = worst
		}
	}
	if beyond := p.beyond(i); len(beyond) > 0 {
		all = appendNew(all, beyond...)
		if strictest.Verdict == jackline.Allow && !p.spelledOut(i, needs) {
			strictest = beyond[0]
		}
	}
	return strictest, all
}

// beyond is what a call touches outside the workspace, or that is protected: it is asked about in every mode.
func (p *Policy) beyond(i jackline.Intent) []jackline.Decision {
	var all []jackline.Decision
	ask := func(reason string, a ...any) {
		all = appendNew(all, jackline.Decision{Verdict: jackline.Ask, Rule: "outside", Reason: fmt.Sprintf(reason, a...)})
	}
	for _, t := range i.Touches {
		if t.Asks != "" {
			ask("%s: %s", t.Name, t.Asks)
		}
	}
	if len(all) == 0 && len(i.Sandbox.Read)+len(i.Sandbox.Write) > 0 {
		ask("It reaches outside the workspace: %s.", i.Sandbox.Opens())
	}
	return all
}

// spelledOut reports whether rules of the owner's allow exactly these commands, word for word: then they meant what lies outside
// as well.
func (p *Policy) spelledOut(i jackline.Intent, needs []need) bool {
	if i.Actor.Turn.Options.AskFirst {
		return false
	}
	exact := slices.DeleteFunc(append(turnRules(i), p.rules...), func(r rule) bool { return !r.exact() })
	for _, n := range needs {
		if n.touch == nil || n.touch.Kind != kindCommand {
			return false
		}
		if _, ok := p.lift(i, n, exact); !ok {
			return false
		}
	}
	return len(needs) > 0
}

// limits finds the first deny and the first ask rule that apply, and all that do.
func (p *Policy) limits(i jackline.Intent) (deny, ask *jackline.Decision, all []jackline.Decision) {
	for _, r := range p.rules {
		d, ok := p.limit(r, i)
		if !ok {
			continue
		}
		all = appendNew(all, d)
		switch {
		case d.Verdict == jackline.Deny && deny == nil:
			deny = &d
		case d.Verdict == jackline.Ask && ask == nil:
			ask = &d
		}
	}
	return deny, ask, all
}

func appendNew(all []jackline.Decision, more ...jackline.Decision) []jackline.Decision {
next:
	for _, d := range more {
		for _, have := range all {
			if have == d {
				continue next
			}
		}
		all = append(all, d)
	}
	return all
}

func refuse(rule, reason string, a ...any) jackline.Decision {
	return jackline.Decision{Verdict: jackline.Deny, Rule: rule, Reason: fmt.Sprintf(reason, a...), Hard: true}
}
