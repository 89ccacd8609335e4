package policy_test

import (
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/policy"
)

func TestParseRule(t *testing.T) {
	good := map[string]jackline.Rule{
		"allow shell(npm test*)":              {Do: jackline.Allow, Pattern: "shell(npm test*)"},
		"deny file_write":                     {Do: jackline.Deny, Pattern: "file_write"},
		"  ask   mcp__github__*  ":            {Do: jackline.Ask, Pattern: "mcp__github__*"},
		"allow web_fetch(host:*.example.org)": {Do: jackline.Allow, Pattern: "web_fetch(host:*.example.org)"},
		"allow shell(echo (a))":               {Do: jackline.Allow, Pattern: "shell(echo (a))"},
		"deny *":                              {Do: jackline.Deny, Pattern: "*"},
	}
	for s, want := range good {
		got, err := policy.ParseRule(s)
		if err != nil || got.Do != want.Do || got.Pattern != want.Pattern {
			t.Errorf("ParseRule(%q) = %+v, %v", s, got, err)
		}
	}
	bad := map[string]string{
		"":                       "does not start",
		"shell(npm)":             "does not start",
		"permit shell":           "does not start",
		"allow":                  "not the name of a tool",
		"allow ":                 "not the name of a tool",
		"allow a b":              "not the name of a tool",
		"allow shell(":           "not closed",
		"allow shell()":          "nothing between",
		"allow shell( )":         "nothing between",
		"allow shell(a 'b)":      "quote is not closed",
		"allow shell(a \\)":      "ends in a backslash",
		"allow shell(a\x01b)":    "control character",
		"allow (x)":              "not the name of a tool",
		"allow x(host:)":         "is not a host",
		"allow x(host:http://a)": "is not a host",
		"allow x(host:a*b)":      "is not a host",
		"allow x(host:*.)":       "is not a host",
		"allow x(a" + strings.Repeat("*b", 20) + ")": "too many stars",
		"allow x(" + strings.Repeat("b", 600) + ")":  "longer than",
	}
	for s, want := range bad {
		_, err := policy.ParseRule(s)
		if err == nil || jackline.KindOf(err) != jackline.Invalid || !strings.Contains(jackline.Say(err), want) {
			t.Errorf("ParseRule(%.60q): %v, want something about %q", s, err, want)
		}
	}
}

func TestCheckRules(t *testing.T) {
	rule := func(s string, match, not string) jackline.Rule {
		verb, pattern, _ := strings.Cut(s, " ")
		r := jackline.Rule{Pattern: pattern}
		must(t, r.Do.UnmarshalText([]byte(verb)))
		if match != "" {
			r.Match = strings.Split(match, "+")
		}
		if not != "" {
			r.NotMatch = strings.Split(not, "+")
		}
		return r
	}
	p := policy.New(config())
	good := []jackline.Rule{
		rule("allow shell(npm test*)", "npm test+npm test -- -w+npm test && npm test:unit",
			"npm install+npm test; rm x+npm test $X+(npm test)"),
		rule("deny shell(rm *)", "rm x+ls; rm x+/bin/rm x+rm", "ls+rmdir x"),
		rule("allow file_write(src/**)", "src/a+src/b/c.go", "srcx/a+../src/a+a+/src/a"),
		rule("deny file_write(src/**)", "SRC/a", "a"),
		rule("allow web_fetch(host:*.example.org)", "a.example.org+a.b.example.org:443", "example.org+xexample.org"),
		rule("allow mcp__github__*", "mcp__github__pr", "mcp__gitlab__pr+shell"),
		rule("ask shell", "shell", "file_read"),
		rule("deny shell", "shell+bash", "file_read"),
		rule("allow write_file", "file_write+write_file", "file_read"),
		rule("ask mcp__away__now(x)", "x", "y"),
	}
	even := func(text string) jackline.Rule {
		r := rule(text, "", "")
		r.EvenTainted = true
		return r
	}
	good = append(good, even("allow shell(go test ./...)"), even("allow file_write(notes/*)"), even("allow file_write(a/b/**)"))
	if errs := p.CheckRules(good); len(errs) > 0 {
		t.Errorf("good rules: %v", errs)
	}
	for _, wide := range []string{
		"allow shell(go test *)", "allow file_write", "allow file_write(**)", "allow file_write(*)", "allow file_write(../x/*)", "allow file_write(notes/a.md)", "allow file_write(*/x/*)",
		"deny shell(go test)", "ask file_write(notes/*)", "allow web_fetch(host:a.test)", "allow file_*(notes/*)", "allow mcp__x__y", "allow calculator",
	} {
		if errs := p.CheckRules([]jackline.Rule{even(wide)}); len(errs) != 1 || !strings.Contains(jackline.Say(errs[0]), "even_tainted") {
			t.Errorf("%s even where tainted: %v", wide, errs)
		}
	}
	bad := map[string]jackline.Rule{
		`"allow shell(npm *)" is meant to match "yarn test" and does not`:     rule("allow shell(npm *)", "npm x+yarn test", ""),
		`"allow shell(npm *)" is not meant to match "npm publish" and does`:   rule("allow shell(npm *)", "", "npm publish"),
		`"deny shell(rm *)" is not meant to match "$X a", but the text alone`: rule("deny shell(rm *)", "", "$X a"),
		`"deny shell(rm *)" is meant to match "$X a" and does not`:            rule("deny shell(rm *)", "$X a", ""),
		`"allow shell(npm *)" is meant to match "npm a; rm b" and does not`:   rule("allow shell(npm *)", "npm a; rm b", ""),
		`names the tool "shel", which does not exist`:                         rule("deny shel", "", ""),
		`the tool reaches hosts: write host: in front`:                        rule("deny web_fetch(example.org)", "", ""),
		`has a pattern for hosts, but the tool reaches none`:                  rule("deny shell(host:example.org)", "", ""),
		`"allow file_read({a,b}{a,b}{a,b}{a,b}{a,b})" has a pattern that cannot be read as a path`: rule(
			"allow file_read({a,b}{a,b}{a,b}{a,b}{a,b})", "", ""),
		`"allow shell(*)" allows nothing without a sandbox`: rule("allow shell(*)", "", ""),
		`"allow shell" allows no command that does more than read without a sandbox, which a rule cannot count on: name the program, as in shell(`: rule("allow shell", "", ""),
		`"allow bash" allows no command`:                  rule("allow bash", "", ""),
		`cannot be read as a path`:                        rule("deny file_write(a[)", "", ""),
		`touches nothing that one could be compared with`: rule("deny calculator(x)", "", ""),
		`"deny x(" cannot be read`:                        rule("deny x(", "", ""),
	}
	for want, r := range bad {
		errs := p.CheckRules([]jackline.Rule{r})
		if len(errs) != 1 || !strings.Contains(jackline.Say(errs[0]), want) {
			t.Errorf("%+v: %v, want %q", r, errs, want)
		}
	}
	var all []jackline.Rule
	for _, r := range bad {
		all = append(all, r)
	}
	if errs := p.CheckRules(append(all, good...)); len(errs) != len(bad) {
		t.Errorf("all together: %d errors, want %d", len(errs), len(bad))
	}
}

func TestRisk(t *testing.T) {
	p := policy.New(config())
	touch := func(kind string, e jackline.Effect, name string, exists bool) []jackline.Touch {
		return []jackline.Touch{{Kind: kind, Effect: e, Name: name, Exists: exists}}
	}
	both := jackline.Labels{Tainted: true, Private: true}
	for _, c := range []struct {
		effect  jackline.Effect
		touches []jackline.Touch
		labels  jackline.Labels
		word    string
		why     string
	}{
		{jackline.Pure, nil, both, "low", "Low"},
		{jackline.Read, touch("path", jackline.Read, "a", true), both, "low", "Low"},
		{jackline.Write, touch("path", jackline.Write, "a", false), jackline.Labels{}, "low", "Low"},
		{jackline.Write, touch("path", jackline.Write, "a", true), jackline.Labels{}, "medium", "replaces"},
		{jackline.Write, nil, jackline.Labels{}, "medium", "replaces"},
		{jackline.Write, touch("path", jackline.Write, "../a", false), jackline.Labels{}, "high", "outside"},
		{jackline.Delete, touch("path", jackline.Delete, "a", true), jackline.Labels{}, "high", "deletes"},
		{jackline.Network, touch("host", jackline.Network, "h", false), jackline.Labels{Private: true}, "medium", "network"},
		{jackline.Network, touch("host", jackline.Network, "h", false), both, "high", "private"},
		{jackline.Outward, touch("host", jackline.Outward, "h", false), jackline.Labels{}, "high", "sends"},
		{jackline.Exec, touch("command", jackline.Exec, "ls", false), jackline.Labels{}, "low", "Low"},
		{jackline.Exec, touch("command", jackline.Exec, "make", false), jackline.Labels{}, "high", "sandbox"},
		{0, nil, jackline.Labels{}, "high", "not known"},
		{jackline.Configure, nil, jackline.Labels{}, "high", "settings"},
	} {
		word, why := p.Risk(jackline.Intent{Effect: c.effect, Touches: c.touches, Labels: c.labels})
		if word != c.word || !strings.Contains(why, c.why) {
			t.Errorf("%v %v %v: %s, %q; want %s, %q", c.effect, c.touches, c.labels, word, why, c.word, c.why)
		}
	}
}

func FuzzRule(f *testing.F) {
	for _, s := range []string{
		"allow shell(npm test*)", "deny file_write(src/**)", "ask web_fetch(host:*.example.org)",
		"allow x('a b' \\* \"c\")", "deny mcp__*",
	} {
		f.Add(s, "npm test", "src/a")
	}
	i := jackline.Intent{Tool: "shell", Effect: jackline.Exec}
	i.Actor.Session.Mode = jackline.ModeAllowAll
	f.Fuzz(func(t *testing.T, rule, command, path string) {
		r, err := policy.ParseRule(rule)
		if err != nil {
			if jackline.KindOf(err) != jackline.Invalid {
				t.Error(err)
			}
			return
		}
		again, err := policy.ParseRule(r.Do.String() + " " + r.Pattern)
		if err != nil || again.Pattern != r.Pattern {
			t.Errorf("%q does not stay itself: %v", r.Pattern, err)
		}
		p := policy.New(config())
		p.CheckRules([]jackline.Rule{r})
		with := p.With(jackline.Permissions{Toggles: jackline.AllOn, Rules: []jackline.Rule{r}})
		without := p.With(jackline.Permissions{Toggles: jackline.AllOn})
		for _, touch := range []jackline.Touch{
			{Kind: "command", Effect: jackline.Exec, Name: command}, {Kind: "path", Effect: jackline.Write, Name: path},
		} {
			i.Touches = []jackline.Touch{touch}
			a, b := with.Judge(i), without.Judge(i)
			looser, stricter := a.Verdict > b.Verdict || b.Hard && !a.Hard, a.Verdict < b.Verdict
			if r.Do != jackline.Allow && looser || r.Do == jackline.Allow && stricter {
				t.Errorf("%q turns %v into %v", rule, b, a)
			}
		}
	})
}
