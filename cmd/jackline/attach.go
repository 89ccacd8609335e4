package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
)

func (m *Main) attachCmd() *cobra.Command {
	var token, session string
	cmd := &cobra.Command{
		Use: "attach URL", Short: "Watch and answer on a running server", Args: cobra.ExactArgs(1),
		Long: "Watch the newest chat (or --session) of a server, and answer its cards. The token is the one in the file `token` of its data folder; give it with\n--token-env.",
		RunE: func(cmd *cobra.Command, args []string) error { return m.attach(cmd.Context(), args[0], token, session) },
	}
	cmd.Flags().StringVar(&token, "token-env", "JACKLINE_TOKEN", "name of the environment variable that holds the server's token")
	cmd.Flags().StringVar(&session, "session", "", "the chat (default: the newest)")
	return cmd
}

func (m *Main) attach(ctx context.Context, address, tokenEnv, session string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return terminal.Usage("%q is no address like http://127.0.0.1:7717", address)
	}
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	c := &client.Client{Base: u.Scheme + "://" + u.Host, Token: m.Env(tokenEnv), Version: buildVersion(), HTTP: client.HTTP()}
	if c.Token == "" {
		conf, err := settings.Load(m.Env, m.flags)
		if err != nil {
			return err
		}
		m.warn(conf.Warnings)
		// This machine's token goes to this machine's server and nowhere else.
		own := client.Running(ctx, conf.Places.Data, buildVersion())
		if own == nil || own.Base != c.Base {
			return terminal.Usage("%s is not set; it must hold the token of the server at %s", tokenEnv, c.Base)
		}
		c = own
	}
	id := jackline.SessionID(session)
	if id == "" {
		s, ok, err := c.Newest(ctx, "")
		if err != nil {
			return err
		}
		if !ok {
			return jackline.E("attach", jackline.NotFound, nil, "That server has no chat yet.")
		}
		id = s.ID
	}
	t := m.terminal()
	t.Stream, t.Quiet = t.Interactive, m.quiet
	if t.Interactive {
		t.Lines = terminal.ReadLines(m.In)
	}
	stopWatch := m.onSignal(func(os.Signal) { leave(&terminal.Exit{Code: terminal.ExitInterrupted, Err: nil}) })
	defer stopWatch()
	err = m.watch(ctx, c, t, id)
	var e *terminal.Exit
	if err != nil && errors.As(context.Cause(ctx), &e) {
		return e
	}
	return err
}

// watch follows the turns of a chat from where they are now, until none is under way or one waits for somebody else.
func (m *Main) watch(ctx context.Context, c *client.Client, t *terminal.Terminal, id jackline.SessionID) error {
	after, err := c.LastEvent(ctx, id)
	if err != nil {
		return err
	}
	for seen := false; ; seen = true {
		turns, err := c.Turns(ctx, id)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(turns, func(tn jackline.Turn) bool { return !tn.Status.Over() })
		if at < 0 {
			if len(turns) > 0 && !seen {
				fmt.Fprintln(m.Out, terminal.Plain(turns[len(turns)-1].Answer))
			}
			return nil
		}
		f := terminal.Following{Session: id, Turn: turns[at].ID, After: after, Waits: turns[at].Status == jackline.Waiting}
		cards, err := c.Cards(ctx, id, f.Turn)
		if err != nil {
			return err
		}
		for _, a := range cards {
			f.Open = append(f.Open, a.ID)
		}
		// A turn that waits and has no card was answered just now.
		w := terminal.Watched{Waiting: f.Open}
		if t.Interactive || !f.Waits || len(f.Open) == 0 {
			if w, err = t.Follow(ctx, c, f); err != nil {
				return err
			}
		}
		if w.End == nil {
			for _, a := range w.Waiting {
				fmt.Fprintf(m.Err, "jackline: waits for an answer: %s\n", terminal.Plain(string(a)))
			}
			return &terminal.Exit{Code: terminal.ExitWaiting, Err: nil}
		}
		t.Finish(w)
		if w.End.Status != jackline.Done && w.End.Reason != "" {
			fmt.Fprintln(m.Err, "jackline: "+terminal.Plain(w.End.Reason))
		}
		after = w.After
	}
}
