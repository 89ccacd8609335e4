//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/sandbox/stage"
)

// stagePatience is how long a stage may take to become the command. It takes milliseconds, on a machine that has time.
const stagePatience = 20 * time.Second

// startStage starts a command in namespaces of its own: this program again, which makes them and becomes the command.
func (l *Launcher) startStage(cmd *exec.Cmd, s Spec) (*Run, error) {
	const op = "sandbox.Start"
	if cmd.Err != nil {
		return nil, startError(cmd.Err)
	}
	if s.Network == ProxyNetwork {
		setProxy(cmd, stage.ProxyAddress)
	}
	p, err := l.plan(&s)
	if err != nil {
		return nil, jackline.E(op, jackline.Unprocessed, err, "The command could not be started in the sandbox: its workspace or its home is not there.")
	}
	run := &Run{Level: jackline.SandboxNamespaces, Unmasked: p.unmasked, ended: make(chan struct{})}
	run.cleanup = append(run.cleanup, p.masks.remove)
	fail := func(err error) (*Run, error) {
		close(run.ended)
		return nil, errors.Join(err, run.Close())
	}
	p.Path, p.Args, p.Env, p.UID, p.GID = cmd.Path, cmd.Args, cmd.Env, os.Geteuid(), os.Getegid()
	if p.Env == nil {
		p.Env = os.Environ()
	}
	if len(p.Args) == 0 {
		p.Args = []string{cmd.Path}
	}
	if p.Dir, err = startFolder(cmd.Dir); err != nil {
		return fail(startError(err))
	}
	p.Domain = stage.DomainFor(l.abi, true)
	p.Filter = stage.Filter(stage.OwnNetwork, stage.OwnWorld)
	p.Proxy = s.Network == ProxyNetwork
	var group *group
	if p.Limits, group, err = l.limits(s.Limits, jackline.SandboxNamespaces); err != nil {
		return fail(err)
	}
	if group != nil {
		p.Processes = group.members()
		run.cleanup = append(run.cleanup, group.remove)
	}
	plan, err := memory(p.Marshal())
	if err != nil {
		return fail(jackline.E(op, jackline.Unavailable, err, "The command could not be started in the sandbox."))
	}
	defer func() { _ = plan.Close() }()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(jackline.E(op, jackline.Unavailable, err, "The command could not be started in the sandbox."))
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "stage"), os.NewFile(uintptr(pair[1]), "stage") //nolint:gosec // descriptors
	defer func() { _ = ours.Close() }()

	as := *cmd
	cmd.Path, cmd.Args, cmd.Dir = "/proc/self/exe", []string{"jackline-sandbox"}, "/"
	cmd.Env, cmd.ExtraFiles = []string{stage.Variable + "=1"}, []*os.File{plan, theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	cmd.Path, cmd.Args, cmd.Dir, cmd.Env, cmd.ExtraFiles, cmd.SysProcAttr = as.Path, as.Args, as.Dir, as.Env, nil, nil
	_ = theirs.Close()
	if err != nil {
		return fail(startError(err))
	}
	if run.Proxy, err = listen(ours); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fail(startError(err))
	}
	go func() {
		defer close(run.ended)
		awaitEnd(cmd.Process.Pid)
	}()
	return run, nil
}

// startFolder is the folder to start in by its name: a descriptor of ours is none in another machine.
func startFolder(dir string) (string, error) {
	if strings.HasPrefix(dir, "/proc/self/fd/") {
		return os.Readlink(dir)
	}
	return dir, nil
}

// listen hears how far the stage comes: to the command, or not. It may bring a listener on the way.
func listen(socket *os.File) (proxy net.Listener, err error) {
	fail := func(err error) (net.Listener, error) {
		if proxy != nil {
			_ = proxy.Close()
		}
		return nil, err
	}
	fd := int(socket.Fd()) //nolint:gosec // a descriptor
	limit := unix.NsecToTimeval(stagePatience.Nanoseconds())
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return nil, err
	}
	var b [1024]byte
	oob := make([]byte, unix.CmsgSpace(4))
	for {
		n, oobn, _, _, err := unix.Recvmsg(fd, b[:], oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return fail(err)
		case n == 0:
			return fail(errors.New("the stage ended early"))
		}
		switch b[0] {
		case stage.MessageStarted:
			return proxy, nil
		case stage.MessageListener:
			if proxy, err = received(oob[:oobn]); err != nil {
				return fail(err)
			}
		default:
			return fail(&stageError{string(b[1:n])})
		}
	}
}

// received makes a listener of the descriptor in a message.
func received(oob []byte) (net.Listener, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("no descriptor: %w", err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, fmt.Errorf("no descriptor: %w", err)
	}
	f := os.NewFile(uintptr(fds[0]), "proxy") //nolint:gosec // a descriptor
	defer func() { _ = f.Close() }()
	return net.FileListener(f)
}

// A stageError is what a stage said about its failure.
type stageError struct{ words string }

func (e *stageError) Error() string { return "stage: " + e.words }

// memory is a file that is nowhere, with some content.
func memory(b []byte) (*os.File, error) {
	if len(b) > math.MaxInt32 {
		return nil, errors.New("too large")
	}
	fd, err := unix.MemfdCreate("jackline-sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "plan") //nolint:gosec // a descriptor
	if _, err := f.Write(b); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
