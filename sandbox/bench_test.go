//go:build linux && (amd64 || arm64)

package sandbox

import (
	"os/exec"
	"testing"

	"github.com/jackline-ai/jackline"
)

// What one command costs: plain, and at each level. The figures are in docs/design.

func BenchmarkPlain(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLandlock(b *testing.B)   { bench(b, jackline.SandboxLandlock) }
func BenchmarkNamespaces(b *testing.B) { bench(b, jackline.SandboxNamespaces) }

func bench(b *testing.B, level jackline.SandboxLevel) {
	l, err := Open(b.Context(), Options{AtMost: level})
	if err != nil {
		b.Fatal(err)
	}
	if got := l.Report().Level; got != level {
		b.Skipf("LEVEL MISSING: %v, this machine has %v", level, got)
	}
	s := Spec{Workspace: b.TempDir(), Home: b.TempDir(), Temp: b.TempDir()}
	for b.Loop() {
		cmd := exec.Command("/bin/true")
		run, err := l.Start(cmd, s)
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			b.Fatal(err)
		}
		if err := run.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
