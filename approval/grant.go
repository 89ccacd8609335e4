package approval

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
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
	exact.narrow = leaves(a)
	within := func(set jackline.Effect) bool { return e&^set == 0 }
	switch commands := names(a.Touches, "command"); {
	case len(a.Touches) == 0:
	case len(commands) > 0 && within(jackline.Exec|jackline.Read|jackline.Write|jackline.Network):
		// What else a command touches follows from its text, and is among the terms.
		return reach{kind: jackline.GrantCommand, values: commands, narrow: exact.narrow}
	case all(a.Touches, "path") && within(jackline.Read|jackline.Write):
		if folders := writtenFolders(a.Touches); len(folders) > 0 {
			return reach{kind: jackline.GrantFolder, values: folders, narrow: exact.narrow}
		}
	case all(a.Touches, "host") && within(jackline.Network|jackline.Read):
		return reach{kind: jackline.GrantHost, values: names(a.Touches, "host")}
	}
	return exact
}

// leaves reports whether a call reaches beyond the workspace, or its sandbox does not hold it: then a yes is not for a whole chat.
func leaves(a jackline.Approval) bool {
	if len(a.Sandbox.Hosts) > 0 || a.Sandbox.Leaks != "" || len(a.Sandbox.Read) > 0 || len(a.Sandbox.Write) > 0 {
		return true
	}
	return slices.ContainsFunc(a.Touches, func(t jackline.Touch) bool {
		if t.Kind == "host" {
			return a.Effect.Has(jackline.Exec) // a command's; the web tools have their own kind of grant
		}
		return t.Kind == "path" && (path.IsAbs(t.Name) || strings.Contains(t.Name, `:\`) || t.Name == ".." || strings.HasPrefix(t.Name, "../"))
	})
}

func all(touches []jackline.Touch, kind string) bool {
	return !slices.ContainsFunc(touches, func(t jackline.Touch) bool { return t.Kind != kind })
}

func names(touches []jackline.Touch, kind string) []string {
	var list []string
	for _, t := range touches {
		if t.Kind == kind && !slices.Contains(list, t.Name) {
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
	if i.Labels.Tainted {
		// What was granted to the chat was granted before somebody else's text was read in it.
		grants = slices.DeleteFunc(slices.Clone(grants), func(g jackline.Grant) bool { return g.Scope != jackline.Task })
	}
	return d.covered(a, grants), nil
}

// grantable reports whether grants count at all: not where the turn or the session asks to be asked.
func grantable(m jackline.Mode, o jackline.TurnOptions) bool {
	return m != jackline.ModePlan && !o.Plan && !o.Guide && !o.AskFirst
}

// covered reports whether every part of what a asks for falls under one of the grants.
func (d *Desk) covered(a jackline.Approval, grants []jackline.Grant) bool {
	r := reachOf(a)
	under := func(kind jackline.GrantKind, value string) bool {
		return slices.ContainsFunc(grants, func(g jackline.Grant) bool {
			return inForce(g, a) && g.Kind == kind && g.Value == value && (g.Tool == a.Tool || kind == jackline.GrantFolder) &&
				(g.Scope == jackline.Task || !r.narrow) && g.Terms == d.terms(a, kind)
		})
	}
	if under(jackline.GrantExact, string(a.Args)) {
		return true
	}
	if !r.narrow && slices.ContainsFunc(grants, func(g jackline.Grant) bool {
		return g.Kind == jackline.GrantPattern && inForce(g, a) && g.Tool == a.Tool && g.Terms == d.terms(a, g.Kind) &&
			d.pattern(g.Value, intentOf(a)) == nil
	}) {
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

// terms are under what a command is allowed: by which sandbox, and touching what. A grant holds under the same. A pattern covers
// commands that touch other things, under the same sandbox. What starts no process has no terms.
func (d *Desk) terms(a jackline.Approval, kind jackline.GrantKind) string {
	e := a.Effect
	for _, t := range a.Touches {
		e |= t.Effect
	}
	if !e.Has(jackline.Exec) {
		return ""
	}
	m := hmac.New(sha256.New, d.key)
	put(m, []byte("terms"))
	sealSandbox(m, a.Sandbox)
	if kind != jackline.GrantPattern {
		number(m, int64(a.Effect))
		sealTouches(m, a.Touches)
	}
	return hex.EncodeToString(m.Sum(nil))
}

// intentOf is the intent that a row is about.
func intentOf(a jackline.Approval) jackline.Intent {
	return jackline.Intent{
		Actor: jackline.Actor{
			Owner: a.Owner, Source: jackline.FromModel,
			Session: jackline.Session{ID: a.Session, Owner: a.Owner, Workspace: a.Folder, Mode: a.Mode, Labels: a.Labels},
			Turn:    jackline.Turn{ID: a.Turn, Session: a.Session, Owner: a.Owner},
		},
		Call: a.Call, Tool: a.Tool, Digest: a.Digest, Title: a.Title, Args: a.Args, Effect: a.Effect, Touches: a.Touches,
		Labels: a.Labels, Sandbox: a.Sandbox, Facts: a.Facts,
	}
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
	case jackline.Once, jackline.Lasting:
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

// grantsOf are the grants that a yes leaves. A rule for the workspace is not the desk's to keep; until the turn ends it is a grant, too.
func (d *Desk) grantsOf(a jackline.Approval, ans jackline.Answer) []jackline.Grant {
	scope := ans.Scope
	switch scope {
	case jackline.Lasting:
		scope = jackline.Task
	case jackline.Task, jackline.Chat:
	case jackline.Once:
		return nil
	default:
		return nil
	}
	r := reachOf(a)
	kind, values := r.kind, r.values
	if ans.Pattern != "" {
		kind, values = jackline.GrantPattern, []string{ans.Pattern}
	}
	if scope == jackline.Task && a.Turn == "" {
		return nil
	}
	var list []jackline.Grant
	for _, v := range values {
		g := jackline.Grant{
			ID: jackline.NewID[jackline.GrantID]("g_"), Owner: a.Owner, Session: a.Session, Scope: scope, Tool: a.Tool,
			Kind: kind, Value: v, Mode: a.Mode, Approval: a.ID, Terms: d.terms(a, kind), Created: d.now().UTC(),
		}
		if scope == jackline.Task {
			g.Turn = a.Turn
		}
		list = append(list, g)
	}
	return list
}
