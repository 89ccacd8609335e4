package pdf

import (
	"maps"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

// A font turns the bytes of a text into characters and widths.
type font struct {
	wide   bool            // codes have two bytes
	utf16  bool            // and are UTF-16
	short  bool            // the map to Unicode has codes of one byte, though the font is wide
	chars  map[int]string  // what a code means
	widths map[int]float64 // in thousandths of the size
	width  float64         // of codes that have none
	plain  func(byte) rune // what a code means that chars does not have
}

// A glyph is one code of a text.
type glyph struct {
	text  string
	width float64 // in parts of the font's size
	blank bool    // it is the one-byte space, which word spacing widens
}

// Named limits of fonts.
const (
	maxChars  = 1 << 16 // codes of a map; there are no more of two bytes
	maxExpand = 32      // characters for one code: ligatures have three
)

// loadFont reads a font.
func (f *file) loadFont(d dict) *font {
	t := &font{chars: map[int]string{}, widths: map[int]float64{}, plain: winAnsi}
	if s, ok := f.get(d["ToUnicode"]).(stream); ok {
		f.toUnicode(t, f.decode(s))
	}
	if d["Subtype"] == name("Type0") {
		f.composite(t, d)
		return t
	}
	const usual = 500 // the width of a letter, more or less
	desc, _ := f.get(d["FontDescriptor"]).(dict)
	t.width = f.number(desc["MissingWidth"], usual)
	first := int(f.number(d["FirstChar"], 0))
	for k, w := range f.list(d["Widths"]) {
		if k < 256 {
			t.widths[first+k] = f.number(w, t.width)
		}
	}
	t.plain = standard
	if sub := f.get(d["Subtype"]); sub == name("TrueType") || sub == name("Type3") {
		t.plain = winAnsi
	}
	switch e := f.get(d["Encoding"]).(type) {
	case name:
		t.plain = encoding(e, t.plain)
	case dict:
		base, _ := f.get(e["BaseEncoding"]).(name)
		t.plain = encoding(base, t.plain)
		given := maps.Clone(t.chars) // the map to Unicode knows better
		code := 0
		for _, o := range f.list(e["Differences"]) {
			switch o := f.get(o).(type) {
			case int:
				code = o
			case name:
				if c, ok := given[code]; ok {
					t.chars[code] = c
				} else if c := glyphText(string(o)); c != "" {
					t.chars[code] = c
				}
				code++
			}
		}
	}
	return t
}

func encoding(n name, otherwise func(byte) rune) func(byte) rune {
	switch n {
	case "WinAnsiEncoding", "PDFDocEncoding":
		return winAnsi
	case "MacRomanEncoding":
		return charmap.Macintosh.DecodeByte
	case "StandardEncoding":
		return standard
	}
	return otherwise
}

// composite reads a font of many glyphs: those of two bytes.
func (f *file) composite(t *font, d dict) {
	t.wide, t.width, t.plain = true, 1000, nil
	if n, ok := f.get(d["Encoding"]).(name); ok {
		t.utf16 = strings.Contains(string(n), "UCS2") || strings.Contains(string(n), "UTF16")
	}
	under := f.list(d["DescendantFonts"])
	if len(under) == 0 {
		return
	}
	cid, _ := f.get(under[0]).(dict)
	t.width = f.number(cid["DW"], 1000)
	w := f.list(cid["W"])
	for k := 0; k+1 < len(w) && len(t.widths) < maxChars; {
		first := int(f.number(w[k], 0))
		if each, ok := f.get(w[k+1]).([]any); ok {
			f.spend(len(each))
			for n, x := range each[:min(len(each), maxChars)] {
				t.widths[first+n] = f.number(x, t.width)
			}
			k += 2
			continue
		}
		if k+2 >= len(w) {
			return
		}
		last, x := int(f.number(w[k+1], 0)), f.number(w[k+2], t.width)
		for n := first; n <= min(last, first+maxChars); n++ {
			f.spend(1)
			t.widths[n] = x
		}
		k += 3
	}
}

// toUnicode reads the map from codes to characters.
func (f *file) toUnicode(t *font, data []byte) {
	l := &lexer{f: f, data: data, packed: true}
	var args []any
	shortest := 4
	for {
		o := l.object(0)
		op, ok := o.(keyword)
		if !ok {
			if args = append(args, o); len(args) > maxChars {
				return
			}
			continue
		}
		switch op {
		case end:
			t.short = shortest == 1
			return
		case "endcodespacerange":
			for _, a := range args {
				if s, ok := a.(text); ok && len(s) > 0 {
					shortest = min(shortest, len(s))
				}
			}
		case "endbfchar":
			for k := 0; k+1 < len(args); k += 2 {
				f.mean(t, args[k], args[k+1], 0)
			}
		case "endbfrange":
			for k := 0; k+2 < len(args); k += 3 {
				f.meanRange(t, args[k], args[k+1], args[k+2])
			}
		}
		args = args[:0]
	}
}

// mean notes what a code means: to, with more added to its last character.
func (f *file) mean(t *font, from, to any, more int) {
	code, ok := from.(text)
	char, ok2 := to.(text)
	if !ok || !ok2 || len(char) > 2*maxExpand || len(t.chars) >= maxChars {
		return
	}
	f.spend(len(char) + 1)
	s := utf16be([]byte(char))
	if len(char) == 1 {
		s = string(rune(char[0]))
	}
	if more > 0 {
		r := []rune(s)
		if len(r) == 0 {
			return
		}
		r[len(r)-1] += rune(more)
		s = string(r)
	}
	t.chars[codeOf(code)+more] = s
}

func (f *file) meanRange(t *font, from, to, what any) {
	lo, ok := from.(text)
	hi, ok2 := to.(text)
	if !ok || !ok2 {
		return
	}
	n := min(codeOf(hi)-codeOf(lo)+1, maxChars)
	each, isList := what.([]any)
	for k := range max(n, 0) {
		if !isList {
			f.mean(t, lo, what, k)
			continue
		}
		if k >= len(each) {
			return
		}
		if char, ok := each[k].(text); ok && len(char) <= 2*maxExpand && len(t.chars) < maxChars {
			f.spend(len(char) + 1)
			t.chars[codeOf(lo)+k] = utf16be([]byte(char))
		}
	}
}

func codeOf(t text) int {
	n := 0
	for _, c := range []byte(t[:min(len(t), 4)]) {
		n = n<<8 | int(c)
	}
	return n
}

// glyphs takes a shown text apart.
func (t *font) glyphs(s text) []glyph {
	var all []glyph
	step := 1
	if t.wide && !t.short {
		step = 2
	}
	for len(s) >= step {
		code := codeOf(s[:step])
		g := glyph{blank: step == 1 && code == ' '}
		w, ok := t.widths[code]
		if !ok {
			w = t.width
		}
		g.width = w / 1000
		switch c, ok := t.chars[code]; {
		case ok:
			g.text = c
		case t.utf16 && step == 2:
			g.text = utf16be([]byte(s[:2]))
		case t.plain != nil:
			if r := t.plain(s[0]); r != utf8.RuneError {
				g.text = string(r)
			}
		}
		all = append(all, g)
		s = s[step:]
	}
	return all
}

// winAnsi is the encoding of Windows, in which PDF fills the gaps with bullets.
func winAnsi(c byte) rune {
	if r := charmap.Windows1252.DecodeByte(c); r != utf8.RuneError && (r < 0x80 || r > 0x9f) {
		return r
	}
	return '•'
}

// upper is the upper half of Adobe's standard encoding, from 0xa1 on, with · where there is nothing.
const upper = "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ" + "·–†‡·" + "·¶•‚„”»…‰·¿" + "·`´ˆ˜¯˘˙¨·˚¸·˝˛ˇ" + "—················" + "Æ·ª····ŁØŒº·····" + "æ···ı··łøœß····"

// standard is Adobe's standard encoding.
func standard(c byte) rune {
	switch {
	case c == '\'':
		return '’'
	case c == '`':
		return '‘'
	case c < 0x80:
		return rune(c)
	}
	if r := []rune(upper); c > 0xa0 && int(c-0xa1) < len(r) && r[c-0xa1] != '·' {
		return r[c-0xa1]
	}
	if c == 0xb4 {
		return '·'
	}
	return utf8.RuneError
}

// glyphText is what the name of a glyph means, or "". Names are those of Adobe's glyph list that Western files use; others
// have their code in the name.
func glyphText(n string) string {
	n, _, _ = strings.Cut(n, ".") // a variant
	var b strings.Builder
	for part := range strings.SplitSeq(n, "_") { // a ligature
		r, ok := glyphs[part]
		switch {
		case ok:
		case len(part) == 1:
			r, _ = utf8.DecodeRuneInString(part)
		case strings.HasPrefix(part, "uni") && len(part) >= 7:
			r = hexRune(part[3:7])
		case strings.HasPrefix(part, "u") && len(part) >= 5 && len(part) <= 7:
			r = hexRune(part[1:])
		default:
			r = accented(part)
		}
		if r == 0 {
			return ""
		}
		b.WriteRune(r)
	}
	return b.String()
}

func hexRune(s string) rune {
	n, err := strconv.ParseUint(s, 16, 21)
	if err != nil || !utf8.ValidRune(rune(n)) {
		return 0
	}
	return rune(n)
}
