package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline/builtin"

	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/web"
)

var update = flag.Bool("update", false, "write the generated parts of the documentation")

// TestDocs holds the parts of the documentation that are made from the code: each stands between two markers.
func TestDocs(t *testing.T) {
	for file, parts := range map[string]map[string]string{
		"docs/config.md":  {"config": configTable()},
		"docs/tools.md":   {"tools": toolTable()},
		"docs/cli.md":     {"cli": commandTable()},
		"docs/tasks.md":   {"tasks": taskTable()},
		"docs/windows.md": {"budgets": budgetTable(), "used": usedTable()},
	} {
		path := filepath.Join("..", "..", filepath.FromSlash(file))
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		for name, want := range parts {
			open, end := "<!-- generated:"+name+" -->\n", "<!-- /generated:"+name+" -->"
			head, rest, ok := strings.Cut(text, open)
			_, tail, ok2 := strings.Cut(rest, end)
			if !ok || !ok2 {
				t.Fatalf("%s has no markers for %s", file, name)
			}
			text = head + open + want + end + tail
		}
		if text == string(b) {
			continue
		}
		if !*update {
			t.Errorf("%s is out of date: make generate", file)
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func configTable() string {
	var b strings.Builder
	b.WriteString("\n| key | default | environment | what it is |\n|---|---|---|---|\n")
	for _, k := range settings.Keys() {
		def := fmt.Sprint(k.Default)
		if k.Default == nil {
			def = ""
		} else {
			def = "`" + def + "`"
		}
		env := "`" + k.Env() + "`"
		if k.Short != "" {
			env += " `" + k.Short + "`"
		}
		doc := k.Doc
		if k.One != nil {
			doc += " One of `" + strings.Join(k.One, "` `") + "`."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, def, env, boxed(doc))
	}
	return b.String() + "\n"
}

func toolTable() string {
	var b strings.Builder
	b.WriteString("\n| tool | effects | always offered | what it does |\n|---|---|---|---|\n")
	for _, t := range allTools(builtin.Deps{}, web.Deps{}) {
		f := t.Facts()
		pin := ""
		if f.Pin > 0 {
			pin = fmt.Sprintf("from %dk", f.Pin/1024)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s %s |\n", f.Name, f.Effect, pin, boxed(f.Summary), boxed(f.Use))
	}
	return b.String() + "\n"
}

func commandTable() string {
	var b strings.Builder
	b.WriteString("\n| command | what it does |\n|---|---|\n")
	m := &Main{Env: func(string) string { return "" }, flags: map[string]any{}}
	for _, c := range m.root().Commands() {
		if c.Hidden || c.Name() == "help" {
			continue
		}
		fmt.Fprintf(&b, "| `jackline %s` | %s |\n", boxed(c.Use), boxed(c.Short))
		for _, s := range c.Commands() {
			if !s.Hidden && c.Name() != "completion" {
				fmt.Fprintf(&b, "| `jackline %s %s` | %s |\n", c.Name(), boxed(s.Use), boxed(s.Short))
			}
		}
	}
	return b.String() + "\n"
}

// boxed makes text fit for a cell of a table.
func boxed(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
