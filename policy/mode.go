package policy

import (
	"fmt"

	"github.com/jackline-ai/jackline"
)

// The kinds of touches.
const (
	kindPath    = "path"
	kindHost    = "host"
	kindCommand = "command"
)

// A column of the table of modes: one way to act.
type column int

const (
	unknown column = iota // the zero column is the worst
	reads
	readShell
	writes
	deletes
	otherShell // every command that is not proved to read only; sandboxed ones get a column of their own
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
	case otherShell:
		return "running commands"
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
	// The columns: read, read-only command, write, delete, other command, web, send.
	rows := [...][7]jackline.Verdict{
		jackline.ModePlan:       {run, run, no, no, no, run, no},
		jackline.ModeAsk:        {ask, ask, ask, ask, ask, ask, ask},
		jackline.ModeAllowReads: {run, run, ask, ask, ask, run, ask},
		jackline.ModeAllowEdits: {run, run, run, ask, ask, run, ask},
		jackline.ModeAllowAll:   {run, run, run, run, run, run, run},
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
	case otherShell:
		return row[4]
	case web:
		return row[5]
	case sends, settings, unknown:
		return row[6]
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

// needs takes an intent apart. A pure call needs nothing.
func (p *Policy) needs(i jackline.Intent) []need {
	var all []need
	var touched jackline.Effect
	if i.Effect == 0 || i.Effect&^known != 0 {
		all = append(all, need{unknown, nil})
	}
	for k := range i.Touches {
		t := &i.Touches[k]
		touched |= t.Effect
		e := t.Effect
		if e == 0 || e&^known != 0 || e == jackline.Pure {
			all = append(all, need{unknown, t})
		}
		if t.Kind == kindCommand {
			e |= jackline.Exec
		}
		all = p.columns(all, e, t)
	}
	return p.columns(all, i.Effect&^touched, nil)
}

func (p *Policy) columns(all []need, e jackline.Effect, t *jackline.Touch) []need {
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
		c := otherShell
		if t != nil && t.Kind == kindCommand && p.conf.ReadOnlyShell != nil && p.conf.ReadOnlyShell(t.Name) {
			c = readShell
		}
		all = append(all, need{c, t})
	}
	return all
}

// modeSays is what the session's mode, the turn's overlays and the lack of a sandbox say about a column.
// An overlay never loosens: its answer stands beside the mode's.
func modeSays(i jackline.Intent, c column) []jackline.Decision {
	m, o := i.Actor.Session.Mode, i.Actor.Turn.Options
	all := []jackline.Decision{modeSay(m, c)}
	if o.Plan && m != jackline.ModePlan {
		all = append(all, modeSay(jackline.ModePlan, c))
	}
	if c == otherShell && all[0].Verdict == jackline.Allow {
		all = append(all, jackline.Decision{Verdict: jackline.Ask, Rule: "no-sandbox",
			Reason: "There is no sandbox yet, so a command that is not known to only read is asked about in every mode."})
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
