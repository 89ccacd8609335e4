package detect

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

// An asker asks one origin. It connects to nothing else: no proxy, no redirect to elsewhere.
type asker struct {
	root    *url.URL // where paths begin; no trailing slash
	dialer  *net.Dialer
	client  *http.Client
	carrier *http.Transport
	patient time.Duration // for one answer

	keyHeader, key string // sent with every request when it is not empty
	extra          http.Header

	mu    sync.Mutex
	spare net.Conn // the first connection, until a request takes it
}

var (
	errElsewhere = errors.New("not the origin that was asked")
	errMoved     = errors.New("the server redirects")
	errTooMuch   = errors.New("more than is read")
)

func newAsker(root *url.URL, connect, answer time.Duration) *asker {
	a := &asker{root: root, patient: answer, dialer: &net.Dialer{Timeout: connect}}
	addr := hostPort(root)
	a.carrier = &http.Transport{
		Proxy: nil,
		DialContext: func(ctx context.Context, network, to string) (net.Conn, error) {
			if !strings.EqualFold(to, addr) {
				return nil, fmt.Errorf("%w: %s", errElsewhere, to)
			}
			if conn := a.take(); conn != nil {
				return conn, nil
			}
			return a.dialer.DialContext(ctx, network, to)
		},
		TLSHandshakeTimeout:    connect,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    atOnce,
		MaxConnsPerHost:        2 * atOnce,
		MaxResponseHeaderBytes: maxHeader,
	}
	a.client = &http.Client{
		Transport: a.carrier,
		CheckRedirect: func(to *http.Request, via []*http.Request) error {
			if len(via) > 3 || to.URL.Scheme != root.Scheme || hostPort(to.URL) != addr || to.Method != via[0].Method {
				return errMoved
			}
			return nil
		},
	}
	return a
}

// hostPort is where a URL leads to, in lower case and with its port written out.
func hostPort(u *url.URL) string {
	p := u.Port()
	if p == "" {
		p = "80"
		if u.Scheme == "https" {
			p = "443"
		}
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), p)
}

// open connects once, so that a port where nobody listens costs one refusal. The connection is kept for the first request.
func (a *asker) open(ctx context.Context) error {
	conn, err := a.dialer.DialContext(ctx, "tcp", hostPort(a.root))
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.spare = conn
	return nil
}

func (a *asker) take() net.Conn {
	a.mu.Lock()
	defer a.mu.Unlock()
	conn := a.spare
	a.spare = nil
	return conn
}

// close lets go of the connections.
func (a *asker) close() {
	if conn := a.take(); conn != nil {
		_ = conn.Close() // nothing was sent
	}
	a.carrier.CloseIdleConnections()
}

// bearer makes every request from now on carry a key. It is not to be called while requests are under way.
func (a *asker) bearer(key string) {
	if key != "" {
		a.keyHeader, a.key = "Authorization", "Bearer "+key
	}
}

// An answer is what came back, or why nothing did.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error // of the way, or errTooMuch
}

// ok reports a whole answer of success.
func (r answer) ok() bool { return r.err == nil && r.status == http.StatusOK }

// locked reports that a key is wanted.
func (r answer) locked() bool { return r.err == nil && r.status == http.StatusUnauthorized }

// page reports that the answer is a web page.
func (r answer) page() bool {
	return bytes.HasPrefix(bytes.TrimSpace(r.body), []byte("<")) || strings.Contains(r.header.Get("Content-Type"), "text/html")
}

// says reports whether the beginning of the answer holds words, whatever the status.
func (r answer) says(words string) bool {
	return bytes.Contains(r.body[:min(len(r.body), 4<<10)], []byte(words))
}

// get asks for a path below the root. What is longer than limit bytes is an error.
func (a *asker) get(ctx context.Context, path string, limit int64) answer {
	return a.do(ctx, http.MethodGet, path, nil, limit)
}

// do sends one request. path may have a query.
func (a *asker) do(ctx context.Context, method, path string, body []byte, limit int64) answer {
	limited, cancel := context.WithTimeout(ctx, a.patient)
	defer cancel()
	path, query, _ := strings.Cut(path, "?")
	u := a.root.JoinPath(path)
	if query != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+query, "&")
	}
	var r io.Reader
	if body != nil {
		r = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(limited, method, u.String(), r)
	if err != nil {
		return answer{err: err}
	}
	req.Header.Set("User-Agent", "jackline")
	req.Header.Set("Accept", "application/json, text/plain;q=0.5")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, values := range a.extra {
		req.Header[name] = values
	}
	if a.key != "" {
		req.Header.Set(a.keyHeader, a.key)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return answer{err: bare(err)}
	}
	defer resp.Body.Close()
	plain := io.Reader(resp.Body)
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") { // not asked for; some proxies pack everything
		if plain, err = gzip.NewReader(resp.Body); err != nil {
			return answer{err: err}
		}
	}
	text, more, err := readAll(plain, limit)
	if more && err == nil {
		err = errTooMuch
	}
	return answer{status: resp.StatusCode, header: resp.Header, body: text, err: err}
}

// bare takes off the layer that repeats method and address, which may hold a secret.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
