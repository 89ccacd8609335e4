package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/jackline-ai/jackline"
)

// Limits of one request to a service.
const (
	// maxAnswer bounds an answer: twenty hits take about 40 KB.
	maxAnswer = 2 << 20
	// serviceTime bounds one request. A search that takes longer is of no use to somebody who waits.
	serviceTime = 15 * time.Second
	// maxServiceHops bounds redirects, which stay at the service's own origin.
	maxServiceHops = 3
)

// A question is one request to a service.
type question struct {
	service string // its name, for sentences
	url     string
	header  map[string]string
	body    any    // sent as JSON by POST; nil is GET
	form    string // sent as a form by POST; "" is none
	html    bool   // the answer is a page
	key     string // the variable that holds the key, for sentences
}

// ask puts a question to a service, at exactly its own origin. The answer is whole and of the kind that was asked for, or it
// is an error whose sentence names the service and what to do.
func (d Deps) ask(ctx context.Context, q question) ([]byte, error) {
	const op = "web.ask"
	ctx, cancel := context.WithTimeout(ctx, serviceTime)
	defer cancel()
	method, body, kind := http.MethodGet, io.Reader(nil), ""
	switch {
	case q.body != nil:
		b, err := json.Marshal(q.body)
		if err != nil {
			return nil, err
		}
		method, body, kind = http.MethodPost, bytes.NewReader(b), "application/json"
	case q.form != "":
		method, body, kind = http.MethodPost, strings.NewReader(q.form), "application/x-www-form-urlencoded"
	}
	req, err := http.NewRequestWithContext(ctx, method, q.url, body)
	if err != nil {
		return nil, jackline.E(op, jackline.Invalid, err, "The address of %s cannot be read.", q.service)
	}
	req.Header.Set("User-Agent", d.agent())
	req.Header.Set("Accept", "application/json")
	if q.html {
		req.Header.Set("Accept", "text/html")
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for k, v := range q.header {
		req.Header.Set(k, v)
	}
	transport := &http.Transport{Proxy: nil, TLSHandshakeTimeout: serviceTime, MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true}
	client := &http.Client{Transport: transport, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if len(via) > maxServiceHops || r.URL.Scheme != via[0].URL.Scheme || r.URL.Host != via[0].URL.Host {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	resp, err := client.Do(req)
	if err != nil {
		return nil, unreachable(q, err)
	}
	defer resp.Body.Close()
	if err := refusal(q, resp.StatusCode); err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, unreachable(q, err)
	case len(b) > maxAnswer:
		return nil, jackline.E(op, jackline.Unavailable, nil, "%s answered with more than %d MB, which is no list of results.", q.service, maxAnswer>>20)
	case !q.html && !json.Valid(b):
		what := "something that is no JSON"
		if strings.HasPrefix(strings.TrimSpace(string(b[:min(len(b), 64)])), "<") {
			what = "a web page instead of data"
		}
		return nil, jackline.E(op, jackline.Unavailable, nil, "%s answered with %s.", q.service, what)
	}
	return b, nil
}

// refusal is what a status other than success means.
func refusal(q question, status int) error {
	const op = "web.ask"
	switch {
	case status == http.StatusOK, status == http.StatusAccepted && q.html: // DuckDuckGo's way to ask whether one is a person
		return nil
	case (status == http.StatusUnauthorized || status == http.StatusForbidden) && q.key != "":
		return jackline.E(op, jackline.Unavailable, nil, "%s refused the key in %s. Check it.", q.service, q.key)
	case status == http.StatusTooManyRequests, status == http.StatusPaymentRequired:
		return jackline.E(op, jackline.Unavailable, nil, "%s allows no more requests now (status %d).", q.service, status)
	case status >= 300 && status < 400:
		return jackline.E(op, jackline.Unavailable, nil, "%s redirects to another place, which is not followed.", q.service)
	}
	return jackline.E(op, jackline.Unavailable, nil, "%s answered with status %d.", q.service, status)
}

func unreachable(q question, err error) error {
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return jackline.E("web.ask", jackline.Timeout, err, "%s did not answer within %d seconds.", q.service, int(serviceTime.Seconds()))
	}
	return jackline.E("web.ask", jackline.Unavailable, err, "%s cannot be reached. Check that this machine is online.", q.service)
}

// hostPort is the host of an address with its port.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
		if u.Scheme == "https" {
			port = "443"
		}
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// plain makes one line of text that somebody else wrote: without tags, entities, control and direction characters.
func plain(s string, most int) string {
	const room = 8 << 10 // bytes that are looked at: a line with all its tags is shorter, and each < is looked at to the end
	s = s[:min(len(s), room)]
	var b strings.Builder
	for s != "" {
		k := strings.IndexByte(s, '<')
		if k < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:k])
		s = s[k:]
		if end := strings.IndexByte(s, '>'); end > 0 && len(s) > 1 && (s[1] == '/' || unicode.IsLetter(rune(s[1]))) {
			s = s[end+1:]
			continue
		}
		b.WriteByte('<')
		s = s[1:]
	}
	return short(html.UnescapeString(b.String()), most)
}

// short makes one line of a text, of at most n characters, without what cannot be seen.
func short(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.Is(unicode.C, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
