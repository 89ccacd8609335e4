// Mutate takes the stages of the gate and the guards around it away, one by one, and fails unless each time a test fails: a check
// that nothing misses when it is gone is no check. The tree is not touched; the go command is given another text in place of
// one file (its -overlay flag).
//
//	mutate ROOT [WORD…]     all of mutations.txt, or those whose names hold one of the words
//
// A mutation is a file below ROOT, a text that stands in it exactly once, what stands there instead, and the arguments of
// the go test that has to fail. One that does not apply is an error, a test that fails without any mutation is one, and so is
// what does not build or does not end: only a test that fails by name has noticed something.
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

//go:embed mutations.txt
var list string

// patience is how long the tests of one package may take: the slowest takes some twenty seconds on two slow cores.
const patience = 3 * time.Minute

// grace is how long a test that was told to stop may take to do so.
const grace = 10 * time.Second

// maxTail is how much of what go test printed is shown, in bytes: the last lines say what went wrong.
const maxTail = 4000

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

func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("say where the tree is")
	}
	root, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	all, err := parse(list)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(m mutation) bool { return !chosen(m.name, args[1:]) })
	if len(all) == 0 {
		return fmt.Errorf("no mutation has such a name")
	}
	temp, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }()
	began := time.Now()
	if err := ready(ctx, all, root, temp); err != nil {
		return err
	}
	var survived, broken []string
	for _, m := range all {
		overlay, err := m.overlay(root, temp)
		if err != nil {
			return err
		}
		since := time.Now()
		by, err := test(ctx, root, m.test, overlay)
		said := "noticed"
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			said, by = "BROKEN", err.Error()
			broken = append(broken, m.name)
		case by == "":
			said = "SURVIVED"
			survived = append(survived, m.name)
		}
		fmt.Printf("%-9s %-58s %3.0f s  go test %s: %s\n", said, m.name, time.Since(since).Seconds(), m.test, by)
	}
	fmt.Printf("%d mutations in %s: %d noticed, %d survived, %d broken\n", len(all), time.Since(began).Round(time.Second),
		len(all)-len(survived)-len(broken), len(survived), len(broken))
	if len(broken) > 0 {
		err = fmt.Errorf("these say nothing, as they did not build or did not end: %s", strings.Join(broken, "; "))
	}
	if len(survived) > 0 {
		err = errors.Join(err, fmt.Errorf("no test notices: %s", strings.Join(survived, "; ")))
	}
	return err
}

func chosen(name string, words []string) bool {
	return len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return strings.Contains(name, w) })
}

// ready looks whether every mutation applies and, as that takes longer, whether every test passes without one.
func ready(ctx context.Context, all []mutation, root, temp string) error {
	var errs []error
	for _, m := range all {
		if _, err := m.overlay(root, temp); err != nil {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	sound := map[string]bool{}
	for _, m := range all {
		if sound[m.test] {
			continue
		}
		since := time.Now()
		switch by, err := test(ctx, root, m.test, ""); {
		case err != nil:
			return fmt.Errorf("go test %s without a mutation: %w", m.test, err)
		case by != "":
			return fmt.Errorf("go test %s fails without a mutation: %s", m.test, by)
		}
		sound[m.test] = true
		fmt.Printf("passes as it is %56.0f s  go test %s\n", time.Since(since).Seconds(), m.test)
	}
	return nil
}

// test runs go test and returns the first test that failed, "" where all passed. What did not build, ran no test, or came to an end
// otherwise than by a test that fails is an error.
func test(ctx context.Context, root, arguments, overlay string) (by string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*patience) // go test itself comes first
	defer cancel()
	args := []string{"test", "-json", "-count=1", "-failfast", "-vet=off", "-timeout=" + patience.String()}
	if overlay != "" {
		args = append(args, "-overlay="+overlay)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, strings.Fields(arguments)...)...) //nolint:gosec // of our own list
	cmd.Dir = root
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it takes its tests with it
	cmd.WaitDelay = grace
	out, failure := cmd.Output()
	passed := false
	var told strings.Builder
	for line := range strings.Lines(string(out)) {
		var e struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return "", fmt.Errorf("%s", line) // go test itself has something to say
		}
		told.WriteString(e.Output)
		switch {
		case strings.HasPrefix(e.Output, "panic: test timed out"), e.Action == "build-fail":
			failure = errors.Join(failure, errNothing)
		case e.Action == "fail" && e.Test != "" && by == "":
			by = path.Base(e.Package) + "." + e.Test
		case e.Action == "pass" && e.Test != "":
			passed = true
		}
	}
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case failure == nil && passed:
		return "", nil
	case failure == nil, errors.Is(failure, errNothing), by == "":
		return "", fmt.Errorf("%w\n%s", errNothing, tail(told.String()))
	}
	return by, nil
}

// errNothing is what a test says that fails for another reason than the mutation.
var errNothing = errors.New("no test passed or failed by its name")

// tail is the end of what go test printed.
func tail(s string) string { return s[max(0, len(s)-maxTail):] }

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
