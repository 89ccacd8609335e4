//go:build linux && (amd64 || arm64)

package stage

import (
	"encoding/binary"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The registers that programs use.
const (
	fdReg register = iota
	setReg
	sockReg
)

const (
	// base is where the new root is mounted before the process moves into it. What is there is seen again afterwards.
	base = "/usr"
	// outside is where the old root is, until it is let go of.
	outside = "/.outside"
)

// mountAttr is struct mount_attr.
type mountAttr struct{ set, clear, propagation, userns uint64 }

// setupCalls makes the first process of the namespaces ready: who it is, its root, its network.
func (p *Plan) setupCalls(socket int) *program {
	var c program
	c.add("bind its life to its parent", unix.SYS_PRCTL, unix.PR_SET_PDEATHSIG, int(unix.SIGKILL))
	for _, m := range [...]struct{ file, text string }{
		{"/proc/self/setgroups", "deny"},
		{"/proc/self/gid_map", strconv.Itoa(p.GID) + " " + strconv.Itoa(p.GID) + " 1\n"},
		{"/proc/self/uid_map", strconv.Itoa(p.UID) + " " + strconv.Itoa(p.UID) + " 1\n"},
	} {
		c.add("open "+m.file, unix.SYS_OPENAT, unix.AT_FDCWD, m.file, unix.O_WRONLY|unix.O_CLOEXEC).into(fdReg)
		c.add("write "+m.file, unix.SYS_WRITE, fdReg, []byte(m.text), len(m.text))
		c.add("close "+m.file, unix.SYS_CLOSE, fdReg)
	}
	c.network(p.Proxy, socket)

	c.add("keep mounts to itself", unix.SYS_MOUNT, 0, "/", 0, unix.MS_REC|unix.MS_PRIVATE)
	c.add("make a root", unix.SYS_MOUNT, "tmpfs", base, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size=1m,nr_inodes=16k")
	c.add("make a place for the old root", unix.SYS_MKDIRAT, unix.AT_FDCWD, base+outside, 0o700)
	c.add("move into the root", unix.SYS_PIVOT_ROOT, base, base+outside)
	c.add("enter the root", unix.SYS_CHDIR, "/")
	for _, s := range p.Steps {
		c.step(s)
	}
	c.add("make /proc", unix.SYS_MKDIRAT, unix.AT_FDCWD, "/proc", 0o555)
	c.add("mount /proc", unix.SYS_MOUNT, "proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC|unix.MS_RDONLY, 0)
	c.add("let go of the old root", unix.SYS_UMOUNT2, outside, unix.MNT_DETACH)
	c.add("remove its place", unix.SYS_UNLINKAT, unix.AT_FDCWD, outside, unix.AT_REMOVEDIR)
	c.attributes("/", mountAttr{set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}, 0)
	return &c
}

// network brings the loopback up, and sends a listener to the server.
func (c *program) network(proxy bool, socket int) {
	ifreq := make([]byte, 40) // struct ifreq
	copy(ifreq, "lo")
	binary.NativeEndian.PutUint16(ifreq[16:], unix.IFF_UP|unix.IFF_RUNNING)
	c.add("make a socket", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0).into(sockReg)
	c.add("bring the loopback up", unix.SYS_IOCTL, sockReg, unix.SIOCSIFFLAGS, ifreq)
	c.add("close a socket", unix.SYS_CLOSE, sockReg)
	if !proxy {
		return
	}
	address := &unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, 1}}
	port := (*[2]byte)(unsafe.Pointer(&address.Port))
	binary.BigEndian.PutUint16(port[:], proxyPort)
	call := c.add("make the proxy's socket", unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0).into(sockReg)
	rights := &struct {
		unix.Cmsghdr
		fd  int32
		pad int32
	}{}
	rights.Level, rights.Type = unix.SOL_SOCKET, unix.SCM_RIGHTS
	rights.SetLen(unix.CmsgLen(4))
	call.to = &rights.fd
	c.add("bind the proxy's socket", unix.SYS_BIND, sockReg, unsafe.Pointer(address), int(unsafe.Sizeof(*address)))
	const waiting = 128 // connections; programs open dozens at once
	c.add("listen for the proxy", unix.SYS_LISTEN, sockReg, waiting)
	word := []byte{MessageListener}
	vector := &unix.Iovec{Base: &word[0]}
	vector.SetLen(1)
	message := &unix.Msghdr{Iov: vector, Control: (*byte)(unsafe.Pointer(rights))}
	message.SetIovlen(1)
	message.SetControllen(unix.CmsgSpace(4))
	c.keep = append(c.keep, rights, word, vector)
	c.add("hand over the proxy's socket", unix.SYS_SENDMSG, socket, unsafe.Pointer(message), 0)
	c.add("close the proxy's socket", unix.SYS_CLOSE, sockReg)
}

// step makes one thing of the machine.
func (c *program) step(s Step) {
	attributes := mountAttr{set: unix.MOUNT_ATTR_NOSUID}
	if s.ReadOnly {
		attributes.set |= unix.MOUNT_ATTR_RDONLY
	}
	if !s.Devices {
		attributes.set |= unix.MOUNT_ATTR_NODEV
	}
	switch s.Kind {
	case MakeDir:
		// Nobody writes there: in /tmp, which is writable, that keeps a command from making files on the way to its workspace, which
		// would be gone with it.
		c.add("make "+s.Path, unix.SYS_MKDIRAT, unix.AT_FDCWD, s.Path, 0o555)
	case MakeFile:
		c.add("make "+s.Path, unix.SYS_MKNODAT, unix.AT_FDCWD, s.Path, unix.S_IFREG|0o444, 0)
	case MakeLink:
		c.add("link "+s.Path, unix.SYS_SYMLINKAT, s.From, unix.AT_FDCWD, s.Path)
	case BindFrom, BindHere:
		from := s.From
		if s.Kind == BindFrom {
			from = outside + from
		}
		c.add("show "+s.Path, unix.SYS_MOUNT, from, s.Path, 0, unix.MS_BIND|unix.MS_REC, 0)
		c.attributes(s.Path, attributes, unix.AT_RECURSIVE)
		if s.Dev != 0 || s.Ino != 0 {
			st := &unix.Stat_t{}
			c.add("look at "+s.Path, statat, unix.AT_FDCWD, s.Path, unsafe.Pointer(st), unix.AT_SYMLINK_NOFOLLOW)
			c.add("recognize "+s.Path, 0, s.Dev, s.Ino).same = st
		}
	case Terminals:
		c.add("mount "+s.Path, unix.SYS_MOUNT, "devpts", s.Path, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620").mayFail()
	case Memory:
		c.add("mount "+s.Path, unix.SYS_MOUNT, "tmpfs", s.Path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, s.From)
	}
}

func (c *program) attributes(path string, a mountAttr, flags int) {
	c.add("restrict "+path, unix.SYS_MOUNT_SETATTR, unix.AT_FDCWD, path, flags, unsafe.Pointer(&a), int(unsafe.Sizeof(a)))
}

// becomeCalls turn a process of the new machine into the command: limits, rules and filter last, then the command itself.
func (p *Plan) becomeCalls() *program {
	var c program
	if p.Dir != "" {
		c.add(enterName, unix.SYS_CHDIR, p.Dir)
	}
	for _, l := range p.Limits {
		c.add("set a limit", unix.SYS_PRLIMIT64, 0, l.Resource, unsafe.Pointer(&unix.Rlimit{Cur: l.Value, Max: l.Value}), 0)
	}
	c.add("give up new privileges", unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	c.landlock(p.Domain, p.Rules)
	for i := range lastCapability + 1 {
		c.add("drop a capability", unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, i).mayFail().orSkip(uint8(lastCapability - i)) //nolint:gosec // small
	}
	c.add("lock root's privileges", unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, secureBits)
	header, data := &capHeader{version: capVersion3}, &[2]capData{}
	c.add("drop the capabilities", unix.SYS_CAPSET, unsafe.Pointer(header), unsafe.Pointer(data))
	if p.Domain.Files != 0 {
		c.add("enforce the rules", unix.SYS_LANDLOCK_RESTRICT_SELF, setReg, 0)
	}
	c.add("keep files to itself", unix.SYS_CLOSE_RANGE, 3, int(^uint32(0)), unix.CLOSE_RANGE_CLOEXEC)
	for s := 1; s <= lastSignal; s++ { // the runtime's handlers are of no use to a process without the runtime
		c.add("reset a signal", unix.SYS_RT_SIGACTION, s, unsafe.Pointer(new([4]uintptr)), 0, 8).mayFail()
	}
	c.add("let signals in", unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, unsafe.Pointer(new(uint64)), 0, 8)
	filter := &filterProgram{uint16(len(p.Filter)), &p.Filter[0]} //nolint:gosec // a few hundred
	c.keep = append(c.keep, p.Filter)
	c.add("enforce the filter", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, unsafe.Pointer(filter))
	c.add(becomeName, unix.SYS_EXECVE, p.Path, c.strings(p.Args), c.strings(p.Env))
	return &c
}

const lastSignal = 64

// The calls that fail by the command's own fault.
const (
	enterName  = "enter the folder to start in"
	becomeName = "start the command"
)

// strings makes the list of strings that execve takes.
func (c *program) strings(list []string) unsafe.Pointer {
	pointers := make([]*byte, len(list)+1)
	for i, s := range list {
		b := append([]byte(s), 0)
		pointers[i] = &b[0]
	}
	c.keep = append(c.keep, pointers)
	return unsafe.Pointer(&pointers[0])
}

// landlock makes the set of rules. Rules for what is not there are left out.
func (c *program) landlock(d Domain, rules []Rule) {
	if d.Files == 0 {
		return
	}
	attr := &rulesetAttr{d.Files, d.Net, d.Scoped}
	c.add("make the rules", unix.SYS_LANDLOCK_CREATE_RULESET, unsafe.Pointer(attr), int(unsafe.Sizeof(*attr)), 0).into(setReg)
	for _, r := range rules {
		b := &pathBeneath{access: r.Access & d.Files}
		c.add("look at "+r.Path, unix.SYS_OPENAT, unix.AT_FDCWD, r.Path, unix.O_PATH|unix.O_CLOEXEC, 0).into(fdReg).orSkip(2).to = &b.parent
		c.add("add a rule for "+r.Path, unix.SYS_LANDLOCK_ADD_RULE, setReg, rulePathBeneath, unsafe.Pointer(b), 0)
		c.add("close "+r.Path, unix.SYS_CLOSE, fdReg)
	}
}
