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
	groups  string       // where control groups can be made; "" is nowhere
}

// learn looks at the machine. It is not done by Open, which must cost nothing.
func (m *machine) learn() {
	m.once.Do(func() {
		m.abi = stage.ABI()
		m.system, m.secrets = systemRules()
		m.base = m.basis()
		m.groups = processGroups()
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
	limits, group, err := l.limits(s.Limits, jackline.SandboxLandlock)
	if err != nil {
		_ = unix.Close(set)
		return fail(err)
	}
	if group != nil {
		run.cleanup = append(run.cleanup, group.remove)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Ptrace: true}
	stopped, proceed, started := make(chan int), make(chan error), make(chan error, 1)
	strays, gone := make(chan []int), make(chan struct{})
	found, listener := make(chan int), make(chan int, 1)
	go func() {
		defer close(gone)
		runtime.LockOSThread() // and never unlocked: the thread ends with this function
		fd, err := stage.RestrictThread(set, stage.Filter(sockets, stage.SharedWorld))
		_ = unix.Close(set)
		listener <- fd
		if err == nil {
			err = startStopped(cmd, stopped, proceed)
		}
		close(stopped)
		started <- err
		if err == nil {
			awaitEnd(cmd.Process.Pid)
		}
		close(run.ended)
		for pids := range strays {
			found <- endMates(pids)
		}
	}()
	keeper := keepFacts(<-listener, s.writable())
	// The thread is held like the command, so what is done to the command is done from here.
	if pid, ok := <-stopped; ok {
		proceed <- settle(pid, limits, group)
	}
	if err := <-started; err != nil {
		close(strays)
		<-gone
		keeper.stop()
		if group != nil {
			group.remove()
		}
		return fail(startError(err))
	}
	since := startOf(cmd.Process.Pid)
	run.cleanup = append(run.cleanup, func() {
		if domain.Scoped != 0 {
			endStrays(since, strays, found)
		}
		close(strays)
		<-gone
		keeper.stop()
	})
	return run, nil
}

// The versions of Landlock that brought what is looked at here.
const (
	abiPorts        = 4
	abiLocalSockets = 9
)

// startStopped starts a command that stops before its first instruction, says so, and lets it go when told.
func startStopped(cmd *exec.Cmd, stopped chan<- int, proceed <-chan error) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	err := awaitStop(pid)
	if err == nil {
		stopped <- pid
		err = <-proceed
	}
	if err == nil {
		err = unix.PtraceDetach(pid)
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	return err
}

func awaitStop(pid int) error {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case status.Stopped():
			return nil
		default:
			return fmt.Errorf("the command ended before it began: %#x", uint32(status))
		}
	}
}

// settle sets the limits of a command that is stopped.
func settle(pid int, limits []stage.Limit, group *group) error {
	if group != nil {
		if err := writeExisting(group.members(), strconv.Itoa(pid)); err != nil {
			return err
		}
	}
	for _, l := range limits {
		if err := unix.Prlimit(pid, l.Resource, &unix.Rlimit{Cur: l.Value, Max: l.Value}, nil); err != nil {
			return fmt.Errorf("limit %d: %w", l.Resource, err)
		}
	}
	// When memory runs out, commands go first. That is a wish, not a wall.
	_ = writeExisting("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", "1000")
	return nil
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

// limits are the limits of a command, and the group that bounds its processes where there has to be one. A limit that is
// lower already stays.
func (m *machine) limits(l Limits, level jackline.SandboxLevel) ([]stage.Limit, *group, error) {
	var list []stage.Limit
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
		list = append(list, stage.Limit{Resource: resource, Value: want})
	}
	add(unix.RLIMIT_FSIZE, l.FileSize, DefaultFileSize)
	add(unix.RLIMIT_NOFILE, int64(l.OpenFiles), DefaultOpenFiles)
	add(unix.RLIMIT_AS, l.Memory, DefaultMemory)
	// One byte is no core either, and with it the kernel does not hand one to the system's collector, which is not held.
	list = append(list, stage.Limit{Resource: unix.RLIMIT_CORE, Value: 1})
	if l.Processes < 0 {
		return list, nil, nil
	}
	processes := int64(l.Processes)
	if processes == 0 {
		processes = DefaultProcesses
	}
	switch m.bound(level) {
	case byGroup:
		if level == jackline.SandboxNamespaces {
			processes += stageThreads
		}
		g, err := makeGroup(m.groups, int(processes))
		if err != nil {
			return nil, nil, jackline.E("sandbox.Start", jackline.Unavailable, err, "The command could not be started in the sandbox: there is no control group for it.")
		}
		return list, g, nil
	case byLimit:
		if level == jackline.SandboxNamespaces {
			processes++ // the first; a user's processes are counted in each namespace of users by themselves
		} else {
			processes += tasks()
		}
		add(unix.RLIMIT_NPROC, processes, 0)
	}
	return list, nil, nil
}

// stageThreads is how many threads a stage may have, which is a program in Go, and the first process of the namespaces.
const stageThreads = 16

// bound is what bounds the number of a command's processes. Root's are not counted by the user.
func (m *machine) bound(level jackline.SandboxLevel) string {
	root := os.Getuid() == 0
	switch {
	case m.groups != "" && (root || level != jackline.SandboxNamespaces):
		return byGroup
	case !root:
		return byLimit
	}
	return unbound
}
