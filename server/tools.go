package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/tool"
)

// resultLimit is how much of a result a person's own call answers with, in characters; the rest can be paged through.
const resultLimit = 20_000

// ownTitle names the chat that holds the calls that a person makes outside of any.
const ownTitle = "Tools run by hand"

// toolRow is a tool as the API lists it.
type toolRow struct {
	Name       string          `json:"name"`
	Title      string          `json:"title"`
	Summary    string          `json:"summary"`
	Parameters json.RawMessage `json:"parameters" doc:"JSON schema of the arguments"`
	Effects    jackline.Effect `json:"effects" doc:"all that a call could do"`
	Category   string          `json:"category"`
	Service    string          `json:"service" doc:"the server that it comes from; empty for a built-in tool"`
	Available  bool            `json:"available"`
	WhyNot     string          `json:"why_not" doc:"why it is not available, and what to do"`
	Enabled    bool            `json:"enabled" doc:"it is not switched off in the settings"`
}

func (s *Server) listTools(ctx context.Context, _ *none) (*body[[]toolRow], error) {
	folder, err := s.c.Vet(ctx, "")
	if err != nil {
		return nil, err
	}
	who := jackline.Session{Owner: s.owner, Workspace: folder}
	gate, err := s.c.Gate(who)
	if err != nil {
		return nil, err
	}
	rows := []toolRow{}
	for t := range gate.Tools.All() {
		f := t.Facts()
		judged := gate.Judged(jackline.Intent{Actor: jackline.Actor{Owner: s.owner, Session: who}, Tool: f.Name, Digest: f.Digest, Effect: f.Effect})
		rows = append(rows, toolRow{
			Name: f.Name, Title: titleOf(f.Name), Summary: f.Summary, Parameters: f.Schema, Effects: f.Effect, Category: f.Group,
			Service: f.Connected, Available: f.WhyNot == "", WhyNot: f.WhyNot, Enabled: judged.Rule != jackline.RuleDisabled,
		})
	}
	return bodyOf(rows, nil)
}

// titleOf makes a title of a tool's name.
func titleOf(name string) string {
	t := strings.TrimSpace(strings.ReplaceAll(name, "_", " "))
	if t == "" {
		return name
	}
	return strings.ToUpper(t[:1]) + t[1:]
}

type runToolBody struct {
	Name     string              `json:"name" minLength:"1" maxLength:"200"`
	Args     json.RawMessage     `json:"args,omitempty" doc:"a JSON object"`
	Session  jackline.SessionID  `json:"session,omitempty" doc:"the chat in whose workspace it runs"`
	Approved bool                `json:"approved,omitempty" doc:"with approval: yes to this very call"`
	Approval jackline.ApprovalID `json:"approval,omitempty" doc:"the question that the first request was answered with"`
}

type runToolIn struct {
	By   caller
	Body runToolBody
}

type ranBody struct {
	Call    jackline.CallID  `json:"call"`
	Outcome jackline.Outcome `json:"outcome"`
	Text    string           `json:"text"`
	View    jackline.View    `json:"view"`
}

// runTool runs a tool for a person. The call takes the same way as a model's, with the person as its source.
func (s *Server) runTool(ctx context.Context, in *runToolIn) (*body[ranBody], error) {
	const op = "server.runTool"
	b := in.Body
	if len(b.Args) == 0 {
		b.Args = json.RawMessage("{}")
	}
	if b.Args = bytes.TrimSpace(b.Args); b.Args[0] != '{' {
		return nil, jackline.E(op, jackline.Unprocessed, nil, "args is not a JSON object.")
	}
	if b.Approved != (b.Approval != "") {
		return nil, jackline.E(op, jackline.Unprocessed, nil, "approved and approval go together: the second is the id that the first request was answered with.")
	}
	var run *handRun
	var err error
	if b.Approval != "" {
		if _, busy := s.approved.LoadOrStore(b.Approval, true); busy {
			return nil, jackline.E(op, jackline.Conflict, nil, "This call is being run already.")
		}
		defer s.approved.Delete(b.Approval)
		run, err = s.approvedRun(ctx, b, in.By.name)
	} else {
		run, err = s.newRun(ctx, b)
	}
	if err != nil {
		return nil, err
	}
	var done tool.Done
	err = s.c.Turns.Do(ctx, func(ctx context.Context) error {
		done, err = run.gate.Do(ctx, tool.Request{Who: run.who, Call: run.call, Limit: resultLimit})
		return err
	})
	if err != nil {
		if errors.Is(err, context.Canceled) {
			err = jackline.E(op, jackline.Conflict, err, "The call was stopped.")
		}
		return nil, err
	}
	return s.ran(ctx, done, run.seen)
}

// A handRun is a person's own call, ready for the gate.
type handRun struct {
	gate *tool.Gate
	seen *viewer
	who  jackline.Actor
	call jackline.Call
}

// newRun writes the row of a new call.
func (s *Server) newRun(ctx context.Context, b runToolBody) (*handRun, error) {
	session, err := s.sessionFor(ctx, b.Session)
	if err != nil {
		return nil, err
	}
	run, err := s.handRun(session)
	if err != nil {
		return nil, err
	}
	c := jackline.Call{ID: jackline.NewID[jackline.CallID]("c_"), Session: session.ID, Asked: b.Name, Name: b.Name, Args: b.Args, State: jackline.CallNew}
	// What cannot be a call at all is the request's fault. What it cannot touch is the gate's to tell.
	i, err := run.gate.Intent(run.who, c)
	if err != nil && i.Tool == "" {
		return nil, err
	}
	var icon string
	c.Name, c.Title, icon, c.Acts = run.gate.Describe(b.Name, b.Args)
	c.Args = i.Args
	rec := jackline.Record{Session: session.ID, Calls: []jackline.Call{c}, Events: []jackline.Event{jackline.NewEvent(session.ID, "", jackline.ToolCall{
		Call: c.ID, Name: c.Name, Title: c.Title, Kind: icon, Args: run.gate.BriefArgs(c.Args),
	})}}
	if _, err := s.c.Store.Append(ctx, s.owner, rec); err != nil {
		return nil, err
	}
	run.call = c
	return run, nil
}

// approvedRun finds the call that a question is about, and says yes to the question if nobody has yet. The request
// must be that very call.
func (s *Server) approvedRun(ctx context.Context, b runToolBody, by string) (*handRun, error) {
	const op = "server.runTool"
	row, err := s.c.Store.Approval(ctx, s.owner, b.Approval)
	if err != nil {
		return nil, err
	}
	if row.Turn != "" || row.Kind != jackline.KindCall {
		return nil, jackline.E(op, jackline.Conflict, nil, "This question belongs to a turn of the chat: answer it there, and the turn runs the call.")
	}
	session, err := s.sessionFor(ctx, row.Session)
	if err != nil {
		return nil, err
	}
	run, err := s.handRun(session)
	if err != nil {
		return nil, err
	}
	if run.call, err = s.c.Store.Call(ctx, s.owner, row.Call); err != nil {
		return nil, err
	}
	asked := run.call
	asked.Name, asked.Args = b.Name, b.Args
	i, err := run.gate.Intent(run.who, asked)
	if err != nil && i.Tool == "" {
		return nil, err
	}
	if i.Tool != row.Tool || !bytes.Equal(i.Args, row.Args) || b.Session != "" && b.Session != row.Session {
		return nil, jackline.E(op, jackline.Conflict, nil, "This is not the call that the question is about. Send it without an approval to ask about it.")
	}
	if row.State == jackline.Approved {
		return run, nil
	}
	row, err = s.c.Desk.Answer(ctx, s.owner, row.ID, jackline.Answer{Yes: true, Scope: jackline.Once, By: by}, nil)
	return run, s.answered(ctx, row, err)
}

// handRun is the gate of a session, for a person.
func (s *Server) handRun(session jackline.Session) (*handRun, error) {
	gate, err := s.c.Gate(session)
	if err != nil {
		return nil, err
	}
	run := &handRun{who: jackline.Actor{Owner: s.owner, Admin: true, Session: session, Source: jackline.FromUser}, seen: &viewer{Log: gate.Log}}
	own := *gate
	own.Log = run.seen
	run.gate = &own
	return run, nil
}

// ran is the answer to a call that came as far as it could.
func (s *Server) ran(ctx context.Context, d tool.Done, seen *viewer) (*body[ranBody], error) {
	if d.Wait != "" {
		row, err := s.c.Store.Approval(ctx, s.owner, d.Wait)
		if err != nil {
			return nil, err
		}
		p := newProblem(http.StatusForbidden, jackline.Forbidden.String(), "This needs a person's permission: "+row.Why)
		p.Decision, p.Rule, p.Approval = jackline.Ask.String(), row.Rule, row.ID
		return nil, p
	}
	if d.Flooded != "" {
		return nil, jackline.E("server.runTool", jackline.Conflict, nil, "%s", d.Flooded)
	}
	c := d.Call
	if c.Outcome == jackline.Denied {
		reason := c.Reason
		if reason == "" {
			reason = "This call was denied."
		}
		p := newProblem(http.StatusForbidden, jackline.Forbidden.String(), reason)
		if s.c.Turns.Halted() && c.By == jackline.RuleHalted {
			p = newProblem(http.StatusConflict, jackline.Conflict.String(), reason)
		}
		p.Decision, p.Rule = jackline.Deny.String(), c.By
		return nil, p
	}
	return bodyOf(ranBody{c.ID, c.Outcome, c.Text, seen.view(c)}, nil)
}

// ownSession names the chat of a person's own calls in a workspace: there is one for each, and it can be found again.
func (s *Server) ownSession(folder string) jackline.SessionID {
	sum := sha256.Sum256([]byte(string(s.owner) + "\x00" + folder))
	return jackline.SessionID("s_own" + hex.EncodeToString(sum[:])[:20])
}

// sessionFor is the session of a person's own call: the one that was named, or the owner's own for that, whose mode is
// always that of the settings: nobody chose the one that it was made with.
func (s *Server) sessionFor(ctx context.Context, id jackline.SessionID) (jackline.Session, error) {
	p, err := s.c.Settings.Permissions(ctx, s.owner)
	if err != nil {
		return jackline.Session{}, err
	}
	if id != "" {
		v, err := s.c.Store.Session(ctx, s.owner, id)
		if err == nil && id == s.ownSession(v.Workspace) {
			v.Mode = p.Mode
		}
		return v, err
	}
	folder, err := s.c.Vet(ctx, "")
	if err != nil {
		return jackline.Session{}, err
	}
	id = s.ownSession(folder)
	v, err := s.c.Store.Session(ctx, s.owner, id)
	if jackline.KindOf(err) == jackline.NotFound {
		v, err = s.c.Store.CreateSession(ctx, s.owner, jackline.Session{ID: id, Title: ownTitle, Workspace: folder, Mode: p.Mode, Created: time.Now()})
		if jackline.KindOf(err) == jackline.Conflict { // made at the same moment
			v, err = s.c.Store.Session(ctx, s.owner, id)
		}
	}
	v.Mode = p.Mode
	return v, err
}

// A viewer is a gate's log that remembers what a person is shown of the result.
type viewer struct {
	tool.Log
	views map[jackline.CallID]jackline.View
}

// Append passes the record on and looks at it.
func (v *viewer) Append(ctx context.Context, o jackline.Owner, r jackline.Record) ([]jackline.Event, error) {
	for _, e := range r.Events {
		var b jackline.ToolResult
		if e.Type == b.Type() && json.Unmarshal(e.Data, &b) == nil {
			if v.views == nil {
				v.views = map[jackline.CallID]jackline.View{}
			}
			v.views[b.Call] = b.View
		}
	}
	return v.Log.Append(ctx, o, r)
}

func (v *viewer) view(c jackline.Call) jackline.View {
	if view, ok := v.views[c.ID]; ok {
		return view
	}
	return jackline.View{Shape: jackline.ViewText, Text: c.Text}
}
