package openai

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

// A trouble is a failed attempt: what to say about it, and whether another one makes sense.
type trouble struct {
	err   error
	again again
	after time.Duration // the pause that the server asks for; 0 leaves it to us
	learn quirks        // write the request without these, and ask again at once
	lost  bool          // the engine does not know the model: its list makes a better error
}

type again int

const (
	never   again = iota
	refused       // nobody listens
	busy          // rate limit, server error, lost connection
	loading       // the engine is up, its model not yet
)

var errSilent = errors.New("no byte within the limit") // why a watch ends a request

// pause is how long to wait before attempt number try+1, and whether there is to be one.
// spent is what the pauses so far add up to.
func (r Retry) pause(t *trouble, try int, spent time.Duration) (time.Duration, bool) {
	tries := r.Tries
	switch t.again {
	case never:
		return 0, false
	case loading:
		return loadingPause, r.Tries > 1 && spent < loadingLimit
	case refused:
		tries = min(tries, refusedTries)
	case busy:
	}
	if try >= tries || t.after > r.After {
		return 0, false
	}
	if t.after > 0 {
		return t.after, true
	}
	d := r.Max
	if try < 16 {
		d = min(r.First<<(try-1), r.Max)
	}
	// Half of it is left to chance, so that many who failed together do not come back together.
	return d/2 + rand.N(d/2+1), true
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
func (m *Model) unreachable(op string, cause error) *trouble {
	t := &trouble{again: busy}
	say := func(k jackline.Kind, format string, a ...any) *trouble {
		t.err = jackline.E(op, k, m.blotted(bare(cause)), format, a...)
		return t
	}
	var dns *net.DNSError
	switch {
	case errors.Is(cause, errMoved):
		t.again = never
		return say(jackline.Unavailable, "%s sends its visitors to another address. Give that one with --base-url.", m.address())
	case errors.Is(cause, errSilent):
		t.again = never
		return say(jackline.Timeout,
			"The engine at %s has said nothing for %s. Its own log may say why.", m.address(), inWords(m.firstByte))
	case errors.Is(cause, http.ErrSchemeMismatch):
		t.again = never
		return say(jackline.Unavailable, "The engine at %s does not speak https: try http:// in --base-url.", m.address())
	case isCertificate(cause):
		t.again = never
		return say(jackline.Unavailable, "The certificate of %s is not one that this machine trusts.", m.address())
	case errors.As(cause, &dns):
		t.again = refused
		return say(jackline.Unavailable, "The host of %s is not known. Check the address that --base-url gives.", m.address())
	case errors.Is(cause, syscall.ECONNREFUSED), isDial(cause):
		t.again = refused
		return say(jackline.Unavailable,
			"No engine answers at %s. Start one (\"ollama serve\", or \"llama-server -m MODEL.gguf --port 8080\"), "+
				"or name another address with --base-url.", m.address())
	case errors.Is(cause, context.DeadlineExceeded):
		t.again = never
		return say(jackline.Timeout, "The engine at %s does not answer in time. Its own log may say why.", m.address())
	case isLost(cause):
		return say(jackline.Unavailable,
			"The engine at %s dropped the connection before it answered. Its own log may say why.", m.address())
	}
	t.again = never
	return say(jackline.Unavailable, "The engine at %s could not be asked.", m.address())
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

// blotted gives a cause without the secrets that this model was given: servers like to quote them.
func (m *Model) blotted(err error) error {
	if err == nil {
		return nil
	}
	if s := err.Error(); m.blot(s) != s {
		return errors.New(m.blot(s))
	}
	return err
}

// minSecret is the length, in bytes, from which the value of a header is taken for a secret.
const minSecret = 8

func (m *Model) blot(s string) string {
	if m.key != "" {
		s = strings.ReplaceAll(s, string(m.key), hidden)
	}
	for _, values := range m.extra {
		for _, v := range values {
			if len(v) >= minSecret {
				s = strings.ReplaceAll(s, v, hidden)
			}
		}
	}
	if q := m.base.RawQuery; len(q) >= minSecret {
		s = strings.ReplaceAll(s, q, hidden)
	}
	return s
}

// excerpt is the beginning of what a server wrote, on one line.
func (m *Model) excerpt(body []byte) error {
	text := strings.ToValidUTF8(m.blot(string(body[:min(len(body), maxRefusal)])), "\ufffd")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if text == "" {
		return errors.New("no body")
	}
	if len(text) > maxExcerpt {
		end := maxExcerpt
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "…"
	}
	return errors.New(text)
}

// strange is the error for an answer that is none.
func (m *Model) strange(op string, body []byte) error {
	if begin := strings.TrimSpace(string(body[:min(len(body), 64)])); strings.HasPrefix(begin, "<") {
		return jackline.E(op, jackline.Unavailable, m.excerpt(body),
			"%s answers with a web page: a sign-in page or a proxy stands there, "+
				"or the address is not that of an API. Check --base-url.", m.address())
	}
	if len(body) == 0 {
		return jackline.E(op, jackline.Unavailable, nil,
			"The engine at %s gave an empty answer. Its own log may say why.", m.address())
	}
	return jackline.E(op, jackline.Unavailable, m.excerpt(body),
		"What %s answers is not what a Chat Completions server says. Check --base-url.", m.address())
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
