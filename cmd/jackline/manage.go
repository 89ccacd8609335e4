package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/chats"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/engines"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/store"
	"github.com/jackline-ai/jackline/store/chain"
)

// with runs f with a client.
func (m *Main) with(cmd *cobra.Command, f func(context.Context, *client.Client) error) error {
	conn, err := m.connect(cmd.Context(), false)
	if err != nil {
		return err
	}
	defer conn.close()
	return f(cmd.Context(), conn.client)
}

// With implements models.Program.
func (m *Main) With(cmd *cobra.Command, f func(context.Context, *client.Client) error) error {
	return m.with(cmd, f)
}

func (m *Main) table() *tabwriter.Writer { return tabwriter.NewWriter(m.Out, 0, 4, 2, ' ', 0) }

func (m *Main) stopCmd() *cobra.Command {
	all, lift := false, false
	cmd := &cobra.Command{
		Use: "stop [SESSION]", Short: "Stop a chat's turn, or everything", Args: cobra.MaximumNArgs(1),
		Long: "Stop the running turn of a chat. --all is the kill switch: it stops all turns and keeps anything that could act from running until\n" +
			"a person lifts it with --lift. It holds across restarts.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				switch {
				case all == lift && len(args) == 0, all && lift, (all || lift) && len(args) > 0:
					return terminal.Usage("name one chat, or --all, or --lift")
				case all, lift:
					body := map[string]any{}
					if lift {
						body["lift"] = true
					}
					r, err := client.Ask[struct {
						Killed  bool              `json:"killed"`
						Stopped []jackline.TurnID `json:"stopped"`
					}](ctx, c, http.MethodPost, "/api/stop", body)
					if err != nil {
						return err
					}
					if r.Killed {
						fmt.Fprintf(m.Out, "Stopped %d turns. Nothing that could act will run until: jackline stop --lift\n", len(r.Stopped))
					} else {
						fmt.Fprintln(m.Out, "Lifted.")
					}
					return nil
				}
				return c.Stop(ctx, jackline.SessionID(args[0]))
			})
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "throw the kill switch")
	cmd.Flags().BoolVar(&lift, "lift", false, "lift the kill switch")
	return cmd
}

// auditKeys are the keys of the audit in the data folder.
func (m *Main) auditKeys() (chain.Keys, error) {
	conf, err := settings.Load(m.Env, m.flags)
	if err != nil {
		return chain.Keys{}, &terminal.Exit{Code: terminal.ExitUsage, Err: err}
	}
	return store.AuditKeys(conf.Places.Data)
}

func (m *Main) sessionsCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "sessions", Short: "The chats"}
	var upTo string
	fork := m.oneSession("fork SESSION", "Copy a chat, to go on another way", func(ctx context.Context, c *client.Client, id jackline.SessionID) error {
		body := map[string]any{}
		if upTo != "" {
			body["turn"] = upTo
		}
		s, err := client.Ask[jackline.Session](ctx, c, http.MethodPost, client.SessionPath(id)+"/fork", body)
		if err == nil {
			fmt.Fprintln(m.Out, s.ID)
		}
		return err
	})
	fork.Flags().StringVar(&upTo, "turn", "", "the last turn to copy (default: all)")
	cmd.AddCommand(
		m.listSessions("list", "List the newest chats", cobra.NoArgs),
		m.listSessions("search WORDS", "Search titles, prompts and answers", cobra.MinimumNArgs(1)),
		m.oneSession("show SESSION", "Show the turns of a chat", func(ctx context.Context, c *client.Client, id jackline.SessionID) error {
			turns, err := c.Turns(ctx, id)
			for _, t := range turns {
				fmt.Fprintf(m.Out, "%s  %s  %s\n> %s\n%s\n\n", t.Created.Local().Format("2006-01-02 15:04"), t.ID, t.Status, terminal.Plain(t.Prompt), terminal.Plain(t.Answer))
			}
			return err
		}),
		m.oneSession("export SESSION", "Print a chat with all its events as JSON", func(ctx context.Context, c *client.Client, id jackline.SessionID) error {
			raw, err := client.Ask[json.RawMessage](ctx, c, http.MethodGet, client.SessionPath(id)+"/export", nil)
			if err == nil {
				err = m.terminal().Raw(raw)
			}
			return err
		}),
		fork,
		chats.Undo(m),
		chats.Gate(m),
		m.oneSession("delete SESSION", "Delete a chat for good", func(ctx context.Context, c *client.Client, id jackline.SessionID) error {
			return c.Call(ctx, http.MethodDelete, client.SessionPath(id), nil, nil)
		}),
	)
	return cmd
}

// listSessions is a command that lists chats: all, or those that its arguments are found in.
func (m *Main) listSessions(use, short string, args cobra.PositionalArgs) *cobra.Command {
	asJSON, limit := false, 0
	cmd := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				rows, err := c.Sessions(ctx, strings.Join(args, " "), limit)
				if err != nil {
					return err
				}
				if asJSON {
					return m.json(rows)
				}
				w := m.table()
				for _, r := range rows {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.Updated.Local().Format("2006-01-02 15:04"), r.Status, terminal.OneLine(r.Title), terminal.OneLine(r.Workspace))
				}
				return w.Flush()
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().IntVar(&limit, "limit", 20, "how many")
	return cmd
}

// oneSession is a command that does something with one chat.
func (m *Main) oneSession(use, short string, f func(context.Context, *client.Client, jackline.SessionID) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error { return f(ctx, c, jackline.SessionID(args[0])) })
		},
	}
}

func (m *Main) approveCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "approve", Short: "Answer what waits for a person"}
	asJSON := false
	list := &cobra.Command{
		Use: "list", Short: "List what waits", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				rows, err := client.Ask[[]jackline.Approval](ctx, c, http.MethodGet, "/api/tools/approvals", nil)
				if err != nil {
					return err
				}
				if asJSON {
					return m.json(rows)
				}
				w := m.table()
				for _, a := range rows {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", a.ID, terminal.OneLine(string(a.Kind)), terminal.OneLine(a.Risk), terminal.OneLine(a.Title), terminal.OneLine(a.Folder))
				}
				return w.Flush()
			})
		},
	}
	list.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	scope, why, pattern, confirm := "once", "", "", false
	yes := &cobra.Command{
		Use: "yes ID…", Short: "Allow", Args: cobra.MinimumNArgs(1),
		Long: "Allow what a question asks about, once or for longer. Several questions are answered together, each by itself: what waits for them goes\n" +
			"on when all are answered. High risk among several, and a rule for the workspace, need --confirm.",
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"approved": true, "scope": scope}
			if pattern != "" {
				body["pattern"] = pattern
			}
			if confirm {
				body["confirm"] = true
			}
			if len(args) == 1 {
				return m.settle(cmd, args[0], body)
			}
			return m.settleAll(cmd, args, body)
		},
	}
	yes.Flags().StringVar(&scope, "for", "once", "how far it reaches: once, task, chat, workspace")
	yes.Flags().StringVar(&pattern, "pattern", "", "what it covers beyond once, as in \"shell(npm run *)\"")
	yes.Flags().BoolVar(&confirm, "confirm", false, "say it again: for a rule in the workspace, and for high risk among several")
	m.engineFlags(yes)
	no := &cobra.Command{
		Use: "no ID", Short: "Deny", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			body := map[string]any{"approved": false}
			if why != "" {
				body["reason"] = why
			}
			return m.settle(cmd, args[0], body)
		},
	}
	no.Flags().StringVar(&why, "why", "", "what the model is told")
	m.engineFlags(no)
	answer := &cobra.Command{
		Use: "answer ID ANSWER…", Short: "Answer a question, one argument for each", Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			var all [][]string
			for _, a := range args[1:] {
				all = append(all, []string{a})
			}
			return m.settle(cmd, args[0], map[string]any{"answers": all})
		},
	}
	m.engineFlags(answer)
	cmd.AddCommand(list, m.showCardCmd(), yes, no, answer, m.extendCmd())
	return cmd
}

func (m *Main) extendCmd() *cobra.Command {
	return &cobra.Command{
		Use: "extend ID", Short: "Let a question wait longer", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				a, err := client.Ask[jackline.Approval](ctx, c, http.MethodPost, "/api/tools/approvals/"+url.PathEscape(args[0])+"/extend", nil)
				if err == nil {
					fmt.Fprintf(m.Out, "It waits until %s.\n", a.Expires.Local().Format("2006-01-02 15:04"))
				}
				return err
			})
		},
	}
}

func (m *Main) showCardCmd() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show the whole card", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				a, err := c.Approval(ctx, jackline.ApprovalID(args[0]))
				if err != nil {
					return err
				}
				t := m.terminal()
				t.Err = m.Out
				t.Show(a)
				fmt.Fprintln(m.Out)
				return nil
			})
		},
	}
}

// settleAll gives several questions one answer each, and says which of them do not count.
func (m *Main) settleAll(cmd *cobra.Command, ids []string, body map[string]any) error {
	return m.with(cmd, func(ctx context.Context, c *client.Client) error {
		var answers []map[string]any
		for _, id := range ids {
			a := maps.Clone(body)
			a["id"] = id
			answers = append(answers, a)
		}
		rows, err := c.AnswerAll(ctx, answers)
		if err != nil {
			return err
		}
		failed := 0
		for _, r := range rows {
			if r.Problem != nil {
				failed++
				fmt.Fprintf(m.Err, "jackline: %s: %s\n", terminal.Plain(string(r.ID)), terminal.Plain(r.Problem.Detail))
			}
		}
		if failed > 0 {
			return &terminal.Exit{Code: terminal.ExitFailed, Err: fmt.Errorf("%d of %d answers do not count", failed, len(rows))}
		}
		return nil
	})
}

// settle answers a row. Where no server runs, the turn that waited for it goes on here, to its end or its next question.
func (m *Main) settle(cmd *cobra.Command, id string, body map[string]any) error {
	conn, err := m.connect(cmd.Context(), false)
	if err != nil {
		return err
	}
	defer conn.close()
	ctx, c := cmd.Context(), conn.client
	a, err := c.Approval(ctx, jackline.ApprovalID(id))
	if err != nil {
		return err
	}
	var after int64
	follow := conn.own && a.Turn != ""
	if follow {
		if err := canGoOn(ctx, c, a.Session); err != nil {
			return err
		}
		if after, err = c.LastEvent(ctx, a.Session); err != nil {
			return err
		}
	}
	if _, err := c.Answer(ctx, a.ID, body); err != nil || !follow {
		return err
	}
	t := m.terminal()
	t.Interactive = false
	w, err := t.Follow(ctx, c, terminal.Following{Session: a.Session, Turn: a.Turn, After: after})
	if err != nil {
		return err
	}
	return m.report(ctx, c, runOptions{output: "text"}, t, a.Session, a.Turn, w, false)
}

// canGoOn is an error where this process has no model for what an answer sets free: the answer would be spent, and the turn end.
func canGoOn(ctx context.Context, c *client.Client, id jackline.SessionID) error {
	s, err := client.Ask[jackline.Session](ctx, c, http.MethodGet, client.SessionPath(id), nil)
	if err != nil || s.Model != "" {
		return err
	}
	status, err := client.Ask[struct{ Model engines.Status }](ctx, c, http.MethodGet, "/api/status", nil)
	if err != nil || status.Model.Ready {
		return err
	}
	return &terminal.Exit{Code: terminal.ExitNoModel, Err: fmt.Errorf(
		"what waits for this answer could not go on here, so the question stays open: %s Or name the model as jackline run does",
		terminal.Plain(status.Model.Why))}
}

func (m *Main) configCmd() *cobra.Command {
	var b strings.Builder
	b.WriteString("Show the settings of file, environment and flags, and where each comes from; what page and API stored is not shown here. A flag wins over the environment, that over what page and API stored, that over\nthe file, that over the default.\n\n")
	for _, k := range settings.Keys() {
		fmt.Fprintf(&b, "  %s (%s", k.Path, k.Env())
		if k.Short != "" {
			b.WriteString(", " + k.Short)
		}
		fmt.Fprintf(&b, ")\n      %s\n", k.Doc)
	}
	asJSON := false
	cmd := &cobra.Command{
		Use: "config", Short: "Show the settings and where each comes from", Long: b.String(), Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			conf, err := settings.Load(m.Env, m.flags)
			if err != nil {
				return err
			}
			m.warn(conf.Warnings)
			if asJSON {
				all := map[string]any{}
				for _, k := range settings.Keys() {
					all[k.Path] = conf.Get(k.Path)
				}
				return m.json(all)
			}
			fmt.Fprintf(m.Out, "file       %s\ndata       %s\nlogs       %s\nworkspace  %s\n\n", conf.Places.File, conf.Places.Data, conf.Places.Logs, conf.Places.Workspace)
			w := m.table()
			for _, k := range settings.Keys() {
				fmt.Fprintf(w, "%s\t%v\t%s\n", k.Path, conf.Get(k.Path), conf.From(k.Path))
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// warn prints what is odd about the settings.
func (m *Main) warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(m.Err, "jackline: "+terminal.Plain(w))
	}
}
