package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/policy"
)

// everyday is one ordinary command, and what a careful person would do about it who lets an assistant edit files in the
// workspace, in a sandbox. The list was written by somebody who has not seen the analysis.
type everyday struct{ ID, Command, Careful, Why string }

// alarms bounds how many of the commands that nobody would want to be asked about are asked about: one in twenty.
const alarms = 0.05

// lenient are commands that the list would rather have asked about and that run unasked, with what makes them harmless. A
// command that is not here and runs is a fault.
var lenient = map[string]string{
	"network": "it needs the network, and the sandbox has none: it fails and sends nothing",
	"session": "it needs the owner's processes, services or rights, and the sandbox shows and gives none of them",
	"home":    "it changes a home folder, and in the sandbox that is the workspace's own",
	"git":     "it moves what is in the repository's store, which the mode allows; git keeps for weeks what it drops",
	"files":   "it changes or deletes files of the workspace, which is what commands in the sandbox may do in this mode; see undo",
}

// TestEveryday judges them as the gate would, in allow-edits, in a clean chat, with a whole sandbox. Nothing is run.
func TestEveryday(t *testing.T) {
	dir := t.TempDir()
	ws := filepath.Join(dir, "user", "ws")
	project(t, ws)
	env := map[string]string{"JACKLINE_HOME": filepath.Join(dir, "jl"), "HOME": filepath.Join(dir, "user"), "PATH": os.Getenv("PATH")}
	t.Setenv("HOME", env["HOME"])
	m := &Main{Env: func(k string) string { return env[k] }, Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}
	conf, err := settings.Load(m.Env, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.openApp(t.Context(), conf, []string{"127.0.0.1:7717"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.close(t.Context())
	if level := a.cells.Report().Level; level != jackline.SandboxNamespaces {
		t.Logf("This machine's sandbox is %v: what it would open to a command is not known here, and judged by touches alone.", level)
	}
	set := jackline.Permissions{Toggles: jackline.AllOn, Mode: jackline.ModeAllowEdits, WorkspaceRoot: ws}
	who := jackline.Actor{
		Owner: jackline.Local, Admin: true, Source: jackline.FromModel,
		Session: jackline.Session{ID: "s_1", Owner: jackline.Local, Workspace: ws, Mode: jackline.ModeAllowEdits},
	}
	judge := func(command string) (jackline.Intent, jackline.Decision) {
		t.Helper()
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		i, err := a.callIntent(t.Context(), who, policy.Probe{Tool: a.runner, Args: args})
		if err != nil {
			t.Fatalf("%s: %v", command, err)
		}
		i.Sandbox.Level, i.Sandbox.Leaks = jackline.SandboxNamespaces, ""
		return i, a.policy.With(set).Judge(i)
	}
	run, ask, wrong, known := 0, 0, []string{}, harmless()
	for _, c := range readEveryday(t) {
		i, d := judge(c.Command)
		switch {
		case c.Careful == "run":
			run++
			if d.Verdict != jackline.Allow {
				wrong = append(wrong, fmt.Sprintf("%s %s (%s: %s): %q", c.ID, d.Verdict, d.Rule, d.Reason, c.Command))
			}
		case c.Careful == "ask":
			ask++
			if d.Verdict != jackline.Allow {
				continue
			}
			why := lenient[known[c.ID]]
			if why == "" || len(i.Sandbox.Hosts) > 0 || len(i.Sandbox.Write) > 0 {
				t.Errorf("%s runs unasked, %+v: %q", c.ID, i.Sandbox, c.Command)
			}
			t.Logf("%s runs unasked: %s: %q", c.ID, why, c.Command)
		default:
			t.Fatalf("%s: what does %q mean?", c.ID, c.Careful)
		}
	}
	t.Logf("%d of %d commands that run for a careful person are held up (%.1f %%); %d are for asking", len(wrong), run, 100*float64(len(wrong))/float64(run), ask)
	for _, w := range wrong {
		t.Log("held up: ", w)
	}
	if float64(len(wrong)) >= alarms*float64(run) {
		t.Errorf("that is too many: fewer than %.0f %% may be", 100*alarms)
	}
	if run+ask != 300 || ask < 30 {
		t.Errorf("%d and %d commands", run, ask)
	}
}

// harmless names, of each command that the list would rather have asked about, what makes it harmless where it runs unasked.
func harmless() map[string]string {
	all := map[string]string{}
	for why, ids := range map[string]string{
		"network": "037 038 044 045 072 073 096 097 098 099 100 101 102 126 127 129 130 142 143 144 162 169 288 289 290 291 296",
		"session": "128 160 167 168 170 172 292 293 294 295",
		"home":    "074",
		"git":     "042 043 048 049",
		"files":   "039 040 041 103 232 236",
	} {
		for id := range strings.FieldsSeq(ids) {
			all["everyday-"+id] = why
		}
	}
	return all
}

func readEveryday(t *testing.T) []everyday {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "shell", "testdata", "everyday.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var all []everyday
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var c everyday
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// project makes a workspace as developers have them: a repository with sources, tests, settings and built things.
func project(t *testing.T, ws string) {
	t.Helper()
	for _, name := range []string{
		"go.mod", "package.json", "Makefile", "Dockerfile", "README.md", "src/app/config.ts", "src/login/form.ts", "cmd/server/main.go", "internal/cache/cache.go",
		"data/users.csv", "data/dev.db", "scripts/check.sh", "scripts/release.sh", "config/example.yaml", "docs/a.markdown", "dist/app.js", "build/app.js",
		"node_modules/x/index.js", "tests/test_billing.py", ".gitignore", ".nvmrc", ".env.example", "fix-timeout.patch", "bin/agent", "packages/web/package.json",
	} {
		path := filepath.Join(ws, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if git, err := exec.LookPath("git"); err == nil {
		if out, err := exec.Command(git, "init", "-q", ws).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, strings.TrimSpace(string(out)))
		}
	}
}
