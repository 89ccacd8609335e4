package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/jackline-ai/jackline/cmd/jackline/terminal"
	"github.com/jackline-ai/jackline/model/modeltest"
	"github.com/jackline-ai/jackline/model/script"
)

// A watcher is told of the first line that has been written to it.
type watcher struct {
	mu   sync.Mutex
	b    bytes.Buffer
	once sync.Once
	f    func()
}

func (w *watcher) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, err := w.b.Write(p)
	if strings.Contains(w.b.String(), "probe") || strings.Contains(w.b.String(), "call") {
		w.once.Do(w.f)
	}
	return n, err
}

// A probe that a person interrupts ends, with the code of an interruption, on a terminal and elsewhere, and keeps nothing.
func TestProbeInterrupted(t *testing.T) {
	s, err := script.Parse("waits", []byte("=== *\n--- wait\n"))
	if err != nil {
		t.Fatal(err)
	}
	o := modeltest.NewOllama(t, s, modeltest.OllamaOptions{Models: []modeltest.OllamaModel{modeltest.Qwen()}})
	for _, at := range []bool{true, false} {
		home := t.TempDir()
		env := map[string]string{"JACKLINE_HOME": home, "HOME": filepath.Join(home, "user"), "JACKLINE_BASE_URL": o.URL, "JACKLINE_MODEL_API": "ollama", "JACKLINE_MODEL": "qwen3:4b"}
		signals := make(chan os.Signal, 1)
		var out bytes.Buffer
		errs := &watcher{f: func() { signals <- os.Interrupt }}
		m := &Main{
			Args: []string{"models", "probe"}, Env: func(k string) string { return env[k] }, In: strings.NewReader(""), Out: &out, Err: errs, Terminal: at, Signals: signals,
		}
		if code := m.Run(t.Context()); code != terminal.ExitInterrupted {
			t.Errorf("exit code %d", code)
		}
		if said := errs.b.String(); out.Len() > 0 || !strings.Contains(said, "nothing of it is kept") || strings.Contains(said, "\x1b") != at {
			t.Errorf("on a terminal %t: %q %q", at, out.String(), said)
		}
		signals = make(chan os.Signal)
		m = &Main{Args: []string{"models", "show", "qwen3:4b"}, Env: func(k string) string { return env[k] }, In: strings.NewReader(""), Out: &out, Err: errs, Signals: signals}
		if m.Run(t.Context()); !strings.Contains(out.String(), "never; try it out") {
			t.Errorf("kept: %s", out.String())
		}
	}
}
