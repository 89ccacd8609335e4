package textfile

import (
	"strings"
	"testing"
)

func TestDecodeEncode(t *testing.T) {
	for _, raw := range []string{
		"", "plain\n", "\xef\xbb\xbfmark\r\nx\r\n", "\xff\xfea\x00\n\x00", "\xfe\xff\x00a\x00\n", "caf\xe9", "mixed\r\nends\n",
	} {
		text, ok := Decode([]byte(raw))
		if !ok {
			t.Errorf("%q is no text", raw)
			continue
		}
		back, err := text.Encode()
		if err != nil || string(back) != raw {
			t.Errorf("%q becomes %q, %v", raw, back, err)
		}
	}
	if _, ok := Decode([]byte("a\x00b")); ok {
		t.Error("a binary file is text")
	}
	if text, _ := Decode([]byte("a\r\nb\r\n")); !text.CRLF || strings.Join(text.Lines(), "|") != "a|b" {
		t.Errorf("%+v", text)
	}
	if text, _ := Decode([]byte("a\r\nb\n")); text.CRLF {
		t.Errorf("%+v", text)
	}
}
