package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const code = `package x

func Add(a, b int) int {
	return a + b
}
`

const tests = `package x

import "testing"

func TestAdd(t *testing.T) {
	for name, c := range map[string][3]int{"small": {1, 2, 3}} {
		t.Run(name, func(t *testing.T) {
			if Add(c[0], c[1]) != c[2] {
				t.Error("wrong")
			}
		})
	}
}

func TestOther(t *testing.T) {}
`

// TestTest: a mutation is noticed by a test that fails, by its name; what does not build, end or run says nothing.
func TestTest(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module x\n\ngo 1.26\n", "x.go": code, "x_test.go": tests} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		test, new string
		by, fault string
	}{
		"noticed":          {".", "return a - b", "x.TestAdd/small", ""},
		"a panic":          {".", "panic(a)", "x.TestAdd/small", ""},
		"survived":         {". -run TestOther", "return a - b", "", ""},
		"the same":         {".", "return b + a", "", ""},
		"does not build":   {".", "return c", "", "undefined: c"},
		"has no such test": {". -run TestNone", "return a - b", "", "no tests to run"},
		"does not end":     {"-timeout=1s .", "for {\n}", "", "timed out"},
		"ends too early":   {".", `func() { go panic("elsewhere"); select {} }(); return 0`, "", "elsewhere"},
		"no such package":  {"./y", "return a - b", "", "y"},
	} {
		t.Run(name, func(t *testing.T) {
			m := mutation{name: name, file: "x.go", test: c.test, old: "return a + b", new: c.new}
			overlay, err := m.overlay(root, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			by, err := test(t.Context(), root, m.test, overlay)
			if by != c.by || (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%q, %v; want %q, %q", by, err, c.by, c.fault)
			}
		})
	}
	for old, want := range map[string]string{"int": "2 times", "return x": "0 times"} {
		m := mutation{name: "n", file: "x.go", test: ".", old: old}
		if err := ready(t.Context(), []mutation{m}, root, t.TempDir()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", old, err)
		}
	}
}

// TestList: the list can be read, and each name is there once.
func TestList(t *testing.T) {
	all, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range all {
		if seen[m.name] {
			t.Errorf("%s is there twice", m.name)
		}
		seen[m.name] = true
	}
	for _, text := range []string{"x", "=== a\nfile: f\ntest: t\n", "=== a\nfile: f\ntest: t\n--- new\nx\n", "=== a\nwhat\n"} {
		if _, err := parse(text); err == nil {
			t.Errorf("%q is a list", text)
		}
	}
}
