//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/sandbox/stage"
)

// machine is what a Launcher knows about the machine, once somebody asked.
type machine struct {
	once    sync.Once
	abi     int
	system  []stage.Rule // for the level of Landlock
	secrets []string     // what of the system is masked, where there are namespaces
	base    *planner     // what of the machine is the same for all commands
}

// learn looks at the machine. It is not done by Open, which must cost nothing.
func (m *machine) learn() {
	m.once.Do(func() {
		m.abi = stage.ABI()
		m.system, m.secrets = systemRules()
		m.base = m.basis()
	})
}

// Start starts a command that is held, at the level of the report. cmd is as it would be started plainly: its path,
// arguments, environment, folder and streams; ExtraFiles and SysProcAttr must be unset. The command leads a session and a
// process group of its own. Without a level that holds, Start refuses.
func (l *Launcher) Start(cmd *exec.Cmd, s Spec) (*Run, error) {
	const op = "sandbox.Start"
	if err := s.check(); err != nil {
		return nil, err
	}
	if len(cmd.ExtraFiles) > 0 || cmd.SysProcAttr != nil {
		return nil, jackline.E(op, jackline.Internal, errors.New("ExtraFiles or SysProcAttr is set"), "The command could not be started in the sandbox.")
	}
	report := l.Report()
	if report.Level == jackline.SandboxNone {
		return nil, jackline.E(op, jackline.Unavailable, nil, "No sandbox can hold commands on this machine. %s", report.Why)
	}
	return l.start(cmd, s, report.Level)
}

// start starts a command at a level, tried out or not.
func (l *Launcher) start(cmd *exec.Cmd, s Spec, level jackline.SandboxLevel) (*Run, error) {
	l.learn()
	// Whatever this program was given by whoever started it stays here. What it opens itself does so anyway.
	if err := unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, jackline.E("sandbox.Start", jackline.Unavailable, err, "This kernel cannot keep open files from commands; the sandbox needs Linux 5.13 or newer.")
	}
	if level == jackline.SandboxNamespaces {
		return l.startStage(cmd, s)
	}
	return l.startThread(cmd, s)
}

// startThread starts a command from a thread of its own that is held like the command is to be.
func (l *Launcher) startThread(cmd *exec.Cmd, s Spec) (*Run, error) {
	const op = "sandbox.Start"
	run := &Run{Level: jackline.SandboxLandlock, ended: make(chan struct{})}
	run.Unmasked = append(append(run.Unmasked, s.Masks...), s.ReadOnly...)
	sockets, port := stage.NoSockets, 0
	if l.abi >= abiLocalSockets {
		sockets = stage.LocalSockets
	}
	if s.Network == ProxyNetwork {
		if l.abi < abiPorts {
			return nil, jackline.E(op, jackline.Unavailable, nil,
				"A network can only be granted to a command in the sandbox where the kernel has namespaces, or Linux 6.7 or newer; here it has neither.")
		}
		var err error
		if run.Proxy, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil { //nolint:noctx // it connects nowhere
			return nil, jackline.E(op, jackline.Internal, err, "The command's way to the network could not be made.")
		}
		port = run.Proxy.Addr().(*net.TCPAddr).Port
		sockets = stage.OnlyTCP
		setProxy(cmd, run.Proxy.Addr().String())
	}
	fail := func(err error) (*Run, error) {
		if run.Proxy != nil {
			_ = run.Proxy.Close()
		}
		return nil, err
	}
	domain := stage.DomainFor(l.abi, false)
	rules := append(append(make([]stage.Rule, 0, len(l.system)+32), l.system...), s.given()...)
	for _, p := range kernelFacts {
		rules = append(rules, stage.Rule{Path: p, Access: stage.Reads})
	}
	set, err := domain.Ruleset(rules, port)
	if err == nil && s.Dir != nil {
		err = domain.AddFD(set, int(s.Dir.Fd()), stage.Writes) //nolint:gosec // a descriptor
	}
	if err != nil {
		return fail(jackline.E(op, jackline.Unavailable, err, "The rules of the sandbox could not be made."))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Ptrace: true}
	started := make(chan error, 1)
	go func() {
		defer close(run.ended)
		runtime.LockOSThread() // and never unlocked: the thread ends with this function
		err := stage.RestrictThread(set, stage.Filter(sockets))
		_ = unix.Close(set)
		if err == nil {
			err = startStopped(cmd, s.Limits.resolve())
		}
		started <- err
		if err == nil {
			awaitEnd(cmd.Process.Pid)
		}
	}()
	if err := <-started; err != nil {
		<-run.ended
		return fail(startError(err))
	}
	return run, nil
}

// The versions of Landlock that brought what is looked at here.
const (
	abiPorts        = 4
	abiLocalSockets = 9
)

// startStopped starts a command that stops before its first instruction, sets its limits, and lets it go.
func startStopped(cmd *exec.Cmd, limits []limit) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	err := func() error {
		var status unix.WaitStatus
		for {
			_, err := unix.Wait4(pid, &status, 0, nil)
			if !errors.Is(err, unix.EINTR) {
				if err != nil {
					return err
				}
				break
			}
		}
		if !status.Stopped() {
			return fmt.Errorf("the command ended before it began: %v", status)
		}
		for _, l := range limits {
			if err := unix.Prlimit(pid, l.resource, &unix.Rlimit{Cur: l.value, Max: l.value}, nil); err != nil {
				return fmt.Errorf("limit %d: %w", l.resource, err)
			}
		}
		preferForMemory(pid)
		return unix.PtraceDetach(pid)
	}()
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return err
}

// preferForMemory has the kernel end a command before anything else when memory runs out.
func preferForMemory(pid int) {
	const most = "1000"
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte(most), 0o600) // a wish, not a wall
}

// awaitEnd returns when a child has ended. It is not reaped here.
func awaitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return // it ended, or somebody has reaped it already
		}
	}
}

func startError(err error) error {
	const op = "sandbox.Start"
	var path *os.PathError
	if errors.As(err, &path) || errors.Is(err, exec.ErrNotFound) {
		return jackline.E(op, jackline.Unprocessed, err, "The command could not be started in the sandbox: its program or its folder cannot be reached from there.")
	}
	return jackline.E(op, jackline.Unavailable, err, "The command could not be started in the sandbox.")
}

// setProxy names the proxy to a command in the ways that programs look for it.
func setProxy(cmd *exec.Cmd, address string) {
	env := cmd.Env
	if env == nil {
		env = os.Environ()
	}
	url := "http://" + address
	kept := make([]string, 0, len(env)+8)
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		switch strings.ToUpper(name) {
		case "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY":
		default:
			kept = append(kept, e)
		}
	}
	for _, name := range [...]string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		kept = append(kept, name+"="+url, strings.ToLower(name)+"="+url)
	}
	cmd.Env = kept
}

type limit struct {
	resource int
	value    uint64
}

// resolve puts in the defaults. A limit that is lower already stays.
func (l Limits) resolve() []limit {
	var list []limit
	add := func(resource int, value, normal int64) {
		if value == 0 {
			value = normal
		}
		if value < 0 {
			return
		}
		want := uint64(value)
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err == nil {
			want = min(want, now.Max)
		}
		list = append(list, limit{resource, want})
	}
	add(unix.RLIMIT_FSIZE, l.FileSize, DefaultFileSize)
	add(unix.RLIMIT_NOFILE, int64(l.OpenFiles), DefaultOpenFiles)
	add(unix.RLIMIT_AS, l.Memory, DefaultMemory)
	return append(list, limit{unix.RLIMIT_CORE, 0})
}
