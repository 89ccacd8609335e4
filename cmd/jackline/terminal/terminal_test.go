package terminal

import (
	"bytes"
	"strings"
	"testing"

	"github.com/jackline-ai/jackline"
)

// Every word is shown, and once.
func TestPieces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ does, want string }{
		// + is live text, = is the log's, ! is a new connection
		"as it comes":         {"+Hel|+lo|=Hello|+ you|= you", "Hello you"},
		"nothing live":        {"=Hello", "Hello"},
		"some is lost":        {"+Hel|=Hello", "Hello"},
		"attached":            {"!|+lo|=Hello|+ you|= you", "Hello you"},
		"broken off":          {"+Hel|!|+o|=Hello", "Hello"},
		"logged meanwhile":    {"+Hel|=Hello|!|+ you|= you", "Hello you"},
		"nothing comes back":  {"+Hel|!", "Hel"},
		"blanks at the end":   {"+Hello|+\n\n|=Hello|+You|=You", "Hello\n\nYou"},
		"only blanks":         {"+\n|+You|=You", "\nYou"},
		"blanks at the front": {"+\n|+\nYou|=\nYou are", "\n\nYou are"},
		"other words":         {"+Hallo|=Hello", "Hallo\nHello"},
	} {
		var p piece
		got := ""
		for _, do := range strings.Split(c.does, "|") {
			switch do[0] {
			case '+':
				got += p.live(do[1:])
			case '=':
				got += p.logged(do[1:])
			case '!':
				p.broke = true
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// Who asks and what can be taken back stand on the card, as on the page's.
func TestCardSaysWhatCanBeUndone(t *testing.T) {
	var out bytes.Buffer
	a := jackline.Approval{Kind: jackline.KindCall, Title: "Run make", Args: []byte("{}"), Turn: "t_1", Step: 3, Undo: "Changes can be undone, but for: x\x1b[2K.\n  why     none"}
	(&Terminal{Err: &out}).Show(a)
	a.Turn, a.Undo = "", ""
	(&Terminal{Err: &out}).Show(a)
	for _, want := range []string{"  asks    step 3\n", "  undo    Changes can be undone, but for: x", "\n  |   why     none", "  asks    a call by hand\n", "  undo    Nothing is known"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing:\n%q", want, out.String())
		}
	}
}

// A call cannot write a line that looks like one of the card that asks about it.
func TestCardKeepsItsShape(t *testing.T) {
	var out bytes.Buffer
	a := jackline.Approval{
		Kind: jackline.KindCall, Title: "Run rm -rf x\n  runs in /tmp", Args: []byte("{}"), Folder: "/home/me/work", Why: "It runs a command.",
		Touches: []jackline.Touch{{Effect: jackline.Exec, Kind: "command", Name: "rm -rf x #\n  why     it only looks\u2028\u061c\x1b[2K\n  runs in /tmp"}},
	}
	(&Terminal{Err: &out}).Show(a)
	runs, why := 0, 0
	for _, l := range strings.FieldsFunc(out.String(), func(r rune) bool { return r == '\n' || r == '\u2028' }) {
		if strings.HasPrefix(l, "  runs in") {
			runs++
		}
		if strings.HasPrefix(l, "  why") {
			why++
		}
	}
	if runs != 1 || why != 1 || strings.ContainsAny(out.String(), "\x1b\u2028\u061c") {
		t.Errorf("the card:\n%q", out.String())
	}
}
