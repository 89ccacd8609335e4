package main

import (
	"context"
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
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
		return usage("%q is no address like http://127.0.0.1:7717", address)
	}
	ctx, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	c := &client{base: u.Scheme + "://" + u.Host, token: m.Env(tokenEnv), http: plainHTTP()}
	if c.token == "" {
		conf, err := loadConfig(m.Env, m.flags)
		if err != nil {
			return err
		}
		// This machine's token goes to this machine's server and nowhere else.
		own := running(ctx, conf.places.data)
		if own == nil || own.base != c.base {
			return usage("%s is not set; it must hold the token of the server at %s", tokenEnv, c.base)
		}
		c = own
	}
	rows, err := c.sessions(ctx, "", "", 1)
	if err != nil {
		return err
	}
	id := jackline.SessionID(session)
	if id == "" {
		if len(rows) == 0 {
			return jackline.E("attach", jackline.NotFound, nil, "That server has no chat yet.")
		}
		id = rows[0].ID
	}
	t := m.terminal()
	t.stream, t.quiet = true, false
	if t.interactive {
		t.lines = readLines(m.In)
	}
	stopWatch := m.onSignal(func(os.Signal) { leave(&exit{exitInterrupted, nil}) })
	defer stopWatch()
	var after int64
	for {
		turns, err := c.turns(ctx, id)
		if err != nil {
			return err
		}
		open := jackline.TurnID("")
		for _, tn := range turns {
			if !tn.Status.Over() {
				open = tn.ID
				break
			}
		}
		if open == "" {
			if len(turns) > 0 {
				fmt.Fprintln(m.Out, plain(turns[len(turns)-1].Answer))
			}
			return nil
		}
		w, err := t.follow(ctx, c, id, open, after, nil, nil)
		if err != nil {
			return err
		}
		fmt.Fprintln(m.Out)
		if w.end == nil {
			return &exit{exitWaiting, nil}
		}
		after = w.after
	}
}
