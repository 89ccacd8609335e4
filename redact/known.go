package redact

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// Forms are known values in each form in which they may stand in a text.
type forms struct {
	all   []string
	first [256][]int32 // forms by their first byte, the longest first
	pairs [1 << 16 / 64]uint64
}

// longestForm is how long a form may be: no key is longer, and what is looked for is compared at each place that begins like it.
const longestForm = 8 << 10

func newForms(named map[string][]string) *forms {
	seen := map[string]bool{}
	f := &forms{}
	add := func(form string) {
		if len(form) >= LeastKnown && len(form) <= longestForm && !seen[form] {
			seen[form] = true
			f.all = append(f.all, form)
		}
	}
	for _, values := range named {
		for _, v := range values {
			v = strings.TrimSpace(v)
			if len(v) < LeastKnown {
				continue
			}
			add(v)
			add(hex.EncodeToString([]byte(v)))
			add(strings.ToUpper(hex.EncodeToString([]byte(v))))
			if quoted, err := json.Marshal(v); err == nil {
				add(string(quoted[1 : len(quoted)-1]))
			}
			for shift := range 3 {
				b := base64.RawStdEncoding.EncodeToString(append(make([]byte, shift), v...))
				// The characters at both ends depend on what stands around the value as well.
				b = b[(shift*8+5)/6:]
				b = b[:len(b)-min(len(b), ((shift+len(v))%3+1)/2)]
				add(b)
				add(strings.NewReplacer("+", "-", "/", "_").Replace(b))
			}
		}
	}
	if len(f.all) == 0 {
		return nil
	}
	slices.SortFunc(f.all, func(a, b string) int { return len(b) - len(a) })
	for k, form := range f.all {
		f.first[form[0]] = append(f.first[form[0]], int32(k)) //nolint:gosec // there are few
		p := int(form[0])<<8 | int(form[1])
		f.pairs[p/64] |= 1 << (p % 64)
	}
	return f
}

// A matcher finds known values in a text that comes in pieces.
type matcher struct {
	forms *forms
	buf   string // what is held back
}

// feed takes a piece and gives what is decided.
func (m *matcher) feed(piece string, final bool) string {
	if m.buf != "" {
		piece = m.buf + piece
	}
	var out []byte
	from, k := 0, 0
	for k < len(piece) {
		c := piece[k]
		if c != '%' && m.forms.first[c] == nil {
			k++
			continue
		}
		if c != '%' && k+1 < len(piece) && piece[k+1] != '%' && piece[k+1] != escape {
			if p := int(c)<<8 | int(piece[k+1]); m.forms.pairs[p/64]>>(p%64)&1 == 0 {
				k++
				continue
			}
		}
		n, more := m.at(piece[k:], final)
		if more {
			break
		}
		if n == 0 {
			k++
			continue
		}
		out = append(append(append(append(out, piece[from:k]...), opening...), kindSecret...), closing...)
		k += n
		from = k
	}
	m.buf = strings.Clone(piece[k:])
	if out == nil {
		return piece[:k]
	}
	return string(append(out, piece[from:k]...))
}

// at is how long the known value is that a text starts with, 0 if there is none. More text may be needed to tell.
func (m *matcher) at(text string, final bool) (n int, more bool) {
	first, _, w := letter(text)
	if w < 0 {
		return 0, !final
	}
	for _, k := range m.forms.first[first] {
		n, cut := match(m.forms.all[k], text)
		if n > 0 {
			return n, false
		}
		if cut && !final {
			return 0, true
		}
	}
	return 0, false
}

// match compares a form with the start of a text, whose letters may be written with percent signs and have colour codes between them. cut
// means that the text ends before the form does.
func match(form, text string) (n int, cut bool) {
	// So that a text of nothing but codes cannot hold back more and more.
	longest := 4*len(form) + 1<<10
	for k := 0; k < len(form); {
		if n >= longest {
			return 0, false
		}
		if k > 0 && n < len(text) && text[n] == escape {
			size, whole := colour(text[n:])
			if !whole {
				return 0, true
			}
			if size > 0 {
				n += size
				continue
			}
		}
		c, part, w := letter(text[n:])
		switch {
		case w < 0:
			return 0, part == "" || strings.HasPrefix(strings.ToLower(percent(form[k])), strings.ToLower(part)) || part == "%" && form[k] == '%'
		case c == form[k]:
			n += w
		case form[k] == '%' && text[n] == '%': // the value's own
			n++
		default:
			return 0, false
		}
		k++
	}
	return n, false
}

// percent is a byte with a percent sign.
func percent(c byte) string { return "%" + hex.EncodeToString([]byte{c}) }

// letter reads one byte of a text, which may be written with a percent sign. Its width is negative if the text ends before it does;
// part is what there is of it.
func letter(text string) (c byte, part string, width int) {
	if text == "" {
		return 0, "", -1
	}
	if text[0] != '%' {
		return text[0], "", 1
	}
	if len(text) < 3 {
		return 0, text, -1
	}
	var b [1]byte
	if _, err := hex.Decode(b[:], []byte(text[1:3])); err != nil {
		return '%', "", 1
	}
	return b[0], "", 3
}

// escape begins a colour code.
const escape = '\x1b'

// longestColour is the longest code that is taken for one.
const longestColour = 32

// colour is how long the terminal's code is that a text starts with, 0 if it is none; whole is false if the text ends within it.
func colour(text string) (n int, whole bool) {
	if len(text) < 2 {
		return 0, false
	}
	if text[1] != '[' {
		return 0, true
	}
	for n = 2; n < len(text) && n < longestColour; n++ {
		switch c := text[n]; {
		case c >= '@' && c <= '~':
			return n + 1, true
		case c < ' ' || c > '?':
			return 0, true
		}
	}
	return 0, n == longestColour
}
