//go:build !linux || (!amd64 && !arm64)

package sandbox

import (
	"os/exec"
	"runtime"

	"github.com/jackline-ai/jackline"
)

type machine struct{}

func (l *Launcher) probe() Report {
	return Report{
		Level: jackline.SandboxNone, Processes: "none",
		Why:  "There is no sandbox for " + runtime.GOOS + " on " + runtime.GOARCH + " yet: commands that are allowed may do all that you may.",
		Open: []string{"Everything: commands run with your own rights."},
	}
}

// Start refuses: there is nothing that could hold the command. The caller starts it plainly if a person allowed that.
func (l *Launcher) Start(_ *exec.Cmd, s Spec) (*Run, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return nil, jackline.E("sandbox.Start", jackline.Unavailable, nil, "%s", l.Report().Why)
}
