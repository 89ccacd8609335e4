package job

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSecretsEnv judges the cases of secrets.jsonl that are about the environment.
func TestSecretsEnv(t *testing.T) {
	dir := os.Getenv("JACKLINE_CASES")
	if dir == "" {
		dir = filepath.Join("..", "testdata", "cases")
	}
	f, err := os.Open(filepath.Join(dir, "secrets.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	n := 0
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20)
	for s.Scan() {
		var kind struct{ Kind string }
		if err := json.Unmarshal(s.Bytes(), &kind); err != nil {
			t.Fatal(err)
		}
		if kind.Kind != "env" {
			continue
		}
		var c struct{ ID, Name, Want, Why string }
		if err := json.Unmarshal(s.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		n++
		t.Run(c.ID, func(t *testing.T) {
			got := "keep"
			kept := Env([]string{c.Name + "=value of it"})
			if !slices.ContainsFunc(kept, func(e string) bool { return strings.HasPrefix(e, c.Name+"=") }) {
				got = "drop"
			}
			if got != c.Want {
				t.Errorf("%s: %s, want %s: %s", c.Name, got, c.Want, c.Why)
			}
		})
	}
	if err := s.Err(); err != nil || n == 0 {
		t.Fatalf("%d cases, %v", n, err)
	}
}

func TestHidden(t *testing.T) {
	for name, want := range map[string]bool{
		"githubToken": true, "APIKey": true, "apiKey": true, "PGPASSWORD": true, "MY-SECRET": true, "db.password": true, "OPENAI_APIKEY": true,
		"DATABASE_URL": true, "PIP_INDEX_URL": true, "HOMEPAGE_URL": false, "DATABASE_HOST": false, "MONGO_URI": true, "LD_PRELOAD": true,
		"PWD": false, "OLDPWD": false, "SECRETARY": false, "KEYBOARD_LAYOUT": false, "MONKEY_COUNT": false, "TOKENIZERS_PARALLELISM": false,
		"AUTHOR": false, "COMPASS": false, "BYPASS": false, "PASS": true, "HOTKEY": false, "npm_config__authToken": true, "X_JWT": true,
		"BASH_FUNC_ls%%": true, "GIT_SSH_COMMAND": true, "SSH_AUTH_SOCK": true, "USER": false, "HTTP_PROXY": false, "KeyFile": true, "Keyring": false,
	} {
		if got := Hidden(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestEnv(t *testing.T) {
	env := Env([]string{"PATH=.:/usr/bin::bin:/bin", "A=1", "A=2", "=x", "junk", "HOME=/h", "TERM=xterm", "X_TOKEN=t"}, "PWD=/w", "A=3")
	for _, want := range []string{"PATH=/usr/bin:/bin", "A=3", "HOME=/h", "TERM=dumb", "PWD=/w", "GIT_TERMINAL_PROMPT=0", "LANG=C.UTF-8"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
	names := map[string]bool{}
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		if names[name] {
			t.Errorf("%s stands twice", name)
		}
		names[name] = true
	}
	if names["X_TOKEN"] || names["junk"] || names[""] {
		t.Errorf("%q", env)
	}
	if env := Env([]string{"PATH=.:bin"}); !slices.Contains(env, "PATH="+safePath) {
		t.Errorf("%q", env)
	}
}
