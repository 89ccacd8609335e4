package policy_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/policy"
)

func TestProbes(t *testing.T) {
	rules := []jackline.Rule{{Do: jackline.Deny, Pattern: "shell(git push*)"}, {Do: jackline.Allow, Pattern: "shell(npm test*)"}}
	who := jackline.Actor{Source: jackline.FromModel}
	who.Session.Mode = jackline.ModeAllowReads
	tester := policy.Tester{
		Policy: policy.New(config()).With(jackline.Permissions{Toggles: jackline.AllOn, Rules: rules}),
		Actor:  who, Runner: "shell",
		Path: func(_ context.Context, who jackline.Actor, p policy.Probe) (jackline.Intent, error) {
			e := map[string]jackline.Effect{"read": jackline.Read, "write": jackline.Write}[p.Op]
			touch := jackline.Touch{Kind: "path", Effect: e, Name: p.Path}
			if strings.HasPrefix(p.Path, "..") {
				touch.Refused = "It lies outside the workspace."
			}
			return jackline.Intent{Actor: who, Effect: e, Touches: []jackline.Touch{touch}}, nil
		},
		URL: func(_ context.Context, who jackline.Actor, p policy.Probe) (jackline.Intent, error) {
			touch := jackline.Touch{Kind: "host", Effect: jackline.Network, Name: p.URL}
			if strings.Contains(p.URL, "127") {
				touch.Refused = "It is not a public address."
			}
			return jackline.Intent{Actor: who, Effect: jackline.Network, Touches: []jackline.Touch{touch}}, nil
		},
		Call: func(_ context.Context, who jackline.Actor, p policy.Probe) (jackline.Intent, error) {
			switch p.Tool {
			case "calculator":
				return jackline.Intent{Actor: who, Tool: p.Tool, Effect: jackline.Pure}, nil
			case "broken":
				return jackline.Intent{}, jackline.E("x", jackline.Internal, nil, "It is broken.")
			}
			return jackline.Intent{}, jackline.E("x", jackline.NotFound, nil, "There is no such tool.")
		},
	}
	for line, want := range map[string]string{
		`{"id":"1","kind":"shell","shell":"sh","command":"ls -l"}`:                       "allow read_only mode.allow-reads",
		`{"id":"1","kind":"shell","shell":"sh","command":"rm -rf x"}`:                    "ask ask mode.allow-reads",
		`{"id":"1","kind":"shell","shell":"sh","command":"rm -rf x","mode":"plan"}`:      "deny ask mode.plan",
		`{"id":"1","kind":"shell","shell":"sh","command":"ls","mode":"ask"}`:             "ask read_only mode.ask",
		`{"id":"1","kind":"shell","shell":"sh","command":"echo 'a"}`:                     "deny deny S1",
		`{"id":"1","kind":"shell","shell":"sh","command":""}`:                            "deny deny S1",
		`{"id":"1","kind":"shell","shell":"sh","command":"git push -f"}`:                 "deny ask rule deny shell(git push*)",
		`{"id":"1","kind":"shell","shell":"sh","command":"npm test","home":"/home/x"}`:   "allow ask rule allow shell(npm test*)",
		`{"id":"1","kind":"shell","command":"ls","workspace":"/w","state":"/s"}`:         "allow read_only mode.allow-reads",
		`{"id":"1","kind":"shell","shell":"cmd","command":"dir"}`:                        "ask read_only mode.allow-reads",
		`{"id":"1","kind":"shell","shell":"powershell","command":"Remove-Item C:\\ -r"}`: "deny deny W1",
		`{"id":"1","kind":"shell","shell":"powershell","command":"x","mode":"plan"}`:     "deny ask mode.plan",
		`{"id":"1","kind":"path","path":"a","op":"read"}`:                                "allow allow mode.allow-reads",
		`{"id":"1","kind":"path","path":"a","op":"write"}`:                               "ask allow mode.allow-reads",
		`{"id":"1","kind":"path","path":"../a","op":"read","os":"windows"}`:              "deny deny refused-touch",
		`{"id":"1","kind":"path","path":"a","op":"fly"}`:                                 "ask allow mode.allow-reads",
		`{"id":"1","kind":"call","tool":"calculator","args":{"x":1}}`:                    "allow allow pure",
		`{"id":"1","kind":"call","tool":"nope"}`:                                         "deny deny not-possible",
		`{"id":"1","kind":"url","url":"http://a"}`:                                       "allow allow mode.allow-reads",
		`{"id":"1","kind":"url","url":"http://a","mode":"ask"}`:                          "ask allow mode.ask",
		`{"id":"1","kind":"url","url":"http://127.0.0.1"}`:                               "deny deny refused-touch",
		`{"id":"1","kind":"other"}`:                                                      "unsupported  ",
	} {
		j, err := tester.Test(t.Context(), []byte(line))
		if got := j.Decision + " " + j.Verdict + " " + j.Rule; err != nil || got != want || j.ID != "1" {
			t.Errorf("%s: %s, %v; want %s", line, got, err, want)
		}
		b, err := json.Marshal(j)
		if err != nil || !strings.Contains(string(b), `"touches":[`) {
			t.Errorf("%s: %s %v", line, b, err)
		}
	}
	for _, line := range []string{
		``, `[]`, `{"id":1}`, `{"id":"1"} {}`, `{"kind":"shell","shell":"fish","command":"ls"}`,
		`{"kind":"shell","mode":"free"}`, `{"kind":"call","tool":"broken"}`,
	} {
		if j, err := tester.Test(t.Context(), []byte(line)); err == nil {
			t.Errorf("%q: %+v, want an error", line, j)
		}
	}
	tester.Path, tester.URL, tester.Call = nil, nil, nil
	j, err := tester.Test(t.Context(), []byte(`{"id":"2","kind":"path","path":"a"}`))
	if err != nil || j.Decision != policy.Unsupported {
		t.Errorf("path without a function: %+v %v", j, err)
	}
}
