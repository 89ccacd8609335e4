package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/jackline-ai/jackline"
)

// permissionsBody is what is allowed, with what can be taken back and what cannot be changed here.
type permissionsBody struct {
	jackline.Permissions
	Grants []jackline.Grant `json:"grants" doc:"standing permissions of chats"`
	Fixed  []string         `json:"fixed" doc:"keys that a flag or the environment sets"`
}

func (s *Server) getPermissions(ctx context.Context, _ *none) (*body[permissionsBody], error) {
	p, err := s.c.Settings.Permissions(ctx, s.owner)
	if err != nil {
		return nil, err
	}
	if p.Rules == nil {
		p.Rules = []jackline.Rule{}
	}
	if p.Disabled == nil {
		p.Disabled = []string{}
	}
	grants, err := s.c.Store.Grants(ctx, s.owner, "")
	return bodyOf(permissionsBody{Permissions: p, Grants: grants, Fixed: s.fixed()}, err)
}

type togglesPatch struct {
	ReadFiles  *bool `json:"readFiles,omitempty"`
	WriteFiles *bool `json:"writeFiles,omitempty" doc:"covers deleting"`
	RunShell   *bool `json:"runShell,omitempty"`
	Network    *bool `json:"network,omitempty"`
}

type permissionsPatch struct {
	Mode            *jackline.Mode   `json:"mode,omitempty" enum:"plan,ask,allow-reads,allow-edits,allow-all" doc:"of new chats"`
	Toggles         *togglesPatch    `json:"toggles,omitempty"`
	Rules           *[]jackline.Rule `json:"rules,omitempty" maxItems:"500"`
	WorkspaceRoot   *string          `json:"workspaceRoot,omitempty" doc:"of new chats; empty is the folder jackline in the home folder"`
	ApprovalTimeout *int             `json:"approvalTimeout,omitempty" minimum:"1" maximum:"2592000" doc:"seconds"`
	OnAsk           *jackline.OnAsk  `json:"onAsk,omitempty" enum:"deny,fail,wait"`
	Disabled        *[]string        `json:"tools.disabled,omitempty" maxItems:"500" doc:"names of tools, and patterns with *"`
	Revoke          jackline.GrantID `json:"revoke,omitempty" doc:"a grant to take back; alone"`
}

type permissionsIn struct{ Body permissionsPatch }

func (s *Server) setPermissions(ctx context.Context, in *permissionsIn) (*body[permissionsBody], error) {
	b := in.Body
	if b.Revoke != "" {
		if b != (permissionsPatch{Revoke: b.Revoke}) {
			return nil, jackline.E("server.setPermissions", jackline.Unprocessed, nil, "revoke stands alone.")
		}
		if err := s.c.Store.RevokeGrant(ctx, s.owner, b.Revoke); err != nil {
			return nil, err
		}
		return s.getPermissions(ctx, nil)
	}
	if b.Rules != nil {
		if err := s.checkRules(*b.Rules); err != nil {
			return nil, err
		}
	}
	if b.WorkspaceRoot != nil && *b.WorkspaceRoot != "" {
		folder, err := s.c.Vet(ctx, *b.WorkspaceRoot)
		if err != nil {
			return nil, err
		}
		b.WorkspaceRoot = &folder
	}
	if b.Disabled != nil {
		if err := s.checkDisabled(ctx, *b.Disabled); err != nil {
			return nil, err
		}
	}
	changed, err := s.put(ctx, b, permissionKey, func() (any, error) { return s.c.Settings.Permissions(ctx, s.owner) })
	if err != nil {
		return nil, err
	}
	out, err := s.getPermissions(ctx, nil)
	if err == nil && changed {
		s.c.Turns.Announce(context.WithoutCancel(ctx), s.owner, jackline.PermissionsChanged{Permissions: out.Body.Permissions})
	}
	return out, err
}

// checkDisabled says what is wrong with a list of disabled tools: a name with a slip in it would leave the tool on. What
// stands in the list already is let through, for a tool may be gone since.
func (s *Server) checkDisabled(ctx context.Context, names []string) error {
	const op = "server.setPermissions"
	now, err := s.c.Settings.Permissions(ctx, s.owner)
	if err != nil {
		return err
	}
	for _, n := range names {
		if strings.TrimSpace(n) == "" {
			return jackline.E(op, jackline.Unprocessed, nil, "tools.disabled holds an empty name.")
		}
		if slices.Contains(now.Disabled, n) {
			continue
		}
		// A rule knows what a tool may be called: its other names, patterns, and servers that are not connected now.
		if strings.Contains(n, "(") || len(s.c.CheckRules([]jackline.Rule{{Do: jackline.Deny, Pattern: n}})) > 0 {
			return jackline.E(op, jackline.Unprocessed, nil, "tools.disabled names %q, which is no tool and no pattern for one.", cut(n, lastLength))
		}
	}
	return nil
}

// permissionKey is the configuration key of a key of the body.
func permissionKey(k string) string {
	if strings.HasPrefix(k, "tools.") {
		return k
	}
	return "permissions." + k
}

func (s *Server) getAgent(ctx context.Context, _ *none) (*body[jackline.AgentSettings], error) {
	return bodyOf(s.c.Settings.Agent(ctx, s.owner))
}

// agentPatch. Zero means the default, where there is one.
type agentPatch struct {
	MaxSteps     *int    `json:"maxSteps,omitempty" minimum:"0" maximum:"2000" doc:"model requests a turn may take; 1 turns tools off, 0 is the default"`
	CallsPerStep *int    `json:"callsPerStep,omitempty" minimum:"0" maximum:"64"`
	History      *int    `json:"history,omitempty" minimum:"0" maximum:"1000"`
	Prefetch     *bool   `json:"prefetch,omitempty"`
	Persona      *string `json:"persona,omitempty" maxLength:"400"`
	MaxTokens    *int    `json:"maxTokens,omitempty" minimum:"0" maximum:"1073741824"`
	MaxTime      *int    `json:"maxTime,omitempty" minimum:"0" maximum:"2592000" doc:"seconds"`
}

type agentIn struct{ Body agentPatch }

func (s *Server) setAgent(ctx context.Context, in *agentIn) (*body[jackline.AgentSettings], error) {
	if _, err := s.put(ctx, in.Body, agentKey, func() (any, error) { return s.c.Settings.Agent(ctx, s.owner) }); err != nil {
		return nil, err
	}
	return s.getAgent(ctx, nil)
}

func agentKey(k string) string { return "agent." + k }

// put stores what a patch holds under its configuration keys, and reports whether it held anything. To change a key that
// a flag or the environment fixes is a Conflict; to send it as it is does nothing.
func (s *Server) put(ctx context.Context, patch any, key func(string) string, current func() (any, error)) (bool, error) {
	const op = "server.put"
	s.settings.Lock()
	defer s.settings.Unlock()
	now, err := current()
	if err != nil {
		return false, err
	}
	values, is := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := errors.Join(flatten(patch, key, values), flatten(now, key, is)); err != nil {
		return false, jackline.E(op, jackline.Internal, err, "The settings cannot be read.")
	}
	for _, f := range s.c.Settings.Fixed() {
		if v, ok := values[f]; ok && !bytes.Equal(v, is[f]) {
			return false, jackline.E(op, jackline.Conflict, nil, "%s is set by a flag or the environment; change it there.", f)
		}
		delete(values, f)
	}
	if len(values) == 0 {
		return false, nil
	}
	return true, s.c.Settings.Put(ctx, s.owner, values)
}

// flatten puts the fields of settings, or of a patch of them, under their keys. Toggles are keys of their own.
func flatten(v any, key func(string) string, into map[string]json.RawMessage) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return err
	}
	for k, v := range fields {
		if k == "toggles" {
			if err := flatten(v, func(t string) string { return key(k + "." + t) }, into); err != nil {
				return err
			}
			continue
		}
		into[key(k)] = v
	}
	return nil
}

// fixed lists the fixed keys of the permissions, as their body names them.
func (s *Server) fixed() []string {
	list := []string{}
	for _, f := range s.c.Settings.Fixed() {
		if k := strings.TrimPrefix(f, "permissions."); permissionKey(k) == f {
			list = append(list, k)
		}
	}
	return list
}

type testIn struct {
	Body json.RawMessage `doc:"one line of 'jackline permissions test': {\"id\",\"kind\":\"shell|path|url|call\", …}"`
}

func (s *Server) testPermissions(ctx context.Context, in *testIn) (*body[json.RawMessage], error) {
	return bodyOf(s.c.Judge(ctx, s.owner, in.Body))
}
