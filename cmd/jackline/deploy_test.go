package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"mvdan.cc/sh/v3/syntax"

	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/server/guard"
)

// told are the files that tell people, service managers and container engines how the program is set and started.
func told(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	root := os.DirFS(filepath.Join("..", ".."))
	for _, pattern := range []string{"Containerfile", "deploy/*", "README.md", "SECURITY.md", "docs/*.md"} {
		names, err := fs.Glob(root, pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v, %v", pattern, names, err)
		}
		for _, name := range names {
			b, err := fs.ReadFile(root, name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(b)
		}
	}
	return files
}

// TestToldSettings holds every variable and every key that is named anywhere to the settings that there are.
func TestToldSettings(t *testing.T) {
	variables := spoken(t)
	paths := map[string]bool{}
	groups := map[string]bool{}
	for _, k := range settings.Keys() {
		variables[k.Env()], variables[k.Short] = true, true
		paths[k.Path] = true
		for p := path.Dir(strings.ReplaceAll(k.Path, ".", "/")); p != "."; p = path.Dir(p) {
			groups[strings.ReplaceAll(p, "/", ".")] = true
		}
	}
	variable := regexp.MustCompile(`\bJACKLINE_[A-Z_]*[A-Z]\b`)
	const groupsOf = `((?:model|server|permissions|tools|agent)\.[a-z][A-Za-z.]*)`
	quoted, bare := regexp.MustCompile("`"+groupsOf+"[:`]"), regexp.MustCompile(`\b`+groupsOf+`\b`)
	found := 0
	for name, text := range told(t) {
		for _, v := range variable.FindAllString(text, -1) {
			found++
			if !variables[v] {
				t.Errorf("%s names %s, and there is no such setting", name, v)
			}
		}
		key := quoted // in prose, server.go may be a file
		if !strings.HasSuffix(name, ".md") {
			key = bare
		}
		for _, m := range key.FindAllStringSubmatch(text, -1) {
			found++
			if !paths[m[1]] && !groups[m[1]] {
				t.Errorf("%s names %s, and there is no such setting", name, m[1])
			}
		}
		for _, block := range fences(text, "yaml") {
			home := t.TempDir()
			if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
			conf, err := settings.Load(only(map[string]string{"JACKLINE_HOME": home}), nil)
			if err != nil {
				t.Errorf("%s: the settings file in it: %v\n%s", name, err, block)
			} else if len(conf.Warnings) > 0 {
				t.Errorf("%s: the settings file in it: %q\n%s", name, conf.Warnings, block)
			}
		}
	}
	if found < 50 {
		t.Errorf("only %d names were found: is the search right?", found)
	}
}

// spoken are the variables that are no settings and that the program reads by their names: places, tokens, keys.
func spoken(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	literal := regexp.MustCompile(`"(JACKLINE_[A-Z_]*[A-Z])"`)
	root := os.DirFS(filepath.Join("..", ".."))
	err := fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && p != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case path.Ext(p) != ".go" || strings.HasSuffix(p, "_test.go"):
			return nil
		}
		b, err := fs.ReadFile(root, p)
		for _, m := range literal.FindAllSubmatch(b, -1) {
			names[string(m[1])] = true
		}
		return err
	})
	if err != nil || !names["JACKLINE_HOME"] {
		t.Fatal(err, names)
	}
	return names
}

// TestToldCommands holds every command that a document shows to the commands and flags that there are.
func TestToldCommands(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	inline := regexp.MustCompile("`((?:bin/)?jackline [a-z][^`]*)`")
	found := 0
	for name, text := range told(t) {
		blocks := fences(text, "sh")
		for _, m := range inline.FindAllStringSubmatch(text, -1) {
			blocks = append(blocks, strings.ReplaceAll(m[1], `\|`, "|"))
		}
		for _, block := range blocks {
			f, err := syntax.NewParser().Parse(strings.NewReader(block), name)
			if err != nil {
				t.Errorf("%s: %v\n%s", name, err, block)
				continue
			}
			syntax.Walk(f, func(n syntax.Node) bool {
				call, ok := n.(*syntax.CallExpr)
				if !ok || len(call.Args) == 0 {
					return true
				}
				args := make([]string, len(call.Args))
				for i, w := range call.Args {
					if args[i] = w.Lit(); args[i] == "" {
						args[i] = "x" // what the shell would put here
					}
				}
				switch program := path.Base(args[0]); program {
				case "jackline":
					found++
					understood(t, name, args[1:])
				case "docker": // the program inside its container
					if i := slices.Index(args, "exec"); i > 0 {
						if j := slices.Index(args[i:], "jackline"); j > 0 && args[len(args)-1] != "x" {
							found++
							understood(t, name, args[i+j+2:])
						}
					}
				case "make":
					for _, target := range args[1:] {
						if !strings.Contains(target, "=") && !strings.Contains(string(makefile), "\n"+target+":") {
							t.Errorf("%s: there is no make %s", name, target)
						}
					}
				case "sudo":
					if i := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "scripts/") }); i > 0 {
						if _, err := os.Stat(filepath.Join("..", "..", args[i])); err != nil {
							t.Errorf("%s: %v", name, err)
						}
					}
				}
				return true
			})
		}
	}
	if found < 50 {
		t.Errorf("only %d commands were found: is the search right?", found)
	}
}

// understood fails if the program would not know a command or one of its flags.
func understood(t *testing.T, name string, args []string) {
	t.Helper()
	m := &Main{Env: func(string) string { return "" }, flags: map[string]any{}}
	root := m.root()
	strict(root, args)
	c, rest, err := root.Find(args)
	if err == nil {
		err = c.ParseFlags(rest)
	}
	if err == nil && c.Args != nil && len(c.Flags().Args()) > 0 { // without words, prose only names a command
		err = c.Args(c, c.Flags().Args())
	}
	if err != nil {
		t.Errorf("%s shows: jackline %s: %v", name, strings.Join(args, " "), err)
	}
}

// TestUnitAndContainer holds unit, container file and compose file to what the program makes of them.
func TestUnitAndContainer(t *testing.T) {
	files := told(t)
	start := regexp.MustCompile(`(?m)^ExecStart=\S+/bin/jackline (.*)$`).FindStringSubmatch(files["deploy/jackline.service"])
	if start == nil {
		t.Fatal("the unit starts nothing")
	}
	understood(t, "the unit", strings.Fields(start[1]))

	container := files["Containerfile"]
	env := map[string]string{}
	for _, m := range regexp.MustCompile(`\b(JACKLINE_[A-Z_]+)=(\S+)`).FindAllStringSubmatch(container, -1) {
		env[m[1]] = m[2]
	}
	inside, err := settings.Load(only(env), nil)
	if err != nil || len(inside.Warnings) > 0 {
		t.Fatal(err, inside)
	}
	if !strings.Contains(container, `CMD ["serve"]`) {
		t.Error("the container does not serve")
	}
	port := strings.TrimPrefix(guard.DefaultAddress, "127.0.0.1")
	if at := inside.Text("server.listen"); at != "0.0.0.0"+port || !inside.Yes("server.allowRemote") {
		t.Errorf("the container listens at %s, allowed: %v", at, inside.Yes("server.allowRemote"))
	}
	for _, want := range []string{
		"http://" + guard.DefaultAddress + "/healthz", "EXPOSE " + port[1:], "\nUSER jackline\n",
		inside.Text("permissions.workspaceRoot"), env["JACKLINE_HOME"],
	} {
		if want == "" || !strings.Contains(container, want) {
			t.Errorf("the container file lacks %q", want)
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(container, -1) {
		if _, tag, ok := strings.Cut(path.Base(m[1]), ":"); !ok || tag == "latest" {
			t.Errorf("the base %s is not pinned", m[1])
		}
	}

	var compose struct {
		Services map[string]struct {
			Image       string
			Ports       []string
			Environment map[string]string
			Volumes     []string
		}
	}
	if err := yaml.Unmarshal([]byte(files["deploy/compose.yaml"]), &compose); err != nil {
		t.Fatal(err)
	}
	ours := compose.Services["jackline"]
	for name, v := range ours.Environment {
		// What compose itself puts in: the default behind :-.
		if _, d, ok := strings.Cut(v, ":-"); ok {
			v = strings.TrimSuffix(d, "}")
		}
		env[name] = v
	}
	both, err := settings.Load(only(env), nil)
	if err != nil || len(both.Warnings) > 0 {
		t.Fatal(err, both)
	}
	ollama := compose.Services["ollama"]
	if window := ollama.Environment["OLLAMA_CONTEXT_LENGTH"]; window == "" || window != ours.Environment["JACKLINE_MODEL_WINDOW"] {
		t.Errorf("the engine's window is %q, and Jackline is told %q", window, ours.Environment["JACKLINE_MODEL_WINDOW"])
	}
	if !slices.Equal(ours.Ports, []string{guard.DefaultAddress + port}) || len(ollama.Ports) > 0 {
		t.Errorf("published: %v, %v", ours.Ports, ollama.Ports)
	}
	if strings.HasSuffix(ollama.Image, "latest}") || !strings.Contains(path.Base(ollama.Image), ":") {
		t.Errorf("%s is not pinned", ollama.Image)
	}
}

// TestToldLinks holds links inside the repository to files and headings that are there.
func TestToldLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading := regexp.MustCompile(`(?m)^#+ +(.*)$`)
	drop := regexp.MustCompile(`[^a-z0-9 _-]`)
	for name, text := range told(t) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			to, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
				continue
			}
			file := name
			if to != "" {
				file = path.Join(path.Dir(name), to)
			}
			b, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
			if info, serr := os.Stat(filepath.Join("..", "..", filepath.FromSlash(file))); serr == nil && info.IsDir() {
				continue
			}
			if err != nil {
				t.Errorf("%s: a link to %s: %v", name, m[1], err)
				continue
			}
			there := anchor == ""
			for _, h := range heading.FindAllStringSubmatch(string(b), -1) {
				there = there || anchor == strings.ReplaceAll(drop.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-")
			}
			if !there {
				t.Errorf("%s: %s has no heading %s", name, file, anchor)
			}
		}
	}
}

// fences are the blocks of a document that are marked as a language.
func fences(text, language string) []string {
	var blocks []string
	for _, part := range strings.Split(text, "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		blocks = append(blocks, block+"\n")
	}
	return blocks
}

// only is an environment with these variables, and a home.
func only(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}
