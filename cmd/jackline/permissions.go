package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/audit"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
)

func (m *Main) permissionsCmd() *cobra.Command {
	cmd := &cobra.Command{Use: "permissions", Short: "What may be done, and what would happen if"}
	asJSON := false
	show := &cobra.Command{
		Use: "show", Short: "Show mode, switches, rules and live grants", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				raw, err := client.Ask[json.RawMessage](ctx, c, http.MethodGet, "/api/permissions", nil)
				if err != nil {
					return err
				}
				var pretty bytes.Buffer
				if err := json.Indent(&pretty, raw, "", "  "); err != nil {
					return err
				}
				_, err = fmt.Fprintln(m.Out, terminal.Plain(pretty.String()))
				return err
			})
		},
	}
	test := &cobra.Command{
		Use: "test [COMMAND]", Short: "Say what would happen, without running anything", Args: cobra.MaximumNArgs(1),
		Long: "Judges a shell command, or with --json JSONL lines {\"id\",\"kind\":\"shell|path|url|call\", …} from standard input, and prints\n" +
			"{\"id\",\"decision\",\"verdict\",\"rule\",\"touches\"}. Nothing is run.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error { return m.permissionsTest(ctx, c, args, asJSON) })
		},
	}
	test.Flags().BoolVar(&asJSON, "json", false, "JSONL in and out")
	cmd.AddCommand(show, test, m.grantsCmd(), m.revokeCmd(), m.forgetCmd(), audit.Explain(m))
	return cmd
}

func (m *Main) permissionsTest(ctx context.Context, c *client.Client, args []string, asJSON bool) error {
	judge := func(line []byte) error {
		raw, err := client.Ask[json.RawMessage](ctx, c, http.MethodPost, "/api/permissions/test", json.RawMessage(line))
		if err != nil {
			return err
		}
		if asJSON {
			return m.terminal().Raw(raw)
		}
		var j struct{ Decision, Verdict, Rule, Reason string }
		if err := json.Unmarshal(raw, &j); err != nil {
			return err
		}
		_, err = fmt.Fprintf(m.Out, "%s (%s) %s\n", terminal.Plain(j.Decision), terminal.Plain(j.Rule), terminal.Plain(j.Reason))
		return err
	}
	if !asJSON {
		if len(args) != 1 {
			return terminal.Usage(`name a command: jackline permissions test "git push"`)
		}
		line, err := json.Marshal(map[string]string{"id": "1", "kind": "shell", "shell": "sh", "command": args[0]})
		if err != nil {
			return err
		}
		return judge(line)
	}
	sc := bufio.NewScanner(m.In)
	sc.Buffer(make([]byte, 0, 64<<10), maxLine)
	for n := 1; sc.Scan(); n++ {
		line := bytes.TrimSpace(sc.Bytes())
		if len(line) == 0 {
			continue
		}
		if !json.Valid(line) {
			return terminal.Usage("line %d is not JSON", n)
		}
		if err := judge(line); err != nil {
			return err
		}
	}
	return sc.Err()
}

// standing is what the API says is allowed already.
type standing struct {
	Rules  []jackline.Rule  `json:"rules"`
	Grants []jackline.Grant `json:"grants"`
}

func (m *Main) grantsCmd() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "grants", Short: "List what answers have left: permissions of tasks and chats, and rules of workspaces", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				p, err := client.Ask[standing](ctx, c, http.MethodGet, "/api/permissions", nil)
				if err != nil {
					return err
				}
				p.Rules = slices.DeleteFunc(p.Rules, func(r jackline.Rule) bool { return r.Workspace == "" })
				if asJSON {
					return m.json(p)
				}
				w := m.table()
				for _, g := range p.Grants {
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", g.ID, g.Scope, terminal.OneLine(g.Tool), terminal.OneLine(string(g.Kind)+" "+g.Value), g.Session)
				}
				for _, r := range p.Rules {
					fmt.Fprintf(w, "rule\tworkspace\t%s %s\t\t%s\n", r.Do, terminal.OneLine(r.Pattern), terminal.OneLine(r.Workspace))
				}
				return w.Flush()
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func (m *Main) revokeCmd() *cobra.Command {
	return &cobra.Command{
		Use: "revoke GRANT…", Short: "Take permissions of tasks and chats back", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				for _, id := range args {
					if err := c.Call(ctx, http.MethodPost, "/api/permissions", map[string]any{"revoke": id}, nil); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
}

func (m *Main) forgetCmd() *cobra.Command {
	folder := ""
	cmd := &cobra.Command{
		Use: "forget RULE", Short: "Take a rule out", Args: cobra.ExactArgs(1),
		Long: "Take a rule out, written as it is listed: jackline permissions forget \"allow shell(npm test)\" --workspace /home/me/site",
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				p, err := client.Ask[standing](ctx, c, http.MethodGet, "/api/permissions", nil)
				if err != nil {
					return err
				}
				had := len(p.Rules)
				p.Rules = slices.DeleteFunc(p.Rules, func(r jackline.Rule) bool {
					return r.Do.String()+" "+r.Pattern == strings.TrimSpace(args[0]) && r.Workspace == folder
				})
				if len(p.Rules) == had {
					return terminal.Usage("there is no such rule; jackline permissions show lists them")
				}
				return c.Call(ctx, http.MethodPost, "/api/permissions", map[string]any{"rules": p.Rules}, nil)
			})
		},
	}
	cmd.Flags().StringVar(&folder, "workspace", "", "the folder in whose chats it holds (default: a rule that holds everywhere)")
	return cmd
}
