package engine

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
)

// An origin is the one place that a client connects to.
type origin struct {
	scheme string
	addr   string // host:port, lower case
}

func originOf(u *url.URL) origin {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return origin{scheme: strings.ToLower(u.Scheme), addr: net.JoinHostPort(strings.ToLower(u.Hostname()), port)}
}

var (
	errElsewhere = errors.New("not the configured origin")
	errMoved     = errors.New("the server redirects")
)

// redirect follows a redirect only within the origin, and only one that sends the same request again.
func (o origin) redirect(to *http.Request, via []*http.Request) error {
	if len(via) > 3 || originOf(to.URL) != o || to.Method != via[0].Method {
		return fmt.Errorf("%w to %s", errMoved, to.URL.Redacted())
	}
	return nil
}

// A guard lets nothing past that is meant for another origin, whatever transport lies behind it.
type guard struct {
	origin origin
	next   http.RoundTripper
}

// RoundTrip refuses requests to another origin.
func (g guard) RoundTrip(r *http.Request) (*http.Response, error) {
	if got := originOf(r.URL); got != g.origin {
		return nil, fmt.Errorf("%w: %s://%s", errElsewhere, got.scheme, got.addr)
	}
	return g.next.RoundTrip(r)
}

// newTransport dials the origin and nothing else, without proxies.
//
// A connection is kept for the next step of a turn, which mostly comes at once, and not for longer than the engines of
// small machines keep theirs.
func newTransport(o origin) *http.Transport {
	d := &net.Dialer{Timeout: dialTimeout}
	return &http.Transport{
		Proxy: nil,
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			if strings.ToLower(addr) != o.addr {
				return nil, fmt.Errorf("%w: %s", errElsewhere, addr)
			}
			return d.DialContext(ctx, network, addr)
		},
		TLSHandshakeTimeout: dialTimeout,
		DisableCompression:  true, // a packed stream arrives in lumps; what comes packed all the same is unpacked
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        4,
		IdleConnTimeout:     idleConn,
		ReadBufferSize:      16 << 10,
	}
}

// send sends one request to a path below the base URL. A query in path is put behind the base URL's own.
func (c *Client) send(ctx context.Context, method, path string, body [][]byte) (*http.Response, error) {
	path, query, _ := strings.Cut(path, "?")
	u := c.base.JoinPath(path)
	if u.RawQuery != "" && query != "" {
		u.RawQuery += "&"
	}
	u.RawQuery += query
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if body != nil {
		// The transport may need the body a second time, for a connection that turned out to be dead.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(parts(body)), nil }
		req.Body, _ = req.GetBody()
		for _, part := range body {
			req.ContentLength += int64(len(part))
		}
	}
	h := req.Header
	h.Set("User-Agent", "jackline")
	h.Set("Accept", "application/json")
	if body != nil {
		h.Set("Content-Type", "application/json")
		h.Set("Accept", c.o.Accept)
	}
	switch {
	case c.o.Key == "":
	case c.o.KeyHeader != "":
		h.Set(c.o.KeyHeader, string(c.o.Key))
	default:
		h.Set("Authorization", "Bearer "+string(c.o.Key))
	}
	for name, values := range c.o.Headers {
		h[http.CanonicalHeaderKey(name)] = values
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, err
	}
	if strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		resp.Body = &unpacked{packed: resp.Body}
	}
	return resp, nil
}

// joinBelow is the size below which a body is sent in one piece: a server that answers at its first bytes and hangs up is then
// heard, where the next piece would only find the connection broken.
const joinBelow = 64 << 10

// parts reads one part after the other.
func parts(body [][]byte) io.Reader {
	size := 0
	for _, part := range body {
		size += len(part)
	}
	if len(body) == 1 || size < joinBelow {
		return bytes.NewReader(bytes.Join(body, nil))
	}
	readers := make([]io.Reader, len(body))
	for i, part := range body {
		readers[i] = bytes.NewReader(part)
	}
	return io.MultiReader(readers...)
}

// unpacked is a body that came gzipped. It reads the header of the format late, with the first bytes.
type unpacked struct {
	packed io.ReadCloser
	plain  *gzip.Reader
}

// Read unpacks.
func (u *unpacked) Read(p []byte) (int, error) {
	if u.plain == nil {
		r, err := gzip.NewReader(u.packed)
		if err != nil {
			return 0, err
		}
		u.plain = r
	}
	return u.plain.Read(p)
}

// Close closes the packed body.
func (u *unpacked) Close() error { return u.packed.Close() }

// closeBody ends a response. What closing says is of no use to anybody: all that was wanted has been read.
func closeBody(resp *http.Response) { _ = resp.Body.Close() }
