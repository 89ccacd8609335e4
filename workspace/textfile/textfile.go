// Package textfile tells text files from all others, and keeps what is needed to write one back as it was: its encoding and its line
// ends.
package textfile

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"
)

// An Encoding is how a text is kept in a file.
type Encoding int

// The encodings that are told apart. A file in any other one is read as UTF-8 with invalid bytes.
const (
	UTF8 Encoding = iota
	UTF8BOM
	UTF16LE
	UTF16BE
)

// A Text is the contents of a text file, and what is needed to write it back as it was.
type Text struct {
	Body     string // with the line endings of the file; bytes that are no UTF-8 are kept
	Encoding Encoding
	CRLF     bool // every line ends in CR LF
}

// sniffed is how much of a file is looked at to tell a text from anything else.
const sniffed = 8000

// Decode reads data as a text. ok is false for anything that is none.
func Decode(data []byte) (t Text, ok bool) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		t.Encoding, data = UTF8BOM, data[3:]
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		t.Encoding = UTF16LE
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		t.Encoding = UTF16BE
	default:
		t.Encoding = wide(data)
	}
	if t.Encoding == UTF16LE || t.Encoding == UTF16BE {
		b, err := utf16(t.Encoding).NewDecoder().Bytes(data)
		if err != nil {
			return Text{}, false
		}
		data = b
	}
	if bytes.IndexByte(data[:min(len(data), sniffed)], 0) >= 0 {
		return Text{}, false
	}
	t.Body = string(data)
	n := strings.Count(t.Body, "\n")
	t.CRLF = n > 0 && strings.Count(t.Body, "\r\n") == n
	return t, true
}

func utf16(e Encoding) encoding.Encoding {
	order := unicode.LittleEndian
	if e == UTF16BE {
		order = unicode.BigEndian
	}
	return unicode.UTF16(order, unicode.UseBOM)
}

// wide tells UTF-16 without a mark: text in which every other byte is zero.
func wide(data []byte) Encoding {
	const enough = 8 // bytes; less proves nothing
	head := data[:min(len(data), 512)&^1]
	if len(head) < enough || len(data)%2 != 0 {
		return UTF8
	}
	var even, odd int
	for i := 0; i < len(head); i += 2 {
		if head[i] == 0 {
			even++
		}
		if head[i+1] == 0 {
			odd++
		}
	}
	half := len(head) / 2
	switch {
	case even == 0 && odd > half*3/4:
		return UTF16LE
	case odd == 0 && even > half*3/4:
		return UTF16BE
	}
	return UTF8
}

// Encode gives the bytes of a text. What is no character is replaced where the encoding has no place for it; an error is a fault.
func (t Text) Encode() ([]byte, error) {
	switch t.Encoding {
	case UTF8BOM:
		return append([]byte("\xef\xbb\xbf"), t.Body...), nil
	case UTF16LE, UTF16BE:
		return utf16(t.Encoding).NewEncoder().Bytes([]byte(t.Body))
	case UTF8:
	}
	return []byte(t.Body), nil
}

// Lines are the lines of the text without their endings. A last line without an ending counts; an ending at the very
// end begins no further line.
func (t Text) Lines() []string { return Lines(t.Body) }

// Lines splits s at line ends of any kind, as [Text.Lines] does.
func Lines(s string) []string {
	if s == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// Valid is s with every invalid byte replaced, fit to be shown.
func Valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}
