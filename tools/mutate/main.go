// Mutate takes the stages of the gate and the guards around it away, one by one, and fails unless each time a test notices: a
// check that nothing misses when it is gone is no check. The tree is not touched; the go command is given another text in place
// of one file (its -overlay flag).
//
//	mutate ROOT [NAME…]     all of mutations.txt, or those whose names hold one of the words
//
// A mutation is a file below ROOT, a text that stands in it exactly once, what stands there instead, and the arguments of
// the go test that has to fail. One that does not apply is an error, and so is a test that fails without any mutation.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

//go:embed mutations.txt
var list string

// patience is how long one test may take, with what has to be built for it.
const patience = 5 * time.Minute

// A mutation is one line of the table.
type mutation struct{ name, file, test, old, new string }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to be done
	}
}

func run(ctx context.Context, words []string) error {
	if len(words) == 0 {
		return fmt.Errorf("say where the tree is")
	}
	root, err := filepath.Abs(words[0])
	if err != nil {
		return err
	}
	all, err := parse(list)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	sound := map[string]bool{}
	var survived []string
	tried := 0
	for _, m := range all {
		if !chosen(m.name, words[1:]) {
			continue
		}
		tried++
		if !sound[m.test] {
			if out, ok := test(ctx, root, m.test, ""); !ok {
				return fmt.Errorf("go test %s fails without a mutation:\n%s", m.test, out)
			}
			sound[m.test] = true
		}
		overlay, err := m.overlay(root, temp)
		if err != nil {
			return err
		}
		began := time.Now()
		out, ok := test(ctx, root, m.test, overlay)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		said := "noticed"
		switch {
		case ok:
			said = "SURVIVED"
			survived = append(survived, m.name)
		case strings.Contains(out, "[build failed]") || strings.Contains(out, "[setup failed]"):
			return fmt.Errorf("%s does not build:\n%s", m.name, out)
		}
		fmt.Printf("%-9s %-58s go test %s (%.0f s)\n", said, m.name, m.test, time.Since(began).Seconds())
	}
	fmt.Printf("%d mutations, %d noticed, %d survived\n", tried, tried-len(survived), len(survived))
	if len(survived) > 0 {
		return fmt.Errorf("no test notices: %s", strings.Join(survived, "; "))
	}
	if tried == 0 {
		return fmt.Errorf("no mutation has such a name")
	}
	return nil
}

func chosen(name string, words []string) bool {
	for _, w := range words {
		if strings.Contains(name, w) {
			return true
		}
	}
	return len(words) == 0
}

// test runs go test and reports whether it passed.
func test(ctx context.Context, root, arguments, overlay string) (out string, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	args := []string{"test", "-count=1"}
	if overlay != "" {
		args = append(args, "-overlay", overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, strings.Fields(arguments)...)...) //nolint:gosec // of our own list
	cmd.Dir = root
	b, err := cmd.CombinedOutput()
	return string(b), err == nil
}

// overlay writes the mutated file, and what tells the go command of it.
func (m mutation) overlay(root, temp string) (string, error) {
	path := filepath.Join(root, filepath.FromSlash(m.file))
	text, err := os.ReadFile(path) //nolint:gosec // of our own list
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	if n := strings.Count(string(text), m.old); n != 1 {
		return "", fmt.Errorf("%s: the text stands %d times in %s, and has to once:\n%s", m.name, n, m.file, m.old)
	}
	changed := filepath.Join(temp, "mutated.go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(text), m.old, m.new, 1)), 0o600); err != nil {
		return "", err
	}
	raw, err := json.Marshal(map[string]map[string]string{"Replace": {path: changed}})
	if err != nil {
		return "", err
	}
	name := filepath.Join(temp, "overlay.json")
	return name, os.WriteFile(name, raw, 0o600)
}

// parse reads the list: "=== name", then "file:" and "test:", then "--- old" and "--- new" with their texts.
func parse(text string) (all []mutation, err error) {
	var m *mutation
	var into *string
	for n, line := range strings.Split(text, "\n") {
		switch name, starts := strings.CutPrefix(line, "=== "); {
		case starts:
			all = append(all, mutation{name: name})
			m, into = &all[len(all)-1], nil
		case m == nil:
			if line != "" && !strings.HasPrefix(line, "#") {
				return nil, fmt.Errorf("line %d of the list stands before any mutation", n+1)
			}
		case line == "--- old":
			into = &m.old
		case line == "--- new":
			into = &m.new
		case into != nil:
			*into += line + "\n"
		case strings.HasPrefix(line, "file: "):
			m.file = strings.TrimPrefix(line, "file: ")
		case strings.HasPrefix(line, "test: "):
			m.test = strings.TrimPrefix(line, "test: ")
		case line != "":
			return nil, fmt.Errorf("line %d of the list is none of file, test, old and new", n+1)
		}
	}
	for k := range all {
		m := &all[k]
		m.old, m.new = strings.TrimRight(m.old, "\n"), strings.TrimRight(m.new, "\n")
		if m.file == "" || m.test == "" || m.old == "" {
			return nil, fmt.Errorf("%s lacks its file, its test or its text", m.name)
		}
	}
	return all, nil
}
