// Command notices writes THIRD_PARTY_NOTICES: the licences of everything that is inside a built Jackline. It reads what
// the program and its page are really made of, for all systems that are released, and fails when something comes
// under a licence that is not on the list, or under none.
//
// Usage: notices FOLDER, where FOLDER is the root of the project. `make generate` calls it.
package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The licence of Go itself, whose runtime and standard library are part of every program. It is kept here because
// not every installation of Go brings the file.
//
//go:embed licenses/go.txt
var goLicense string

// A work is one thing that is part of the program.
type work struct {
	name     string // a module, or a package of the page
	version  string
	declared string // licence, in the words of its own metadata; may be empty
	texts    []text
}

// A text is one licence file.
type text struct {
	name string // relative to the work
	body string
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: notices FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	works := []work{{
		name:  "Go, its runtime and standard library",
		texts: []text{{name: "LICENSE", body: goLicense}},
	}}
	modules, err := goModules(root)
	if err != nil {
		return err
	}
	packages, err := pagePackages(filepath.Join(root, "ui", "web"))
	if err != nil {
		return err
	}
	works = append(append(works, modules...), packages...)
	out, err := write(works)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "THIRD_PARTY_NOTICES"), []byte(out), 0o644)
}

const head = `THIRD-PARTY NOTICES

Jackline itself is under the Apache License 2.0: see LICENSE. The works below are part of the built program or of its
page. Each stands under its own licence, which follows its name. This file is written by "make generate".

`

// write makes the file, or says which works may not be part of the program.
func write(works []work) (string, error) {
	var list, body strings.Builder
	var bad []string
	for _, w := range works {
		terms, err := judge(w)
		if err != nil {
			bad = append(bad, fmt.Sprintf("%s %s: %v", w.name, w.version, err))
			continue
		}
		title := strings.TrimSpace(w.name + " " + w.version)
		fmt.Fprintf(&list, "  %s (%s)\n", title, strings.Join(terms, ", "))
		fmt.Fprintf(&body, "\n%s\n%s\n%s\n", strings.Repeat("=", 80), title, strings.Repeat("=", 80))
		if len(w.texts) == 0 {
			fmt.Fprintf(&body, "\nThis package brings no licence file. It says of itself: %s\n", w.declared)
		}
		for _, t := range w.texts {
			fmt.Fprintf(&body, "\n--- %s\n\n%s\n", t.name, tidy(t.body))
		}
	}
	if len(bad) > 0 {
		return "", fmt.Errorf("these may not be part of the program:\n  %s", strings.Join(bad, "\n  "))
	}
	return head + list.String() + body.String(), nil
}

// tidy makes a text the same on all systems.
func tidy(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " \t\r\f")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}

func byName(a, b work) int {
	return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.version, b.version))
}

// licenseFiles reads the licence files that lie directly in dir. Names are relative to base.
func licenseFiles(base, dir string) ([]text, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var texts []text
	for _, e := range entries {
		if !e.Type().IsRegular() || !named.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		rel, err := filepath.Rel(base, filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		texts = append(texts, text{name: filepath.ToSlash(rel), body: string(b)})
	}
	slices.SortFunc(texts, func(a, b text) int { return strings.Compare(a.name, b.name) })
	return texts, nil
}
