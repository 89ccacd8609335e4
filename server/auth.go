package server

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackline-ai/jackline"
)

// The limits of what comes in.
const (
	// maxBody bounds a request's body: the arguments of a call that writes a file of a size that people edit by hand.
	maxBody = 1 << 20
	// bodyTime is how long a body may take to arrive.
	bodyTime = 30 * time.Second

	// codeTime is how long a login code works, and maxCodes how many may be open at once: a code is for the person
	// who reads it off a terminal now.
	codeTime = 10 * time.Minute
	maxCodes = 16

	// maxFailures bounds wrong tokens, and wrong codes, a minute. Both are too long to be guessed; this keeps a
	// program that tries from filling the log.
	maxFailures = 20
)

const (
	tooLargeText  = "The body is larger than 1 MiB."
	mediaTypeText = "Bodies must be application/json."
)

// pagePolicy is what the page may do: load its own scripts, styles and pictures, and call its own server.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; font-src 'self'; connect-src 'self'; " +
	"manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// apiPolicy is what an answer of the API may do if a browser shows it: nothing.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// A guard stands before every route. It refuses what no client of ours sends, before anything is read or looked up.
type guard struct {
	token    [sha256.Size]byte
	hosts    []string
	failures *limiter
	log      *slog.Logger
	next     http.Handler
}

// ServeHTTP lets through what may pass.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	track := &tracker{ResponseWriter: w}
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if err, ok := v.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(v) // a way to drop the connection, not a fault
		}
		p := problemOf(r.Context(), g.log, r.Method, r.URL.Path, fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
		if !track.wrote {
			p.write(w)
		}
	}()
	headers(w.Header(), isPage(r))
	if p := g.refuse(r); p != nil {
		p.write(track)
		return
	}
	if p := readBody(track, r); p != nil {
		p.write(track)
		return
	}
	g.next.ServeHTTP(track, r)
}

// headers are on every answer.
func headers(h http.Header, page bool) {
	h.Set("Content-Security-Policy", apiPolicy)
	if page {
		h.Set("Content-Security-Policy", pagePolicy)
	}
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	h.Set("Cache-Control", "no-store")
}

// isPage reports whether a request asks for a file of the page, by its path alone.
func isPage(r *http.Request) bool {
	p := r.URL.Path
	return p != "/api" && !strings.HasPrefix(p, "/api/") && p != pathHealth && p != pathOpenAPI
}

// isPublic reports whether a request needs no token: the page must load before it can log in.
func isPublic(r *http.Request) bool {
	get := r.Method == http.MethodGet || r.Method == http.MethodHead
	return get && (r.URL.Path == pathHealth || isPage(r)) || r.Method == http.MethodPost && r.URL.Path == pathLogin
}

// refuse says why a request may not pass, or nil.
func (g *guard) refuse(r *http.Request) *problem {
	if !slices.Contains(g.hosts, r.Host) {
		return newProblem(http.StatusForbidden, jackline.Forbidden.String(),
			"This server does not answer to that host name. Its names are listed under server.hosts.")
	}
	if p := crossSite(r); p != nil {
		return p
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete:
	default:
		// OPTIONS above all: there is no cross-origin access to ask for.
		return newProblem(http.StatusMethodNotAllowed, titleMethod, "This method is not used here.")
	}
	if isPublic(r) {
		return nil
	}
	got, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(got))
	if ok && len(r.Header.Values("Authorization")) == 1 && subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 {
		return nil
	}
	if !g.failures.allow() {
		return newProblem(http.StatusTooManyRequests, titleTooMany, "Too many requests without the right token; wait a minute.")
	}
	return newProblem(http.StatusUnauthorized, titleUnauthorized, "A token is needed: `jackline web` opens the page with one.")
}

// crossSite refuses what another site's page made a browser send.
func crossSite(r *http.Request) *problem {
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		ours := len(origins) == 1 && (origins[0] == "http://"+r.Host || origins[0] == "https://"+r.Host && !isLoopback(r.Host))
		if !ours {
			return newProblem(http.StatusForbidden, jackline.Forbidden.String(), "This request comes from another site.")
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return nil
	}
	// A person may follow a link to the page. It is the same for everyone and knows nothing until it logs in.
	if r.Method == http.MethodGet && isPage(r) && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return nil
	}
	return newProblem(http.StatusForbidden, jackline.Forbidden.String(), "This request comes from another site.")
}

// isLoopback reports whether a host, with or without port, is this machine by name or number.
func isLoopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// readBody takes the whole body in, so that nothing behind it waits for a slow client, and refuses what is no JSON.
//
// The deadline is lifted again: left standing it would end the request's context while a long call runs.
func readBody(w http.ResponseWriter, r *http.Request) *problem {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	if r.ContentLength > maxBody {
		return newProblem(http.StatusRequestEntityTooLarge, titleTooLarge, tooLargeText)
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	if err != nil || kind != "application/json" || charset != "" && charset != "utf-8" || r.Header.Get("Content-Encoding") != "" {
		return newProblem(http.StatusUnsupportedMediaType, titleMediaType, mediaTypeText)
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // a test's recorder has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	_ = control.SetReadDeadline(time.Time{})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return newProblem(http.StatusRequestEntityTooLarge, titleTooLarge, tooLargeText)
	case err != nil:
		return newProblem(http.StatusBadRequest, jackline.Invalid.String(), "The body did not arrive whole.")
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
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

// A limiter lets a number of things through each minute.
type limiter struct {
	mu    sync.Mutex
	most  int
	count int
	since time.Time
}

func (l *limiter) allow() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.since) >= time.Minute {
		l.since, l.count = now, 0
	}
	l.count++
	return l.count <= l.most
}

// Codes are the one-time codes with which a page logs in. A code stands in the fragment of an address, which no
// browser sends anywhere; the page trades it for the token.
type codes struct {
	mu   sync.Mutex
	open map[[sha256.Size]byte]time.Time // digest → until when it works
}

// make opens a code. When too many are open the oldest is closed.
func (c *codes) make() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails
	code := hex.EncodeToString(b[:])
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	var oldest [sha256.Size]byte
	for sum, until := range c.open {
		if !now.Before(until) {
			delete(c.open, sum)
		} else if first, ok := c.open[oldest]; !ok || until.Before(first) {
			oldest = sum
		}
	}
	if len(c.open) >= maxCodes {
		delete(c.open, oldest)
	}
	c.open[sha256.Sum256([]byte(code))] = now.Add(codeTime)
	return code
}

// use closes a code and reports whether it was open.
func (c *codes) use(code string) bool {
	sum := sha256.Sum256([]byte(code))
	c.mu.Lock()
	defer c.mu.Unlock()
	until, ok := c.open[sum]
	delete(c.open, sum)
	return ok && time.Now().Before(until)
}
