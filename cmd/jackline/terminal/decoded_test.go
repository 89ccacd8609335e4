package terminal

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jackline-ai/jackline"
)

func TestDecoded(t *testing.T) {
	std := base64.StdEncoding.EncodeToString
	wideText := make([]byte, 0, 40)
	for _, r := range "Remove-Item x" {
		wideText = append(wideText, byte(r), 0)
	}
	for in, want := range map[string][]string{
		"echo " + std([]byte("rm -rf ~/work")) + " | base64 -d | sh":                  {"rm -rf ~/work"},
		"powershell -EncodedCommand " + std(wideText):                                 {"Remove-Item x"},
		"a " + std([]byte("the first text")) + " b " + std([]byte("the second text")): {"the first text", "the second text"},
		"git checkout 3f9ac07be1d24683f9ac07be1d24683f9ac07be1":                       nil,
		"go test ./internal/authentication/... -run TestAuthentication":               nil,
		"": nil,
	} {
		if got := Decoded(in); !slices.Equal(got, want) {
			t.Errorf("%q holds %q, want %q", in, got, want)
		}
	}
	if got := Decoded(strings.Repeat(std([]byte("some more text here"))+" ", 50)); len(got) != maxDecoded {
		t.Errorf("%d texts", len(got))
	}
	var out bytes.Buffer
	a := jackline.Approval{Kind: jackline.KindCall, Title: "Run", Args: []byte(`{"command":"echo ` + std([]byte("rm -rf ~\n  why it is safe")) + `|base64 -d|sh"}`)}
	(&Terminal{Err: &out}).Show(a)
	if !strings.Contains(out.String(), "decoded rm -rf ~\n  |   why it is safe") {
		t.Errorf("the card:\n%s", out.String())
	}
}

// A card shows everything: what hides is written as its number.
func TestBare(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, naïve café": "plain text, naïve café", "a\u202eb": `a\u{202e}b`, "zero\u200bwidth": `zero\u{200b}width`, "\x1b[2K": `\u{1b}[2K`,
		"p\u0430ypal": "p\u0430\\u{430}ypal", "привет": "привет", "a\u00a0b": `a\u{a0}b`, "tab\tline\n": "tab\tline\n", "\xff": `\u{fffd}`,
	} {
		if got := Bare(in); got != want {
			t.Errorf("%q is written %q, want %q", in, got, want)
		}
	}
}

func FuzzDecoded(f *testing.F) {
	f.Add("echo cm0gLXJmIH4vd29yaw== | base64 -d")
	f.Fuzz(func(t *testing.T, s string) {
		for _, d := range append(Decoded(s), Bare(s)) {
			if utf8.ValidString(s) && !utf8.ValidString(d) {
				t.Errorf("%q gives %q", s, d)
			}
		}
	})
}
