package engine

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	jackline "github.com/jackline-ai/jackline"
)

// A Trouble is a failed attempt: what to say about it, and whether another one makes sense.
type Trouble struct {
	Err   error
	Again Again
	After time.Duration // the pause that the server asks for; 0 leaves it to us
	Lost  bool          // the engine does not know the model: its list makes a better error
}

// Again says when an attempt that failed may be made again.
type Again int

// When to try again.
const (
	Never   Again = iota
	Refused       // nobody listens
	Busy          // rate limit, server error, lost connection
	Loading       // the engine is up, its model not yet
	AtOnce        // the request is written in another way the next time; whoever says this makes sure of an end
)

// ErrGone ends an attempt because whoever reads the answer has left.
var ErrGone = errors.New("the reader has gone")

// Ways in which a body can be no answer.
var (
	ErrTooMuch = errors.New("more than this reads")
	errSilent  = errors.New("no byte within the limit") // why a watch ends a request
)

// Retry says how a request that may be sent again is sent again. Zero fields take the defaults.
type Retry struct {
	Tries int           // attempts in all, the first included; 1 never repeats
	First time.Duration // pause after the first attempt; it doubles each time
	Max   time.Duration // longest pause of our own choice
	After time.Duration // longest pause that a server may ask for; if it wants more, the request fails at once
}

// pause is how long to wait before attempt number try+1, and whether there is to be one.
// spent is what the pauses so far add up to.
func (r Retry) pause(t *Trouble, try int, spent time.Duration) (time.Duration, bool) {
	tries := r.Tries
	switch t.Again {
	case Never, AtOnce:
		return 0, false
	case Loading:
		return loadingPause, r.Tries > 1 && spent < loadingLimit
	case Refused:
		tries = min(tries, refusedTries)
	case Busy:
	}
	if try >= tries || t.After > r.After {
		return 0, false
	}
	if t.After > 0 {
		return t.After, true
	}
	d := r.Max
	if try < 16 {
		d = min(r.First<<(try-1), r.Max)
	}
	// Half of it is left to chance, so that many who failed together do not come back together.
	return d/2 + rand.N(d/2+1), true
}

// A List asks an engine for the names of its models.
type List func(context.Context) ([]string, error)

// Repeat makes attempts until one succeeds or there is no sense in another. said reports whether anything of an answer
// was handed out: from then on nothing is repeated. list makes the error for a model that the engine does not know more
// helpful. The error is ErrGone, that of ctx as it is, or one for people.
func (c *Client) Repeat(ctx context.Context, op string, list List, said func() bool, attempt func() *Trouble) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.o.Model == "" {
		return c.unnamed(ctx, op, list)
	}
	var spent time.Duration
	for try := 1; ; try++ {
		t := attempt()
		switch {
		case t == nil:
			return nil
		case errors.Is(t.Err, ErrGone):
			return ErrGone
		case ctx.Err() != nil:
			return ctx.Err()
		case said():
			return t.Err
		case t.Again == AtOnce:
			try--
			continue
		case t.Lost:
			return c.missing(ctx, op, list, t.Err)
		}
		pause, again := c.o.Retry.pause(t, try, spent)
		if !again {
			return t.Err
		}
		spent += pause
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
}

// wait sleeps, or ends with ctx.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// unreachable says what it means that a request came to nothing before there was an answer.
func (c *Client) unreachable(op string, cause error) *Trouble {
	t := &Trouble{Again: Busy}
	say := func(k jackline.Kind, format string, a ...any) *Trouble {
		t.Err = jackline.E(op, k, c.blotted(bare(cause)), format, a...)
		return t
	}
	var dns *net.DNSError
	switch {
	case errors.Is(cause, errMoved):
		t.Again = Never
		return say(jackline.Unavailable, "%s sends its visitors to another address. Give that one with --base-url.", c.Address())
	case errors.Is(cause, errSilent):
		t.Again = Never
		return say(jackline.Timeout,
			"The engine at %s has said nothing for %s. Its own log may say why.", c.Address(), inWords(c.o.FirstByte))
	case errors.Is(cause, http.ErrSchemeMismatch):
		t.Again = Never
		return say(jackline.Unavailable, "The engine at %s does not speak https: try http:// in --base-url.", c.Address())
	case isCertificate(cause):
		t.Again = Never
		return say(jackline.Unavailable, "The certificate of %s is not one that this machine trusts.", c.Address())
	case errors.As(cause, &dns):
		t.Again = Refused
		return say(jackline.Unavailable, "The host of %s is not known. Check the address that --base-url gives.", c.Address())
	case c.hosted() && (errors.Is(cause, syscall.ECONNREFUSED) || isDial(cause)):
		t.Again = Refused
		return say(jackline.Unavailable, "Nothing answers at %s. Check that this machine is online, and the address that --base-url gives.",
			c.Address())
	case errors.Is(cause, syscall.ECONNREFUSED), isDial(cause):
		t.Again = Refused
		return say(jackline.Unavailable,
			"No engine answers at %s. Start one (\"ollama serve\", or \"llama-server -m MODEL.gguf --port 8080\"), "+
				"or name another address with --base-url.", c.Address())
	case errors.Is(cause, context.DeadlineExceeded):
		t.Again = Never
		return say(jackline.Timeout, "The engine at %s does not answer in time. Its own log may say why.", c.Address())
	case isLost(cause):
		return say(jackline.Unavailable,
			"The engine at %s dropped the connection before it answered. Its own log may say why.", c.Address())
	}
	t.Again = Never
	return say(jackline.Unavailable, "The engine at %s could not be asked.", c.Address())
}

// bare takes off the layer that only repeats method and address.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

func isCertificate(err error) bool {
	var verify *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	return errors.As(err, &verify) || errors.As(err, &authority) || errors.As(err, &host)
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// isLost reports whether a connection that was there is gone.
func isLost(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded)
}

// blotted gives a cause without the secrets that this client was given: servers like to quote them.
func (c *Client) blotted(err error) error {
	if err == nil {
		return nil
	}
	if s := err.Error(); c.blot(s) != s {
		return errors.New(c.blot(s))
	}
	return err
}

// minSecret is the length, in bytes, from which the value of a header is taken for a secret.
const minSecret = 8

func (c *Client) blot(s string) string {
	if c.o.Key != "" {
		s = strings.ReplaceAll(s, string(c.o.Key), hidden)
	}
	for _, values := range c.o.Headers {
		for _, v := range values {
			if len(v) >= minSecret {
				s = strings.ReplaceAll(s, v, hidden)
			}
		}
	}
	if q := c.base.RawQuery; len(q) >= minSecret {
		s = strings.ReplaceAll(s, q, hidden)
	}
	return s
}

// excerpt is the beginning of what a server wrote, on one line.
func (c *Client) excerpt(body []byte) error {
	text := strings.ToValidUTF8(c.blot(string(body[:min(len(body), MaxRefusal)])), "\ufffd")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if text == "" {
		return errors.New("no body")
	}
	if len(text) > MaxExcerpt {
		end := MaxExcerpt
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return errors.New(text)
}

// Strange is the error for an answer that is none, given its beginning.
func (c *Client) Strange(op string, body []byte) error {
	if begin := strings.TrimSpace(string(body[:min(len(body), 64)])); strings.HasPrefix(begin, "<") {
		return jackline.E(op, jackline.Unavailable, c.excerpt(body),
			"%s answers with a web page: a sign-in page or a proxy stands there, "+
				"or the address is not that of an API. Check --base-url.", c.Address())
	}
	if len(body) == 0 {
		return jackline.E(op, jackline.Unavailable, nil,
			"The engine at %s gave an empty answer. Its own log may say why.", c.Address())
	}
	return jackline.E(op, jackline.Unavailable, c.excerpt(body),
		"What %s answers is not what %s server says. Check --base-url.", c.Address(), article(c.o.API))
}

// article puts "a" or "an" in front of the name of an API.
func article(name string) string {
	if name != "" && strings.ContainsRune("AEIOU", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// retryAfterOf is the pause that a response asks for, or 0.
func retryAfterOf(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		if !(s > 0) {
			return 0
		}
		return time.Duration(min(s, 1e6) * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// inWords is d for a sentence: "45 seconds", "2 minutes".
func inWords(d time.Duration) string {
	n, unit := int(d.Round(time.Second)/time.Second), "second"
	if n >= 120 {
		n, unit = int(d.Round(time.Minute)/time.Minute), "minute"
	}
	if n != 1 {
		unit += "s"
	}
	return strconv.Itoa(n) + " " + unit
}
