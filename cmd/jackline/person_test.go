package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
)

// A tool called by hand runs after a yes, as it was allowed, and after nothing else.
func TestCallByHand(t *testing.T) {
	for typed, want := range map[string]string{
		"y\n": "one",
		"e\n{\"path\":\"a.txt\",\"content\":\"two\"}\n": "two",
		"n\n":              "",
		"d\nnot today\n":   "",
		"s\n":              "",
		"":                 "",
		"what?\n\nno\nn\n": "",
	} {
		home := t.TempDir()
		env := map[string]string{"JACKLINE_HOME": home}
		var out, errs bytes.Buffer
		m := &Main{
			Args: []string{"tools", "call", "file_write", "--json", `{"path":"a.txt","content":"one"}`},
			Env:  func(k string) string { return env[k] }, In: strings.NewReader(typed), Out: &out, Err: &errs, Terminal: true,
		}
		code := m.Run(t.Context())
		got, err := os.ReadFile(filepath.Join(home, "workspace", "a.txt"))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if strings.TrimSpace(string(got)) != want || (code == terminal.ExitOK) != (want != "") {
			t.Errorf("%q: the file holds %q, exit code %d\n%s%s", typed, got, code, out.String(), errs.String())
		}
	}
}

// A mode that is named holds, for a chat that is gone on with as well.
func TestContinueInMode(t *testing.T) {
	home := t.TempDir()
	script := filepath.Join(home, "says.txt")
	if err := os.WriteFile(script, []byte("=== 1\nHello.\n=== 2\nHello.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"JACKLINE_HOME": home, "JACKLINE_MODEL": "script:" + script}
	run := func(args ...string) string {
		var out, errs bytes.Buffer
		m := &Main{Args: args, Env: func(k string) string { return env[k] }, In: strings.NewReader(""), Out: &out, Err: &errs}
		if code := m.Run(t.Context()); code != terminal.ExitOK {
			t.Fatalf("%q: exit code %d: %s", args, code, errs.String())
		}
		return out.String()
	}
	run("run", "--mode", "allow-all", "hello")
	run("run", "--continue", "--mode", "plan", "hello")
	if list := run("sessions", "list", "--json"); !strings.Contains(list, `"mode":"plan"`) {
		t.Errorf("the chat's mode: %s", list)
	}
}

// Lines that come faster than answers are taken one after the other, and the end of them, or /quit, is the end of the chat.
func TestChatFromAPipe(t *testing.T) {
	for typed, want := range map[string]string{
		"hello\n":                         "Said 1.",
		"hello\n/quit\n":                  "Said 1.",
		"hello\nagain\n/help\n/exit\n":    "Said 1. Said 2.",
		"/plan look\n/guide say\n/new\n":  "Said 1. Said 2.",
		"/help\n/mode plan\n/quit\nhello": "",
	} {
		home := t.TempDir()
		script := filepath.Join(home, "says.txt")
		if err := os.WriteFile(script, []byte("=== 1\nSaid 1.\n=== 2\nSaid 2.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"JACKLINE_HOME": home, "JACKLINE_MODEL": "script:" + script}
		var out, errs bytes.Buffer
		m := &Main{Args: []string{"chat"}, Env: func(k string) string { return env[k] }, In: strings.NewReader(typed), Out: &out, Err: &errs}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		code := m.Run(ctx)
		cancel()
		if got := strings.Join(strings.Fields(out.String()), " "); code != terminal.ExitOK || got != want {
			t.Errorf("%q: exit code %d, said %q, want %q\n%s", typed, code, got, want, errs.String())
		}
	}
}

// Whoever ends what they type while a card is open leaves it open, and is told how to answer it later.
func TestCardWithoutAnybody(t *testing.T) {
	for _, args := range [][]string{{"run", "--mode", "ask", "write it"}, {"chat"}} {
		home := t.TempDir()
		script := filepath.Join(home, "says.txt")
		if err := os.WriteFile(script, []byte("=== 1\n--- call file_write {\"path\": \"a.txt\", \"content\": \"one\"}\n=== 2\nWritten.\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		env := map[string]string{"JACKLINE_HOME": home, "JACKLINE_MODEL": "script:" + script}
		in, typing := io.Pipe()
		var out bytes.Buffer
		var typist sync.WaitGroup
		errs := &noisy{until: "Allow this?", then: func() { _ = typing.Close() }}
		m := &Main{Args: args, Env: func(k string) string { return env[k] }, In: in, Out: &out, Err: errs, Terminal: true}
		if args[0] == "chat" {
			typist.Go(func() { _, _ = io.WriteString(typing, "/mode ask\nwrite it\n") }) // it ends with the pipe
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		code := m.Run(ctx)
		cancel()
		typist.Wait()
		want := terminal.ExitWaiting
		if args[0] == "chat" {
			want = terminal.ExitOK
		}
		if _, err := os.Stat(filepath.Join(home, "workspace", "a.txt")); code != want || !strings.Contains(errs.String(), "jackline approve yes a_") || err == nil {
			t.Errorf("%q: exit code %d, the file: %v\n%s%s", args, code, err, out.String(), errs.String())
		}
	}
}

// noisy does something once when it has been told some text.
type noisy struct {
	mu    sync.Mutex
	said  bytes.Buffer
	until string
	then  func()
}

func (n *noisy) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said.Write(p)
	if n.then != nil && strings.Contains(n.said.String(), n.until) {
		n.then()
		n.then = nil
	}
	return len(p), nil
}

func (n *noisy) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.said.String()
}

// A folder that stands where another one stood is another workspace.
func TestAnotherFolderInPlace(t *testing.T) {
	home, dir := t.TempDir(), filepath.Join(t.TempDir(), "ws")
	m := &Main{Env: func(k string) string { return map[string]string{"JACKLINE_HOME": home}[k] }, Err: &bytes.Buffer{}}
	conf, err := settings.Load(m.Env, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.openApp(t.Context(), conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close(t.Context())
	open := func() *place {
		t.Helper()
		p, err := a.place(dir)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	first := open()
	if open() != first {
		t.Error("the same folder was opened twice")
	}
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if open() == first {
		t.Error("what is open is the folder that was moved away")
	}
}
