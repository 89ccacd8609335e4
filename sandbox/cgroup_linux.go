//go:build linux && (amd64 || arm64)

package sandbox

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// How the number of a command's processes is bounded.
const (
	byGroup  = "cgroup" // the kernel counts those of the command
	byLimit  = "rlimit" // the kernel counts those of the user, or of the user in the namespace
	unbound  = "none"   // root's processes are not counted, and there is no group to be had
	groupDir = "jackline-"
)

// processGroups finds the folder in which control groups can be made that bound processes; "" is none.
func processGroups() string {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") || strings.Contains(f[2], "/../") {
			continue
		}
		var tries []string
		switch {
		case slices.Contains(strings.Split(f[1], ","), "pids"):
			tries = []string{filepath.Join("/sys/fs/cgroup/pids", f[2])}
		case f[0] == "0":
			// A group that has processes itself cannot have groups that are counted, so one beside it is the usual place.
			for _, root := range [...]string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
				own := filepath.Join(root, f[2])
				tries = append(tries, own, filepath.Dir(own))
			}
		}
		for _, dir := range tries {
			if g, err := makeGroup(dir, 1); err == nil {
				g.remove()
				sweepGroups(dir)
				return dir
			}
		}
	}
	return ""
}

// sweepGroups removes what is left of groups whose program did not end well. One that is in use cannot be removed.
func sweepGroups(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, _, ok := strings.Cut(strings.TrimPrefix(e.Name(), groupDir), "-")
		if !ok || !strings.HasPrefix(e.Name(), groupDir) {
			continue
		}
		if n, err := strconv.Atoi(pid); err == nil && unix.Kill(n, 0) == unix.ESRCH { //nolint:errorlint // raw
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// A group is a control group for one command.
type group struct{ dir string }

func makeGroup(dir string, processes int) (*group, error) {
	g := &group{filepath.Join(dir, groupDir+strconv.Itoa(os.Getpid())+"-"+rand.Text())}
	if err := os.Mkdir(g.dir, 0o755); err != nil { //nolint:gosec // as the system makes them
		return nil, err
	}
	if err := writeExisting(filepath.Join(g.dir, "pids.max"), strconv.Itoa(processes)); err != nil {
		g.remove()
		return nil, err
	}
	return g, nil
}

// members is the file that takes the number of a process.
func (g *group) members() string { return filepath.Join(g.dir, "cgroup.procs") }

func (g *group) remove() { _ = unix.Rmdir(g.dir) } // what is still in use is swept up later

// writeExisting writes to a file that must be there already.
func writeExisting(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// tasks is how many threads there are on the machine, which bounds how many this user has.
func tasks() int64 {
	b, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(b)); err == nil && len(f) > 3 {
		if _, total, ok := strings.Cut(f[3], "/"); ok {
			if n, err := strconv.ParseInt(total, 10, 64); err == nil {
				return n
			}
		}
	}
	const most = 4 << 20 // the kernel's own limit
	return most
}
