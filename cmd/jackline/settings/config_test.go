package settings

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// env makes an environment of a few variables around a private home.
func testEnv(t testing.TB, vars map[string]string) func(string) string {
	home := t.TempDir()
	return func(name string) string {
		if v, ok := vars[name]; ok {
			return v
		}
		if name == "JACKLINE_HOME" {
			return home
		}
		return ""
	}
}

func TestConfigFile(t *testing.T) {
	for _, c := range []struct {
		name, file string
		vars       map[string]string
		want       map[string]any
		warn, fail string
	}{
		{name: "empty", file: "", want: map[string]any{"agent.maxSteps": 0, "permissions.mode": "allow-reads"}},
		{name: "only a comment", file: "# nothing\n", want: map[string]any{"agent.maxSteps": 0}},
		{name: "values", file: "agent:\n  maxSteps: 9\nmodel:\n  name: qwen3\n", want: map[string]any{"agent.maxSteps": 9, "model.name": "qwen3"}},
		{name: "dotted", file: "agent.maxSteps: 9\n", want: map[string]any{"agent.maxSteps": 9}},
		{name: "environment wins", file: "agent: {maxSteps: 9}\n", vars: map[string]string{"JACKLINE_AGENT_MAX_STEPS": "11"}, want: map[string]any{"agent.maxSteps": 11}},
		{name: "short name", vars: map[string]string{"JACKLINE_MAX_STEPS": "12"}, want: map[string]any{"agent.maxSteps": 12}},
		{name: "unknown key", file: "agent:\n  maxStep: 9\n", warn: "line 2: there is no setting agent.maxStep; did you mean agent.maxSteps?"},
		{name: "unknown group", file: "agents:\n  maxSteps: 9\n", warn: "line 1: there is no setting agents"},
		{name: "wrong type", file: "agent:\n  maxSteps: many\n", fail: "line 2: agent.maxSteps must be a whole number"},
		{name: "out of range", file: "agent:\n\n  maxSteps: 5000\n", fail: "line 3: agent.maxSteps must be from 0 to 2000"},
		{name: "wrong mode", file: "permissions: {mode: yolo}\n", fail: "permissions.mode must be one of ask, plan"},
		{name: "syntax", file: "agent: [\n", fail: "is not right"},
		{name: "not a mapping", file: "- a\n- b\n", fail: "must hold settings"},
		{name: "group is a text", file: "agent: hello\n", fail: "must hold settings"},
		{name: "rules", file: "permissions:\n  rules:\n    - {do: deny, pattern: 'shell(rm*)'}\n", want: map[string]any{"permissions.mode": "allow-reads"}},
		{name: "rule of nonsense", file: "permissions:\n  rules:\n    - {do: perhaps, pattern: x}\n", fail: "list of rules"},
		{name: "bad environment", vars: map[string]string{"JACKLINE_WINDOW": "big"}, fail: "JACKLINE_WINDOW: model.window must be a whole number"},
		{name: "list in environment", vars: map[string]string{"JACKLINE_TOOLS_DISABLED": "a, b"}, want: map[string]any{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			env := testEnv(t, c.vars)
			if c.file != "" {
				if err := os.WriteFile(filepath.Join(env("JACKLINE_HOME"), "config.yaml"), []byte(c.file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			conf, err := Load(env, nil)
			if c.fail != "" {
				if err == nil || !strings.Contains(err.Error(), c.fail) {
					t.Fatalf("error %v, want %q in it", err, c.fail)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for path, want := range c.want {
				if got := conf.Get(path); got != want {
					t.Errorf("%s is %v, want %v", path, got, want)
				}
			}
			if got := strings.Join(conf.Warnings, "\n"); !strings.Contains(got, c.warn) || c.warn == "" && got != "" {
				t.Errorf("warnings %q, want %q", got, c.warn)
			}
		})
	}
}

func TestEnvironmentNames(t *testing.T) {
	seen := map[string]string{}
	for _, k := range Keys() {
		for _, n := range []string{k.Env(), k.Short} {
			if n == "" {
				continue
			}
			if other, taken := seen[n]; taken && other != k.Path {
				t.Errorf("%s names %s and %s", n, other, k.Path)
			}
			seen[n] = k.Path
		}
		if k.Doc == "" {
			t.Errorf("%s has no explanation", k.Path)
		}
		if k.Default != nil {
			if v, err := k.check(k.Default); err != nil {
				t.Errorf("the default of %s: %v %v", k.Path, v, err)
			}
		}
	}
	if seen["JACKLINE_PERMISSIONS_TOGGLES_READ_FILES"] != "permissions.toggles.readFiles" {
		t.Error("humps become underscores")
	}
}

// FuzzConfig: whatever the file holds, it is read or refused with a sentence, and nothing panics.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{"", "a: b", "agent: {maxSteps: 3}", "agent: &a\n  maxSteps: 3\nmodel: *a", "permissions:\n  rules: [{do: ask, pattern: 'x(*)'}]", "\"agent\":\n ? x\n : y", "- 1", "agent: !!binary aa"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := &Config{values: map[string]any{}, from: map[string]string{}}
		if err := c.readFile(raw); err != nil && err.Error() == "" {
			t.Error("an error without words")
		}
		for path, v := range c.values {
			for _, k := range Keys() {
				if k.Path == path {
					if _, err := k.check(v); err != nil {
						t.Errorf("%s took %v: %v", path, v, err)
					}
				}
			}
		}
	})
}

// A folder that would be another one wherever the program starts is refused, or ignored where the XDG rules say so.
func TestPlacesAreWhole(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HOME", dir)
	for _, home := range []string{"x", "./x", "../x", "."} {
		if _, err := Load(testEnv(t, map[string]string{"JACKLINE_HOME": home}), nil); err == nil || !strings.Contains(err.Error(), "must be a whole path") {
			t.Errorf("JACKLINE_HOME=%s: %v", home, err)
		}
	}
	if runtime.GOOS == "windows" {
		return // where there are no XDG folders
	}
	vars := map[string]string{"JACKLINE_HOME": "", "XDG_CONFIG_HOME": "conf", "XDG_DATA_HOME": filepath.Join(dir, "d"), "XDG_STATE_HOME": "./s"}
	c, err := Load(testEnv(t, vars), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Places{
		File: filepath.Join(dir, ".config/jackline/config.yaml"), Data: filepath.Join(dir, "d/jackline"), Logs: filepath.Join(dir, ".local/state/jackline"),
		Workspace: filepath.Join(dir, "jackline"),
	}
	if c.Places != want {
		t.Errorf("%+v, want %+v", c.Places, want)
	}
	said := strings.Join(c.Warnings, "\n")
	if len(c.Warnings) != 2 || !strings.Contains(said, "XDG_CONFIG_HOME") || !strings.Contains(said, "XDG_STATE_HOME") {
		t.Errorf("the warnings are %q", said)
	}
	t.Setenv("HOME", "elsewhere")
	if _, err := Load(testEnv(t, vars), nil); err == nil || !strings.Contains(err.Error(), "HOME must be a whole path") {
		t.Errorf("a relative HOME: %v", err)
	}
}
