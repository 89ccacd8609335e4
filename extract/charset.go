package extract

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
)

// decode makes a text of bytes, and names the charset. What is valid UTF-8 is UTF-8, whatever somebody declared: other
// text is that by chance only. Then what the document and its server say is tried, then what its bytes look like.
func decode(data []byte, declared string, cut bool) (text, name string) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return strings.ToValidUTF8(string(data[3:]), "�"), "utf-8"
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return with("utf-16le", data[2:])
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return with("utf-16be", data[2:])
	}
	if n := halves(data); n != "" {
		return with(n, data)
	}
	// The bytes with escape sequences are ASCII to the eye.
	if said := stated(data, declared); said == "iso-2022-jp" && bytes.IndexByte(data, 0x1b) >= 0 {
		return with(said, data)
	}
	whole := data
	if cut {
		whole = trimPartial(data)
	}
	if utf8.Valid(whole) {
		return string(whole), "utf-8"
	}
	said := stated(data, declared)
	if said == "utf-8" || said == "" {
		if mostly(data) {
			return strings.ToValidUTF8(string(data), "�"), "utf-8"
		}
		said = guess(data)
	}
	return with(said, data)
}

// with decodes by the name of a charset. One that is not known is taken to be Western.
func with(name string, data []byte) (string, string) {
	e, canonical := charset.Lookup(name)
	if e == nil || e == encoding.Replacement {
		e, canonical = charset.Lookup("windows-1252")
	}
	b, err := e.NewDecoder().Bytes(data)
	if err != nil {
		return strings.ToValidUTF8(string(data), "�"), "utf-8"
	}
	return string(b), canonical
}

// stated is the charset that the server or the document names, if it is a known one.
func stated(data []byte, declared string) string {
	const front = 1024 // where pages have to say it
	var said []string
	if _, params, ok := strings.Cut(strings.ToLower(declared), "charset="); ok {
		said = append(said, strings.Trim(strings.TrimSpace(strings.SplitN(params, ";", 2)[0]), `"'`))
	}
	head := bytes.ToLower(data[:min(len(data), front)])
	for _, key := range []string{"charset=", "encoding="} {
		if _, rest, ok := bytes.Cut(head, []byte(key)); ok {
			rest = bytes.TrimLeft(rest, `"' `)
			if k := bytes.IndexAny(rest, `"'>;? /`); k >= 0 {
				said = append(said, string(rest[:k]))
			}
		}
	}
	for _, s := range said {
		if e, err := htmlindex.Get(s); err == nil {
			switch n, _ := htmlindex.Name(e); n {
			case "", "replacement", "x-user-defined": // no charsets of any text
			case "utf-16be", "utf-16le": // the bytes would show it
			default:
				return n
			}
		}
	}
	return ""
}

// halves recognises UTF-16 without a mark: every other byte of Western text in it is zero.
func halves(data []byte) string {
	const look = 512
	head := data[:min(len(data), look)]
	if len(head) < 4 {
		return ""
	}
	var zeros [2]int
	for k, c := range head {
		if c == 0 {
			zeros[k%2]++
		}
	}
	most := len(head) / 2
	switch {
	case zeros[1] > most*3/4 && zeros[0] == 0:
		return "utf-16le"
	case zeros[0] > most*3/4 && zeros[1] == 0:
		return "utf-16be"
	}
	return ""
}

// trimPartial takes a character off that was cut at the end.
func trimPartial(data []byte) []byte {
	for k := 1; k < utf8.UTFMax && k <= len(data); k++ {
		if tail := data[len(data)-k:]; utf8.RuneStart(tail[0]) && !utf8.FullRune(tail) {
			return data[:len(data)-k]
		}
	}
	return data
}

// mostly reports whether data is UTF-8 with a few damaged places: at most one in ten of what is not ASCII.
func mostly(data []byte) bool {
	good, bad := 0, 0
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		data = data[n:]
	}
	return good > 10*bad
}

// guess names the charset that the bytes look like most.
func guess(data []byte) string {
	const look, sure = 64 << 10, 30
	best, err := chardet.NewHtmlDetector().DetectBest(data[:min(len(data), look)])
	if err != nil || best == nil || best.Confidence < sure {
		return "windows-1252"
	}
	name := strings.ToLower(best.Charset)
	if name == "gb-18030" {
		name = "gb18030"
	}
	return name
}
