package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jackline-ai/jackline/server/guard"

	"github.com/jackline-ai/jackline/cmd/jackline/client"

	"github.com/jackline-ai/jackline/cmd/jackline/terminal"

	"github.com/jackline-ai/jackline/cmd/jackline/settings"
)

func (m *Main) serveFlags(cmd *cobra.Command) {
	m.engineFlags(cmd)
	m.setting(cmd, "listen", "server.listen", "address of page and API")
	m.setting(cmd, "mode", "permissions.mode", "what runs unasked in new chats")
	m.setting(cmd, "workspace", "permissions.workspaceRoot", "the workspace of new chats")
}

func (m *Main) serveCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "serve", Short: "Serve the page and the API", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return m.serve(cmd.Context(), false) },
	}
	m.serveFlags(cmd)
	return cmd
}

func (m *Main) webCmd() *cobra.Command {
	open := true
	cmd := &cobra.Command{
		Use: "web", Short: "Serve, and open the page in the browser", Args: cobra.NoArgs,
		Long: "Serve the page and the API, and open the page with a link that works once. Where a server runs already, only a new link is made.",
		RunE: func(cmd *cobra.Command, _ []string) error { return m.serve(cmd.Context(), open) },
	}
	cmd.Flags().BoolVar(&open, "open", true, "open the browser; the link is printed in any case")
	m.serveFlags(cmd)
	return cmd
}

// serve runs the server until a signal ends it.
func (m *Main) serve(ctx context.Context, open bool) error {
	conf, err := settings.Load(m.Env, m.flags)
	if err != nil {
		return &terminal.Exit{Code: terminal.ExitUsage, Err: err}
	}
	m.warn(conf.Warnings)
	if c := client.Running(ctx, conf.Places.Data, buildVersion()); c != nil && !m.ownEngine() {
		code, err := client.Ask[struct {
			Code string `json:"code"`
		}](ctx, c, "POST", "/api/login/codes", map[string]any{})
		if err != nil {
			return err
		}
		note := "A server runs already at " + c.Base + "; none was started here."
		if len(m.flags) > 0 {
			note += " It keeps its own settings: what was given here changes nothing."
		}
		m.greet(c.Base+"/#code="+url.QueryEscape(code.Code), note, "", open)
		return nil
	}
	l, note, err := guard.Listen(conf.Text("server.listen"), conf.Yes("server.allowRemote"))
	if err != nil {
		return err
	}
	a, err := m.openApp(ctx, conf, guard.HostsOf(l.Addr(), conf.Texts("server.hosts")...))
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer a.close(context.WithoutCancel(ctx))
	if err := a.turns.Resume(ctx, l.Addr().String()); err != nil {
		return errors.Join(err, l.Close())
	}
	// Where it listens at all addresses, that one by which this machine's own commands may call it.
	withdraw, err := client.Announce(conf.Places.Data, display(l.Addr()))
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer withdraw()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopWatch := m.onSignal(func(s os.Signal) {
		code := terminal.ExitInterrupted
		if s == syscall.SIGTERM {
			code = terminal.ExitTerminated
		}
		fmt.Fprintln(m.Err, "\nStopping; what runs is kept and taken up at the next start.")
		cancel(&terminal.Exit{Code: code, Err: nil})
	})
	defer stopWatch()
	m.greet("http://"+display(l.Addr())+"/#code="+a.server.NewCode(), note, " Ctrl+C ends the server.", open)
	a.engines.Warm(ctx)
	if st := a.engines.Status(ctx); st.Ready {
		fmt.Fprintf(m.Err, "Model: %s (%s)\n", terminal.Plain(st.Name), st.Mode)
	} else {
		fmt.Fprintf(m.Err, "Model: %s\n", terminal.Plain(st.Why))
	}
	err = a.server.Serve(ctx, l)
	var e *terminal.Exit
	if errors.As(context.Cause(ctx), &e) && (err == nil || errors.Is(err, context.Canceled)) {
		return nil // asked to end, and ended well
	}
	return err
}

// display is an address as a browser takes it.
func display(a net.Addr) string {
	if t, ok := a.(*net.TCPAddr); ok && t.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", t.Port)
	}
	return a.String()
}

// greet tells where the page is, and opens it where there is somebody to look at it. end says how the server is ended.
func (m *Main) greet(link, note, end string, open bool) {
	if note != "" {
		fmt.Fprintln(m.Err, note)
	}
	fmt.Fprintf(m.Out, "Jackline is at %s\n", link)
	fmt.Fprintln(m.Err, "The link works once, within ten minutes; jackline web makes another."+end)
	if !open || !m.Terminal {
		return
	}
	name, args := "xdg-open", []string{link}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", link}
	default:
		if m.Env("DISPLAY") == "" && m.Env("WAYLAND_DISPLAY") == "" {
			return
		}
	}
	if path, err := exec.LookPath(name); err == nil {
		// The link on the command line is seen by other processes of this machine for a moment; it works once, and the browser
		// is faster.
		_ = exec.Command(path, args...).Start() //nolint:gosec,noctx // our own link, and the browser outlives us
	}
}
