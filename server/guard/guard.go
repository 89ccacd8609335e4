// Package guard stands before a server's routes. It lets through what the server's own clients send, and refuses the
// rest before anything is read or looked up.
//
// It is for a server on a person's own machine, which every web page that this person visits can try to reach. So the
// host must be one of the server's exact names, which a name that was bound anew to this machine is not; an origin must
// be the server's own; what a browser says comes from another site is refused; and there are no CORS headers and no
// cookies, only a bearer token that no other site has. Bodies are JSON, or a file where a file is to come, of a bounded size, and are read whole.
package guard

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

const (
	// MaxBody bounds a request's body: the arguments of a call that writes a file of a size that people edit by hand.
	MaxBody = 1 << 20

	// bodyTime is how long a body may take to arrive, and uploadTime a file, which may come over a slow line.
	bodyTime   = 30 * time.Second
	uploadTime = 5 * time.Minute

	// restTime is how long the rest of a body may take that nobody wants.
	restTime = time.Second

	// MaxFailures bounds wrong tokens, and logins, a minute. Tokens and codes are too long to be guessed; this keeps a
	// program that tries from costing anything.
	MaxFailures = 20
)

// The titles of refusals that are about the request itself.
const (
	Forbidden    = "forbidden"
	Unauthorized = "unauthorized"
	Method       = "method"
	TooLarge     = "too-large"
	MediaType    = "media-type"
	TooMany      = "too-many"
	Invalid      = "invalid"
)

// A Refusal is why a request does not pass.
type Refusal struct {
	Status int
	Title  string // one of the constants
	Detail string // a sentence for a person
}

// Config is what a guard knows.
type Config struct {
	Token string
	Hosts []string // exact, with port

	// Page reports whether a request's path is that of the page: files that are the same for everyone.
	Page func(*http.Request) bool
	// Public reports whether a request needs no token.
	Public func(*http.Request) bool
	// Upload reports whether a request's body is a file, of at most so many bytes; 0 is none. nil is never.
	Upload func(*http.Request) (most int64)
	// Refuse answers in place of Next.
	Refuse func(http.ResponseWriter, Refusal)
	Next   http.Handler
}

type guard struct {
	Config
	sum      [sha256.Size]byte
	failures *Limiter
}

// New puts a guard before c.Next.
func New(c Config) http.Handler {
	return &guard{Config: c, sum: sha256.Sum256([]byte(c.Token)), failures: NewLimiter(MaxFailures)}
}

// ServeHTTP lets through what may pass.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	headers(w.Header(), g.Page(r))
	why := g.refuse(r)
	if why == nil {
		why = g.readBody(w, r)
	}
	if why != nil {
		if r.ContentLength != 0 {
			// What is left of the body is nobody's: the connection does not wait for it.
			w.Header().Set("Connection", "close")
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(restTime)) // a client in this process has none
		}
		g.Refuse(w, *why)
		return
	}
	g.Next.ServeHTTP(w, r)
}

const (
	// pagePolicy is what the page may do: load its own scripts, styles and pictures, and call its own server.
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; " +
		"frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

	// apiPolicy is what an answer of the API may do if a browser shows it: nothing.
	apiPolicy = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)

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

// refuse says why a request may not pass, or nil.
func (g *guard) refuse(r *http.Request) *Refusal {
	if r.RequestURI != "" && r.RequestURI[0] != '/' && r.RequestURI != "*" {
		// A whole address replaces the Host header, which is then not seen. Only what takes this server for a proxy sends one.
		return &Refusal{http.StatusBadRequest, Invalid, "The request must name a path and no whole address: this is no proxy."}
	}
	if !slices.Contains(g.Hosts, r.Host) {
		return &Refusal{http.StatusForbidden, Forbidden, "This server does not answer to that host name. Its names are listed under server.hosts."}
	}
	if g.crossSite(r) {
		return &Refusal{http.StatusForbidden, Forbidden, "This request comes from another site."}
	}
	switch r.Method {
	case http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete:
	default: // OPTIONS above all: there is no cross-origin access to ask for. HEAD is for what anybody may see.
		if r.Method != http.MethodHead || !g.Public(r) {
			return &Refusal{http.StatusMethodNotAllowed, Method, "This method is not used here."}
		}
	}
	if g.Public(r) || g.holds(r) {
		return nil
	}
	if !g.failures.Allow() {
		return &Refusal{http.StatusTooManyRequests, TooMany, "Too many requests without the right token; wait a minute."}
	}
	return &Refusal{http.StatusUnauthorized, Unauthorized, "A token is needed: `jackline web` opens the page with one."}
}

// holds reports whether a request carries the token. It takes as long for any wrong one.
func (g *guard) holds(r *http.Request) bool {
	given := r.Header.Values("Authorization")
	if len(given) != 1 {
		return false
	}
	token, bearer := strings.CutPrefix(given[0], "Bearer ")
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], g.sum[:]) == 1 && bearer
}

// Proof is what only a holder of the token can make of a client's nonce: an HMAC under a text that nothing else is made
// an HMAC of. A client that has the token compares it before it sends the token to whoever listens at an address. It
// does not tell the server from somebody who asks the server.
func Proof(token, nonce string) string {
	m := hmac.New(sha256.New, []byte(token))
	_, _ = io.WriteString(m, "jackline healthz "+nonce) // a hash never fails
	return hex.EncodeToString(m.Sum(nil))
}

// crossSite reports whether another site's page made a browser send a request.
func (g *guard) crossSite(r *http.Request) bool {
	if origins := r.Header.Values("Origin"); len(origins) > 0 {
		ours := len(origins) == 1 && (origins[0] == "http://"+r.Host || origins[0] == "https://"+r.Host && !Loopback(r.Host))
		if !ours {
			return true
		}
	}
	site := r.Header.Values("Sec-Fetch-Site")
	if len(site) == 0 || len(site) == 1 && (site[0] == "same-origin" || site[0] == "none") {
		return false
	}
	// A person may follow a link to the page. It is the same for everyone and knows nothing until it logs in.
	link := r.Method == http.MethodGet && g.Page(r) && len(site) == 1 &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	return !link
}

// Loopback reports whether a host, with or without port, is this machine by name or number.
func Loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// UploadType is the content type of a file. Another site's page could send a form, and anything that a form can send, without
// being asked; this it could not, if ever what stands before it should fail.
const UploadType = "application/octet-stream"

// readBody takes the whole body in, so that nothing behind it waits for a slow client, and refuses what is no JSON, or no
// file where a file is to come.
//
// The deadline is lifted again: left standing it would end the request's context while a long call runs.
func (g *guard) readBody(w http.ResponseWriter, r *http.Request) *Refusal {
	if r.ContentLength == 0 || r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	want, most, patience := "application/json", int64(MaxBody), bodyTime
	tooLarge := &Refusal{http.StatusRequestEntityTooLarge, TooLarge, "The body is larger than 1 MiB."}
	if g.Upload != nil {
		if n := g.Upload(r); n > 0 {
			want, most, patience = UploadType, n, uploadTime
			tooLarge.Detail = fmt.Sprintf("The file is larger than %d MiB, which is the most.", n>>20)
		}
	}
	if r.ContentLength > most {
		return tooLarge
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset := strings.ToLower(params["charset"])
	if err != nil || kind != want || charset != "" && charset != "utf-8" || r.Header.Get("Content-Encoding") != "" {
		detail := "Bodies must be application/json."
		if want == UploadType {
			detail = "A file is sent as it is, as " + UploadType + "; what it is, the server sees for itself."
		}
		return &Refusal{http.StatusUnsupportedMediaType, MediaType, detail}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(patience)) // a client in this process has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	_ = control.SetReadDeadline(time.Time{})
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return tooLarge
	case err != nil:
		return &Refusal{http.StatusBadRequest, Invalid, "The body did not arrive whole."}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}
