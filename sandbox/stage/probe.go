//go:build linux && (amd64 || arm64)

package stage

import (
	"encoding/binary"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ProbeVariable is the environment variable that makes a process try the ways out of the sandbox that it is in. Its value
// is a [Probe].
const ProbeVariable = "JACKLINE_SANDBOX_PROBE"

// A Probe is where the ways out would lead, all of them made for the occasion.
type Probe struct {
	Workspace string // which can be written
	Outside   string // a folder that was not given, with the file "canary"
	Server    int    // the process that started the probe
	Port      int    // of a listener on the loopback
	Abstract  string // the name of an abstract socket, without its zero
	Masked    string // a masked file of the workspace; "" where nothing is masked
	Missing   string // a masked name that is missing
	Hooks     string // a folder that can only be read, in another that can be written
}

// String writes a probe for the variable.
func (p Probe) String() string {
	return strings.Join([]string{
		p.Workspace, p.Outside, strconv.Itoa(p.Server), strconv.Itoa(p.Port), p.Abstract, p.Masked, p.Missing, p.Hooks,
	}, "\x1f")
}

func parseProbe(s string) (p Probe, ok bool) {
	f := strings.Split(s, "\x1f")
	if len(f) != 8 {
		return p, false
	}
	p = Probe{Workspace: f[0], Outside: f[1], Abstract: f[4], Masked: f[5], Missing: f[6], Hooks: f[7]}
	var err, err2 error
	p.Server, err = strconv.Atoi(f[2])
	p.Port, err2 = strconv.Atoi(f[3])
	return p, err == nil && err2 == nil
}

// Held and Escaped are what a probe says about a way, before its name.
const (
	Held    = "held "
	Escaped = "ESCAPED "
)

// Canary is the content of the file that must not be read.
const Canary = "jackline canary"

// try tries the ways out, and writes a line for each. What must work is tried as well: a process that can do nothing
// proves nothing.
func (p Probe) try() {
	var out []byte
	say := func(name string, escaped bool) {
		word := Held
		if escaped {
			word = Escaped
		}
		out = append(append(append(out, word...), name...), '\n')
	}
	opens := func(path string, flags int) bool {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK, 0o600)
		if err == nil {
			_ = unix.Close(fd)
		}
		return err == nil
	}
	works := opens(p.Workspace+"/made", unix.O_WRONLY|unix.O_CREAT) && opens("/dev/null", unix.O_RDWR)
	say("work in the workspace", !works)

	say("write outside", opens(p.Outside+"/new", unix.O_WRONLY|unix.O_CREAT) || opens(p.Outside+"/canary", unix.O_WRONLY))
	say("read outside", opens(p.Outside+"/canary", unix.O_RDONLY))
	loopback := [4]byte{127, 0, 0, 1}
	say("connect to the loopback", connects(unix.AF_INET, &unix.SockaddrInet4{Port: p.Port, Addr: loopback}))
	say("connect to an abstract socket", connects(unix.AF_UNIX, &unix.SockaddrUnix{Name: "@" + p.Abstract}))
	say("connect to a socket outside", connects(unix.AF_UNIX, &unix.SockaddrUnix{Name: p.Outside + "/socket"}))
	say("send a signal", unix.Kill(p.Server, 0) == nil)
	say("trace a process", unix.PtraceAttach(p.Server) == nil)
	proc := "/proc/" + strconv.Itoa(p.Server)
	say("read memory", opens(proc+"/mem", unix.O_RDONLY) || p.readsMemory())
	say("read the environment", opens(proc+"/environ", unix.O_RDONLY))
	say("reach open files", opens(proc+"/fd/0", unix.O_RDONLY) || opens(proc+"/fd/1", unix.O_RDONLY))
	say("mount", unix.Mount("none", p.Workspace, "tmpfs", 0, "") == nil)
	say("make a namespace", unix.Unshare(unix.CLONE_NEWUSER) == nil || unix.Unshare(unix.CLONE_NEWNS) == nil)
	inherited := false
	for fd := 3; fd < 256; fd++ {
		// What the runtime of this process opened is its own.
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			inherited = true
		}
	}
	say("inherit files", inherited)
	if p.Masked != "" {
		var b [1]byte
		fd, err := unix.Open(p.Masked, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		n := 0
		if err == nil {
			n, _ = unix.Read(fd, b[:])
		}
		say("read a masked file", n > 0)
		made := opens(p.Missing, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) || unix.Mkdir(p.Missing, 0o700) == nil ||
			unix.Rename(p.Workspace+"/made", p.Missing) == nil || unix.Unlink(p.Missing) == nil
		say("make a masked file", made)
		parent := p.Hooks[:strings.LastIndexByte(p.Hooks, '/')]
		say("change a hook", opens(p.Hooks+"/new", unix.O_WRONLY|unix.O_CREAT) || unix.Rename(parent, parent+".away") == nil ||
			unix.Rename(p.Hooks, p.Hooks+".away") == nil)
	}
	_, _ = unix.Write(1, out)
	syscall.Exit(0)
}

func connects(family int, to unix.Sockaddr) bool {
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer func() { _ = unix.Close(fd) }()
	return unix.Connect(fd, to) == nil
}

// readsMemory reads from the start of the program's own code, which is at the same place in the process that started it
// unless programs are moved about. A failure for want of memory there is a success in reaching it.
func (p Probe) readsMemory() bool {
	var word uint64
	local := unix.Iovec{Base: (*byte)(unsafe.Pointer(&word))}
	local.SetLen(int(unsafe.Sizeof(word)))
	_, err := unix.ProcessVMReadv(p.Server, []unix.Iovec{local}, []unix.RemoteIovec{{Base: 0x400000, Len: binary.Size(word)}}, 0)
	return err == nil || err == unix.EFAULT //nolint:errorlint // raw
}
