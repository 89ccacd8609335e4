// Package chats holds commands about one chat: what is taken back in it, and what it asks about because of what it has read.
package chats

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
)

// A Program is what the commands stand on.
type Program interface {
	// With runs f with a client of the running server, or of one inside this process.
	With(cmd *cobra.Command, f func(context.Context, *client.Client) error) error

	// Person is whoever is in front of the command, or the lack of one.
	Person() *terminal.Terminal
}

// Undo is the command that takes back what a turn did to files.
func Undo(p Program) *cobra.Command {
	var only []string
	dry, force, asJSON := false, false, false
	cmd := &cobra.Command{
		Use: "undo TURN", Short: "Take back what a turn did to files", Args: cobra.ExactArgs(1),
		Long: "Puts files back as they were before a turn: those that it changed or deleted, and away with those that it made. `sessions show` names the\n" +
			"turns. A file that was changed since is left alone, unless --force says that it is to go too. What an undo did can be undone by\n" +
			"the name that it prints.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.With(cmd, func(ctx context.Context, c *client.Client) error {
				chat, err := client.Ask[struct{ Session jackline.SessionID }](ctx, c, http.MethodGet, "/api/changes/"+url.PathEscape(args[0]), nil)
				if err != nil {
					return err
				}
				body := map[string]any{"turn": args[0], "dry": dry, "force": force}
				if len(only) > 0 {
					body["paths"] = only
				}
				r, err := client.Ask[undone](ctx, c, http.MethodPost, client.SessionPath(chat.Session)+"/undo", body)
				if err != nil {
					return err
				}
				if asJSON {
					return p.Person().JSON(r)
				}
				return showUndone(p.Person().Out, r, dry, force)
			})
		},
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "show what would be done, with the changes, and do nothing")
	cmd.Flags().BoolVar(&force, "force", false, "also go over what was changed since")
	cmd.Flags().StringArrayVar(&only, "file", nil, "only this file, as the list names it; may be given several times")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

type undone struct {
	ID    string             `json:"id"`
	Turn  string             `json:"turn"`
	Files []jackline.Undoing `json:"files"`
}

// showUndone tells a person what an undo did, or would do. Files that stayed as they were are an error.
func showUndone(out io.Writer, r undone, dry, force bool) error {
	if len(r.Files) == 0 {
		fmt.Fprintln(out, "It changed no files.")
		return nil
	}
	conflicts, stuck := 0, 0
	for _, f := range r.Files {
		path := terminal.OneLine(f.Path)
		switch f.State {
		case jackline.UndoReady:
			fmt.Fprintf(out, "would %s  %s\n", f.Does, path)
		case jackline.UndoDone:
			fmt.Fprintf(out, "%sd  %s\n", f.Does, path)
		case jackline.UndoAlready:
			fmt.Fprintf(out, "unchanged  %s\n", path)
		case jackline.UndoConflict:
			conflicts++
			fmt.Fprintf(out, "conflict  %s: %s\n", path, terminal.OneLine(f.Why))
		case jackline.UndoCannot:
			stuck++
			fmt.Fprintf(out, "left  %s: %s\n", path, terminal.OneLine(f.Why))
		}
		if dry && f.Patch != "" {
			fmt.Fprintln(out, terminal.Plain(f.Patch))
		}
	}
	if r.ID != "" {
		fmt.Fprintf(out, "To undo this: jackline sessions undo %s\n", terminal.OneLine(r.ID))
	}
	if dry || conflicts+stuck == 0 {
		return nil
	}
	say := fmt.Sprintf("%d of %d files were left as they are.", conflicts+stuck, len(r.Files))
	if conflicts > 0 && !force {
		say += " To go over what was changed since, say --force."
	}
	return jackline.E("undo", jackline.Conflict, nil, "%s", say)
}
