package jackline_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// This file is the architecture: what may import what, and who may do what. The checks are in arch_checks_test.go, the
// proof that each of them can fail in arch_meta_test.go. They read the source of all systems, not only of this one.
//
// Where a rule stands in the way of something clearly better, change the rule here and say why in docs/design/.

// law is what the checks hold the code to.
type law struct {
	floors     map[string]int               // package → floor; imports within the module go down only
	fences     map[string]map[string]string // package → what it must not import, itself or below → why
	support    map[string]bool              // packages that only tests import: they may do what a test may
	goroutines map[string]string            // packages with go statements → why
	processes  map[string]string            // packages that import os/exec → why
	inits      map[string]string            // packages with an init function → why
	toolWords  []toolWord

	fileLines, packageLines, funcLines int
}

// A toolWord lets one package say a word that is also a tool's name.
type toolWord struct{ pkg, name, why string }

var ours = law{
	floors: map[string]int{
		// The nouns, and text that became arguments.
		".":      0,
		"args":   0,
		"phrase": 0,
		"stack":  0,

		// What a window holds, and what words point at.
		"contract": 0,

		// What is not for everybody's eyes. Store, gate and commands hide by the same rules.
		"redact":   0,
		"retrieve": 0,

		// Bytes that became text.
		"extract/pdf": 0,

		// And what text files are.
		"workspace/textfile": 0,

		// What is known about one thing each. They do not know each other.
		"tool":          1,
		"policy":        1,
		"workspace":     1,
		"model":         1,
		"approval":      1,
		"job":           1,
		"skill":         1,
		"store":         2, // over its chain
		"ui":            1,
		"shell":         4, // over its parts
		"sandbox":       1,
		"sandbox/stage": 0, // what a process does before it becomes a command
		"egress":        1,
		"extract":       1,
		"diff":          1,

		// The parts of shell.
		"shell/value":   0,
		"shell/source":  1,
		"shell/proof":   2,
		"shell/posix":   2,
		"shell/windows": 3,

		// What binds the lines of the audit.
		"store/chain":  1,
		"store/column": 0,
		"store/queue":  0,
		"store/fault":  1,

		// Who watches the log.
		"store/watch": 1,

		// What is sealed.
		"store/vault": 1,

		// The way to an engine, which every adapter takes.
		"model/engine": 1,

		// Engines that hold a model to a form, in tests.
		"model/constraint/constrainttest": 1,

		// Tools and models that exist, and the contracts that they pass.
		"builtin":          2,
		"builtin/sum":      1, // arithmetic
		"web":              2,
		"cell":             2, // over sandbox, workspace, job and egress
		"mcp":              2,
		"model/openai":     2,
		"model/script":     2,
		"model/dialect":    2,
		"model/taught":     2,
		"model/constraint": 2,
		"model/prompted":   3, // over the reader of text
		"model/envelope":   3, // the same, and over the form
		"model/anthropic":  2,
		"model/responses":  2,
		"model/ollama":     2,
		"model/detect":     2,
		"model/probe":      3, // it asks models of all kinds
		"store/storetest":  3,
		"tool/tooltest":    2,
		"tool/crowd":       2, // made-up tools, for measuring

		// One prompt to one answer; and the contract that the models of floor 2 pass.
		"turn":            3,
		"model/modeltest": 3,

		"model/modeltest/hosted": 3, // servers for tests, over the scripts

		// What owns the running turns.
		"server/runs": 4,

		// Everybody's way in, and what stands before it.
		"server":               5,
		"undo":                 2, // over the workspace and the gate
		"server/archive":       3, // over the store
		"server/guard":         1,
		"server/upload":        1,
		"server/folders":       3, // over the workspace and the store
		"server/runs/runstest": 5,

		// It measures the program from outside, beside a bare loop.
		"bench":       1,
		"bench/floor": 0,
		"bench/tasks": 1, // beside a real model

		// A scripted engine for the tests of the page.
		"ui/web/test/ollama": 4,

		// Where all of it is plugged together.
		"cmd/jackline":          6,
		"cmd/jackline/engines":  4, // over the models and the loop
		"cmd/jackline/doctor":   5, // over engines and settings
		"cmd/jackline/terminal": 4, // over the client
		"cmd/jackline/models":   5, // over terminal and client
		"cmd/jackline/audit":    5, // the same
		"cmd/jackline/chats":    5, // the same
		"cmd/jackline/settings": 4,
		"cmd/jackline/logfile":  1,
		"cmd/jackline/manual":   1, // over nothing of ours
		"cmd/jackline/client":   3, // over the server's guard
	},

	fences: map[string]map[string]string{
		".": {
			"os": "the nouns do no I/O", "net": "the nouns do no I/O", "database/sql": "the nouns do no I/O",
			".third-party": "the nouns use the standard library only",
		},
		"args":   {"os": "text in, arguments out", "net": "text in, arguments out"},
		"policy": {"os": "a judge only thinks", "net": "a judge only thinks", "database/sql": "a judge only thinks"},
		"shell":  {"os": "it reads commands, it runs none", "net": "it reads commands, it runs none"},
		"turn": {
			"store":   "the loop knows a journal, not a database",
			"builtin": "the loop knows the gate, not the tools",
			"web":     "the loop knows the gate, not the tools",
			"mcp":     "the loop knows the gate, not the tools",
			"model/":  "the loop knows a model, not its provider",
			"policy":  "the gate asks the judge",
		},
		"server/runs": {
			"net/http": "turns run whether or not anybody is connected",
			"builtin":  "the owner of the turns knows their runner, not the tools",
			"mcp":      "the owner of the turns knows their runner, not the tools",
			"model":    "the owner of the turns knows their runner, not its models",
		},
		"server": {
			"builtin": "the server knows the gate, not the tools",
			"web":     "the server knows the gate, not the tools",
			"mcp":     "the server knows the gate, not the tools",
			"model/":  "the server knows models, not providers",
		},
	},

	support: map[string]bool{"store/storetest": true, "model/constraint/constrainttest": true, "model/modeltest": true, "model/modeltest/hosted": true, "tool/tooltest": true, "server/runs/runstest": true, "ui/web/test/ollama": true},

	goroutines: map[string]string{
		"server":                "the listener, waited for in Serve",
		"server/runs":           "running turns and their keeper, waited for in Shutdown",
		"job":                   "one for each process that outlives its call",
		"mcp":                   "one for each connection",
		"approval":              "the clock of waiting rows",
		"store":                 "the writer of group commits and the mover of its log, both waited for in Close",
		"turn":                  "pure reads of one step in parallel, and children; both waited for",
		"cell":                  "the proxy of a command, waited for when the command has ended",
		"builtin":               "searches that run side by side and are waited for",
		"egress":                "the two ways of a tunnel, waited for",
		"sandbox":               "the thread that is locked while it is confined, and who answers for its files; waited for in Close",
		"model/openai":          "the reader of a stream that may stall",
		"model/detect":          "engines that are asked at the same time",
		"bench":                 "the scripted model, waited for",
		"ui/web/test/ollama":    "the listener, waited for",
		"cmd/jackline":          "the program itself, away from the main thread, signals, and what is made beside the store; all waited for",
		"cmd/jackline/client":   "requests to the server inside the process, waited for in Close",
		"cmd/jackline/engines":  "looks at engines, models that are fetched, and probes; waited for in Close",
		"cmd/jackline/terminal": "the events of a turn, waited for, and a person's lines, which end with the program",
	},

	processes: map[string]string{
		"job":          "runs commands, through a cage where there is one",
		"cell":         "names what a cage starts; job and sandbox start it",
		"sandbox":      "starts itself again, confined",
		"cmd/jackline": "opens the browser",
		"bench":        "builds and runs the programs that it measures",
		"bench/tasks":  "runs the program that it measures",
	},

	inits: map[string]string{
		"stack":         "gives the goroutine of main room for the other packages' initialisation",
		"sandbox/stage": "becomes the held command where it was started to, before anything else is made ready; and pins the main thread, which only works before main",
	},

	toolWords: []toolWord{
		{pkg: "cmd/jackline", name: "glob", why: "an operation of `permissions test`"},
		{pkg: "cmd/jackline", name: "grep", why: "an operation of `permissions test`"},
		{pkg: "cmd/jackline", name: "shell", why: "a kind of question of `permissions test`"},
		{pkg: "shell", name: "grep", why: "a program of Unix"},
		{pkg: "shell/posix", name: "glob", why: "an option of rg"},
		{pkg: "shell/posix", name: "grep", why: "a program of Unix"},
		{pkg: "shell/posix", name: "python", why: "a program"},
		{pkg: "shell/source", name: "python", why: "a program"},
		{pkg: "shell/posix", name: "shell", why: "an option of su"},
		{pkg: "shell/posix", name: "time", why: "a keyword of shells"},
		{pkg: "shell/proof", name: "glob", why: "an option of rg"},
		{pkg: "shell/proof", name: "grep", why: "a program of Unix"},
		{pkg: "shell/proof", name: "time", why: "an option of ls"},
		{pkg: "policy", name: "shell", why: "a kind of question of `permissions test`"},
	},

	fileLines:    700,
	packageLines: 4000,
	funcLines:    120, // the linter aims at 80
}

func TestArch(t *testing.T) {
	tree := here(t)
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			for _, finding := range c.find(tree, ours) {
				t.Error(finding)
			}
		})
	}
}

// here reads the module that this test belongs to.
func here(t *testing.T) tree {
	t.Helper()
	paths, err := tracked()
	if err != nil {
		t.Fatal(err)
	}
	tree, err := read(os.DirFS("."), paths)
	if err != nil {
		t.Fatal(err)
	}
	tree.here = machine()
	return tree
}

// tracked lists what git has or would take. Without git (a release's source archive) it is every file, less what
// builds leave.
func tracked() ([]string, error) {
	if out, err := exec.Command("git", "ls-files", "-z", "-co", "--exclude-standard").Output(); err == nil {
		paths := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
		slices.Sort(paths)
		return slices.DeleteFunc(slices.Compact(paths), func(p string) bool {
			_, err := os.Lstat(p)
			return err != nil // deleted, not yet committed
		}), nil
	}
	var paths []string
	err := filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{".git", ".cache", "bin", "node_modules"}, d.Name()):
			return fs.SkipDir
		case d.Type().IsRegular():
			paths = append(paths, filepath.ToSlash(p))
		}
		return nil
	})
	return paths, err
}

// machine lists folders that only this machine has: no tracked file may name them.
func machine() []string {
	var dirs []string
	add := func(dir string) {
		dir = filepath.ToSlash(dir)
		if strings.Count(dir, "/") > 1 && !strings.HasPrefix(dir, "/usr/") {
			dirs = append(dirs, dir)
		}
	}
	if wd, err := os.Getwd(); err == nil {
		add(wd)
		add(filepath.Dir(wd))
		dirs = append(dirs, neighbours(wd)...)
	}
	if home, err := os.UserHomeDir(); err == nil {
		add(home)
	}
	if out, err := exec.Command("go", "env", "GOMODCACHE", "GOCACHE", "GOROOT").Output(); err == nil {
		for line := range strings.Lines(string(out)) {
			add(strings.TrimSpace(line))
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// neighbours lists what lies in the top folder of a checkout that was not put where people put things: a mention of
// one can only have come from a machine like this.
func neighbours(wd string) []string {
	parts := strings.Split(filepath.ToSlash(wd), "/")
	usual := []string{
		"home", "root", "Users", "tmp", "private", "usr", "var", "opt", "srv", "mnt", "media", "etc", "run", "nix",
		"src", "go", "app", "build", "builds", "github", "workspace", "workspaces", "data",
	}
	if len(parts) < 3 || parts[0] != "" || slices.Contains(usual, parts[1]) {
		return nil
	}
	var dirs []string
	entries, _ := os.ReadDir("/" + parts[1])
	for _, e := range entries {
		dirs = append(dirs, "/"+parts[1]+"/"+e.Name())
	}
	return dirs
}
