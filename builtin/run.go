package builtin

import (
	"context"
	"strings"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/job"
	"github.com/jackline-ai/jackline/tool"
)

// A Cell is where the commands of a workspace run. Package cell has one.
type Cell interface {
	// Plan says what would hold a command that uses what its text names, and that besides is to reach hosts.
	Plan(uses jackline.Uses, hosts []string) (jackline.Sandbox, error)

	// Enter makes the place that a plan describes.
	Enter(context.Context, jackline.Sandbox) (job.Place, error)

	// Why says why nothing can be held here, in a sentence; "" where it can, as far as is known. It must be cheap.
	Why() string

	// Fleeting reports whether what a command puts at an absolute path is gone when the command ends.
	Fleeting(path string) bool
}

// place is where a call runs: what was judged for it is what it gets.
func (d Deps) place(ctx context.Context, in tool.In) (job.Place, error) {
	if d.Cell == nil {
		return job.Place{Env: job.Env(d.Environ), Leave: func(context.Context) []string { return nil }}, nil
	}
	return d.Cell.Enter(ctx, in.Sandbox)
}

// reached are the hosts that a call asks for: it is a process that reaches them.
func reached(hosts []string) []jackline.Touch {
	var touches []jackline.Touch
	for _, h := range hosts {
		touches = append(touches, jackline.Touch{Effect: jackline.Exec | jackline.Network, Kind: "host", Name: h})
	}
	return touches
}

// execute runs one command in its place, and says how it ended. s needs no folder, environment and cage; make may finish it
// once the place is there.
func (d Deps) execute(ctx context.Context, in tool.In, cwd string, s job.Spec, finish func(*job.Spec, job.Place) error) (tool.Out, error) {
	folder, err := d.Root.Dir(cwd)
	if err != nil {
		return tool.Out{}, err
	}
	defer folder.Close()
	place, err := d.place(ctx, in)
	if err != nil {
		return tool.Out{}, err
	}
	s.Dir, s.Folder, s.Cage, s.Progress = folder.Path, folder.File, place.Cage, in.Progress
	s.Env = append(place.Env, "PWD="+folder.Path)
	if finish != nil {
		if err := finish(&s, place); err != nil {
			place.Leave(context.WithoutCancel(ctx))
			return tool.Out{}, err
		}
	}
	r, err := job.Run(ctx, s)
	// What was changed is put back, and what was made for the command is removed, also when it was stopped.
	leaving, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	notes := place.Leave(leaving)
	out := ran(r)
	if hint := held(in.Sandbox, out); hint != "" {
		notes = append(notes, hint)
	}
	if len(notes) > 0 {
		out.Text = strings.Join(notes, "\n") + "\n" + out.Text
	}
	return out, err
}

// leaveTime bounds what is done after a command: comparing and removing files of a bounded number.
const leaveTime = 30 * time.Second

// held tells of the sandbox where a command seems to have failed because of it. Small models take such errors for the
// machine's and try again.
func held(s jackline.Sandbox, out tool.Out) string {
	if s.Level == jackline.SandboxNone || !out.Failed {
		return ""
	}
	says := func(phrases ...string) bool {
		for _, p := range phrases {
			if strings.Contains(out.Text, p) {
				return true
			}
		}
		return false
	}
	switch {
	case len(s.Hosts) == 0 && says("resolve host", "name resolution", "Network is unreachable", "getaddrinfo", "ENOTFOUND", "EAI_AGAIN", "Could not resolve", "no such host", "Connection refused"):
		return "[commands have no network; if it needs one, run it again with the hosts that it must reach in hosts]"
	case says("Permission denied", "Read-only file system", "Operation not permitted", "EACCES", "EROFS", "EPERM", "Device or resource busy"):
		return "[commands can write in the workspace alone, and read no protected files; do without, or say what you need]"
	}
	return ""
}
