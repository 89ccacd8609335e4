package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
)

type listApprovalsIn struct {
	Session jackline.SessionID `query:"session" doc:"only those of this chat"`
	State   string             `query:"state" enum:"pending,approved,denied,expired,cancelled,used,all" doc:"pending unless said"`
}

func (s *Server) listApprovals(ctx context.Context, in *listApprovalsIn) (*body[[]jackline.Approval], error) {
	f := jackline.ApprovalFilter{Session: in.Session, States: []jackline.ApprovalState{jackline.Pending}}
	switch in.State {
	case "":
	case "all":
		f.States = nil
	default:
		f.States = []jackline.ApprovalState{jackline.ApprovalState(in.State)}
	}
	rows, err := s.c.Store.Approvals(ctx, s.owner, f)
	for k := range rows {
		rows[k] = whole(rows[k])
	}
	return bodyOf(rows, err)
}

// whole is a row whose lists are lists where they are empty, too.
func whole(a jackline.Approval) jackline.Approval {
	if a.Touches == nil {
		a.Touches = []jackline.Touch{}
	}
	if a.Scopes == nil {
		a.Scopes = []jackline.Scope{}
	}
	return a
}

type ofApproval struct {
	ID jackline.ApprovalID `path:"id" doc:"the question"`
}

func (s *Server) getApproval(ctx context.Context, in *ofApproval) (*body[jackline.Approval], error) {
	row, err := s.c.Store.Approval(ctx, s.owner, in.ID)
	return bodyOf(whole(row), err)
}

type answerBody struct {
	Approved *bool           `json:"approved,omitempty" doc:"kind call: yes or no"`
	Scope    jackline.Scope  `json:"scope,omitempty" enum:"once,task,chat" doc:"how far a yes reaches; once unless said"`
	Remember bool            `json:"remember,omitempty" doc:"the same as scope chat; 409 where that is not offered"`
	Reason   string          `json:"reason,omitempty" maxLength:"2000" doc:"with a no: why, for the model to read"`
	Args     json.RawMessage `json:"args,omitempty" doc:"with a yes: the arguments with which it is allowed instead"`
	Answers  [][]string      `json:"answers,omitempty" doc:"kind question: a list for each question"`
	Declined bool            `json:"declined,omitempty" doc:"kind question: no answer will come"`
}

type answerIn struct {
	ID   jackline.ApprovalID `path:"id" doc:"the question"`
	By   caller
	Body answerBody
}

func (s *Server) answerApproval(ctx context.Context, in *answerIn) (*body[jackline.Approval], error) {
	row, err := s.c.Store.Approval(ctx, s.owner, in.ID)
	if err != nil {
		return nil, err
	}
	ans, err := answerOf(row, in.Body)
	if err != nil {
		return nil, err
	}
	ans.By = in.By.name
	var edited *approval.EditedIntent
	if row.State == jackline.Pending && ans.Args != nil {
		if edited, err = s.edited(ctx, row, ans.Args); err != nil {
			return nil, err
		}
		if edited == nil {
			ans.Args = nil
		}
	}
	// From here on the answer counts, whether or not the client stays to hear that.
	ctx = context.WithoutCancel(ctx)
	if row.State == jackline.Pending && row.Turn != "" {
		if err := s.c.Turns.Rest(ctx, s.owner, row.Turn); err != nil {
			return nil, err
		}
	}
	row, err = s.c.Desk.Answer(ctx, s.owner, in.ID, ans, edited)
	if err = s.answered(ctx, row, err); err != nil {
		return nil, err
	}
	return bodyOf(whole(row), nil)
}

// answerOf makes an answer of a body that fits the kind of the question.
func answerOf(row jackline.Approval, b answerBody) (jackline.Answer, error) {
	fault := func(say string) (jackline.Answer, error) {
		return jackline.Answer{}, jackline.E("server.answer", jackline.Unprocessed, nil, "%s", say)
	}
	if row.Kind == jackline.KindQuestion {
		switch {
		case b.Approved != nil || b.Scope != "" || b.Remember || b.Args != nil:
			return fault("This is a question: send answers, or declined.")
		case (len(b.Answers) > 0) == b.Declined:
			return fault("Send answers, or declined, and not both.")
		}
		return jackline.Answer{Yes: !b.Declined, Answers: b.Answers, Reason: b.Reason}, nil
	}
	scope := b.Scope
	if b.Remember {
		scope = jackline.Chat
	}
	switch {
	case b.Answers != nil || b.Declined:
		return fault("This asks for permission: send approved.")
	case b.Approved == nil:
		return fault("approved is missing: true or false.")
	case b.Remember && b.Scope != "" && b.Scope != jackline.Chat:
		return fault("remember means the scope chat: send one of the two.")
	case !*b.Approved && (scope != "" || b.Args != nil):
		return fault("A no has no scope and changes no arguments.")
	case *b.Approved && b.Reason != "":
		return fault("A reason goes with a no.")
	case b.Args != nil && bytes.TrimSpace(b.Args)[0] != '{':
		return fault("args is not a JSON object.")
	}
	return jackline.Answer{Yes: *b.Approved, Scope: scope, Reason: b.Reason, Args: b.Args}, nil
}

// edited judges a call anew with the arguments that a person put in the place of the model's; nil if they are the
// same.
func (s *Server) edited(ctx context.Context, row jackline.Approval, args json.RawMessage) (*approval.EditedIntent, error) {
	session, err := s.c.Store.Session(ctx, s.owner, row.Session)
	if row.Turn == "" {
		session, err = s.sessionFor(ctx, row.Session)
	}
	if err != nil {
		return nil, err
	}
	call, err := s.c.Store.Call(ctx, s.owner, row.Call)
	if err != nil {
		return nil, err
	}
	who := jackline.Actor{Owner: s.owner, Admin: true, Session: session, Source: jackline.FromUser}
	if row.Turn != "" {
		who.Source = jackline.FromModel
		if who.Turn, err = s.c.Store.Turn(ctx, s.owner, row.Turn); err != nil {
			return nil, err
		}
		if who.Turn.Parent != "" {
			who.Source = jackline.FromAgent
		}
	}
	gate, err := s.c.Gate(session)
	if err != nil {
		return nil, err
	}
	call.Name, call.Args = row.Tool, args
	i, view, err := gate.Preview(ctx, who, call)
	if err != nil {
		return nil, err
	}
	if bytes.Equal(i.Args, row.Args) {
		return nil, nil
	}
	d := gate.Judged(i)
	if d.Verdict == jackline.Deny {
		p := newProblem(http.StatusForbidden, jackline.Forbidden.String(), d.Reason)
		p.Decision, p.Rule = jackline.Deny.String(), d.Rule
		return nil, p
	}
	return &approval.EditedIntent{Intent: i, Decision: d, View: view}, nil
}

// answered does what follows an answer: the turn that waits for it goes on. Where somebody else was first, the error
// says who.
func (s *Server) answered(ctx context.Context, row jackline.Approval, err error) error {
	if err != nil {
		p := problemOf(ctx, s.c.Log, http.MethodPost, "answer", err)
		if p.Status == http.StatusConflict && row.State != jackline.Pending {
			p.By = row.Answer.By
		}
		return p
	}
	if row.Turn == "" {
		return nil
	}
	if err := s.c.Turns.Woken(ctx, s.owner, row.Turn); err != nil {
		// The answer stands; the keeper of the turns finds it as well.
		s.c.Log.Error("a turn could not be woken", "turn", row.Turn, "err", err)
	}
	return nil
}
