package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/guard"
)

// A routeOf is one route, as the API's own document lists it: a new one cannot be missed.
type routeOf struct {
	method, path string
	public       bool // without a token
	body         bool // takes one
	file         bool // the body is a file
	page         bool // belongs to the page, by its address
}

// outsideHuma are the routes that are served by name, beside those of the document.
var outsideHuma = []routeOf{
	{method: "GET", path: "/openapi.json"},
	{method: "GET", path: "/llms.txt", public: true, page: true},
}

func allRoutes(w *world) []routeOf {
	w.T.Helper()
	doc := do[struct {
		Paths map[string]map[string]struct {
			Security    *[]any
			RequestBody *struct{ Content map[string]any } `json:"requestBody"`
		}
	}](w, 200, "GET", "/openapi.json", nil)
	var list []routeOf
	for path, methods := range doc.Paths {
		for m, op := range methods {
			r := routeOf{method: strings.ToUpper(m), path: path, public: op.Security != nil && len(*op.Security) == 0, body: op.RequestBody != nil}
			if r.body {
				_, r.file = op.RequestBody.Content[guard.UploadType]
			}
			list = append(list, r)
		}
	}
	if len(list) < 30 {
		w.T.Fatalf("only %d routes", len(list))
	}
	slices.SortFunc(list, func(a, b routeOf) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return append(list, outsideHuma...)
}

// TestBodies gives each route bodies that it does not take.
func TestBodies(t *testing.T) {
	w := newWorld(t)
	for _, r := range allRoutes(w) {
		if r.page || r.file {
			continue // for files see TestUploads
		}
		path := strings.NewReplacer("{id}", "x_1", "{turn}", "t_1", "{call}", "c_1").Replace(r.path)
		if strings.HasSuffix(path, "/events") {
			path += "?after=999999999" // 410: it does not stream
		}
		try := func(body string) int {
			res := w.send(r.method, path, body)
			defer res.Body.Close()
			b, _ := io.ReadAll(res.Body)
			var p problem
			if res.StatusCode >= 400 && (json.Unmarshal(b, &p) != nil || p.Status != res.StatusCode || p.Detail == "") {
				t.Errorf("%s %s: no proper problem: %s", r.method, path, b)
			}
			return res.StatusCode
		}
		if got := try(`{"nobody":"knows"}`); r.body && got != 422 && got != 400 && r.path != "/api/permissions/test" {
			t.Errorf("%s %s with an unknown field: %d", r.method, r.path, got)
		}
		if got := try(`"` + strings.Repeat("x", 1<<20) + `"`); got != 413 {
			t.Errorf("%s %s with a large body: %d", r.method, r.path, got)
		}
		if r.body && r.method != "GET" {
			if got := try(`{"`); got != 400 && r.path != "/api/login" {
				t.Errorf("%s %s with half a body: %d", r.method, r.path, got)
			}
		}
	}
}

func TestPage(t *testing.T) {
	w := newWorld(t)
	type answer struct {
		StatusCode int
		Status     string
		Header     http.Header
	}
	get := func(path string, header ...string) (answer, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", w.http.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		res, err := w.http.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, _ := io.ReadAll(res.Body)
		return answer{res.StatusCode, res.Status, res.Header}, string(b)
	}
	res, body := get("/")
	if res.StatusCode != 200 || !strings.Contains(body, "<title>page") || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") {
		t.Errorf("%s %q", res.Status, body)
	}
	csp := res.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("policy %q lacks %s", csp, want)
		}
	}
	if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") {
		t.Errorf("policy %q", csp)
	}
	if res.Header.Get("Cache-Control") != "no-store" {
		t.Error("the page is kept")
	}
	if res, _ := get("/assets/app-1.js"); res.StatusCode != 200 || !strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
		t.Errorf("%s %v", res.Status, res.Header)
	}
	for _, path := range []string{"/none", "/assets", "/assets/", "/.hidden", "/assets/none.js", "/%2e%2e/secret", "/..%2fsecret", "/index.html/x"} {
		res, body := get(path)
		if res.StatusCode != 404 {
			t.Errorf("%s: %s %s", path, res.Status, body)
		}
		if res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s is kept", path)
		}
	}
	// A link to the page may be followed, but nothing else may be fetched from another site.
	if res, _ := get("/", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); res.StatusCode != 200 {
		t.Error("a link to the page:", res.Status)
	}
	if res, _ := get("/", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "document"); res.StatusCode != 403 {
		t.Error("what only calls itself a document is shown it")
	}
	if res, _ := get("/", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "iframe"); res.StatusCode != 403 {
		t.Error("the page in a frame:", res.Status)
	}
	if res, _ := get("/assets/app-1.js", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "script"); res.StatusCode != 403 {
		t.Error("a script of the page elsewhere:", res.Status)
	}
	if res, _ := get("/api/status", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"); res.StatusCode != 403 {
		t.Error("a link to the API:", res.Status)
	}
	if p := w.refused(405, "POST", "/", map[string]any{}); p.Title != "method" {
		t.Error(p)
	}
	w.refused(404, "GET", "/api/none", nil)
	w.refused(404, "POST", "/api", map[string]any{})
}

func TestLogin(t *testing.T) {
	w := newWorld(t)
	code := w.server.NewCode()
	if got := do[map[string]string](w, 200, "POST", "/api/login", map[string]any{"code": code}); got["token"] != token {
		t.Error(got)
	}
	w.refused(401, "POST", "/api/login", map[string]any{"code": code})
	more := do[map[string]string](w, 201, "POST", "/api/login/codes", map[string]any{})["code"]
	do[map[string]string](w, 200, "POST", "/api/login", map[string]any{"code": more})
	w.refused(422, "POST", "/api/login", map[string]any{})
	for range 20 {
		res := w.send("POST", "/api/login", map[string]any{"code": "wrong"})
		res.Body.Close()
	}
	if p := w.refused(429, "POST", "/api/login", map[string]any{"code": w.server.NewCode()}); p.Title != "too-many" {
		t.Error(p)
	}
}

// Who holds the token can say so without the other side sending it.
func TestProof(t *testing.T) {
	w := newWorld(t)
	plain := do[map[string]string](w, 200, "GET", "/healthz", nil)
	if _, ok := plain["proof"]; ok || plain["status"] != "ok" {
		t.Error(plain)
	}
	proof := func(nonce string) string {
		return do[map[string]string](w, 200, "GET", "/healthz?nonce="+url.QueryEscape(nonce), nil, "Authorization", "")["proof"]
	}
	for _, nonce := range []string{"x", "a b&c=ü", strings.Repeat("n", 128)} {
		m := hmac.New(sha256.New, []byte(token))
		m.Write([]byte("jackline healthz " + nonce))
		if got := proof(nonce); got != hex.EncodeToString(m.Sum(nil)) {
			t.Errorf("%q: %q", nonce, got)
		}
	}
	if guard.Proof("another token", "x") == proof("x") || proof("y") == proof("x") {
		t.Error("the proof proves nothing")
	}
	w.refused(422, "GET", "/healthz?nonce="+strings.Repeat("n", 129), nil)
}

// Wrong tokens are bounded, and do not keep the right one out.
func TestWrongTokens(t *testing.T) {
	w := newWorld(t)
	last := 0
	for range 30 {
		res := w.send("GET", "/api/status", nil, "Authorization", "Bearer wrong")
		res.Body.Close()
		last = res.StatusCode
	}
	if last != 429 {
		t.Error(last)
	}
	do[any](w, 200, "GET", "/api/status", nil)
}

// TestOwners asks for everything by the names of another owner's things.
func TestOwners(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	s, err := w.DB.CreateSession(ctx, other, jackline.Session{Workspace: w.Folder})
	if err != nil {
		t.Fatal(err)
	}
	v := jackline.Turn{ID: "t_theirs", Prompt: "secret", Status: jackline.Queued}
	c := jackline.Call{ID: "c_theirs", Name: "put_text", Args: json.RawMessage(`{}`), State: jackline.CallNew}
	g := jackline.Grant{ID: "g_theirs", Session: s.ID, Scope: jackline.Chat}
	a := jackline.Approval{ID: "a_theirs", Kind: jackline.KindCall, Session: s.ID, Call: c.ID, State: jackline.Pending, Args: json.RawMessage(`{}`)}
	if _, err := w.DB.Append(ctx, other, jackline.Record{Session: s.ID, Turn: &v, Calls: []jackline.Call{c}, Grants: []jackline.Grant{g}, Approvals: []jackline.Approval{a}}); err != nil {
		t.Fatal(err)
	}
	f, err := w.DB.Attach(ctx, other, jackline.Attachment{Session: s.ID, Name: "secret.txt", Type: "text/plain"}, []byte("secret"), "secret")
	if err != nil {
		t.Fatal(err)
	}
	mine := w.Session()
	bodies := map[string]any{
		"PATCH /api/sessions/{id}":              map[string]any{"title": "x"},
		"POST /api/sessions/{id}/turns":         map[string]any{"prompt": "x"},
		"POST /api/sessions/{id}/fork":          map[string]any{},
		"POST /api/sessions/{id}/undo":          map[string]any{"turn": v.ID},
		"PATCH /api/sessions/{id}/queue/{turn}": map[string]any{"prompt": "x"},
		"POST /api/tools/approvals/{id}":        map[string]any{"approved": true},
	}
	tried := 0
	for _, r := range allRoutes(w) {
		if !strings.Contains(r.path, "{") {
			continue
		}
		id := string(s.ID)
		if strings.Contains(r.path, "approvals") {
			id = string(a.ID)
		}
		fill := func(session string) string {
			return strings.NewReplacer("{id}", session, "{turn}", string(v.ID), "{call}", string(c.ID), "{attachment}", string(f.ID), "{n}", "999").Replace(r.path)
		}
		tried++
		w.refused(404, r.method, fill(id), bodies[r.method+" "+r.path])
		if strings.Count(r.path, "{") == 2 { // their thing by way of my chat
			w.refused(404, r.method, fill(string(mine.ID)), bodies[r.method+" "+r.path])
		}
	}
	if tried < 15 {
		t.Errorf("only %d routes name something", tried)
	}
	w.refused(404, "GET", "/api/tools/approvals?session="+string(s.ID), nil)
	w.refused(404, "POST", "/api/permissions", map[string]any{"revoke": g.ID})
	w.refused(404, "POST", "/api/tools/run", map[string]any{"name": "say_back", "args": map[string]any{"text": "x"}, "session": s.ID})
	w.refused(404, "POST", "/api/tools/run", map[string]any{"name": "say_back", "args": map[string]any{"text": "x"}, "approved": true, "approval": a.ID})
	w.refused(404, "POST", "/api/sessions/"+string(mine.ID)+"/turns", map[string]any{"continue": v.ID})
	w.refused(404, "POST", "/api/sessions/"+string(mine.ID)+"/turns", map[string]any{"prompt": "x", "attachments": []any{f.ID}})
	w.refused(404, "POST", "/api/sessions/"+string(mine.ID)+"/fork", map[string]any{"turn": v.ID})
	if rows := do[[]jackline.Session](w, 200, "GET", "/api/sessions?search=secret", nil); len(rows) != 0 {
		t.Error("found", rows)
	}
	if rows := do[[]jackline.Session](w, 200, "GET", "/api/sessions", nil); len(rows) != 1 {
		t.Error("listed", rows)
	}
	if rows := do[[]jackline.Approval](w, 200, "GET", "/api/tools/approvals?state=all", nil); len(rows) != 0 {
		t.Error("listed", rows)
	}
	p := do[struct{ Grants []jackline.Grant }](w, 200, "GET", "/api/permissions", nil)
	if len(p.Grants) != 0 {
		t.Error("listed", p.Grants)
	}
	if still, err := w.DB.Session(ctx, other, s.ID); err != nil || still.Title != "" {
		t.Error("touched", still, err)
	}
}
