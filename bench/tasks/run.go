package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackline-ai/jackline/args"
)

// A setup is all that the figures depend on besides the task and the way of calling. Runs of another setup are never counted together.
type setup struct {
	Program string        `json:"program"` // its version
	Engine  string        `json:"engine"`  // and its version
	API     string        `json:"api"`
	Weights string        `json:"weights"` // model and quantization
	Machine string        `json:"machine"`
	Window  int           `json:"window"`
	Steps   int           `json:"steps"`
	Time    time.Duration `json:"time"`
	Shown   bool          `json:"shown"` // a scripted model has called before in the chat
}

// A result is one run of one task.
type result struct {
	Setup setup  `json:"setup"`
	Mode  string `json:"mode"`
	Task  string `json:"task"`
	Run   int    `json:"run"`
	Done  bool   `json:"done"` // all checks of the task hold
	tally
}

// A bench runs tasks with the program.
type bench struct {
	setup
	program        string // the file
	address, model string
	dir            string // workspace, chats and events of the runs lie in it
	schemas        map[string]*args.Schema
}

const (
	// grace is how long a run may take beyond the time that it was given before it is ended from outside.
	grace = 30 * time.Second
	// wrongUse is the program's exit code for what it does not take: the same for every task.
	wrongUse = 2
	// withheld are the tools that no run has: what a model of this size writes into a command line is not for the machine of
	// whoever measures, and nobody is there to be asked.
	withheld = "shell,ask_user"
)

// environment is what every run of the program gets: folders of its own, and no settings of whoever measures.
func (b *bench) environment() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "JACKLINE_") {
			env = append(env, v)
		}
	}
	// What is looked up before the model is asked is no call of the model's.
	return append(env, "JACKLINE_HOME="+filepath.Join(b.dir, "home"), "JACKLINE_TOOLS_DISABLED="+withheld, "JACKLINE_AGENT_PREFETCH=false")
}

// learn asks the program for its version and its tools.
func (b *bench) learn(ctx context.Context) error {
	version, err := b.output(ctx, "version")
	if err != nil {
		return err
	}
	b.Program = strings.TrimSpace(string(version))
	list, err := b.output(ctx, "tools", "list", "--json")
	if err != nil {
		return err
	}
	var all []struct {
		Name       string          `json:"name"`
		Parameters json.RawMessage `json:"parameters"`
	}
	if err := json.Unmarshal(list, &all); err != nil {
		return fmt.Errorf("the list of tools: %w", err)
	}
	b.schemas = map[string]*args.Schema{}
	for _, t := range all {
		if b.schemas[t.Name], err = args.Parse(t.Parameters); err != nil {
			return fmt.Errorf("the schema of %s: %w", t.Name, err)
		}
	}
	return nil
}

func (b *bench) output(ctx context.Context, arguments ...string) ([]byte, error) {
	var out, problem bytes.Buffer
	cmd := exec.CommandContext(ctx, b.program, arguments...) //nolint:gosec // the program that is measured
	cmd.Env, cmd.Stdout, cmd.Stderr = b.environment(), &out, &problem
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == wrongUse {
		return nil, fmt.Errorf("%w: %s", errUse, lastLine(problem.String()))
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", b.program, strings.Join(arguments, " "), err, lastLine(problem.String()))
	}
	return out.Bytes(), nil
}

// run runs a task once, in a workspace that holds its files and nothing else. The workspace is always the same folder: its name stands
// in every request, and engines keep what requests have in common. An error means that the program could not be run.
func (b *bench) run(ctx context.Context, t task, mode string, n int) (result, error) {
	r := result{Setup: b.setup, Mode: mode, Task: t.name, Run: n}
	folder := filepath.Join(b.dir, "workspace")
	arguments := []string{
		"run", "-C", folder, "--tool-mode", mode, "--mode", "allow-all", "--offline", "--no-input",
		"--window", strconv.Itoa(b.Window), "--max-steps", strconv.Itoa(b.Steps), "--max-time", b.Time.String(),
	}
	if b.Shown {
		if err := b.show(ctx, folder, arguments); err != nil {
			return r, err
		}
		arguments = append(arguments, "--continue")
	}
	if err := b.lay(ctx, t, folder); err != nil {
		return r, err
	}
	arguments = append(arguments, "--model", b.model, "--output", "jsonl")
	if b.address != "" {
		arguments = append(arguments, "--base-url", b.address, "--api", b.API)
	}
	limited, cancel := context.WithTimeout(ctx, b.Time+grace)
	defer cancel()
	var out, problem bytes.Buffer
	cmd := exec.CommandContext(limited, b.program, append(arguments, t.prompt)...) //nolint:gosec // the program that is measured
	cmd.Env, cmd.Stdout, cmd.Stderr = b.environment(), &out, &problem
	err := cmd.Run()
	if ctx.Err() != nil {
		return r, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return r, err
	}
	if exit != nil && exit.ExitCode() == wrongUse {
		return r, fmt.Errorf("%w: %s", errUse, lastLine(problem.String()))
	}
	events := filepath.Join(b.dir, "events", fmt.Sprintf("%s-%s-%d.jsonl", mode, t.name, n))
	if err := os.MkdirAll(filepath.Dir(events), 0o750); err != nil {
		return r, err
	}
	if err := os.WriteFile(events, out.Bytes(), 0o600); err != nil {
		return r, err
	}
	s, err := listen(&out, b.schemas, t.tools)
	r.tally, r.Done = s.count, err == nil && t.done(folder, s)
	if err != nil {
		r.Failed = err.Error() + "; " + lastLine(problem.String())
	}
	return r, nil
}

// show begins a chat in the workspace, in which a scripted model calls as the real one is to call.
func (b *bench) show(ctx context.Context, folder string, arguments []string) error {
	s := readShown(shownText)
	if err := b.lay(ctx, s.task, folder); err != nil {
		return err
	}
	script := filepath.Join(b.dir, "shown.script")
	for i, t := range s.turns {
		if err := os.WriteFile(script, []byte(t.script), 0o600); err != nil {
			return err
		}
		these := append(slices.Clone(arguments), "--model", "script:"+script, t.prompt)
		if i > 0 {
			these = append(these, "--continue")
		}
		if _, err := b.output(ctx, these...); err != nil {
			return err
		}
	}
	return nil
}

// lay makes the workspace of a task. It is trusted, as a person's own folder would be: else the files of the task would make each
// change a question, and nobody answers here.
func (b *bench) lay(ctx context.Context, t task, folder string) error {
	if err := t.lay(folder); err != nil {
		return err
	}
	_, err := b.output(ctx, "workspace", "trust", folder)
	return err
}

// errUse says that the program does not take what it was told, as a way of calling that it does not have.
var errUse = errors.New("the program refuses")

// lastLine is the last line of what a program complained of, short enough for a line of our own.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	text = text[strings.LastIndexByte(text, '\n')+1:]
	const most = 300
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
