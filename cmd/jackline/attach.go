package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

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
	id := jackline.SessionID(session)
	if id == "" {
		s, ok, err := c.newest(ctx, "")
		if err != nil {
			return err
		}
		if !ok {
			return jackline.E("attach", jackline.NotFound, nil, "That server has no chat yet.")
		}
		id = s.ID
	}
	t := m.terminal()
	t.stream, t.quiet = t.interactive, m.quiet
	if t.interactive {
		t.lines = readLines(m.In)
	}
	stopWatch := m.onSignal(func(os.Signal) { leave(&exit{exitInterrupted, nil}) })
	defer stopWatch()
	err = m.watch(ctx, c, t, id)
	var e *exit
	if err != nil && errors.As(context.Cause(ctx), &e) {
		return e
	}
	return err
}

// watch follows the turns of a chat from where they are now, until none is under way or one waits for somebody else.
func (m *Main) watch(ctx context.Context, c *client, t *terminal, id jackline.SessionID) error {
	after, err := c.lastEvent(ctx, id)
	if err != nil {
		return err
	}
	for seen := false; ; seen = true {
		turns, err := c.turns(ctx, id)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(turns, func(tn jackline.Turn) bool { return !tn.Status.Over() })
		if at < 0 {
			if len(turns) > 0 && !seen {
				fmt.Fprintln(m.Out, plain(turns[len(turns)-1].Answer))
			}
			return nil
		}
		f := following{session: id, turn: turns[at].ID, after: after, waits: turns[at].Status == jackline.Waiting}
		cards, err := c.cards(ctx, id, f.turn)
		if err != nil {
			return err
		}
		for _, a := range cards {
			f.open = append(f.open, a.ID)
		}
		// A turn that waits and has no card was answered just now.
		w := watched{waiting: f.open}
		if t.interactive || !f.waits || len(f.open) == 0 {
			if w, err = t.follow(ctx, c, f); err != nil {
				return err
			}
		}
		if w.end == nil {
			for _, a := range w.waiting {
				fmt.Fprintf(m.Err, "jackline: waits for an answer: %s\n", plain(string(a)))
			}
			return &exit{exitWaiting, nil}
		}
		t.finish(w)
		if w.end.Status != jackline.Done && w.end.Reason != "" {
			fmt.Fprintln(m.Err, "jackline: "+plain(w.end.Reason))
		}
		after = w.after
	}
}

// finish shows what is missing of the answer of a turn that was watched to its end: it may have begun before.
func (t *terminal) finish(w watched) {
	answer, said := strings.TrimSpace(w.end.Answer), strings.TrimSpace(w.said)
	if rest, ok := strings.CutPrefix(answer, said); ok {
		fmt.Fprint(t.out, plain(rest))
	} else if head, ok := strings.CutSuffix(answer, said); ok {
		fmt.Fprintln(t.out)
		t.say("%s\n", t.paint("2", "  (before that: "+plain(head)+")"))
		return
	}
	fmt.Fprintln(t.out)
}
