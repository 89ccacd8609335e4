package server_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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
	public       bool
	body         bool
}

func allRoutes(w *world) []routeOf {
	w.T.Helper()
	doc := do[struct {
		Paths map[string]map[string]struct {
			Security    *[]any
			RequestBody *struct{} `json:"requestBody"`
		}
	}](w, 200, "GET", "/openapi.json", nil)
	var list []routeOf
	for path, methods := range doc.Paths {
		for m, op := range methods {
			list = append(list, routeOf{strings.ToUpper(m), path, op.Security != nil && len(*op.Security) == 0, op.RequestBody != nil})
		}
	}
	if len(list) < 30 {
		w.T.Fatalf("only %d routes", len(list))
	}
	slices.SortFunc(list, func(a, b routeOf) int { return strings.Compare(a.path+a.method, b.path+b.method) })
	return append(list, routeOf{"GET", "/openapi.json", false, false})
}

// TestGuard tries every route with every combination of what a browser, or whoever steers one, can send.
func TestGuard(t *testing.T) {
	w := newWorld(t)
	addr := w.http.Listener.Addr().String()
	port := addr[strings.LastIndexByte(addr, ':'):]
	type value struct {
		name, v string
		good    bool
	}
	hosts := []value{
		{"own", addr, true}, {"localhost", "localhost" + port, true}, {"no port", "127.0.0.1", false}, {"other port", "127.0.0.1:1", false},
		{"rebound", "evil.example" + port, false}, {"prefix", addr + ".evil.example", false}, {"upper", "LOCALHOST" + port, false},
	}
	origins := []value{
		{"none", "", true}, {"own", "http://OWN", true}, {"https", "https://OWN", false}, {"other port", "http://127.0.0.1:1", false},
		{"null", "null", false}, {"evil", "https://evil.example", false}, {"prefix", "http://OWN.evil.example", false},
	}
	sites := []value{{"none", "", true}, {"same", "same-origin", true}, {"typed", "none", true}, {"cross", "cross-site", false}, {"same-site", "same-site", false}, {"odd", "odd", false}}
	tokens := []value{
		{"right", "Bearer " + token, true}, {"none", "", false}, {"wrong", "Bearer " + strings.Repeat("x", len(token)), false}, {"empty", "Bearer ", false},
		{"bare", token, false}, {"basic", "Basic " + token, false}, {"longer", "Bearer " + token + "x", false},
	}
	types := []value{{"json", "application/json", true}, {"charset", "application/json; charset=utf-8", true}, {"form", "text/plain", false}, {"none", "", false}, {"latin", "application/json; charset=latin1", false}, {"multipart", "multipart/form-data; boundary=x", false}}

	n := 0
	try := func(r routeOf, h, o, f, a, c value, body string) int {
		t.Helper()
		n++
		path := strings.NewReplacer("{id}", "x_1", "{turn}", "t_1", "{call}", "c_1").Replace(r.path)
		req, err := http.NewRequestWithContext(t.Context(), r.method, w.http.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = h.v
		set := func(k string, v value) {
			if v.v != "" {
				req.Header.Set(k, strings.ReplaceAll(v.v, "OWN", h.v))
			}
		}
		set("Origin", o)
		set("Sec-Fetch-Site", f)
		set("Authorization", a)
		if body != "" {
			set("Content-Type", c)
		}
		res, err := w.http.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if res.StatusCode >= 400 {
			var p problem
			b, _ := io.ReadAll(res.Body)
			if res.Header.Get("Content-Type") != "application/problem+json" || json.Unmarshal(b, &p) != nil || p.Status != res.StatusCode || p.Detail == "" || p.Type != "about:blank" {
				t.Errorf("%s %s: no proper problem: %s", r.method, path, b)
			}
		}
		for k, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
			"Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Access-Control-Allow-Origin": "",
		} {
			if res.Header.Get(k) != want {
				t.Errorf("%s %s: header %s: %q", r.method, path, k, res.Header.Get(k))
			}
		}
		return res.StatusCode
	}
	for _, r := range allRoutes(w) {
		if strings.HasSuffix(r.path, "/events") {
			r.path = strings.ReplaceAll(r.path, "/api/events", "/api/events?after=999999999") // 410: it does not stream
		}
		for _, h := range hosts {
			for _, o := range origins {
				for _, f := range sites {
					for _, a := range tokens {
						// Everything with one thing wrong, and the right one; not the whole product.
						wrong := 0
						for _, v := range []value{h, o, f, a} {
							if !v.good {
								wrong++
							}
						}
						if wrong > 1 {
							continue
						}
						got := try(r, h, o, f, a, types[0], "")
						want := "pass"
						switch {
						case !h.good || !o.good || !f.good:
							want = "403"
						case !a.good && !r.public:
							want = "401"
						}
						// Beyond the guard there is neither 401 nor 403 for these requests, except the login's own no.
						ok := fmt.Sprint(got) == want || want == "401" && got == 429 ||
							want == "pass" && got != 401 && got != 403 && got != 405 && got != 415 && got != 429
						if !ok {
							t.Errorf("%s %s, host %s, origin %s, site %s, token %s: %d, want %s", r.method, r.path, h.name, o.name, f.name, a.name, got, want)
						}
					}
				}
			}
		}
		if r.method == "POST" && strings.HasSuffix(r.path, "/attachments") {
			continue // its body is a file: see TestUploads
		}
		for _, c := range types {
			body := `{"nobody":"knows"}`
			got := try(r, hosts[0], origins[0], sites[0], tokens[0], c, body)
			if (got == 415) == c.good {
				t.Errorf("%s %s with a body of type %s: %d", r.method, r.path, c.name, got)
			}
			if c.good && r.body && got != 422 && got != 400 && r.path != "/api/permissions/test" {
				t.Errorf("%s %s with an unknown field: %d", r.method, r.path, got)
			}
		}
		if got := try(r, hosts[0], origins[0], sites[0], tokens[0], types[0], `"`+strings.Repeat("x", 1<<20)+`"`); got != 413 {
			t.Errorf("%s %s with a large body: %d", r.method, r.path, got)
		}
		if r.body && r.method != "GET" {
			if got := try(r, hosts[0], origins[0], sites[0], tokens[0], types[0], `{"`); got != 400 && r.path != "/api/login" {
				t.Errorf("%s %s with half a body: %d", r.method, r.path, got)
			}
		}
		odd := r
		for _, odd.method = range []string{"OPTIONS", "TRACE", "PUT", "BREW", "HEAD"} {
			if odd.method == "HEAD" { // no body to look at
				if res := w.send("HEAD", strings.NewReplacer("{", "", "}", "").Replace(r.path), nil); res.Body.Close() != nil || res.StatusCode != 405 && r.path != "/healthz" {
					t.Errorf("HEAD %s: %d", r.path, res.StatusCode)
				}
				continue
			}
			if odd.method == r.method {
				continue
			}
			if got := try(odd, hosts[0], origins[0], sites[0], tokens[0], types[0], ""); got != 405 {
				t.Errorf("%s %s: %d", odd.method, r.path, got)
			}
			if got := try(odd, hosts[0], value{v: "https://evil.example"}, sites[0], tokens[1], types[0], ""); got != 403 {
				t.Errorf("%s %s from another site: %d", odd.method, r.path, got)
			}
		}
	}
	t.Logf("%d requests", n)
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
