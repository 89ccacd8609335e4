package server

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"

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

// An AnswerBody is what a person says to a question, by its kind.
type AnswerBody struct {
	Approved *bool           `json:"approved,omitempty" doc:"kind call: yes or no"`
	Scope    jackline.Scope  `json:"scope,omitempty" enum:"once,task,chat,workspace" doc:"how far a yes reaches; once unless said. workspace adds a rule, and needs confirm"`
	Pattern  string          `json:"pattern,omitempty" maxLength:"512" doc:"with a scope beyond once: what it covers, as in shell(npm run *); what the question says unless said"`
	Confirm  bool            `json:"confirm,omitempty" doc:"said again: for the scope workspace, and for a yes to high risk among several answers"`
	Remember bool            `json:"remember,omitempty" doc:"the same as scope chat; 409 where that is not offered"`
	Reason   string          `json:"reason,omitempty" maxLength:"2000" doc:"with a no: why, for the model to read"`
	Args     json.RawMessage `json:"args,omitempty" doc:"with a yes: the arguments with which it is allowed instead"`
	Answers  [][]string      `json:"answers,omitempty" doc:"kind question: a list for each question"`
	Declined bool            `json:"declined,omitempty" doc:"kind question: no answer will come"`
}

type answerIn struct {
	ID   jackline.ApprovalID `path:"id" doc:"the question"`
	By   caller
	Body AnswerBody
}

func (s *Server) answerApproval(ctx context.Context, in *answerIn) (*body[jackline.Approval], error) {
	row, err := s.answerOne(ctx, in.ID, in.By.name, in.Body)
	if err != nil {
		return nil, err
	}
	s.wake(ctx, row)
	return bodyOf(whole(row), nil)
}

// answerOne answers one question. What waits for it is not woken yet. From where the answer is given to the desk it counts, whether
// or not the client stays to hear that.
func (s *Server) answerOne(ctx context.Context, id jackline.ApprovalID, by string, b AnswerBody) (jackline.Approval, error) {
	row, err := s.c.Store.Approval(ctx, s.owner, id)
	if err != nil {
		return row, err
	}
	ans, err := answerOf(row, b)
	if err != nil {
		return row, err
	}
	if ans.Scope == jackline.Lasting {
		if err := s.roomForRules(ctx); err != nil {
			return row, err
		}
	}
	ans.By = by
	var edited *approval.EditedIntent
	if row.State == jackline.Pending && ans.Args != nil {
		if edited, err = s.edited(ctx, row, ans.Args); err != nil {
			return row, err
		}
		if edited == nil {
			ans.Args = nil
		}
	}
	ctx = context.WithoutCancel(ctx)
	if row.State == jackline.Pending && row.Turn != "" {
		if err := s.c.Turns.Rest(ctx, s.owner, row.Turn); err != nil {
			return row, err
		}
	}
	row, err = s.c.Desk.Answer(ctx, s.owner, id, ans, edited)
	if err != nil {
		return row, s.late(ctx, row, err)
	}
	if rules := approval.Rules(row); len(rules) > 0 {
		if err := s.addRules(ctx, rules); err != nil {
			// The call is allowed; the rule is not kept, and the person is told so.
			s.wake(ctx, row)
			return row, err
		}
	}
	return row, nil
}

// late is the problem of an answer that does not count. Where somebody else was first, it says who.
func (s *Server) late(ctx context.Context, row jackline.Approval, err error) error {
	p := problemOf(ctx, s.c.Log, http.MethodPost, "answer", err)
	if p.Status == http.StatusConflict && row.State != jackline.Pending {
		p.By = row.Answer.By
	}
	return p
}

// wake lets the turns go on that wait for answered questions, each once.
func (s *Server) wake(ctx context.Context, rows ...jackline.Approval) {
	ctx = context.WithoutCancel(ctx)
	woken := map[jackline.TurnID]bool{"": true}
	for _, row := range rows {
		if woken[row.Turn] {
			continue
		}
		woken[row.Turn] = true
		if err := s.c.Turns.Woken(ctx, s.owner, row.Turn); err != nil {
			// The answer stands; the keeper of the turns finds it as well.
			s.c.Log.Error("a turn could not be woken", "turn", row.Turn, "err", err)
		}
	}
}

// maxAnswers is how many questions are answered by one request: as many as a chat may have open.
const maxAnswers = 20

// An answerTo is an answer with what it answers.
type answerTo struct {
	ID jackline.ApprovalID `json:"id" doc:"the question"`
	AnswerBody
}

type answersBody struct {
	Answers []answerTo `json:"answers" minItems:"1" maxItems:"20" doc:"one for each question; each counts or fails by itself"`
}

type answersIn struct {
	By   caller
	Body answersBody
}

// An answeredRow is what became of one answer among several.
type answeredRow struct {
	ID       jackline.ApprovalID `json:"id"`
	Status   int                 `json:"status" doc:"as it would have been alone"`
	Approval *jackline.Approval  `json:"approval,omitempty" doc:"the question as it now stands"`
	Problem  *problem            `json:"problem,omitempty" doc:"why the answer does not count"`
}

// answerApprovals answers the questions of a step together: all are answered before anything that waits for them goes on.
func (s *Server) answerApprovals(ctx context.Context, in *answersIn) (*body[[]answeredRow], error) {
	const op = "server.answerApprovals"
	seen := map[jackline.ApprovalID]bool{}
	yes := 0
	for _, a := range in.Body.Answers {
		if seen[a.ID] {
			return nil, jackline.E(op, jackline.Unprocessed, nil, "The question %s is answered twice.", cut(string(a.ID), lastLength))
		}
		seen[a.ID] = true
		if a.Approved != nil && *a.Approved {
			yes++
		}
	}
	if len(seen) > maxAnswers {
		return nil, jackline.E(op, jackline.Unprocessed, nil, "At most %d questions are answered at once.", maxAnswers)
	}
	list := make([]answeredRow, 0, len(in.Body.Answers))
	var rows []jackline.Approval
	for _, a := range in.Body.Answers {
		row, err := jackline.Approval{}, error(nil)
		if yes > 1 && a.Approved != nil && *a.Approved && !a.Confirm {
			err = s.lowEnough(ctx, a.ID)
		}
		if err == nil {
			row, err = s.answerOne(ctx, a.ID, in.By.name, a.AnswerBody)
		}
		if err != nil {
			p := problemOf(ctx, s.c.Log, http.MethodPost, "answers", err)
			list = append(list, answeredRow{ID: a.ID, Status: p.Status, Problem: p})
			continue
		}
		rows = append(rows, row)
		row = whole(row)
		list = append(list, answeredRow{ID: a.ID, Status: http.StatusOK, Approval: &row})
	}
	s.wake(ctx, rows...)
	return bodyOf(list, nil)
}

// lowEnough refuses to have high risk allowed in one go with other things, unless it was said of it by itself.
func (s *Server) lowEnough(ctx context.Context, id jackline.ApprovalID) error {
	row, err := s.c.Store.Approval(ctx, s.owner, id)
	if err == nil && row.Kind == jackline.KindCall && row.Risk != "low" && row.Risk != "medium" {
		err = jackline.E("server.answerApprovals", jackline.Unprocessed, nil,
			"This has high risk, so it is not allowed together with others: send confirm with it, or answer it by itself.")
	}
	return err
}

type extendIn struct {
	ID   jackline.ApprovalID `path:"id" doc:"the question"`
	By   caller
	Body *struct{} `doc:"may be left out"`
}

func (s *Server) extendApproval(ctx context.Context, in *extendIn) (*body[jackline.Approval], error) {
	row, err := s.c.Desk.Extend(ctx, s.owner, in.ID, in.By.name)
	return bodyOf(whole(row), err)
}

// maxRules is how many rules an owner has, as many as one request may send.
const maxRules = 500

// roomForRules says why no rule can be added, or nil.
func (s *Server) roomForRules(ctx context.Context) error {
	const op = "server.addRules"
	if slices.Contains(s.c.Settings.Fixed(), permissionKey("rules")) {
		return jackline.E(op, jackline.Conflict, nil, "permissions.rules is set by a flag or the environment, so no rule can be added here. Allow it for this chat.")
	}
	p, err := s.c.Settings.Permissions(ctx, s.owner)
	if err == nil && len(p.Rules) >= maxRules {
		err = jackline.E(op, jackline.Conflict, nil, "There are %d rules already. Take some out before another is added.", len(p.Rules))
	}
	return err
}

// addRules adds rules to the owner's, without those that are there.
func (s *Server) addRules(ctx context.Context, rules []jackline.Rule) error {
	s.settings.Lock()
	defer s.settings.Unlock()
	p, err := s.c.Settings.Permissions(ctx, s.owner)
	if err != nil {
		return err
	}
	had := len(p.Rules)
	for _, r := range rules {
		same := func(have jackline.Rule) bool {
			return have.Do == r.Do && have.Pattern == r.Pattern && have.Workspace == r.Workspace
		}
		if !slices.ContainsFunc(p.Rules, same) {
			p.Rules = append(p.Rules, r)
		}
	}
	if len(p.Rules) == had {
		return nil
	}
	if err := s.checkRules(p.Rules[had:]); err != nil {
		return err
	}
	raw, err := json.Marshal(p.Rules)
	if err != nil {
		return jackline.E("server.addRules", jackline.Internal, err, "The rule cannot be written.")
	}
	if err := s.c.Settings.Put(ctx, s.owner, map[string]json.RawMessage{permissionKey("rules"): raw}); err != nil {
		return err
	}
	s.c.Turns.Announce(ctx, s.owner, jackline.PermissionsChanged{Permissions: p})
	return nil
}

// answerOf makes an answer of a body that fits the kind of the question.
func answerOf(row jackline.Approval, b AnswerBody) (jackline.Answer, error) {
	fault := func(say string) (jackline.Answer, error) {
		return jackline.Answer{}, jackline.E("server.answer", jackline.Unprocessed, nil, "%s", say)
	}
	if row.Kind == jackline.KindQuestion {
		switch {
		case b.Approved != nil || b.Scope != "" || b.Remember || b.Args != nil || b.Pattern != "":
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
	case !*b.Approved && (scope != "" || b.Args != nil || b.Pattern != ""):
		return fault("A no has no scope and changes no arguments.")
	case scope == jackline.Lasting && !b.Confirm:
		return fault("The scope workspace adds a rule for all chats in this folder: send confirm with it.")
	case *b.Approved && b.Reason != "":
		return fault("A reason goes with a no.")
	case b.Args != nil && bytes.TrimSpace(b.Args)[0] != '{':
		return fault("args is not a JSON object.")
	}
	return jackline.Answer{Yes: *b.Approved, Scope: scope, Reason: b.Reason, Args: b.Args, Pattern: b.Pattern}, nil
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
