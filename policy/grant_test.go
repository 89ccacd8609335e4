package policy_test

import (
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/policy"
)

// granting is a policy with everything switched on.
func granting() *policy.Policy {
	return policy.New(config()).With(jackline.Permissions{Toggles: jackline.AllOn})
}

// call is a model's call in a chat that may read.
func call(tool string, e jackline.Effect, touches ...jackline.Touch) jackline.Intent {
	i := jackline.Intent{Tool: tool, Effect: e, Touches: touches}
	i.Actor.Source, i.Actor.Session.Mode = jackline.FromModel, jackline.ModeAllowReads
	return i
}

// TestGrant says which patterns a person may put in the place of the one on a card.
func TestGrant(t *testing.T) {
	p := granting()
	shell := func(command string) jackline.Intent {
		return call("shell", jackline.Exec, jackline.Touch{Effect: jackline.Exec, Kind: "command", Name: command})
	}
	write := call("file_write", jackline.Write, jackline.Touch{Effect: jackline.Write, Kind: "path", Name: "src/a/x.go"})
	fetch := call("web_fetch", jackline.Network, jackline.Touch{Effect: jackline.Network, Kind: "host", Name: "docs.example.org:443"})
	fetch.Actor.Session.Mode = jackline.ModeAsk
	for _, c := range []struct {
		pattern string
		i       jackline.Intent
		want    bool
	}{
		{"shell(npm run lint)", shell("npm run lint"), true}, {"shell(npm run *)", shell("npm run lint"), true}, {"shell(npm run li*)", shell("npm run lint"), true},
		{"shell(npm *)", shell("npm run lint"), false}, {"shell(*)", shell("npm run lint"), false}, {"shell(n* run lint)", shell("npm run lint"), false},
		{"shell", shell("npm run lint"), false}, {"*", shell("npm run lint"), false}, {"sh*(npm run *)", shell("npm run lint"), false},
		{"shell(npm run lint", shell("npm run lint"), false}, {"shell(npm test *)", shell("npm run lint"), false}, {"shell(npm -g *)", shell("npm -g install x"), false},
		{"shell(npm run *)", shell("npm run lint && rm -r x"), false}, {"shell(npm run *)", shell("npm run $X"), false}, {"python(npm run *)", shell("npm run lint"), false},
		{"file_write(src/**)", write, true}, {"file_write(src/a/*)", write, true}, {"file_write(**)", write, false}, {"file_write(*/a/*)", write, false},
		{"file_write(src/b/**)", write, false}, {"file_write(/src/**)", write, false}, {"file_write(s*/**)", write, false}, {"file_write", write, false},
		{"file_edit(src/**)", write, false}, {"web_fetch(host:docs.example.org)", fetch, true}, {"web_fetch(host:*.example.org)", fetch, true},
		{"web_fetch(host:*.org)", fetch, false}, {"web_fetch(host:*)", fetch, false}, {"web_fetch(host:example.org)", fetch, false},
	} {
		if err := p.Grant(c.pattern, c.i); (err == nil) != c.want || err != nil && jackline.Say(err) == "" {
			t.Errorf("%s for %v: %v, want %v", c.pattern, c.i.Touches, err, c.want)
		}
	}
}

// TestRulesOfWorkspaces: a rule with a workspace holds in its chats only, whatever it says.
func TestRulesOfWorkspaces(t *testing.T) {
	here := call("file_write", jackline.Write, jackline.Touch{Effect: jackline.Write, Kind: "path", Name: "a"})
	here.Actor.Session.Workspace = "/here"
	there := here
	there.Actor.Session.Workspace = "/here/not"
	for do, other := range map[jackline.Verdict]jackline.Verdict{jackline.Allow: jackline.Ask, jackline.Deny: jackline.Ask} {
		p := granting().With(jackline.Permissions{Toggles: jackline.AllOn, Rules: []jackline.Rule{{Do: do, Pattern: "file_write(a)", Workspace: "/here"}}})
		if d := p.Judge(here); d.Verdict != do {
			t.Errorf("%s: in its workspace %+v", do, d)
		}
		if d := p.Judge(there); d.Verdict != other {
			t.Errorf("%s: in another %+v", do, d)
		}
	}
	if faults := granting().CheckRules([]jackline.Rule{{Do: jackline.Allow, Pattern: "file_write(a)", Workspace: "here"}}); len(faults) != 1 {
		t.Errorf("a workspace that is no path: %v", faults)
	}
}
