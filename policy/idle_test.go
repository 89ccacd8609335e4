package policy_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/policy"
)

func TestIdleRules(t *testing.T) {
	c := config()
	for _, name := range []string{"shell", "file_write", "file_read", "web_fetch"} {
		own, _, ok := c.Lookup(name)
		if !ok {
			t.Fatalf("the test's tools lack %s", name)
		}
		c.Names = append(c.Names, own)
	}
	p := policy.New(c)
	for text, want := range map[string]string{
		"allow shell":              "", // CheckRules refuses it
		"allow shell(git status*)": "",
		"deny shell":               "",
		"ask shell":                "",
		"allow *":                  "",
		"allow file_write":         "",
		"allow fil_*":              "no tool whose name fits",
		"deny fil_*":               "no tool whose name fits",
		"allow FILE_*":             "no tool whose name fits", // allow is read narrowly
		"deny FILE_*":              "",
		"deny mcp__github__*":      "",
		"deny mcp*":                "",
		"allow file_write(src/**)+deny file_write":        "is stricter",
		"allow write_file(src/**)+ask file_write(src/**)": "is stricter",
		"allow file_write(src/**)+deny file_write(a/**)":  "",
		"allow file_write+deny file_write(a/**)":          "",
		"allow file_write+deny *":                         "is stricter",
		"allow shell(":                                    "", // CheckRules says what is wrong with it
	} {
		var rules []jackline.Rule
		for one := range strings.SplitSeq(text, "+") {
			verb, pattern, _ := strings.Cut(one, " ")
			r := jackline.Rule{Pattern: pattern}
			must(t, r.Do.UnmarshalText([]byte(verb)))
			rules = append(rules, r)
		}
		got := p.IdleRules(rules)
		if len(got) > 1 || (len(got) == 1) != (want != "") || want != "" && !strings.Contains(got[0], want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
		if len(got) == 1 && !strings.HasPrefix(got[0], `The rule "`+strings.Split(text, "+")[0]+`" `) {
			t.Errorf("%s: %q does not name the rule", text, got)
		}
	}
}

// A rule that is called idle changes no verdict, and an allow rule on a command tool frees none that could change something.
func TestIdleRulesAreIdle(t *testing.T) {
	p := policy.New(config())
	allow := jackline.Rule{Do: jackline.Allow, Pattern: "file_write(src/**)"}
	deny := jackline.Rule{Do: jackline.Deny, Pattern: "file_write"}
	write := jackline.Intent{Tool: "file_write", Effect: jackline.Write, Actor: jackline.Actor{Session: jackline.Session{Mode: jackline.ModeAllowReads}},
		Touches: []jackline.Touch{{Effect: jackline.Write, Kind: "path", Name: "src/a"}}}
	with := func(rules ...jackline.Rule) jackline.Verdict {
		return p.With(jackline.Permissions{Toggles: jackline.AllOn, Rules: rules}).Judge(write).Verdict
	}
	if with(allow) != jackline.Allow || with(allow, deny) != jackline.Deny || with(deny) != jackline.Deny {
		t.Errorf("alone %v, with the other one %v, the other one %v", with(allow), with(allow, deny), with(deny))
	}
	for _, mode := range []jackline.Mode{jackline.ModeAsk, jackline.ModeAllowReads, jackline.ModeAllowEdits} {
		i := jackline.Intent{Tool: "shell", Effect: jackline.Exec, Actor: jackline.Actor{Session: jackline.Session{Mode: mode}},
			Touches: []jackline.Touch{{Effect: jackline.Exec, Kind: "command", Name: "rm x"}}}
		d := p.With(jackline.Permissions{Toggles: jackline.AllOn, Rules: []jackline.Rule{{Do: jackline.Allow, Pattern: "shell"}}}).Judge(i)
		if d.Verdict != jackline.Ask {
			t.Errorf("%s: %+v", mode, d)
		}
	}
}

func TestIdleNames(t *testing.T) {
	c := config()
	c.Names = []string{"file_write", "shell"}
	got := policy.New(c).IdleNames([]string{"file_write", " FILE_WRITE", "write_file", "file_*", "*", "file_writ", "nothing*", "mcp__x__y", "mcp__*", ""})
	if want := []string{"file_writ", "nothing*", ""}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := policy.New(config()).IdleNames([]string{"x"}); len(got) > 0 {
		t.Errorf("without the names of the tools nothing is known: %q", got)
	}
}
