package extract

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"
)

// A mark is how data of some kind begins.
type mark struct {
	at    int
	bytes string
	say   string
}

const (
	archive = "This is an archive (%s). Archives are not opened here."
	picture = "This is a picture, not text."
	sound   = "This is a sound or film, not text."
	program = "This is a program, not text."
)

// marks are kinds that hold no text that is read here.
var marks = []mark{
	{0, "PK\x03\x04", ""}, {0, "PK\x05\x06", ""}, // zip: see sniff
	{0, "\x1f\x8b", "gzip"}, {0, "BZh", "bzip2"}, {0, "\xfd7zXZ\x00", "xz"}, {0, "7z\xbc\xaf\x27\x1c", "7z"}, {0, "Rar!\x1a\x07", "rar"},
	{0, "\x28\xb5\x2f\xfd", "zstd"}, {257, "ustar", "tar"}, {0, "\x04\x22\x4d\x18", "lz4"}, {0, "!<arch>\n", "ar"}, {0, "MSCF", "cab"},
	{0, "\x89PNG\r\n\x1a\n", picture}, {0, "\xff\xd8\xff", picture}, {0, "GIF87a", picture}, {0, "GIF89a", picture}, {8, "WEBP", picture},
	{0, "BM", picture}, {0, "II*\x00", picture}, {0, "MM\x00*", picture}, {0, "\x00\x00\x01\x00", picture}, {4, "ftypavif", picture}, {4, "ftypheic", picture},
	{4, "ftyp", sound}, {0, "\x1aE\xdf\xa3", sound}, {0, "OggS", sound}, {0, "ID3", sound}, {0, "fLaC", sound}, {8, "WAVE", sound}, {8, "AVI ", sound},
	{0, "\x7fELF", program}, {0, "MZ", program}, {0, "\xfe\xed\xfa", program}, {0, "\xcf\xfa\xed\xfe", program}, {0, "\xca\xfe\xba\xbe", program}, {0, "\x00asm", program},
	{0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "This is an old office document (or another Microsoft compound file), which cannot be read here. Save it as PDF or text."},
	{0, "SQLite format 3\x00", "This is a database, not text."}, {0, "wOFF", "This is a font, not text."}, {0, "wOF2", "This is a font, not text."},
	{0, "{\\rtf", "This is a rich text document, which cannot be read here. Save it as PDF or text."},
}

// sniff says whether data is a PDF, or why it cannot be read. Everything else may be text.
func sniff(data []byte) (Kind, string) {
	for _, m := range marks {
		if len(data) < m.at || !bytes.HasPrefix(data[m.at:], []byte(m.bytes)) {
			continue
		}
		if strings.HasPrefix(m.bytes, "PK") {
			return "", zip(data)
		}
		// A text may begin with a mark that is all letters: "BMW makes cars", "ID3 is", "The new WAVE". What the mark is for has zeros
		// in its head, and a text has none.
		const front = 512
		if lettered(m.bytes) && !bytes.Contains(data[:min(len(data), front)], []byte{0}) {
			continue
		}
		if strings.Contains(m.say, " ") {
			return "", m.say
		}
		return "", strings.Replace(archive, "%s", m.say, 1)
	}
	const front = 1024 // where readers of PDF look for its mark
	if bytes.Contains(data[:min(len(data), front)], []byte("%PDF-")) {
		return PDF, ""
	}
	return "", ""
}

// lettered reports whether a mark could be words.
func lettered(mark string) bool {
	return strings.IndexFunc(mark, func(r rune) bool {
		return r != ' ' && (r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	}) < 0
}

// zip names what is in many zip files.
func zip(data []byte) string {
	head := data[:min(len(data), 4096)]
	for _, part := range []string{"word/", "xl/", "ppt/", "[Content_Types].xml", "mimetypeapplication/vnd.oasis", "mimetypeapplication/epub"} {
		if bytes.Contains(head, []byte(part)) {
			return "This is an office document or book in a zip file, which cannot be read here. Save it as PDF or text."
		}
	}
	return strings.Replace(archive, "%s", "zip", 1)
}

// binary reports whether a decoded text is none: more than one in fifty of its first characters are control characters, a
// slip or two aside.
func binary(text string) bool {
	const look, few, slips = 8192, 50, 2
	bad, n := 0, 0
	for _, r := range text {
		if n++; n > look {
			break
		}
		switch {
		case r == 0:
			bad += few / 5 // no text has it
		case r < ' ' && !strings.ContainsRune("\t\n\r\f\b\x1b", r), r == unicode.ReplacementChar:
			bad++
		}
	}
	return (bad-slips)*few > n
}

// isHTML reports whether a text is a page: it begins as one, after what may stand before.
func isHTML(text string) bool {
	const front = 2048
	head := strings.ToLower(text[:min(len(text), front)])
	for {
		head = strings.TrimLeft(head, " \t\r\n\ufeff")
		switch {
		case strings.HasPrefix(head, "<!--"):
			_, rest, ok := strings.Cut(head, "-->")
			if !ok {
				return false
			}
			head = rest
		case strings.HasPrefix(head, "<?xml"):
			_, rest, ok := strings.Cut(head, "?>")
			if !ok {
				return false
			}
			head = rest
		case strings.HasPrefix(head, "<!doctype"):
			return strings.HasPrefix(strings.TrimSpace(head[len("<!doctype"):]), "html")
		default:
			return begins(head)
		}
	}
}

// begins reports whether a text begins with a tag that only pages begin with.
func begins(head string) bool {
	rest, ok := strings.CutPrefix(head, "<")
	if !ok {
		return false
	}
	k := strings.IndexAny(rest, " \t\r\n>/")
	if k < 0 {
		return false
	}
	switch rest[:k] {
	case "html", "head", "body", "title", "meta", "link", "script", "style", "div", "p", "h1", "h2", "table", "main", "article", "section", "nav",
		"header", "ul", "ol", "a", "span", "b", "font", "center", "iframe", "form", "br", "img":
		return true
	}
	return false
}

func isJSON(text string) bool {
	return (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text))
}
