package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
)

// The kinds of touches.
const (
	kindPath    = "path"
	kindHost    = "host"
	kindCommand = "command"
	kindCode    = "code" // a program's text, which no shell reads
)

// A column of the table of modes: one way to act.
type column int

const (
	unknown column = iota // the zero column is the worst
	reads
	readShell
	writes
	deletes
	boxedShell // a command that the sandbox holds to the workspace, without network
	otherShell // every other command
	web
	sends
	settings
)

// words says what a column is, for sentences.
func (c column) words() string {
	switch c {
	case reads:
		return "reading files"
	case readShell:
		return "running a command that only reads"
	case writes:
		return "changing files"
	case deletes:
		return "deleting files"
	case boxedShell:
		return "running a command in the sandbox"
	case otherShell:
		return "running a command that the sandbox does not hold"
	case web:
		return "reading from the web"
	case sends:
		return "sending something"
	case settings:
		return "changing settings"
	case unknown:
	}
	return "running a tool whose effects are not known"
}

// table is the table of modes, read for one cell. A mode or column that it does not know is refused.
func table(m jackline.Mode, c column) jackline.Verdict {
	const run, ask, no = jackline.Allow, jackline.Ask, jackline.Deny
	// The columns: read, read-only command, write, delete, command in the sandbox, other command, web, send.
	rows := [...][8]jackline.Verdict{
		jackline.ModePlan:       {run, run, no, no, no, no, run, no},
		jackline.ModeAsk:        {ask, ask, ask, ask, ask, ask, ask, ask},
		jackline.ModeAllowReads: {run, run, ask, ask, ask, ask, run, ask},
		jackline.ModeAllowEdits: {run, run, run, ask, run, ask, run, ask},
		jackline.ModeAllowAll:   {run, run, run, run, run, run, run, run},
	}
	if m < 0 || int(m) >= len(rows) {
		return no
	}
	row := rows[m]
	switch c {
	case reads:
		return row[0]
	case readShell:
		return row[1]
	case writes:
		return row[2]
	case deletes:
		return row[3]
	case boxedShell:
		return row[4]
	case otherShell:
		return row[5]
	case web:
		return row[6]
	case sends, settings, unknown:
		return row[7]
	}
	return no
}

// A need is one thing that a call would do: a column, and the touch in which it lies. Without a touch the tool
// declares an effect and names nothing.
type need struct {
	column column
	touch  *jackline.Touch
}

const known = jackline.Pure | jackline.Read | jackline.Write | jackline.Delete | jackline.Exec | jackline.Network |
	jackline.Outward | jackline.Configure

// effects is all that i declares and touches.
func effects(i jackline.Intent) jackline.Effect {
	e := i.Effect
	for _, t := range i.Touches {
		e |= t.Effect
	}
	return e
}

// needs takes an intent apart. A pure call needs nothing. What a command touches, files that it writes among them, lies within
// running it: the column of the command covers that, and what lies outside is asked about beside it.
func (p *Policy) needs(i jackline.Intent) []need {
	var all []need
	var touched jackline.Effect
	if i.Effect == 0 || i.Effect&^known != 0 {
		all = append(all, need{unknown, nil})
	}
	runs := slices.ContainsFunc(i.Touches, starts)
	for k := range i.Touches {
		t := &i.Touches[k]
		touched |= t.Effect
		e := t.Effect
		if e == 0 || e&^known != 0 || e == jackline.Pure {
			all = append(all, need{unknown, t})
		}
		switch {
		case starts(*t):
			e |= jackline.Exec
		case e.Has(jackline.Exec) && runs:
			e &= jackline.Outward | jackline.Configure
		}
		all = p.columns(i, all, e, t)
	}
	return p.columns(i, all, i.Effect&^touched, nil)
}

// starts reports whether a touch is something that runs.
func starts(t jackline.Touch) bool { return t.Kind == kindCommand || t.Kind == kindCode }

func (p *Policy) columns(i jackline.Intent, all []need, e jackline.Effect, t *jackline.Touch) []need {
	for _, c := range []struct {
		bit jackline.Effect
		column
	}{
		{jackline.Read, reads}, {jackline.Write, writes}, {jackline.Delete, deletes},
		{jackline.Network, web}, {jackline.Outward, sends}, {jackline.Configure, settings},
	} {
		if e.Has(c.bit) {
			all = append(all, need{c.column, t})
		}
	}
	if e.Has(jackline.Exec) {
		all = append(all, need{p.shellColumn(i, t), t})
	}
	return all
}

// shellColumn is where running t lies.
func (p *Policy) shellColumn(i jackline.Intent, t *jackline.Touch) column {
	if t != nil && t.Kind == kindCommand && t.Doubt == "" {
		r, ok := p.read(i, *t)
		hidden := i.Sandbox.Level >= jackline.SandboxNamespaces || i.Sandbox.Leaks == "" || !r.Searches
		if ok && r.Refused == "" && (r.Plain || r.ReadOnly && i.Sandbox.Level > jackline.SandboxNone && hidden) {
			return readShell
		}
	}
	if s := i.Sandbox; !s.Holds() || len(s.Hosts)+len(s.Read)+len(s.Write) > 0 {
		return otherShell
	}
	for _, touch := range i.Touches {
		if touch.Asks != "" || touch.Kind == kindHost && !(i.Sandbox.Level == jackline.SandboxNamespaces && itself(touch.Name)) {
			return otherShell
		}
	}
	return boxedShell
}

// OnlyReads reports whether an intent starts commands, and each of them is proved to change nothing under what holds it: what the
// table of modes counts as a command that only reads.
func (p *Policy) OnlyReads(i jackline.Intent) bool {
	p = p.once()
	any := false
	for k := range i.Touches {
		t := &i.Touches[k]
		if t.Effect&^(jackline.Pure|jackline.Read|jackline.Exec) != 0 || starts(*t) && p.shellColumn(i, t) != readShell {
			return false
		}
		any = any || starts(*t)
	}
	return any && i.Effect&^(jackline.Pure|jackline.Read|jackline.Exec) == 0
}

// itself reports whether a host, with or without a port, is the machine on which something runs. In namespaces that is a machine
// of its own, where nothing answers but what the command itself started.
func itself(host string) bool {
	for _, name := range []string{"localhost", "127.0.0.1", "::1", "[::1]"} { // as people write it; all else is asked about
		port, ok := strings.CutPrefix(host, name)
		if ok && (port == "" || port[0] == ':' && strings.Trim(port[1:], "0123456789") == "") {
			return true
		}
	}
	return false
}

// read reads the text of a command; ok is false where nobody can.
func (p *Policy) read(i jackline.Intent, t jackline.Touch) (Reading, bool) {
	if p.conf.ReadShell == nil {
		return Reading{}, false
	}
	s := Script{Text: t.Name, Workspace: i.Actor.Session.Workspace, Dir: t.Dir}
	switch {
	case s.Workspace == "":
		s.Dir = ""
	case t.Dir != "" && !path.IsAbs(t.Dir):
		s.Dir = path.Join(s.Workspace, t.Dir)
	}
	return p.conf.ReadShell(s), true
}

// modeSays is what the session's mode, the turn's overlays and the lack of a sandbox say about a column.
// An overlay never loosens: its answer stands beside the mode's.
func (p *Policy) modeSays(i jackline.Intent, c column) []jackline.Decision {
	m, o := i.Actor.Session.Mode, i.Actor.Turn.Options
	all := []jackline.Decision{modeSay(m, c)}
	if o.Plan && m != jackline.ModePlan {
		all = append(all, modeSay(jackline.ModePlan, c))
	}
	if c == otherShell && all[0].Verdict == jackline.Allow && p.conf.Root && !i.Sandbox.Holds() {
		all = append(all, jackline.Decision{Verdict: jackline.Ask, Rule: "no-sandbox",
			Reason: "Jackline runs as root and no sandbox holds commands here, so one that is not known to only read is asked about in every mode."})
	}
	if o.AskFirst {
		all = append(all, jackline.Decision{Verdict: jackline.Ask, Rule: "ask-first",
			Reason: "This turn is to ask before it uses tools."})
	}
	return all
}

func modeSay(m jackline.Mode, c column) jackline.Decision {
	d := jackline.Decision{Verdict: table(m, c), Rule: "mode." + m.String()}
	switch d.Verdict {
	case jackline.Allow:
		d.Reason = fmt.Sprintf("The mode %s allows %s.", m, c.words())
	case jackline.Ask:
		d.Reason = fmt.Sprintf("In the mode %s, %s needs a yes.", m, c.words())
	case jackline.Deny:
		d.Hard = true
		d.Reason = fmt.Sprintf("Plan mode looks and changes nothing: %s is refused.", c.words())
		if m != jackline.ModePlan {
			d.Reason = fmt.Sprintf("The mode %s does not provide for %s.", m, c.words())
		}
	}
	return d
}
