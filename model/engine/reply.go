package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	jackline "github.com/jackline-ai/jackline"
)

// A Reply is the answer to one request while it arrives. Reading it is bounded in time and in bytes: a server that is silent for too long, or does
// not stop, ends it with an error.
type Reply struct {
	c    *Client
	op   string
	resp *http.Response

	timer *time.Timer
	limit time.Duration // for the read that comes
	bytes int64         // that may still come
	begun bool

	left   func() error // the error of the caller's context
	silent func() bool  // the watch has ended the request
}

// Ask sends a body, in parts, to a path below the base URL and lets read have the reply, whatever its status. The connection is
// closed, or free again, when Ask returns.
func (c *Client) Ask(parent context.Context, op, path string, body [][]byte, read func(*Reply) *Trouble) *Trouble {
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	timer := time.AfterFunc(c.o.FirstByte, func() { cancel(errSilent) })
	defer timer.Stop()
	resp, err := c.send(ctx, http.MethodPost, path, body)
	timer.Stop()
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return c.unreachable(op, err)
	}
	defer closeBody(resp)
	return read(&Reply{
		c: c, op: op, resp: resp, timer: timer, limit: c.o.FirstByte, bytes: MaxBody,
		left: parent.Err, silent: func() bool { return errors.Is(context.Cause(ctx), errSilent) },
	})
}

// Read reads from the body. Only the time spent waiting for the server counts as its silence.
func (r *Reply) Read(p []byte) (int, error) {
	if r.bytes <= 0 {
		return 0, fmt.Errorf("%w: over %d bytes", ErrTooMuch, int64(MaxBody))
	}
	r.timer.Reset(r.limit)
	n, err := r.resp.Body.Read(p[:min(int64(len(p)), r.bytes)])
	r.timer.Stop()
	r.bytes -= int64(n)
	return n, err
}

// OK reports whether the reply is an answer; otherwise it is a refusal.
func (r *Reply) OK() bool { return r.resp.StatusCode >= 200 && r.resp.StatusCode <= 299 }

// Refusal reads what a reply that is not OK says. What could be read of it is enough.
func (r *Reply) Refusal() Refusal {
	r.limit = tail
	body, _ := io.ReadAll(io.LimitReader(r, MaxRefusal))
	return Refusal{Status: r.resp.StatusCode, Header: r.resp.Header, Body: body}
}

// Left is the error of the context that Ask was given: when it has ended, what has arrived is not wanted any more.
func (r *Reply) Left() error { return r.left() }

// Begun says that something of an answer has come: from now on the engine may be silent for the shorter time.
func (r *Reply) Begun() { r.begun, r.limit = true, r.c.o.Idle }

// Ending says that the reason for the end has come: only the count of tokens may follow.
func (r *Reply) Ending() { r.limit = tail }

// Drain reads what follows the end of an answer. A connection is kept only when its answer was read to the very end,
// which comes right behind.
func (r *Reply) Drain() {
	r.limit = linger
	_, _ = io.CopyN(io.Discard, r, MaxRefusal)
}

// Cut is the trouble with an answer that err ended before its end.
func (r *Reply) Cut(err error) *Trouble {
	c := r.c
	switch {
	case errors.Is(err, ErrGone) || r.left() != nil:
		return &Trouble{Err: err}
	case errors.Is(err, ErrTooMuch):
		return &Trouble{Err: jackline.E(r.op, jackline.Unavailable, err,
			"The engine at %s does not stop: its answer is larger than Jackline reads. What came so far is kept.", c.Address())}
	case r.silent() && !r.begun:
		return c.unreachable(r.op, errSilent)
	case r.silent():
		return &Trouble{Err: jackline.E(r.op, jackline.Timeout, errSilent,
			"The engine at %s stopped in the middle of its answer and has said nothing for %s.", c.Address(), inWords(c.o.Idle))}
	}
	return &Trouble{Again: Busy, Err: jackline.E(r.op, jackline.Unavailable, c.blotted(err),
		"The connection to %s broke off in the middle of the answer. What came so far is kept.", c.Address())}
}

// Unreadable is the trouble with something in the middle of an answer that is none.
func (r *Reply) Unreadable(cause error) *Trouble {
	return &Trouble{Err: jackline.E(r.op, jackline.Unavailable, r.c.blotted(cause),
		"The engine at %s sent something unreadable in the middle of its answer. What came so far is kept.", r.c.Address())}
}

// Fetch asks a small question about the engine itself, once, and reads the answer up to limit bytes. A status other than
// 2xx is an error. An error of ctx is returned as it is.
func (c *Client) Fetch(ctx context.Context, op, method, path string, body []byte, limit int64) ([]byte, error) {
	limited, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	answer, t := c.fetch(limited, op, method, path, body, limit)
	switch {
	case t == nil:
		return answer, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	return nil, t.Err
}

func (c *Client) fetch(ctx context.Context, op, method, path string, body []byte, limit int64) ([]byte, *Trouble) {
	var parts [][]byte
	if body != nil {
		parts = [][]byte{body}
	}
	resp, err := c.send(ctx, method, path, parts)
	if err != nil {
		return nil, c.unreachable(op, err)
	}
	defer closeBody(resp)
	answer, err := io.ReadAll(io.LimitReader(resp.Body, limit))
	switch {
	case err != nil:
		return nil, c.unreachable(op, err)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, c.Refused(op, Refusal{Status: resp.StatusCode, Header: resp.Header, Body: answer[:min(len(answer), MaxRefusal)]})
	}
	return answer, nil
}
