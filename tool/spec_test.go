package tool_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/retrieve"
	"github.com/jackline-ai/jackline/tool"
)

// good is a spec that works.
func good() tool.Spec[arg] {
	return tool.Spec[arg]{
		Name: "good", Group: "files", Summary: "Does good.", Use: "Always.", Effect: jackline.Read, Icon: "read",
		Title:   func(a arg) string { return a.Path },
		Touches: func(tool.In, arg) ([]jackline.Touch, error) { return nil, nil },
		Run:     func(context.Context, tool.In, arg) (tool.Out, error) { return tool.Out{}, nil },
	}
}

func TestDefinePanics(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*tool.Spec[arg])
		want  string
	}{
		"no name":              {func(s *tool.Spec[arg]) { s.Name = "" }, "needs a name"},
		"no summary":           {func(s *tool.Spec[arg]) { s.Summary = "" }, "a summary"},
		"no group":             {func(s *tool.Spec[arg]) { s.Group = "" }, "a group"},
		"no effect":            {func(s *tool.Spec[arg]) { s.Effect = 0 }, "unknown effect"},
		"no title":             {func(s *tool.Spec[arg]) { s.Title = nil }, "no title"},
		"neither run nor ask":  {func(s *tool.Spec[arg]) { s.Run = nil }, "exactly one of Run and Ask"},
		"both":                 {func(s *tool.Spec[arg]) { s.Ask = func(arg) ([]jackline.Question, error) { return nil, nil } }, "exactly one of Run and Ask"},
		"no touches":           {func(s *tool.Spec[arg]) { s.Touches = nil }, "must name its touches"},
		"no touches, and pure": {func(s *tool.Spec[arg]) { s.Touches, s.Effect = nil, jackline.Pure|jackline.Read }, "must name its touches"},
		"cached write":         {func(s *tool.Spec[arg]) { s.Cache, s.Effect = true, jackline.Read|jackline.Write }, "only a pure read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := good()
			c.spoil(&s)
			wantPanic(t, c.want, func() { tool.Define(s) })
		})
	}
	t.Run("arguments that are no object", func(t *testing.T) {
		wantPanic(t, "", func() {
			tool.Define(tool.Spec[func()]{
				Name: "odd", Group: "pure", Summary: "Is odd.", Effect: jackline.Pure, Title: func(func()) string { return "" },
				Run: func(context.Context, tool.In, func()) (tool.Out, error) { return tool.Out{}, nil },
			})
		})
	})
	tool.Define(good())
}

func wantPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		switch p := recover(); {
		case p == nil:
			t.Error("it was accepted")
		case !strings.Contains(fmt.Sprint(p), want):
			t.Errorf("panic %v, want %q", p, want)
		}
	}()
	f()
}

// An approval of one definition is none of another: whatever the model or a person is told makes another digest.
func TestDigest(t *testing.T) {
	seen := map[string]string{tool.Define(good()).Facts().Digest: "good"}
	for name, change := range map[string]func(*tool.Spec[arg]){
		"name": func(s *tool.Spec[arg]) { s.Name = "other" }, "summary": func(s *tool.Spec[arg]) { s.Summary = "Does bad." },
		"use": func(s *tool.Spec[arg]) { s.Use = "Never." }, "effect": func(s *tool.Spec[arg]) { s.Effect = jackline.Read | jackline.Exec },
	} {
		s := good()
		change(&s)
		d := tool.Define(s).Facts().Digest
		if was, same := seen[d]; same || d == "" {
			t.Errorf("another %s has the digest of %s", name, was)
		}
		seen[d] = name
	}
	type narrow struct {
		Path string `json:"path" doc:"which file"`
	}
	s := tool.Define(tool.Spec[narrow]{
		Name: "good", Group: "files", Summary: "Does good.", Use: "Always.", Effect: jackline.Read, Title: func(narrow) string { return "" },
		Touches: func(tool.In, narrow) ([]jackline.Touch, error) { return nil, nil },
		Run:     func(context.Context, tool.In, narrow) (tool.Out, error) { return tool.Out{}, nil },
	})
	if was, same := seen[s.Facts().Digest]; same {
		t.Errorf("other arguments have the digest of %s", was)
	}
	if a, b := tool.Define(good()), tool.Define(good()); a.Facts().Digest != b.Facts().Digest {
		t.Error("the same definition has two digests")
	}
}

func TestFacts(t *testing.T) {
	s := good()
	s.Aliases, s.Find, s.Pin, s.Final, s.Pager = []string{"fine"}, "better best", 4096, true, true
	why := ""
	s.Missing = func() string { return why }
	d := tool.Define(s)
	f := d.Facts()
	if f.Name != "good" || f.Pin != 4096 || !f.Final || !f.Pager || f.Asks || f.WhyNot != "" || !strings.Contains(string(f.Schema), "which file") {
		t.Errorf("%+v", f)
	}
	if why = "Broken."; d.Facts().WhyNot != why {
		t.Error("it does not look again")
	}
	set, err := tool.NewSet(d)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"GOOD", "fine", "does", "always", "better best", "path"} {
		if found := set.Search(retrieve.Words(w, 9), nil); len(found) != 1 || found[0].Tool.Facts().Name != "good" {
			t.Errorf("%q does not find it: %v", w, found)
		}
	}
	if found := set.Search([]string{"good"}, func(tool.Tool) bool { return true }); len(found) != 0 {
		t.Error("it is found where it is off")
	}
}

func named(name string, aliases ...string) tool.Tool {
	s := good()
	s.Name, s.Aliases = name, aliases
	return tool.Define(s)
}

func paging(name string) tool.Tool {
	s := good()
	s.Name, s.Pager = name, true
	return tool.Define(s)
}

func TestNewSetClashes(t *testing.T) {
	for _, c := range []struct {
		name  string
		tools []tool.Tool
		want  string // "" is no clash
	}{
		{"none", []tool.Tool{named("a_b", "c"), named("d", "e-f")}, ""},
		{"no tools", nil, ""},
		{"listed twice", []tool.Tool{named("a"), named("a")}, "The tool a is listed twice."},
		{"names that fold alike", []tool.Tool{named("file_read"), named("FileRead")}, `The tools file_read and FileRead both answer to "FileRead".`},
		{"alias and name", []tool.Tool{named("a", "b"), named("b")}, `The tools a and b both answer to "b".`},
		{"name and alias", []tool.Tool{named("a"), named("b", "A")}, `The tools a and b both answer to "A".`},
		{"alias and alias", []tool.Tool{named("a", "open.file"), named("b", "open file")}, `The tools a and b both answer to "open file".`},
		{"one pager", []tool.Tool{named("a"), paging("b")}, ""},
		{"two pagers", []tool.Tool{paging("a"), named("b"), paging("c")}, "The tools a and c both page through results."},
		{"aliases of one tool", []tool.Tool{named("a", "read_it", "readIt", "A")}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := tool.NewSet(c.tools...)
			if c.want == "" {
				if err != nil || len(s.Names()) != len(c.tools) {
					t.Errorf("%v", err)
				}
				return
			}
			if jackline.KindOf(err) != jackline.Conflict || jackline.Say(err) != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestSet(t *testing.T) {
	s, err := tool.NewSet(named("file_read", "cat"), named("grep"), named("glob"))
	if err != nil {
		t.Fatal(err)
	}
	for asked, want := range map[string]string{
		"file_read": "file_read", "FileRead": "file_read", "file-read": "file_read", "file.read": "file_read", "File Read": "file_read", "CAT": "file_read",
		"fileread2": "", "": "", "read": "",
	} {
		got, ok := s.Lookup(asked)
		if ok != (want != "") || ok && got.Facts().Name != want {
			t.Errorf("%q finds %q", asked, got.Facts().Name)
		}
	}
	if got := s.Names(); !slices.Equal(got, []string{"file_read", "grep", "glob"}) {
		t.Errorf("names %q", got)
	}
	n := 0
	for range s.All() {
		if n++; n == 2 {
			break
		}
	}
	few, err := s.Only("glob", "cat")
	if err != nil || !slices.Equal(few.Names(), []string{"glob", "file_read"}) {
		t.Errorf("%q, %v", few.Names(), err)
	}
	if _, ok := few.Lookup("grep"); ok {
		t.Error("a tool that was left out is found")
	}
	if _, err := s.Only("grep", "sed"); err == nil || !strings.Contains(err.Error(), "sed") {
		t.Errorf("%v", err)
	}
	if _, err := s.Only("grep", "Grep"); err == nil {
		t.Error("the same tool twice is no clash")
	}
}
