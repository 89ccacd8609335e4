package phrase_test

import (
	"regexp"
	"slices"
	"testing"

	"github.com/jackline-ai/jackline/phrase"
)

// A phrase does what its regular expression does, for all texts that its words promise.
func TestPhrase(t *testing.T) {
	const expr = `(?i)\b(?P<verb>search|look up) (\w+)`
	re := regexp.MustCompile(expr)
	for _, p := range []*phrase.Phrase{phrase.New(expr), phrase.New(expr, "search", "look")} {
		for _, s := range []string{"", "hello", "Search this, and look up that", "SEARCHING", "research it", "look up", "LOOK UP ä b"} {
			if p.MatchString(s) != re.MatchString(s) {
				t.Errorf("%q: match %v", s, p.MatchString(s))
			}
			if got, want := p.FindStringSubmatch(s), re.FindStringSubmatch(s); !slices.Equal(got, want) {
				t.Errorf("%q: %q, want %q", s, got, want)
			}
			if got, want := p.FindAllString(s, -1), re.FindAllString(s, -1); !slices.Equal(got, want) {
				t.Errorf("%q: %q, want %q", s, got, want)
			}
			if got, want := p.ReplaceAllString(s, "<$2>"), re.ReplaceAllString(s, "<$2>"); got != want {
				t.Errorf("%q: %q, want %q", s, got, want)
			}
		}
		if p.SubexpIndex("verb") != 1 {
			t.Error("no verb")
		}
	}
}

// What cannot match by its words is not even compiled.
func TestNotCompiled(t *testing.T) {
	p := phrase.New(`(`, "word")
	if p.MatchString("something else") || p.ReplaceAllString("x", "y") != "x" {
		t.Error("it matches")
	}
	defer func() {
		if recover() == nil {
			t.Error("a broken pattern is no panic")
		}
	}()
	p.MatchString("a word")
}
