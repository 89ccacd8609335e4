package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/manual"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
)

// manSections are what the manual says of the whole program.
func manSections() []manual.Section {
	return []manual.Section{
		{Title: "ENVIRONMENT", Text: "JACKLINE_HOME, a whole path, puts settings, data, logs and the default workspace into one folder.\n\n" +
			"Every setting has a variable: JACKLINE_ and its key, with _ for each dot and before each capital. " +
			"jackline-config(1) lists them.\n\nNO_COLOR and TERM=dumb turn colour off; with CI set nothing is asked."},
		{Title: "FILES", Text: "Without JACKLINE_HOME, and with the XDG variables at their defaults:\n\n" +
			"  ~/.config/jackline/config.yaml   settings\n" +
			"  ~/.local/share/jackline          chats, the token, the key\n" +
			"  ~/.local/state/jackline          logs\n" +
			"  ~/jackline                       the workspace of new chats\n"},
		{Title: "EXIT STATUS", Text: "  " + strings.Join([]string{
			fmt.Sprintf("%-9d done", terminal.ExitOK),
			fmt.Sprintf("%-9d it failed", terminal.ExitFailed),
			fmt.Sprintf("%-9d wrong usage or settings", terminal.ExitUsage),
			fmt.Sprintf("%-9d it waits for a person, or went on without one", terminal.ExitWaiting),
			fmt.Sprintf("%-9d out of steps, tokens or time", terminal.ExitLimit),
			fmt.Sprintf("%-9d no model, or the engine cannot be reached", terminal.ExitNoModel),
			fmt.Sprintf("%-9d with --on-ask fail: refused, and nobody may allow it", terminal.ExitRefused),
			fmt.Sprintf("%d, %d  interrupted, terminated", terminal.ExitInterrupted, terminal.ExitTerminated),
		}, "\n  ") + "\n"},
	}
}

func (m *Main) manCmd() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use: "man [COMMAND…]", Short: "Print a manual page, or write all of them",
		Long: "Print the manual page of a command, as man reads it, or with --dir write all pages into a folder.\n\n" +
			"  jackline man run | man -l -\n  jackline man --dir ~/.local/share/man/man1\n",
		RunE: func(cmd *cobra.Command, args []string) error {
			pages := manual.Pages(cmd.Root(), buildVersion(), manSections()...)
			if dir != "" {
				if len(args) > 0 {
					return terminal.Usage("--dir writes all pages: name no command with it")
				}
				return writePages(dir, pages)
			}
			c, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknown(c, rest[0])
			}
			for _, p := range pages {
				if p.Name == strings.ReplaceAll(c.CommandPath(), " ", "-") {
					_, err := m.Out.Write(p.Text)
					return err
				}
			}
			return terminal.Usage("%s has no manual page", c.CommandPath())
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "write all pages into this `folder`, which is made if it is missing")
	return cmd
}

func writePages(dir string, pages []manual.Page) error {
	const op = "man"
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manual pages are for everybody
		return jackline.E(op, jackline.Invalid, err, "The folder %s cannot be made: choose another for --dir.", dir)
	}
	for _, p := range pages {
		if err := os.WriteFile(filepath.Join(dir, p.File()), p.Text, 0o644); err != nil { //nolint:gosec // as above
			return jackline.E(op, jackline.Invalid, err, "%s cannot be written into %s: choose another folder for --dir.", p.File(), dir)
		}
	}
	return nil
}
