//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/jackline-ai/jackline/sandbox/stage"
)

// Landlock does not know modes, owners and times of files: by its rules alone a command could open a secret file to
// everybody, or lock its user out of his home. So the filter asks here, and what is allowed is done here, to the very
// file that was looked at.

// A keeper answers for one command.
type keeper struct {
	listener int
	wake     *os.File
	folders  []string // what can be written, without links
	done     sync.WaitGroup
}

// writable are the files and folders of a Spec that can be written, without links.
func (s *Spec) writable() []string {
	var list []string
	if s.Dir != nil {
		if real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(s.Dir.Fd()))); err == nil { //nolint:gosec // a descriptor
			list = append(list, real)
		}
	}
	for _, p := range append([]string{s.Workspace, s.Home, s.Temp}, s.Write...) {
		if p == "" || s.Dir != nil && p == s.Workspace {
			continue
		}
		if real, err := filepath.EvalSymlinks(p); err == nil {
			list = append(list, real)
		}
	}
	return list
}

// keepFacts answers what comes on a listener until it is stopped. Without a listener it does nothing.
func keepFacts(listener int, folders []string) *keeper {
	k := &keeper{listener: listener, folders: folders}
	if listener < 0 {
		return k
	}
	read, write, err := os.Pipe()
	if err != nil {
		_ = unix.Close(listener) // nobody answers: the calls fail
		k.listener = -1
		return k
	}
	k.wake = write
	k.done.Go(func() {
		defer func() { _ = unix.Close(listener); _ = read.Close() }()
		for {
			fds := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(read.Fd()), Events: unix.POLLIN}} //nolint:gosec // descriptors
			_, err := unix.Poll(fds, -1)
			switch {
			case errors.Is(err, unix.EINTR):
			case err != nil || fds[1].Revents != 0 || fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0:
				return
			case fds[0].Revents&unix.POLLIN != 0:
				k.answer()
			}
		}
	})
	return k
}

func (k *keeper) stop() {
	if k.wake != nil {
		_ = k.wake.Close()
	}
	k.done.Wait()
}

// notice is struct seccomp_notif, and reply is struct seccomp_notif_resp.
type (
	notice struct {
		id     uint64
		pid    uint32
		flags  uint32
		number int32
		arch   uint32
		at     uint64
		args   [6]uint64
	}
	reply struct {
		id    uint64
		value int64
		err   int32
		flags uint32
	}
)

// The requests of a listener.
const (
	receive = 0xc0502100 // SECCOMP_IOCTL_NOTIF_RECV
	send    = 0xc0182101 // SECCOMP_IOCTL_NOTIF_SEND
	isValid = 0x40082102 // SECCOMP_IOCTL_NOTIF_ID_VALID
)

func (k *keeper) ioctl(request uintptr, p unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(k.listener), request, uintptr(p)); errno != 0 { //nolint:gosec // a descriptor
		return errno
	}
	return nil
}

// answer takes one question and answers it.
func (k *keeper) answer() {
	var n notice
	if k.ioctl(receive, unsafe.Pointer(&n)) != nil {
		return // whoever asked is gone
	}
	r := reply{id: n.id}
	if err := k.change(&n); err != nil {
		r.err = -int32(unix.EPERM)
		var errno unix.Errno
		if errors.As(err, &errno) && errno != 0 {
			r.err = -int32(errno) //nolint:gosec // an error number
		}
	}
	_ = k.ioctl(send, unsafe.Pointer(&r)) // whoever asked may be gone
}

// change does what was asked for, if the file is the user's own and lies in what can be written.
func (k *keeper) change(n *notice) error {
	var fact *stage.Fact
	for i := range stage.Facts {
		if int64(stage.Facts[i].Call) == int64(n.number) {
			fact = &stage.Facts[i]
		}
	}
	if fact == nil {
		return unix.ENOSYS
	}
	memory, err := os.Open("/proc/" + strconv.Itoa(int(n.pid)) + "/mem")
	if err != nil {
		return unix.EPERM
	}
	defer func() { _ = memory.Close() }()
	fd, err := open(n, fact, memory)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	times, err := newTimes(n, fact, memory)
	if err != nil {
		return err
	}
	// What was opened belongs to the process that asked, unless that has ended and another has its number.
	if err := k.ioctl(isValid, unsafe.Pointer(&n.id)); err != nil {
		return unix.EPERM
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	self := "/proc/self/fd/" + strconv.Itoa(fd)
	where, err := os.Readlink(self)
	if err != nil || !k.within(where) || int(st.Uid) != os.Geteuid() {
		return unix.EPERM
	}
	switch fact.Kind {
	case stage.Mode:
		if st.Mode&unix.S_IFMT == unix.S_IFLNK {
			return unix.EOPNOTSUPP
		}
		const all, setGroup = 0o7777, 0o2000
		mode := uint32(n.args[fact.Value]) & all //nolint:gosec // the low half
		if mode&unix.S_ISUID != 0 {
			return unix.EPERM
		}
		if int(st.Gid) != os.Getegid() {
			mode &^= setGroup
		}
		return unix.Chmod(self, mode)
	case stage.Owner:
		user, group := uint32(n.args[fact.Value]), uint32(n.args[fact.Value+1]) //nolint:gosec // the low halves
		const same = ^uint32(0)
		if user != same && user != st.Uid || group != same && group != st.Gid {
			return unix.EPERM
		}
		return nil // as it is
	default:
		return unix.UtimesNanoAt(unix.AT_FDCWD, self, times, 0)
	}
}

// within reports whether a file, by the kernel's own name for it, lies in what can be written, or is a private one that
// lies nowhere.
func (k *keeper) within(where string) bool {
	if !strings.HasPrefix(where, "/") || strings.HasPrefix(where, "/memfd:") {
		return true
	}
	for _, f := range k.folders {
		if below(where, f) {
			return true
		}
	}
	return false
}

const maxPath = 4096 // bytes of a path, the kernel's own limit

// open opens the file that a call is about, as the process that made the call would.
func open(n *notice, fact *stage.Fact, memory *os.File) (int, error) {
	proc := "/proc/" + strconv.Itoa(int(n.pid))
	from := proc + "/cwd"
	if fact.Folder >= 0 {
		if fd := int32(n.args[fact.Folder]); fd != unix.AT_FDCWD { //nolint:gosec // the low half
			from = proc + "/fd/" + strconv.Itoa(int(fd))
		}
	}
	folder, err := unix.Open(from, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, unix.EBADF
	}
	if fact.Path < 0 || n.args[fact.Path] == 0 {
		return folder, nil
	}
	defer func() { _ = unix.Close(folder) }()
	b := make([]byte, maxPath)
	m, err := memory.ReadAt(b, int64(n.args[fact.Path])) //nolint:gosec // an address of the process
	end := strings.IndexByte(string(b[:m]), 0)
	if end < 0 {
		if err != nil {
			return -1, unix.EFAULT
		}
		return -1, unix.ENAMETOOLONG
	}
	flags := uint64(0)
	if fact.Flags >= 0 {
		flags = n.args[fact.Flags]
	}
	path := string(b[:end])
	if path == "" {
		if flags&unix.AT_EMPTY_PATH == 0 {
			return -1, unix.ENOENT
		}
		return unix.Dup(folder)
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_MAGICLINKS}
	if fact.Flags == stage.NoFollow || flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		how.Flags |= unix.O_NOFOLLOW
	}
	// The process means its own files by these.
	for _, p := range [...]string{"/proc/self/fd/", "/dev/fd/", "/proc/thread-self/fd/", proc + "/fd/"} {
		if name, ok := strings.CutPrefix(path, p); ok {
			if _, err := strconv.ParseUint(name, 10, 31); err == nil {
				return unix.Open(proc+"/fd/"+name, unix.O_PATH|unix.O_CLOEXEC, 0)
			}
		}
	}
	return unix.Openat2(folder, path, &how)
}

// newTimes reads the times that a call gives a file: when it was read, and when it was changed.
func newTimes(n *notice, fact *stage.Fact, memory *os.File) ([]unix.Timespec, error) {
	if fact.Kind == stage.Mode || fact.Kind == stage.Owner {
		return nil, nil
	}
	at := n.args[fact.Value]
	if at == 0 {
		return []unix.Timespec{{Nsec: unix.UTIME_NOW}, {Nsec: unix.UTIME_NOW}}, nil
	}
	var b [32]byte
	size := len(b)
	if fact.Kind == stage.Seconds {
		size /= 2
	}
	if m, _ := memory.ReadAt(b[:size], int64(at)); m != size { //nolint:gosec,errcheck // an address of the process; what is missing counts
		return nil, unix.EFAULT
	}
	word := func(i int) int64 { return int64(binary.NativeEndian.Uint64(b[8*i:])) } //nolint:gosec // as it was
	switch fact.Kind {
	case stage.Seconds:
		return []unix.Timespec{{Sec: word(0)}, {Sec: word(1)}}, nil
	case stage.Microseconds:
		return []unix.Timespec{{Sec: word(0), Nsec: word(1) * 1000}, {Sec: word(2), Nsec: word(3) * 1000}}, nil
	default:
		return []unix.Timespec{{Sec: word(0), Nsec: word(1)}, {Sec: word(2), Nsec: word(3)}}, nil
	}
}
