//go:build linux && (amd64 || arm64)

package stage

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A program is a list of system calls that is written down before a process forks, and made by the child. A child of a
// process with several threads must not run ordinary Go: the locks of the others stay as they were, and nobody is there
// to let go of them. So the child does nothing but walk through lists that are ready.
type program struct {
	calls []call
	names []string // what each call is for, where it fails
	keep  []any    // what calls point at
}

// A call is one system call, or one of the steps below.
type call struct {
	number uintptr
	args   [6]uintptr
	regs   uint8  // which arguments are numbers of registers instead
	out    int8   // the register that takes the result, or -1
	to     *int32 // takes the result as well; may be nil
	skip   uint8  // how many calls are left out if this one fails; then the failure is none
	lax    bool   // a failure is none

	// same makes this no call: it fails unless what is described here has the device args[0] and the number args[1].
	same *unix.Stat_t
}

// registers are results that later calls need.
type registers [8]uintptr

// add appends a call. Its arguments may be numbers, strings and pointers.
func (p *program) add(name string, number uintptr, args ...any) *call {
	c := call{number: number, out: -1}
	for i, a := range args {
		switch v := a.(type) {
		case int:
			c.args[i] = uintptr(v) //nolint:gosec // flags and descriptors, -1 included
		case uintptr:
			c.args[i] = v
		case uint64:
			c.args[i] = uintptr(v)
		case string:
			b := append([]byte(v), 0)
			p.keep = append(p.keep, b)
			c.args[i] = uintptr(unsafe.Pointer(&b[0]))
		case []byte:
			p.keep = append(p.keep, v)
			c.args[i] = uintptr(unsafe.Pointer(&v[0]))
		case unsafe.Pointer:
			p.keep = append(p.keep, v)
			c.args[i] = uintptr(v)
		case register:
			c.args[i] = uintptr(v)
			c.regs |= 1 << i
		}
	}
	p.calls = append(p.calls, c)
	p.names = append(p.names, name)
	return &p.calls[len(p.calls)-1]
}

// A register is one of the results that a program keeps.
type register uint8

func (c *call) into(r register) *call { c.out = int8(r); return c } //nolint:gosec // one of eight
func (c *call) mayFail() *call        { c.lax = true; return c }

// orSkip makes a failure leave out the next n calls.
func (c *call) orSkip(n uint8) *call { c.skip = n; return c }

// perform makes the calls, to the end or to the first that fails.
//
//go:nosplit
//go:norace
//go:nocheckptr
func perform(calls *call, n int, regs *registers) (failed int, errno syscall.Errno) {
	for i := 0; i < n; i++ {
		c := (*call)(unsafe.Add(unsafe.Pointer(calls), uintptr(i)*unsafe.Sizeof(call{}))) //nolint:gosec // within the list
		var a [6]uintptr
		for j := range 6 {
			a[j] = c.args[j]
			if c.regs&(1<<j) != 0 {
				a[j] = regs[a[j]&7]
			}
		}
		var r uintptr
		var e syscall.Errno
		if c.same != nil {
			if uintptr(c.same.Dev) != a[0] || uintptr(c.same.Ino) != a[1] {
				e = unix.ESTALE
			}
		} else {
			r, _, e = syscall.RawSyscall6(c.number, a[0], a[1], a[2], a[3], a[4], a[5])
		}
		if e != 0 {
			switch {
			case c.skip > 0:
				i += int(c.skip)
			case !c.lax:
				return i, e
			}
			continue
		}
		if c.out >= 0 {
			regs[c.out&7] = r
		}
		if c.to != nil {
			*c.to = int32(r) //nolint:gosec // a descriptor
		}
	}
	return -1, 0
}

// A launch is all that is done between two forks: what the first process of the namespaces does before it starts the
// command, and what the command's process does before it becomes the command.
type launch struct {
	setup, become *call
	nSetup, nBcm  int
	regs          registers

	flags        uintptr // of clone
	errs, status int     // pipes: a failure is written to the first, the command's end to the second
	inherited    [7]int  // what the first process closes once the command was started
	report       [2]int32
	ended        int32
	blocked, old uint64
}

// The lists that a failure may belong to.
const (
	inSetup  = 0
	inBecome = 1 << 16
)

// fork starts the first process of new namespaces. It returns in the parent only.
//
//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func (l *launch) fork() (pid int, errno syscall.Errno) {
	l.blocked = ^uint64(0)
	syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&l.blocked)), uintptr(unsafe.Pointer(&l.old)), 8, 0, 0)
	r, _, e := syscall.RawSyscall6(unix.SYS_CLONE, l.flags|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 || r != 0 {
		syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&l.old)), 0, 8, 0, 0)
		return int(r), e //nolint:gosec // a process number
	}
	l.first()
	return 0, 0
}

// first is the life of the first process: it makes the namespaces ready, starts the command, and buries what dies until
// the command has. With it ends everything in them. It never returns.
//
//go:noinline
//go:nosplit
//go:norace
//go:nocheckptr
func (l *launch) first() {
	if at, e := perform(l.setup, l.nSetup, &l.regs); e != 0 {
		l.fail(inSetup+at, e)
	}
	pid, _, e := syscall.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	if e != 0 {
		l.fail(inSetup+l.nSetup, e)
	}
	if pid == 0 {
		at, e := perform(l.become, l.nBcm, &l.regs)
		l.fail(inBecome+at, e)
	}
	for _, fd := range l.inherited {
		syscall.RawSyscall(unix.SYS_CLOSE, uintptr(fd), 0, 0) //nolint:gosec // a descriptor
	}
	for {
		r, _, e := syscall.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&l.ended)), 0, 0, 0, 0)
		switch {
		case e == unix.EINTR:
		case e != 0:
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, failedCode, 0, 0)
		case r == pid:
			syscall.RawSyscall(unix.SYS_WRITE, uintptr(l.status), uintptr(unsafe.Pointer(&l.ended)), 4) //nolint:gosec // a descriptor
			syscall.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
		}
	}
}

// failedCode is with what a process ends that never became the command.
const failedCode = 125

// fail tells the parent which call failed, and ends the process.
//
//go:nosplit
//go:norace
//go:nocheckptr
func (l *launch) fail(at int, e syscall.Errno) {
	l.report = [2]int32{int32(at), int32(e)}                                                   //nolint:gosec // small
	syscall.RawSyscall(unix.SYS_WRITE, uintptr(l.errs), uintptr(unsafe.Pointer(&l.report)), 8) //nolint:gosec // a descriptor
	for {                                                                                      // it returns for nobody
		syscall.RawSyscall(unix.SYS_EXIT_GROUP, failedCode, 0, 0)
	}
}
