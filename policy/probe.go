package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"io"

	"github.com/jackline-ai/jackline"
)

// A Probe is one question of "what would happen if": a line of `permissions test --json`.
type Probe struct {
	ID   string `json:"id"`
	Kind string `json:"kind"` // shell, path, url, call

	Shell     string `json:"shell,omitempty"` // of a shell probe: sh, powershell, cmd; "" is sh
	Command   string `json:"command,omitempty"`
	Home      string `json:"home,omitempty"` // other folders than the real ones
	Workspace string `json:"workspace,omitempty"`
	State     string `json:"state,omitempty"`

	Path string `json:"path,omitempty"` // of a path probe
	To   string `json:"to,omitempty"`   // the second path of a move
	Op   string `json:"op,omitempty"`   // read, write, edit, delete, list, mkdir, move, cwd, grep, glob
	OS   string `json:"os,omitempty"`   // whose rules for names; "" is this system's

	URL string `json:"url,omitempty"` // of a url probe

	Tool string          `json:"tool,omitempty"` // of a call probe
	Args json.RawMessage `json:"args,omitempty"`
	Mode *jackline.Mode  `json:"mode,omitempty"` // another mode than the settings'
}

// A Judgement is the answer to a probe.
type Judgement struct {
	ID       string           `json:"id"`
	Decision string           `json:"decision"`          // allow, ask, deny: under these settings; or unsupported
	Verdict  string           `json:"verdict,omitempty"` // what the thing itself is, whatever the settings; see [Tester]
	Rule     string           `json:"rule,omitempty"`
	Reason   string           `json:"reason,omitempty"`
	Touches  []jackline.Touch `json:"touches"`
}

// What a judgement may say besides the names of verdicts.
const (
	Unsupported = "unsupported" // a kind of probe that is not judged yet
	readOnly    = "read_only"
)

// A Tester answers probes. It runs nothing and changes nothing.
//
// The verdict of a shell probe is deny (no mode runs it), read_only or ask. That of a path or url probe is deny
// where the name is refused, else allow. That of a call is the decision.
type Tester struct {
	Policy *Policy        // with its settings
	Actor  jackline.Actor // in whose session, and by whose hand, it would happen
	Runner string         // the tool that runs commands, for the rules about it

	Sandbox jackline.Sandbox              // what would hold a command
	Command func(Script) []jackline.Touch // what a command would touch, itself first; nil knows the command only

	// Path, URL and Call make the intent of a probe, without opening anything. An error is a refusal: its sentence is
	// the reason. A kind without a function is unsupported.
	Path func(context.Context, jackline.Actor, Probe) (jackline.Intent, error)
	URL  func(context.Context, jackline.Actor, Probe) (jackline.Intent, error)
	Call func(context.Context, jackline.Actor, Probe) (jackline.Intent, error)
}

// Test reads one line and judges it. An error means that the line is no probe.
func (t Tester) Test(ctx context.Context, line []byte) (Judgement, error) {
	const op = "policy.Test"
	var p Probe
	dec := json.NewDecoder(bytes.NewReader(line))
	if err := dec.Decode(&p); err != nil {
		return Judgement{ID: p.ID}, jackline.E(op, jackline.Invalid, err, "The line is no probe: %v.", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return Judgement{ID: p.ID}, jackline.E(op, jackline.Invalid, nil, "The line holds more than one JSON object.")
	}
	return t.Judge(ctx, p)
}

// Judge judges a probe.
func (t Tester) Judge(ctx context.Context, p Probe) (Judgement, error) {
	who := t.Actor
	if p.Mode != nil {
		who.Session.Mode = *p.Mode
	}
	if p.Workspace != "" {
		who.Session.Workspace = p.Workspace
	}
	switch p.Kind {
	case "shell":
		return t.command(who, p)
	case "path":
		return t.made(ctx, who, p, t.Path)
	case "url":
		return t.made(ctx, who, p, t.URL)
	case "call":
		return t.made(ctx, who, p, t.Call)
	}
	return Judgement{ID: p.ID, Decision: Unsupported, Touches: []jackline.Touch{}}, nil
}

// command judges the text of a command, in whatever folders and grammar the probe names.
func (t Tester) command(who jackline.Actor, p Probe) (Judgement, error) {
	switch p.Shell {
	case "", "sh", "powershell", "cmd":
	default:
		return Judgement{ID: p.ID}, jackline.E("policy.Test", jackline.Invalid, nil,
			"The shell %q is none of sh, powershell, cmd.", p.Shell)
	}
	script := Script{Text: p.Command, Shell: p.Shell, Home: p.Home, Workspace: who.Session.Workspace}
	if p.State != "" {
		script.State = []string{p.State}
	}
	i := jackline.Intent{Actor: who, Tool: t.Runner, Effect: jackline.Exec, Labels: who.Session.Labels, Sandbox: t.Sandbox}
	if t.Command != nil {
		i.Touches = t.Command(script)
	}
	if len(i.Touches) == 0 {
		i.Touches = []jackline.Touch{{Effect: jackline.Exec, Kind: kindCommand, Name: p.Command}}
	}
	judge := *t.Policy
	if read := judge.conf.ReadShell; read != nil {
		judge.conf.ReadShell = func(s Script) Reading {
			s.Shell, s.Home, s.State = script.Shell, script.Home, script.State
			return read(s)
		}
	}
	verdict := jackline.Ask.String()
	if r, ok := judge.read(i, i.Touches[0]); !ok || r.Refused != "" {
		verdict = jackline.Deny.String()
	} else if r.ReadOnly {
		verdict = readOnly
	}
	return judged(p, judge.Judge(i), verdict, i.Touches), nil
}

// made judges what needs another package to become an intent.
func (t Tester) made(ctx context.Context, who jackline.Actor, p Probe,
	intent func(context.Context, jackline.Actor, Probe) (jackline.Intent, error)) (Judgement, error) {
	if intent == nil {
		return Judgement{ID: p.ID, Decision: Unsupported, Touches: []jackline.Touch{}}, nil
	}
	i, err := intent(ctx, who, p)
	switch {
	case ctx.Err() != nil:
		return Judgement{ID: p.ID}, ctx.Err()
	case err != nil && jackline.KindOf(err) == jackline.Internal:
		return Judgement{ID: p.ID}, err
	case err != nil:
		return judged(p, refuse("not-possible", "%s", jackline.Say(err)), jackline.Deny.String(), i.Touches), nil
	}
	d := t.Policy.Judge(i)
	verdict := d.Verdict.String()
	if p.Kind != "call" {
		verdict = jackline.Allow.String()
		for _, touch := range i.Touches {
			if touch.Refused != "" {
				verdict = jackline.Deny.String()
			}
		}
	}
	return judged(p, d, verdict, i.Touches), nil
}

func judged(p Probe, d jackline.Decision, verdict string, touches []jackline.Touch) Judgement {
	if touches == nil {
		touches = []jackline.Touch{}
	}
	return Judgement{
		ID: p.ID, Decision: d.Verdict.String(), Verdict: verdict, Rule: d.Rule, Reason: d.Reason, Touches: touches,
	}
}
