package turn

import (
	"testing"

	"github.com/jackline-ai/jackline"
)

// TestOffline says which words of a prompt take the web away. The negatives are tasks in which the same words mean something else.
func TestOffline(t *testing.T) {
	for prompt, want := range map[string]bool{
		"Do not search the web. What is a monad?":              true,
		"What is a monad? Don't search.":                       true,
		"Don’t search for it online, just answer.":             true,
		"Do not google this.":                                  true,
		"Don't use the internet for this.":                     true,
		"No web search, please: what is a monad?":              true,
		"What is a monad? No web.":                             true,
		"No internet please.":                                  true,
		"What is a monad, without searching?":                  false, // a question
		"Answer without searching the web.":                    true,
		"Answer offline: what is a monad?":                     true,
		"Offline only, please. What is a monad?":               true,
		"Tell me about Oslo. Stay offline.":                    true,
		"Read notes.txt and do it without the internet.":       true,
		"Explain monads, no searching.":                        true,
		"Suche nicht im Netz. Was ist eine Monade?":            true,
		"Bitte nicht googeln.":                                 true,
		"Ohne Internet: was ist eine Monade?":                  true,
		"Keine Websuche, bitte.":                               true,
		"Beantworte das ohne Internet.":                        true,
		"Bleib offline.":                                       true,
		"Search the web for monads.":                           false,
		"Do not search the vendor folder.":                     false,
		"Don't search in node_modules.":                        false,
		"Do not search for files larger than 1 MB.":            false,
		"Make the app work offline.":                           false,
		"Write a page about offline maps.":                     false,
		"The page must load without internet access.":          false,
		"Add a test that runs without the network.":            false,
		"Do not use the web font, use a local one.":            false,
		"Why does it not search the web?":                      false,
		"Fix the text \"Do not search the web\" in rules.md.":  false,
		"There is no web server on this machine. Install one.": false,
		"Find out why the page says no internet.":              false,
		"Schreib eine Seite über ein Leben ohne Internet.":     false,
		"Suche nicht nach Ordnern, nur nach Dateien.":          false,
		"Die Seite soll offline funktionieren.":                false,
		"":                                                     false,
	} {
		r := &run{t: jackline.Turn{Prompt: prompt}}
		if said := r.directives(); r.t.Options.Offline != want || (said != "") != want {
			t.Errorf("%q: offline %v (%q), want %v", prompt, r.t.Options.Offline, said, want)
		}
	}
	// It stands beside the other switches, and says nothing where it changes nothing.
	r := &run{t: jackline.Turn{Prompt: "Plan only: fix it. Do not search the web."}}
	if said := r.directives(); !r.t.Options.Plan || !r.t.Options.Offline || said == "" {
		t.Errorf("%+v %q", r.t.Options, said)
	}
	for _, o := range []jackline.TurnOptions{{Offline: true}, {Guide: true}} {
		r := &run{t: jackline.Turn{Prompt: "Do not search the web.", Options: o}}
		if said := r.directives(); said != "" || r.t.Options.Guide != o.Guide || r.t.Options.Offline != o.Offline {
			t.Errorf("%+v becomes %+v, %q", o, r.t.Options, said)
		}
	}
}
