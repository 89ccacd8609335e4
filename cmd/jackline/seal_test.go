package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/cmd/jackline/settings"
	"github.com/jackline-ai/jackline/tool"
)

// A sealing is a call that somebody allowed, in the real program: its store, desk, policy, workspace and tools.
type sealing struct {
	t    *testing.T
	home *home
	app  *app
	who  jackline.Actor
	call jackline.Call
	row  jackline.ApprovalID
}

// newSealing makes a workspace with something to run and to change in it, and asks for a call.
func newSealing(t *testing.T, name string, args map[string]any) *sealing {
	t.Helper()
	s := &sealing{t: t, home: newHome(t, "http://127.0.0.1:1", "text")}
	bin := filepath.Join(filepath.Dir(s.home.ws), "bin")
	s.file("ran.sh", "#!/bin/sh\necho ran >> out\n")
	s.file("ran.py", "open('out', 'a').write('ran')\n")
	s.file("sub/more.sh", "echo ran >> ../out\n")
	s.file("tool", "#!/bin/sh\necho ran >> out\n")
	s.file("Makefile", "all:\n\techo ran >> out\n")
	s.file("a.txt", "old\n")
	s.file("b.txt", "other\n")
	s.file("folder/x", "x\n")
	s.at(filepath.Join(bin, "greet"), "#!/bin/sh\necho ran >> out\n")
	s.at(filepath.Join(bin, "python3"), "#!/bin/sh\nexec /usr/bin/python3 \"$@\"\n")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("SEAL_MATRIX", "before")
	t.Setenv("SEAL_API_TOKEN", "before") // its name keeps it from commands, but for the setting
	s.home.env["JACKLINE_SANDBOX_KEEP_ENV"] = "SEAL_API_TOKEN"
	s.open()
	if r := s.app.cells.Report(); name == "python" && r.Level == jackline.SandboxNone {
		t.Skip("code runs in a sandbox alone, and there is none here: " + r.Why)
	}
	ctx := t.Context()
	session, err := s.app.db.CreateSession(ctx, jackline.Local, jackline.Session{
		ID: jackline.NewID[jackline.SessionID]("s_"), Workspace: s.home.ws, Mode: jackline.ModeAsk,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.who = jackline.Actor{Owner: jackline.Local, Session: session, Source: jackline.FromModel}
	s.who.Turn = s.turn(session.ID)
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	s.call = jackline.Call{
		ID: jackline.NewID[jackline.CallID]("c_"), Session: session.ID, Turn: s.who.Turn.ID, Step: 1, Asked: name, Name: name, Args: raw,
		State: jackline.CallNew,
	}
	s.keep(jackline.Record{Session: session.ID, Calls: []jackline.Call{s.call}})
	d := s.do()
	if d.Wait == "" {
		t.Fatalf("%s %s did not ask: %s %q", name, raw, d.Call.Outcome, d.Call.Text)
	}
	s.call, s.row = d.Call, d.Wait
	if _, err := s.app.desk.Answer(ctx, jackline.Local, s.row, jackline.Answer{Yes: true, Scope: jackline.Once, By: "page"}, nil); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sealing) turn(id jackline.SessionID) jackline.Turn {
	s.t.Helper()
	t := jackline.Turn{
		ID: jackline.NewID[jackline.TurnID]("t_"), Session: id, Owner: jackline.Local, Status: jackline.Running,
		Options: jackline.TurnOptions{OnAsk: jackline.AskWait},
	}
	s.keep(jackline.Record{Session: id, Turn: &t})
	return t
}

func (s *sealing) keep(r jackline.Record) {
	s.t.Helper()
	if _, err := s.app.db.Append(s.t.Context(), jackline.Local, r); err != nil {
		s.t.Fatal(err)
	}
}

// open opens the program; again, it is a restart.
func (s *sealing) open() {
	s.t.Helper()
	m := &Main{Env: func(k string) string { return s.home.env[k] }, In: strings.NewReader(""), Out: newPrinted(), Err: newPrinted()}
	conf, err := settings.Load(m.Env, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := m.openApp(s.t.Context(), conf, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	s.app = a
	s.t.Cleanup(func() {
		if s.app == a {
			a.close(context.Background())
		}
	})
}

func (s *sealing) restart() {
	s.t.Helper()
	s.app.close(s.t.Context())
	s.app = nil
	s.open()
	// What the program reads of its own log when it takes a turn up.
	var err error
	if s.call, err = s.app.db.Call(s.t.Context(), jackline.Local, s.call.ID); err != nil {
		s.t.Fatal(err)
	}
}

// do takes the call as far as it comes, by the session, turn and owner that stand in who.
func (s *sealing) do() tool.Done {
	s.t.Helper()
	// The surroundings of the program are read when a workspace is opened.
	s.app.mu.Lock()
	delete(s.app.roots, s.home.ws)
	s.app.mu.Unlock()
	gate, err := s.app.gate(s.who.Session)
	if err != nil {
		s.t.Fatal(err)
	}
	d, err := gate.Do(s.t.Context(), tool.Request{Who: s.who, Call: s.call})
	if err != nil {
		s.t.Logf("the gate: %v", err)
	}
	return d
}

func (s *sealing) file(name, text string) {
	s.at(filepath.Join(s.home.ws, filepath.FromSlash(name)), text)
}

func (s *sealing) at(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		s.t.Fatal(err)
	}
}

// swap puts another file, of the same text, in the place of one.
func (s *sealing) swap(name string) {
	s.t.Helper()
	path := filepath.Join(s.home.ws, filepath.FromSlash(name))
	text, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	s.at(path+".new", string(text))
	if err := os.Rename(path+".new", path); err != nil {
		s.t.Fatal(err)
	}
}

// world is all that a call could have done: the names, kinds and contents of the workspace.
func (s *sealing) world() string {
	s.t.Helper()
	var b strings.Builder
	err := filepath.Walk(s.home.ws, func(p string, i os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(s.home.ws, p)
		b.WriteString(rel + " " + i.Mode().Type().String())
		if i.Mode().IsRegular() {
			text, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			b.WriteString(" " + string(text))
		}
		b.WriteString("\n")
		return nil
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return b.String()
}

// set stores a setting, as the API does.
func (s *sealing) set(key, value string) {
	s.t.Helper()
	if err := s.app.set.Put(s.t.Context(), jackline.Local, map[string]json.RawMessage{key: json.RawMessage(value)}); err != nil {
		s.t.Fatal(err)
	}
}

// A sealed call and what of the world it hangs on.
var sealedCalls = map[string]struct {
	tool    string
	args    map[string]any
	changes []string
}{
	"script":     {"shell", map[string]any{"command": "sh ran.sh"}, []string{"script", "same script, another file", "script is a link", "cwd", "env", "PATH", "shell in PATH"}},
	"pattern":    {"shell", map[string]any{"command": "sh ra*.sh"}, []string{"script", "same script, another file", "another match"}},
	"for":        {"shell", map[string]any{"command": "for f in ra?.sh; do sh $f; done"}, []string{"script", "another match"}},
	"BASH_ENV":   {"shell", map[string]any{"command": "BASH_ENV=ran.sh bash -c true"}, []string{"script"}},
	"module":     {"shell", map[string]any{"command": "python3 -m ran"}, []string{"module", "another module"}},
	"script in":  {"shell", map[string]any{"command": "cd sub && sh more.sh"}, []string{"script in a folder", "cwd", "env"}},
	"cwd":        {"shell", map[string]any{"command": "sh more.sh", "cwd": "sub"}, []string{"script in a folder", "folder", "folder is a link", "cwd"}},
	"executable": {"shell", map[string]any{"command": "./tool"}, []string{"executable", "cwd", "env", "kept env"}},
	"python":     {"python", map[string]any{"code": "open('out', 'a').write('ran\\n')"}, []string{"interpreter", "interpreter in PATH", "cwd", "env", "kept env", "PATH"}},
	"PATH":       {"shell", map[string]any{"command": "greet"}, []string{"executable in PATH", "PATH", "another of the name", "env"}},
	"manifest":   {"shell", map[string]any{"command": "make"}, []string{"manifest", "another manifest", "cwd"}},
	"write":      {"file_write", map[string]any{"path": "a.txt", "content": "new\n"}, []string{"target", "same target, another file", "target is a link", "target is gone", "target is a folder"}},
	"create":     {"file_write", map[string]any{"path": "new.txt", "content": "new\n"}, []string{"target appears"}},
	"edit":       {"file_edit", map[string]any{"path": "a.txt", "old": "old", "new": "new"}, []string{"target", "same target, another file", "target is a link", "target is gone"}},
	"patch": {"apply_patch", map[string]any{"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** Delete File: b.txt\n*** End Patch\n"},
		[]string{"target", "same target, another file", "second target", "target is a link"}},
	"delete":        {"file_delete", map[string]any{"path": "a.txt"}, []string{"target", "same target, another file", "target is a link", "target is gone", "target is a folder"}},
	"delete folder": {"file_delete", map[string]any{"path": "folder", "all": true}, []string{"more in the folder", "other in the folder", "folder to delete is another"}},
	"move":          {"file_move", map[string]any{"from": "a.txt", "to": "new.txt"}, []string{"target", "same target, another file", "target appears", "target is a link"}},
	"move onto":     {"file_move", map[string]any{"from": "b.txt", "to": "a.txt"}, []string{"target", "second target", "same target, another file"}},
	"copy":          {"file_copy", map[string]any{"from": "b.txt", "to": "a.txt"}, []string{"target", "same target, another file", "source is another"}},
}

// sealAlways are changes that end every approval.
var sealAlways = []string{"argument", "owner", "session", "turn", "policy: a rule asks", "policy: switched off", "policy: disabled", "the row is another's"}

// sealChange makes one change.
func sealChange(s *sealing, what string) {
	t := s.t
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ws := func(name string) string { return filepath.Join(s.home.ws, name) }
	link := func(name, to string) { must(os.Remove(ws(name))); must(os.Symlink(to, ws(name))) }
	bin := filepath.Join(filepath.Dir(s.home.ws), "bin")
	switch what {
	case "script":
		s.file("ran.sh", "#!/bin/sh\necho evil >> out\n")
	case "same script, another file":
		s.swap("ran.sh")
	case "script is a link":
		s.file("evil.sh", "echo evil >> out\n")
		link("ran.sh", "evil.sh")
	case "another match":
		s.file("raw.sh", "echo evil >> out\n")
	case "module":
		s.file("ran.py", "open('out', 'a').write('evil')\n")
	case "another module":
		s.file("ran/__main__.py", "open('out', 'a').write('evil')\n")
	case "script in a folder":
		s.file("sub/more.sh", "echo evil >> ../out\n")
	case "executable":
		s.file("tool", "#!/bin/sh\necho evil >> out\n")
	case "executable in PATH":
		s.at(filepath.Join(bin, "greet"), "#!/bin/sh\necho evil >> out\n")
	case "another of the name", "PATH":
		s.at(filepath.Join(bin+"2", "greet"), "#!/bin/sh\necho evil >> out\n")
		t.Setenv("PATH", bin+"2"+string(os.PathListSeparator)+os.Getenv("PATH"))
	case "shell in PATH":
		s.at(filepath.Join(bin, "sh"), "#!/bin/sh\necho evil >> out\n")
	case "env":
		t.Setenv("SEAL_MATRIX", "after")
	case "kept env":
		t.Setenv("SEAL_API_TOKEN", "after")
	case "interpreter":
		s.at(filepath.Join(bin, "python3"), "#!/bin/sh\necho evil >> out\n")
	case "interpreter in PATH":
		s.at(filepath.Join(bin+"2", "python3"), "#!/bin/sh\necho evil >> out\n")
		t.Setenv("PATH", bin+"2"+string(os.PathListSeparator)+os.Getenv("PATH"))
	case "manifest":
		s.file("Makefile", "all:\n\techo evil >> out\n")
	case "another manifest":
		s.file("GNUmakefile", "all:\n\techo evil >> out\n")
	case "cwd":
		must(os.Rename(s.home.ws, s.home.ws+".old"))
		must(os.CopyFS(s.home.ws, os.DirFS(s.home.ws+".old")))
	case "folder":
		must(os.Rename(ws("sub"), ws("sub.old")))
		s.file("sub/more.sh", "echo ran >> ../out\n")
	case "folder is a link":
		must(os.Rename(ws("sub"), ws("sub.old")))
		must(os.Symlink("sub.old", ws("sub")))
	case "target":
		s.file("a.txt", "old, and more\n")
	case "second target":
		s.file("b.txt", "another\n")
	case "same target, another file":
		s.swap("a.txt")
	case "source is another":
		s.swap("b.txt")
	case "target is a link":
		link("a.txt", "b.txt")
	case "target is gone":
		must(os.Remove(ws("a.txt")))
	case "target is a folder":
		must(os.Remove(ws("a.txt")))
		must(os.Mkdir(ws("a.txt"), 0o755))
	case "target appears":
		s.file("new.txt", "somebody's\n")
	case "more in the folder":
		s.file("folder/precious", "x\n")
	case "other in the folder":
		s.file("folder/x", "changed\n")
	case "folder to delete is another":
		must(os.Rename(ws("folder"), ws("folder.old")))
		s.file("folder/x", "x\n")
	case "argument":
		s.call.Args = json.RawMessage(strings.Replace(string(s.call.Args), `"}`, `x"}`, 1))
		if a, err := s.app.db.Approval(t.Context(), jackline.Local, s.row); err != nil || string(a.Args) == string(s.call.Args) {
			s.call.Args = json.RawMessage(`{"path":"folder"}`)
		}
		s.call.ID = jackline.NewID[jackline.CallID]("c_")
		s.call.State = jackline.CallNew
		s.keep(jackline.Record{Session: s.call.Session, Calls: []jackline.Call{s.call}})
	case "owner":
		s.who.Owner, s.who.Session.Owner, s.who.Turn.Owner = "eve", "eve", "eve"
	case "session":
		other, err := s.app.db.CreateSession(t.Context(), jackline.Local, jackline.Session{
			ID: jackline.NewID[jackline.SessionID]("s_"), Workspace: s.home.ws, Mode: jackline.ModeAsk,
		})
		must(err)
		s.who.Session = other
	case "turn":
		s.who.Turn = s.turn(s.who.Session.ID)
	case "policy: a rule asks":
		s.set("permissions.rules", `[{"do":"ask","pattern":"glob"}]`)
	case "policy: switched off":
		s.set("permissions.toggles.network", `false`)
	case "policy: disabled":
		s.set("tools.disabled", `["grep"]`)
	case "the row is another's":
		// Somebody who can write into the store, but has no key of the desk, turns another row's yes into one to this.
		a, err := s.app.db.Approval(t.Context(), jackline.Local, s.row)
		must(err)
		forged := a
		forged.ID, forged.Facts = jackline.NewID[jackline.ApprovalID]("a_"), nil
		s.keep(jackline.Record{Session: a.Session, Approvals: []jackline.Approval{forged}})
	default:
		t.Fatalf("there is no change %q", what)
	}
}

// TestSealMatrix changes one thing between the card and the run of a call that a person allowed, with and without a restart of the
// program in between: nothing is executed, ever. Where nothing is changed it is, so that each cell could have failed.
func TestSealMatrix(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts of this test are written for a Unix shell")
	}
	cells := 0
	for name, c := range sealedCalls {
		if c.tool == "python" || name == "module" {
			if _, err := os.Stat("/usr/bin/python3"); err != nil {
				t.Log("there is no /usr/bin/python3: its rows are left out")
				continue
			}
		}
		for _, restart := range []bool{false, true} {
			label := name
			if restart {
				label += ", after a restart"
			}
			t.Run(label+"/nothing", func(t *testing.T) {
				s := newSealing(t, c.tool, c.args)
				before := s.world()
				if restart {
					s.restart()
				}
				if d := s.do(); d.Call.Outcome != jackline.OK || d.Call.State != jackline.CallEnded {
					t.Fatalf("it did not run: %s %s %q, %+v", d.Call.State, d.Call.Outcome, d.Call.Text, d)
				}
				if s.world() == before {
					t.Error("it did nothing")
				}
			})
			for _, what := range append(append([]string(nil), c.changes...), sealAlways...) {
				cells++
				t.Run(label+"/"+what, func(t *testing.T) {
					s := newSealing(t, c.tool, c.args)
					change := func() { sealChange(s, what) }
					if restart && what != "session" && what != "turn" && what != "owner" && what != "argument" {
						change()
						s.restart()
					} else {
						if restart {
							s.restart()
						}
						change()
					}
					before := s.world()
					d := s.do()
					if d.Call.Outcome == jackline.OK && d.Call.State == jackline.CallEnded {
						t.Errorf("it ran: %q", d.Call.Text)
					}
					if after := s.world(); after != before {
						t.Errorf("something was done:\n%s\nwas\n%s", after, before)
					}
					if a, err := s.app.db.Approval(t.Context(), jackline.Local, s.row); err != nil || a.State == jackline.Used {
						t.Errorf("the yes was used: %v %v", a.State, err)
					}
				})
			}
		}
	}
	if !t.Failed() {
		t.Logf("%d cells, nothing executed in any", cells)
	}
}
