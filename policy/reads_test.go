package policy_test

import (
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/policy"
	"github.com/jackline-ai/jackline/shell"
)

// What counts as a command that only reads hangs on what holds it, and on everything that the call touches.
func TestOnlyReads(t *testing.T) {
	p := policy.New(policy.Config{ReadShell: shell.Read})
	held := jackline.Sandbox{Level: jackline.SandboxNamespaces}
	command := func(text string, more ...jackline.Touch) []jackline.Touch {
		return append([]jackline.Touch{{Effect: jackline.Exec, Kind: "command", Name: text}}, more...)
	}
	read := jackline.Touch{Effect: jackline.Read | jackline.Exec, Kind: "path", Name: "a.txt"}
	write := jackline.Touch{Effect: jackline.Write | jackline.Exec, Kind: "path", Name: "b.txt"}
	doubt := command("git status")
	doubt[0].Doubt = "The settings name a program."
	for name, c := range map[string]struct {
		touches []jackline.Touch
		sandbox jackline.Sandbox
		effect  jackline.Effect
		want    bool
	}{
		"a file, held":        {command("cat a.txt", read), held, jackline.Exec | jackline.Read, true},
		"a file, not held":    {command("cat a.txt", read), jackline.Sandbox{}, jackline.Exec | jackline.Read, false},
		"no file, not held":   {command("pwd"), jackline.Sandbox{}, jackline.Exec | jackline.Read, true},
		"git, held":           {command("git status"), held, jackline.Exec | jackline.Read, true},
		"git in doubt":        {doubt, held, jackline.Exec | jackline.Read, false},
		"it writes":           {command("cat a.txt > b.txt", read, write), held, jackline.Exec | jackline.Read, false},
		"a touch that writes": {command("cat a.txt", write), held, jackline.Exec | jackline.Read, false},
		"a tool that writes":  {command("cat a.txt", read), held, jackline.Exec | jackline.Write, false},
		"two commands":        {append(command("cat a.txt"), command("make")...), held, jackline.Exec, false},
		"code":                {[]jackline.Touch{{Effect: jackline.Exec, Kind: "code", Name: "print(1)"}}, held, jackline.Exec, false},
		"unknown program":     {command("make"), held, jackline.Exec | jackline.Read, false},
		"nothing":             {nil, held, jackline.Exec, false},
		"no command":          {[]jackline.Touch{read}, held, jackline.Read, false},
	} {
		who := jackline.Actor{Session: jackline.Session{Workspace: "/w"}}
		i := jackline.Intent{Actor: who, Effect: c.effect, Touches: c.touches, Sandbox: c.sandbox}
		if got := p.OnlyReads(i); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
