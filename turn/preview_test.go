package turn

import (
	"strings"
	"testing"
	"time"

	"github.com/jackline-ai/jackline"
	"github.com/jackline-ai/jackline/model"
)

func TestPreview(t *testing.T) {
	now := time.Unix(0, 0)
	var p preview
	var shown []jackline.ToolPreview
	say := func(name, args string) {
		if p.take(model.Preview{Name: name, Args: args}, now) {
			shown = append(shown, p.event())
		}
	}
	say("file_write", "")
	if len(shown) != 1 || shown[0] != (jackline.ToolPreview{Name: "file_write"}) {
		t.Fatalf("the name is shown at once, got %+v", shown)
	}
	say("file_write", `{"ab`)
	say("file_write", `le"`)
	if len(shown) != 2 || shown[1].Args != `{"ab` {
		t.Fatalf("the first arguments are shown at once, and what little comes right behind them is not: %+v", shown)
	}
	now = now.Add(previewEvery)
	say("file_write", `: "a",`)
	if len(shown) != 3 || shown[2].Args != `{"able": "a",` {
		t.Fatalf("what waited is shown with what comes later: %+v", shown)
	}
	say("file_write", "\u202e\x1b\ufeff 1")
	if b, ok := p.rest(); !ok || b.Args != `{"able": "a", 1` {
		t.Errorf("the rest is %+v, %v", b, ok)
	}
	if b, ok := p.rest(); ok {
		t.Errorf("there is more of the rest: %+v", b)
	}
	say("file_write", "")
	if last := shown[len(shown)-1]; last.Args != "" {
		t.Errorf("another call of the same tool begins with %+v", last)
	}

	// A long call costs events in proportion to its time, not to its pieces, and none of them is large.
	before := len(shown)
	for range 50_000 {
		now = now.Add(time.Millisecond)
		say("file_write", "äöü ")
	}
	for _, b := range shown {
		if len(b.Args) > previewMost || strings.ToValidUTF8(b.Args, "") != b.Args {
			t.Fatalf("%d bytes: %q", len(b.Args), b.Args)
		}
	}
	if n := len(shown) - before; n < 400 || n > 550 {
		t.Errorf("%d events in 50 seconds, one each %v is wanted", n, previewEvery)
	}
	if last := shown[len(shown)-1].Args; !strings.HasSuffix(last, "äöü ") || len(last) < previewMost-4 {
		t.Errorf("%d bytes of the end, %q", len(last), last)
	}
	say(strings.Repeat("x", 1000), "")
	if name := shown[len(shown)-1].Name; len(name) > longestName+3 {
		t.Errorf("a name of %d bytes", len(name))
	}
}

// An answer that goes to and fro between two calls begins one with every piece, and is shown no more often than any other.
func TestPreviewFlips(t *testing.T) {
	now := time.Unix(0, 0)
	var p preview
	shown := 0
	for i := range 50_000 {
		now = now.Add(100 * time.Microsecond)
		if p.take(model.Preview{Name: string(rune('a' + i/2%2)), Args: []string{"", "{"}[i%2]}, now) {
			p.event()
			shown++
		}
	}
	if most := 2*previewBegins + 50; shown < 50 || shown > most {
		t.Errorf("%d events in five seconds, want 50 to %d", shown, most)
	}
}
