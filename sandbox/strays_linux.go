//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Where processes have no namespace of their own, some may be left when the command has ended: a process that went into
// another session, gave up its environment and lost its parent belongs to nobody that could be asked. The kernel knows
// better: the thread that started the command is held by the same domain of Landlock, and can send signals to the
// processes of that domain and to no others.

// A call asks the held thread to send a signal to some processes.
type call struct {
	pids   []int
	signal unix.Signal // 0 asks whether it could be sent
}

// An outcome says to which processes the signal was sent, and whether one of them was gone.
type outcome struct {
	sent []int
	gone bool
}

// callMates sends a signal to those of some processes that the calling thread may send signals to. If it may send signals
// to this program's parent, it is not held after all, and does nothing.
func callMates(c call) (o outcome) {
	if unix.Kill(os.Getppid(), 0) == nil {
		return o
	}
	for _, pid := range c.pids {
		switch err := unix.Kill(pid, c.signal); {
		case err == nil:
			o.sent = append(o.sent, pid)
		case errors.Is(err, unix.ESRCH):
			o.gone = true
		}
	}
	return o
}

// endStrays ends what is left of a command that has ended, by asking the thread that started it until it finds nothing.
// since is when the command started; nothing that is older is ended. The kernel lists processes in the order of their
// numbers, so a process that hands over to its child meanwhile is missed only if it is gone when it is asked about, and
// then everything is looked at again, a few times: on a busy machine something always ends. (A program that makes use of
// that, or of numbers beginning anew, stays behind, and stays held.)
func endStrays(since uint64, ask chan<- call, answer <-chan outcome) {
	const (
		rounds = 500 // each finds what the one before missed because it was just starting
		again  = 5   // looks in a row that find nothing but that something is gone
		pause  = time.Millisecond
	)
	if since == 0 {
		return
	}
	look := time.NewTicker(pause)
	defer look.Stop()
	for round, nothing := 0, 0; round < rounds && nothing < again; round++ {
		ask <- call{pids: others()}
		found := <-answer
		left := found.sent[:0]
		for _, pid := range found.sent {
			if started, state := lookAt(pid); started >= since && state != 'Z' && state != 'X' && isOurs(pid) {
				left = append(left, pid)
			}
		}
		switch {
		case len(left) > 0:
			nothing = 0
			ask <- call{left, unix.SIGKILL}
			<-answer
			<-look.C
		case !found.gone:
			return
		default:
			nothing++
		}
	}
}

// others lists all processes but this one and the first.
func others() (pids []int) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, _ := d.Readdirnames(-1)
	_ = d.Close()
	self := os.Getpid()
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil && pid != self && pid != 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

func isOurs(pid int) bool {
	var st syscall.Stat_t
	return syscall.Stat("/proc/"+strconv.Itoa(pid), &st) == nil && (int(st.Uid) == os.Getuid() || st.Uid == 0) // 0 is what undumpable ones show
}

func startOf(pid int) uint64 {
	started, _ := lookAt(pid)
	return started
}

// lookAt reads when a process started and its state. The name in the file may hold anything, so the fields are counted
// from its end.
func lookAt(pid int) (started uint64, state byte) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	const startTime = 19 // the 22nd field of the file, counted from the third
	if len(f) <= startTime || f[0] == "" {
		return 0, 0
	}
	started, _ = strconv.ParseUint(f[startTime], 10, 64)
	return started, f[0][0]
}
