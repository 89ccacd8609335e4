package job

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A tree is a command and all that came of it: its session and process group, the children of its children as far as the
// system shows them, and whoever carries its mark.
type tree struct {
	cmd    *exec.Cmd
	leader int
	mark   []byte
	since  uint64         // when the command started; nothing older is of its family
	known  map[int]uint64 // members that were seen, and when they started
}

func newTree(cmd *exec.Cmd, id string) *tree {
	t := &tree{cmd: cmd, leader: cmd.Process.Pid, mark: []byte(marker + "=" + id), known: map[int]uint64{}}
	if p, ok := lookAt(t.leader); ok {
		t.since = p.started
	}
	return t
}

// startIn is the folder to start in. An open folder is reached by its handle, which the child has too until it becomes
// the command.
func startIn(s Spec) string {
	if s.Folder == nil {
		return s.Dir
	}
	p := fmt.Sprintf("/proc/self/fd/%d", s.Folder.Fd())
	ours, err := os.Stat(p)
	if err != nil {
		return s.Dir
	}
	if want, err := s.Folder.Stat(); err != nil || !os.SameFile(ours, want) {
		return s.Dir
	}
	return p
}

// await returns when the command itself has ended. It is not reaped, so that its number belongs to nobody else while its
// family is looked for.
func (t *tree) await() {
	for {
		err := unix.Waitid(unix.P_PID, t.leader, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

func (t *tree) reap() (*os.ProcessState, error) {
	err := t.cmd.Wait()
	return t.cmd.ProcessState, err
}

// end ends every process of the tree: they are asked to, and killed if they do not. It returns how many there were besides
// the command, and how many are left.
func (t *tree) end() (found, left int) {
	all := t.members()
	for _, p := range all {
		if p.pid != t.leader {
			found++
		}
	}
	if len(all) == 0 {
		return 0, 0
	}
	t.signal(all, unix.SIGTERM)
	if t.gone(grace, 0) == 0 {
		return found, 0
	}
	return found, t.gone(patience, unix.SIGKILL)
}

// gone waits until no member is left, at most for the given time, and sends a signal to those that it sees. It returns how
// many are left.
func (t *tree) gone(most time.Duration, signal unix.Signal) int {
	const pause = 10 * time.Millisecond
	deadline := time.NewTimer(most)
	defer deadline.Stop()
	look := time.NewTicker(pause)
	defer look.Stop()
	for {
		all := t.members()
		if len(all) == 0 {
			return 0
		}
		if signal != 0 {
			t.signal(all, signal)
		}
		select {
		case <-deadline.C:
			return len(all)
		case <-look.C:
		}
	}
}

// signal sends a signal to the group and to each member. The leader is not reaped yet, so the group's number is ours.
func (t *tree) signal(all []process, s unix.Signal) {
	_ = unix.Kill(-t.leader, s) // nobody left in the group is no failure
	for _, p := range all {
		p.signal(s)
	}
}

// A process is a line of the system's table.
type process struct {
	pid, parent, group, session int
	state                       byte
	kernel                      bool
	started                     uint64
}

// signal sends s to the very process that was seen: its number could be another's by now.
func (p process) signal(s unix.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return // gone
	}
	defer func() { _ = unix.Close(fd) }()
	if now, ok := lookAt(p.pid); ok && now.started == p.started {
		_ = unix.PidfdSendSignal(fd, s, nil, 0) // gone meanwhile, or not ours: the next look tells
	}
}

// members are the living processes of the tree.
func (t *tree) members() []process {
	var young []process
	for _, p := range processes() {
		if p.started >= t.since && !p.kernel && p.pid != os.Getpid() {
			young = append(young, p)
		}
	}
	in := map[int]bool{t.leader: true}
	for _, p := range young {
		since, seen := t.known[p.pid]
		if seen && since == p.started || p.group == t.leader || p.session == t.leader || p.living() && t.marked(p) {
			in[p.pid] = true
		}
	}
	for grew := true; grew; {
		grew = false
		for _, p := range young {
			if !in[p.pid] && in[p.parent] {
				in[p.pid], grew = true, true
			}
		}
	}
	var all []process
	for _, p := range young {
		if in[p.pid] && p.living() {
			t.known[p.pid] = p.started
			all = append(all, p)
		}
	}
	return all
}

func (p process) living() bool { return p.state != 'Z' && p.state != 'X' }

// marked reports whether a process was given the mark of this run with its environment. While a process becomes another
// program, or ends, it has none for a moment; that moment is waited for.
func (t *tree) marked(p process) bool {
	const tries, pause = 50, time.Millisecond
	look := time.NewTicker(pause)
	defer look.Stop()
	for range tries {
		env, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/environ")
		if err != nil {
			return false // another user's, or gone
		}
		if len(env) > 0 {
			return slices.ContainsFunc(bytes.Split(env, []byte{0}), func(e []byte) bool { return bytes.Equal(e, t.mark) })
		}
		if now, ok := lookAt(p.pid); !ok || now.started != p.started || !now.living() {
			return false
		}
		<-look.C
	}
	return false
}

func processes() (table []process) {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, err := d.Readdirnames(-1)
	if err = errors.Join(err, d.Close()); err != nil {
		return nil
	}
	for _, n := range names {
		if pid, err := strconv.Atoi(n); err == nil {
			if p, ok := lookAt(pid); ok {
				table = append(table, p)
			}
		}
	}
	return table
}

// lookAt reads the state of a process. The name in it may hold anything, so the fields are counted from its end.
func lookAt(pid int) (process, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	f := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	const flags, startTime = 6, 19 // the 9th and 22nd field of the file, counted from the third
	const kernelThread = 0x00200000
	if len(f) <= startTime || f[0] == "" {
		return process{}, false
	}
	p := process{pid: pid, state: f[0][0]}
	bits, err := strconv.ParseUint(f[flags], 10, 64)
	p.kernel = err != nil || bits&kernelThread != 0
	if p.started, err = strconv.ParseUint(f[startTime], 10, 64); err != nil {
		return process{}, false
	}
	for i, to := range []*int{&p.parent, &p.group, &p.session} {
		if *to, err = strconv.Atoi(f[i+1]); err != nil {
			return process{}, false
		}
	}
	return p, true
}
