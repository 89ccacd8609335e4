package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cell"
	"github.com/jackline-ai/jackline/cmd/jackline/doctor"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/egress"
	"github.com/jackline-ai/jackline/sandbox"
)

// newCells makes what commands run in. What this machine can hold is tried out when somebody first asks.
func newCells(ctx context.Context, conf *settings.Config, guard *egress.Guard) (*cell.Cells, error) {
	launcher, err := sandbox.Open(ctx, sandbox.Options{})
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir() // without one there is nothing to keep from commands
	p := conf.Places
	return cell.New(cell.Options{
		Launcher: launcher, Guard: guard, Data: p.Data, State: []string{filepath.Dir(p.File), p.Data, p.Logs}, Home: home,
		Read: conf.Texts("sandbox.read"), Write: conf.Texts("sandbox.write"), KeepEnv: conf.Texts("sandbox.keepEnv"), Environ: environ(conf),
	})
}

// checkSandbox is what doctor says of it.
func checkSandbox(cells *cell.Cells) jackline.Check {
	r := cells.Report()
	processes := ""
	if r.Level > jackline.SandboxNone && r.Processes == "none" {
		processes = "The number of their processes is not limited."
	}
	return doctor.Sandbox(r.Level, r.Why, processes)
}

// homeCmd shows or removes the home folder that commands have in a workspace.
func (m *Main) homeCmd() *cobra.Command {
	remove := false
	cmd := &cobra.Command{
		Use: "home FOLDER", Short: "Say where the home folder of a workspace's commands is, or remove it", Args: cobra.ExactArgs(1),
		Long: "Commands that run in the sandbox have a home folder of their own, one for each workspace, in which programs keep their caches.\n" +
			"It can be removed at any time when none runs: the next command begins with an empty one.",
		RunE: func(_ *cobra.Command, args []string) error {
			conf, err := settings.Load(m.Env, m.flags)
			if err != nil {
				return &terminal.Exit{Code: terminal.ExitUsage, Err: err}
			}
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return terminal.Usage("%s: %v", args[0], err)
			}
			if real, err := filepath.EvalSymlinks(dir); err == nil { // a workspace that is gone leaves its home behind
				dir = real
			}
			cells, err := cell.New(cell.Options{Data: conf.Places.Data})
			if err != nil {
				return err
			}
			if remove {
				was, err := cells.RemoveHome(dir)
				if err == nil && !was {
					_, err = fmt.Fprintln(m.Out, "There is none.")
				}
				return err
			}
			home := cells.Home(dir)
			if _, err := os.Stat(home); err != nil {
				_, err = fmt.Fprintf(m.Out, "%s (not made yet)\n", terminal.Plain(home))
				return err
			}
			_, err = fmt.Fprintf(m.Out, "%s (%d MiB)\n", terminal.Plain(home), sizeOf(home)>>20)
			return err
		},
	}
	cmd.Flags().BoolVar(&remove, "remove", false, "remove it, with all that programs keep there")
	return cmd
}

// sizeOf is how many bytes the files below a folder have together.
func sizeOf(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what cannot be seen is not counted
		}
		if st, err := d.Info(); err == nil && st.Mode().IsRegular() {
			n += st.Size()
		}
		return nil
	})
	return n
}
