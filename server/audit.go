package server

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jackline-ai/jackline"
)

// auditRoutes gives a router the routes of the audit. No tool reaches them: they only read, and whoever writes to the audit is
// the program itself.
func (s *Server) auditRoutes(r *router) {
	route(r, http.MethodGet, "/api/audit", "list-audit", "What was decided and done, the newest first", s.listAudit)
	route(r, http.MethodGet, "/api/audit/verify", "verify-audit", "Whether the audit is as it was written", s.verifyAudit)
	routeOf(r, http.MethodGet, "/api/audit/export", "export-audit", "The audit as JSON lines, to be kept elsewhere", s.exportAudit, exports)
	route(r, http.MethodGet, "/api/audit/{n}", "get-audit", "One line of the audit", s.getAudit)
	route(r, http.MethodGet, "/api/tools/calls/{call}/explain", "explain-call", "Why a call ran, was asked about or was refused: what was said then", s.explainCall)
}

// exports says in the document that a route answers with JSON lines.
func exports(o *huma.Operation) {
	o.Responses["200"] = &huma.Response{
		Description: "JSON lines: what the export is, then a line of the audit each, then the end",
		Content:     map[string]*huma.MediaType{"application/x-ndjson": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
}

// An AuditFilter says which lines are meant. It is exported so that what reads requests finds its fields.
type AuditFilter struct {
	Session jackline.SessionID `query:"session" maxLength:"100" doc:"of one chat"`
	Call    jackline.CallID    `query:"call" maxLength:"100" doc:"about one call"`
	Tool    string             `query:"tool" maxLength:"200" doc:"about calls of one tool"`
	Kind    jackline.AuditKind `query:"kind" maxLength:"100" doc:"of one kind, such as call.started"`
	Verdict string             `query:"verdict" enum:"allow,ask,deny" doc:"with this verdict"`
	Since   time.Time          `query:"since" doc:"from this moment on"`
	Until   time.Time          `query:"until" doc:"before this moment"`
}

// query is the filter for whoever asks: an administrator sees everybody's lines, others their own.
func (s *Server) query(f AuditFilter) jackline.AuditQuery {
	return jackline.AuditQuery{
		Everybody: s.administers() == nil, Session: f.Session, Call: f.Call, Tool: f.Tool, Kind: f.Kind, Verdict: f.Verdict, Since: f.Since, Until: f.Until,
	}
}

// auditPage is how many lines a list has, unless another number is asked for.
const auditPage = 100

type listAuditIn struct {
	AuditFilter
	Before int64 `query:"before" minimum:"0" doc:"lines before this one: the number of the last line of the page before"`
	After  int64 `query:"after" minimum:"0" doc:"lines behind this one"`
	Oldest bool  `query:"oldest" doc:"the oldest first"`
	Limit  int   `query:"limit" minimum:"0" maximum:"1000" doc:"how many; 100 unless said"`
}

func (s *Server) listAudit(ctx context.Context, in *listAuditIn) (*body[[]jackline.AuditEntry], error) {
	q := s.query(in.AuditFilter)
	q.Before, q.After, q.Oldest, q.Limit = in.Before, in.After, in.Oldest, in.Limit
	if q.Limit == 0 {
		q.Limit = auditPage
	}
	return bodyOf(s.c.Store.Audit(ctx, s.owner, q))
}

type ofAuditLine struct {
	N int64 `path:"n" minimum:"1" doc:"its number"`
}

func (s *Server) getAudit(ctx context.Context, in *ofAuditLine) (*body[jackline.AuditEntry], error) {
	return bodyOf(s.c.Store.AuditLine(ctx, s.owner, s.administers() == nil, in.N))
}

type verifyAuditIn struct {
	Full bool `query:"full" doc:"look at all lines, not only at the last ones and the head"`
}

func (s *Server) verifyAudit(ctx context.Context, in *verifyAuditIn) (*body[jackline.AuditReport], error) {
	if err := s.administers(); err != nil {
		return nil, err
	}
	return bodyOf(s.c.Store.VerifyAudit(ctx, in.Full))
}

// exportAudit sends the lines as they are read. Where it fails on its way the end line is missing, which whoever checks the
// export is told.
func (s *Server) exportAudit(_ context.Context, in *AuditFilter) (*stream, error) {
	q := s.query(*in)
	return &stream{Body: func(hc huma.Context) {
		hc.SetHeader("Content-Type", "application/x-ndjson")
		hc.SetHeader("Content-Disposition", `attachment; filename="jackline-audit.jsonl"`)
		hc.SetHeader("Cache-Control", "no-store")
		ctx := hc.Context()
		if err := s.c.Store.ExportAudit(ctx, s.owner, q, hc.BodyWriter()); err != nil && ctx.Err() == nil && !errors.Is(err, context.Canceled) {
			s.c.Log.Error("an export of the audit ended early", "err", err)
		}
	}}, nil
}

type ofAnyCall struct {
	Call jackline.CallID `path:"call" maxLength:"100" doc:"the call"`
}

type explained struct {
	Call     jackline.CallID       `json:"call"`
	Session  jackline.SessionID    `json:"session"`
	Turn     jackline.TurnID       `json:"turn,omitempty"`
	Tool     string                `json:"tool"`
	Title    string                `json:"title"`
	State    jackline.CallState    `json:"state"`
	Outcome  string                `json:"outcome,omitempty" doc:"of a call that ended"`
	By       string                `json:"by,omitempty" doc:"who denied it"`
	Reason   string                `json:"reason,omitempty" doc:"and why"`
	Rulings  []jackline.Ruling     `json:"rulings" doc:"what was said on it, in that order; the last one decided"`
	Approval jackline.ApprovalID   `json:"approval,omitempty" doc:"the question about it"`
	Answer   *answered             `json:"answer,omitempty" doc:"and how it was answered"`
	Audit    []jackline.AuditEntry `json:"audit" doc:"its lines of the audit, the oldest first"`
}

type answered struct {
	State jackline.ApprovalState `json:"state"`
	Scope jackline.Scope         `json:"scope,omitempty"`
	By    string                 `json:"by,omitempty"`
	At    time.Time              `json:"at,omitzero"`
}

// explainCall gives what was decided then. It judges nothing anew: settings and rules may be others now.
func (s *Server) explainCall(ctx context.Context, in *ofAnyCall) (*body[explained], error) {
	c, err := s.c.Store.Call(ctx, s.owner, in.Call)
	if err != nil {
		return nil, err
	}
	x := explained{
		Call: c.ID, Session: c.Session, Turn: c.Turn, Tool: c.Name, Title: c.Title, State: c.State, By: c.By, Reason: c.Reason, Rulings: c.Rulings,
	}
	if x.Rulings == nil {
		x.Rulings = []jackline.Ruling{}
	}
	if c.State == jackline.CallEnded {
		x.Outcome = c.Outcome.String()
	}
	row, asked, err := s.c.Desk.Row(ctx, s.owner, c.ID)
	if err != nil {
		return nil, err
	}
	if asked {
		x.Approval = row.ID
		if row.State != jackline.Pending {
			x.Answer = &answered{row.State, row.Answer.Scope, row.Answer.By, row.Answer.At}
		}
	}
	x.Audit, err = s.c.Store.Audit(ctx, s.owner, jackline.AuditQuery{Session: c.Session, Call: c.ID, Oldest: true})
	return bodyOf(x, err)
}
