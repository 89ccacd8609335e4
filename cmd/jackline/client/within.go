package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/jackline-ai/jackline/stack"
)

// Within is a server inside this process, as what requests are made with: it calls the server's handler, without a connection in
// between. It must be closed.
type Within struct {
	Handler http.Handler

	open sync.WaitGroup
}

// HTTP is a client of the server.
func (in *Within) HTTP() *http.Client { return &http.Client{Transport: in} }

// Close waits for the requests that are being answered. Whoever closes has ended them: by their contexts, or in the server.
func (in *Within) Close() { in.open.Wait() }

// RoundTrip implements [http.RoundTripper]. The answer's head is there when the handler has written it, and its body comes as the
// handler writes it; a body that is closed early ends the request's context.
func (in *Within) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	from, to := io.Pipe()
	w := &reply{header: http.Header{}, body: to, headed: make(chan struct{})}
	r := req.Clone(ctx) // a handler may change its request, and the caller's is the caller's
	if r.Body == nil {
		r.Body = http.NoBody
	}
	if r.Host == "" {
		r.Host = r.URL.Host
	}
	in.open.Go(func() {
		stack.Grow()
		defer cancel()
		defer func() {
			_ = r.Body.Close()
			err := io.EOF
			if v := recover(); v != nil { // as a connection that broke: the server knows what else to do about a panic
				err = errors.New("the server broke the answer off")
			}
			w.head(http.StatusOK)
			_ = to.CloseWithError(err)
		}()
		in.Handler.ServeHTTP(w, r)
	})
	select {
	case <-w.headed:
	case <-ctx.Done():
		if req.Context().Err() != nil {
			_ = from.CloseWithError(context.Cause(ctx)) // what is still written goes nowhere
			return nil, context.Cause(ctx)
		}
		<-w.headed // the handler has ended by itself
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &answer{from, cancel}, ContentLength: -1, Request: req,
	}, nil
}

// A reply is an answer being written.
type reply struct {
	header http.Header
	body   *io.PipeWriter
	once   sync.Once
	headed chan struct{} // closed when status and sent stand
	status int
	sent   http.Header
}

// Header implements [http.ResponseWriter].
func (w *reply) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *reply) WriteHeader(status int) { w.head(status) }

// Write implements [http.ResponseWriter]. It returns when the client has read.
func (w *reply) Write(b []byte) (int, error) {
	w.head(http.StatusOK)
	return w.body.Write(b)
}

// Flush implements [http.Flusher]: nothing is held back but a head.
func (w *reply) Flush() { w.head(http.StatusOK) }

// head gives the client the head, the first time.
func (w *reply) head(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.headed)
	})
}

// An answer is the body that the client reads.
type answer struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close ends the request.
func (a *answer) Close() error {
	a.cancel()
	return a.PipeReader.Close()
}
