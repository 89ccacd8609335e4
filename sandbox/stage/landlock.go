//go:build linux && (amd64 || arm64)

package stage

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What a Landlock rule may open, by the kernel's own names (Documentation/userspace-api/landlock.rst).
const (
	// FileRights are what a rule can give for something that is no folder.
	FileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX

	// Reads is looking at files and folders, and running programs.
	Reads = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR

	// Writes is Reads, and all changes but the making of devices.
	Writes = Reads | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE

	// Device is using a device: reading, writing, and its own requests.
	Device = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

const (
	rulePathBeneath = 1
	ruleNetPort     = 2
)

// A Rule opens a file, or a folder and all below it, to what a process is held to otherwise.
type Rule struct {
	Path   string
	Access uint64
}

// A Domain is everything that Landlock is asked to hold.
type Domain struct {
	Files  uint64 // rights over files that are denied where no rule gives them
	Net    uint64 // the same, over TCP ports
	Scoped uint64 // what reaches nobody outside: signals, abstract sockets
}

// ABI is the version of Landlock that this kernel has; 0 is none.
func ABI() int {
	v, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v) //nolint:gosec // a small number
}

// DomainFor is all that a kernel of this version can hold. With loopback, TCP is left to the namespace.
func DomainFor(abi int, loopback bool) Domain {
	if abi < 1 {
		return Domain{}
	}
	d := Domain{Files: unix.LANDLOCK_ACCESS_FS_REFER - 1} // all the rights of the first version
	if abi >= 2 {
		d.Files |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		d.Files |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 && !loopback {
		d.Net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi >= 5 {
		d.Files |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		d.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	if abi >= 9 {
		d.Files |= unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	return d
}

// attr is struct landlock_ruleset_attr as versions up to 9 know it. A kernel refuses a size that it does not know only if
// what is beyond its own is not zero.
type rulesetAttr struct{ files, net, scoped uint64 }

// pathBeneath is struct landlock_path_beneath_attr, which is packed.
type pathBeneath struct {
	access uint64
	parent int32
}

// Ruleset makes a set of rules out of what is to be held and what is open. Paths that do not exist open nothing. The
// caller closes the descriptor.
func (d Domain) Ruleset(rules []Rule, port int) (int, error) {
	attr := rulesetAttr{d.Files, d.Net, d.Scoped}
	r, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return -1, errno
	}
	set := int(r) //nolint:gosec // a descriptor
	for _, rule := range rules {
		if err := d.add(set, rule); err != nil {
			_ = syscall.Close(set)
			return -1, err
		}
	}
	if port != 0 && d.Net != 0 {
		attr := struct{ access, port uint64 }{unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, uint64(port)} //nolint:gosec // a port
		if _, _, errno := syscall.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, r, ruleNetPort, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
			_ = syscall.Close(set)
			return -1, errno
		}
	}
	return set, nil
}

func (d Domain) add(set int, rule Rule) error {
	fd, err := unix.Open(rule.Path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil // what is not there cannot be opened to anybody
	}
	defer func() { _ = syscall.Close(fd) }()
	return d.AddFD(set, fd, rule.Access)
}

// AddFD opens what an open file or folder is, to access.
func (d Domain) AddFD(set, fd int, access uint64) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	access &= d.Files
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= FileRights
	}
	if access == 0 {
		return nil
	}
	attr := pathBeneath{access, int32(fd)} //nolint:gosec // a descriptor
	_, _, errno := syscall.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), rulePathBeneath, uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// RestrictThread puts the calling thread, which must be locked and never be unlocked, under the set of rules and the
// filter, without any capability and without a way to gain one. Whatever the thread starts from then on is held too, and
// nothing lifts it. It returns the descriptor on which the filter asks.
func RestrictThread(set int, filter []Instruction) (listener int, err error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	if err := dropCapabilities(); err != nil {
		return -1, err
	}
	if _, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(set), 0, 0); errno != 0 {
		return -1, errno
	}
	prog := filterProgram{uint16(len(filter)), &filter[0]} //nolint:gosec // a few hundred
	r, _, errno := syscall.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil //nolint:gosec // a descriptor
}

// lastCapability is one beyond what kernels know today; the kernel says where its own list ends.
const lastCapability = 63

// secureBits: being root gives no capability, and none can be kept or raised. Each is locked.
const secureBits = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<5 | 1<<6 | 1<<7

type capHeader struct {
	version uint32
	pid     int32
}

type capData struct{ effective, permitted, inheritable uint32 }

const capVersion3 = 0x20080522

// dropCapabilities takes all capabilities from the calling thread, for good. Who has none needs no permission for it.
func dropCapabilities() error {
	header := capHeader{version: capVersion3}
	var data [2]capData
	if _, _, errno := syscall.RawSyscall(unix.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0); errno != 0 {
		return errno
	}
	if data[0].permitted&(1<<unix.CAP_SETPCAP) != 0 && data[0].effective&(1<<unix.CAP_SETPCAP) != 0 {
		for c := uintptr(0); c <= lastCapability; c++ {
			if _, _, errno := syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, c, 0); errno == unix.EINVAL {
				break // the end of the list
			} else if errno != 0 {
				return errno
			}
		}
		if _, _, errno := syscall.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, secureBits, 0); errno != 0 {
			return errno
		}
	}
	_, _, _ = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0)
	data = [2]capData{}
	header = capHeader{version: capVersion3}
	if _, _, errno := syscall.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0); errno != 0 {
		return errno
	}
	return nil
}
