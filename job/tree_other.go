//go:build !unix

package job

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

const listSeparator = ";"

func isAbs(p string) bool { return filepath.IsAbs(p) }

// shellCommand is a command for PowerShell without anybody's profile, or for what the system has instead.
func shellCommand(text string) (*exec.Cmd, error) {
	if p, err := exec.LookPath("powershell.exe"); err == nil {
		return exec.Command(p, "-NoProfile", "-NonInteractive", "-ExecutionPolicy", "RemoteSigned", "-Command", text), nil
	}
	p, err := exec.LookPath("cmd.exe")
	if err != nil {
		return nil, err
	}
	return exec.Command(p, "/d", "/s", "/c", text), nil
}

// Shell is the name of the shell that commands are written for.
func Shell() string {
	if _, err := exec.LookPath("powershell.exe"); err == nil {
		return "powershell"
	}
	return "cmd"
}

func apart(*exec.Cmd) {}

func signalName(*os.ProcessState) string { return "" }

func startIn(s Spec) string { return s.Dir }

// A tree is a command and its children, as the system's own tool knows them.
type tree struct {
	cmd *exec.Cmd
	err error
}

func newTree(cmd *exec.Cmd, _ string) *tree { return &tree{cmd: cmd} }

func (t *tree) await() { t.err = t.cmd.Wait() }

func (t *tree) reap() (*os.ProcessState, error) { return t.cmd.ProcessState, t.err }

func (t *tree) end() (found, left int) {
	err := exec.Command("taskkill.exe", "/T", "/F", "/PID", strconv.Itoa(t.cmd.Process.Pid)).Run()
	if err = errors.Join(err, t.cmd.Process.Kill()); err != nil {
		return 0, 0 // it had ended by itself
	}
	return 1, 0
}
