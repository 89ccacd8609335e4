package job

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
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
	err    error
}

func newTree(cmd *exec.Cmd, id string) *tree {
	return &tree{cmd: cmd, leader: cmd.Process.Pid, mark: []byte(marker + "=" + id)}
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
	started                     string
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
	table := processes()
	in := map[int]bool{t.leader: true}
	for _, p := range table {
		if p.group == t.leader || p.session == t.leader || in[p.parent] || t.marked(p.pid) {
			in[p.pid] = true
		}
	}
	for grew := true; grew; {
		grew = false
		for _, p := range table {
			if !in[p.pid] && in[p.parent] {
				in[p.pid], grew = true, true
			}
		}
	}
	var all []process
	for _, p := range table {
		if in[p.pid] && p.state != 'Z' && p.state != 'X' && p.pid != os.Getpid() {
			all = append(all, p)
		}
	}
	return all
}

// marked reports whether a process was given the mark of this run with its environment.
func (t *tree) marked(pid int) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false // another user's, or gone
	}
	for e := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.Equal(e, t.mark) {
			return true
		}
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
	const startTime = 19 // the 22nd field of the file, counted from the third
	if len(f) <= startTime || f[0] == "" {
		return process{}, false
	}
	p := process{pid: pid, state: f[0][0], started: f[startTime]}
	for i, to := range []*int{&p.parent, &p.group, &p.session} {
		if *to, err = strconv.Atoi(f[i+1]); err != nil {
			return process{}, false
		}
	}
	return p, true
}
