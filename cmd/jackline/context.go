package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/contract"
	"github.com/jackline-ai/jackline/model"
	"github.com/jackline-ai/jackline/model/envelope"
	"github.com/jackline-ai/jackline/model/openai"
	"github.com/jackline-ai/jackline/model/prompted"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/tool/crowd"
	"github.com/jackline-ai/jackline/turn"
	"github.com/jackline-ai/jackline/web"
)

// windowUse is how a model's window is used by the first request of a chat.
type windowUse struct {
	Model   string      `json:"model"`
	Window  int         `json:"window"`
	Assumed bool        `json:"assumed"`
	Mode    string      `json:"mode"`
	Tools   int         `json:"tools"`
	Blocks  []turn.Line `json:"blocks"`
}

// mostWindow bounds the window to count with, as the setting model.window is bounded: none is larger.
const mostWindow = 10_000_000

// contextCmd prints the context contract, and how it is used.
func (m *Main) contextCmd() *cobra.Command {
	var asked struct {
		window, tools int
		mode, prompt  string
		json          bool
	}
	cmd := &cobra.Command{
		Use: "context", Short: "Show how much of a model's window each part of a request may take, and takes", Args: cobra.NoArgs,
		Long: "Show how much of the window each part of a request may take, and what the first request of a chat takes of it: for the model of new chats, or for\n" +
			"a window and a way of calling tools that you name. --tools says how many tools to count with: those that come with Jackline, then made-up ones\n" +
			"as connected servers bring them.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("tools") && (asked.tools < 1 || asked.tools > crowd.Most) {
				return terminal.Usage("--tools takes a number from 1 to %d", crowd.Most)
			}
			if cmd.Flags().Changed("window") && (asked.window < 1 || asked.window > mostWindow) {
				return terminal.Usage("--window takes a number of tokens from 1 to %d", mostWindow)
			}
			if modes := []string{model.ModeNative, model.ModeEnvelope, model.ModeText}; asked.mode != "" && !slices.Contains(modes, asked.mode) {
				return terminal.Usage("--mode is native, envelope or text, not %q", asked.mode)
			}
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				o, u, err := m.outline(ctx, c)
				if err != nil {
					return err
				}
				if cmd.Flags().Changed("window") {
					u.Window, u.Assumed = asked.window, false
				}
				if asked.mode != "" {
					u.Mode = asked.mode
				}
				o.Prompt = asked.prompt
				if err := u.count(o, asked.tools); err != nil {
					return err
				}
				if asked.json {
					return m.json(u)
				}
				return m.printContext(u)
			})
		},
	}
	cmd.Flags().IntVar(&asked.window, "window", 0, "the window to count with, in tokens (default: the model's)")
	cmd.Flags().StringVar(&asked.mode, "mode", "", "how tools are called: native, envelope or text (default: as the model does)")
	cmd.Flags().IntVar(&asked.tools, "tools", 0, "how many tools to count with (default: those that there are)")
	cmd.Flags().StringVar(&asked.prompt, "prompt", "hello", "the first prompt, whose words may point at tools")
	cmd.Flags().BoolVar(&asked.json, "json", false, "as JSON")
	return cmd
}

// outline is what a first request would be made of, as the server has it.
func (m *Main) outline(ctx context.Context, c *client.Client) (turn.Outline, *windowUse, error) {
	type state struct {
		Model struct {
			Name    string `json:"name"`
			Window  int    `json:"window"`
			Assumed bool   `json:"assumed"`
			Mode    string `json:"mode"`
		} `json:"model"`
		Workspace string `json:"workspace"`
	}
	s, err := client.Ask[state](ctx, c, http.MethodGet, "/api/status", nil)
	if err != nil {
		return turn.Outline{}, nil, err
	}
	agent, err := client.Ask[jackline.AgentSettings](ctx, c, http.MethodGet, "/api/agent", nil)
	if err != nil {
		return turn.Outline{}, nil, err
	}
	rows, err := client.Ask[[]toolRow](ctx, c, http.MethodGet, "/api/tools", nil)
	if err != nil {
		return turn.Outline{}, nil, err
	}
	on := func(t tool.Tool) bool {
		k := slices.IndexFunc(rows, func(r toolRow) bool { return r.Name == t.Facts().Name })
		return k >= 0 && rows[k].Enabled
	}
	var tools []tool.Tool
	for _, t := range allTools(builtin.Deps{}, web.Deps{Getenv: m.Env}) {
		if on(t) {
			tools = append(tools, t)
		}
	}
	set, err := tool.NewSet(tools...)
	if err != nil {
		return turn.Outline{}, nil, err
	}
	u := &windowUse{Model: s.Model.Name, Window: s.Model.Window, Assumed: s.Model.Assumed, Mode: s.Model.Mode}
	return turn.Outline{Tools: set, Persona: agent.Persona, Workspace: s.Workspace}, u, nil
}

// count fills in the blocks. tools is how many tools there are to be; 0 is those that there are.
func (u *windowUse) count(o turn.Outline, tools int) (err error) {
	if u.Window <= 0 {
		u.Window, u.Assumed = model.DefaultWindow, true
	}
	if u.Mode == "" {
		u.Mode = model.ModeText
	}
	// It is only measured, and connects to nothing.
	paper, err := openai.New(openai.Options{BaseURL: "http://127.0.0.1/v1", Model: u.Model, Window: u.Window, Native: u.Mode == model.ModeNative})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, paper.Close()) }()
	o.Model = paper
	switch c := contract.Of(u.Window); u.Mode {
	case model.ModeEnvelope:
		o.Model = envelope.Wrap(paper, envelope.Options{Brief: c.Brief(), Room: c.Tools, Names: c.Names})
	case model.ModeText:
		o.Model = prompted.Wrap(paper, prompted.Options{Brief: c.Brief(), Room: c.Tools, Names: c.Names})
	}
	if tools > 0 {
		if o.Tools, err = tool.NewSet(crowd.Fill(slices.Collect(o.Tools.All()), tools)...); err != nil {
			return err
		}
	}
	u.Tools = len(o.Tools.Names())
	u.Blocks, err = turn.Account(o)
	return err
}

func (m *Main) printContext(u *windowUse) error {
	assumed := ""
	if u.Assumed {
		assumed = " (assumed)"
	}
	name := ""
	if u.Model != "" {
		name = terminal.OneLine(u.Model) + ": "
	}
	fmt.Fprintf(m.Out, "%sa window of %d tokens%s, %s calls, %d tools\n", name, u.Window, assumed, u.Mode, u.Tools)
	w := m.table()
	fmt.Fprintln(w, "part\tbudget\tused\t\t")
	for _, l := range u.Blocks {
		used := ""
		if l.Used != nil {
			used = fmt.Sprint(*l.Used)
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", l.Block, l.Budget, used, l.Unit, l.Note)
	}
	return w.Flush()
}
