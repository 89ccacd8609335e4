package redact

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzStream: what is hidden stays hidden, and a text in pieces is the text as a whole.
func FuzzStream(f *testing.F) {
	for _, c := range casesIn(f, filepath.Join("testdata", "texts.jsonl")) {
		f.Add(strings.NewReplacer("{{STREAM}}", "", "{{CHUNK}}", "").Replace(expand(c.Input.(string))), uint16(7))
	}
	r := knowing()
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		once := r.Text(text)
		if again := r.Text(once); again != once {
			t.Fatalf("%q\nonce  %q\ntwice %q", text, once, again)
		}
		k := int(cut) % (len(text) + 1)
		if got := feed(r, text[:k], text[k:]); got != once {
			t.Fatalf("%q cut at %d\nwhole  %q\npieces %q", text, k, once, got)
		}
		if got := feed(r, strings.Split(text, "")...); got != once {
			t.Fatalf("%q\nwhole  %q\nletters %q", text, once, got)
		}
		if utf8.ValidString(text) && !utf8.ValidString(once) {
			t.Fatalf("%q became %q", text, once)
		}
		if quoted, err := json.Marshal(map[string]string{"text": text}); err == nil {
			if out := r.JSON(quoted); !json.Valid(out) {
				t.Fatalf("%s became %s", quoted, out)
			}
		}
		if out := r.JSON(json.RawMessage(text)); len(strings.TrimSpace(text)) > 0 && json.Valid([]byte(text)) && !json.Valid(out) {
			t.Fatalf("%s became %s", text, out)
		}
	})
}
