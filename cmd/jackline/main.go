// Command jackline is the server, the command line and the page of Jackline in one binary.
package main

//go:generate go test . -run ^Test(Docs|Tour)$ -count=1 -update

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/audit"
	"github.com/jackline-ai/jackline/cmd/jackline/client"
	"github.com/jackline-ai/jackline/cmd/jackline/models"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/model/detect"
	"github.com/jackline-ai/jackline/redact"
	"github.com/jackline-ai/jackline/stack"
)

// version is set by the linker.
var version = "dev"

// Main is the program with its surroundings as values, so that tests start the same thing as a person does.
type Main struct {
	Args []string
	Env  func(string) string
	In   io.Reader
	Out  io.Writer
	Err  io.Writer

	// Terminal says whether In and Err are a person's terminal.
	Terminal bool
	Signals  <-chan os.Signal

	// find looks for engines in the way of tests; nil is as everybody does.
	find func(context.Context, detect.Options) []detect.Found

	hider *redact.Redactor // hides secrets in all that leaves the program

	flags map[string]any // settings given as flags
	color string
	quiet bool
	mute  bool // never ask on the terminal
}

func main() {
	collectLater()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	m := &Main{
		Args: os.Args[1:], Env: os.Getenv, In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Signals: signals,
		Terminal: term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stderr.Fd())), //nolint:gosec // descriptors are small
	}
	// The main thread belongs to the sandbox, and all that waits on it would change threads.
	code := make(chan int)
	go func() {
		stack.Grow()
		code <- m.Run(context.Background())
	}()
	os.Exit(<-code)
}

// collectLater lets the first collection of memory come at 16 MiB instead of 4. A command that answers one question needs less, and two
// collections were a sixth of its time; to look through the program's tables they also took more memory than they freed. After the first
// one all is as usual.
func collectLater() {
	if os.Getenv("GOGC") != "" {
		return // the owner knows better
	}
	const first = 400 // percent of the least heap of Go's runtime, 4 MiB
	usual := debug.SetGCPercent(first)
	// Nothing holds this value, so the first collection finds it.
	runtime.AddCleanup(&struct{ *int }{}, func(usual int) { debug.SetGCPercent(usual) }, usual)
}

// Run does what the arguments say and returns the exit code.
func (m *Main) Run(ctx context.Context) (code int) {
	m.flags, m.hider = map[string]any{}, &redact.Redactor{}
	defer func() {
		if v := recover(); v != nil {
			m.crash(v)
			code = terminal.ExitFailed
		}
	}()
	root := m.root()
	strict(root, m.Args)
	root.SetArgs(m.Args)
	root.SetIn(m.In)
	root.SetOut(m.Out)
	root.SetErr(m.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return terminal.ExitOK
	}
	code = terminal.ExitFailed
	var e *terminal.Exit
	var p *client.Problem
	var je *jackline.Error
	say := err.Error()
	switch {
	case errors.As(err, &e):
		code = e.Code
		if e.Err == nil {
			return code
		}
		if say = e.Err.Error(); errors.As(e.Err, &je) {
			say = je.Say
		}
	case errors.As(err, &p):
		say = p.Detail
		switch p.Status {
		case 400, 422:
			code = terminal.ExitUsage
		case 503:
			if p.Kind == jackline.NoModel.String() { // else it is the store that cannot be reached
				code = terminal.ExitNoModel
			}
		}
	case errors.As(err, &je):
		say = je.Say
		code = codeOf(je.Kind)
	case errors.Is(err, context.Canceled):
		return terminal.ExitInterrupted
	default: // cobra's: unknown commands and flags
		code = terminal.ExitUsage
	}
	fmt.Fprintln(m.Err, "jackline: "+terminal.Plain(m.hider.Text(say)))
	return code
}

func codeOf(k jackline.Kind) int {
	switch k {
	case jackline.Invalid, jackline.Unprocessed:
		return terminal.ExitUsage
	case jackline.NoModel:
		return terminal.ExitNoModel
	case jackline.Unavailable, jackline.Internal, jackline.NotFound, jackline.Forbidden, jackline.Conflict, jackline.Gone, jackline.Timeout:
	}
	return terminal.ExitFailed
}

func (m *Main) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "jackline",
		Short: "An agent server for the model of your choice; code decides what it may touch",
		Long: "Jackline gives a model of your choice real tools, files and a shell, and keeps deciding itself what it may touch.\n" +
			"Without a command it chats on a terminal.",
		// No template is given for what it prints: with package text/template in the program the linker keeps each method of
		// each type, a tenth of the binary.
		SilenceUsage: true, SilenceErrors: true, Version: buildVersion(),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !m.Terminal {
				return cmd.Help()
			}
			return m.chat(cmd.Context(), chatOptions{})
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	f := root.PersistentFlags()
	m.color = "auto"
	f.Var(terminal.Choice{Of: []string{"auto", "always", "never"}, V: &m.color}, "color", "colour: auto, always, never")
	f.BoolVarP(&m.quiet, "quiet", "q", false, "no progress on standard error")
	f.BoolVar(&m.mute, "no-input", false, "never ask on the terminal")
	const tree = "man" // the one command that looks at the others
	if len(m.Args) > 0 && m.Args[0] != tree {
		if named := m.commands()[m.Args[0]]; named != nil {
			root.AddCommand(named())
			root.CompletionOptions.DisableDefaultCmd = true
			return root
		}
	}
	for _, command := range m.commands() {
		root.AddCommand(command())
	}
	return root
}

// commands makes each command by its name. One that is named before anything else is made alone: all the others with all their
// flags would take longer than it takes to open the store.
func (m *Main) commands() map[string]func() *cobra.Command {
	return map[string]func() *cobra.Command{
		"run": m.runCmd, "chat": m.chatCmd, "serve": m.serveCmd, "web": m.webCmd, "attach": m.attachCmd, "stop": m.stopCmd, "tools": m.toolsCmd,
		"permissions": m.permissionsCmd, "workspace": m.workspaceCmd, "sessions": m.sessionsCmd, "approve": m.approveCmd,
		"audit":  func() *cobra.Command { return audit.Command(m, m.In, m.auditKeys) },
		"models": m.modelsCmd, "doctor": m.doctorCmd, "config": m.configCmd, "key": m.keyCmd, "man": m.manCmd, "version": m.versionCmd,
	}
}

func (m *Main) modelsCmd() *cobra.Command {
	cmd := models.Command(m, m.In, m.Env)
	cmd.AddCommand(m.contextCmd())
	return cmd
}

// Person implements models.Program.
func (m *Main) Person() *terminal.Terminal { return m.terminal() }

// Quiet implements models.Program.
func (m *Main) Quiet() bool { return m.quiet }

// terminal is the person's terminal, or the lack of one.
func (m *Main) terminal() *terminal.Terminal {
	t := &terminal.Terminal{Out: m.Out, Err: m.Err, Quiet: m.quiet || !m.Terminal}
	t.Interactive = m.Terminal && !m.mute && m.Env("CI") == ""
	switch m.color {
	case "always":
		t.Color = true
	case "never":
	default:
		t.Color = m.Terminal && m.Env("NO_COLOR") == "" && m.Env("TERM") != "dumb"
	}
	return t
}

// setting makes a flag of a setting, so that the table of keys stays the one place that checks it.
func (m *Main) setting(cmd *cobra.Command, flag, path, usage string) {
	cmd.Flags().Var(&settingFlag{m: m, path: path}, flag, usage)
}

type settingFlag struct {
	m    *Main
	path string
	v    string
}

func (s *settingFlag) String() string { return s.v }
func (s *settingFlag) Type() string   { return "value" }
func (s *settingFlag) Set(v string) error {
	s.v = v
	s.m.flags[s.path] = v
	return nil
}

// buildVersion is what the linker was told, or else the build says.
var buildVersion = sync.OnceValue(func() string { //nolint:gochecknoglobals // a fact about the build, read once
	if version != "dev" {
		return version
	}
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" && b.Main.Version != "(devel)" {
		return b.Main.Version
	}
	return version
})

func (m *Main) versionCmd() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			b, _ := debug.ReadBuildInfo()
			goVersion := ""
			if b != nil {
				goVersion = b.GoVersion
			}
			if asJSON {
				return m.json(map[string]string{"version": buildVersion(), "go": goVersion})
			}
			_, err := fmt.Fprintf(m.Out, "jackline %s (%s)\n", buildVersion(), goVersion)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return cmd
}

// json prints one value as one line of JSON.
func (m *Main) json(v any) error { return m.terminal().JSON(v) }
