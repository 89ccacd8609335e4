package server

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/guard"
)

// routes lists all routes of the API. The handlers stand in the files named for what they are about.
func (s *Server) routes() {
	reg := s.api.OpenAPI().Components.Schemas
	reg.RegisterTypeAlias(reflect.TypeFor[jackline.Effect](), reflect.TypeFor[[]string]())

	route(s, http.MethodGet, pathHealth, "health", "Whether the server is up", s.health, public)
	route(s, http.MethodPost, pathLogin, "login", "Trade a one-time code for the token", s.login, public)
	route(s, http.MethodPost, "/api/login/codes", "new-code", "A one-time code for a page that is to log in", s.newCode, status(http.StatusCreated))
	route(s, http.MethodGet, "/api/status", "status", "The server and its model", s.status)
	route(s, http.MethodPost, "/api/stop", "stop-all", "Throw or lift the kill switch", s.stopAll)

	route(s, http.MethodGet, "/api/tools", "list-tools", "The tools", s.listTools)
	route(s, http.MethodPost, "/api/tools/run", "run-tool", "Run a tool by hand, through the gate", s.runTool)
	route(s, http.MethodGet, "/api/tools/approvals", "list-approvals", "The questions to people", s.listApprovals)
	route(s, http.MethodGet, "/api/tools/approvals/{id}", "get-approval", "One question", s.getApproval)
	route(s, http.MethodPost, "/api/tools/approvals/{id}", "answer-approval", "Answer a question; the first answer wins", s.answerApproval)

	route(s, http.MethodGet, "/api/permissions", "get-permissions", "What is allowed", s.getPermissions)
	route(s, http.MethodPost, "/api/permissions", "set-permissions", "Change what is allowed, or revoke a grant", s.setPermissions)
	route(s, http.MethodPost, "/api/permissions/test", "test-permissions", "Say what would happen, without running anything", s.testPermissions)
	route(s, http.MethodGet, "/api/agent", "get-agent", "The settings of the loop", s.getAgent)
	route(s, http.MethodPost, "/api/agent", "set-agent", "Change the settings of the loop", s.setAgent)

	route(s, http.MethodGet, "/api/sessions", "list-sessions", "The chats, the newest first", s.listSessions)
	route(s, http.MethodPost, "/api/sessions", "create-session", "Begin a chat", s.createSession, status(http.StatusCreated))
	route(s, http.MethodGet, "/api/sessions/{id}", "get-session", "One chat", s.getSession)
	route(s, http.MethodPatch, "/api/sessions/{id}", "patch-session", "Change a chat's title or mode", s.patchSession)
	route(s, http.MethodDelete, "/api/sessions/{id}", "delete-session", "Delete a chat and all that belongs to it", s.deleteSession, status(http.StatusNoContent))
	route(s, http.MethodPost, "/api/sessions/{id}/fork", "fork-session", "Copy a chat, up to a turn", s.forkSession, status(http.StatusCreated))
	route(s, http.MethodGet, "/api/sessions/{id}/export", "export-session", "A chat with its turns and its log", s.exportSession)

	route(s, http.MethodGet, "/api/sessions/{id}/turns", "list-turns", "The turns of a chat, oldest first", s.listTurns)
	route(s, http.MethodPost, "/api/sessions/{id}/turns", "submit-turn", "Send a prompt, or continue a turn", s.submitTurn, status(http.StatusAccepted))
	route(s, http.MethodGet, "/api/sessions/{id}/queue", "list-queue", "The prompts that wait", s.listQueue)
	route(s, http.MethodPatch, "/api/sessions/{id}/queue/{turn}", "edit-queued", "Change a prompt that waits", s.editQueued)
	route(s, http.MethodDelete, "/api/sessions/{id}/queue/{turn}", "drop-queued", "Take a prompt out of the queue", s.dropQueued, status(http.StatusNoContent))
	route(s, http.MethodPost, "/api/sessions/{id}/stop", "stop-session", "Stop the turn that is under way", s.stopSession, status(http.StatusAccepted))
	route(s, http.MethodGet, "/api/sessions/{id}/calls/{call}", "get-call", "One call, whole", s.getCall)

	route(s, http.MethodGet, "/api/sessions/{id}/events", "session-events", "The log of a chat, as it grows", s.sessionEvents, streams)
	route(s, http.MethodGet, "/api/events", "all-events", "The logs of all chats, as they grow", s.allEvents, streams)
}

// route registers one route. Its handler's errors become problems, and the document says so.
func route[I, O any](s *Server, method, path, id, summary string, h func(context.Context, *I) (*O, error), more ...func(*huma.Operation)) {
	op := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary, DefaultStatus: http.StatusOK,
		Security:     []map[string][]string{{"token": {}}},
		MaxBodyBytes: guard.MaxBody + 1, // the guard has read it already
		// huma's own deadline would stand while the handler runs, and end the request's context.
		BodyReadTimeout: -1,
		Responses:       map[string]*huma.Response{},
	}
	for _, f := range more {
		f(&op)
	}
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problem](), true, "Problem")
	op.Responses["default"] = &huma.Response{
		Description: "What went wrong",
		Content:     map[string]*huma.MediaType{problemType: {Schema: schema}},
	}
	if op.Responses[strconv.Itoa(op.DefaultStatus)] == nil {
		op.Responses[strconv.Itoa(op.DefaultStatus)] = &huma.Response{Description: http.StatusText(op.DefaultStatus)}
	}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := h(ctx, in)
		if err != nil {
			return nil, problemOf(ctx, s.c.Log, method, path, err)
		}
		return out, nil
	})
}

// status sets the status of a route's success.
func status(code int) func(*huma.Operation) {
	return func(o *huma.Operation) { o.DefaultStatus = code }
}

// public says in the document that a route needs no token. The guard decides by itself: see isPublic.
func public(o *huma.Operation) { o.Security = []map[string][]string{} }

// streams says in the document that a route answers with server-sent events.
func streams(o *huma.Operation) {
	o.Responses["200"] = &huma.Response{
		Description: "Server-sent events: the log from the cursor on, then a frame `ready`, then events as they happen. Only logged events carry an id.",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
}

// A caller tells where a request comes from, for the record. It proves nothing: the token does.
type caller struct{ name string }

// Resolve reads it off the request's head.
func (c *caller) Resolve(ctx huma.Context) []error {
	c.name = callerOf(ctx.Header("Sec-Fetch-Mode"), ctx.Header("User-Agent"))
	return nil
}

// body is an answer that is nothing but its body.
type body[T any] struct{ Body T }

func bodyOf[T any](v T, err error) (*body[T], error) {
	if err != nil {
		return nil, err
	}
	return &body[T]{v}, nil
}

// nothing is an answer without a body.
type nothing struct{}

func nothingBut(err error) (*nothing, error) {
	if err != nil {
		return nil, err
	}
	return &nothing{}, nil
}

// ofSession names the chat that a route is about.
type ofSession struct {
	ID jackline.SessionID `path:"id" doc:"the chat"`
}

// none is a request without anything in it, and emptyIn one that may have an empty body.
type none struct{}

type emptyIn struct {
	Body *struct{} `doc:"may be left out"`
}
