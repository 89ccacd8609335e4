package egress

import (
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
)

// Limits of one request.
const (
	// MaxBody is how much of a page is read, decoded: more than any text that a model could use.
	MaxBody = 5 << 20
	// maxHops bounds redirects. Five take a person from a short address to a page, and no loop is that short.
	maxHops = 5
	// wholeTime bounds a request with all its redirects; a person waits for it.
	wholeTime = 30 * time.Second
	// headTime bounds the wait for an answer's head, handTime the handshake.
	headTime = 20 * time.Second
	handTime = 10 * time.Second
	// maxHead bounds an answer's head.
	maxHead = 256 << 10
	// maxRatio is how much larger than what was sent a decoded body may be. Pages reach 20; a bomb reaches 1,000. It is not
	// asked below freeSize, where repetitive pages are small anyway.
	maxRatio = 100
	freeSize = 1 << 20
)

// A Client fetches what a guard lets through. It keeps no connection, no cookie and no cache, sends no referrer, and uses no
// proxy, whatever the environment says.
type Client struct {
	guard *Guard
	tls   *tls.Config // tests only
	agent string
}

// Client makes a client. agent is how it introduces itself.
func (g *Guard) Client(agent string) *Client { return &Client{guard: g, agent: agent} }

// Request is what is fetched, by GET.
type Request struct {
	URL    string
	Accept string // types that are wanted; "" for any

	// Follow says whether a redirect is followed. Nil follows all that the guard lets through.
	Follow func(from, to *url.URL) bool
}

// Response is what came back.
type Response struct {
	URL    *url.URL // after redirects
	Status int
	Header http.Header
	Body   []byte   // decoded, at most [MaxBody]
	Cut    bool     // the body was longer
	Size   int64    // what the server said the body has, in bytes as sent; -1 where it did not
	Moved  *url.URL // a redirect that was not followed, checked by its form; else nil
}

// Get fetches r.URL. It ends within 30 seconds, and an answer of any status is no error. Errors are Forbidden where the
// guard refused an address, NotFound where a host does not exist, Timeout, and Unavailable for the rest.
func (c *Client) Get(ctx context.Context, r Request) (Response, error) {
	ctx, cancel := context.WithTimeout(ctx, wholeTime)
	defer cancel()
	resp, err := c.follow(ctx, r)
	return resp, said(ctx, err)
}

func (c *Client) follow(ctx context.Context, r Request) (Response, error) {
	t, err := c.guard.parse(r.URL)
	if err != nil {
		return Response{}, err
	}
	for hops := 0; ; hops++ {
		resp, where, err := c.once(ctx, t, r.Accept)
		if err != nil || where == "" {
			return resp, err
		}
		next, err := c.guard.next(t, where)
		if err != nil {
			return Response{}, jackline.E("egress.redirect", jackline.KindOf(err), err, "%s redirects to an address that is refused. %s", t.host.name, jackline.Say(err))
		}
		if r.Follow != nil && !r.Follow(t.url, next.url) {
			resp.Moved = next.url
			return resp, nil
		}
		if hops == maxHops {
			return Response{}, jackline.E("egress.redirect", jackline.Unavailable, nil, "%s redirected more than %d times; it seems to go in circles.", t.host.name, maxHops)
		}
		t = next
	}
}

// next checks a redirect in full, as a new request.
func (g *Guard) next(from target, location string) (target, error) {
	if err := plain(location); err != nil {
		return target{}, err
	}
	raw := location
	if !absolute(location) {
		to, err := from.url.Parse(location)
		if err != nil {
			return target{}, invalid("It cannot be read.")
		}
		raw = to.String()
	}
	t, err := g.parse(raw)
	if err == nil && from.url.Scheme == "https" && t.url.Scheme != "https" {
		err = forbidden("It leads from https to http.")
	}
	return t, err
}

// absolute reports whether an address has a scheme.
func absolute(s string) bool {
	k := strings.IndexAny(s, ":/?#")
	return k > 0 && s[k] == ':'
}

// once makes one request over one connection of its own, and returns where it was redirected to, if it was.
func (c *Client) once(ctx context.Context, t target, accept string) (Response, string, error) {
	transport := &http.Transport{
		Proxy:                  nil,
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return c.guard.connect(ctx, t) },
		TLSClientConfig:        c.tls,
		TLSHandshakeTimeout:    handTime,
		ResponseHeaderTimeout:  headTime,
		MaxResponseHeaderBytes: maxHead,
		DisableKeepAlives:      true, // each hop looks its host up and is judged anew
		DisableCompression:     true, // what is compressed is decoded here, where it is counted
	}
	defer transport.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url.String(), nil)
	if err != nil {
		return Response{}, "", invalid("The address cannot be read.")
	}
	req.Header.Set("User-Agent", c.agent)
	req.Header.Set("Accept-Encoding", "gzip")
	if accept == "" {
		accept = "*/*"
	}
	req.Header.Set("Accept", accept)
	answer, err := transport.RoundTrip(req)
	if err != nil {
		return Response{}, "", broken(t, err)
	}
	defer answer.Body.Close()
	resp := Response{URL: t.url, Status: answer.StatusCode, Header: answer.Header, Size: answer.ContentLength}
	switch answer.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if where := answer.Header.Get("Location"); where != "" {
			return resp, where, nil
		}
	}
	resp.Body, resp.Cut, err = body(answer)
	if err != nil {
		return Response{}, "", broken(t, err)
	}
	return resp, "", nil
}

// body reads at most MaxBody of an answer, decoded.
func body(answer *http.Response) ([]byte, bool, error) {
	sent := &counter{r: answer.Body}
	var r io.Reader = sent
	switch encoding := strings.ToLower(strings.TrimSpace(answer.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(sent)
		if errors.Is(err, io.EOF) {
			return nil, false, nil // an empty body may say anything of itself
		}
		if err != nil {
			return nil, false, jackline.E("egress.body", jackline.Unavailable, err, "What the server sent is damaged: it is not compressed as it says.")
		}
		r = z
	default:
		return nil, false, jackline.E("egress.body", jackline.Unavailable, nil, "The server sent its page compressed in a way that it was not asked for.")
	}
	var out []byte
	buf := make([]byte, 32<<10)
	for {
		n, err := r.Read(buf)
		out = append(out, buf[:n]...)
		if len(out) > freeSize && int64(len(out)) > maxRatio*sent.n {
			return nil, false, jackline.E("egress.body", jackline.Forbidden, nil,
				"The page unpacks to more than %d times of what was sent. Pages do not; this is made to fill memory.", maxRatio)
		}
		switch {
		case len(out) > MaxBody:
			return out[:MaxBody], true, nil
		case errors.Is(err, io.EOF):
			return out, false, nil
		case err != nil:
			return nil, false, err
		}
	}
}

type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// broken says what went wrong with a connection, in words that are the same whatever the other side sent.
func broken(t target, err error) error {
	var own *jackline.Error
	if errors.As(err, &own) {
		return own
	}
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var net net.Error
	const op = "egress.Get"
	switch {
	case errors.As(err, &cert):
		return jackline.E(op, jackline.Unavailable, err, "The certificate of %s is not valid, so it may be somebody else.", t.host.name)
	case errors.As(err, &record):
		return jackline.E(op, jackline.Unavailable, err, "%s does not speak https on port %d.", t.host.name, t.port)
	case errors.As(err, &net) && net.Timeout():
		return jackline.E(op, jackline.Timeout, err, "%s does not answer in time.", t.host.name)
	}
	return jackline.E(op, jackline.Unavailable, err, "The connection to %s broke off.", t.host.name)
}

// said turns the end of the time into a sentence. What the caller itself ended stays what it is.
func said(ctx context.Context, err error) error {
	if err == nil || !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return err
	}
	return jackline.E("egress.Get", jackline.Timeout, err, "The page did not arrive within %d seconds.", int(wholeTime.Seconds()))
}
