//go:build linux

package cell

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/egress"
	"github.com/jackline-ai/jackline/job"
	"github.com/jackline-ai/jackline/sandbox"
	"github.com/jackline-ai/jackline/workspace"
)

// A world is a person's home with a workspace in it, and the cell of the workspace.
type world struct {
	home, ws, data string
	cells          *Cells
	cell           *Cell
	root           *workspace.Root
}

// newWorld makes a world at a level, or says loudly that this machine has not that level.
func newWorld(t testing.TB, level jackline.SandboxLevel, files map[string]string, more func(*Options)) *world {
	t.Helper()
	// Not in /tmp, which a command may have one of its own of; this checkout may lie there.
	around, err := filepath.Abs(filepath.Join("..", ".cache"))
	if err == nil && strings.HasPrefix(around, "/tmp/") {
		around = "/var/tmp"
	}
	if err == nil {
		err = os.MkdirAll(around, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	home, err := os.MkdirTemp(around, "cell-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	w := &world{home: home, ws: filepath.Join(home, "ws"), data: filepath.Join(home, ".local/share/jackline")}
	for name, text := range files {
		p := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, d := range []string{w.ws, w.data} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l, err := sandbox.Open(t.Context(), sandbox.Options{AtMost: level})
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Report(); got.Level != level {
		t.Skipf("THE LEVEL %v IS MISSING HERE, so nothing was tried at it: %s", level, got.Why)
	}
	guard, err := egress.New(egress.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Launcher: l, Guard: guard, Data: w.data, State: []string{w.data}, Home: home, Environ: append(os.Environ(), "HOME="+home)}
	if more != nil {
		more(&o)
	}
	if w.cells, err = New(o); err != nil {
		t.Fatal(err)
	}
	if w.root, err = workspace.Open(w.ws, workspace.Options{State: o.State}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.root.Close() })
	w.cell = w.cells.In(w.root)
	return w
}

// run runs a command as it was planned, and gives its output and what came to light.
func (w *world) run(t testing.TB, command string, u jackline.Uses) (job.Result, []string) {
	t.Helper()
	s, err := w.cell.Plan(u, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.cell.Enter(t.Context(), s)
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	d, err := w.root.Dir("")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, err := job.Run(t.Context(), job.Spec{Command: command, Dir: d.Path, Folder: d.File, Env: p.Env, Cage: p.Cage})
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return r, p.Leave(context.WithoutCancel(t.Context()))
}

var levels = []jackline.SandboxLevel{jackline.SandboxLandlock, jackline.SandboxNamespaces}

func eachLevel(t *testing.T, f func(*testing.T, jackline.SandboxLevel)) {
	for _, l := range levels {
		t.Run(l.String(), func(t *testing.T) { f(t, l) })
	}
}

func TestHeld(t *testing.T) {
	eachLevel(t, func(t *testing.T, level jackline.SandboxLevel) {
		w := newWorld(t, level, map[string]string{
			"secret": "CANARY", ".gitconfig": "[user]\n\tname = Ada L\n\temail = ada@example.org\n[credential]\n\thelper = store\n", "other/f": "CANARY", "ws/f": "inside",
			"tools/bin/mytool": "#!/bin/sh\ncat ${0%/bin/mytool}/lib/data\n", "tools/lib/data": "tooldata\n", ".local/share/jackline/key": "CANARY",
		}, func(o *Options) {
			o.Environ = append(o.Environ, "PATH="+filepath.Join(o.Home, "tools/bin")+":/usr/bin:/bin", "MY_TOKEN=CANARY", "KEPT_TOKEN=kept", "CACHE_AT="+o.Home+"/x", "GOCACHE=/nowhere/x", "TOOLS="+o.Home+"/tools",
				"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/bus", "DOCKER_HOST=tcp://127.0.0.1:2375", "XDG_DATA_DIRS=/x", "https_proxy=http://127.0.0.1:1")
			o.KeepEnv = []string{"KEPT_TOKEN"}
		})
		for _, c := range []struct{ command, want string }{
			{"cat f; echo more > g; cat g", "inside" + "more\n"},
			{"cat ../secret ../other/f " + w.data + "/key 2>/dev/null; echo $?", "1\n"},
			{"(echo x > ../made) 2>/dev/null; echo $?", "1\n"},
			{"echo a > ~/kept; echo b > $TMPDIR/t; cat ~/kept $TMPDIR/t", "a\nb\n"},
			{"cat ~/kept; ls $TMPDIR", "a\n"},
			{"mytool", "tooldata\n"},
			{"echo $MY_TOKEN-$KEPT_TOKEN-$CACHE_AT-$GOCACHE-$TOOLS", "-kept---" + w.home + "/tools\n"},
			{"echo $DBUS_SESSION_BUS_ADDRESS-$DOCKER_HOST-$XDG_DATA_DIRS-$https_proxy", "---\n"},
			{"grep -c helper ~/.gitconfig; grep name ~/.gitconfig", "0\n\tname = Ada L\n"},
			{"exit 3", ""},
			{"cd sub 2>/dev/null || mkdir sub && cd sub && pwd", w.ws + "/sub\n"},
			{"cat /etc/shadow 2>/dev/null | wc -c", "0\n"},
			{"(exec 3<>/dev/tcp/127.0.0.1/1) 2>/dev/null; echo $?", "1\n"},
		} {
			r, notes := w.run(t, c.command, jackline.Uses{})
			if r.Output != c.want || len(notes) > 0 {
				t.Errorf("%s: %q %v, want %q", c.command, r.Output, notes, c.want)
			}
			if strings.Contains(r.Output, "CANARY") {
				t.Errorf("%s: a secret came out", c.command)
			}
		}
		if r, _ := w.run(t, "exit 3", jackline.Uses{}); r.Exit != 3 {
			t.Errorf("exit %d", r.Exit)
		}
		if r, _ := w.run(t, "kill -9 $$", jackline.Uses{}); r.Signal != "killed" {
			t.Errorf("%+v", r)
		}
		// What was allowed by name is opened, and nothing beside it.
		other := filepath.Join(w.home, "other")
		r, _ := w.run(t, "cat ../other/f; cat ../secret 2>/dev/null; (echo x > ../other/f) 2>/dev/null; echo $?", jackline.Uses{Reads: []string{filepath.Join(other, "f")}})
		if r.Output != "CANARY1\n" {
			t.Errorf("%q", r.Output)
		}
		if r, _ := w.run(t, "echo y > ../other/f; echo z > ../other/new; cat ../other/f ../other/new", jackline.Uses{Writes: []string{filepath.Join(other, "f"), filepath.Join(other, "new")}}); r.Output != "y\nz\n" {
			t.Errorf("%q", r.Output)
		}
		if r, _ := w.run(t, "echo y > ../note; cat ../note", jackline.Uses{Writes: []string{filepath.Join(w.home, "note")}}); r.Output != "y\n" {
			t.Errorf("a file right in home: %q", r.Output)
		}
		if r, _ := w.run(t, "true", jackline.Uses{Writes: []string{filepath.Join(w.home, "never")}}); r.Exit != 0 || stat(filepath.Join(w.home, "never")) == nil {
			t.Errorf("what was made for it and not written is still there")
		}
	})
}

// TestJudgedSandbox: a command that was judged under another sandbox than the one of now does not begin.
func TestJudgedSandbox(t *testing.T) {
	eachLevel(t, func(t *testing.T, level jackline.SandboxLevel) {
		w := newWorld(t, level, nil, nil)
		s, err := w.cell.Plan(jackline.Uses{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range levels {
			if other == level {
				continue
			}
			s.Level = other
			p, err := w.cell.Enter(t.Context(), s)
			if err == nil {
				p.Leave(t.Context())
			}
			if jackline.KindOf(err) != jackline.Conflict {
				t.Errorf("judged at %v, entered at %v: %v", other, level, err)
			}
		}
	})
}

func TestPlan(t *testing.T) {
	eachLevel(t, func(t *testing.T, level jackline.SandboxLevel) {
		w := newWorld(t, level, map[string]string{"a/f": "", "ws/.env": "", "ws/x": "", "lists/r/f": "", "lists/w/f": "", ".ssh/key": ""}, func(o *Options) {
			o.Read, o.Write = []string{"~/lists/r"}, []string{filepath.Join(o.Home, "lists/w")}
		})
		at := func(p string) string { return filepath.Join(w.home, p) }
		s, err := w.cell.Plan(jackline.Uses{
			Reads:  []string{at("a/f"), at("ws/x"), at("none"), "/usr/bin/env", "/etc/passwd", at("lists/r/f"), at("?/f"), at("a/*.go"), w.data + "/key", at(""), "/", at("ws/.env"), "/dev/null"},
			Writes: []string{at("lists/w/g"), at("a/new"), at("ws/new"), "/dev/null", w.data + "/x", "/etc/new"}, Deletes: []string{at("a/f")},
			Hosts: []string{"example.org", "127.0.0.1", "?", "localhost"}, Repository: true,
		}, []string{"example.com:8443"})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{at("a"), at("a/f"), at("ws/.env")}; !slices.Equal(s.Read, want) {
			t.Errorf("read %q, want %q", s.Read, want)
		}
		// The plan is sorted by name, and where the world lies is the
		// checkout's choice.
		if want := slices.Sorted(slices.Values([]string{"/etc/new", at("a")})); !slices.Equal(s.Write, want) {
			t.Errorf("write %q, want %q", s.Write, want)
		}
		if want := []string{"example.com:8443", "example.org:443", "example.org:80"}; !slices.Equal(s.Hosts, want) || !s.Repository {
			t.Errorf("%+v", s)
		}
		if leaks := s.Leaks != ""; leaks != (level == jackline.SandboxLandlock) {
			t.Errorf("leaks: %q", s.Leaks)
		}
		for _, bad := range []string{"127.0.0.1:80", "localhost", "10.0.0.1", "example.org:22", ""} {
			if _, err := w.cell.Plan(jackline.Uses{}, []string{bad}); err == nil {
				t.Errorf("the host %q was given", bad)
			}
		}
	})
}

func TestLists(t *testing.T) {
	home := t.TempDir()
	data := filepath.Join(home, "d/data")
	for _, c := range []struct {
		read, write, env string
		ok               bool
	}{
		{read: "~/x", ok: true}, {read: "/srv/models", ok: true}, {write: home + "/out", ok: true}, {env: "A_TOKEN", ok: true},
		{read: "x"}, {read: "~"}, {read: home}, {read: "/"}, {read: filepath.Dir(home)}, {read: data}, {read: data + "/x"}, {read: home + "/d"},
		{write: "/"}, {write: home}, {write: "/usr"}, {write: "/bin"}, {write: data}, {read: "/proc/1"}, {write: "/dev"}, {env: "A=B"}, {env: "*"}, {read: "/a\x00"},
	} {
		o := Options{Home: home, Data: data, State: []string{data}}
		if c.read != "" {
			o.Read = []string{c.read}
		}
		if c.write != "" {
			o.Write = []string{c.write}
		}
		if c.env != "" {
			o.KeepEnv = []string{c.env}
		}
		if _, err := New(o); (err == nil) != c.ok || err != nil && jackline.KindOf(err) != jackline.Invalid {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestProtected(t *testing.T) {
	eachLevel(t, func(t *testing.T, level jackline.SandboxLevel) {
		w := newWorld(t, level, map[string]string{
			"ws/.env": "K=CANARY\n", "ws/.git/config": "[core]\n", "ws/.git/hooks/x.sample": "s", "ws/.git/index": "i", "ws/sub/.npmrc": "t=CANARY\n",
		}, nil)
		read := func(p string) string { b, _ := os.ReadFile(filepath.Join(w.ws, p)); return string(b) }
		r, notes := w.run(t, "cat .env sub/.npmrc; cat .git/config; echo evil > .env; echo evil > .git/config; echo evil > .git/hooks/pre-commit; echo evil > .netrc; mkdir -p .aws; rm -rf sub; mv .git .git2; true", jackline.Uses{})
		if level == jackline.SandboxNamespaces && (strings.Contains(r.Output, "CANARY") || !strings.Contains(r.Output, "[core]")) {
			t.Errorf("%q", r.Output)
		}
		for p, want := range map[string]string{".env": "K=CANARY\n", ".git/config": "[core]\n", ".git/hooks/pre-commit": "", "sub/.npmrc": "t=CANARY\n", ".netrc": ""} {
			if got := read(p); got != want {
				t.Errorf("%s is %q, want %q", p, got, want)
			}
		}
		if level == jackline.SandboxLandlock && (len(notes) != 1 || !strings.Contains(notes[0], "put back: .env, .git/config")) {
			t.Errorf("%q", notes)
		}
		_ = os.RemoveAll(filepath.Join(w.ws, ".git2"))
		if level == jackline.SandboxNamespaces && read(".git/index") != "i" {
			t.Error("the git store was moved away")
		}
		// A command that changes the repository may, but not what says which programs git starts.
		if err := os.MkdirAll(filepath.Join(w.ws, ".git/hooks"), 0o755); err != nil {
			t.Fatal(err)
		}
		w.run(t, "echo new > .git/index; echo evil > .git/config; echo evil > .git/hooks/post-commit; echo evil > .git/commondir; true", jackline.Uses{Repository: true})
		for p, want := range map[string]string{".git/index": "new\n", ".git/config": "[core]\n", ".git/hooks/post-commit": "", ".git/commondir": ""} {
			if got := read(p); got != want {
				t.Errorf("%s is %q, want %q", p, got, want)
			}
		}
		// What was allowed by name is what it is.
		env := filepath.Join(w.ws, ".env")
		if r, notes := w.run(t, "cat .env; echo K=new > .env", jackline.Uses{Reads: []string{env}, Writes: []string{env}}); r.Output != "K=CANARY\n" || read(".env") != "K=new\n" || len(notes) > 0 {
			t.Errorf("%q %q %q", r.Output, read(".env"), notes)
		}
	})
}

// TestEveryday: what people do all day works in a cell.
func TestEveryday(t *testing.T) {
	eachLevel(t, func(t *testing.T, level jackline.SandboxLevel) {
		w := newWorld(t, level, map[string]string{
			".gitconfig": "[user]\n\tname = Ada\n\temail = ada@example.org\n", "ws/go.mod": "module example.org/x\n\ngo 1.24\n",
			"ws/x.go": "package x\n\nfunc One() int { return 1 }\n", "ws/x_test.go": "package x\n\nimport \"testing\"\n\nfunc TestOne(t *testing.T) {\n\tif One() != 1 {\n\t\tt.Fail()\n\t}\n}\n",
			"ws/Makefile": "all:\n\t@echo made | tr a-z A-Z\n",
		}, nil)
		for _, c := range []struct {
			command, want string
			uses          jackline.Uses
			needs         string
		}{
			{"git init -q . && git add -A && git commit -qm first && git log --format=%an-%s", "Ada-first\n", jackline.Uses{Git: true, Repository: true}, "git"},
			{"git config user.name Bea && git config user.name", "Bea\n", jackline.Uses{Git: true, Settings: true}, "git"},
			{"git config user.name Eve 2>/dev/null; git config user.name", "Bea\n", jackline.Uses{Git: true, Repository: true}, "git"},
			{"echo >> x.go; git status --short; git diff --stat | wc -l", " M x.go\n2\n", jackline.Uses{Git: true}, "git"},
			{"git commit -qam second && git rev-list --count HEAD && git branch b && git switch -q b && git branch --show-current", "2\nb\n", jackline.Uses{Git: true, Repository: true}, "git"},
			{"make", "MADE\n", jackline.Uses{}, "make"},
			{"go build ./... && go list ./...", "example.org/x\n", jackline.Uses{}, "go"},
			{"ls -A", ".git\nMakefile\ngo.mod\nx.go\nx_test.go\n", jackline.Uses{}, "ls"},
			{"(echo b > /tmp/x$$) 2>/dev/null || echo b > $TMPDIR/x$$; seq 3 | sort -r | head -1; date > /dev/null; head -c 4 /dev/urandom | wc -c", "3\n4\n", jackline.Uses{}, "sort"},
			{"python3 -c 'import tempfile, subprocess; print(subprocess.run([\"echo\", \"hi\"], capture_output=True, text=True).stdout, end=\"\")'", "hi\n", jackline.Uses{}, "python3"},
			{"sleep 0.1 & wait; (exit 4) || echo $?", "4\n", jackline.Uses{}, "sleep"},
		} {
			if _, err := exec.LookPath(c.needs); err != nil {
				t.Logf("THERE IS NO %s HERE, so nothing was tried with it", c.needs)
				continue
			}
			r, notes := w.run(t, c.command, c.uses)
			if level == jackline.SandboxLandlock && strings.Contains(c.command, "Eve") {
				if len(notes) != 1 || !strings.Contains(notes[0], "put back: .git/config") {
					t.Errorf("%s: %q", c.command, notes)
				}
				continue // it cannot be kept from it, and is put back
			}
			if r.Output != c.want || len(notes) > 0 {
				t.Errorf("%s: %d %q %q, want %q", c.command, r.Exit, r.Output, notes, c.want)
			}
		}
	})
}

// TestHosts: a command reaches the hosts that were allowed, through the guard, and no other.
func TestHosts(t *testing.T) {
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("THERE IS NO curl HERE, so no host was reached")
	}
	eachLevel(t, func(t *testing.T, level jackline.SandboxLevel) {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "page of %s\n", r.Host) }))
		defer site.Close()
		guard, err := egress.New(egress.Options{
			Lookup: func(context.Context, string) ([]netip.Addr, error) {
				return []netip.Addr{netip.MustParseAddr("93.184.215.14")}, nil
			},
			Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, network, site.Listener.Addr().String())
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, level, nil, func(o *Options) { o.Guard = guard })
		command := curl + " -sS -m 10 http://good.example/; " + curl + " -sS -m 10 -o /dev/null -w '%{http_code}\\n' http://bad.example/; " +
			curl + " -sS -m 10 --noproxy '*' " + site.URL + " 2>/dev/null; echo $?"
		r, notes := w.run(t, command, jackline.Uses{Hosts: []string{"good.example"}})
		if r.Output != "page of good.example\n403\n7\n" {
			t.Errorf("%q", r.Output)
		}
		if len(notes) != 1 || !strings.Contains(notes[0], "bad.example:80") {
			t.Errorf("%q", notes)
		}
		if r, _ := w.run(t, curl+" -sS -m 10 http://good.example/ 2>/dev/null; env | grep -ciE '^(https?|all|no)_proxy='", jackline.Uses{}); r.Output != "0\n" {
			t.Errorf("without hosts: %q", r.Output)
		}
	})
}
