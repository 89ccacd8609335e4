//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/sandbox/stage"
)

// probePatience is how long a probe may take. It takes milliseconds.
const probePatience = 20 * time.Second

// probe tries the levels, from the highest, until one holds.
func (l *Launcher) probe() (r Report) {
	began := time.Now()
	l.learn()
	r = Report{ABI: l.abi, Processes: unbound}
	defer func() { r.Took = time.Since(began) }()
	if l.abi < 1 {
		r.Why = "This kernel has no Landlock, or it is switched off: Linux 5.13 or newer is needed, with landlock among the security modules (the lsm= setting of the kernel)."
		r.Open = []string{"Everything: commands run with your own rights."}
		return r
	}
	var whys []string
	for level := l.atMost; level > jackline.SandboxNone; level-- {
		checks, err := l.try(level)
		r.Checks = append(r.Checks, checks...)
		why := whyNot(level, checks, err)
		if why == "" {
			r.Level, r.Processes, r.Open = level, l.bound(level), l.open(level)
			break
		}
		whys = append(whys, why)
	}
	if l.atMost < jackline.SandboxNamespaces && r.Level == l.atMost {
		whys = append(whys, "No higher level was asked for.")
	}
	r.Why = strings.Join(whys, " ")
	if r.Level == jackline.SandboxNone {
		r.Open = []string{"Everything: commands run with your own rights."}
	}
	return r
}

// whyNot says why a level does not hold; "" where it does.
func whyNot(level jackline.SandboxLevel, checks []Check, err error) string {
	if err != nil {
		what := "Namespaces cannot be used here"
		if level == jackline.SandboxLandlock {
			what = "Landlock cannot be used here"
		}
		var failed *stageError
		if !errors.As(err, &failed) {
			var errno unix.Errno
			if errors.As(err, &errno) {
				return fmt.Sprintf("%s (%v): %s", what, errno, jackline.Say(err))
			}
			return fmt.Sprintf("%s: %s", what, jackline.Say(err))
		}
		advice := "In a container, the container has to be allowed user namespaces and a /proc of its own."
		if restricted("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") {
			advice = "AppArmor refuses them to programs without a profile: sysctl kernel.apparmor_restrict_unprivileged_userns=0 permits them."
		} else if restricted("/proc/sys/user/max_user_namespaces", "0") || restricted("/proc/sys/kernel/unprivileged_userns_clone", "0") {
			advice = "They are switched off by a sysctl: user.max_user_namespaces or kernel.unprivileged_userns_clone."
		}
		return fmt.Sprintf("%s (%s). %s", what, failed.words, advice)
	}
	var escaped []string
	for _, c := range checks {
		if !c.Held {
			escaped = append(escaped, c.Name)
		}
	}
	if len(escaped) > 0 {
		return fmt.Sprintf("At the level %v a command could still: %s.", level, strings.Join(escaped, ", "))
	}
	return ""
}

func restricted(path, value string) bool {
	b, err := os.ReadFile(path)
	return err == nil && strings.TrimSpace(string(b)) == value
}

// open says what a level does not hold.
func (l *Launcher) open(level jackline.SandboxLevel) []string {
	list := []string{"How much disk all files of a command take together; each file is bounded, and so is the time."}
	if l.bound(level) == unbound {
		list = append(list, "How many processes a command starts: it runs as root, which the kernel does not count, and no control group can be made.")
	}
	if level == jackline.SandboxNamespaces {
		if l.abi < abiLocalSockets {
			list = append(list, "Sockets that another program makes in the workspace while the command runs, or that have no absolute name.")
		}
		return list
	}
	list = append(list,
		"What the workspace holds that is protected: nothing in a writable folder can be kept from commands.",
		"With a network granted: which address is connected to. Only the port is held.")
	if l.abi < 6 {
		list = append(list, "Signals and abstract sockets of your other programs: that needs Linux 6.12 or newer.")
	}
	return list
}

// try runs a probe at a level. It proves something about this machine as it is now.
func (l *Launcher) try(level jackline.SandboxLevel) (checks []Check, err error) {
	const op = "sandbox.probe"
	failed := func(err error) ([]Check, error) {
		return nil, jackline.E(op, jackline.Internal, err, "the sandbox could not be tried out: is the folder for temporary files full, or read-only?")
	}
	dir, err := os.MkdirTemp("", "jackline-probe-")
	if err != nil {
		return failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p := stage.Probe{
		Workspace: filepath.Join(dir, "workspace"), Outside: filepath.Join(dir, "outside"), Server: os.Getpid(), Abstract: "jackline-" + rand.Text(),
	}
	home := filepath.Join(dir, "home")
	hooks := filepath.Join(p.Workspace, ".git", "hooks")
	for _, d := range [...]string{hooks, p.Outside, home} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return failed(err)
		}
	}
	canary := filepath.Join(p.Outside, "canary")
	s := Spec{Workspace: p.Workspace, Home: home}
	if level == jackline.SandboxNamespaces {
		p.Masked, p.Missing, p.Hooks = filepath.Join(p.Workspace, ".env"), filepath.Join(p.Workspace, ".netrc"), hooks
		s.Masks, s.ReadOnly = []string{p.Masked, p.Missing}, []string{hooks}
		if err := os.WriteFile(p.Masked, []byte(stage.Canary), 0o600); err != nil {
			return failed(err)
		}
	}
	if err := os.WriteFile(canary, []byte(stage.Canary), 0o600); err != nil {
		return failed(err)
	}
	tcp, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // it connects nowhere
	if err != nil {
		return failed(err)
	}
	defer func() { _ = tcp.Close() }()
	p.Port = tcp.Addr().(*net.TCPAddr).Port
	for _, name := range [...]string{"@" + p.Abstract, filepath.Join(p.Outside, "socket")} {
		local, err := net.Listen("unix", name) //nolint:noctx // it connects nowhere
		if err != nil {
			return failed(err)
		}
		defer func() { _ = local.Close() }()
	}
	exe, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	s.Read = []string{exe}
	cmd := exec.Command(exe) //nolint:noctx // it is ended below
	cmd.Env, cmd.Dir = []string{stage.ProbeVariable + "=" + p.String()}, p.Workspace
	var out bytes.Buffer
	cmd.Stdout = &out
	run, err := l.start(cmd, s, level)
	if err != nil {
		return nil, err
	}
	timer := time.AfterFunc(probePatience, func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) })
	err = cmd.Wait()
	timer.Stop()
	if err = errors.Join(err, run.Close()); err != nil {
		return failed(err)
	}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if name, ok := strings.CutPrefix(line, stage.Held); ok {
			checks = append(checks, Check{Level: level, Name: name, Held: true})
		} else if name, ok := strings.CutPrefix(line, stage.Escaped); ok {
			checks = append(checks, Check{Level: level, Name: name})
		}
	}
	// What the probe says is checked against what is to be seen from outside.
	entries, err := os.ReadDir(p.Outside)
	b, err2 := os.ReadFile(canary)
	if err != nil || err2 != nil || len(entries) != 2 || string(b) != stage.Canary {
		checks = append(checks, Check{Level: level, Name: "change what is outside"})
	}
	const least = 13
	if _, err := os.Stat(filepath.Join(p.Workspace, "made")); err != nil || len(checks) < least {
		return failed(fmt.Errorf("the probe did not run: %w", err))
	}
	return checks, nil
}
