//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

// ordinary are commands that must work as if nothing held them. what each needs is looked for first.
var ordinary = []struct{ name, needs, text, want string }{
	{"pipes", "sort", `printf 'b\na\n' | sort | tr -d '\n'`, "ab"},
	{"null", "", `echo x > /dev/null && cat /dev/null && echo ok`, "ok"},
	{"random", "head", `head -c 8 /dev/urandom | wc -c`, "8"},
	{"temporary", "mktemp", `f=$(mktemp) && echo t > $f && cat $f && rm $f`, "t"},
	{"here-document", "", "cat <<X\nhere\nX", "here"},
	{"substitution", "", `cat <(echo sub)`, "sub"},
	{"background", "", `sleep 0 & wait && echo waited`, "waited"},
	{"modes", "", `echo 'echo run' > s && chmod +x s && ./s && chmod 600 s && stat -c %a s && touch -d @1 s && stat -c %Y s`, "run\n600\n1"},
	{"copies", "", `echo c > a && cp -a a b && mv b c && ln -s c d && ln c e && cat d e && mkdir -p x/y && mv c x/y/ && cat x/y/c && rm -r x`, "c\nc\nc"},
	{"archive", "tar", `mkdir t && echo t > t/f && chmod 750 t && tar cf t.tar t && rm -r t && tar xpf t.tar && cat t/f && stat -c %a t`, "t\n750"},
	{"git", "git", `git init -q . && git config user.email a@example.org && git config user.name A && echo 1 > f && git add f && git commit -qm one && git status --short && git log --format=%s && git stash list && git gc -q && git clone -q . ../clone$$ 2>/dev/null; git rev-parse --is-inside-work-tree`, "one\ntrue"},
	{"python", "python3", `python3 -c 'import os, subprocess, threading, tempfile
t = threading.Thread(target=lambda: print("thread")); t.start(); t.join()
print(subprocess.run(["echo", "child"], capture_output=True, text=True).stdout.strip())
with tempfile.TemporaryDirectory() as d: open(os.path.join(d, "f"), "w").write("x"); os.chmod(os.path.join(d, "f"), 0o600)'`, "thread\nchild"},
	{"python pool, " + ownNames, "python3", `python3 -c 'import multiprocessing as m
if __name__ == "__main__":
  p = m.get_context("fork").Pool(2); print(sum(p.map(abs, [-1, -2]))); p.close(); p.join()'`, "3"},
	{"c", "gcc", `printf '#include <stdio.h>\nint main(){puts("c");}' > a.c && gcc -o a a.c && ./a`, "c"},
	{"make", "make", `printf 'all: x y\nx:\n\techo x\ny:\n\techo y\n' > Makefile && make -s -j2 | sort | tr -d '\n'`, "xy"},
	{"go", "go", `printf 'module m\ngo 1.21\n' > go.mod && printf 'package main\nfunc main() { println("go") }\n' > m.go && GOFLAGS=-mod=mod GOTOOLCHAIN=local go build -o m . && ./m 2>&1`, "go"},
	{"node", "node", `node -e 'const {execSync}=require("child_process"); console.log(execSync("echo child").toString().trim()); new (require("worker_threads").Worker)("console.log(\"worker\")",{eval:true})'`, "child\nworker"},
	{"exit code", "", `exit 7`, "exit status 7"},
	{"signal", "", `kill -TERM $$`, "signal: terminated"},
	{"abort", "", `ulimit -c 0; kill -ABRT $$`, "signal: aborted"},
	{"broken pipe", "", `yes | head -n 1; echo ${PIPESTATUS[0]}`, "y\n141"},
	{"processes", "", `(sleep 0.01; echo late) & wait; echo $$ | grep -q '^[0-9]*$' && echo own`, "late\nown"},
	{"time limit", "timeout", `timeout 0.1 sleep 5; echo $?`, "124"},
}

// ownNames marks what needs names that are shared by all programs of a machine, in /dev/shm: that works where a command has
// a machine of its own.
const ownNames = "with names in memory"

func TestOrdinary(t *testing.T) {
	home := t.TempDir() // one for all, as commands have one for a workspace: caches live there
	atEveryLevel(t, func(t *testing.T, l *Launcher, level jackline.SandboxLevel) {
		for _, c := range ordinary {
			t.Run(c.name, func(t *testing.T) {
				if c.needs != "" {
					if _, err := exec.LookPath(c.needs); err != nil {
						t.Skipf("NOT TRIED: there is no %s", c.needs)
					}
				}
				g := newGround(t)
				g.Read, g.Home = toolchains(), home
				want := c.want
				if strings.Contains(c.name, ownNames) && level == jackline.SandboxLandlock {
					want = "PermissionError: [Errno 13] Permission denied\nexit status 1"
				}
				out, err := held(t, l, g.Spec, shell(g.Spec, c.text))
				got := strings.TrimSpace(out)
				var exit *exec.ExitError
				if errors.As(err, &exit) {
					got = strings.TrimSpace(got + "\n" + exit.Error())
				} else if err != nil {
					t.Fatal(err)
				}
				if got != want && !(want != c.want && strings.HasSuffix(got, want)) {
					t.Errorf("%q, want %q", got, want)
				}
			})
		}
	})
}

// toolchains are the folders of PATH that lie in a home, and what they belong to.
func toolchains() (list []string) {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if strings.HasPrefix(dir, "/usr") || strings.HasPrefix(dir, "/bin") || strings.HasPrefix(dir, "/sbin") || !filepath.IsAbs(dir) {
			continue
		}
		root := filepath.Dir(filepath.Clean(dir))
		if root != "/" && root != os.Getenv("HOME") && strings.Count(root, "/") > 1 {
			list = append(list, root)
		}
		list = append(list, filepath.Clean(dir))
	}
	return list
}
