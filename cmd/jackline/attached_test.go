//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackline-ai/jackline"
)

// A pipe that nobody writes to is refused, and not waited for.
func TestAttachPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := files([]string{path}, "look"); err == nil || !strings.Contains(jackline.Say(err)+err.Error(), "it is not a file") {
		t.Errorf("%v", err)
	}
}
