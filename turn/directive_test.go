package turn_test

import (
	"context"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/turn"
)

// The owner's words set a switch where they ask for it, and not where the same words belong to the task.
func TestDirectives(t *testing.T) {
	for prompt, want := range map[string]string{
		"Explain git rebase, no tools please.":                 "guide",
		"Don't use any tools. What is a monad?":                "guide",
		"Please just explain what this does":                   "guide",
		"Antworte ohne Werkzeuge: was ist ein Monoid?":         "guide",
		"Find out why the page shows no tools":                 "",
		"Don't just explain, do it":                            "",
		"Look at main.go. Do not change anything.":             "plan",
		"do not change anything yet, tell me what you see":     "plan",
		"Sieh dir das an. Bitte nichts ändern.":                "plan",
		"Fix the typo in README, do not change anything else":  "",
		"Mend greet.sh and don't change anything but the text": "",
		"Repariere den Test, sonst nichts ändern":              "",
		"Tidy up, but ask me first":                            "ask",
	} {
		b := newBench(t, options{}, "=== 1\nYes.\n")
		id := b.submit(t, prompt)
		tn, err := b.engine.Run(context.Background(), jackline.Local, id, turn.Control{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		switch o := tn.Options; {
		case o.Guide:
			got = "guide"
		case o.Plan:
			got = "plan"
		case o.AskFirst:
			got = "ask"
		}
		if got != want {
			t.Errorf("%q: %q, want %q", prompt, got, want)
		}
	}
}
