package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
)

// maxStdin bounds what is piped into a prompt. More belongs in a file of the workspace.
const maxStdin = 256 << 10

type runOptions struct {
	dir       string
	cont      string // session to go on with; "last" for the newest of the workspace
	output    string
	mode      string
	onAsk     string
	allow     []string
	attach    []string // files that go with the task
	maxSteps  int
	maxTokens int
	maxTime   time.Duration
	plan      bool
	guide     bool
	offline   bool
}

// engineFlags are the settings of the model. With one of them given a command runs in its own process, since a running server has its own
// model.
func (m *Main) engineFlags(cmd *cobra.Command) {
	m.setting(cmd, "model", "model.name", "the model: its name, or ENGINE/NAME; script:FILE plays a transcript")
	m.setting(cmd, "base-url", "model.baseUrl", "address of an engine; then none is looked for")
	m.setting(cmd, "api", "model.api", "what that engine speaks: auto, ollama, openai, anthropic, responses")
	m.setting(cmd, "api-key-env", "model.apiKeyEnv", "name of the environment variable that holds the engine's key")
	m.setting(cmd, "tool-mode", "model.toolMode", "how the model calls tools: auto, native, envelope, text")
	m.setting(cmd, "window", "model.window", "context size in tokens")
	m.setting(cmd, "think", "model.think", "whether the model reasons first: off, on, low, medium, high")
}

func (m *Main) ownEngine() bool {
	for path := range m.flags {
		if strings.HasPrefix(path, "model.") {
			return true
		}
	}
	return false
}

func (m *Main) runCmd() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use: `run "task"`, Short: "Do one task and print the answer",
		Long: "Do one task and print the answer on standard output; everything else goes to standard error.\n" +
			"The task is read from standard input when it is - or missing; piped text beside a task goes along as a file\n" +
			"does: as somebody else's words.\n\n" +
			"Exit codes: 0 done; 1 failed; 2 wrong usage; 3 waits for a person, or went on without one; 4 step, time or token\n" +
			"limit; 5 no model; 6 --on-ask fail met something that nobody may allow; 130, 143 interrupted.",
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, piped, err := m.prompt(args)
			if err != nil {
				return err
			}
			if prompt == "" && o.cont == "" {
				return terminal.Usage(`there is no task: jackline run "what is to be done"`)
			}
			return m.run(cmd.Context(), prompt, piped, o)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.dir, "dir", "C", "", "the workspace: the folder that may be touched (default: the configured one)")
	f.StringVar(&o.cont, "continue", "", "go on with a chat: its id, or the newest one of the workspace; without a task, with its last turn")
	f.Lookup("continue").NoOptDefVal = "last"
	f.StringVar(&o.output, "output", "text", "text, json (one object) or jsonl (all events)")
	f.StringVar(&o.mode, "mode", "", "what runs unasked: "+strings.Join(jackline.Modes(), ", "))
	f.StringVar(&o.onAsk, "on-ask", "", "what a question becomes without a person: deny, fail, wait")
	f.StringArrayVar(&o.allow, "allow", nil, "allow what a rule names, for this task: 'shell(npm test*)'")
	f.StringArrayVar(&o.attach, "attach", nil, "a file that goes with the task: a text, or a picture for a model that sees; may be given again")
	f.IntVar(&o.maxSteps, "max-steps", 0, "model requests the task may take; 1 turns tools off")
	f.BoolVar(&o.plan, "plan", false, "look, and say what would be done; changes are refused")
	f.BoolVar(&o.guide, "guide", false, "answer in words, without tools")
	f.BoolVar(&o.offline, "offline", false, "without tools that reach the network")
	m.engineFlags(cmd)
	f.IntVar(&o.maxTokens, "max-tokens", 0, "tokens the task may use")
	f.DurationVar(&o.maxTime, "max-time", 0, "time the task may run, as in 10m")
	return cmd
}

// prompt is the task, from the arguments or else from standard input, and what was piped in beside a task: whoever wrote that is
// not known, so it goes along as a file does. "" is no task.
func (m *Main) prompt(args []string) (task string, piped []localFile, err error) {
	task = strings.TrimSpace(strings.Join(args, " "))
	in := ""
	if !m.Terminal && m.In != nil && (task == "" || task == "-" || pipedIn(m.In)) {
		b, err := io.ReadAll(io.LimitReader(m.In, maxStdin+1))
		if err != nil {
			return "", nil, jackline.E("run", jackline.Invalid, err, "Standard input cannot be read.")
		}
		if len(b) > maxStdin {
			return "", nil, terminal.Usage("standard input holds more than %d bytes; put it into a file of the workspace and name that", maxStdin)
		}
		in = strings.TrimSpace(strings.ToValidUTF8(string(b), "�"))
	}
	if task == "-" {
		task = ""
	}
	switch {
	case task == "":
		return in, nil, nil
	case in == "":
		return task, nil, nil
	}
	return task, []localFile{{name: "standard-input.txt", data: []byte(in)}}, nil
}

// pipedIn reports whether in is a pipe or a file, and not some inherited descriptor that never ends.
func pipedIn(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return true
	}
	st, err := f.Stat()
	return err == nil && (st.Mode()&os.ModeNamedPipe != 0 || st.Mode().IsRegular())
}

// outcome is the one object that run prints with --output json.
type outcome struct {
	Session jackline.SessionID    `json:"session"`
	Turn    jackline.TurnID       `json:"turn"`
	Status  jackline.Status       `json:"status"`
	Answer  string                `json:"answer"`
	Denied  []jackline.DeniedAs   `json:"denied"`
	Changes []jackline.Change     `json:"changes"`
	Usage   jackline.Usage        `json:"usage"`
	Error   *jackline.Problem     `json:"error"`
	Reason  string                `json:"reason,omitempty"`
	Waiting []jackline.ApprovalID `json:"waiting,omitempty"`
}

func (m *Main) run(ctx context.Context, prompt string, piped []localFile, o runOptions) error {
	if o.output != "text" && o.output != "json" && o.output != "jsonl" {
		return terminal.Usage("--output must be text, json or jsonl, not %q", o.output)
	}
	if err := m.warnIdle(o.allow); err != nil {
		return err
	}
	attached, err := files(o.attach, prompt)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conn, err := m.connect(ctx, m.ownEngine())
	if err != nil {
		return m.failedRun(o, err)
	}
	defer conn.close()
	conn.ahead(o.dir)
	c := conn.client
	t := m.terminal()
	if t.Interactive {
		t.Lines = terminal.ReadLines(m.In)
	}
	s, turn, after, err := m.begin(ctx, c, o, o.body(prompt, t.Interactive), append(piped, attached...))
	if err != nil {
		return m.failedRun(o, err)
	}
	if o.output == "jsonl" {
		if err := m.json(map[string]any{"v": jackline.EventVersion, "type": "init", "session": s.ID, "turn": turn, "data": map[string]any{"version": buildVersion(), "workspace": s.Workspace, "mode": s.Mode}}); err != nil {
			return err
		}
	}
	var interrupts atomic.Int32
	stopWatch := m.onSignal(func(sig os.Signal) {
		if sig == syscall.SIGTERM {
			cancel(&terminal.Exit{Code: terminal.ExitTerminated, Err: nil})
			return
		}
		if interrupts.Add(1) > 1 {
			cancel(&terminal.Exit{Code: terminal.ExitInterrupted, Err: nil})
			return
		}
		t.Say("\nStopping; once more to leave at once.\n")
		if err := c.Stop(ctx, s.ID); err != nil {
			cancel(&terminal.Exit{Code: terminal.ExitInterrupted, Err: nil})
		}
	})
	defer stopWatch()
	w, err := t.Follow(ctx, c, terminal.Following{Session: s.ID, Turn: turn, After: after, Each: func(ev jackline.Event) {
		if o.output == "jsonl" && ev.Turn == turn && ev.ID > 0 {
			_ = m.json(ev)
		}
	}})
	if err != nil {
		var e *terminal.Exit
		if errors.As(context.Cause(ctx), &e) {
			conn.interrupted()
			return e
		}
		return m.failedRun(o, err)
	}
	return m.report(ctx, c, o, t, s.ID, turn, w, interrupts.Load() > 0)
}

// after is where the log of the task's chat ends. A new chat has none yet.
func (o runOptions) after(ctx context.Context, c *client.Client, s jackline.SessionID) (int64, error) {
	if o.cont == "" {
		return 0, nil
	}
	return c.LastEvent(ctx, s)
}

// body is the request for the task's turn.
func (o runOptions) body(prompt string, interactive bool) map[string]any {
	body := map[string]any{"prompt": prompt, "plan": o.plan, "guide": o.guide, "offline": o.offline, "tz": localZone()}
	switch {
	case o.onAsk != "":
		body["onAsk"] = o.onAsk
	case interactive:
		body["onAsk"] = jackline.AskWait
	}
	if o.maxSteps != 0 {
		body["max_steps"] = o.maxSteps
	}
	if o.maxTokens != 0 {
		body["max_tokens"] = o.maxTokens
	}
	if o.maxTime != 0 {
		body["max_time_ms"] = o.maxTime.Milliseconds()
	}
	if len(o.allow) > 0 {
		body["allow"] = o.allow
	}
	return body
}

// begin finds or makes the chat that a task belongs to, and puts the task into it. after is where its log ended before.
func (m *Main) begin(ctx context.Context, c *client.Client, o runOptions, body map[string]any, files []localFile) (s jackline.Session, turn jackline.TurnID, after int64, err error) {
	if o.cont == "" && len(files) == 0 { // a new chat is made with its first prompt
		if err := o.newChat(body); err != nil {
			return s, "", 0, err
		}
		begun, err := c.Begin(ctx, body)
		return begun.Session, begun.Turn.ID, 0, usageOf(err)
	}
	if s, err = m.session(ctx, c, o); err != nil {
		return s, "", 0, err
	}
	if body["prompt"] == "" {
		delete(body, "prompt")
		if body["continue"], err = c.LastTurn(ctx, s.ID); err != nil {
			return s, "", 0, err
		}
	}
	if err := attachAll(ctx, c, s.ID, files, body); err != nil {
		return s, "", 0, err
	}
	if after, err = o.after(ctx, c, s.ID); err != nil {
		return s, "", 0, err
	}
	tk, err := c.Submit(ctx, s.ID, body)
	return s, tk.Turn.ID, after, err
}

// session finds or makes the chat to talk in.
func (m *Main) session(ctx context.Context, c *client.Client, o runOptions) (jackline.Session, error) {
	if o.cont != "" {
		dir, err := o.folder()
		if err != nil {
			return jackline.Session{}, err
		}
		return goOn(ctx, c, o, dir)
	}
	in := map[string]any{}
	if err := o.newChat(in); err != nil {
		return jackline.Session{}, err
	}
	s, err := c.CreateSession(ctx, in)
	return s, usageOf(err)
}

// newChat puts into a request what a new chat is to be.
func (o runOptions) newChat(in map[string]any) error {
	dir, err := o.folder()
	if err != nil {
		return err
	}
	if dir != "" {
		in["workspace"] = dir
	}
	if o.mode != "" {
		in["mode"] = o.mode
	}
	return nil
}

// folder is the workspace's folder, or "" for the configured one.
func (o runOptions) folder() (string, error) {
	if o.dir == "" {
		return "", nil
	}
	dir, err := filepath.Abs(o.dir)
	if err != nil {
		return "", terminal.Usage("-C %s: %v", o.dir, err)
	}
	return dir, nil
}

// usageOf makes an answer that refuses the folder or the mode of a new chat a wrong usage: they cannot be meant.
func usageOf(err error) error {
	var p *client.Problem
	if errors.As(err, &p) && p.Status < 500 && p.Status != http.StatusConflict { // that is the kill switch
		return &terminal.Exit{Code: terminal.ExitUsage, Err: p}
	}
	return err
}

// goOn finds the chat to go on with: the one that is named, or the newest of the workspace. A mode that is named holds in it from now on.
func goOn(ctx context.Context, c *client.Client, o runOptions, dir string) (s jackline.Session, err error) {
	if real, err := filepath.EvalSymlinks(dir); err == nil && dir != "" {
		dir = real
	}
	if o.cont == "last" {
		if dir == "" {
			status, err := client.Ask[struct{ Workspace string }](ctx, c, http.MethodGet, "/api/status", nil)
			if err != nil {
				return s, err
			}
			dir = status.Workspace
		}
		found := false
		if s, found, err = c.Newest(ctx, dir); err != nil {
			return s, err
		}
		if !found {
			return s, terminal.Usage("there is no chat to go on with in this workspace")
		}
	} else if s, err = client.Ask[jackline.Session](ctx, c, http.MethodGet, client.SessionPath(jackline.SessionID(o.cont)), nil); err != nil {
		return s, err
	} else if dir != "" && dir != s.Workspace {
		return s, terminal.Usage("that chat works in %s: leave -C out, or begin a new chat", s.Workspace)
	}
	if o.mode == "" || o.mode == s.Mode.String() {
		return s, nil
	}
	return client.Ask[jackline.Session](ctx, c, http.MethodPatch, client.SessionPath(s.ID), map[string]any{"mode": o.mode})
}

// failedRun reports an error that came before or instead of a turn, in the form that was asked for.
func (m *Main) failedRun(o runOptions, err error) error {
	if o.output == "text" {
		return err
	}
	p := jackline.ProblemOf(err)
	var api *client.Problem
	if errors.As(err, &api) {
		p = &jackline.Problem{Kind: api.Kind, Text: api.Detail}
	}
	out := outcome{Status: jackline.Failed, Error: p, Denied: []jackline.DeniedAs{}, Changes: []jackline.Change{}}
	if perr := m.result(o, out); perr != nil {
		return perr
	}
	return err
}

func (m *Main) result(o runOptions, out outcome) error {
	if o.output == "jsonl" {
		return m.json(map[string]any{"v": jackline.EventVersion, "type": "result", "session": out.Session, "turn": out.Turn, "data": out})
	}
	return m.json(out)
}

// report prints what came of the turn and gives the exit code.
func (m *Main) report(ctx context.Context, c *client.Client, o runOptions, t *terminal.Terminal, s jackline.SessionID, id jackline.TurnID, w terminal.Watched, interrupted bool) error {
	out := outcome{Session: s, Turn: id, Status: jackline.Waiting, Denied: []jackline.DeniedAs{}, Changes: []jackline.Change{}, Waiting: w.Waiting}
	turns, err := c.Turns(ctx, s)
	if err != nil {
		return err
	}
	for _, turn := range turns {
		if turn.ID == id {
			out.Status, out.Answer, out.Usage, out.Reason = turn.Status, turn.Answer, turn.Usage, turn.Reason
		}
	}
	if w.End != nil {
		out.Denied, out.Changes, out.Error = w.End.Denied, w.End.Changes, w.End.Error
		if out.Status == jackline.Failed && out.Error == nil {
			out.Error = &jackline.Problem{Kind: "failed", Text: w.End.Reason}
		}
	}
	if o.output != "text" {
		if err := m.result(o, out); err != nil {
			return err
		}
	} else if out.Answer != "" && !t.Stream {
		if _, err := fmt.Fprintln(m.Out, strings.TrimRight(terminal.Plain(out.Answer), "\n")); err != nil {
			return &terminal.Exit{Code: terminal.ExitFailed, Err: fmt.Errorf("the answer could not be written: %w", err)}
		}
	}
	for _, d := range out.Denied {
		fmt.Fprintf(m.Err, "jackline: %s: %s (%s)\n", d.Outcome, terminal.Plain(d.Title), terminal.Plain(d.By))
	}
	if o.output == "text" && out.Status != jackline.Done && out.Reason != "" {
		fmt.Fprintln(m.Err, "jackline: "+terminal.Plain(out.Reason))
	}
	return m.exitOf(out, interrupted)
}

// exitOf is the exit code of a turn.
func (m *Main) exitOf(out outcome, interrupted bool) error {
	code := terminal.ExitFailed
	switch out.Status {
	case jackline.Done:
		code = terminal.ExitOK
		for _, d := range out.Denied {
			if d.By == jackline.ByNobody {
				code = terminal.ExitWaiting
			}
		}
	case jackline.Waiting, jackline.Queued, jackline.Running:
		code = terminal.ExitWaiting
		for _, id := range out.Waiting {
			fmt.Fprintf(m.Err, "jackline: waits for an answer: jackline approve yes %s\n", terminal.Plain(string(id)))
		}
	case jackline.StepLimit:
		code = terminal.ExitLimit
	case jackline.Stopped:
		if interrupted {
			code = terminal.ExitInterrupted
		}
	case jackline.Failed, jackline.Interrupted:
		if out.Error != nil {
			switch out.Error.Kind {
			case "ask":
				code = terminal.ExitWaiting
			case "refused":
				code = terminal.ExitRefused
			case jackline.Unavailable.String(), jackline.NoModel.String(), jackline.Forbidden.String(): // the last: it wants a key
				code = terminal.ExitNoModel
			case jackline.Invalid.String():
				code = terminal.ExitUsage
			}
		}
	}
	if code == terminal.ExitOK {
		return nil
	}
	return &terminal.Exit{Code: code, Err: nil}
}

// onSignal calls f for each signal until the returned function is called, which waits for the last call of f to end.
func (m *Main) onSignal(f func(os.Signal)) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case s := <-m.Signals:
				f(s)
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// OnSignal implements models.Program.
func (m *Main) OnSignal(f func(os.Signal)) (stop func()) { return m.onSignal(f) }
