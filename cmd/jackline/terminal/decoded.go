package terminal

import (
	"encoding/base64"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/jackline-ai/jackline/phrase"
)

// encoded is what looks like a text in base64, of a length that words seldom have.
var encoded = phrase.New(`[A-Za-z0-9+/_-]{16,}={0,2}`)

// Limits of what is decoded for one card: more of it a person does not read, and the text itself is on the card anyhow.
const (
	maxDecoded     = 10
	maxDecodedText = 4000 // characters
	minDecodedText = 6    // characters: shorter ones are chance
)

// Decoded are the texts that pieces of s hold in base64, as a shell or PowerShell would decode them, in their order. What decodes to
// no text is left out: a digest, for one.
func Decoded(s string) []string {
	var list []string
	for _, piece := range encoded.FindAllString(s, -1) {
		text, ok := decode(piece)
		if !ok {
			continue
		}
		if list = append(list, text); len(list) == maxDecoded {
			break
		}
	}
	return list
}

func decode(piece string) (string, bool) {
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		b, err := e.DecodeString(piece)
		if err != nil {
			continue
		}
		for _, text := range []string{string(b), wide(b)} {
			if readable(text) {
				if r := []rune(text); len(r) > maxDecodedText {
					text = string(r[:maxDecodedText]) + "…"
				}
				return text, true
			}
		}
	}
	return "", false
}

// wide is text in UTF-16, which PowerShell encodes.
func wide(b []byte) string {
	if len(b)%2 != 0 {
		return ""
	}
	units := make([]uint16, 0, len(b)/2)
	for k := 0; k < len(b); k += 2 {
		units = append(units, uint16(b[k])|uint16(b[k+1])<<8)
	}
	return string(utf16.Decode(units))
}

// readable reports whether a text is one that somebody wrote: all of it valid, and none of it but line ends and tabs a control
// character, most of it ASCII.
func readable(s string) bool {
	plain, all := 0, 0
	for _, r := range s {
		all++
		switch {
		case r == utf8.RuneError, unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r':
			return false
		case r < utf8.RuneSelf:
			plain++
		}
	}
	return all >= minDecodedText && plain*10 >= all*9
}
