package server_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/server/guard"
)

// The table of what may reach the API: host × origin × what a browser says of the site × token × body × method, for every
// route. What is to come out is said by three rules in [attempt.want], and not by the guard.

// A choice is one value of one column: what is done to the request, and whether a client of the server's own would do it.
type choice struct {
	name string
	good bool
	set  func(r *http.Request)
}

func header(key string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[key] = values }
}

func host(h string) func(*http.Request) { return func(r *http.Request) { r.Host = h } }

// own is the address of the server in the table.
const own = "127.0.0.1:7717"

var (
	hosts = []choice{
		{"own", true, host(own)},
		{"another own", true, host("localhost:7717")},
		{"no port", false, host("127.0.0.1")},
		{"another port", false, host("127.0.0.1:7718")},
		{"rebound", false, host("evil.example:7717")},
		{"begins like it", false, host(own + ".evil.example")},
		{"upper case", false, host("LOCALHOST:7717")},
		{"with a user", false, host("x@" + own)},
		{"with a dot", false, host("localhost.:7717")},
		{"none", false, host("")},
	}
	origins = []choice{
		{"none", true, func(*http.Request) {}},
		{"own", true, func(r *http.Request) { header("Origin", "http://"+r.Host)(r) }},
		{"own by https", false, func(r *http.Request) { header("Origin", "https://"+r.Host)(r) }},
		{"null", false, header("Origin", "null")},
		{"empty", false, header("Origin", "")},
		{"evil", false, header("Origin", "http://evil.example")},
		{"begins like it", false, func(r *http.Request) { header("Origin", "http://"+r.Host+".evil.example")(r) }},
		{"twice", false, func(r *http.Request) { header("Origin", "http://"+r.Host, "http://"+r.Host)(r) }},
	}
	sites = []choice{
		{"none", true, func(*http.Request) {}},
		{"same", true, header("Sec-Fetch-Site", "same-origin")},
		{"typed", true, header("Sec-Fetch-Site", "none")},
		{"cross", false, header("Sec-Fetch-Site", "cross-site")},
		{"same site", false, header("Sec-Fetch-Site", "same-site")},
		{"odd", false, header("Sec-Fetch-Site", "")},
		{"two", false, header("Sec-Fetch-Site", "same-origin", "cross-site")},
		{"followed", false, func(r *http.Request) {
			header("Sec-Fetch-Site", "cross-site")(r)
			header("Sec-Fetch-Mode", "navigate")(r)
			header("Sec-Fetch-Dest", "document")(r)
		}},
	}
	// tokens has places of START and PROOF filled in by the table: a login code, and what /healthz proves the token with.
	tokens = []choice{
		{"right", true, header("Authorization", "Bearer "+token)},
		{"none", false, func(*http.Request) {}},
		{"wrong", false, header("Authorization", "Bearer "+strings.Repeat("x", len(token)))},
		{"cut", false, header("Authorization", "Bearer "+token[:len(token)-1])},
		{"longer", false, header("Authorization", "Bearer "+token+"x")},
		{"bare", false, header("Authorization", token)},
		{"basic", false, header("Authorization", "Basic "+token)},
		{"twice", false, header("Authorization", "Bearer "+token, "Bearer "+token)},
		{"cookie", false, header("Cookie", "token="+token+"; Authorization=Bearer "+token)},
		{"query", false, func(r *http.Request) {
			r.URL.RawQuery = strings.TrimPrefix(r.URL.RawQuery+"&token="+token+"&access_token="+token+"&Authorization=Bearer%20"+token, "&")
		}},
		{"start code", false, header("Authorization", "Bearer START")},
		{"proof", false, header("Authorization", "Bearer PROOF")},
		{"another header", false, header("X-Api-Key", token)},
		{"proxy's header", false, header("Proxy-Authorization", "Bearer "+token)},
	}
	bodies = []choice{
		{"none", true, func(*http.Request) {}},
		{"json", true, body("application/json")},
		{"a form", false, body("application/x-www-form-urlencoded")},
		{"json in latin1", false, body("application/json; charset=latin1")},
		{"text", false, body("text/plain")},
		{"a form of files", false, body("multipart/form-data; boundary=x")},
		{"no type", false, body("")},
		{"packed", false, func(r *http.Request) { body("application/json")(r); header("Content-Encoding", "gzip")(r) }},
	}
)

// body gives a request a body that no route takes, so that what gets through does nothing.
func body(kind string) func(*http.Request) {
	return func(r *http.Request) {
		const text = `{"nobody":"knows"}`
		r.Body, r.ContentLength = http.NoBody, int64(len(text))
		r.Body = readCloser{strings.NewReader(text)}
		if kind != "" {
			header("Content-Type", kind)(r)
		}
	}
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

// An attempt is one cell of the table.
type attempt struct {
	route  routeOf
	method string
	chosen [5]choice // host, origin, site, token, body
}

func (a attempt) String() string {
	return fmt.Sprintf("%s %s, host %s, origin %s, site %s, token %s, body %s", a.method, a.route.path,
		a.chosen[0].name, a.chosen[1].name, a.chosen[2].name, a.chosen[3].name, a.chosen[4].name)
}

// want is what must come of it; 0 is that it reaches its route.
func (a attempt) want() int {
	site := a.chosen[2].good || a.chosen[2].name == "followed" && a.route.page && a.method == http.MethodGet // a link to the page
	switch foreign := !a.chosen[0].good || !a.chosen[1].good || !site; {
	case foreign:
		return http.StatusForbidden
	case a.method != a.route.method:
		return http.StatusMethodNotAllowed
	case !a.chosen[3].good && !a.route.public:
		return http.StatusUnauthorized
	case !a.chosen[4].good || a.chosen[4].name != "none" && a.route.file: // a file is not sent as JSON either
		return http.StatusUnsupportedMediaType
	}
	return 0
}

// A table tries attempts against what a maker makes, and keeps what went wrong.
type table struct {
	make     func() http.Handler
	start    string // a login code
	h        http.Handler
	failures int // of tokens, since h was made
	tried    int
	reached  map[string]int
	wrong    []string
}

// try makes one attempt.
func (b *table) try(a attempt) {
	if b.h == nil || b.failures == guard.MaxFailures { // one more would be a 429, which has a test of its own
		b.h, b.failures = b.make(), 0
	}
	target := strings.NewReplacer("{id}", "x_1", "{turn}", "t_1", "{call}", "c_1", "{attachment}", "at_1").Replace(a.route.path)
	if strings.HasSuffix(target, "/events") {
		target += "?after=999999999" // nothing is there: it answers and does not stream
	}
	r := httptest.NewRequest(a.method, target, nil)
	for _, c := range a.chosen {
		c.set(r)
	}
	if v := r.Header["Authorization"]; len(v) == 1 {
		r.Header.Set("Authorization", strings.NewReplacer("START", b.start, "PROOF", guard.Proof(token, "")).Replace(v[0]))
	}
	w := httptest.NewRecorder()
	b.h.ServeHTTP(w, r)
	b.tried++
	want, got := a.want(), w.Code
	if want == http.StatusUnauthorized {
		b.failures++
	}
	ok := got == want
	if want == 0 {
		ok = got < 500 && !slices.Contains([]int{401, 403, 405, 413, 415, 421, 429}, got)
		b.reached[a.route.method+" "+a.route.path]++
	}
	if !ok && len(b.wrong) < 20 {
		b.wrong = append(b.wrong, fmt.Sprintf("%s: %d, want %d: %.200s", a, got, want, w.Body))
	}
	if why := answerFlaw(w, a.route); why != "" && len(b.wrong) < 20 {
		b.wrong = append(b.wrong, fmt.Sprintf("%s: %s", a, why))
	}
}

// policies are the two policies for the content of answers, as they are to be.
const (
	apiOnly  = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
	pageOnly = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
		"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

// answerFlaw says what an answer lacks that every answer must have, or has that none may.
func answerFlaw(w *httptest.ResponseRecorder, route routeOf) string {
	h := w.Header()
	policy := apiOnly
	if route.page {
		policy = pageOnly
	}
	for _, need := range [][2]string{
		{"Content-Security-Policy", policy}, {"X-Content-Type-Options", "nosniff"}, {"Referrer-Policy", "no-referrer"},
		{"Cross-Origin-Opener-Policy", "same-origin"}, {"Cross-Origin-Resource-Policy", "same-origin"}, {"X-Frame-Options", "DENY"},
		{"Cache-Control", "no-store"},
	} {
		if v := h.Values(need[0]); len(v) != 1 || v[0] != need[1] {
			return fmt.Sprintf("header %s is %q", need[0], v)
		}
	}
	for k, v := range h {
		if strings.HasPrefix(k, "Access-Control-") || k == "Set-Cookie" || k == "Location" || k == "Server" || k == "X-Powered-By" {
			return fmt.Sprintf("header %s is %q", k, v)
		}
		if strings.Contains(strings.Join(v, " "), token) {
			return "the token stands in header " + k
		}
	}
	if strings.Contains(w.Body.String(), token) {
		return "the token stands in the answer"
	}
	if w.Code < 400 || w.Body.Len() == 0 {
		return ""
	}
	var p problem
	if h.Get("Content-Type") != "application/problem+json" || json.Unmarshal(w.Body.Bytes(), &p) != nil ||
		p.Status != w.Code || p.Detail == "" || p.Type != "about:blank" {
		return fmt.Sprintf("no proper problem: %.200s", w.Body)
	}
	return ""
}

// product tries a route with everything at once: the whole product of hosts, origins, sites and tokens without a body, and all
// bodies and other methods where at most one other thing is wrong. Of cells with more wrong it takes one of step.
func (b *table) product(route routeOf, step int) {
	n := 0
	for _, h := range hosts {
		for _, o := range origins {
			for _, s := range sites {
				for _, t := range tokens {
					wrong := 0
					for _, c := range []choice{h, o, s, t} {
						if !c.good {
							wrong++
						}
					}
					if n++; wrong > 1 && n%step != 0 {
						continue
					}
					b.try(attempt{route, route.method, [5]choice{h, o, s, t, bodies[0]}})
					if wrong > 1 || wrong == 0 && (h.name != "own" || s.name == "typed") {
						continue
					}
					for _, c := range bodies[1:] {
						b.try(attempt{route, route.method, [5]choice{h, o, s, t, c}})
					}
					for _, m := range []string{"OPTIONS", "TRACE", "BREW", "get", "HEAD"} {
						if route.public && m == "HEAD" {
							continue // for whoever may GET it
						}
						b.try(attempt{route, m, [5]choice{h, o, s, t, bodies[0]}})
					}
				}
			}
		}
	}
}

// tableOf is the table for a world's server, with whatever stands in front of it.
func tableOf(w *world, front func(http.Handler) http.Handler) *table {
	w.conf.Hosts = []string{own, "localhost:7717"}
	return &table{
		make:  func() http.Handler { return front(w.another().Handler()) },
		start: w.server.NewCode(), reached: map[string]int{},
	}
}

func asItIs(h http.Handler) http.Handler { return h }

// TestTable tries it against every route that there is. Of the cells with more than one thing wrong it tries every eleventh;
// JACKLINE_TABLE=all tries them all, which takes half a minute.
func TestTable(t *testing.T) {
	w := newWorld(t)
	routes := allRoutes(w)
	b := tableOf(w, asItIs)
	step := 11 // it divides no column, so that all values meet
	if os.Getenv("JACKLINE_TABLE") == "all" {
		step = 1
	}
	for _, r := range routes {
		b.product(r, step)
	}
	for _, wrong := range b.wrong {
		t.Error(wrong)
	}
	for _, r := range routes {
		if b.reached[r.method+" "+r.path] == 0 {
			t.Errorf("%s %s was never reached: the table tells nothing of it", r.method, r.path)
		}
	}
	if text := w.Log.String(); strings.Contains(text, token) || strings.Contains(text, b.start) {
		t.Error("the token, or a code, stands in the log")
	}
	t.Logf("%d requests to %d routes", b.tried, len(routes))
}

// TestTableNotices takes one protection away after the other, and the table must see it.
func TestTableNotices(t *testing.T) {
	w := newWorld(t)
	routes := allRoutes(w)
	set := func(change func(*http.Request)) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				change(r)
				next.ServeHTTP(w, r)
			})
		}
	}
	adding := func(key, value string) func(http.Handler) http.Handler {
		return func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				next.ServeHTTP(w, r)
				w.Header().Set(key, value)
			})
		}
	}
	for name, front := range map[string]func(http.Handler) http.Handler{
		"any host":   set(func(r *http.Request) { r.Host = own }),
		"any origin": set(func(r *http.Request) { r.Header.Del("Origin") }),
		"any site":   set(func(r *http.Request) { r.Header.Del("Sec-Fetch-Site") }),
		"any token":  set(func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }),
		"any type": set(func(r *http.Request) {
			r.Header.Set("Content-Type", "application/json")
			r.Header.Del("Content-Encoding")
		}),
		"any method": set(func(r *http.Request) { r.Method = "GET" }),
		"cookies": set(func(r *http.Request) {
			if r.Header.Get("Cookie") != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
		}),
		"query": set(func(r *http.Request) {
			if r.URL.Query().Get("token") != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
		}),
		"CORS":        adding("Access-Control-Allow-Origin", "*"),
		"no policy":   adding("Content-Security-Policy", ""),
		"may be kept": adding("Cache-Control", "max-age=1"),
	} {
		b := tableOf(w, front)
		for _, r := range routes {
			if r.path == "/api/status" || r.path == "/api/events" || r.path == "/api/sessions/{id}/turns" {
				b.product(r, 101)
			}
		}
		if len(b.wrong) == 0 {
			t.Errorf("%s: the table is content", name)
		}
	}
}

// TestTableIsWhole reads the source: whatever is given to a mux is in the table.
func TestTableIsWhole(t *testing.T) {
	w := newWorld(t)
	listed := map[string]bool{}
	for _, r := range allRoutes(w) {
		listed[r.method+" "+r.path] = true
	}
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	fset := gotoken.NewFileSet()
	consts := map[string]string{}
	var calls []*ast.CallExpr
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(fset, f.Name(), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if i < len(n.Values) {
						if lit, ok := n.Values[i].(*ast.BasicLit); ok && lit.Kind == gotoken.STRING {
							consts[name.Name], _ = strconv.Unquote(lit.Value)
						}
					}
				}
			case *ast.CallExpr:
				calls = append(calls, n)
			}
			return true
		})
	}
	var text func(e ast.Expr) string
	text = func(e ast.Expr) string {
		switch e := e.(type) {
		case *ast.BasicLit:
			s, _ := strconv.Unquote(e.Value)
			return s
		case *ast.Ident:
			return consts[e.Name]
		case *ast.SelectorExpr:
			return strings.ToUpper(strings.TrimPrefix(e.Sel.Name, "Method"))
		case *ast.BinaryExpr:
			return text(e.X) + text(e.Y)
		}
		return "?"
	}
	found, muxes := 0, 0
	for _, c := range calls {
		switch f := c.Fun.(type) {
		case *ast.Ident:
			if f.Name != "route" && f.Name != "routeOf" || len(c.Args) < 6 {
				continue
			}
			name := text(c.Args[1]) + " " + text(c.Args[2])
			if strings.Contains(name, "?") || name == " " {
				continue // routeOf within route
			}
			found++
			if !listed[name] {
				t.Errorf("%s: %s is not in the table", fset.Position(c.Pos()), name)
			}
		case *ast.SelectorExpr:
			if f.Sel.Name == "Handle" || f.Sel.Name == "HandleFunc" || f.Sel.Name == "Register" {
				muxes++ // routeOf's two, and the one for what no route takes
			}
		}
	}
	// Beside them the document and the map are served by name, see Server.serve.
	if extra := len(listed) - found; extra != len(outsideHuma) {
		t.Errorf("%d routes are registered and %d listed", found, len(listed))
	}
	if muxes != 3 {
		t.Errorf("%d places give something to a mux: what they serve must be in the document, or in this table", muxes)
	}
}
