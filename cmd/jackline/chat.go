package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
)

type chatOptions struct {
	dir, mode, cont string
}

func (m *Main) chatCmd() *cobra.Command {
	var o chatOptions
	cmd := &cobra.Command{
		Use: "chat", Short: "Chat on the terminal", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.chat(cmd.Context(), o) },
	}
	f := cmd.Flags()
	f.StringVarP(&o.dir, "dir", "C", "", "the workspace")
	f.StringVar(&o.mode, "mode", "", "what runs unasked: "+strings.Join(jackline.Modes(), ", "))
	f.StringVar(&o.cont, "continue", "", "go on with a chat: its id, or the newest one of the workspace")
	f.Lookup("continue").NoOptDefVal = "last"
	m.engineFlags(cmd)
	return cmd
}

const chatHelp = `Write what you want done. While a turn runs, a line you type is queued.
  /steer WORDS   tell the running turn something now
  /stop          stop the running turn
  /mode MODE     change what runs unasked
  /plan WORDS    look and plan only
  /guide WORDS   answer in words only
  /offline WORDS do without the web
  /new           begin a new chat
  /quit          leave
`

func (m *Main) chat(ctx context.Context, o chatOptions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	conn, err := m.connect(ctx, m.ownEngine())
	if err != nil {
		return err
	}
	defer conn.close()
	c := conn.client
	t := m.terminal()
	t.Stream, t.Quiet, t.Interactive = true, false, true
	t.Lines = terminal.ReadLines(m.In)
	s, err := m.session(ctx, c, runOptions{dir: o.dir, mode: o.mode, cont: o.cont})
	if err != nil {
		return err
	}
	fmt.Fprintf(m.Err, "%s  %s  (%s; /help)\n", t.Paint("1", "jackline"), terminal.Plain(s.Workspace), s.Mode)

	var running atomic.Pointer[jackline.SessionID] // the chat in which a turn runs
	stopWatch := m.onSignal(func(sig os.Signal) {
		id := running.Swap(nil) // the second one leaves
		if sig == syscall.SIGTERM || id == nil {
			cancel(&terminal.Exit{Code: terminal.ExitInterrupted, Err: nil})
			return
		}
		if err := c.Stop(ctx, *id); err != nil {
			cancel(&terminal.Exit{Code: terminal.ExitInterrupted, Err: nil})
		}
	})
	defer stopWatch()
	lines := t.Lines // who follows a turn forgets them once they have ended, and here that is the end
	for {
		fmt.Fprint(m.Err, t.Paint("1;34", "> "))
		var line string
		var ok bool
		select {
		case line, ok = <-lines:
			if !ok {
				fmt.Fprintln(m.Err)
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		body, quit, err := m.line(ctx, c, &s, line)
		if err != nil {
			fmt.Fprintln(m.Err, terminal.Sentence(err))
		}
		if quit {
			return nil
		}
		if body == nil {
			continue
		}
		id := s.ID
		running.Store(&id)
		quit, err = m.turn(ctx, c, t, s.ID, body)
		if err != nil {
			var e *terminal.Exit
			if errors.As(context.Cause(ctx), &e) {
				conn.interrupted()
				return e
			}
			fmt.Fprintln(m.Err, terminal.Sentence(err))
		}
		running.Store(nil)
		if quit {
			return nil
		}
	}
}

// line makes a prompt of what was typed, or does what a command says: then there is no prompt.
func (m *Main) line(ctx context.Context, c *client.Client, s *jackline.Session, line string) (body map[string]any, quit bool, err error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch word {
	case "":
		return nil, false, nil
	case "/quit", "/exit":
		return nil, true, nil
	case "/help":
		fmt.Fprint(m.Err, chatHelp)
		return nil, false, nil
	case "/stop":
		fmt.Fprintln(m.Err, "Nothing runs.")
		return nil, false, nil
	case "/mode":
		changed, err := client.Ask[jackline.Session](ctx, c, http.MethodPatch, client.SessionPath(s.ID), map[string]any{"mode": rest})
		if err == nil {
			*s = changed
			fmt.Fprintf(m.Err, "Mode %s.\n", s.Mode)
		}
		return nil, false, err
	case "/new":
		fresh, err := m.session(ctx, c, runOptions{dir: s.Workspace, mode: s.Mode.String()})
		if err == nil {
			*s = fresh
		}
		return nil, false, err
	}
	return prompt(line), false, nil
}

// prompt is what a line asks for.
func prompt(line string) map[string]any {
	body := map[string]any{"onAsk": "wait", "tz": localZone(), "prompt": line}
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch word {
	case "/plan":
		body["plan"], body["prompt"] = true, rest
	case "/guide":
		body["guide"], body["prompt"] = true, rest
	case "/steer":
		body["when"], body["prompt"] = "steer", rest
	case "/offline":
		body["offline"], body["prompt"] = true, rest
	}
	return body
}

// turn takes one prompt, and those that were queued meanwhile, to their answers. quit says that the person wants to leave then.
func (m *Main) turn(ctx context.Context, c *client.Client, t *terminal.Terminal, s jackline.SessionID, body map[string]any) (quit bool, err error) {
	after, err := c.LastEvent(ctx, s)
	if err != nil {
		return false, err
	}
	tk, err := c.Submit(ctx, s, body)
	if err != nil {
		return false, err
	}
	queue := []jackline.TurnID{tk.Turn.ID}
	for len(queue) > 0 {
		w, err := t.Follow(ctx, c, terminal.Following{Session: s, Turn: queue[0], After: after, Typed: func(line string) {
			more, leave, err := m.typed(ctx, c, s, line)
			quit = quit || leave
			if err != nil {
				fmt.Fprintln(m.Err, terminal.Sentence(err))
				return
			}
			if more != "" {
				queue = append(queue, more)
			}
		}})
		if err != nil {
			return quit, err
		}
		after, queue = w.After, queue[1:]
		fmt.Fprintln(t.Out)
		if w.End == nil { // what was typed has ended
			for _, id := range w.Waiting {
				fmt.Fprintf(m.Err, "jackline: waits for an answer: jackline approve yes %s\n", terminal.Plain(string(id)))
			}
			return true, nil
		}
		if w.End.Status != jackline.Done && w.End.Reason != "" {
			fmt.Fprintln(m.Err, t.Paint("33", terminal.Plain(w.End.Reason)))
		}
	}
	return quit, nil
}

// typed is a line that came while a turn runs. It returns the turn that it queued, if it did, and whether the person wants to leave.
func (m *Main) typed(ctx context.Context, c *client.Client, s jackline.SessionID, line string) (more jackline.TurnID, leave bool, err error) {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch word {
	case "":
		return "", false, nil
	case "/stop":
		return "", false, c.Stop(ctx, s)
	case "/quit", "/exit":
		fmt.Fprintln(m.Err, "  (leaves when this is done; /stop ends it now)")
		return "", true, nil
	case "/help":
		fmt.Fprint(m.Err, chatHelp)
		return "", false, nil
	case "/mode", "/new":
		fmt.Fprintf(m.Err, "  (%s has to wait until the turn has ended; /stop ends it now)\n", word)
		return "", false, nil
	}
	tk, err := c.Submit(ctx, s, prompt(line))
	if err != nil || tk.Steered {
		return "", false, err
	}
	fmt.Fprintln(m.Err, "  (queued)")
	return tk.Turn.ID, false, nil
}

// localZone is the machine's time zone by name, or "" where it has none.
func localZone() string {
	if n := time.Local.String(); n != "Local" && n != "" { //nolint:gosmopolitan // the person's own zone is what is wanted
		return n
	}
	if link, err := os.Readlink("/etc/localtime"); err == nil {
		if _, zone, ok := strings.Cut(link, "zoneinfo/"); ok {
			return zone
		}
	}
	return ""
}
