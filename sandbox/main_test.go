//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jackline-ai/jackline"
)

// TestMain is a hostile program where the binary was started as one, inside the sandbox; see hostile_test.go.
func TestMain(m *testing.M) {
	if name := os.Getenv(hostileVariable); name != "" {
		os.Exit(beHostile(name))
	}
	os.Exit(m.Run())
}

// unprivileged is the user that tests become besides root: nobody.
const unprivileged = 65534

// asEveryUser runs a test as the user that it is run by, and where that is root once more as nobody, in a process of its
// own. Which user and levels a run was for is printed.
func asEveryUser(t *testing.T, test func(t *testing.T)) {
	t.Run(map[bool]string{true: "root", false: "user"}[os.Getuid() == 0], test)
	if os.Getuid() != 0 || testing.Short() {
		return
	}
	t.Run("nobody", func(t *testing.T) {
		// The folder of the binary may be root's own.
		dir, err := os.MkdirTemp("", "jackline-test-")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		exe := filepath.Join(dir, "test")
		b, err := os.ReadFile("/proc/self/exe")
		if err = errors.Join(err, os.WriteFile(exe, b, 0o755), os.Chmod(exe, 0o755), os.Chmod(dir, 0o755)); err != nil { //nolint:gosec // for everybody to run
			t.Fatal(err)
		}
		name, _, _ := strings.Cut(t.Name(), "/")
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^"+name+"$", "-test.v", "-test.count=1")
		cmd.Dir = "/"
		cmd.Env = append(os.Environ(), "HOME=/nonexistent", "TMPDIR=/tmp")
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
		out, err := cmd.CombinedOutput()
		t.Logf("as nobody:\n%s", out)
		if err != nil {
			t.Error(err)
		}
		for _, line := range strings.Split(string(out), "\n") {
			if strings.Contains(line, "MISSING LEVEL") {
				t.Log(line)
			}
		}
	})
}

// atEveryLevel runs a test at each level that the machine has. A level that is missing is said loudly.
func atEveryLevel(t *testing.T, test func(t *testing.T, l *Launcher, level jackline.SandboxLevel)) {
	for _, level := range [...]jackline.SandboxLevel{jackline.SandboxLandlock, jackline.SandboxNamespaces} {
		t.Run(level.String(), func(t *testing.T) {
			l, err := Open(t.Context(), Options{AtMost: level})
			if err != nil {
				t.Fatal(err)
			}
			r := l.Report()
			if r.Level != level {
				if given(t, r, level) {
					t.Fatalf("this machine gives the level %v, and it was not reached: %s", level, r.Why)
				}
				t.Skipf("MISSING LEVEL: NOTHING WAS TRIED AT THE LEVEL %v. This machine has %v. %s", level, r.Level, r.Why)
			}
			t.Logf("LEVEL %v, uid %d, Landlock ABI %d, processes bounded by %s", level, os.Getuid(), r.ABI, r.Processes)
			test(t, l, level)
		})
	}
}

// given reports whether the machine gives a level, seen without the launcher: then one that is missing is the launcher's fault.
func given(t *testing.T, r Report, level jackline.SandboxLevel) bool {
	t.Helper()
	const scoped = 6 // the version of Landlock that holds every way of the probe
	if r.ABI < scoped {
		return false
	}
	if level == jackline.SandboxLandlock {
		return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Level == level && !c.Held }) // it was there, and did not hold
	}
	mount, err := exec.LookPath("mount")
	if err != nil {
		return false
	}
	cmd := exec.CommandContext(t.Context(), mount, "-t", "proc", "proc", "/proc")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	return cmd.Run() == nil
}

// A ground is a set of folders for one command.
type ground struct {
	Spec
	outside string // which is not given
}

func newGround(t *testing.T) ground {
	t.Helper()
	g := ground{outside: t.TempDir()}
	g.Workspace, g.Home, g.Temp = t.TempDir(), t.TempDir(), t.TempDir()
	return g
}

// patience is for machines that have much else to do.
const patience = 60 * time.Second

// held runs a command to its end, held.
func held(t *testing.T, l *Launcher, s Spec, cmd *exec.Cmd) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if cmd.Dir == "" {
		cmd.Dir = s.Workspace
	}
	run, err := l.Start(cmd, s)
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	ended := context.AfterFunc(ctx, func() { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) })
	err = cmd.Wait()
	if !ended() {
		t.Errorf("the command did not end: %s", out.String())
	}
	return out.String(), errors.Join(err, run.Close())
}

// shell is a command for the shell with the environment that commands get.
func shell(s Spec, text string) *exec.Cmd {
	cmd := exec.Command("/bin/bash", "--noprofile", "--norc", "-c", text)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + s.Home, "TMPDIR=" + s.Temp, "LANG=C.UTF-8"}
	return cmd
}
