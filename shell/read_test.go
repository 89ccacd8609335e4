package shell_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/jackline-ai/jackline/shell"
)

func script(text string) shell.Script {
	return shell.Script{Text: text, Home: "/home/owner", Workspace: "/home/owner/ws", State: []string{"/home/owner/.agentstate"}}
}

// What a judge is told of a text.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		shell, text                   string
		rule                          string
		readOnly, plain, searches, ok bool
	}{
		{text: "ls -l", readOnly: true, plain: true, searches: true, ok: true},
		{text: "cat a.txt | wc -l", readOnly: true, ok: true},
		{text: "grep x a.txt", readOnly: true, ok: true},
		{text: "grep -rn x .", readOnly: true, searches: true, ok: true},
		{text: "grep --recursive x .", readOnly: true, searches: true, ok: true},
		{text: "rg x", readOnly: true, searches: true, ok: true},
		{text: "git log -3", readOnly: true, ok: true},
		{text: "git grep x", readOnly: true, searches: true, ok: true},
		{text: "git --version", plain: true, ok: true},
		{text: "npm test", searches: true, ok: true},
		{text: "(npm test)", searches: true},
		{text: "rm -rf /", rule: "D1"},
		{text: "echo 'a", rule: "S1"},
		{text: "cat /home/owner/.agentstate/key", rule: "D13"},
		{shell: "powershell", text: "Get-ChildItem src", readOnly: true, searches: true, ok: true},
		{shell: "powershell", text: "Remove-Item C:\\ -Recurse", rule: "W1"},
		{shell: "cmd", text: "dir", readOnly: true, searches: true, ok: true},
		{shell: "cmd", text: "npm test %X%"},
		{shell: "fish", text: "ls", rule: "S1"},
	} {
		s := script(c.text)
		if s.Shell = c.shell; c.shell != "" {
			s.Home, s.Workspace = `C:\Users\owner`, `C:\Users\owner\ws`
		}
		r := shell.Read(s)
		if r.Rule != c.rule || (r.Refused != "") != (c.rule != "") || r.ReadOnly != c.readOnly || r.Plain != c.plain ||
			(r.Parts != nil) != c.ok || c.readOnly && r.Searches != c.searches {
			t.Errorf("%s %q: %+v", c.shell, c.text, r)
		}
	}
}

func TestUsed(t *testing.T) {
	u := shell.Used(script("cat a.txt /srv/x > out; rm old; curl https://a.test/; git add . && git config x y"))
	for _, c := range []struct{ have, want []string }{
		{u.Reads, []string{"/home/owner/ws/a.txt", "/srv/x"}}, {u.Writes, []string{"/home/owner/ws/out"}}, {u.Deletes, []string{"/home/owner/ws/old"}},
		{u.Hosts, []string{"a.test"}}, {u.Programs, []string{"cat", "rm", "curl", "git"}},
	} {
		for _, w := range c.want {
			if !slices.Contains(c.have, w) {
				t.Errorf("%q is not among %q", w, c.have)
			}
		}
	}
	if !u.Git || !u.Repository || !u.Settings {
		t.Errorf("%+v", u)
	}
	u = shell.Used(script("sh run.sh; ./tool"))
	if !slices.Contains(u.Files, "/home/owner/ws/tool") || !slices.Contains(slices.Concat(u.Files, u.Reads), "/home/owner/ws/run.sh") || u.Data || u.Cut {
		t.Errorf("%+v", u)
	}
	if u := shell.Used(script("cat a.txt")); !u.Data {
		t.Errorf("%+v", u)
	}
	many := "cat"
	for k := range 600 {
		many += fmt.Sprintf(" f%d", k)
	}
	if u := shell.Used(script(many)); !u.Cut {
		t.Errorf("it names more than %d files", len(u.Reads))
	}
	// In the grammar of its own shell: what a yes is bound to must be what was judged.
	ps := script("& ./run.ps1; Get-Content notes.txt | Set-Content out.txt")
	ps.Shell = "powershell"
	u = shell.Used(ps)
	if all := slices.Concat(u.Files, u.Reads); !slices.Contains(all, "/home/owner/ws/run.ps1") || !slices.Contains(all, "/home/owner/ws/notes.txt") {
		t.Errorf("%+v", u)
	}
	for text, want := range map[string][3]bool{
		"git status": {true, false, false}, "git -C x commit -m y": {true, true, false}, "git remote -v": {true, false, false}, "git remote": {true, false, false},
		"git remote add x y": {true, false, true}, "git config --list": {true, false, false}, "git config --list x y": {true, false, false}, "git config x y": {true, false, true}, "git $X": {true, false, true}, "ls": {}, "git push": {true, true, false}, "rm -rf /": {},
	} {
		if u := shell.Used(script(text)); [3]bool{u.Git, u.Repository, u.Settings} != want {
			t.Errorf("%q: %+v", text, u)
		}
	}
}

// A repository's settings that name a program, however they are written, and those that do not.
func TestGitHelper(t *testing.T) {
	for config, want := range map[string]string{
		"":     "",
		"\n\n": "",
		"[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n[remote \"origin\"]\n\turl = https://a.test/x\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch \"main\"]\n\tremote = origin\n": "",
		"[user]\n\tname = A\n":                           "",
		"[core]\n\tfsmonitor = ./evil.sh\n":              "core.fsmonitor",
		"[core]\n\tfsmonitor = true\n":                   "",
		"[core]\n\tfsmonitor = false\n":                  "",
		"[CORE]\n\tFsMonitor=evil\n":                     "core.fsmonitor",
		"[core] fsmonitor = evil\n":                      "core.fsmonitor",
		"[core]\n\tfsmon\\\nitor = evil\n":               "core.fsmonitor",
		"[core]\n\thooksPath = /tmp/h\n":                 "core.hookspath",
		"[core]\n\tpager = sh -c evil\n":                 "core.pager",
		"[core]\n\tsshCommand = evil\n":                  "core.sshcommand",
		"[diff]\n\texternal = evil\n":                    "diff.external",
		"[diff \"x\"]\n\ttextconv = evil\n":              "diff.textconv",
		"[diff \"x\"]\n\tcommand = evil\n":               "diff.command",
		"[filter \"lfs\"]\n\tclean = git-lfs clean %f\n": "filter.clean",
		"[filter \"x\"]\n\tprocess = evil\n":             "filter.process",
		"[attr]\n\ttree = HEAD\n":                        "attr.tree",
		"[include]\n\tpath = ../evil\n":                  "include.path",
		"[includeIf \"gitdir:x\"]\n\tpath = y\n":         "includeif.path",
		"[alias]\n\tst = !evil\n":                        "alias.st",
		"[pager]\n\tlog = evil\n":                        "pager.log",
		"[gpg]\n\tprogram = evil\n":                      "gpg.program",
		"[gpg \"ssh\"]\n\tprogram = evil\n":              "gpg.program",
		"[credential]\n\thelper = !evil\n":               "credential.helper",
		"[diff]\n\talgorithm = histogram\n":              "",
		"[core]\n# a comment \\\n\tfsmonitor = evil\n":   "core.fsmonitor",
		"# [core]\n; fsmonitor = evil\n":                 "",
		"[core\n\tfsmonitor = evil\n":                    "a line that cannot be read",
		"[merge \"x\"]\n\tdriver = evil %A\n":            "merge.driver",
		"[log]\n\tshowSignature = true\n":                "log.showsignature",
	} {
		if got := shell.GitHelper(config); got != want {
			t.Errorf("%q: %q, want %q", config, got, want)
		}
	}
}

// However a file of settings is written, one that names a program in a plain way is found in it.
func FuzzGitHelper(f *testing.F) {
	for _, s := range []string{"", "[core]\n", "[a \"b\"]\nx=y\\\n", "\x00[", "[core]x=1;", "[\"]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, before string) {
		if shell.GitHelper(before+"\n[core]\n\tfsmonitor = evil\n") == "" {
			t.Errorf("%q hides it", before)
		}
	})
}
