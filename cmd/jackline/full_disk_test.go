//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/jackline-ai/jackline"
)

// TestFullDisk fills the disk on which the data folder lies, for real: what acts does not run where its line of the audit cannot be
// written, whoever asks is told why, and once there is room again all goes on.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	const room = "size=24m" // the program with some chats, and room for a few more
	if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, room); err != nil {
		t.Skipf("NO DISK CAN BE FILLED HERE, so nothing was tried on a full one: mounting one needs root (%v)", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	h := newHome(t, "http://127.0.0.1:1/v1", "text")
	h.env["JACKLINE_HOME"] = filepath.Join(disk, "home")
	h.write("says.script", "=== *\nok\n")
	a := h.serve("--model", "script:"+filepath.Join(h.ws, "says.script"))
	s := a.session(map[string]any{"mode": "allow-all"}).ID
	a.runs(s, "file_write", map[string]any{"path": "before", "content": "x"})

	filler, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 20; size > 0; {
		if _, err := filler.Write(make([]byte, size)); errors.Is(err, unix.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	// Piece by piece there is room again, so that each of the writes around a call is once the one that fails.
	const piece = 64 << 10
	refused, ran := 0, 0
	for n := range 400 {
		name := fmt.Sprint("full", n)
		call := map[string]any{"name": "file_write", "args": map[string]any{"path": name, "content": "x"}, "session": s}
		if n%2 == 0 {
			call["name"], call["args"] = "shell", shellArgs("echo x > "+name)
		}
		status, b := a.send("POST", "/api/tools/run", call)
		if _, err := os.Stat(filepath.Join(h.ws, name)); err == nil {
			ran++
			if status != 200 && !strings.Contains(string(b), "This call was made") {
				t.Errorf("call %d ran, and was answered with %d %s", n, status, b)
			}
		}
		if status == 200 && n > 1 {
			break
		}
		if !strings.Contains(string(b), "full") {
			t.Errorf("call %d: %d %s", n, status, b)
		}
		refused++
		info, err := filler.Stat()
		if err == nil {
			err = filler.Truncate(max(0, info.Size()-piece))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if refused == 0 {
		t.Fatal("the disk was never full")
	}
	if err := filler.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	a.runs(s, "file_write", map[string]any{"path": "after", "content": "x"})
	r := want[jackline.AuditReport](a, 200, "GET", "/api/audit/verify?full=true", nil)
	started := want[[]jackline.AuditEntry](a, 200, "GET", "/api/audit?kind=call.started&limit=1000", nil)
	t.Logf("%d calls were refused; %d ran", refused, ran)
	if len(started) < ran+2 { // and one before and one after
		t.Errorf("%d calls ran, and %d lines say so", ran+2, len(started))
	}
	if !r.OK || len(r.Noted) > 0 {
		t.Errorf("the audit afterwards: %+v", r)
	}
}

// TestFullDiskOneShot: a command that runs by itself says why nothing can be kept, however much of its beginning there is room for, and
// the next one works.
func TestFullDiskOneShot(t *testing.T) {
	disk := t.TempDir()
	const room = "size=3m"
	if err := unix.Mount("tmpfs", disk, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, room); err != nil {
		t.Skipf("NO DISK CAN BE FILLED HERE, so nothing was tried on a full one: mounting one needs root (%v)", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(disk, unix.MNT_DETACH) })
	h := newHome(t, "http://127.0.0.1:1/v1", "text")
	h.env["JACKLINE_HOME"] = filepath.Join(disk, "home")
	h.write("says.script", "=== *\nok\n")
	filler := filepath.Join(disk, "filler")
	tried := 0
	says := func(task string) (int, string, string) {
		p := h.start("run", "-C", h.ws, "--model", "script:"+filepath.Join(h.ws, "says.script"), task)
		select {
		case n := <-p.ended:
			p.ended <- n
		case <-time.After(3 * time.Second): // its end cannot be written, and it goes on trying until there is room
			tried++
			if err := os.Truncate(filler, 0); err != nil {
				t.Fatal(err)
			}
		}
		return p.wait(), p.out.String(), p.errs.String()
	}
	if code, _, stderr := says("hello"); code != 0 {
		t.Fatal(stderr)
	}
	failed, done := 0, 0
	for left := range 20 { // pages of four KB
		if err := os.WriteFile(filler, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filler, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		size := int64(0)
		for {
			n, err := f.Write(make([]byte, 4096))
			size += int64(n)
			if err != nil {
				break
			}
		}
		if err := errors.Join(f.Truncate(max(0, size-int64(left)*2*4096)), f.Close()); err != nil {
			t.Fatal(err)
		}
		switch code, stdout, stderr := says(fmt.Sprint("hello ", left)); {
		case code == 0 && stdout == "ok\n":
			done++
		case code == 1 && strings.Contains(stderr, "full"):
			failed++
		default:
			t.Errorf("with %d pages left: %d %q %q", 2*left, code, stdout, stderr)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := says("hello again"); code != 0 {
		t.Error(stderr)
	}
	if code, stdout, stderr := h.cli("audit", "verify"); code != 0 {
		t.Error(stdout, stderr)
	}
	t.Logf("%d failed, %d had room; %d waited for room", failed, done, tried)
	if failed == 0 || done == 0 {
		t.Error("the disk was never full, or always")
	}
}
