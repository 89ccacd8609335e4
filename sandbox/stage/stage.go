//go:build linux && (amd64 || arm64)

package stage

import (
	"encoding/binary"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Variable is the environment variable that makes a process a stage. It is the only one that a stage is given.
const Variable = "JACKLINE_SANDBOX_STAGE"

// The descriptors that a stage is given, besides those of the command.
const (
	planFD   = 3 // a file with the [Plan]
	socketFD = 4 // where it says how far it came
)

// The messages of a stage, each the first byte of a packet.
const (
	MessageListener = 'L' // with a descriptor
	MessageFailed   = 'F' // with words
	MessageStarted  = 'S'
)

// Namespaces are what a stage makes new.
const Namespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
	unix.CLONE_NEWCGROUP

// init makes the process a stage where it was started as one. That is decided here, and in a package that needs so little,
// because the rest of the program takes longer to be made ready than a stage lives.
//
// It also keeps the main thread to the main goroutine: other threads are held by rules for the commands that they start,
// and if the main thread were, the whole process would count as held by them, and lie open to those commands.
func init() {
	if v, ok := syscall.Getenv(Variable); ok && v != "" {
		run()
	}
	if v, ok := syscall.Getenv(ProbeVariable); ok && v != "" {
		if p, ok := parseProbe(v); ok {
			p.try()
		}
		syscall.Exit(failedCode)
	}
	runtime.LockOSThread()
}

// run is the life of a stage: it starts the first process of the namespaces, waits for the command, and ends as the
// command ended. It never returns.
func run() {
	fail := func(what string, err error) {
		words := append([]byte{MessageFailed}, what...)
		if err != nil {
			words = append(append(words, ": "...), err.Error()...)
		}
		_ = unix.Sendmsg(socketFD, words, nil, nil, 0)
		syscall.Exit(failedCode)
	}
	b, err := readPlan()
	if err != nil {
		fail("read the plan", err)
	}
	p, err := unmarshal(b)
	if err != nil {
		fail("read the plan", err)
	}
	if p.Processes != "" {
		if err := writeFile(p.Processes, "0"); err != nil {
			fail("enter the control group", err)
		}
	}
	_ = writeFile("/proc/self/oom_score_adj", "1000") // when memory runs out, commands go first
	_ = unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})

	var errs, status [2]int
	if err := unix.Pipe2(errs[:], unix.O_CLOEXEC); err != nil {
		fail("make a pipe", err)
	}
	if err := unix.Pipe2(status[:], unix.O_CLOEXEC); err != nil {
		fail("make a pipe", err)
	}
	setup, become := p.setupCalls(socketFD), p.becomeCalls()
	l := &launch{
		setup: &setup.calls[0], nSetup: len(setup.calls), become: &become.calls[0], nBcm: len(become.calls),
		flags: Namespaces, errs: errs[1], status: status[1], inherited: [7]int{0, 1, 2, errs[1], errs[0], status[0], socketFD},
	}
	first, errno := l.fork()
	runtime.KeepAlive(setup)
	runtime.KeepAlive(become)
	if errno != 0 {
		fail("make namespaces", errno)
	}
	_ = unix.Close(errs[1])
	_ = unix.Close(status[1])
	for _, s := range [...]unix.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM, unix.SIGPIPE} {
		setHandler(s, ignore) // they are the command's business
	}
	var report [8]byte
	if n := readAll(errs[0], report[:]); n == len(report) {
		at, e := binary.NativeEndian.Uint32(report[:]), syscall.Errno(binary.NativeEndian.Uint32(report[4:]))
		what := "start a process"
		if list := setup.names; at < inBecome && int(at) < len(list) {
			what = list[at]
		} else if list := become.names; at >= inBecome && int(at-inBecome) < len(list) {
			what = list[at-inBecome]
		}
		fail(what, e)
	}
	_ = unix.Sendmsg(socketFD, []byte{MessageStarted}, nil, nil, 0)
	_ = unix.Close(socketFD)
	for fd := range 3 {
		_ = unix.Close(fd) // whoever reads from the command waits for the last of them
	}
	var ended [4]byte
	n := readAll(status[0], ended[:])
	for {
		if _, err := unix.Wait4(first, nil, 0, nil); err != unix.EINTR { //nolint:errorlint // raw
			break
		}
	}
	if n != len(ended) {
		die(unix.SIGKILL) // somebody killed the first process
	}
	switch w := unix.WaitStatus(binary.NativeEndian.Uint32(ended[:])); {
	case w.Signaled():
		die(w.Signal())
	default:
		syscall.Exit(w.ExitStatus())
	}
}

// die ends the process by a signal.
func die(s unix.Signal) {
	setHandler(s, normally)
	_ = unix.Kill(unix.Getpid(), s)
	var none uint64
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&none)), 0, 8, 0, 0)
	const bySignal = 128
	syscall.Exit(bySignal + int(s))
}

// What a process may do about a signal.
const (
	normally = 0
	ignore   = 1
)

// setHandler sets what is done about a signal, past the runtime, which is not asked again in a stage.
func setHandler(s unix.Signal, handler uintptr) {
	action := [4]uintptr{handler} // struct sigaction, as the kernel has it
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(s), uintptr(unsafe.Pointer(&action[0])), 0, 8, 0, 0)
}

func readPlan() ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(planFD, &st); err != nil {
		return nil, err
	}
	if st.Size <= 0 || st.Size > maxPlan {
		return nil, errPlan
	}
	b := make([]byte, st.Size)
	if n, err := unix.Pread(planFD, b, 0); err != nil || n != len(b) {
		return nil, errPlan
	}
	return b, unix.Close(planFD)
}

func readAll(fd int, b []byte) (n int) {
	for n < len(b) {
		m, err := unix.Read(fd, b[n:])
		if err == unix.EINTR { //nolint:errorlint // raw
			continue
		}
		if err != nil || m <= 0 {
			break
		}
		n += m
	}
	return n
}

func writeFile(path, text string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	_, err = unix.Write(fd, []byte(text))
	if e := unix.Close(fd); err == nil {
		err = e
	}
	return err
}
