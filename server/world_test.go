package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"go.uber.org/goleak"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/engines"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/server"
	"github.com/jackline-ai/jackline/server/folders"
	"github.com/jackline-ai/jackline/server/guard"
	"github.com/jackline-ai/jackline/server/runs/runstest"
	"github.com/jackline-ai/jackline/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	token = "0123456789abcdef0123456789abcdef0123456789a"
	other = jackline.Owner("somebody else")
)

// writes is a prompt of the puppet that needs a person's permission.
const writes = `call put_text {"path":"a.txt","text":"x"}`

// A world is a server with all that is behind it.
type world struct {
	*runstest.World
	server *server.Server
	conf   server.Config // of server
	http   *httptest.Server
	env    map[string]string // of the engines
	engine string            // the address of the one that is found
}

// newWorld makes a server over a store of its own, and lets it listen.
func newWorld(t *testing.T, opts ...runstest.Option) *world {
	t.Helper()
	w := &world{World: runstest.New(t, filepath.Join(t.TempDir(), "data"), opts...)}
	w.http = httptest.NewUnstartedServer(nil)
	w.serve(guard.HostsOf(w.http.Listener.Addr())...)
	w.http.Config.Handler = w.server.Handler()
	w.http.Start()
	t.Cleanup(func() {
		w.server.Close()
		w.http.Close()
	})
	return w
}

// serve makes the server.
func (w *world) serve(hosts ...string) {
	w.T.Helper()
	set := settings.New(new(settings.Config), w.DB)
	known := engines.New(engines.Options{
		Store: w.DB, Env: func(k string) string { return w.env[k] },
		Default: func(ctx context.Context) (string, error) { return set.Text(ctx, jackline.Local, "model.name") },
		SetDefault: func(ctx context.Context, ref string) error {
			return set.Put(ctx, jackline.Local, map[string]json.RawMessage{"model.name": json.RawMessage(strconv.Quote(ref))})
		},
		Find: func(context.Context, detect.Options) []detect.Found {
			if w.engine == "" {
				return nil
			}
			f, _ := detect.Read(w.T.Context(), w.engine, "")
			return []detect.Found{f}
		},
	})
	w.T.Cleanup(known.Close)
	w.conf = server.Config{
		Models: known, Pulls: known, Probes: known, Doctor: func(context.Context) []jackline.Check {
			return []jackline.Check{{ID: "one", Title: "One", State: jackline.CheckWarn, Text: "Odd.", Fix: "Look."}}
		},
		Store: w.DB, Turns: w.Turns, Desk: w.Desk, Settings: w.Set, Gate: w.Gate,
		Model: func(context.Context) server.ModelStatus {
			return server.ModelStatus{Name: "puppet", Window: 8192, Mode: "text", Ready: true}
		},
		Undo: w.keeper,
		Vet: func(_ context.Context, f string) (string, error) {
			if strings.HasPrefix(f, "/bad") {
				return "", jackline.E("vet", jackline.Forbidden, nil, "Not there.")
			}
			if f == "" {
				return w.Folder, nil
			}
			return f, nil
		},
		Extract: func(_ context.Context, data []byte) (server.Extract, error) {
			if !utf8.Valid(data) {
				return server.Extract{}, jackline.E("extract", jackline.Unprocessed, nil, "It is no text.")
			}
			return server.Extract{Type: "text/plain", Text: string(data), Note: "All of it."}, nil
		},
		Folders:    folders.New(w.DB, w.DB, workspace.Options{State: []string{w.Dir}}),
		CheckRules: func(r []jackline.Rule) []error { return w.Policy().CheckRules(r) },
		Judge: func(_ context.Context, _ jackline.Owner, line json.RawMessage) (json.RawMessage, error) {
			var in struct{ ID string }
			if err := json.Unmarshal(line, &in); err != nil {
				return nil, jackline.E("judge", jackline.Unprocessed, err, "Not a line.")
			}
			return json.Marshal(map[string]string{"id": in.ID, "decision": "ask"})
		},
		Files: fstest.MapFS{
			"index.html":      {Data: []byte("<!doctype html><title>page</title>")},
			"assets/app-1.js": {Data: []byte("1")},
			"icon.svg":        {Data: []byte("<svg/>")},
			".hidden":         {Data: []byte("no")},
		},
		Token: token, Hosts: hosts, Version: "test", Log: slog.New(slog.NewTextHandler(w.Log, nil)),
	}
	w.server = w.another()
}

// another is one more server over the same things, whose guard has seen nothing yet.
func (w *world) another() *server.Server {
	w.T.Helper()
	s, err := server.New(w.conf)
	if err != nil {
		w.T.Fatal(err)
	}
	return s
}

// problem is an error answer.
type problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Decision string `json:"decision"`
	Rule     string `json:"rule"`
	Approval string `json:"approval"`
	By       string `json:"by"`
}

// send makes a request with the token.
func (w *world) send(method, path string, in any, header ...string) *http.Response {
	w.T.Helper()
	var r io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			w.T.Fatal(err)
		}
		r = bytes.NewReader(b)
		if raw, ok := in.(string); ok {
			r = strings.NewReader(raw)
		}
	}
	req, err := http.NewRequestWithContext(w.T.Context(), method, w.http.URL+path, r)
	if err != nil {
		w.T.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := w.http.Client().Do(req)
	if err != nil {
		w.T.Fatal(err)
	}
	return res
}

// do makes a request that must end with a status, and decodes the answer.
func do[T any](w *world, status int, method, path string, in any, header ...string) T {
	w.T.Helper()
	res := w.send(method, path, in, header...)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.T.Fatal(err)
	}
	if res.StatusCode != status {
		w.T.Fatalf("%s %s: %s, want %d: %s", method, path, res.Status, status, b)
	}
	var out T
	if len(b) > 0 {
		if err := json.Unmarshal(b, &out); err != nil {
			w.T.Fatalf("%s %s: %v: %s", method, path, err, b)
		}
	}
	return out
}

// refused makes a request that must end with a problem.
func (w *world) refused(status int, method, path string, in any, header ...string) problem {
	w.T.Helper()
	p := do[problem](w, status, method, path, in, header...)
	if p.Status != status || p.Type != "about:blank" || p.Title == "" || p.Detail == "" {
		w.T.Fatalf("%s %s: no proper problem: %+v", method, path, p)
	}
	return p
}
