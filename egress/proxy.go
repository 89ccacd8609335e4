package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackline-ai/jackline"
)

// Limits of one proxy, which serves one command.
const (
	// maxGranted bounds the hosts that one command may reach. A person reads them all on a card.
	maxGranted = 20
	// maxTunnels bounds the connections at one time: package managers open some dozens, and no more help.
	maxTunnels = 64
	// maxCarried bounds what one command carries through, both ways together: the largest tool chains are smaller.
	maxCarried = 4 << 30
	// silence is how long a connection may carry nothing.
	silence = 2 * time.Minute
	// maxTold bounds the refused hosts that are remembered.
	maxTold = 10
	// proxyHead bounds the head of a request, and headRead how long it may take to come: the client is on this machine.
	proxyHead = 64 << 10
	headRead  = 10 * time.Second
)

// A Proxy lets one command reach the hosts that were granted to it, and no other, through its guard. It speaks HTTP: CONNECT,
// and requests of the absolute form (RFC 9110, 9.3.6 and RFC 9112, 3.2.2). Names are looked up here, so the command needs no
// resolver, and every address is judged as it is for any other request.
//
// It cannot see into what is encrypted: whoever answers at a granted host could pass things on.
type Proxy struct {
	guard   *Guard
	granted map[string]bool // canonical host:port
	carried atomic.Int64
	room    chan struct{}

	mu   sync.Mutex
	told []string
}

// Proxy makes a proxy for the hosts of a list, each as host:port. A host that the guard would refuse by its form is Forbidden.
func (g *Guard) Proxy(hosts []string) (*Proxy, error) {
	const op = "egress.Proxy"
	if len(hosts) > maxGranted {
		return nil, jackline.E(op, jackline.Invalid, nil, "A command can be given at most %d hosts.", maxGranted)
	}
	p := &Proxy{guard: g, granted: map[string]bool{}, room: make(chan struct{}, maxTunnels)}
	for _, h := range hosts {
		t, err := g.origin(h)
		if err != nil {
			return nil, jackline.E(op, jackline.KindOf(err), err, "The host %s cannot be given to a command: %s", clip(h), jackline.Say(err))
		}
		p.granted[t.origin()] = true
	}
	return p, nil
}

// Origin is the canonical form of a host and port, as host:port, by which a proxy knows it. A host that may not be reached
// is an error.
func (g *Guard) Origin(hostport string) (string, error) {
	t, err := g.origin(hostport)
	if err != nil {
		return "", err
	}
	return t.origin(), nil
}

func (g *Guard) origin(hostport string) (target, error) {
	if strings.ContainsAny(hostport, "/?#@") {
		return target{}, invalid("It is not of the form host:port.")
	}
	return g.parse("https://" + hostport + "/")
}

func (t target) origin() string { return net.JoinHostPort(t.host.name, strconv.Itoa(int(t.port))) }

// Serve answers on l until ctx ends, closes l, and returns when every connection is gone.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var tunnels sync.WaitGroup
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			tunnels.Add(1)
			defer tunnels.Done()
			p.serve(w, r)
		}),
		ReadHeaderTimeout: headRead, IdleTimeout: silence, MaxHeaderBytes: proxyHead,
		BaseContext: func(net.Listener) context.Context { return ctx },
		Protocols:   new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	stop := context.AfterFunc(ctx, func() { _ = s.Close() }) // it ends Serve, which says so
	defer stop()
	err := s.Serve(l)
	cancel()
	_ = s.Close() // what still stands is cut off with the command
	tunnels.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Refused are hosts that the command asked for and that were not granted to it, the first few.
func (p *Proxy) Refused() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.told)
}

// find takes a host and port for a target that was granted.
func (p *Proxy) find(raw string) (target, error) {
	t, err := p.guard.parse(raw)
	if err == nil && !p.granted[t.origin()] {
		err = forbidden("%s is not among the hosts that this command may reach.", t.origin())
		p.mu.Lock()
		if o := t.origin(); len(p.told) < maxTold && !slices.Contains(p.told, o) {
			p.told = append(p.told, o)
		}
		p.mu.Unlock()
	}
	return t, err
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	select {
	case p.room <- struct{}{}:
		defer func() { <-p.room }()
	default:
		http.Error(w, fmt.Sprintf("More than %d connections at once.", maxTunnels), http.StatusServiceUnavailable)
		return
	}
	if r.Method == http.MethodConnect {
		p.tunnel(w, r)
		return
	}
	if r.URL.Scheme != "http" {
		http.Error(w, "This is a proxy for HTTP: CONNECT, or a request with a whole http:// address.", http.StatusBadRequest)
		return
	}
	t, err := p.find(r.URL.String())
	if err != nil {
		refuse(w, err)
		return
	}
	transport := &http.Transport{
		Proxy:                 nil,
		DialContext:           func(ctx context.Context, _, _ string) (net.Conn, error) { return p.guard.connect(ctx, t) },
		ResponseHeaderTimeout: silence, MaxResponseHeaderBytes: maxHead,
		DisableKeepAlives: true, DisableCompression: true, // what is carried is the command's affair
	}
	defer transport.CloseIdleConnections()
	out := r.Clone(r.Context())
	out.RequestURI, out.URL, out.Host = "", t.url, t.url.Host
	out.Body = &carried{r.Body, p}
	bare(out.Header)
	answer, err := transport.RoundTrip(out)
	if err != nil {
		refuse(w, broken(t, err))
		return
	}
	defer answer.Body.Close()
	bare(answer.Header)
	for name, values := range answer.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, &carried{answer.Body, p}) // what breaks off, breaks off for the client too
}

// refuse says why, in our own words.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	switch jackline.KindOf(err) {
	case jackline.Forbidden, jackline.Invalid:
		status = http.StatusForbidden
	case jackline.Timeout:
		status = http.StatusGatewayTimeout
	default:
	}
	http.Error(w, jackline.Say(err), status)
}

// bare takes out what belongs to one connection, and what is meant for proxies (RFC 9110, 7.6.1).
func bare(h http.Header) {
	for _, line := range h.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range [...]string{
		"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		h.Del(name)
	}
}

// tunnel connects the client with a host, both ways, until either is done.
func (p *Proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	if _, _, err := net.SplitHostPort(r.Host); err != nil {
		http.Error(w, "CONNECT needs a host and a port.", http.StatusBadRequest)
		return
	}
	t, err := p.find("https://" + r.Host + "/")
	if err != nil {
		refuse(w, err)
		return
	}
	there, err := p.guard.connect(r.Context(), t)
	if err != nil {
		refuse(w, broken(t, err))
		return
	}
	defer func() { _ = there.Close() }()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "The connection cannot be used for this.", http.StatusInternalServerError)
		return
	}
	defer func() { _ = here.Close() }()
	stop := context.AfterFunc(r.Context(), func() { _, _ = here.Close(), there.Close() })
	defer stop()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var up sync.WaitGroup
	up.Go(func() { p.carry(there, here, buffered.Reader) })
	p.carry(here, there, nil)
	_, _ = here.Close(), there.Close() // it ends the other way too
	up.Wait()
}

// carry copies one way, until it ends, falls silent or has carried too much. What was read ahead goes first.
func (p *Proxy) carry(to, from net.Conn, ahead *bufio.Reader) {
	var source io.Reader = from
	if ahead != nil {
		source = io.MultiReader(io.LimitReader(ahead, int64(ahead.Buffered())), from)
	}
	buf := make([]byte, 32<<10)
	for p.carried.Load() < maxCarried {
		if from.SetReadDeadline(time.Now().Add(silence)) != nil {
			return
		}
		n, err := source.Read(buf)
		p.carried.Add(int64(n))
		if n > 0 {
			if to.SetWriteDeadline(time.Now().Add(silence)) != nil {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if half, ok := to.(interface{ CloseWrite() error }); ok && errors.Is(err, io.EOF) {
				_ = half.CloseWrite() // the other way may have more to say
			}
			return
		}
	}
}

// carried counts what goes through a body.
type carried struct {
	io.ReadCloser
	p *Proxy
}

func (c *carried) Read(b []byte) (int, error) {
	if c.p.carried.Load() >= maxCarried {
		return 0, errors.New("more than one command may carry")
	}
	n, err := c.ReadCloser.Read(b)
	c.p.carried.Add(int64(n))
	return n, err
}
