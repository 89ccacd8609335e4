//go:build linux && (amd64 || arm64)

package stage

import "golang.org/x/sys/unix"

// An Instruction is one of the kernel's classic packet filter machine, struct sock_filter.
type Instruction struct {
	Code   uint16
	JT, JF uint8
	K      uint32
}

// filterProgram is struct sock_fprog.
type filterProgram struct {
	length uint16
	first  *Instruction
}

// Where things stand in struct seccomp_data. Both machines are little-endian: the low half of an argument comes first.
const (
	atNumber = 0
	atArch   = 4
	atArgs   = 16
)

// The instructions that filters are made of.
const (
	load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equals = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	atMost = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
	anyBit = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	mask   = unix.BPF_ALU | unix.BPF_AND | unix.BPF_K
	answer = unix.BPF_RET | unix.BPF_K
)

// What the kernel does with a call.
const (
	allow = unix.SECCOMP_RET_ALLOW
	kill  = unix.SECCOMP_RET_KILL_PROCESS
	ask   = unix.SECCOMP_RET_USER_NOTIF
)

func refuse(e uint32) uint32 { return unix.SECCOMP_RET_ERRNO | e }

// Sockets are the kinds of sockets that a process may make. Pairs of connected ones can always be made.
type Sockets int

// The kinds.
const (
	NoSockets    Sockets = iota
	LocalSockets         // sockets with a name in the file system
	OwnNetwork           // these, and TCP and UDP, where the network is the sandbox's own
	OnlyTCP              // TCP, where Landlock holds the ports
)

// newNamespaces are the flags of clone that make namespaces.
const newNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET

// ptrace's requests that the thread needs which starts a process stopped. From anybody else, the one makes the caller's
// own parent its tracer, and the other ends that; neither reads or writes anything.
const (
	traceMe = 0
	detach  = 17
)

// requests are those of ioctl that are refused: they put words into a terminal's mouth, or change what is known about a
// file that was opened only to be read.
var requests = [...]uint32{
	0x5412,     // TIOCSTI
	0x541C,     // TIOCLINUX
	0x40086602, // FS_IOC_SETFLAGS
	0x401c5820, // FS_IOC_FSSETXATTR
}

// setIDs are the bits of a mode that lend a program its owner's or its group's rights. A program with the first, made in a
// workspace, would lend its owner's rights to every user of the machine.
const setIDs = 0o4000

// refused are the calls that no command needs and that reach around the other walls, or into code of the kernel where
// mistakes were found often. They fail as if the caller lacked the permission, which is true.
var refused = [...]uint32{
	// Other processes' memory and descriptors.
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_KCMP,
	unix.SYS_PIDFD_GETFD,
	// Mounts, old way and new, and roots.
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	unix.SYS_OPEN_TREE_ATTR, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
	// Namespaces; clone is looked at below.
	unix.SYS_UNSHARE, unix.SYS_SETNS,
	// Ways to run around a filter of calls, or to make the kernel wait for the caller.
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_USERFAULTFD,
	// The kernel's own programs, counters, keys.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// Kernels and modules.
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
	// The machine as a whole: most of it asks for a capability that is gone anyway.
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_REBOOT, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_SETTIMEOFDAY,
	unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT,
	unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_NFSSERVCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_FANOTIFY_INIT,
	unix.SYS_OPEN_BY_HANDLE_AT,
}

// assembler writes a filter. Each rule leaves the number of the call in the accumulator.
type assembler struct{ code []Instruction }

func (a *assembler) emit(code uint16, k uint32, jt, jf uint8) {
	a.code = append(a.code, Instruction{code, jt, jf, k})
}

// ret answers one call always.
func (a *assembler) ret(call, with uint32) {
	a.emit(equals, call, 0, 1)
	a.emit(answer, with, 0, 0)
}

// arg loads the low half of an argument. The kernel itself looks at no more of those that are looked at here.
func (a *assembler) arg(n uint32) { a.emit(load, atArgs+8*n, 0, 0) }

// when adds rules for one call, which must end in an answer.
func (a *assembler) when(call uint32, rules func(*assembler)) {
	var inner assembler
	rules(&inner)
	a.emit(equals, call, 0, uint8(len(inner.code))) //nolint:gosec // rules for a call are a dozen
	a.code = append(a.code, inner.code...)
}

// bits refuses a call if an argument has any of some bits, else allows it.
func (a *assembler) bits(call, arg, bits, with uint32) {
	a.when(call, func(a *assembler) {
		a.arg(arg)
		a.emit(anyBit, bits, 0, 1)
		a.emit(answer, with, 0, 0)
		a.emit(answer, allow, 0, 0)
	})
}

// A World is what a process shares with others, for the filter.
type World int

// The worlds.
const (
	// OwnWorld: the process has namespaces of its own, and a root in which only what it may write can be written.
	OwnWorld World = iota
	// SharedWorld: only rules about files keep it from others. What they do not know is left to the filter: queues and memory
	// that are shared by number, other processes' limits, and what is known about a file, its mode, owner and times. These last
	// the caller decides, by the listener of the filter.
	SharedWorld
)

// byNumber are the calls for what programs of a machine share by number. Where there is no namespace for it, it is
// everybody's.
var byNumber = [...]uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}

// attributes are the calls that give files attributes with names. Programs know file systems that have none.
var attributes = [...]uint32{
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_FREMOVEXATTR,
	unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_FILE_SETATTR,
}

// aboutOthers are the calls that change a process, by the argument that names it. 0 is the caller itself.
var aboutOthers = [...]struct{ call, arg uint32 }{
	{unix.SYS_PRLIMIT64, 0}, {unix.SYS_SETPRIORITY, 1}, {unix.SYS_IOPRIO_SET, 1}, {unix.SYS_SCHED_SETSCHEDULER, 0}, {unix.SYS_SCHED_SETPARAM, 0},
	{unix.SYS_SCHED_SETATTR, 0},
}

// Filter is the filter of calls for a process that may make such sockets. Calls by the numbers of another architecture
// end the process: no program of this one makes them by mistake.
func Filter(s Sockets, w World) []Instruction {
	var a assembler
	a.emit(load, atArch, 0, 0)
	a.emit(equals, auditArch, 1, 0)
	a.emit(answer, kill, 0, 0)
	a.emit(load, atNumber, 0, 0)
	if foreignBit != 0 {
		a.emit(atMost, foreignBit, 0, 1)
		a.emit(answer, kill, 0, 0)
	}
	denied := refuse(uint32(unix.EPERM))
	for _, call := range refused {
		a.ret(call, denied)
	}
	for _, call := range refusedHere {
		a.ret(call, denied)
	}
	// Its flags are behind a pointer; without it, libraries use clone.
	a.ret(unix.SYS_CLONE3, refuse(uint32(unix.ENOSYS)))
	a.bits(unix.SYS_CLONE, 0, newNamespaces, denied)
	a.when(unix.SYS_PTRACE, func(a *assembler) {
		a.arg(0)
		a.emit(equals, traceMe, 2, 0)
		a.emit(equals, detach, 1, 0)
		a.emit(answer, denied, 0, 0)
		a.emit(answer, allow, 0, 0)
	})
	a.when(unix.SYS_IOCTL, func(a *assembler) {
		a.arg(1)
		for _, r := range requests {
			a.ret(r, denied)
		}
		a.emit(answer, allow, 0, 0)
	})
	for _, m := range modes {
		a.when(m.call, func(a *assembler) {
			a.arg(m.arg)
			a.emit(anyBit, setIDs, 0, 1)
			a.emit(answer, denied, 0, 0)
			a.emit(load, atNumber, 0, 0) // it may be asked about below
		})
	}
	if w == SharedWorld {
		for _, call := range byNumber {
			a.ret(call, refuse(uint32(unix.EACCES)))
		}
		for _, call := range attributes {
			a.ret(call, refuse(uint32(unix.EOPNOTSUPP)))
		}
		for _, o := range aboutOthers {
			a.when(o.call, func(a *assembler) {
				a.arg(o.arg)
				a.emit(equals, 0, 1, 0)
				a.emit(answer, denied, 0, 0)
				a.emit(answer, allow, 0, 0)
			})
		}
		for _, f := range Facts {
			a.ret(f.Call, ask)
		}
	}
	a.when(unix.SYS_SOCKET, func(a *assembler) { socketRules(a, s) })
	a.emit(answer, allow, 0, 0)
	return a.code
}

// socketRules judge the making of a socket by its family, its type and its protocol.
func socketRules(a *assembler, s Sockets) {
	const (
		typeBits = 0xf // beside flags
		tcp      = 6
	)
	no := refuse(uint32(unix.EACCES))
	a.arg(0)
	switch s {
	case NoSockets:
	case LocalSockets:
		a.emit(equals, unix.AF_UNIX, 0, 1)
		a.emit(answer, allow, 0, 0)
	case OwnNetwork:
		a.emit(equals, unix.AF_UNIX, 2, 0)
		a.emit(equals, unix.AF_INET, 1, 0)
		a.emit(equals, unix.AF_INET6, 0, 1)
		a.emit(answer, allow, 0, 0)
	case OnlyTCP:
		a.emit(equals, unix.AF_INET, 1, 0)
		a.emit(equals, unix.AF_INET6, 0, 7)
		a.arg(1)
		a.emit(mask, typeBits, 0, 0)
		a.emit(equals, unix.SOCK_STREAM, 0, 4)
		a.arg(2)
		a.emit(equals, 0, 1, 0)
		a.emit(equals, tcp, 0, 1)
		a.emit(answer, allow, 0, 0)
	}
	a.emit(answer, no, 0, 0)
}
