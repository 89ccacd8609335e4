//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
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

// endMates ends those of some processes that the calling thread may send signals to, and returns how many. If it may send
// signals to this program's parent, it is not held after all, and does nothing.
func endMates(pids []int) (n int) {
	if unix.Kill(os.Getppid(), 0) == nil {
		return 0
	}
	for _, pid := range pids {
		if unix.Kill(pid, 0) == nil && unix.Kill(pid, unix.SIGKILL) == nil {
			n++
		}
	}
	return n
}

// endStrays ends what is left of a command that has ended, by asking the thread that started it until it finds nothing.
// since is when the command started; nothing that is older is looked at.
func endStrays(since uint64, ask chan<- []int, found <-chan int) {
	const (
		rounds = 500 // each finds what the one before missed because it was just starting
		pause  = 2 * time.Millisecond
	)
	look := time.NewTicker(pause)
	defer look.Stop()
	for range rounds {
		pids := younger(since)
		if len(pids) == 0 {
			return
		}
		ask <- pids
		if <-found == 0 {
			return
		}
		<-look.C
	}
}

// younger lists this user's living processes that did not start before some time.
func younger(since uint64) (pids []int) {
	d, err := os.Open("/proc")
	if err != nil || since == 0 {
		return nil
	}
	names, _ := d.Readdirnames(-1) //nolint:errcheck // what was read is looked at
	_ = d.Close()
	self := os.Getpid()
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil || pid == self || pid == 1 {
			continue
		}
		if started, state := lookAt(pid); started >= since && state != 'Z' && state != 'X' && isOurs(pid) {
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
	started, _ = strconv.ParseUint(f[startTime], 10, 64) //nolint:errcheck // 0 is never
	return started, f[0][0]
}
