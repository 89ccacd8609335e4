package policy_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/policy"
)

// A world is everything that a judgement depends on.
type world struct {
	intent   jackline.Intent
	settings jackline.Permissions
	root     bool
}

func (w world) judge() jackline.Decision {
	c := config()
	c.Root = w.root
	return policy.New(c).With(w.settings).Judge(w.intent)
}

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func randomTouch(r *rand.Rand) jackline.Touch {
	switch r.IntN(3) {
	case 0:
		return jackline.Touch{Kind: "command", Effect: jackline.Exec,
			Name: pick(r, "ls", "npm test", "ls && npm test", "rm $X", "(rm x)", "echo 'a", "git status | cat")}
	case 1:
		return jackline.Touch{Kind: "host", Effect: pick(r, jackline.Network, jackline.Outward),
			Name: pick(r, "example.org:443", "a.example.org", "h"), Address: pick(r, "", "https://a.test/"), Service: r.IntN(2) == 0}
	}
	t := jackline.Touch{Kind: "path", Effect: pick(r, jackline.Read, jackline.Write, jackline.Delete, jackline.Read|jackline.Write),
		Name: pick(r, "a", "src/b", "../c", "."), Exists: r.IntN(2) == 0}
	if r.IntN(20) == 0 {
		t.Refused = "It is refused."
	}
	return t
}

func randomRule(r *rand.Rand, do jackline.Verdict) jackline.Rule {
	return jackline.Rule{Do: do, EvenTainted: r.IntN(2) == 0, Pattern: pick(r,
		"shell", "bash(npm test*)", "shell(ls*)", "shell(rm *)", "shell(git *)", "shell(*)", "shell(cat)",
		"file_write", "file_*", "file_write(src/**)", "file_write(a)", "web_fetch(host:*.example.org)",
		"web_fetch(host:*)", "mcp__*", "*", "broken(")}
}

func randomWorld(r *rand.Rand) world {
	var w world
	w.intent = jackline.Intent{
		Tool:   pick(r, "shell", "file_write", "file_read", "web_fetch", "mcp__x__y", "calculator"),
		Effect: jackline.Effect(r.IntN(256)),
	}
	w.intent.Labels = jackline.Labels{Tainted: r.IntN(2) == 0, Private: r.IntN(2) == 0}
	w.intent.Sandbox.Level = jackline.SandboxLevel(r.IntN(3))
	if r.IntN(3) == 0 {
		w.intent.Said, w.intent.Found = []string{pick(r, "https://a.test/", "x")}, []string{pick(r, "https://a.test/", "y")}
	}
	a := &w.intent.Actor
	a.Admin, a.Session.Ungated = r.IntN(4) > 0, r.IntN(4) == 0
	a.Session.Mode = jackline.Mode(r.IntN(5))
	a.Source = pick(r, jackline.FromModel, jackline.FromAgent, jackline.FromUser, jackline.FromAPI, "")
	a.Turn.Options.Plan, a.Turn.Options.Guide, a.Turn.Options.AskFirst = r.IntN(8) == 0, r.IntN(12) == 0, r.IntN(8) == 0
	for range r.IntN(3) {
		w.intent.Touches = append(w.intent.Touches, randomTouch(r))
	}
	for range r.IntN(3) {
		a.Turn.Options.Allow = append(a.Turn.Options.Allow, randomRule(r, jackline.Allow))
	}
	w.settings.Toggles = jackline.AllOn
	if r.IntN(6) == 0 {
		w.settings.Toggles.WriteFiles = false
	}
	for range r.IntN(4) {
		w.settings.Rules = append(w.settings.Rules, randomRule(r, jackline.Verdict(r.IntN(3))))
	}
	return w
}

// TestNeverLoosens: whatever makes a call worse, or adds a limit, never loosens the verdict.
func TestNeverLoosens(t *testing.T) {
	r := rand.New(rand.NewPCG(7717, 1))
	worse := map[string]func(*world){
		"a deny rule more": func(w *world) { w.settings.Rules = append(w.settings.Rules, randomRule(r, jackline.Deny)) },
		"an ask rule more": func(w *world) { w.settings.Rules = append(w.settings.Rules, randomRule(r, jackline.Ask)) },
		"one effect more": func(w *world) {
			if w.intent.Effect != 0 { // any effect is better than an unknown one
				w.intent.Effect |= 2 << r.IntN(7)
			}
		},
		"one touch more": func(w *world) {
			more, named := randomTouch(r), jackline.Effect(0)
			for _, t := range w.intent.Touches {
				named |= t.Effect
			}
			if more.Effect&w.intent.Effect&^named == 0 { // to name what was only declared may free it
				w.intent.Touches = append(w.intent.Touches, more)
			}
		},
		"an unknown effect": func(w *world) {
			if w.intent.Actor.Session.Mode != jackline.ModeAllowAll { // see the table
				w.intent.Effect |= 1 << 12
			}
		},
		"a lower level": func(w *world) { w.intent.Sandbox.Level = max(0, w.intent.Sandbox.Level-1) },
		"a leak":        func(w *world) { w.intent.Sandbox.Leaks = "It leaks." },
		"a host opened": func(w *world) { w.intent.Sandbox.Hosts = []string{"a.test:443"} },
		"a folder outside opened": func(w *world) {
			w.intent.Sandbox.Write = []string{"/srv/x"}
		},
		"the gate on":  func(w *world) { w.intent.Actor.Session.Ungated = false },
		"nothing said": func(w *world) { w.intent.Said, w.intent.Found = nil, nil },
		"a server's":   func(w *world) { w.intent.Connected = "x" },
		"a member":     func(w *world) { w.intent.Actor.Admin = false },
		"root":         func(w *world) { w.root = true },
		"something outside": func(w *world) {
			w.intent.Touches = append(w.intent.Touches, jackline.Touch{Kind: "path", Effect: jackline.Exec | jackline.Read, Name: "/srv/x", Asks: "It lies outside."})
			if w.intent.Effect != 0 {
				w.intent.Effect |= jackline.Exec
			}
		},
		"a doubt": func(w *world) {
			for k := range w.intent.Touches {
				w.intent.Touches[k].Doubt = "It is doubtful."
			}
		},
		"no rule for tainted": func(w *world) {
			for k := range w.settings.Rules {
				w.settings.Rules[k].EvenTainted = false
			}
		},
		"tainted":        func(w *world) { w.intent.Labels.Tainted = true },
		"private":        func(w *world) { w.intent.Labels.Private = true },
		"plan":           func(w *world) { w.intent.Actor.Turn.Options.Plan = true },
		"guide":          func(w *world) { w.intent.Actor.Turn.Options.Guide = true },
		"ask-first":      func(w *world) { w.intent.Actor.Turn.Options.AskFirst = true },
		"offline":        func(w *world) { w.intent.Actor.Turn.Options.Offline = true },
		"a category off": func(w *world) { w.settings.Toggles.RunShell = false },
		"files not read": func(w *world) { w.settings.Toggles.ReadFiles = false },
		"no network":     func(w *world) { w.settings.Toggles.Network = false },
		"a tool switched off": func(w *world) {
			w.settings.Disabled = append(w.settings.Disabled, pick(r, "shell", "file_*", w.intent.Tool))
		},
		"no rights of the turn": func(w *world) { w.intent.Actor.Turn.Options.Allow = nil },
		"the mode ask": func(w *world) {
			if w.intent.Actor.Session.Mode != jackline.ModePlan {
				w.intent.Actor.Session.Mode = jackline.ModeAsk
			}
		},
		"a refused touch": func(w *world) {
			if len(w.intent.Touches) > 0 {
				w.intent.Touches[0].Refused = "No."
			}
		},
	}
	for n := range 1500 {
		w := randomWorld(r)
		before := w.judge()
		for name, change := range worse {
			v := w
			v.settings.Rules = append([]jackline.Rule(nil), w.settings.Rules...)
			v.intent.Touches = append([]jackline.Touch(nil), w.intent.Touches...)
			change(&v)
			after := v.judge()
			if after.Verdict > before.Verdict || before.Hard && !after.Hard {
				t.Fatalf("case %d: %s loosens %+v to %+v\nbefore: %+v\nafter:  %+v", n, name, before, after, w, v)
			}
		}
	}
}

// TestExplainAgrees: the decision is among the answers, no answer refuses what is allowed, and nothing is said twice.
func TestExplainAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(7717, 2))
	for range 1500 {
		w := randomWorld(r)
		p := policy.New(config()).With(w.settings)
		d, all := p.Judge(w.intent), p.Explain(w.intent)
		seen := map[string]bool{}
		found := false
		for _, e := range all {
			key := fmt.Sprint(e)
			if seen[key] {
				t.Fatalf("said twice: %v in %v", e, all)
			}
			seen[key] = true
			found = found || e == d
			if e.Verdict == jackline.Deny && d.Verdict != jackline.Deny {
				t.Fatalf("%v although %v", d, e)
			}
			if e.Rule == "" || e.Reason == "" {
				t.Fatalf("%+v names no rule or no reason", e)
			}
		}
		if !found {
			t.Fatalf("%v is not among %v", d, all)
		}
	}
}

// TestZeroDenies: a policy without settings allows only what is pure, and one without a reader runs no command.
func TestZeroDenies(t *testing.T) {
	i := jackline.Intent{Tool: "x"}
	i.Actor.Session.Mode = jackline.ModeAllowAll
	for e := range jackline.Effect(1 << 9) {
		i.Effect = e
		d := new(policy.Policy).Judge(i)
		if want := e == jackline.Pure; (d.Verdict == jackline.Allow) != want {
			t.Errorf("%v: %v", e, d)
		}
	}
	i.Effect, i.Touches = jackline.Exec, []jackline.Touch{{Kind: "command", Effect: jackline.Exec, Name: "ls"}}
	p := policy.New(policy.Config{}).With(jackline.Permissions{Toggles: jackline.AllOn})
	if d := p.Judge(i); d.Verdict != jackline.Deny || d.Rule != "command-text" {
		t.Errorf("a command that nobody read: %v", d)
	}
}

func BenchmarkJudge(b *testing.B) {
	w := world{settings: jackline.Permissions{Toggles: jackline.AllOn}}
	w.intent = jackline.Intent{Tool: "shell", Effect: jackline.Exec,
		Touches: []jackline.Touch{{Kind: "command", Effect: jackline.Exec, Name: "npm test"}}}
	for range 10 {
		w.settings.Rules = append(w.settings.Rules, jackline.Rule{Do: jackline.Deny, Pattern: "shell(rm *)"})
	}
	p := policy.New(config())
	for b.Loop() {
		p.With(w.settings).Judge(w.intent)
	}
}
