package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/doctor"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/web"
)

// doctor looks at everything that can be looked at from inside.
func (a *app) doctor(ctx context.Context) []jackline.Check {
	list := []jackline.Check{doctor.Settings(a.conf, nil)}
	list = append(append(list, doctor.Files(a.conf.Places, false)...), doctor.Store(nil))
	catalogue, err := a.engines.Catalogue(ctx, true)
	list = append(list, doctor.Engines(catalogue, err)...)
	account, err := a.engines.Account(ctx)
	list = append(list, doctor.Model(a.engines.Status(ctx), account, err)...)
	list = append(list, doctor.Fallback(len(a.conf.Texts("model.fallback")), a.engines.Unfit(ctx))...)
	folder, err := a.vet(ctx, "")
	list = append(list, doctor.Workspace(folder, err))
	allowed, err := a.set.Permissions(ctx, jackline.Local)
	return append(list, doctor.Permissions(allowed, err), doctor.Search(web.Deps{Getenv: a.env}.Searches(), web.SearchKeys), checkSandbox(a.cells),
		doctor.Port(a.listen(), a.serving(), a.conf.Yes("server.allowRemote")))
}

func (m *Main) doctorCmd() *cobra.Command {
	asJSON, mend := false, false
	cmd := &cobra.Command{
		Use: "doctor", Short: "Look at engines, model, folders and settings, and say what is wrong", Args: cobra.NoArgs,
		Long: "Look at engines, model, window, folders, permissions and settings, and say what is wrong and what to do.\n" +
			"--fix makes missing folders and closes files that other users of this machine can read; nothing else is changed.\n\n" +
			"Exit codes: 0 all is well, warnings included; 1 something does not work.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			h := jackline.HealthOf(m.examine(cmd.Context(), mend))
			if asJSON {
				if err := m.json(h); err != nil {
					return err
				}
			} else {
				m.printHealth(h)
			}
			if !h.OK {
				return &terminal.Exit{Code: terminal.ExitFailed, Err: nil}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().BoolVar(&mend, "fix", false, "mend folders and the permissions of files")
	return cmd
}

// examine has the running server look, or looks by itself. Files are looked at first, and from here: opening the store closes some of them.
func (m *Main) examine(ctx context.Context, mend bool) []jackline.Check {
	conf, err := settings.Load(m.Env, m.flags)
	if err != nil {
		return []jackline.Check{doctor.Settings(nil, err)}
	}
	files := doctor.Files(conf.Places, mend)
	conn, err := m.connect(ctx, false)
	if err != nil {
		return append(append([]jackline.Check{doctor.Settings(conf, nil)}, files...), doctor.Store(err))
	}
	defer conn.close()
	h, err := client.Ask[jackline.Health](ctx, conn.client, http.MethodGet, "/api/doctor", nil)
	if err != nil {
		return append(files, jackline.Check{ID: "server", Title: "Server", State: jackline.CheckFail, Text: err.Error()})
	}
	for i, c := range h.Checks {
		if at := slices.IndexFunc(files, func(f jackline.Check) bool { return f.ID == c.ID }); at >= 0 {
			h.Checks[i] = files[at]
		}
	}
	return h.Checks
}

func (m *Main) printHealth(h jackline.Health) {
	t := m.terminal()
	for _, c := range h.Checks {
		mark := map[jackline.CheckState]string{
			jackline.CheckOK: t.Paint("32", "ok  "), jackline.CheckWarn: t.Paint("33", "warn"), jackline.CheckFail: t.Paint("31", "FAIL"),
		}[c.State]
		if mark == "" {
			mark = "?   "
		}
		fmt.Fprintf(m.Out, "%s  %s: %s\n", mark, terminal.OneLine(c.Title), terminal.Plain(c.Text))
		if c.Fix != "" {
			fmt.Fprintf(m.Out, "      %s\n", terminal.Plain(c.Fix))
		}
	}
}
