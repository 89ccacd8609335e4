//go:build unix && !linux

package job

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// A tree is a command and its process group.
type tree struct {
	cmd    *exec.Cmd
	leader int
	err    error
}

func newTree(cmd *exec.Cmd, _ string) *tree { return &tree{cmd: cmd, leader: cmd.Process.Pid} }

func startIn(s Spec) string { return s.Dir }

func (t *tree) await() { t.err = t.cmd.Wait() }

func (t *tree) reap() (*os.ProcessState, error) { return t.cmd.ProcessState, t.err }

// end ends the group: it is asked to, and killed if it does not.
func (t *tree) end() (found, left int) {
	if !t.alive() {
		return 0, 0
	}
	_ = syscall.Kill(-t.leader, syscall.SIGTERM) // nobody left is no failure
	if t.gone(grace) {
		return 1, 0
	}
	_ = syscall.Kill(-t.leader, syscall.SIGKILL)
	if t.gone(patience) {
		return 1, 0
	}
	return 1, 1
}

func (t *tree) alive() bool { return !errors.Is(syscall.Kill(-t.leader, 0), syscall.ESRCH) }

func (t *tree) gone(most time.Duration) bool {
	const pause = 10 * time.Millisecond
	deadline := time.NewTimer(most)
	defer deadline.Stop()
	look := time.NewTicker(pause)
	defer look.Stop()
	for t.alive() {
		select {
		case <-deadline.C:
			return false
		case <-look.C:
		}
	}
	return true
}
