package job

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	utf "golang.org/x/text/encoding/unicode"
)

// An encoding is how bytes stand for text.
type encoding int

const (
	utf8enc encoding = iota
	utf16le
	utf16be
)

// sniff tells the encoding of an output by its beginning: a mark, or zeros in every other byte, as programs on Windows
// write them.
func sniff(b []byte) encoding {
	switch {
	case bytes.HasPrefix(b, []byte{0xff, 0xfe}):
		return utf16le
	case bytes.HasPrefix(b, []byte{0xfe, 0xff}):
		return utf16be
	}
	const enough = 8 // bytes; less proves nothing
	b = b[:min(len(b), 256)&^1]
	if len(b) < enough {
		return utf8enc
	}
	var even, odd int
	for i := 0; i < len(b); i += 2 {
		if b[i] == 0 {
			even++
		}
		if b[i+1] == 0 {
			odd++
		}
	}
	switch most := len(b) / 2 * 3 / 4; {
	case even == 0 && odd > most:
		return utf16le
	case odd == 0 && even > most:
		return utf16be
	}
	return utf8enc
}

func decode(b []byte) string { return sniff(b).decode(b) }

// decode gives valid UTF-8, whatever comes. A byte order mark is taken off.
func (e encoding) decode(b []byte) string {
	var out []byte
	var err error
	switch e {
	case utf16le:
		out, err = utf.UTF16(utf.LittleEndian, utf.UseBOM).NewDecoder().Bytes(b)
	case utf16be:
		out, err = utf.UTF16(utf.BigEndian, utf.UseBOM).NewDecoder().Bytes(b)
	case utf8enc:
		out = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	}
	if err != nil {
		out = b
	}
	return strings.ToValidUTF8(string(out), "\ufffd")
}

// Clean makes the text of a terminal fit to be read and shown anywhere: colours and cursor movements are taken out,
// lines that were written over stay only as they were last, and characters that are not seen become visible.
func Clean(s string) string {
	s = strings.ReplaceAll(strip(s), "\r\n", "\n")
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = visible(erase(overwritten(l)))
	}
	return strings.Join(lines, "\n")
}

// strip takes out escape sequences, whole or cut off.
func strip(s string) string {
	if !strings.ContainsAny(s, "\x1b\u0090\u0098\u009b\u009d\u009e\u009f") {
		return s
	}
	r := []rune(s)
	var b strings.Builder
	for i := 0; i < len(r); i++ {
		c := r[i]
		escaped := c == 0x1b
		if escaped && i+1 < len(r) {
			i++
			if c = r[i]; c >= '@' && c <= '_' {
				c += 0x40 // the two-character form of a C1 control
			} else {
				i = skipTo(r, i, 0x20, 0x2f) // intermediates, then one final
				continue
			}
		}
		switch c {
		case 0x9b: // control sequence: parameters, intermediates, final
			i = skipTo(r, i+1, 0x20, 0x3f)
		case 0x9d, 0x90, 0x98, 0x9e, 0x9f: // strings, to their terminator
			i = skipString(r, i+1)
		default:
			if !escaped {
				b.WriteRune(c)
			}
		}
	}
	return b.String()
}

// skipTo passes over characters from lo to hi and stands on the one after them, which ends the sequence. A line end is
// never part of one.
func skipTo(r []rune, i int, lo, hi rune) int {
	for i < len(r) && r[i] >= lo && r[i] <= hi {
		i++
	}
	if i < len(r) && (r[i] == '\n' || r[i] == '\r' || r[i] == 0x1b) {
		return i - 1
	}
	return i
}

// skipString stands on the end of a string that a terminal would swallow. One that does not end is at most a line.
func skipString(r []rune, i int) int {
	for ; i < len(r); i++ {
		switch r[i] {
		case 0x07, 0x9c:
			return i
		case 0x1b:
			if i+1 < len(r) && r[i+1] == '\\' {
				return i + 1
			}
			return i - 1
		case '\n':
			return i - 1
		}
	}
	return i
}

// overwritten is what is left to see of a line that was written several times, as progress bars are.
func overwritten(l string) string {
	if !strings.Contains(l, "\r") {
		return l
	}
	parts := strings.Split(l, "\r")
	for i := len(parts) - 1; i >= 0; i-- {
		if strings.TrimSpace(parts[i]) != "" {
			return strings.TrimRight(parts[i], " ")
		}
	}
	return ""
}

// erase lets a backspace take back the character before it.
func erase(l string) string {
	if !strings.Contains(l, "\b") {
		return l
	}
	var out []rune
	for _, r := range l {
		if r != '\b' {
			out = append(out, r)
		} else if len(out) > 0 {
			out = out[:len(out)-1]
		}
	}
	return string(out)
}

// visible gives characters that are not seen, or that change how others are seen, a look.
func visible(l string) string {
	plain := true
	for i := range len(l) {
		plain = plain && (l[i] >= ' ' && l[i] < 0x7f || l[i] == '\t')
	}
	if plain {
		return l
	}
	var b strings.Builder
	for _, r := range l {
		switch {
		case r == '\t':
			b.WriteRune(r)
		case r < ' ':
			b.WriteRune('\u2400' + r) // the pictures of the controls
		case r == 0x7f:
			b.WriteRune('\u2421')
		case unicode.IsControl(r), r == '\u2028', r == '\u2029',
			unicode.Is(unicode.Cf, r) && r != '\u200c' && r != '\u200d' && !unicode.Is(unicode.Prepended_Concatenation_Mark, r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func size(n int64) string {
	if n < 10<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KB", n>>10)
}
