package builtin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/job"
	"github.com/jackline-ai/jackline/tool"
)

func shell(d Deps) tool.Tool {
	type args struct {
		Command string `json:"command"`
		Cwd     string `json:"cwd,omitempty"`
		Timeout int    `json:"timeout,omitempty" doc:"seconds"`

		// Hosts are opened to the command, and Unsandboxed takes away what holds it. Both are asked about.
		Hosts       []string `json:"hosts,omitempty" doc:"to reach"`
		Unsandboxed bool     `json:"unsandboxed,omitempty"`
	}
	return tool.Define(tool.Spec[args]{
		Name: "shell",
		Aliases: []string{
			"bash", "sh", "run_command", "execute", "exec", "execute_command", "run_shell_command", "run_shell", "shell_command", "terminal",
			"run_terminal_cmd", "command", "cmd", "powershell", "run", "run_bash", "execute_bash", "shell_exec", "zsh", "console", "system",
		},
		Group:   "run",
		Summary: "Run a shell command.",
		Use:     "To build, test, use git; not to read or edit files.",
		Find:    "bash terminal execute program script build test git install process cli",
		Effect:  jackline.Exec | jackline.Read,
		Source:  jackline.Outside,
		Secret:  true,
		Pin:     tool.PinSmall,
		Icon:    "execute",
		Title:   func(a args) string { return "Run " + short(a.Command, 100) },
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) {
			if strings.TrimSpace(a.Command) == "" || strings.Contains(a.Command, "\x00") {
				return nil, jackline.E("builtin.shell", jackline.Invalid, nil, "Give a command to run.")
			}
			touches := d.commandTouches(a.Command, d.startsIn(a.Cwd), d.Cell != nil && !a.Unsandboxed)
			if a.Cwd != "" {
				touches = append(touches, d.Root.Touch(jackline.Read, a.Cwd)...)
			}
			touches = append(touches, reached(a.Hosts)...)
			if a.Unsandboxed && (d.Cell == nil || d.Cell.Why() == "") {
				touches[0].Asks = "It is to run without the sandbox."
			}
			return touches, nil
		},
		Preview: func(_ context.Context, _ tool.In, a args) (jackline.View, error) {
			return jackline.View{Shape: jackline.ViewTerminal, Text: "$ " + a.Command}, nil
		},
		Facts: func(ctx context.Context, _ tool.In, a args) ([]jackline.Fact, error) {
			return commandFacts(ctx, d, a.Command, a.Cwd)
		},
		Missing: func() string {
			if job.Shell() == "" {
				return "There is no shell on this machine."
			}
			return ""
		},
		Sandbox: func(_ tool.In, a args) (jackline.Sandbox, error) {
			if d.Cell == nil || a.Unsandboxed {
				return jackline.Sandbox{}, nil
			}
			return d.Cell.Plan(d.analyse(a.Command, d.startsIn(a.Cwd)), a.Hosts)
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			out, err := d.execute(ctx, in, a.Cwd, job.Spec{Command: a.Command, Time: seconds(a.Timeout)}, nil)
			if in.Sandbox.Level > jackline.SandboxNone {
				out.Text = d.passing(a.Command, d.startsIn(a.Cwd)) + out.Text
			}
			return out, err
		},
	})
}

// seconds reads a time limit. Numbers that only make sense as milliseconds are taken for such.
func seconds(n int) time.Duration {
	const milliseconds = 10_000
	if n >= milliseconds {
		return time.Duration(n) * time.Millisecond
	}
	return time.Duration(n) * time.Second
}

// ran is what a model and a person are told of a command that has ended. How it ended comes first, where no cut reaches.
func ran(r job.Result) tool.Out {
	var notes []string
	switch {
	case r.Late:
		notes = append(notes, fmt.Sprintf("[killed: it was not done after %d s]", int(r.Took.Seconds())))
	case r.Full:
		notes = append(notes, "[killed: a disk that it writes to is almost full. What it wrote is still there]")
	case r.Signal != "":
		notes = append(notes, "[ended by a signal: "+r.Signal+"]")
	case r.Exit != 0:
		notes = append(notes, fmt.Sprintf("[exit code %d]", r.Exit))
	}
	if r.Strays > 0 {
		notes = append(notes, fmt.Sprintf("[%s in the background ended with the command]", processes(r.Strays)))
	}
	if r.Escaped > 0 {
		notes = append(notes, fmt.Sprintf("[%s could not be ended]", processes(r.Escaped)))
	}
	text := strings.TrimRight(r.Output, "\n")
	if text == "" {
		text = "(no output)"
	}
	return tool.Out{
		Text:   strings.Join(append(notes, text), "\n"),
		View:   jackline.View{Shape: jackline.ViewTerminal, Text: text, Exit: &r.Exit},
		Origin: "the output of a command",
		Failed: r.Late || r.Full || r.Exit != 0,
	}
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}
