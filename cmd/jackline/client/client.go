// Package client speaks the HTTP API for commands, and knows how processes of one data folder find each other: by the token and
// the address that lie in it.
package client

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
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/server/guard"
)

// A Client speaks the HTTP API. There is one for both ways to run: with a server it dials, without one it talks to a
// server inside this process, through the same routes.
type Client struct {
	Base    string       // http://127.0.0.1:7717
	Token   string       // "" is sent to nobody
	Version string       // of this program; answers are logged as the command line's
	HTTP    *http.Client // by [HTTP], or [Within.HTTP]
}

// HTTP is what requests to a server are made with: it goes past proxies, and follows no redirection, which could take the token
// elsewhere.
func HTTP() *http.Client {
	return &http.Client{Transport: &http.Transport{Proxy: nil}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// A Problem is an error answer of the API.
type Problem struct {
	Status   int                 `json:"status"`
	Kind     string              `json:"title"`
	Detail   string              `json:"detail"`
	Decision string              `json:"decision"`
	Rule     string              `json:"rule"`
	Approval jackline.ApprovalID `json:"approval"`
	By       string              `json:"by"`
}

// Error implements error: it is the sentence for a person.
func (p *Problem) Error() string { return p.Detail }

// Call makes one request and decodes its answer into out, unless that is nil.
func (c *Client) Call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	return c.exchange(ctx, method, path, body, nil, out)
}

// Upload makes a request whose body is a file, and decodes its answer into out.
func (c *Client) Upload(ctx context.Context, method, path string, file []byte, out any) error {
	return c.exchange(ctx, method, path, bytes.NewReader(file), map[string]string{"Content-Type": guard.UploadType}, out)
}

// Download makes a request and copies the body of its answer to w as it comes.
func (c *Client) Download(ctx context.Context, path string, w io.Writer) error {
	resp, err := c.do(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(w, resp.Body); err != nil {
		return jackline.E("client", jackline.Unavailable, err, "What the server sent could not be taken to its end.")
	}
	return nil
}

func (c *Client) exchange(ctx context.Context, method, path string, body io.Reader, header map[string]string, out any) error {
	resp, err := c.do(ctx, method, path, body, header)
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

func (c *Client) do(ctx context.Context, method, path string, body io.Reader, header map[string]string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.Base+path, body)
	if err != nil {
		return nil, err
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	req.Header.Set("User-Agent", "jackline/"+c.Version)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, jackline.E("client", jackline.Unavailable, err, "The Jackline server at %s cannot be reached.", c.Base)
	}
	if resp.StatusCode < 400 {
		return resp, nil
	}
	defer resp.Body.Close()
	p := &Problem{Status: resp.StatusCode}
	const most = 64 << 10
	b, _ := io.ReadAll(io.LimitReader(resp.Body, most))
	if json.Unmarshal(b, p) != nil || p.Detail == "" {
		p.Detail = fmt.Sprintf("The server answered %s.", resp.Status)
	}
	return nil, p
}

// Ready is the type of the event that says that the log up to now was sent. Each connection has one; it is in no log.
const Ready = "ready"

// Events follows the events of a chat, from the one after the cursor on, and gives each to f until f says no more, or
// ctx ends. A broken connection is taken up again where it broke.
func (c *Client) Events(ctx context.Context, s jackline.SessionID, after int64, f func(jackline.Event) (more bool, err error)) error {
	tries := 0
	for {
		got := false
		err := c.stream(ctx, SessionPath(s)+"/events", after, func(id int64, ev jackline.Event) (bool, error) {
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

func (c *Client) stream(ctx context.Context, path string, after int64, f func(int64, jackline.Event) (bool, error)) error {
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

// CreateSession makes a chat. in may have workspace, mode, model and title.
func (c *Client) CreateSession(ctx context.Context, in map[string]any) (jackline.Session, error) {
	return Ask[jackline.Session](ctx, c, http.MethodPost, "/api/sessions", in)
}

// Taken is the answer to a new turn.
type Taken struct {
	Turn    jackline.Turn `json:"turn"`
	Queued  bool          `json:"queued"`
	Steered bool          `json:"steered"`
}

// Begun is a chat that was begun, with its first turn.
type Begun struct {
	Session jackline.Session `json:"session"`
	Turn    jackline.Turn    `json:"turn"`
}

// Begin makes a chat with its first turn. in may have what [Client.CreateSession] and [Client.Submit] take, but for files.
func (c *Client) Begin(ctx context.Context, in map[string]any) (Begun, error) {
	return Ask[Begun](ctx, c, http.MethodPost, "/api/turns", in)
}

// Submit puts a turn into a chat.
func (c *Client) Submit(ctx context.Context, s jackline.SessionID, body map[string]any) (Taken, error) {
	return Ask[Taken](ctx, c, http.MethodPost, SessionPath(s)+"/turns", body)
}

// Approval is one card.
func (c *Client) Approval(ctx context.Context, id jackline.ApprovalID) (jackline.Approval, error) {
	return Ask[jackline.Approval](ctx, c, http.MethodGet, "/api/tools/approvals/"+url.PathEscape(string(id)), nil)
}

// Cards are the approvals and questions of a turn that are open, the oldest first.
func (c *Client) Cards(ctx context.Context, s jackline.SessionID, turn jackline.TurnID) ([]jackline.Approval, error) {
	rows, err := Ask[[]jackline.Approval](ctx, c, http.MethodGet, "/api/tools/approvals?session="+url.QueryEscape(string(s)), nil)
	return slices.DeleteFunc(rows, func(a jackline.Approval) bool { return a.Turn != turn }), err
}

// Answer settles a card: {approved, scope, args, reason}, {answers} or {declined}.
func (c *Client) Answer(ctx context.Context, id jackline.ApprovalID, body map[string]any) (jackline.Approval, error) {
	return Ask[jackline.Approval](ctx, c, http.MethodPost, "/api/tools/approvals/"+url.PathEscape(string(id)), body)
}

// An AnsweredRow is what became of one answer among several.
type AnsweredRow struct {
	ID      jackline.ApprovalID `json:"id"`
	Problem *Problem            `json:"problem"` // nil where the answer counts
}

// AnswerAll answers several questions, each by itself.
func (c *Client) AnswerAll(ctx context.Context, answers []map[string]any) ([]AnsweredRow, error) {
	return Ask[[]AnsweredRow](ctx, c, http.MethodPost, "/api/tools/approvals", map[string]any{"answers": answers})
}

// Stop ends the turn that runs or waits in a chat.
func (c *Client) Stop(ctx context.Context, s jackline.SessionID) error {
	return c.Call(ctx, http.MethodPost, SessionPath(s)+"/stop", map[string]any{}, nil)
}

// Turns are those of a chat, the oldest first.
func (c *Client) Turns(ctx context.Context, s jackline.SessionID) ([]jackline.Turn, error) {
	return Ask[[]jackline.Turn](ctx, c, http.MethodGet, SessionPath(s)+"/turns", nil)
}

// A SessionRow is a session as the list shows it.
type SessionRow struct {
	jackline.Session
	Status string `json:"status"`
	Last   string `json:"last"`
}

// Sessions are the chats that were worked in last, all or those in which search is found. Limit 0 leaves it to the server.
func (c *Client) Sessions(ctx context.Context, search string, limit int) ([]SessionRow, error) {
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
	return Ask[[]SessionRow](ctx, c, http.MethodGet, path, nil)
}

// LastEvent is the cursor behind everything that has happened in a chat.
func (c *Client) LastEvent(ctx context.Context, s jackline.SessionID) (int64, error) {
	var last int64
	err := c.stream(ctx, SessionPath(s)+"/events?tail=true", 0, func(_ int64, ev jackline.Event) (bool, error) {
		if ev.Type == Ready {
			var b struct {
				ID int64 `json:"id"`
			}
			err := json.Unmarshal(ev.Data, &b)
			last = b.ID
			return false, err
		}
		return true, nil
	})
	return last, err
}

// Newest is the chat that was talked in last, in a folder or anywhere. Chats of tools that were run by hand, and chats in which
// nothing was said yet, are no talk to go on with.
func (c *Client) Newest(ctx context.Context, dir string) (s jackline.Session, ok bool, err error) {
	const page = 50
	q := url.Values{"limit": {strconv.Itoa(page)}}
	if dir != "" {
		q.Set("workspace", dir)
	}
	for {
		rows, err := Ask[[]SessionRow](ctx, c, http.MethodGet, "/api/sessions?"+q.Encode(), nil)
		if err != nil || len(rows) == 0 {
			return s, false, err
		}
		for _, r := range rows {
			if r.Last != "" {
				return r.Session, true, nil
			}
		}
		q.Set("before", rows[len(rows)-1].Updated.Format(time.RFC3339Nano))
	}
}

// LastTurn is the turn with which a chat can be gone on, if it can: the server knows.
func (c *Client) LastTurn(ctx context.Context, s jackline.SessionID) (jackline.TurnID, error) {
	turns, err := c.Turns(ctx, s)
	if err != nil {
		return "", err
	}
	for _, t := range slices.Backward(turns) {
		if t.Parent == "" && t.Status != jackline.Queued {
			return t.ID, nil
		}
	}
	return "", jackline.E("client", jackline.Invalid, nil, "The chat has no turn to go on with; say what is to be done.")
}

// SessionPath is where a chat is in the API.
func SessionPath(s jackline.SessionID) string { return "/api/sessions/" + url.PathEscape(string(s)) }

// Ask makes a request whose answer is a T.
func Ask[T any](ctx context.Context, c *Client, method, path string, in any) (T, error) {
	var out T
	err := c.Call(ctx, method, path, in, &out)
	return out, err
}
