package pdf

import (
	"bytes"
	"context"
	"math"
	"slices"
	"strconv"
	"unicode/utf16"
)

// The objects of a PDF, besides nil, bool, int, float64 and []any.
type (
	name    string
	text    string // a string, as bytes
	keyword string
	ref     struct{ num int }
	dict    map[name]any
	stream  struct {
		dict dict
		raw  []byte
	}
)

// A file is a PDF that is being read.
type file struct {
	ctx   context.Context //nolint:containedctx // it lives for one call of Text
	data  []byte
	purse int
	since int
	room  int // bytes that may still be unpacked

	known     map[int]place  // where each object is
	order     []int          // object numbers, as found
	cache     map[int]any    // objects that were read
	unpacked  map[int][]byte // object streams
	trailer   dict
	encrypted bool
	depth     int // of references being followed
}

// A place is where an object is: at an offset of the file, or of an unpacked object stream.
type place struct{ in, at int }

// scan looks for objects. Of two with one number the later counts, as in files that were changed by appending.
func (f *file) scan() {
	var packed []int
	for at := 0; ; {
		k := bytes.Index(f.data[at:], []byte("obj"))
		if k < 0 {
			break
		}
		k += at
		f.spend(k - at + 3)
		at = k + 3
		num, ok := numbered(f.data[:k])
		if !ok {
			continue
		}
		f.note(num, place{at: at})
		l := &lexer{f: f, data: f.data, at: at}
		if s, ok := l.object(0).(stream); ok {
			at = l.at
			switch s.dict["Type"] {
			case name("ObjStm"):
				packed = append(packed, num)
			case name("XRef"):
				f.trail(s.dict)
			}
		}
	}
	for at := 0; ; {
		k := bytes.Index(f.data[at:], []byte("trailer"))
		if k < 0 {
			break
		}
		f.spend(k + 7)
		at += k + 7
		l := &lexer{f: f, data: f.data, at: at}
		if d, ok := l.object(0).(dict); ok {
			f.trail(d)
		}
	}
	if f.encrypted {
		return
	}
	for _, num := range packed {
		f.unpack(num)
	}
}

func (f *file) note(num int, p place) {
	if _, ok := f.known[num]; !ok {
		f.order = append(f.order, num)
	}
	f.known[num] = p
}

// trail takes over what a trailer says.
func (f *file) trail(d dict) {
	f.encrypted = f.encrypted || d["Encrypt"] != nil
	if d["Root"] != nil {
		f.trailer = d
	}
}

// numbered reads the "12 0 " that stands before "obj".
func numbered(before []byte) (int, bool) {
	const most = 24 // two numbers and blanks
	b := before[max(0, len(before)-most):]
	fields := bytes.Fields(b)
	if len(fields) < 2 || !space(b[len(b)-1]) && !digit(b[len(b)-1]) {
		return 0, false
	}
	gen, num := fields[len(fields)-1], fields[len(fields)-2]
	for len(num) > 0 && !digit(num[0]) { // "endobj12 0 obj"
		num = num[1:]
	}
	n, err := strconv.Atoi(string(num))
	_, bad := strconv.Atoi(string(gen))
	return n, err == nil && bad == nil
}

// unpack notes where the objects of an object stream are.
func (f *file) unpack(num int) {
	s, ok := f.get(ref{num}).(stream)
	if !ok {
		return
	}
	data := f.decode(s)
	first, _ := f.get(s.dict["First"]).(int)
	f.unpacked[num] = data
	l := &lexer{f: f, data: data}
	for l.at < first {
		n, ok1 := l.token().(int)
		off, ok2 := l.token().(int)
		if !ok1 || !ok2 || off < 0 || first+off > len(data) {
			return
		}
		f.note(n, place{in: num, at: first + off})
	}
}

// get follows references until there is an object.
func (f *file) get(o any) any {
	r, ok := o.(ref)
	if !ok {
		return o
	}
	if have, ok := f.cache[r.num]; ok {
		return have
	}
	p, ok := f.known[r.num]
	if f.depth++; !ok || f.depth > maxDepth {
		f.depth--
		return nil
	}
	defer func() { f.depth-- }()
	f.spend(1)
	l := &lexer{f: f, data: f.data, at: p.at}
	if p.in != 0 {
		l = &lexer{f: f, data: f.unpacked[p.in], at: p.at, packed: true}
	}
	got := f.get(l.object(0))
	f.cache[r.num] = got
	return got
}

func (f *file) number(o any, otherwise float64) float64 {
	switch n := f.get(o).(type) {
	case int:
		return float64(n)
	case float64:
		return n
	}
	return otherwise
}

// A lexer takes bytes apart.
type lexer struct {
	f      *file
	data   []byte
	at     int
	packed bool // no streams in here
}

func space(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}
func digit(c byte) bool { return '0' <= c && c <= '9' }
func delimiter(c byte) bool {
	return c == '(' || c == ')' || c == '<' || c == '>' || c == '[' || c == ']' || c == '{' || c == '}' || c == '/' || c == '%'
}

// end is what a lexer says when there is no more.
const end = keyword("")

// token reads one: a number, name, text, or a keyword, which brackets are too.
func (l *lexer) token() any {
	began := l.at
	defer func() { l.f.spend(l.at - began + 1) }()
	for l.at < len(l.data) && (space(l.data[l.at]) || l.data[l.at] == '%') {
		if l.data[l.at] == '%' {
			for l.at < len(l.data) && l.data[l.at] != '\n' && l.data[l.at] != '\r' {
				l.at++
			}
			continue
		}
		l.at++
	}
	if l.at >= len(l.data) {
		return end
	}
	c := l.data[l.at]
	l.at++
	switch {
	case c == '/':
		return l.name()
	case c == '(':
		return l.text()
	case c == '<' && l.next('<'), c == '>' && l.next('>'):
		return keyword([]byte{c, c})
	case c == '<':
		return l.hex()
	case delimiter(c):
		return keyword([]byte{c})
	}
	start := l.at - 1
	for l.at < len(l.data) && !space(l.data[l.at]) && !delimiter(l.data[l.at]) {
		l.at++
	}
	return word(l.data[start:l.at])
}

func (l *lexer) next(c byte) bool {
	if l.at < len(l.data) && l.data[l.at] == c {
		l.at++
		return true
	}
	return false
}

// word is a number or a keyword.
func word(b []byte) any {
	if c := b[0]; digit(c) || c == '-' || c == '+' || c == '.' {
		const most = 40 // digits; longer ones are no numbers
		s := string(b[:min(len(b), most)])
		if n, err := strconv.Atoi(s); err == nil {
			return n
		}
		if x, err := strconv.ParseFloat(s, 64); err == nil && !math.IsInf(x, 0) && !math.IsNaN(x) {
			return x
		}
	}
	switch s := string(b); s {
	case "true", "false":
		return s == "true"
	default:
		return keyword(s)
	}
}

func (l *lexer) name() name {
	var b []byte
	for l.at < len(l.data) && !space(l.data[l.at]) && !delimiter(l.data[l.at]) {
		c := l.data[l.at]
		l.at++
		if c == '#' && l.at+1 < len(l.data) {
			if n, err := strconv.ParseUint(string(l.data[l.at:l.at+2]), 16, 8); err == nil {
				c = byte(n)
				l.at += 2
			}
		}
		b = append(b, c)
	}
	return name(b)
}

func (l *lexer) text() text {
	var b []byte
	for open := 1; l.at < len(l.data); {
		c := l.data[l.at]
		l.at++
		switch c {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return text(b)
			}
		case '\\':
			if l.at < len(l.data) {
				b = l.escape(b)
			}
			continue
		}
		b = append(b, c)
	}
	return text(b)
}

// escape reads what follows a backslash.
func (l *lexer) escape(b []byte) []byte {
	c := l.data[l.at]
	l.at++
	switch {
	case c == '\r':
		l.next('\n')
		return b
	case c == '\n':
		return b
	case '0' <= c && c <= '7':
		n := int(c - '0')
		for k := 0; k < 2 && l.at < len(l.data) && '0' <= l.data[l.at] && l.data[l.at] <= '7'; k++ {
			n = n*8 + int(l.data[l.at]-'0')
			l.at++
		}
		return append(b, byte(n))
	}
	if k := bytes.IndexByte([]byte("nrtbf"), c); k >= 0 {
		c = "\n\r\t\b\f"[k]
	}
	return append(b, c)
}

func (l *lexer) hex() text {
	k := bytes.IndexByte(l.data[l.at:], '>')
	if k < 0 {
		k = len(l.data) - l.at
	}
	in := l.data[l.at : l.at+k]
	l.at = min(len(l.data), l.at+k+1)
	return text(unhex(in))
}

func unhex(in []byte) []byte {
	out := make([]byte, 0, len(in)/2)
	half := -1
	for _, c := range in {
		n := bytes.IndexByte([]byte("0123456789abcdef"), c|0x20)
		if n < 0 || c < '0' {
			continue
		}
		if half < 0 {
			half = n
			continue
		}
		out, half = append(out, byte(half<<4|n)), -1
	}
	if half >= 0 {
		out = append(out, byte(half<<4))
	}
	return out
}

// object reads one whole object. What is no object is a keyword.
func (l *lexer) object(depth int) any {
	t := l.token()
	switch t := t.(type) {
	case int:
		return l.reference(t)
	case keyword:
		switch {
		case t == "null", depth > maxDepth && (t == "[" || t == "<<"):
			return nil
		case t == "[":
			return l.array(depth)
		case t == "<<":
			return l.dict(depth)
		}
	}
	return t
}

// reference reads "12 0 R", or only the 12.
func (l *lexer) reference(num int) any {
	back := l.at
	if _, ok := l.token().(int); ok && l.token() == keyword("R") {
		return ref{num}
	}
	l.at = back
	return num
}

// kept is the price of an object in another one, beside its bytes: it takes memory.
const kept = 64

func (l *lexer) array(depth int) any {
	all := []any{}
	for {
		o := l.object(depth + 1)
		if k, ok := o.(keyword); ok {
			if k == "]" || k == end || k == "endobj" {
				return all
			}
			continue
		}
		l.f.spend(kept)
		all = append(all, o)
	}
}

func (l *lexer) dict(depth int) any {
	d := dict{}
	for {
		key, ok := l.token().(name)
		if !ok {
			break // ">>", or the dictionary is broken
		}
		before := l.at
		value := l.object(depth + 1)
		if k, ok := value.(keyword); ok {
			if k == ">>" || k == end || k == "endobj" {
				if k != ">>" {
					l.at = before
				}
				break
			}
			continue
		}
		l.f.spend(kept)
		d[key] = value
	}
	back := l.at
	if l.packed || depth > 0 || l.token() != keyword("stream") {
		l.at = back
		return d
	}
	l.next('\r')
	l.next('\n')
	return stream{d, l.body(d)}
}

// body is what a stream holds. Its length is believed where it leads to the stream's end.
func (l *lexer) body(d dict) []byte {
	start := l.at
	if n, ok := d["Length"].(int); ok && n >= 0 && n <= len(l.data)-start {
		rest := l.data[start+n : min(len(l.data), start+n+16)]
		if bytes.HasPrefix(bytes.TrimLeft(rest, "\r\n \t"), []byte("endstream")) {
			l.at = start + n
			return l.data[start:l.at]
		}
	}
	n := bytes.Index(l.data[start:], []byte("endstream"))
	if n < 0 {
		n = len(l.data) - start
	}
	l.f.spend(n)
	l.at = start + n
	return l.data[start:l.at]
}

// unicode reads a text that is for people.
func (t text) unicode() string {
	if len(t) >= 2 && t[0] == 0xfe && t[1] == 0xff {
		return utf16be([]byte(t[2:]))
	}
	if len(t) >= 3 && t[:3] == "\xef\xbb\xbf" {
		return string(t[3:])
	}
	r := make([]rune, 0, len(t))
	for _, c := range []byte(t) {
		r = append(r, winAnsi(c))
	}
	return string(r)
}

func utf16be(b []byte) string {
	u := make([]uint16, 0, len(b)/2)
	for p := range slices.Chunk(b, 2) {
		if len(p) == 2 {
			u = append(u, uint16(p[0])<<8|uint16(p[1]))
		}
	}
	return string(utf16.Decode(u))
}
