package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/model"
)

func (m *Main) modelsCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "models", Short: "The engines and their models",
		Long: "The engines and their models: those on this machine, those that you added, and services for which the environment holds a key.\n" +
			"A model is named by its name, or by its engine's id, a slash and its name.",
	}
	cmd.AddCommand(m.modelsListCmd(), m.modelsShowCmd(), m.modelsUseCmd(), m.modelsAddCmd(), m.modelsRemoveCmd(), m.modelsPullCmd(), m.modelsTestCmd(), m.contextCmd())
	return cmd
}

func catalogue(ctx context.Context, c *client.Client, again bool) (model.Catalogue, error) {
	path := "/api/models"
	if again {
		path += "?refresh=true"
	}
	return client.Ask[model.Catalogue](ctx, c, http.MethodGet, path, nil)
}

func (m *Main) modelsListCmd() *cobra.Command {
	asJSON, again := false, false
	cmd := &cobra.Command{
		Use: "list", Short: "List the engines and their models", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				all, err := catalogue(ctx, c, again)
				if err != nil {
					return err
				}
				if asJSON {
					return m.json(all)
				}
				return m.printCatalogue(all)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().BoolVar(&again, "refresh", false, "look again now")
	return cmd
}

func (m *Main) printCatalogue(all model.Catalogue) error {
	if len(all.Engines) == 0 {
		fmt.Fprintln(m.Out, "No engine is found on this machine. Start one (ollama serve, llama-server, LM Studio), or add one: jackline models add ADDRESS")
		return nil
	}
	for _, e := range all.Engines {
		name := e.ID
		if e.Name != "" && e.Name != e.ID {
			name += " (" + e.Name + ")"
		}
		fmt.Fprintf(m.Out, "%s  %s  %s\n  %s\n", terminal.OneLine(name), terminal.OneLine(e.BaseURL), e.State, terminal.OneLine(e.Why))
		w := m.table()
		for _, it := range e.Models {
			mark := " "
			if it.Ref == all.Default {
				mark = "*"
			}
			fmt.Fprintf(w, "  %s %s\t%s\t%s\t%s\t%s\n", mark, terminal.OneLine(it.Ref), windowOf(it), it.Mode, gigabytes(it.Bytes), strings.Join(traits(it), " "))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for _, p := range all.Pulls {
		if !p.Over() {
			fmt.Fprintf(m.Out, "fetching %s  %s\n", terminal.OneLine(p.Model), progress(p))
		}
	}
	return nil
}

func windowOf(it model.Item) string {
	switch {
	case it.Window == 0:
		return "window unknown"
	case it.WindowAssumed:
		return fmt.Sprintf("%d (assumed)", it.Window)
	}
	return fmt.Sprint(it.Window)
}

// traits are what is known of a model, in words.
func traits(it model.Item) []string {
	var list []string
	for _, t := range []struct {
		word string
		is   model.Known
	}{{"loaded", it.Loaded}, {"tools", it.Tools}, {"thinking", it.Thinking}, {"vision", it.Vision}, {"remote", it.Remote}} {
		if t.is == model.Yes {
			list = append(list, t.word)
		}
	}
	return list
}

func gigabytes(n int64) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

func (m *Main) modelsShowCmd() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "show MODEL|ENGINE", Short: "Show what is known of a model, or of an engine", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				all, err := catalogue(ctx, c, false)
				if err != nil {
					return err
				}
				for _, e := range all.Engines {
					if e.ID == args[0] {
						if asJSON {
							return m.json(e)
						}
						return m.printCatalogue(model.Catalogue{Default: all.Default, Engines: []model.Engine{e}})
					}
				}
				e, it, err := oneModel(all, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return m.json(it)
				}
				return m.printItem(e, it)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// oneModel finds the model of a reference or a name.
func oneModel(all model.Catalogue, name string) (model.Engine, model.Item, error) {
	for _, e := range all.Engines {
		for _, it := range e.Models {
			if it.Ref == name || it.ID == name || it.ID == name+":latest" {
				return e, it, nil
			}
		}
	}
	return model.Engine{}, model.Item{}, fmt.Errorf("there is no model or engine %s; see jackline models list", name)
}

func (m *Main) printItem(e model.Engine, it model.Item) error {
	w := m.table()
	row := func(name, value string) {
		if value != "" {
			by := it.Source[name]
			if by != "" {
				by = "(" + by + ")"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\n", name, terminal.OneLine(value), terminal.OneLine(by))
		}
	}
	row("model", it.Ref)
	row("engine", strings.TrimSpace(e.Engine+" "+e.Version)+" at "+e.BaseURL)
	row("window", windowOf(it))
	if it.Trained > 0 {
		row("trained", fmt.Sprint(it.Trained))
	}
	row("tool calls", it.Mode)
	row("tools", it.Tools.String())
	row("thinking", it.Thinking.String())
	row("vision", it.Vision.String())
	row("loaded", it.Loaded.String())
	row("remote", it.Remote.String())
	row("bytes", gigabytes(it.Bytes))
	row("digest", it.Digest)
	return w.Flush()
}

func (m *Main) modelsUseCmd() *cobra.Command {
	none := false
	cmd := &cobra.Command{
		Use: "use MODEL", Short: "Make a model that of new chats", Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if (len(args) == 1) == none {
				return usage("name one model, or --none to take the choice back")
			}
			ref := strings.Join(args, "")
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				r, err := client.Ask[struct {
					Ref string `json:"ref"`
				}](ctx, c, http.MethodPut, "/api/models/default", map[string]any{"ref": ref})
				if err == nil && r.Ref != "" {
					fmt.Fprintf(m.Out, "New chats use %s.\n", terminal.OneLine(r.Ref))
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&none, "none", false, "take the choice back")
	return cmd
}

// keyFrom reads the key of an engine from a variable, or from a person who types it unseen. It never comes as an argument: those are
// seen by others, and kept by shells.
func (m *Main) keyFrom(variable, address string) (string, error) {
	if variable != "" {
		key := strings.TrimSpace(m.Env(variable))
		if key == "" {
			return "", usage("the environment variable %s, which should hold the key, is not set", variable)
		}
		return key, nil
	}
	in, ok := m.In.(*os.File)
	if !ok || !m.terminal().Interactive {
		return "", usage("the engine wants a key: name the environment variable that holds it with --api-key-env")
	}
	fmt.Fprintf(m.Err, "Key for %s (it does not show): ", terminal.OneLine(address))
	b, err := term.ReadPassword(int(in.Fd())) //nolint:gosec // descriptors are small
	fmt.Fprintln(m.Err)
	if err != nil {
		return "", usage("the key cannot be read from this terminal; name the environment variable that holds it with --api-key-env")
	}
	return strings.TrimSpace(string(b)), nil
}

// addressed tries an address, and asks for a key where one is wanted and none was given.
func (m *Main) addressed(ctx context.Context, c *client.Client, a *model.Address, variable string) (model.Engine, error) {
	try := func() (model.Engine, error) {
		return client.Ask[model.Engine](ctx, c, http.MethodPost, "/api/models/test", a)
	}
	var err error
	if variable != "" {
		if a.Key, err = m.keyFrom(variable, a.BaseURL); err != nil {
			return model.Engine{}, err
		}
	}
	e, err := try()
	if err != nil || e.State != "needs-key" || a.Key != "" {
		return e, err
	}
	if a.Key, err = m.keyFrom("", a.BaseURL); err != nil || a.Key == "" {
		return e, err
	}
	return try()
}

func (m *Main) addressFlags(cmd *cobra.Command, a *model.Address, variable *string) {
	cmd.Flags().StringVar(&a.API, "api", "", "what it speaks: ollama, openai, anthropic, responses (default: found out)")
	cmd.Flags().StringVar(variable, "api-key-env", "", "name of the environment variable that holds its key (default: asked for, unseen)")
}

func (m *Main) modelsAddCmd() *cobra.Command {
	var a model.Address
	variable := ""
	cmd := &cobra.Command{
		Use: "add ADDRESS", Short: "Add an engine by its address", Args: cobra.ExactArgs(1),
		Long: "Add an engine by its address, on this machine, in your network or beyond. A key is asked for where one is wanted; it is kept sealed\n" +
			"and never shown again. An engine that does not answer is added only with --api.",
		RunE: func(cmd *cobra.Command, args []string) error {
			a.BaseURL = args[0]
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				if _, err := m.addressed(ctx, c, &a, variable); err != nil {
					return err
				}
				e, err := client.Ask[model.Engine](ctx, c, http.MethodPost, "/api/models", a)
				if err != nil {
					return err
				}
				fmt.Fprintf(m.Out, "%s: %s\n", terminal.OneLine(e.ID), terminal.OneLine(cmp.Or(e.Why, "added")))
				return nil
			})
		},
	}
	m.addressFlags(cmd, &a, &variable)
	cmd.Flags().StringVar(&a.Name, "name", "", "what to call it")
	return cmd
}

func (m *Main) modelsTestCmd() *cobra.Command {
	var a model.Address
	variable, asJSON := "", false
	cmd := &cobra.Command{
		Use: "test ADDRESS|ENGINE", Short: "Look at an address or an engine, and keep nothing", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) (err error) {
				var e model.Engine
				if strings.Contains(args[0], "://") || strings.Contains(args[0], ":") {
					a.BaseURL = args[0]
					e, err = m.addressed(ctx, c, &a, variable)
				} else {
					e, err = client.Ask[model.Engine](ctx, c, http.MethodPost, "/api/models/test", map[string]any{"id": args[0]})
				}
				if err != nil {
					return err
				}
				e.ID = cmp.Or(e.ID, cmp.Or(e.Engine, "engine"))
				if asJSON {
					err = m.json(e)
				} else {
					err = m.printCatalogue(model.Catalogue{Engines: []model.Engine{e}})
				}
				if err == nil && e.State != "ready" {
					return &exit{exitNoModel, nil}
				}
				return err
			})
		},
	}
	m.addressFlags(cmd, &a, &variable)
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

func (m *Main) modelsRemoveCmd() *cobra.Command {
	sure := false
	cmd := &cobra.Command{
		Use: "remove MODEL|ENGINE", Short: "Delete a model of Ollama's, or forget an engine that was added", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				all, err := catalogue(ctx, c, false)
				if err != nil {
					return err
				}
				for _, e := range all.Engines {
					if e.ID == args[0] {
						return c.Call(ctx, http.MethodDelete, "/api/models/"+url.PathEscape(e.ID), nil, nil)
					}
				}
				e, it, err := oneModel(all, args[0])
				if err != nil {
					return err
				}
				if !sure {
					return usage("this deletes %s (%s) from %s; say --yes if you mean it", it.ID, cmp.Or(gigabytes(it.Bytes), "size unknown"), e.BaseURL)
				}
				return c.Call(ctx, http.MethodPost, "/api/models/remove", map[string]any{"ref": it.Ref}, nil)
			})
		},
	}
	cmd.Flags().BoolVar(&sure, "yes", false, "delete the model's files")
	return cmd
}

func (m *Main) modelsPullCmd() *cobra.Command {
	engine := ""
	cmd := &cobra.Command{
		Use: "pull MODEL", Short: "Have Ollama fetch a model", Args: cobra.ExactArgs(1),
		Long: "Have Ollama fetch a model, and show how far it is. Where a server runs, the fetching goes on there when this command is ended.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.with(cmd, func(ctx context.Context, c *client.Client) error {
				body := map[string]any{"model": args[0]}
				if engine != "" {
					body["engine"] = engine
				}
				p, err := client.Ask[model.Pull](ctx, c, http.MethodPost, "/api/models/pull", body)
				if err != nil {
					return err
				}
				return m.followPull(ctx, c, p)
			})
		},
	}
	cmd.Flags().StringVar(&engine, "engine", "", "the engine's id, where there is more than one Ollama")
	return cmd
}

// lookEvery is how often a pull is looked at: smooth enough to watch.
const lookEvery = 300 * time.Millisecond

// followPull shows a pull until it has ended: on a terminal in one line that changes, elsewhere in a line for each tenth.
func (m *Main) followPull(ctx context.Context, c *client.Client, p model.Pull) error {
	moving := m.terminal().Interactive && !m.quiet
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer m.onSignal(func(os.Signal) { stop() })()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := ""
	for {
		switch line := progress(p); {
		case moving:
			fmt.Fprintf(m.Err, "\r\x1b[K%s", terminal.OneLine(line))
		case !m.quiet && tenth(p) != last:
			last = tenth(p)
			fmt.Fprintln(m.Err, terminal.OneLine(line))
		}
		if p.Over() {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			fmt.Fprintln(m.Err, "\nNo longer watched. A running server goes on fetching; jackline models list shows how far it is.")
			return &exit{exitInterrupted, nil}
		}
		next, err := client.Ask[model.Pull](ctx, c, http.MethodGet, "/api/models/pulls/"+url.PathEscape(p.ID), nil)
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		if err == nil {
			p = next
		}
	}
	if moving {
		fmt.Fprintln(m.Err)
	}
	if p.Status == model.PullDone {
		fmt.Fprintf(m.Out, "%s is there.\n", terminal.OneLine(p.Model))
		return nil
	}
	return &exit{exitFailed, errors.New(cmp.Or(p.Error, p.Model+" was not fetched: "+p.Status+"."))}
}

// tenth changes with each step and each tenth of a pull.
func tenth(p model.Pull) string {
	if p.Total <= 0 {
		return p.Status
	}
	return fmt.Sprint(p.Over(), p.Done*10/p.Total)
}

func progress(p model.Pull) string {
	if p.Total <= 0 {
		return p.Status
	}
	return fmt.Sprintf("%s  %d %%  %s of %s", p.Status, p.Done*100/p.Total, gigabytes(max(p.Done, 1)), gigabytes(p.Total))
}
