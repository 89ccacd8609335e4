package models

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/model"
)

func (m *commands) probe() *cobra.Command {
	mode, times, asJSON := "auto", 1, false
	cmd := &cobra.Command{
		Use: "probe [MODEL]", Short: "Try out how well a model calls tools", Args: cobra.MaximumNArgs(1),
		Long: "Try out how well a model calls tools, in each way that there is, and how fast it is. Without a name it is the model of new chats.\n" +
			"What comes of it is kept with the model's card and decides how the model is used, until its weights change: the tool mode, how many\n" +
			"tools it is offered, and how many steps a turn takes. What you set in model.toolMode and model.each counts above it.\n\n" +
			"It takes a minute or some, and sends a cloud service some thousand tokens. The tools in it are never run. Turns go first: a\n" +
			"probe waits while one is under way.\n\n" +
			"Exit codes: 0 the model does what turns need; 1 it does not, or could not be probed; 5 there is no such model.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.With(cmd, func(ctx context.Context, c *client.Client) error {
				p, err := client.Ask[model.Probe](ctx, c, http.MethodPost, "/api/models/probe", map[string]any{"ref": strings.Join(args, ""), "mode": mode, "times": times})
				if err != nil {
					return err
				}
				if p, err = m.followProbe(ctx, c, p); err != nil {
					return err
				}
				return m.probed(p, asJSON)
			})
		},
	}
	cmd.Flags().StringVar(&mode, "mode", mode, "the way of calling tools: auto for all, native, envelope, text")
	cmd.Flags().IntVar(&times, "times", times, "how often each check is made, 1 to 5: small models do not answer the same each time")
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// probed prints what came of a probe, and ends as it went.
func (m *commands) probed(p model.Probe, asJSON bool) error {
	if asJSON {
		if err := m.json(p); err != nil {
			return err
		}
	}
	switch {
	case p.Status != model.ProbeDone || p.Result == nil:
		say := p.Error
		if say == "" {
			say = p.Ref + " was not probed to the end."
		}
		return &terminal.Exit{Code: terminal.ExitFailed, Err: errors.New(say)}
	case !asJSON:
		if err := m.printVerdict(*p.Result); err != nil {
			return err
		}
	}
	if !p.Result.Passed {
		return &terminal.Exit{Code: terminal.ExitFailed}
	}
	return nil
}

// followProbe shows a probe until it has ended: on a terminal in a line that changes, elsewhere in a line for each check.
func (m *commands) followProbe(ctx context.Context, c *client.Client, p model.Probe) (model.Probe, error) {
	person := m.Person()
	moving := person.Interactive && !m.Quiet()
	whole := ctx
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer m.OnSignal(func(os.Signal) { stop() })()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	last := ""
	for !p.Over() {
		switch line := fmt.Sprintf("%s  %d of %d  %s", p.Ref, p.Done, p.Total, p.Doing); {
		case m.Quiet() || line == last:
		case moving:
			fmt.Fprintf(person.Err, "\r\x1b[K%s", terminal.OneLine(line))
			last = line
		default:
			fmt.Fprintln(person.Err, terminal.OneLine(line))
			last = line
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			// Nobody wants it any more. Whoever does can watch it on the page, and begin it there.
			quiet, cancel := context.WithTimeout(context.WithoutCancel(whole), time.Second)
			defer cancel()
			_ = c.Call(quiet, http.MethodDelete, "/api/models/probes/"+url.PathEscape(p.ID), nil, nil)
			fmt.Fprintln(person.Err, "\nThe probe was ended; nothing of it is kept.")
			return p, &terminal.Exit{Code: terminal.ExitInterrupted}
		}
		next, err := client.Ask[model.Probe](ctx, c, http.MethodGet, "/api/models/probes/"+url.PathEscape(p.ID), nil)
		switch {
		case err == nil:
			p = next
		case !errors.Is(err, context.Canceled):
			return p, err
		}
	}
	if moving {
		fmt.Fprint(person.Err, "\r\x1b[K")
	}
	return p, nil
}

// printVerdict prints a table for each way that was tried, and what follows from it.
func (m *commands) printVerdict(v model.Verdict) error {
	t := m.Person()
	mark := map[string]string{
		model.Pass: t.Paint("32", "ok  "), model.Partial: t.Paint("33", "half"), model.Fail: t.Paint("31", "FAIL"), model.Skipped: "-   ",
	}
	for _, way := range v.Ways {
		if len(way.Grades) == 0 {
			fmt.Fprintf(t.Out, "%s  %s\n", terminal.OneLine(way.Mode), terminal.OneLine(way.Why))
			continue
		}
		fmt.Fprintln(t.Out, strings.TrimSpace(fmt.Sprintf("%s  %.0f of 100  %s", terminal.OneLine(way.Mode), way.Score*100, terminal.OneLine(way.Why))))
		for _, g := range way.Grades {
			fmt.Fprintf(t.Out, "  %s  %-36s %6.1f s  %s\n", mark[g.Verdict], terminal.OneLine(g.Title), float64(g.Millis)/1e3, terminal.OneLine(g.Why))
		}
	}
	line := terminal.OneLine(v.Why)
	if v.ToolBudget > 0 {
		line += fmt.Sprintf(" Tools worth offering at once: %d.", v.ToolBudget)
	}
	if v.StepBudget > 0 {
		line += fmt.Sprintf(" Steps of a turn: %d.", v.StepBudget)
	}
	fmt.Fprintln(t.Out, line)
	if v.Reads > 0 || v.Writes > 0 {
		said := []string{}
		if v.Reads > 0 {
			said = append(said, "reads "+speed(v.Reads))
		}
		if v.Writes > 0 {
			said = append(said, "writes "+speed(v.Writes))
		}
		clock := "by the engine's clock"
		if v.Measured == "clock" {
			clock = "as measured here"
		}
		fmt.Fprintf(t.Out, "It %s, %s.\n", strings.Join(said, " and "), clock)
	}
	return nil
}

// count is a number that is worth a line, or "".
func count(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func speed(perSecond float64) string {
	if perSecond <= 0 {
		return ""
	}
	return fmt.Sprintf("%g tokens a second", perSecond)
}

// probedAt says when a model was probed, and whether that still counts.
func probedAt(it model.Item) string {
	switch {
	case it.Probed == nil:
		return "never; try it out with: jackline models probe " + it.Ref
	case it.Stale:
		return it.Probed.At.Format(time.DateOnly) + ", with other weights than it has now: probe it again"
	}
	return it.Probed.At.Format(time.DateOnly)
}
