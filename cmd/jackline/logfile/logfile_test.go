package logfile

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// The log is put aside while it is written to, loses no line but those of older files, and is nobody else's to read.
func TestLogRotates(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "jackline.log")
	const most = 2000
	one, err := openLog(name, most)
	if err != nil {
		t.Fatal(err)
	}
	two, err := openLog(name, most) // as another process does
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for _, l := range []*logFile{one, two} {
		log := slog.New(slog.NewTextHandler(l, nil))
		wg.Go(func() {
			for k := range 100 {
				log.Info("something happened", "number", k)
			}
		})
		wg.Wait() // what two processes do at the same moment is the system's business
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(two, "last")
	for _, file := range []string{name, name + ".1"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(b) > most || len(b) == 0 || b[len(b)-1] != '\n' {
			t.Errorf("%s has %d bytes", file, len(b))
		}
		if st, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, st.Mode(), err)
		}
		if file == name && !strings.HasSuffix(string(b), "last\n") {
			t.Errorf("%s lacks the last line: %s", file, b)
		}
	}
	if files, err := filepath.Glob(name + "*"); err != nil || len(files) != 2 {
		t.Errorf("there are %q, %v", files, err)
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Write([]byte("x")); err == nil {
		t.Error("a closed log was written to")
	}
}
