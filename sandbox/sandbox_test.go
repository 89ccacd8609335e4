//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/sandbox/stage"
)

// TestReport prints what the machine gives, and holds the report to being whole.
func TestReport(t *testing.T) {
	asEveryUser(t, func(t *testing.T) {
		l, err := Open(t.Context(), Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := l.Report()
		t.Logf("LEVEL %v, Landlock ABI %d, processes bounded by %s, tried out in %v. %s", r.Level, r.ABI, r.Processes, r.Took, r.Why)
		if (r.Level == jackline.SandboxNamespaces) != (r.Why == "") || len(r.Open) == 0 {
			t.Errorf("%+v", r)
		}
		for _, c := range r.Checks {
			if c.Level == r.Level && !c.Held {
				t.Errorf("%+v", c)
			}
		}
	})
}

// TestProbeCanFail runs the probe without anything that holds it: it must get out on every way.
func TestProbeCanFail(t *testing.T) {
	dir := t.TempDir()
	p := stage.Probe{
		Workspace: filepath.Join(dir, "w"), Outside: filepath.Join(dir, "o"), Server: os.Getpid(), Abstract: "jackline-test-" + strconv.Itoa(os.Getpid()),
		Masked: filepath.Join(dir, "w", ".env"), Missing: filepath.Join(dir, "w", ".netrc"), Hooks: filepath.Join(dir, "w", ".git", "hooks"),
	}
	err := errors.Join(os.MkdirAll(p.Hooks, 0o700), os.Mkdir(p.Outside, 0o700), os.WriteFile(p.Masked, []byte("x"), 0o600),
		os.WriteFile(filepath.Join(p.Outside, "canary"), []byte("x"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	tcp, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tcp.Close() }()
	p.Port = tcp.Addr().(*net.TCPAddr).Port
	for _, name := range []string{"@" + p.Abstract, filepath.Join(p.Outside, "socket")} {
		ln, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = ln.Close() }()
	}
	var fds [2]int
	if err := unix.Pipe(fds[:]); err != nil { // open to children, as nothing of ours is
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fds[0]); _ = unix.Close(fds[1]) }()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{stage.ProbeVariable + "=" + p.String()}
	read, write := os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	cmd.ExtraFiles = []*os.File{read, write}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, ok := strings.CutPrefix(strings.TrimSpace(line), stage.Held)
		// Some ways are closed to those who are not root, or on some machines, without us.
		ours := os.Getuid() == 0 && name != "mount" && name != "make a namespace" && name != "trace a process" && name != "read memory" && name != "read the environment"
		if ok && name != "work in the workspace" && ours {
			t.Errorf("not even an open door was found: %s", name)
		}
	}
	if strings.Count(string(out), "\n") != 17 {
		t.Errorf("%s", out)
	}
}

// TestProxy: a command reaches the proxy that it was given, and nothing else.
func TestProxy(t *testing.T) {
	asEveryUser(t, func(t *testing.T) {
		atEveryLevel(t, func(t *testing.T, l *Launcher, level jackline.SandboxLevel) {
			other, err := net.Listen("tcp4", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = other.Close() }()
			g := newGround(t)
			g.Network = ProxyNetwork
			cmd := shell(g.Spec, fmt.Sprintf(`a=${HTTP_PROXY#http://}; [ "$a" = "${https_proxy#http://}" ] || echo differs
exec 3<>/dev/tcp/${a%%:*}/${a#*:} && echo hello >&3 && cat <&3
(exec 4<>/dev/tcp/127.0.0.1/%d) 2>/dev/null && echo ESCAPED; true`, other.Addr().(*net.TCPAddr).Port))
			var out strings.Builder
			cmd.Stdout, cmd.Stderr, cmd.Dir = &out, &out, g.Workspace
			run, err := l.Start(cmd, g.Spec)
			if err != nil {
				t.Fatal(err)
			}
			c, err := run.Proxy.Accept()
			if err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(c).ReadString('\n')
			_, err2 := io.WriteString(c, "and "+line)
			if err = errors.Join(err, err2, c.Close(), cmd.Wait(), run.Close()); err != nil {
				t.Fatal(err, out.String())
			}
			if out.String() != "and hello\n" {
				t.Errorf("%q", out.String())
			}
			if _, err := run.Proxy.Accept(); err == nil {
				t.Error("the proxy is left open")
			}
		})
	})
}

// TestSwappedWorkspace puts another folder in the place of the workspace that is held open.
func TestSwappedWorkspace(t *testing.T) {
	atEveryLevel(t, func(t *testing.T, l *Launcher, level jackline.SandboxLevel) {
		g := newGround(t)
		dir, err := os.Open(g.Workspace)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = dir.Close() }()
		g.Dir = dir
		if err := errors.Join(os.Rename(g.Workspace, g.Workspace+"-away"), os.Symlink(g.outside, g.Workspace)); err != nil {
			t.Fatal(err)
		}
		cmd := shell(g.Spec, `echo x > made; echo x > "$OUT/made"`)
		cmd.Env = append(cmd.Env, "OUT="+g.Workspace)
		cmd.Dir = fmt.Sprintf("/proc/self/fd/%d", dir.Fd())
		out, err := held(t, l, g.Spec, cmd)
		t.Log(out, err)
		if level == jackline.SandboxNamespaces && jackline.KindOf(err) != jackline.Unavailable {
			t.Errorf("%v", err)
		}
		if entries, _ := os.ReadDir(g.outside); len(entries) != 0 {
			t.Errorf("%v", entries)
		}
	})
}

// TestMasksTogether: placeholders stay as long as any command needs them, and no longer.
func TestMasksTogether(t *testing.T) {
	l, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if l.Report().Level != jackline.SandboxNamespaces {
		t.Skipf("MISSING LEVEL: masks were not tried. %s", l.Report().Why)
	}
	g := newGround(t)
	missing := filepath.Join(g.Workspace, ".env")
	g.Masks = []string{missing}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 25 {
				out, err := held(t, l, g.Spec, shell(g.Spec, `[ -c .env ] || echo "not covered"; echo x 2>/dev/null > .env; mv .env a 2>/dev/null && echo moved; true`))
				if out != "" || err != nil {
					t.Errorf("%s %v", out, err)
				}
			}
		})
	}
	group.Wait()
	if entries, _ := os.ReadDir(g.Workspace); len(entries) != 0 {
		t.Errorf("%v", entries)
	}
	// One that a crash left behind.
	if err := errors.Join(os.WriteFile(missing, nil, 0o400), os.Chmod(missing, 0o400|os.ModeSticky)); err != nil {
		t.Fatal(err)
	}
	if out, err := held(t, l, g.Spec, shell(g.Spec, `[ -c .env ] || echo "not covered"`)); out != "" || err != nil {
		t.Errorf("%s %v", out, err)
	}
	if _, err := os.Lstat(missing); err == nil {
		t.Error("it is left")
	}
	// A link cannot be covered, and that is said.
	if err := os.Symlink("elsewhere", missing); err != nil {
		t.Fatal(err)
	}
	cmd := shell(g.Spec, "true")
	run, err := l.Start(cmd, g.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Unmasked) != 1 || run.Unmasked[0] != missing {
		t.Errorf("%v", run.Unmasked)
	}
	if err := errors.Join(cmd.Wait(), run.Close()); err != nil {
		t.Error(err)
	}
}

// TestShown: what is given is there, by the names that it was given by, and nothing else is.
func TestShown(t *testing.T) {
	atEveryLevel(t, func(t *testing.T, l *Launcher, level jackline.SandboxLevel) {
		g := newGround(t)
		tools := t.TempDir()
		link := filepath.Join(t.TempDir(), "tools")
		file := filepath.Join(t.TempDir(), "file")
		err := errors.Join(os.Symlink(tools, link), os.WriteFile(filepath.Join(tools, "tool"), []byte("echo tool"), 0o700), os.WriteFile(file, []byte("a"), 0o600))
		if err != nil {
			t.Fatal(err)
		}
		g.Read, g.Write = []string{link, filepath.Join(tools, "missing")}, []string{file}
		out, err := held(t, l, g.Spec, shell(g.Spec, fmt.Sprintf(`sh %s/tool; sh %s/tool; cat %s; echo b >> %s
echo x 2>/dev/null > %s/tool && echo ESCAPED; echo h > $HOME/h; echo t > $TMPDIR/t; cat $HOME/h $TMPDIR/t; pwd`, link, tools, file, file, tools)))
		if want := "tool\ntool\nah\nt\n" + g.Workspace + "\n"; out != want || err != nil {
			t.Errorf("%q %v, want %q", out, err, want)
		}
		if b, _ := os.ReadFile(file); string(b) != "ab\n" {
			t.Errorf("%q", b)
		}
	})
}

// TestPlaces: a workspace may lie where the machine has something of its own, or in a folder that can only be read.
func TestPlaces(t *testing.T) {
	l, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if l.Report().Level != jackline.SandboxNamespaces {
		t.Skipf("MISSING LEVEL: places were not tried. %s", l.Report().Why)
	}
	for _, parent := range []string{"/tmp", "/var/tmp", "/dev/shm", "/opt", "/usr/local/src", "/run"} {
		dir, err := os.MkdirTemp(parent, "jackline-test-")
		if err != nil {
			t.Logf("NOT TRIED: %s: %v", parent, err)
			continue
		}
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		g := newGround(t)
		g.Workspace = filepath.Join(dir, "workspace")
		if err := os.Mkdir(g.Workspace, 0o700); err != nil {
			t.Fatal(err)
		}
		out, err := held(t, l, g.Spec, shell(g.Spec, `echo x > f && pwd && echo t > /tmp/t && cat /var/tmp/t; ls -A `+dir+`; echo y 2>/dev/null > `+dir+`/out; true`))
		want := g.Workspace + "\nt\nworkspace\n"
		if parent == "/var/tmp" {
			want = g.Workspace + "\nworkspace\n"
			out = strings.Replace(out, "cat: /var/tmp/t: No such file or directory\n", "", 1)
		}
		if out != want || err != nil {
			t.Errorf("%s: %q %v, want %q", parent, out, err, want)
		}
		if entries, _ := os.ReadDir(dir); len(entries) != 1 {
			t.Errorf("%s: %v", parent, entries)
		}
		if entries, _ := os.ReadDir(g.Temp); len(entries) != 0 && parent != "/tmp" && !below(g.Temp, "/tmp") {
			t.Errorf("%s: %v in the folder for what is temporary", parent, entries)
		}
	}
}

func TestRefused(t *testing.T) {
	l, err := Open(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := newGround(t)
	for name, c := range map[string]struct {
		change func(*Spec, *exec.Cmd)
		kind   jackline.Kind
	}{
		"no workspace":        {func(s *Spec, _ *exec.Cmd) { s.Workspace = "" }, jackline.Invalid},
		"relative":            {func(s *Spec, _ *exec.Cmd) { s.Read = []string{"usr"} }, jackline.Invalid},
		"unclean":             {func(s *Spec, _ *exec.Cmd) { s.Write = []string{"/usr/../etc"} }, jackline.Invalid},
		"everything":          {func(s *Spec, _ *exec.Cmd) { s.Write = []string{"/"} }, jackline.Invalid},
		"zero":                {func(s *Spec, _ *exec.Cmd) { s.Masks = []string{"/a\x00b"} }, jackline.Invalid},
		"too many":            {func(s *Spec, _ *exec.Cmd) { s.Masks = make([]string, maxPaths+1) }, jackline.Invalid},
		"no such program":     {func(_ *Spec, c *exec.Cmd) { c.Path = "/usr/bin/no-such-program" }, jackline.Unprocessed},
		"program not shown":   {func(_ *Spec, c *exec.Cmd) { c.Path = filepath.Join(g.outside, "p") }, jackline.Unprocessed},
		"no such folder":      {func(_ *Spec, c *exec.Cmd) { c.Dir = filepath.Join(g.Workspace, "missing") }, jackline.Unprocessed},
		"files of the caller": {func(_ *Spec, c *exec.Cmd) { c.ExtraFiles = []*os.File{os.Stdin} }, jackline.Internal},
	} {
		t.Run(name, func(t *testing.T) {
			for _, level := range []jackline.SandboxLevel{jackline.SandboxLandlock, jackline.SandboxNamespaces} {
				l := l
				if level == jackline.SandboxLandlock {
					if l, err = Open(t.Context(), Options{AtMost: level}); err != nil {
						t.Fatal(err)
					}
				}
				if l.Report().Level != level {
					t.Logf("MISSING LEVEL: %v", level)
					continue
				}
				s, cmd := g.Spec, shell(g.Spec, "true")
				c.change(&s, cmd)
				_, err := l.Start(cmd, s)
				if jackline.KindOf(err) != c.kind || err == nil {
					t.Errorf("%v: %v", level, err)
				}
			}
		})
	}
	if left := children(t); left != 0 {
		t.Errorf("%d processes are left", left)
	}
}

// children counts the processes that this one started and that were not waited for.
func children(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/thread-self/children")
	if err != nil {
		t.Skip("the kernel does not list children")
	}
	return len(strings.Fields(string(b)))
}
