package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		if strings.TrimSpace(string(got)) != want || (code == exitOK) != (want != "") {
			t.Errorf("%q: the file holds %q, exit code %d\n%s%s", typed, got, code, out.String(), errs.String())
		}
	}
}
