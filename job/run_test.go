//go:build linux

package job

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func runs(t *testing.T, s Spec) Result {
	t.Helper()
	if s.Dir == "" {
		s.Dir = t.TempDir()
	}
	if s.Env == nil {
		s.Env = Env(os.Environ())
	}
	r, err := Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		command, output string
		exit            int
	}{
		{"echo hello", "hello\n", 0},
		{"echo out; echo err >&2; exit 3", "out\nerr\n", 3},
		{"cat", "", 0}, // there is no input
		{"printf 'caf\\303'; printf '\\251'", "café", 0},
		{"printf '\\377\\376h\\000i\\000'", "hi", 0},
		{"false | true", "", 0},
		{"kill -9 $$", "", -1},
		{"exit 0 & wait", "", 0},
		{"shopt login_shell | cut -f2; echo $-", "off\nhBc\n", 0},
	} {
		r := runs(t, Spec{Command: c.command})
		if r.Output != c.output || r.Exit != c.exit || r.Late || r.Strays != 0 || r.Escaped != 0 {
			t.Errorf("%s: %+v, want %q and %d", c.command, r, c.output, c.exit)
		}
	}
	if r := runs(t, Spec{Command: "kill -9 $$"}); r.Signal != "killed" {
		t.Errorf("%+v", r)
	}
}

func TestRunStartsInTheOpenFolder(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	inside := filepath.Join(dir, "in")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(inside)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	// Somebody puts a link in the folder's place.
	if err := errors.Join(os.Rename(inside, inside+"2"), os.Symlink(other, inside)); err != nil {
		t.Fatal(err)
	}
	if r := runs(t, Spec{Command: "pwd -P", Dir: inside, Folder: f}); r.Output != inside+"2\n" {
		t.Errorf("it started in %q", r.Output)
	}
	if r := runs(t, Spec{Command: "pwd -P", Dir: other}); r.Output != other+"\n" {
		t.Errorf("it started in %q", r.Output)
	}
}

// pid reads a number that a command has written.
func pid(t *testing.T, path string) int {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func alive(pid int) bool {
	p, ok := lookAt(pid)
	return ok && p.state != 'Z'
}

func TestNothingIsLeftBehind(t *testing.T) {
	for name, command := range map[string]string{
		"child in the background":     "sleep 300 & echo $! > pid",
		"own group":                   "set -m; sleep 300 & echo $! > pid",
		"own session":                 "setsid sh -c 'echo $$ > pid; exec sleep 300' & while [ ! -s pid ]; do :; done",
		"orphan in its own session":   "(setsid sh -c 'echo $$ > pid; exec sleep 300' &) ; while [ ! -s pid ]; do :; done",
		"deaf to the request":         "sh -c 'trap \"\" TERM; echo $$ > pid; while :; do sleep 1; done' & while [ ! -s pid ]; do :; done",
		"orphan that lets go of pipe": "(setsid sh -c 'echo $$ > pid; exec sleep 300' >/dev/null 2>&1 &) ; while [ ! -s pid ]; do :; done",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r := runs(t, Spec{Command: command, Dir: dir, Time: 20 * time.Second})
			if n := pid(t, filepath.Join(dir, "pid")); alive(n) {
				_ = unix.Kill(n, unix.SIGKILL)
				t.Errorf("process %d lives on: %+v", n, r)
			}
			if r.Strays == 0 || r.Escaped != 0 || r.Late || r.Exit != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestTimeIsUp(t *testing.T) {
	dir := t.TempDir()
	r := runs(t, Spec{Command: "echo begun; sleep 300 & echo $! > pid; sleep 300", Dir: dir, Time: time.Second})
	if !r.Late || r.Output != "begun\n" || r.Exit == 0 || r.Took > 5*time.Second || r.Escaped != 0 {
		t.Errorf("%+v", r)
	}
	if alive(pid(t, filepath.Join(dir, "pid"))) {
		t.Error("a child lives on")
	}
}

func TestStop(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	dir := t.TempDir()
	var once sync.Once
	r, err := Run(ctx, Spec{
		Command: "sleep 300 & echo $! > pid; echo begun; sleep 300", Dir: dir, Env: Env(os.Environ()),
		Progress: func(string) { once.Do(stop) },
	})
	if !errors.Is(err, context.Canceled) || r.Output != "begun\n" || r.Late {
		t.Errorf("%+v %v", r, err)
	}
	if alive(pid(t, filepath.Join(dir, "pid"))) {
		t.Error("a child lives on")
	}
	if _, err := Run(ctx, Spec{Command: "echo x"}); !errors.Is(err, context.Canceled) {
		t.Error("it ran after the stop")
	}
}

func TestEndlessOutputIsBounded(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var shown strings.Builder
	r := runs(t, Spec{Command: "yes 0123456789 | head -c 100000000; echo; echo end", Progress: func(s string) { shown.WriteString(s) }})
	runtime.ReadMemStats(&after)
	if len(r.Output) > keepHead+keepTail+200 || !strings.HasSuffix(r.Output, "end\n") || r.Dropped < 90_000_000 {
		t.Errorf("%d characters, %d dropped", len(r.Output), r.Dropped)
	}
	if grown := after.HeapSys - before.HeapSys; int64(grown) > 64<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if shown.Len() > 1<<20 || !strings.Contains(shown.String(), "end\n") {
		t.Errorf("%d characters were shown", shown.Len())
	}
}

func TestProgressComesAsItIsWritten(t *testing.T) {
	first := make(chan string, 100)
	dir := t.TempDir()
	done := make(chan Result)
	go func() {
		r, err := Run(t.Context(), Spec{
			Command: "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two", Dir: dir, Env: Env(os.Environ()),
			Progress: func(s string) { first <- s },
		})
		if err != nil {
			t.Error(err)
		}
		done <- r
	}()
	if s := <-first; s != "one\n" {
		t.Errorf("%q", s)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.Output != "one\ntwo\n" {
		t.Errorf("%+v", r)
	}
}

func TestManyAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	env, dir := Env(os.Environ()), t.TempDir()
	for i := range 20 {
		wg.Go(func() {
			r, err := Run(t.Context(), Spec{Command: fmt.Sprintf("sleep 100 & echo %d", i), Dir: dir, Env: env})
			if err != nil || r.Output != fmt.Sprintf("%d\n", i) || r.Strays != 1 {
				t.Errorf("%d: %+v %v", i, r, err)
			}
		})
	}
	wg.Wait()
}

// A command that would fill a disk is ended while there is room left, and what it wrote stays.
func TestDiskIsNotFilled(t *testing.T) {
	const room = 96 << 20
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, fmt.Sprintf("size=%d", room)); err != nil {
		t.Skipf("NOT TRIED: a small disk cannot be mounted here: %v", err)
	}
	defer func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	few := runs(t, Spec{Dir: disk, Command: "head -c 1000000 /dev/zero > few; sleep 0.6; echo done"})
	if few.Full || few.Exit != 0 || few.Output != "done\n" {
		t.Errorf("a command that wrote little: %+v", few)
	}
	// A tenth of a disk in each tick, so that what comes in one of them cannot fill it.
	r := runs(t, Spec{Dir: disk, Command: "k=0; while :; do k=$((k+1)); head -c 400000 /dev/zero > f$k || exit 0; sleep 0.02; done", Time: time.Minute})
	free, ok := freeAt(disk)
	if !r.Full || r.Late || !ok || free < room/8 {
		t.Errorf("full: %v, late: %v, exit %d, %d bytes free", r.Full, r.Late, r.Exit, free)
	}
	if st, err := os.Stat(filepath.Join(disk, "f1")); err != nil || st.Size() != 400_000 {
		t.Errorf("what it wrote first: %v", err)
	}
}
