package runs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

func pid() int { return os.Getpid() }

func hostname(t *testing.T) string {
	t.Helper()
	h, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// zombie is the number of a process that has ended, and whose parent has not taken note.
func zombie(t *testing.T) int {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.StartProcess(self, []string{self, "-test.run", "^$"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = p.Wait() })
	stat := fmt.Sprintf("/proc/%d/stat", p.Pid)
	for range 5000 {
		b, err := os.ReadFile(stat)
		if err != nil {
			t.Skip("only Linux tells")
		}
		if strings.Contains(string(b), ") Z ") {
			return p.Pid
		}
		<-time.After(time.Millisecond)
	}
	t.Fatal("it did not end")
	return 0
}
