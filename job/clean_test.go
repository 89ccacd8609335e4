package job

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain\n", "plain\n"},
		{"\x1b[31mred\x1b[0m \x1b[1;32mgreen\x1b[m", "red green"},
		{"\x1b]0;title\x07text", "text"},
		{"\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"},
		{"a\x1b(Bb\x1b=c", "abc"},
		{"cut\x1b[", "cut"},
		{"cut\x1b", "cut"},
		{"\x1b[12\nnext", "\nnext"},
		{"\x1b]unended\nnext", "\nnext"},
		{"a\r\nb\r\n", "a\nb\n"},
		{" 10%\r 50%\r100%\ndone", "100%\ndone"},
		{"busy\r    \r", "busy"},
		{"bold\b\b\b\bBOLD", "BOLD"},
		{"\b\bx", "x"},
		{"bell\x07 nul\x00 del\x7f", "bell␇ nul␀ del␡"},
		{"tab\tstays", "tab\tstays"},
		{"right\u202eleft\u200b", "right<U+202E>left<U+200B>"},
		{"c1\u0085x", "c1<U+0085>x"},
		{"\x1bMup\u0085", "up<U+0085>"},
		{"é ü 漢 🙂", "é ü 漢 🙂"},
	} {
		if got := Clean(c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\xef\xbb\xbfmark", "mark"},
		{"\xff\xfeh\x00i\x00", "hi"},
		{"\xfe\xff\x00h\x00i", "hi"},
		{"w\x00i\x00d\x00e\x00 \x00o\x00n\x00e\x00", "wide one"},
		{"bad\xff\xfe byte", "bad\ufffd byte"},
		{"caf\xc3\xa9", "café"},
		{"\x00\x00\x00", "\x00\x00\x00"},
	} {
		if got := decode([]byte(c.in)); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}

func TestOutputKeepsHeadAndTail(t *testing.T) {
	var o output
	rune3 := "漢"
	whole := "BEGIN" + strings.Repeat(rune3, 1_000_000) + "END"
	for i := 0; i < len(whole); i += 1000 { // pieces that cut characters
		o.add([]byte(whole[i:min(i+1000, len(whole))]))
	}
	got, dropped := o.text()
	if !strings.HasPrefix(got, "BEGIN漢") || !strings.HasSuffix(got, "漢END") || strings.ContainsRune(got, utf8.RuneError) {
		t.Errorf("%q … %q", got[:40], got[len(got)-40:])
	}
	if len(got) > keepHead+keepTail+100 || dropped < int64(len(whole)-keepHead-keepTail) || cap(o.pending) > 1<<20 {
		t.Errorf("%d kept, %d dropped", len(got), dropped)
	}
	var small output
	small.add([]byte("caf\xc3"))
	small.add([]byte("\xa9\n"))
	if got, dropped := small.text(); got != "café\n" || dropped != 0 {
		t.Errorf("%q %d", got, dropped)
	}
}

func FuzzClean(f *testing.F) {
	for _, s := range []string{"a\x1b[31mb", "\r\n\r\b", "\x1b]\x1b\x1b[", "\u009b1m", "\xff\xfe\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Clean(decode([]byte(s)))
		if !utf8.ValidString(got) {
			t.Errorf("%q is not valid", got)
		}
		for _, r := range got {
			if r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 {
				t.Errorf("%q holds %U", got, r)
			}
		}
	})
}
