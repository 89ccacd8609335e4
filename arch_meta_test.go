package jackline_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// fine is a small module that breaks no law.
var fine = map[string]string{
	"go.mod":           "module example.org/m\n\ngo 1.26.0\n\nrequire example.org/dep v1.0.0\n",
	"m.go":             "// Package m holds the nouns.\npackage m\n",
	"tool/tool.go":     "// Package tool runs tools.\npackage tool\n\nimport _ \"example.org/m\"\n\n// Spec declares one.\ntype Spec[A any] struct{ Name string }\n",
	"builtin/clock.go": clock,
	"turn/turn.go":     "// Package turn takes turns.\npackage turn\n\nimport _ \"example.org/m/tool\"\n",
	"cmd/jackline/main.go": "// Command jackline is the program.\npackage main\n\nimport (\n\t\"context\"\n\n\t_ \"example.org/m/builtin\"\n)\n\n" +
		"func main() { _ = context.Background(); go func() {}() }\n",
	"docs/design/dependencies.md": "# Reasons\n\n| module | licence | why |\n|---|---|---|\n| `example.org/dep` | MIT | it is needed |\n\n## Other\n\n| `example.org/later` |\n",
}

const clock = "// Package builtin holds the tools.\npackage builtin\n\nimport \"example.org/m/tool\"\n\n" +
	"var clock = tool.Spec[int]{\n\tName: \"clock\",\n}\n"

// Each case breaks one law in one way.
func TestArchChecksCanFail(t *testing.T) {
	doc := func(name, rest string) string {
		return "// Package " + name + " is here.\npackage " + name + "\n\n" + rest
	}
	cases := []struct {
		check string
		files map[string]string // added to fine, or in place of its files; "" removes one
		want  string            // part of the one finding
	}{
		{"imports go down", map[string]string{"mystery/a.go": doc("mystery", "")}, "mystery has no floor"},
		{"imports go down", map[string]string{"tool/up.go": "package tool\n\nimport _ \"example.org/m/turn\"\n"}, "floor 1 may not import floor 3"},
		{"imports go down", map[string]string{"tool/side.go": "package tool\n\nimport _ \"example.org/m/policy\"\n"}, "floor 1 may not import floor 1"},
		{"imports go down", map[string]string{"m_windows.go": "package m\n\nimport _ \"example.org/m/tool\"\n"}, "m_windows.go imports tool"},
		{"imports go down", map[string]string{"turn/t.go": "package turn\n\nimport _ \"example.org/m/tool/tooltest\"\n"}, "for tests only"},

		{"fences hold", map[string]string{"turn/t.go": "package turn\n\nimport _ \"example.org/m/store\"\n"}, "a journal, not a database"},
		{"fences hold", map[string]string{"turn/t.go": "package turn\n\nimport _ \"example.org/m/model/openai\"\n"}, "not its provider"},
		{"fences hold", map[string]string{"n.go": "package m\n\nimport _ \"net/http\"\n"}, "no I/O"},
		{"fences hold", map[string]string{"n.go": "package m\n\nimport _ \"example.org/dep\"\n"}, "standard library only"},

		{"packages are documented", map[string]string{"turn/turn.go": "package turn\n"}, "turn has no package comment"},
		{"packages are documented", map[string]string{"turn/turn.go": "// Turns.\npackage turn\n"}, "does not begin with"},
		{"packages are documented", map[string]string{"turn/t.go": doc("turn", "")}, "comments in turn/t.go and turn/turn.go"},

		{"exported names are documented", map[string]string{"turn/t.go": "package turn\n\nfunc Run() {}\n"}, "Run has no comment"},
		{"exported names are documented", map[string]string{"turn/t.go": "package turn\n\ntype E struct{} // one\n\nfunc (E) Run() {}\n"}, "Run has no comment"},
		{"exported names are documented", map[string]string{"turn/t.go": "package turn\n\ntype E[A any] struct{}\n"}, "E has no comment"},
		{"exported names are documented", map[string]string{"turn/t.go": "package turn\n\nconst (\n\tA = 1 // said\n\tB = 2\n)\n"}, "B has no comment"},
		{"exported names are documented", map[string]string{"turn/t.go": "package turn\n\n// E is one.\ntype E int\n\n// A is said.\nfunc (E) A() {}\nfunc (E) B() {}\n\nfunc (E) C() {}\n"}, "C has no comment"},

		{"names say something", map[string]string{"turn/util/a.txt": "\n"}, "turn/util"},
		{"names say something", map[string]string{"turn/turn.go": "// Package helpers helps.\npackage helpers\n"}, `"helpers" says nothing`},

		{"nothing is too big", map[string]string{"turn/t.go": "package turn\n" + strings.Repeat("\n", 700)}, "701 lines, of at most 700"},
		{"nothing is too big", map[string]string{"turn/t.go": "package turn\n\nfunc f() {\n" + strings.Repeat("\n", 119) + "}\n"}, "f has 121 lines"},
		{"nothing is too big", many(6, "package turn\n"+strings.Repeat("\n", 690)), "package turn has 4150 lines"},

		{"no init", map[string]string{"turn/t.go": "package turn\n\nfunc init() {}\n"}, "an init function"},
		{"no root context", map[string]string{"turn/t.go": "package turn\n\nimport \"context\"\n\nvar c = context.Background()\n"}, "context.Background"},
		{"no root context", map[string]string{"turn/t.go": "package turn\n\nimport \"context\"\n\nfunc f() { _ = context.TODO() }\n"}, "context.TODO"},
		{"goroutines have owners", map[string]string{"tool/t.go": "package tool\n\nfunc f() { go f() }\n"}, "tool starts a goroutine"},
		{"goroutines have owners", map[string]string{"tool/t.go": "package tool\n\nimport \"sync\"\n\nfunc f(w *sync.WaitGroup) { w.Go(func() {}) }\n"}, "tool starts a goroutine"},
		{"processes have owners", map[string]string{"turn/t.go": "package turn\n\nimport _ \"os/exec\"\n"}, "imports os/exec"},

		{"a tool is known in one place", map[string]string{"turn/t.go": "package turn\n\nvar s = \"clock\"\n"}, `"clock" is the tool of builtin/clock.go`},
		{"a tool is known in one place", map[string]string{"builtin/two.go": "package builtin\n\nvar s = \"clock\"\n"}, `"clock" is the tool of`},
		{"a tool is known in one place", map[string]string{"builtin/two.go": "package builtin\n\nimport \"example.org/m/tool\"\n\nvar n = \"x\"\n\nvar two = tool.Spec[int]{Name: n}\n"}, "one literal string"},
		{"a tool is known in one place", map[string]string{"builtin/two.go": "package builtin\n\nimport \"example.org/m/tool\"\n\nvar two = tool.Spec[int]{Name: \"other\"}\n\nvar three = tool.Spec[int]{Name: \"other\"}\n"}, "is also in"},
		{"a tool is known in one place", map[string]string{"ui/web/src/Step.svelte": "{#if step.name === 'clock'}\n"}, "ui/web/src/Step.svelte"},

		{"dependencies have reasons", map[string]string{"docs/design/dependencies.md": ""}, "no reason for example.org/dep"},
		{"dependencies have reasons", map[string]string{"docs/design/dependencies.md": fine["docs/design/dependencies.md"] + "\n", "go.mod": "module example.org/m\n"}, "does not require"},
		{"dependencies have reasons", map[string]string{"go.mod": "module example.org/m\n\nrequire (\n\texample.org/dep v1.0.0 // indirect\n)\n"}, "does not require directly"},

		{"dependencies have reasons", map[string]string{
			"go.mod":                      "module example.org/m\n\nrequire example.org/dep v1.0.0 // indirect\n",
			"docs/design/dependencies.md": "", "turn/t.go": "package turn\n\nimport _ \"example.org/dep/part\"\n",
		}, "run go mod tidy"},

		{"node_modules is ignored", map[string]string{"ui/web/package.json": "{}\n"}, "ignore ./ui/web/node_modules"},
		{"nothing names a machine", map[string]string{"README.md": "It is in /odd/place/here.\n"}, "/odd/place"},
		{"nothing names a machine", map[string]string{"ui/web/package-lock.json": "\"https://registry" + ".somewhere.org/marked\"\n"}, "json:1 names a package registry"},
	}

	seen := map[string]bool{}
	for _, c := range cases {
		seen[c.check] = true
		t.Run(c.check, func(t *testing.T) {
			got := findings(t, c.check, c.files)
			if len(got) != 1 || !strings.Contains(got[0], c.want) {
				t.Errorf("want one finding with %q, have %q", c.want, got)
			}
		})
	}
	for _, c := range checks {
		if !seen[c.name] {
			t.Errorf("nothing shows that %q can fail", c.name)
		}
		if got := findings(t, c.name, nil); len(got) > 0 {
			t.Errorf("%s: a fine module is said to have %q", c.name, got)
		}
	}
}

// What looks like an offence and is none.
func TestArchChecksCanPass(t *testing.T) {
	cases := []struct {
		check string
		files map[string]string
	}{
		{"imports go down", map[string]string{"tool/up_test.go": "package tool_test\n\nimport _ \"example.org/m/turn\"\n"}},
		{"imports go down", map[string]string{"tool/testdata/x/x.go": "package x\n\nimport _ \"example.org/m/turn\"\n"}},
		{"imports go down", map[string]string{"tools/go.mod": "module example.org/m/tools\n", "tools/x/x.go": "package x\n"}},
		{"fences hold", map[string]string{"turn/t.go": "package turn\n\nimport _ \"example.org/m/model\"\n"}},
		{"exported names are documented", map[string]string{"turn/t.go": "package turn\n\n// The kinds.\nconst (\n\tA = 1\n\tB = 2\n)\n\ntype e int\n\nfunc (e) Run() {}\n\n// E is an error.\ntype E int\n\nfunc (E) Error() string { return \"\" }\n"}},
		{"names say something", map[string]string{"ui/web/src/lib/a.ts": "", "store/testdata/core/a": ""}},
		{"no root context", map[string]string{"turn/t_test.go": "package turn\n\nimport \"context\"\n\nvar c = context.Background()\n"}},
		{"a tool is known in one place", map[string]string{"turn/t.go": "package turn\n\nimport _ \"clock\"\n\n// clock tells the clock.\ntype clock struct {\n\tClock int `clock`\n}\n\nvar s = \"the clock\"\n"}},
		{"a tool is known in one place", map[string]string{"turn/t_test.go": "package turn\n\nvar s = \"clock\"\n", "ui/web/src/a.test.ts": "'clock'\n"}},
		{"a tool is known in one place", map[string]string{"tool/tooltest/t.go": doc("tooltest", "var s = \"clock\"\n")}},
		{"goroutines have owners", map[string]string{"tool/tooltest/t.go": doc("tooltest", "func f() { go f() }\n")}},
		{"node_modules is ignored", map[string]string{"ui/web/package.json": "{}\n", "go.mod": fine["go.mod"] + "\nignore ./ui/web/node_modules\n"}},
		{"nothing names a machine", map[string]string{"README.md": "Ask proxy.example.com for /odd.\n"}},
	}
	for _, c := range cases {
		t.Run(c.check, func(t *testing.T) {
			if got := findings(t, c.check, c.files); len(got) > 0 {
				t.Errorf("have %q", got)
			}
		})
	}
}

// A word that a package may say must be said, or the permission is stale.
func TestArchToolWords(t *testing.T) {
	l := ours
	l.toolWords = []toolWord{{pkg: "turn", name: "clock", why: "the wall's"}}
	said := small(t, map[string]string{"turn/t.go": "package turn\n\nvar s = \"clock\"\n"})
	if got := toolsInOnePlace(said, l); len(got) > 0 {
		t.Errorf("an allowed word: %q", got)
	}
	if got := toolsInOnePlace(small(t, nil), l); len(got) != 1 || !strings.Contains(got[0], "which it does not") {
		t.Errorf("a stale permission: %q", got)
	}
}

// findings runs one check of our law over fine with changes.
func findings(t *testing.T, name string, changes map[string]string) []string {
	t.Helper()
	i := slices.IndexFunc(checks, func(c check) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("no check is called %q", name)
	}
	return checks[i].find(small(t, changes), ours)
}

func small(t *testing.T, changes map[string]string) tree {
	t.Helper()
	files := maps.Clone(fine)
	maps.Copy(files, changes)
	fsys := fstest.MapFS{}
	var paths []string
	for p, text := range files {
		if text == "" && fine[p] != "" {
			continue
		}
		fsys[p] = &fstest.MapFile{Data: []byte(text)}
		paths = append(paths, p)
	}
	slices.Sort(paths)
	tree, err := read(fsys, paths)
	if err != nil {
		t.Fatal(err)
	}
	tree.here = []string{"/odd/place"}
	return tree
}

func doc(name, rest string) string {
	return "// Package " + name + " is here.\npackage " + name + "\n\n" + rest
}

func many(n int, text string) map[string]string {
	files := map[string]string{}
	for i := range n {
		files["turn/"+string(rune('a'+i))+".go"] = text
	}
	return files
}
