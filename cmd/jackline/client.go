package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/jackline-ai/jackline"
)

// A client speaks the HTTP API. There is one for both ways to run: with a server it dials, without one it talks to a
// server inside this process, through the same routes.
type client struct {
	base  string // http://127.0.0.1:7717
	token string // "" is sent to nobody
	http  *http.Client
}

// A problem is an error answer of the API.
type problem struct {
	Status   int                 `json:"status"`
	Kind     string              `json:"title"`
	Detail   string              `json:"detail"`
	Decision string              `json:"decision"`
	Rule     string              `json:"rule"`
	Approval jackline.ApprovalID `json:"approval"`
	By       string              `json:"by"`
}

func (p *problem) Error() string { return p.Detail }

// call makes one request and decodes its answer into out, unless that is nil.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	resp, err := c.do(ctx, method, path, body, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil || resp.StatusCode == http.StatusNoContent {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return jackline.E("client", jackline.Internal, err, "The server's answer cannot be read.")
	}
	return nil
}

func (c *client) do(ctx context.Context, method, path string, body io.Reader, header map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	req.Header.Set("User-Agent", "jackline/"+buildVersion()) // answers are logged as the command line's
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, jackline.E("client", jackline.Unavailable, err, "The Jackline server at %s cannot be reached.", c.base)
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer resp.Body.Close()
	p := &problem{Status: resp.StatusCode}
	const most = 64 << 10
	b, _ := io.ReadAll(io.LimitReader(resp.Body, most))
	if json.Unmarshal(b, p) != nil || p.Detail == "" {
		p.Detail = fmt.Sprintf("The server answered %s.", resp.Status)
	}
	return nil, p
}

// ready is the type of the event that says that the log up to now was sent. Each connection has one; it is in no log.
const ready = "ready"

// events follows a stream of events, from the one after the cursor on, and gives each to f until f says no more, or
// ctx ends. A broken connection is taken up again where it broke.
func (c *client) events(ctx context.Context, path string, after int64, f func(jackline.Event) (more bool, err error)) error {
	tries := 0
	for {
		got := false
		err := c.stream(ctx, path, after, func(id int64, ev jackline.Event) (bool, error) {
			got = true
			if id > 0 {
				after = id
			}
			return f(ev)
		})
		if got {
			tries = 0
		}
		if err == nil || ctx.Err() != nil || !errors.Is(err, errBroken) {
			if err == nil {
				return nil
			}
			return err
		}
		const most = 5 // each of them goes on where the last one ended
		if tries++; tries > most {
			return jackline.E("client", jackline.Unavailable, err, "The connection to the server broke.")
		}
	}
}

var errBroken = errors.New("the stream broke")

func (c *client) stream(ctx context.Context, path string, after int64, f func(int64, jackline.Event) (bool, error)) error {
	u := path
	if after > 0 {
		sep := "?"
		if strings.Contains(u, "?") {
			sep = "&"
		}
		u += sep + "after=" + url.QueryEscape(strconv.FormatInt(after, 10))
	}
	resp, err := c.do(ctx, http.MethodGet, u, nil, map[string]string{"Accept": "text/event-stream"})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	sc := bufio.NewScanner(resp.Body)
	const line = 16 << 20 // an event holds cut copies only; this is far beyond the largest
	sc.Buffer(make([]byte, 0, 64<<10), line)
	var id int64
	var data bytes.Buffer
	for sc.Scan() {
		l := sc.Text()
		switch {
		case l == "":
			if data.Len() == 0 {
				continue
			}
			var ev jackline.Event
			if err := json.Unmarshal(data.Bytes(), &ev); err != nil {
				return jackline.E("client", jackline.Internal, err, "The server's events cannot be read.")
			}
			data.Reset()
			more, err := f(id, ev)
			if err != nil || !more {
				return err
			}
			id = 0
		case strings.HasPrefix(l, "id:"):
			id, _ = strconv.ParseInt(strings.TrimSpace(l[3:]), 10, 64)
		case strings.HasPrefix(l, "data:"):
			data.WriteString(strings.TrimPrefix(l[5:], " "))
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(errBroken, sc.Err())
}

// The requests that commands make.

func (c *client) createSession(ctx context.Context, in map[string]any) (jackline.Session, error) {
	return ask[jackline.Session](ctx, c, http.MethodPost, "/api/sessions", in)
}

// taken is the answer to a new turn.
type taken struct {
	Turn    jackline.Turn `json:"turn"`
	Queued  bool          `json:"queued"`
	Steered bool          `json:"steered"`
}

func (c *client) submit(ctx context.Context, s jackline.SessionID, body map[string]any) (taken, error) {
	return ask[taken](ctx, c, http.MethodPost, sessionPath(s)+"/turns", body)
}

func (c *client) approval(ctx context.Context, id jackline.ApprovalID) (jackline.Approval, error) {
	return ask[jackline.Approval](ctx, c, http.MethodGet, "/api/tools/approvals/"+url.PathEscape(string(id)), nil)
}

// cards are the approvals and questions of a turn that are open, the oldest first.
func (c *client) cards(ctx context.Context, s jackline.SessionID, turn jackline.TurnID) ([]jackline.Approval, error) {
	rows, err := ask[[]jackline.Approval](ctx, c, http.MethodGet, "/api/tools/approvals?session="+url.QueryEscape(string(s)), nil)
	return slices.DeleteFunc(rows, func(a jackline.Approval) bool { return a.Turn != turn }), err
}

func (c *client) answer(ctx context.Context, id jackline.ApprovalID, body map[string]any) (jackline.Approval, error) {
	return ask[jackline.Approval](ctx, c, http.MethodPost, "/api/tools/approvals/"+url.PathEscape(string(id)), body)
}

func (c *client) stop(ctx context.Context, s jackline.SessionID) error {
	return c.call(ctx, http.MethodPost, sessionPath(s)+"/stop", map[string]any{}, nil)
}

func (c *client) turns(ctx context.Context, s jackline.SessionID) ([]jackline.Turn, error) {
	return ask[[]jackline.Turn](ctx, c, http.MethodGet, sessionPath(s)+"/turns", nil)
}

// sessionRow is a session as the list shows it.
type sessionRow struct {
	jackline.Session
	Status string `json:"status"`
	Last   string `json:"last"`
}

func (c *client) sessions(ctx context.Context, search string, limit int) ([]sessionRow, error) {
	q := url.Values{}
	if search != "" {
		q.Set("search", search)
	}
	if limit > 0 {
		q.Set("limit", strconv.Itoa(limit))
	}
	path := "/api/sessions"
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return ask[[]sessionRow](ctx, c, http.MethodGet, path, nil)
}

func sessionPath(s jackline.SessionID) string { return "/api/sessions/" + url.PathEscape(string(s)) }

// ask makes a request whose answer is a T.
func ask[T any](ctx context.Context, c *client, method, path string, in any) (T, error) {
	var out T
	err := c.call(ctx, method, path, in, &out)
	return out, err
}
