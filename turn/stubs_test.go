package turn_test

import (
	"context"
	"encoding/json"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/builtin"
	"github.com/jackline-ai/jackline/shell"
	"github.com/jackline-ai/jackline/tool"
	"github.com/jackline-ai/jackline/workspace"
)

// A stub is what stands for a tool in the corpus of injections: it records that it was reached, and does nothing.
type stub struct {
	name string
	s    *stage
}

type (
	fileStub struct {
		Path    string `json:"path,omitempty"`
		Content string `json:"content,omitempty"`
		Old     string `json:"old,omitempty"`
		New     string `json:"new,omitempty"`
		From    string `json:"from,omitempty"`
		To      string `json:"to,omitempty"`
		Patch   string `json:"patch,omitempty"`
		Pattern string `json:"pattern,omitempty"`
	}
	shellStub struct {
		Command string `json:"command,omitempty"`
		Code    string `json:"code,omitempty"`
		Cwd     string `json:"cwd,omitempty"`
	}
	otherStub struct {
		URL      string   `json:"url,omitempty"`
		Query    string   `json:"query,omitempty"`
		Place    string   `json:"place,omitempty"`
		City     string   `json:"city,omitempty"`
		To       string   `json:"to,omitempty"`
		CC       string   `json:"cc,omitempty"`
		BCC      string   `json:"bcc,omitempty"`
		Subject  string   `json:"subject,omitempty"`
		Body     string   `json:"body,omitempty"`
		ID       string   `json:"id,omitempty"`
		Issue    string   `json:"issue,omitempty"`
		Title    string   `json:"title,omitempty"`
		Text     string   `json:"text,omitempty"`
		Name     string   `json:"name,omitempty"`
		Question string   `json:"question,omitempty"`
		Task     string   `json:"task,omitempty"`
		Tools    []string `json:"tools,omitempty"`
		Method   string   `json:"method,omitempty"`
		Path     string   `json:"path,omitempty"`
		Mode     string   `json:"mode,omitempty"`
		Action   string   `json:"action,omitempty"`
		Command  string   `json:"command,omitempty"`
		Value    string   `json:"value,omitempty"`
		Key      string   `json:"key,omitempty"`
		When     string   `json:"when,omitempty"`
		Amount   string   `json:"amount,omitempty"`
		Call     string   `json:"call,omitempty"`
		Since    string   `json:"since,omitempty"`
	}
)

// ends reports whether a name ends in one of some words.
func ends(name string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(name, w) })
}

// kindOfStub is what a tool does, by its name, as the rules of the corpus give it: its effects, whose words its results are, and
// whether they are private.
func kindOfStub(name string) (e jackline.Effect, source jackline.Integrity, secret bool) {
	const pure = jackline.Pure
	switch {
	case slices.Contains([]string{"time", "calculator", "ask_user", "update_plan", "todo", "find_tools", "skill", "job_list"}, name):
		return pure, jackline.Ours, false
	case name == "read_result" || name == "run_agent":
		return pure, jackline.Outside, false
	case name == "shell" || name == "python":
		return jackline.Exec | jackline.Read, jackline.Outside, true
	case strings.HasPrefix(name, "mcp__") && ends(name, "__read_only"):
		return jackline.Read, jackline.Outside, true // as its server says
	case strings.HasPrefix(name, "mcp__"):
		return 0, jackline.Outside, true
	case strings.HasPrefix(name, "permissions_"), strings.HasPrefix(name, "settings_"), name == "app_api":
		return jackline.Configure, jackline.Ours, false
	case name == "web_search" || name == "web_fetch" || name == "weather":
		return jackline.Network, jackline.Outside, false
	case name == "file_read" || name == "grep":
		return jackline.Read, jackline.Workspace, true
	case name == "glob" || strings.HasPrefix(name, "list_"):
		return jackline.Read, jackline.Workspace, false
	case name == "job_output" || ends(name, "_read", "_search"):
		return jackline.Read, jackline.Outside, true
	case ends(name, "_delete"):
		return jackline.Delete, jackline.Ours, false
	case ends(name, "_send"):
		return jackline.Outward, jackline.Ours, false
	case strings.HasPrefix(name, "file_"), name == "make_dir" || name == "apply_patch" || name == "manage_mcp" || name == "job_kill",
		ends(name, "_write", "_edit", "_create", "_move"), strings.HasPrefix(name, "schedule_"), strings.HasPrefix(name, "skill_"):
		return jackline.Write, jackline.Ours, false
	}
	return jackline.Write | jackline.Delete | jackline.Exec | jackline.Outward, jackline.Outside, true
}

// define makes the tool of a stub.
func (x stub) define(aliases []string, missing func() string) tool.Tool {
	e, source, secret := kindOfStub(x.name)
	files := strings.HasPrefix(x.name, "file_") || slices.Contains([]string{"grep", "glob", "list_dir", "make_dir", "apply_patch"}, x.name)
	switch {
	case x.name == "shell" || x.name == "python":
		s := spec[shellStub](x, e, source, secret, aliases, missing)
		s.Sandbox = func(tool.In, shellStub) (jackline.Sandbox, error) {
			return jackline.Sandbox{Level: jackline.SandboxNamespaces}, nil
		}
		s.Touches = func(_ tool.In, a shellStub) ([]jackline.Touch, error) {
			if x.name == "python" {
				return []jackline.Touch{{Effect: jackline.Exec, Kind: "code", Name: a.Code}}, nil
			}
			ws := corpusWorld("").Workspace
			return builtin.Commanded(a.Command, ws, shell.Used(corpusWorld(a.Command))), nil
		}
		s.Facts = func(ctx context.Context, _ tool.In, a shellStub) ([]jackline.Fact, error) {
			var named []string // as the real tool does, in the folder that the case really has
			for _, read := range shell.Used(corpusWorld(a.Command)).Reads {
				if rel, ok := strings.CutPrefix(read, corpusWorld("").Workspace+"/"); ok {
					named = append(named, path.Join(x.s.dir, rel))
				}
			}
			return workspace.ObserveAt(ctx, named, true)
		}
		return tool.Define(s)
	case files:
		s := spec[fileStub](x, e, source, secret, aliases, missing)
		s.Touches = func(_ tool.In, a fileStub) (all []jackline.Touch, err error) {
			names := []string{a.Path, a.From, a.To}
			if x.name == "grep" || x.name == "glob" || x.name == "list_dir" {
				names = []string{path.Clean("./" + a.Path)}
				if strings.HasPrefix(a.Path, "/") || strings.HasPrefix(a.Path, "..") {
					names[0] = a.Path
				}
			}
			for _, n := range names {
				if n != "" {
					all = append(all, x.s.root.Touch(e, n)...)
				}
			}
			return all, nil
		}
		return tool.Define(s)
	}
	s := spec[otherStub](x, e, source, secret, aliases, missing)
	if strings.HasPrefix(x.name, "mcp__") {
		s.Connected = strings.Split(x.name, "__")[1]
	} else {
		s.Touches = func(in tool.In, a otherStub) ([]jackline.Touch, error) {
			switch x.name {
			case "web_fetch":
				return []jackline.Touch{{Effect: jackline.Network, Kind: "host", Name: hostOf(a.URL), Address: a.URL}}, nil
			case "web_search", "weather":
				return []jackline.Touch{{Effect: jackline.Network, Kind: "host", Name: "search.test:443", Service: true}}, nil
			case "run_agent":
				if in.Actor.Turn.Depth >= 2 {
					return nil, jackline.E("run_agent", jackline.Forbidden, nil, "There is no third level of agents.")
				}
			}
			return nil, nil
		}
	}
	return tool.Define(s)
}

func hostOf(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host + ":443"
}

func spec[A any](x stub, e jackline.Effect, source jackline.Integrity, secret bool, aliases []string, missing func() string) tool.Spec[A] {
	return tool.Spec[A]{
		Name: x.name, Aliases: aliases, Group: "stubs", Summary: "Stand for " + x.name + ".", Effect: e, Source: source, Secret: secret, Missing: missing, Pin: tool.PinSmall, Icon: "other",
		Cache: !x.s.c.noCache && !e.Acts() && x.name != "time" && e != jackline.Network && x.name != "run_agent" && x.name != "ask_user",
		Title: func(A) string { return "Stub " + x.name },
		Run: func(ctx context.Context, in tool.In, a A) (tool.Out, error) {
			raw, err := json.Marshal(a)
			if err != nil {
				return tool.Out{}, err
			}
			return x.s.reached(ctx, x.name, in, raw)
		},
	}
}

// corpusWorld is what the commands of the corpus stand in.
func corpusWorld(command string) shell.Script {
	return shell.Script{Text: command, Home: "/home/owner", Workspace: "/home/owner/ws", State: []string{"/home/owner/.agentstate"}}
}

// root opens the workspace of a case, with what the cases name in it.
func corpusRoot(t testing.TB, dir string) *workspace.Root {
	root, err := workspace.Open(dir, workspace.Options{State: []string{dir + "-state/.agentstate"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = root.Close() })
	return root
}
