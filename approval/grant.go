package approval

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
)

// connected is how the names of tools begin that come from a server.
const connected = "mcp__"

const known = jackline.Pure | jackline.Read | jackline.Write | jackline.Delete | jackline.Exec | jackline.Network |
	jackline.Outward | jackline.Configure

// A reach is what a grant for a call would cover: a kind and the values that all of the call falls under.
type reach struct {
	kind   jackline.GrantKind
	values []string
	narrow bool // it may be granted for exactly these arguments and this task, no further
}

// reachOf finds the widest reach that the product gives to a call like this. What fits no kind is exact.
func reachOf(a jackline.Approval) reach {
	e := a.Effect
	for _, t := range a.Touches {
		e |= t.Effect
		if t.Effect == 0 {
			e = 0
			break
		}
	}
	exact := reach{kind: jackline.GrantExact, values: []string{string(a.Args)}}
	const farther = jackline.Delete | jackline.Outward | jackline.Configure
	if a.Effect == 0 || e == 0 || e&^known != 0 || e&farther != 0 || strings.HasPrefix(a.Tool, connected) {
		exact.narrow = true
		return exact
	}
	within := func(set jackline.Effect) bool { return e&^set == 0 }
	switch {
	case len(a.Touches) == 0:
	case all(a.Touches, "path") && within(jackline.Read|jackline.Write):
		if folders := writtenFolders(a.Touches); len(folders) > 0 {
			return reach{kind: jackline.GrantFolder, values: folders}
		}
	case all(a.Touches, "command") && within(jackline.Exec):
		return reach{kind: jackline.GrantCommand, values: names(a.Touches)}
	case all(a.Touches, "host") && within(jackline.Network|jackline.Read):
		return reach{kind: jackline.GrantHost, values: names(a.Touches)}
	}
	return exact
}

func all(touches []jackline.Touch, kind string) bool {
	return !slices.ContainsFunc(touches, func(t jackline.Touch) bool { return t.Kind != kind })
}

func names(touches []jackline.Touch) []string {
	var list []string
	for _, t := range touches {
		if !slices.Contains(list, t.Name) {
			list = append(list, t.Name)
		}
	}
	return list
}

// writtenFolders are the folders that hold the files that touches write. It is empty where a touch only reads, and
// in another folder: a grant to write must not become one to read elsewhere.
func writtenFolders(touches []jackline.Touch) []string {
	var list []string
	for _, t := range touches {
		if f := path.Dir(path.Clean(t.Name)); t.Effect.Has(jackline.Write) && !slices.Contains(list, f) {
			list = append(list, f)
		}
	}
	for _, t := range touches {
		if f := path.Dir(path.Clean(t.Name)); !t.Effect.Has(jackline.Write) && !slices.Contains(list, f) {
			return nil
		}
	}
	return list
}

// Granted reports whether standing grants cover the whole intent.
func (d *Desk) Granted(ctx context.Context, i jackline.Intent) (bool, error) {
	s := i.Actor.Session
	if s.ID == "" || !grantable(s.Mode, i.Actor.Turn.Options) {
		return false, nil
	}
	if _, ok := refused(i); ok {
		return false, nil
	}
	grants, err := d.ledger.Grants(ctx, i.Actor.Owner, s.ID)
	if err != nil {
		return false, err
	}
	var a jackline.Approval
	facts(&a, i)
	// The taint gate will stand here: a tainted session ignores what was granted to the chat.
	return covered(a, grants), nil
}

// grantable reports whether grants count at all: not where the turn or the session asks to be asked.
func grantable(m jackline.Mode, o jackline.TurnOptions) bool {
	return m != jackline.ModePlan && !o.Plan && !o.Guide && !o.AskFirst
}

// covered reports whether every part of what a asks for falls under one of the grants.
func covered(a jackline.Approval, grants []jackline.Grant) bool {
	r := reachOf(a)
	under := func(kind jackline.GrantKind, value string) bool {
		return slices.ContainsFunc(grants, func(g jackline.Grant) bool {
			return inForce(g, a) && g.Kind == kind && g.Value == value && (g.Tool == a.Tool || kind == jackline.GrantFolder) &&
				(g.Scope == jackline.Task || !r.narrow)
		})
	}
	if under(jackline.GrantExact, string(a.Args)) {
		return true
	}
	if r.kind == jackline.GrantExact {
		return false
	}
	for _, v := range r.values {
		if !under(r.kind, v) {
			return false
		}
	}
	return len(r.values) > 0
}

// inForce reports whether g holds for the owner, session, turn and mode in which a stands.
func inForce(g jackline.Grant, a jackline.Approval) bool {
	if g.Owner != a.Owner || g.Session != a.Session || !g.Revoked.IsZero() || strictness(a.Mode) > strictness(g.Mode) {
		return false
	}
	switch g.Scope {
	case jackline.Task:
		return g.Turn != "" && g.Turn == a.Turn
	case jackline.Chat:
		return true
	case jackline.Once:
	}
	return false
}

// strictness orders the modes, the strictest highest. What is no mode is stricter than any.
func strictness(m jackline.Mode) int {
	switch m {
	case jackline.ModeAllowAll:
		return 0
	case jackline.ModeAllowEdits:
		return 1
	case jackline.ModeAllowReads:
		return 2
	case jackline.ModeAsk:
		return 3
	case jackline.ModePlan:
	}
	return 4
}

// grantsOf are the grants that a yes with a scope leaves.
func (d *Desk) grantsOf(a jackline.Approval, scope jackline.Scope) []jackline.Grant {
	if scope != jackline.Task && scope != jackline.Chat {
		return nil
	}
	r := reachOf(a)
	var list []jackline.Grant
	for _, v := range r.values {
		g := jackline.Grant{
			ID: jackline.NewID[jackline.GrantID]("g_"), Owner: a.Owner, Session: a.Session, Scope: scope, Tool: a.Tool,
			Kind: r.kind, Value: v, Mode: a.Mode, Approval: a.ID, Created: d.now().UTC(),
		}
		if scope == jackline.Task {
			g.Turn = a.Turn
		}
		list = append(list, g)
	}
	return list
}
