package shell

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ruled is a command and the verdict that the rules give it.
type ruled struct{ ID, Shell, Command, Want, Why string }

// TestCorpusShell judges every case of the corpus of commands. JACKLINE_CASES names another folder with a shell.jsonl.
func TestCorpusShell(t *testing.T) {
	dir := os.Getenv("JACKLINE_CASES")
	if dir == "" {
		dir = filepath.Join("..", "testdata", "cases")
	}
	judgeAll(t, filepath.Join(dir, "shell.jsonl"))
}

// TestRules judges cases of our own, written from each sentence of the rules.
func TestRules(t *testing.T) { judgeAll(t, filepath.Join("testdata", "rules.jsonl")) }

// worldOf is what stands around a command of the corpus.
func worldOf(shell string) (World, Dialect) {
	w := World{
		Home: "/home/owner", Workspace: "/home/owner/ws", Dir: "/home/owner/ws", State: []string{"/home/owner/.agentstate"}, User: "owner",
	}
	d := map[string]Dialect{"sh": Bash, "powershell": PowerShell, "cmd": Cmd}[shell]
	if d != Bash {
		w.Home, w.Workspace, w.Dir, w.State = `C:\Users\owner`, `C:\Users\owner\ws`, `C:\Users\owner\ws`, []string{`C:\Users\owner\.agentstate`}
	}
	return w, d
}

// judgeAll judges each line of a file of cases. None of the commands is ever run.
func judgeAll(t *testing.T, name string) {
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	const slow = 50 * time.Millisecond
	for line := range strings.Lines(string(text)) {
		var c ruled
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		t.Run(c.ID, func(t *testing.T) {
			w, d := worldOf(c.Shell)
			got := Judge(c.Command, w, d)
			if got.Verdict.String() != c.Want {
				t.Errorf("%q is %v (%s %s), want %s: %s", c.Command, got.Verdict, got.Rule, got.Why, c.Want, c.Why)
			}
			if got.Verdict == Denied && (got.Rule == "" || got.Why == "") {
				t.Errorf("%q is refused without a reason", c.Command)
			}
			if d := quickest(func() { Judge(c.Command, w, d) }, slow); d > slow {
				t.Errorf("%q took %v", c.Command, d)
			}
		})
	}
}
