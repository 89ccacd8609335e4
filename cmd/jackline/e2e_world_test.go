package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/script"
)

// This file is what the end-to-end tests stand on: homes, servers and commands that are the real program, and an HTTP
// client that shares nothing with it but the nouns.

// A home is a data folder and a workspace of its own, with an engine for its model.
type home struct {
	t       testing.TB
	dir, ws string
	env     map[string]string
}

// newHome makes a home whose model is at engine and calls tools in mode.
func newHome(t testing.TB, engine, mode string) *home {
	t.Helper()
	dir := t.TempDir()
	h := &home{t: t, dir: filepath.Join(dir, "home"), ws: filepath.Join(dir, "ws")}
	if err := os.MkdirAll(h.ws, 0o755); err != nil {
		t.Fatal(err)
	}
	h.env = map[string]string{
		"JACKLINE_HOME": h.dir, "HOME": filepath.Join(dir, "user"), "NO_COLOR": "1", "CI": "", "PATH": os.Getenv("PATH"),
		"JACKLINE_BASE_URL": engine, "JACKLINE_MODEL": "script", "JACKLINE_TOOL_MODE": mode,
	}
	return h
}

func (h *home) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.ws, name), []byte(text), 0o644); err != nil {
		h.t.Fatal(err)
	}
}

func (h *home) read(name string) string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.ws, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

func (h *home) data(name string) string { return filepath.Join(h.dir, "data", name) }

// engine starts a scripted engine.
func engine(t testing.TB, text string) *modeltest.Server {
	t.Helper()
	s, err := script.Parse(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return modeltest.NewServer(t, s, modeltest.LlamaCpp())
}

// A printed is what a program prints: it collects it, and gives the first link in it.
type printed struct {
	mu   sync.Mutex
	text strings.Builder
	link chan string
	told bool
}

func newPrinted() *printed { return &printed{link: make(chan string, 1)} }

var printedLink = regexp.MustCompile(`(http://\S+)/#code=(\S+)\n`)

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Write(b)
	if m := printedLink.FindString(p.text.String()); m != "" && !p.told {
		p.told = true
		p.link <- strings.TrimSpace(m)
	}
	return len(b), nil
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// wait gives the link, or fails with what was said instead.
func (p *printed) wait(t testing.TB, ended <-chan int, stderr func() string) (base, code string) {
	t.Helper()
	select {
	case link := <-p.link:
		base, code, _ = strings.Cut(link, "/#code=")
		return base, code
	case n := <-ended:
		t.Fatalf("the server ended with code %d: %s", n, stderr())
	case <-time.After(patience):
		t.Fatalf("the server does not come up: %s", stderr())
	}
	return "", ""
}

// serve starts the program's own Main in this process and gives a client that has logged in with the printed code.
func (h *home) serve(args ...string) *api {
	h.t.Helper()
	out, errs := newPrinted(), newPrinted()
	signals := make(chan os.Signal, 1)
	m := &Main{
		Args: append([]string{"serve", "--listen", "127.0.0.1:0", "--workspace", h.ws}, args...),
		Env:  func(k string) string { return h.env[k] }, In: strings.NewReader(""), Out: out, Err: errs, Signals: signals,
	}
	ended := make(chan int, 1)
	go func() { ended <- m.Run(context.Background()) }()
	base, code := out.wait(h.t, ended, errs.String)
	h.t.Cleanup(func() {
		signals <- syscall.SIGINT
		select {
		case n := <-ended:
			if n != 0 {
				h.t.Errorf("serve ended with code %d: %s", n, errs)
			}
		case <-time.After(patience):
			h.t.Errorf("serve does not end")
		}
	})
	return logIn(h.t, base, code)
}

// A program is a command that runs as a process of its own.
type program struct {
	t     testing.TB
	cmd   *exec.Cmd
	out   *printed
	errs  *printed
	ended chan int
}

// start starts the program as a process.
func (h *home) start(args ...string) *program {
	h.t.Helper()
	p := &program{t: h.t, out: newPrinted(), errs: newPrinted(), ended: make(chan int, 1)}
	p.cmd = exec.Command("jackline", args...)
	p.cmd.Dir = h.ws
	for k, v := range h.env {
		p.cmd.Env = append(p.cmd.Env, k+"="+v)
	}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.errs
	if err := p.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	var once sync.Once
	wait := func() { once.Do(func() { _ = p.cmd.Wait(); p.ended <- p.cmd.ProcessState.ExitCode() }) }
	go wait()
	h.t.Cleanup(func() { _ = p.cmd.Process.Kill(); wait() })
	return p
}

// startServer starts serve as a process, and logs in.
func (h *home) startServer() (*program, *api) {
	h.t.Helper()
	p := h.start("serve", "--listen", "127.0.0.1:0", "--workspace", h.ws)
	base, code := p.out.wait(h.t, p.ended, p.errs.String)
	return p, logIn(h.t, base, code)
}

// wait waits for the end of the process, and gives its exit code.
func (p *program) wait() int {
	p.t.Helper()
	select {
	case n := <-p.ended:
		p.ended <- n
		return n
	case <-time.After(patience):
		p.t.Fatalf("%v does not end: %s", p.cmd.Args, p.errs)
		return -1
	}
}

// kill ends the process as a power cut would, and waits until it is gone.
func (p *program) kill() {
	p.t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.t.Fatal(err)
	}
	p.wait()
}

// cli runs a command to its end.
func (h *home) cli(args ...string) (code int, stdout, stderr string) {
	h.t.Helper()
	p := h.start(args...)
	code = p.wait()
	return code, p.out.String(), p.errs.String()
}

// eventually polls until f holds.
func eventually(t testing.TB, what string, f func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !f() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("waited too long: %s", what)
		}
	}
}

// An api is a logged-in client.
type api struct {
	t           testing.TB
	base, token string
}

func logIn(t testing.TB, base, code string) *api {
	t.Helper()
	a := &api{t: t, base: base}
	a.token = want[struct{ Token string }](a, 200, "POST", "/api/login", map[string]any{"code": code}).Token
	if a.token == "" {
		t.Fatal("logged in without a token")
	}
	return a
}

// send makes a request and gives its answer, whatever it is.
func (a *api) send(method, path string, in any) (int, []byte) {
	a.t.Helper()
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			a.t.Fatal(err)
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(a.t.Context(), method, a.base+path, body)
	if err != nil {
		a.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.token != "" {
		req.Header.Set("Authorization", "Bearer "+a.token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	return resp.StatusCode, b
}

// want makes a request that must be answered with this status, and decodes the answer.
func want[T any](a *api, status int, method, path string, in any) T {
	a.t.Helper()
	var out T
	got, b := a.send(method, path, in)
	if got != status {
		a.t.Fatalf("%s %s: %d, want %d: %s", method, path, got, status, b)
	}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &out); err != nil {
			a.t.Fatalf("%s %s: %v: %s", method, path, err, b)
		}
	}
	return out
}

func (a *api) session(in map[string]any) jackline.Session {
	a.t.Helper()
	return want[jackline.Session](a, 201, "POST", "/api/sessions", in)
}

func (a *api) prompt(s jackline.SessionID, text string, more map[string]any) jackline.Turn {
	a.t.Helper()
	in := map[string]any{"prompt": text, "onAsk": "wait", "tz": "UTC"}
	maps.Copy(in, more)
	return want[struct{ Turn jackline.Turn }](a, 202, "POST", "/api/sessions/"+string(s)+"/turns", in).Turn
}

func (a *api) turn(s jackline.SessionID, id jackline.TurnID) jackline.Turn {
	a.t.Helper()
	for _, v := range want[[]jackline.Turn](a, 200, "GET", "/api/sessions/"+string(s)+"/turns", nil) {
		if v.ID == id {
			return v
		}
	}
	a.t.Fatalf("the turn %s is gone", id)
	return jackline.Turn{}
}

// settled waits until the turn has ended.
func (a *api) settled(s jackline.SessionID, id jackline.TurnID) jackline.Turn {
	a.t.Helper()
	var v jackline.Turn
	for f := range a.events(s, 0) {
		if f.ev.Turn == id && f.ev.Type == "turn.end" {
			break
		}
	}
	v = a.turn(s, id)
	if !v.Status.Over() {
		a.t.Fatalf("the turn is %s after its end", v.Status)
	}
	return v
}

// cards waits for an open card.
func (a *api) card(s jackline.SessionID) jackline.Approval {
	a.t.Helper()
	var rows []jackline.Approval
	eventually(a.t, "a card", func() bool {
		rows = want[[]jackline.Approval](a, 200, "GET", "/api/tools/approvals?session="+string(s), nil)
		return len(rows) > 0
	})
	return rows[0]
}

func (a *api) answer(id jackline.ApprovalID, in map[string]any) jackline.Approval {
	a.t.Helper()
	return want[jackline.Approval](a, 200, "POST", "/api/tools/approvals/"+string(id), in)
}

// A frame is one server-sent event.
type frame struct {
	id int64
	ev jackline.Event
}

// streamTime is how long a stream may go on. It is long for the race detector on a busy machine, which takes minutes for 50 MB.
const streamTime = 5 * time.Minute

// events follows the log of a session from behind an event on, until the caller has seen enough.
func (a *api) events(s jackline.SessionID, last int64) iter.Seq[frame] {
	return func(yield func(frame) bool) {
		ctx, cancel := context.WithTimeout(a.t.Context(), streamTime)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, "GET", a.base+"/api/sessions/"+string(s)+"/events", nil)
		if err != nil {
			a.t.Error(err)
			return
		}
		req.Header.Set("Authorization", "Bearer "+a.token)
		if last > 0 {
			req.Header.Set("Last-Event-ID", strconv.FormatInt(last, 10))
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			a.t.Error(err)
			return
		}
		defer resp.Body.Close()
		if resp.StatusCode != 200 || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
			a.t.Errorf("the stream answers %s, %s", resp.Status, resp.Header.Get("Content-Type"))
			return
		}
		if err := readFrames(resp.Body, yield); err != nil {
			a.t.Errorf("the stream broke: %v", err)
		}
	}
}

// readFrames reads frames as the standard says: fields in lines, a blank line behind each frame.
func readFrames(r io.Reader, yield func(frame) bool) error {
	in := bufio.NewReaderSize(r, 1<<20)
	var f frame
	var typ, data string
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			if f.id, err = strconv.ParseInt(value, 10, 64); err != nil {
				return err
			}
		case "event":
			typ = value
		case "data":
			data += value
		case "":
			if data == "" {
				continue // a comment
			}
			if err := json.Unmarshal([]byte(data), &f.ev); err != nil {
				return err
			}
			if f.ev.Type != typ || f.ev.ID != f.id {
				return errors.New("the head of a frame is not its event's: " + typ)
			}
			if !yield(f) {
				return nil
			}
			f, typ, data = frame{}, "", ""
		}
	}
}

// body decodes what an event says.
func body[T any](t testing.TB, ev jackline.Event) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(ev.Data, &v); err != nil {
		t.Fatalf("%s: %v: %s", ev.Type, err, ev.Data)
	}
	return v
}

// An export is a session as the API gives it away, all of it.
type export struct {
	Session jackline.Session `json:"session"`
	Turns   []jackline.Turn  `json:"turns"`
	Events  []jackline.Event `json:"events"`
}

func (a *api) export(s jackline.SessionID) export {
	a.t.Helper()
	return want[export](a, 200, "GET", "/api/sessions/"+string(s)+"/export", nil)
}

var (
	someID  = regexp.MustCompile(`\b[stcag]_[0-9a-v]{20}\b`)
	moments = regexp.MustCompile(`"\d{4}-\d\d-\d\dT[0-9:.]+Z"`)
	figures = regexp.MustCompile(`"(ms|first_ms|total_ms|spent_ms|prompt|cached|cached_of|completion|request_chars|used|chars|before|after)":\d+`)
	zeros   = regexp.MustCompile(`,"cached":0`) // which is left out where it is zero
)

// masked writes the export out, a line a thing. Masked are ids (by their order of appearance), times and durations,
// counts of tokens and characters, and the workspace's path. What remains must be the same in every run.
func (e export) masked(t testing.TB) []string {
	t.Helper()
	ids, counts := map[string]string{}, map[string]int{}
	line := func(what string, v any) string {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		s := strings.ReplaceAll(string(b), e.Session.Workspace, "WORKSPACE")
		s = someID.ReplaceAllStringFunc(s, func(id string) string {
			if ids[id] == "" {
				counts[id[:1]]++
				ids[id] = strings.ToUpper(id[:1]) + strconv.Itoa(counts[id[:1]])
			}
			return ids[id]
		})
		s = moments.ReplaceAllString(s, `"TIME"`)
		s = zeros.ReplaceAllString(figures.ReplaceAllString(s, `"$1":0`), "")
		return what + " " + s
	}
	var lines []string
	for k := 0; k < len(e.Events); k++ {
		ev := e.Events[k]
		if ev.ID != int64(k+1) {
			t.Errorf("event %d has the id %d", k+1, ev.ID)
		}
		// How live text is cut into events depends on the clock.
		for ev.Type == "text" && k+1 < len(e.Events) && e.Events[k+1].Type == "text" {
			ev.Data, _ = json.Marshal(jackline.Text{Text: body[jackline.Text](t, ev).Text + body[jackline.Text](t, e.Events[k+1]).Text})
			k++
		}
		lines = append(lines, line(ev.Type, struct {
			Session jackline.SessionID `json:"session"`
			Turn    jackline.TurnID    `json:"turn"`
			Data    json.RawMessage    `json:"data"`
		}{ev.Session, ev.Turn, ev.Data}))
	}
	for _, v := range e.Turns {
		lines = append(lines, line("turn", v))
	}
	return append(lines, line("session", e.Session))
}

// ok fails unless the turn ended well with this answer, in a log without gaps.
func ok(t *testing.T, a *api, s jackline.SessionID, id jackline.TurnID, answer string) export {
	t.Helper()
	if v := a.settled(s, id); v.Status != jackline.Done || v.Answer != answer {
		t.Errorf("the turn ended as %s: %q %s", v.Status, v.Answer, v.Reason)
	}
	e := a.export(s)
	ends := 0
	for k, ev := range e.Events {
		if ev.ID != int64(k+1) {
			t.Errorf("event %d has the id %d", k+1, ev.ID)
		}
		if ev.Type == "turn.end" && ev.Turn == id {
			ends++
		}
	}
	if ends != 1 {
		t.Errorf("the turn ends %d times", ends)
	}
	return e
}
