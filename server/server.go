package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/approval"
	"github.com/jackline-ai/jackline/redact"
	"github.com/jackline-ai/jackline/server/folders"
	"github.com/jackline-ai/jackline/server/guard"
	"github.com/jackline-ai/jackline/server/runs"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/tool"
)

// Settings are the owners' standing settings. Whoever reads the configuration has one.
type Settings interface {
	// Permissions and Agent are what is in force.
	Permissions(context.Context, jackline.Owner) (jackline.Permissions, error)
	Agent(context.Context, jackline.Owner) (jackline.AgentSettings, error)

	// Fixed lists the keys that a flag or the environment sets, as configuration paths: "permissions.mode",
	// "permissions.toggles.network", "tools.disabled", "agent.maxSteps".
	Fixed() []string

	// Put stores values under such keys, all or none. They are checked already, and none is fixed.
	Put(context.Context, jackline.Owner, map[string]json.RawMessage) error
}

// ModelStatus is what can be said of the model without asking it anything.
type ModelStatus struct {
	Name    string `json:"name"`
	Window  int    `json:"window" doc:"context size in tokens"`
	Assumed bool   `json:"assumed" doc:"the window is a guess"`
	Mode    string `json:"mode" doc:"how it makes calls: native, envelope or text"`
	Vision  bool   `json:"vision" doc:"it reads images"`
	BaseURL string `json:"base_url" doc:"where it is asked; without a key"`
	Ready   bool   `json:"ready"`
	Why     string `json:"why" doc:"why it is not ready, and what to do"`
}

// Config is what a server is made of. All fields but Files are needed.
type Config struct {
	Store    *store.DB
	Turns    *runs.Turns
	Desk     *approval.Desk
	Settings Settings

	// Gate is the one way to run a tool in a session's workspace.
	Gate func(jackline.Session) (*tool.Gate, error)
	// Model says how the model of new sessions is doing. It is quick: it asks no engine.
	Model func(context.Context) ModelStatus
	// Models, Pulls and Probes are the engines.
	Models Models
	Pulls  Pulls
	Probes Probes
	// Doctor looks at the program and at what it stands on.
	Doctor func(context.Context) []jackline.Check
	// Vet says whether a folder may be a workspace, and gives its absolute path. For "" that is the default workspace,
	// which it makes where there is none.
	Vet func(ctx context.Context, folder string) (string, error)
	// Extract makes text of a file that is no image. It decides by the bytes what the file is, and refuses in a sentence what
	// has no text to read: archives, programs, damaged and encrypted documents.
	Extract func(ctx context.Context, data []byte) (Extract, error)
	// Folders are the server's folders, for whoever is to choose one.
	Folders *folders.Folders
	// CheckRules says what is wrong with rules: their patterns, and the examples that they carry.
	CheckRules func([]jackline.Rule) []error
	// Judge answers one line of "jackline permissions test", a JSON object, without running anything.
	Judge func(context.Context, jackline.Owner, json.RawMessage) (json.RawMessage, error)

	Memory  int64    // of this machine, in bytes; 0 is unknown
	Files   fs.FS    // the page; nil serves none
	Token   string   // 256 bits, the bearer token
	Hosts   []string // the exact names, with port, under which the server may be called; see HostsOf
	Version string
	Sandbox string // what commands are confined by: "none"
	Log     *slog.Logger

	// Hider hides secrets in answers; nil knows no values, and hides what looks like one.
	Hider *redact.Redactor
}

// A Server answers HTTP. It starts no goroutine of its own, except in [Server.Serve].
type Server struct {
	c       Config
	owner   jackline.Owner // without login there is one
	groups  groups
	spec    func() ([]byte, error) // the OpenAPI document, written when somebody asks for it
	handler http.Handler
	codes   *guard.Codes
	logins  *guard.Limiter

	overview func() []byte // the map of the API for programs that read text, as well

	lasts    lasts
	settings sync.Mutex // one change of settings at a time
	approved sync.Map   // the approvals whose calls a person's requests are running: one at a time

	streams *group
}

const (
	pathHealth  = "/healthz"
	pathLogin   = "/api/login"
	pathOpenAPI = "/openapi.json"
	pathMap     = "/llms.txt"
)

// minToken is the length of a token below which something is wrong with whoever made it: 256 bits in base64.
const minToken = 43

// New makes a server.
func New(c Config) (*Server, error) {
	const op = "server.New"
	if len(c.Token) < minToken {
		return nil, jackline.E(op, jackline.Internal, errors.New("the token is shorter than 256 bits"), "The server has no proper token.")
	}
	if len(c.Hosts) == 0 {
		return nil, jackline.E(op, jackline.Internal, errors.New("no host names"), "The server does not know its own name.")
	}
	if c.Sandbox == "" {
		c.Sandbox = "none"
	}
	s := &Server{
		c: c, owner: jackline.Local, streams: newGroup(),
		codes: guard.NewCodes(), logins: guard.NewLimiter(guard.MaxFailures),
	}
	s.spec = sync.OnceValues(s.document)
	s.overview = sync.OnceValue(func() []byte { return overviewOf(s.everyRoute()) })
	s.handler = s.catch(guard.New(guard.Config{
		Token: c.Token, Hosts: c.Hosts, Page: isPage, Public: isPublic, Upload: mostUpload, Next: http.HandlerFunc(s.serve),
		Refuse: func(w http.ResponseWriter, why guard.Refusal) { newProblem(why.Status, why.Title, why.Detail).write(w) },
	}))
	return s, nil
}

// Handler is the whole server: guard, routes, page. A client in the same process may call it directly.
func (s *Server) Handler() http.Handler { return s.handler }

// NewCode makes a login code for a person at a terminal. It works once, for ten minutes.
func (s *Server) NewCode() string { return s.codes.New() }

// catch makes a panic in a handler the fault of its request alone.
func (s *Server) catch(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		track := &tracker{ResponseWriter: w}
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(v) // a way to drop the connection, not a fault
			}
			p := problemOf(r.Context(), s.c.Log, r.Method, r.URL.Path, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
			if !track.wrote {
				p.write(w)
			}
		}()
		next.ServeHTTP(track, r)
	})
}

// A tracker knows whether an answer has begun.
type tracker struct {
	http.ResponseWriter
	wrote bool
}

// WriteHeader notes that the answer has begun.
func (t *tracker) WriteHeader(status int) {
	t.wrote = true
	t.ResponseWriter.WriteHeader(status)
}

// Write notes that the answer has begun.
func (t *tracker) Write(b []byte) (int, error) {
	t.wrote = true
	return t.ResponseWriter.Write(b)
}

// Unwrap gives http.ResponseController what it needs.
func (t *tracker) Unwrap() http.ResponseWriter { return t.ResponseWriter }

// Listen opens the address to serve at. See [guard.Listen].
func Listen(address string, remote bool) (l net.Listener, note string, err error) {
	return guard.Listen(address, remote)
}

// HostsOf are the names under which a server at an address may be called, for [Config]. See [guard.HostsOf].
func HostsOf(a net.Addr, further ...string) []string { return guard.HostsOf(a, further...) }

// Limits of connections.
const (
	headerTime = 10 * time.Second // for a request's head to arrive
	idleTime   = 2 * time.Minute  // between requests
	maxHeader  = 64 << 10         // bytes of a request's head
	leaveTime  = 5 * time.Second  // for answers under way when the server ends
)

// Serve answers on l until ctx ends, then lets what is under way finish for a moment, and returns. It closes l. Turns
// go on: they are not the server's but [runs.Turns]'.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	h := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.c.Log.Handler(), slog.LevelWarn),
	}
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(l) }()
	select {
	case err := <-ended:
		s.Close()
		return jackline.E("server.Serve", jackline.Unavailable, err, "The server cannot go on listening; its log says why.")
	case <-ctx.Done():
	}
	s.streams.shut()
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	err := h.Shutdown(leave)
	if err != nil {
		err = h.Close()
	}
	if why := <-ended; !errors.Is(why, http.ErrServerClosed) {
		err = errors.Join(err, why)
	}
	s.Close()
	if err != nil {
		return jackline.E("server.Serve", jackline.Internal, err, "The server did not close cleanly.")
	}
	return nil
}

// Close ends all event streams and waits for them.
func (s *Server) Close() {
	s.streams.shut()
	s.streams.open.Wait()
}

// humaConfig is huma without what it adds by itself: schema links, documentation pages, other formats.
func (s *Server) humaConfig() huma.Config {
	c := huma.DefaultConfig("Jackline", s.c.Version)
	c.Info.Description = "The API of a Jackline server. Every request but the health check and the login carries the bearer token."
	c.CreateHooks = nil
	c.OpenAPIPath, c.DocsPath, c.SchemasPath = "", "", ""
	format := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: json.Unmarshal}
	c.Formats = map[string]huma.Format{"application/json": format, "json": format} // the second is for problem+json
	c.Transformers = []huma.Transformer{translate, hiding(s.c.Hider)}
	c.RejectUnknownQueryParameters = true
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"token": {Type: "http", Scheme: "bearer"}}
	return c
}

// serveSpec answers with the OpenAPI document.
func (s *Server) serveSpec(w http.ResponseWriter, r *http.Request) {
	spec, err := s.spec()
	if err != nil {
		problemOf(r.Context(), s.c.Log, r.Method, r.URL.Path, err).write(w)
		return
	}
	w.Header().Set("Content-Type", "application/openapi+json")
	_, _ = w.Write(spec)
}

// everyRoute describes all routes.
func (s *Server) everyRoute() *huma.OpenAPI {
	doc := s.api(http.NewServeMux())
	s.routes(&router{s: s, doc: doc})
	return doc.OpenAPI()
}

// document writes the OpenAPI document.
func (s *Server) document() ([]byte, error) {
	doc := s.everyRoute()
	// What huma would say about its own errors: ours are problems.
	delete(doc.Components.Schemas.Map(), "ErrorModel")
	delete(doc.Components.Schemas.Map(), "ErrorDetail")
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, jackline.E("server.document", jackline.Internal, err, "The API cannot describe itself.")
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return nil, jackline.E("server.document", jackline.Internal, err, "The API cannot describe itself.")
	}
	b.WriteByte('\n')
	return b.Bytes(), nil
}
