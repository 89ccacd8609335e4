package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// testBench is the real program, built for this test, with folders of its own.
func testBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	b := &bench{program: filepath.Join(dir, "jackline"), dir: dir, setup: setup{Window: 4096, Steps: 4, Time: time.Minute}}
	if runtime.GOOS == "windows" {
		b.program += ".exe"
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", b.program, "../../cmd/jackline")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if err := b.learn(t.Context()); err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestProgram(t *testing.T) {
	b := testBench(t)
	t.Run("tasks", func(t *testing.T) { testTasks(t, b) })
	t.Run("shown", func(t *testing.T) { testShown(t, b) })
	t.Run("counts", func(t *testing.T) { testCounts(t, b) })
	t.Run("goes on", func(t *testing.T) { testGoesOn(t, b) })
}

// Each task can be done with the tools there are, in each way, and that is seen; and doing nothing is not taken for it.
func testTasks(t *testing.T, b *bench) {
	t.Helper()
	all, err := readTasks()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 20 {
		t.Errorf("%d tasks", len(all))
	}
	for _, task := range all {
		for _, name := range task.tools {
			if b.schemas[name] == nil || strings.Contains(","+withheld+",", ","+name+",") {
				t.Errorf("%s: no run has a tool %s", task.name, name)
			}
		}
		for _, mode := range []string{"text", "native", "envelope"} {
			b.model = "script:" + write(t, filepath.Join(b.dir, task.name+".script"), task.script)
			r, err := b.run(t.Context(), task, mode, 1)
			if err != nil {
				t.Fatalf("%s, %s: %v", task.name, mode, err)
			}
			if !r.Done || r.Tried == 0 || r.Read != r.Tried || r.Valid != r.Tried || r.Worked != r.Tried || r.Right == 0 || !r.Answer || r.Failed != "" {
				t.Errorf("%s, %s: %+v", task.name, mode, r)
			}
			b.model = "script:" + write(t, filepath.Join(b.dir, "idle.script"), "=== *\nNo.\n")
			if r, err = b.run(t.Context(), task, mode, 2); err != nil || r.Done || r.Tried != 0 {
				t.Errorf("%s, %s, idle: %+v, %v", task.name, mode, r, err)
			}
		}
	}
}

// The real model goes on in a chat where all has been called that is to be shown; nothing of it counts, and none of its files is left.
func testShown(t *testing.T, b *bench) {
	t.Helper()
	b.Shown = true
	defer func() { b.Shown = false }()
	task, err := readTask("t", []byte("x\n-- prompt --\nlist\n-- tools --\nlist_dir\n-- want --\nanswer sea\ngone sea.txt\n-- files/a.txt --\na\n-- script --\n=== 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	script := "=== 1\n--- expect the tide is out\n--- expect calculator\n--- expect gull.txt and tern.txt.\nThe sea.\n"
	for _, mode := range []string{"text", "native", "envelope"} {
		b.model = "script:" + write(t, filepath.Join(b.dir, "t.script"), script)
		if r, err := b.run(t.Context(), task, mode, 1); err != nil || !r.Done || r.Tried != 0 || r.tally.Steps != 1 {
			t.Errorf("%s: %+v, %v", mode, r, err)
		}
	}
}

// What a model gets wrong is counted where it went wrong.
func testCounts(t *testing.T, b *bench) {
	t.Helper()
	task, err := readTask("t", []byte("x\n-- prompt --\nread\n-- tools --\nfile_read\n-- want --\nran file_read\n-- files/a.txt --\na\n-- script --\n=== 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, mode, script                string
		tried, read, valid, right, worked int
		done, answer                      bool
	}{
		{"no such tool", "native", "=== 1\n--- call fly {}\n=== 2\nno", 1, 1, 0, 0, 0, false, true},
		{"arguments that do not fit", "native", "=== 1\n--- call file_read {\"to\": \"nine\"}\n=== 2\nno", 1, 1, 0, 0, 0, false, true},
		{"no such file", "native", "=== 1\n--- call file_read {\"path\": \"b.txt\"}\n=== 2\nno", 1, 1, 1, 1, 0, false, true},
		{"another tool", "text", "=== 1\n--- call list_dir {}\n=== 2\nno", 1, 1, 1, 0, 1, false, true},
		{"unreadable", "text", "=== 1\n```tool\nread it\n```\n=== 2\n--- call file_read {\"path\": \"a.txt\"}\n=== 3\na", 2, 1, 1, 1, 1, true, true},
		{"no such tool in text", "text", "=== 1\n--- call fly {}\n=== 2\nno", 1, 1, 0, 0, 0, false, true},
		{"unreadable for good", "native", "=== *\n--- garbled file_read [[[", 2, 0, 0, 0, 0, false, true},
		{"too many steps", "native", "=== *\n--- call file_read {\"path\": \"a.txt\"}", 3, 3, 3, 3, 3, true, false},
	} {
		b.model = "script:" + write(t, filepath.Join(b.dir, "t.script"), test.script+"\n")
		r, err := b.run(t.Context(), task, test.mode, 1)
		if err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		if r.Tried != test.tried || r.Read != test.read || r.Valid != test.valid || r.Right != test.right || r.Worked != test.worked || r.Done != test.done || r.Answer != test.answer {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
	b.model = "script:" + filepath.Join(b.dir, "nosuch")
	for _, b.Shown = range []bool{true, false} {
		if r, err := b.run(t.Context(), task, "sideways", 1); !errors.Is(err, errUse) {
			t.Errorf("a way that there is not: %+v, %v", r, err)
		}
	}
}

// A measurement goes on where it was, and what was measured otherwise does not count.
func testGoesOn(t *testing.T, b *bench) {
	t.Helper()
	dir := t.TempDir()
	b.dir, b.model = dir, "script:"+write(t, filepath.Join(dir, "a.script"), "=== *\nheron\n")
	out := write(t, filepath.Join(dir, "page.md"), "before\n"+opening+"old\n"+closing+"after\n")
	for range 2 {
		if err := measure(t.Context(), b, []string{"text", "native"}, 1, "0[12]*", out); err != nil {
			t.Fatal(err)
		}
	}
	journal, err := os.ReadFile(filepath.Join(dir, "results.jsonl"))
	if err != nil || strings.Count(string(journal), "\n") != 4 {
		t.Errorf("%v: %s", err, journal)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"before\n" + opening, closing + "after\n", "| text | 2 | 0 | 0 | 0 | 0 (0 %) | 1 (50 %) | 0 |", "| native | 2 |", "2 tasks, once", " 1 of 1 | 1 of 1 |", " 0 of 1 | 0 of 1 |"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "old") {
		t.Error("the old table is still there")
	}
	b.Window = 8192
	if kept, err := readResults(filepath.Join(dir, "results.jsonl"), b.setup); err != nil || len(kept) != 0 {
		t.Errorf("%v, %v", kept, err)
	}
}

func TestBadTasks(t *testing.T) {
	const good = "x\n-- prompt --\np\n-- tools --\nt\n-- want --\nanswer a\n-- script --\n=== 1\n"
	if _, err := readTask("t", []byte(good)); err != nil {
		t.Error(err)
	}
	for _, change := range [][2]string{
		{"x\n", "\n"},
		{"p\n", "\n"},
		{"answer a", ""},
		{"answer a", "answer"},
		{"answer a", "answer ("},
		{"answer a", "answr a"},
		{"-- tools", "-- tols"},
	} {
		if _, err := readTask("t", []byte(strings.Replace(good, change[0], change[1], 1))); err == nil {
			t.Errorf("%q in place of %q is not refused", change[1], change[0])
		}
	}
}
