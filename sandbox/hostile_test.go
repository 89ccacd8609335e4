//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/sandbox/stage"
)

// Hostile programs: each tries to get out of the sandbox in one way, with all that comes to mind, and says what it could
// do. None of them may do anything. They are this test binary, started held. All they do is bounded, so that a sandbox
// that does not hold costs the machine nothing either.

const hostileVariable = "JACKLINE_HOSTILE"

// An arena is what hostile programs know: everything.
type arena struct {
	Level                          jackline.SandboxLevel
	Workspace, Home, Temp, Outside string
	Server, Port, UDP              int
	Abstract, Inside               string // sockets of the test: an abstract one, and one in the workspace
	Memory                         int    // a piece of memory that the test shares by number
	Limit                          int    // processes, or bytes
	Token                          string
}

const secret = "the secret of another program"

var hostile = map[string]func(a arena, escaped func(string, ...any)){
	"write outside": writeOutside, "read secrets": readSecrets, "connect out": connectOut, "reach processes": reachProcesses,
	"fork bomb": forkBomb, "leave a daemon": leaveDaemon, "daemon": stay, "fill the disk": fillDisk, "swap links": swapLinks,
	"privileges": gainPrivileges, "x32": foreignCall, "inherit files": inheritFiles, "hooks": changeHooks, "shared memory": shareMemory,
}

func beHostile(name string) int {
	var a arena
	if err := json.Unmarshal([]byte(os.Getenv(hostileVariable+"_ARENA")), &a); err != nil {
		fmt.Println("no arena:", err)
		return 2
	}
	hostile[name](a, func(format string, args ...any) { fmt.Printf("ESCAPED: "+format+"\n", args...) })
	fmt.Println("finished")
	return 0
}

func writeOutside(a arena, escaped func(string, ...any)) {
	link := filepath.Join(a.Workspace, "way-out")
	_ = os.Symlink(a.Outside, link)
	own := filepath.Join(a.Workspace, "own")
	_ = os.WriteFile(own, []byte("own"), 0o600)
	dirs := []string{
		a.Outside, link, filepath.Join(a.Workspace, "..", filepath.Base(filepath.Dir(a.Outside)), filepath.Base(a.Outside)), "/proc/self/root" + a.Outside,
		"/proc/1/root" + a.Outside, "/proc/" + strconv.Itoa(a.Server) + "/root" + a.Outside, "/etc", "/usr", "/usr/bin", "/root", "/home", "/sys", "/var", "/", "/opt",
	}
	for _, d := range dirs {
		for _, name := range [...]string{"new", "secret"} {
			p := filepath.Join(d, name+a.Token)
			if name == "secret" {
				p = filepath.Join(d, name)
			}
			for how, err := range map[string]error{
				"make": os.WriteFile(p, []byte("x"), 0o600), "append": func() error {
					f, err := os.OpenFile(p, os.O_WRONLY|os.O_APPEND, 0)
					_ = f.Close()
					return err
				}(), "truncate": os.Truncate(p, 0), "make a folder": os.Mkdir(p, 0o700), "link": os.Link(own, p), "make a link": os.Symlink("x", p),
				"remove": os.Remove(p), "rename": os.Rename(own, p), "take": os.Rename(p, own+"2"), "make a pipe": unix.Mkfifo(p, 0o600),
				"make a socket": unix.Mknod(p, unix.S_IFSOCK|0o600, 0), "change the mode": os.Chmod(p, 0o777), "change the folder's mode": os.Chmod(d, 0o777),
				"change times":   unix.UtimesNanoAt(unix.AT_FDCWD, p, make([]unix.Timespec, 2), 0),
				"change owner":   os.Chown(d, os.Getuid(), os.Getgid()),
				"set attributes": unix.Setxattr(p, "user.x", []byte("x"), 0), "hard-link in": os.Link(p, own+"3"),
			} {
				if err == nil && !(d == "/" && a.Level == jackline.SandboxNamespaces && how == "change owner") {
					escaped("%s %s", how, p)
				}
			}
		}
	}
	for _, p := range []string{"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/self/oom_score_adj", "/sys/kernel/uevent_helper", "/dev/kmsg", "/dev/mem", "/dev/vda"} {
		if f, err := os.OpenFile(p, os.O_WRONLY, 0); err == nil {
			_ = f.Close()
			escaped("open %s", p)
		}
	}
	// What is open only to be read may not be changed by its descriptor either.
	if f, err := os.Open("/etc/passwd"); err == nil {
		if f.Chmod(0o644) == nil {
			escaped("change the mode of /etc/passwd")
		}
		if unix.Futimes(int(f.Fd()), make([]unix.Timeval, 2)) == nil {
			escaped("change the times of /etc/passwd")
		}
	}
}

func readSecrets(a arena, escaped func(string, ...any)) {
	if a.Level == jackline.SandboxNamespaces {
		// What is not shown has no name either, wherever the old root may be.
		entries, _ := os.ReadDir("/")
		roots := []string{"/"}
		for _, e := range entries {
			roots = append(roots, "/"+e.Name())
		}
		for _, root := range append(roots, "/.outside") {
			if _, err := os.Lstat(filepath.Join(root, a.Outside)); !errors.Is(err, os.ErrNotExist) {
				escaped("see %s in %s: %v", a.Outside, root, err)
			}
		}
	}
	link := filepath.Join(a.Workspace, "way-in")
	_ = os.Symlink(filepath.Join(a.Outside, "secret"), link)
	_ = os.Link(filepath.Join(a.Outside, "secret"), link+"2")
	server := "/proc/" + strconv.Itoa(a.Server)
	for _, p := range []string{
		filepath.Join(a.Outside, "secret"), link, link + "2", "/proc/self/root" + a.Outside + "/secret", server + "/root" + a.Outside + "/secret",
		server + "/cwd/sandbox.go", server + "/environ", server + "/mem", server + "/maps", server + "/stack", server + "/auxv", server + "/fd/0", server + "/fd/2",
		server + "/task/" + strconv.Itoa(a.Server) + "/environ", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh/ssh_host_ed25519_key",
		"/root/.bashrc", "/root/.profile", "/proc/kcore", "/dev/mem", "/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/proc/2/mem",
		"/sys/kernel/security", "/var/lib/dpkg/status", "/run/utmp", "/var/log/dpkg.log",
	} {
		if a.Level == jackline.SandboxNamespaces && p == "/proc/2/mem" {
			continue // the program itself
		}
		f, err := os.Open(p)
		if err != nil {
			continue
		}
		b := make([]byte, 64)
		if n, err := f.Read(b); n > 0 {
			escaped("read %d bytes of %s", n, p)
		} else if err == nil || strings.Contains(p, "mem") {
			escaped("open %s", p)
		}
	}
	for _, d := range []string{a.Outside, "/root", "/home", server + "/fd", server + "/task", "/var/log", "/tmp/.X11-unix"} {
		if entries, err := os.ReadDir(d); err == nil && len(entries) > 0 {
			escaped("list %s: %v", d, entries)
		}
	}
}

func connectOut(a arena, escaped func(string, ...any)) {
	type way struct {
		family, kind, protocol int
		to                     unix.Sockaddr
	}
	loopback := [4]byte{127, 0, 0, 1}
	for _, w := range []way{
		{unix.AF_INET, unix.SOCK_STREAM, 0, &unix.SockaddrInet4{Port: a.Port, Addr: loopback}},
		{unix.AF_INET, unix.SOCK_STREAM, 262, &unix.SockaddrInet4{Port: a.Port, Addr: loopback}}, // MPTCP
		{unix.AF_INET6, unix.SOCK_STREAM, 0, &unix.SockaddrInet6{Port: a.Port, Addr: [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}}},
		{unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: "@" + a.Abstract}},
		{unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: filepath.Join(a.Outside, "socket")}},
		{unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: a.Inside}},
		{unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: "/var/run/docker.sock"}},
		{unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: "/proc/1/root" + filepath.Join(a.Outside, "socket")}},
	} {
		fd, err := unix.Socket(w.family, w.kind, w.protocol)
		if err != nil {
			continue
		}
		if unix.Connect(fd, w.to) == nil {
			escaped("connect to %+v", w.to)
		}
		_ = unix.Close(fd)
	}
	if fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0); err == nil {
		_ = unix.Sendto(fd, []byte("out"), 0, &unix.SockaddrInet4{Port: a.UDP, Addr: loopback}) // the test hears it, or not
		_ = unix.Close(fd)
	}
	for _, family := range []int{unix.AF_NETLINK, unix.AF_PACKET, unix.AF_VSOCK, unix.AF_ALG, unix.AF_BLUETOOTH, unix.AF_XDP, unix.AF_KEY, unix.AF_TIPC} {
		for _, kind := range []int{unix.SOCK_RAW, unix.SOCK_DGRAM, unix.SOCK_STREAM, unix.SOCK_SEQPACKET} {
			if fd, err := unix.Socket(family, kind, 0); err == nil {
				escaped("make a socket of family %d", family)
				_ = unix.Close(fd)
			}
		}
	}
	if fd, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP); err == nil {
		escaped("make a raw socket")
		_ = unix.Close(fd)
	}
}

// reachProcesses sends only the signal that asks whether it could be sent.
func reachProcesses(a arena, escaped func(string, ...any)) {
	pids := []int{a.Server}
	if a.Level == jackline.SandboxLandlock {
		pids = append(pids, os.Getppid(), -a.Server)
	}
	for _, pid := range pids {
		if unix.Kill(pid, 0) == nil {
			escaped("send a signal to %d", pid)
		}
		if pid < 0 {
			continue
		}
		if unix.Tgkill(pid, pid, 0) == nil {
			escaped("send a signal to a thread of %d", pid)
		}
		if fd, err := unix.PidfdOpen(pid, 0); err == nil {
			if unix.PidfdSendSignal(fd, 0, nil, 0) == nil {
				escaped("send a signal to %d by its descriptor", pid)
			}
			if _, err := unix.PidfdGetfd(fd, 0, 0); err == nil {
				escaped("take a file from %d", pid)
			}
		}
		if unix.PtraceSeize(pid) == nil {
			escaped("trace %d", pid)
		}
		var word uint64
		local := unix.Iovec{Base: (*byte)(unsafe.Pointer(&word))}
		local.SetLen(8)
		for _, at := range []uintptr{0x400000, 0xc000000000} {
			if n, err := unix.ProcessVMReadv(pid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: at, Len: 8}}, 0); n > 0 || errors.Is(err, unix.EFAULT) {
				escaped("read memory of %d", pid)
			}
			if n, err := unix.ProcessVMWritev(pid, []unix.Iovec{local}, []unix.RemoteIovec{{Base: at, Len: 8}}, 0); n > 0 || errors.Is(err, unix.EFAULT) {
				escaped("write memory of %d", pid)
			}
		}
		var limit unix.Rlimit
		if unix.Prlimit(pid, unix.RLIMIT_CORE, nil, &limit) == nil {
			escaped("see the limits of %d", pid)
		}
		if unix.Setpriority(unix.PRIO_PROCESS, pid, 19) == nil {
			escaped("slow down %d", pid)
		}
	}
}

func forkBomb(a arena, escaped func(string, ...any)) {
	const most = 2000
	n := 0
	for ; n < most; n++ {
		if _, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "20"}, nil); err != nil {
			fmt.Println("stopped by", err)
			break
		}
	}
	fmt.Println("started", n)
	if n >= min(a.Limit, most) {
		escaped("start %d processes, of at most %d", n, a.Limit)
	}
}

func leaveDaemon(a arena, escaped func(string, ...any)) {
	for _, setsid := range []bool{false, true} {
		cmd := exec.Command("/proc/self/exe", a.Token)
		cmd.Env = []string{hostileVariable + "=daemon", hostileVariable + "_ARENA=" + os.Getenv(hostileVariable+"_ARENA")}
		if a.Level == jackline.SandboxLandlock {
			cmd.Path = os.Args[0]
		}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: setsid, Setpgid: !setsid}
		if err := cmd.Start(); err != nil {
			fmt.Println(err)
		}
	}
}

// stay leaves once more, so that nobody is its parent, and then stays for a minute.
func stay(a arena, _ func(string, ...any)) {
	_, _ = syscall.ForkExec("/bin/sh", []string{"sh", "-c", "trap '' TERM HUP INT; for i in 1 2 3 4 5 6; do sleep 10; done # " + a.Token}, &syscall.ProcAttr{
		Env: []string{}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

func fillDisk(a arena, escaped func(string, ...any)) {
	const most = 1 << 30
	piece := make([]byte, 1<<20)
	for _, dir := range []string{a.Workspace, a.Temp, "/dev/shm"} {
		f, err := os.Create(filepath.Join(dir, "big"))
		if err != nil {
			continue
		}
		n := 0
		for n < most {
			m, err := f.Write(piece)
			n += m
			if err != nil {
				break
			}
		}
		if n > a.Limit {
			escaped("write %d bytes in %s", n, dir)
		}
		if f.Truncate(most) == nil {
			escaped("make a file long in %s", dir)
		}
		_ = f.Close()
		_ = os.Remove(f.Name())
	}
}

func swapLinks(a arena, escaped func(string, ...any)) {
	const swaps = 500
	inside := filepath.Join(a.Workspace, "inside")
	way := filepath.Join(a.Workspace, "way")
	_ = os.Mkdir(inside, 0o700)
	var done atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for i := range swaps {
			to := inside
			if i%2 == 0 {
				to = a.Outside
			}
			_ = os.Symlink(to, way+".new")
			_ = os.Rename(way+".new", way)
		}
		done.Store(true)
	}()
	wrote := 0
	for !done.Load() {
		p := filepath.Join(way, "raced")
		if os.WriteFile(p, []byte("x"), 0o600) == nil {
			wrote++
		}
		if b, err := os.ReadFile(filepath.Join(way, "secret")); err == nil {
			escaped("read %q", b)
		}
		_ = os.Chmod(filepath.Join(way, "secret"), 0o777)
		_ = os.Remove(filepath.Join(way, "secret"))
		_ = os.Rename(filepath.Join(way, "secret"), filepath.Join(inside, "stolen"))
	}
	<-ended
	fmt.Println("wrote inside", wrote)
}

func gainPrivileges(a arena, escaped func(string, ...any)) {
	if n, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0); err != nil || n != 1 {
		escaped("gain privileges by a program")
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil || data[0].Permitted|data[0].Effective|data[0].Inheritable|data[1].Permitted != 0 {
		escaped("have capabilities: %+v %v", data, err)
	}
	if n, _ := unix.PrctlRetInt(unix.PR_CAPBSET_READ, unix.CAP_SYS_ADMIN, 0, 0, 0); os.Getuid() == 0 && n != 0 {
		escaped("regain capabilities")
	}
	f := filepath.Join(a.Workspace, "program")
	_ = os.WriteFile(f, nil, 0o700)
	if unix.Chmod(f, 0o4755) == nil || unix.Fchmodat(unix.AT_FDCWD, f, 0o4755, 0) == nil {
		escaped("lend a program its owner's rights")
	}
	if fd, err := unix.Open(f+"2", unix.O_CREAT|unix.O_WRONLY, 0o4755); err == nil {
		_ = unix.Close(fd)
		escaped("make a program with its owner's rights")
	}
	if unix.Setuid(0) == nil && os.Getuid() != 0 {
		escaped("become root")
	}
	name := []byte("same")
	for what, args := range map[string][4]uintptr{
		"mount": {unix.SYS_MOUNT, 0, 0, 0}, "umount": {unix.SYS_UMOUNT2, 0, 0, 0}, "unshare": {unix.SYS_UNSHARE, unix.CLONE_NEWUSER}, "setns": {unix.SYS_SETNS, 0, 0},
		"unshare mounts": {unix.SYS_UNSHARE, unix.CLONE_NEWNS}, "fsopen": {unix.SYS_FSOPEN, uintptr(unsafe.Pointer(&name[0])), 0}, "open_tree": {unix.SYS_OPEN_TREE, 0, 0, 0},
		"bpf": {unix.SYS_BPF, 0, 0, 0}, "perf": {unix.SYS_PERF_EVENT_OPEN, 0, 0, 0}, "keyctl": {unix.SYS_KEYCTL, 0, 0}, "io_uring": {unix.SYS_IO_URING_SETUP, 1, 0},
		"userfaultfd": {unix.SYS_USERFAULTFD, 1}, "chroot": {unix.SYS_CHROOT, 0}, "pivot_root": {unix.SYS_PIVOT_ROOT, 0, 0}, "swapon": {unix.SYS_SWAPON, 0, 0},
		"module": {unix.SYS_INIT_MODULE, 0, 0, 0}, "kexec": {unix.SYS_KEXEC_LOAD, 0, 0, 0}, "hostname": {unix.SYS_SETHOSTNAME, 0, 0}, "time": {unix.SYS_SETTIMEOFDAY, 0, 0},
		"quota": {unix.SYS_QUOTACTL, 0, 0, 0}, "fanotify": {unix.SYS_FANOTIFY_INIT, 0, 0}, "handles": {unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0}, "kernel log": {unix.SYS_SYSLOG, 10, 0},
		"terminal input": {unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&name[0]))}, "console": {unix.SYS_IOCTL, 0, unix.TIOCLINUX, 0},
		"clone user": {unix.SYS_CLONE, unix.CLONE_NEWUSER | unix.CLONE_VM, 0}, "reboot": {unix.SYS_REBOOT, 0, 0, 0},
	} {
		if _, _, errno := syscall.Syscall(args[0], args[1], args[2], args[3]); errno != unix.EPERM {
			escaped("%s: %v", what, errno)
		}
	}
	if _, _, errno := syscall.Syscall(unix.SYS_CLONE3, 0, 0, 0); errno != unix.ENOSYS {
		escaped("clone3: %v", errno)
	}
}

// foreignCall asks who it is by a number of x32.
func foreignCall(_ arena, escaped func(string, ...any)) {
	const x32 = 0x40000000
	_, _, errno := syscall.RawSyscall(x32|unix.SYS_GETPID, 0, 0, 0)
	escaped("call by a foreign number: %v", errno)
}

func inheritFiles(_ arena, escaped func(string, ...any)) {
	for fd := 3; fd < 1024; fd++ {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if err == nil && flags&unix.FD_CLOEXEC == 0 {
			where, _ := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
			escaped("have file %d, %s", fd, where)
		}
	}
}

func shareMemory(a arena, escaped func(string, ...any)) {
	if b, err := unix.SysvShmAttach(a.Memory, 0, unix.SHM_RDONLY); err == nil {
		escaped("read %q in shared memory", b[:len(secret)])
	}
}

// changeHooks knows what is protected in the workspace: .env and sub/.env are masked, .netrc and deep/er/.netrc too and
// missing, .git/hooks and .git/config are read-only, .git/modules is so and missing.
func changeHooks(a arena, escaped func(string, ...any)) {
	in := func(p string) string { return filepath.Join(a.Workspace, p) }
	for _, p := range []string{".env", "sub/.env"} {
		if b, err := os.ReadFile(in(p)); err == nil && len(b) > 0 {
			escaped("read %s: %q", p, b)
		}
		_ = os.WriteFile(in(p), []byte("changed"), 0o600) // the test looks at it
	}
	_ = os.WriteFile(in("other"), []byte("other"), 0o700)
	_ = os.Mkdir(in("otherdir"), 0o700)
	_ = os.WriteFile(in("otherdir/pre-commit"), []byte("hook"), 0o700)
	for _, p := range []string{".env", "sub/.env", ".netrc", "deep/er/.netrc", ".git/hooks/pre-commit", ".git/hooks", ".git/config", ".git/modules", ".git", "sub", "deep/er", "deep"} {
		exists := p == ".git" || p == "sub" || p == ".git/hooks" || p == ".git/config"
		for how, err := range map[string]error{
			"remove": os.RemoveAll(in(p)), "move away": os.Rename(in(p), in("moved")), "put a file": os.Rename(in("other"), in(p)),
			"put a folder": os.Rename(in("otherdir"), in(p)), "link": os.Link(in("other"), in(p)), "exchange": unix.Renameat2(unix.AT_FDCWD, in("otherdir"), unix.AT_FDCWD, in(p), unix.RENAME_EXCHANGE),
			"make a link": os.Symlink("other", in(p)), "link away": os.Link(in(p), in("linked")),
		} {
			if err == nil && !(how == "remove" && !exists) {
				escaped("%s %s", how, p)
			}
		}
	}
	for _, p := range []string{".git/hooks/pre-commit", ".git/hooks/post-commit", ".git/config", ".git/modules/x", ".git/modules"} {
		if os.WriteFile(in(p), []byte("hook"), 0o700) == nil && p != ".git/modules" {
			escaped("write %s", p)
		}
		if os.Chmod(in(p), 0o777) == nil && p != ".git/modules" {
			escaped("change the mode of %s", p)
		}
	}
	if os.Mkdir(in(".git/modules"), 0o700) == nil || os.MkdirAll(in("deep/er/.netrc"), 0o700) == nil {
		escaped("make a protected folder")
	}
	// The rest of .git is open.
	if err := os.WriteFile(in(".git/index"), []byte("index"), 0o600); err != nil {
		escaped("nothing, and not even work: %v", err)
	}
}

// TestHostile runs every hostile program at every level, as every user.
func TestHostile(t *testing.T) {
	asEveryUser(t, func(t *testing.T) {
		atEveryLevel(t, func(t *testing.T, l *Launcher, level jackline.SandboxLevel) {
			for _, name := range []string{
				"write outside", "read secrets", "connect out", "reach processes", "fork bomb", "leave a daemon", "fill the disk", "swap links", "privileges",
				"x32", "inherit files", "shared memory", "hooks",
			} {
				t.Run(name, func(t *testing.T) { fight(t, l, level, name) })
			}
		})
	})
}

func fight(t *testing.T, l *Launcher, level jackline.SandboxLevel, name string) {
	g := newGround(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	g.Read = []string{exe}
	a := arena{
		Level: level, Workspace: g.Workspace, Home: g.Home, Temp: g.Temp, Outside: g.outside, Server: os.Getpid(),
		Abstract: "hostile-" + filepath.Base(filepath.Dir(g.outside)), Inside: filepath.Join(g.Workspace, "socket"), Token: "token" + strconv.Itoa(os.Getpid()),
	}
	canary := filepath.Join(g.outside, "secret")
	if err := os.WriteFile(canary, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	before := facts(t, canary)
	reached := listenAll(t, &a)
	switch name {
	case "x32":
		if stage.ABI() < 0 || syscall.SYS_GETPID != 39 {
			t.Skip("NOT TRIED: this machine has no x32")
		}
	case "fork bomb":
		if l.Report().Processes == unbound {
			t.Skip("NOT HELD: root's processes are not counted, and no control group can be made. The level says so.")
		}
		const few = 100
		g.Limits.Processes, a.Limit = few, few
		switch {
		case l.Report().Processes == byGroup && level == jackline.SandboxNamespaces:
			a.Limit += stageThreads
		case l.Report().Processes == byLimit && level == jackline.SandboxLandlock:
			a.Limit += int(tasks()) // the user's other processes count
		}
	case "fill the disk":
		a.Limit = 8 << 20
		g.Limits.FileSize, g.Limits.Shared = int64(a.Limit), int64(a.Limit)
	case "inherit files":
		// One that the program that starts everything left open, as a shell does.
		var p [2]int
		if err := unix.Pipe(p[:]); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = unix.Close(p[0]); _ = unix.Close(p[1]) }()
	case "shared memory":
		if a.Memory, err = unix.SysvShmGet(unix.IPC_PRIVATE, 4096, unix.IPC_CREAT|0o600); err != nil {
			t.Fatal(err)
		}
		b, err := unix.SysvShmAttach(a.Memory, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		copy(b, secret)
		defer func() { _ = unix.SysvShmDetach(b); _, _ = unix.SysvShmCtl(a.Memory, unix.IPC_RMID, nil) }()
	case "hooks":
		if level != jackline.SandboxNamespaces {
			t.Skip("NOT HELD at this level, which says so: Unmasked lists them.")
		}
		protect(t, &g)
	}
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = []string{hostileVariable + "=" + name, hostileVariable + "_ARENA=" + string(text), "HOME=" + g.Home, "TMPDIR=" + g.Temp}
	out, err := held(t, l, g.Spec, cmd)
	if name == "x32" {
		if err == nil || !strings.Contains(err.Error(), "bad system call") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	if err != nil || strings.Contains(out, "ESCAPED") || !strings.Contains(out, "finished") {
		t.Errorf("%v\n%s", err, out)
	}
	if after := facts(t, canary); after != before {
		t.Errorf("the secret was %s, and is %s", before, after)
	}
	if entries, err := os.ReadDir(g.outside); err != nil || len(entries) != 2 {
		t.Errorf("outside: %v %v", entries, err)
	}
	if n := reached(); n != 0 {
		t.Errorf("%d connections", n)
	}
	if left := alive(a.Token); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
		for _, pid := range left {
			_ = unix.Kill(pid, unix.SIGKILL)
		}
	}
	if name == "hooks" {
		checkProtected(t, g)
	}
}

// facts is all that is known about a file, and its content.
func facts(t *testing.T, path string) string {
	t.Helper()
	var st unix.Stat_t
	b, err := os.ReadFile(path)
	if err = errors.Join(err, unix.Lstat(path, &st)); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s mode %o owner %d links %d changed %d.%d", b, st.Mode, st.Uid, st.Nlink, st.Mtim.Sec, st.Mtim.Nsec)
}

// listenAll opens what hostile programs connect to, and returns how often somebody did.
func listenAll(t *testing.T, a *arena) (reached func() int64) {
	t.Helper()
	var n atomic.Int64
	listen := func(network, address string) net.Listener {
		ln, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ln.Close() })
		go func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				n.Add(1)
				_ = c.Close()
			}
		}()
		return ln
	}
	a.Port = listen("tcp4", "127.0.0.1:0").Addr().(*net.TCPAddr).Port
	listen("unix", "@"+a.Abstract)
	listen("unix", filepath.Join(a.Outside, "socket"))
	listen("unix", a.Inside)
	udp, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = udp.Close() })
	a.UDP = udp.LocalAddr().(*net.UDPAddr).Port
	go func() {
		for {
			if _, _, err := udp.ReadFrom(make([]byte, 16)); err != nil {
				return
			}
			n.Add(1)
		}
	}()
	return n.Load
}

// alive lists processes that carry a token in their arguments.
func alive(token string) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		if b, err := os.ReadFile("/proc/" + e.Name() + "/cmdline"); err == nil && strings.Contains(string(b), token) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// protect makes what changeHooks looks for.
func protect(t *testing.T, g *ground) {
	t.Helper()
	in := func(p string) string { return filepath.Join(g.Workspace, p) }
	err := errors.Join(os.MkdirAll(in(".git/hooks"), 0o700), os.Mkdir(in("sub"), 0o700), os.WriteFile(in(".env"), []byte(secret), 0o600),
		os.WriteFile(in("sub/.env"), []byte(secret), 0o600), os.WriteFile(in(".git/config"), []byte("config"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	g.Masks = []string{in(".env"), in("sub/.env"), in(".netrc"), in("deep/er/.netrc")}
	g.ReadOnly = []string{in(".git/hooks"), in(".git/config"), in(".git/modules")}
}

// checkProtected looks whether all is as it was, and nothing is left of the placeholders.
func checkProtected(t *testing.T, g ground) {
	t.Helper()
	for p, want := range map[string]string{".env": secret, "sub/.env": secret, ".git/config": "config"} {
		if b, err := os.ReadFile(filepath.Join(g.Workspace, p)); err != nil || string(b) != want {
			t.Errorf("%s: %q %v", p, b, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(g.Workspace, ".git/hooks")); err != nil || len(entries) != 0 {
		t.Errorf("hooks: %v %v", entries, err)
	}
	for _, p := range []string{".netrc", "deep", ".git/modules"} {
		if _, err := os.Lstat(filepath.Join(g.Workspace, p)); err == nil {
			t.Errorf("%s is left", p)
		}
	}
}
