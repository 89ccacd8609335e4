package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/server/folders"
	"github.com/jackline-ai/jackline/workspace"
)

func (m *Main) workspaceCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "workspace", Short: "The folders that chats work in, and which of them are trusted",
		Long: "A chat works in one folder. In a folder that you trust, the file " + workspace.GuideFile + " instructs the model; elsewhere it is a file like others.\n" +
			"Trust is kept with your settings, not in the folder.",
	}
	asJSON := false
	list := &cobra.Command{
		Use: "list", Short: "List the default folder and the trusted ones", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				v, err := client.Ask[struct {
					Default string            `json:"default"`
					Trusted []folders.Trusted `json:"trusted"`
				}](ctx, c, http.MethodGet, "/api/workspace", nil)
				if err != nil {
					return err
				}
				if asJSON {
					return m.json(v)
				}
				w := m.table()
				if v.Default != "" {
					fmt.Fprintf(w, "%s\tdefault\n", terminal.Plain(v.Default))
				}
				for _, f := range v.Trusted {
					fmt.Fprintf(w, "%s\ttrusted since %s\n", terminal.Plain(f.Path), f.Since.Local().Format(time.DateOnly))
				}
				return w.Flush()
			})
		},
	}
	show := &cobra.Command{
		Use: "show [FOLDER]", Short: "Say whether a folder can be a workspace, and what is in it", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.folder(cmd, args, asJSON, "/api/workspace/vet", map[string]any{})
		},
	}
	for _, sub := range []*cobra.Command{list, show} {
		sub.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	}
	trust := &cobra.Command{
		Use: "trust FOLDER", Short: "Follow the instructions of a folder's " + workspace.GuideFile, Args: cobra.ExactArgs(1),
		Long: "From the next turn on the folder's " + workspace.GuideFile + " instructs the model in every chat that works there, also after somebody has changed it.\n" +
			"What may run unasked does not change.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.folder(cmd, args, false, "/api/workspace/trust", map[string]any{"trusted": true})
		},
	}
	untrust := &cobra.Command{
		Use: "untrust FOLDER", Short: "No longer follow a folder's instructions", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.folder(cmd, args, false, "/api/workspace/trust", map[string]any{"trusted": false})
		},
	}
	cmd.AddCommand(list, show, trust, untrust, m.homeCmd())
	return cmd
}

// folder asks about a folder, or changes what is held of it, and prints what the server then says of it.
func (m *Main) folder(cmd *cobra.Command, args []string, asJSON bool, path string, body map[string]any) error {
	if len(args) == 1 {
		abs, err := filepath.Abs(args[0])
		if err != nil {
			return terminal.Usage("%s: %v", args[0], err)
		}
		body["path"] = abs
	}
	return m.with(cmd, func(ctx context.Context, c *client.Client) error {
		v, err := client.Ask[folders.Look](ctx, c, http.MethodPost, path, body)
		if err != nil {
			return err
		}
		if asJSON {
			return m.json(v)
		}
		w := m.table()
		row := func(name, value string) { fmt.Fprintf(w, "%s\t%s\n", name, terminal.Plain(value)) }
		row("folder", v.Path)
		if !v.Fits {
			row("workspace", "no: "+v.Why)
			return w.Flush()
		}
		row("workspace", "yes")
		row("trusted", yesNo(v.Trusted))
		guide := "none"
		if v.Guide > 0 {
			guide = fmt.Sprintf("%d bytes", v.Guide)
		}
		row(workspace.GuideFile, guide)
		row("git", yesNo(v.Git))
		if len(v.Protected) > 0 {
			row("protected", strings.Join(v.Protected, ", "))
		}
		return w.Flush()
	})
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
