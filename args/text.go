package args

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// quote is a way to open and close a string.
type quote struct {
	open, close string
	smart       bool // any smart quotation mark of the class of close closes
	literal     bool // no escapes
}

// quote recognises the quotation mark at i.
func (r *reader) quote(i int) (quote, bool) {
	for _, q := range r.region.Quotes {
		if r.in.Has(i, q) {
			return quote{open: q, close: q, literal: true}, true
		}
	}
	switch r.in.At(i) {
	case '"':
		if r.in.Has(i, `"""`) {
			return quote{open: `"""`, close: `"""`}, true
		}
		return quote{open: `"`, close: `"`}, true
	case '\'':
		if r.in.Has(i, `'''`) {
			return quote{open: `'''`, close: `'''`}, true
		}
		return quote{open: `'`, close: `'`}, true
	case 0xE2:
		if r.smart(i) {
			straight := `'`
			if r.in.At(i+2) >= 0x9C {
				straight = `"`
			}
			return quote{open: "“", close: straight, smart: true}, true
		}
	}
	return quote{}, false
}

// smart reports whether one of the quotation marks U+2018 to U+201F stands at i. The first
// four are single, the others double.
func (r *reader) smart(i int) bool {
	if r.in.At(i) != 0xE2 || r.in.At(i+1) != 0x80 {
		return false
	}
	c := r.in.At(i + 2)
	return 0x98 <= c && c <= 0x9F
}

// ends returns the length of a mark at i that may close a string opened by q.
func (r *reader) ends(q quote, i int, key bool) int {
	c := r.in.At(i)
	if c != 0xE2 {
		if c != int(q.close[0]) || q.smart && !key || !r.in.Has(i, q.close) {
			return 0
		}
		if len(q.close) == 3 && r.in.At(i+3) == c { // the last three of a longer run
			return 0
		}
		return len(q.close)
	}
	if !q.smart && !(key && len(q.close) == 1) || !r.smart(i) {
		return 0
	}
	if double := r.in.At(i+2) >= 0x9C; double != (q.close == `"`) {
		return 0
	}
	return 3
}

// text reads the string that q opens at r.i.
func (r *reader) text(q quote, key bool) string {
	r.i += len(q.open)
	var b strings.Builder
	start := r.i // of what is not yet in b
	for {
		for k := r.i; ; k++ { // most bytes are just text
			if k == len(r.in.buf) || r.halts[r.in.buf[k]] {
				r.i = k
				break
			}
		}
		c := r.in.At(r.i)
		switch {
		case c == End:
			b.Write(r.in.buf[start:r.i])
			r.cut, r.atEnd = true, true
			return TrimRight(b.String())
		case c == '\\' && !q.literal:
			b.Write(r.in.buf[start:r.i])
			r.escape(&b)
			start = r.i
			continue
		}
		if n := r.ends(q, r.i, key); n > 0 {
			if len(q.close) == 3 && !q.literal || r.follows(&b, start, r.i, n, key) {
				b.Write(r.in.buf[start:r.i])
				r.i += n
				return b.String()
			}
			if r.ended() {
				return ""
			}
			r.i += n
			continue
		}
		if !r.narrow.is && r.marker(c, r.i) {
			r.keep(r.tail(TrimRight(b.String()+r.in.Slice(start, r.i))), r.i, key, true)
			if r.ended() {
				return ""
			}
		}
		r.i++
	}
}

// escape reads the escape sequence at r.i. One that JSON does not know is kept as it is.
func (r *reader) escape(b *strings.Builder) {
	c := r.in.At(r.i + 1)
	switch c {
	case End:
		r.i++
		return
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'b':
		b.WriteByte('\b')
	case 'f':
		b.WriteByte('\f')
	case '"', '\\', '/', '\'':
		b.WriteByte(byte(c))
	case 'u':
		u, ok := r.hex(r.i + 2)
		if !ok {
			b.WriteString(`\u`)
			break
		}
		r.i += 4
		if utf16.IsSurrogate(u) {
			if low, ok := r.hex(r.i + 4); ok && r.in.At(r.i+2) == '\\' && r.in.At(r.i+3) == 'u' {
				if pair := utf16.DecodeRune(u, low); pair != utf8.RuneError {
					r.i += 6
					u = pair
				}
			}
		}
		b.WriteRune(u)
	default:
		b.WriteByte('\\')
		r.i++
		return
	}
	r.i += 2
}

func (r *reader) hex(i int) (rune, bool) {
	for k := i; k < i+4; k++ {
		c := r.in.At(k)
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') && (c < 'A' || c > 'F') {
			return 0, false
		}
	}
	u, err := strconv.ParseUint(r.in.Slice(i, i+4), 16, 32)
	return rune(u), err == nil
}

// follows reports whether the mark of length n at i closes a string, by what comes after
// it. Where a closing marker comes, it does in the narrow reading and does not in the
// wide one.
func (r *reader) follows(b *strings.Builder, start, i, n int, key bool) bool {
	next := r.in.Skip(i + n)
	r.seen = max(r.seen, next)
	c := r.in.At(next)
	switch c {
	case End, '#':
		return true
	case ',':
		return key || r.comma(next)
	case '}':
		return key || r.curly > 0
	case ']':
		return key || r.square > 0
	case ')':
		return r.region.Call
	case ':', '=':
		if !key && c == ':' && r.narrow.is {
			// A key: the string has run on into the next call. The wide reading is wrong.
			r.region.Narrow = true
		}
		return key
	case '/':
		return r.comment(next)
	}
	if r.marker(c, next) {
		if !r.narrow.is {
			r.keep(b.String()+r.in.Slice(start, i), next, key, false)
		}
		return false
	}
	return !key && r.inObject() && r.pair(next)
}

// ended stops the reading at the closing marker that was just met, if it may not be passed.
func (r *reader) ended() bool {
	if !r.narrow.is || !r.region.Narrow {
		return false
	}
	r.i = r.narrow.end
	r.cut = true
	return true
}

func (r *reader) inObject() bool {
	return len(r.frames) > 0 && r.frames[len(r.frames)-1].object != nil
}

// comma reports whether the comma at i can end a string. In an object only a key can come
// after it, so that a comma behind a quoted word in the middle of a text does not end it.
func (r *reader) comma(i int) bool {
	if !r.inObject() {
		return true
	}
	for r.in.At(i) == ',' {
		i = r.in.Skip(i + 1)
	}
	r.seen = max(r.seen, i)
	c := r.in.At(i)
	if c == End || c == '}' || c == ']' || c == ')' && r.region.Call || r.comment(i) || r.marker(c, i) {
		return true
	}
	return r.pair(i) || r.assigned(r.word(i), i)
}

// assigned reports whether a colon stands behind the key that ends at end.
func (r *reader) assigned(end, start int) bool {
	if end == start {
		return false
	}
	end = r.in.Skip(end)
	r.seen = max(r.seen, end)
	c := r.in.At(end)
	return c == ':' || c == '=' || c == End
}

// pair reports whether a quoted key and its colon stand at i.
func (r *reader) pair(i int) bool {
	q, ok := r.quote(i)
	if !ok || len(q.open) == 3 && !q.smart && !q.literal {
		return false
	}
	start := i
	for i += len(q.open); i-start <= longest; i++ {
		c := r.in.At(i)
		if c == End || c == '\n' || r.marker(c, i) {
			r.seen = max(r.seen, i)
			return c == End
		}
		if c == '\\' {
			i++
			continue
		}
		if n := r.ends(q, i, true); n > 0 {
			return r.assigned(i+n, start)
		}
	}
	r.seen = max(r.seen, i)
	return false
}

// tail takes closing brackets off a string that ran on to a closing marker, if they are
// exactly those that are still open.
func (r *reader) tail(text string) string {
	rest := text
	for _, f := range r.frames {
		if rest == "" || rest[len(rest)-1] != f.close {
			return text
		}
		rest = TrimRight(rest[:len(rest)-1])
	}
	return rest
}
