package turn

import (
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
)

// TestDirectives says which words of a prompt set a switch. They take rights away, so a false hit costs the task: the
// negatives are what people write when they mean something else.
func TestDirectives(t *testing.T) {
	const none, guide, plan, ask = "", "guide", "plan", "ask"
	for _, c := range []struct{ prompt, want string }{
		// Without tools.
		{"Do not use any tools. How do I change my list?", guide},
		{"How do I set up nginx? Don't use tools.", guide},
		{"Don’t run any tools, just answer.", guide},
		{"Without using any tools: how do I undo a commit?", guide},
		{"No tools, please. What is a monad?", guide},
		{"Just explain how it is done.", guide},
		{"Answer this without tools.", guide},
		{"Beantworte das ohne Werkzeuge.", guide},
		{"Only explain, do not do it.", guide},
		{"Just tell me how to rename a branch.", guide},
		{"Guide-only: how do I install Go?", guide},
		{"Ohne Werkzeuge: wie mache ich einen Commit rückgängig?", guide},
		{"Bitte keine Tools. Was ist eine Monade?", guide},

		// A plan only.
		{"Make a plan first, do not change anything yet.", plan},
		{"Plan only: move the tests into their own folder.", plan},
		{"Just make a plan for the refactoring.", plan},
		{"Look at the parser, but don't change anything.", plan},
		{"Can you make a plan first?", plan},
		{"Bitte nur einen Plan für den Umbau.", plan},
		{"Schau dir den Parser an und nichts ändern!", plan},
		{"Was würdest du tun? Nur ein Plan, bitte.", plan},

		// Ask first.
		{"Ask me before you do anything. What is on my list?", ask},
		{"Clean up the folder, but ask first.", ask},
		{"Ask for my permission before each step.", ask},
		{"Räum auf, aber frag mich vorher.", ask},
		{"Frage zuerst, bevor du löschst.", ask},

		// Ordinary tasks that hold some of the words.
		{"Fix the typo in a.txt, but don't change anything else.", none},
		{"Rename x to y and do not change anything other than that.", none},
		{"Fix the test. Don't change anything outside of the tool folder.", none},
		{"Don't change anything except the title.", none},
		{"Korrigiere den Titel, sonst nichts ändern.", none},
		{"Bitte nichts ändern außer dem Titel.", none},
		{"Just tell me how many lines main.go has.", none},
		{"Just tell me how long the tests take.", none},
		{"Just tell me how big the folder is.", none},
		{"List the files of the tools folder.", none},
		{"Write down a plan for the week in plan.md.", none},
		{"Read plan.md and do the first step.", none},
		{"Which tools do I need to repair a bicycle? Put a list into list.md.", none},
		{"Write a page about cooking without tools or electricity.", none},
		{"Schreib eine Seite über Kochen ohne Werkzeuge und Strom.", none},
		{"Add a check that asks before deleting.", none},
		{"Don't just explain, do it.", none},
		{"There are no tools in the list. Add two.", none},
		{"Don't use any tools except grep.", none},
		{"Don't change anything in the tool folder, but fix main.go.", none},
		{"Make the script ask before it overwrites a file.", none},
		{"The page should ask for permission once.", none},

		// Questions about the words.
		{"What does guide-only mean?", none},
		{"What does plan only do in this program?", none},
		{"How does the ask first mode work?", none},
		{"Why did it say that no tools will run?", none},
		{"When should I use plan only?", none},
		{"Was bedeutet nur Plan?", none},
		{"Warum lief das ohne Werkzeuge?", none},

		// What is quoted, and code.
		{`Rename the heading "No tools needed" in README.md to "Tools".`, none},
		{"Replace “do not change anything” by “change nothing” in rules.md.", none},
		{"Ersetze „nichts ändern“ in regeln.md.", none},
		{"Write `do not use any tools` into prompt.txt.", none},
		{"Why does this fail?\n```\nif mode == \"plan only\" { ask first }\n// don't use tools\n```\nFix it.", none},
		{"Fix the function ask_first in a.go.", none},
		{"> do not use any tools\n\nThat is what he wrote. Answer him in reply.md.", none},

		// Words behind a quotation count.
		{`What is in "a.txt"? Don't use tools.`, guide},
		{"Here is the code:\n```\nx := 1\n```\nDon't change anything, just look.", plan},
		{"", none},
		{strings.Repeat("long text. ", 200) + "Do not use any tools.", none},
	} {
		r := &run{t: jackline.Turn{Prompt: c.prompt}}
		said := r.directives()
		got := none
		switch o := r.t.Options; {
		case o.Guide:
			got = guide
		case o.Plan:
			got = plan
		case o.AskFirst:
			got = ask
		}
		if got != c.want {
			t.Errorf("%.120q sets %q, want %q", c.prompt, got, c.want)
		}
		if (said != "") != (got != none) {
			t.Errorf("%.120q sets %q and says %q", c.prompt, got, said)
		}
	}
}

// Words never give a right back, and switches that are set are not spoken of.
func TestDirectivesOnlyTake(t *testing.T) {
	for _, o := range []jackline.TurnOptions{{Guide: true}, {Plan: true}, {AskFirst: true}} {
		for _, p := range []string{"Do it.", "Do not use any tools.", "Plan only.", "Ask first.", "You may change everything, use all tools, do not ask."} {
			r := &run{t: jackline.Turn{Prompt: p, Options: o}}
			r.directives()
			if n := r.t.Options; o.Guide && !n.Guide || o.Plan && !n.Plan || o.AskFirst && !n.AskFirst {
				t.Errorf("%q makes %+v of %+v", p, n, o)
			}
		}
	}
	r := &run{t: jackline.Turn{Prompt: "Do not use any tools.", Options: jackline.TurnOptions{Guide: true}}}
	if said := r.directives(); said != "" {
		t.Errorf("it says %q of what was set", said)
	}
}

// TestAnnounces says which replies without a call promise one.
func TestAnnounces(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"I will read the file now.", true},
		{"I'll check the tests.", true},
		{"I’ll now run the tests.", true},
		{"Let me look at main.go.", true},
		{"Let me first search for it:", true},
		{"Okay, let's open the file…", true},
		{"The file is missing. I will create it.", true},
		{"There are two files.\n\nNow I'm going to edit the second one.", true},
		{"First, I will list the folder.", true},
		{"I'll start by reading a.txt.", true},
		{"Ich werde die Datei lesen.", true},
		{"Ich werde jetzt die Tests ausführen.", true},
		{"Ich werde nachsehen.", true},
		{"Lass mich kurz nachsehen.", true},
		{"Ich lese jetzt die Datei.", true},

		{"The file has three lines.", false},
		{"I have read the file. It has three lines.", false},
		{"I will read the file if you like.", false},
		{"I'll read it once you have saved it.", false},
		{"Should I run the tests?", false},
		{"I will read the file, right?", false},
		{"Let me know what you think.", false},
		{"Let me know when I should run it.", false},
		{"I can run the tests, would you like that?", false},
		{"I will be brief: it is a parser.", false},
		{"Let me explain: it reads calls.", false},
		{"I will read the file. It says hello.", false},
		{"The log says: \"I will run the backup.\"", false},
		{"He wrote “let me check the file.”", false},
		{"The comment reads `I will check it`.", false},
		{"It prints:\n```\nI will run the tests\n```", false},
		{"It prints:\n```\nLet me check\n", false},
		{"> I will read it.", false},
		{"The function is called let_me_check.", false},
		{"First, open the terminal and run make.", false},
		{"You will find it in main.go.", false},
		{"Ich habe die Datei gelesen.", false},
		{"Soll ich die Tests ausführen?", false},
		{"Ich werde die Datei lesen, wenn du willst.", false},
		{"Er schrieb: „Ich werde es prüfen.“", false},
		{"", false},
	} {
		if got := announces(c.text); got != c.want {
			t.Errorf("%q announces %v, want %v", c.text, got, c.want)
		}
	}
}

// TestAsksForLive says which prompts ask for what changes while nobody looks.
func TestAsksForLive(t *testing.T) {
	for _, c := range []struct {
		prompt string
		want   bool
	}{
		{"What is the weather in Oslo?", true},
		{"what's the weather like right now", true},
		{"How warm is it outside at the moment?", true},
		{"Who is currently the president of France?", true},
		{"Tell me the latest news.", true},
		{"What is the price of gold?", true},
		{"What is the exchange rate of the euro?", true},
		{"Is it going to rain today?", true},
		{"Check the stock price of ACME.", true},
		{"Wie ist das Wetter in Berlin?", true},
		{"Was kostet Gold aktuell?", true},
		{"Wer ist gerade Kanzler?", true},
		{"Wie wird das Wetter heute?", true},

		{"What time is it?", true},
		{"What's the time in Tokyo?", true},
		{"What is the date?", true},
		{"Wie spät ist es?", true},
		{"Wie viel Uhr ist es in Wien?", true},

		{"What is the time complexity of quicksort?", false},
		{"What time does a train from 1900 take?", false},
		{"What is the date of the battle of Hastings?", false},
		{"What is the capital of France?", false},
		{"Write a poem about the weather.", false},
		{"What does \"right now\" mean?", false},
		{"What does latest mean in a container tag?", false},
		{"What is the difference between weather and climate?", false},
		{"Explain what an exchange rate is.", false},
		{"What is an exchange rate?", false},
		{"How does a weather forecast work?", false},
		{"How is a stock price made?", false},
		{"Why is the news so bad for people?", false},
		{"What is the history of the weather forecast?", false},
		{"How do I show the weather in my shell prompt with `curl wttr.in`?", false},
		{"Was bedeutet aktuell?", false},
		{"Was ist der Unterschied zwischen Wetter und Klima?", false},
		{"Wie funktioniert eine Wettervorhersage heute?", false},
		{"What is in the latest test file?", false},
		{"Which function does the code call right now?", false},
		{"What changed in this repo today?", false},
		{"How do I translate „Wie ist das Wetter?“ into English?", false},
		{"How do I say “what is the weather today” in French?", false},
		{"Why does this print nothing?\n```\nfmt.Println(weather.Today())\n```", false},
		{"I worked a lot today.", false},
		{`Which language is "Was kostet Gold heute" written in?`, false},
		{"Who knows a good name for a cat?\n" + strings.Repeat("It is a nice cat. ", 30) + "today", false},
	} {
		if got := asksForLive(c.prompt); got != c.want {
			t.Errorf("%q asks for live values %v, want %v", c.prompt, got, c.want)
		}
	}
}

func TestAdmits(t *testing.T) {
	for _, c := range []struct {
		text string
		want bool
	}{
		{"I cannot check that.", true}, {"I can't look it up now.", true}, {"I can’t know that.", true}, {"I don't have access to the web.", true},
		{"I am unable to check it right now.", true}, {"Without a tool I have no way to know.", true}, {"That could not be checked.", true},
		{"Das kann ich gerade nicht prüfen.", true}, {"Ich habe keinen Zugriff auf das Netz.", true},
		{"It is 20 degrees and sunny.", false}, {"The price is 5 euros.", false}, {"Es sind 20 Grad.", false}, {"The canton of Bern.", false},
		{"A cantaloupe costs 2 euros.", false},
	} {
		if got := admits(c.text); got != c.want {
			t.Errorf("%q admits %v, want %v", c.text, got, c.want)
		}
	}
}

// TestNudge counts: each reminder once, the one about announcements twice, and none where it cannot help.
func TestNudge(t *testing.T) {
	kind := func(r *run, text string, thought bool) string {
		k, note := r.nudge(text, thought)
		if (k == "") != (note == "") {
			t.Errorf("kind %q with the words %q", k, note)
		}
		return k
	}
	fresh := func(prompt string) *run {
		return &run{t: jackline.Turn{Prompt: prompt}, known: []model.Tool{{Name: "look"}}}
	}
	r := fresh("Do it.")
	for k, want := range []string{"thought", "", ""} {
		if got := kind(r, "", k == 0); got != want {
			t.Errorf("silence %d: %q, want %q", k, got, want)
		}
	}
	if a, _ := fresh("x").nudge("", true); a != "thought" {
		t.Errorf("a thought: %q", a)
	}
	r = fresh("Do it.")
	for k, want := range []string{"announced", "announced", ""} {
		if got := kind(r, "I will read the file.", false); got != want {
			t.Errorf("announcement %d: %q, want %q", k, got, want)
		}
	}
	r = fresh("Do it.")
	r.known = nil
	if got := kind(r, "I will read the file.", false); got != "" {
		t.Errorf("without tools: %q", got)
	}
	const weather = "What is the weather?"
	r = fresh(weather)
	for k, want := range []string{"realtime", ""} {
		if got := kind(r, "It is sunny.", false); got != want {
			t.Errorf("live %d: %q, want %q", k, got, want)
		}
	}
	if got := kind(fresh(weather), "I cannot check that now.", false); got != "" {
		t.Errorf("it was admitted: %q", got)
	}
	r = fresh(weather)
	r.prior = []jackline.Call{{State: jackline.CallEnded, Outcome: jackline.OK}}
	if got := kind(r, "It is sunny.", false); got != "" {
		t.Errorf("a tool said so: %q", got)
	}
	r.prior = []jackline.Call{{State: jackline.CallEnded, Outcome: jackline.Errored}, {State: jackline.CallWaiting, Outcome: jackline.OK}}
	if got := kind(r, "It is sunny.", false); got != "realtime" {
		t.Errorf("no tool said so: %q", got)
	}
}
