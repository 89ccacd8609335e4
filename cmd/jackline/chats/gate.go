package chats

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
)

// Gate is the command that shows the taint gate of a chat, and switches it. It is a person's word: no tool leads here.
func Gate(p Program) *cobra.Command {
	on, off := false, false
	cmd := &cobra.Command{
		Use: "gate SESSION", Short: "Show or switch what a chat asks about because of what it has read", Args: cobra.ExactArgs(1),
		Long: "Once a chat has read text that somebody else could have written, everything that acts asks, in every mode. --off switches that off for\n" +
			"this chat: what such text wants may then be done unasked, as far as mode and rules go. --on switches it on again. The page shows\n" +
			"a banner as long as it is off, and the audit keeps who switched it.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if on && off {
				return terminal.Usage("--on or --off, not both")
			}
			return p.With(cmd, func(ctx context.Context, c *client.Client) error {
				method, body := http.MethodGet, any(nil)
				if on || off {
					method, body = http.MethodPatch, map[string]any{"ungated": off}
				}
				s, err := client.Ask[jackline.Session](ctx, c, method, client.SessionPath(jackline.SessionID(args[0])), body)
				if err != nil {
					return err
				}
				var read []string
				if s.Labels.Tainted {
					read = append(read, "text that others could have written")
				}
				if s.Labels.Private {
					read = append(read, "text of yours")
				}
				if len(read) == 0 {
					read = append(read, "nothing that matters here")
				}
				_, err = fmt.Fprintf(p.Person().Out, "The chat has read %s.\n%s\n", strings.Join(read, " and "), gateSays(s, cmd.Root().Name()))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&off, "off", false, "ask no longer because of what was read")
	cmd.Flags().BoolVar(&on, "on", false, "ask again")
	return cmd
}

// gateSays says what the taint gate of a chat does.
func gateSays(s jackline.Session, program string) string {
	switch {
	case s.Ungated:
		return fmt.Sprintf("The taint gate is off: that makes nothing ask. To switch it on: %s sessions gate --on %s", program, s.ID)
	case s.Labels.Tainted:
		return "The taint gate is on: everything that acts asks, in every mode."
	}
	return "The taint gate is on, and asks nothing yet."
}
