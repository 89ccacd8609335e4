package server

import (
	"context"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/guard"
)

// routes gives a router all routes of the API. The handlers stand in the files named for what they are about.
func (s *Server) routes(r *router) {
	route(r, http.MethodGet, pathHealth, "health", "Whether the server is up", s.health, public)
	route(r, http.MethodPost, pathLogin, "login", "Trade a one-time code for the token", s.login, public)
	route(r, http.MethodPost, "/api/login/codes", "new-code", "A one-time code for a page that is to log in", s.newCode, status(http.StatusCreated))
	route(r, http.MethodGet, "/api/status", "status", "The server and its model", s.status)
	route(r, http.MethodPost, "/api/stop", "stop-all", "Throw or lift the kill switch", s.stopAll)
	route(r, http.MethodGet, "/api/tools", "list-tools", "The tools", s.listTools)
	route(r, http.MethodPost, "/api/tools/run", "run-tool", "Run a tool by hand, through the gate", s.runTool)
	route(r, http.MethodGet, "/api/tools/approvals", "list-approvals", "The questions to people", s.listApprovals)
	route(r, http.MethodGet, "/api/tools/approvals/{id}", "get-approval", "One question", s.getApproval)
	route(r, http.MethodPost, "/api/tools/approvals/{id}", "answer-approval", "Answer a question; the first answer wins", s.answerApproval)
	route(r, http.MethodPost, "/api/tools/approvals", "answer-approvals", "Answer several questions, each by itself", s.answerApprovals)
	route(r, http.MethodPost, "/api/tools/approvals/{id}/extend", "extend-approval", "Let a question wait longer", s.extendApproval)
	route(r, http.MethodGet, "/api/permissions", "get-permissions", "What is allowed", s.getPermissions)
	route(r, http.MethodPost, "/api/permissions", "set-permissions", "Change what is allowed, or revoke a grant", s.setPermissions)
	route(r, http.MethodPost, "/api/permissions/test", "test-permissions", "Say what would happen, without running anything", s.testPermissions)
	route(r, http.MethodGet, "/api/agent", "get-agent", "The settings of the loop", s.getAgent)
	route(r, http.MethodPost, "/api/agent", "set-agent", "Change the settings of the loop", s.setAgent)
	route(r, http.MethodGet, "/api/workspace", "list-trusted", "The default folder, and those whose instructions are followed", s.listTrusted)
	route(r, http.MethodGet, "/api/workspace/browse", "browse", "The folders in a folder of the server", s.browse)
	route(r, http.MethodPost, "/api/workspace/vet", "vet", "Whether a folder can be a workspace, and what is in it", s.vet)
	route(r, http.MethodPost, "/api/workspace/trust", "trust", "Follow a folder's instructions, or no longer", s.trust)
	route(r, http.MethodGet, "/api/sessions", "list-sessions", "The chats, the newest first", s.listSessions)
	route(r, http.MethodPost, "/api/sessions", "create-session", "Begin a chat", s.createSession, status(http.StatusCreated))
	route(r, http.MethodGet, "/api/sessions/{id}", "get-session", "One chat", s.getSession)
	route(r, http.MethodPatch, "/api/sessions/{id}", "patch-session", "Change a chat's title, mode or model", s.patchSession)
	routeOf(r, http.MethodDelete, "/api/sessions/{id}", "delete-session", "Delete a chat and all that belongs to it", s.deleteSession, status(http.StatusNoContent))
	route(r, http.MethodPost, "/api/sessions/{id}/fork", "fork-session", "Copy a chat, up to a turn", s.forkSession, status(http.StatusCreated))
	route(r, http.MethodGet, "/api/sessions/{id}/export", "export-session", "A chat with its turns and its log", s.exportSession)
	route(r, http.MethodGet, pathAttachments, "list-attachments", "The files of a chat, the oldest first", s.listAttachments)
	route(r, http.MethodPost, pathAttachments, "attach", "Give a chat a file, to go with a prompt", s.attach, status(http.StatusCreated), uploads)
	routeOf(r, http.MethodGet, pathAttachments+"/{attachment}", "get-attachment", "A file of a chat, as it came, to be saved", s.getAttachment, downloads)
	routeOf(r, http.MethodDelete, pathAttachments+"/{attachment}", "detach", "Remove a file from a chat", s.detach, status(http.StatusNoContent))
	route(r, http.MethodPost, "/api/turns", "begin", "Begin a chat with a prompt", s.begin, status(http.StatusAccepted))
	route(r, http.MethodGet, "/api/sessions/{id}/turns", "list-turns", "The turns of a chat, oldest first", s.listTurns)
	route(r, http.MethodPost, "/api/sessions/{id}/turns", "submit-turn", "Send a prompt, or continue a turn", s.submitTurn, status(http.StatusAccepted))
	route(r, http.MethodGet, "/api/sessions/{id}/queue", "list-queue", "The prompts that wait", s.listQueue)
	route(r, http.MethodPatch, "/api/sessions/{id}/queue/{turn}", "edit-queued", "Change a prompt that waits", s.editQueued)
	routeOf(r, http.MethodDelete, "/api/sessions/{id}/queue/{turn}", "drop-queued", "Take a prompt out of the queue", s.dropQueued, status(http.StatusNoContent))
	route(r, http.MethodPost, "/api/sessions/{id}/stop", "stop-session", "Stop the turn that is under way", s.stopSession, status(http.StatusAccepted))
	route(r, http.MethodGet, "/api/sessions/{id}/calls/{call}", "get-call", "One call, whole", s.getCall)
	route(r, http.MethodGet, "/api/sessions/{id}/changes", "list-changes", "What a turn did to files", s.listChanges)
	route(r, http.MethodPost, "/api/sessions/{id}/undo", "undo", "Take back what a turn did to files", s.undoTurn)
	route(r, http.MethodGet, "/api/changes/{turn}", "find-changes", "In which chat a turn or an undo changed files", s.findChanges)
	routeOf(r, http.MethodGet, "/api/sessions/{id}/events", "session-events", "The log of a chat, as it grows", s.sessionEvents, streams)
	s.modelRoutes(r)
	s.doctorRoutes(r)
	s.auditRoutes(r)
	routeOf(r, http.MethodGet, "/api/events", "all-events", "The logs of all chats, as they grow", s.allEvents, streams)
}

// groupOf names the group of routes that a path belongs to: its first part behind /api, and of what belongs to a chat also the
// part behind the chat's.
func groupOf(path string) string {
	parts := strings.Split(strings.TrimPrefix(strings.TrimPrefix(path, "/"), "api/"), "/")
	if parts[0] == "sessions" && len(parts) > 2 {
		return parts[0] + "/" + parts[2]
	}
	return parts[0]
}

// A router takes routes. That of the server takes those of one group, and makes each of them when its first request comes: to
// make all takes longer than all else that a command which runs by itself does before it asks its model. That of the document
// takes all, with what only the document says.
type router struct {
	s     *Server
	group string
	mux   *http.ServeMux
	taken int      // routes
	doc   huma.API // nil in the server's
}

// groups are the routes that are known so far.
type groups struct {
	mu   sync.Mutex
	made map[string]*http.ServeMux
}

// group gives the routes of a group, or nil where there are none.
func (s *Server) group(name string) *http.ServeMux {
	s.groups.mu.Lock()
	defer s.groups.mu.Unlock()
	if mux := s.groups.made[name]; mux != nil {
		return mux
	}
	r := router{s: s, group: name, mux: http.NewServeMux()}
	s.routes(&r)
	if r.taken == 0 { // the names of groups that are none must not fill the memory
		return nil
	}
	r.mux.HandleFunc("/", s.fallback)
	if s.groups.made == nil {
		s.groups.made = map[string]*http.ServeMux{}
	}
	s.groups.made[name] = r.mux
	return r.mux
}

// api is an empty one, whose routes go to mux.
func (s *Server) api(mux *http.ServeMux) huma.API {
	api := humago.New(mux, s.humaConfig())
	api.OpenAPI().Components.Schemas.RegisterTypeAlias(reflect.TypeFor[jackline.Effect](), reflect.TypeFor[[]string]())
	return api
}

// serve answers a request that the guard let in.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == pathOpenAPI && r.Method == http.MethodGet:
		s.serveSpec(w, r)
	case r.URL.Path == pathMap && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		s.serveMap(w, r)
	case s.plain(w, r):
	default:
		if mux := s.group(groupOf(r.URL.Path)); mux != nil && !isPage(r) {
			mux.ServeHTTP(w, r)
			return
		}
		s.fallback(w, r)
	}
}

// route registers one route whose answer is a body. Its handler's errors become problems, and the document says so.
//
// The type of the answer is of use to the document only, and would cost as much as all the rest: of huma's own code, which is
// compiled for each pair of types, there is one for each type that comes in.
func route[I, T any](r *router, method, path, id, summary string, h func(context.Context, *I) (*body[T], error), more ...func(*huma.Operation)) {
	if r.doc != nil {
		more = append(more, func(o *huma.Operation) {
			schema := r.doc.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, o.OperationID+"Response")
			o.Responses[strconv.Itoa(o.DefaultStatus)] = &huma.Response{Content: map[string]*huma.MediaType{"application/json": {Schema: schema}}}
		})
	}
	routeOf(r, method, path, id, summary, func(ctx context.Context, in *I) (*body[any], error) {
		out, err := h(ctx, in)
		if err != nil {
			return nil, err
		}
		return &body[any]{out.Body}, nil
	}, more...)
}

// routeOf registers one route whose answer is anything that huma can send.
func routeOf[I, O any](r *router, method, path, id, summary string, h func(context.Context, *I) (*O, error), more ...func(*huma.Operation)) {
	if r.doc == nil && groupOf(path) != r.group {
		return
	}
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
	register := func(api huma.API) {
		huma.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
			out, err := h(ctx, in)
			if err != nil {
				return nil, problemOf(ctx, r.s.c.Log, method, path, err)
			}
			return out, nil
		})
		if op.Metadata[mayBeEmpty] != nil {
			api.OpenAPI().Paths[path].Post.RequestBody.Required = false
		}
	}
	if r.doc != nil {
		schema := r.doc.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problem](), true, "Problem")
		op.Responses["default"] = &huma.Response{
			Description: "What went wrong",
			Content:     map[string]*huma.MediaType{problemType: {Schema: schema}},
		}
		if op.Responses[strconv.Itoa(op.DefaultStatus)] == nil {
			op.Responses[strconv.Itoa(op.DefaultStatus)] = &huma.Response{Description: http.StatusText(op.DefaultStatus)}
		}
		register(r.doc)
		return
	}
	made := sync.OnceValue(func() http.Handler {
		mux := http.NewServeMux()
		register(r.s.api(mux))
		return mux
	})
	r.taken++
	r.mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, q *http.Request) { made().ServeHTTP(w, q) })
}

// mayBeEmpty marks a route whose body may be empty.
const mayBeEmpty = "may be empty"

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
