package main

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

//go:embed tasks
var tasksFS embed.FS

//go:embed shown/shown.txtar
var shownText []byte

// A task is one file of the folder tasks, in txtar's form. Its comment says what it is about, and its parts are:
//
//	prompt       what the model is asked
//	tools        the tools that fit, one a line: the one that brings it about, under its own name
//	files/PATH   what lies in the workspace before
//	want         what must be so afterwards, one a line:
//	             answer REGEXP      the answer matches
//	             file PATH REGEXP   the file matches
//	             folder PATH        there is such a folder
//	             gone PATH          there is nothing of that name
//	             ran NAME           a call of that tool was answered with ok
//	want/PATH    a file that must be so afterwards, but for blanks at its ends
//	script       a transcript for package script that does it: the proof that it can be done, and that the checks see it
type task struct {
	name, about, prompt string
	tools               []string
	files, wanted       map[string]string
	checks              []check
	script              string
}

// A check is one line of want.
type check struct {
	kind, path string
	matches    *regexp.Regexp
}

// A shown is what a scripted model does in a chat before it is the real model's: files of a workspace, and turns.
type shown struct {
	task  // only its files
	turns []turn
}

type turn struct{ prompt, script string }

func readShown(text []byte) (s shown) {
	s.files = map[string]string{}
	for _, f := range txtar.Parse(text).Files {
		switch where, ok := strings.CutPrefix(f.Name, "files/"); {
		case ok:
			s.files[where] = string(f.Data)
		case f.Name == "prompt":
			s.turns = append(s.turns, turn{prompt: strings.TrimSpace(string(f.Data))})
		case len(s.turns) > 0:
			s.turns[len(s.turns)-1].script = string(f.Data)
		}
	}
	return s
}

// readTasks reads all tasks, in the order of their names.
func readTasks() ([]task, error) {
	names, err := fs.Glob(tasksFS, "tasks/*.txtar")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []task
	for _, name := range names {
		text, err := tasksFS.ReadFile(name)
		if err != nil {
			return nil, err
		}
		t, err := readTask(strings.TrimSuffix(path.Base(name), ".txtar"), text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, t)
	}
	return all, nil
}

func readTask(name string, text []byte) (task, error) {
	a := txtar.Parse(text)
	t := task{name: name, about: strings.TrimSpace(string(a.Comment)), files: map[string]string{}, wanted: map[string]string{}}
	for _, f := range a.Files {
		data := string(f.Data)
		if where, ok := strings.CutPrefix(f.Name, "files/"); ok {
			t.files[where] = data
			continue
		}
		if where, ok := strings.CutPrefix(f.Name, "want/"); ok {
			t.wanted[where] = strings.TrimSpace(data)
			continue
		}
		switch f.Name {
		case "prompt":
			t.prompt = strings.TrimSpace(data)
		case "tools":
			t.tools = strings.Fields(data)
		case "script":
			t.script = data
		case "want":
			for line := range strings.Lines(data) {
				if line = strings.TrimSpace(line); line == "" {
					continue
				}
				c, err := readCheck(line)
				if err != nil {
					return t, err
				}
				t.checks = append(t.checks, c)
			}
		default:
			return t, fmt.Errorf("a part %q, which means nothing", f.Name)
		}
	}
	switch {
	case t.about == "", t.prompt == "", len(t.tools) == 0, t.script == "":
		return t, errors.New("a comment, a prompt, tools and a script belong to a task")
	case len(t.checks)+len(t.wanted) == 0:
		return t, errors.New("nothing says when it is done")
	}
	return t, nil
}

func readCheck(line string) (c check, err error) {
	kind, rest, _ := strings.Cut(line, " ")
	c.kind, c.path = kind, rest
	switch kind {
	case "answer":
		c.matches, err = regexp.Compile(rest)
	case "file":
		var pattern string
		c.path, pattern, _ = strings.Cut(rest, " ")
		c.matches, err = regexp.Compile(pattern)
	case "folder", "gone", "ran":
	default:
		return c, fmt.Errorf("%q checks nothing", line)
	}
	if err == nil && rest == "" {
		err = fmt.Errorf("%q says not of what", line)
	}
	return c, err
}

// lay makes folder anew with the files of the task in it.
func (t task) lay(folder string) error {
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	for name, text := range t.files {
		full := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o750); err != nil {
			return err
		}
		if err := os.WriteFile(full, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// done reports whether all is as it must be afterwards.
func (t task) done(folder string, s said) bool {
	for name, want := range t.wanted {
		if got, ok := content(folder, name); !ok || got != want {
			return false
		}
	}
	return !slices.ContainsFunc(t.checks, func(c check) bool { return !c.holds(folder, s) })
}

func (c check) holds(folder string, s said) bool {
	switch c.kind {
	case "answer":
		return c.matches.MatchString(s.answer)
	case "file":
		text, ok := content(folder, c.path)
		return ok && c.matches.MatchString(text)
	case "ran":
		return slices.Contains(s.ran, c.path)
	}
	info, err := os.Lstat(filepath.Join(folder, filepath.FromSlash(c.path)))
	if c.kind == "gone" {
		return errors.Is(err, fs.ErrNotExist)
	}
	return err == nil && info.IsDir()
}

// largest is how much of a file is looked at: no task wants one of more than a few lines.
const largest = 64 << 10

// content is a file's text without the blanks at its ends and with plain line ends.
func content(folder, name string) (string, bool) {
	full := filepath.Join(folder, filepath.FromSlash(name))
	if info, err := os.Lstat(full); err != nil || !info.Mode().IsRegular() || info.Size() > largest {
		return "", false
	}
	text, err := os.ReadFile(full) //nolint:gosec // the tasks' own names, in a folder that was made for them
	return string(bytes.TrimSpace(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))), err == nil
}
