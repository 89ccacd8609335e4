package builtin

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/job"
	"github.com/jackline-ai/jackline/tool"
)

func python(d Deps) tool.Tool {
	type args struct {
		Code    string   `json:"code"`
		Timeout int      `json:"timeout,omitempty" doc:"seconds"`
		Hosts   []string `json:"hosts,omitempty" doc:"to reach"`
	}
	program := sync.OnceValue(func() string { return interpreter(d.Environ) })
	return tool.Define(tool.Spec[args]{
		Name: "python",
		Aliases: []string{
			"python3", "py", "run_python", "execute_python", "python_exec", "exec_python", "run_code", "execute_code", "code_interpreter",
			"code_execution", "run_python_code", "python_repl", "python_interpreter", "ipython", "jupyter",
		},
		Group:   "run",
		Summary: "Run Python code.",
		Use:     "To compute, count or convert with code; print what you want to see.",
		Find:    "script program calculate data csv json parse statistics interpreter numbers plot",
		Effect:  jackline.Exec | jackline.Read,
		Source:  jackline.Outside,
		Secret:  true,
		Body:    "code",
		Icon:    "execute",
		Title:   func(a args) string { return "Run Python: " + short(firstLine(a.Code), 80) },
		Touches: func(_ tool.In, a args) ([]jackline.Touch, error) {
			if strings.TrimSpace(a.Code) == "" || strings.Contains(a.Code, "\x00") {
				return nil, jackline.E("builtin.python", jackline.Invalid, nil, "Give the code to run.")
			}
			return append([]jackline.Touch{{Effect: jackline.Exec, Kind: "code", Name: a.Code}}, reached(a.Hosts)...), nil
		},
		Preview: func(_ context.Context, _ tool.In, a args) (jackline.View, error) {
			return jackline.View{Shape: jackline.ViewTerminal, Text: a.Code}, nil
		},
		Facts: func(ctx context.Context, _ tool.In, _ args) ([]jackline.Fact, error) {
			folder, err := d.Root.Dir("")
			if err != nil {
				return nil, err
			}
			dir := folder.Path
			folder.Close()
			// The code itself is an argument, and -I keeps it from loading what lies beside it.
			return processFacts(ctx, d, jackline.Uses{Programs: []string{program()}}, dir)
		},
		Missing: func() string {
			if program() == "" {
				return "There is no python3 on this machine."
			}
			if d.Cell == nil {
				return ""
			}
			return d.Cell.Why()
		},
		Sandbox: func(_ tool.In, a args) (jackline.Sandbox, error) {
			if d.Cell == nil {
				return jackline.Sandbox{}, nil
			}
			return d.Cell.Plan(jackline.Uses{}, a.Hosts)
		},
		Run: func(ctx context.Context, in tool.In, a args) (tool.Out, error) {
			const op = "builtin.python"
			if in.Sandbox.Level == jackline.SandboxNone || program() == "" {
				return tool.Out{}, jackline.E(op, jackline.Unavailable, nil, "Python runs in a sandbox alone, and there is none. Use the shell.")
			}
			return d.execute(ctx, in, "", job.Spec{Time: seconds(a.Timeout)}, func(s *job.Spec, p job.Place) error {
				// From a file, so that an error shows the line that it is in, and the code has an input of its own. -I keeps what lies
				// in the workspace, the environment and the person's own packages out of it.
				file := filepath.Join(p.Temp, "code.py")
				if err := os.WriteFile(file, []byte(a.Code), 0o600); err != nil {
					return jackline.E(op, jackline.Unavailable, err, "The code cannot be written down to be run: is the disk full?")
				}
				s.Args = []string{program(), "-I", "-B", "-X", "utf8", file}
				return nil
			})
		},
	})
}

// interpreter is the whole path of Python, as the search path of an environment finds it; "" where there is none.
func interpreter(environ []string) string {
	path := ""
	for _, e := range job.Env(environ) {
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	for _, dir := range filepath.SplitList(path) {
		p := filepath.Join(dir, "python3")
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0 {
			return p
		}
	}
	return ""
}

// firstLine is the first line of a text that is not empty.
func firstLine(s string) string {
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}
