//go:build unix

package job

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

const (
	listSeparator = ":"

	// grace is how long a process may take to end by itself when it is asked to.
	grace = 2 * time.Second
	// patience is how long processes may take to vanish once they are killed.
	patience = 5 * time.Second
)

func isAbs(p string) bool { return filepath.IsAbs(p) }

// shellCommand is a command for the shell: Bash without anybody's start-up files, or what the system has instead.
func shellCommand(text string) (*exec.Cmd, error) {
	for _, p := range [...]string{"/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/opt/homebrew/bin/bash"} {
		if executable(p) {
			return &exec.Cmd{Path: p, Args: []string{"bash", "--noprofile", "--norc", "-c", text}}, nil
		}
	}
	for _, p := range [...]string{"/bin/sh", "/usr/bin/sh"} {
		if executable(p) {
			return &exec.Cmd{Path: p, Args: []string{"sh", "-c", text}}, nil
		}
	}
	return nil, exec.ErrNotFound
}

func executable(path string) bool {
	i, err := os.Stat(path)
	return err == nil && i.Mode().IsRegular() && i.Mode().Perm()&0o111 != 0
}

// apart gives the command a session of its own, and with it a process group and no terminal.
func apart(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// Shell is the name of the shell that commands are written for.
func Shell() string {
	cmd, err := shellCommand("")
	if err != nil {
		return ""
	}
	return cmd.Args[0]
}

func signalName(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return ws.Signal().String()
	}
	return ""
}
